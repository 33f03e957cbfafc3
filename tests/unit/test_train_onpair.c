/* test_train_onpair.c - OnPair training: what every dictionary must be, and how good it is. */
#include "check.h"
#include "counting.h"
#include "parse.h"
#include "tpch.h"
#include "train.h"
#include "trie_onpair.h"

static fastpair_allocator plain;

/* ---------------------------------------------------------------- dictionaries */

/* A token, zero-padded, and its length. */
typedef uint8_t padded[FP_MAX_TOKEN + 1];

static int compare_tokens(const void *a, const void *b) { return memcmp(a, b, sizeof(padded)); }

/* What holds for all dictionaries: the single bytes, lengths, padding, no token twice, and room in
 * code order. */
static void check_tokens(const fp_tokens *tokens, uint32_t code_bits, uint32_t max_token, int hot) {
    CHECK(tokens->count >= 256 && tokens->count <= 1u << code_bits);
    CHECK_EQ(tokens->max_token, max_token);
    padded *sorted = calloc(tokens->count, sizeof *sorted);
    uint32_t in_class[FP_MAX_TOKEN + 1] = {0}, wrong = 0;
    if (!sorted) abort();
    for (uint32_t id = 0; id < tokens->count; id++) {
        uint32_t length = tokens->lengths[id];
        if (id < 256 ? length != 1 || fp_token(tokens, id)[0] != id
                     : length < 2 || length > max_token)
            wrong++;
        for (uint32_t i = length; i < tokens->stride; i++) wrong += fp_token(tokens, id)[i] != 0;
        in_class[length <= FP_MAX_TOKEN ? length : 0]++;
        memcpy(sorted[id], fp_token(tokens, id), tokens->stride);
        sorted[id][FP_MAX_TOKEN] = (uint8_t)length;
    }
    CHECK_EQ(wrong, 0);
    uint32_t bricks = 0; /* what one loop numbers with 16 bits */
    for (uint32_t length = 1; length <= FP_MAX_TOKEN; length++)
        bricks += in_class[length] * ((length + 15) / 16);
    CHECK(bricks <= 65534 || max_token <= 16);
    qsort(sorted, tokens->count, sizeof *sorted, compare_tokens);
    for (uint32_t i = 1; i < tokens->count; i++) wrong += !compare_tokens(sorted[i - 1], sorted[i]);
    CHECK_EQ(wrong, 0);
    free(sorted);
    uint32_t shift = fp_class_shift(code_bits, max_token), slots = hot ? max_token << shift : 0;
    for (uint32_t length = 1; length <= FP_MAX_TOKEN; length++)
        slots += (in_class[length] + (1u << shift) - 1) >> shift << shift;
    CHECK(slots <= 1u << code_bits);
}

/* A sample of one piece a row of `size` bytes; the last may be shorter. */
static fp_sample sample_of(const uint8_t *bytes, uint64_t size, uint32_t row) {
    fp_sample sample = {.size = size, .column_bytes = size};
    sample.bytes = malloc(size + FP_SLACK);
    sample.lengths = malloc((size / row + 1) * sizeof *sample.lengths);
    if (!sample.bytes || !sample.lengths) abort();
    if (size) memcpy(sample.bytes, bytes, size);
    memset(sample.bytes + size, 0, FP_SLACK);
    for (uint64_t at = 0; at < size; at += row)
        sample.lengths[sample.pieces++] = (uint32_t)(size - at < row ? size - at : row);
    return sample;
}

static fp_tokens train_at(const fp_sample *sample, const fp_code_space *space) {
    fp_tokens tokens;
    CHECK_EQ(fp_train_onpair(sample, space, NULL, &plain, &tokens, NULL), FASTPAIR_OK);
    check_tokens(&tokens, space->code_bits, space->max_token, space->hot);
    return tokens;
}

static fp_tokens train(const fp_sample *sample, uint32_t code_bits, uint32_t max_token, int hot) {
    return train_at(sample, &(fp_code_space){code_bits, max_token, hot, FASTPAIR_LEVEL_DEFAULT, 1});
}

static void drop(fp_sample *sample) {
    free(sample->bytes);
    free(sample->lengths);
}

