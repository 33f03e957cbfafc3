"""Tables of several files: columns, parts, patterns, and what is refused."""

import os

import duckdb
import pyarrow as pa
import pytest
from conftest import ROWS, connect, make_rows, values, write

import fastpair as fp

URLS = [f"https://example.org/{i % 100}/{i}" for i in range(len(ROWS))]


def refused(con, query, *words):
    with pytest.raises(duckdb.Error) as caught:
        con.sql(query).fetchall()
    for word in words:
        assert str(word) in str(caught.value), (word, str(caught.value))
    assert "fastpair: " in str(caught.value)


def write_part(folder, first, last, order=("url", "title")):
    for position, name in enumerate(order):
        rows = {"url": URLS, "title": ROWS}[name][first:last]
        write(folder / f"{name}.fpc", rows, name=name, chunk_bytes=70_000 if name == "url" else 30_000,
              type="text", metadata={"fastpair:position": str(position).encode()})


def test_a_folder_is_a_table(tmp_path, con):
    write_part(tmp_path / "events", 0, len(ROWS))
    (tmp_path / "events" / "rest.parquet").write_bytes(b"not read")
    (tmp_path / "events" / "_unfinished.fpc").write_bytes(b"")
    relation = con.sql(f"FROM read_fastpair('{tmp_path}/events')")
    assert relation.columns == ["url", "title"]
    assert relation.fetchall() == list(zip(URLS, ROWS))
    assert con.sql(f"SELECT title, url FROM '{tmp_path}/events/'").fetchall() == list(zip(ROWS, URLS))
    # As a pattern, files that record different names are columns, too.
    assert con.sql(f"SELECT title FROM '{tmp_path}/events/*.fpc'").fetchall() == [(row,) for row in ROWS]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_folders_are_parts(tmp_path, threads):
    cuts = [0, 1, 7000, 7000, 15_000, len(ROWS)]
    for number, (first, last) in enumerate(zip(cuts, cuts[1:])):
        order = ("url", "title") if number % 2 == 0 else ("title", "url")
        write_part(tmp_path / "events" / f"part-{number:05}", first, last, order)
    (tmp_path / "events" / ".temporary").mkdir()
    with connect(threads) as con:
        assert con.sql(f"FROM '{tmp_path}/events/'").fetchall() == list(zip(URLS, ROWS))
        assert con.sql(f"FROM read_fastpair('{tmp_path}/events/part-*')").fetchall() == list(zip(URLS, ROWS))
        found = con.sql(f"""SELECT filename, file_row_number, url FROM read_fastpair('{tmp_path}/events',
            search_column := 'title', contains := 'timeout', filename := true, file_row_number := true)""").fetchall()
        expected = [(f"{tmp_path}/events/part-{number:05}", i - first, URLS[i])
                    for number, (first, last) in enumerate(zip(cuts, cuts[1:]))
                    for i in range(first, last) if "timeout" in (ROWS[i] or "")]
        assert found == expected
        rows = con.sql(f"SELECT sum(num_rows) FROM fastpair_metadata('{tmp_path}/events') WHERE column_name = 'url'")
        assert rows.fetchall()[0] == (len(ROWS),)


def test_numbered_files_are_parts(tmp_path, con):
    for number in range(11):
        write(tmp_path / "log" / f"line-{number}.fpc", ROWS[number * 100:number * 100 + 100])
        write(tmp_path / "named" / f"{number:03}.fpc", ROWS[number * 100:number * 100 + 100], name="line")
    order = sorted(range(11), key=str)
    expected = [row for number in order for row in ROWS[number * 100:number * 100 + 100]]
    for source in (f"'{tmp_path}/log/*.fpc'", f"read_fastpair('{tmp_path}/log')",
                   f"read_fastpair(['{tmp_path}/log/line-?.fpc', '{tmp_path}/log/line-10.fpc'])"):
        relation = con.sql(f"FROM {source}")
        assert relation.columns == ["line"]
        if "[" not in source:
            assert values(relation) == expected
    assert values(con.sql(f"SELECT line FROM '{tmp_path}/named/*.fpc'")) == ROWS[:1100]
    write(tmp_path / "odd" / "monday.fpc", ["m"])
    write(tmp_path / "odd" / "tuesday.fpc", ["t"])
    assert values(con.sql(f"SELECT value FROM '{tmp_path}/odd/*day.fpc'")) == ["m", "t"]


