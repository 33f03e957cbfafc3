"""Section 4 of docs/format.md, parts of the footer: name, pairs of key and value, bounds of chunks."""

from decoder.headers import BOUNDS_ENTRY, BOUNDS_HEADER, PAIR, PAIRS_HEADER, PART_ENTRY
from decoder.wire import require, require_hash, require_zero, round_up

NAME, PAIRS, BOUNDS = 1, 2, 3
MOST_PARTS = 64


class Bound:
    """The first bytes of a row, and whether there are more."""

    def __init__(self, data, is_cut):
        self.data = data
        self.is_cut = is_cut


def is_utf8(data):
    """What RFC 3629 allows; Python's decoder refuses overlong forms and surrogates."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _require_word(data, most, what, at):
    require(1 <= len(data) <= most, f"size of {what}", at)
    require(0 not in data, f"{what} has no zero byte", at)
    require(is_utf8(data), f"{what} is UTF-8", at)


def _read_pairs(image, at, size, minor):
    require(PAIRS_HEADER.size <= size <= 1 << 20, "size of the pairs", at)
    if minor == 0:
        PAIRS_HEADER.require_zeros(image, at)
    end, place, pairs = at + size, at + PAIRS_HEADER.size, []
    for _ in range(PAIRS_HEADER.read(image, at)["count"]):
        require(place + PAIR.size <= end, "pairs lie in their part", place)
        pair = PAIR.read(image, place)
        key_at = place + PAIR.size
        value_at = key_at + pair["key_size"]
        require(value_at + pair["value_size"] <= end, "a pair lies in its part", place)
        key = image[key_at:value_at]
        _require_word(key, 256, "a key", key_at)
        require(not pairs or pairs[-1][0] < key, "keys ascend strictly", key_at)
        pairs.append((key, image[value_at : value_at + pair["value_size"]]))
        place = value_at + pair["value_size"]
    require(place == end, "nothing follows the last pair", place)
    return pairs


def _require_bound(said, size, is_cut, row, width, at):
    require(size <= width, "a bound has at most K bytes", at)
    require(is_cut == (len(row) > width), "a bound is cut if the row is longer than K", at)
    require(said == row[:width] + bytes(width - len(row[:width])), "a bound is the row's beginning", at)
    require(size == len(row[:width]), "size of a bound", at)


def _read_entry(image, at, width, minor, rows):
    """The two bounds of a chunk, or None; rows are those of the chunk."""
    entry = BOUNDS_ENTRY.read(image, at)
    if minor == 0:
        BOUNDS_ENTRY.require_zeros(image, at)
    bytes_at = at + BOUNDS_ENTRY.size
    smallest, largest = image[bytes_at : bytes_at + width], image[bytes_at + width : bytes_at + 2 * width]
    valid = [row for row in rows if row is not None]
    flags = entry["flags"]
    if not valid:
        nothing = flags == entry["smallest_size"] == entry["largest_size"] == 0
        require(nothing and not any(smallest + largest), "bounds of a chunk without a valid row are zero", at)
        return None
    require(flags & 1 and flags <= 7, "flags of bounds", at)
    _require_bound(smallest, entry["smallest_size"], flags & 2 > 0, min(valid), width, at)
    _require_bound(largest, entry["largest_size"], flags & 4 > 0, max(valid), width, at)
    return (
        Bound(smallest[: entry["smallest_size"]], flags & 2 > 0),
        Bound(largest[: entry["largest_size"]], flags & 4 > 0),
    )


def _read_bounds(image, at, size, minor, chunks):
    require(size >= BOUNDS_HEADER.size, "size of the bounds", at)
    width = BOUNDS_HEADER.read(image, at)["width"]
    require(width in (8, 16, 32, 64), "K is 8, 16, 32 or 64", at)
    if minor == 0:
        BOUNDS_HEADER.require_zeros(image, at)
    entry_size = BOUNDS_ENTRY.size + 2 * width
    require(size == BOUNDS_HEADER.size + len(chunks) * entry_size, "size of the bounds", at)
    first = at + BOUNDS_HEADER.size
    return [_read_entry(image, first + i * entry_size, width, minor, chunk.rows) for i, chunk in enumerate(chunks)]


def read_part_entries(image, footer_at, entries_at, footer):
    """Entries of parts, with all rules that they obey by themselves."""
    require(footer["parts"] <= MOST_PARTS, "a footer has at most 64 parts", footer_at + 68)
    entries, kind = [], 0
    end = entries_at + PART_ENTRY.size * footer["parts"] - footer_at
    for i in range(footer["parts"]):
        at = entries_at + PART_ENTRY.size * i
        entry = PART_ENTRY.read(image, at)
        require(entry["kind"] > kind, "kinds of parts ascend strictly", at)
        require(entry["flags"] in (0, 1), "flags of a part are 0 or 1", at + 4)
        require(entry["offset"] == round_up(end, 8), "place of a part", at + 8)
        require(entry["size"] > 0, "no part is empty", at + 16)
        require(entry["offset"] + entry["size"] <= footer["block_size"], "a part lies in the footer", at + 16)
        kind, end = entry["kind"], entry["offset"] + entry["size"]
        entries.append(entry)
    require(end == footer["block_size"], "the footer ends with its last part", footer_at + 8)
    for entry in entries:
        require(entry["kind"] <= BOUNDS or not entry["flags"], "a part that must be known", entries_at)
    return entries


def read_parts(image, footer_at, entries_end, entries, minor, column, chunks):
    """Leaves name, pairs and bounds in the column. entries_end: where the last entry ends in the file."""
    end = entries_end
    for entry in entries:
        at, size = footer_at + entry["offset"], entry["size"]
        require_zero(image, end, at, "a gap")
        end = at + size
        require_hash(image, at, end, entry["hash"], "a part")
        if entry["kind"] == NAME:
            column.name = image[at:end]
            _require_word(column.name, 1024, "the name", at)
        elif entry["kind"] == PAIRS:
            column.pairs = _read_pairs(image, at, size, minor)
        elif entry["kind"] == BOUNDS:
            column.bounds = _read_bounds(image, at, size, minor, chunks)
            column.bound_width = BOUNDS_HEADER.read(image, at)["width"]
