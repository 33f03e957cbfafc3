"""Frames of cold blocks: honest ones, and ones that break a rule."""

import ctypes

from decoder.frame import MAGIC, ZSTD

BLOCK = 1 << 17


def raw_frame(data, size=None, dictionary=b""):
    """A frame of blocks that are not compressed. size: what its header says. dictionary: the id's bytes."""
    data = bytes(data)
    flags = 3 << 6 | {0: 0, 1: 1, 2: 2, 4: 3}[len(dictionary)]
    frame = MAGIC + bytes([flags, 7 << 3]) + dictionary + (len(data) if size is None else size).to_bytes(8, "little")
    for at in range(0, max(1, len(data)), BLOCK):
        block = data[at : at + BLOCK]
        frame += (len(block) << 3 | (at + BLOCK >= len(data))).to_bytes(3, "little") + block
    return bytearray(frame)


def packed_frame(data):
    """A frame as zstd makes it."""
    data = bytes(data)
    room = ctypes.create_string_buffer(ZSTD.ZSTD_compressBound(len(data)))
    size = ZSTD.ZSTD_compress(room, len(room), data, len(data), 3)
    return bytearray(room.raw[:size])


def _without_size(data):
    block = (len(data) << 3 | 1).to_bytes(3, "little")
    return MAGIC + bytes([0, 7 << 3]) + block + data


SKIPPABLE = bytes.fromhex("50 2A 4D 18 02 00 00 00 00 00")

# From the bytes of a frame to a frame with a fault, or without one.
ODD_FRAMES = [
    lambda rng, data: raw_frame(data),
    lambda rng, data: packed_frame(data),
    lambda rng, data: raw_frame(data, dictionary=bytes(rng.choice((1, 2, 4)))),  # of number 0: none
    lambda rng, data: raw_frame(data, len(data) + rng.choice((1, 2, -1, 1 << 20, 1 << 40))),
    lambda rng, data: raw_frame(data + bytes(2), len(data)),
    lambda rng, data: raw_frame(data[:-2], len(data)),
    lambda rng, data: raw_frame(data[:-2]),
    lambda rng, data: raw_frame(data + bytes(2)),
    lambda rng, data: raw_frame(data, dictionary=b"\1"),
    lambda rng, data: packed_frame(data)[: -rng.choice((1, 2, 3, 10))],
    lambda rng, data: packed_frame(data) + bytes(rng.choice((1, 4))),
    lambda rng, data: SKIPPABLE + packed_frame(data),
    lambda rng, data: packed_frame(data) + SKIPPABLE,
    lambda rng, data: packed_frame(data[:2]) + packed_frame(data[2:]),
    lambda rng, data: _without_size(data),
    lambda rng, data: data,
]
