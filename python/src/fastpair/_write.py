"""Compressing: from whatever holds strings, to a file, a file object or bytes."""
import os
import re
import secrets
import stat
import sys

from . import _fastpair, _threads, _upload

_GOALS = {"balanced": 0, "ratio": 1, "speed": 2}
_TYPES = {"auto": -1, "bytes": 0, "text": 1, "detect": 2}
# NumPy rows that are turned into Python objects at once.
_SLICE_ROWS = 1 << 16


def _codec(name):
    """The library's codec, code bits and longest token of a name; names are those of the command."""
    fixed = {"auto": (0, 0, 0), "onpair": (1, 16, 16), "fsst12": (2, 12, 8), "stored": (3, 0, 0)}
    if name in fixed:
        return fixed[name]
    match = re.fullmatch(r"onpair:?(\d+)(?::(\d+))?", name)
    if not match or not 9 <= int(match[1]) <= 16 or int(match[2] or 16) not in (8, 16, 32, 64):
        raise ValueError("codec is auto, onpair12, onpair16, fsst12, stored, or onpair:BITS[:8|16|32|64] with "
                         f"BITS from 9 to 16, not {name!r}")
    return 1, int(match[1]), int(match[2] or 16)


def _choose(what, table, value):
    if value not in table:
        raise ValueError(f"{what} is one of {', '.join(table)}, not {value!r}")
    return table[value]


def _pairs(metadata):
    pairs = []
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, (str, bytes)):
            raise TypeError("metadata is a dict of str to str or bytes")
        pairs.append((key.encode(), value.encode() if isinstance(value, str) else value))
    return pairs


def _progress(progress):
    """A callable of (done, total) and what to call at the end."""
    if not progress:
        return None, lambda: None
    if callable(progress):
        return progress, lambda: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        def show(done, total):
            print(f"\r{done / 1e6:,.0f} MB", end="", file=sys.stderr, flush=True)
        return show, lambda: print(file=sys.stderr)
    bar = tqdm(unit="B", unit_scale=True)

    def update(done, total):
        bar.total = total or None
        bar.update(done - bar.n)
    return update, bar.close


def _numpy_rows(array):
    if array.ndim != 1:
        raise ValueError(f"a column has one dimension, not {array.ndim}")
    for first in range(0, len(array), _SLICE_ROWS):
        yield from array[first:first + _SLICE_ROWS].tolist()


def _run(data, target, column, options):
    capsule = None
    if hasattr(data, "__arrow_c_stream__"):
        capsule = data.__arrow_c_stream__()
    elif hasattr(data, "__arrow_c_array__"):
        capsule = data.__arrow_c_array__()
    if capsule is not None:
        return _fastpair.write_arrow(capsule, column, target, **options)
    if column is not None:
        raise TypeError("column= is for tables that speak Arrow")
    if isinstance(data, (str, bytes, bytearray, memoryview, dict)) or not hasattr(data, "__iter__"):
        raise TypeError(f"a column is made of many rows, not of a {type(data).__name__}")
    rows = _numpy_rows(data) if hasattr(data, "ndim") and hasattr(data, "tolist") else data
    return _fastpair.write_rows(rows, target, **options)


def _write(target, data, column, progress, options):
    options["progress"], done = _progress(progress)
    try:
        return _run(data, target, column, options)
    finally:
        done()


def _options(codec, level, goal, threads, chunk_bytes, cold, name, type, metadata):
    number, code_bits, max_token = _codec(codec)
    if not 0 <= level <= 9:
        raise ValueError("level is from 1 to 9, or 0 for the default")
    if name is not None and "\0" in name:
        raise ValueError("a name has no NUL")
    return {
        "codec": number, "code_bits": code_bits, "max_token": max_token, "goal": _choose("goal", _GOALS, goal),
        "level": level, "cold": cold, "chunk_bytes": chunk_bytes, "threads": _threads.count(threads),
        "type": _choose("type", _TYPES, type), "name": name, "pairs": _pairs(metadata),
    }


