"""What can only be seen on a GPU: python gpu_check.py COLUMN.fpc [path of fastpair-measure]

Needs PyTorch and CuPy. Each part runs in a process of its own, as the order in which libraries first
touch the GPU is one of the things to see. Every result is compared with what the CPU decodes. The last
part repeats the column to some GB and compares the kernels' time with that of the C program. pytest does
not collect this file.
"""
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import fastpair as fp


def expected(column):
    array = column._decode(2)
    kind = "<i4" if array.format == "z" else "<i8"
    return np.frombuffer(array._buffer(2) or b"", np.uint8), np.frombuffer(array._buffer(1), kind), array._buffer(0)


def same(result, column):
    """Compares two tensors or arrays with the CPU's rows."""
    data, offsets, _ = expected(column)
    got, got_offsets = [x.cpu().numpy() if hasattr(x, "cpu") else x.get() for x in result[:2]]
    assert got.dtype == np.uint8 and np.array_equal(got, data), "bytes differ"
    assert np.array_equal(got_offsets, offsets), "offsets differ"


def fastpair_first(path):
    """Nobody has touched CUDA before."""
    import torch

    assert not torch.cuda.is_initialized()
    column = fp.open(path)
    same(column.to_torch("cuda"), column)


def torch_first(path):
    import torch

    one = torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    column = fp.open(path)
    same(column.to_torch("cuda:0"), column)
    assert float(one.sum()) == 1000


def cupy_first(path):
    import cupy

    cupy.ones(10).sum().get()
    column = fp.open(path)
    same(column.to_cupy(), column)
    import torch
    same(column.to_torch(), column)


def streams(path):
    """Not the default stream, of either library; work queued before and after keeps its order."""
    import cupy
    import torch

    column = fp.open(path)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        data, offsets = column.to_torch()
        total = data.to(torch.int64).sum()
    stream.synchronize()
    assert int(total) == int(expected(column)[0].astype(np.int64).sum())
    same((data, offsets), column)
    other = torch.cuda.Stream()
    same(column.to_torch(stream=other), column)
    same(column.to_torch(stream=other.cuda_stream), column)
    # Queued and not waited for: a consumer on the same stream needs no more.
    prepared = column.upload("cuda", stream=other)
    results = [prepared.decode() for _ in range(3)] + [prepared.decode(stream=stream)]
    torch.cuda.synchronize()
    for result in results:
        same((result.bytes, result.offsets), column)
        result.check()
    mine = cupy.cuda.Stream(non_blocking=True)
    with mine:
        data, offsets = column.to_cupy()
    mine.synchronize()
    same((data, offsets), column)
    # Memory of a column that is dropped is not used again before another stream has read it.
    theirs = cupy.cuda.Stream(non_blocking=True)
    for _ in range(20):
        prepared = column.upload(stream=mine, library="cupy")
        size = prepared.info["device_bytes"]
        result = prepared.decode(stream=theirs)
        result._pending = None
        del prepared
        with mine:
            cupy.full(size, 255, cupy.uint8)
        theirs.synchronize()
        same((result.bytes, result.offsets), column)


def exchange(path):
    """DLPack without a copy, both ways."""
    import cupy
    import torch

    column = fp.open(path)
    data, offsets = column.to_cupy()
    assert torch.from_dlpack(data).data_ptr() == data.data.ptr
    same((torch.from_dlpack(data), torch.from_dlpack(offsets)), column)
    data, offsets = column.to_torch()
    assert cupy.from_dlpack(data).data.ptr == data.data_ptr()
    same((cupy.from_dlpack(data), cupy.from_dlpack(offsets)), column)


