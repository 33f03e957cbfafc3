"""Tables on disk: round trips, parts, globs, names, faults, and what a failure leaves behind."""
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastpair as fp
from conftest import make_rows
from fastpair import _dataset

FAST = {"codec": "onpair12"}


def make_table(count=20_000, seed=1):
    urls = make_rows(count, seed)
    return pa.table({
        "url": pa.array(urls, pa.string()),
        "n": pa.array([None if i % 11 == 0 else i for i in range(count)], pa.int64()),
        "raw": pa.array([None if i % 7 == 0 else bytes([i % 256, 255]) for i in range(count)], pa.binary()),
        "score": pa.array([i / 3 for i in range(count)], pa.float64()),
        "title": pa.array([f"title {i % 100}" for i in range(count)], pa.string()),
    })


TABLE = make_table()


@pytest.fixture
def path(tmp_path):
    return os.fspath(tmp_path / "events")


@pytest.fixture
def dataset(path):
    """A table in parts, of several chunks each."""
    fp.write_table(path, TABLE, part_rows=7000, chunk_bytes=32_000, **FAST)
    return fp.open_table(path)


# ---------------------------------------------------------------- round trips

def test_round_trip(path):
    fp.write_table(path, TABLE, metadata={"source": "test"}, **FAST)
    assert sorted(os.listdir(path)) == ["raw.fpc", "rest.parquet", "title.fpc", "url.fpc"]
    ds = fp.open_table(path)
    assert pa.table(ds).equals(TABLE)
    assert len(ds) == 20_000 and ds.columns == TABLE.column_names
    assert ds.schema == {"url": "text", "n": "int64", "raw": "bytes", "score": "double", "title": "text"}
    assert ds.parts[0]["url"].metadata["source"] == b"test"
    assert ds.arrow_schema == TABLE.schema
    assert "20,000 rows" in repr(ds)
    assert pa.table(ds["title"]).equals(TABLE.select(["title"]))
    assert pa.table(fp.open_table(path, columns=["score", "url"])).equals(TABLE.select(["score", "url"]))
    assert pa.table(pickle.loads(pickle.dumps(ds))).equals(TABLE)


def test_parts(path, dataset):
    assert sorted(os.listdir(path)) == ["part-00000", "part-00001", "part-00002"]
    assert [part.rows for part in dataset.parts] == [7000, 7000, 6000]
    result = pa.table(dataset)
    result.validate(full=True)
    assert result.equals(TABLE)
    assert len(dataset.units()) > 10
    assert pa.table(fp.open_table(path + "/part-0000[01]")).equals(TABLE.slice(0, 14_000))
    assert pa.table(fp.open_table(path + "/part-00001")).equals(TABLE.slice(7000, 7000))
    assert pa.table(fp.open_table([path + "/part-00002", path + "/part-00000"])).equals(
        pa.concat_tables([TABLE.slice(14_000), TABLE.slice(0, 7000)]))


def test_part_bytes(path):
    fp.write_table(path, TABLE, part_bytes=200_000, **FAST)
    ds = fp.open_table(path)
    assert len(ds.parts) == 2 and ds.parts[0].rows == 16_384
    assert pa.table(ds).equals(TABLE)


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view(), pa.binary_view(),
                                   pa.dictionary(pa.int16(), pa.string())])
def test_part_bytes_of_layouts(path, type_):
    """A part ends after the same bytes, however they lie in memory."""
    rows = pa.array(["x" * 100] * 100_000).cast(pa.binary() if type_ == pa.binary_view() else pa.string())
    table = pa.table({"a": rows.dictionary_encode().cast(type_) if pa.types.is_dictionary(type_) else rows.cast(type_)})
    fp.write_table(path, table.slice(10), part_bytes=3_000_000, **FAST)
    assert [part.rows for part in fp.open_table(path).parts] == [32_768, 32_768, 32_768, 100_000 - 10 - 3 * 32_768]


def test_one_batch_after_another(path):
    """A reader of many small batches, which can be read once."""
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=333))
    fp.write_table(path, reader, part_rows=1000, **FAST)
    assert pa.table(fp.open_table(path)).equals(TABLE)


