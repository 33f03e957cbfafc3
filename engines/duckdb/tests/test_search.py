"""Predicates that run on codes, compared with DuckDB's own over the same rows."""

import random

import pytest
from conftest import ROWS, TREE, as_table, connect, make_rows, values, write

OURS = {
    "contains": "contains({c}, {v})",
    "prefix": "starts_with({c}, {v})",
    "suffix": "suffix({c}, {v})",
    "equals": "{c} = {v}",
    "like": "{c} LIKE {v}",
}


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def pieces(rows, count, seed):
    """Patterns that occur, nearly occur and do not occur."""
    chosen = random.Random(seed)
    kept = [row for row in rows if row]
    for _ in range(count):
        row = chosen.choice(kept)
        first = chosen.randrange(len(row))
        piece = row[first:first + chosen.choice([1, 2, 4, 9, 30, 200])]
        yield chosen.choice([piece, piece, piece, row, piece + "~", ""])


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("cold", [False, True])
def test_random_patterns(tmp_path, threads, cold):
    path = write(tmp_path / "value.fpc", ROWS, chunk_bytes=100_000, cold=cold)
    table = as_table(ROWS)
    with connect(threads) as con:
        con.register("model", table)
        for number, pattern in enumerate(pieces(ROWS, 60, seed=threads)):
            for kind, sql in OURS.items():
                value = pattern
                if kind == "like":
                    value = ["%{}%", "{}%", "%{}", "_{}%", "%{}_%"][number % 5].format(pattern)
                ours = con.sql(f"SELECT value FROM read_fastpair('{path}', {kind} := {quoted(value)})")
                theirs = con.sql(f"SELECT value FROM model WHERE {sql.format(c='value', v=quoted(value))}")
                assert values(ours) == values(theirs), (kind, value)


def test_like_cases(tmp_path, con):
    """The cases of LIKE that the library and the Python package are asked as well."""
    asked = 0
    for line in (TREE / "tests" / "search" / "like_cases.txt").read_text("utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        pattern, escape, row, expected = line.split("\t")
        path = write(tmp_path / "value.fpc", [row, None], type="text")
        more = "" if escape == "-" else f", escape := {quoted(escape)}"
        found = con.sql(f"SELECT count(*) FROM read_fastpair('{path}', like := {quoted(pattern)}{more})").fetchall()[0]
        assert found == (int(expected),), line
        asked += 1
    assert asked > 100


def test_lists_and_combinations(tmp_path, con):
    path = write(tmp_path / "value.fpc", ROWS, chunk_bytes=50_000)

    def ask(**named):
        said = ", ".join(f"{name} := {value}" for name, value in named.items())
        return values(con.sql(f"SELECT value FROM read_fastpair('{path}', {said})"))

    valid = [row for row in ROWS if row is not None]
    assert ask(contains="['timeout', '日本']") == [row for row in valid if "timeout" in row or "日本" in row]
    assert ask(equals="['0', '01', '']") == [row for row in valid if row in ("0", "01", "")]
    assert ask(prefix="'GET'", suffix="'7'") == [row for row in valid if row.startswith("GET") and row.endswith("7")]
    assert ask(contains="'error'", ignore_case="true") == [row for row in valid if "error" in row.lower()]
    assert ask(like="'%a!%b!_c%'", escape="'!'") == [row for row in valid if "a%b_c" in row]
    assert ask(contains="''") == valid
    assert ask(contains="'no row has this'") == []


def test_patterns_with_nul_and_blobs(tmp_path, con):
    rows = ["a\0b", "a", "ab", None, "\0", "x\0a\0by"]
    path = write(tmp_path / "value.fpc", rows, type="text")
    ask = f"SELECT value FROM read_fastpair('{path}', contains := $1)"
    assert values(con.execute(ask, ["a\0b"])) == ["a\0b", "x\0a\0by"]
    assert values(con.execute(ask, ["\0"])) == ["a\0b", "\0", "x\0a\0by"]
    raw = write(tmp_path / "raw.fpc", [b"\xff\0\xfe", b"\xff", None], type="bytes")
    assert values(con.execute(f"FROM read_fastpair('{raw}', contains := $1)", [b"\xff\0"])) == [b"\xff\0\xfe"]
    assert values(con.sql(f"FROM read_fastpair('{raw}', equals := '\\xFF'::BLOB)")) == [b"\xff"]


@pytest.mark.parametrize("nulls", [0, 0.3])
@pytest.mark.parametrize("share", [0.001, 0.05, 0.07, 0.5, 0.99])
def test_few_and_many_matches(tmp_path, con, share, nulls):
    """Few rows are decoded one by one, many by decoding all of them; the answer is the same."""
    chosen = random.Random(int(share * 1000))
    rows = [row and row + ("!" if chosen.random() < share else "") for row in make_rows(50_000, 5, nulls)]
    path = write(tmp_path / "value.fpc", rows, chunk_bytes=400_000)
    found = con.sql(f"FROM read_fastpair('{path}', suffix := '!', file_row_number := true)").fetchall()
    assert found == [(i, row) for i, row in enumerate(rows) if row and row.endswith("!")]


def test_row_numbers_alone_decode_nothing(tmp_path, con):
    """A damaged chunk is not noticed by a count of rows and of row numbers, as nothing of it is read."""
    path = write(tmp_path / "value.fpc", make_rows(50_000), codec="stored", type="text", chunk_bytes=1 << 20)
    image = bytearray((tmp_path / "value.fpc").read_bytes())
    middle = len(image) // 3
    image[middle:middle + 64] = b"\xff" * 64
    (tmp_path / "value.fpc").write_bytes(image)
    count = f"SELECT count(*) FROM read_fastpair('{path}', file_row_number := true)"
    assert con.sql(count).fetchall()[0] == (50_000,)
    assert con.sql(f"SELECT sum(num_rows) FROM fastpair_metadata('{path}')").fetchall()[0] == (50_000,)
    with pytest.raises(Exception, match="UTF-8"):
        con.sql(f"SELECT sum(strlen(value)) FROM '{path}'").fetchall()
