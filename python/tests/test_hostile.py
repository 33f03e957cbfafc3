"""Damaged and forged files through Python: an exception or the right rows, never a crash."""
import os
import pathlib
import random
import subprocess

import pyarrow as pa
import pytest

import fastpair as fp

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"
FILES = sorted(GOLDEN.glob("*.fpc"))
# A refusal is one of these; anything else is a fault of ours.
REFUSALS = (fp.Error, OSError, MemoryError)


def use_everything(image):
    """Every way into a column; returns whether all went well."""
    good = True

    def attempt(call):
        nonlocal good
        try:
            return call()
        except REFUSALS as error:
            assert str(error)
            good = False
        except pa.lib.ArrowException as error:
            # A stream says why in words.
            assert str(error)
            good = False

    column = attempt(lambda: fp.open(image, threads=1))
    if column is None:
        return False
    count = len(column)
    if count > 10_000_000:
        column = column[:1000]
    attempt(column.validate)
    attempt(lambda: column.info)
    attempt(lambda: column.metadata)
    attempt(lambda: column.chunks[:10] if count < 10_000_000 else None)
    attempt(lambda: [column[i] for i in range(min(20, len(column)))])
    attempt(lambda: column[len(column) // 2:].to_pylist())
    attempt(lambda: column.take(range(min(50, len(column)))))
    attempt(lambda: column.count(contains="a", prefix="b"))
    attempt(lambda: column.match(equals="abc"))
    attempt(lambda: column.filter(like="%e%", limit=10))
    for type_ in (None, pa.binary_view(), pa.large_binary()):
        array = attempt(lambda: pa.array(column, type=type_))
        if array is not None:
            # Whatever the file holds, what comes out is sound: text is UTF-8.
            array.validate(full=True)
    array = attempt(lambda: pa.chunked_array(column))
    if array is not None:
        array.validate(full=True)
    attempt(lambda: pa.table(fp.table(a=column, b=column)))
    attempt(lambda: repr(column))
    return good


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files(path):
    assert use_everything(path.read_bytes())


def mutants(image, chosen, count):
    for _ in range(count):
        bytes_ = bytearray(image)
        for _ in range(chosen.choice((1, 1, 2, 8))):
            kind = chosen.random()
            at = chosen.randrange(len(bytes_))
            if kind < 0.5:
                bytes_[at] ^= 1 << chosen.randrange(8)
            elif kind < 0.7:
                bytes_[at:at + 8] = chosen.randbytes(len(bytes_[at:at + 8]))
            elif kind < 0.8:
                bytes_[at:at + 4] = b"\xff" * len(bytes_[at:at + 4])
            elif kind < 0.9 and len(bytes_) > 64:
                del bytes_[at:]
                bytes_ = bytes_ or bytearray(b"x")
            else:
                source = chosen.randrange(len(bytes_))
                part = bytes_[source:source + 64]
                bytes_[at:at + len(part)] = part
        yield bytes(bytes_)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mutants(path, request):
    image = path.read_bytes()
    chosen = random.Random(path.stem)
    refused = 0
    # Large files take long to go through.
    scale = float(os.environ.get("FASTPAIR_TEST_SCALE", "1")) * (10 if request.config.getoption("--slow") else 1)
    count = max(5, min(60, 2_000_000 // len(image)))
    for mutant in mutants(image, chosen, max(5, int(count * scale))):
        refused += not use_everything(mutant)
    assert refused > 0


def test_cut_files():
    image = fp.compress(["some rows"] * 100)
    for size in list(range(0, len(image), 7)) + [len(image) - 1]:
        with pytest.raises(fp.Error):
            fp.open(image[:size])


def test_a_file_that_says_text_and_lies(rows):
    """The flag is changed by hand; Arrow consumers must never see what is not UTF-8 as text."""
    text = fp.compress(["straße %d" % i for i in range(5000)], codec="stored")
    bytes_ = text.replace("straße 77".encode(), b"stra\xc3(e 77")
    assert bytes_ != text and len(bytes_) == len(text)
    column = fp.open(bytes_)
    assert column.type == "text"
    for use in (lambda: pa.array(column), lambda: column.__arrow_c_array__(), lambda: column.to_pylist(),
                lambda: column.take([77]), lambda: column[77], lambda: column.filter(contains="77")):
        with pytest.raises(fp.Error) as caught:
            use()
        assert caught.value.status == "CORRUPT"
    with pytest.raises(Exception, match="UTF-8"):
        pa.chunked_array(column)
    with pytest.raises(Exception, match="UTF-8"):
        pa.table(fp.table(a=column))
    assert pa.array(column, type=pa.binary())[77].as_py() == b"stra\xc3(e 77"
    assert column[78] == "straße 78"


def test_seeds(tmp_path):
    """The fuzzers' seeds, each as it is and damaged."""
    build = os.environ.get("FASTPAIR_TEST_BUILD", "")
    if not os.path.exists(os.path.join(build, "fastpair-gen")):
        pytest.skip("FASTPAIR_TEST_BUILD names no build folder")
    make = GOLDEN.parents[1] / "fuzz" / "make-seeds"
    subprocess.run([make, os.path.abspath(build), tmp_path / "seeds"], check=True, stdout=subprocess.DEVNULL)
    files = sorted(f for target in ("open", "sections", "job") for f in (tmp_path / "seeds" / target).iterdir())
    assert len(files) > 10
    chosen = random.Random(2)
    for path in files:
        image = path.read_bytes()
        use_everything(image)
        for mutant in mutants(image or b"x", chosen, 3):
            use_everything(mutant)