@pytest.mark.parametrize("options", [{}, {"part_rows": 7000}])
def test_frames(path, options):
    frame = pl.from_arrow(TABLE)
    fp.write_table(path + "-polars", frame, **options, **FAST)
    assert pl.DataFrame(fp.open_table(path + "-polars")).equals(frame)
    fp.write_table(path + "-pandas", frame.to_pandas(), **options, **FAST)
    back = pd.DataFrame.from_arrow(fp.open_table(path + "-pandas"))
    assert back["url"].to_list()[:50] == frame.to_pandas()["url"].to_list()[:50]
    assert back["score"].equals(frame.to_pandas()["score"])
    source = TABLE
    relation = duckdb.sql("from source")
    fp.write_table(path + "-duckdb", relation, **options, **FAST)
    ds = fp.open_table(path + "-duckdb")
    assert duckdb.sql("from ds").to_arrow_table().cast(TABLE.schema).equals(TABLE)


def test_sql(dataset):
    """Engines see a table."""
    assert duckdb.sql("select count(*), sum(n) from dataset where url like '%timeout%'").fetchall() == [
        (sum("timeout" in (url or "") for url in TABLE["url"].to_pylist()),
         sum(n or 0 for n, url in zip(TABLE["n"].to_pylist(), TABLE["url"].to_pylist()) if "timeout" in (url or "")))]
    assert duckdb.sql("select url from dataset limit 3").fetchall() == [(url,) for url in TABLE["url"].to_pylist()[:3]]


def test_only_strings_and_only_others(path):
    fp.write_table(path + "1", TABLE.select(["url"]), **FAST)
    assert os.listdir(path + "1") == ["url.fpc"]
    assert pa.table(fp.open_table(path + "1")).equals(TABLE.select(["url"]))
    fp.write_table(path + "2", TABLE.select(["n", "score"]), part_rows=9000)
    assert os.listdir(path + "2/part-00000") == ["rest.parquet"]
    ds = fp.open_table(path + "2")
    assert pa.table(ds).equals(TABLE.select(["n", "score"]))
    assert ds.count(("equals", "n", 5)) == 1 and len(ds.units(100)) == 200


@pytest.mark.parametrize("options", [{}, {"part_rows": 10}])
def test_no_rows(path, options):
    fp.write_table(path, TABLE.slice(0, 0), **options)
    ds = fp.open_table(path)
    assert pa.table(ds).equals(TABLE.slice(0, 0)) and ds.units() == [] and ds.count(("contains", "url", "a")) == 0


def test_null_type_and_categories(path):
    table = pa.table({"nothing": pa.nulls(10), "kind": pa.array(["a", None] * 5).dictionary_encode()})
    fp.write_table(path, table)
    assert pa.table(fp.open_table(path)).to_pydict() == {"nothing": [None] * 10, "kind": ["a", None] * 5}


def test_a_table_of_ours(path, tmp_path, column):
    fp.write_table(path, fp.table(a=column, b=column[:]), **FAST)
    fp.write_table(tmp_path / "again", fp.open_table(path), part_rows=6000, **FAST)
    assert pa.table(fp.open_table(tmp_path / "again")).equals(pa.table(fp.table(a=column, b=column)))


# ---------------------------------------------------------------- names and globs

NAMES = ["a/b", "..", ".", "", ".hidden", "_hidden", "per%cent", "nul\x01", "日本", "x" * 900, "x" * 899 + "y", "rest",
         "new\nline", "back\\slash", "é" * 300]


def test_names(path):
    table = pa.table({name: [f"{i}"] for i, name in enumerate(NAMES)})
    fp.write_table(path, table)
    assert all(name.endswith(".fpc") and len(name.encode()) < 255 for name in os.listdir(path))
    assert len(os.listdir(path)) == len(NAMES)
    assert pa.table(fp.open_table(path)).equals(table)
    assert os.listdir(os.path.dirname(path)) == ["events"]


def test_two_of_one_name(path):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array([1])], names=["x", "x"])
    with pytest.raises(fp.Error, match="two columns are called 'x'"):
        fp.write_table(path, table)
    assert not os.path.exists(path)