def memory(path):
    """What was taken is given back, by the rules of the library that owns it."""
    import cupy
    import torch

    def requested():
        """Without what PyTorch adds to have blocks of few sizes, up to some MB."""
        return torch.cuda.memory_stats()["requested_bytes.all.current"]

    column = fp.open(path)
    column.to_torch()
    gc.collect()
    before, asked = torch.cuda.memory_allocated(), requested()
    for _ in range(5):
        data, offsets = column.to_torch()
        assert torch.cuda.memory_allocated() >= before + data.numel()
        # The compressed column is gone; only the results are there.
        assert requested() < asked + data.numel() + offsets.numel() * 4 + 4096
        del data, offsets
        assert torch.cuda.memory_allocated() == before
    prepared = column.upload("cuda")
    array = prepared.decode()
    del prepared, array
    gc.collect()
    assert torch.cuda.memory_allocated() == before
    pool = cupy.get_default_memory_pool()
    used = pool.used_bytes()
    result = column.to_cupy()
    assert pool.used_bytes() > used
    del result
    gc.collect()
    assert pool.used_bytes() == used


class ArrowArray(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


class DeviceArray(ctypes.Structure):
    _fields_ = [("array", ArrowArray), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32),
                ("sync_event", ctypes.POINTER(ctypes.c_void_p)), ("reserved", ctypes.c_int64 * 3)]


def pointer(capsule, name):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def from_device(address, size, dtype):
    """Device memory by its address alone, as a consumer in C sees it."""
    out = np.empty(size, dtype)
    driver = ctypes.CDLL("libcuda.so.1")
    copied = driver.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(address or 0),
                                    ctypes.c_size_t(out.nbytes))
    assert copied == 0 or not out.nbytes
    return out


