"""A zstd frame that fills a section (RFC 8878) → its bytes, with the rules of docs/format.md checked.

The frame's header and the places of its blocks are read here. What the blocks hold is left to libzstd.
"""

import ctypes
import ctypes.util

from decoder.wire import integer, require

MAGIC = bytes.fromhex("28 B5 2F FD")


class NoZstd(Exception):
    """There is no libzstd to unpack frames with."""


def load_zstd():
    """libzstd, or None."""
    name = ctypes.util.find_library("zstd")
    library = ctypes.CDLL(name) if name else None
    if library:
        for function in (library.ZSTD_decompress, library.ZSTD_compress, library.ZSTD_compressBound):
            function.restype = ctypes.c_size_t
        library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
        library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
        library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2 + [ctypes.c_int]
    return library


ZSTD = load_zstd()


def _read_header(frame, at):
    """Where the frame's header ends, and the size of the content."""
    require(frame[:4] == MAGIC and len(frame) > 4, "a frame begins with its magic", at)
    flags = frame[4]
    single = flags >> 5 & 1
    id_size = (0, 1, 2, 4)[flags & 3]
    size_size = (single, 2, 4, 8)[flags >> 6]
    end = 5 + (1 - single) + id_size + size_size
    require(end <= len(frame), "a frame is whole", at)
    require(integer(frame, end - size_size - id_size, id_size) == 0, "a frame has no dictionary", at)
    require(size_size > 0, "a frame has its content size", at)
    return end, integer(frame, end - size_size, size_size) + (256 if size_size == 2 else 0)


def _find_end(frame, position, at):
    """Where the frame's last block and its checksum end."""
    last = False
    while not last:
        require(position + 3 <= len(frame), "a frame is whole", at)
        head = integer(frame, position, 3)
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        require(kind != 3, "a frame has no reserved block", at)
        position += 3 + (1 if kind == 1 else size)
        require(position <= len(frame), "a frame is whole", at)
    return position + 4 * (frame[4] >> 2 & 1)


def read_frame(frame, size, at):
    """The bytes of a frame at this place of the file, which must hold `size` bytes."""
    frame = bytes(frame)
    begin, content_size = _read_header(frame, at)
    require(content_size == size, "a frame's content has the size that the page gives", at)
    require(_find_end(frame, begin, at) == len(frame), "nothing follows a frame", at)
    if ZSTD is None:
        raise NoZstd
    content = ctypes.create_string_buffer(max(1, size))
    require(ZSTD.ZSTD_decompress(content, size, frame, len(frame)) == size, "a frame can be unpacked", at)
    return content.raw[:size]
