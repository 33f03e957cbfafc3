"""Folds tokens in some valid way, by no means the shortest."""


class BitString:
    """Numbers, packed from the lowest bit on."""

    def __init__(self):
        self.value = 0
        self.count = 0

    def put(self, number, width):
        self.value |= (number & (1 << width) - 1) << self.count
        self.count += width

    def data(self):
        return bytearray(self.value.to_bytes(-(-self.count // 8), "little"))


def width_of(n):
    return max(n - 1, 0).bit_length()


def _put_token(bits, token, numbers, count, before):
    """numbers: of the count tokens before it, by token."""
    at = 0
    while len(token) - at > 1:
        left = len(token) - at
        pieces = [token[at : at + n] for n in range(left, 1, -1)]
        whole = next((piece for piece in pieces if piece in numbers), b"")
        piece = next((piece for piece in pieces if piece in before), b"")
        if whole and len(whole) == len(piece):
            bits.put(0, 1)
            bits.put(numbers[whole], width_of(count))
        elif piece:
            bits.put(3, 2)
            bits.put(before.index(piece), width_of(len(before)))
            bits.put(len(piece) - 2, width_of(left - 1))
        else:
            bits.put(1, 2)
            bits.put(token[at], 8)
        at += len(piece) or 1
    if at < len(token):
        bits.put(token[at], 8)


def fold(tokens):
    """The folded tokens, as bytes."""
    bits = BitString()
    before = b""
    numbers = {}
    for count, token in enumerate(map(bytes, tokens)):
        _put_token(bits, token, numbers, count, before)
        numbers.setdefault(token, count)
        before += token
    return bits.data()
