"""Out of fastpair, into everything that speaks Arrow. What pyarrow gets is validated in full."""
import os
import pathlib
import re

import duckdb
import nanoarrow as na
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastpair as fp
from conftest import column_of

TEXT = [pa.string(), pa.large_string(), pa.string_view()]
BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]


def encode(rows):
    return [None if row is None else row.encode() for row in rows]


def valid(array):
    array.validate(full=True)
    return array


def test_pyarrow(shape):
    column = column_of(shape, chunk_bytes=64_000)
    array = valid(pa.array(column))
    assert array.type == pa.string() and array.to_pylist() == shape and array.null_count == shape.count(None)
    stream = valid(pa.chunked_array(column))
    assert stream.type == pa.string() and stream.to_pylist() == shape
    assert stream.num_chunks == len(column.chunks)


@pytest.mark.parametrize("type_", TEXT + BYTES, ids=str)
def test_requested_types(shape, type_):
    column = column_of(shape, chunk_bytes=64_000)
    expected = encode(shape) if type_ in BYTES else shape
    array = valid(pa.array(column, type=type_))
    assert array.type == type_ and array.to_pylist() == expected
    stream = valid(pa.chunked_array(column, type=type_))
    assert stream.type == type_ and stream.to_pylist() == expected
    part = column[1:len(column) // 2]
    assert valid(pa.array(part, type=type_)).to_pylist() == expected[1:len(column) // 2]


def test_the_request_reaches_the_library(column):
    """The type comes from our buffers, not from a cast of pyarrow's."""
    for type_ in TEXT + BYTES:
        schema, array = column.__arrow_c_array__(type_.__arrow_c_schema__())
        assert pa.DataType._import_from_c_capsule(schema) == type_
        assert valid(pa.Array._import_from_c_capsule(type_.__arrow_c_schema__(), array)).type == type_


def test_schema(column, binary):
    assert pa.field(column) == pa.field("event", pa.string())
    assert pa.DataType._import_from_c_capsule(binary.__arrow_c_schema__()) == pa.binary()
    described = fp.open(fp.compress(["a"], name="n", metadata={"k": "v"}))
    assert pa.field(described).metadata == {b"k": b"v"}


def test_a_wrong_request_is_ignored(column, rows):
    with pytest.raises(Exception):
        pa.array(column, type=pa.int64())
    assert pa.DataType._import_from_c_capsule(column.__arrow_c_array__(pa.int64().__arrow_c_schema__())[0]) == pa.string()
    with pytest.raises(ValueError):
        column.__arrow_c_array__(object())


def test_bytes_are_not_text(binary):
    assert valid(pa.array(binary)).type == pa.binary()
    for ask in (lambda: pa.array(binary, type=pa.string()), lambda: binary.__arrow_c_array__(pa.string().__arrow_c_schema__())):
        with pytest.raises(fp.Error) as caught:
            ask()
        assert caught.value.position is not None
    with pytest.raises(Exception, match="UTF-8"):
        pa.chunked_array(binary, type=pa.string())


def test_no_copy(column):
    """The buffers that the library decoded into are those that pyarrow holds."""
    array = column.take(range(1000))
    first, second = pa.array(array), pa.array(array)
    assert [b and b.address for b in first.buffers()] == [b and b.address for b in second.buffers()]
    assert all(b is None or b.address % 64 == 0 for b in first.buffers())


def test_arrays(column, rows):
    array = column.take(range(0, 2000, 2))
    assert valid(pa.array(array)).to_pylist() == rows[0:2000:2]
    assert valid(pa.array(array[5:50])).to_pylist() == rows[10:100:2]
    assert pl.Series(array).to_list() == rows[0:2000:2]
    assert pd.Series.from_arrow(array).tolist() == pd.Series.from_arrow(pa.array(rows[0:2000:2])).tolist()


def test_slices(column, rows):
    for first, end in ((0, 7), (1, 9), (8, 16), (13, 13), (999, 15_001)):
        assert valid(pa.array(column[first:end])).to_pylist() == rows[first:end]
        assert valid(pa.chunked_array(column[first:end])).to_pylist() == rows[first:end]


def test_polars(shape):
    column = column_of(shape, chunk_bytes=64_000, name="event")
    series = pl.Series(column)
    assert series.to_list() == shape and series.dtype == pl.String
    assert pl.Series("a", column, pl.Binary).to_list() in (encode(shape), shape)
    assert pl.DataFrame(fp.table(event=column))["event"].to_list() == shape


def test_pandas(shape):
    column = column_of(shape, chunk_bytes=64_000)
    series = pd.Series.from_arrow(column)
    assert [None if pd.isna(row) else row for row in series] == shape
    frame = pd.DataFrame.from_arrow(fp.table(a=column, b=column))
    assert len(frame) == len(shape) and list(frame.columns) == ["a", "b"]


def test_duckdb(column, rows):
    t = fp.table(event=column)
    assert duckdb.sql("select count(*) from t where event like 'GET%'").fetchall() == [
        (sum(row is not None and row.startswith("GET") for row in rows),)]
    assert [row for row, in duckdb.sql("select event from t").fetchall()] == rows
    assert duckdb.sql("select count(*) from t where event is null").fetchall() == [(rows.count(None),)]


def test_nanoarrow(column, binary, rows):
    """With offsets alone: its views crash on its own data."""
    assert na.Array(column).to_pylist() == rows
    assert list(na.ArrayStream(column).read_all().iter_py()) == rows
    assert na.Array(binary).to_pylist() == binary.to_pylist()
    assert na.c_array(column.take([5, 6])).length == 2
    assert na.Array(column.match(contains="GET")).to_pylist() == column.match(contains="GET").to_pylist()


def test_booleans(column, rows):
    mask = column.match(contains="GET")
    expected = [None if row is None else "GET" in row for row in rows]
    assert valid(pa.array(mask)).to_pylist() == expected == mask.to_pylist()
    assert valid(pa.array(mask[3:1001])).to_pylist() == expected[3:1001]
    assert pl.Series(mask).to_list() == expected
    assert pa.array(column).filter(pa.array(mask)).to_pylist() == [r for r in rows if r and "GET" in r]
    whole = fp.open(fp.compress(["ab", "b", "a"])).match(contains="a")
    assert np.asarray(whole).dtype == bool and np.asarray(whole).tolist() == [True, False, True]
    assert np.asarray(whole[1:]).tolist() == [False, True]
    assert np.array(["x", "y", "z"])[whole].tolist() == ["x", "z"]


def test_tables(column, rows):
    other = fp.open(fp.compress([str(i) for i in range(len(rows))], chunk_bytes=10_000))
    table = fp.table(event=column, number=other)
    arrow = pa.table(table)
    arrow.validate(full=True)
    assert arrow.to_pydict() == {"event": rows, "number": [str(i) for i in range(len(rows))]}
    assert pa.table(table[17:9000]).to_pydict() == {"event": rows[17:9000],
                                                    "number": [str(i) for i in range(17, 9000)]}
    assert pa.schema(table) == arrow.schema == pa.schema([("event", pa.string()), ("number", pa.string())])
    assert pl.DataFrame(table).shape == (len(rows), 2)
    assert table["event"] is column and list(table.columns) == ["event", "number"] and len(table) == len(rows)
    assert duckdb.sql("select event from \"table\" where number = '123'").fetchall() == [(rows[123],)]
    mixed = fp.table({"a": column[100:200], "b": other[300:400]})
    assert pa.table(mixed).to_pydict() == {"a": rows[100:200], "b": [str(i) for i in range(300, 400)]}


def test_tables_of_every_shape(shape):
    column = column_of(shape, chunk_bytes=64_000)
    assert pa.table(fp.table(a=column)).to_pydict() == {"a": shape}


def test_tables_that_are_refused(column, tmp_path):
    with pytest.raises(ValueError, match="same number of rows"):
        fp.table(a=column, b=column[1:])
    with pytest.raises(ValueError):
        fp.table()
    with pytest.raises(FileNotFoundError):
        fp.table(a=tmp_path / "a.fpc")
    with pytest.raises(KeyError):
        fp.table(a=column)["b"]
    with pytest.raises(TypeError):
        fp.table(a=column)[3]


def test_a_column_is_on_the_cpu(column):
    """pyarrow asks for a device array first, wherever the object offers one."""
    assert not hasattr(column, "__arrow_c_device_array__")


def test_a_table_has_one_shape(column):
    table = fp.table(a=column)
    assert not hasattr(table, "__arrow_c_array__") and "20,000" in repr(table)


def free_memory():
    """Bytes that the machine can give."""
    return 1024 * int(re.search(r"MemAvailable: +([0-9]+)", pathlib.Path("/proc/meminfo").read_text())[1])


@pytest.mark.skipif("FASTPAIR_SANITIZED" in os.environ, reason="sanitizers need several times the memory")
def test_more_than_2_gib(tmp_path):
    """64-bit offsets. The rows are all alike, so that little is trained and parsed: 10 s, and 4.6 GB of memory."""
    if free_memory() < 8 * 10**9:
        pytest.skip("less than 8 GB of memory are free")
    row = "0123456789" * 100_000
    count = 2200
    fp.write(tmp_path / "large.fpc", (row for _ in range(count)), codec="onpair:12:64", level=1)
    column = fp.open(tmp_path / "large.fpc")
    assert column.nbytes > 2**31
    array = valid(pa.array(column))
    assert array.type == pa.large_string() and array[count - 1].as_py() == row
    assert pa.chunked_array(column).type == pa.large_string()
    assert pa.DataType._import_from_c_capsule(column.__arrow_c_schema__()) == pa.large_string()
    del array
    assert pa.array(column[:10]).type == pa.string()
    views = valid(pa.array(column, type=pa.string_view()))
    assert views[count - 1].as_py() == row
    del views
    with pytest.raises(fp.Error) as caught:
        column.__arrow_c_array__(pa.string().__arrow_c_schema__())
    assert caught.value.status == "LIMIT"
    assert column.take([0] * 2200).format == "U"
    assert column.count(suffix="9") == count
    again = fp.open(fp.compress(pa.chunked_array(column), codec="onpair:12:64", level=1))
    assert again.nbytes == column.nbytes and again[count - 1] == row
    again.validate()
