"""Sections 1 and 4 of docs/format.md: a whole file → its rows and framing, or the rule it breaks.

In: the bytes of a file. Out: a Column, or a Violation. Nothing here knows how the library does it:
the page alone was read. A file may be valid and still be beyond the library's limit on
dictionaries, which Column answers.
"""

from decoder.blocks import read_extra_block, read_header
from decoder.chunk_block import read_chunk
from decoder.dictionary_block import read_dictionary
from decoder.headers import (
    CHUNK_ENTRY,
    DICTIONARY_ENTRY,
    FILE_HEADER,
    FILE_MAGIC,
    FOOTER,
    FOOTER_KIND,
    PART_ENTRY,
    TRAILER,
    TRAILER_MAGIC,
)
from decoder.parts import is_utf8, read_part_entries, read_parts
from decoder.wire import require, require_hash, require_zero, round_up

KNOWN_FEATURES = 1


class Column:
    """What a valid file says."""

    def __init__(self):
        self.separator = None  # the separator byte, or None without framing
        self.final_separator = False
        self.rows = []
        self.is_text = False
        self.name = None  # bytes of UTF-8
        self.pairs = []  # (key, value), as bytes
        self.bound_width = 0  # K
        self.bounds = None  # of each chunk: two Bounds, or None without a valid row; None: the file has none
        self.beyond_limit = False  # whether the library's limit on dictionaries refuses it

    def text(self):
        """The framed text of the rows; None without framing."""
        if self.separator is None:
            return None
        separator = bytes([self.separator])
        text = b"".join((row or b"") + separator for row in self.rows)
        return text if self.final_separator or not text else text[:-1]


def _read_file_header(image, column):
    require(len(image) >= FILE_HEADER.size + FOOTER.size + TRAILER.size, "size of a file", 0)
    header = FILE_HEADER.read(image, 0)
    require(header["magic"] == FILE_MAGIC, "magic", 0)
    require_hash(image, 0, 56, header["hash"], "the file header")
    require(header["major"] == 1, "major version is 1", 8)
    require(header["features"] & ~KNOWN_FEATURES == 0, "a feature that is not known", 20)
    require(header["alignment"] in (64, 4096), "A is 64 or 4096", 12)
    require(header["framing"] in (0, 1), "framing is 0 or 1", 16)
    require(header["framing"] or header["separator"] == 0, "the separator is 0 without framing", 17)
    if header["minor"] == 0:
        FILE_HEADER.require_zeros(image, 0)
    if header["framing"]:
        column.separator = header["separator"]
    return header


def _read_trailer(image, alignment):
    """The footer's offset."""
    at = len(image) - TRAILER.size
    trailer = TRAILER.read(image, at)
    require(trailer["magic"] == TRAILER_MAGIC, "magic of the trailer", at + 24)
    require_hash(image, at, at + 16, trailer["hash"], "the trailer")
    require(trailer["file_size"] == len(image), "the file's size", at + 8)
    offset = trailer["footer_offset"]
    require(offset % alignment == 0 and offset >= round_up(FILE_HEADER.size, alignment), "place of the footer", at)
    require(offset + FOOTER.size <= at, "the footer lies before the trailer", at)
    return offset


def _read_footer(image, at, alignment, minor, column):
    """The footer's fields, and the entries of dictionaries, of chunks and of parts."""
    end = len(image) - TRAILER.size
    footer = read_header(image, at, end, FOOTER_KIND, FOOTER, minor)
    dictionaries, chunks = footer["dictionaries"], footer["chunks"]
    blocks_size = DICTIONARY_ENTRY.size * dictionaries + CHUNK_ENTRY.size * chunks
    entries_size = blocks_size + PART_ENTRY.size * footer["parts"]
    require(footer["block_size"] >= FOOTER.size + entries_size, "size of the footer", at + 8)
    require(at + footer["block_size"] == end, "the trailer follows the footer", at + 8)
    require(footer["final_separator"] in (0, 1), "the final separator is 0 or 1", at + 64)
    require(column.separator is not None or not footer["final_separator"], "a final separator needs framing", at + 64)
    require(footer["type"] in (0, 1), "the type is 0 or 1", at + 65)
    extra, first = footer["extra_bytes"], round_up(FILE_HEADER.size, alignment)
    require(minor > 0 or extra == 0, "version 1.0 has no extra blocks", at + 80)
    require(extra % alignment == 0 and extra <= at - first, "bytes of extra blocks", at + 80)
    entries_at = at + FOOTER.size
    if entries_size == 0:
        require(footer["entries_hash"] == 0, "hash of no entries is 0", at + 72)
    else:
        require_hash(image, entries_at, entries_at + entries_size, footer["entries_hash"], "the footer's entries")
    chunks_at = entries_at + DICTIONARY_ENTRY.size * dictionaries
    dictionary_entries, chunk_entries = [], []
    for i in range(dictionaries):
        if minor == 0:
            DICTIONARY_ENTRY.require_zeros(image, entries_at + DICTIONARY_ENTRY.size * i)
        dictionary_entries.append(DICTIONARY_ENTRY.read(image, entries_at + DICTIONARY_ENTRY.size * i))
    for i in range(chunks):
        chunk_entries.append(CHUNK_ENTRY.read(image, chunks_at + CHUNK_ENTRY.size * i))
    column.final_separator = footer["final_separator"] == 1
    column.is_text = footer["type"] == 1
    part_entries = read_part_entries(image, at, entries_at + blocks_size, footer)
    return footer, (dictionary_entries, chunk_entries), part_entries


