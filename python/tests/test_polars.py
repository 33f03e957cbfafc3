"""fp.scan: the same results with and without push-down, and that push-down happens."""
import json
import pickle
import random
import subprocess
import sys
import threading

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import fastpair as fp
from fastpair import _polars, _unit
from test_tables import FAST, TABLE

A, B, N, RAW = pl.col("url"), pl.col("title"), pl.col("n"), pl.col("raw")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A frame and a scan of the same, in parts of several chunks."""
    path = tmp_path_factory.mktemp("polars") / "table"
    fp.write_table(path, TABLE, part_rows=7000, chunk_bytes=32_000, **FAST)
    return pl.from_arrow(TABLE), fp.scan(path), path


@pytest.fixture
def decoded(monkeypatch):
    """Rows that were decoded by scans with one thread, by column.

    Threads of the pool are left out: one may still be at work for a query that has ended before.
    """
    counts = {}
    original = _unit._Reader._columns

    def counting(self, first, end, chosen):
        if not threading.current_thread().name.startswith("fastpair"):
            for name in self.names:
                counts[name] = counts.get(name, 0) + (end - first if chosen is None else len(chosen) // 8)
        return original(self, first, end, chosen)
    monkeypatch.setattr(_unit._Reader, "_columns", counting)
    return counts


# Each with whether all of it runs on codes.
EXPRESSIONS = {
    "contains": (A.str.contains("timeout", literal=True), True),
    "contains text with marks": (A.str.contains("x.y", literal=True), True),
    "contains ''": (A.str.contains("", literal=True), True),
    "contains two bytes": (A.str.contains("straße", literal=True), True),
    "plain pattern": (A.str.contains("timeout"), True),
    "plain pattern, not strict": (A.str.contains("timeout", strict=False), True),
    "anchored": (A.str.contains("^GET"), True),
    "anchored at the end": (A.str.contains("97$"), True),
    "anchored twice": (B.str.contains("^title 5$"), True),
    "only an anchor": (A.str.contains("^"), False),
    "pattern": (A.str.contains("(GET|POST)"), False),
    "pattern with a dot": (A.str.contains("time.ut"), False),
    "pattern that ignores case": (A.str.contains("(?i)get"), False),
    "starts": (A.str.starts_with("POST"), True),
    "ends": (A.str.ends_with("7"), True),
    "starts ''": (A.str.starts_with(""), True),
    "==": (B == "title 7", True),
    "== turned": (pl.lit("title 7") == B, True),
    "== ''": (A == "", True),
    "!=": (A != "", True),
    "eq_missing": (A.eq_missing(""), True),
    "ne_missing": (A.ne_missing(""), True),
    "eq_missing None": (A.eq_missing(None), True),
    "ne_missing None": (A.ne_missing(None), True),
    "not eq_missing": (~A.eq_missing(""), True),
    "is_in": (B.is_in(["title 3", "title 4", "none"]), True),
    "is_in one": (B.is_in(["title 3"]), True),
    "is_in with null": (A.is_in(["", None]), True),
    "not is_in with null": (~A.is_in(["", None]), True),
    "is_in where null is equal": (A.is_in(["", None], nulls_equal=True), True),
    "is_in where null would be equal": (A.is_in([""], nulls_equal=True), True),
    "not is_in where null is equal": (~A.is_in(["", None], nulls_equal=True), True),
    "is_in nothing": (A.is_in([]), True),
    "is_in only null": (A.is_in([None]), False),
    "is_in a series": (B.is_in(pl.Series(["title 3", "title 9"]).implode()), True),
    "is_in many": (B.is_in([f"title {i}" for i in range(50, 500)]), True),
    "is_null": (A.is_null(), True),
    "is_not_null": (A.is_not_null(), True),
    "and": (A.str.contains("GET", literal=True) & (B == "title 7"), True),
    "or": (A.str.contains("timeout", literal=True) | (B == "title 7"), True),
    "not": (~A.str.contains("GET", literal=True), True),
    "not or": (~(A.str.contains("GET", literal=True) | A.is_null()), True),
    "not and": (~(A.str.contains("GET", literal=True) & (B == "title 7")), True),
    "many ands": (pl.all_horizontal(*(~A.str.contains(f"{i}", literal=True) for i in range(60))), True),
    "many ors": (pl.any_horizontal(*(A.str.contains(f"{i}", literal=True) for i in range(60))), True),
    "any of several": (A.str.contains_any(["timeout", "ERROR"]), True),
    "any of several, any case": (A.str.contains_any(["TIMEOUT"], ascii_case_insensitive=True), False),
    "contains of a column": (A.str.contains(B, literal=True), False),
    "starts with a column": (A.str.starts_with(B), False),
    "contains null": (A.str.contains(pl.lit(None, dtype=pl.String), literal=True), True),
    "starts with null": (A.str.starts_with(None), True),
    "<": (A < "GET", False),
    "xor": ((A == "") ^ (B == "title 7"), False),
    "lower case": (A.str.to_lowercase().str.contains("get", literal=True), False),
    "length": (A.str.len_bytes() > 40, False),
    "categories": (B.cast(pl.Categorical) == "title 7", False),
    "a category": (B == pl.lit("title 7", dtype=pl.Categorical), False),
    "an enum": (B == pl.lit("title 7", dtype=pl.Enum(["title 7"])), False),
    "as bytes": (B == pl.lit(b"title 7"), False),
    "number": (N == 7, False),
    "number and text": ((N > 500) & A.str.contains("timeout", literal=True), None),
    "pattern and text": (A.str.contains("[0-9]7") & A.str.contains("timeout", literal=True), None),
    "number or text": ((N > 19_000) | A.str.contains("timeout", literal=True), False),
    "fill_null": (A.str.contains("GET", literal=True).fill_null(True), False),
    "when": (pl.when(A == "").then(True).otherwise(B == "title 7"), False),
    "true": (pl.lit(True), None),
    "false": (pl.lit(False), None),
    "bytes contain": (RAW.bin.contains(b"\x07"), True),
    "bytes start": (RAW.bin.starts_with(b"\x07"), True),
    "bytes end": (RAW.bin.ends_with(b"\xff"), True),
    "bytes ==": (RAW == b"\x07\xff", True),
    "bytes is_in": (RAW.is_in([b"\x07\xff", b"\x08\xff"]), True),
    "bytes null": (RAW.is_null() | RAW.bin.contains(b"\x01"), True),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_results_are_equal(table, name, decoded):
    frame, scan, path = table
    expression, on_codes = EXPRESSIONS[name]
    expected = frame.filter(expression)
    assert_frame_equal(fp.scan(path, threads=1).filter(expression).collect(), expected)
    if on_codes:
        assert all(count == len(expected) for count in decoded.values()), "rows were decoded that do not pass"
    elif on_codes is False:
        assert decoded["title"] == len(frame)
    assert_frame_equal(scan.filter(expression).collect(), expected)
    assert_frame_equal(scan.filter(expression).select("score", "url").collect(), expected.select("score", "url"))
    assert scan.filter(expression).select(pl.len()).collect().item() == len(expected)
    assert_frame_equal(scan.filter(expression).head(7).collect(), expected.head(7))
    assert_frame_equal(scan.head(5000).filter(expression).collect(), frame.head(5000).filter(expression))
    assert_frame_equal(scan.filter(expression).collect(engine="streaming"), expected)


@pytest.mark.parametrize("pattern", ["%time%", "GET%", "%9", "G_T%", "%T%out%", "title 5", "title _", "%.%", "%straße _%",
                                     "_%", "%", "", "%\\%"])
def test_like(table, pattern, decoded):
    """What SQL's LIKE becomes."""
    frame, _, path = table
    scan = fp.scan(path, threads=1)
    query = f"select url, title from t where url like '{pattern}' or title like '{pattern}'"
    expected = pl.SQLContext(t=frame.lazy()).execute(query).collect()
    assert_frame_equal(pl.SQLContext(t=scan).execute(query).collect(), expected)
    if pattern and "\\" not in pattern:
        assert decoded.get("title", 0) == len(expected)


