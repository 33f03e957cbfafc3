"""Into fastpair, from everything that speaks Arrow: every layout, slices, dictionaries, tables."""
import duckdb
import nanoarrow as na
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastpair as fp

TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]


def back(data, **options):
    options = {"codec": "onpair12", **options}  # training every candidate takes a while
    column = fp.open(fp.compress(data, **options))
    column.validate()
    return column


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_layouts(shape, type_):
    array = pa.array(shape, type=type_)
    column = back(array)
    assert column.to_pylist() == array.to_pylist()
    assert column.type == ("bytes" if "binary" in str(type_) else "text")
    for first, end in ((1, None), (3, -2), (17, 9000)):
        assert back(array[first:end]).to_pylist() == array[first:end].to_pylist()
    assert back(pa.chunked_array([array[:5], array[5:], array[:0]])).to_pylist() == array.to_pylist()


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()],
                         ids=str)
def test_dictionaries(index):
    values = ["a", "bb", "", "straße"]
    indices = [0, 3, None, 1, 2, 0] * 500
    for type_ in TYPES[:3]:
        array = pa.DictionaryArray.from_arrays(pa.array(indices, index), pa.array(values, type_))
        assert back(array).to_pylist() == array.to_pylist() == [None if i is None else values[i] for i in indices]
        assert back(array[7:1001]).to_pylist() == array[7:1001].to_pylist()
    assert back(array).type == "text"
    nulls = pa.DictionaryArray.from_arrays(pa.array([0, 1], index), pa.array(["x", None]))
    assert back(nulls).to_pylist() == ["x", None]


def test_null_type():
    assert back(pa.nulls(7)).to_pylist() == [None] * 7


def test_tables(rows):
    table = pa.table({"event": rows, "other": ["x"] * len(rows), "number": range(len(rows))})
    column = back(table, column="event")
    assert column.to_pylist() == rows and column.name == "event"
    assert back(table.select(["event"])).to_pylist() == rows
    assert back(table["event"]).to_pylist() == rows
    assert back(table.slice(100, 50), column="event").to_pylist() == rows[100:150]
    assert back(table.to_reader(1000), column="event").to_pylist() == rows
    assert back(table, column="event", name="mine").name == "mine"
    batch = table.to_batches()[0]
    assert back(batch, column="event").to_pylist() == rows
    assert back(batch.slice(5, 7), column="event").to_pylist() == rows[5:12]
    for wrong in ({}, {"column": "nothing"}, {"column": "number"}):
        with pytest.raises(fp.Error) as caught:
            fp.compress(table, **wrong)
        assert caught.value.status == "INVALID_ARGUMENT"
    with pytest.raises(TypeError):
        fp.compress(rows, column="event")


def test_null_structs():
    array = pa.StructArray.from_arrays([pa.array(["a", "b", "c"])], ["x"], mask=pa.array([False, True, False]))
    assert back(array).to_pylist() == ["a", None, "c"]


def test_polars(rows):
    series = pl.Series("event", rows)
    assert back(series).to_pylist() == rows and back(series).name == "event"
    assert back(series[10:9000]).to_pylist() == rows[10:9000]
    assert back(pl.DataFrame({"a": rows, "b": rows}), column="b").to_pylist() == rows
    assert back(series.cast(pl.Categorical)).to_pylist() == rows
    assert back(pl.Series(["a", "b", "a"], dtype=pl.Enum(["b", "a"]))).to_pylist() == ["a", "b", "a"]
    assert back(series.cast(pl.Binary)).to_pylist() == [None if row is None else row.encode() for row in rows]


def test_pandas(rows):
    for series in (pd.Series(rows, dtype="str"), pd.Series(rows, dtype=pd.ArrowDtype(pa.string())), pd.Series(rows)):
        assert back(series).to_pylist() == rows
    frame = pd.DataFrame({"a": rows, "b": range(len(rows))})
    assert back(frame, column="a").to_pylist() == rows and back(frame["a"]).to_pylist() == rows
    assert back(frame["a"][100:200]).to_pylist() == rows[100:200]
    assert back(pd.Series(["a", "b", "a"], dtype="category")).to_pylist() == ["a", "b", "a"]