static void test_small(uint64_t seed) {
    fp_sample empty = sample_of(NULL, 0, 1);
    for (uint32_t bits = 9; bits <= 16; bits++) {
        fp_tokens tokens = train(&empty, bits, 16, 0);
        CHECK_EQ(tokens.count, 256);
        fp_tokens_close(&tokens, &plain);
    }
    drop(&empty);

    uint8_t bytes[3000];
    uint64_t state = seed;
    for (uint64_t size = 1; size < sizeof bytes; size += 1 + size / 7)
        for (uint32_t letters = 1; letters <= 256; letters = letters * 4) {
            for (uint64_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)(check_random(&state) % letters);
            fp_sample sample = sample_of(bytes, size, 1 + (uint32_t)(check_random(&state) % 100));
            fp_tokens tokens =
                train(&sample, 9 + (uint32_t)(size % 8), size & 1 ? 16 : 8, size & 2 ? 1 : 0);
            CHECK(tokens.count - 256 <= size);
            fp_tokens_close(&tokens, &plain);
            drop(&sample);
        }

    /* Equal bytes in one piece: runs of them, up to the longest. */
    static uint8_t equal[4096];
    memset(equal, 'x', sizeof equal);
    fp_sample sample = sample_of(equal, sizeof equal, sizeof equal);
    for (uint32_t max_token = 8; max_token <= 16; max_token += 8) {
        fp_tokens tokens = train(&sample, 12, max_token, 0);
        uint32_t longest = 0;
        for (uint32_t id = 256; id < tokens.count; id++) {
            if (tokens.lengths[id] > longest) longest = tokens.lengths[id];
            for (uint32_t i = 0; i < tokens.lengths[id]; i++)
                CHECK_EQ(fp_token(&tokens, id)[i], 'x');
        }
        CHECK_EQ(longest, max_token);
        fp_tokens_close(&tokens, &plain);
    }
    drop(&sample);
}

/* ---------------------------------------------------------------- figures */

static fp_sample generate(fp_tpch_column column, uint64_t size) {
    fp_sample sample = {.bytes = malloc(size + FP_TPCH_MAX_ROW), .lengths = malloc(size)};
    fp_tpch_gen generator;
    if (!sample.bytes || !sample.lengths || fp_tpch_open(&generator, 1, column)) abort();
    for (;;) {
        size_t length = fp_tpch_next(&generator, (char *)sample.bytes + sample.size);
        if (sample.size + length + FP_SLACK > size) break;
        sample.lengths[sample.pieces++] = (uint32_t)length;
        sample.size += length;
    }
    memset(sample.bytes + sample.size, 0, FP_SLACK);
    fp_tpch_close(&generator);
    sample.column_bytes = sample.size;
    return sample;
}

/* Bytes per code when the sample is parsed with the tokens, and how many of them it uses. */
static double parse(const fp_sample *sample, const fp_tokens *trained, uint32_t *used) {
    fp_tokens tokens;
    fp_trie trie;
    uint64_t codes = 0;
    uint8_t *is_used = calloc(FP_MAX_TOKENS, 1);
    if (!is_used || fp_tokens_open(&tokens, trained->max_token, &plain, NULL) ||
        fp_trie_open(&trie, &tokens, trained->count, &plain, NULL))
        abort();
    for (uint32_t id = 256; id < trained->count; id++)
        CHECK_EQ(fp_trie_add(&trie, fp_token(trained, id), trained->lengths[id]), id);
    const uint8_t *text = sample->bytes;
    for (uint64_t i = 0; i < sample->pieces; i++)
        for (uint64_t left = sample->lengths[i]; left; codes++) {
            fp_match match = fp_trie_match(&trie, text, left);
            is_used[match.id] = 1;
            text += match.length;
            left -= match.length;
        }
    *used = 0;
    for (uint32_t id = 0; id < trained->count; id++) *used += is_used[id];
    free(is_used);
    fp_trie_close(&trie, &plain);
    fp_tokens_close(&tokens, &plain);
    return (double)sample->size / (double)codes;
}

