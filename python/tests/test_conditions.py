"""Conditions over tables, against an oracle that looks at one row after another."""
import pickle
import random

import pyarrow as pa
import pytest

import fastpair as fp
from test_tables import FAST, TABLE

WORDS = ["timeout", "GET", "ok", "9", "", "straße", "ERROR 1", "title 5", "\xff"]


def truth(condition, row):
    """True, False or None, as SQL says."""
    kind, *rest = condition
    if kind == "not":
        answer = truth(rest[0], row)
        return None if answer is None else not answer
    if kind in ("and", "or"):
        answers = [truth(one, row) for one in rest]
        decided = kind == "or"
        return decided if decided in answers else None if None in answers else not decided
    value = row[rest[0]]
    if kind == "is_null":
        return value is None
    if kind == "isin":
        if not rest[1]:
            return False
        if value is None:
            return None
        return True if value in rest[1] else None if None in rest[1] else False
    if value is None or rest[1] is None:
        return None
    if kind == "like":
        return like(value, rest[1])
    return {"contains": lambda: rest[1] in value, "prefix": lambda: value.startswith(rest[1]),
            "suffix": lambda: value.endswith(rest[1]), "equals": lambda: value == rest[1]}[kind]()


def like(value, pattern):
    if not pattern:
        return not value
    if pattern[0] == "%":
        return any(like(value[i:], pattern[1:]) for i in range(len(value) + 1))
    return bool(value) and (pattern[0] in ("_", value[0])) and like(value[1:], pattern[1:])


def random_condition(chosen, depth=0):
    if depth < 3 and chosen.random() < 0.55:
        kind = chosen.choice(["and", "or", "not"])
        return kind, *(random_condition(chosen, depth + 1) for _ in range(1 if kind == "not" else chosen.randint(1, 3)))
    column = chosen.choice(["url", "title", "raw", "n"])
    if chosen.random() < 0.15:
        return "is_null", column
    if column == "n":
        return chosen.choice([("equals", "n", chosen.randint(0, 30)), ("isin", "n", chosen.choices(range(50), k=5)),
                              ("equals", "n", None), ("isin", "n", [])])
    kind = chosen.choice(["contains", "prefix", "suffix", "equals", "isin", "like"])

    def value():
        word = chosen.choice(WORDS)
        return word.encode("latin-1") if column == "raw" else word
    if kind == "isin":
        values = [value() for _ in range(chosen.randint(0, 4))]
        return kind, column, values + [None] * chosen.choice([0, 0, 1])
    if kind == "like":
        return (kind, column, chosen.choice(["%out%", "title _", "_ET%9", "%"])) if column != "raw" else ("is_null", "raw")
    return kind, column, value() if chosen.random() < 0.95 else None


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("conditions") / "table"
    table = TABLE.slice(0, 1500)
    fp.write_table(path, table, part_rows=600, chunk_bytes=4000, **FAST)
    return fp.open_table(path), table, table.to_pylist()


@pytest.mark.parametrize("seed", range(60))
def test_against_the_oracle(small, seed):
    ds, table, rows = small
    chosen = random.Random(seed)
    condition = random_condition(chosen)
    expected = [i for i, row in enumerate(rows) if truth(condition, row) is True]
    assert ds.count(condition) == len(expected), condition
    result = ds.read(where=condition)
    result.validate(full=True)
    assert result.equals(table.take(pa.array(expected, pa.int64()))), condition
    limit = chosen.randint(0, 20)
    assert ds.read(["n"], condition, limit)["n"].to_pylist() == [rows[i]["n"] for i in expected[:limit]], condition
    units = [pickle.loads(pickle.dumps(unit)) for unit in ds.units(chosen.choice([None, 1, 200, 10_000]))]
    assert sum(unit.count(condition) for unit in units) == len(expected)
    # The columns that are tested need not be those that are read.
    columns = chosen.sample(ds.columns, 2)
    got = pa.concat_tables([unit.read(columns, condition) for unit in units])
    assert got.equals(table.take(pa.array(expected, pa.int64())).select(columns)), condition


def test_units_are_small_and_cover_all(small):
    ds, table, _ = small
    units = ds.units()
    assert len(units) > 6 and all(len(pickle.dumps(unit)) < 1500 for unit in units)
    assert pa.concat_tables([unit.read() for unit in units]).equals(table)
    assert all(unit.rows <= 200 for unit in ds.units(200)) and len(ds.units(200)) < len(units)
    assert units[0].read(["title"], limit=3).to_pydict() == {"title": ["title 0", "title 1", "title 2"]}
    assert units[0].read(limit=0).num_rows == 0
    assert units[0].count() == units[0].rows


@pytest.mark.parametrize("wrong", ["text", (), ("contains",), ("contains", "url"), ("and",), ("not", ("is_null", "url"), 1),
                                   ("is_null", "url", 3), ("contains", "url", 3), (3, "url"), ("and", "url")])
def test_no_condition(small, wrong):
    with pytest.raises(TypeError):
        small[0].count(wrong)


def test_unknown_condition(small):
    with pytest.raises(ValueError, match="no condition is called 'regex'"):
        small[0].count(("regex", "url", "x"))


def test_a_part_that_changed(tmp_path):
    path = tmp_path / "table"
    fp.write_part(path, TABLE.slice(0, 10), 0)
    ds = fp.open_table(path)
    fp.write_part(path, TABLE.slice(0, 11), 0)
    with pytest.raises(fp.Error, match="11 rows, but there were 10 when the table was opened; open it again"):
        ds.units()[0].read()
    with pytest.raises(Exception, match="11 rows, but there were 10"):
        pa.table(ds)
