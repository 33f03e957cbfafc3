"""Section 2 of docs/format.md: a dictionary block → the token of every code, or None without one."""

from decoder.blocks import read_header, read_sections
from decoder.fold import unfold
from decoder.frame import read_frame
from decoder.headers import DICTIONARY, DICTIONARY_KIND, RUN
from decoder.wire import require


PLAIN, COLD, FOLDED = range(3)


class Dictionary:
    """The tokens by code (None for slots without one), and the width of packed codes."""

    def __init__(self, values, tokens, block_size):
        self.bits = values["bits"]
        self.longest = values["longest"]
        self.tokens = tokens
        self.block_size = block_size
        self.table_bytes = 18 << self.bits  # that count for the library's limit
        if values["form"] != PLAIN:
            self.table_bytes += (4 << self.bits) + 2 * sum(len(token) for token in tokens if token)


def _require_numbers(values, at):
    bits, slots, shift = values["bits"], values["slots"], values["shift"]
    require(values["codec"] in (1, 2), "codec is 1 or 2", at + 16)
    require(1 <= bits <= 16, "b is 1..16", at + 17)
    require(values["longest"] in (8, 16, 32, 64), "the longest token is 8, 16, 32 or 64", at + 18)
    require(values["order"] in (0, 1), "order is 0 or 1", at + 19)
    require(shift <= 15, "s is 0..15", at + 20)
    require(1 <= slots <= 1 << bits, "N is 1..2^b", at + 24)
    require(bits == 1 or slots > 1 << bits - 1, "b is the smallest width for N", at + 17)
    require(1 <= values["tokens"] <= slots, "tokens are 1..N", at + 28)
    require(1 <= values["runs"] <= values["tokens"], "R is 1..tokens", at + 36)
    if values["order"] == 0:
        require(shift == 0, "s is 0 for order 0", at + 20)
        require(values["hot_slots"] == 0, "h is 0 for order 0", at + 32)


def _read_runs(values, section, section_at):
    """(first code, end, length) of each run. section_at: where the section is in the file, for messages."""
    require(8 * values["runs"] <= len(section), "the token section holds its runs", section_at)
    runs = []
    code = 0
    for i in range(values["runs"]):
        at = section_at + 8 * i
        run = RUN.read(section, 8 * i)
        require(section[8 * i + 7] == 0, "a zero field is not zero", at + 7)
        first, end = run["first"], run["first"] + run["count_less_one"] + 1
        require(first == 0 or i > 0, "the first run begins at code 0", at)
        require(first >= code, "runs ascend and do not overlap", at)
        require(end <= values["slots"], "runs end at most at N", at)
        require(1 <= run["length"] <= values["longest"], "length of a run's tokens", at + 6)
        runs.append((first, end, run["length"]))
        code = end
    return runs


def _require_order(values, runs, at):
    """The rules of section 2.1, for order 1."""
    hot, step = values["hot_slots"], 1 << values["shift"]
    require(hot < values["slots"], "h is below N", at + 32)
    require(hot % step == 0, "h is a multiple of 2^s", at + 32)
    require(hot == 0 or any(first == hot for first, _, _ in runs), "a run begins at h", at + 32)
    before = None
    for first, end, length in runs:
        require(first % step == 0, "a run begins at a multiple of 2^s", at + 32)
        require(not first < hot < end, "no run crosses h", at + 32)
        if before is not None and first != hot:
            require(length > before, "lengths ascend strictly", at + 32)
        before = length


def _fill_slots(tokens):
    """Gives slots without a token what a decoder that accepts them must take for it: zero bytes."""
    for code in range(1, len(tokens)):
        if tokens[code] is None:
            tokens[code] = bytes(len(tokens[code - 1]))


def read_dictionary(image, at, end, header, fill=False):
    """The dictionary of the block at this place, all of whose bytes lie before end.

    header: of the file. fill: slots without a token are given one, so that their codes decode.
    """
    values = read_header(image, at, end, DICTIONARY_KIND, DICTIONARY, header["minor"])
    _require_numbers(values, at)
    form, plain_size = values["form"], values["plain_size"]
    require(form in (PLAIN, COLD, FOLDED), "the form is 0, 1 or 2", at + 21)
    require(form != COLD or header["features"] & 1, "a file with a cold block says so", at + 21)
    require(form != PLAIN or plain_size == 0, "a plain dictionary has no plain size", at + 72)
    section = read_sections(image, at, end, header["alignment"], DICTIONARY, values, ["token"])["token"]
    section_at = at + values["token_offset"]
    if form == COLD:
        most = 8 * values["runs"] + values["longest"] * values["tokens"]
        require(plain_size <= most, "size of the plain token section", at + 72)
        section = read_frame(section, plain_size, section_at)
    runs = _read_runs(values, section, section_at)
    if values["order"] == 1:
        _require_order(values, runs, at)
    require(sum(last - first for first, last, _ in runs) == values["tokens"], "tokens of all runs", at + 28)
    size = 8 * len(runs) + sum((last - first) * length for first, last, length in runs)
    if form == FOLDED:
        require(plain_size == size, "size of the plain token section", at + 72)
        lengths = [length for first, last, length in runs for _ in range(first, last)]
        entries = 8 * len(runs)
        section = section[:entries] + unfold(section[entries:], lengths, section_at + entries)
    require(len(section) == size, "size of the token section", at + 56)
    tokens = [None] * values["slots"]
    position = 8 * len(runs)
    for first, last, length in runs:
        for code in range(first, last):
            tokens[code] = section[position : position + length]
            position += length
    if fill:
        _fill_slots(tokens)
    return Dictionary(values, tokens, values["block_size"])
