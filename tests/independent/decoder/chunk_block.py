"""Section 3 of docs/format.md: a chunk block → its rows, bytes or None, with every rule checked."""

from itertools import accumulate

from decoder.blocks import read_header, read_sections
from decoder.frame import read_frame
from decoder.headers import CHUNK, CHUNK_KIND, COUNTS, LEAST_BYTES, LENGTH_BLOCK, MOST_BYTES, NO_DICTIONARY
from decoder.wire import integer, require, round_up, spare_bits_are_zero, unpack

ROWS_PER_LENGTH_BLOCK = 256
MOST_WORDS = 1 << 25
MOST_COLD_BYTES = 1 << 26


class Chunk:
    """The rows, and the figures that the footer repeats or adds up."""

    def __init__(self, values, rows):
        self.rows = rows
        self.nulls = values["nulls"]
        self.codes = values["codes"]
        self.decoded = values["decoded"]
        self.block_size = values["block_size"]
        self.dictionary = values["dictionary"] if _is_coded(values) else None


def _is_coded(values):
    return values["encoding"] & 1 == 1


def _is_cold(values):
    return values["encoding"] & 2 == 2


def _require_numbers(values, at):
    """Rules that the header's fields obey by themselves."""
    require(values["encoding"] <= 3, "encoding is 0..3", at + 16)
    require(values["has_validity"] in (0, 1), "validity is 0 or 1", at + 17)
    require(1 <= values["rows"] <= 1 << 28, "rows are 1..2^28", at + 24)
    require((values["nulls"] > 0) == (values["has_validity"] == 1), "null rows have a validity section", at + 32)
    require(values["nulls"] <= values["rows"], "null rows are rows", at + 32)
    require(values["decoded"] < 1 << 32, "decoded bytes are below 2^32", at + 48)
    counts = [values[f"count_{i}"] for i in COUNTS]
    if not _is_coded(values):
        if _is_cold(values):
            require(0 < values["decoded"] <= MOST_COLD_BYTES, "bytes of a stored and cold chunk", at + 48)
        require(values["dictionary"] == NO_DICTIONARY, "a stored chunk has no dictionary", at + 20)
        for name in ("codes", "batch_codes", "group_batches", "largest_batch", "largest_pair", "largest_four"):
            require(values[name] == 0, f"a stored chunk's {name} is 0", at + CHUNK.fields[name][0])
        require(not any(counts), "a stored chunk counts no codes", at + 80)
        return
    batch, group = values["batch_codes"], values["group_batches"]
    require(values["codes"] >= 1, "a coded chunk has a code", at + 40)
    require(batch % 32 == 0 and 32 <= batch <= 1024, "B is a multiple of 32 in 32..1024", at + 56)
    require(group > 0 and group & group - 1 == 0 and batch * group <= 4096, "G is a power of two with BG <= 4096", at + 60)
    require(values["largest_batch"] <= 16384, "no batch has more than 16384 bytes", at + 64)
    if _is_cold(values):
        require(values["codes"] + values["rows"] <= MOST_WORDS, "words of a cold chunk are at most 2^25", at + 40)
    require(sum(counts) == values["codes"], "counts by length add up to M", at + 80)
    least = sum(bytes_each * count for bytes_each, count in zip(LEAST_BYTES[1:], counts))
    most = sum(bytes_each * count for bytes_each, count in zip(MOST_BYTES[1:], counts))
    require(least <= values["decoded"] <= most, "counts by length allow the decoded bytes", at + 80)


