/* test_token_text.c - text in dictionaries: which tokens are UTF-8 by themselves, which tokens training
 * makes of text, and in which order they are numbered. */
#include "number.h"
#include "oracle_parts.h"
#include "token_text.h"
#include "train.h"
#include "utf8.h"
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
    uint8_t *numbers = malloc(FP_MAX_TOKENS);
    fp_steps steps;
    fp_dict dict;
    fp_number_input input = {.tokens = tokens,
                             .counts = counts,
                             .coverage = FP_COVER_ALL,
                             .hot_codes = hot_codes,
                             .codec = FASTPAIR_CODEC_ONPAIR};
    CHECK_EQ(fp_number_tokens(&input, &plain, &dict, code_of_id, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_token_text(&dict), FP_TOKENS_ANY);
    CHECK_EQ(fp_token_steps(&dict, 200, &steps, numbers), FP_TOKENS_ANY);
    const uint8_t *token = dict.bytes;
    uint64_t partial = 0;
    for (uint32_t r = 0; r < dict.run_count; r++) {
        const fp_run *run = &dict.runs[r];
        int before = 0;
        for (uint32_t i = 0; i < run->count; i++, token += run->length) {
            int is_partial = !oracle_is_utf8(token, run->length);
            CHECK_EQ(numbers[run->first_code + i] >= FP_STEPS_WHOLE, is_partial);
            CHECK_EQ(steps.of[numbers[run->first_code + i]] >> FP_STEP_LENGTH_SHIFT, run->length);
            CHECK(is_partial >= before);
            CHECK(!is_partial || hot_codes || run->first_code >= dict.hot_slots);
            before = is_partial;
            partial += (uint64_t)is_partial;
        }
    }
    fp_dict_close(&dict, &plain);
    free(code_of_id);
    free(numbers);
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

/* Steps against an oracle: a few tokens after each other, after three bytes that no step has seen, are good
 * if and only if their bytes are. Tokens have `shortest` to `longest` bytes, which have all rules of
 * UTF-8. */
static void take_steps(uint32_t shortest, uint32_t longest, uint64_t *random) {
    static const uint8_t some[] = {'a',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                   0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed,
                                   0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    static const char *const before[] = {
        "abc",    "ab\xc3", "a\xe4\xb8", "ab\xe4",       "ab\xe0",       "ab\xed",      "ab\xf0",
        "ab\xf1", "ab\xf4", "a\xf0\x90", "\xf4\x8f\x80", "\xe4\xb8\xad", "\x80\x80\x80"};
    enum { OF_LENGTH = 400, MOST = 10 };
    uint32_t lengths = longest - shortest + 1, count = OF_LENGTH * lengths, at = 0;
    uint32_t unknown = 0, good = 0, wrong = 0;
    uint8_t *bytes = malloc((size_t)count * longest), *numbers = malloc(4096);
    uint32_t *begins = malloc(count * sizeof *begins);
    fp_run runs[MOST];
    fp_dict dict = {
        .code_bits = 12, .code_slots = count, .tokens = count, .run_count = lengths, .runs = runs};
    for (uint32_t code = 0; code < count; code++) {
        uint32_t length = shortest + code / OF_LENGTH;
        runs[code / OF_LENGTH] = (fp_run){code / OF_LENGTH * OF_LENGTH, OF_LENGTH, length};
        begins[code] = at;
        /* Bytes of a text, from anywhere on, of which one may be another one. */
        static const char text[] =
            "a\xc3\xa9z\xe0\xa4\x85\xed\x95\x9c\xe4\xb8\xad\xf0\x9f\x92\xa9"
            "\xf4\x8f\xbf\xbf\xf1\x80\x80\x80\xc2\x80\xed\x9f\xbf\xe0\xa0\x80";
        uint64_t r = check_random(random), from = r % (sizeof text - 1);
        for (uint32_t i = 0; i < length; i++)
            bytes[at + i] = (uint8_t)text[(from + i) % (sizeof text - 1)];
        if ((r >> 8) % 4 == 0) bytes[at + (r >> 16) % length] = some[(r >> 32) % sizeof some];
        at += length;
    }
    dict.bytes = bytes, dict.bytes_size = at;
    fp_steps steps;
    CHECK_EQ(fp_token_steps(&dict, 99, &steps, numbers), FP_TOKENS_ANY);
    CHECK_EQ(steps.of[numbers[count]] >> FP_STEP_LENGTH_SHIFT, 99);
    for (uint32_t i = 0; i < check_scaled(200000); i++) {
        uint8_t text[3 + 3 * MOST];
        uint32_t size = 3;
        int is_known = 1, has_fault = 0;
        memcpy(text, before[check_random(random) % 13], 3);
        uint64_t state = fp_state_after(text + 3);
        for (uint64_t k = 1 + check_random(random) % 3; k; k--) {
            uint32_t code = (uint32_t)(check_random(random) % count);
            uint64_t step = steps.of[numbers[code]], length = step >> FP_STEP_LENGTH_SHIFT;
            wrong += length != shortest + code / OF_LENGTH;
            memcpy(text + size, bytes + begins[code], length);
            size += (uint32_t)length;
            is_known &= numbers[code] < FP_STEPS_WHOLE || numbers[code] > FP_STEPS_UNKNOWN;
            state = fp_take_step(state, step);
        }
        for (uint32_t k = 3; k < size; k++)
            has_fault |= fp_utf8_is_fault(text[k], text[k - 1], text[k - 2], text[k - 3]);
        int is_good = (state & FP_STATE_MASK) != FP_STATE_WRONG;
        wrong += is_known ? is_good == has_fault : is_good;
        fp_utf8 end = {{text[size - 3], text[size - 2], text[size - 1]}};
        if (is_good)
            wrong += fp_utf8_is_whole(&end) != ((state & FP_STATE_MASK) == FP_STATE_BETWEEN);
        unknown += !is_known;
        good += (uint32_t)is_good;
    }
    CHECK_EQ(wrong, 0);
    CHECK(good > 0);
    CHECK_EQ(unknown > 0, lengths > 1); /* a byte numbers all steps of one length */
    free(bytes);
    free(numbers);
    free(begins);
}

int main(void) {
    uint64_t random = verify_seed();
    fp_allocator_resolve(NULL, &plain, NULL);
    for (uint32_t length = 1; length <= 8; length++) take_steps(length, length, &random);
    take_steps(1, 10, &random);
    train_on_text(12, 16, &random);
    train_on_text(16, 16, &random);
    train_on_text(12, 64, &random);
    cut_characters();
    return check_done();
}
