/* decode_private.h - what the decoders of all CPU levels share: the tables, and how a loop is
 * called. */
#ifndef FP_DECODE_PRIVATE_H
#define FP_DECODE_PRIVATE_H

#include "decode.h"
#include "token_text.h"

/* Codes per step of a loop, a group. Eight codes are a whole number of bytes at every width (as
 * many as a code has bits), and a step takes two such eights. */
#define FP_DECODE_GROUP 16u

/* How a table gives a code's length. */
typedef enum fp_length_lookup {
    FP_LENGTH_BY_CODE, /* lengths[code] */
    /* lengths[2 * code]: the same number is this index and, times 8, where a 16-byte cell
     * begins. */
    FP_LENGTH_BY_DOUBLE
} fp_length_lookup;

/* The length in tables of codes at or above N. A group with such a code is longer than 16 cells
 * even if its 15 other tokens have a byte each. No valid group is, so one comparison per group
 * finds bad codes. */
#define FP_BAD_LENGTH(cell_bytes) (FP_DECODE_GROUP * ((cell_bytes)-1) + 2) /* at most 242 */

/* Codes of up to so many bits also have tables of all pairs of codes (at most 33 KiB), so that one
 * lookup gives two tokens. */
#define FP_MOST_PAIRED_BITS 5u

/* FP_BAD_LENGTH for pairs: one more, since the seven other pairs of a group may have 14 bytes, not
 * 15. */
#define FP_BAD_PAIR_LENGTH(cell_bytes) (FP_BAD_LENGTH(cell_bytes) + 1) /* at most 243 */

/* The same for tokens of more than 16 bytes. There a comparison follows each four codes, so that
 * lengths have 8 bits and loops stop sooner. */
#define FP_LONG_STEP            4u
#define FP_BAD_LONG(cell_bytes) (FP_LONG_STEP * ((cell_bytes)-1) + 2) /* at most 254 */

/* A place is where a token begins, and below that its length or FP_BAD_LONG. If a decoder has steps, it is
 * negative for marked tokens, which lie before all others: those that are not UTF-8 by themselves, or
 * those that are not ASCII (marks_high). */
#define FP_PLACE_SHIFT 8u
_Static_assert(FP_BAD_LONG(FP_MAX_TOKEN) < 1u << FP_PLACE_SHIFT, "lengths fit a place");
_Static_assert((uint64_t)FP_MAX_TOKENS *FP_MAX_TOKEN < 1ull << (31 - FP_PLACE_SHIFT),
               "so do beginnings");

/* How far past the longest output of valid codes a loop may write, whatever the codes are. A loop
 * stops after the first group, or the first four codes, that bad codes make longer than valid ones
 * are; or takes bad codes for no longer than a cell. */
#define FP_DECODE_OVERRUN(cell_bytes)                                                              \
    ((cell_bytes) + ((cell_bytes) <= FP_SHORT_TOKEN ? FP_DECODE_GROUP * FP_BAD_LENGTH(cell_bytes)  \
                                                    : FP_LONG_STEP * FP_BAD_LONG(cell_bytes)))

_Static_assert(8 * FP_BAD_PAIR_LENGTH(8) + 16 <= FP_DECODE_OVERRUN(8) &&
                   8 * FP_BAD_PAIR_LENGTH(16) + 32 <= FP_DECODE_OVERRUN(16),
               "a group of bad pairs stays within the overrun");
_Static_assert(FP_DECODE_OVERRUN(8) >= 64 && FP_DECODE_OVERRUN(32) >= 64,
               "stores of 64 bytes stay within it, too");

/* What a loop that looks for UTF-8 has found: as in fp_decode_seen. */
typedef struct fp_marks {
    const uint8_t *known;
    int is_ascii;
} fp_marks;

/* A run has at most so many codes, if a token may have more than 8 bytes. */
#define FP_MOST_RUN 4096u

/* What one call of a loop decodes: `groups` groups of packed codes. Of each group the loop reads
 * fp_group_reach bytes, and anything before packed_end. The output has room for groups * 16 cells
 * and FP_DECODE_OVERRUN more. Cache lines are fetched `ahead` bytes before they are written. */
typedef struct fp_decode_run {
    const uint8_t *packed;
    const uint8_t *packed_end;
    uint64_t groups;
    uint8_t *out;
    uint64_t ahead;
    /* For loops that look for UTF-8, and for no others. */
    fp_marks *marks;
    fp_decode_starts *starts; /* NULL: nobody wants to know */
    fp_decode_blocks *blocks; /* has none; loops may say more */
} fp_decode_run;

