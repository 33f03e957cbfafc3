"""Searches and selections that can only be seen on a GPU: python gpu_search_check.py COLUMN.fpc

Needs PyTorch and CuPy. As in gpu_check.py, each part runs in a process of its own, and every result is compared with
what the CPU finds. The last part repeats the column to some GB and says how long it all takes. pytest does not collect
this file.
"""
import ctypes
import gc
import os
import random
import sys
import tempfile
import time

import numpy as np
from gpu_check import DeviceArray, from_device, main, pointer

import fastpair as fp

TESTS = [dict(contains="e"), dict(contains="absent word"), dict(prefix="2"), dict(suffix="0"), dict(like="%a_e%"),
         dict(contains=["ERROR", "WARN"], ignore_case=True), dict(is_null=True), dict(contains="a", negate=True)]


def host(memory):
    if memory is None:
        return None
    return memory.cpu().numpy() if hasattr(memory, "cpu") else memory.get()


def same(result, wanted):
    """Compares a GpuArray with an Array of the CPU."""
    assert len(result) == len(wanted), (len(result), len(wanted))
    kind = "<i4" if wanted.format in "uz" else "<i8"
    assert np.array_equal(host(result.bytes), np.frombuffer(wanted._buffer(2) or b"", np.uint8)), "bytes differ"
    assert np.array_equal(host(result.offsets), np.frombuffer(wanted._buffer(1), kind)), "offsets differ"
    assert result.null_count == wanted.null_count
    if wanted.null_count:
        bits = np.unpackbits(np.frombuffer(wanted._buffer(0), np.uint8), count=len(wanted), bitorder="little")
        assert np.array_equal(np.unpackbits(host(result.validity), count=len(wanted), bitorder="little"), bits)


def same_mask(mask, wanted):
    answers = wanted.to_pylist()
    assert host(mask.to_bool()).tolist() == [answer is True for answer in answers]
    assert (mask.true_count, mask.null_count) == (wanted.true_count, wanted.null_count)


def columns(path):
    """The file's, and one with nulls and other shapes."""
    chosen = random.Random(3)
    rows = [None if i % 7 == 0 else f"2 rows a {i} e" * chosen.randrange(5) for i in range(100_003)]
    return fp.open(path), fp.open(fp.compress(rows, codec="onpair16", chunk_bytes=1 << 17))


def fastpair_first(path):
    """Nobody has touched CUDA before."""
    import torch

    assert not torch.cuda.is_initialized()
    column = fp.open(path)
    same(column.upload("cuda").filter(contains="e"), column.filter(contains="e"))


def torch_first(path):
    import torch

    one = torch.ones(1000, device="cuda")
    for column in columns(path):
        prepared = column.upload()
        for test in TESTS:
            same_mask(prepared.match(**test), column.match(**test))
            same(prepared.filter(**test), column.filter(**test))
            assert prepared.count(**test) == column.count(**test)
    assert float(one.sum()) == 1000


def cupy_first(path):
    import cupy

    cupy.ones(10).sum().get()
    for column in columns(path):
        prepared = column.upload(library="cupy")
        for test in TESTS:
            same_mask(prepared.match(**test), column.match(**test))
            same(prepared.filter(**test), column.filter(**test))


