"""Columns that are read in ranges: file objects, fsspec's files, and a server that counts and misbehaves."""
import functools
import io
import os
import pickle
import random
import signal
import sys
import threading
import time
import zipfile

import pytest

import fastpair as fp
from conftest import make_rows
from range_server import RangeServer, altered, cut_off, error_500, gone, short, slow, times, whole

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

BIG = 120_000


@functools.cache
def big_rows():
    return make_rows(BIG, seed=7)


@functools.cache
def big_image():
    """Some 30 chunks, 1.5 MB."""
    return fp.compress(big_rows(), codec="onpair12", chunk_bytes=150_000, name="event")


@pytest.fixture
def server():
    with RangeServer({"event.fpc": big_image(), "text": b"no column" * 100}) as running:
        yield running


def same(column, rows):
    assert len(column) == len(rows)
    assert column.to_pylist() == rows
    assert column[7] == rows[7] and column[-1] == rows[-1]
    assert column.take([5, 3, -2]).to_pylist() == [rows[5], rows[3], rows[-2]]
    assert column.count(contains="timeout") == sum("timeout" in row for row in rows if row is not None)
    assert column[10:20].to_pylist() == rows[10:20]


# ---------------------------------------------------------------- file objects


class Counted(io.BytesIO):
    """A file that counts what is read of it."""

    def __init__(self, data):
        super().__init__(data)
        self.taken = 0

    def read(self, size=-1):
        data = super().read(size)
        self.taken += len(data)
        return data


def test_file_objects(tmp_path):
    image = big_image()
    file = Counted(image)
    column = fp.open(file)
    assert file.taken < 64_000
    assert column[100] == big_rows()[100]
    assert file.taken < len(image) / 4
    same(column, big_rows())
    column.validate()
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("event.fpc", image)
    with zipfile.ZipFile(tmp_path / "some.zip") as archive, archive.open("event.fpc") as member:
        same(fp.open(member), big_rows())
    prefixed = io.BytesIO(b"prefix" + image)
    prefixed.seek(6)
    same(fp.open(prefixed), big_rows())
    again = pickle.loads(pickle.dumps(fp.open(io.BytesIO(image))[3:9]))
    assert again.to_pylist() == big_rows()[3:9]


def test_files_that_cannot_seek_are_read():
    read, write = os.pipe()
    image = fp.compress(["a", "b"])
    os.write(write, image)
    os.close(write)
    with open(read, "rb") as pipe:
        assert fp.open(pipe).to_pylist() == ["a", "b"]


class Failing(Counted):
    """Reads fail once this is set."""

    error = None

    def read(self, size=-1):
        if self.error and size:
            raise self.error
        return super().read(size)


@pytest.mark.parametrize("error", [RuntimeError("broken ünit"), OSError(5, "disk"), MemoryError(), SystemExit(3)])
def test_exceptions_of_file_objects_come_as_they_are(error):
    file = Failing(big_image())
    column = fp.open(file, threads=2)
    file.error = error
    for use in (lambda: column[50_000], column.to_pylist, column.validate, lambda: column.count(contains="x"),
                lambda: column.take([50_001]), lambda: column.info, lambda: fp.convert(io.BytesIO(), column, cold=False)):
        with pytest.raises(type(error)) as caught:
            use()
        assert caught.value is error
    file.error = None
    same(column, big_rows())
    file.error = error
    with pytest.raises(type(error)):
        fp.open(file)


def test_short_file():
    class Short(Counted):
        def read(self, size=-1):
            return super().read(min(size, 10)) if self.tell() < 500_000 else b""

    with pytest.raises(OSError, match="bytes"):
        fp.open(Short(big_image()))


def test_file_that_changes():
    image = bytearray(big_image())
    file = io.BytesIO(image)
    column = fp.open(file)
    file.seek(200_000)
    file.write(b"\0" * 1_000_000)
    with pytest.raises(fp.Error, match="offset") as caught:
        column.to_pylist()
    assert caught.value.status == "CORRUPT"


