"""The upper level of a file that can be changed: dictionaries of tokens and chunks of rows.

read_content takes it from a valid file. Everything a header says besides is derived from it.
"""

from decoder.headers import CHUNK, CHUNK_KIND, DICTIONARY, FILE_HEADER, FOOTER, NO_DICTIONARY, RUN, TRAILER
from decoder.column import read_column
from decoder.dictionary_block import COLD, FOLDED
from decoder.fold import unfold
from decoder.frame import read_frame
from decoder.wire import integer, round_up, unpack


class Dictionary:
    """Runs are lists [first code, tokens]; the tokens of a run are equally long."""

    def __init__(self, codec, longest, order, shift, hot, slots, seed, runs):
        self.codec = codec
        self.longest = longest
        self.order = order
        self.shift = shift
        self.hot = hot
        self.slots = slots
        self.seed = seed
        self.runs = runs
        self.cold = False
        self.folded = False  # if it is not cold

    def copy(self):
        runs = [[first, list(tokens)] for first, tokens in self.runs]
        copy = Dictionary(self.codec, self.longest, self.order, self.shift, self.hot, self.slots, self.seed, runs)
        copy.cold = self.cold
        copy.folded = self.folded
        return copy

    def bits(self):
        return max(1, (self.slots - 1).bit_length())

    def token_of(self):
        """The token of each code that has one."""
        return {first + i: token for first, tokens in self.runs for i, token in enumerate(tokens)}


class Row:
    """A row of a coded chunk has codes, of a stored chunk bytes. Only a wrong null row has any."""

    def __init__(self, items, valid=True):
        self.items = items
        self.valid = valid


class Chunk:
    """dictionary is None for a stored chunk. The last four say how the same rows are written."""

    def __init__(self, dictionary, rows, batch=256):
        self.dictionary = dictionary
        self.rows = rows
        self.batch = batch
        self.moved = {}  # row → bytes by which its end, and so the next row's begin, is moved
        self.length_choice = {}  # block of lengths → (minimum lowered by, width raised by; 33: made 33)
        self.group = None  # batches per group of the sidecar, if not what a writer takes
        self.group_choice = {}  # group of the sidecar → its position is lowered by
        self.cold = False
        self.words = {}  # word of a cold chunk → what it is instead

    def copy(self, dictionaries):
        """A copy that uses the copies of dictionaries."""
        rows = [Row(row.items[:], row.valid) for row in self.rows]
        copy = Chunk(dictionaries.get(id(self.dictionary), self.dictionary), rows, self.batch)
        copy.moved = dict(self.moved)
        copy.length_choice = dict(self.length_choice)
        copy.group = self.group
        copy.group_choice = dict(self.group_choice)
        copy.cold = self.cold
        copy.words = dict(self.words)
        return copy


class About:
    """What a file says of its column, and what a later version may have added."""

    def __init__(self):
        self.minor = 0
        self.is_text = 0
        self.name = None
        self.pairs = None
        self.width = 0  # K of the bounds, which follow from the rows; 0: none
        self.unknown = []  # (kind, flags, bytes) of other parts
        self.extra = []  # sizes of extra blocks, in units of the alignment

    def copy(self):
        copy = About()
        copy.__dict__.update(self.__dict__)
        copy.pairs = None if self.pairs is None else list(self.pairs)
        copy.unknown, copy.extra = list(self.unknown), list(self.extra)
        return copy


class Content:
    """A file. Blocks are dictionaries and chunks in file order."""

    def __init__(self, alignment, framing, separator, final_separator, blocks):
        self.about = About()
        self.alignment = alignment
        self.framing = framing
        self.separator = separator
        self.final_separator = final_separator
        self.blocks = blocks

    def copy(self):
        copies = {id(d): d.copy() for d in self.dictionaries()}
        blocks = [copies[id(b)] if isinstance(b, Dictionary) else b.copy(copies) for b in self.blocks]
        copy = Content(self.alignment, self.framing, self.separator, self.final_separator, blocks)
        copy.about = self.about.copy()
        return copy

    def dictionaries(self):
        return [block for block in self.blocks if isinstance(block, Dictionary)]

    def chunks(self):
        return [block for block in self.blocks if isinstance(block, Chunk)]

    def is_cold(self):
        return any(block.cold for block in self.blocks)


