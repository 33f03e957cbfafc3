/* test_matcher.c - the greedy parse against a naive one, on token sets and rows made to be hard. */
#include "counting.h"
#include "matcher_private.h"
#include "token_sets.h"

static fastpair_allocator plain;

static void compare(const fp_matcher *matcher, oracle_state *oracle, const test_rows *rows) {
    uint64_t size = rows->offsets[rows->rows] - rows->offsets[0];
    uint16_t *ids = malloc((size + 1) * sizeof *ids), *expected = malloc((size + 1) * sizeof *ids);
    uint64_t count = fp_parse_rows(matcher, rows->bytes, rows->offsets, rows->rows, ids);
    uint64_t right = oracle_parse(oracle, rows->bytes, rows->offsets, rows->rows, expected);
    CHECK_EQ(count, right);
    CHECK(count == right && memcmp(ids, expected, count * sizeof *ids) == 0);
    free(ids);
    free(expected);
}

/* prefix_of names the longest token that is a proper prefix, or the token itself. */
static void check_prefixes(const fp_matcher *matcher, const fp_tokens *tokens,
                           oracle_state *oracle) {
    uint32_t wrong = 0;
    for (uint32_t id = 0; id < tokens->count; id++) {
        if (*oracle_find(oracle, fp_token(tokens, id), tokens->lengths[id]) - 1 != id) continue;
        uint32_t length = tokens->lengths[id] - 1u;
        while (length && !*oracle_find(oracle, fp_token(tokens, id), length)) length--;
        uint32_t expected = length ? *oracle_find(oracle, fp_token(tokens, id), length) - 1 : id;
        wrong += matcher->prefix_of[id] != expected;
    }
    CHECK_EQ(wrong, 0);
}

/* Builds a matcher and compares it on rows of many shapes. */
static void check_set(const fp_tokens *tokens, uint64_t *random, const letters *alphabet) {
    fp_matcher *matcher = NULL;
    CHECK_EQ(fp_matcher_open(tokens, &plain, &matcher, NULL), FASTPAIR_OK);
    oracle_state *oracle = oracle_create(tokens);
    static const uint64_t shapes[][2] = {{0, 1},        {1, 1},         {7, 3},     {40, 10},
                                         {900, 3},      {6000, 20},     {30000, 9}, {9000, 700},
                                         {20000, 9000}, {5000, 100000}, {60000, 60}};
    for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        test_rows rows = make_rows(random, tokens, alphabet, shapes[i][0], shapes[i][1],
                                   check_random(random) % 5);
        compare(matcher, oracle, &rows);
        free_rows(&rows);
    }
    check_prefixes(matcher, tokens, oracle);
    free(oracle);
    fp_matcher_close(matcher, &plain);
}

static void test_random_sets(uint64_t seed) {
    uint64_t random = seed;
    static const uint32_t limits[] = {256, 257, 300, 600, 4096, 4096, 20000, 65536};
    static const uint32_t longest[] = {8, 16, 16, 32, 64, 64};
    for (uint32_t i = 0; i < 60; i++) {
        fp_tokens tokens;
        CHECK_EQ(fp_tokens_open(&tokens, longest[i % 6], &plain, NULL), FASTPAIR_OK);
        letters alphabet = random_alphabet(&random);
        fill_tokens(&tokens, &random, &alphabet, limits[i / 6 % 8]);
        check_set(&tokens, &random, &alphabet);
        fp_tokens_close(&tokens, &plain);
    }
}

/* All tokens of one length, and nothing longer, for each length: each step of the look-up alone. */
static void test_single_lengths(uint64_t seed) {
    uint64_t random = seed;
    for (uint32_t length = 2; length <= FP_MAX_TOKEN; length++) {
        fp_tokens tokens;
        CHECK_EQ(fp_tokens_open(&tokens, length > 16 ? 64 : 16, &plain, NULL), FASTPAIR_OK);
        oracle_state *known = oracle_create(&tokens);
        letters alphabet = {3, {0, 'a', 0xff}};
        uint8_t bytes[FP_MAX_TOKEN];
        for (uint32_t i = 0; i < 3000; i++) {
            /* Long ones share the beginning: a few of their bytes decide. */
            if (length < 20 || !i) random_bytes(&random, &alphabet, bytes, length);
            random_bytes(&random, &alphabet, bytes + length / 2, length - length / 2);
            add(&tokens, known, bytes, length, FP_MAX_TOKENS);
        }
        free(known);
        check_set(&tokens, &random, &alphabet);
        fp_tokens_close(&tokens, &plain);
    }
}