def test_duckdb(rows):
    t = pa.table({"event": rows})
    assert back(duckdb.sql("select event from t")).to_pylist() == rows
    assert back(duckdb.sql("select event, 1 as one from t where event like 'GET%'"), column="event").to_pylist() == [
        row for row in rows if row and row.startswith("GET")]


def test_nanoarrow(rows):
    assert back(na.Array(rows, na.string())).to_pylist() == rows
    assert back(na.c_array(rows[:10], na.string())).to_pylist() == rows[:10]


def test_columns_of_ours(column, rows):
    assert back(column).to_pylist() == rows and back(column).name == "event"
    assert back(column[10:100]).to_pylist() == rows[10:100]
    assert back(column.take([5, 6])).to_pylist() == rows[5:7]
    assert back(fp.table(a=column)).to_pylist() == rows


def test_same_file_as_from_a_list(rows):
    images = {fp.compress(data, codec="onpair16") for data in (pa.array(rows), rows, pa.array(rows, pa.string_view()))}
    assert len(images) == 1


def test_types(rows):
    bytes_ = pa.array([b"a", b"\xff"])
    assert back(bytes_).type == "bytes"
    assert back(bytes_, type="detect").type == "bytes"
    assert back(bytes_[:1], type="detect").type == "text"
    assert back(pa.array(["a"]), type="bytes").to_pylist() == [b"a"]
    with pytest.raises(fp.Error) as caught:
        fp.compress(bytes_, type="text")
    assert caught.value.position == 1


def test_text_that_lies():
    """Arrow says utf8, the bytes are not."""
    lie = pa.Array.from_buffers(pa.string(), 2, pa.array([b"good", b"\xff"]).buffers())
    with pytest.raises(fp.Error) as caught:
        fp.compress(lie)
    assert caught.value.status == "INVALID_ARGUMENT" and caught.value.position == 1
    assert back(lie, type="bytes").to_pylist() == [b"good", b"\xff"]
    assert back(lie, type="detect").type == "bytes"


def test_streams_that_fail():
    def batches():
        yield pa.record_batch({"a": ["x"]})
        raise RuntimeError("the source is gone")
    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.string())]), batches())
    with pytest.raises(OSError, match="the source is gone"):
        fp.compress(reader)


def test_a_stream_is_consumed_once(rows):
    capsule = pa.chunked_array([rows]).__arrow_c_stream__()

    class Once:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule
    assert back(Once()).to_pylist() == rows
    with pytest.raises(ValueError, match="consumed"):
        fp.compress(Once())


@pytest.mark.parametrize("wrong", [pa.array([1, 2]), pa.array([[b"a"]]), pa.array([True]),
                                   pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([3]))], ids=lambda a: str(a.type))
def test_types_that_are_refused(wrong):
    with pytest.raises(fp.Error) as caught:
        fp.compress(wrong)
    assert caught.value.status == "INVALID_ARGUMENT"


def test_capsules_that_are_none():
    class Wrong:
        def __arrow_c_stream__(self, requested_schema=None):
            return "nothing"
    with pytest.raises((ValueError, TypeError)):
        fp.compress(Wrong())

    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("not today")
    with pytest.raises(RuntimeError, match="not today"):
        fp.compress(Raises())


class Capsules:
    """A producer that hands the same capsules out again, though a consumer has emptied them."""

    def __init__(self, *capsules):
        self.capsules = capsules

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


def test_capsules_twice(rows):
    producer = Capsules(*pa.array(rows).__arrow_c_array__())
    assert back(producer).to_pylist() == rows
    with pytest.raises(ValueError, match="consumed already"):
        fp.compress(producer)
    # Only one of the two is empty.
    schema, array = pa.array(rows).__arrow_c_array__()
    empty = producer.capsules
    for pair in ((empty[0], array), (schema, empty[1])):
        with pytest.raises(ValueError, match="consumed already"):
            fp.compress(Capsules(*pair))
    assert back(Capsules(schema, array)).to_pylist() == rows
