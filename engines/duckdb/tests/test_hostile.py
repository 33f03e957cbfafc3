"""Damaged files are an error in DuckDB that names file, place and remedy; never a crash, a hang or wrong memory.

Each case runs in this process: a crash ends the run.
"""

import random
import re
import resource
import threading
import time

import duckdb
import pytest
from conftest import ROWS, SANITIZED, TREE, connect, make_rows, values, write

GOLDEN = sorted((TREE / "tests" / "golden").glob("*.fpc"))


def golden_rows(path):
    """The rows of a golden file as bytes: a line each, \\N for null, \\xHH for a byte."""
    rows = []
    for line in path.with_suffix(".rows").read_bytes().split(b"\n")[:-1]:
        plain = re.sub(rb"\\x([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), line)
        rows.append(None if line == b"\\N" else plain)
    return rows


def ask_everything(con, path):
    """Runs one query of each kind; errors of DuckDB are fine, but for its internal ones."""
    failed = 0
    for query in (f"SELECT count(*), sum(octet_length(c::BLOB)) FROM '{path}' AS t(c)",
                  f"SELECT c FROM read_fastpair('{path}', contains := 'a') AS t(c)",
                  f"SELECT c FROM read_fastpair('{path}', like := '%e_', ignore_case := true) AS t(c)",
                  f"FROM read_fastpair('{path}', prefix := 'GET', file_row_number := true)",
                  f"FROM '{path}' LIMIT 3",
                  f"FROM fastpair_metadata('{path}')"):
        try:
            con.sql(query).fetchall()
        except (duckdb.InternalException, duckdb.FatalException):
            raise
        except duckdb.Error as error:
            failed += 1
            if "octet_length" not in str(error):
                assert "fastpair: " in str(error), str(error)
    return failed


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_files(con, path):
    """Files that must decode for ever, compared with their rows as text."""
    found = [row.encode() if isinstance(row, str) else row for row in values(con.sql(f"FROM '{path}'"))]
    assert found == golden_rows(path)


@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("codec", ["onpair12", "fsst12", "stored"])
def test_altered_bytes(tmp_path, codec, cold):
    """Single bytes and runs changed, at places all over the file; and files cut short."""
    path = tmp_path / "value.fpc"
    write(path, make_rows(3000), codec=codec, cold=cold, chunk_bytes=20_000, name="value", type="text")
    image = path.read_bytes()
    chosen = random.Random(codec)
    failed = 0
    with connect(2) as con:
        for trial in range(40 if SANITIZED else 200):
            damaged = bytearray(image)
            place = chosen.randrange(len(image)) if trial % 2 else chosen.randrange(min(600, len(image)))
            size = chosen.choice([1, 1, 4, 64])
            damaged[place:place + size] = chosen.randbytes(len(damaged[place:place + size]))
            if trial % 10 == 0:
                damaged = damaged[:place]
            path.write_bytes(damaged)
            failed += ask_everything(con, path)
    assert failed > 0


def test_an_error_names_file_place_and_remedy(tmp_path, con):
    path = tmp_path / "value.fpc"
    write(path, make_rows(20_000), chunk_bytes=100_000, type="text")
    image = bytearray(path.read_bytes())
    image[len(image) // 2:len(image) // 2 + 400] = b"\xff" * 400
    path.write_bytes(image)
    with pytest.raises(duckdb.Error, match=rf"fastpair: {path}: corrupt data: chunk \d+.*offset \d+.*restore"):
        con.sql(f"SELECT sum(strlen(value)) FROM '{path}'").fetchall()
    # The connection goes on.
    assert con.sql("SELECT 1").fetchall()[0] == (1,)


def test_one_damaged_part_of_many(tmp_path, con):
    for number in range(8):
        write(tmp_path / "t" / f"s-{number}.fpc", ROWS, chunk_bytes=100_000, type="text")
    bad = tmp_path / "t" / "s-5.fpc"
    image = bytearray(bad.read_bytes())
    image[len(image) // 2:len(image) // 2 + 400] = b"\xff" * 400
    bad.write_bytes(image)
    with pytest.raises(duckdb.Error, match=f"{bad}: corrupt data"):
        con.sql(f"SELECT sum(strlen(s)) FROM '{tmp_path}/t/'").fetchall()


def test_text_that_is_none(tmp_path, con):
    """A file that lies about UTF-8 must not reach DuckDB as text."""
    path = tmp_path / "value.fpc"
    rows = ["plain text that is long enough to be found in the file"] * 500
    write(path, rows, codec="stored", type="text")
    image = bytearray(path.read_bytes())
    place = image.find(b"plain text")
    image[place] = 0xFF
    path.write_bytes(image)
    with pytest.raises(duckdb.Error, match="UTF-8"):
        con.sql(f"FROM '{path}'").fetchall()
    with pytest.raises(duckdb.Error, match="UTF-8"):
        con.sql(f"FROM read_fastpair('{path}', suffix := 'file')").fetchall()


def test_not_a_column(tmp_path, con):
    (tmp_path / "folder.fpc").mkdir()
    (tmp_path / "empty.fpc").write_bytes(b"")
    (tmp_path / "text.fpc").write_text("hello\n" * 100)
    (tmp_path / "loop.fpc").symlink_to(tmp_path / "loop.fpc")
    for name in ("folder", "empty", "text", "loop"):
        with pytest.raises(duckdb.Error, match=f"fastpair: {tmp_path}/{name}.fpc: "):
            con.sql(f"FROM '{tmp_path}/{name}.fpc'").fetchall()


def test_interruption(tmp_path):
    """An interrupted query ends soon, and the connection goes on."""
    rows = [f"some row that is not so short, number {i}" for i in range(200_000)]
    path = write(tmp_path / "s.fpc", rows)
    with connect(2) as con:
        timer = threading.Timer(0.3, con.interrupt)
        began = time.monotonic()
        timer.start()
        with pytest.raises(duckdb.InterruptException):
            con.sql(f"SELECT sum(strlen(a.s || b.s)) FROM '{path}' a, '{path}' b").fetchall()
        assert time.monotonic() - began < (60 if SANITIZED else 10)
        timer.join()
        assert con.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0] == (len(rows),)


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer has memory of its own")
def test_memory_is_bounded(tmp_path):
    """A scan of a GB that is passed on takes a few units per thread, not the table."""
    rows = [f"{i * 7919 % 1000003:07} " + "some words that repeat " * 40 for i in range(20_000)]
    for number in range(40):
        if number == 0:
            write(tmp_path / "t" / "s-00.fpc", rows)
        else:
            (tmp_path / "t" / f"s-{number:02}.fpc").hardlink_to(tmp_path / "t" / "s-00.fpc")
    with connect(2) as con:
        con.sql(f"SELECT sum(strlen(s)) FROM '{tmp_path}/t/s-00.fpc' AS t(s)").fetchall()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        total = con.sql(f"SELECT sum(strlen(s)) FROM '{tmp_path}/t/'").fetchall()[0]
        assert total == (40 * sum(map(len, rows)),)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    mapped = sum(path.stat().st_size for path in (tmp_path / "t").iterdir())
    assert 40 * sum(map(len, rows)) > 700e6
    assert grown < mapped + 64e6


def test_a_limit_ends_the_scan(tmp_path, con):
    """The first rows of a table come without the others being read: the second part is damaged."""
    write(tmp_path / "t" / "s-0.fpc", [f"row {i}" for i in range(400_000)], chunk_bytes=500_000, type="text")
    bad = tmp_path / "t" / "s-1.fpc"
    write(bad, [f"row {i}" for i in range(400_000)], chunk_bytes=500_000, type="text")
    image = bytearray(bad.read_bytes())
    image[len(image) // 2:len(image) // 2 + 5000] = b"\xff" * 5000
    bad.write_bytes(image)
    assert values(con.sql(f"FROM '{tmp_path}/t/' LIMIT 3")) == ["row 0", "row 1", "row 2"]
    with pytest.raises(duckdb.Error, match=str(bad)):
        con.sql(f"SELECT count(s) FROM '{tmp_path}/t/'").fetchall()
