"""Columns to places that fsspec knows: object stores, other machines, memory."""
import contextlib
import os
import secrets
import tempfile

# Here an object that is put has its new contents all at once, and there is no rename.
OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss"}


def is_url(target):
    return isinstance(target, str) and "://" in target and not target.startswith("file://")


@contextlib.contextmanager
def upload(url, storage_options=None):
    """A descriptor of a local file, which is uploaded if all went well. Until then nothing is at the URL, or
    what was there before."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{url} is written with fsspec, and what it needs for this kind of URL") from None
    fs, path = fsspec.core.url_to_fs(url, **(storage_options or {}))
    with tempfile.NamedTemporaryFile(prefix="fastpair-", suffix=".fpc") as file:
        yield file.fileno()
        file.flush()
        _put(fs, file.name, path)
    fs.invalidate_cache()


def _put(fs, local, path):
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    if protocols & OBJECT_STORES:
        fs.put_file(local, path)
        return
    # Elsewhere a file may be seen while it grows, so it gets its name afterwards.
    folder, name = os.path.split(path)
    hidden = f"{folder}/.{name[:200]}.{secrets.token_hex(4)}.tmp"
    try:
        fs.put_file(local, hidden)
        fs.mv(hidden, path)
    except BaseException:
        with contextlib.suppress(Exception):    # what went wrong first is what counts
            fs.rm_file(hidden)
        raise
