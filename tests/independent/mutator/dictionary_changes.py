"""Changes of dictionaries; the chunks that use them follow. Many leave the file valid.

Each change takes a random generator and a Content, and returns False where there is nothing to
change.
"""

from decoder.wire import round_up
from mutator.numbers import odd_value, random_bytes
from mutator.synthesize import synthesize_dictionary


def _dictionary(rng, content):
    dictionaries = content.dictionaries()
    return rng.choice(dictionaries) if dictionaries else None


def change_token(rng, content):
    """A token gets other bytes, or those of another token."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    tokens = rng.choice(dictionary.runs)[1]
    other = rng.choice((random_bytes(rng, len(tokens[0])), rng.choice(tokens)))
    tokens[rng.randrange(len(tokens))] = other


def change_token_length(rng, content):
    """The tokens of a run become longer or shorter."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    run = rng.choice(dictionary.runs)
    length = max(0, len(run[1][0]) + rng.choice((-1, 1, 1, 8, -20)))
    run[1] = [(token + bytes(24))[:length] for token in run[1]]


def promise_no_order(rng, content):
    """Order 0, which any runs obey; sometimes a shift or a hot part stays."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    dictionary.order = 0
    if rng.random() < 0.8:
        dictionary.shift = dictionary.hot = 0


def promise_classes(rng, content):
    """Order 1, whether or not the runs obey it."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    dictionary.order = rng.choice((1, 1, 1, 2))
    dictionary.shift = rng.choice((0, 0, 1, 2, 8, 15, 16))


def change_shift(rng, content):
    """Wider or narrower length classes."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    dictionary.shift = rng.choice((max(0, dictionary.shift - 1), dictionary.shift + 1, rng.randint(0, 17)))


def change_hot_part(rng, content):
    """The hot part ends elsewhere: at a run, inside one, in a gap, past all, nowhere."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    first, tokens = rng.choice(dictionary.runs)
    step = 1 << dictionary.shift % 16
    after = round_up(first + len(tokens), step)
    choices = (0, first, after, first + step, first - step, dictionary.slots, dictionary.slots - 1)
    dictionary.hot = max(0, rng.choice(choices))
    if rng.random() < 0.5:
        dictionary.slots = max(dictionary.slots, dictionary.hot + 1)


def promise_empty_part(rng, content):
    """A hot part that no run of the cold part follows, or that ends in a gap."""
    dictionaries = [d for d in content.dictionaries() if d.order == 1 and d.hot == 0]
    if not dictionaries:
        return False
    dictionary = rng.choice(dictionaries)
    first, tokens = rng.choice((dictionary.runs[-1], rng.choice(dictionary.runs)))
    dictionary.hot = round_up(first + len(tokens), 1 << dictionary.shift % 16)
    dictionary.slots = max(dictionary.slots, dictionary.hot + 1)


def change_slots(rng, content):
    """More or fewer slots; codes are packed anew where their width changes."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    end = dictionary.runs[-1][0] + len(dictionary.runs[-1][1])
    bits = dictionary.bits()
    choices = (end, end + 1, end - 1, 1 << bits, (1 << bits) + 1, 1 << 16, dictionary.slots + 1)
    dictionary.slots = max(1, rng.choice(choices))


def split_run(rng, content):
    """One run becomes two of the same length, which only order 0 allows."""
    dictionary = _dictionary(rng, content)
    i = rng.randrange(len(dictionary.runs)) if dictionary else 0
    if not dictionary or len(dictionary.runs[i][1]) < 2:
        return False
    first, tokens = dictionary.runs[i]
    at = rng.randrange(1, len(tokens))
    dictionary.runs[i : i + 1] = [[first, tokens[:at]], [first + at, tokens[at:]]]


def cut_run(rng, content):
    """A run loses tokens at its end; codes of rows may lose theirs."""
    dictionary = _dictionary(rng, content)
    run = rng.choice(dictionary.runs) if dictionary else None
    if not run or len(run[1]) < 2:
        return False
    del run[1][-rng.randint(1, min(3, len(run[1]) - 1)) :]


def move_run(rng, content):
    """A run begins at another code: in a gap, over its neighbour, after code 0."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    run = rng.choice(dictionary.runs)
    run[0] = max(0, run[0] + rng.choice((-1, 1, 1 << dictionary.shift % 16, -(1 << dictionary.shift % 16))))


def exchange_runs(rng, content):
    """Two runs change places."""
    dictionary = _dictionary(rng, content)
    if not dictionary or len(dictionary.runs) < 2:
        return False
    i = rng.randrange(len(dictionary.runs) - 1)
    dictionary.runs[i : i + 2] = reversed(dictionary.runs[i : i + 2])


def append_run(rng, content):
    """One more run after the others."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    first = dictionary.runs[-1][0] + len(dictionary.runs[-1][1])
    tokens = [random_bytes(rng, rng.randint(1, 64))] * rng.choice((1, 2, 65536 if rng.random() < 0.1 else 3))
    dictionary.runs.append([first, tokens])
    dictionary.slots = max(dictionary.slots, first + len(tokens))


def change_number(rng, content):
    """Codec, longest token or seed."""
    dictionary = _dictionary(rng, content)
    if not dictionary:
        return False
    name, size, usual = rng.choice((("codec", 1, (1, 2)), ("longest", 1, (8, 16, 32, 64)), ("seed", 8, (0, 1))))
    value = getattr(dictionary, name)
    setattr(dictionary, name, rng.choice((*usual, odd_value(rng, value, size))))


def insert_dictionaries(rng, content):
    """Dictionaries that no chunk uses. Many wide ones pass the library's limit."""
    many = rng.random() < 0.3
    at = rng.randint(0, len(content.blocks))
    first = synthesize_dictionary(rng, sparse=many)
    content.blocks[at:at] = [first.copy() for _ in range(rng.randint(2, 9) if many else 1)]


CHANGES = [
    change_token,
    change_token_length,
    promise_no_order,
    promise_classes,
    change_shift,
    change_hot_part,
    promise_empty_part,
    change_slots,
    split_run,
    cut_run,
    move_run,
    exchange_runs,
    append_run,
    change_number,
    insert_dictionaries,
]