/* The differences of these 31 bytes are all numbers up to 255, so no two nodes with such leaves can
 * be numbered less than 256 apart: the most room node numbers can need. */
static void test_awkward_leaves(uint64_t seed) {
    uint64_t random = seed;
    fp_tokens tokens;
    CHECK_EQ(fp_tokens_open(&tokens, 16, &plain, NULL), FASTPAIR_OK);
    letters alphabet = {.size = 31};
    for (uint32_t i = 0; i < 31; i++) alphabet.bytes[i] = (uint8_t)(i < 16 ? i : (i - 15) * 16);
    uint8_t bytes[16] = "stem ";
    for (uint32_t stem = 0; tokens.count + 31 <= FP_MAX_TOKENS; stem++) {
        bytes[3] = (uint8_t)(stem % 256);
        bytes[4] = (uint8_t)(stem / 256);
        for (uint32_t i = 0; i < 31; i++) {
            bytes[5] = alphabet.bytes[i];
            fp_tokens_add(&tokens, bytes, 6);
        }
    }
    check_set(&tokens, &random, &alphabet);
    fp_tokens_close(&tokens, &plain);
}

/* Of equal tokens the first counts. */
static void test_equal_tokens(uint64_t seed, uint32_t longest) {
    uint64_t random = seed;
    fp_tokens tokens;
    CHECK_EQ(fp_tokens_open(&tokens, longest, &plain, NULL), FASTPAIR_OK);
    letters alphabet = {2, {0, 'b'}};
    for (uint32_t i = 0; i < 400; i++) {
        uint8_t bytes[FP_MAX_TOKEN] = {0};
        uint32_t length = (uint32_t)(check_random(&random) % longest) + 1;
        random_bytes(&random, &alphabet, bytes, length < 14 ? length : 14);
        fp_tokens_add(&tokens, bytes, length);
    }
    check_set(&tokens, &random, &alphabet);
    fp_tokens_close(&tokens, &plain);
}

/* What a matcher may take, and that it gives everything back, also when an allocation fails. */
static void test_memory(uint64_t seed, uint32_t longest) {
    uint64_t random = seed;
    fp_tokens tokens;
    CHECK_EQ(fp_tokens_open(&tokens, longest, &plain, NULL), FASTPAIR_OK);
    letters alphabet = {.size = 20};
    for (uint32_t i = 0; i < 20; i++) alphabet.bytes[i] = (uint8_t)('a' + i);
    fill_tokens(&tokens, &random, &alphabet, FP_MAX_TOKENS);
    CHECK_EQ(tokens.count, FP_MAX_TOKENS);

    counting counts;
    counting_start(&counts);
    fastpair_allocator hooks = counting_hooks(&counts);
    fp_matcher *matcher = NULL;
    CHECK_EQ(fp_matcher_open(&tokens, &hooks, &matcher, NULL), FASTPAIR_OK);
    CHECK(counts.live_bytes < (longest > 16 ? 24u : 16u) << 20);
    CHECK(counts.peak_bytes < 32u << 20);
    fp_matcher_close(matcher, &hooks);
    CHECK_EQ(counts.live, 0);

    tokens.count = 4000;
    counting_start(&counts);
    CHECK_EQ(fp_matcher_open(&tokens, &hooks, &matcher, NULL), FASTPAIR_OK);
    fp_matcher_close(matcher, &hooks);
    uint64_t calls = counts.calls;
    for (uint64_t n = 0; n < calls; n++) {
        counting_start(&counts);
        counts.fail_at = n;
        fastpair_error error = {0};
        matcher = NULL;
        CHECK_EQ(fp_matcher_open(&tokens, &hooks, &matcher, &error), FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(error.status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK(!matcher);
        CHECK_EQ(counts.live, 0);
    }
    fp_matcher_close(NULL, &hooks);
    fp_tokens_close(&tokens, &plain);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20260u;
    printf("seed %" PRIu64 "\n", seed);
    CHECK_EQ(fp_allocator_resolve(NULL, &plain, NULL), FASTPAIR_OK);
    test_random_sets(seed);
    test_single_lengths(seed + 1);
    test_awkward_leaves(seed + 2);
    test_equal_tokens(seed + 3, 16);
    test_equal_tokens(seed + 4, 64);
    test_memory(seed + 5, 16);
    test_memory(seed + 6, 64);
    return check_done();
}