@pytest.mark.parametrize("pattern", ["(?s)^a.*?b$", "(?s)^a.b", r"(?s)\.", r"(?s)^\w$", r"(?s)a\$", "(?s)a{2}", "(?s)%", "(?s).+",
                                     "(?s)(a)", "(?m)^a$", "a|b", "$", "^^a", "a$$", r"\Aa", "[^a]", "(?s)", "(?s)^.*$", "#&~-"])
def test_patterns_that_look_like_others(pattern, tmp_path):
    rows = ["a", "b", "ab", "a\nb", "axxb", "a.", "a$", "", "aa", "x\na", "%", "\n", "ä", None, "a" * 70, "#&~-", "_"]
    frame = pl.DataFrame({"a": rows})
    fp.write_table(tmp_path / "t", frame)
    for expression in (pl.col("a").str.contains(pattern), ~pl.col("a").str.contains(pattern)):
        assert_frame_equal(fp.scan(tmp_path / "t").filter(expression).collect(), frame.filter(expression))


def random_expression(chosen, depth=0):
    if depth < 4 and chosen.random() < 0.6:
        kind = chosen.randrange(4)
        one = random_expression(chosen, depth + 1)
        if kind == 0:
            return ~one
        other = random_expression(chosen, depth + 1)
        return one & other if kind == 1 else one | other if kind == 2 else one ^ other if chosen.random() < 0.1 else one & other
    column = chosen.choice([A, B])
    word = chosen.choice(["timeout", "GET", "", "title 1", "9", "ß", "ERROR 3", "title 11"])
    return chosen.choice([
        lambda: column.str.contains(word, literal=True), lambda: column.str.contains(word), lambda: column == word,
        lambda: column.str.starts_with(word), lambda: column.str.ends_with(word), lambda: column != word,
        lambda: column.eq_missing(word), lambda: column.ne_missing(word), lambda: column.is_null(),
        lambda: column.is_not_null(), lambda: column.is_in([word, "title 5"]), lambda: column.is_in([word, None]),
        lambda: column.is_in([word, None], nulls_equal=True), lambda: N > 5000, lambda: RAW.is_null(),
        lambda: column.str.contains("T.*[3-5]$"), lambda: column.str.contains_any([word + "x", "ok"]),
    ])()