/* Small columns, so the bars are below those of docs; a mistake in training misses them by far. */
static void test_figures(void) {
    static const struct {
        fp_tpch_column column;
        uint64_t size;
        uint32_t bits, least_used;
        double bytes_per_code;
    } bars[] = {
        {FP_TPCH_L_COMMENT, 3000000, 12, 3800, 7.5},   {FP_TPCH_PS_COMMENT, 3000000, 12, 3700, 9.9},
        {FP_TPCH_O_CLERK, 3000000, 12, 1500, 7.5},     {FP_TPCH_C_ADDRESS, 1500000, 12, 3800, 1.85},
        {FP_TPCH_L_COMMENT, 4500000, 14, 15000, 8.9},  {FP_TPCH_C_ADDRESS, 4500000, 14, 15900, 2.0},
        {FP_TPCH_L_SHIPINSTRUCT, 300000, 16, 5, 9.55},
    };
    for (size_t i = 0; i < check_scaled(sizeof bars / sizeof bars[0]); i++) {
        fp_sample sample = generate(bars[i].column, bars[i].size);
        /* Of a large column, so that wide codes pay for their dictionary. */
        if (bars[i].bits == 14) sample.column_bytes = 1u << 30;
        fp_tokens tokens = train(&sample, bars[i].bits, 16, 0),
                  again = train(&sample, bars[i].bits, 16, 0);
        CHECK_EQ(tokens.count, again.count);
        CHECK(!memcmp(tokens.cells, again.cells, (size_t)tokens.count * tokens.stride));
        CHECK(!memcmp(tokens.lengths, again.lengths, tokens.count));
        uint32_t used;
        double bytes_per_code = parse(&sample, &tokens, &used);
        printf("%s, %u bits: %u tokens, %u used, %.3f bytes per code\n",
               fp_tpch_column_name(bars[i].column), bars[i].bits, tokens.count, used,
               bytes_per_code);
        CHECK(bytes_per_code >= bars[i].bytes_per_code);
        CHECK(used >= bars[i].least_used);
        fp_tokens_close(&tokens, &plain);
        fp_tokens_close(&again, &plain);
        drop(&sample);
    }
}

/* All widths, both limits, hot or not; on text, and on random bytes, where every byte pair is as
 * good as another. */
static void test_widths(uint64_t seed) {
    fp_sample text = generate(FP_TPCH_L_COMMENT, 600000);
    uint8_t *random = malloc(300000);
    if (!random) abort();
    for (uint64_t i = 0; i < 300000; i++) random[i] = (uint8_t)check_random(&seed);
    fp_sample noise = sample_of(random, 300000, 1000);
    uint64_t number = 0;
    for (uint32_t bits = 9; bits <= 16; bits++)
        for (uint32_t max_token = 8; max_token <= 16; max_token += 8)
            for (int hot = 0; hot < 2; hot++) {
                if (!check_takes(number++)) continue;
                fp_tokens tokens = train(&text, bits, max_token, hot);
                uint32_t used;
                CHECK(parse(&text, &tokens, &used) > (bits == 9 ? 2.5 : 4));
                /* Small columns get no more tokens than they can pay for. */
                CHECK(tokens.count <= 256 + 512 + text.size / 256);
                fp_tokens_close(&tokens, &plain);
                tokens = train(&noise, bits, max_token, hot);
                fp_tokens_close(&tokens, &plain);
            }
    drop(&text);
    drop(&noise);
    free(random);
}

/* A column of few distinct values ends up with those as tokens, be it ever so small. As they share
 * no prefixes, they also need the most nodes a token can. */
static void test_distinct(uint64_t seed) {
    enum { STRINGS = 1000, TIMES = 80 };
    uint8_t(*strings)[16] = malloc(STRINGS * sizeof *strings),
    *bytes = malloc(STRINGS * TIMES * 16);
    if (!strings || !bytes) abort();
    for (uint32_t i = 0; i < STRINGS * 16; i++)
        strings[i / 16][i % 16] = (uint8_t)check_random(&seed);
    for (uint32_t i = 0; i < STRINGS * TIMES; i++)
        memcpy(bytes + 16 * i, strings[check_random(&seed) % STRINGS], 16);
    fp_sample sample = sample_of(bytes, STRINGS * TIMES * 16, 16);
    fp_tokens tokens = train(&sample, 16, 16, 0);
    uint32_t used, whole = 0;
    CHECK(parse(&sample, &tokens, &used) > 14);
    for (uint32_t id = 256; id < tokens.count; id++) whole += tokens.lengths[id] == 16;
    CHECK(whole > STRINGS * 9 / 10 && whole <= STRINGS);
    fp_tokens_close(&tokens, &plain);
    drop(&sample);
    free(strings);
    free(bytes);
}