def _batches(values):
    return -(-values["codes"] // values["batch_codes"])


def _require_sizes(values, at, dictionaries):
    """Sizes of sections that follow from counts."""
    if _is_coded(values):
        require(values["dictionary"] < len(dictionaries), "the dictionary comes before its chunk", at + 20)
    if _is_coded(values) and _is_cold(values):
        for name in ("sidecar", "lengths", "validity"):
            require(values[f"{name}_size"] == 0, f"a coded and cold chunk has no {name}", at + 240)
        return
    if not _is_coded(values):
        size_fits = _is_cold(values) or values["code_size"] == values["decoded"]
        require(size_fits, "size of a stored chunk's bytes", at + 216)
        require(values["sidecar_size"] == 0, "a stored chunk has no sidecar", at + 240)
    else:
        bits = dictionaries[values["dictionary"]].bits
        require(values["code_size"] == -(-values["codes"] * bits // 128) * 16, "size of the codes", at + 216)
        groups = -(-_batches(values) // values["group_batches"])
        require(values["sidecar_size"] == 4 * groups + 2 * _batches(values), "size of the sidecar", at + 240)
    validity = -(-values["rows"] // 8) if values["has_validity"] else 0
    require(values["validity_size"] == validity, "size of the validity section", at + 288)


def _decode_codes(values, at, section, tokens, bits):
    """The token of each code. Checks codes, paddings, counts and the decoded size."""
    codes_at = at + values["code_offset"]
    codes = unpack(section, bits, values["codes"])
    require(spare_bits_are_zero(section, values["codes"] * bits), "padding of the codes", codes_at)
    top = max(codes)
    require(top < len(tokens), "every code is below N", codes_at + codes.index(top) * bits // 8)
    pieces = [tokens[code] for code in codes]
    if None in pieces:
        require(False, "every code has a token", codes_at + pieces.index(None) * bits // 8)
    _require_counts(values, at, pieces)
    return pieces


def _require_counts(values, at, pieces):
    """What the header says of all codes, given the token of each."""
    lengths = [len(piece) for piece in pieces]
    for i in COUNTS:
        count = sum(LEAST_BYTES[i] <= length <= MOST_BYTES[i] for length in lengths)
        require(count == values[f"count_{i}"], "count of codes by length", at + 72 + 8 * i)
    require(sum(lengths) == values["decoded"], "decoded bytes of the codes", at + 48)
    starts = list(accumulate(lengths, initial=0))
    for name, batches in (("largest_batch", 1), ("largest_pair", 2), ("largest_four", 4)):
        step = batches * values["batch_codes"]
        ends = [starts[min(first + step, len(lengths))] - starts[first] for first in range(0, len(lengths), step)]
        require(max(ends) == values[name], f"decoded bytes of the {name}", at + CHUNK.fields[name][0])
    require(values["largest_batch"] <= 16384, "no batch has more than 16384 bytes", at + 64)


def _require_sidecar(values, at, section, starts):
    """starts: where each code's token begins in the decoded bytes, then their end."""
    batch = values["batch_codes"]
    sidecar_at = at + values["sidecar_offset"]
    groups = -(-_batches(values) // values["group_batches"])
    for k in range(_batches(values)):
        position = integer(section, 4 * (k // values["group_batches"]), 4)
        delta_at = 4 * groups + 2 * k
        begin = starts[k * batch]
        require(position + integer(section, delta_at, 2) == begin, "a batch's position", sidecar_at + delta_at)


def _read_lengths(values, at, image, section):
    """The length of every row."""
    rows = values["rows"]
    lengths_at = at + values["lengths_offset"]
    blocks = -(-rows // ROWS_PER_LENGTH_BLOCK)
    packed_at = LENGTH_BLOCK.size * blocks
    require(packed_at <= len(section), "the row lengths hold their directory", at + 264)
    lengths, start, packed = [], 0, 0
    for i in range(blocks):
        entry_at = LENGTH_BLOCK.size * i
        entry = LENGTH_BLOCK.read(section, entry_at)
        LENGTH_BLOCK.require_zeros(image, lengths_at + entry_at)
        count = min(ROWS_PER_LENGTH_BLOCK, rows - ROWS_PER_LENGTH_BLOCK * i)
        require(entry["width"] <= 32, "w is 0..32", lengths_at + entry_at + 12)
        require(entry["start"] == start, "where a block of lengths begins", lengths_at + entry_at)
        require(entry["packed"] == packed, "packed lengths lie back to back", lengths_at + entry_at + 4)
        size = round_up(count * entry["width"], 32) // 8
        begin = packed_at + packed
        require(begin + size <= len(section), "the row lengths hold their blocks", lengths_at + entry_at)
        data = section[begin : begin + size]
        require(spare_bits_are_zero(data, count * entry["width"]), "padding of packed lengths", lengths_at + begin)
        block = [entry["minimum"] + number for number in unpack(data, entry["width"], count)]
        lengths += block
        start += sum(block)
        packed += size
        require(start <= values["decoded"], "lengths add up to the decoded bytes", lengths_at + entry_at)
    require(packed_at + packed == len(section), "nothing follows the packed lengths", at + 264)
    require(start == values["decoded"], "lengths add up to the decoded bytes", at + 48)
    return lengths


def _read_validity(values, at, section):
    """1 for each row that is not null."""
    if not values["has_validity"]:
        return [1] * values["rows"]
    valid = unpack(section, 1, values["rows"])
    validity_at = at + values["validity_offset"]
    require(spare_bits_are_zero(section, values["rows"]), "spare bits of the validity", validity_at)
    require(valid.count(0) == values["nulls"], "null rows by the validity section", at + 32)
    return valid


def _cut_rows(at, text, lengths, valid):
    rows, begin = [], 0
    for length, is_valid in zip(lengths, valid):
        require(is_valid or length == 0, "a null row has length 0", at)
        rows.append(text[begin : begin + length] if is_valid else None)
        begin += length
    return rows


def _require_cold_shape(values, at, dictionary):
    """What the header of a coded and cold chunk must be, so that the warm chunk follows from the words."""
    batch, group = values["batch_codes"], 1
    require(len(dictionary.tokens) <= 65534, "N of a cold chunk's dictionary is at most 65534", at + 20)
    require(batch * dictionary.longest <= 16384, "BL of a cold chunk is at most 16384", at + 56)
    while 2 * batch * group <= 4096 and 2 * batch * group * dictionary.longest <= 65536:
        group *= 2
    require(values["group_batches"] == group, "G of a cold chunk is a writer's", at + 60)


def _read_words(values, at, section, dictionary):
    """The rows of a coded and cold chunk."""
    section_at = at + values["code_offset"]
    _require_cold_shape(values, at, dictionary)
    count, end = values["codes"] + values["rows"], len(dictionary.tokens)
    words = unpack(read_frame(section, 2 * count, section_at), 16, count)
    require(max(words) <= end + 1, "words are at most N + 1", section_at)
    require(words[-1] >= end, "the last word ends a row", section_at)
    require(sum(word >= end for word in words) == values["rows"], "ends of rows among the words", section_at)
    require(words.count(end + 1) == values["nulls"], "null rows among the words", at + 32)
    pieces = [dictionary.tokens[word] for word in words if word < end]
    require(None not in pieces, "every word below N has a token", section_at)
    _require_counts(values, at, pieces)
    rows, row = [], []
    for word in words:
        if word < end:
            row.append(dictionary.tokens[word])
            continue
        require(word == end or not row, "a null row has no codes", section_at)
        rows.append(b"".join(row) if word == end else None)
        row = []
    return rows


def read_chunk(image, at, end, header, dictionaries):
    """The chunk of the block at this place; dictionaries are those before it in the file.

    header: of the file.
    """
    values = read_header(image, at, end, CHUNK_KIND, CHUNK, header["minor"])
    _require_numbers(values, at)
    require(header["features"] & 1 or not _is_cold(values), "a file with a cold block says so", at + 16)
    _require_sizes(values, at, dictionaries)
    names = ["code", "sidecar", "lengths", "validity"]
    sections = read_sections(image, at, end, header["alignment"], CHUNK, values, names)
    if _is_coded(values) and _is_cold(values):
        return Chunk(values, _read_words(values, at, sections["code"], dictionaries[values["dictionary"]]))
    lengths = _read_lengths(values, at, image, sections["lengths"])
    if not _is_coded(values):
        text = sections["code"]
        if _is_cold(values):
            text = read_frame(text, values["decoded"], at + values["code_offset"])
    else:
        dictionary = dictionaries[values["dictionary"]]
        pieces = _decode_codes(values, at, sections["code"], dictionary.tokens, dictionary.bits)
        starts = list(accumulate(map(len, pieces), initial=0))
        text = b"".join(pieces)
        _require_sidecar(values, at, sections["sidecar"], starts)
        row_ends = set(accumulate(lengths))
        require(row_ends <= set(starts), "no token crosses a row's end", at + values["lengths_offset"])
    valid = _read_validity(values, at, sections["validity"])
    return Chunk(values, _cut_rows(at + values["validity_offset"], text, lengths, valid))
