"""Tables in Ray Data: fastpair.ray.read_table and write_table. Needs ray[data].

    import fastpair.ray

    events = fastpair.ray.read_table("events/", columns=["url"])
    events.filter(expr=col("url").str.contains("login")).count()
    fastpair.ray.write_table(events, "copy/")

A read task reads a range of chunks. Columns that a query does not use are not read. Filters of Ray's
expressions run on codes where they are tests of strings; other filters run on the rows that are left.
"""
import math

import pyarrow as pa
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasink, Datasource, ReadTask
from ray.data.expressions import BinaryExpr, ColumnExpr, LiteralExpr, Operation, PyArrowComputeUDFExpr, UnaryExpr

from ._dataset import open_table
from ._job import Job
from ._pushdown import decoded_bytes, everywhere, groups, is_string

__all__ = ["TableDatasink", "TableDatasource", "read_table", "write_table"]

_FUNCTIONS = {"match_substring": "contains", "starts_with": "prefix", "ends_with": "suffix", "match_like": "like"}


def _where(tree, strings):
    """A filter of Ray as a test of fastpair, or None where it has another meaning or touches other columns."""
    if isinstance(tree, PyArrowComputeUDFExpr):
        return _where_function(tree, strings)
    if isinstance(tree, UnaryExpr):
        if tree.op == Operation.NOT:
            inner = _where(tree.operand, strings)
            return inner and ("not", inner)
        if not (isinstance(tree.operand, ColumnExpr) and tree.operand.name in strings):
            return None
        is_null = ("is_null", tree.operand.name)
        return {Operation.IS_NULL: is_null, Operation.IS_NOT_NULL: ("not", is_null)}.get(tree.op)
    if not isinstance(tree, BinaryExpr):
        return None
    if tree.op in (Operation.AND, Operation.OR):
        sides = _where(tree.left, strings), _where(tree.right, strings)
        return None if None in sides else (tree.op.value, *sides)
    if not (isinstance(tree.left, ColumnExpr) and tree.left.name in strings and isinstance(tree.right, LiteralExpr)):
        return None
    return _where_compared(tree.op, tree.left.name, tree.right.value)


def _where_function(tree, strings):
    test = _FUNCTIONS.get(tree.pc_func.__name__)
    column = tree.args[0]
    if test is None or not (isinstance(column, ColumnExpr) and column.name in strings):
        return None
    if len(tree.pc_positional) != 1 or tree.pc_kwargs or not isinstance(tree.pc_positional[0], str):
        return None     # ignore_case, for one, which means more than ASCII here
    return (test, column.name, tree.pc_positional[0])


def _where_compared(operation, column, value):
    is_null = ("is_null", column)
    if isinstance(value, str):
        equals = ("equals", column, value)
        return {Operation.EQ: equals, Operation.NE: ("not", equals)}.get(operation)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        # To Ray a null row is in no list, where SQL would not know.
        isin = ("and", ("not", is_null), ("isin", column, value))
        return {Operation.IN: isin, Operation.NOT_IN: ("not", isin)}.get(operation)
    return None


def _conjuncts(tree):
    if isinstance(tree, BinaryExpr) and tree.op == Operation.AND:
        return _conjuncts(tree.left) + _conjuncts(tree.right)
    return [tree]


def _columns(tree):
    """The names that a filter reads."""
    if isinstance(tree, ColumnExpr):
        return {tree.name}
    below = [getattr(tree, name, None) for name in ("left", "right", "operand", "expr")] + getattr(tree, "args", [])
    return set().union(*(_columns(item) for item in below if item is not None))


def _read(units, columns, where, rest, limit):
    """The blocks of some units. rest: what else rows must satisfy, as Arrow's expression, and its columns."""
    for unit in units:
        if rest is None and columns != []:
            yield unit.read(columns, where=where, limit=limit)
            continue
        if rest is None:
            rows = unit.count(where)
        else:
            needed = columns if columns is None else [*columns, *sorted(rest[1] - set(columns))]
            block = unit.read(needed, where=where).filter(rest[0])
            rows = block.num_rows
        if columns == []:
            # Only counted. A block without a column would have no rows to Ray.
            block = pa.table({"__rows": pa.nulls(rows)})
        yield block if not columns else block.select(columns)


