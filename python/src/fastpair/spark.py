"""Tables in Spark: a Python data source with the name fastpair. Needs pyspark from 4.1 on.

    import fastpair.spark

    fastpair.spark.register(spark)
    events = spark.read.format("fastpair").load("events/")
    events.where(events.url.contains("login")).count()
    events.write.format("fastpair").mode("append").save("copy/")

A partition is a range of chunks. Tests of strings run on codes: contains, startsWith, endsWith, =, IN, IS NULL,
LIKE where Spark makes one of these of it, and NOT of them. Spark evaluates the rest. It does not say which
columns a query needs; .schema("url string") or .option("columns", "url") says it.
"""
from pyspark.sql import datasource as ds
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from ._dataset import open_table
from ._job import Job
from ._pushdown import everywhere, groups, is_string

__all__ = ["TableDataSource", "register"]

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_TESTS = {ds.StringContains: "contains", ds.StringStartsWith: "prefix", ds.StringEndsWith: "suffix",
          ds.EqualTo: "equals"}


def register(spark):
    """Makes format("fastpair") known to a session, and lets it hand filters to Python's data sources, which it
    does not do by itself."""
    spark.conf.set(PUSHDOWN, "true")
    spark.dataSource.register(TableDataSource)


def _where(test, strings):
    """A filter of Spark as a test of fastpair, or None where Spark must evaluate it."""
    if isinstance(test, ds.Not):
        inner = _where(test.child, strings)
        return inner and ("not", inner)
    column = ".".join(getattr(test, "attribute", ()))
    if column not in strings:
        return None
    if isinstance(test, ds.IsNull):
        return ("is_null", column)
    if isinstance(test, ds.IsNotNull):
        return ("not", ("is_null", column))
    if isinstance(test, ds.In) and test.value and all(isinstance(value, str) for value in test.value):
        return ("isin", column, list(test.value))
    if type(test) in _TESTS and isinstance(test.value, str):
        return (_TESTS[type(test)], column, test.value)
    return None


def _storage(options):
    """What fsspec is told: the options that begin with storage., without that."""
    found = {name: value for name, value in options.items() if name.startswith("storage.")}
    return {name.removeprefix("storage."): value for name, value in found.items()} or None


class _Range(ds.InputPartition):
    """Units of a table that one task reads."""


class TableReader(ds.DataSourceReader):
    def __init__(self, schema, options):
        self._path, self._storage = everywhere(options["path"]), _storage(options)
        self._rows = int(options["rows"]) if "rows" in options else None
        self._schema = schema
        self._where = None

    def _table(self):
        return open_table(self._path, storage_options=self._storage)

    def pushFilters(self, filters):
        strings = {field.name for field in self._table().arrow_schema if is_string(field.type)}
        understood = []
        for test in filters:
            where = _where(test, strings)
            if where is None:
                yield test
            else:
                understood.append(where)
        if understood:
            self._where = understood[0] if len(understood) == 1 else ("and", *understood)

    def partitions(self):
        return [_Range(units) for units in groups(self._table(), self._rows)]

    def read(self, partition):
        schema = to_arrow_schema(self._schema, timezone="UTC")
        for unit in partition.value or []:  # Spark makes a partition of None of a table without rows
            for batch in unit.batches(schema.names, where=self._where):
                yield batch.cast(schema)


class _Message(ds.WriterCommitMessage):
    """Which attempt of a task has written its part."""

    def __init__(self, written):
        self.written = written


class TableWriter(ds.DataSourceArrowWriter):
    """Writes a part per partition that has rows; the driver makes all of them visible at once."""

    def __init__(self, schema, job):
        self._schema = schema
        self._job = job

    def write(self, iterator):
        import pyarrow as pa
        from pyspark import TaskContext

        schema = to_arrow_schema(self._schema, timezone="UTC")
        batches = (pa.Table.from_batches([batch]).rename_columns(schema.names).cast(schema) for batch in iterator)
        reader = pa.RecordBatchReader.from_batches(schema, (batch for table in batches for batch in table.to_batches()))
        return _Message(self._job.write(TaskContext.get().partitionId(), reader))

    def commit(self, messages):
        self._job.commit([message.written for message in messages if message is not None])

    def abort(self, messages):
        self._job.abort()


class TableDataSource(ds.DataSource):
    """The format "fastpair". Options: path; columns, separated by commas; rows per partition, about;
    storage.NAME for fsspec's options; when writing codec, level and threads."""

    @classmethod
    def name(cls):
        return "fastpair"

    def _path(self):
        if "path" not in self.options:
            raise ValueError('a table has a path: load("events/") or save("events/")')
        return self.options["path"]

    def schema(self):
        fields = open_table(everywhere(self._path()), storage_options=_storage(self.options)).arrow_schema
        if "columns" in self.options:
            fields = _chosen(fields, self.options["columns"])
        return from_arrow_schema(fields)

    def reader(self, schema):
        self._path()
        return TableReader(schema, self.options)

    def writer(self, schema, overwrite):
        options = {name: int(self.options[name]) for name in ("level", "threads") if name in self.options}
        if "codec" in self.options:
            options["codec"] = self.options["codec"]
        return TableWriter(schema, Job(self._path(), "overwrite" if overwrite else "append", **options).begin())


def _chosen(fields, columns):
    import pyarrow as pa

    return pa.schema([fields.field(name.strip()) for name in columns.split(",")])
