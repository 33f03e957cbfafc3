/* decode_avx512.h - what the AVX-512 loops share: codes from packed bytes to 16-bit numbers, 32 at a
 * time. Only for x86-64. */
#ifndef FP_DECODE_AVX512_H
#define FP_DECODE_AVX512_H

#include "decode_private.h"
#include "format.h"

#include <immintrin.h>

#define FP_TARGET                                                                                  \
    __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,"             \
                          "avx512vbmi2")))
#define FP_INLINE static inline __attribute__((always_inline)) FP_TARGET

/* fp_spread in registers. */
typedef struct spreader {
    __m512i places, shifts, code_mask;
} spreader;

FP_INLINE spreader load_spread(const fp_spread *from, uint32_t bits) {
    return (spreader){_mm512_loadu_si512(from->places), _mm512_loadu_si512(from->shifts),
                      _mm512_set1_epi16((short)((1u << bits) - 1))};
}

/* Reads 64 bytes. */
FP_INLINE __m512i unpack_32(const spreader *tables, const uint8_t *packed) {
    __m512i fours = _mm512_permutexvar_epi8(tables->places, _mm512_loadu_si512(packed));
    return _mm512_and_si512(_mm512_multishift_epi64_epi8(tables->shifts, fours), tables->code_mask);
}

/* Compilers would load the mask twice, and clear the count first for the sake of older CPUs. */
FP_INLINE uint64_t count_bits(uint64_t mask) {
    uint64_t count;
    __asm__("popcntq %1, %0" : "=r"(count) : "r"(mask) : "cc");
    return count;
}

/* Blocks of `codes` codes that may be read: the last 32 codes of a block are read as 64 bytes,
 * too. */
FP_INLINE uint64_t readable_blocks(const fp_decode_run *run, uint32_t bits, uint32_t codes) {
    uint64_t left = (uint64_t)(run->packed_end - run->packed), bytes = codes / 8 * bits;
    uint64_t reach = bytes - 4 * bits + 64, blocks = run->groups / (codes / FP_DECODE_GROUP),
             readable = left < reach ? 0 : (left - reach) / bytes + 1;
    return blocks < readable ? blocks : readable;
}

#endif