@pytest.mark.parametrize("seed", range(100))
def test_random_expressions(table, seed):
    frame, scan, _ = table
    expression = random_expression(random.Random(seed))
    assert_frame_equal(scan.filter(expression).collect(), frame.filter(expression))


def test_projection_and_limits(table, decoded):
    frame, scan, path = table
    assert scan.collect_schema() == frame.schema
    assert_frame_equal(scan.collect(), frame)
    assert_frame_equal(fp.scan(path, threads=1).select("title").head(3).collect(), frame.select("title").head(3))
    assert decoded == {"title": 3}
    assert_frame_equal(scan.head(9000).tail(5).collect(), frame.head(9000).tail(5))
    assert scan.head(0).collect().shape == (0, 5)
    assert scan.select(pl.len()).collect().item() == len(frame)
    assert_frame_equal(scan.group_by("title").len().sort("title").collect(), frame.group_by("title").len().sort("title"))
    assert_frame_equal(scan.join(scan, on="n", how="inner").select("url").collect().sort("url"),
                       frame.join(frame, on="n").select("url").sort("url"))


def test_a_dataset_and_columns(table):
    frame, _, path = table
    scan = fp.scan(fp.open_table(path, columns=["title", "n"]), threads=1)
    assert_frame_equal(scan.filter(B == "title 5").collect(), frame.select("title", "n").filter(B == "title 5"))


def test_pickled(table):
    frame, scan, _ = table
    source = _polars._Source(fp.open_table(table[2]), None)
    again = pickle.loads(pickle.dumps(source))
    assert_frame_equal(pl.concat(again(None, None, None, None)), frame)


