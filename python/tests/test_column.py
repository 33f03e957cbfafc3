"""Columns as Python sees them: rows, ranges, figures, opening and closing."""
import array
import copy
import io
import mmap
import pickle

import numpy as np
import pyarrow as pa
import pytest

import fastpair as fp
from conftest import column_of


def test_rows_by_number(column, rows):
    assert len(column) == len(rows)
    for i in (0, 1, 777, len(rows) - 1, -1, -len(rows)):
        assert column[i] == rows[i]
    for i in (len(rows), -len(rows) - 1, 2**70):
        with pytest.raises(IndexError):
            column[i]
    with pytest.raises(TypeError):
        column["a"]
    assert column[np.int64(3)] == rows[3]


def test_bytes_come_back_as_bytes(binary, rows):
    assert binary.type == "bytes"
    assert binary[0] == (None if rows[0] is None else rows[0].encode() + b"\xff")


def test_slices_are_columns(column, rows):
    part = column[100:5000]
    assert isinstance(part, fp.Column) and part.first == 100
    assert part.to_pylist() == rows[100:5000]
    assert part[-1] == rows[4999] and part[50:60].to_pylist() == rows[150:160]
    assert column[5:5].to_pylist() == [] and len(column[7:3]) == 0
    assert column[10:50:7].to_pylist() == rows[10:50:7]
    assert column[::-1].to_pylist() == rows[::-1]
    assert column[-3:].to_pylist() == rows[-3:]
    assert part.null_count == rows[100:5000].count(None)
    assert part.nbytes == sum(len(r.encode()) for r in rows[100:5000] if r)


def test_all_shapes(shape):
    column = column_of(shape)
    assert column.to_pylist() == shape == list(column)
    assert column.null_count == shape.count(None)
    assert [column[i] for i in range(min(len(shape), 50))] == shape[:50]
    column.validate()


@pytest.mark.parametrize("make", [list, tuple, np.array, pa.array, lambda n: array.array("q", n), iter,
                                  lambda n: np.array(n, np.uint16), lambda n: pa.chunked_array([n])])
def test_take(column, rows, make):
    numbers = [7, 3, 3, 19_999, 0]
    assert column.take(make(numbers)).to_pylist() == [rows[i] for i in numbers]


def test_take_corners(column, rows):
    assert column.take([]).to_pylist() == [] and column.take(np.array([])).to_pylist() == []
    assert column.take([-1, -2]).to_pylist() == [rows[-1], rows[-2]]
    assert column[100:200].take([0, -1]).to_pylist() == [rows[100], rows[199]]
    mask = np.arange(len(rows)) % 1000 == 3
    assert column.take(mask).to_pylist() == rows[3::1000]
    for wrong in ([len(rows)], [-len(rows) - 1], [2**63], np.array([2**64 - 1], np.uint64)):
        with pytest.raises(IndexError):
            column.take(wrong)
    for wrong in (["a"], [1.5], np.array([1.5]), 3):
        with pytest.raises(TypeError):
            column.take(wrong)
    with pytest.raises(ValueError):
        column.take(np.array([True]))


def test_arrays(column, rows):
    taken = column.take(range(1000))
    assert len(taken) == 1000 and taken[5] == rows[5] and taken[-1] == rows[999] and taken.type == "text"
    assert taken[10:20] == rows[10:20] and taken[10:20][1:] == rows[11:20]
    assert taken.null_count == rows[:1000].count(None)
    assert taken[10:20].null_count == rows[10:20].count(None)
    assert taken.to_numpy().tolist() == rows[:1000]
    with pytest.raises(IndexError):
        taken[1000]
    with pytest.raises(ValueError):
        taken[::2]


def test_to_numpy(column, binary, rows):
    assert column.to_numpy().tolist() == rows
    assert np.asarray(binary[:100]).tolist() == binary[:100].to_pylist()


def test_figures(column, rows):
    info = column.info
    assert info["rows"] == len(rows) and info["nulls"] == rows.count(None)
    assert info["decoded_bytes"] == column.nbytes == sum(len(r.encode()) for r in rows if r)
    assert info["ratio"] == info["decoded_bytes"] / info["compressed_bytes"] > 1
    assert info["codec"] in ("onpair", "fsst12") and info["type"] == "text" and info["name"] == "event"
    chunks = column.chunks
    assert len(chunks) == info["chunks"] > 3
    assert chunks[0].first_row == 0 and sum(chunk.rows for chunk in chunks) == len(rows)
    assert [a.first_row + a.rows for a in chunks[:-1]] == [b.first_row for b in chunks[1:]]