def lists(path):
    """Row numbers of every kind, on the host and on the device."""
    import cupy
    import torch

    for column in columns(path):
        count = len(column)
        rows = np.random.default_rng(1).integers(-count, count, 20_000)
        wanted = column.take(rows)
        tiny = column.take(np.arange(100, dtype=np.uint8))
        bits = np.arange(count) % 3 == 1
        for library in ("torch", "cupy"):
            prepared = column.upload(library=library)
            for kind in (rows.tolist(), rows, rows.astype(np.int32), torch.tensor(rows), torch.tensor(rows).cuda(),
                         torch.tensor(rows).cuda().int(), cupy.asarray(rows), cupy.asarray(rows.astype(np.int32)),
                         torch.tensor(np.repeat(rows, 2)).cuda()[::2], cupy.asarray(np.repeat(rows, 2))[::2]):
                same(prepared.take(kind), wanted)
            positive = rows % count
            for kind in (cupy.asarray(positive.astype(np.uint64)), torch.tensor(positive.astype(np.uint64)).cuda()):
                same(prepared.take(kind), wanted)
            for kind in (torch.arange(100, dtype=torch.uint8, device="cuda"), cupy.arange(100, dtype=cupy.int16)):
                same(prepared.take(kind), tiny)
            for kind in (bits, torch.tensor(bits).cuda(), cupy.asarray(bits)):
                same(prepared.take(kind), column.take(bits))
            for kind in ([], torch.empty(0, dtype=torch.int64, device="cuda"), cupy.empty(0, cupy.int32)):
                assert len(prepared.take(kind)) == 0
            for wrong, error in (([count], IndexError), (cupy.asarray([0, -count - 1]), IndexError),
                                 (torch.tensor([2**62], device="cuda"), IndexError),
                                 (cupy.asarray([2**64 - 1], cupy.uint64), IndexError),
                                 (torch.ones(3, device="cuda"), TypeError), (cupy.ones(3), TypeError),
                                 (torch.ones(3, 3, dtype=torch.int64, device="cuda"), ValueError),
                                 (torch.ones(3, dtype=torch.bool, device="cuda"), ValueError)):
                try:
                    prepared.take(wrong)
                except error:
                    continue
                raise AssertionError(f"{wrong!r} was taken")
            same(prepared.take(rows), wanted)
    try:
        from numba import cuda
    except ImportError:
        print("  no Numba")
        return
    same(prepared.take(cuda.to_device(rows)), wanted)


