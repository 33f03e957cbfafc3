"""Tables in Spark, local[2]: two tasks at a time, each with Python workers of its own."""
import pathlib
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import count_rows
import fastpair as fp
import fastpair.spark
from conftest import PARTS, WORD
from support import assert_names, damage, die, die_while_writing, once

# What Spark makes of a table, in the order of its rows.
SCHEMA = pa.schema([("line", pa.string()), ("host", pa.string()), ("number", pa.int64())])


@pytest.fixture
def frame(spark, table):
    return spark.read.format("fastpair").load(str(table))


@pytest.fixture
def halves(spark, table):
    """The same in two partitions: a task has its price."""
    frame = spark.read.format("fastpair").option("rows", "48000").load(str(table))
    assert frame.rdd.getNumPartitions() == 2
    return frame


def collect(frame):
    return frame.toArrow().cast(SCHEMA).sort_by("number")


def test_same_answer(spark, table, answer):
    assert count_rows.with_spark(table, "line", WORD, session=spark) == answer


def test_all_rows(frame, whole):
    assert frame.dtypes == [("line", "string"), ("host", "string"), ("number", "bigint")]
    assert frame.rdd.getNumPartitions() == PARTS
    assert collect(frame).equals(whole)


FILTERS = {
    "contains": (lambda c: c.line.contains("disk"), "line like '%disk%'", True),
    "like": (lambda c: c.line.like("%disk%"), "line like '%disk%'", True),
    "starts": (lambda c: c.line.startswith("GET"), "line like 'GET%'", True),
    "ends": (lambda c: c.line.endswith(WORD), f"line like '%{WORD}'", True),
    "equal": (lambda c: c.host == "host-7", "host = 'host-7'", True),
    "not equal": (lambda c: c.line != "", "line <> ''", True),
    "in": (lambda c: c.host.isin("host-1", "host-2"), "host in ('host-1', 'host-2')", True),
    "not in": (lambda c: ~c.line.isin("", "ok"), "line not in ('', 'ok')", True),
    "null": (lambda c: c.line.isNull(), "line is null", True),
    "not null": (lambda c: c.line.isNotNull(), "line is not null", True),
    "not": (lambda c: ~c.line.contains("ok"), "line not like '%ok%'", True),
    "with the rest": (lambda c: c.line.contains("disk") & (c.number < 5000), "line like '%disk%' and number < 5000",
                      False),
    "left to Spark": (lambda c: c.line.like("GET%ok%"), "line like 'GET%ok%'", False),
    "a null in the list": (lambda c: c.host.isin("host-1", None), "host in ('host-1', null)", False),
}


@pytest.mark.parametrize("name", FILTERS)
def test_push_down(halves, whole, name):
    """Every filter gives the rows that DuckDB finds, and Spark keeps no filter where ours is complete."""
    import duckdb

    frame = halves
    condition, sql, complete = FILTERS[name]
    wanted = duckdb.sql(f"select * from whole where {sql} order by number").to_arrow_table().cast(SCHEMA)
    assert 0 < wanted.num_rows < whole.num_rows
    chosen = frame.where(condition(frame))
    assert collect(chosen).equals(wanted)
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    assert ("Filter" in plan.replace("RuntimeFilters", "")) == (not complete), plan


def test_projection(spark, table, whole):
    for frame in (spark.read.format("fastpair").schema("number bigint").load(str(table)),
                  spark.read.format("fastpair").option("columns", "number").load(str(table))):
        assert frame.columns == ["number"]
        assert frame.agg(F.sum("number")).first()[0] == sum(range(whole.num_rows))
    frame = spark.read.format("fastpair").option("rows", "10000").load(str(table))
    assert frame.rdd.getNumPartitions() == 10 and frame.count() == whole.num_rows


def test_write(spark, halves, whole, tmp_path):
    copy = str(tmp_path / "copy")
    halves.write.format("fastpair").option("codec", "onpair12").mode("append").save(copy)
    assert pa.table(fp.open_table(copy)).sort_by("number").equals(whole)
    assert len(fp.open_table(copy).parts) == 2
    some = halves.where(halves.line.contains(WORD))
    count = some.count()
    some.write.format("fastpair").mode("append").save(copy)
    assert len(fp.open_table(copy)) == whole.num_rows + count
    some.write.format("fastpair").mode("overwrite").save(copy)
    assert len(fp.open_table(copy)) == count
    assert [name.name for name in tmp_path.iterdir()] == ["copy"]


