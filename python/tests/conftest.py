"""What the tests share: columns of every shape, and --slow."""
import functools
import random
import signal

import pytest

import fastpair as fp


# Shells start what runs in the background with interrupts ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also tests that take minutes or much memory")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="--slow was not given"))


def make_rows(count, seed=1, nulls=0.1):
    """Rows with words, two-byte characters, empty rows, long rows and nulls."""
    chosen = random.Random(seed)
    words = ["GET /index", "POST /login", "timeout", "straße", "ERROR", "ok", "日本", "x" * 40]
    rows = []
    for i in range(count):
        draw = chosen.random()
        if draw < nulls:
            rows.append(None)
        elif draw < nulls + 0.05:
            rows.append("")
        else:
            rows.append(" ".join(chosen.choices(words, k=chosen.randint(1, 5))) + f" {i % 977}")
    return rows


ROWS = make_rows(20_000)
SHAPES = {
    "mixed": ROWS,
    "no nulls": [row or "-" for row in ROWS],
    "one": ["only"],
    "none": [],
    "all null": [None] * 1000,
    "all empty": [""] * 1000,
    "long": ["y" * 70_000, None, "z" * 3],
}


@functools.cache
def image_of(key, binary=False, **options):
    """A compressed shape, made once. One codec: training every candidate takes a while."""
    rows = SHAPES[key]
    if binary:
        rows = [None if row is None else row.encode() + b"\xff" for row in rows]
    return fp.compress(rows, codec="onpair12", **options)


def column_of(rows, **options):
    """A column of some shape's rows."""
    key = next(key for key, value in SHAPES.items() if value is rows)
    return fp.open(image_of(key, **options))


@pytest.fixture(params=list(SHAPES))
def shape(request):
    """Rows of some shape."""
    return SHAPES[request.param]


@pytest.fixture
def rows():
    return ROWS


@pytest.fixture
def column(rows):
    """Text in several chunks."""
    return column_of(rows, chunk_bytes=64_000, name="event")


@pytest.fixture
def binary(rows):
    """Bytes that are not UTF-8, in several chunks."""
    return column_of(rows, chunk_bytes=64_000, binary=True)
