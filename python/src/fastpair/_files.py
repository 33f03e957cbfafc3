"""Folders and files of tables: which there are, and the columns in them."""
import contextlib
import functools
import glob as _glob
import os
import re
import stat

from . import _column
from ._fastpair import Error

REST = "rest.parquet"
SUFFIX = ".fpc"
# Where a column stands among those of its table, as a pair of the column's metadata.
POSITION = "fastpair:position"


def fault(message, status="INVALID_ARGUMENT", position=None):
    """An Error of the package's own."""
    error = Error(message)
    error.status, error.position, error.message = status, position, message
    return error


@contextlib.contextmanager
def about(path, part=None):
    """Errors that come out of here name the file, the place in it, and what can be done about it."""
    try:
        yield
    except Error as error:
        message = error.message or str(error)
        if not message.startswith(path):
            message = f"{path}: {message}"
        if error.status == "CORRUPT":
            if error.position is not None and not re.search(rf"\b{error.position}\b", message):
                message += f" (position {error.position})"
            message += ", or " if "restore it" in message else "; restore it from a copy, or "
            message += "write the part again" if part else "write it again"
        raise fault(message, error.status, error.position) from error


@contextlib.contextmanager
def about_parquet(path):
    """The same for what pyarrow says of a Parquet file."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise fault(f"{path}: {error}; restore it from a copy, or write the part again", "CORRUPT") from error


def is_hidden(name):
    return name.startswith((".", "_"))


def base(path):
    return path.rstrip("/").rpartition("/")[2]


def store_of(path, storage_options=None):
    """Where a path is, and the path there: files of this machine, or a URL that fsspec knows."""
    # Units may be read by a process that works in another folder.
    if "://" not in path:
        return LOCAL, os.path.abspath(path)
    if path.startswith("file://"):
        return LOCAL, os.path.abspath(path[len("file://"):])
    return Remote(storage_options or {}), path


class Local:
    """Files of this machine, which are mapped."""

    options = None
    # How many files are opened at once when a table is.
    openers = 1

    def is_pattern(self, path):
        return any(mark in path for mark in "*?[") and not os.path.exists(path)

    def expand(self, pattern):
        """What a glob finds, in the order of names, hidden ones left out."""
        return [path for path in sorted(_glob.glob(pattern)) if not is_hidden(base(path))]

    def is_folder(self, path):
        return os.path.isdir(path)

    def folder(self, path):
        """Columns' files, the file of other columns or None, and sub-folders, all as paths in order."""
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if not is_hidden(entry.name))
        found = []
        for name in names:
            full = os.path.join(path, name)
            mode = os.stat(full).st_mode  # a link that leads nowhere, or in circles, is an OSError
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and is_ours(name):
                raise fault(f"{full}: not a regular file")
            found.append((full, stat.S_ISDIR(mode)))
        return _sorted_out(found)

    def open_column(self, path, stamp=""):
        """A column, from some that stay open: units of one file come one after another."""
        about_file = os.stat(path)
        if not stat.S_ISREG(about_file.st_mode):
            raise fault(f"{path}: not a regular file")
        return _cached(path, about_file.st_ino, about_file.st_size, about_file.st_mtime_ns)

    def open_parquet(self, path):
        return _open_parquet(path, lambda: path)

    def stamp(self, paths):
        """What tells files from later ones of the same names; files of this machine are asked each time."""
        return ""


