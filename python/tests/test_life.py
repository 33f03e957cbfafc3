"""Who lives how long: columns, streams, buffers, threads, signals."""
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import polars as pl
import pyarrow as pa
import pytest

import fastpair as fp


class Buffer(bytearray):
    """A buffer whose end can be seen."""


def test_a_stream_outlives_its_column(tmp_path, rows):
    path = tmp_path / "a.fpc"
    fp.write(path, rows, chunk_bytes=64_000)
    column = fp.open(path)
    reader = pa.RecordBatchReader.from_stream(fp.table(a=column))
    chunks = pa.chunked_array(column)
    capsule = column.__arrow_c_stream__()
    column.close()
    del column
    path.unlink()
    gc.collect()
    assert reader.read_all()["a"].to_pylist() == rows
    assert chunks.to_pylist() == rows
    assert pa.ChunkedArray._import_from_c_capsule(capsule).to_pylist() == rows


def test_the_image_goes_with_its_last_user(rows):
    import numpy as np

    image = np.frombuffer(fp.compress(rows, chunk_bytes=64_000, codec="onpair12"), np.uint8)
    image.flags.writeable = False
    gone = weakref.ref(image)
    column = fp.open(image)
    column._source = None
    del image
    part = column[5:10]
    stream = column.__arrow_c_stream__()
    del column
    assert gone() is not None
    assert pa.ChunkedArray._import_from_c_capsule(stream).to_pylist() == rows
    del stream
    assert part.to_pylist() == rows[5:10]
    del part
    gc.collect()
    assert gone() is None


def test_the_image_may_go_in_another_thread(rows):
    """Polars and pyarrow drop streams in threads of their own, without the interpreter's lock."""
    image = fp.compress(rows, chunk_bytes=64_000, codec="onpair12")
    for _ in range(20):
        threads = [threading.Thread(target=lambda c: (pl.Series(c), pa.chunked_array(c)), args=(fp.open(image),))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_arrays_outlive_everything(rows):
    column = fp.open(fp.compress(rows, codec="onpair12"))
    taken = column.take(range(100))
    arrow, series = pa.array(taken), pl.Series(taken)
    part = taken[50:60]
    del column, taken
    gc.collect()
    assert arrow.to_pylist() == series.to_list() == rows[:100] and part == rows[50:60]
    mask = fp.open(fp.compress(rows, codec="onpair12")).match(contains="GET")
    arrow = pa.array(mask)
    del mask
    gc.collect()
    arrow.validate(full=True)


def test_unused_capsules(column):
    for _ in range(100):
        column.__arrow_c_schema__()
        column[:10].__arrow_c_array__()
        column.__arrow_c_stream__()
        fp.table(a=column).__arrow_c_stream__()
        column.take([1]).__arrow_c_array__()
        fp.table(a=column).__arrow_c_schema__()


def test_threads_share_a_column(rows):
    column = fp.open(fp.compress(rows, chunk_bytes=64_000, codec="onpair12", cold=True), threads=2)
    faults = []

    def work(seed):
        try:
            for i in range(5):
                first = (seed * 997 + i * 1231) % 15_000
                assert column[first:first + 3000].to_pylist() == rows[first:first + 3000]
                assert column[first] == rows[first]
                assert column.take([first, 3]).to_pylist() == [rows[first], rows[3]]
                assert pa.array(column).to_pylist() == rows
                assert column.count(contains="GET") == expected
        except BaseException as error:
            faults.append(error)
    expected = sum(1 for row in rows if row and "GET" in row)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_close_while_others_work(rows):
    image = fp.compress(rows, chunk_bytes=64_000, codec="onpair12")
    for _ in range(20):
        column = fp.open(image)
        faults = []

        def work():
            try:
                while True:
                    column.to_pylist()
                    column.count(contains="a")
            except ValueError:
                pass
            except BaseException as error:
                faults.append(error)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.005)
        column.close()
        for thread in threads:
            thread.join()
        assert not faults


def test_other_threads_run_while_we_work(rows):
    """The lock is given back: a counter goes on while a column is compressed."""
    data = pa.array([row for row in rows if row] * 30)
    turns, done = 0, threading.Event()

    def compress():
        fp.compress(data, codec="onpair16", threads=1)
        done.set()
    thread = threading.Thread(target=compress)
    thread.start()
    begin = time.monotonic()
    while not done.is_set() and time.monotonic() - begin < 60:
        time.sleep(0.001)
        turns += 1
    thread.join()
    assert turns > 20


@pytest.mark.parametrize("data", ["rows", "arrow"])
def test_interrupt(data, tmp_path):
    """Ctrl-C ends compressing soon, with KeyboardInterrupt, and leaves no file."""
    script = textwrap.dedent(f"""
        import sys, fastpair as fp, pyarrow as pa
        rows = ["row %d of many, said again and again" % (i * 7919 % 1000003) for i in range(200_000)]
        data = rows * 16 if {data!r} == "rows" else pa.chunked_array([pa.array(rows)] * 80)
        print("begin", flush=True)
        try:
            fp.write({str(tmp_path / 'a.fpc')!r}, data, level=9, threads=1)
        except KeyboardInterrupt:
            sys.exit(77)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begin\n"
    time.sleep(0.7)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 77
    assert time.monotonic() - sent < 20
    assert os.listdir(tmp_path) == []


def test_memory_does_not_grow(rows):
    """Many rounds take no more than a few: nothing is forgotten."""
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    image = fp.compress(rows, chunk_bytes=64_000, codec="onpair12")
    lie = fp.compress(["a"] * 1000)[:-1]

    def round_():
        column = fp.open(image)
        pa.array(column)
        pa.chunked_array(column)
        pa.table(fp.table(a=column))
        column.match(contains="GET")
        column.filter(contains="GET")
        column.take([1, 2])
        column.info, column.metadata, column.chunks
        with pytest.raises(fp.Error):
            fp.open(lie)
    for _ in range(20):
        round_()
    gc.collect()
    before = resident()
    for _ in range(150):
        round_()
    gc.collect()
    assert resident() - before < 8 << 20


def test_at_exit():
    """Streams that are still there when the interpreter ends."""
    script = "import fastpair as fp, pyarrow as pa; c = fp.open(fp.compress(['a'] * 10)); s = c.__arrow_c_stream__(); " \
             "r = pa.RecordBatchReader.from_stream(fp.table(a=c)); a = pa.array(c)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
