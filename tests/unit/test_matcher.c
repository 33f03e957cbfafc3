/* test_matcher.c - the greedy parse against a naive one, on token sets and rows made to be hard. */
#include "check.h"
#include "counting.h"
#include "parse.h"

#include <string.h>

/* ------------------------------------------------ the oracle: every length is looked up, longest
 * first */

#define ORACLE_SLOTS (1u << 18)

typedef struct oracle_state {
    const fp_tokens *tokens;
    uint32_t slots[ORACLE_SLOTS]; /* id + 1 */
} oracle_state;

static uint32_t oracle_slot(const uint8_t *bytes, uint32_t length) {
    uint64_t hash = length;
    for (uint32_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 29) % ORACLE_SLOTS;
}

static uint32_t *oracle_find(oracle_state *oracle, const uint8_t *bytes, uint32_t length) {
    for (uint32_t slot = oracle_slot(bytes, length);; slot = (slot + 1) % ORACLE_SLOTS) {
        uint32_t id = oracle->slots[slot] - 1;
        if (!oracle->slots[slot] || (oracle->tokens->lengths[id] == length &&
                                     memcmp(oracle->tokens->bytes[id], bytes, length) == 0))
            return &oracle->slots[slot];
    }
}

static oracle_state *oracle_create(const fp_tokens *tokens) {
    oracle_state *made = calloc(1, sizeof *made);
    made->tokens = tokens;
    for (uint32_t id = 0; id < tokens->count; id++) {
        uint32_t *slot = oracle_find(made, tokens->bytes[id], tokens->lengths[id]);
        if (!*slot) *slot = id + 1;
    }
    return made;
}

static uint64_t oracle_parse(oracle_state *oracle, const uint8_t *bytes, const uint64_t *offsets,
                             uint64_t rows, uint16_t *ids) {
    uint64_t count = 0;
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t position = offsets[row]; position < offsets[row + 1];) {
            uint64_t left = offsets[row + 1] - position;
            uint32_t length = left < FP_MAX_TOKEN ? (uint32_t)left : FP_MAX_TOKEN;
            while (!*oracle_find(oracle, bytes + position, length)) length--;
            ids[count++] = (uint16_t)(*oracle_find(oracle, bytes + position, length) - 1);
            position += length;
        }
    return count;
}

/* ------------------------------------------------ token sets */

static fastpair_allocator plain;

/* Adds a token unless it is there or does not fit. */
static void add(fp_tokens *tokens, oracle_state *known, const uint8_t *bytes, uint32_t length,
                uint32_t limit) {
    if (length < 2 || length > tokens->max_token || tokens->count >= limit) return;
    uint32_t *slot = oracle_find(known, bytes, length);
    if (!*slot) *slot = fp_tokens_add(tokens, bytes, length) + 1;
}

/* The bytes tokens and rows are made of, so that they meet. */
typedef struct letters {
    uint32_t size;
    uint8_t bytes[256];
} letters;

static letters random_alphabet(uint64_t *random) {
    static const uint8_t hard[] = {0x00, 0xff, 0x01, 0x80, 0x7f, 'a'};
    letters made = {.size = 0};
    uint32_t sizes[] = {1, 2, 2, 3, 6, 20, 256};
    made.size = sizes[check_random(random) % 7];
    for (uint32_t i = 0; i < made.size; i++)
        made.bytes[i] = made.size == 256 ? (uint8_t)i
                        : i < sizeof hard && check_random(random) % 2
                            ? hard[check_random(random) % sizeof hard]
                            : (uint8_t)check_random(random);
    return made;
}

static void random_bytes(uint64_t *random, const letters *alphabet, uint8_t *bytes,
                         uint32_t length) {
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = alphabet->bytes[check_random(random) % alphabet->size];
}

/* Fills a set with a mix of: random strings, all prefixes of one string, strings that share 4, 8 or
 * 12 bytes, two tokens put together, and a token followed by zeroes or 0xff. */
static void fill_tokens(fp_tokens *tokens, uint64_t *random, const letters *alphabet,
                        uint32_t limit) {
    oracle_state *known = oracle_create(tokens);
    uint8_t bytes[32], shared[16];
    random_bytes(random, alphabet, shared, 16);
    for (uint32_t attempt = 0; attempt < limit * 2 && tokens->count < limit; attempt++) {
        uint32_t kind = (uint32_t)(check_random(random) % 6),
                 length = (uint32_t)(check_random(random) % 16) + 1;
        random_bytes(random, alphabet, bytes, 16);
        if (kind == 1) {
            for (uint32_t prefix = 2; prefix <= length; prefix++)
                if (check_random(random) % 4) add(tokens, known, bytes, prefix, limit);
        } else if (kind == 2) {
            memcpy(bytes, shared, (check_random(random) % 3 + 1) * 4);
        } else if (kind == 3) {
            uint32_t one = (uint32_t)(check_random(random) % tokens->count);
            uint32_t other = (uint32_t)(check_random(random) % tokens->count);
            memcpy(bytes, tokens->bytes[one], 16);
            memcpy(bytes + tokens->lengths[one], tokens->bytes[other], 16);
            length = (uint32_t)tokens->lengths[one] + tokens->lengths[other];
        } else if (kind == 4) {
            uint32_t one = (uint32_t)(check_random(random) % tokens->count);
            memcpy(bytes, tokens->bytes[one], 16);
            memset(bytes + tokens->lengths[one], check_random(random) % 2 ? 0x00 : 0xff, 16);
            length = tokens->lengths[one] + (uint32_t)(check_random(random) % 4) + 1;
        }
        add(tokens, known, bytes, length, limit);
    }
    free(known);
}

