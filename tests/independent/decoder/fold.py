"""Section 2.3 of docs/format.md: folded tokens → the tokens' bytes."""

from decoder.wire import require


class _Bits:
    """Numbers from a string of bits, the lowest bit first. at: where it is in the file, for messages."""

    def __init__(self, data, at):
        self.value = int.from_bytes(data, "little")
        self.left = 8 * len(data)
        self.at = at

    def take(self, width):
        require(width <= self.left, "the folded tokens have enough bits", self.at)
        number = self.value & (1 << width) - 1
        self.value >>= width
        self.left -= width
        return number


def _width(n):
    """W(n) of the page."""
    return max(n - 1, 0).bit_length()


def _read_piece(bits, tokens, before, left):
    """A piece of a token, given all tokens before it, as a list and as bytes."""
    if bits.take(1) == 0:
        number = bits.take(_width(len(tokens)))
        require(number < len(tokens), "a piece is a token before this one", bits.at)
        return tokens[number]
    if bits.take(1) == 0:
        return bytes([bits.take(8)])
    position = bits.take(_width(len(before)))
    length = bits.take(_width(left - 1)) + 2
    require(position + length <= len(before), "a piece lies before its token", bits.at)
    return bytes(before[position : position + length])


def unfold(data, lengths, at):
    """The bytes of tokens of these lengths. at: where data is in the file, for messages."""
    bits = _Bits(data, at)
    tokens = []
    before = bytearray()
    for length in lengths:
        token = b""
        while length - len(token) > 1:
            token += _read_piece(bits, tokens, before, length - len(token))
            require(len(token) <= length, "a piece ends with its token", at)
        if len(token) < length:
            token += bytes([bits.take(8)])
        tokens.append(token)
        before += token
    require(bits.left < 8 and bits.value == 0, "zero bits fill the last byte of folded tokens", at)
    return bytes(before)