def streams(path):
    """Streams other than the default one; memory that is dropped is not used again too early."""
    import cupy
    import torch

    column = fp.open(path)
    wanted, listed = column.filter(contains="e"), column.take(range(0, len(column), 3))
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        prepared = column.upload()
        rows = torch.arange(0, len(column), 3, device="cuda")
        results = [prepared.filter(contains="e"), prepared.take(rows)]
        total = results[0].bytes.to(torch.int64).sum()
    first.synchronize()
    assert int(total) == int(host(results[0].bytes).astype(np.int64).sum())
    same(results[0], wanted)
    same(results[1], listed)
    for _ in range(20):
        # The current stream, one of the caller's, and its address: each reads what another one has made.
        mask = prepared.match(contains="e", stream=second)
        result = prepared.filter(mask)
        again = prepared.filter(mask, stream=second.cuda_stream)
        del mask
        with torch.cuda.stream(second):
            torch.full((len(column) // 8 + 1000,), 255, dtype=torch.uint8, device="cuda")
        same(result, wanted)
        same(again, wanted)
    mine, theirs = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    prepared = column.upload(stream=mine, library="cupy")
    for _ in range(20):
        mask = prepared.match(contains="e", stream=theirs)
        result = prepared.filter(mask, stream=mine)
        del mask
        with theirs:
            cupy.full(len(column) // 8 + 1000, 255, cupy.uint8)
        same(result, wanted)
    with theirs:
        same(prepared.take(cupy.arange(0, len(column), 3)), listed)


def memory(path):
    """What was taken is given back, by the rules of the library that owns it."""
    import cupy
    import torch

    column = fp.open(path)
    prepared = column.upload("cuda")
    prepared.filter(contains="e")
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(5):
        result, mask = prepared.filter(contains="e"), prepared.match(contains="e")
        mask.true_count
        kept = sum(t.numel() * t.element_size() for t in (result.bytes, result.offsets, mask.bitmap))
        used = torch.cuda.memory_allocated() - before
        # The tables, scratch and sizes are gone; what remains is rounded up per tensor.
        assert kept <= used < kept + 16 * 512, (kept, used)
        del result, mask
        assert torch.cuda.memory_allocated() == before
    try:
        prepared.take([len(column)])
    except IndexError:
        pass
    assert torch.cuda.memory_allocated() == before
    del prepared
    gc.collect()
    assert torch.cuda.memory_allocated() == 0
    pool = cupy.get_default_memory_pool()
    result = column.upload(library="cupy").filter(contains="e")
    gc.collect()
    assert 0 < pool.used_bytes() < result.bytes.nbytes + result.offsets.nbytes + 16 * 512
    del result
    gc.collect()
    assert pool.used_bytes() == 0


def arrow_device(path):
    """ArrowDeviceArrays of rows and of booleans, read by their bare structs."""
    import torch

    for column in columns(path):
        prepared = column.upload()
        wanted = column.take(range(0, 1000, 3))
        schema, capsule = prepared.take(range(0, 1000, 3)).__arrow_c_device_array__()
        held = DeviceArray.from_address(pointer(capsule, b"arrow_device_array"))
        assert held.device_type == 2 and held.array.n_buffers == 3 and held.array.length == len(wanted)
        assert ctypes.CDLL("libcuda.so.1").cuEventSynchronize(ctypes.c_void_p(held.sync_event[0])) == 0
        data = wanted._buffer(2)
        assert from_device(held.array.buffers[2], len(data), np.uint8).tobytes() == data
        offsets = np.frombuffer(wanted._buffer(1), np.int32)
        assert np.array_equal(from_device(held.array.buffers[1], len(offsets), np.int32), offsets)
        mask = prepared.match(contains="e")
        expected = host(mask.bitmap)
        schema, capsule = mask.__arrow_c_device_array__()
        del mask
        held = DeviceArray.from_address(pointer(capsule, b"arrow_device_array"))
        assert ctypes.c_char_p.from_address(pointer(schema, b"arrow_schema")).value == b"b"
        assert held.array.n_buffers == 2 and held.array.length == len(column)
        assert np.array_equal(from_device(held.array.buffers[1], len(expected), np.uint8), expected)
        del schema, capsule, held
        gc.collect()
    del prepared
    gc.collect()
    assert torch.cuda.memory_allocated() == 0


def speed(path):
    """Wall time of each call on a large column, once it is prepared, and the CPU's on the same file."""
    import pyarrow as pa
    import torch

    small = pa.array(fp.open(path), type=pa.binary())
    copies = max(1, 1_000_000_000 // max(1, fp.open(path).nbytes))
    with tempfile.TemporaryDirectory() as folder:
        large = os.path.join(folder, "large.fpc")
        fp.write(large, pa.chunked_array([small] * copies), level=1, codec="onpair12")
        column = fp.open(large, threads=1)
        prepared = column.upload("cuda")
        begin = time.perf_counter()
        prepared._prepare()
        print(f"  {column.nbytes / 1e9:.2f} GB, {len(column):,} rows; prepare {(time.perf_counter() - begin) * 1e3:.1f} ms")
        listed = np.random.default_rng(1).integers(0, len(column), len(column) // 100)
        on_device = torch.tensor(listed).cuda()
        calls = {"count ERROR": lambda c: c.count(contains="ERROR"), "count e": lambda c: c.count(contains="e"),
                 "filter ERROR": lambda c: c.filter(contains="ERROR"),
                 "take 1 %": lambda c: c.take(listed if c is column else on_device)}
        for name, call in calls.items():
            times = {}
            for where, target, repeats in (("GPU", prepared, 9), ("CPU, one thread", column, 1)):
                taken = []
                for _ in range(repeats):
                    torch.cuda.synchronize()
                    begin = time.perf_counter()
                    result = call(target)
                    torch.cuda.synchronize()
                    taken.append(time.perf_counter() - begin)
                times[where] = sorted(taken)[len(taken) // 2] * 1e3, result
            (gpu, found), (cpu, wanted) = times.values()
            if isinstance(wanted, int):
                assert found == wanted
            else:
                same(found, wanted)
            print(f"  {name}: GPU {gpu:.2f} ms, CPU with one thread {cpu:.1f} ms")


if __name__ == "__main__":
    sys.exit(main(fastpair_first, torch_first, cupy_first, lists, streams, memory, arrow_device, speed))