def test_write_no_rows(halves, table, tmp_path):
    none = halves.where(halves.line.contains("no row has this"))
    none.write.format("fastpair").mode("append").save(str(tmp_path / "none"))
    made = fp.open_table(tmp_path / "none")
    assert len(made) == 0 and made.schema == fp.open_table(table).schema


def test_parts_of_another_schema(halves, tmp_path):
    fp.write_table(tmp_path / "copy", pa.table({"line": ["x"]}), part_rows=1, codec="stored")
    with pytest.raises(Exception, match="host"):
        halves.where(halves.host == "host-1").write.format("fastpair").mode("append").save(str(tmp_path / "copy"))
    assert len(fp.open_table(tmp_path / "copy")) == 1 and [name.name for name in tmp_path.iterdir()] == ["copy"]


def test_other_modes(halves, tmp_path):
    """Spark itself refuses what a data source in Python cannot do."""
    with pytest.raises(Exception, match="(?i)errorifexists"):
        halves.write.format("fastpair").save(str(tmp_path / "copy"))
    assert list(tmp_path.iterdir()) == []


class KillingReader(fastpair.spark.TableReader):
    """Dies after the first batch that it has read, once."""

    marker = None

    def read(self, partition):
        for batch in super().read(partition):
            yield batch
            if once(self.marker):
                die()


class KillingSource(fastpair.spark.TableDataSource):
    @classmethod
    def name(cls):
        return "killing"

    def reader(self, schema):
        reader = KillingReader(schema, self.options)
        reader.marker = self.options["marker"]
        return reader

    def writer(self, schema, overwrite):
        writer = super().writer(schema, overwrite)
        return KillingWriter(writer._schema, writer._job, self.options["marker"])


class KillingWriter(fastpair.spark.TableWriter):
    """Dies while it has a file half written, once."""

    def __init__(self, schema, job, marker):
        super().__init__(schema, job)
        self.marker = marker

    def write(self, iterator):
        die_while_writing(pathlib.Path(self._job.path).parent, self.marker)
        return super().write(iterator)


def test_killed_while_reading(spark, table, whole, tmp_path):
    spark.dataSource.register(KillingSource)
    marker = tmp_path / "killed"
    frame = spark.read.format("killing").option("marker", str(marker)).load(str(table))
    assert collect(frame).equals(whole)
    assert marker.exists()


def test_killed_while_writing(spark, halves, whole, tmp_path):
    spark.dataSource.register(KillingSource)
    marker = tmp_path / "killed"
    writer = halves.write.format("killing").option("marker", str(marker)).mode("append")
    writer.save(str(tmp_path / "copy"))
    assert ".writing-" in (tmp_path / "killed.caught").read_text()
    assert pa.table(fp.open_table(tmp_path / "copy")).sort_by("number").equals(whole)
    assert sorted(name.name for name in tmp_path.iterdir()) == ["copy", "killed", "killed.caught"]


def fail_late(batches):
    for batch in batches:
        if pc.max(batch["number"]).as_py() > 90_000:
            raise ValueError("this batch cannot be had")
        yield batch


def test_a_failed_job_leaves_nothing(halves, tmp_path):
    failing = halves.mapInArrow(fail_late, halves.schema)
    with pytest.raises(Exception, match="cannot be had"):
        failing.write.format("fastpair").mode("append").save(str(tmp_path / "copy"))
    assert list(tmp_path.iterdir()) == []


def test_damage(spark, table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    part = pathlib.Path(fp.open_table(tmp_path / "copy").parts[17].path)
    place = damage(part / "line.fpc")
    with pytest.raises(Exception) as caught:
        spark.read.format("fastpair").load(str(tmp_path / "copy")).toArrow()
    assert_names(caught.value, "part-00017", place)


def test_no_path(spark):
    with pytest.raises(Exception, match="a table has a path"):
        spark.read.format("fastpair").load()
