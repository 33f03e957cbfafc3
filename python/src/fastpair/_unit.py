"""Units of work: rows of one part of a table, to be read by whichever process gets them."""
import bisect
import dataclasses
import functools

from . import _condition, _fastpair, _files

# Bytes of the leading column that are decoded or searched at once, and bytes that an array may have.
PIECE_BYTES = 4 << 20
# The same where they become views of an engine in this process, for which every piece is some work.
VIEW_PIECE_BYTES = 64 << 20
ARRAY_BYTES = 1 << 30
# Rows that are read at once where no column of strings says how many.
REST_ROWS = 1 << 17


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """Some rows of a part of a table. Made by Dataset.units(); small, and can be pickled.

    part      the part's folder, or its file
    first     number of the first row in the part; rows: how many there are
    columns   names, in the table's order
    files     the columns of strings: (name, path) of each, the one that leads first
    rest      path of the file of other columns, or None
    part_rows rows of the whole part when the unit was made: another number is an error
    storage_options, stamp   for URLs: a dict for fsspec or None, and what the files were like then
    """

    part: str
    first: int
    rows: int
    columns: tuple
    files: tuple
    rest: str | None
    part_rows: int
    storage_options: dict | None = None
    stamp: str = ""

    def read(self, columns=None, where=None, limit=None):
        """The rows that pass `where`, `limit` of them at most: a pyarrow.Table.

        `where` is a tuple, for example ("and", ("contains", "url", "x"), ("not", ("is_null", "title"))); tests
        of strings are contains, prefix, suffix, equals, like, isin and is_null.
        """
        import pyarrow as pa

        reader = _Reader(self, columns, where)
        batches = list(reader.batches(limit))
        return pa.Table.from_batches(batches, reader.schema())

    def batches(self, columns=None, where=None, limit=None):
        """The same piece by piece: an iterator of pyarrow.RecordBatch, none of them empty."""
        return _Reader(self, columns, where).batches(limit)

    def count(self, where=None):
        """How many rows pass `where`. Nothing is decoded that need not be."""
        return self.rows if where is None else _Reader(self, (), where).count()


@functools.lru_cache(maxsize=16)
def _prepared(column, predicate):
    """A predicate compiled for a column that stays open: the units of a file share it."""
    return column._prepare(predicate)


class _Views:
    """Decoded rows as views, for one consumer."""

    __slots__ = ("_pair",)

    def __init__(self, pair):
        self._pair = pair

    def __arrow_c_array__(self, requested_schema=None):
        return self._pair


class Readers:
    """Readers of the units of a table, which threads may share.

    columns, where   as Unit.read() takes them
    as_views         rows are decoded as views

    Units of one part come one after another. What opening it takes, and what a test becomes there, is done once
    for all of them, unless columns are in a file that threads cannot share.
    """

    def __init__(self, columns, where=None, as_views=False):
        self.columns, self.where, self.as_views = columns, where, as_views
        self.last = None, None

    def _of(self, unit):
        part, reader = self.last
        if reader is not None and part == (unit.part, unit.files, unit.stamp, unit.part_rows):
            return reader.at(unit)
        reader = _Reader(unit, self.columns, self.where)
        reader.as_views = self.as_views
        if reader.rest is None:
            self.last = (unit.part, unit.files, unit.stamp, unit.part_rows), reader
        return reader

    def pieces(self, unit):
        """(rows, {name: what speaks Arrow}) of a unit, for consumers that are not pyarrow."""
        return self._of(unit).pieces()

    def batches(self, unit, limit=None):
        """As Unit.batches()."""
        return self._of(unit).batches(limit)

    def count(self, unit):
        """As Unit.count()."""
        return self._of(unit).count()


def joined(units, count):
    """Units of up to `count` neighbours of a part each."""
    result, taken = [], 0
    for unit in units:
        if result and taken < count and result[-1].part == unit.part:
            result[-1] = dataclasses.replace(result[-1], rows=result[-1].rows + unit.rows)
            taken += 1
        else:
            result.append(unit)
            taken = 1
    return result


