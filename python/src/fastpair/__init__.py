"""Compressed columns of strings that decode at memory speed.

    import fastpair as fp

    fp.write("urls.fpc", table["url"])     # Arrow, pandas, Polars, NumPy, or a list of str or bytes
    col = fp.open("urls.fpc")
    col[5], col[100:110], col.take([7, 3]), len(col), col.info

A Column speaks Arrow: pyarrow.chunked_array(col), polars.Series(col), pandas.Series.from_arrow(col).
A Table of columns is what SQL engines take: t = fp.table(url=col); duckdb.sql("from t").
Nothing else is needed at run time; other packages are used only if the caller brings them.
"""
from ._array import Array
from ._column import Chunk, Column, open
from ._compare import Comparison, compare
from ._dataset import Dataset, open_table
from ._fastpair import Error
from ._fastpair import version as _version
from ._gpu import GpuColumn
from ._gpu_array import GpuArray, GpuMask
from ._parts import Part
from ._polars import scan
from ._search import Predicate, where
from ._table import Table, table
from ._table_write import write_part, write_table
from ._unit import Unit
from ._write import compress, convert, write

__version__ = _version()
__all__ = [
    "Array", "Chunk", "Column", "Comparison", "Dataset", "Error", "GpuArray", "GpuColumn", "GpuMask", "Part",
    "Predicate", "Table", "Unit", "compare", "compress", "convert", "open", "open_table", "scan", "table", "where",
    "write", "write_part", "write_table",
]
