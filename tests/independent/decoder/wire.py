"""What every part of the decoder uses: the refusal, integers, packed numbers, gaps of zeros."""

from decoder.xxh3 import xxh3


class Violation(Exception):
    """A rule of docs/format.md that the file breaks, and where in the file."""

    def __init__(self, rule, offset):
        super().__init__(f"{rule} (at byte {offset})")
        self.rule = rule
        self.offset = offset


def require(condition, rule, offset):
    """Refuses the file where the condition does not hold."""
    if not condition:
        raise Violation(rule, offset)


def integer(data, at, size):
    """The little-endian integer of this size."""
    return int.from_bytes(data[at : at + size], "little")


def round_up(value, step):
    """The first multiple of step at or after value."""
    return -(-value // step) * step


def require_zero(image, begin, end, what):
    """Refuses anything but zeros in bytes begin .. end-1 of the file."""
    part = image[begin:end]
    if part.count(0) != len(part):
        first = next(i for i, byte in enumerate(part) if byte)
        raise Violation(f"{what} is not zero", begin + first)


def require_hash(image, begin, end, expected, what):
    """Refuses a part of the file whose XXH3 is another."""
    require(xxh3(image[begin:end]) == expected, f"checksum of {what}", begin)


def unpack(data, width, count):
    """Numbers 0 .. count-1 of this many bits each, least significant bit first.

    Eight numbers fill a whole number of bytes, so they are cut out of one integer together.
    """
    if width == 0:
        return [0] * count
    mask = (1 << width) - 1
    shifts = range(0, 8 * width, width)
    numbers = []
    for at in range(0, -(-count // 8) * width, width):
        eight = int.from_bytes(data[at : at + width], "little")
        numbers += [eight >> shift & mask for shift in shifts]
    return numbers[:count]


def spare_bits_are_zero(data, used_bits):
    """Whether all bits from used_bits on are 0."""
    return int.from_bytes(data[used_bits // 8 :], "little") >> (used_bits % 8) == 0
