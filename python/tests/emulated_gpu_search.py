"""Searches and selects on a made-up GPU: run by test_gpu.py, with a driver whose kernels the CPU emulates. What the
CPU finds on the same column is what must be found."""
import ctypes
import gc
import random

import numpy as np
import pytest
from emulated_gpu import Library, Memory, driver, read, use_device

import fastpair as fp
from fastpair import _gpu

TESTS = [
    dict(contains="row"), dict(contains="7 of"), dict(contains="absent"), dict(contains=""), dict(prefix="row 1"),
    dict(suffix="e"), dict(equals="row 17 of some"), dict(like="r%1_ of%"), dict(isin=["one", "row 3 of some"]),
    dict(is_null=True), dict(is_null=False), dict(contains=["straße", "12"]), dict(contains="ROW", ignore_case=True),
    dict(contains="row", negate=True),
]


def on_host(memory):
    return None if memory is None else memory.get()


def compare(result, wanted, column):
    """A GpuArray with the rows that the CPU has: a list."""
    data, offsets, validity = map(on_host, (result.bytes, result.offsets, result.validity))
    assert len(result) == len(wanted) and len(offsets) == len(wanted) + 1
    bits = None if validity is None else np.unpackbits(validity, bitorder="little")[:len(wanted)]
    raw = data.tobytes()
    rows = [None if bits is not None and not bits[i] else raw[offsets[i]:offsets[i + 1]] for i in range(len(wanted))]
    assert offsets[0] == 0 and offsets[-1] == len(raw)
    assert rows == [row.encode() if isinstance(row, str) else row for row in wanted]
    assert result.null_count == sum(row is None for row in wanted)
    assert (validity is None) == (column.null_count == 0)


def check_searches(column, prepared):
    for test in TESTS:
        wanted = column.match(**test)
        mask = prepared.match(**test)
        assert len(mask) == len(column)
        bits = mask.to_bool()
        assert bits.tolist() == [row is True for row in wanted.to_pylist()], test
        assert (mask.true_count, mask.null_count) == (wanted.true_count, wanted.null_count), test
        if mask.validity is not None:
            valid = np.unpackbits(mask.validity.get(), bitorder="little")[:len(column)]
            assert valid.tolist() == [row is not None for row in wanted.to_pylist()], test
        else:
            assert not wanted.null_count
        assert prepared.count(**test) == column.count(**test)
        rows = column.filter(**test).to_pylist()
        compare(prepared.filter(**test), rows, column)
        compare(prepared.filter(mask), rows, column)
    tree = fp.where(contains="1") & ~fp.where(suffix="e") | fp.where(prefix="one")
    compare(prepared.filter(tree), column.filter(tree).to_pylist(), column)


def check_lists(column, prepared, chosen):
    count = len(column)
    lists = [[], range(count), range(count - 1, -1, -7), [-1, 0, -count] if count else []]
    lists.append([chosen.randrange(-count, count) for _ in range(300)] if count else [])
    for rows in lists:
        wanted = column.take(rows).to_pylist()
        compare(prepared.take(rows), wanted, column)
        host = np.array(rows, np.int64)
        compare(prepared.take(host), wanted, column)
        compare(prepared.take(prepared._library.copy(host.tobytes(), "int64")), wanted, column)
        small = np.array(rows, np.int32)
        compare(prepared.take(small), wanted, column)
    chosen_rows = np.arange(count) % 3 == 1
    compare(prepared.take(chosen_rows), column.take(chosen_rows).to_pylist(), column)
    for bad in ([count], [0, -count - 1], [2**62], np.array([2**64 - 1], np.uint64)):
        for rows in (bad, Library().copy(np.array(bad).astype(np.int64).tobytes(), "int64")):
            if isinstance(rows, Memory) and isinstance(bad, np.ndarray):
                continue  # as signed numbers they count from the end
            with pytest.raises(IndexError):
                prepared.take(rows)
    # It still works.
    compare(prepared.take(range(count)), column.to_pylist(), column)


def check_refusals(column, prepared):
    elsewhere = Memory(3, "int64")
    elsewhere.index = 1
    mask = prepared.match(contains="row")
    for use in (lambda: prepared.take(elsewhere), lambda: prepared.take(np.ones(len(column) + 1, bool)),
                lambda: prepared.take([0], offset_bits=16)):
        with pytest.raises(ValueError):
            use()
    for use in (lambda: prepared.take([1.5]), lambda: prepared.take(np.array([0.0])), lambda: prepared.take(7),
                lambda: prepared.take(["0"]), lambda: prepared.filter(mask, contains="x"), prepared.match,
                lambda: prepared.filter("row"), lambda: prepared.match(contains=3)):
        with pytest.raises(TypeError):
            use()
    other = fp.open(fp.compress(["a"] * 5)).upload()
    with pytest.raises(ValueError):
        other.filter(mask)
    mask.device = 1
    with pytest.raises(ValueError):
        prepared.filter(mask)
    deep = fp.where(contains="x")
    for _ in range(40):
        deep = deep & fp.where(contains="y") | deep
        if len(repr(deep)) > 100_000:
            break
    with pytest.raises(fp.Error) as caught:
        prepared.match(deep)
    assert caught.value.status == "LIMIT"
    for name in ("prepare", "scratch", "sizes", "decode", "search"):
        with pytest.raises((TypeError, fp.Error, ValueError)):
            getattr(prepared._rows, name)(())


