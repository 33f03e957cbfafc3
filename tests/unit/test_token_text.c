/* test_token_text.c - text in dictionaries: which tokens are UTF-8 by themselves, which tokens training
 * makes of text, and in which order they are numbered. */
#include "number.h"
#include "oracle_parts.h"
#include "token_text.h"
#include "train.h"
#include "verify.h"

#include <stdlib.h>

static fastpair_allocator plain;

/* Characters of one to four bytes, frequent and rare ones. */
static uint64_t write_rows(uint8_t *bytes, uint64_t *offsets, uint64_t rows, uint64_t *random) {
    uint64_t size = 0;
    for (uint64_t row = 0; row < rows; row++) {
        offsets[row] = size;
        for (uint64_t n = 1 + check_random(random) % 30; n; n--) {
            uint64_t r = check_random(random), which = r % 10,
                     some = (r >> 8) % (1 + (r >> 32) % 64);
            if (which < 4) {
                bytes[size++] = (uint8_t)('a' + some % 26);
            } else if (which < 7) {
                bytes[size++] = 0xd0, bytes[size++] = (uint8_t)(0x80 | some);
            } else if (which < 9) {
                bytes[size++] = (uint8_t)(0xe4 + (r >> 16) % 4),
                bytes[size++] = (uint8_t)(0x80 | some);
                bytes[size++] = (uint8_t)(0x80 | (r >> 24) % 64);
            } else {
                bytes[size++] = 0xf0, bytes[size++] = 0x9f, bytes[size++] = 0x98;
                bytes[size++] = (uint8_t)(0x80 | some);
            }
        }
    }
    offsets[rows] = size;
    return size;
}

/* Whether bytes begin one character and lack some of it. */
static int begins_character(const uint8_t *bytes, uint32_t length) {
    static const uint8_t rest[] = {0xa0, 0x80, 0x80}; /* for the characters of write_rows */
    uint8_t whole[8];
    for (uint32_t lacks = 1; lacks < 4 && length < 4; lacks++) {
        memcpy(whole, bytes, length);
        memcpy(whole + length, rest, lacks);
        int is_one = (bytes[0] & 0xc0) == 0xc0;
        for (uint32_t i = 1; i < length; i++) is_one &= (bytes[i] & 0xc0) == 0x80;
        if (is_one && oracle_is_utf8(whole, length + lacks)) return 1;
    }
    return 0;
}

/* Pieces of one character come last in their runs. Returns how many there are. */
static uint64_t check_order(const fp_tokens *tokens, const uint64_t *counts, uint32_t hot_codes) {
    uint32_t *code_of_id = malloc(FP_MAX_TOKENS * sizeof *code_of_id);
    uint8_t *kinds = malloc(FP_MAX_TOKENS);
    fp_dict dict;
    fp_number_input input = {.tokens = tokens,
                             .counts = counts,
                             .coverage = FP_COVER_ALL,
                             .hot_codes = hot_codes,
                             .codec = FASTPAIR_CODEC_ONPAIR};
    CHECK_EQ(fp_number_tokens(&input, &plain, &dict, code_of_id, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_token_text(&dict, kinds), FP_TOKENS_ANY);
    CHECK_EQ(fp_token_text(&dict, NULL), FP_TOKENS_ANY);
    const uint8_t *token = dict.bytes;
    uint64_t partial = 0;
    for (uint32_t r = 0; r < dict.run_count; r++) {
        const fp_run *run = &dict.runs[r];
        int before = 0;
        for (uint32_t i = 0; i < run->count; i++, token += run->length) {
            int is_partial = !oracle_is_utf8(token, run->length);
            CHECK_EQ(kinds[run->first_code + i] != 0, is_partial);
            CHECK(is_partial >= before);
            CHECK(!is_partial || hot_codes || run->first_code >= dict.hot_slots);
            before = is_partial;
            partial += (uint64_t)is_partial;
        }
    }
    fp_dict_close(&dict, &plain);
    free(code_of_id);
    free(kinds);
    return partial;
}

static void train_on_text(uint32_t code_bits, uint32_t max_token, uint64_t *random) {
    enum { ROWS = 30000 };
    uint8_t *bytes = malloc(ROWS * 31 * 4);
    uint64_t *offsets = malloc((ROWS + 1) * sizeof *offsets), size;
    size = write_rows(bytes, offsets, ROWS, random);
    fastpair_rows rows = {.struct_size = sizeof rows,
                          .rows = ROWS,
                          .bytes = bytes,
                          .offsets = offsets,
                          .offset_bits = 64};
    const fp_code_space space = {code_bits, max_token, 0, 3, 1};
    fp_sample sample;
    fp_tokens tokens;
    CHECK_EQ(fp_sample_open(&rows, size, 1, &plain, &sample, NULL), FASTPAIR_OK);
    CHECK(sample.is_text);
    CHECK_EQ(fp_train_onpair(&sample, &space, NULL, &plain, &tokens, NULL), FASTPAIR_OK);
    uint64_t wrong = 0, longer = 0, *counts = calloc(FP_MAX_TOKENS, sizeof *counts);
    for (uint32_t id = 256; id < tokens.count; id++) {
        const uint8_t *token = fp_token(&tokens, id);
        wrong += !oracle_is_utf8(token, tokens.lengths[id]) &&
                 !begins_character(token, tokens.lengths[id]);
        longer += tokens.lengths[id] > 4 && token[0] > 127;
        counts[id] = check_random(random) % 1000;
    }
    CHECK_EQ(wrong, 0);
    CHECK(longer > 100);
    CHECK(check_order(&tokens, counts, 0) >= 128);
    CHECK(check_order(&tokens, counts, 300) >= 128);
    fp_tokens_close(&tokens, &plain);
    fp_sample_close(&sample, &plain);
    bytes[offsets[ROWS / 2]] =
        0xff; /* the whole column is the sample, and it is no text any more */
    CHECK_EQ(fp_sample_open(&rows, size, 1, &plain, &sample, NULL), FASTPAIR_OK);
    CHECK(!sample.is_text);
    fp_sample_close(&sample, &plain);
    free(counts);
    free(bytes);
    free(offsets);
}

/* Rows of more than 4 KiB are cut into pieces anywhere, and are text all the same. */
static void cut_characters(void) {
    enum { BYTES = 40001 * 3 };
    uint8_t *bytes = malloc(BYTES);
    for (uint64_t i = 0; i < BYTES; i++) bytes[i] = "\xe4\xb8\xad"[i % 3];
    uint64_t offsets[] = {0, BYTES};
    fastpair_rows rows = {.struct_size = sizeof rows,
                          .rows = 1,
                          .bytes = bytes,
                          .offsets = offsets,
                          .offset_bits = 64};
    fp_sample sample;
    CHECK_EQ(fp_sample_open(&rows, BYTES, 1, &plain, &sample, NULL), FASTPAIR_OK);
    CHECK(sample.pieces > 1 && sample.is_text);
    fp_sample_close(&sample, &plain);
    free(bytes);
}

int main(void) {
    uint64_t random = verify_seed();
    fp_allocator_resolve(NULL, &plain, NULL);
    train_on_text(12, 16, &random);
    train_on_text(16, 16, &random);
    train_on_text(12, 64, &random);
    cut_characters();
    return check_done();
}
