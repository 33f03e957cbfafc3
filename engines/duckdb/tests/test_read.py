"""Rows that DuckDB reads from .fpc files, compared with the rows that were written."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROWS, SHAPES, as_table, connect, values, write


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(tmp_path, shape, cold, threads):
    rows = SHAPES[shape]
    path = write(tmp_path / "value.fpc", rows, cold=cold, chunk_bytes=50_000, type="text")
    with connect(threads) as con:
        assert values(con.sql(f"SELECT value FROM '{path}'")) == rows
        assert con.sql(f"SELECT count(*), count(value) FROM '{path}'").fetchall()[0] == (
            len(rows), sum(row is not None for row in rows))
        numbered = con.sql(f"SELECT file_row_number, value FROM read_fastpair('{path}', file_row_number := true)")
        assert numbered.fetchall() == list(enumerate(rows))


def test_bytes_are_blobs(tmp_path, con):
    rows = [None if row is None else row.encode() + b"\xff\0" for row in ROWS]
    path = write(tmp_path / "raw.fpc", rows, type="bytes")
    assert con.sql(f"DESCRIBE FROM '{path}'").fetchall()[0][:2] == ("raw", "BLOB")
    assert values(con.sql(f"FROM '{path}'")) == rows


def test_codecs(tmp_path, con):
    for codec in ("onpair9", "onpair16", "fsst12", "stored", "auto"):
        path = write(tmp_path / f"{codec}.fpc", ROWS, codec=codec, name="row")
        assert values(con.sql(f"SELECT row FROM '{path}'")) == ROWS, codec


def test_as_parquet_in_queries(tmp_path, con):
    """Aggregates, joins, grouping and sorting see what they see in Parquet."""
    path = write(tmp_path / "word.fpc", ROWS, chunk_bytes=30_000, name="word")
    pq.write_table(as_table(ROWS, "word"), tmp_path / "word.parquet")
    queries = [
        "SELECT sum(strlen(word)), min(word), max(word), count(DISTINCT word) FROM {}",
        "SELECT word, count(*) FROM {} GROUP BY ALL ORDER BY ALL",
        "SELECT word FROM {} WHERE word LIKE '%timeout%' ORDER BY word LIMIT 100",
        "SELECT count(*) FROM {0} a JOIN {0} b ON a.word = b.word WHERE a.word < 'E'",
        "SELECT word FROM {} WHERE word IS NULL",
        "SELECT length(word), word[2:5] FROM {} LIMIT 3000 OFFSET 7000",
        "SELECT count(*) FROM (SELECT 1 FROM {} LIMIT 5)",
    ]
    for query in queries:
        ours, theirs = (con.sql(query.format(f"'{tmp_path}/word.{end}'")).fetchall() for end in ("fpc", "parquet"))
        assert ours == theirs, query
    assert path


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_order_is_kept(tmp_path, threads):
    """Rows come in the file's order, so that other columns can stand beside them."""
    rows = [f"row {i}" for i in range(300_000)]
    path = write(tmp_path / "name.fpc", rows, chunk_bytes=200_000)
    pq.write_table(pa.table({"id": range(len(rows))}), tmp_path / "rest.parquet")
    with connect(threads) as con:
        joined = con.sql(f"SELECT id, name FROM '{path}' POSITIONAL JOIN '{tmp_path}/rest.parquet'").fetchall()
        assert joined == list(enumerate(rows))
        con.execute(f"CREATE TABLE copy AS FROM '{path}'")
        assert values(con.sql("FROM copy")) == rows
        assert values(con.sql(f"FROM '{path}' LIMIT 10 OFFSET 123456")) == rows[123456:123466]


def test_strings_outlive_the_scan(tmp_path, con):
    """A result's strings are its own: they stay when files, connection and later vectors are gone."""
    rows = [f"a string that is not inlined, number {i}" for i in range(50_000)]
    path = write(tmp_path / "s.fpc", rows)
    kept = con.sql(f"SELECT s FROM '{path}'").to_arrow_table()
    largest = con.sql(f"SELECT max(s), min(s) FROM '{path}'").fetchall()[0]
    con.close()
    (tmp_path / "s.fpc").unlink()
    assert kept["s"].to_pylist() == rows
    assert largest == (max(rows), min(rows))


def test_prepared_statements(tmp_path, con):
    path = write(tmp_path / "s.fpc", ROWS)
    for word in ("timeout", "ERROR"):
        found = con.execute("SELECT count(*) FROM read_fastpair(?, contains := ?)", [path, word]).fetchall()[0][0]
        assert found == sum(word in (row or "") for row in ROWS)


def test_large_rows_in_small_batches(tmp_path, con):
    """Rows of MiBs beside short ones: what is decoded at once stays small, and nothing is lost."""
    chosen = random.Random(3)
    rows = ["s" * 5] * 3000 + ["L" * chosen.randint(1 << 20, 3 << 20) for _ in range(60)] + ["t"] * 3000
    path = write(tmp_path / "s.fpc", rows, chunk_bytes=1 << 28)
    assert con.sql(f"SELECT count(*), sum(strlen(s)), max(strlen(s)) FROM '{path}'").fetchall()[0] == (
        len(rows), sum(map(len, rows)), max(map(len, rows)))
    query = f"SELECT strlen(s) FROM read_fastpair('{path}', prefix := ['L', 't'])"
    assert values(con.sql(query)) == [len(row) for row in rows if row[0] in "Lt"]


def test_metadata(tmp_path, con):
    write(tmp_path / "a.fpc", ROWS, name="word", type="text")
    found = con.sql(f"SELECT * FROM fastpair_metadata('{tmp_path}/a.fpc')")
    assert found.columns[:5] == ["file_name", "column_name", "column_type", "num_rows", "num_nulls"]
    row = found.fetchall()[0]
    assert row[:6] == (f"{tmp_path}/a.fpc", "word", "VARCHAR", len(ROWS), ROWS.count(None),
                       sum(len((row or "").encode()) for row in ROWS))
    assert row[6] == (tmp_path / "a.fpc").stat().st_size


def test_explain_says_how_many_rows(tmp_path, con):
    path = write(tmp_path / "s.fpc", ROWS)
    plan = con.sql(f"EXPLAIN FROM '{path}'").fetchall()[0][1]
    assert "20,000 rows" in plan


def test_connections_share_the_extension(tmp_path, con):
    path = write(tmp_path / "s.fpc", ROWS)
    cursors = [con.cursor() for _ in range(4)]
    assert all(values(cursor.sql(f"FROM '{path}'")) == ROWS for cursor in cursors)


def test_a_database_can_be_opened_again(tmp_path):
    """The extension does not keep a database open after its last connection."""
    import duckdb
    from conftest import EXTENSION

    path = write(tmp_path / "s.fpc", ROWS)
    for _ in range(3):
        with duckdb.connect(tmp_path / "d.duckdb", config={"allow_unsigned_extensions": "true"}) as con:
            con.execute(f"LOAD '{EXTENSION}'")
            con.execute(f"CREATE OR REPLACE TABLE t AS FROM '{path}'")
            assert con.sql("SELECT count(*) FROM t").fetchall()[0] == (len(ROWS),)
        with duckdb.connect(tmp_path / "d.duckdb", read_only=True) as con:
            assert con.sql("SELECT count(*) FROM t").fetchall()[0] == (len(ROWS),)