@pytest.mark.parametrize("text", ["", "nonsense", "{}", "[]", "null", '"a"', '{"BinaryExpr": {}}', '{"Function": {"input": []}}',
                                  '{"Function": {"input": [{"Column": "url"}], "function": {"Boolean": {"New": 3}}}}',
                                  '{"Column": "url"}', '{"BinaryExpr": {"left": 1, "op": "Eq", "right": 2}}',
                                  '{"BinaryExpr": {"left": {"Column": "none"}, "op": "Eq", "right": {"Literal": {"New": 1}}}}',
                                  '{"Function": {"input": [{"Column": "url"}, {"Literal": {"Scalar": {"String": "x"}}}], '
                                  '"function": {"StringExpr": {"Contains": {}}}}}',
                                  '{"BinaryExpr": ' * 5000 + "1" + "}" * 5000])
def test_shapes_that_nobody_knows(text):
    """A Polars that says things in another way is left to filter by itself."""
    class Strange:
        class meta:
            @staticmethod
            def serialize(format):
                return text
    assert _polars.understand(Strange, {"url": "text"}, pl) == (None, False)


def test_deep_and_large_predicates(table):
    frame, scan, _ = table
    deep = A == "x"
    for i in range(100):
        deep = ~(deep & (B == f"title {i}")) | (A == f"{i}")
    assert_frame_equal(scan.filter(deep).collect(), frame.filter(deep))
    long = A.str.contains("x" * 100_000, literal=True) | (B == "title 1")
    assert_frame_equal(scan.filter(long).collect(), frame.filter(long))
    many = B.is_in([f"title {i}" for i in range(99, 20_000)])
    assert_frame_equal(scan.filter(many).collect(), frame.filter(many))


def test_without_pyarrow(tmp_path):
    """Strings need polars alone."""
    fp.write_table(tmp_path / "t", TABLE.select(["url", "raw"]), part_rows=9000, **FAST)
    code = f"""
import sys
sys.modules["pyarrow"] = None
import polars as pl
import fastpair as fp
scan = fp.scan({str(tmp_path / "t")!r})
assert scan.collect().shape == (20_000, 2)
print(scan.filter(pl.col("url").str.contains("timeout", literal=True)).collect().height)
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert int(found) == sum("timeout" in (url or "") for url in TABLE["url"].to_pylist())


def test_damage_is_an_error(tmp_path):
    fp.write_table(tmp_path / "t", TABLE.select(["url"]), chunk_bytes=32_000, **FAST)
    file = tmp_path / "t" / "url.fpc"
    chunk = fp.open(file).chunks[3]
    image = bytearray(file.read_bytes())
    image[chunk.file_offset + chunk.file_bytes // 2] ^= 0xff
    file.write_bytes(image)
    with pytest.raises(Exception, match=r"url.fpc: .*restore it from a copy, or write the part again"):
        fp.scan(tmp_path / "t").collect()


def test_json_is_what_this_was_written_for():
    """If Polars changes its JSON, push-down stops silently; this says so."""
    tree = json.loads(A.str.contains("x", literal=True).meta.serialize(format="json"))
    assert tree == {"Function": {"input": [{"Column": "url"}, {"Literal": {"Scalar": {"String": "x"}}}],
                                 "function": {"StringExpr": {"Contains": {"literal": True, "strict": False}}}}}


def test_types_of_other_columns(tmp_path):
    table = pa.table({"s": ["a", "b"], "d": pa.array([1, 2], pa.date32()), "l": [[1], [2, 3]],
                      "t": pa.array([1, 2], pa.timestamp("us", "UTC")), "b": [True, None], "f": pa.array([1, 2], pa.float32())})
    fp.write_table(tmp_path / "t", table)
    frame = pl.from_arrow(table)
    assert fp.scan(tmp_path / "t").collect_schema() == frame.schema
    assert_frame_equal(fp.scan(tmp_path / "t").collect(), frame)
    assert_frame_equal(fp.scan(tmp_path / "t").filter(pl.col("s") == "b").collect(), frame.filter(pl.col("s") == "b"))


def test_no_columns(table):
    frame, scan, _ = table
    assert scan.select().collect().width == 0
    assert scan.select(pl.lit(1)).collect().item() == 1
    assert scan.filter(A.is_null()).select(pl.lit(1).alias("a"), pl.len()).collect().rows() == [(1, frame["url"].null_count())]
