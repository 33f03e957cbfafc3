"""Valid files that the library would never write: narrow codes, sparse dictionaries, odd chunks."""

from decoder.wire import round_up
from mutator.content import Chunk, Content, Dictionary, Row
from mutator.numbers import random_bytes


def _run(rng, first, length, most):
    tokens = [random_bytes(rng, length) for _ in range(rng.choice((1, 2, 3, rng.randint(1, most))))]
    return [first, tokens]


def _runs_in_any_order(rng, longest):
    runs, code = [], 0
    for _ in range(rng.choice((1, 1, 2, 3, rng.randint(1, 20)))):
        runs.append(_run(rng, code, rng.randint(1, longest), 20))
        code += len(runs[-1][1]) + rng.choice((0, 0, 0, rng.randint(1, 40)))
    return runs


def _runs_in_classes(rng, longest, shift):
    """Runs by length classes, and the first code of the cold part or 0."""
    runs, hot, code = [], 0, 0
    for part in range(rng.choice((1, 2))):
        if part == 1:
            hot = code
        lengths = sorted(rng.sample(range(1, longest + 1), rng.randint(1, min(6, longest))))
        for length in lengths:
            runs.append(_run(rng, code, length, 2 << shift))
            gap = rng.choice((0, 0, 0, rng.randint(1, 2) << shift))
            code = round_up(code + len(runs[-1][1]), 1 << shift) + gap
    return runs, hot


def synthesize_dictionary(rng, sparse=False):
    """A valid dictionary. A sparse one has up to 2^16 slots."""
    longest = rng.choice((8, 16, 32, 64))
    order = rng.randrange(2)
    shift = rng.choice((0, 1, 2, 3, 5)) if order else 0
    if order:
        runs, hot = _runs_in_classes(rng, longest, shift)
    else:
        runs, hot = _runs_in_any_order(rng, longest), 0
    end = runs[-1][0] + len(runs[-1][1])
    slots = end + rng.choice((0, 0, 1, rng.randint(0, 300)))
    if sparse:
        slots = max(slots, rng.choice((1 << 15, (1 << 15) + 1, 1 << 16)))
    slots = max(slots, hot + 1)
    return Dictionary(rng.choice((1, 2)), longest, order, shift, hot, slots, rng.getrandbits(64), runs)


def synthesize_rows(rng, dictionary):
    """Rows for a chunk with this dictionary, or for a stored chunk where it is None."""
    rows = []
    codes = list(dictionary.token_of()) if dictionary else None
    null_share, longest = rng.choice((0, 0, 0.1, 0.9)), rng.choice((1, 3, 12))
    for _ in range(rng.choice((1, 2, rng.randint(1, 20), rng.randint(1, 600)))):
        size = rng.randint(0, longest)
        if rng.random() < null_share:
            rows.append(Row([] if dictionary else b"", False))
        else:
            rows.append(Row(rng.choices(codes, k=size) if dictionary else random_bytes(rng, size)))
    if dictionary and not any(row.items for row in rows):
        rows.append(Row(rng.choices(codes, k=longest)))
    return rows


def synthesize(rng):
    """A valid file of a few blocks."""
    framing = rng.randrange(2)
    blocks, dictionaries = [], []
    for _ in range(rng.choice((0, 1, 2, 2, 3, 4, 6))):
        if rng.random() < 0.4 or not blocks:
            dictionaries.append(synthesize_dictionary(rng, sparse=rng.random() < 0.05))
            blocks.append(dictionaries[-1])
        else:
            dictionary = rng.choice(dictionaries + [None])
            rows = synthesize_rows(rng, dictionary)
            batch = 32 * rng.choice((1, 2, 3, 8, 17, 32))
            if dictionary:
                batch = min(batch, 16384 // dictionary.longest)
            blocks.append(Chunk(dictionary, rows, batch))
    separator = rng.choice((0, 10, 255)) if framing else 0
    return Content(rng.choice((64, 64, 64, 4096)), framing, separator, rng.randrange(2) * framing, blocks)
