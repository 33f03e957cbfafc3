/* format.h - the numbers of docs/format.md and little-endian access. */
#ifndef FP_FORMAT_H
#define FP_FORMAT_H

#include <stdint.h>

/* CMake refuses such machines, too, with advice. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fastpair needs a little-endian machine"
#endif
#if UINTPTR_MAX < UINT64_MAX
#error "fastpair needs a 64-bit machine"
#endif

#include <string.h>

#define FP_FILE_MAGIC                                                                              \
    "\x89"                                                                                         \
    "FPC\r\n\x1a\n"
#define FP_TAIL_MAGIC                                                                              \
    "FPC\n\x1a"                                                                                    \
    "END"
#define FP_KIND_DICTIONARY 0x49445046u /* "FPDI" */
#define FP_KIND_CHUNK      0x48435046u /* "FPCH" */
#define FP_KIND_FOOTER     0x54465046u /* "FPFT" */

/* Of the token section of a dictionary. */
#define FP_FORM_PLAIN  0u
#define FP_FORM_COLD   1u
#define FP_FORM_FOLDED 2u

#define FP_VERSION_MAJOR 1u
#define FP_VERSION_MINOR 0u

/* Features of the file header that a reader must know. */
#define FP_FEATURE_COLD   1u /* there may be cold chunks or dictionaries */
#define FP_FEATURES_KNOWN FP_FEATURE_COLD

#define FP_FILE_HEADER        64u
#define FP_DICT_HEADER        96u
#define FP_CHUNK_HEADER       320u
#define FP_FOOTER_HEADER      112u
#define FP_FOOTER_DICT_ENTRY  24u
#define FP_FOOTER_CHUNK_ENTRY 32u
#define FP_TRAILER            32u
#define FP_RUN_ENTRY          8u
#define FP_LENGTH_ENTRY       16u
#define FP_PART_ENTRY         32u
#define FP_MAX_PARTS          64u
#define FP_BLOCK_START        16u /* of every block: kind, header size, block size */

/* So much of a file's beginning is read when the file is opened in ranges. */
#define FP_READ_AT_OPENING (26u << 10)

#define FP_LENGTH_BLOCK    256u /* rows in a block of the row-length section */
#define FP_NO_DICTIONARY   UINT32_MAX
#define FP_MAX_CHUNK_ROWS  (1ull << 28)
#define FP_MAX_CHUNK_BYTES 0xffffffffull
#define FP_MIN_BATCH       32u
#define FP_MAX_BATCH       1024u
#define FP_LARGEST_BATCH   16384u        /* decoded bytes of a batch, at most */
#define FP_LARGEST_TOKENS  (72ull << 16) /* a token section: 65,536 runs and tokens */
#define FP_MAX_WORDS       (1ull << 25)  /* codes and rows of a cold chunk */
#define FP_MAX_COLD_BYTES  (1ull << 26)  /* of a stored and cold chunk */
#define FP_MAX_COLD_SLOTS  65534u        /* a word has 16 bits, two numbers of which end rows */
#define FP_MAX_GROUP       4096u         /* codes of a sidecar group, at most */

static inline uint16_t fp_load16(const void *p) {
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
static inline uint32_t fp_load32(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t fp_load64(const void *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void fp_store16(void *p, uint16_t v) { memcpy(p, &v, 2); }
static inline void fp_store32(void *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void fp_store64(void *p, uint64_t v) { memcpy(p, &v, 8); }

/* 1 if all bytes are 0, as gaps must be. */
static inline int fp_all_zero(const uint8_t *bytes, uint64_t size) {
    uint8_t seen = 0;
    for (uint64_t i = 0; i < size; i++) seen |= bytes[i];
    return !seen;
}

/* Rounds up to a multiple of a power of two; the caller has made sure it does not overflow. */
static inline uint64_t fp_align(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

/* G, the batches per sidecar group that a writer takes: the largest power of two with which a group
 * has at most FP_MAX_GROUP codes and, whatever its tokens, deltas of two bytes. */
static inline uint32_t fp_group_batches(uint32_t batch_codes, uint32_t max_token) {
    uint32_t group = 1, most = 65536 / max_token < FP_MAX_GROUP ? 65536 / max_token : FP_MAX_GROUP;
    while (batch_codes * group * 2 <= most) group *= 2;
    return group;
}

/* XXH3-64, seed 0 (checksum.c). An empty section's hash is 0 by definition. */
uint64_t fp_checksum(const void *data, uint64_t size);

/* The same for data that comes in pieces; fp_hasher_end of no data is not 0. */
typedef struct fp_hasher {
    _Alignas(64) uint8_t state[576];
} fp_hasher;
void fp_hasher_begin(fp_hasher *hasher);
void fp_hasher_add(fp_hasher *hasher, const void *data, uint64_t size);
uint64_t fp_hasher_end(const fp_hasher *hasher);

#endif
