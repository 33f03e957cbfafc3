"""Changes of rows, chunks and the file as a whole; all else follows. Many leave the file valid.

Each change takes a random generator and a Content, and returns False where there is nothing to
change.
"""

from mutator.content import Chunk, Row
from mutator.numbers import odd_value, random_bytes


def _pick(rng, items):
    return rng.choice(items) if items else None


def _chunk(rng, content, coded=None):
    """A chunk, of the kind asked for, with at least one row; or None."""
    wanted = [c for c in content.chunks() if c.rows and (coded is None or (c.dictionary is not None) == coded)]
    return _pick(rng, wanted)


def change_code(rng, content):
    """One code becomes another: with a token, without one, or not below N."""
    chunk = _chunk(rng, content, coded=True)
    row = _pick(rng, [row for row in chunk.rows if row.items]) if chunk else None
    if not row:
        return False
    any_code = rng.randrange(1 << chunk.dictionary.bits())
    with_token = rng.choice(list(chunk.dictionary.token_of()))
    row.items[rng.randrange(len(row.items))] = rng.choice((any_code, with_token, with_token))


def change_stored_bytes(rng, content):
    """A row of a stored chunk gets other bytes, and perhaps as many."""
    chunk = _chunk(rng, content, coded=False)
    if not chunk:
        return False
    row = rng.choice(chunk.rows)
    row.items = random_bytes(rng, rng.choice((0, len(row.items), len(row.items) + 1, 300)))


def insert_row(rng, content):
    """A row comes twice, or empty, or null."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    at = rng.randrange(len(chunk.rows))
    row = chunk.rows[at]
    items, valid = rng.choice(((row.items, row.valid), (row.items[:0], True), (row.items[:0], False)))
    chunk.rows[at:at] = [Row(items[:], valid) for _ in range(rng.choice((1, 1, 2, 257)))]


def remove_rows(rng, content):
    """Rows are gone; a chunk that has lost all of them is not valid."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    at = rng.randrange(len(chunk.rows))
    del chunk.rows[at : at + rng.choice((1, 1, 10, len(chunk.rows)))]


def join_rows(rng, content):
    """Two rows become one."""
    chunk = _chunk(rng, content)
    if not chunk or len(chunk.rows) < 2:
        return False
    at = rng.randrange(len(chunk.rows) - 1)
    chunk.rows[at].items = chunk.rows[at].items + chunk.rows.pop(at + 1).items


def empty_rows(rng, content):
    """All rows of a chunk lose their codes. A coded chunk then has none, which is not valid."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    for row in chunk.rows:
        row.items = row.items[:0]


def toggle_null(rng, content):
    """A row becomes null, or stops being null; sometimes a null row keeps its bytes."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    row = rng.choice(chunk.rows)
    row.valid = not row.valid
    if not row.valid and rng.random() < 0.7:
        row.items = row.items[:0]


def move_row_end(rng, content):
    """A row ends some bytes later: for a coded chunk, perhaps inside a token."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    chunk.moved[rng.randrange(len(chunk.rows))] = rng.randint(-4, 4)


def choose_lengths(rng, content):
    """Another minimum or width for a block of lengths: valid, unless it goes below 0 or above 32."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    block = rng.randrange(-(-len(chunk.rows) // 256))
    chunk.length_choice[block] = rng.choice((0, 0, 1, 2, 30)), rng.choice((0, 1, 5, 32, 33))


def choose_group_position(rng, content):
    """A group's position below its first batch's: valid where neither number wraps."""
    chunk = _chunk(rng, content, coded=True)
    if not chunk:
        return False
    chunk.group_choice[rng.choice((0, 0, 1, 2))] = rng.choice((1, 17, 500, 65535, 65536, -1))


def change_batch(rng, content):
    """Another number of codes per batch."""
    chunk = _chunk(rng, content, coded=True)
    if not chunk:
        return False
    chunk.group = None
    chunk.batch = rng.choice((32, 64, 96, 128, 480, 512, 992, 1024, 1056, 16, 33, 4096))


def change_group(rng, content):
    """Another number of batches per group. Valid if it is a power of two, not too large, and deltas fit."""
    chunk = _chunk(rng, content, coded=True)
    if not chunk:
        return False
    chunk.group = rng.choice((None, 1, 2, 4, 8, 32, 64, 128, 256, 3, 1 << 31))


def store_chunk(rng, content):
    """A coded chunk becomes a stored chunk of the same rows."""
    chunk = _chunk(rng, content, coded=True)
    if not chunk:
        return False
    token_of = chunk.dictionary.token_of()
    chunk.dictionary = None
    for row in chunk.rows:
        row.items = b"".join(token_of.get(code, b"?") for code in row.items)


def change_dictionary(rng, content):
    """A chunk uses another dictionary, which may come after it or lack its codes."""
    chunk = _chunk(rng, content, coded=True)
    if not chunk or not content.dictionaries():
        return False
    chunk.dictionary = rng.choice(content.dictionaries())
    for row in chunk.rows:
        row.items = [code & (1 << chunk.dictionary.bits()) - 1 for code in row.items]


