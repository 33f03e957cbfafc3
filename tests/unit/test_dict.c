/* test_dict.c - numbering: which tokens are in the hot part of a large dictionary, and that runs
 * lie where files have them. */
#include "check.h"
#include "number.h"

#define KIB 1024u

static fastpair_allocator allocator;
static uint64_t random_state;
static fp_tokens tokens;
static uint64_t counts[FP_MAX_TOKENS];
static uint32_t code_of_id[FP_MAX_TOKENS];

/* The single bytes and tokens of any length, up to `count`; each occurs `least` to `most` times. */
static void make_tokens(uint32_t count, uint32_t max_token, uint64_t least, uint64_t most) {
    fp_tokens_close(&tokens, &allocator);
    if (fp_tokens_open(&tokens, max_token, &allocator, NULL)) abort();
    while (tokens.count < count) {
        uint8_t bytes[FP_MAX_TOKEN];
        for (uint32_t i = 0; i < max_token; i++) bytes[i] = (uint8_t)check_random(&random_state);
        fp_tokens_add(&tokens, bytes,
                      3 + (uint32_t)(check_random(&random_state) % (max_token - 2)));
    }
    for (uint32_t id = 0; id < count; id++)
        counts[id] = least + check_random(&random_state) % (most - least + 1);
}

static uint64_t near_bytes(uint32_t id) {
    return tokens.lengths[id] > tokens.max_token / 2 ? tokens.max_token : tokens.max_token / 2;
}

/* Numbers the tokens; checks what holds for every numbering; returns the bytes of the hot part, 0
 * if there is none. */
static uint64_t number(uint32_t hot_codes, fp_dict *dict) {
    uint64_t bytes = 0;
    uint32_t seen = 0;
    fp_number_input input = {.tokens = &tokens,
                             .counts = counts,
                             .coverage = FP_COVER_ALL,
                             .hot_codes = hot_codes,
                             .codec = FASTPAIR_CODEC_ONPAIR};
    if (fp_number_tokens(&input, &allocator, dict, code_of_id, NULL)) abort();
    CHECK_EQ(dict->tokens, tokens.count);
    CHECK(dict->code_slots <= 1u << dict->code_bits);
    CHECK(dict->code_slots > 1u << (dict->code_bits - 1));
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        CHECK_EQ(run->first_code % (1u << dict->class_shift), 0);
        CHECK(run->first_code >= dict->hot_slots ||
              run->first_code + run->count <= dict->hot_slots);
        seen += run->count;
    }
    CHECK_EQ(seen, tokens.count);
    for (uint32_t id = 0; id < tokens.count; id++)
        if (code_of_id[id] < dict->hot_slots) bytes += near_bytes(id);
    return bytes;
}

/* No token outside is read more often for its room than one inside. */
static void check_density(const fp_dict *dict) {
    uint32_t worst_inside = FP_NO_CODE, best_outside = FP_NO_CODE;
    for (uint32_t id = 0; id < tokens.count; id++) {
        uint32_t *best = code_of_id[id] < dict->hot_slots ? &worst_inside : &best_outside;
        int is_inside = best == &worst_inside;
        if (*best == FP_NO_CODE) *best = id;
        uint64_t this_one = counts[id] * near_bytes(*best), that = counts[*best] * near_bytes(id);
        if (is_inside ? this_one < that : this_one > that) *best = id;
    }
    CHECK(worst_inside != FP_NO_CODE && best_outside != FP_NO_CODE);
    CHECK(counts[best_outside] * near_bytes(worst_inside) <=
          counts[worst_inside] * near_bytes(best_outside));
}

/* The hot part is as large as said, but for one token. */
static void check_hot(uint64_t expected) {
    fp_dict dict;
    uint64_t bytes = number(0, &dict);
    CHECK(bytes <= expected && bytes + tokens.max_token > expected);
    check_density(&dict);
    fp_dict_close(&dict, &allocator);
}

static void test_sizes(void) {
    /* A few tokens make most codes. */
    make_tokens(40000, 16, 1, 20);
    for (uint32_t id = 256; id < 2256; id++) counts[id] = 5000;
    check_hot(136 * KIB);
    make_tokens(50000, 8, 1, 20);
    for (uint32_t id = 256; id < 2256; id++) counts[id] = 5000;
    check_hot(136 * KIB);
    /* All occur as often: many codes are cold, whatever the size. */
    make_tokens(40000, 16, 7, 7);
    check_hot(160 * KIB);
}

