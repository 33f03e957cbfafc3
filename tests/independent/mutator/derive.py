"""Content → parts: every header field and every section that follows from rows and tokens.

Content that breaks a rule is written all the same, with everything else consistent: a code without
a token counts with the length that section 2 of docs/format.md gives it.
"""

from itertools import accumulate

from decoder.dictionary_block import COLD, FOLDED, PLAIN
from decoder.headers import (
    BOUNDS_ENTRY,
    BOUNDS_HEADER,
    CHUNK,
    CHUNK_KIND,
    COUNTS,
    DICTIONARY,
    DICTIONARY_KIND,
    FILE_MAGIC,
    LEAST_BYTES,
    LENGTH_BLOCK,
    MOST_BYTES,
    NO_DICTIONARY,
    PAIR,
    PAIRS_HEADER,
    RUN,
)
from decoder.wire import round_up
from mutator.assemble import Part, Parts
from mutator.content import Dictionary
from mutator.fold import fold
from mutator.frames import packed_frame, raw_frame


def pack_bits(numbers, width):
    """Numbers of this many bits each, least significant bit first, in whole bytes."""
    mask = (1 << width) - 1
    packed = bytearray()
    for i in range(0, len(numbers), 8):
        eight = 0
        for k, number in enumerate(numbers[i : i + 8]):
            eight |= (number & mask) << k * width
        packed += eight.to_bytes(width, "little")
    return packed[: -(-len(numbers) * width // 8)]


def _padded(data, step):
    return data + bytes(round_up(len(data), step) - len(data))


def _framed(data, is_cold):
    """The frame of a cold section. Half of them are as zstd makes them."""
    if not is_cold:
        return data
    return packed_frame(data) if len(data) % 2 or len(data) % 4 == 0 else raw_frame(data)


def _dictionary_part(dictionary):
    runs = bytearray()
    for first, tokens in dictionary.runs:
        count = len(tokens) - 1 & 0xFFFF
        runs += RUN.pack({"first": first & 0xFFFFFFFF, "count_less_one": count, "length": len(tokens[0])})
    tokens = b"".join(token for _, tokens in dictionary.runs for token in tokens)
    values = {
        "kind": DICTIONARY_KIND,
        "header_size": DICTIONARY.size,
        "hash": 0,
        "codec": dictionary.codec,
        "bits": dictionary.bits(),
        "longest": dictionary.longest,
        "order": dictionary.order,
        "shift": dictionary.shift,
        "form": COLD if dictionary.cold else FOLDED if dictionary.folded else PLAIN,
        "plain_size": len(runs + tokens) if dictionary.cold or dictionary.folded else 0,
        "slots": dictionary.slots,
        "tokens": sum(len(tokens) for _, tokens in dictionary.runs),
        "hot_slots": dictionary.hot,
        "runs": len(dictionary.runs),
        "seed": dictionary.seed,
    }
    if values["form"] == FOLDED:
        section = runs + fold([token for _, tokens in dictionary.runs for token in tokens])
    else:
        section = _framed(runs + tokens, dictionary.cold)
    return Part(DICTIONARY, values, {"token": section})


def _length_of_code(dictionary):
    """The length of each code below 2^b, without a token that of the nearest run before it."""
    lengths = [0] * (1 << dictionary.bits())
    for first, tokens in dictionary.runs:
        for code in range(first, min(len(lengths), first + len(tokens))):
            lengths[code] = len(tokens[0])
    for code in range(1, len(lengths)):
        lengths[code] = lengths[code] or lengths[code - 1]
    return lengths


def _sidecar(chunk, starts, codes, group):
    """starts: where each code begins in the decoded bytes, then their end."""
    positions, deltas = bytearray(), bytearray()
    for k in range(-(-codes // chunk.batch)):
        begin = starts[k * chunk.batch]
        if k % group == 0:
            position = begin - chunk.group_choice.get(k // group, 0)
            positions += (position & 0xFFFFFFFF).to_bytes(4, "little")
        deltas += (begin - position & 0xFFFF).to_bytes(2, "little")
    return positions + deltas


def _lengths_section(chunk, lengths):
    """The directory and the packed lengths, with each block's choice of minimum and width."""
    directory, packed, start = bytearray(), bytearray(), 0
    for i in range(0, len(lengths), 256):
        block = lengths[i : i + 256]
        lowered, widened = chunk.length_choice.get(i // 256, (0, 0))
        minimum = min(block) - lowered
        width = min(32, (max(block) - minimum).bit_length() + widened) if widened < 33 else 33
        entry = {"start": start, "packed": len(packed), "minimum": minimum, "width": width}
        directory += LENGTH_BLOCK.pack({name: value & 0xFFFFFFFF for name, value in entry.items()})
        packed += _padded(pack_bits([length - minimum for length in block], width), 4)
        start += sum(block)
    return directory + packed


def _row_lengths(chunk, lengths_of_rows):
    lengths = list(lengths_of_rows)
    for row, amount in chunk.moved.items():
        if row + 1 < len(lengths) and lengths[row] + amount >= 0 and lengths[row + 1] >= amount:
            lengths[row] += amount
            lengths[row + 1] -= amount
    return lengths


def _counts(lengths):
    """The counts of a header, by the name of their fields."""
    return {f"count_{i}": sum(LEAST_BYTES[i] <= n <= MOST_BYTES[i] for n in lengths) for i in COUNTS}


def _words(chunk, rows):
    """The words of a coded and cold chunk, given the codes of each row."""
    words, end = [], chunk.dictionary.slots
    for row, codes in zip(chunk.rows, rows):
        words += codes + [end if row.valid else end + 1]
    for place, word in chunk.words.items():
        if place < len(words):
            words[place] = word
    return b"".join((word & 0xFFFF).to_bytes(2, "little") for word in words)


def _coded_values(chunk, number):
    """Values and sections of a coded chunk, and the lengths of its rows."""
    length_of = _length_of_code(chunk.dictionary)
    rows = [[code % len(length_of) for code in row.items] for row in chunk.rows]
    codes = [code for row in rows for code in row]
    lengths = [length_of[code] for code in codes]
    starts = list(accumulate(lengths, initial=0))
    most = min(4096, 65536 // max(1, chunk.dictionary.longest))
    group = chunk.group or 1 << max(1, most // max(1, chunk.batch)).bit_length() - 1
    largest = []
    for step in (chunk.batch, 2 * chunk.batch, 4 * chunk.batch):
        firsts = range(0, len(codes), step)
        largest.append(max((starts[min(k + step, len(codes))] - starts[k] for k in firsts), default=0))
    values = {
        "encoding": 3 if chunk.cold else 1,
        "dictionary": number,
        "codes": len(codes),
        "batch_codes": chunk.batch,
        "group_batches": group,
        **dict(zip(("largest_batch", "largest_pair", "largest_four"), largest)),
        **_counts(lengths),
    }
    if chunk.cold:
        sections = {"code": _framed(_words(chunk, rows), True), "sidecar": bytearray()}
    else:
        sections = {
            "code": _padded(pack_bits(codes, chunk.dictionary.bits()), 16),
            "sidecar": _sidecar(chunk, starts, len(codes), group),
        }
    return values, sections, [sum(length_of[code] for code in row) for row in rows]


def _stored_values(chunk):
    zeros = ("codes", "batch_codes", "group_batches", "largest_batch", "largest_pair", "largest_four")
    values = {
        **dict.fromkeys(zeros, 0),
        "encoding": 2 if chunk.cold else 0,
        "dictionary": NO_DICTIONARY,
        **_counts([]),
    }
    text = bytearray(b"".join(row.items for row in chunk.rows))
    sections = {"code": _framed(text, chunk.cold), "sidecar": bytearray()}
    return values, sections, [len(row.items) for row in chunk.rows]


def _chunk_part(chunk, number):
    values, sections, lengths = _coded_values(chunk, number) if chunk.dictionary else _stored_values(chunk)
    nulls = sum(not row.valid for row in chunk.rows)
    sections["lengths"] = _lengths_section(chunk, _row_lengths(chunk, lengths))
    sections["validity"] = pack_bits([int(row.valid) for row in chunk.rows], 1) if nulls else bytearray()
    if chunk.cold and chunk.dictionary:
        sections["lengths"], sections["validity"] = bytearray(), bytearray()
    values |= {
        "kind": CHUNK_KIND,
        "header_size": CHUNK.size,
        "hash": 0,
        "has_validity": int(nulls > 0),
        "rows": len(chunk.rows),
        "nulls": nulls,
        "decoded": sum(lengths),
    }
    return Part(CHUNK, values, sections)


def _rows_of(chunk):
    """The bytes of each row, None for null, with the ends that the chunk's lengths will give them."""
    if chunk.dictionary:
        token_of, length_of = chunk.dictionary.token_of(), _length_of_code(chunk.dictionary)

        def token(code):
            code %= len(length_of)
            return token_of.get(code, bytes(length_of[code]))[: length_of[code]]

        pieces = [b"".join(token(code) for code in row.items) for row in chunk.rows]
    else:
        pieces = [bytes(row.items) for row in chunk.rows]
    text, at, rows = b"".join(pieces), 0, []
    for row, length in zip(chunk.rows, _row_lengths(chunk, [len(piece) for piece in pieces])):
        rows.append(text[at : at + length] if row.valid else None)
        at += length
    return rows


def _bounds_entry(rows, width):
    valid = [row for row in rows if row is not None]
    if not valid:
        return bytes(BOUNDS_ENTRY.size + 2 * width)
    smallest, largest = min(valid), max(valid)
    flags = 1 | 2 * (len(smallest) > width) | 4 * (len(largest) > width)
    head = {"flags": flags, "smallest_size": min(width, len(smallest)), "largest_size": min(width, len(largest))}
    padded = [(row[:width] + bytes(width))[:width] for row in (smallest, largest)]
    return bytes(BOUNDS_ENTRY.pack(head)) + b"".join(padded)


def _footer_parts(content):
    """[kind, flags, bytes] of each part of the footer."""
    about, parts = content.about, []
    if about.name is not None:
        parts.append([1, 0, about.name])
    if about.pairs is not None:
        data = bytes(PAIRS_HEADER.pack({"count": len(about.pairs)}))
        for key, value in about.pairs:
            data += bytes(PAIR.pack({"key_size": len(key), "value_size": len(value)})) + key + value
        parts.append([2, 0, data])
    if about.width:
        entries = [_bounds_entry(_rows_of(chunk), about.width) for chunk in content.chunks()]
        parts.append([3, 0, bytes(BOUNDS_HEADER.pack({"width": about.width})) + b"".join(entries)])
    return parts + [list(part) for part in about.unknown]


def derive(content):
    """The Parts of the content."""
    number_of = {id(dictionary): i for i, dictionary in enumerate(content.dictionaries())}
    blocks = []
    for block in content.blocks:
        if isinstance(block, Dictionary):
            blocks.append(_dictionary_part(block))
        else:
            blocks.append(_chunk_part(block, number_of.get(id(block.dictionary), len(number_of))))
    header = {
        "magic": FILE_MAGIC,
        "major": 1,
        "minor": content.about.minor,
        "features": int(content.is_cold()),
        "alignment": content.alignment,
        "framing": content.framing,
        "separator": content.separator,
        "hash": 0,
    }
    parts = Parts(header, blocks, content.final_separator)
    parts.footer["type"] = content.about.is_text
    parts.footer_parts = _footer_parts(content)
    parts.extra = list(content.about.extra)
    return parts