def test_streams_read_while_the_consumer_has_the_interpreter():
    """Consumers may call a stream with the interpreter's lock held, and threads of the library read."""
    nanoarrow = pytest.importorskip("nanoarrow")
    pyarrow = pytest.importorskip("pyarrow")
    file = fsspec.filesystem("memory")
    file.pipe("/event.fpc", big_image())
    column = fp.open("memory://event.fpc", threads=3)
    assert pyarrow.chunked_array(column).to_pylist() == big_rows()
    assert nanoarrow.ArrayStream(column).read_all().to_pylist() == big_rows()
    table = fp.table(event=fp.open("memory://event.fpc", threads=3))
    assert pyarrow.table(table)["event"].to_pylist() == big_rows()


def test_stream_says_why_it_failed():
    pyarrow = pytest.importorskip("pyarrow")
    file = Failing(big_image())
    column = fp.open(file)
    file.error = RuntimeError("gone away")
    with pytest.raises(Exception, match="RuntimeError: gone away"):
        pyarrow.chunked_array(column)


def test_threads_share_a_column():
    column = fp.open(io.BytesIO(big_image()), threads=2)
    wrong = []

    def work(seed):
        for i in range(200):
            row = (i * 7919 + seed * 104_729) % BIG
            if column[row] != big_rows()[row]:
                wrong.append(row)
        if column.to_pylist() != big_rows():
            wrong.append("all")

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not wrong and not any(worker.is_alive() for worker in workers)


# ---------------------------------------------------------------- fsspec


def test_memory_files():
    fs = fsspec.filesystem("memory")
    fs.pipe("/folder/event.fpc", big_image())
    same(fp.open("memory://folder/event.fpc"), big_rows())
    same(fp.open(fsspec.open("memory://folder/event.fpc")), big_rows())
    with fsspec.open("memory://folder/event.fpc") as file:
        same(fp.open(file), big_rows())
    again = pickle.loads(pickle.dumps(fp.open("memory://folder/event.fpc")[3:9]))
    assert again.to_pylist() == big_rows()[3:9]
    with pytest.raises(FileNotFoundError):
        fp.open("memory://folder/other.fpc")
    with pytest.raises(ValueError, match="compressed"):
        fp.open(fsspec.open("memory://folder/event.fpc.gz", compression="gzip"))


def test_local_urls_are_mapped(tmp_path):
    path = tmp_path / "event.fpc"
    path.write_bytes(big_image())
    column = fp.open(f"file://{path}")
    same(column, big_rows())
    assert column._source[0] == "file"


def test_no_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match="pip install fsspec"):
        fp.open("s3://bucket/event.fpc")


# ---------------------------------------------------------------- a server


