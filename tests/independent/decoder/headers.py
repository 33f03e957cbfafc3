"""The tables of fields of docs/format.md: names, places and sizes in each header.

A field called X of a section entry becomes three: X_offset, X_size and X_hash.
"""

from decoder.wire import integer, require_zero


class Header:
    """A header: its size, its fields by name, and the ranges of bytes that must be zero."""

    def __init__(self, size, fields, zeros):
        self.size = size
        self.fields = fields
        self.zeros = zeros

    def read(self, image, at):
        """The values of all fields of the header at this place of the file."""
        return {name: integer(image, at + offset, size) for name, (offset, size) in self.fields.items()}

    def require_zeros(self, image, at):
        """Refuses zero fields that are not zero."""
        for begin, end in self.zeros:
            require_zero(image, at + begin, at + end, "a zero field")

    def pack(self, values):
        """The header's bytes, from values by name."""
        data = bytearray(self.size)
        for name, (offset, size) in self.fields.items():
            data[offset : offset + size] = values[name].to_bytes(size, "little")
        return data


def _entry(name, offset):
    return {f"{name}_offset": (offset, 8), f"{name}_size": (offset + 8, 8), f"{name}_hash": (offset + 16, 8)}


def _block(size):
    return {"kind": (0, 4), "header_size": (4, 4), "block_size": (8, 8), "hash": (size - 8, 8)}


FILE_MAGIC = int.from_bytes(bytes.fromhex("89 46 50 43 0D 0A 1A 0A"), "little")
TRAILER_MAGIC = int.from_bytes(bytes.fromhex("46 50 43 0A 1A 45 4E 44"), "little")
DICTIONARY_KIND = int.from_bytes(b"FPDI", "little")
CHUNK_KIND = int.from_bytes(b"FPCH", "little")
FOOTER_KIND = int.from_bytes(b"FPFT", "little")
NO_DICTIONARY = 0xFFFFFFFF

# Count i of a chunk's header, from 1 on, is of codes whose token has LEAST_BYTES[i] to MOST_BYTES[i] bytes.
MOST_BYTES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40, 48, 56, 64)
LEAST_BYTES = (0, *(most + 1 for most in MOST_BYTES[:-1]))
COUNTS = range(1, 17)

FILE_HEADER = Header(
    64,
    {
        "magic": (0, 8),
        "major": (8, 2),
        "minor": (10, 2),
        "alignment": (12, 4),
        "framing": (16, 1),
        "separator": (17, 1),
        "features": (20, 4),
        "hash": (56, 8),
    },
    [(18, 20), (24, 56)],
)

DICTIONARY = Header(
    96,
    {
        **_block(96),
        "codec": (16, 1),
        "bits": (17, 1),
        "longest": (18, 1),
        "order": (19, 1),
        "shift": (20, 1),
        "form": (21, 1),
        "slots": (24, 4),
        "tokens": (28, 4),
        "hot_slots": (32, 4),
        "runs": (36, 4),
        "seed": (40, 8),
        **_entry("token", 48),
        "plain_size": (72, 8),
    },
    [(22, 24), (80, 88)],
)

RUN = Header(8, {"first": (0, 4), "count_less_one": (4, 2), "length": (6, 1)}, [(7, 8)])

CHUNK = Header(
    320,
    {
        **_block(320),
        "encoding": (16, 1),
        "has_validity": (17, 1),
        "dictionary": (20, 4),
        "rows": (24, 8),
        "nulls": (32, 8),
        "codes": (40, 8),
        "decoded": (48, 8),
        "batch_codes": (56, 4),
        "group_batches": (60, 4),
        "largest_batch": (64, 4),
        "largest_pair": (68, 4),
        "largest_four": (72, 4),
        **{f"count_{i}": (72 + 8 * i, 8) for i in COUNTS},
        **_entry("code", 208),
        **_entry("sidecar", 232),
        **_entry("lengths", 256),
        **_entry("validity", 280),
    },
    [(18, 20), (76, 80), (304, 312)],
)

LENGTH_BLOCK = Header(16, {"start": (0, 4), "packed": (4, 4), "minimum": (8, 4), "width": (12, 1)}, [(13, 16)])

FOOTER = Header(
    112,
    {
        **_block(112),
        "dictionaries": (16, 8),
        "chunks": (24, 8),
        "rows": (32, 8),
        "nulls": (40, 8),
        "codes": (48, 8),
        "decoded": (56, 8),
        "final_separator": (64, 1),
        "type": (65, 1),
        "parts": (68, 4),
        "entries_hash": (72, 8),
        "extra_bytes": (80, 8),
    },
    [(66, 68), (88, 104)],
)

DICTIONARY_ENTRY = Header(24, {"offset": (0, 8), "block_size": (8, 8), "tokens_in_use": (16, 4)}, [(20, 24)])
CHUNK_ENTRY = Header(
    32, {"offset": (0, 8), "block_size": (8, 8), "rows": (16, 4), "earlier": (20, 4), "decoded": (24, 8)}, []
)
PART_ENTRY = Header(32, {"kind": (0, 4), "flags": (4, 4), "offset": (8, 8), "size": (16, 8), "hash": (24, 8)}, [])
PAIRS_HEADER = Header(8, {"count": (0, 4)}, [(4, 8)])
PAIR = Header(8, {"key_size": (0, 4), "value_size": (4, 4)}, [])
BOUNDS_HEADER = Header(8, {"width": (0, 4)}, [(4, 8)])
BOUNDS_ENTRY = Header(8, {"flags": (0, 1), "smallest_size": (1, 1), "largest_size": (2, 1)}, [(3, 8)])
TRAILER = Header(32, {"footer_offset": (0, 8), "file_size": (8, 8), "hash": (16, 8), "magic": (24, 8)}, [])