def arrow_device(path):
    """An ArrowDeviceArray, read by its bare structs."""
    import torch

    rows = [None if i % 7 == 0 else f"row {i}" for i in range(100_003)]
    for column in (fp.open(path), fp.open(fp.compress(rows)), fp.open(fp.compress(["straße", None] * 1000))):
        gc.collect()
        before = torch.cuda.memory_allocated()
        result = column.to_gpu()
        addresses = [t.data_ptr() if t is not None else None for t in (result.validity, result.offsets, result.bytes)]
        schema, capsule = result.__arrow_c_device_array__()
        del result
        held = DeviceArray.from_address(pointer(capsule, b"arrow_device_array"))
        format_ = ctypes.c_char_p.from_address(pointer(schema, b"arrow_schema")).value
        assert format_ in (b"u", b"z"), format_
        assert held.device_type == 2 and held.device_id == 0 and held.array.n_buffers == 3
        assert ctypes.CDLL("libcuda.so.1").cuEventSynchronize(ctypes.c_void_p(held.sync_event[0])) == 0
        assert [held.array.buffers[i] for i in range(3)] == addresses
        data, offsets, validity = expected(column)
        assert held.array.length == len(column) and held.array.null_count in (-1, column.null_count)
        assert np.array_equal(from_device(addresses[2], len(data), np.uint8), data)
        assert np.array_equal(from_device(addresses[1], len(offsets), np.int32), offsets)
        if column.null_count:
            assert from_device(addresses[0], (len(column) + 7) // 8, np.uint8).tobytes() == validity
        print("  format", format_.decode(), "of", column.type)
        assert torch.cuda.memory_allocated() > before
        del schema, capsule, held
        gc.collect()
        assert torch.cuda.memory_allocated() == before
    # A column that was validated is text on the GPU, whatever its tokens are.
    column.validate()
    schema, capsule = column.to_gpu().__arrow_c_device_array__()
    assert ctypes.c_char_p.from_address(pointer(schema, b"arrow_schema")).value == b"u"


def corners(path):
    """Slices, nothing at all, nulls, cold files, wide offsets, damage."""
    import torch

    for rows in ([], [None] * 10, [""] * 10, ["a"], ["a", None, "bc" * 5000]):
        for cold in (False, True):
            column = fp.open(fp.compress(rows, cold=cold))
            same(column.to_torch(), column)
            same(column.to_cupy(), column)
            result = column.to_gpu()
            validity = expected(column)[2]
            assert (result.validity is None) == (None not in rows)
            if None in rows:
                assert bytes(result.validity.cpu().numpy())[:len(validity)] == validity
    column = fp.open(path)
    same(column[1000:3333].to_torch(), column[1000:3333])
    same(column[1000:3333].to_torch("cpu"), column[1000:3333])
    wide = column.to_torch(offset_bits=64)
    assert wide[1].dtype == torch.int64
    same(wide, column)
    wrong = 0
    image = bytearray(fp.compress([f"row {i * 7919 % 10007}" for i in range(200_000)], codec="onpair16"))
    chunk = fp.open(bytes(image)).chunks[0]
    for at in range(chunk.file_offset + 3000, chunk.file_offset + 9000, 500):
        damaged = bytearray(image)
        damaged[at:at + 40] = b"\xff" * 40
        try:
            fp.open(bytes(damaged)).to_torch()
        except fp.Error as error:
            wrong += error.status == "CORRUPT"
    assert wrong > 0
    torch.cuda.synchronize()


def speed(path):
    """Kernel time of a large column, against the C program's on the same file."""
    import pyarrow as pa
    import torch

    small = pa.array(fp.open(path), type=pa.binary())
    copies = max(1, 1_000_000_000 // max(1, fp.open(path).nbytes))
    with tempfile.TemporaryDirectory() as folder:
        large = os.path.join(folder, "large.fpc")
        fp.write(large, pa.chunked_array([small] * copies), level=1, codec="onpair12")
        column = fp.open(large)
        prepared = column.upload("cuda")
        job, library = prepared._job, prepared._library
        data = torch.empty(column.nbytes, dtype=torch.uint8, device="cuda")
        offsets = torch.empty(len(column) + 1, dtype=torch.int32, device="cuda")
        status = torch.zeros(1, dtype=torch.int32, device="cuda")
        output = [(data.data_ptr(), column.nbytes, offsets.data_ptr(), 32, 0, status.data_ptr())]
        stream = torch.cuda.current_stream().cuda_stream
        times = []
        for _ in range(60):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            job.decode(output, stream)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        same((data, offsets), column)
        assert int(status) == 0
        times.sort()
        median = times[len(times) // 2]
        print(f"  {column.nbytes / 1e9:.2f} GB, ratio {column.info['ratio']:.2f}, kernel {prepared.info['kernel']}: "
              f"median {median:.3f} ms, {column.nbytes / median / 1e6:.0f} GB/s from Python, offsets included")
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        for _ in range(3):
            begin.record()
            column.to_torch()
            end.record()
            end.synchronize()
        print(f"  to_torch from the file, upload and check included: {begin.elapsed_time(end):.1f} ms")
        del data, offsets, prepared, job
        if len(sys.argv) > 3:
            done = subprocess.run([sys.argv[3], "rates", "--bytes=0", "--kernel=chosen", "--outputs=offsets", large],
                                  capture_output=True, text=True)
            print("  C:", done.returncode, done.stderr.strip())
            for line in done.stdout.splitlines():
                figures = json.loads(line)
                print("  C:", {k: v for k, v in figures.items() if not isinstance(v, (list, dict))})


def main(*parts):
    """Runs each part in a process of its own."""
    for part in parts:
        if sys.argv[1] == part.__name__:
            return part(sys.argv[2])
    failed = 0
    for part in parts:
        done = subprocess.run([sys.executable, sys.argv[0], part.__name__, *sys.argv[1:]], capture_output=True,
                              text=True)
        failed += done.returncode != 0
        print(f"{part.__name__}: {'good' if done.returncode == 0 else 'FAILED'}")
        print(done.stdout + (done.stderr[-3000:] if done.returncode else ""), end="", flush=True)
    print(f"{len(parts) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(fastpair_first, torch_first, cupy_first, streams, exchange, memory, arrow_device, corners, speed))
