"""Tables on disk: a folder of columns, or of parts that are such folders."""
import collections
import concurrent.futures
import os

from . import _condition, _fastpair, _files, _show, _threads
from ._parts import Opener, check_same
from ._unit import Unit, arrow_type, pieces

# What is decoded at once for an engine, about: smaller chunks are taken together. Rows, and bytes of the
# leading column.
BATCH_ROWS = 1 << 16
BATCH_BYTES = 16 << 20


class Dataset:
    """A table on disk. Made by fastpair.open_table().

    It is an Arrow stream of structs: pyarrow.table(ds), polars.DataFrame(ds), duckdb.sql("from ds") take it,
    each with a stream of its own that is decoded batch by batch, a few batches ahead. Nothing is decoded
    before. Threads may share it, and it can be pickled.
    """

    def __init__(self, parts, columns=None):
        self._parts = parts
        first = parts[0]
        ordered = sorted(first.types, key=lambda name: first._positions[name])
        self._columns = ordered if columns is None else list(columns)
        for name in self._columns:
            if name not in first.types:
                raise KeyError(f"no column {name!r}; there are: {', '.join(map(repr, ordered))}")
        if len(set(self._columns)) != len(self._columns):
            raise ValueError("a column was asked for twice")

    # ------------------------------------------------------------ what it is

    @property
    def columns(self):
        """The names of the columns."""
        return list(self._columns)

    @property
    def schema(self):
        """Types by name: 'text', 'bytes', or as pyarrow calls them."""
        return {name: str(self._parts[0].types[name]) for name in self._columns}

    @property
    def arrow_schema(self):
        """The same as a pyarrow.Schema."""
        import pyarrow as pa

        types = self._parts[0].types
        return pa.schema([(name, arrow_type(types[name]) if isinstance(types[name], str) else types[name])
                          for name in self._columns])

    @property
    def parts(self):
        """The parts, as a list of Part."""
        return list(self._parts)

    def __len__(self):
        return sum(part.rows for part in self._parts)

    def __getitem__(self, names):
        """The same table with some of its columns: a name or a list of names."""
        return Dataset(self._parts, [names] if isinstance(names, str) else names)

    def __repr__(self):
        names = ", ".join(f"{name} ({kind})" for name, kind in self.schema.items())
        parts = f" in {_show.number(len(self._parts))} parts" if len(self._parts) > 1 else ""
        return f"<fastpair.Dataset of {_show.number(len(self))} rows{parts}: {names}>"

    # ------------------------------------------------------------ units

    def units(self, rows=None):
        """The table cut into units of work, in order: a list of Unit.

        A unit is a chunk of its part's largest column of strings; with `rows`, neighbouring chunks of a part
        are taken together as long as they have at most so many rows.
        """
        return [unit for part in self._parts for unit in self._units(part, rows, None)]

    def _batch_units(self):
        """Units for an engine in this process: large enough to be worth a thread's while, and no larger."""
        return [unit for part in self._parts for unit in self._units(part, BATCH_ROWS, BATCH_BYTES)]

    def _units(self, part, rows, size):
        lead = part.lead
        names = ([lead] if lead is not None else []) + [name for name in part.files if name != lead]
        files = tuple((name, part.files[name]) for name in names)
        for first, count in _ranges(part, rows, size):
            yield Unit(part.path, first, count, tuple(self._columns), files, part.rest, part.rows, part._store.options,
                       part._stamp)

    def read(self, columns=None, where=None, limit=None, threads=None):
        """The rows that pass `where`, `limit` of them at most, in order: a pyarrow.Table. See Unit.read()."""
        import pyarrow as pa

        columns = self._columns if columns is None else list(columns)
        batches, left = [], limit
        for batch in self._batches(columns, where, limit, threads):
            if left is not None:
                batch = batch.slice(0, left)
                left -= len(batch)
            batches.append(batch)
            if left == 0:
                break
        return pa.Table.from_batches(batches, self[columns].arrow_schema)

    def count(self, where=None, threads=None):
        """How many rows pass `where`; units are counted side by side. See Unit.count()."""
        if where is None:
            return len(self)
        _condition.check(where, self._parts[0].types)
        whole = Dataset(self._parts)
        return sum(ahead(lambda unit: unit.count(where), whole._batch_units(), threads))

    def _batches(self, columns, where, limit, threads):
        tested = [name for name in self._parts[0].types if name not in columns]
        seen = Dataset(self._parts, columns + tested) if where is not None else self[columns]
        for batches in ahead(lambda unit: list(unit.batches(columns, where, limit)), seen._batch_units(), threads):
            yield from batches

    # ------------------------------------------------------------ Arrow

    def _pieces(self):
        """(rows, arrays) of all rows, decoded a few units ahead."""
        types = self._parts[0].types
        for found in ahead(lambda unit: list(pieces(unit, self._columns, None)), self._batch_units(), None):
            for rows, columns in found:
                for name, column in columns.items():
                    if not isinstance(types[name], str) and column.type != types[name]:
                        raise _files.fault(f"column {name!r} is of type {column.type}, but was of type {types[name]} "
                                           "when the table was opened; open it again")
                yield rows, [columns[name] for name in self._columns]

    def __arrow_c_stream__(self, requested_schema=None):
        """A stream of structs; what a consumer requests is left to its own conversion."""
        return _fastpair.batch_stream(self.__arrow_c_schema__, self._pieces())

    def __arrow_c_schema__(self):
        part = self._parts[0]
        if any(name not in part.files for name in self._columns):
            return self.arrow_schema.__arrow_c_schema__()
        # Of no rows: all batches have 32-bit offsets.
        return _fastpair.table_schema([(name, part[name][:0]) for name in self._columns])