/* How far ahead of the loads packed codes are fetched. CPUs should do it by themselves, but do not in some
 * copies of one and the same program (docs/lab/text-check.md). */
#define FP_PACKED_AHEAD 1024u

/* Returns where the output ends, or NULL if a code is not below N. */
typedef uint8_t *fp_decode_loop(const fp_decoder *decoder, const fp_decode_run *run);

/* Where 32 packed codes begin: bytes, and bits from there on. */
typedef struct fp_spread {
    uint8_t places[64], shifts[64];
} fp_spread;

/* Tables of the AVX-512 loop. */
typedef struct fp_squeeze {
    /* By class, code >> fp_squeeze_shift: with 8-byte cells a bit for each byte of the token, with
     * 16-byte cells its length. */
    uint8_t by_class[1024];
    /* The same with 16-byte cells, and FP_CLASS_PARTIAL where a token of the class is not UTF-8 by
     * itself. */
    uint8_t text_by_class[1024];
    fp_spread spread;
} fp_squeeze;
#define FP_CLASS_PARTIAL 0x80u

/* Tables of the AVX-512 loop for tokens of more than 16 bytes. It takes tokens as *bricks* of 16
 * bytes, the last of them padded. Bricks are numbered from 1 on, in 16 bits. Up to FP_MOST_DOUBLED of
 * them the numbers are doubled, so that an address needs no shift. */
#define FP_BRICK         16u
#define FP_BRICK_PADDING 255u
#define FP_MOST_BRICKS   (FP_MAX_TOKEN / FP_BRICK) /* of a token */
#define FP_MOST_DOUBLED  (UINT16_MAX / 2u)
#define FP_MOST_LISTED   (UINT16_MAX - 1u) /* UINT16_MAX is above any number */

#define FP_PARTIAL_RANGES 3u

typedef struct fp_bricks {
    /* Which bytes of 32 two-byte numbers, one per code, give each number as often as the longest
     * token has bricks. That fills as many registers. */
    uint8_t repeat[FP_MOST_BRICKS][64];
    /* For each number of such a register: the ordinal of its brick in the token, and the number of
     * the first brick of the first token that has a brick of this ordinal. */
    uint16_t ordinals[32], least[32];
    uint16_t codes[FP_MOST_BRICKS]; /* the first with more than i bricks; UINT16_MAX: none */
    fp_spread spread;
    const uint8_t *cells; /* all bricks in code order, where one with number 0 would begin */
    uint32_t slots;       /* codes from here on have no bricks */
    uint32_t unit;        /* of numbers: 2 if they are doubled, else 1 */
    uint32_t most;        /* bricks of a token: 1, 2 or 4 */
    /* Ranges of codes, which hold all whose tokens are not UTF-8 by themselves. */
    struct {
        uint16_t from, count;
    } partial[FP_PARTIAL_RANGES];
} fp_bricks;

/* The classes of fp_class_shift in files are no larger than these: at most 64 codes each, and at
 * least 256 classes if there are so many codes. */
static inline uint32_t fp_squeeze_shift(uint32_t code_bits) {
    return code_bits <= 8 ? 0 : code_bits < 14 ? code_bits - 8 : 6;
}

/* Two loops that decode alike. */
typedef struct fp_loops {
    fp_decode_loop *plain;
    fp_decode_loop *marking; /* looks for UTF-8, too; NULL: no such */
} fp_loops;

struct fp_decoder {
    fp_loops few;
    fp_loops bulk; /* for many codes; `few` if no other is better */
    fp_loops rare; /* where tokens of more than half a cell are rare; NULL: no such */
    /* From the start of a cache line on: 2^b tokens by code; or, if any has more than 16 bytes,
     * tokens back to back, as `places` says, and a cell of zeros. With steps, cells of tokens that are
     * not UTF-8 by themselves end with FP_MARK, if a loop marks. */
    const uint8_t *cells;
    const int32_t *places;     /* by code; NULL if no token has more than 16 bytes */
    const uint8_t *lengths;    /* as `lookup` says; NULL if there are places */
    const uint8_t *numbers;    /* of steps, as `lookup` says; NULL if there are no steps */
    const fp_steps *steps;     /* the same */
    const fp_squeeze *squeeze; /* NULL if there are none */
    const fp_bricks *bricks;   /* the same */
    const uint8_t *pairs; /* by second code << b | first: both tokens; NULL if there are none */
    const uint8_t *pair_lengths; /* of both tokens, or FP_BAD_PAIR_LENGTH if a code is bad */
    uint32_t code_bits;
    uint32_t code_slots; /* N */
    uint32_t cell_bytes; /* 8, 16, 32 or 64: no token is longer. Pairs have twice as many */
    fp_length_lookup lookup;
    int marks_high; /* of places: all tokens that are not ASCII are marked */
};

