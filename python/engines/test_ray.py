"""Tables in Ray Data, with two local workers."""
import pathlib
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from ray.data.expressions import col

import count_rows
import fastpair as fp
import fastpair.ray
from conftest import WORD
from support import assert_names, damage, die, die_while_writing, once

pytestmark = pytest.mark.usefixtures("ray_cluster")


def collect(dataset):
    """All rows, in the order of the column number: Ray keeps no order."""
    return pa.Table.from_pylist(dataset.take_all(), schema=pa.schema([("line", pa.string()), ("host", pa.string()),
                                                                      ("number", pa.int64())])).sort_by("number")


def test_same_answer(table, answer):
    assert count_rows.with_ray(table, "line", WORD) == answer


def test_all_rows(table, whole):
    dataset = fastpair.ray.read_table(table)
    assert dataset.count() == whole.num_rows and dataset.schema().names == whole.column_names
    assert collect(dataset).equals(whole)
    assert dataset.limit(7).count() == 7


FILTERS = {
    "contains": (col("line").str.contains("disk"), lambda t: pc.match_substring(t["line"], "disk")),
    "starts": (col("line").str.starts_with("GET"), lambda t: pc.starts_with(t["line"], "GET")),
    "ends": (col("line").str.ends_with(WORD), lambda t: pc.ends_with(t["line"], WORD)),
    "like": (col("line").str.match("GET%ok%"), lambda t: pc.match_like(t["line"], "GET%ok%")),
    "equal": (col("host") == "host-7", lambda t: pc.equal(t["host"], "host-7")),
    "not equal": (col("line") != "", lambda t: pc.not_equal(t["line"], "")),
    "in": (col("host").is_in(["host-1", "host-2"]), lambda t: pc.is_in(t["host"], pa.array(["host-1", "host-2"]))),
    "not in": (col("line").not_in(["", "ok"]), lambda t: pc.invert(pc.is_in(t["line"], pa.array(["", "ok"])))),
    "null": (col("line").is_null(), lambda t: pc.is_null(t["line"])),
    "not null": (col("line").is_not_null(), lambda t: pc.is_valid(t["line"])),
    "not": (~col("line").str.contains("ok"), lambda t: pc.invert(pc.match_substring(t["line"], "ok"))),
    "either": (col("line").str.contains("disk") | (col("host") == "host-3"),
               lambda t: pc.or_kleene(pc.match_substring(t["line"], "disk"), pc.equal(t["host"], "host-3"))),
    "with the rest": (col("line").str.contains("disk") & (col("number") < 5000),
                      lambda t: pc.and_kleene(pc.match_substring(t["line"], "disk"), pc.less(t["number"], 5000))),
    "the rest": (col("number") < 50, lambda t: pc.less(t["number"], 50)),
}
# Of these Ray has to evaluate something itself.
LEFT = {"with the rest", "the rest"}


@pytest.mark.parametrize("name", FILTERS)
def test_push_down(table, whole, name):
    """Every filter gives the same rows as Arrow does, and runs on codes where it should."""
    tree, oracle = FILTERS[name]
    wanted = whole.filter(oracle(whole))
    assert 0 < wanted.num_rows < whole.num_rows
    source = fastpair.ray.TableDatasource(table).apply_predicate(tree)
    tasks = source.get_read_tasks(3)
    assert len(tasks) == 3
    got = pa.concat_tables(block for task in tasks for block in task())
    assert got.sort_by("number").equals(wanted)
    where, rest = source._tests()
    assert (rest is None) == (name not in LEFT) and (where is None) == (name == "the rest")


def test_push_down_reaches_the_read(table, whole):
    """Through Ray's optimizer: only the columns and rows that are asked for leave a read task."""
    dataset = fastpair.ray.read_table(table).filter(expr=FILTERS["with the rest"][0]).select_columns(["number"])
    wanted = whole.filter(FILTERS["with the rest"][1](whole))["number"].to_pylist()
    assert sorted(row["number"] for row in dataset.take_all()) == wanted
    assert dataset.count() == len(wanted)
    assert "ReadFastpair" in dataset.materialize().stats() and "Filter" not in dataset.materialize().stats()


