"""Decodes columns on a made-up GPU: run by test_gpu.py, with a driver whose kernels the CPU emulates. Workers of
python/engines import it.

The memory of this GPU is the driver's; _gpu.py is given a library of its own in place of PyTorch.
"""
import ctypes
import gc

import numpy as np

import fastpair as fp
from fastpair import _gpu

driver = ctypes.CDLL("libcuda.so.1")


class Memory:
    """Some device memory, until it is forgotten."""

    live, ndim, index = 0, 1, 0

    def __init__(self, count, kind):
        self.dtype = np.dtype(kind)
        self.count = count
        self.address = ctypes.c_uint64()
        size = max(1, count * self.dtype.itemsize)
        assert driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(size)) == 0
        Memory.live += 1

    def __del__(self):
        driver.cuMemFree_v2(self.address)
        Memory.live -= 1

    def __len__(self):
        return self.count

    def __dlpack_device__(self):
        return 2, self.index

    def copy_in(self, array):
        if array.nbytes:
            assert driver.cuMemcpyHtoDAsync_v2(self.address, ctypes.c_void_p(array.ctypes.data),
                                               ctypes.c_size_t(array.nbytes), None) == 0
        assert driver.cuStreamSynchronize(None) == 0

    def get(self):
        return read(self.address, np.empty(self.count, self.dtype))


def read(address, array):
    if array.nbytes:
        assert driver.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(array.ctypes.data), address,
                                           ctypes.c_size_t(array.nbytes), None) == 0
    assert driver.cuStreamSynchronize(None) == 0
    return array


class Library:
    """What _gpu.py wants of PyTorch."""

    index = 0
    calls = []

    def __init__(self, device=None, stream=None):
        self.address_of_stream = stream or 0

    def empty(self, count, kind, zero=False):
        memory = Memory(count, kind)
        memory.copy_in(np.zeros(count, kind))
        return memory

    def copy(self, data, kind):
        array = np.frombuffer(data, kind)
        memory = Memory(len(array), kind)
        memory.copy_in(array)
        return memory

    def address(self, memory):
        return memory.address.value

    def list(self, memory, count=None):
        return (memory.get() if count is None else memory.get()[:count * 8].view(np.int64)).tolist()

    def numbers(self, rows, count):
        numbers = rows.get()
        assert numbers.dtype == np.int64
        return self.copy(np.where(numbers < 0, numbers + count, numbers).tobytes(), "int64")

    def booleans(self, bitmap, rows):
        bits = np.unpackbits(bitmap.get(), bitorder="little")
        assert not bits[rows:].any(), "spare bits are 0"
        return bits[:rows].astype(bool)

    def count(self, booleans):
        return int(booleans.sum())

    def event(self):
        return None, 0

    def follow(self, other, *memory):
        Library.calls.append("follow")

    def hand_back(self, other):
        Library.calls.append("hand back")


_gpu._LIBRARIES["torch"] = Library


def compare(column, result):
    array = column._decode(2)
    assert result.bytes.get().tobytes() == (array._buffer(2) or b"")
    assert result.offsets.get().tobytes() == array._buffer(1)
    assert len(result) == len(column) and result.null_count == column.null_count
    if column.null_count:
        size = (len(column) + 7) // 8
        assert result.validity.get().tobytes()[:size] == array._buffer(0)[:size]
    else:
        assert result.validity is None


def use_device():
    """Makes the primary context current, for memory of our own."""
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0


def main():
    use_device()
    some = [None if i % 5 == 0 else f"row {i} of some" for i in range(3000)]
    shapes = [some, [f"straße {i % 50}" for i in range(2000)], [], [None] * 9, [""] * 9, ["one"]]
    for rows in shapes:
        for options in ({"codec": "onpair12"}, {"codec": "onpair16", "chunk_bytes": 4096}, {"codec": "stored"},
                        {"cold": True, "codec": "onpair12"}):
            column = fp.open(fp.compress(rows, **options))
            compare(column, column.to_gpu())
    column = fp.open(fp.compress(some, codec="onpair12"))
    compare(column[100:200], column[100:200].to_gpu())
    prepared = column.upload()
    for _ in range(3):
        compare(column, prepared.decode().check())
    stream = ctypes.c_void_p()
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    wide = prepared.decode(offset_bits=64, stream=stream.value).check()
    assert wide.offsets.get().dtype == np.int64
    assert Library.calls == ["follow", "hand back"], "a stream of its own, and no other decode"

    # Arrow: two capsules that keep the memory.
    result = column.to_gpu()
    address = result.bytes.address.value
    result.bytes = result.offsets = None  # nobody's business but the user's
    capsules = result.__arrow_c_device_array__()
    del result, prepared, wide
    gc.collect()
    held = Memory.live
    assert held >= 3
    assert read(ctypes.c_uint64(address), np.empty(10, np.uint8)).tobytes() == b"row 1 of s"
    del capsules
    gc.collect()
    assert Memory.live == 0, Memory.live
    try:
        column[1:].upload()
        raise AssertionError("a slice was uploaded as a whole")
    except ValueError:
        pass

    # Damage on the device is an Error.
    image = bytearray(fp.compress([f"row {i * 7919 % 10007}" for i in range(20_000)], codec="onpair16"))
    chunk = fp.open(bytes(image)).chunks[0]
    caught = 0
    for at in range(chunk.file_offset + 1000, chunk.file_offset + 5000, 1000):
        damaged = bytearray(image)
        damaged[at:at + 40] = b"\xff" * 40
        try:
            fp.open(bytes(damaged)).to_gpu()
        except fp.Error as error:
            caught += error.status == "CORRUPT"
    assert caught
    print("good")


if __name__ == "__main__":
    main()
