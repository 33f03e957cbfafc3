"""One mutant from a seed and a number: a file to begin with, changed at one level or at several."""

import random

from mutator import content_changes, dictionary_changes, image_changes, part_changes
from mutator.assemble import assemble, seal
from mutator.derive import derive
from mutator.synthesize import synthesize

# Of 100 mutants so many are changed at this level at last; the levels above may add changes.
LEVELS = [("content", 50), ("parts", 20), ("sealed", 17), ("blunt", 10), ("unchanged", 3)]
SYNTHETIC_SHARE = 0.4
DESCRIBED_SHARE = 0.5
COLD_SHARE = 0.3
FOLDED_SHARE = 0.3


class Mutant:
    """The bytes of a file, and how they came about."""

    def __init__(self, data, history):
        self.data = data
        self.history = history


def _apply(rng, changes, subject, history):
    """Tries changes until one applies; at most a few, since some files have nothing to change."""
    for _ in range(8):
        change = rng.choice(changes)
        if change(rng, subject) is not False:
            history.append(change.__name__)
            return


def mutate(seed, number, bases):
    """Mutant number `number` of this seed. bases: names and contents of files to begin with."""
    rng = random.Random(f"{seed}/{number}")
    level = rng.choices([name for name, _ in LEVELS], [weight for _, weight in LEVELS])[0]
    if rng.random() < SYNTHETIC_SHARE:
        history, content = ["synthetic"], synthesize(rng)
    else:
        name, base = rng.choice(bases)
        history, content = [name], base.copy()
    if rng.random() < COLD_SHARE:
        content_changes.make_cold(rng, content)
    if rng.random() < FOLDED_SHARE:
        content_changes.make_folded(rng, content)
    if rng.random() < DESCRIBED_SHARE:
        content_changes.describe_truly(rng, content)
    on_content = rng.choice((1, 1, 2, 3)) if level == "content" else rng.choice((0, 0, 0, 1))
    for _ in range(on_content if level != "unchanged" else 0):
        source = rng.choice((content_changes, content_changes, dictionary_changes))
        _apply(rng, source.CHANGES, content, history)
    parts = derive(content)
    if level == "parts":
        for _ in range(rng.choice((1, 1, 2))):
            _apply(rng, part_changes.CHANGES, parts, history)
    image = assemble(parts)
    if level == "sealed":
        for _ in range(rng.choice((1, 1, 1, 2))):
            _apply(rng, image_changes.SEALED, image, history)
        seal(image)
    data = bytes(image.data)
    if level == "blunt":
        change = rng.choice(image_changes.BLUNT)
        history.append(change.__name__)
        data = bytes(change(rng, data))
    return Mutant(data, history)