def test_where(table, answer):
    dataset = fastpair.ray.read_table(table, columns=["line"], where=("contains", "line", WORD))
    assert dataset.count() == answer[0]


def test_write(table, whole, tmp_path):
    fastpair.ray.write_table(fastpair.ray.read_table(table), tmp_path / "copy", codec="onpair12")
    assert pa.table(fp.open_table(tmp_path / "copy")).sort_by("number").equals(whole)
    assert [name.name for name in tmp_path.iterdir()] == ["copy"]
    with pytest.raises(FileExistsError):
        fastpair.ray.write_table(fastpair.ray.read_table(table), tmp_path / "copy")
    some = fastpair.ray.read_table(table, where=("contains", "line", WORD))
    fastpair.ray.write_table(some, tmp_path / "copy", mode="append", codec="onpair12")
    assert len(fp.open_table(tmp_path / "copy")) == whole.num_rows + some.count()
    fastpair.ray.write_table(some, tmp_path / "copy", mode="overwrite", codec="onpair12")
    assert len(fp.open_table(tmp_path / "copy")) == some.count()
    assert [name.name for name in tmp_path.iterdir()] == ["copy"]


def test_write_no_rows(table, tmp_path):
    none = fastpair.ray.read_table(table, where=("contains", "line", "no row has this"))
    fastpair.ray.write_table(none, tmp_path / "none")
    made = fp.open_table(tmp_path / "none")
    assert len(made) == 0 and list(made.schema) == list(fp.open_table(table).schema)


def test_parts_of_another_schema(table, tmp_path):
    fp.write_table(tmp_path / "copy", pa.table({"line": ["x"]}), part_rows=1, codec="stored")
    some = fastpair.ray.read_table(table, where=("equals", "host", "host-1"))
    with pytest.raises(Exception, match="host"):
        fastpair.ray.write_table(some, tmp_path / "copy", mode="append", codec="onpair12")
    assert len(fp.open_table(tmp_path / "copy")) == 1 and [name.name for name in tmp_path.iterdir()] == ["copy"]


def kill_reader(batch, marker):
    if once(marker):
        die()
    return batch


def test_killed_while_reading(table, whole, tmp_path):
    dataset = fastpair.ray.read_table(table)
    dataset = dataset.map_batches(kill_reader, fn_args=(tmp_path / "killed",), batch_format="pyarrow")
    assert collect(dataset).equals(whole)
    assert (tmp_path / "killed").exists()


def kill_writer(batch, parent, marker):
    die_while_writing(parent, marker)
    return batch


def test_killed_while_writing(table, whole, tmp_path):
    marker = tmp_path / "killed"
    dataset = fastpair.ray.read_table(table, override_num_blocks=4)
    dataset = dataset.map_batches(kill_writer, fn_args=(tmp_path, marker), batch_format="pyarrow")
    fastpair.ray.write_table(dataset, tmp_path / "copy")
    assert ".writing-" in (tmp_path / "killed.caught").read_text()
    assert pa.table(fp.open_table(tmp_path / "copy")).sort_by("number").equals(whole)
    assert sorted(name.name for name in tmp_path.iterdir()) == ["copy", "killed", "killed.caught"]


def fail_late(batch):
    if pc.max(batch["number"]).as_py() > 90_000:
        raise ValueError("this batch cannot be had")
    return batch


def test_a_failed_job_leaves_nothing(table, tmp_path):
    dataset = fastpair.ray.read_table(table).map_batches(fail_late, batch_format="pyarrow")
    with pytest.raises(Exception, match="cannot be had"):
        fastpair.ray.write_table(dataset, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_damage(table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    part = pathlib.Path(fp.open_table(tmp_path / "copy").parts[17].path)
    place = damage(part / "line.fpc")
    with pytest.raises(Exception) as caught:
        fastpair.ray.read_table(tmp_path / "copy", columns=["line"]).materialize()
    assert_names(caught.value, "part-00017", place)
