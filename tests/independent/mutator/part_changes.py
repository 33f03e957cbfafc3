"""Changes of header fields and of sections' bytes. Places, sizes and checksums follow.

Each change takes a random generator and Parts, and returns False where there is nothing to change.
"""

import ctypes

from decoder.dictionary_block import COLD, FOLDED
from decoder.frame import ZSTD
from decoder.headers import LENGTH_BLOCK, RUN
from decoder.wire import integer
from mutator.frames import ODD_FRAMES
from mutator.numbers import odd_value, random_bytes


def _block(rng, parts, chunk=None):
    blocks = [part for part in parts.blocks if chunk is None or part.is_chunk() == chunk]
    return rng.choice(blocks) if blocks else None


def change_field(rng, parts):
    """A field of a block's header that is not derived from the places of its sections."""
    part = _block(rng, parts)
    if not part:
        return False
    placed = ("hash", "block_size") + tuple(f"{s}_{f}" for s in part.sections for f in ("offset", "size", "hash"))
    name = rng.choice([name for name in part.layout.fields if name not in placed])
    part.values[name] = odd_value(rng, part.values[name], part.layout.fields[name][1])


def change_file_field(rng, parts):
    """A field of the file header."""
    name, size = rng.choice((("magic", 8), ("major", 2), ("minor", 2), ("framing", 1), ("separator", 1), ("features", 4)))
    parts.header[name] = odd_value(rng, parts.header[name], size)


def wrap_counts(rng, parts):
    """Counts by length that add up only if sums are cut to 64 bits."""
    part = _block(rng, parts, chunk=True)
    if not part:
        return False
    first = rng.randint(1, 16)
    second = rng.choice([length for length in range(1, 17) if length % 2 == first % 2 and length != first])
    for length in (first, second):
        part.values[f"count_{length}"] += 1 << 63


def exchange_counts(rng, parts):
    """Counts by length that add up, but are not those of the codes."""
    part = _block(rng, parts, chunk=True)
    if not part:
        return False
    low, high = sorted(rng.sample(range(1, 17), 2))
    if part.values[f"count_{low}"] == 0 or part.values[f"count_{high}"] == 0 or high - low < 2:
        return False
    for length, amount in ((low, -1), (low + 1, 1), (high, -1), (high - 1, 1)):
        part.values[f"count_{length}"] += amount


def _section(rng, parts):
    part = _block(rng, parts)
    names = [name for name, section in part.sections.items() if section] if part else []
    if not names:
        return None
    name = rng.choice(names)
    part.sections[name] = bytearray(part.sections[name])
    return part.sections[name]


def change_bytes(rng, parts):
    """Any bytes of a section."""
    section = _section(rng, parts)
    if not section:
        return False
    size = rng.choice((1, 1, 2, 4))
    at = rng.randrange(max(1, len(section) - size + 1))
    changed = odd_value(rng, integer(section, at, size), size).to_bytes(size, "little")
    section[at : at + size] = changed[: len(section) - at]


def toggle_last_bit(rng, parts):
    """The last bit of a section, which often is padding."""
    section = _section(rng, parts)
    if not section:
        return False
    section[-1] ^= 0x80


def resize_section(rng, parts):
    """A section grows or shrinks; its entry says so."""
    section = _section(rng, parts)
    if not section:
        return False
    size = rng.choice((1, 2, 4, 8, 16, 64))
    at = rng.choice((len(section), rng.randrange(len(section))))
    if rng.random() < 0.5:
        section[at:at] = rng.choice((bytes(size), random_bytes(rng, size)))
    else:
        del section[-size:]


def _change_entry(rng, section, layout, entries):
    """A field of one of the entries that a section begins with."""
    at = layout.size * rng.randrange(entries)
    offset, size = rng.choice(list(layout.fields.values()))
    at += offset
    if at + size > len(section):
        return False
    section[at : at + size] = odd_value(rng, integer(section, at, size), size).to_bytes(size, "little")


def change_run(rng, parts):
    """A field of a run of tokens."""
    part = _block(rng, parts, chunk=False)
    if not part or not part.values["runs"]:
        return False
    part.sections["token"] = bytearray(part.sections["token"])
    return _change_entry(rng, part.sections["token"], RUN, min(part.values["runs"], 40))