def test_metadata():
    image = fp.compress(["a"], name="größe", metadata={"source": "web", "raw": b"\0\xff", "empty": ""})
    column = fp.open(image)
    assert column.name == "größe" and column.metadata == {"source": b"web", "raw": b"\0\xff", "empty": b""}
    assert fp.open(fp.compress(["a"])).metadata == {} and fp.open(fp.compress(["a"])).name is None


def test_open_everything(tmp_path, column, rows):
    image = fp.compress(rows, codec="onpair12")
    path = tmp_path / "rows.fpc"
    path.write_bytes(image)
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sources = [path, str(path), image, bytearray(image), memoryview(image), np.frombuffer(image, np.uint8), mapped,
                   io.BytesIO(image), file]
        for source in sources:
            assert fp.open(source).to_pylist() == rows
    odd = io.BytesIO(b"ahead" + image)
    odd.seek(5)
    assert fp.open(odd)[0] == rows[0]
    with open(path, "rb", buffering=0) as raw:
        assert fp.open(raw, threads=3)[0] == rows[0]


def test_a_writable_buffer_is_copied(rows):
    image = bytearray(fp.compress(rows, codec="onpair12"))
    column = fp.open(image)
    image[:] = bytes(len(image))
    column.validate()
    assert column.to_pylist() == rows


def test_open_refuses(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        fp.open(tmp_path / "nothing.fpc")
    assert caught.value.filename == str(tmp_path / "nothing.fpc") and caught.value.errno == 2
    with pytest.raises(IsADirectoryError):
        fp.open(tmp_path)
    (tmp_path / "empty.fpc").touch()
    with pytest.raises((fp.Error, OSError)):
        fp.open(tmp_path / "empty.fpc")
    for wrong in (b"", b"no column", bytes(1000)):
        with pytest.raises(fp.Error) as caught:
            fp.open(wrong)
        assert caught.value.status == "CORRUPT" and caught.value.message
    for wrong in (3, None, ["a"], io.StringIO("text")):
        with pytest.raises(TypeError):
            fp.open(wrong)
    with pytest.raises(ValueError):
        fp.open(b"", threads=-1)


def test_close(tmp_path, rows):
    path = tmp_path / "rows.fpc"
    fp.write(path, rows, codec="onpair12")
    with fp.open(path) as column:
        part = column[10:20]
    assert column.closed and not part.closed
    column.close()
    assert part.to_pylist() == rows[10:20]
    assert "closed" in repr(column)
    for use in (lambda: column[0], lambda: column[1:2], lambda: column.info, lambda: column.validate(),
                lambda: column.take([1]), lambda: column.__arrow_c_array__(), lambda: column.__arrow_c_stream__(),
                lambda: column.__arrow_c_schema__(), lambda: column.count(equals="a"), lambda: pickle.dumps(column),
                lambda: fp.table(a=column).__arrow_c_stream__()):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_pickle(tmp_path, rows):
    path = tmp_path / "rows.fpc"
    fp.write(path, rows, codec="onpair12")
    for column in (fp.open(path), fp.open(path.read_bytes()), fp.open(path)[100:300], fp.open(path.read_bytes())[5:]):
        again = pickle.loads(pickle.dumps(column))
        assert again.to_pylist() == column.to_pylist() and again.first == column.first
        assert copy.copy(column)[0] == column[0]
    assert len(pickle.dumps(fp.open(path))) < 1000
    error = pickle.loads(pickle.dumps(pytest.raises(fp.Error, fp.open, b"x" * 100).value))
    assert error.status == "CORRUPT"


def test_nobody_makes_columns_by_hand():
    for type_ in (fp.Column, fp.Array):
        with pytest.raises(TypeError):
            type_()


def test_look(column, binary):
    text = repr(column)
    assert "20,000" in text and "ratio" in text and "event" in text
    page = fp.open(fp.compress(["<b>", None]))._repr_html_()
    assert "&lt;b&gt;" in page and "<b>'" not in page and "null" in page and "ratio" in page
    assert "\\xff" in repr(binary)
    assert "1,000 text" in repr(column.take(range(1000)))
    assert repr(fp.open(fp.compress([])))


def test_compare(column):
    found = fp.compare(column, codecs=("auto", "onpair12", "stored", "cold"))
    assert len(found) == 4 and found["stored"]["ratio"] < 1 < found["onpair12"]["ratio"]
    assert "onpair12" in repr(found) and "<table>" in found._repr_html_()
    import xml.dom.minidom
    xml.dom.minidom.parseString(found.plot()._repr_svg_())
    assert len(fp.compare(["a", "b"] * 100, codecs=("onpair16",))) == 1


def test_compare_saves(tmp_path, column):
    fp.compare(column[:100], codecs=("stored",)).plot().save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