def test_names_of_any_kind(tmp_path, con):
    name = "straße \"x\" 日本"
    path = write(tmp_path / "o'clock *.fpc", ["a"], name=name)
    relation = con.sql("FROM read_fastpair('{}')".format(path.replace("'", "''")))
    assert relation.columns == [name]
    odd = os.fsencode(tmp_path) + b"/\xff\xfe.fpc"
    with open(odd, "wb") as file:
        file.write((tmp_path / "o'clock *.fpc").read_bytes())
    relation = con.sql(f"FROM read_fastpair('{tmp_path}/[!o]*.fpc', filename := true)")
    assert relation.fetchall() == [(f"{tmp_path}/??.fpc", "a")]


def test_what_is_refused(tmp_path, con):
    write(tmp_path / "t" / "a.fpc", ["1", "2", "3"], name="a")
    write(tmp_path / "t" / "b.fpc", ["1", "2"], name="b")
    refused(con, f"FROM '{tmp_path}/t/'", tmp_path / "t" / "a.fpc", tmp_path / "t" / "b.fpc", "2 rows", "has 3")
    write(tmp_path / "t" / "b.fpc", ["1", "2", "3"], name="a")
    refused(con, f"FROM '{tmp_path}/t/'", tmp_path / "t" / "a.fpc", tmp_path / "t" / "b.fpc", '"a"')

    write(tmp_path / "p" / "0" / "a.fpc", ["1"], name="a", type="text")
    write(tmp_path / "p" / "1" / "a.fpc", ["1"], name="a", type="bytes")
    refused(con, f"FROM '{tmp_path}/p/'", tmp_path / "p" / "1" / "a.fpc", "text", "bytes")
    write(tmp_path / "p" / "1" / "a.fpc", ["1"], name="b", type="text")
    refused(con, f"FROM '{tmp_path}/p/'", tmp_path / "p" / "1", '"a"')
    write(tmp_path / "p" / "1" / "c.fpc", ["1"], name="a", type="text")
    refused(con, f"FROM '{tmp_path}/p/'", tmp_path / "p" / "1" / "a.fpc", '"b"')
    write(tmp_path / "p" / "beside.fpc", ["1"])
    refused(con, f"FROM '{tmp_path}/p/'", tmp_path / "p" / "0")
    write(tmp_path / "q" / "a.fpc", ["1"], name="a")
    write(tmp_path / "q" / "b.fpc", ["1"])
    refused(con, f"FROM '{tmp_path}/q/*.fpc'", tmp_path / "q" / "a.fpc", "names")
    refused(con, f"FROM read_fastpair(['{tmp_path}/q/a.fpc', '{tmp_path}/p'])", "folders", "files")

    (tmp_path / "empty").mkdir()
    refused(con, f"FROM '{tmp_path}/empty/'", tmp_path / "empty", "read_parquet")
    refused(con, f"FROM '{tmp_path}/missing.fpc'", tmp_path / "missing.fpc", "No such file")
    refused(con, f"FROM '{tmp_path}/no*such.fpc'", "no file matches")
    refused(con, "FROM 's3://bucket/a.fpc'", "local files")
    refused(con, "FROM read_fastpair([])", "list")
    refused(con, "FROM read_fastpair(NULL)", "path")
    refused(con, "FROM read_fastpair(7)", "path")


def test_wrong_parameters(tmp_path, con):
    write_part(tmp_path / "t", 0, 100)
    source = f"'{tmp_path}/t'"
    refused(con, f"FROM read_fastpair({source}, contains := 'x')", "search_column", "url, title")
    refused(con, f"FROM read_fastpair({source}, contains := 'x', search_column := 'nope')", '"nope"', "url, title")
    refused(con, f"FROM read_fastpair({source}, search_column := 'url')", "goes with")
    source = f"'{tmp_path}/t/url.fpc'"
    refused(con, f"FROM read_fastpair({source}, contains := NULL)", "contains", "NULL")
    refused(con, f"FROM read_fastpair({source}, contains := ['a', NULL])", "contains", "NULL")
    refused(con, f"FROM read_fastpair({source}, equals := [])", "equals", "list")
    refused(con, f"FROM read_fastpair({source}, equals := [1])", "equals", "text")
    refused(con, f"FROM read_fastpair({source}, prefix := 5)", "prefix", "text")
    refused(con, f"FROM read_fastpair({source}, escape := '!')", "like")
    refused(con, f"FROM read_fastpair({source}, like := 'a', escape := '!!')", "one ASCII character")
    refused(con, f"FROM read_fastpair({source}, like := 'a!', escape := '!')", "escape")
    write(tmp_path / "x.fpc", ["1"], name="filename")
    refused(con, f"FROM read_fastpair('{tmp_path}/x.fpc', filename := true)", '"filename"')


