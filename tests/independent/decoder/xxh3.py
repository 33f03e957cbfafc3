"""XXH3, the 64-bit hash with seed 0, of bytes of any length.

The five length classes are those of the algorithm: none, 1 to 16, 17 to 128, 129 to 240, and longer
input in blocks of 1024 bytes. In a block, sums are taken lane by lane and cut to 64 bits at its end,
which a stripe-by-stripe loop would do after every addition: the sums are the same.
"""

import struct
from operator import xor

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF
PRIME32_1 = 0x9E3779B1
PRIME32_2 = 0x85EBCA77
PRIME32_3 = 0xC2B2AE3D
PRIME64_1 = 0x9E3779B185EBCA87
PRIME64_2 = 0xC2B2AE3D27D4EB4F
PRIME64_3 = 0x165667B19E3779F9
PRIME64_4 = 0x85EBCA77C2B2AE63
PRIME64_5 = 0x27D4EB2F165667C5
MIX_1 = 0x165667919E3779F9
MIX_2 = 0x9FB21C651E98DF25

SECRET = bytes.fromhex("""
    b8fe6c3923a44bbe7c01812cf721ad1c ded46de9839097db7240a4a4b7b3671f
    cb79e64eccc0e578825ad07dccff7221 b8084674f743248ee03590e6813a264c
    3c2852bb91c300cb88d0658b1b532ea3 71644897a20df94e3819ef46a9deacd8
    a8fa763fe39c343ff9dcbbc7c70b4f1d 8a51e04bcdb45931c89f7ec9d9787364
    eac5ac8334d3ebc3c581a0fffa1363eb 170ddd51b7f0da49d316552629d4689e
    2b16be587d47a1fc8ff8b8d17ad031ce 45cb3a8f95160428afd7fbcabb4b407e""")
SECRET_WORDS = struct.unpack("<24Q", SECRET)
LAST_STRIPE_WORDS = struct.unpack_from("<8Q", SECRET, 121)
MERGE_WORDS = struct.unpack_from("<8Q", SECRET, 11)
STRIPES_PER_BLOCK = 16


def _word32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def _word64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def _fold(a, b):
    """The two halves of the 128-bit product, combined."""
    product = a * b
    return (product & MASK64) ^ (product >> 64)


def _avalanche(value):
    value ^= value >> 37
    value = value * MIX_1 & MASK64
    return value ^ value >> 32


def _avalanche_64(value):
    """The last step of the older 64-bit hash, which the shortest inputs take over."""
    value ^= value >> 33
    value = value * PRIME64_2 & MASK64
    value ^= value >> 29
    value = value * PRIME64_3 & MASK64
    return value ^ value >> 32


def _rotate(value, bits):
    return (value << bits | value >> 64 - bits) & MASK64


def _hash_0_to_16(data, size):
    if size == 0:
        return _avalanche_64(_word64(SECRET, 56) ^ _word64(SECRET, 64))
    if size <= 3:
        value = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche_64(value ^ _word32(SECRET, 0) ^ _word32(SECRET, 4))
    if size <= 8:
        value = _word32(data, size - 4) + (_word32(data, 0) << 32)
        value ^= _word64(SECRET, 8) ^ _word64(SECRET, 16)
        value ^= _rotate(value, 49) ^ _rotate(value, 24)
        value = value * MIX_2 & MASK64
        value ^= (value >> 35) + size
        value = value * MIX_2 & MASK64
        return value ^ value >> 28
    low = _word64(data, 0) ^ _word64(SECRET, 24) ^ _word64(SECRET, 32)
    high = _word64(data, size - 8) ^ _word64(SECRET, 40) ^ _word64(SECRET, 48)
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return _avalanche(size + swapped + high + _fold(low, high) & MASK64)


def _mix_16(data, at, secret_at):
    return _fold(
        _word64(data, at) ^ _word64(SECRET, secret_at),
        _word64(data, at + 8) ^ _word64(SECRET, secret_at + 8),
    )


def _hash_17_to_128(data, size):
    total = size * PRIME64_1
    for i in range((size + 31) // 32):
        total += _mix_16(data, 16 * i, 32 * i)
        total += _mix_16(data, size - 16 * (i + 1), 32 * i + 16)
    return _avalanche(total & MASK64)


def _hash_129_to_240(data, size):
    total = size * PRIME64_1 + sum(_mix_16(data, 16 * i, 16 * i) for i in range(8))
    total = _avalanche(total & MASK64)
    total += sum(_mix_16(data, 16 * i, 16 * (i - 8) + 3) for i in range(8, size // 16))
    total += _mix_16(data, size - 16, 136 - 17)
    return _avalanche(total & MASK64)


def _accumulate(lanes, words, secret):
    """Adds whole stripes, 8 words each, to the lanes. Stripe n uses the secret from word n on."""
    stripes = len(words) // 8
    columns = [words[i::8] for i in range(8)]
    sums = [sum(column) for column in columns]
    for i in range(8):
        total = lanes[i] + sums[i ^ 1]
        for key in map(xor, columns[i], secret[i : i + stripes]):
            total += (key & MASK32) * (key >> 32)
        lanes[i] = total & MASK64


def _hash_long(data, size):
    lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    blocks = (size - 1) // 1024
    for block in range(blocks):
        _accumulate(lanes, struct.unpack_from("<128Q", data, 1024 * block), SECRET_WORDS)
        for i in range(8):
            value = lanes[i] ^ lanes[i] >> 47 ^ SECRET_WORDS[STRIPES_PER_BLOCK + i]
            lanes[i] = value * PRIME32_1 & MASK64
    stripes = (size - 1 - 1024 * blocks) // 64
    _accumulate(lanes, struct.unpack_from(f"<{8 * stripes}Q", data, 1024 * blocks), SECRET_WORDS)
    _accumulate(lanes, struct.unpack_from("<8Q", data, size - 64), LAST_STRIPE_WORDS)
    total = size * PRIME64_1
    for i in range(0, 8, 2):
        total += _fold(lanes[i] ^ MERGE_WORDS[i], lanes[i + 1] ^ MERGE_WORDS[i + 1])
    return _avalanche(total & MASK64)


def xxh3(data):
    """The hash of the bytes, as an integer."""
    size = len(data)
    if size <= 16:
        return _hash_0_to_16(data, size)
    if size <= 128:
        return _hash_17_to_128(data, size)
    if size <= 240:
        return _hash_129_to_240(data, size)
    return _hash_long(data, size)