def test_name_is_that_of_the_file_without_another(path):
    os.mkdir(path)
    fp.write(path + "/b.fpc", ["1", "2"])
    fp.write(path + "/a.fpc", ["3", "4"])
    fp.write(path + "/c.fpc", ["5", "6"], name="first")
    assert pa.table(fp.open_table(path)).to_pydict() == {"a": ["3", "4"], "b": ["1", "2"], "first": ["5", "6"]}
    assert fp.open_table(path + "/c.fpc").columns == ["first"] and fp.open_table(path + "/a.fpc").columns == ["a"]


@pytest.mark.parametrize("name", [None, "url"])
def test_numbered_files(path, name):
    os.mkdir(path)
    for i in range(12):
        fp.write(f"{path}/url-{i:05d}.fpc", [f"{i}", None], name=name)
    expected = {"url": [row for i in range(12) for row in (f"{i}", None)]}
    for what in (path, path + "/*.fpc", path + "/url-*", [f"{path}/url-{i:05d}.fpc" for i in range(12)]):
        ds = fp.open_table(what)
        assert pa.table(ds).to_pydict() == expected and len(ds.parts) == 12


def test_globs_that_mean_nothing(path):
    os.mkdir(path)
    with pytest.raises(fp.Error, match="no file or folder"):
        fp.open_table(path + "/*.fpc")
    with pytest.raises(fp.Error, match="no column is in this folder"):
        fp.open_table(path)
    fp.write(path + "/a.fpc", ["1"], name="a")
    fp.write(path + "/b.fpc", ["1"], name="b")
    assert fp.open_table(path + "/*.fpc").columns == ["a", "b"]
    fp.write(path + "/c.fpc", ["1"])
    with pytest.raises(fp.Error, match="different columns"):
        fp.open_table(path + "/*.fpc")
    os.mkdir(path + "/part-0")
    with pytest.raises(fp.Error, match="both columns"):
        fp.open_table(path)
    with pytest.raises(fp.Error, match="both files"):
        fp.open_table(path + "/*")
    with pytest.raises(FileNotFoundError):
        fp.open_table(path + "/none")


# ---------------------------------------------------------------- what is refused

def test_wrong_rows(path):
    fp.write_table(path, TABLE, **FAST)
    fp.write(path + "/title.fpc", ["a", "b"], name="title")
    with pytest.raises(fp.Error, match=r"title.fpc: 2 rows, but .*raw.fpc has 20000"):
        fp.open_table(path)
    os.unlink(path + "/title.fpc")
    pq.write_table(TABLE.select(["n"]).slice(0, 3), path + "/rest.parquet")
    with pytest.raises(fp.Error, match=r"rest.parquet: 3 rows, but .*raw.fpc has 20000"):
        fp.open_table(path)


def test_other_columns_in_a_part(path):
    small = pa.table({"a": ["x"], "n": [1]})
    fp.write_part(path, small, 0)
    for other, message in [(pa.table({"a": ["x"]}), "part-00001: no column 'n', which .*part-00000 has"),
                           (pa.table({"a": ["x"], "n": [1], "m": [2]}), "part-00001: column 'm', which .*part-00000 has not"),
                           (pa.table({"a": [b"x"], "n": [1]}), "part-00001/a.fpc: column 'a' is of type bytes, but of type text"),
                           (pa.table({"a": ["x"], "n": [1.5]}), "part-00001/rest.parquet: column 'n' is of type double, but of "
                                                                "type int64")]:
        fp.write_part(path, other, 1)
        with pytest.raises(fp.Error, match=message):
            fp.open_table(path)
    fp.write_part(path, small, 1)
    assert len(fp.open_table(path)) == 2


def test_twice_in_a_folder(path):
    fp.write_table(path, pa.table({"a": ["x"], "n": [1]}))
    fp.write(path + "/b.fpc", ["x"], name="n")
    with pytest.raises(fp.Error, match="rest.parquet: column 'n' is there twice, also in .*b.fpc"):
        fp.open_table(path)
    fp.write(path + "/b.fpc", ["x"], name="a")
    with pytest.raises(fp.Error, match="b.fpc: column 'a' is there twice, also in .*a.fpc"):
        fp.open_table(path)


@pytest.mark.parametrize("wrong", [[1, 2], "text", {"a": ["x"]}, None, pa.array(["x"])])
def test_no_table(path, wrong):
    with pytest.raises(TypeError):
        fp.write_table(path, wrong)
    assert os.listdir(os.path.dirname(path)) == []


