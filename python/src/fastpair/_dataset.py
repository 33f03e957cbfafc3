"""Tables on disk: a folder of columns, or of parts that are such folders."""
import os
import queue
import threading

from . import _condition, _fastpair, _files, _show, _threads
from ._parts import Opener, check_same
from ._unit import Readers, Unit, arrow_type, joined

# What is decoded at once for an engine, about: smaller chunks are taken together. Rows, and bytes of the
# leading column.
BATCH_ROWS = 1 << 18
BATCH_BYTES = 16 << 20
# All rows of a large table: units are up to so many times as large, as long as each thread has so many, for every
# unit that is handed over takes an engine some time.
LARGER, UNITS_PER_THREAD = 4, 8
# How many times as many units may wait to be fetched where few of their rows were wanted.
FEW_ROWS_AHEAD = 8


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

    def _large_units(self, threads):
        """The same for so many threads, or one per CPU, that read all rows. The last ones stay as they are, so that
        threads end together."""
        units, threads = self._batch_units(), max(_threads.count(threads), 1)
        larger = min(LARGER, len(units) // (UNITS_PER_THREAD * threads))
        if larger < 2:
            return units
        kept = len(units) - LARGER * threads
        return [*joined(units[:kept], larger), *units[kept:]]

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
        return total(Readers((), where).count, whole._batch_units(), threads)

    def _batches(self, columns, where, limit, threads):
        tested = [name for name in self._parts[0].types if name not in columns]
        seen = Dataset(self._parts, columns + tested) if where is not None else self[columns]
        readers = Readers(columns, where)
        for batches in ahead(lambda unit: list(readers.batches(unit, limit)), seen._batch_units(), threads,
                             lambda batches: sum(map(len, batches))):
            yield from batches

    # ------------------------------------------------------------ Arrow

    def _pieces(self):
        """(rows, arrays) of all rows, decoded a few units ahead."""
        types = self._parts[0].types
        readers = Readers(self._columns)
        for found in ahead(lambda unit: list(readers.pieces(unit)), self._batch_units(), None):
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


class _Ahead:
    """Work on units, a few of them under way or waiting to be fetched.

    Threads take units one after another for as long as there are not too many results; then they end, and are
    started again. So no thread ever waits for whoever fetches, who may never come back. A result counts for as
    much as it has of its unit's rows: where a test leaves few, one slow unit does not hold up others. There
    whoever fetches is woken up for several results at once, as that takes a core from the threads.
    """

    def __init__(self, work, units, threads, rows):
        self.work, self.units, self.threads, self.rows = work, units, threads, rows
        self.pool = _threads.pool()
        self.bell = queue.SimpleQueue()
        self.lock = threading.Lock()    # guards what follows
        self.running = self.taken = self.fetched = 0
        self.done = {}                  # part, result and error by the unit's number
        self.parts = self.held = 0.0    # of all results, and of those that are held, units under way included
        self.missing = None             # results that whoever fetches waits for, numbers below `until`
        self.until = 0

    def _may_take(self):
        most = self.threads + 2
        return self.taken < min(len(self.units), self.fetched + FEW_ROWS_AHEAD * most) and self.held < most - 0.5

    def _start(self):
        while self.running < self.threads and self._may_take() and self.running < len(self.units) - self.fetched:
            self.running += 1
            self.pool.submit(self._run)

    def _ring(self):
        if self.missing is not None:
            self.missing = None
            self.bell.put(None)

    def _run(self):
        while True:
            with self.lock:
                if not self._may_take():
                    self.running -= 1
                    self._ring()
                    return
                number = self.taken
                self.taken += 1
                self.held += 1
            part, result, error = 0, None, None
            try:
                result = self.work(self.units[number])
                part = min(self.rows(result) / max(self.units[number].rows, 1), 1) if self.rows else 1
            except BaseException as failure:      # for whoever fetches
                error = failure
            with self.lock:
                self.done[number] = part, result, error
                self.held += part - 1
                self.parts += part
                if self.missing is not None and number < self.until:
                    self.missing -= 1
                    if self.missing == 0 or error is not None:
                        self._ring()

    def _fetch(self, number, at_once):
        """The result of a unit; waits for `at_once` results, or for what the threads could do."""
        while True:
            with self.lock:
                found = self.done.pop(number, None)
                if found is not None:
                    self.fetched += 1
                    self.held -= found[0]
                self._start()
                if found is not None:
                    return found
                self.until = min(number + at_once, len(self.units))
                self.missing = sum(which not in self.done for which in range(number, self.until))
            self.bell.get()

    def results(self):
        at_once = 1
        for number in range(len(self.units)):
            _, result, error = self._fetch(number, at_once)
            if error is not None:
                raise error
            yield result
            # As many as have the rows of one unit together.
            at_once = min(4 * at_once, int(number / max(self.parts, 1)) or 1, FEW_ROWS_AHEAD * self.threads)

    def close(self):
        with self.lock:
            self.taken = len(self.units)


def ahead(work, units, threads, rows=None):
    """work(unit) of all units, in order, a few of them under way at once. rows(result) says how many rows a result
    has; None: as many as its unit."""
    threads = min(_threads.count(threads), len(units))
    if threads <= 1:
        yield from map(work, units)
        return
    under_way = _Ahead(work, units, threads, rows)
    try:
        yield from under_way.results()
    finally:
        under_way.close()


def total(work, units, threads):
    """The sum of work(unit) of all units, in any order: the caller and other threads take one after another."""
    threads = min(_threads.count(threads), len(units))
    if threads <= 1:
        return sum(map(work, units))
    left, sums, errors = iter(units), [], []        # threads may share the iterator of a list

    def run():
        try:
            sums.append(sum(work(unit) for unit in left if not errors))
        except BaseException as error:      # for the caller to raise
            errors.append(error)

    others = [threading.Thread(target=run) for _ in range(threads - 1)]
    for thread in others:
        thread.start()
    run()
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]
    return sum(sums)


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
