"""Writing tables: one pass over an Arrow stream of structs feeds a writer per column."""
import contextlib
import os
import secrets
import shutil

from . import _fastpair, _files
from ._write import _options

_TEXT = ("u", "U", "vu", "n")
_BYTES = ("z", "Z", "vz")
# Rows between two looks at a part's size.
_STEP_ROWS = 1 << 14
# Rows of a row group of other columns, about as many as a unit has; fewer if they are large.
_GROUP_ROWS = 1 << 16
_GROUP_BYTES = 64 << 20


class _Source:
    """An Arrow stream of structs: its columns of strings, its other columns, and its batches."""

    def __init__(self, data):
        if hasattr(data, "__arrow_c_stream__"):
            stream = _fastpair.Stream(data.__arrow_c_stream__())
        elif hasattr(data, "__arrow_c_array__"):
            stream = _fastpair.Stream(data.__arrow_c_array__())
        else:
            raise TypeError("a table is made of what speaks Arrow: a pyarrow.Table, a Polars or pandas frame or "
                            f"a DuckDB relation, not of a {type(data).__name__}")
        self.strings, self.others, self.positions = {}, [], {}
        for position, (name, format_, values) in enumerate(stream.fields()):
            if name in self.positions:
                raise _files.fault(f"two columns are called {name!r}")
            self.positions[name] = position
            kind = values or format_
            if kind in _TEXT or kind in _BYTES:
                self.strings[name] = "text" if kind in _TEXT else "bytes"
            else:
                self.others.append(name)
        if not self.positions:
            raise _files.fault("a table has at least one column")
        self._stream = stream
        if self.others:
            try:
                import pyarrow as pa
            except ImportError:
                raise ImportError(f"column {self.others[0]!r} is not of strings, so that it is written to "
                                  f"{_files.REST}; that needs pyarrow") from None
            self._reader = pa.RecordBatchReader.from_stream(stream)
            self.rest_schema = self._schema(self._reader.schema, pa)

    def _schema(self, schema, pa):
        fields = []
        for name in self.others:
            field = schema.field(name)
            metadata = {**(field.metadata or {}), _files.POSITION: str(self.positions[name])}
            fields.append(field.with_metadata(metadata))
        return pa.schema(fields)

    def batches(self):
        """(batch for writers, pyarrow.RecordBatch of the other columns or None), one at a time."""
        if not self.others:
            while (batch := self._stream.next()) is not None:
                yield batch, None
            return
        for record in self._reader:
            rest = record.select(self.others).cast(self.rest_schema)
            yield _fastpair.Stream(record.__arrow_c_array__()).next(), rest


class _PartWriter:
    """The files of one part, in a folder that exists."""

    def __init__(self, folder, source, options):
        self.folder, self.source, self.rows, self.size = folder, source, 0, 0
        self.files, self.writers, self.parquet = [], {}, None
        self.waiting, self.waiting_rows, self.waiting_bytes = [], 0, 0
        try:
            for name, kind in source.strings.items():
                file = self._open(_files.file_name(name))
                pairs = [*options["pairs"], (_files.POSITION.encode(), str(source.positions[name]).encode())]
                own = {**options, "name": name or None, "type": 1 if kind == "text" else 0, "pairs": pairs}
                self.writers[name] = _fastpair.Writer(file.fileno(), **own)
            if source.others:
                import pyarrow.parquet

                self.parquet = pyarrow.parquet.ParquetWriter(self._open(_files.REST), source.rest_schema,
                                                             compression="zstd", write_page_checksum=True)
        except BaseException:
            self.close()
            raise

    def _open(self, name):
        file = open(os.path.join(self.folder, name), "xb", buffering=0)
        self.files.append(file)
        return file

    def append(self, batch, rest, first, count):
        for name, writer in self.writers.items():
            try:
                writer.append(batch, name, first, count)
            except _fastpair.Error as error:
                row = "" if error.position is None else f", row {self.rows + error.position} of the part"
                raise _files.fault(f"column {name!r}{row}: {error.message}", error.status, error.position) from error
        if rest is not None:
            self._append_rest(rest.slice(first, count))
        self.rows += count

    def _append_rest(self, batch):
        """Batches may have a few rows each, so that some are taken together for a row group."""
        while len(batch):
            piece = batch.slice(0, _GROUP_ROWS - self.waiting_rows)
            batch = batch.slice(len(piece))
            self.waiting.append(piece)
            self.waiting_rows += len(piece)
            self.waiting_bytes += piece.nbytes
            if self.waiting_rows >= _GROUP_ROWS or self.waiting_bytes >= _GROUP_BYTES:
                self._write_group()

    def _write_group(self):
        import pyarrow

        if self.waiting:
            self.parquet.write_table(pyarrow.Table.from_batches(self.waiting), row_group_size=_GROUP_ROWS)
        self.waiting, self.waiting_rows, self.waiting_bytes = [], 0, 0

    def finish(self):
        for writer in self.writers.values():
            writer.finish()
        if self.parquet:
            self._write_group()
            self.parquet.close()
        for file in self.files:
            os.fsync(file.fileno())
        self.close()
        _sync(self.folder)

    def close(self):
        if self.parquet and self.parquet.is_open:
            with contextlib.suppress(Exception):  # the file is given up
                self.parquet.close()
        for file in self.files:
            file.close()


def _sync(folder):
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _replacement(path):
    """A hidden folder beside `path` that takes its place when all went well, else is removed."""
    # A link stays a link: what it points to is replaced.
    path = os.path.realpath(path)
    parent, name = os.path.split(path)
    os.makedirs(parent, exist_ok=True)
    hidden = os.path.join(parent, f".{name[:200]}.{secrets.token_hex(4)}.tmp")
    os.mkdir(hidden)
    try:
        yield hidden
        _install(hidden, path)
        _sync(parent)
    finally:
        # What is there now is a failed attempt, or what was replaced.
        shutil.rmtree(hidden, ignore_errors=True)