@pytest.mark.parametrize("wrong", [{"part_rows": 0}, {"part_rows": -1}, {"part_bytes": 0}, {"part_rows": True},
                                   {"part_rows": 1.5}, {"codec": "zip"}, {"level": 11}])
def test_wrong_options(path, wrong):
    with pytest.raises(ValueError):
        fp.write_table(path, TABLE, **wrong)
    assert not os.path.exists(path)


def test_columns_that_are_not_there(dataset):
    with pytest.raises(KeyError, match="nothing"):
        dataset["nothing"]
    with pytest.raises(ValueError, match="twice"):
        dataset[["url", "url"]]
    with pytest.raises(KeyError, match="nothing"):
        dataset.units()[0].read(columns=["nothing"])
    with pytest.raises(KeyError, match="nothing"):
        dataset.count(("contains", "nothing", "x"))


def test_without_pyarrow(path):
    """Strings need nothing but the package; other columns say what they need."""
    fp.write_table(path, TABLE, **FAST)
    fp.write_table(path + "-strings", TABLE.select(["url", "raw"]), **FAST)
    code = f"""
import sys
sys.modules["pyarrow"] = None
import polars as pl
import fastpair as fp
fp.write_table({path + "-new"!r}, pl.DataFrame({{"a": ["x", None], "b": ["y", "z"]}}), part_rows=1)
assert [part.rows for part in fp.open_table({path + "-new"!r}).parts] == [1, 1]
ds = fp.open_table({path + "-strings"!r})
assert len(ds) == 20_000 and ds.count(("contains", "url", "timeout")) > 100
for call in (lambda: fp.open_table({path!r}), lambda: fp.write_table({path + "-new2"!r}, pl.DataFrame({{"a": [1]}}))):
    try:
        call()
    except ImportError as error:
        assert "rest.parquet" in str(error) and "needs pyarrow" in str(error), error
    else:
        raise AssertionError("it worked")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- replacing, and failures

def test_overwrite(path):
    fp.write_table(path, TABLE, **FAST)
    with pytest.raises(FileExistsError):
        fp.write_table(path, TABLE)
    fp.write_table(path, TABLE.slice(0, 10), part_rows=5, overwrite=True)
    assert os.listdir(os.path.dirname(path)) == ["events"]
    assert pa.table(fp.open_table(path)).equals(TABLE.slice(0, 10))


def test_only_tables_are_replaced(path):
    os.mkdir(path)
    fp.write_table(path, TABLE.slice(0, 10))  # an empty folder is as good as none
    with open(path + "/letter.txt", "w"):
        pass
    with pytest.raises(FileExistsError, match="more than a table"):
        fp.write_table(path, TABLE.slice(0, 10), overwrite=True)
    os.rename(path + "/letter.txt", path + "-letter")
    os.mkdir(path + "/photos")
    with pytest.raises(FileExistsError, match="no parts"):
        fp.write_table(path, TABLE.slice(0, 10), overwrite=True)
    with pytest.raises(NotADirectoryError):
        fp.write_table(path + "-letter", TABLE.slice(0, 10), overwrite=True)


def test_part_replaces_only_itself(path):
    for number in (3, 0, 1):
        fp.write_part(path, TABLE.slice(number * 10, 10), number)
    before = {name: os.stat(f"{path}/{name}").st_ino for name in os.listdir(path)}
    assert fp.write_part(path, TABLE.slice(500, 7), 1) == path + "/part-00001"
    after = {name: os.stat(f"{path}/{name}").st_ino for name in os.listdir(path)}
    assert {name for name in after if before.get(name) != after[name]} == {"part-00001"} and before.keys() == after.keys()
    assert pa.table(fp.open_table(path)).equals(pa.concat_tables(
        [TABLE.slice(0, 10), TABLE.slice(500, 7), TABLE.slice(30, 10)]))


def broken(batches):
    yield from batches
    raise RuntimeError("the source is gone")


@pytest.mark.parametrize("columns", [["url"], ["url", "n"]])
def test_a_source_that_fails(path, columns):
    table = TABLE.select(columns)

    def source():
        return pa.RecordBatchReader.from_batches(table.schema, broken(table.to_batches(max_chunksize=1000)))
    for options in ({}, {"part_rows": 3000}):
        with pytest.raises(Exception, match="the source is gone"):
            fp.write_table(path, source(), **options)
        assert os.listdir(os.path.dirname(path)) == []
    fp.write_part(path, table, 0, **FAST)
    with pytest.raises(Exception, match="the source is gone"):
        fp.write_part(path, source(), 0)
    with pytest.raises(Exception, match="the source is gone"):
        fp.write_part(path, source(), 1)
    assert os.listdir(path) == ["part-00000"] and pa.table(fp.open_table(path)).equals(table)


def test_rows_that_are_refused(path):
    bad = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")])
    with pytest.raises(fp.Error, match="column 'b', row 1 of the part"):
        fp.write_table(path, pa.table({"a": ["x", "y"], "b": bad}))
    assert os.listdir(os.path.dirname(path)) == []


KILLED = """
import sys, time
import pyarrow as pa
import fastpair as fp
def batches():
    for i in range(1_000_000):
        if i == 300:
            print("half-way", flush=True)
            time.sleep(60)
        yield pa.record_batch({"a": [f"{i} {j}" for j in range(1000)], "n": list(range(1000))})
reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.string(), "n": pa.int64()}), batches())
if sys.argv[2] == "table":
    fp.write_table(sys.argv[1], reader, part_rows=50_000, overwrite=True, codec="onpair12")
else:
    fp.write_part(sys.argv[1], reader, 1, codec="onpair12")
"""


@pytest.mark.parametrize("how", ["table", "part"])
def test_killed_half_way(path, how):
    small = pa.table({"a": ["x", "y"], "n": [1, 2]})
    fp.write_table(path, small, part_rows=1)
    process = subprocess.Popen([sys.executable, "-c", KILLED, path, how], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "half-way\n"
    assert pa.table(fp.open_table(path)).equals(small)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert pa.table(fp.open_table(path)).equals(small)
    # The retry takes the place of what there was, and of nothing else.
    if how == "part":
        fp.write_part(path, small, 1)
        assert len(fp.open_table(path)) == 3
    else:
        fp.write_table(path, small, overwrite=True)
        assert len(fp.open_table(path)) == 2


def test_interrupted(path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, path, "table"], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL)
    assert process.stdout.readline() == "half-way\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) != 0
    assert os.listdir(os.path.dirname(path)) == []


@pytest.mark.parametrize("others", [False, True])
def test_memory_is_bounded(path, others):
    """A stream much larger than what its writing may take."""
    code = f"""
import resource
import pyarrow as pa
import fastpair as fp
def batches():
    for i in range(250):
        rows = pa.array([f"{{i}}-{{j}}-" + "lorem ipsum " * 40 for j in range(8000)])
        yield pa.record_batch({{"a": rows, "b": rows, **({{"n": pa.array(range(8000))}} if {others} else {{}})}})
schema = next(batches()).schema
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fp.write_table({path!r}, pa.RecordBatchReader.from_batches(schema, batches()), codec="fsst12", level=1, threads=1)
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(used >> 10)
"""
    used = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert fp.open_table(path).parts[0]["a"].nbytes > 900 << 20
    assert used < 600, f"{used} MiB"


# ---------------------------------------------------------------- the Arrow stream

def test_stream_without_pyarrow(path):
    fp.write_table(path, TABLE.select(["url", "raw", "title"]), part_rows=7000, chunk_bytes=32_000, **FAST)
    code = f"""
import sys
sys.modules["pyarrow"] = None
import nanoarrow as na
import polars as pl
import duckdb
import fastpair as fp
ds = fp.open_table({path!r})
assert pl.DataFrame(ds).equals(fp.scan(ds).collect())
assert sum(len(batch) for batch in na.ArrayStream(ds)) == 20_000
print(duckdb.sql("select count(*) from ds where title = 'title 7'").fetchall()[0][0])
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "200\n"


def test_streams_that_are_not_read_to_the_end(dataset):
    for batches in (0, 1, 3):
        reader = pa.RecordBatchReader.from_stream(dataset)
        for _ in range(batches):
            reader.read_next_batch()
        assert reader.schema == TABLE.schema
        del reader


