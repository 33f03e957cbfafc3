"""Engines in this process, and what jobs promise to all engines: parts appear together, or not at all."""
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import count_rows
import fastpair as fp
from conftest import HERE, PARTS, WORD
from fastpair._job import Job
from fastpair._pushdown import groups
from support import assert_names, damage


@pytest.mark.parametrize("engine", ["process", "polars", "duckdb"])
def test_same_answer(table, answer, engine):
    assert count_rows.ENGINES[engine](table, "line", WORD) == answer


@pytest.mark.skipif("FASTPAIR_DUCKDB_EXTENSION" not in os.environ, reason="tools/duckdb-extension has built none")
def test_same_answer_by_extension(table, answer):
    assert count_rows.with_duckdb_extension(table, "line", WORD) == answer


def test_the_example_is_a_command(table, answer):
    command = [sys.executable, HERE / "count_rows.py", table, "line", WORD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    first = f"{answer[0]} rows contain {WORD!r}; the smallest:"
    assert done.stdout.splitlines() == [first, *("  " + row for row in answer[1])]
    assert subprocess.run([*command, "--engine", "spark", "--gpu", "cupy"], capture_output=True).returncode == 2


def test_arrow(table, whole):
    """All rows through Arrow, into each."""
    events = fp.open_table(table)
    assert pa.table(events).equals(whole)
    assert pl.DataFrame(events).to_arrow().cast(whole.schema).equals(whole)
    assert duckdb.sql("from events").to_arrow_table().cast(whole.schema).equals(whole)
    assert fp.scan(table).collect().to_arrow().cast(whole.schema).equals(whole)


@pytest.mark.parametrize("size", [None, 1, 700, 1500, 10_000, 48_000, 10**9])
def test_groups(table, size):
    """Tasks have every unit once, in order, and about as many rows as was said."""
    events = fp.open_table(table)
    found = groups(events, size)
    assert [unit for group in found for unit in group] == events.units(size)
    assert all(found)
    if size == 48_000:
        assert [sum(unit.rows for unit in group) for group in found] == [48_000, 48_000]
    if size == 10**9:
        assert len(found) == 1


def test_damage(table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    place = damage(tmp_path / "copy/part-00017/line.fpc")
    for read in (lambda: fp.open_table(tmp_path / "copy").read(["line"]), lambda: fp.scan(tmp_path / "copy").collect(),
                 lambda: pa.table(fp.open_table(tmp_path / "copy"))):
        with pytest.raises(Exception) as caught:
            read()
        assert_names(caught.value, "part-00017", place)
    # What lies in other parts can be read.
    assert len(fp.open_table(f"{tmp_path}/copy/part-0000?").read()) == 10 * len(fp.open_table(table)) // PARTS


def test_parts_of_another_schema(table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    fp.write_part(tmp_path / "copy", pa.table({"line": ["x"], "number": [1]}), PARTS, codec="onpair12")
    with pytest.raises(fp.Error, match="part-00064.*host"):
        fp.open_table(tmp_path / "copy")


# ---------------------------------------------------------------- jobs

def some(*rows):
    return pa.table({"line": list(rows)})


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_job(tmp_path):
    """Attempts in any order, some twice, one that nobody reports: only what is committed counts."""
    job = pickle.loads(pickle.dumps(Job(tmp_path / "t", codec="stored").begin()))
    second = job.write(1, some("b"))
    first = job.write(0, some("a"))
    again = job.write(1, some("b"))
    job.write(2, some("lost"))
    empty = job.write(3, some("x").slice(0, 0))
    assert [name[0] for name in names(tmp_path)] == ["."]
    assert second.folder != again.folder and empty.rows == 0
    job.commit([again, empty, first])
    assert names(tmp_path) == ["t"] and names(tmp_path / "t") == ["part-00000", "part-00001"]
    assert pa.table(fp.open_table(tmp_path / "t"))["line"].to_pylist() == ["a", "b"]


def test_modes(tmp_path):
    def write(mode, *rows):
        job = Job(tmp_path / "t", mode, codec="stored").begin()
        job.commit([job.write(0, some(*rows))])
        return pa.table(fp.open_table(tmp_path / "t"))["line"].to_pylist()

    assert write("append", "a") == ["a"]
    assert write("append", "b") == ["a", "b"]
    with pytest.raises(FileExistsError):
        write("error", "c")
    assert write("overwrite", "d") == ["d"]
    (tmp_path / "t" / "part-00007").mkdir()
    shutil.copy(tmp_path / "t/part-00000/line.fpc", tmp_path / "t/part-00007")
    assert write("append", "e") == ["d", "d", "e"] and names(tmp_path / "t")[-1] == "part-00008"
    with pytest.raises(ValueError):
        Job(tmp_path / "t", "replace")
    with pytest.raises(fp.Error, match="object stores"):
        Job("s3://bucket/table")
    assert names(tmp_path) == ["t"]


def test_refused_commits(tmp_path):
    """Parts of different columns, a table that came in between, no part at all: nothing is changed."""
    job = Job(tmp_path / "t", codec="stored").begin()
    parts = [job.write(0, some("a")), job.write(1, pa.table({"other": ["b"]}))]
    with pytest.raises(fp.Error, match="other|line"):
        job.commit(parts)
    job.abort()
    assert names(tmp_path) == []
    late = Job(tmp_path / "t", codec="stored").begin()
    part = late.write(0, some("late"))
    fp.write_table(tmp_path / "t", some("early"), codec="stored")
    with pytest.raises(OSError):
        late.commit([part])
    late.abort()
    assert pa.table(fp.open_table(tmp_path / "t"))["line"].to_pylist() == ["early"] and names(tmp_path) == ["t"]
    with pytest.raises(fp.Error, match="part-00000"):
        Job(tmp_path / "t", "append").begin()
    with pytest.raises(fp.Error, match="no part"):
        Job(tmp_path / "u").begin().commit([])


def test_a_source_that_fails(tmp_path):
    """An attempt whose rows cannot be had leaves nothing that a commit could take."""
    def batches():
        yield from some("a").to_batches()
        raise OSError("gone")

    job = Job(tmp_path / "t", codec="stored").begin()
    with pytest.raises(Exception, match="gone"):
        job.write(0, pa.RecordBatchReader.from_batches(some("a").schema, batches()))
    left = [name for _, _, files in os.walk(tmp_path) for name in files]
    assert left == []
    job.abort()
    assert names(tmp_path) == []


def test_nothing_is_imported_early():
    """The package itself needs none of the engines."""
    engines = {"ray", "dask", "pyspark", "polars", "duckdb", "pyarrow", "fsspec"}
    code = f"import sys, fastpair; print(sorted({engines} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=pathlib.Path("/"))
    assert done.stdout == "[]\n", done.stderr
