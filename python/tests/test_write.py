"""Writing: what is taken, how types are settled, where the bytes go."""
import io
import os
import stat
import threading

import numpy as np
import pandas as pd
import pytest

import fastpair as fp


def back(data, **options):
    options = {"codec": "onpair12", **options}  # training every candidate takes a while
    column = fp.open(fp.compress(data, **options))
    column.validate()
    return column


@pytest.mark.parametrize("codec", ["auto", "onpair", "onpair12", "onpair16", "onpair:9:8", "onpair:14:32", "onpair:16:64",
                                   "fsst12", "stored"])
def test_codecs(rows, codec):
    column = back(rows, codec=codec)
    assert column.to_pylist() == rows
    if codec != "auto":
        assert column.info["codec"] in (codec.rstrip("0123456789").split(":")[0], codec)


@pytest.mark.parametrize("options", [{"level": 1}, {"level": 9}, {"goal": "ratio"}, {"goal": "speed"}, {"cold": True},
                                     {"threads": 1}, {"threads": 3}, {"chunk_bytes": 1024}])
def test_options(rows, options):
    column = back(rows, **options)
    assert column.to_pylist() == rows
    if "cold" in options:
        assert column.info["cold_chunks"] > 0
    if "chunk_bytes" in options:
        assert column.info["chunks"] > 100


def test_threads_change_nothing(rows):
    assert fp.compress(rows, threads=1) == fp.compress(rows, threads=4)


@pytest.mark.parametrize("wrong", [{"codec": "zip"}, {"codec": "onpair:8"}, {"codec": "onpair:12:7"}, {"level": 10},
                                   {"level": -1}, {"goal": "fun"}, {"type": "int"}, {"threads": 5000}, {"name": "a\0b"},
                                   {"chunk_bytes": 2**40}, {"name": "n" * 2000}, {"metadata": {"": "a"}}])
def test_options_that_are_refused(wrong):
    with pytest.raises(ValueError):
        fp.compress(["a"], **wrong)


def test_metadata_that_is_refused():
    for wrong in ({"a": 3}, {3: "a"}):
        with pytest.raises(TypeError):
            fp.compress(["a"], metadata=wrong)


def test_types():
    assert back(["a", None]).type == "text"
    assert back([b"a", None]).type == "bytes"
    assert back([None, None]).type == "text"
    assert back([b"a", "b"], type="text").to_pylist() == ["a", "b"]
    assert back(["a", b"\xff", bytearray(b"x"), memoryview(b"y")], type="bytes").to_pylist() == [b"a", b"\xff", b"x", b"y"]
    assert back([b"a", b"\xc3\xa4"], type="detect").type == "text"
    assert back([b"a", b"\xff"], type="detect").to_pylist() == [b"a", b"\xff"]
    with pytest.raises(TypeError, match="mixed"):
        fp.compress(["a", b"b"])
    with pytest.raises(TypeError, match="mixed"):
        fp.compress(["a"] * 600_000 + [b"b"])


def test_text_that_is_not_utf8():
    rows = [b"good"] * 300_000 + [b"bad \xff"] + [b"good"]
    with pytest.raises(fp.Error) as caught:
        fp.compress(rows, type="text")
    assert caught.value.status == "INVALID_ARGUMENT" and caught.value.position == 300_000
    with pytest.raises(UnicodeEncodeError):
        fp.compress(["\udcff"])


@pytest.mark.parametrize("wrong", ["text", b"bytes", 3, None, {"a": "b"}, [3], [["a"]], [1.5], [object()]])
def test_data_that_is_refused(wrong):
    with pytest.raises(TypeError):
        fp.compress(wrong)


def test_a_wrong_row_is_named():
    with pytest.raises(TypeError, match="row 2 .*int"):
        fp.compress(["a", "b", 3])


def test_iterables(rows):
    for data in (tuple(rows), iter(rows), (row for row in rows), dict.fromkeys(map(str, range(100))).keys()):
        kept = list(data) if not hasattr(data, "__next__") else rows
        assert back(data).to_pylist() == kept

    def broken():
        yield "a"
        raise RuntimeError("halfway")
    with pytest.raises(RuntimeError, match="halfway"):
        fp.compress(broken())


def test_numpy(rows):
    plain = [row for row in rows if row is not None]
    assert back(np.array(plain)).to_pylist() == plain
    assert back(np.array(plain)[::-2]).to_pylist() == plain[::-2]
    assert back(np.array([row.encode() for row in plain])).to_pylist() == [row.encode() for row in plain]
    assert back(np.array(rows, object)).to_pylist() == rows
    assert back(np.array(plain, np.dtypes.StringDType())).to_pylist() == plain
    assert back(np.array(rows, np.dtypes.StringDType(na_object=None))).to_pylist() == rows
    assert back(np.array(["a", np.nan], np.dtypes.StringDType(na_object=np.nan))).to_pylist() == ["a", None]
    masked = np.ma.array(["a", "b"], mask=[0, 1])
    assert back(masked).to_pylist() == ["a", None]
    assert back(np.array([], "U3")).to_pylist() == []
    with pytest.raises(ValueError):
        fp.compress(np.array([["a"]]))
    with pytest.raises(TypeError):
        fp.compress(np.arange(3))


def test_pandas_objects(rows):
    assert back(pd.Index(["a", "b"])).to_pylist() == ["a", "b"]
    assert back([pd.NA, "a", float("nan")]).to_pylist() == [None, "a", None]
    assert back(pd.array(["a", pd.NA])).to_pylist() == ["a", None]


