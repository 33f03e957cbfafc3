"""The lower two levels of a file: parts (headers with values, sections with bytes) → an image.

assemble places everything as docs/format.md says and makes all checksums right. seal makes the
checksums right again after bytes of the image were changed, and nothing else.
"""

from decoder.headers import (
    CHUNK,
    CHUNK_ENTRY,
    DICTIONARY_ENTRY,
    FILE_HEADER,
    FOOTER,
    FOOTER_KIND,
    PART_ENTRY,
    TRAILER,
    TRAILER_MAGIC,
)
from decoder.wire import integer, round_up
from decoder.xxh3 import xxh3


EXTRA_HEADER = 40  # bytes of an extra block's header


class Part:
    """A block: the layout of its header, values by name, sections by name in file order."""

    def __init__(self, layout, values, sections):
        self.layout = layout
        self.values = values
        self.sections = sections
        self.gaps = {}  # section → bytes of zeros before it that do not belong there
        self.tail = 0  # the same at the block's end
        self.padding = 0  # the same after the block

    def is_chunk(self):
        return self.layout is CHUNK


class Parts:
    """A file: values of its header, its blocks, and values of the footer that are not derived."""

    def __init__(self, header, blocks, final_separator):
        self.header = header
        self.blocks = blocks
        self.footer = {"final_separator": final_separator}
        self.footer_parts = []  # [kind, flags, bytes] of each part of the footer
        self.extra = []  # sizes of extra blocks, in units of the alignment
        self.listed = {}  # block → how often the footer lists it, if not once


class Image:
    """A file's bytes, and where its parts are in it."""

    def __init__(self):
        self.data = bytearray()
        self.blocks = []  # (offset, Part)
        self.extra = []  # offsets of extra blocks
        self.footer = 0
        self.parts = 0  # how many the footer has
        self.part_entries = 0
        self.trailer = 0
        self.wrong_hashes = set()  # offsets of checksums that are to be wrong


def _fitting(value, size):
    """The value cut to the bytes of its field."""
    return value & (1 << 8 * size) - 1


def _pack(layout, values):
    return layout.pack({name: _fitting(values[name], size) for name, (_, size) in layout.fields.items()})


def _place_block(part, alignment):
    """The bytes of a block. Its section entries and its size are filled in."""
    end = part.layout.size
    body = bytearray()
    for name, section in part.sections.items():
        offset = round_up(end, alignment) + part.gaps.get(name, 0) if section else 0
        part.values[f"{name}_offset"], part.values[f"{name}_size"] = offset, len(section)
        part.values[f"{name}_hash"] = 0
        if section:
            body += bytes(offset - end) + section
            end = offset + len(section)
    part.values["block_size"] = round_up(end, alignment) + part.tail
    body += bytes(part.values["block_size"] - end)
    return _pack(part.layout, part.values) + body


def _footer(parts, image):
    """The footer with its entries."""
    listed = [block for i, block in enumerate(image.blocks) for _ in range(parts.listed.get(i, 1))]
    chunks = [(at, part.values) for at, part in listed if part.is_chunk()]
    dictionaries = [(at, part.values) for at, part in listed if not part.is_chunk()]
    entries = bytearray()
    for at, values in dictionaries:
        in_use = values["tokens"]
        entries += _pack(DICTIONARY_ENTRY, {"offset": at, "block_size": values["block_size"], "tokens_in_use": in_use})
    for at, values in chunks:
        before = sum(place < at for place, _ in dictionaries)
        earlier = values["dictionary"] + 1 if values["dictionary"] + 1 < before else 0
        entries += _pack(CHUNK_ENTRY, {"offset": at, "earlier": earlier, **values})
    image.part_entries = image.footer + FOOTER.size + len(entries)
    image.parts = len(parts.footer_parts)
    bodies = bytearray()
    first = end = FOOTER.size + len(entries) + PART_ENTRY.size * image.parts
    for kind, flags, data in parts.footer_parts:
        offset = round_up(end, 8)
        bodies += bytes(offset - end) + data
        end = offset + len(data)
        values = {"kind": kind, "flags": flags, "offset": offset, "size": len(data), "hash": 0}
        entries += _pack(PART_ENTRY, values)
    totals = {name: sum(values[name] for _, values in chunks) for name in ("rows", "nulls", "codes", "decoded")}
    values = {
        "kind": FOOTER_KIND,
        "header_size": FOOTER.size,
        "block_size": first + len(bodies),
        "dictionaries": len(dictionaries),
        "chunks": len(chunks),
        **totals,
        "parts": image.parts,
        "extra_bytes": image.footer - (image.extra[0] if image.extra else image.footer),
        "entries_hash": 0,
        "hash": 0,
        **parts.footer,
    }
    return _pack(FOOTER, values) + entries + bodies


def assemble(parts):
    """The Image of the parts."""
    image = Image()
    alignment = parts.header["alignment"]
    step = alignment if alignment in (64, 4096) else 64
    image.data += _pack(FILE_HEADER, parts.header)
    image.data += bytes(round_up(FILE_HEADER.size, step) - FILE_HEADER.size)
    for part in parts.blocks:
        image.blocks.append((len(image.data), part))
        image.data += _place_block(part, step) + bytes(part.padding)
    for size in parts.extra:
        image.extra.append(len(image.data))
        header = b"FPX1" + EXTRA_HEADER.to_bytes(4, "little") + (step * size).to_bytes(8, "little")
        image.data += header + bytes(step * size - len(header))
    image.footer = len(image.data)
    image.data += _footer(parts, image)
    image.trailer = len(image.data)
    size = image.trailer + TRAILER.size
    image.data += _pack(
        TRAILER, {"footer_offset": image.footer, "file_size": size, "hash": 0, "magic": TRAILER_MAGIC}
    )
    seal(image)
    return image


def _put_hash(image, at, begin, end):
    digest = xxh3(bytes(image.data[begin:end])) ^ (at in image.wrong_hashes)
    image.data[at : at + 8] = digest.to_bytes(8, "little")


def _seal_block(image, at, part):
    data = image.data
    for name in part.sections:
        entry = at + part.layout.fields[f"{name}_offset"][0]
        offset, size = integer(data, entry, 8), integer(data, entry + 8, 8)
        if size > 0 and at + offset + size <= len(data):
            _put_hash(image, entry + 16, at + offset, at + offset + size)
    _put_hash(image, at + part.layout.size - 8, at, at + part.layout.size - 8)


def seal(image):
    """Makes all checksums right, of sections where their entries now say they are."""
    _put_hash(image, 56, 0, 56)
    for at, part in image.blocks:
        _seal_block(image, at, part)
    for at in image.extra:
        _put_hash(image, at + EXTRA_HEADER - 8, at, at + EXTRA_HEADER - 8)
    for i in range(image.parts):
        entry = image.part_entries + PART_ENTRY.size * i
        offset, size = integer(image.data, entry + 8, 8), integer(image.data, entry + 16, 8)
        if image.footer + offset + size <= len(image.data):
            _put_hash(image, entry + 24, image.footer + offset, image.footer + offset + size)
    entries, end = image.footer + FOOTER.size, image.part_entries + PART_ENTRY.size * image.parts
    if end > entries:
        _put_hash(image, image.footer + FOOTER.fields["entries_hash"][0], entries, end)
    _put_hash(image, image.footer + FOOTER.size - 8, image.footer, image.footer + FOOTER.size - 8)
    _put_hash(image, image.trailer + 16, image.trailer, image.trailer + 16)