class Remote:
    """Files that fsspec reads, by ranges. Listings are asked for once; files are known by URLs."""

    openers = 8

    def __init__(self, options):
        self.options = options
        self._stamps = {}

    def _fs(self, url):
        try:
            import fsspec
        except ImportError:
            raise ImportError(f"{url} is read with fsspec, and what it needs for this kind of URL") from None
        return fsspec.core.url_to_fs(url, **self.options)

    def is_pattern(self, url):
        return "*" in url or "[" in url

    def expand(self, pattern):
        fs, path = self._fs(pattern)
        fs.invalidate_cache()
        found = fs.glob(path, detail=True)
        return sorted(self._url(fs, entry) for name, entry in found.items() if not is_hidden(base(name)))

    def is_folder(self, url):
        # Asking costs a request, and the whole file where a server has no folders.
        if url in self._stamps or url.endswith(SUFFIX):
            return False
        fs, path = self._fs(url)
        return fs.isdir(path)

    def folder(self, url):
        fs, path = self._fs(url)
        fs.invalidate_cache(path)
        entries = fs.ls(path, detail=True)
        found = [(self._url(fs, entry), entry["type"] == "directory") for entry in entries
                 if entry["name"].strip("/") != path.strip("/") and not is_hidden(base(entry["name"]))]
        return _sorted_out(sorted(found))

    def _url(self, fs, entry):
        url = fs.unstrip_protocol(entry["name"])
        if entry["type"] != "directory":
            marks = ("size", "ETag", "etag", "LastModified", "last_modified", "mtime", "updated", "created")
            self._stamps[url] = " ".join(str(entry[mark]) for mark in marks if mark in entry)
        return url

    def open_column(self, url, stamp=""):
        key = tuple(sorted((name, repr(value)) for name, value in self.options.items()))
        return _cached_remote(url, stamp or self._stamps.get(url, ""), key, _Options(self.options))

    def open_parquet(self, url):
        fs, path = self._fs(url)
        return _open_parquet(url, lambda: fs.open(path, "rb"))

    def stamp(self, urls):
        import hashlib

        text = "\n".join(self._stamps.get(url, "") for url in urls)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


LOCAL = Local()


class _Options:
    """Options of fsspec beside a key that stands for them: all of these are equal."""

    def __init__(self, options):
        self.options = options

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


@functools.lru_cache(maxsize=128)
def _cached(path, *identity):
    # One thread: whoever reads units has a thread for each.
    return _column.open(path, threads=1)


@functools.lru_cache(maxsize=128)
def _cached_remote(url, stamp, key, options):
    return _column.open(url, threads=1, storage_options=options.options)


def is_ours(name):
    return name.endswith(SUFFIX) or name == REST


def _sorted_out(found):
    """Columns' files, the file of other columns or None, sub-folders."""
    files = [path for path, is_folder in found if not is_folder and base(path).endswith(SUFFIX)]
    rest = next((path for path, is_folder in found if not is_folder and base(path) == REST), None)
    return files, rest, [path for path, is_folder in found if is_folder]


def _open_parquet(path, source):
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f"{path} holds columns that are no strings; reading them needs pyarrow") from None
    with about_parquet(path):
        return pyarrow.parquet.ParquetFile(source(), page_checksum_verification=True)


# ------------------------------------------------------------ names

def file_name(column):
    """A file name for any column name; what the file says of itself is the truth."""
    if not column:
        return "%" + SUFFIX
    safe = re.sub(r"[%/\\\x00-\x1f\x7f]", lambda found: f"%{ord(found[0]):02X}", column)
    if is_hidden(safe):
        safe = f"%{ord(safe[0]):02X}" + safe[1:]
    encoded = safe.encode("utf-8", "surrogatepass")
    if len(encoded) > 200:
        import hashlib

        digest = hashlib.sha256(column.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        safe = encoded[:160].decode("utf-8", "ignore").rstrip("%") + "%" + digest
    return safe + SUFFIX


def column_name(column, path):
    """The recorded name, else the file's."""
    if column.name:
        return column.name
    stem = base(path).removesuffix(SUFFIX)
    return "" if stem == "%" else stem


def numbered(paths):
    """NAME if the files are called NAME-0, NAME-1 and so on, else None."""
    found = [re.fullmatch(r"(.+?)[-_.]\d+", base(path).removesuffix(SUFFIX)) for path in paths]
    names = {match[1] if match else None for match in found}
    return names.pop() if len(names) == 1 else None