def _install(hidden, path):
    """`hidden` becomes `path`. If there was a folder, it becomes `hidden`, at once where the system can."""
    if not os.path.lexists(path):
        os.rename(hidden, path)
    elif not _fastpair.exchange(hidden, path):
        old = hidden[:-len(".tmp")] + ".old"
        os.rename(path, old)
        try:
            os.rename(hidden, path)
        except BaseException:
            os.rename(old, path)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _pieces(source, part_rows, part_bytes, writer):
    """Feeds the stream to writer(), a _PartWriter that may be a new one each time."""
    for batch, rest in source.batches():
        first = 0
        while first < len(batch):
            part = writer()
            count = len(batch) - first
            if part_rows:
                count = min(count, part_rows - part.rows)
            if part_bytes:
                count = min(count, _STEP_ROWS)
                part.size += batch.size(first, count)
            part.append(batch, rest, first, count)
            first += count


def _check_target(path, overwrite):
    """Raises unless a table may be written here. Only what looks like a table is ever replaced."""
    if not os.path.lexists(path):
        return
    if not os.path.isdir(path):
        raise NotADirectoryError(20, os.strerror(20), path)
    files, rest, folders = _files.LOCAL.folder(path)
    names = {os.path.basename(one) for one in [*files, *folders, *([rest] if rest else [])]}
    if any(name not in names and not _files.is_hidden(name) for name in os.listdir(path)):
        raise FileExistsError(17, "this folder holds more than a table", path)
    if any(_files.LOCAL.folder(folder)[0] == [] and _files.LOCAL.folder(folder)[1] is None for folder in folders):
        raise FileExistsError(17, "this folder holds folders that are no parts of a table", path)
    if names and not overwrite:
        raise FileExistsError(17, "there is a table already; overwrite=True replaces it", path)


def _local(path):
    store, path = _files.store_of(os.fspath(path))
    if store is not _files.LOCAL:
        raise ValueError(f"{path}: tables are written to folders of this machine, as no place that fsspec knows shows "
                         "several files at once; copy the folder when it is complete, with fsspec's put(), or write a "
                         "table of one column as files NAME-00000.fpc, NAME-00001.fpc ..., with fastpair.write()")
    return path


def _numbers(part_rows, part_bytes):
    for what, value in (("part_rows", part_rows), ("part_bytes", part_bytes)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"{what} is a number from 1 on, or None")


def write_table(path, data, *, part_rows=None, part_bytes=None, overwrite=False, codec="auto", level=0, goal="balanced",
                threads=None, chunk_bytes=0, cold=False, metadata=None):
    """Writes a table: a folder with a .fpc file per column of strings and one Parquet file for all others.

    path     the folder. It appears when the whole table is complete; after a failure it is as it was. A
             table that is there already is replaced only with overwrite=True, and other folders never.
    data     anything that gives an Arrow stream of structs: a pyarrow Table or RecordBatchReader, a Polars or
             pandas frame, a DuckDB relation, a fastpair Table or Dataset. It is read once, batch by batch.
    part_rows, part_bytes   a new part, which is a folder part-00000, part-00001 ..., begins after so many
             rows, or bytes of strings. None and None: the table is in one part, the folder itself.
    metadata a dict of str to str or bytes, kept with every column of strings.

    The other arguments are those of write(). Columns that are not of strings need pyarrow. Memory is
    that of one streaming writer per column of strings, however long the stream: some hundred MiB each.
    """
    path = _local(path)
    _numbers(part_rows, part_bytes)
    options = _options(codec, level, goal, threads, chunk_bytes, cold, None, "text", metadata) | {"progress": None}
    _check_target(path, overwrite)
    source = _Source(data)
    with _replacement(path) as hidden, contextlib.ExitStack() as stack:
        in_parts = part_rows or part_bytes
        number, current = 0, None

        def writer():
            nonlocal number, current
            full = current and (part_rows and current.rows >= part_rows or part_bytes and current.size >= part_bytes)
            if full:
                current.finish()
            if full or not current:
                folder = os.path.join(hidden, f"part-{number:05d}") if in_parts else hidden
                number += 1
                if in_parts:
                    os.mkdir(folder)
                current = _PartWriter(folder, source, options)
                stack.callback(current.close)
            return current
        _pieces(source, part_rows, part_bytes, writer)
        (current or writer()).finish()
        _sync(hidden)


def write_part(path, data, number, *, codec="auto", level=0, goal="balanced", threads=None, chunk_bytes=0, cold=False,
               metadata=None):
    """Writes part `number` of a table in parts, and nothing else of it; returns the part's path.

    The part, the folder part-NNNNN in `path`, appears when it is complete, in the place of one that was
    there. Processes may write different parts of a table at once, and a task that failed may be run again.
    Arguments are those of write_table().
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError("a part's number is from 0 on")
    options = _options(codec, level, goal, threads, chunk_bytes, cold, None, "text", metadata) | {"progress": None}
    path = _local(path)
    part = os.path.join(path, f"part-{number:05d}")
    if os.path.isdir(path) and any(_files.LOCAL.folder(path)[:2]):
        raise FileExistsError(17, "this table is in one part; write_table(overwrite=True) replaces it", path)
    source = _Source(data)
    with _replacement(part) as hidden, contextlib.closing(_PartWriter(hidden, source, options)) as writer:
        _pieces(source, None, None, lambda: writer)
        writer.finish()
    return part