def check_kept(column, prepared):
    """Compiled tests are kept, but not many of them, and not large ones."""
    wanted = column.count(contains="row")
    assert prepared.count(contains="row") == wanted
    tree = fp.where(contains="row")._tree
    search = prepared._searches[tree][0]
    assert prepared.count(contains="row") == wanted and prepared._searches[tree][0] is search
    for i in range(40):
        assert prepared.count(contains=f" {i}") == column.count(contains=f" {i}")
        assert len(prepared._searches) <= _gpu._MOST_SEARCHES
    assert tree not in prepared._searches
    before, _gpu._MOST_TABLES = _gpu._MOST_TABLES, 1
    assert prepared.count(contains="row") == wanted
    assert list(prepared._searches) == [tree]
    _gpu._MOST_TABLES = before


class ArrowArray(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


def arrow(capsules):
    """The array of a pair of capsules, and its format."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    format_ = ctypes.c_char_p.from_address(get(capsules[0], b"arrow_schema")).value
    return ArrowArray.from_address(get(capsules[1], b"arrow_device_array")), format_


def check_arrow(column, prepared):
    """Capsules keep the memory, and say what is in it."""
    result = prepared.take([5, 4, 5])
    address, size = result.bytes.address.value, len(result.bytes)
    capsules = result.__arrow_c_device_array__()
    array, format_ = arrow(capsules)
    assert (array.length, array.n_buffers, format_) == (3, 3, b"u")
    assert array.null_count == (-1 if column.null_count else 0) and array.buffers[2] == address
    text = "".join(row or "" for row in column.take([5, 4, 5]).to_pylist())
    del result
    gc.collect()
    assert read(ctypes.c_uint64(address), np.empty(size, np.uint8)).tobytes() == text.encode()
    mask = prepared.match(contains="7")
    wanted, address, size = mask.bitmap.get(), mask.bitmap.address.value, len(mask.bitmap)
    capsules = mask.__arrow_c_device_array__()
    array, format_ = arrow(capsules)
    assert (array.length, array.n_buffers, format_, array.buffers[1]) == (len(column), 2, b"b", address)
    del mask
    gc.collect()
    assert (read(ctypes.c_uint64(address), np.empty(size, np.uint8)) == wanted).all()


def check_streams(column, prepared):
    """Another stream waits for what it reads, and is waited for."""
    stream = ctypes.c_void_p()
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    Library.calls.clear()
    mask = prepared.match(contains="row", stream=stream.value)
    assert Library.calls == ["follow", "hand back"]
    Library.calls.clear()
    wanted = column.filter(contains="row").to_pylist()
    compare(prepared.filter(mask), wanted, column)  # the column's stream reads what the other one made
    assert Library.calls == ["follow", "hand back"]
    Library.calls.clear()
    compare(prepared.filter(mask, stream=stream.value), wanted, column)
    assert Library.calls == ["follow", "hand back"]
    wide = prepared.take([1, 2], stream=stream.value, offset_bits=64)
    assert wide.offsets.get().dtype == np.int64


def main():
    use_device()
    chosen = random.Random(5)
    some = [None if i % 5 == 0 else f"row {i} of some" for i in range(1500)]
    full = [f"straße {i % 50} {'x' * (i % 90)}" for i in range(700)]
    for rows in (some, full, [], [None] * 9, [""] * 9, ["one"]):
        for options in (dict(codec="onpair12"), dict(codec="onpair16", chunk_bytes=4096), dict(codec="stored"),
                        dict(cold=True, codec="onpair12")):
            column = fp.open(fp.compress(rows, **options))
            prepared = column.upload()
            assert len(prepared) == len(rows)
            check_searches(column, prepared)
            check_lists(column, prepared, chosen)
    column = fp.open(fp.compress(some, codec="onpair12"))
    prepared = column.upload()
    check_refusals(column, prepared)
    check_arrow(column, prepared)
    check_kept(column, prepared)
    check_streams(column, prepared)
    # The column may be closed; the one on the GPU has a reference of its own.
    wanted = column.filter(contains="1").to_pylist()
    column.close()
    result = prepared.filter(contains="1")
    column = fp.open(fp.compress(some))
    compare(result, wanted, column)
    del prepared, result
    gc.collect()
    assert Memory.live == 0, Memory.live

    # Damage is found when the rows are prepared, or when they are decoded, or what is found is what the CPU finds.
    image = bytearray(fp.compress([f"row {i * 7919 % 10007}" for i in range(20_000)], codec="onpair16"))
    chunk = fp.open(bytes(image)).chunks[0]
    caught = 0
    for at in range(chunk.file_offset + 1000, chunk.file_offset + 5000, 500):
        damaged = bytearray(image)
        damaged[at:at + 40] = b"\xff" * 40
        try:
            fp.open(bytes(damaged)).upload().filter(contains="7")
        except fp.Error as error:
            caught += error.status == "CORRUPT"
    assert caught
    print("good")


if __name__ == "__main__":
    main()
