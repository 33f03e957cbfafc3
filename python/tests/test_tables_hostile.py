"""Tables that are damaged, forged or strange: an exception that names the file, or the right rows."""
import os
import random
import shutil
import time

import pyarrow as pa
import pytest

import fastpair as fp
from test_hostile import mutants
from test_tables import FAST, TABLE

SMALL = TABLE.slice(0, 3000)
WHERE = ("and", ("contains", "url", "o"), ("not", ("equals", "n", 5)))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "events"
    fp.write_table(path, SMALL, part_rows=1000, chunk_bytes=8000, **FAST)
    return path


def use_everything(path):
    """Every way into a table; the errors, each of which must name a file of it."""
    errors = []

    def attempt(call):
        try:
            return call()
        except (fp.Error, OSError, MemoryError, pa.ArrowException, ValueError) as error:
            assert str(path) in str(error) or isinstance(error, MemoryError), repr(error)
            errors.append(error)
    ds = attempt(lambda: fp.open_table(path))
    if ds is None:
        return errors
    result = attempt(lambda: pa.table(ds))
    if result is not None:
        result.validate(full=True)
    result = attempt(lambda: ds.read(where=WHERE))
    if result is not None:
        result.validate(full=True)
    attempt(lambda: ds.count(WHERE))
    attempt(lambda: [unit.read(limit=3) for unit in ds.units()])
    return errors


def test_an_intact_table(path):
    assert use_everything(path) == []


def test_a_damaged_chunk_names_part_offset_and_remedy(path):
    file = path / "part-00001" / "url.fpc"
    chunk = fp.open(file).chunks[2]
    image = bytearray(file.read_bytes())
    image[chunk.file_offset + 5] ^= 0xff
    file.write_bytes(image)
    ds = fp.open_table(path)
    with pytest.raises(fp.Error, match=rf"part-00001/url.fpc: chunk at offset {chunk.file_offset}.*restore it from a copy, or "
                                       "write the part again") as caught:
        ds.read()
    assert caught.value.status == "CORRUPT" and caught.value.position >= chunk.file_offset
    # The other parts, and the other chunks, can be read.
    good = 0
    for unit in ds.units():
        try:
            unit.read()
            good += 1
        except fp.Error:
            assert unit.part.endswith("part-00001")
    assert good == len(ds.units()) - 1
    fp.write_part(path, SMALL.slice(1000, 1000), 1)
    assert pa.table(fp.open_table(path)).equals(SMALL)


@pytest.mark.parametrize("name", ["url.fpc", "rest.parquet"])
def test_mutants(path, name):
    file = path / "part-00001" / name
    image = file.read_bytes()
    refused = 0
    for mutant in mutants(image, random.Random(name), 60):
        file.write_bytes(mutant)
        refused += bool(use_everything(path))
    assert refused > 10


@pytest.mark.parametrize("name", ["url.fpc", "rest.parquet"])
def test_cut_off_and_empty(path, name):
    file = path / "part-00001" / name
    image = file.read_bytes()
    for size in (0, 1, 100, len(image) // 2, len(image) - 1):
        file.write_bytes(image[:size])
        assert use_everything(path)


def test_pages_of_other_columns_are_checked(path):
    file = path / "part-00001" / "rest.parquet"
    image = bytearray(file.read_bytes())
    image[300:340] = b"\xff" * 40
    file.write_bytes(image)
    with pytest.raises(fp.Error, match="part-00001/rest.parquet: .*checksum"):
        fp.open_table(path).read()


def test_links(path, tmp_path):
    part = path / "part-00001"
    os.symlink("loop.fpc", part / "loop.fpc")
    with pytest.raises(OSError, match="loop.fpc"):
        fp.open_table(path)
    os.unlink(part / "loop.fpc")
    os.symlink("nowhere", part / "gone.fpc")
    with pytest.raises(OSError, match="gone.fpc"):
        fp.open_table(path)
    os.unlink(part / "gone.fpc")
    os.symlink("..", part / "up")
    with pytest.raises(fp.Error, match="part-00001: a part has columns in it and no folders"):
        fp.open_table(path)
    os.unlink(part / "up")
    # Links that lead somewhere are as good as what they lead to.
    os.rename(part, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", part)
    assert pa.table(fp.open_table(path)).equals(SMALL)


@pytest.mark.parametrize("name", ["pipe.fpc", "rest.parquet"])
def test_a_pipe_does_not_hang(tmp_path, name):
    (tmp_path / "t").mkdir()
    fp.write(tmp_path / "t" / "a.fpc", ["x"])
    os.mkfifo(tmp_path / "t" / name)
    with pytest.raises(fp.Error, match=f"{name}: not a regular file"):
        fp.open_table(tmp_path / "t")
    if name == "pipe.fpc":
        with pytest.raises(fp.Error, match="not a regular file"):
            fp.open_table(tmp_path / "t" / name)


def test_what_is_left_out(path):
    """Hidden names and files of other kinds are no part of a table."""
    (path / ".part-00009.tmp").mkdir()
    (path / "_SUCCESS").write_bytes(b"")
    (path / "notes.txt").write_text("x")
    (path / "part-00000" / ".url.fpc.tmp").write_bytes(b"half")
    (path / "part-00000" / "_x.fpc").write_bytes(b"half")
    assert pa.table(fp.open_table(path)).equals(SMALL)
    (path / "part-00007").mkdir()
    with pytest.raises(fp.Error, match="part-00007: no column is in this folder"):
        fp.open_table(path)


def test_a_folder_that_cannot_be_read(path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    os.chmod(path / "part-00001", 0)
    try:
        with pytest.raises(PermissionError):
            fp.open_table(path)
    finally:
        os.chmod(path / "part-00001", 0o755)


def test_many_small_files(tmp_path):
    fp.write(tmp_path / "one.fpc", ["a", "b"], name="a")
    (tmp_path / "t").mkdir()
    for i in range(3000):
        os.link(tmp_path / "one.fpc", tmp_path / "t" / f"a-{i:06d}.fpc")
    begin = time.monotonic()
    ds = fp.open_table(tmp_path / "t")
    assert len(ds) == 6000 and ds.count(("equals", "a", "b")) == 3000
    assert pa.table(ds)["a"].to_pylist() == ["a", "b"] * 3000
    assert time.monotonic() - begin < 60


def test_positions_that_nobody_wrote(tmp_path):
    """The order of columns is advice: nonsense there changes nothing else."""
    (tmp_path / "t").mkdir()
    for name, position in (("a", "-1"), ("b", "9" * 400), ("c", "²"), ("d", "0"), ("e", b"\xff"), ("f", "")):
        fp.write(tmp_path / "t" / f"{name}.fpc", [name], name=name, metadata={"fastpair:position": position})
    assert fp.open_table(tmp_path / "t").columns == ["d", "a", "b", "c", "e", "f"]


def test_a_table_that_goes_away(path):
    ds = fp.open_table(path)
    units = ds.units()
    shutil.rmtree(path)
    with pytest.raises(FileNotFoundError):
        units[0].read()
    with pytest.raises(OSError):
        pa.table(ds)