def _read_dictionary(image, at):
    values = DICTIONARY.read(image, at)
    begin = at + values["token_offset"]
    section = image[begin : begin + values["token_size"]]
    token_at = 8 * values["runs"]
    if values["form"] == COLD:
        section = read_frame(section, values["plain_size"], begin)
    elif values["form"] == FOLDED:
        entries = [RUN.read(section, 8 * i) for i in range(values["runs"])]
        lengths = [run["length"] for run in entries for _ in range(run["count_less_one"] + 1)]
        section = section[:token_at] + unfold(section[token_at:], lengths, begin)
    runs = []
    for i in range(values["runs"]):
        run = RUN.read(section, 8 * i)
        count, length = run["count_less_one"] + 1, run["length"]
        tokens = [section[token_at + k * length : token_at + (k + 1) * length] for k in range(count)]
        runs.append([run["first"], tokens])
        token_at += count * length
    named = [values[name] for name in ("codec", "longest", "order", "shift", "hot_slots", "slots", "seed")]
    dictionary = Dictionary(*named, runs)
    dictionary.cold = values["form"] == COLD
    dictionary.folded = values["form"] == FOLDED
    return dictionary


def _read_codes(image, at, values, rows, dictionary):
    """Deals the codes out to the rows, by the rows' lengths."""
    begin = at + values["code_offset"]
    section = image[begin : begin + values["code_size"]]
    if values["encoding"] & 2:
        count = values["codes"] + values["rows"]
        words = unpack(read_frame(section, 2 * count, begin), 16, count)
        codes = iter([word for word in words if word < dictionary.slots])
    else:
        codes = iter(unpack(section, dictionary.bits(), values["codes"]))
    token_of = dictionary.token_of()
    result = []
    for row in rows:
        items, left = [], len(row or b"")
        while left > 0:
            code = next(codes)
            items.append(code)
            left -= len(token_of[code])
        result.append(Row(items, row is not None))
    return result


def read_content(image):
    """The content of a valid file."""
    column = read_column(image)
    header = FILE_HEADER.read(image, 0)
    trailer = TRAILER.read(image, len(image) - TRAILER.size)
    blocks, dictionaries, first_row = [], [], 0
    at = round_up(FILE_HEADER.size, header["alignment"])
    footer = FOOTER.read(image, trailer["footer_offset"])
    while at < trailer["footer_offset"] - footer["extra_bytes"]:
        if integer(image, at, 4) == CHUNK_KIND:
            values = CHUNK.read(image, at)
            rows = column.rows[first_row : first_row + values["rows"]]
            first_row += values["rows"]
            if values["dictionary"] == NO_DICTIONARY:
                blocks.append(Chunk(None, [Row(row or b"", row is not None) for row in rows]))
            else:
                dictionary = dictionaries[values["dictionary"]]
                rows = _read_codes(image, at, values, rows, dictionary)
                blocks.append(Chunk(dictionary, rows, values["batch_codes"]))
                blocks[-1].group = values["group_batches"]
            blocks[-1].cold = values["encoding"] & 2 == 2
        else:
            values = DICTIONARY.read(image, at)
            dictionaries.append(_read_dictionary(image, at))
            blocks.append(dictionaries[-1])
        at += values["block_size"]
    content = Content(
        header["alignment"], header["framing"], header["separator"], footer["final_separator"], blocks
    )
    about = content.about
    about.minor, about.is_text, about.name = header["minor"], footer["type"], column.name
    about.pairs, about.width = column.pairs or None, column.bound_width
    if footer["extra_bytes"]:
        about.extra = [footer["extra_bytes"] // header["alignment"]]
    return content
