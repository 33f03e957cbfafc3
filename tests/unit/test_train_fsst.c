/* test_train_fsst.c - FSST-12 training: against a naive version, its promises, what it reaches. */
#include "check.h"
#include "counting.h"
#include "parse.h"
#include "train.h"

#include <string.h>

static fastpair_allocator plain;

/* ------------------------------------------------ samples */

typedef struct sample_maker {
    fp_sample sample;
    uint64_t capacity; /* in bytes, and in pieces, of which there are not more */
} sample_maker;

static void add_piece(sample_maker *maker, const void *bytes, uint32_t length) {
    fp_sample *sample = &maker->sample;
    if (sample->size + length > maker->capacity) {
        maker->capacity = 2 * (sample->size + length);
        sample->bytes = realloc(sample->bytes, maker->capacity);
        sample->lengths = realloc(sample->lengths, maker->capacity * sizeof *sample->lengths);
    }
    memcpy(sample->bytes + sample->size, bytes, length);
    sample->lengths[sample->pieces++] = length;
    sample->size += length;
}

/* Copies the bytes so that exactly FP_SLACK follow the last piece; they continue it. */
static fp_sample *finish_sample(sample_maker *maker) {
    fp_sample *sample = &maker->sample;
    uint8_t *exact = malloc(sample->size + FP_SLACK);
    if (sample->size) memcpy(exact, sample->bytes, sample->size);
    for (uint32_t i = 0; i < FP_SLACK; i++)
        exact[sample->size + i] = sample->size ? exact[i % sample->size] : 0;
    free(sample->bytes);
    sample->bytes = exact;
    sample->column_bytes = sample->size;
    return sample;
}

static void free_sample(sample_maker *maker) {
    free(maker->sample.bytes);
    free(maker->sample.lengths);
}

/* Rows of words; the smaller numbers of words are the more frequent. */
static void add_text(sample_maker *maker, uint64_t *random, uint64_t size, uint32_t words) {
    char word[4096][10];
    for (uint32_t i = 0; i < words; i++) {
        uint32_t length = (uint32_t)(check_random(random) % 7) + 2;
        for (uint32_t k = 0; k < length; k++) word[i][k] = (char)('a' + check_random(random) % 26);
        word[i][length] = ' ';
        word[i][length + 1] = 0;
    }
    while (maker->sample.size < size) {
        char row[400] = "";
        for (uint64_t k = check_random(random) % 30 + 1; k; k--) {
            uint64_t limit = check_random(random) % words + 1;
            strcat(row, word[check_random(random) % limit]);
        }
        add_piece(maker, row, (uint32_t)strlen(row));
    }
}

static void add_noise(sample_maker *maker, uint64_t *random, uint64_t size, uint32_t values) {
    while (maker->sample.size < size) {
        uint8_t row[100];
        uint32_t length = (uint32_t)(check_random(random) % sizeof row) + 1;
        for (uint32_t i = 0; i < length; i++)
            row[i] = (uint8_t)(check_random(random) % values * (256 / values) + 256 / values - 1);
        add_piece(maker, row, length);
    }
}

/* ------------------------------------------------ what every result must be */

static void check_promises(const fp_tokens *tokens, int hot) {
    fp_room room = fp_room_for(&(fp_code_space){12, 8, hot, 3, 1});
    CHECK_EQ(tokens->max_token, 8);
    CHECK(tokens->count >= 256 && tokens->count <= 4096);
    uint32_t wrong = 0;
    for (uint32_t id = 0; id < tokens->count; id++) {
        uint32_t length = tokens->lengths[id];
        if (id < 256) {
            wrong += length != 1 || fp_token(tokens, id)[0] != id;
            continue;
        }
        wrong += length < 2 || length > 8 || !fp_room_has(&room, length);
        fp_room_take(&room, length);
        for (uint32_t i = length; i < 16; i++) wrong += fp_token(tokens, id)[i] != 0;
        for (uint32_t other = 256; other < id; other++)
            wrong += tokens->lengths[other] == length &&
                     memcmp(fp_token(tokens, other), fp_token(tokens, id), 8) == 0;
    }
    CHECK_EQ(wrong, 0);
}

static double bytes_per_code(const fp_sample *sample, const fp_tokens *tokens) {
    uint64_t *offsets = malloc((sample->pieces + 1) * sizeof *offsets);
    uint16_t *ids = malloc((sample->size + 1) * sizeof *ids);
    offsets[0] = 0;
    for (uint64_t i = 0; i < sample->pieces; i++) offsets[i + 1] = offsets[i] + sample->lengths[i];
    fp_matcher *matcher = NULL;
    CHECK_EQ(fp_matcher_open(tokens, &plain, &matcher, NULL), FASTPAIR_OK);
    uint64_t codes = fp_parse_rows(matcher, sample->bytes, offsets, sample->pieces, ids);
    fp_matcher_close(matcher, &plain);
    free(offsets);
    free(ids);
    return (double)sample->size / (double)(codes ? codes : 1);
}

