"""Searches against the same tests in Python."""
import array
import re

import pytest

import fastpair as fp
from conftest import column_of


def like(pattern, escape=None):
    out, i = "", 0
    while i < len(pattern):
        c = pattern[i]
        if escape and c == escape:
            i += 1
            out += re.escape(pattern[i])
        else:
            out += {"%": "(?s:.*)", "_": "(?s:.)"}.get(c, re.escape(c))
        i += 1
    compiled = re.compile(out)
    return lambda row: compiled.fullmatch(row) is not None


TESTS = [
    ({"contains": "GET"}, lambda row: "GET" in row),
    ({"contains": "straße"}, lambda row: "straße" in row),
    ({"contains": b"\xc3"}, lambda row: b"\xc3" in row.encode()),
    ({"contains": ""}, lambda row: True),
    ({"contains": ["ERROR", "日本"]}, lambda row: "ERROR" in row or "日本" in row),
    ({"prefix": "GET"}, lambda row: row.startswith("GET")),
    ({"suffix": " 7"}, lambda row: row.endswith(" 7")),
    ({"equals": "ok 5"}, lambda row: row == "ok 5"),
    ({"equals": ""}, lambda row: row == ""),
    ({"isin": ["ok 5", "timeout 1", ""]}, lambda row: row in ("ok 5", "timeout 1", "")),
    ({"isin": ("ok %d" % i for i in range(977))}, lambda row: re.fullmatch(r"ok \d+", row) is not None),
    ({"like": "%login%1_"}, like("%login%1_")),
    ({"like": "_T%"}, like("_T%")),
    ({"like": "%日_ %"}, like("%日_ %")),
    ({"like": "ok 5|%", "escape": "|"}, like("ok 5|%", "|")),
    ({"contains": "error", "ignore_case": True}, lambda row: "error" in row.lower()),
    ({"contains": "GET", "negate": True}, lambda row: "GET" not in row),
    ({"prefix": "GET", "suffix": "5"}, lambda row: row.startswith("GET") and row.endswith("5")),
]


@pytest.mark.parametrize("tests, oracle", TESTS, ids=lambda t: str(t) if isinstance(t, dict) else "")
def test_against_python(column, rows, tests, oracle):
    if "isin" in tests:
        tests = dict(tests, isin=list(tests["isin"]) or [f"ok {i}" for i in range(977)])
    expected = [None if row is None else oracle(row) for row in rows]
    assert column.match(**tests).to_pylist() == expected
    assert column.count(**tests) == expected.count(True)
    assert column.filter(**tests).to_pylist() == [row for row, hit in zip(rows, expected) if hit]
    assert list(column.find(**tests)) == [i for i, hit in enumerate(expected) if hit]
    mask = column.match(**tests)
    assert mask.true_count == expected.count(True) and mask.null_count == rows.count(None)
    part = column[1003:15_002]
    assert part.match(**tests).to_pylist() == expected[1003:15_002]
    assert part.count(**tests) == expected[1003:15_002].count(True)
    assert part.filter(**tests).to_pylist() == [r for r, h in zip(rows[1003:15_002], expected[1003:15_002]) if h]
    assert part.match(**tests)[5:100].true_count == expected[1008:1103].count(True)


def test_nulls(column, rows):
    assert column.count(is_null=True) == rows.count(None)
    assert column.match(is_null=False).to_pylist() == [row is not None for row in rows]
    assert None in column and next(filter(None, rows)) in column and "nothing" not in column
    assert column.count(isin=[]) == 0 and column.match(isin=[]).null_count == 0


def test_predicates(column, rows):
    test = fp.where(contains="GET") & ~fp.where(suffix="5") | fp.where(equals="")
    expected = [row is not None and ("GET" in row and not row.endswith("5") or row == "") for row in rows]
    assert column.count(test) == expected.count(True)
    assert column.filter(test).to_pylist() == [row for row, hit in zip(rows, expected) if hit]
    assert "contains(GET)" in repr(test) and "not suffix" in repr(test)
    assert column.count(~fp.where(is_null=True)) == len(rows) - rows.count(None)