/* The token of a code below N, and its length. */
static inline const uint8_t *fp_token_of(const fp_decoder *decoder, uint32_t code,
                                         uint32_t *length) {
    if (decoder->places) {
        *length = (uint32_t)decoder->places[code] & ((1u << FP_PLACE_SHIFT) - 1);
        return decoder->cells + (decoder->places[code] >> FP_PLACE_SHIFT);
    }
    *length = decoder->lengths[decoder->lookup == FP_LENGTH_BY_DOUBLE ? 2 * code : code];
    return decoder->cells + (uint64_t)code * decoder->cell_bytes;
}

/* The step of a code, if the decoder has steps. */
static inline uint64_t fp_step_of(const fp_decoder *decoder, uint32_t code) {
    const uint32_t number =
        decoder->numbers[decoder->lookup == FP_LENGTH_BY_DOUBLE ? 2 * code : code];
    return decoder->steps->of[number];
}

static inline uint32_t fp_group_bytes(uint32_t code_bits) {
    return code_bits * (FP_DECODE_GROUP / 8);
}

/* How many bytes from its first one on a group's codes are read: eight codes are two 8-byte words,
 * the second from the fifth code's first byte on, or one word if that holds all. */
static inline uint32_t fp_group_reach(uint32_t code_bits) {
    return fp_group_bytes(code_bits) - code_bits + (code_bits <= 8 ? 8 : code_bits / 2 + 8);
}

/* Fills in places and tokens: for slots without a token, a place among zeros. Needs steps, and the numbers of
 * steps by code if there are any. `tokens` has FP_MAX_TOKEN bytes more than there are. */
void fp_decoder_fill_places(fp_decoder *decoder, const fp_dict *dict, int32_t *places,
                            uint8_t *tokens);

/* Sets the loops of a decoder that has places. */
void fp_decoder_choose_long_loops(fp_decoder *decoder, fastpair_cpu_level level);

/* Loops of decode_loop.h, and those of decode_long.h for decoders that have places. */
uint8_t *fp_decode_loop_portable(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_decode_long_portable(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_decode_rare_portable(const fp_decoder *decoder, const fp_decode_run *run);
/* The same, marking. Only for decoders that have steps, and not for cells of 8 bytes, nor for codes of up
 * to FP_MOST_PAIRED_BITS bits if there are no places. */
uint8_t *fp_mark_loop_portable(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_long_portable(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_rare_portable(const fp_decoder *decoder, const fp_decode_run *run);
#if defined(__x86_64__)
uint8_t *fp_decode_loop_avx2(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_decode_long_avx2(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_decode_rare_avx2(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_loop_avx2(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_long_avx2(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_rare_avx2(const fp_decoder *decoder, const fp_decode_run *run);

/* Only for cells of 64 bytes; for dictionaries without bricks. */
uint8_t *fp_decode_long_avx512(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_long_avx512(const fp_decoder *decoder, const fp_decode_run *run);

/* Only for decoders that have fp_bricks. */
uint8_t *fp_decode_bricks_avx512(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_bricks_avx512(const fp_decoder *decoder, const fp_decode_run *run);
/* How many bricks the tokens have; 0 if the loop cannot take them. */
uint32_t fp_bricks_count(const fp_dict *dict);
/* Fills `cells` with FP_BRICK bytes for each brick, and the tables, and has the decoder use the loop
 * for bulk. It marks if the decoder has steps. */
void fp_bricks_fill(const fp_dict *dict, fp_bricks *tables, uint8_t *cells, fp_decoder *decoder);

void fp_spread_fill(uint32_t code_bits, fp_spread *tables);

/* Only for decoders that have fp_squeeze tables: codes have more than FP_MOST_PAIRED_BITS bits, and
 * the tokens of a class (fp_squeeze_shift) have one length. `lengths` is by code. */
uint8_t *fp_decode_loop_avx512(const fp_decoder *decoder, const fp_decode_run *run);
uint8_t *fp_mark_loop_avx512(const fp_decoder *decoder, const fp_decode_run *run);
/* `numbers` of steps are by code; NULL: there are none. */
void fp_squeeze_fill(const fp_decoder *decoder, const uint8_t *lengths, const uint8_t *numbers,
                     fp_squeeze *tables);
#endif

#endif
