"""Each allocation of the extension fails in turn: an error of DuckDB, and the next query works.

Only for an extension that was built for it, as tools/duckdb-asan does.
"""

import ctypes

import duckdb
import pytest
from conftest import EXTENSION, ROWS, connect, write

try:
    LIBRARY = ctypes.CDLL(str(EXTENSION))
    LIBRARY.fpd_faults_begin.argtypes = [ctypes.c_long]
    LIBRARY.fpd_faults_seen.restype = ctypes.c_long
except (OSError, AttributeError):
    LIBRARY = None

QUERIES = [
    "SELECT a, b FROM '{}/table/'",
    "FROM read_fastpair('{}/named/*.fpc', contains := ['timeout', 'x'], like := '%1%', file_row_number := true)",
    "FROM read_fastpair(['{}/named/s-0.fpc'], suffix := '7', filename := true)",
    "FROM read_fastpair('{}/named', prefix := 'G', search_column := 's', ignore_case := true)",
    "FROM fastpair_metadata('{}/table')",
]


@pytest.mark.skipif(LIBRARY is None, reason="the extension was not built to fail; tools/duckdb-asan builds one")
@pytest.mark.parametrize("query", QUERIES)
def test_every_allocation(tmp_path, query):
    for part in range(3):
        write(tmp_path / "table" / f"part-{part}" / "a.fpc", ROWS[:3000])
        write(tmp_path / "table" / f"part-{part}" / "b.fpc", ROWS[3000:6000])
        write(tmp_path / "named" / f"s-{part}.fpc", ROWS[:3000])
    query = query.format(tmp_path)
    with connect(1) as con:
        LIBRARY.fpd_faults_begin(-1)
        good = con.execute(query).fetchall()
        count = LIBRARY.fpd_faults_seen()
        assert count > 5
        for number in range(count):
            LIBRARY.fpd_faults_begin(number)
            with pytest.raises(duckdb.Error, match="fastpair: out of memory"):
                con.execute(query).fetchall()
        LIBRARY.fpd_faults_begin(-1)
        assert con.execute(query).fetchall() == good
