"""What the modules of engines share: which columns are searched on codes, and units put together
to tasks."""
import os


def everywhere(path):
    """A path that means the same to workers, which have working folders of their own."""
    if isinstance(path, (list, tuple)):
        return [everywhere(one) for one in path]
    path = os.fspath(path)
    return path if "://" in path else os.path.abspath(path)


def decoded_bytes(table):
    """How many bytes the strings of a Dataset have; other columns are not counted."""
    return sum(sum(part._bytes.values()) for part in table.parts)


def is_string(kind):
    """Whether a column of this Arrow type is a .fpc file, so that tests run on its codes."""
    import pyarrow.types as types

    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view))


def groups(table, rows=None):
    """The units of a table in order, put together to tasks of about so many rows; without a number, a task each.

    A unit lies in one part. Tables of many small parts would have many small tasks.
    """
    units = table.units(rows)
    total = len(table)
    if rows is None or total == 0:
        return [[unit] for unit in units]
    count = -(-total // max(1, rows))
    found, before = {}, 0
    for unit in units:
        found.setdefault((2 * before + unit.rows) * count // (2 * total), []).append(unit)
        before += unit.rows
    return list(found.values())