class TableDatasource(Datasource):
    """A table for ray.data.read_datasource."""

    def __init__(self, path, columns=None, where=None, storage_options=None):
        super().__init__()
        self._projection_map = None if columns is None else {name: name for name in columns}
        self._where = where
        self._table = open_table(everywhere(path), storage_options=storage_options)
        self._schema = self._table.arrow_schema
        self._bytes = decoded_bytes(self._table)

    def get_name(self):
        return "Fastpair"

    def supports_projection_pushdown(self):
        return True

    def supports_predicate_pushdown(self):
        return True

    def _schema_read(self):
        columns = self._get_data_columns()
        return self._schema if columns is None else pa.schema([self._schema.field(name) for name in columns])

    def _tests(self):
        """The filters that Ray has handed over: those that run on codes, and the rest."""
        understood, rest, columns = [] if self._where is None else [self._where], None, set()
        strings = {field.name for field in self._schema if is_string(field.type)}
        for tree in _conjuncts(self._predicate_expr) if self._predicate_expr is not None else []:
            where = _where(tree, strings)
            if where is not None:
                understood.append(where)
            else:
                rest = tree.to_pyarrow() if rest is None else rest & tree.to_pyarrow()
                columns |= _columns(tree)
        rest = rest if rest is None else (rest, columns)
        if not understood:
            return None, rest
        return understood[0] if len(understood) == 1 else ("and", *understood), rest

    def estimate_inmemory_data_size(self):
        return self._bytes

    def get_read_tasks(self, parallelism, per_task_row_limit=None, data_context=None):
        rows = math.ceil(len(self._table) / max(1, parallelism))
        where, rest = self._tests()
        columns, schema = self._get_data_columns(), self._schema_read()
        size = self._bytes / max(1, len(self._table))
        tasks = []
        for units in groups(self._table, max(1, rows)):
            rows = sum(unit.rows for unit in units)
            known = rows if where is None and rest is None else None
            metadata = BlockMetadata(num_rows=known, size_bytes=int(rows * size), input_files=None, exec_stats=None)
            reading = _Reading(units, columns, where, rest, per_task_row_limit)
            tasks.append(ReadTask(reading, metadata, schema=schema, per_task_row_limit=per_task_row_limit))
        return tasks


class _Reading:
    """What a read task runs. A class, so that it is pickled by name and is small."""

    __name__ = "fastpair"

    def __init__(self, *arguments):
        self.arguments = arguments

    def __call__(self):
        return _read(*self.arguments)


class TableDatasink(Datasink):
    """A table for Dataset.write_datasink: a part per write task, all of them visible at once at the end."""

    def __init__(self, path, mode="error", **options):
        self._job = Job(path, mode, **options)
        self._schema = None

    def get_name(self):
        return "Fastpair"

    def on_write_start(self, schema=None):
        self._schema = schema
        self._job.begin()

    def write(self, blocks, ctx):
        tables = (pa.table(ray.data.block.BlockAccessor.for_block(block).to_arrow()) for block in blocks)
        first = next(tables, None)
        if first is None:
            return None
        reader = pa.RecordBatchReader.from_batches(first.schema, _batches(first, tables))
        return tuple(self._job.write(ctx.task_idx, reader))

    def on_write_complete(self, write_result):
        from ._job import Written

        written = [Written(*item) for item in write_result.write_returns if item is not None]
        if not written and isinstance(self._schema, pa.Schema):
            written = [self._job.write(0, self._schema.empty_table())]
        self._job.commit(written)

    def on_write_failed(self, error):
        self._job.abort()


def _batches(first, others):
    yield from first.to_batches()
    for table in others:
        yield from table.cast(first.schema).to_batches()


def read_table(path, *, columns=None, where=None, storage_options=None, **options):
    """A table as a Dataset of Ray.

    columns: these only. where: a test as in fastpair.Unit.read, for what Ray's expressions cannot say.
    storage_options: as in fastpair.open_table. options: of ray.data.read_datasource, such as
    override_num_blocks.
    """
    return ray.data.read_datasource(TableDatasource(path, columns, where, storage_options), **options)


def write_table(dataset, path, *, mode="error", ray_remote_args=None, concurrency=None, **options):
    """Writes a Dataset of Ray as a table. It appears when all of it is written, and not otherwise.

    mode: "error", "append" or "overwrite". options: of fastpair.write_part, such as codec.
    """
    sink = TableDatasink(path, mode, **options)
    dataset.write_datasink(sink, ray_remote_args=ray_remote_args, concurrency=concurrency)