/* Trains twice, compares, checks; returns the bytes per code on the sample itself. */
static double train(const fp_sample *sample, int hot, fp_tokens *tokens) {
    const fp_code_space space = {12, 8, hot, 3, 1};
    fp_tokens again;
    CHECK_EQ(fp_train_fsst(sample, &space, NULL, &plain, tokens, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_train_fsst(sample, &space, NULL, &plain, &again, NULL), FASTPAIR_OK);
    CHECK_EQ(tokens->count, again.count);
    CHECK(memcmp(tokens->cells, again.cells, (size_t)tokens->count * tokens->stride) == 0);
    CHECK(memcmp(tokens->lengths, again.lengths, tokens->count) == 0);
    fp_tokens_close(&again, &plain);
    check_promises(tokens, hot);
    return bytes_per_code(sample, tokens);
}

/* ------------------------------------------------ the naive version */

typedef struct naive_choice {
    uint8_t bytes[8];
    uint32_t length;
    uint64_t gain;
} naive_choice;

static int compare_choices(const void *one, const void *other) {
    const naive_choice *a = one, *b = other;
    if (a->gain != b->gain) return a->gain > b->gain ? -1 : 1;
    if (a->length != b->length) return a->length > b->length ? -1 : 1;
    for (int i = 7; i >= 0; i--) /* as little-endian numbers */
        if (a->bytes[i] != b->bytes[i]) return a->bytes[i] < b->bytes[i] ? -1 : 1;
    return 0;
}

static void gain(naive_choice *choices, uint32_t *count, const uint8_t *bytes, uint32_t length,
                 uint64_t times) {
    naive_choice wanted = {.length = length};
    memcpy(wanted.bytes, bytes, length);
    uint32_t i = 0;
    while (i < *count && (choices[i].length != length || memcmp(choices[i].bytes, wanted.bytes, 8)))
        i++;
    if (i == *count) choices[(*count)++] = wanted;
    choices[i].gain += times * length;
}

static uint32_t longest(const fp_tokens *tokens, const uint8_t *bytes, uint32_t left) {
    uint32_t best = bytes[0];
    for (uint32_t id = 256; id < tokens->count; id++)
        if (tokens->lengths[id] <= left && tokens->lengths[id] > tokens->lengths[best] &&
            memcmp(fp_token(tokens, id), bytes, tokens->lengths[id]) == 0)
            best = id;
    return best;
}

/* The nine rounds in the plainest way there is. */
static void naive_train(const fp_sample *sample, int hot, fp_tokens *tokens) {
    CHECK_EQ(fp_tokens_open(tokens, 8, &plain, NULL), FASTPAIR_OK);
    uint32_t *pairs = malloc(sample->size * sizeof *pairs + 4);
    naive_choice *choices = malloc((sample->size + 4096) * sizeof *choices);
    for (uint64_t round = 1; round <= 9; round++) {
        uint64_t size = sample->size / 9 * round + sample->size % 9, position = 0;
        uint32_t pair_count = 0, choice_count = 0, counts[4096] = {0};
        for (uint64_t piece = 0; piece < sample->pieces && position < size; piece++)
            for (uint32_t left = sample->lengths[piece], previous = UINT32_MAX; left;) {
                uint32_t id = longest(tokens, sample->bytes + position, left);
                counts[id]++;
                if (previous != UINT32_MAX && tokens->lengths[previous] + tokens->lengths[id] <= 8)
                    pairs[pair_count++] = previous << 16 | id;
                previous = id;
                position += tokens->lengths[id];
                left -= tokens->lengths[id];
            }
        for (uint32_t id = 256; id < tokens->count; id++)
            if (counts[id])
                gain(choices, &choice_count, fp_token(tokens, id), tokens->lengths[id], counts[id]);
        for (uint32_t i = 0; i < pair_count; i++) {
            uint32_t first = pairs[i] >> 16, second = pairs[i] & 0xffff, times = 0, seen = 0;
            for (uint32_t k = 0; k < pair_count; k++) {
                times += pairs[k] == pairs[i];
                seen += k < i && pairs[k] == pairs[i];
            }
            if (seen || times < 2) continue;
            uint8_t bytes[32];
            memcpy(bytes, fp_token(tokens, first), 16);
            memcpy(bytes + tokens->lengths[first], fp_token(tokens, second), 16);
            gain(choices, &choice_count, bytes,
                 (uint32_t)tokens->lengths[first] + tokens->lengths[second], times);
        }
        qsort(choices, choice_count, sizeof *choices, compare_choices);
        fp_room room = fp_room_for(&(fp_code_space){12, 8, hot, 3, 1});
        memset(fp_token(tokens, 256), 0, (tokens->count - 256) * 16);
        tokens->count = 256;
        for (uint32_t i = 0; i < choice_count; i++)
            if (fp_room_has(&room, choices[i].length)) {
                fp_room_take(&room, choices[i].length);
                fp_tokens_add(tokens, choices[i].bytes, choices[i].length);
            }
    }
    free(pairs);
    free(choices);
}

static void test_against_naive(uint64_t seed) {
    uint64_t random = seed;
    for (uint32_t i = 0; i < 10; i++) {
        sample_maker maker = {0};
        if (i % 2)
            add_noise(&maker, &random, 200 + 600 * i, 1u << i % 5);
        else
            add_text(&maker, &random, 200 + 400 * i, 20 + 30 * i);
        fp_sample *sample = finish_sample(&maker);
        fp_tokens tokens, expected;
        int hot = i % 4 == 3;
        train(sample, hot, &tokens);
        naive_train(sample, hot, &expected);
        CHECK_EQ(tokens.count, expected.count);
        CHECK(memcmp(tokens.cells, expected.cells, (size_t)expected.count * expected.stride) == 0);
        CHECK(memcmp(tokens.lengths, expected.lengths, expected.count) == 0);
        fp_tokens_close(&tokens, &plain);
        fp_tokens_close(&expected, &plain);
        free_sample(&maker);
    }
}

/* ------------------------------------------------ the rest */

static void test_edges(uint64_t seed) {
    uint64_t random = seed;
    fp_tokens tokens;
    sample_maker none = {0};
    train(finish_sample(&none), 0, &tokens);
    CHECK_EQ(tokens.count, 256);
    fp_tokens_close(&tokens, &plain);
    free_sample(&none);

    sample_maker one = {0};
    add_piece(&one, "x", 1);
    train(finish_sample(&one), 0, &tokens);
    CHECK_EQ(tokens.count, 256);
    fp_tokens_close(&tokens, &plain);
    free_sample(&one);

    for (int value = 0; value < 256; value += 85) { /* all bytes equal, zero and 0xff too */
        sample_maker equal = {0};
        uint8_t bytes[3000];
        memset(bytes, value, sizeof bytes);
        for (int i = 0; i < 20; i++) add_piece(&equal, bytes, sizeof bytes);
        CHECK(train(finish_sample(&equal), 0, &tokens) == 8.0);
        fp_tokens_close(&tokens, &plain);
        free_sample(&equal);
    }

    sample_maker noise = {0}; /* nothing to find, but every byte pair comes up */
    add_noise(&noise, &random, 400000, 256);
    CHECK(train(finish_sample(&noise), 1, &tokens) < 1.2);
    fp_tokens_close(&tokens, &plain);
    free_sample(&noise);

    sample_maker single = {0}; /* pieces of one byte: there are no neighbours */
    for (int i = 0; i < 50000; i++) add_piece(&single, &"abc"[i % 3], 1);
    CHECK(train(finish_sample(&single), 0, &tokens) == 1.0);
    CHECK_EQ(tokens.count, 256);
    fp_tokens_close(&tokens, &plain);
    free_sample(&single);

    sample_maker row = {0}; /* one piece larger than what is parsed at once */
    uint8_t *bytes = malloc(700000);
    for (uint32_t i = 0; i < 700000; i++) bytes[i] = "fastpair"[i % 8];
    add_piece(&row, bytes, 700000);
    CHECK(train(finish_sample(&row), 0, &tokens) > 7.9);
    fp_tokens_close(&tokens, &plain);
    free_sample(&row);
    free(bytes);
}

/* A thousand words of 5.5 letters and a space on average: most fit one token, and there is room for
 * pairs. */
static void test_text(uint64_t seed) {
    uint64_t random = seed;
    sample_maker maker = {0};
    add_text(&maker, &random, 600000, 1000);
    fp_sample *sample = finish_sample(&maker);
    fp_tokens tokens;
    double plain_room = train(sample, 0, &tokens);
    CHECK(plain_room > 5.5);
    fp_tokens_close(&tokens, &plain);
    double hot_room = train(sample, 1, &tokens);
    CHECK(hot_room > plain_room * 0.98);
    fp_tokens_close(&tokens, &plain);
    printf("text: %.3f bytes per code, %.3f with a hot part\n", plain_room, hot_room);
    free_sample(&maker);
}

static void test_allocations(uint64_t seed) {
    uint64_t random = seed;
    sample_maker maker = {0};
    add_text(&maker, &random, 20000, 100);
    fp_sample *sample = finish_sample(&maker);
    counting counts;
    counting_start(&counts);
    fastpair_allocator hooks = counting_hooks(&counts);
    const fp_code_space space = {12, 8, 0, 3, 1};
    fp_tokens tokens;
    CHECK_EQ(fp_train_fsst(sample, &space, NULL, &hooks, &tokens, NULL), FASTPAIR_OK);
    CHECK(counts.peak_bytes < 16u << 20);
    fp_tokens_close(&tokens, &hooks);
    CHECK_EQ(counts.live, 0);
    uint64_t calls = counts.calls;
    for (uint64_t n = 0; n < calls; n++) {
        counting_start(&counts);
        counts.fail_at = n;
        fastpair_error error = {0};
        CHECK_EQ(fp_train_fsst(sample, &space, NULL, &hooks, &tokens, &error),
                 FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(error.status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(counts.live, 0);
    }
    free_sample(&maker);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261u;
    printf("seed %" PRIu64 "\n", seed);
    CHECK_EQ(fp_allocator_resolve(NULL, &plain, NULL), FASTPAIR_OK);
    test_against_naive(seed);
    test_edges(seed + 1);
    test_text(seed + 2);
    test_allocations(seed + 3);
    return check_done();
}