def _ranges(part, rows, size):
    """(first, rows) of a part's units, of at most so many rows and bytes where there is more than one chunk."""
    if not part.files:
        step = rows or BATCH_ROWS
        yield from ((first, min(step, part.rows - first)) for first in range(0, part.rows, step))
        return
    first = count = bytes_ = 0
    with _files.about(part.files[part.lead], part.path):
        column = part._open(part.files[part.lead])
        for chunk in range(column._totals()["chunks"]):
            _, more, decoded, *_ = column._chunk(chunk)
            if count and (rows is None or count + more > rows or size and bytes_ + decoded > size):
                yield first, count
                first, count, bytes_ = first + count, 0, 0
            count, bytes_ = count + more, bytes_ + decoded
    if count:
        yield first, count


def ahead(work, units, threads):
    """work(unit) of all units, in order, a few of them under way at once."""
    threads = _threads.count(threads)
    if threads <= 1 or len(units) <= 1:
        yield from map(work, units)
        return
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    waiting = collections.deque()
    try:
        for unit in units:
            waiting.append(pool.submit(work, unit))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Nobody waits here: what is no longer wanted may be collected in a thread of the pool itself.
        pool.shutdown(wait=False, cancel_futures=True)


# ---------------------------------------------------------------- opening

def open_table(path, columns=None, *, storage_options=None):
    """Opens a table: a Dataset.

    path     a folder of .fpc files with the same rows, a column each, perhaps with other columns in
             rest.parquet; or a folder of such folders, the parts, in the order of their names; or a glob
             or a list of .fpc files or of folders, which are parts as well. Files NAME-00000.fpc,
             NAME-00001.fpc ... are parts of one column. Names that begin with . or _ are left out.
             All of these may be URLs that fsspec knows, "s3://bucket/table" for example.
    columns  names of those that are wanted, in this order; None: all.
    storage_options   a dict for fsspec's file system; units have it with them.

    A column's name is what its file records, else the file's name. Only footers are read. Files with
    different numbers of rows, and parts with different columns or types, are an Error that says which.
    """
    if isinstance(path, (list, tuple)):
        given = [_files.store_of(os.fspath(one), storage_options) for one in path]
        if len({type(store) for store, _ in given}) > 1:
            raise _files.fault("the list: both URLs and paths")
        parts = Opener(given[0][0] if given else _files.LOCAL).listed([one for _, one in given], "the list")
    else:
        store, path = _files.store_of(os.fspath(path), storage_options)
        parts = Opener(store).table(path)
    check_same(parts)
    return Dataset(parts, columns)