def test_what_is_fetched(server):
    column = fp.open(server.url("event.fpc"), threads=1)
    assert server.requests <= 2 and server.bytes <= 64_000
    server.reset()
    assert column[BIG // 2] == big_rows()[BIG // 2]
    # The chunk, and its dictionary, which is at the other end of the file.
    assert server.requests <= 2 and server.bytes < 200_000
    server.reset()
    assert column[BIG // 3] == big_rows()[BIG // 3]
    assert server.requests == 1 and server.bytes < 100_000
    column = fp.open(server.url("event.fpc"), threads=2)
    server.reset()
    assert column.to_pylist() == big_rows()
    assert server.bytes <= len(big_image())
    assert server.requests < 8
    assert column.name == "event"


def test_requests_are_under_way_at_once(server):
    draw = random.Random(1)
    words = [draw.randbytes(6).hex() for _ in range(5000)]
    rows = [" ".join(draw.choices(words, k=4)) for _ in range(80_000)]
    server.files["wide.fpc"] = fp.compress(rows, codec="onpair16", chunk_bytes=150_000)
    column = fp.open(server.url("wide.fpc"), threads=1)
    server.fault = slow(0.7)
    assert column[50_000] == rows[50_000]  # a chunk, and a dictionary that is too large for the file's first bytes
    assert server.requests == 4
    assert server.most_under_way > 1


@pytest.mark.parametrize("fault", [error_500, cut_off, short])
@pytest.mark.parametrize("when", ["open", "row", "all"])
def test_a_fault_that_passes(server, fault, when):
    if when == "open":
        server.fault = times(2, fault)
    column = fp.open(server.url("event.fpc"))
    if when == "row":
        server.fault = times(2, fault)
        assert column[BIG // 2] == big_rows()[BIG // 2]
    server.fault = times(2, fault) if when == "all" else None
    assert column.to_pylist() == big_rows()


@pytest.mark.parametrize("fault", [error_500, cut_off, short, slow(1.5), whole])
def test_a_fault_that_stays(server, fault):
    column = fp.open(server.url("event.fpc"), retries=1, timeout=0.6)
    server.fault = fault
    started = time.monotonic()
    with pytest.raises(OSError, match=r"event\.fpc: bytes \d+ \.\. \d+ cannot be read") as caught:
        column[BIG // 2]
    assert caught.value.__cause__ is not None
    with pytest.raises(OSError):
        fp.open(server.url("event.fpc"), retries=1, timeout=0.6)
    assert time.monotonic() - started < 8
    server.fault = None
    same(column, big_rows())


def test_no_such_file(server):
    started = time.monotonic()
    with pytest.raises(FileNotFoundError):
        fp.open(server.url("other.fpc"))
    assert server.requests == 1 and time.monotonic() - started < 2
    with pytest.raises(fp.Error):
        fp.open(server.url("text"))


def test_wrong_bytes(server):
    # Another thread might have read ahead what is wrong, too, and leave it to a later call to find out.
    column = fp.open(server.url("event.fpc"), threads=1)
    server.fault = altered
    with pytest.raises(fp.Error, match="offset"):
        column.to_pylist()
    server.fault = None
    assert column.to_pylist() == big_rows()


def test_a_server_that_is_gone():
    with RangeServer({"event.fpc": big_image()}) as running:
        column = fp.open(running.url("event.fpc"), retries=2, timeout=2)
        running.fault = gone
    started = time.monotonic()
    with pytest.raises(OSError, match="event.fpc"):
        column.to_pylist()
    assert time.monotonic() - started < 10


def test_interrupt(server):
    column = fp.open(server.url("event.fpc"), timeout=30)
    server.fault = slow(8)
    timer = threading.Timer(0.4, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        column[BIG // 2]
    assert time.monotonic() - started < 6
    server.fault = None
    assert column[BIG // 2] == big_rows()[BIG // 2]


def test_search_reads_what_bounds_leave(server):
    rows = [f"{i:08}" for i in range(300_000)]
    server.files["sorted.fpc"] = fp.compress(rows, codec="onpair12", chunk_bytes=200_000)
    column = fp.open(server.url("sorted.fpc"))
    server.reset()
    assert list(column.find(equals="00123456")) == [123_456]
    assert server.requests <= 2


@pytest.mark.slow
def test_a_gigabyte(server):
    """Figures of a file with 1 GB of rows; -s shows them."""
    pyarrow = pytest.importorskip("pyarrow")
    block = [f"{row} {i:07} {i * 2654435761 % 2**32:08x}" for i, row in enumerate(big_rows())]
    times_block = -(-(1 << 30) // sum(len(row.encode()) for row in block))
    image = fp.compress(pyarrow.chunked_array([pyarrow.array(block)] * times_block), codec="onpair16")
    server.files["large.fpc"] = image
    column = fp.open(server.url("large.fpc"))
    print(f"\n{column.nbytes} bytes in {len(image)}; open: {server.requests} requests, {server.bytes} bytes")
    assert server.requests <= 2 and server.bytes <= 64_000
    server.reset()
    row = len(column) // 2
    assert column[row] == block[row % BIG]
    print(f"one row: {server.requests} requests, {server.bytes} bytes")
    assert server.requests <= 2
    server.reset()
    assert column[row * 3 // 2] == block[row * 3 // 2 % BIG]
    print(f"one of another chunk: {server.requests} requests, {server.bytes} bytes")
    assert server.requests == 1
    column = fp.open(server.url("large.fpc"))
    server.reset()
    started = time.monotonic()
    assert column.count(contains="timeout") == sum("timeout" in row for row in block) * times_block
    print(f"all rows: {server.requests} requests, {server.bytes} bytes, {time.monotonic() - started:.1f} s")
    assert server.bytes <= len(image) * 1.01
