"""Tables in Dask, with two worker processes."""
import pathlib
import shutil

import pandas as pd
import pyarrow as pa
import pytest

import count_rows
import fastpair as fp
import fastpair.dask
from conftest import PARTS, WORD
from support import assert_names, damage, die, die_while_writing, once

pytestmark = pytest.mark.usefixtures("dask_cluster")


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False, schema=pa.schema(
        [("line", pa.string()), ("host", pa.string()), ("number", pa.int64())]))


def test_same_answer(table, answer):
    assert count_rows.with_dask(table, "line", WORD) == answer


def test_all_rows(table, whole):
    frame = fastpair.dask.read_table(table)
    assert frame.npartitions == PARTS and len(frame) == whole.num_rows
    assert arrow(frame.compute()).equals(whole)
    assert str(frame.dtypes["line"]) == str(frame.compute().dtypes["line"])


def test_columns(table, whole):
    """What a query does not use is not read: Dask hands the names to the function that reads."""
    frame = fastpair.dask.read_table(table)
    assert frame["number"].sum().compute() == sum(range(whole.num_rows))
    nodes = frame[["host"]].optimize(fuse=False).expr.walk()
    (read,) = (node for node in nodes if type(node).__name__ == "FromMapProjectable")
    assert read.columns == ["host"]
    assert list(fastpair.dask.read_table(table, columns=["host", "line"]).head(3).columns) == ["host", "line"]


def test_fewer_partitions(table, whole):
    frame = fastpair.dask.read_table(table, rows=10_000)
    assert frame.npartitions == 10 and len(frame) == whole.num_rows


def test_where(table, whole):
    test = ("and", ("contains", "line", "disk"), ("not", ("equals", "host", "host-3")))
    frame = fastpair.dask.read_table(table, where=test).compute()
    wanted = [i for i, (line, host) in enumerate(zip(whole["line"].to_pylist(), whole["host"].to_pylist()))
              if line is not None and "disk" in line and host != "host-3"]
    assert frame["number"].tolist() == wanted


def test_write(table, whole, tmp_path):
    frame = fastpair.dask.read_table(table, rows=12_000)
    fastpair.dask.write_table(frame, tmp_path / "copy", codec="onpair12")
    assert pa.table(fp.open_table(tmp_path / "copy")).equals(whole)
    with pytest.raises(FileExistsError):
        fastpair.dask.write_table(frame, tmp_path / "copy")
    some = fastpair.dask.read_table(table, rows=12_000, where=("contains", "line", WORD))
    fastpair.dask.write_table(some, tmp_path / "copy", mode="append", codec="onpair12")
    assert len(fp.open_table(tmp_path / "copy")) == whole.num_rows + len(some)
    fastpair.dask.write_table(some, tmp_path / "copy", mode="overwrite", codec="onpair12")
    assert len(fp.open_table(tmp_path / "copy")) == len(some)
    assert [name.name for name in tmp_path.iterdir()] == ["copy"]


def test_write_no_rows(table, tmp_path):
    none = fastpair.dask.read_table(table, where=("contains", "line", "no row has this"))
    fastpair.dask.write_table(none, tmp_path / "none", codec="onpair12")
    made = fp.open_table(tmp_path / "none")
    assert len(made) == 0 and made.schema == fp.open_table(table).schema


def test_parts_of_another_schema(table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    frame = fastpair.dask.read_table(table, columns=["host"], where=("equals", "host", "host-1"))
    with pytest.raises(fp.Error, match="host"):
        fastpair.dask.write_table(frame, tmp_path / "copy", mode="append", codec="onpair12")
    assert len(fp.open_table(tmp_path / "copy").parts) == PARTS
    assert [name.name for name in tmp_path.iterdir()] == ["copy"]


def kill_reader(frame, marker):
    if once(marker):
        die()
    return frame


def test_killed_while_reading(table, whole, tmp_path):
    frame = fastpair.dask.read_table(table)
    frame = frame.map_partitions(kill_reader, tmp_path / "killed", meta=frame._meta)
    assert arrow(frame.compute()).equals(whole)
    assert (tmp_path / "killed").exists()


def kill_writer(frame, parent, marker):
    die_while_writing(parent, marker)
    return frame


def test_killed_while_writing(table, whole, tmp_path):
    frame = fastpair.dask.read_table(table).repartition(npartitions=4)
    frame = frame.map_partitions(kill_writer, tmp_path, tmp_path / "killed", meta=frame._meta)
    fastpair.dask.write_table(frame, tmp_path / "copy")
    assert ".writing-" in (tmp_path / "killed.caught").read_text()
    assert pa.table(fp.open_table(tmp_path / "copy")).equals(whole)
    assert sorted(name.name for name in tmp_path.iterdir()) == ["copy", "killed", "killed.caught"]


def fail_late(frame):
    if len(frame) and frame["number"].max() > 90_000:
        raise ValueError("this partition cannot be had")
    return frame


def test_a_failed_job_leaves_nothing(table, tmp_path):
    frame = fastpair.dask.read_table(table)
    frame = frame.map_partitions(fail_late, meta=frame._meta)
    with pytest.raises(ValueError, match="cannot be had"):
        fastpair.dask.write_table(frame, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_damage(table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    part = pathlib.Path(fp.open_table(tmp_path / "copy").parts[17].path)
    place = damage(part / "line.fpc")
    with pytest.raises(fp.Error) as caught:
        fastpair.dask.read_table(tmp_path / "copy").compute()
    assert_names(caught.value, "part-00017", place)


def test_types(tmp_path):
    """Bytes, null columns and numbers come back as they were."""
    frame = pd.DataFrame({"b": pd.Series([b"\xff", None, b""], dtype=pd.ArrowDtype(pa.binary())),
                          "s": ["x", None, ""], "n": [1.5, 2.5, None]})
    import dask.dataframe as dd

    fastpair.dask.write_table(dd.from_pandas(frame, npartitions=2), tmp_path / "types")
    made = pa.table(fp.open_table(tmp_path / "types"))
    assert made.to_pydict() == {"b": [b"\xff", None, b""], "s": ["x", None, ""], "n": [1.5, 2.5, None]}
    assert fastpair.dask.read_table(tmp_path / "types").compute()["b"].tolist()[0] == b"\xff"
