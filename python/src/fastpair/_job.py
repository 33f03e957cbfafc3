"""A table that several workers write together: all of it appears under its path, or nothing does.

In: parts, written by workers in any order, some of them twice, some of them only half. Out: a table in parts.
Every attempt at a part has a folder of its own, inside a hidden folder beside the table. So attempts never
meet: one that dies leaves what nobody looks at, and one that runs again cannot harm what another has
written. The driver is told which attempts succeeded and renames only these. Renaming needs a file system
that all workers and the driver see; object stores have no such thing and are refused.
"""
import contextlib
import os
import shutil
import uuid
from typing import NamedTuple

from ._dataset import open_table
from ._fastpair import Error
from ._table_write import _install, _sync, write_part

MODES = ("error", "append", "overwrite")


class Written(NamedTuple):
    """What an attempt has written: enough for the driver to find it."""

    number: int
    folder: str
    rows: int


def is_remote(path):
    return "://" in path and not path.startswith("file://")


class Job:
    """One writing of a table. Pickled and sent to the workers; begin, commit and abort are for the driver.

    mode says what happens to a table that is there: "error" refuses, "append" adds parts after the last
    one, "overwrite" replaces it. options are those of fastpair.write_part.
    """

    def __init__(self, path, mode="error", **options):
        path = os.fspath(path)
        if is_remote(path):
            raise Error(f"{path}: tables are written to file systems, not to object stores; write locally and upload")
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}, not one of {', '.join(MODES)}")
        self.path = os.path.abspath(path.removeprefix("file://"))
        self.mode = mode
        self.options = options
        parent, name = os.path.split(self.path)
        self.hidden = os.path.join(parent, f".{name}.writing-{uuid.uuid4().hex[:12]}")

    def begin(self):
        """Refuses what could not be committed, before any work is done."""
        if self.mode == "error" and os.path.isdir(self.path) and os.listdir(self.path):
            raise FileExistsError(f"{self.path} is there already; give mode='append' or mode='overwrite'")
        if self.mode == "append":
            self._next_number()
        os.makedirs(self.hidden)
        return self

    def write(self, number, data):
        """Writes one part, in a worker. data: a pyarrow.RecordBatchReader, or what makes a table."""
        import pyarrow

        reader = data if isinstance(data, pyarrow.RecordBatchReader) else pyarrow.table(data).to_reader()
        counted = _Counted(reader)
        attempt = os.path.join(self.hidden, f"attempt-{number:05d}-{uuid.uuid4().hex[:12]}")
        os.mkdir(attempt)       # fails where the job was given up meanwhile
        write_part(attempt, counted.reader(), number, **self.options)
        return Written(number, attempt, counted.rows)

    def commit(self, written):
        """Makes the parts of these attempts the table, in the order of their numbers, then forgets the rest.

        Parts without a row are left out unless there is no other: one of them then keeps the columns.
        """
        chosen = {item.number: item for item in written}
        chosen = [chosen[number] for number in sorted(chosen)]
        chosen = [item for item in chosen if item.rows] or chosen[:1]
        if not chosen:
            raise Error(f"{self.path}: no part was written, so the columns of the table are not known")
        appending = self.mode == "append" and os.path.isdir(self.path) and os.listdir(self.path)
        first = self._next_number() if appending else 0
        ready = os.path.join(self.hidden, "ready")
        os.makedirs(ready)
        for number, item in enumerate(chosen, first):
            (part,) = (name for name in os.listdir(item.folder) if name[0] not in "._")
            os.rename(os.path.join(item.folder, part), os.path.join(ready, f"part-{number:05d}"))
        made = open_table(ready)     # of one schema, or this refuses
        if appending:
            self._append(ready, made)
        elif self.mode == "overwrite":
            _install(ready, self.path)
        else:
            os.rename(ready, self.path)     # refused unless nothing or an empty folder is there
        _sync(os.path.dirname(self.path))
        self._forget()

    def _append(self, ready, made):
        there = open_table(self.path)
        if made.schema != there.schema:
            raise Error(f"{self.path} has the columns {there.schema}, what is appended has {made.schema}")
        for name in sorted(os.listdir(ready)):
            os.rename(os.path.join(ready, name), os.path.join(self.path, name))

    def _next_number(self):
        """The number after the table's last part."""
        if not os.path.isdir(self.path):
            return 0
        names = [name for name in os.listdir(self.path) if name[0] not in "._"]
        numbers = [name.removeprefix("part-") for name in names]
        if not all(number.isdigit() for number in numbers):
            raise Error(f"{self.path}: parts are appended to a table of folders part-00000, part-00001 and so on; "
                        f"this one has {sorted(names)[0]}")
        return max(map(int, numbers), default=-1) + 1

    def abort(self):
        """Forgets everything that was written. Never fails."""
        self._forget()

    def _forget(self):
        # Attempts may still be under way: under another name they make no more files.
        gone = self.hidden + ".gone"
        with contextlib.suppress(OSError):
            os.rename(self.hidden, gone)
        shutil.rmtree(gone, ignore_errors=True)


class _Counted:
    """Counts the rows of batches that pass."""

    def __init__(self, reader):
        self.source = reader
        self.rows = 0

    def _batches(self):
        for batch in self.source:
            self.rows += batch.num_rows
            yield batch

    def reader(self):
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(self.source.schema, self._batches())
