/* pack.c - packing and unpacking codes. In: 16-bit codes, or packed bytes. Out: the other.
 *
 * The trick: eight codes are a whole number of bytes at every width, so the loops take eight codes
 * per step, each half of which is one 64-bit word. The few codes at an end that no such step may
 * touch go one by one. Refuses nothing: sizes are the caller's promise. */
#include "pack.h"

#include "format.h"

#define FP_PACK_INLINE static inline __attribute__((always_inline))

/* Calls with a constant width, so that every shift is a constant. The narrow widths of tiny
 * dictionaries share a slower copy. */
#define FP_FOR_WIDTH(bits, call)                                                                   \
    switch (bits) {                                                                                \
    case 9: call(9); break;                                                                        \
    case 10: call(10); break;                                                                      \
    case 11: call(11); break;                                                                      \
    case 12: call(12); break;                                                                      \
    case 13: call(13); break;                                                                      \
    case 14: call(14); break;                                                                      \
    case 15: call(15); break;                                                                      \
    case 16: call(16); break;                                                                      \
    default: call(bits); break;                                                                    \
    }

/* Four codes as one word, the first in the low bits. */
FP_PACK_INLINE uint64_t join_four(const uint16_t *codes, uint32_t bits) {
    return codes[0] | (uint64_t)codes[1] << bits | (uint64_t)codes[2] << 2 * bits |
           (uint64_t)codes[3] << 3 * bits;
}

/* Each step stores 16 bytes, of which the next step overwrites all but the first `bits`. */
FP_PACK_INLINE void pack_groups(const uint16_t *codes, uint64_t groups, uint8_t *packed,
                                uint32_t bits) {
    for (; groups; groups--, codes += 8, packed += bits) {
        uint64_t first = join_four(codes, bits), second = join_four(codes + 4, bits);
        unsigned __int128 eight = (unsigned __int128)second << 4 * bits | first;
        memcpy(packed, &eight, sizeof eight);
    }
}

void fp_pack(const uint16_t *codes, uint64_t count, uint32_t bits, uint8_t *packed) {
    uint64_t size = fp_packed_size(count, bits), groups = size < 16 ? 0 : (size - 16) / bits + 1;
    if (groups > count / 8) groups = count / 8;
#define FP_PACK(width) pack_groups(codes, groups, packed, width)
    FP_FOR_WIDTH(bits, FP_PACK)
#undef FP_PACK
    uint64_t at = groups * bits, word = 0;
    uint32_t filled = 0;
    for (uint64_t i = groups * 8; i < count; i++) {
        word |= (uint64_t)codes[i] << filled;
        for (filled += bits; filled >= 8; filled -= 8, word >>= 8) packed[at++] = (uint8_t)word;
    }
    if (filled) packed[at++] = (uint8_t)word;
    memset(packed + at, 0, (size_t)(size - at));
}

/* Spreads four codes to the four quarters of a word. */
FP_PACK_INLINE uint64_t spread_four(uint64_t word, uint32_t bits) {
    uint64_t mask = (1u << bits) - 1;
    return (word & mask) | (word >> bits & mask) << 16 | (word >> 2 * bits & mask) << 32 |
           (word >> 3 * bits & mask) << 48;
}

/* The second half begins in the middle of a byte if the width is odd; 4 + 4 * 15 bits still fit a
 * word. */
FP_PACK_INLINE void unpack_groups(const uint8_t *packed, uint64_t groups, uint16_t *codes,
                                  uint32_t bits) {
    for (; groups; groups--, packed += bits, codes += 8) {
        fp_store64(codes, spread_four(fp_load64(packed), bits));
        fp_store64(codes + 4, spread_four(fp_load64(packed + bits / 2) >> bits % 2 * 4, bits));
    }
}

static uint16_t one_code(const uint8_t *packed, uint64_t packed_size, uint32_t bits,
                         uint64_t number) {
    uint64_t bit = number * bits, byte = bit / 8, left = packed_size - byte;
    uint32_t word = 0;
    if (left >= 4)
        word = fp_load32(packed + byte);
    else
        for (uint32_t i = 0; i < left; i++) word |= (uint32_t)packed[byte + i] << 8 * i;
    return (uint16_t)(word >> bit % 8 & ((1u << bits) - 1));
}

void fp_unpack(const uint8_t *packed, uint64_t packed_size, uint32_t bits, uint64_t first,
               uint64_t count, uint16_t *codes) {
    uint64_t done = 0;
    for (; done < count && (first + done) % 8; done++)
        codes[done] = one_code(packed, packed_size, bits, first + done);
    uint64_t groups = (count - done) / 8;
    if (groups) {
        uint64_t at = (first + done) / 8 * bits, left = packed_size - at, reach = bits / 2 + 8;
        uint64_t readable = left < reach ? 0 : (left - reach) / bits + 1;
        if (groups > readable) groups = readable;
#define FP_UNPACK(width) unpack_groups(packed + at, groups, codes + done, width)
        FP_FOR_WIDTH(bits, FP_UNPACK)
#undef FP_UNPACK
        done += groups * 8;
    }
    for (; done < count; done++) codes[done] = one_code(packed, packed_size, bits, first + done);
}
