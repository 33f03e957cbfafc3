"""Columns: what the extension's type lacks, said in Python."""
import array
import builtins
import mmap
import os
from collections import namedtuple

from . import _fastpair, _remote, _show, _threads
from ._search import IS_NULL, predicate

Chunk = namedtuple("Chunk", "first_row rows decoded_bytes file_offset file_bytes")
Chunk.__doc__ = "Where a chunk of a column is: its rows, their bytes, and its place in the file."

# Rows that iterating decodes at once.
BATCH_ROWS = 8192


class Column(_fastpair.Column):
    """A compressed column, or a range of its rows. Made by fastpair.open().

    col[i] is a row: str if col.type is 'text', else bytes, None if it is null. col[a:b] is a Column
    that decodes nothing until it is asked. Threads may share a column. Iterating gives one Python
    object per row, which is the slow way; Arrow is the fast one.
    """

    # ------------------------------------------------------------ what it is

    @property
    def name(self):
        """The column's name, or None."""
        return self._describe()[0]

    @property
    def metadata(self):
        """What the writer wanted to be kept with the column: a dict of str to bytes."""
        return dict(self._describe()[1])

    @property
    def info(self):
        """Figures of the whole column as a dict: rows, sizes, ratio, codec, chunks, tokens."""
        info = self._information()
        info["ratio"] = info["decoded_bytes"] / info["compressed_bytes"]
        info["type"] = self.type
        info["name"] = self.name
        return info

    @property
    def nbytes(self):
        """Bytes of the rows, decoded."""
        return self._size()

    @property
    def null_count(self):
        """How many rows are null."""
        totals = self._totals()
        if not totals["nulls"] or len(self) == totals["rows"]:
            return totals["nulls"]
        return self._count(IS_NULL)[0]

    @property
    def chunks(self):
        """All chunks of the whole column, as a list of Chunk. Each can be decoded on its own."""
        return [Chunk(*self._chunk(i)) for i in range(self._totals()["chunks"])]

    def validate(self):
        """Reads and checks everything, checksums and UTF-8 included; raises Error if a byte is wrong.

        Of a slice the chunks are checked that hold its rows.
        """
        self._validate(len(self) != self._totals()["rows"])

    # ------------------------------------------------------------ rows

    def take(self, rows):
        """Rows by number, in the order given: an Array.

        `rows` is a list, a range, a NumPy or Arrow array of integers; numbers below 0 count from the
        end. A NumPy array of bool chooses the rows where it is True.
        """
        return self._listed(_numbers(rows, len(self)))

    def _stepped(self, start, step, count):
        return self.take(range(start, start + step * count, step))

    def to_pylist(self):
        """All rows as a list of str or bytes, and None."""
        return self._decode(0).to_pylist()

    def to_numpy(self):
        """All rows as a NumPy array: StringDType for text, which holds null as None; else objects."""
        import numpy

        rows = self.to_pylist()
        if self.type == "text" and hasattr(numpy.dtypes, "StringDType"):
            return numpy.array(rows, numpy.dtypes.StringDType(na_object=None))
        result = numpy.empty(len(rows), object)
        result[:] = rows
        return result

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a column cannot be given to NumPy without a copy")
        rows = self.to_numpy()
        return rows if dtype is None else rows.astype(dtype)

    def __iter__(self):
        for first in range(0, len(self), BATCH_ROWS):
            yield from self[first:first + BATCH_ROWS]._decode(0).to_pylist()

    def __contains__(self, row):
        if row is None:
            return self.null_count > 0
        return self.count(equals=row) > 0

    # ------------------------------------------------------------ search

    def match(self, where=None, **tests):
        """Which rows pass a test: an Array of booleans, null where a row is.

        The tests are contains, like (SQL's % and _), prefix, suffix, equals, isin and is_null. Each
        takes a str or bytes, or several, of which one must be met. Several tests must all be passed.
        ignore_case=True takes A..Z and a..z for the same; negate=True turns the answer around. Or
        give a predicate made with fastpair.where().
        """
        return self._search(predicate(where, tests))

    def filter(self, where=None, *, limit=None, **tests):
        """The rows that pass a test, as an Array; `limit` of them at most. Tests are those of match()."""
        tree = predicate(where, tests)
        if limit is None:
            return self._filter(tree)
        return self._listed(self._find(tree, 0, limit))

    def count(self, where=None, **tests):
        """How many rows pass a test. Tests are those of match()."""
        return self._count(predicate(where, tests))[0]

    def find(self, where=None, *, start=0, limit=None, **tests):
        """Numbers of the rows that pass a test, from row `start` on: an array of 64-bit integers."""
        found = array.array("q")
        found.frombytes(self._find(predicate(where, tests), start, len(self) if limit is None else limit))
        return found

    # ------------------------------------------------------------ GPU

    def to_gpu(self, device=None, *, stream=None, library=None, offset_bits=None):
        """Decodes on a GPU and leaves the rows there: a GpuArray, whose memory PyTorch or CuPy owns.

        `device` is what the library calls one: "cuda", "cuda:1", 1; None: the current one. The work is
        queued on `stream`, or on the library's current stream. `library` is "torch" or "cupy"; None:
        whichever is imported, else installed.
        """
        from . import _gpu

        return _gpu.decode(self, device, stream, library, offset_bits)

    def to_torch(self, device="cuda", *, stream=None, offset_bits=None):
        """The rows as two tensors: bytes (uint8) and offsets (int32, or int64 beyond 2 GiB).

        Row i is bytes[offsets[i]:offsets[i + 1]]; null rows are empty, see to_gpu() for them. On a
        GPU the work is queued on the current stream, as PyTorch's own operations are.
        """
        from . import _gpu

        return _gpu.to_torch(self, device, stream, offset_bits)

    def to_cupy(self, *, stream=None, offset_bits=None):
        """The same as two CuPy arrays, on CuPy's current device and stream."""
        result = self.to_gpu(stream=stream, library="cupy", offset_bits=offset_bits)
        return result.bytes, result.offsets

    def upload(self, device=None, *, stream=None, library=None):
        """Copies the compressed column to a GPU, to be decoded, searched and selected from there: a GpuColumn."""
        from . import _gpu

        return _gpu.GpuColumn(self, device, stream, library)

    # ------------------------------------------------------------ the rest

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __reduce__(self):
        if self.closed:
            raise ValueError("this column is closed")
        kind, source, threads = self._source
        if kind == "image":
            source = bytes(source)
        elif isinstance(source, _remote.FileRanges):
            kind, source = "image", source(0, source.size)
        return _restore, (kind, source, threads, self.first, len(self))

    def __repr__(self):
        if self.closed:
            return "<fastpair.Column, closed>"
        return _show.column_text(self)

    def _repr_html_(self):
        return repr(self) if self.closed else _show.column_html(self)