def shortened(unit, rows):
    """The first rows of a unit."""
    return dataclasses.replace(unit, rows=rows)


class _Reader:
    """Reads one unit: opens what is asked for, and goes piece by piece."""

    as_views = False

    def __init__(self, unit, columns, where):
        self.unit = unit
        self.store, _ = _files.store_of(unit.part, unit.storage_options)
        self.names = list(unit.columns if columns is None else columns)
        for name in self.names:
            if name not in unit.columns:
                raise KeyError(f"no column {name!r}; there are: {', '.join(map(repr, unit.columns))}")
        self.strings = dict(unit.files)
        self.plan = None
        wanted = set(self.names)
        if where is not None:
            _condition.check(where, unit.columns)
            self.plan = _condition.plan(where, self.strings)
            wanted |= _condition.columns(where)
        self.wanted = [name for name in unit.columns if name in wanted]
        # The leading column says where pieces end, wanted or not.
        self.opened = {name: self._open(name) for name in self.strings
                       if name in wanted or name == unit.files[0][0]}
        self.rest = None
        if any(name not in self.strings for name in self.wanted):
            self.rest = _Rest(self.store, unit, [name for name in self.wanted if name not in self.strings])

    def at(self, unit):
        """The same for another unit of the part."""
        other = object.__new__(_Reader)     # as copy.copy() does, which takes 20 times as long
        other.__dict__.update(self.__dict__, unit=unit)
        return other

    def _open(self, name):
        path = self.strings[name]
        with _files.about(path):
            column = self.store.open_column(path, self.unit.stamp)
        if len(column) != self.unit.part_rows:
            raise _files.fault(f"{path}: {len(column)} rows, but there were {self.unit.part_rows} when the table was "
                               "opened; open it again")
        return column

    def about(self, name):
        return _files.about(self.strings[name], self.unit.part)

    # ------------------------------------------------------------ pieces

    def ranges(self):
        """(first, end) of rows that are read at once, in the part."""
        first, end = self.unit.first, self.unit.first + self.unit.rows
        if not self.opened:
            for at in range(first, end, REST_ROWS):
                yield at, min(end, at + REST_ROWS)
            return
        name, path = self.unit.files[0]
        lead = self.opened[name]
        with self.about(name):
            chunk = bisect.bisect_right(range(lead._totals()["chunks"]), first, key=lambda i: lead._chunk(i)[0]) - 1
            most = VIEW_PIECE_BYTES if self.as_views else PIECE_BYTES
            while first < end:
                stop, size = first, 0
                while stop < end and (size == 0 or size < most):
                    start, rows, decoded = lead._chunk(chunk)[:3]
                    stop, size, chunk = start + rows, size + decoded, chunk + 1
                yield from self._small(first, min(stop, end))
                first = stop

    def _small(self, first, end):
        """The range in pieces whose arrays have 32-bit offsets."""
        for name, column in self.opened.items():
            if column._totals()["decoded_bytes"] > ARRAY_BYTES and end - first > 1:
                with self.about(name):
                    size = column[first:end]._size()
                if size > ARRAY_BYTES:
                    middle = (first + end) // 2
                    yield from self._small(first, middle)
                    yield from self._small(middle, end)
                    return
        yield first, end

    def _codes(self, first, end):
        def answer(name, predicate):
            with self.about(name):
                column = self.opened[name]
                return _condition.bits(column[first:end]._search(_prepared(column, predicate)))
        return answer

    def _chosen(self, first, end, limit):
        """Numbers of the rows of a piece that pass, as bytes of 64-bit integers."""
        if self.plan[0] == "codes":
            _, name, predicate = self.plan
            with self.about(name):
                column = self.opened[name]
                return column[first:end]._find(_prepared(column, predicate), 0, limit)
        rows = end - first
        rest = self.rest and self.rest.tests(first, end)
        true, _ = _condition.evaluate(self.plan, rows, self._codes(first, end), rest)
        return _fastpair.list_bits(true.to_bytes((rows + 7) // 8, "little"), rows, limit)

    def pieces(self, limit=None):
        """(rows, {name: what speaks Arrow}) piece by piece; those without rows are left out."""
        left = self.unit.rows if limit is None else limit
        for first, end in self.ranges():
            if left <= 0:
                return
            if self.plan is None:
                end = min(end, first + left)
                rows, chosen = end - first, None
            else:
                chosen = self._chosen(first, end, left)
                rows = len(chosen) // 8
                if rows == end - first:
                    chosen = None
            left -= rows
            if rows:
                yield rows, self._columns(first, end, chosen)

    def _columns(self, first, end, chosen):
        result = {}
        for name in self.names:
            if name in self.strings:
                column = self.opened[name][first:end]
                with self.about(name):
                    if self.as_views:
                        result[name] = _Views(column._views() if chosen is None else column._listed_views(chosen))
                    else:
                        result[name] = column._decode(0) if chosen is None else column._listed(chosen)
            else:
                result[name] = self.rest.column(name, first, end, chosen)
        return result

    def count(self):
        if self.plan[0] == "codes":
            _, name, predicate = self.plan
            first, column = self.unit.first, self.opened[name]
            with self.about(name):
                return column[first:first + self.unit.rows]._count(_prepared(column, predicate))[0]
        total = 0
        for first, end in self.ranges():
            rest = self.rest and self.rest.tests(first, end)
            total += _condition.evaluate(self.plan, end - first, self._codes(first, end), rest)[0].bit_count()
        return total

    # ------------------------------------------------------------ pyarrow

    def schema(self):
        import pyarrow as pa

        rest = self.rest and self.rest.schema
        return pa.schema([pa.field(name, arrow_type(self.opened[name].type)) if name in self.strings
                          else rest.field(name) for name in self.names])

    def batches(self, limit=None):
        import pyarrow as pa

        schema = self.schema()
        for rows, columns in self.pieces(limit):
            arrays = [pa.array(columns[name], type=field.type) if name in self.strings else columns[name]
                      for name, field in zip(self.names, schema)]
            if arrays:
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            else:
                yield pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def arrow_type(name):
    """The pyarrow type of a column of strings."""
    import pyarrow as pa

    return pa.string() if name == "text" else pa.binary()


class _Rest:
    """Columns of a Parquet file, read by row groups; the last one is kept, as pieces are smaller."""

    def __init__(self, store, unit, names):
        path, rows = unit.rest, unit.part_rows
        self.path, self.names = path, names
        self.file = store.open_parquet(path)
        self.schema = self.file.schema_arrow
        metadata = self.file.metadata
        if metadata.num_rows != rows:
            raise _files.fault(f"{path}: {metadata.num_rows} rows, but there were {rows} when the table was opened; "
                               "open it again")
        self.starts = [0]
        for group in range(metadata.num_row_groups):
            self.starts.append(self.starts[-1] + metadata.row_group(group).num_rows)
        self.held = None

    def _rows(self, first, end):
        begin = bisect.bisect_right(self.starts, first) - 1
        stop = bisect.bisect_left(self.starts, end)
        if self.held is None or self.held[0] != (begin, stop):
            with _files.about_parquet(self.path):
                table = self.file.read_row_groups(range(begin, stop), columns=self.names, use_threads=False)
            if len(table) != self.starts[stop] - self.starts[begin] or table.column_names != self.names:
                raise _files.fault(f"{self.path}: row groups {begin} to {stop - 1} have {len(table)} rows of "
                                   f"{', '.join(table.column_names)}, not as the footer says; restore it from a "
                                   "copy, or write the part again", "CORRUPT")
            self.held = (begin, stop), table
        at = first - self.starts[begin]
        return self.held[1].slice(at, end - first)

    def column(self, name, first, end, chosen):
        import pyarrow as pa

        column = self._rows(first, end).column(name)
        if chosen is not None:
            column = column.take(pa.Array.from_buffers(pa.int64(), len(chosen) // 8, [None, pa.py_buffer(chosen)]))
        column = column.combine_chunks()
        return column

    def tests(self, first, end):
        """What answers a test of one of these columns."""
        def answer(test):
            return _condition.evaluate_arrow(test, self._rows(first, end).column(test[1]))
        return answer