def test_limits(column, rows):
    hits = [i for i, row in enumerate(rows) if row and "GET" in row]
    assert column.filter(contains="GET", limit=3).to_pylist() == [rows[i] for i in hits[:3]]
    assert column.filter(contains="GET", limit=0).to_pylist() == []
    assert list(column.find(contains="GET", start=1000, limit=2)) == [i for i in hits if i >= 1000][:2]
    assert column[50:60].filter(contains="GET", limit=100).to_pylist() == [rows[i] for i in hits if 50 <= i < 60]


def test_refused(column):
    for wrong in ({}, {"regex": "a"}, {"contains": 3}, {"contains": [3]}, {"contains": None}):
        with pytest.raises(TypeError):
            column.match(**wrong)
    with pytest.raises(TypeError):
        column.match("GET")
    with pytest.raises(TypeError):
        column.match(fp.where(contains="a"), contains="b")
    with pytest.raises(TypeError):
        fp.where(contains="a") & "b"
    for wrong in ({"like": "a|", "escape": "|"}, {"like": "a", "escape": "||"}):
        with pytest.raises(ValueError):
            column.match(**wrong)
    deep = fp.where(contains="a")
    for _ in range(100):
        deep = deep & fp.where(contains="b")
    with pytest.raises(fp.Error) as caught:
        column.match(deep)
    assert caught.value.status == "LIMIT"


def test_other_columns(binary, shape):
    assert binary.count(suffix=b"\xff") == len(binary) - binary.null_count
    column = column_of(shape)
    assert column.count(contains="") == len(shape) - shape.count(None)
    assert column_of(shape, cold=True).match(prefix="y").to_pylist() == [
        None if row is None else row.startswith("y") for row in shape]


def test_find_in_slices(column, rows):
    """A slice's answer ends where the slice does, whatever the limit."""
    for first, end in ((0, 10), (5, 20_000), (777, 12_345), (19_990, 20_000), (3, 3)):
        part, expected = column[first:end], [i for i, row in enumerate(rows[first:end]) if row and "timeout" in row]
        for limit in (None, 0, 1, 7, 5000, 10**9):
            assert list(part.find(contains="timeout", limit=limit)) == expected[:limit]
            assert part.filter(contains="timeout", limit=limit) == [rows[first + i] for i in expected[:limit]]
        assert list(part.find(contains="timeout", start=300)) == [i for i in expected if i >= 300]


def test_prepared_predicates(column, binary, rows):
    """Compiled once, for all slices of a column and for no other one."""
    tree = fp.where(contains="timeout")._tree
    prepared = column._prepare(tree)
    for part in (column, column[5:9000], column[19_000:]):
        assert part._count(prepared) == part._count(tree)
        assert part._find(prepared, 0, 100) == part._find(tree, 0, 100)
        assert part._search(prepared) == part._search(tree)
        assert part._filter(prepared) == part._filter(tree)
    with pytest.raises(ValueError, match="another column"):
        binary._count(prepared)
    for wrong in (None, "x", [tree]):
        with pytest.raises(TypeError):
            column._count(wrong)
    part = column[10:20]
    column.close()
    assert part._count(prepared) == part._count(tree)


class _Pair:
    """Capsules for one consumer."""

    def __init__(self, pair):
        self.pair = pair

    def __arrow_c_array__(self, requested_schema=None):
        return self.pair


@pytest.mark.parametrize("step", [1, 2, 3, 5, 6, 40, 5000])
def test_listed_views(column, binary, step):
    """Dense lists, which are decoded as a range, and others; ascending or not; with null rows."""
    pa = pytest.importorskip("pyarrow")
    for whole in (column, binary):
        for part in (whole, whole[7:9001]):
            for numbers in (range(0, len(part), step), range(len(part) - 1, -1, -step), range(3, 4), range(0)):
                wanted = array.array("q", numbers).tobytes()
                found = pa.array(_Pair(part._listed_views(wanted)))
                assert found.to_pylist() == part._listed(wanted).to_pylist()
                assert found.null_count == part._listed(wanted).null_count
                found.validate(full=True)
    with pytest.raises(IndexError):
        column._listed_views(array.array("q", [len(column)]).tobytes())