/* ------------------------------------------------ rows */

typedef struct test_rows {
    uint8_t *bytes; /* with nothing but FP_SLACK bytes past the last row */
    uint64_t *offsets;
    uint64_t rows;
} test_rows;

/* Rows made of tokens and random bytes, cut anywhere, with runs of empty ones; `base` bytes lie
 * before the first. What follows the last row continues it, so that a match that crosses its end
 * would show. */
static test_rows make_rows(uint64_t *random, const fp_tokens *tokens, const letters *alphabet,
                           uint64_t size, uint64_t mean_row, uint64_t base) {
    test_rows made = {malloc(base + size + FP_SLACK), malloc((size + 64) * 2 * sizeof(uint64_t)),
                      0};
    for (uint64_t filled = 0; filled < base + size + FP_SLACK;) {
        uint8_t piece[16];
        uint32_t length = (uint32_t)(check_random(random) % 3) + 1;
        random_bytes(random, alphabet, piece, length);
        if (check_random(random) % 4) {
            uint32_t id = (uint32_t)(check_random(random) % tokens->count);
            if (check_random(random) % 2 && tokens->count > 256)
                id = 256 + (uint32_t)(check_random(random) % (tokens->count - 256));
            length = tokens->lengths[id];
            memcpy(piece, tokens->bytes[id], length);
        }
        for (uint32_t i = 0; i < length && filled < base + size + FP_SLACK; i++)
            made.bytes[filled++] = piece[i];
    }
    made.offsets[0] = base;
    while (made.offsets[made.rows] < base + size && made.rows < size + 32) {
        uint64_t length = check_random(random) % 8 ? check_random(random) % (mean_row * 2 + 1) : 0;
        uint64_t left = base + size - made.offsets[made.rows];
        made.offsets[made.rows + 1] = made.offsets[made.rows] + (length < left ? length : left);
        made.rows++;
    }
    return made;
}

static void free_rows(test_rows *rows) {
    free(rows->bytes);
    free(rows->offsets);
}

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
    free(oracle);
    fp_matcher_close(matcher, &plain);
}

static void test_random_sets(uint64_t seed) {
    uint64_t random = seed;
    static const uint32_t limits[] = {256, 257, 300, 600, 4096, 4096, 20000, 65536};
    for (uint32_t i = 0; i < 48; i++) {
        fp_tokens tokens;
        CHECK_EQ(fp_tokens_open(&tokens, i % 3 ? 16 : 8, &plain, NULL), FASTPAIR_OK);
        letters alphabet = random_alphabet(&random);
        fill_tokens(&tokens, &random, &alphabet, limits[i % 8]);
        check_set(&tokens, &random, &alphabet);
        fp_tokens_close(&tokens, &plain);
    }
}

/* All tokens of one length, and nothing longer, for each length: each step of the look-up alone. */
static void test_single_lengths(uint64_t seed) {
    uint64_t random = seed;
    for (uint32_t length = 2; length <= 16; length++) {
        fp_tokens tokens;
        CHECK_EQ(fp_tokens_open(&tokens, 16, &plain, NULL), FASTPAIR_OK);
        oracle_state *known = oracle_create(&tokens);
        letters alphabet = {3, {0, 'a', 0xff}};
        uint8_t bytes[16];
        for (uint32_t i = 0; i < 3000; i++) {
            random_bytes(&random, &alphabet, bytes, length);
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
static void test_equal_tokens(uint64_t seed) {
    uint64_t random = seed;
    fp_tokens tokens;
    CHECK_EQ(fp_tokens_open(&tokens, 16, &plain, NULL), FASTPAIR_OK);
    letters alphabet = {2, {0, 'b'}};
    for (uint32_t i = 0; i < 400; i++) {
        uint8_t bytes[16];
        uint32_t length = (uint32_t)(check_random(&random) % 16) + 1;
        random_bytes(&random, &alphabet, bytes, length);
        fp_tokens_add(&tokens, bytes, length);
    }
    check_set(&tokens, &random, &alphabet);
    fp_tokens_close(&tokens, &plain);
}

/* What a matcher may take, and that it gives everything back, also when an allocation fails. */
static void test_memory(uint64_t seed) {
    uint64_t random = seed;
    fp_tokens tokens;
    CHECK_EQ(fp_tokens_open(&tokens, 16, &plain, NULL), FASTPAIR_OK);
    letters alphabet = {.size = 20};
    for (uint32_t i = 0; i < 20; i++) alphabet.bytes[i] = (uint8_t)('a' + i);
    fill_tokens(&tokens, &random, &alphabet, FP_MAX_TOKENS);
    CHECK_EQ(tokens.count, FP_MAX_TOKENS);

    counting counts;
    counting_start(&counts);
    fastpair_allocator hooks = counting_hooks(&counts);
    fp_matcher *matcher = NULL;
    CHECK_EQ(fp_matcher_open(&tokens, &hooks, &matcher, NULL), FASTPAIR_OK);
    CHECK(counts.live_bytes < 16u << 20);
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
    test_equal_tokens(seed + 3);
    test_memory(seed + 4);
    return check_done();
}