def _restore(kind, source, threads, first, count):
    column = _OPENERS[kind](source, threads)
    return column if first == 0 and count == len(column) else column[first:first + count]


def _numbers(rows, count):
    """Native 64-bit integers of whatever lists rows."""
    if isinstance(rows, array.array) and rows.typecode == "q":
        return rows
    if hasattr(rows, "dtype") or hasattr(rows, "__arrow_c_array__") or hasattr(rows, "__arrow_c_stream__"):
        import numpy

        listed = numpy.asarray(rows)
        if listed.dtype == bool:
            if len(listed) != count:
                raise ValueError(f"{len(listed)} booleans for {count} rows")
            listed = numpy.flatnonzero(listed)
        elif listed.size == 0:
            listed = listed.astype(numpy.int64)
        if listed.dtype.kind not in "iu":
            raise TypeError("rows are listed by integers")
        if listed.dtype == numpy.uint64 and listed.max() > numpy.iinfo(numpy.int64).max:
            raise IndexError("no such row")
        return numpy.ascontiguousarray(listed, numpy.int64)
    try:
        return array.array("q", rows)
    except OverflowError:
        raise IndexError("no such row") from None


def open(source, *, threads=None, retries=3, timeout=60.0, storage_options=None):
    """Opens a column.

    source   a path; or bytes, a memoryview, an mmap or any other buffer that holds a whole .fpc file;
             or a file object that is open for reading bytes; or what fsspec knows: a URL such as
             "s3://bucket/urls.fpc" or "https://...", or a file of one of its file systems. Files are
             mapped, not read. A buffer that could be written to is copied, unless it is an mmap.
    threads  that decoding may use; None: one per CPU. Results do not depend on it.

    Of a remote file, and of a file object that can seek, only what is needed is read, when it is needed:
    opening takes two requests, a row the chunk that it is in. A file object must stay open. For URLs and
    files of fsspec:

    retries          how often a read that failed is tried again
    timeout          seconds that a read may take with all its tries
    storage_options  a dict for fsspec's file system

    Nothing is decoded, and only headers are checked: see Column.validate().
    """
    number = _threads.count(threads)
    if isinstance(source, str) and _remote.is_url(source):
        source = _remote.open_url(source, storage_options or {}, retries, timeout)
    elif hasattr(source, "fs") and hasattr(source, "path"):
        source = _remote.open_file(source, retries, timeout)
    if isinstance(source, _remote.FileSystemRanges):
        return _open_ranges(source, number)
    if isinstance(source, (str, os.PathLike)):
        return _open_path(os.path.abspath(os.fspath(source)), number)
    if hasattr(source, "read") and not isinstance(source, mmap.mmap):
        source = _image_of_file(source)
        if isinstance(source, _remote.FileRanges):
            return _open_ranges(source, number)
    image = memoryview(source)
    if not image.c_contiguous or (not image.readonly and not isinstance(source, mmap.mmap)):
        source = image.tobytes()
    return _open_image(source, number)


def _open_path(path, threads):
    column = Column._open_file(path, threads)
    column._source = "file", path, threads
    return column


def _open_image(image, threads):
    column = Column._open_buffer(image, threads)
    column._source = "image", image, threads
    return column


def _open_ranges(ranges, threads):
    try:
        column = Column._open_source(ranges, ranges.size, ranges.requests, threads)
    except _fastpair.Error as error:
        error.add_note(f"while opening {ranges.name}")
        raise
    column._source = "ranges", ranges, threads
    return column


_OPENERS = {"file": _open_path, "image": _open_image, "ranges": _open_ranges}


def _image_of_file(file):
    """A file object's bytes from where it stands: mapped if it is a whole file, ranges of it if it can
    seek, else read."""
    try:
        if file.tell() == 0:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError, AttributeError):
        pass
    if getattr(file, "seekable", bool)():
        return _remote.FileRanges(file)
    image = file.read()
    if not isinstance(image, builtins.bytes):
        raise TypeError("the file must be open for reading bytes")
    return image