def test_many_parts(tmp_path, con):
    """Searches of parts that are over are closed; the answer is that of one file."""
    rows = make_rows(20_000, 9)
    for number in range(200):
        write(tmp_path / "t" / f"s-{number:04}.fpc", rows[number * 100:number * 100 + 100])
    assert values(con.sql(f"FROM '{tmp_path}/t/'")) == rows
    found = con.sql(f"SELECT count(*) FROM read_fastpair('{tmp_path}/t', contains := 'ERROR')").fetchall()[0]
    assert found == (sum("ERROR" in (row or "") for row in rows),)


def test_settings_of_duckdb_hold(tmp_path):
    """What enable_external_access and allowed_directories say of files holds for these, too."""
    for name in ("open", "closed"):
        write(tmp_path / name / "a.fpc", ["1"])
    with connect() as con:
        con.execute(f"SET allowed_directories = ['{tmp_path}/open/']")
        con.execute("SET enable_external_access = false")
        assert values(con.sql(f"FROM '{tmp_path}/open/a.fpc'")) == ["1"]
        refused(con, f"FROM '{tmp_path}/closed/a.fpc'", "disabled by configuration")
        refused(con, f"FROM '{tmp_path}/open/../closed/a.fpc'", "disabled by configuration")
        refused(con, f"FROM fastpair_metadata('{tmp_path}/closed/a.fpc')", "disabled by configuration")
        refused(con, f"FROM '{tmp_path}/open/*.fpc'", "*")
        refused(con, f"FROM read_fastpair('{tmp_path}/closed')", tmp_path / "closed")


def test_the_home_folder(tmp_path, con, monkeypatch):
    write(tmp_path / "a.fpc", ["1"])
    monkeypatch.setenv("HOME", str(tmp_path))
    assert con.sql("FROM read_fastpair('~/*.fpc', filename := true)").fetchall() == [(f"{tmp_path}/a.fpc", "1")]


@pytest.mark.skipif(not hasattr(fp, "write_table"), reason="this fastpair package writes no tables")
@pytest.mark.parametrize("part_rows", [None, 7000])
def test_a_table_that_python_wrote(tmp_path, con, part_rows):
    """Columns in the order of the table, names that file names cannot have, and other types beside them."""
    table = pa.table({"zeta": ROWS, "id": range(len(ROWS)), 'a/%"x': [row and row[:3] for row in ROWS], "url": URLS})
    fp.write_table(tmp_path / "t", table, part_rows=part_rows)
    assert con.sql(f"FROM '{tmp_path}/t/'").to_arrow_table().to_pylist() == table.drop(["id"]).to_pylist()
    rest = f"{tmp_path}/t/" + ("*/" if part_rows else "") + "rest.parquet"
    beside = con.sql(f"SELECT id, url FROM '{tmp_path}/t/' POSITIONAL JOIN '{rest}'").fetchall()
    assert beside == list(enumerate(URLS))


def test_files_that_stay_open(tmp_path, con):
    """Later queries see what a file has become, by renaming or in place; more files than are kept; none at all."""
    path, other = tmp_path / "a.fpc", tmp_path / "b"
    query = f"SELECT count(*), min(a) FROM read_fastpair('{path}', contains := 'x')"
    write(path, ["x1", "y", "x2"], name="a", type="text")
    for _ in range(3):
        assert con.sql(query).fetchall() == [(2, "x1")]
    write(other, ["y1", "x", "y2"], name="a", type="text")
    os.replace(other, path)
    assert con.sql(query).fetchall() == [(1, "x")]
    path.write_bytes(fp.compress(["y", "y", "x3"], name="a", type="text"))
    assert con.sql(query).fetchall() == [(1, "x3")]
    for number in range(70):
        write(tmp_path / "many" / f"a-{number:02}.fpc", [f"x{number}"], name="a", type="text")
    for _ in range(2):
        many = con.sql(f"SELECT a FROM read_fastpair('{tmp_path}/many', contains := 'x')").fetchall()
        assert many == [(f"x{number}",) for number in range(70)]
    path.unlink()
    refused(con, query, path)
