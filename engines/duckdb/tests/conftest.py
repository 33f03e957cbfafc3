"""What the tests of the DuckDB extension share: a connection that has it, and rows of every shape.

FASTPAIR_DUCKDB_EXTENSION names the extension, which tools/duckdb-extension builds; without it build/ is looked in.
"""

import os
import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import fastpair as fp

TREE = Path(__file__).resolve().parents[3]
EXTENSION = Path(os.environ.get("FASTPAIR_DUCKDB_EXTENSION", TREE / "build" / "fastpair.duckdb_extension"))
# The corpus of hostile files is smaller under AddressSanitizer, where each of them takes ten times as long.
SANITIZED = bool(os.environ.get("FASTPAIR_SANITIZED"))


def connect(threads=2):
    """A database in memory with the extension loaded."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": threads})
    connection.execute(f"LOAD '{EXTENSION}'")
    return connection


@pytest.fixture
def con():
    with connect() as connection:
        yield connection


def make_rows(count, seed=1, nulls=0.1):
    """Rows with words, two-byte characters, empty rows, rows around DuckDB's 12 bytes, long rows and nulls."""
    chosen = random.Random(seed)
    words = ["GET /index", "POST /login", "timeout", "straße", "ERROR", "ok", "日本", "a%b_c", "x" * 40]
    rows = []
    for i in range(count):
        draw = chosen.random()
        if draw < nulls:
            rows.append(None)
        elif draw < nulls + 0.05:
            rows.append("")
        elif draw < nulls + 0.25:
            rows.append("0123456789abcdef"[: chosen.randint(1, 16)])
        else:
            rows.append(" ".join(chosen.choices(words, k=chosen.randint(1, 5))) + f" {i % 977}")
    return rows


ROWS = make_rows(20_000)
SHAPES = {
    "mixed": ROWS,
    "no nulls": [row or "-" for row in ROWS],
    "ascii": [row and row.encode("ascii", "ignore").decode() for row in ROWS],
    "one": ["only"],
    "none": [],
    "all null": [None] * 5000,
    "all empty": [""] * 5000,
    "long": ["y" * 70_000, None, "z" * 3, "日" * 30_000],
    "a vector": ["v"] * 2048,
    "a vector and one": [str(i) for i in range(2049)],
    "with NUL": ["a\0b", "\0", "a", None, "a\0b\0c" * 5],
}


def as_table(rows, name="value"):
    """The rows as an Arrow table, which DuckDB reads by itself."""
    kind = pa.binary() if any(isinstance(row, bytes) for row in rows) else pa.string()
    return pa.table({name: pa.array(rows, kind)})


def write(path, rows, **options):
    """Writes a column; one codec, as training every candidate takes a while."""
    options.setdefault("codec", "onpair12")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(fp.compress(as_table(rows)["value"], **options))
    return str(path)


def values(relation):
    """The first column of a relation's rows, as a list."""
    return [row[0] for row in relation.fetchall()]