def split_chunk(rng, content):
    """Rows from one on become a chunk of their own."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    at = rng.randrange(len(chunk.rows))
    content.blocks.insert(content.blocks.index(chunk) + 1, Chunk(chunk.dictionary, chunk.rows[at:], chunk.batch))
    del chunk.rows[at:]


def copy_chunk(rng, content):
    """A chunk comes once more, anywhere."""
    chunk = _chunk(rng, content)
    if not chunk:
        return False
    content.blocks.insert(rng.randint(0, len(content.blocks)), chunk.copy({}))


def remove_block(rng, content):
    """A chunk or a dictionary is gone."""
    if not content.blocks:
        return False
    del content.blocks[rng.randrange(len(content.blocks))]


def move_block(rng, content):
    """A block moves; a dictionary may then come after its chunk."""
    if len(content.blocks) < 2:
        return False
    block = content.blocks.pop(rng.randrange(len(content.blocks)))
    content.blocks.insert(rng.randint(0, len(content.blocks)), block)


def change_alignment(rng, content):
    """All parts move to multiples of another number."""
    content.alignment = 4096 + 64 - content.alignment if rng.random() < 0.8 else rng.choice((0, 32, 128, 8192))


def change_framing(rng, content):
    """Framing, the separator or the final separator become others."""
    name = rng.choice(("framing", "separator", "final_separator"))
    setattr(content, name, rng.choice((1 - min(1, getattr(content, name)), odd_value(rng, getattr(content, name), 1))))


def describe_truly(rng, content):
    """A name, pairs, bounds and a later version, as a writer could have made them."""
    about = content.about
    about.name = rng.choice((None, b"l_comment", "Größe".encode()))
    about.pairs = rng.choice((None, [], [(b"a", b"\0"), (b"unit", b"EUR")]))
    about.width = rng.choice((0, 8, 16, 32, 64))
    about.minor = rng.choice((0, 0, 0, 3))
    about.extra = [2] if about.minor and rng.random() < 0.5 else []


def describe(rng, content):
    """A name, pairs, bounds, the type, or what a later version may add."""
    about = content.about
    what = rng.randrange(7)
    words = (b"name", "Straße".encode(), b"x" * 1024, b"x" * 1025, b"", b"a\0b", b"\xff")
    if what == 0:
        about.name = rng.choice(words + words[:1] * 4)
    elif what == 1:
        keys = sorted(rng.sample([b"a", b"aa", b"b", "ß".encode(), b"k" * 256], rng.randint(0, 5)))
        about.pairs = [(key, random_bytes(rng, rng.choice((0, 1, 300)))) for key in keys]
        if rng.random() < 0.2:
            about.pairs.insert(rng.randint(0, len(keys)), (rng.choice(words + (b"a", b"zz")), b""))
    elif what in (2, 3):
        about.width = rng.choice((8, 16, 32, 64))
    elif what == 4:
        about.is_text ^= 1
    else:
        about.minor = rng.choice((1, 7, 65535))
        about.unknown = [(rng.randint(4, 40), 0, random_bytes(rng, 9))] if rng.random() < 0.5 else []
        about.extra = rng.choice(([], [1], [3, 1]))


def make_cold(rng, content):
    """Some blocks become cold, or warm, with the chunk's groups as a writer takes them or not."""
    if not content.blocks:
        return False
    for block in rng.sample(content.blocks, rng.randint(1, len(content.blocks))):
        block.cold = not block.cold
        if isinstance(block, Chunk) and rng.random() < 0.9:
            block.group = None


def make_folded(rng, content):
    """Some dictionaries become folded, or plain."""
    dictionaries = [block for block in content.blocks if not isinstance(block, Chunk)]
    if not dictionaries:
        return False
    for dictionary in rng.sample(dictionaries, rng.randint(1, len(dictionaries))):
        dictionary.folded = not dictionary.folded


def change_word(rng, content):
    """A word of a cold chunk becomes another: a code, an end of a row, or neither."""
    chunk = _pick(rng, [chunk for chunk in content.chunks() if chunk.cold and chunk.dictionary and chunk.rows])
    if not chunk:
        return False
    count = sum(len(row.items) + 1 for row in chunk.rows)
    end = chunk.dictionary.slots
    places = rng.choice(([rng.randrange(count)], [count - 1], rng.sample(range(count), min(2, count))))
    for place in places:
        chunk.words[place] = rng.choice((end, end + 1, end + 2, end - 1, 0, 65535, rng.randrange(end)))


CHANGES = [
    make_folded,
    make_folded,
    make_cold,
    make_cold,
    change_word,
    change_word,
    change_word,
    describe,
    describe,
    describe,
    change_code,
    change_code,
    change_stored_bytes,
    insert_row,
    remove_rows,
    join_rows,
    empty_rows,
    toggle_null,
    toggle_null,
    move_row_end,
    choose_lengths,
    choose_group_position,
    change_batch,
    change_group,
    store_chunk,
    change_dictionary,
    split_chunk,
    copy_chunk,
    remove_block,
    move_block,
    change_alignment,
    change_framing,
]