static void test_wishes(void) {
    fp_dict dict;
    make_tokens(40000, 16, 1, 1000000);
    CHECK_EQ(number(FASTPAIR_NO_HOT_CODES, &dict), 0);
    CHECK_EQ(dict.hot_slots, 0);
    fp_dict_close(&dict, &allocator);

    /* So many, and the most frequent ones, whatever room they take. */
    CHECK(number(1000, &dict) > 0);
    uint64_t least_inside = UINT64_MAX, most_outside = 0, inside = 0;
    for (uint32_t id = 0; id < tokens.count; id++) {
        int is_inside = code_of_id[id] < dict.hot_slots;
        inside += (uint64_t)is_inside;
        if (is_inside && counts[id] < least_inside) least_inside = counts[id];
        if (!is_inside && counts[id] > most_outside) most_outside = counts[id];
    }
    CHECK_EQ(inside, 1000);
    CHECK(least_inside >= most_outside);
    fp_dict_close(&dict, &allocator);

    /* What shared memory can hold whole has no hot part: 9000 tokens of at most 16 bytes are 141
     * KiB. */
    make_tokens(9000, 16, 1, 1000);
    CHECK_EQ(number(0, &dict), 0);
    CHECK_EQ(dict.hot_slots, 0);
    fp_dict_close(&dict, &allocator);
}

/* Tokens of more than 16 bytes are allowed: lengths ascend, and there is no hot part, whatever is
 * asked for. Where the GPU has use for classes, they take a part of the codes; else none is lost. */
static void test_long_tokens(void) {
    for (uint32_t longest = 32; longest <= 64; longest *= 2)
        for (uint32_t count = 300; count <= FP_MAX_TOKENS; count = count * 6 - 100) {
            fp_dict dict;
            make_tokens(count, longest, 1, 1000);
            CHECK_EQ(number(count % 7 * 100, &dict), 0);
            CHECK(dict.hot_slots == 0 && dict.order == 1);
            CHECK_EQ(dict.class_shift,
                     longest == 32 && dict.code_bits <= 12 ? dict.code_bits - 7 : 0);
            if (!dict.class_shift) CHECK_EQ(dict.code_slots, count);
            CHECK_EQ(dict.max_token, longest);
            for (uint32_t r = 1; r < dict.run_count; r++)
                CHECK(dict.runs[r].length > dict.runs[r - 1].length);
            const uint8_t *token = dict.bytes;
            uint32_t *id_of_code = malloc(dict.code_slots * sizeof *id_of_code);
            for (uint32_t id = 0; id < count; id++) id_of_code[code_of_id[id]] = id;
            for (uint32_t r = 0; r < dict.run_count; r++)
                for (uint32_t i = 0; i < dict.runs[r].count; i++, token += dict.runs[r].length) {
                    uint32_t id = id_of_code[dict.runs[r].first_code + i];
                    CHECK_EQ(tokens.lengths[id], dict.runs[r].length);
                    CHECK(!memcmp(fp_token(&tokens, id), token, dict.runs[r].length));
                }
            free(id_of_code);
            fp_dict_close(&dict, &allocator);
        }
}

/* What is written is read again, whatever the number of tokens. With tokens of up to 32 bytes 13-bit codes
 * have no classes, and 12-bit ones have: where these leave too few slots, the wider codes have too many. */
static void test_any_count(uint32_t max_token) {
    for (uint32_t count = 3150; count <= 4250; count += count % 100 < 92 ? 50 : 3) {
        fp_dict dict, again;
        make_tokens(count, max_token, 1, 1000);
        number(FASTPAIR_NO_HOT_CODES, &dict);
        uint64_t size = fp_dict_block_size(&dict, 64);
        uint8_t *bytes = calloc(size, 1);
        fp_dict_write(&dict, 64, bytes);
        fp_dict_block block = {.bytes = bytes, .size = size, .alignment = 64};
        fastpair_error error = {0};
        CHECK_EQ(fp_dict_read(&block, &allocator, &again, &error), FASTPAIR_OK);
        CHECK_EQ(again.code_slots, dict.code_slots);
        CHECK_EQ(again.tokens, count);
        CHECK(again.bytes_size == dict.bytes_size &&
              !memcmp(again.bytes, dict.bytes, (size_t)dict.bytes_size));
        fp_dict_close(&again, &allocator);
        fp_dict_close(&dict, &allocator);
        free(bytes);
    }
}

int main(void) {
    CHECK_EQ(fp_allocator_resolve(NULL, &allocator, NULL), FASTPAIR_OK);
    test_sizes();
    test_wishes();
    test_long_tokens();
    for (uint32_t max_token = 8; max_token <= FP_MAX_TOKEN; max_token *= 2)
        test_any_count(max_token);
    fp_tokens_close(&tokens, &allocator);
    return check_done();
}
