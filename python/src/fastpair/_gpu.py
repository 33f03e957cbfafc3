"""Columns on a GPU: decoded, searched and selected from there, into memory that PyTorch or CuPy owns."""
import contextlib
import threading

from . import _fastpair
from ._column import _numbers
from ._gpu_array import GpuArray, GpuMask, check_status, fault
from ._gpu_libraries import LIBRARIES as _LIBRARIES  # noqa: F401  tests put one of their own in
from ._gpu_libraries import choose
from ._search import predicate

_OFFSETS, _VALIDITY = 1, 2
_MOST_BYTES = 2**31 - 1
# Compiled tests that a column keeps, and bytes of their tables on the GPU, unless the last one alone has more.
_MOST_SEARCHES, _MOST_TABLES = 16, 256 << 20
# What DLPack calls them.
_ON_HOST, _ON_GPU = (1, 3), (2, 13)


def _offset_bits(wanted, nbytes):
    if wanted not in (None, 32, 64):
        raise ValueError("offset_bits is 32 or 64")
    if wanted == 32 and nbytes > _MOST_BYTES:
        raise fault("LIMIT", f"the rows have {nbytes} bytes, too many for 32-bit offsets")
    return wanted or (32 if nbytes <= _MOST_BYTES else 64)


class GpuColumn:
    """A compressed column in GPU memory, made by Column.upload(), to be decoded and searched there at will.

    Work is queued on `stream`, or on the library's current stream, after all that was queued for this column
    before. Threads may share a GpuColumn. `info` is a dict of figures.
    """

    __slots__ = ("info", "_library", "_column", "_job", "_memory", "_rows", "_row_memory", "_searches", "_lock")

    def __init__(self, column, device=None, stream=None, library=None):
        totals = column._totals()
        if len(column) != totals["rows"]:
            raise ValueError("only whole columns are uploaded; take(range(...)) decodes a part there")
        self._library = choose(library, device, stream)
        # A reference of its own, so that the caller may close the column.
        self._column = column[:]
        self._lock = threading.RLock()
        outputs = _OFFSETS | (_VALIDITY if totals["nulls"] else 0)
        self._job = _fastpair.gpu_job(self._library.index, [column], outputs, None)
        self.info = self._job.info()
        self._memory = self._room(self._library, self.info["device_bytes"])
        self._job.upload(*self._block(self._memory, self.info["device_bytes"]), self._library.address_of_stream)
        self._rows, self._row_memory, self._searches = None, (), {}

    def __len__(self):
        return len(self._column)

    def __repr__(self):
        return f"<fastpair.GpuColumn of {len(self):,} rows on device {self._library.index}>"

    # ------------------------------------------------------------ memory and streams

    @staticmethod
    def _room(library, size):
        # One byte at least: what is empty has no address.
        return library.empty(max(size, 1), "uint8")

    def _block(self, memory, size):
        return self._library.address(memory), size

    @contextlib.contextmanager
    def _queue(self, stream, tables=(), others=()):
        """The library on a stream, after what this column's has queued, and that of others: (library, memory)."""
        library = type(self._library)(self._library.index, stream)
        memory = (self._memory, *self._row_memory, *tables)
        waited = []
        for owner, held in ((self._library, memory), *others):
            if owner.address_of_stream != library.address_of_stream:
                library.follow(owner, *held)
                waited.append(owner)
        try:
            yield library
        finally:
            for owner in waited:
                library.hand_back(owner)

    def _output(self, library, rows, nbytes, nulls, offset_bits):
        """Memory for so many rows, in a GpuArray to be."""
        bits = _offset_bits(offset_bits, nbytes)
        data = library.empty(nbytes, "uint8")
        offsets = library.empty(rows + 1, f"int{bits}")
        has_nulls = nulls is None or nulls > 0
        validity = library.empty(max(4, (rows + 31) // 32 * 4), "uint8") if has_nulls else None
        status = library.empty(1, "int32", zero=True)
        address = library.address
        result = GpuArray(library, data, offsets, validity, rows, nulls)
        result._job = self._job
        result._output = (address(data), nbytes, address(offsets), bits,
                          address(validity) if validity is not None else 0, address(status))
        # What the queued work still reads lives as long as nobody has waited for it.
        result._pending = status, self
        return result

    # ------------------------------------------------------------ all rows

    def decode(self, *, stream=None, offset_bits=None):
        """Queues a decode of all rows, and returns the GpuArray to be."""
        with self._lock, self._queue(stream) as library:
            sizes = self._job.column(0)
            result = self._output(library, sizes["rows"], sizes["decoded_bytes"], sizes["nulls"], offset_bits)
            self._job.decode([result._output], library.address_of_stream)
            return result

    # ------------------------------------------------------------ search

    def _prepare(self):
        """Derives once what searches and selections need: where rows begin among codes."""
        if self._rows:
            return
        library = self._library
        rows = _fastpair.gpu_rows(self._job)
        sizes = rows.info()
        kept, scratch, tokens = [self._room(library, size) for size in sizes]
        status = library.empty(1, "int32", zero=True)
        rows.prepare(*map(self._block, (kept, scratch, tokens), sizes), library.address(status),
                     library.address_of_stream)
        check_status(library.list(status)[0])
        self._rows, self._row_memory = rows, (kept, tokens)

    def _compile(self, tree):
        """A search, and its tables on the GPU, which are kept for the next call."""
        search, tables = self._searches.pop(tree, (None, None))
        if not search:
            search = self._rows.search(self._column, tree)
            size = search.info()[0]
            tables = self._room(self._library, size)
            search.upload(self._block(tables, size), self._library.address_of_stream)
        self._searches[tree] = search, tables  # the last one is the newest
        kept = sum(search.info()[0] for search, _ in self._searches.values())
        while len(self._searches) > _MOST_SEARCHES or kept > _MOST_TABLES and len(self._searches) > 1:
            oldest, _ = self._searches.pop(next(iter(self._searches)))
            kept -= oldest.info()[0]
        return search, tables

    def _search(self, library, search):
        _, size, bitmap_bytes = search.info()
        scratch = self._room(library, size)
        bitmap = library.empty(max(4, bitmap_bytes), "uint8", zero=bitmap_bytes == 0)
        validity = library.empty(max(4, bitmap_bytes), "uint8") if self._has_nulls() else None
        counts = library.empty(2, "int64", zero=True)
        addresses = [0 if memory is None else library.address(memory) for memory in (bitmap, validity, counts)]
        search.run(self._block(scratch, size), tuple(addresses), library.address_of_stream)
        # The tables are copied from host memory that the search owns.
        return GpuMask(library, bitmap, validity, (counts, search), len(self))

    def _has_nulls(self):
        return self._job.column(0)["nulls"] > 0

    def match(self, where=None, *, stream=None, **tests):
        """Queues a search and returns which rows pass the test: a GpuMask to be. Tests are those of Column.match()."""
        tree = predicate(where, tests)
        with self._lock:
            self._prepare()
            search, tables = self._compile(tree)
            with self._queue(stream, (tables,)) as library:
                return self._search(library, search)

    def count(self, where=None, *, stream=None, **tests):
        """How many rows pass a test. Tests are those of Column.match()."""
        return self.match(where, stream=stream, **tests).true_count

    # ------------------------------------------------------------ selection

    def filter(self, where=None, *, stream=None, offset_bits=None, **tests):
        """The rows that pass a test: a GpuArray. Nothing else is decoded.

        Tests are those of Column.match(). A GpuMask will do, too, of this column or of another with as many rows.
        """
        if isinstance(where, GpuMask):
            if tests:
                raise TypeError("give a mask or tests, not both")
            if len(where) != len(self) or where.device != self._library.index:
                raise ValueError(f"a mask of {len(where)} rows on device {where.device} for a column of {len(self)} "
                                 f"on device {self._library.index}")
            if not isinstance(where._library, type(self._library)):
                raise TypeError("the mask and the column are of different libraries")
        tree = None if isinstance(where, GpuMask) else predicate(where, tests)
        with self._lock:
            self._prepare()
            search, *tables = self._compile(tree) if tree else (None,)
            others = [] if tree else [(where._library, where._owners[:1])]
            with self._queue(stream, tables, others) as library:
                mask = self._search(library, search) if tree else where
                return self._select(library, (library.address(mask._owners[0]), 0, 0), offset_bits)

    def take(self, rows, *, stream=None, offset_bits=None):
        """Rows by number, in the order given: a GpuArray. Nothing else is decoded.

        `rows` is what Column.take() takes, or a tensor or array of integers or bool on this GPU, of any library that
        speaks DLPack; it must be ready on the stream. Numbers below 0 count from the end.
        """
        with self._lock:
            self._prepare()
            with self._queue(stream) as library:
                numbers = library.numbers(self._on_device(library, rows), len(self))
                # What is empty has no address.
                memory = numbers if len(numbers) else library.empty(1, "int64", zero=True)
                return self._select(library, (0, library.address(memory), len(numbers)), offset_bits)

    def _on_device(self, library, rows):
        where = getattr(rows, "__dlpack_device__", None)
        kind, index = where() if where else (_ON_HOST[0], 0)
        if not where and hasattr(rows, "__cuda_array_interface__"):
            return rows
        if kind in _ON_HOST:
            return library.copy(_numbers(rows, len(self)).tobytes(), "int64")
        if kind not in _ON_GPU or index != library.index:
            raise ValueError(f"the rows are listed on another device than {library.index}")
        return rows

    def _select(self, library, selection, offset_bits):
        """Two launches: what the rows take, for which we wait, then the rows."""
        size = self._rows.scratch(selection)
        scratch = self._room(library, max(size, 16))
        block, stream = self._block(scratch, size), library.address_of_stream
        self._rows.sizes(selection, block, stream)
        rows, nbytes = library.list(scratch, 2)
        result = self._output(library, rows, nbytes, None if self._has_nulls() else 0, offset_bits)
        result._selected = rows, nbytes
        self._rows.decode(selection, block, result._output, rows, stream)
        return result.check()


def _decode_part(column, library, offset_bits):
    """A slice: decoded by the CPU, then copied. A GPU decodes whole chunks."""
    array = column._decode(2)
    has = 32 if array.format == "z" else 64
    bits = offset_bits or has
    data, offsets, validity = array._buffer(2) or b"", array._buffer(1), array._buffer(0)
    if bits != has:
        import numpy

        wide = numpy.frombuffer(offsets, f"int{has}")
        _offset_bits(bits, int(wide[-1]))
        offsets = wide.astype(f"int{bits}").tobytes()
    return GpuArray(library, library.copy(data, "uint8"), library.copy(offsets, f"int{bits}"),
                    library.copy(validity, "uint8") if array.null_count else None, len(array), array.null_count)


def decode(column, device, stream, library, offset_bits):
    """Column.to_gpu()"""
    if offset_bits not in (None, 32, 64):
        raise ValueError("offset_bits is 32 or 64")
    if len(column) != column._totals()["rows"] or not len(column):
        return _decode_part(column, choose(library, device, stream), offset_bits)
    return GpuColumn(column, device, stream, library).decode(stream=stream, offset_bits=offset_bits).check()


class _Host:
    """Memory of the CPU, as PyTorch sees it."""

    index = -1

    def __init__(self):
        import torch

        self.torch = torch

    def copy(self, data, kind):
        dtype = getattr(self.torch, kind)
        return self.torch.frombuffer(bytearray(data), dtype=dtype) if data else self.torch.empty(0, dtype=dtype)


def to_torch(column, device, stream, offset_bits):
    """Column.to_torch()"""
    if str(device) == "cpu":
        result = _decode_part(column, _Host(), offset_bits)
    else:
        result = decode(column, device, stream, "torch", offset_bits)
    return result.bytes, result.offsets