/* Lines of a log: few templates, each with a number or two. */
static fp_sample log_lines(uint64_t seed, uint64_t size) {
    static const char *const templates[] = {
        "2015-10-18 18:01:%02u,978 INFO [main] org.apache.hadoop.mapreduce.v2.app.MRAppMaster: "
        "Created MRAppMaster for application appattempt_1445144423722_%04u_000001",
        "2015-10-18 18:01:%02u,963 INFO [main] org.apache.hadoop.yarn.event.AsyncDispatcher: "
        "Registering class JobEventType for dispatcher number %u of this node",
        "2015-10-18 18:01:%02u,441 WARN [RMCommunicator Allocator] org.apache.hadoop.ipc.Client: "
        "Address change detected. Old: msra-sa-41/10.190.173.170:%u",
    };
    fp_sample sample = {.bytes = malloc(size + 512), .lengths = malloc(size)};
    if (!sample.bytes || !sample.lengths) abort();
    while (sample.size < size) {
        uint32_t which = (uint32_t)(check_random(&seed) % 3);
        int length =
            snprintf((char *)sample.bytes + sample.size, 256, templates[which],
                     (unsigned)(check_random(&seed) % 60), (unsigned)(check_random(&seed) % 9000));
        sample.lengths[sample.pieces++] = (uint32_t)length;
        sample.size += (uint64_t)length;
    }
    memset(sample.bytes + sample.size, 0, FP_SLACK);
    sample.column_bytes = 1u << 28;
    return sample;
}

/* Longer tokens give longer codes, and so do higher levels, but for chance; the same each time. */
static void test_levels(uint64_t seed) {
    fp_sample sample = log_lines(seed, 1000000);
    const uint32_t step = check_scale() < 1 ? FASTPAIR_LEVEL_MOST - 1 : 2;
    double before = 0;
    for (uint32_t max_token = 16; max_token <= 64; max_token *= 2) {
        double quick = 0, best = 0;
        for (uint32_t level = 1; level <= FASTPAIR_LEVEL_MOST; level += step) {
            const fp_code_space space = {12, max_token, 0, level, 1};
            fp_tokens tokens = train_at(&sample, &space), again = train_at(&sample, &space);
            CHECK_EQ(tokens.count, again.count);
            CHECK(!memcmp(tokens.cells, again.cells, (size_t)tokens.count * tokens.stride));
            uint32_t used;
            best = parse(&sample, &tokens, &used);
            printf("log lines, tokens of %u, level %u: %.2f bytes per code\n", max_token, level,
                   best);
            if (level == 1) quick = best;
            CHECK(best > 0.9 * quick);
            fp_tokens_close(&tokens, &plain);
            fp_tokens_close(&again, &plain);
        }
        CHECK(best > 1.3 * before);
        before = best;
    }
    drop(&sample);
}

static void test_allocation(uint32_t longest) {
    fp_sample sample = generate(FP_TPCH_PS_COMMENT, 50000);
    counting count;
    counting_start(&count);
    fastpair_allocator hooks = counting_hooks(&count);
    fp_tokens tokens;
    CHECK_EQ(fp_train_onpair(&sample, &(fp_code_space){12, longest, 0, 7, 1}, NULL, &hooks, &tokens,
                             NULL),
             FASTPAIR_OK);
    uint64_t calls = count.calls;
    fp_tokens_close(&tokens, &hooks);
    CHECK_EQ(count.live, 0);
    for (uint64_t n = 0; n < calls; n++) {
        if (!check_takes(n)) continue;
        fastpair_error error;
        counting_start(&count);
        count.fail_at = n;
        CHECK_EQ(fp_train_onpair(&sample, &(fp_code_space){12, longest, 0, 7, 1}, NULL, &hooks,
                                 &tokens, &error),
                 FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(error.status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK(!tokens.cells && !tokens.lengths);
        CHECK_EQ(count.live, 0);
    }
    /* The largest tables there are stay within their bound. */
    sample.column_bytes = 1u << 30;
    counting_start(&count);
    CHECK_EQ(
        fp_train_onpair(&sample, &(fp_code_space){16, 16, 0, 3, 1}, NULL, &hooks, &tokens, NULL),
        FASTPAIR_OK);
    CHECK(count.peak_bytes < 32u << 20);
    fp_tokens_close(&tokens, &hooks);
    drop(&sample);
}

/* Room for as many tokens as there are codes, and for no more bricks than are numbered. */
static void test_bricks(void) {
    for (uint32_t length = 2; length <= FP_MAX_TOKEN; length++) {
        fp_room room = fp_room_for(&(fp_code_space){16, 64, 0, 3, 1});
        uint32_t tokens = 256, each = (length + 15) / 16, most = 256 + (65534 - 256) / each;
        for (; fp_room_has(&room, length); tokens++) fp_room_take(&room, length);
        CHECK_EQ(tokens, most);
    }
}

int main(void) {
    const char *text = getenv("FASTPAIR_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 20;
    printf("seed %" PRIu64 "\n", seed);
    fp_allocator_resolve(NULL, &plain, NULL);
    test_small(seed);
    test_figures();
    test_widths(seed);
    test_distinct(seed);
    test_levels(seed);
    test_allocation(16);
    test_allocation(64);
    test_bricks();
    return check_done();
}