def test_two_streams_at_once(dataset):
    one, other = (pa.RecordBatchReader.from_stream(dataset) for _ in range(2))
    for first, second in zip(one, other, strict=True):
        assert first.equals(second)


def test_a_stream_tells_what_is_wrong(path, dataset):
    reader = pa.RecordBatchReader.from_stream(dataset)
    fp.write_part(path, TABLE.slice(0, 5), 2)
    with pytest.raises(Exception, match="part-00002/.*.fpc: 5 rows, but there were 6000"):
        reader.read_all()
    with pytest.raises(Exception, match="part-00002/.*.fpc: 5 rows, but there were 6000"):
        reader.read_next_batch()
    fp.write_part(path, TABLE.slice(0, 6000).set_column(1, "n", TABLE["n"].slice(0, 6000).cast(pa.int32())), 2)
    with pytest.raises(Exception, match="column 'n' is of type int32, but was of type int64"):
        pa.table(dataset)


def test_engines_through_arrow(dataset):
    """Joins, limits and aggregates in DuckDB, on the stream."""
    ds = dataset
    found = duckdb.sql("select a.title, count(*) as c from ds a join ds b using (n) where a.url is not null "
                       "group by all order by c desc, a.title limit 3").fetchall()
    source = TABLE
    assert found == duckdb.sql("select a.title, count(*) as c from source a join source b using (n) where a.url is not null "
                               "group by all order by c desc, a.title limit 3").fetchall()
    assert duckdb.sql("select * from ds limit 5").to_arrow_table().cast(TABLE.schema).equals(TABLE.slice(0, 5))


def test_row_groups_of_other_columns(path):
    """Small batches make no small row groups, and large ones no large ones."""
    table = pa.table({"n": pa.array(range(200_000)), "a": ["x"] * 200_000})
    for batch in (1000, 200_000):
        reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=batch))
        fp.write_table(path, reader, overwrite=True, **FAST)
        metadata = pq.ParquetFile(path + "/rest.parquet").metadata
        assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [65536, 65536, 65536, 3392]
        assert pa.table(fp.open_table(path)).equals(table)


def test_batches_of_long_rows_are_small(path):
    """Rows of 20 kB: what is decoded at once is counted in bytes as well."""
    table = pa.table({"a": [f"{i}" + "lorem ipsum " * 1700 for i in range(4000)]})
    fp.write_table(path, table, chunk_bytes=1 << 20, **FAST)
    ds = fp.open_table(path)
    batches = list(pa.RecordBatchReader.from_stream(ds))
    assert max(batch.nbytes for batch in batches) < 8 << 20 and len(ds._batch_units()) > 4
    assert pa.Table.from_batches(batches).equals(table)


