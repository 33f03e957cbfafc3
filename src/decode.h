/* decode.h - from packed codes to bytes, the hot loop of the CPU side. */
#ifndef FP_DECODE_H
#define FP_DECODE_H

#include "dict.h"

/* Which instructions a decoder may use; the numbers of fastpair_open_options.cpu_level. */
typedef enum fp_cpu_level {
    FP_CPU_BEST = 0,
    FP_CPU_PORTABLE = 1,
    FP_CPU_X86_64 = 2,
    FP_CPU_AVX2 = 3,
    FP_CPU_AVX512 = 4
} fp_cpu_level;

/* The best level this CPU has (never FP_CPU_BEST), found with cpuid each time: there are no globals. */
fp_cpu_level fp_cpu_detect(void);

/* Tables made from a dictionary for decoding at one CPU level. Immutable; threads may share it. */
typedef struct fp_decoder fp_decoder;

/* `level` FP_CPU_BEST picks by fp_cpu_detect; a level above what the CPU has is UNSUPPORTED. Tables have an entry
 * for each of the 2^b code patterns, so that no code can lead outside them. */
fastpair_status fp_decoder_create(const fp_dict *dict, fp_cpu_level level,
                                  const fastpair_allocator *allocator, fp_decoder **decoder,
                                  fastpair_error *error);
void fp_decoder_free(fp_decoder *decoder, const fastpair_allocator *allocator);

/* The tokens by code: 2^b rows of *row_bytes, 8 if no token is longer, else 16, zero-padded. */
const uint8_t *fp_decoder_rows(const fp_decoder *decoder, uint32_t *row_bytes);

#define FP_DECODE_BAD UINT64_MAX

/* Instructions of 512 bits take a CPU some 70 us to get ready for, each time that they have not been used for a while, and
 * all others are slow meanwhile. What they save, 0.05 to 0.2 ns a code, is more than that from so many codes on: on a quiet
 * Ice Lake core calls of 300,000 to 400,000 codes were 5 to 8 % slower with them, of 600,000 to a million 2 to 17 % faster. */
#define FP_BULK_CODES (1u << 19)

/* Decodes codes first .. first + count of a packed stream to out[0 .. capacity). Reads nothing outside
 * packed[0 .. packed_size) (the caller has checked that fp_packed_size(first + count) <= packed_size), writes
 * nothing outside out[0 .. capacity) whatever the codes are. Returns the decoded size, or FP_DECODE_BAD if a code
 * is not below the dictionary's N or the decoded size would exceed the capacity. Bytes between the decoded size
 * and the capacity are undefined. Fastest when capacity is far above 16 bytes and `first` is a multiple of 32.
 * `bulk` says that this thread decodes FP_BULK_CODES or more now, in this call or in several; the result is the same. */
uint64_t fp_decode_codes(const fp_decoder *decoder, int bulk, const uint8_t *packed,
                         uint64_t packed_size, uint64_t first, uint64_t count, uint8_t *out,
                         uint64_t capacity);

#endif