def _next_block(dictionary_entries, chunk_entries, used, at):
    """Whether the block at this place is a dictionary or a chunk, and its entry."""
    dictionaries, chunks = used
    if dictionaries < len(dictionary_entries) and dictionary_entries[dictionaries]["offset"] == at:
        return True, dictionary_entries[dictionaries]
    require(chunks < len(chunk_entries) and chunk_entries[chunks]["offset"] == at, "blocks lie back to back", at)
    return False, chunk_entries[chunks]


def _read_blocks(image, footer_at, header, entries, column, fill):
    """All blocks in file order, up to the extra ones. Returns the chunks, and leaves their rows in the column."""
    dictionary_entries, chunk_entries = entries
    dictionaries, chunks = [], []
    tables = 0
    at = round_up(FILE_HEADER.size, header["alignment"])
    require_zero(image, FILE_HEADER.size, at, "a gap")
    while at < footer_at:
        used = len(dictionaries), len(chunks)
        is_dictionary, entry = _next_block(dictionary_entries, chunk_entries, used, at)
        if is_dictionary:
            block = read_dictionary(image, at, footer_at, header, fill)
            dictionaries.append(block)
            tables += block.table_bytes
            column.beyond_limit |= tables > 64 * (at + block.block_size) + (2 << 20)
        else:
            block = read_chunk(image, at, footer_at, header, dictionaries)
            chunks.append(block)
            require(entry["rows"] == len(block.rows), "rows of a chunk's entry", at + 24)
            require(entry["decoded"] == block.decoded, "decoded bytes of a chunk's entry", at + 48)
            if entry["earlier"] != 0:
                require(entry["earlier"] - 1 == block.dictionary, "dictionary of a chunk's entry", at + 20)
            column.rows += block.rows
        require(entry["block_size"] == block.block_size, "block size of an entry", at + 8)
        at += block.block_size
    require(at == footer_at, "blocks end at the footer", at)
    complete = len(dictionaries) == len(dictionary_entries) and len(chunks) == len(chunk_entries)
    require(complete, "every entry has its block", footer_at)
    return chunks


def read_column(image, fill=False):
    """The Column of a file's bytes; raises Violation for a file that breaks a rule.

    fill: codes without a token decode to zero bytes, as section 2 allows a decoder that does not
    validate.
    """
    column = Column()
    header = _read_file_header(image, column)
    alignment, minor = header["alignment"], header["minor"]
    footer_at = _read_trailer(image, alignment)
    footer, entries, part_entries = _read_footer(image, footer_at, alignment, minor, column)
    extra_at = footer_at - footer["extra_bytes"]
    chunks = _read_blocks(image, extra_at, header, entries, column, fill)
    while extra_at < footer_at:
        extra_at += read_extra_block(image, extra_at, footer_at, alignment)
    totals = {
        "rows": len(column.rows),
        "nulls": sum(chunk.nulls for chunk in chunks),
        "codes": sum(chunk.codes for chunk in chunks),
        "decoded": sum(chunk.decoded for chunk in chunks),
    }
    for name, total in totals.items():
        require(footer[name] == total, f"the footer's sum of {name}", footer_at + FOOTER.fields[name][0])
    entries_size = DICTIONARY_ENTRY.size * len(entries[0]) + CHUNK_ENTRY.size * len(entries[1])
    entries_end = footer_at + FOOTER.size + entries_size + PART_ENTRY.size * len(part_entries)
    read_parts(image, footer_at, entries_end, part_entries, minor, column, chunks)
    if column.is_text:
        text = all(row is None or is_utf8(row) for row in column.rows)
        require(text, "rows of a text are UTF-8", footer_at + 65)
    return column
