"""Columns that are written to URLs: they appear when they are whole, and a failure leaves what was there."""
import os

import pyarrow as pa
import pytest

import fastpair as fp

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

ROWS = ["to be", None, "or not", "ß"] * 1000


@pytest.fixture
def memory():
    fs = fsspec.filesystem("memory")
    yield fs
    if fs.exists("/box"):
        fs.rm("/box", recursive=True)


class Store(MemoryFileSystem):
    """Memory that is called an object store, and says what was asked of it."""

    protocol, cachable, store, pseudo_dirs = ("oss",), False, {}, [""]
    asked, fails = [], False

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("oss://", "memory://"))

    def put_file(self, local, path, **more):
        self.asked.append(("put", path, more))
        if self.fails:
            raise OSError("no room")
        self.pipe_file(path, open(local, "rb").read())

    def mv(self, *paths, **more):
        self.asked.append(("mv", *paths))


@pytest.fixture
def store():
    fsspec.register_implementation("oss", Store, clobber=True)
    Store.store.clear()
    Store.asked, Store.fails = [], False
    return Store()


def test_round_trip(memory):
    url = "memory://box/deep/x.fpc"
    fp.write(url, ROWS, name="x", codec="onpair12", storage_options={})
    assert fp.open(url)[:].to_pylist() == ROWS
    assert memory.cat("/box/deep/x.fpc") == fp.compress(ROWS, name="x", codec="onpair12")
    fp.convert(url, fp.open(url), cold=True)        # in the place of what it is read from
    assert fp.open(url)[:].to_pylist() == ROWS and fp.open(url).info["cold_chunks"] == 1
    assert [entry["name"] for entry in memory.ls("/box/deep")] == ["/box/deep/x.fpc"]


def test_numbered_files_are_a_table(memory):
    for number in range(3):
        fp.write(f"memory://box/t/line-{number:05d}.fpc", ROWS, name="line")
    assert pa.table(fp.open_table("memory://box/t")).column("line").to_pylist() == 3 * ROWS


def broken_rows():
    yield from ROWS
    raise ZeroDivisionError


def test_a_failure_leaves_what_was_there(memory, monkeypatch, tmp_path):
    url = "memory://box/x.fpc"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        fp.write(url, broken_rows())
    assert not memory.exists("/box")
    fp.write(url, ["before"])
    with pytest.raises(ZeroDivisionError):
        fp.write(url, broken_rows())

    def half(self, local, path, **_):
        self.pipe_file(path, open(local, "rb").read()[:50])
        raise OSError("the line is cut")
    monkeypatch.setattr(MemoryFileSystem, "put_file", half)
    with pytest.raises(OSError, match="the line is cut"):
        fp.write(url, ROWS)
    assert fp.open(url)[:].to_pylist() == ["before"]
    assert [entry["name"] for entry in memory.ls("/box")] == ["/box/x.fpc"]
    assert os.listdir(tmp_path) == []


def test_nothing_has_its_name_before_it_is_whole(memory, monkeypatch):
    seen = []
    original = MemoryFileSystem.put_file

    def watched(self, local, path, **more):
        original(self, local, path, **more)
        seen.append((path, self.exists("/box/x.fpc")))
    monkeypatch.setattr(MemoryFileSystem, "put_file", watched)
    fp.write("memory://box/x.fpc", ROWS)
    [(path, was_there)] = seen
    assert path.startswith("/box/.x.fpc.") and not was_there and memory.exists("/box/x.fpc")


def test_an_object_store_gets_one_put(store):
    fp.write("oss://box/x.fpc", ROWS)
    assert store.asked == [("put", "/box/x.fpc", {})]
    assert store.cat_file("/box/x.fpc") == fp.compress(ROWS)
    Store.fails = True
    with pytest.raises(OSError, match="no room"):
        fp.write("oss://box/x.fpc", ["other"])
    assert store.cat_file("/box/x.fpc") == fp.compress(ROWS)


@pytest.mark.parametrize("scheme", ["file", "local"])
def test_paths_as_urls(tmp_path, scheme):
    fp.write(f"{scheme}://{tmp_path}/x.fpc", ROWS)
    assert fp.open(tmp_path / "x.fpc")[:].to_pylist() == ROWS
    assert os.listdir(tmp_path) == ["x.fpc"]


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nowhere"):
        fp.write("nowhere://box/x.fpc", ROWS)
    with pytest.raises(ValueError, match="with fastpair.write"):
        fp.write_table("memory://box/t", pa.table({"x": ROWS}))
