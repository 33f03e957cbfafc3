"""Tables in Dask: fastpair.dask.read_table and write_table. Needs dask[dataframe].

    import fastpair.dask

    hits = fastpair.dask.read_table("events/", columns=["url"], where=("contains", "url", "login"))
    len(hits), hits.head(10, npartitions=-1)
    fastpair.dask.write_table(hits, "logins/")

A partition is a range of chunks. Columns that a query does not use are not read. Dask hands no filters to
those who read, so that tests on codes are an argument, as the filters of dask.dataframe.read_parquet are.
"""
import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from ._dataset import open_table
from ._job import Job
from ._pushdown import everywhere, groups, is_string

__all__ = ["read_table", "write_table"]


def _dtype(kind):
    """Strings and bytes stay in Arrow's memory."""
    if is_string(kind):
        return pd.StringDtype("pyarrow")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pd.ArrowDtype(kind)
    return None


def _read(units, columns=None, where=None):
    tables = [unit.read(columns, where=where) for unit in units]
    return pa.concat_tables(tables).to_pandas(types_mapper=_dtype)


def read_table(path, *, columns=None, where=None, rows=None, storage_options=None):
    """A table as a dask.dataframe.DataFrame.

    columns: these only. where: a test as in fastpair.Unit.read; it runs on codes. rows: put
    ranges of chunks together to partitions of about so many rows. storage_options: as in
    fastpair.open_table.
    """
    table = open_table(everywhere(path), storage_options=storage_options)
    schema = table.arrow_schema
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    tasks = groups(table, rows)
    meta = schema.empty_table().to_pandas(types_mapper=_dtype)
    if not tasks:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(_read, tasks, columns=columns, where=where, meta=meta, label="fastpair")


def _write(frame, number, job, schema):
    """Writes a partition; a task of its own, so that Dask runs it again where a worker is lost."""
    table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
    return job.write(number, table)


def _schema(meta):
    """The Arrow schema that all partitions are written in: a partition without a value in some column could
    not tell its type."""
    fields = []
    for name, dtype in meta.dtypes.items():
        if isinstance(dtype, pd.ArrowDtype):
            kind = dtype.pyarrow_dtype
        elif isinstance(dtype, pd.StringDtype) or dtype == object:
            kind = pa.string()
        else:
            kind = pa.Schema.from_pandas(meta[[name]], preserve_index=False).field(0).type
        fields.append(pa.field(str(name), kind))
    return pa.schema(fields)


def write_table(frame, path, *, mode="error", compute_options=None, **options):
    """Writes a DataFrame of Dask as a table, a part per partition that has rows. The index is not written.
    The table appears when all of it is written, and not otherwise.

    mode: "error", "append" or "overwrite". compute_options: of dask.compute, such as scheduler.
    options: of fastpair.write_part, such as codec.
    """
    schema = _schema(frame._meta)
    job = Job(path, mode, **options).begin()
    try:
        tasks = [dask.delayed(_write)(part, number, job, schema) for number, part in enumerate(frame.to_delayed())]
        job.commit(dask.compute(*tasks, **(compute_options or {})))
    except BaseException:
        job.abort()
        raise