def test_units_of_all_rows_are_larger(path, monkeypatch):
    """As long as every thread has enough of them, and they cover the same rows."""
    table = pa.table({"a": [f"{i}" + "lorem ipsum " * 1700 for i in range(8000)]})
    fp.write_table(path, table, chunk_bytes=1 << 20, **FAST)
    ds = fp.open_table(path)
    small = ds._batch_units()
    assert 8 <= len(small) < 16
    assert ds._large_units(2) == ds._large_units(1) == small
    monkeypatch.setattr(_dataset, "BATCH_BYTES", 1 << 20)
    small = ds._batch_units()
    for threads, larger in (1, 4), (4, 4), (8, 2), (10, 1):
        units = ds._large_units(threads)
        last = 4 * threads if larger > 1 else 0
        assert len(units) == -(-(len(small) - last) // larger) + last, threads
        assert units[len(units) - last:] == small[len(small) - last:]
        assert [unit.first for unit in units] == [0, *(unit.first + unit.rows for unit in units[:-1])]
        assert sum(unit.rows for unit in units) == 8000
    two = fp.open_table([path, path])
    monkeypatch.setattr(_dataset, "BATCH_BYTES", 16 << 20)
    assert [unit.first for unit in two._large_units(1)].count(0) == 2      # a unit is of one part
    assert sum(unit.rows for unit in two._large_units(1)) == 16000


def test_links_and_other_folders(path, tmp_path, monkeypatch):
    """A link to a table stays one; units know where they are from wherever they are read."""
    fp.write_table(path, TABLE.slice(0, 10))
    os.symlink("events", tmp_path / "link")
    fp.write_table(tmp_path / "link", TABLE.slice(0, 20), overwrite=True)
    assert os.path.islink(tmp_path / "link") and sorted(os.listdir(tmp_path)) == ["events", "link"]
    monkeypatch.chdir(tmp_path)
    unit, = fp.open_table("events").units()
    assert unit.part == path
    monkeypatch.chdir("/")
    assert unit.read().equals(TABLE.slice(0, 20))


def test_a_part_of_a_table_in_one_part(path):
    fp.write_table(path, TABLE.slice(0, 10))
    with pytest.raises(FileExistsError, match="in one part"):
        fp.write_part(path, TABLE, 0)


def test_no_columns(dataset):
    """Rows can be asked for without any column."""
    unit = dataset.units()[0]
    assert unit.read([]).num_columns == 0
    assert sum(len(batch) for batch in unit.batches([])) == unit.rows
    assert sum(len(batch) for batch in unit.batches([], ("contains", "url", "GET"))) == unit.count(("contains", "url", "GET"))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_work_ahead(threads):
    """Results in order; few are made before they are fetched; an error comes in its place and ends the work."""
    made, lock = [], threading.Lock()

    def work(unit):
        time.sleep(0.002 * (unit % 3))
        with lock:
            made.append(unit)
        if unit == 30:
            raise KeyError(unit)
        return unit

    assert list(_dataset.ahead(work, list(range(25)), threads)) == list(range(25))
    assert sorted(made) == list(range(25))
    made.clear()
    results = _dataset.ahead(work, list(range(100)), threads)
    assert next(results) == 0
    time.sleep(0.1)
    assert len(made) <= 1 + threads + 2
    with pytest.raises(KeyError):
        for number, result in enumerate(results, 1):
            assert result == number
    time.sleep(0.1)     # for those that were under way
    assert number == 29 and len(made) <= 31 + threads + 2
    made.clear()
    results = _dataset.ahead(work, list(range(20)), threads)
    next(results)
    results.close()
    time.sleep(0.1)
    assert len(made) <= 1 + threads + 2


class Rows:
    """A unit with rows."""

    def __init__(self, number, rows=100):
        self.number, self.rows = number, rows


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("found, most", [(0, 8), (1, 8), (25, 4), (100, 1)])
def test_work_ahead_of_few_rows(threads, found, most):
    """More is done ahead where results have few rows, and not without an end."""
    made, slow, lock = [], threading.Event(), threading.Lock()

    def work(unit):
        if unit.number == 1:
            slow.wait(10)
        with lock:
            made.append(unit.number)
        return unit.number

    units = [Rows(number) for number in range(400)]
    results = _dataset.ahead(work, units, threads, lambda result: found)
    assert next(results) == 0
    time.sleep(0.1)     # one thread waits; the others go on as far as they may
    assert threads < len(made) <= 1 + most * (threads + 2)
    assert found == 100 or len(made) > 1 + threads + 2
    slow.set()
    assert list(results) == list(range(1, 400)) and sorted(made) == list(range(400))
    assert list(_dataset.ahead(lambda unit: unit.number, [Rows(n, 0) for n in range(9)], threads, lambda _: 0)) == \
        list(range(9))


def test_scans_after_a_fork(dataset):
    """The threads of scans are not there after a fork: others are started."""
    test = "contains", "url", "GET"
    expected = len(dataset.read(["url"], test, threads=2))
    child = os.fork()
    if child == 0:
        os._exit(0 if len(dataset.read(["url"], test, threads=2)) == expected else 1)
    assert wait_for(child, 30) == 0


def wait_for(child, seconds):
    """The exit code of a process; None if it does not end, then it is ended."""
    for _ in range(100 * seconds):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_totals(threads):
    def work(unit):
        if unit == 70:
            raise KeyError(unit)
        return unit

    assert _dataset.total(work, list(range(60)), threads) == sum(range(60))
    assert _dataset.total(work, [], threads) == 0
    with pytest.raises(KeyError):
        _dataset.total(work, list(range(1000)), threads)