def change_length_block(rng, parts):
    """A field of the directory of row lengths."""
    part = _block(rng, parts, chunk=True)
    if not part or not part.sections["lengths"]:
        return False
    part.sections["lengths"] = bytearray(part.sections["lengths"])
    return _change_entry(rng, part.sections["lengths"], LENGTH_BLOCK, -(-part.values["rows"] // 256) or 1)


def fill_section(rng, parts):
    """A section that should be empty is not."""
    part = _block(rng, parts, chunk=True)
    names = [name for name, section in part.sections.items() if not section] if part else []
    if not names:
        return False
    part.sections[rng.choice(names)] = bytearray(rng.choice((1, 2, 6, 16, part.values["rows"] % 4096 // 8 + 1)))


def add_gap(rng, parts):
    """Zeros too many: before a section, at a block's end, or after it. All places allow for them."""
    part = _block(rng, parts)
    if not part:
        return False
    size = rng.choice((1, 8, 64, 4096))
    where = rng.randrange(3)
    if where == 0:
        part.gaps[rng.choice(list(part.sections))] = size
    elif where == 1:
        part.tail = size
    else:
        part.padding = size


def list_block(rng, parts):
    """The footer lists a block twice, or not at all; its sums are those of what it lists."""
    if not parts.blocks:
        return False
    parts.listed[rng.randrange(len(parts.blocks))] = rng.choice((0, 2))


def change_footer_part(rng, parts):
    """A part of the footer has other bytes, another size, kind or flag, or another place."""
    if not parts.footer_parts:
        return False
    part = rng.choice(parts.footer_parts)
    data = bytearray(part[2])
    what = rng.randrange(6)
    if what == 0:
        part[0] = odd_value(rng, part[0], 4)
    elif what == 1:
        part[1] = odd_value(rng, part[1], 4)
    elif what == 2:
        rng.shuffle(parts.footer_parts)
    elif what == 3:
        part[2] = bytes(data[: -rng.choice((1, 8, 24))] if rng.random() < 0.5 else data + random_bytes(rng, 8))
    else:
        at = rng.randrange(len(data))
        size = min(len(data) - at, rng.choice((1, 1, 4)))
        data[at : at + size] = odd_value(rng, integer(data, at, size), size).to_bytes(size, "little")
        part[2] = bytes(data)


def add_footer_part(rng, parts):
    """A part that nobody knows, which may be required; or one too many."""
    kind = rng.choice((4, 5, 1000, 1 << 31))
    flags = rng.choice((0, 0, 0, 1))
    parts.footer_parts.append([kind, flags, random_bytes(rng, rng.choice((1, 7, 8, 100)))])
    if rng.random() < 0.1:
        parts.footer_parts += [[kind + 1 + i, 0, b"x"] for i in range(63)]


def reframe(rng, parts):
    """The frame of a cold block is another one, perhaps with a fault."""
    cold = [part for part in parts.blocks if (part.values["encoding"] & 2 if part.is_chunk() else part.values["form"] == COLD)]
    if not cold:
        return False
    part = rng.choice(cold)
    name = "code" if part.is_chunk() else "token"
    frame = bytes(part.sections[name])
    room = ctypes.create_string_buffer(1 << 20)
    size = ZSTD.ZSTD_decompress(room, len(room), frame, len(frame))
    if size <= len(room):
        part.sections[name] = bytearray(rng.choice(ODD_FRAMES)(rng, room.raw[:size]))


def refold(rng, parts):
    """Some bits of a folded dictionary become others, or there are more or fewer of them."""
    folded = [part for part in parts.blocks if not part.is_chunk() and part.values["form"] == FOLDED]
    if not folded:
        return False
    part = rng.choice(folded)
    section, begin = part.sections["token"], 8 * part.values["runs"]
    what = rng.randrange(6)
    if what == 0 or begin >= len(section):
        section += bytes(rng.choice((1, 8)))
    elif what == 1:
        del section[-1]
    elif what == 2:
        part.values["plain_size"] += rng.choice((-1, 1, 8))
    else:
        for _ in range(rng.choice((1, 1, 2))):
            section[rng.randrange(begin, len(section))] ^= 1 << rng.randrange(8)


CHANGES = [
    refold,
    refold,
    refold,
    refold,
    reframe,
    reframe,
    reframe,
    reframe,
    change_footer_part,
    change_footer_part,
    change_footer_part,
    add_footer_part,
    change_field,
    change_field,
    change_field,
    change_field,
    change_file_field,
    wrap_counts,
    exchange_counts,
    change_bytes,
    change_bytes,
    change_bytes,
    toggle_last_bit,
    resize_section,
    fill_section,
    change_run,
    change_length_block,
    add_gap,
    list_block,
]
