"""Tables: columns side by side, in the one shape that SQL engines take."""
from . import _fastpair, _show
from ._column import Column, open


class Table:
    """Columns of the same number of rows. Made by fastpair.table().

    A table is an Arrow stream of structs, so that pyarrow.table(t), polars.DataFrame(t) and
    duckdb.sql("from t") take it. Each consumer gets a stream of its own, decoded batch by batch.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns):
        self._columns = dict(columns)
        rows = {len(column) for column in self._columns.values()}
        if not self._columns:
            raise ValueError("a table has at least one column")
        if len(rows) > 1:
            counts = ", ".join(f"{name} {len(column)}" for name, column in self._columns.items())
            raise ValueError(f"columns of a table have the same number of rows: {counts}")

    @property
    def columns(self):
        """The columns by name."""
        return dict(self._columns)

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, key):
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice) and key.step in (None, 1):
            return Table({name: column[key] for name, column in self._columns.items()})
        raise TypeError("a table is indexed by a column's name or a slice of rows")

    def __arrow_c_stream__(self, requested_schema=None):
        """A stream of structs; what a consumer requests is left to its own conversion."""
        return _fastpair.table_stream(list(self._columns.items()))

    def __arrow_c_schema__(self):
        return _fastpair.table_schema(list(self._columns.items()))

    def __repr__(self):
        names = ", ".join(f"{name} ({column.type})" for name, column in self._columns.items())
        return f"<fastpair.Table of {_show.number(len(self))} rows: {names}>"


def table(columns=None, /, **named):
    """A table of columns: table(url=col, title="title.fpc"), or of a dict. Paths are opened."""
    given = dict(columns or {}, **named)
    return Table({name: column if isinstance(column, Column) else open(column) for name, column in given.items()})
