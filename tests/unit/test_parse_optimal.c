/* test_parse_optimal.c - the parse into the fewest codes against a naive one that looks up every
 * length at every position. */
#include "parse_optimal.h"
#include "token_sets.h"

static fastpair_allocator plain;

/* The ids of one part of a row. Of tokens that lead to equally many codes the longest is taken. */
static uint64_t naive_part(oracle_state *oracle, const uint8_t *bytes, uint64_t size,
                           uint16_t *ids) {
    uint32_t *costs = calloc(size + 1, sizeof *costs), *best = calloc(size + 1, sizeof *best);
    if (!costs || !best) abort();
    for (uint64_t i = size; i-- > 0;) {
        costs[i] = UINT32_MAX;
        for (uint32_t length = 1; length <= FP_MAX_TOKEN && i + length <= size; length++) {
            if (costs[i + length] + 1 > costs[i]) continue;
            if (!*oracle_find(oracle, bytes + i, length)) continue;
            costs[i] = costs[i + length] + 1;
            best[i] = length;
        }
    }
    uint64_t count = 0;
    for (uint64_t i = 0; i < size; i += best[i])
        ids[count++] = (uint16_t)(*oracle_find(oracle, bytes + i, best[i]) - 1);
    free(costs);
    free(best);
    return count;
}

static uint64_t naive_parse(oracle_state *oracle, const test_rows *rows, uint16_t *ids) {
    uint64_t count = 0;
    for (uint64_t row = 0; row < rows->rows; row++)
        for (uint64_t from = rows->offsets[row]; from < rows->offsets[row + 1];) {
            uint64_t size = rows->offsets[row + 1] - from;
            if (size > FP_OPTIMAL_BLOCK) size = FP_OPTIMAL_BLOCK;
            count += naive_part(oracle, rows->bytes + from, size, ids + count);
            from += size;
        }
    return count;
}

static void compare(const fp_matcher *matcher, oracle_state *oracle, const test_rows *rows) {
    uint64_t size = rows->offsets[rows->rows] - rows->offsets[0];
    uint16_t *ids = malloc((size + 1) * sizeof *ids), *expected = malloc((size + 1) * sizeof *ids);
    fp_optimal_scratch *scratch = malloc(sizeof *scratch);
    if (!ids || !expected || !scratch) abort();
    uint64_t greedy = fp_parse_rows(matcher, rows->bytes, rows->offsets, rows->rows, ids);
    uint64_t count =
        fp_parse_rows_optimal(matcher, rows->bytes, rows->offsets, rows->rows, scratch, ids);
    uint64_t right = naive_parse(oracle, rows, expected);
    CHECK(count <= greedy + size / FP_OPTIMAL_BLOCK * FP_MAX_TOKEN);
    CHECK_EQ(count, right);
    CHECK(count == right && memcmp(ids, expected, count * sizeof *ids) == 0);
    free(ids);
    free(expected);
    free(scratch);
}

int main(int argc, char **argv) {
    uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261u;
    printf("seed %" PRIu64 "\n", random);
    CHECK_EQ(fp_allocator_resolve(NULL, &plain, NULL), FASTPAIR_OK);
    static const uint32_t limits[] = {256, 257, 300, 4096, 20000};
    static const uint32_t longest[] = {8, 16, 32, 64};
    static const uint64_t shapes[][2] = {{0, 1},    {1, 1},     {7, 3},        {900, 3},
                                         {3000, 9}, {9000, 70}, {40000, 1000}, {100000, 80000}};
    for (uint32_t i = 0; i < 20; i++) {
        fp_tokens tokens;
        CHECK_EQ(fp_tokens_open(&tokens, longest[i % 4], &plain, NULL), FASTPAIR_OK);
        letters alphabet = random_alphabet(&random);
        fill_tokens(&tokens, &random, &alphabet, limits[i / 4]);
        fp_matcher *matcher = NULL;
        CHECK_EQ(fp_matcher_open(&tokens, &plain, &matcher, NULL), FASTPAIR_OK);
        oracle_state *oracle = oracle_create(&tokens);
        for (uint32_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            test_rows rows = make_rows(&random, &tokens, &alphabet, shapes[s][0], shapes[s][1],
                                       check_random(&random) % 5);
            compare(matcher, oracle, &rows);
            free_rows(&rows);
        }
        free(oracle);
        fp_matcher_close(matcher, &plain);
        fp_tokens_close(&tokens, &plain);
    }
    return check_done();
}