class _Replacement:
    """A file under a name of its own that takes another one's place once it is complete."""

    def __init__(self, path):
        # A link stays a link: what it points to is replaced.
        self.path = os.path.realpath(path)
        self.temporary = None
        try:
            before = os.stat(self.path)
        except FileNotFoundError:
            before = None
        if before and stat.S_ISDIR(before.st_mode):
            raise IsADirectoryError(21, os.strerror(21), path)
        if before and not stat.S_ISREG(before.st_mode):
            self.descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)  # a pipe, a device
            return
        folder, name = os.path.split(self.path)
        self.temporary = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(4)}.tmp")
        try:
            self.descriptor = os.open(self.temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        if before:
            os.fchmod(self.descriptor, stat.S_IMODE(before.st_mode))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        os.close(self.descriptor)
        if not self.temporary:
            return
        if kind is None:
            os.replace(self.temporary, self.path)
        else:
            os.unlink(self.temporary)
            if isinstance(error, OSError) and error.errno and error.filename is None:
                error.filename = self.path


def _deliver(target, call, storage_options):
    """Calls call(descriptor or file object) so that no path ever holds half a column."""
    if hasattr(target, "write"):
        call(target)
    elif _upload.is_url(target):
        with _upload.upload(target, storage_options) as descriptor:
            call(descriptor)
    elif isinstance(target, str) and target.startswith("file://"):
        _deliver(target[len("file://"):], call, None)
    elif isinstance(target, (str, bytes, os.PathLike)):
        with _Replacement(os.fsdecode(target)) as file:
            call(file.descriptor)
    else:
        raise TypeError(f"a column is written to a path or a file object, not to a {type(target).__name__}")


def write(target, data, *, codec="auto", level=0, goal="balanced", threads=None, chunk_bytes=0, cold=False,
          name=None, type="auto", metadata=None, column=None, progress=None, storage_options=None):
    """Compresses a column into a file.

    target   a path or a file object that takes bytes, or a URL that fsspec knows ("s3://bucket/x.fpc"). A
             path or URL gets its new contents at once, when they are complete; after a failure it is as it
             was. What goes to a URL is a temporary file of this machine first.
    data     anything that speaks Arrow (pyarrow, Polars, DuckDB, pandas, another Column), a NumPy array
             of strings, or an iterable of str, bytes and None.
    codec    auto, onpair12, onpair16, fsst12, stored, or onpair:BITS[:8|16|32|64].
    level    1 (fastest) to 9 (smallest); 0: the default.
    goal     what auto looks for: balanced, ratio or speed.
    threads  None: one per CPU. The file does not depend on it.
    chunk_bytes  decoded bytes of a chunk; 0: 8 MiB.
    cold     True: smaller at rest, slower to read.
    name     of the column; None: what Arrow says.
    type     text: rows that are not UTF-8 are an Error. bytes: nothing is checked. detect: text if all
             rows are UTF-8, else bytes. auto: as the data are, Arrow strings and str being text.
    metadata a dict of str to str or bytes, kept with the column.
    column   which one of a table.
    progress True: a bar on standard error, with tqdm if it is installed. Or a callable of (done, total)
             in bytes, total 0 while it is unknown; what it raises ends the work.
    storage_options   a dict for fsspec's file system, where the target is a URL.
    """
    options = _options(codec, level, goal, threads, chunk_bytes, cold, name, type, metadata)
    _deliver(target, lambda sink: _write(sink, data, column, progress, options), storage_options)


def compress(data, *, codec="auto", level=0, goal="balanced", threads=None, chunk_bytes=0, cold=False, name=None,
             type="auto", metadata=None, column=None, progress=None):
    """Compresses a column into bytes, which fastpair.open() takes. Arguments are those of write()."""
    options = _options(codec, level, goal, threads, chunk_bytes, cold, name, type, metadata)
    return _write(None, data, column, progress, options)


def convert(target, source, *, cold, level=0, progress=None, storage_options=None):
    """Writes an open Column to a path, URL or file object, cold or warm, without compressing it anew."""
    def run(sink):
        show, done = _progress(progress)
        try:
            _fastpair.convert(source, sink, cold, level, show)
        finally:
            done()
    _deliver(target, run, storage_options)