# ---------------------------------------------------------------- targets

def test_paths(tmp_path, rows, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for target in ("a.fpc", b"b.fpc", tmp_path / "c.fpc", "größe.fpc"):
        fp.write(target, rows, codec="onpair12")
        assert fp.open(os.fsdecode(target)).to_pylist() == rows
    assert sorted(os.listdir()) == ["a.fpc", "b.fpc", "c.fpc", "größe.fpc"]
    assert (tmp_path / "a.fpc").read_bytes() == fp.compress(rows, codec="onpair12")


def test_file_objects(tmp_path, rows, codec="onpair12"):
    memory = io.BytesIO()
    fp.write(memory, rows, codec="onpair12")
    assert memory.getvalue() == fp.compress(rows, codec="onpair12")
    with open(tmp_path / "raw", "wb", buffering=0) as raw:
        fp.write(raw, rows, codec="onpair12")
    assert (tmp_path / "raw").read_bytes() == memory.getvalue()

    class Slow(io.RawIOBase):
        taken = b""

        def write(self, data):
            self.taken += bytes(data[:1000])
            return min(1000, len(data))
    slow = Slow()
    fp.write(slow, rows, codec="onpair12")
    assert slow.taken == memory.getvalue()

    class Broken:
        def write(self, data):
            raise RuntimeError("no room")
    with pytest.raises(RuntimeError, match="no room"):
        fp.write(Broken(), rows, codec="onpair12")
    with pytest.raises(TypeError):
        fp.write(3, rows, codec="onpair12")
    with pytest.raises(OSError):
        with open(tmp_path / "raw", "rb") as file:
            fp.write(file, rows, codec="onpair12")


def test_a_failure_leaves_the_file_alone(tmp_path, rows, codec="onpair12"):
    path = tmp_path / "a.fpc"
    fp.write(path, ["before"])
    for wrong in (["a", 3], [b"\xff"]):
        with pytest.raises((TypeError, fp.Error)):
            fp.write(path, wrong, type="text")
    assert os.listdir(tmp_path) == ["a.fpc"] and fp.open(path).to_pylist() == ["before"]


def test_an_open_column_survives_its_file_being_replaced(tmp_path, rows, codec="onpair12"):
    path = tmp_path / "a.fpc"
    fp.write(path, rows, codec="onpair12")
    column = fp.open(path)
    fp.write(path, column[:10])
    assert column.to_pylist() == rows and fp.open(path).to_pylist() == rows[:10]


def test_modes_and_links(tmp_path, rows, codec="onpair12"):
    path, link = tmp_path / "a.fpc", tmp_path / "link.fpc"
    fp.write(path, rows, codec="onpair12")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o600)
    link.symlink_to("a.fpc")
    fp.write(link, ["b"])
    assert link.is_symlink() and fp.open(path).to_pylist() == ["b"] and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_targets_that_fail(tmp_path, rows, codec="onpair12"):
    with pytest.raises(FileNotFoundError) as caught:
        fp.write(tmp_path / "no" / "a.fpc", rows, codec="onpair12")
    assert caught.value.filename == str(tmp_path / "no" / "a.fpc")
    with pytest.raises(IsADirectoryError):
        fp.write(tmp_path, rows, codec="onpair12")
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError) as caught:
            fp.write("/dev/full", rows, codec="onpair12")
        assert caught.value.errno == 28


def test_pipe(tmp_path, rows, codec="onpair12"):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    thread = threading.Thread(target=lambda: read.append(path.read_bytes()))
    thread.start()
    fp.write(path, rows, codec="onpair12")
    thread.join()
    assert read == [fp.compress(rows, codec="onpair12")] and stat.S_ISFIFO(path.stat().st_mode)


def test_convert(tmp_path, rows, codec="onpair12"):
    image = fp.compress(rows, codec="onpair12")
    fp.convert(tmp_path / "cold.fpc", fp.open(image), cold=True, level=2)
    cold = fp.open(tmp_path / "cold.fpc")
    assert cold.to_pylist() == rows and cold.info["cold_chunks"]
    warm = io.BytesIO()
    fp.convert(warm, cold, cold=False)
    assert warm.getvalue() == image


# ---------------------------------------------------------------- progress

def test_progress(rows, capsys):
    seen = []
    fp.compress([row for row in rows if row] * 5, codec="onpair12", progress=lambda done, total: seen.append((done, total)))
    assert seen and [done for done, _ in seen] == sorted(done for done, _ in seen)

    def stop(done, total):
        raise RuntimeError("enough")
    with pytest.raises(RuntimeError, match="enough"):
        fp.compress(rows * 5, codec="onpair12", progress=stop)
    with pytest.raises(KeyboardInterrupt):
        def interrupt(done, total):
            raise KeyboardInterrupt
        fp.compress(rows * 5, codec="onpair12", progress=interrupt)
    fp.compress(rows, progress=True)
    assert "B" in capsys.readouterr().err


def test_views_end_with_write(rows):
    """Whoever keeps what write() was given has nothing, also where write() fails."""
    class Keeper:
        def __init__(self, fails):
            self.fails, self.kept = fails, []

        def write(self, view):
            self.kept.append(view)
            if self.fails:
                raise OSError("no room")

    for fails in (False, True):
        keeper = Keeper(fails)
        if fails:
            with pytest.raises(OSError, match="no room"):
                fp.write(keeper, rows)
        else:
            fp.write(keeper, rows)
        assert keeper.kept
        for view in keeper.kept:
            with pytest.raises(ValueError, match="released"):
                bytes(view)
