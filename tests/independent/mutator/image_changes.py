"""Changes of the finished file's bytes: with checksums made right again, or as accidents do it.

SEALED changes keep the size, so that everything stays where the Image says and can be sealed.
BLUNT changes take and give plain bytes.
"""

from decoder.headers import CHUNK_ENTRY, DICTIONARY_ENTRY, FILE_HEADER, FOOTER, PART_ENTRY, TRAILER
from decoder.wire import integer
from mutator.assemble import EXTRA_HEADER
from mutator.numbers import odd_value


def _headers(image):
    """(offset, layout) of every header and entry."""
    dictionaries = sum(not part.is_chunk() for _, part in image.blocks)
    entries = image.footer + FOOTER.size
    chunk_entries = entries + DICTIONARY_ENTRY.size * dictionaries
    found = [(0, FILE_HEADER), (image.footer, FOOTER), (image.trailer, TRAILER)]
    found += [(at, part.layout) for at, part in image.blocks]
    found += [(entries + DICTIONARY_ENTRY.size * i, DICTIONARY_ENTRY) for i in range(dictionaries)]
    chunks = len(image.blocks) - dictionaries
    found += [(image.part_entries + PART_ENTRY.size * i, PART_ENTRY) for i in range(image.parts)]
    return found + [(chunk_entries + CHUNK_ENTRY.size * i, CHUNK_ENTRY) for i in range(chunks)]


def change_header_field(rng, image):
    """Any field: places, sizes, checksums (those that sealing leaves alone), entries, sums."""
    at, layout = rng.choice(_headers(image))
    offset, size = rng.choice(list(layout.fields.values()))
    at += offset
    image.data[at : at + size] = odd_value(rng, integer(image.data, at, size), size).to_bytes(size, "little")


def change_zero_field(rng, image):
    """A byte of a header that must be zero."""
    at, layout = rng.choice([(at, layout) for at, layout in _headers(image) if layout.zeros])
    begin, end = rng.choice(layout.zeros)
    image.data[at + rng.randrange(begin, end)] = rng.randint(1, 255)


def change_footer_field(rng, image):
    """A field of the footer or of the trailer."""
    at, layout = rng.choice(((image.footer, FOOTER), (image.trailer, TRAILER)))
    offset, size = rng.choice(list(layout.fields.values()))
    at += offset
    image.data[at : at + size] = odd_value(rng, integer(image.data, at, size), size).to_bytes(size, "little")


def change_any_byte(rng, image):
    """A byte anywhere, gaps included."""
    image.data[rng.randrange(len(image.data))] ^= 1 << rng.randrange(8)


def spoil_hash(rng, image):
    """One checksum is wrong, and those of what it lies in are right."""
    hashes = [56, image.footer + FOOTER.size - 8, image.footer + FOOTER.fields["entries_hash"][0], image.trailer + 16]
    for at, part in image.blocks:
        hashes += [at + part.layout.fields[f"{name}_hash"][0] for name in part.sections]
        hashes.append(at + part.layout.size - 8)
    hashes += [image.part_entries + PART_ENTRY.size * i + 24 for i in range(image.parts)]
    hashes += [at + EXTRA_HEADER - 8 for at in image.extra]
    image.wrong_hashes.add(rng.choice(hashes))


def exchange_entries(rng, image):
    """Two entries of chunks in the footer change places, or a field of theirs does: sums stay."""
    chunks = sum(part.is_chunk() for _, part in image.blocks)
    if chunks < 2:
        return False
    begin = image.part_entries - CHUNK_ENTRY.size * chunks
    first, second = (begin + CHUNK_ENTRY.size * i for i in rng.sample(range(chunks), 2))
    offset, size = rng.choice(((0, CHUNK_ENTRY.size), *CHUNK_ENTRY.fields.values()))
    first, second = slice(first + offset, first + offset + size), slice(second + offset, second + offset + size)
    image.data[first], image.data[second] = image.data[second], image.data[first]


def change_parts_byte(rng, image):
    """A byte of the footer's parts or of what is before them: names, keys, bounds, gaps."""
    begin = image.part_entries + PART_ENTRY.size * image.parts
    if begin >= image.trailer:
        return False
    image.data[rng.randrange(begin, image.trailer)] = rng.choice((0, 1, 65, 128, 195, 255, rng.randrange(256)))


SEALED = [
    change_parts_byte,
    change_parts_byte,
    change_header_field,
    change_header_field,
    change_header_field,
    change_zero_field,
    change_footer_field,
    change_any_byte,
    change_any_byte,
    spoil_hash,
    exchange_entries,
    exchange_entries,
]


def flip_bits(rng, data):
    """One bit, or a few."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def cut_end(rng, data):
    """The file is shorter."""
    return data[: rng.choice((rng.randrange(len(data)), len(data) - rng.randint(1, 40), 0))]


def cut_middle(rng, data):
    """Bytes are missing."""
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 64, 500)) :]


def add_bytes(rng, data):
    """Bytes too many, at the end or anywhere."""
    at = rng.choice((len(data), rng.randrange(len(data))))
    return data[:at] + bytes(rng.choice((1, 64, 500))) + data[at:]


def repeat_bytes(rng, data):
    """A part of the file lies over another."""
    data = bytearray(data)
    size = min(len(data), rng.choice((8, 64, 300)))
    begin, at = rng.randint(0, len(data) - size), rng.randint(0, len(data) - size)
    data[at : at + size] = data[begin : begin + size]
    return data


BLUNT = [flip_bits, flip_bits, flip_bits, cut_end, cut_middle, add_bytes, repeat_bytes]
