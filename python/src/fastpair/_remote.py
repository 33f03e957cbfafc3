"""Files that are read in ranges: seekable file objects, and whatever fsspec knows.

Objects here are called with an offset and a size, by any thread, and give so many bytes. fsspec is imported
only for what is its own.
"""
import threading
import time

# What opening reads of the end of a file. A server that tells the size with it saves a request.
_TAIL = 36 << 10

# Reads that are under way at once.
_REQUESTS = 4

# Answers of a server that another try does not change.
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, NotImplementedError)


def is_url(text):
    """Whether fsspec is to be asked."""
    return "://" in text


class FileRanges:
    """A file object that can seek, from where it stands."""

    requests = 1

    def __init__(self, file):
        if not isinstance(file.read(0), (bytes, bytearray, memoryview)):
            raise TypeError("the file must be open for reading bytes")
        self._file = file
        self._lock = threading.Lock()
        self._first = file.tell()
        self.size = max(file.seek(0, 2) - self._first, 0)
        self.name = str(getattr(file, "name", None) or repr(file))

    def __call__(self, offset, size):
        parts = []
        left = size
        with self._lock:
            self._file.seek(self._first + offset)
            while left:
                part = self._file.read(left)
                if not part:
                    break
                if len(part) > left:
                    raise OSError(f"{self.name}: read({left}) gave {len(part)} bytes")
                left -= len(part)
                parts.append(part)
        if left:
            raise OSError(f"{self.name}: of bytes {offset} .. {offset + size} {size - left} came")
        return parts[0] if len(parts) == 1 else b"".join(parts)


class FileSystemRanges:
    """A file of an fsspec file system. Pickles if the file system does."""

    requests = _REQUESTS

    def __init__(self, fs, path, retries, timeout):
        self._fs = fs
        self._path = path
        self._retries = int(retries)
        self._timeout = float(timeout)
        self._end = None  # (offset, bytes) of the file's end, if it came with the size
        self.name = fs.unstrip_protocol(path)
        self.size = self._find_size()

    def __reduce__(self):
        return FileSystemRanges, (self._fs, self._path, self._retries, self._timeout)

    def __call__(self, offset, size):
        end = self._end
        if end and offset >= end[0]:
            self._end = None  # it is asked for once
            return end[1][offset - end[0]:offset - end[0] + size]
        return self._try(lambda left: self._read(offset, size, left), f"bytes {offset} .. {offset + size}")

    def _try(self, action, what):
        """Runs an action until it goes well, as often and as long as the caller allows."""
        started = time.monotonic()
        for attempt in range(self._retries + 1):
            left = started + self._timeout - time.monotonic()
            try:
                return action(max(left, 0.001))
            except _FINAL as error:
                error.add_note(f"while reading {what} of {self.name}")
                raise
            except Exception as error:
                failure = error
            left = started + self._timeout - time.monotonic()
            if left <= 0 or not _may_pass(failure):
                break
            if attempt < self._retries:
                time.sleep(min(0.05 * 4 ** attempt, left))
        took = time.monotonic() - started
        reason = str(failure) or type(failure).__name__
        raise OSError(f"{self.name}: {what} cannot be read ({attempt + 1} tries, {took:.1f} s): {reason}") from failure

    def _read(self, offset, size, left):
        data = self._call(left, "cat_file", self._path, start=offset, end=offset + size)
        if len(data) != size:
            raise OSError(f"{len(data)} bytes came" + (": the server gives no ranges" if len(data) > size else ""))
        return data

    def _call(self, left, name, *arguments, **keywords):
        """A method of the file system; one that can wait gets the seconds that are left."""
        if not getattr(self._fs, "async_impl", False):
            return getattr(self._fs, name)(*arguments, **keywords)
        return self._wait(getattr(self._fs, "_" + name)(*arguments, **keywords), left)

    def _wait(self, work, left):
        import asyncio

        future = asyncio.run_coroutine_threadsafe(work, self._fs.loop)
        try:
            return future.result(left)
        except TimeoutError:
            if future.done():
                raise
            raise TimeoutError(f"no answer within {left:.1f} s") from None
        finally:
            future.cancel()

    def _find_size(self):
        protocols = self._fs.protocol if isinstance(self._fs.protocol, (tuple, list)) else (self._fs.protocol,)
        if "http" in protocols:
            size = self._try(lambda left: self._wait(self._read_end(), left), "the end")
            if size is not None:
                return size
        size = self._try(lambda left: self._call(left, "info", self._path)["size"], "the size")
        if size is None:
            raise OSError(f"{self.name}: its size is not known")
        return size

    async def _read_end(self):
        """The size of a file behind HTTP, which comes with its last bytes; None if it does not."""
        session = await self._fs.set_session()
        options = dict(self._fs.kwargs)
        options["headers"] = {**options.get("headers", {}), "Range": f"bytes=-{_TAIL}"}
        async with session.get(self._fs.encode_url(self._path), **options) as answer:
            if answer.status == 404:
                raise FileNotFoundError(self._path)
            answer.raise_for_status()
            unit, _, place = answer.headers.get("Content-Range", "").partition(" ")
            span, _, size = place.partition("/")
            first = span.partition("-")[0]
            if answer.status != 206 or unit != "bytes" or not size.isdigit() or not first.isdigit():
                return None
            data = await answer.read()
        if int(first) + len(data) != int(size):
            raise OSError(f"of bytes {first} .. {size} {len(data)} came")
        self._end = int(first), data
        return int(size)


def _may_pass(error):
    """Whether an error may go away: of a server's answers those that are its own fault, or about time."""
    status = getattr(error, "status", None)
    return not isinstance(status, int) or status >= 500 or status in (408, 425, 429)


def _import_fsspec(what):
    try:
        import fsspec
    except ImportError as error:
        raise ImportError(f"{what} is read with fsspec: pip install fsspec, and what it needs for this kind "
                          "(aiohttp for http, s3fs for s3)") from error
    return fsspec


def _open(fs, path, retries, timeout):
    """A local path, which is mapped; or ranges."""
    if "file" in (fs.protocol if isinstance(fs.protocol, (tuple, list)) else (fs.protocol,)):
        return path
    return FileSystemRanges(fs, path, retries, timeout)


def open_url(url, storage_options, retries, timeout):
    """What a URL stands for."""
    fs, path = _import_fsspec(url).core.url_to_fs(url, **storage_options)
    return _open(fs, path, retries, timeout)


def open_file(file, retries, timeout):
    """What an OpenFile, an open file or a path of fsspec's stands for."""
    if getattr(file, "compression", None):
        raise ValueError(f"{file.path}: a compressed file cannot be read in ranges; decompress it first")
    return _open(file.fs, file.path, retries, timeout)
