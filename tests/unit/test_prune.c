/* test_prune.c - small columns: the goal `ratio` gives the smallest file of all its candidates, and
 * tokens that do not earn their bytes are dropped without losing a row.
 *
 * In a small column a dictionary weighs as much as the codes. So each codec's true file is made and
 * compared with what `ratio` makes. */
#include "counting.h"
#include "sink.h"

static const fastpair_compress_options candidates[] = {
    {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16},
    {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12},
    {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 14, .max_token = 8},
    {.codec = FASTPAIR_CODEC_FSST12},
    {.codec = FASTPAIR_CODEC_STORED},
    {.goal = FASTPAIR_GOAL_BALANCED},
    {.goal = FASTPAIR_GOAL_SPEED},
};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

static uint64_t size_of(const shape *s, fastpair_compress_options options, int streamed) {
    options.struct_size = sizeof options;
    sink_state state = {.fail_at = UINT64_MAX};
    uint8_t *image = NULL;
    uint64_t size = 0;
    if (streamed) {
        CHECK_EQ(write_column(&state, s, &options, 300, 5, NULL), FASTPAIR_OK);
        image = state.out.data;
        size = state.out.size;
    } else {
        CHECK_EQ(fastpair_compress(&s->rows, &options, &image, &size, NULL), FASTPAIR_OK);
    }
    verify_effort effort = {1, 2, 1, 0, 3};
    verify_image(image, size, s, &effort);
    fastpair_free(NULL, image);
    return size;
}

/* Every shape, some sizes, one chunk and many, at once and as a stream. */
static void smallest_of_all(uint64_t seed) {
    static const uint64_t sizes[] = {900, 5000, 14000};
    static const uint64_t chunks[] = {0, 5000};
    for (int kind = 0; kind < SHAPE_KINDS; kind++)
        for (int i = 0; i < 3; i++) {
            if (check_scale() < 1 && (kind + i) % 6) continue;
            shape s;
            shape_make(&s, (shape_kind)kind, seed + (uint64_t)i,
                       &(shape_options){.bytes = sizes[i], .null_percent = i == 1 ? 10 : 0});
            int streamed = (kind + i) % 2;
            uint64_t chunk = chunks[(kind + i) / 2 % 2];
            uint64_t ratio = size_of(
                &s, (fastpair_compress_options){.goal = FASTPAIR_GOAL_RATIO, .chunk_bytes = chunk},
                streamed);
            for (int c = 0; c < CANDIDATES; c++) {
                fastpair_compress_options options = candidates[c];
                options.chunk_bytes = chunk;
                uint64_t size = size_of(&s, options, streamed);
                CHECK(ratio <= size);
                if (ratio > size)
                    fprintf(stderr, "  ^ ratio %llu, candidate %d %llu: %s\n",
                            (unsigned long long)ratio, c, (unsigned long long)size, s.name);
            }
            shape_free(&s);
        }
}

/* Rows of eight words out of 200, drawn at random: pairs of words are too many to be tokens. */
static void two_hundred_words(void) {
    enum { ROWS = 5000 };
    char words[200][16];
    uint64_t offsets[ROWS + 1], random = 11, words_seen = 0;
    uint8_t *bytes = malloc(ROWS * 8 * 16);
    for (int w = 0; w < 200; w++) {
        int length = 3 + (int)(check_random(&random) % 7);
        for (int i = 0; i < length; i++) words[w][i] = (char)('a' + check_random(&random) % 26);
        words[w][length] = 0;
    }
    offsets[0] = 0;
    for (uint64_t row = 0; row < ROWS; row++) {
        uint64_t end = offsets[row];
        for (int i = 0; i < 8; i++, words_seen++)
            end +=
                (uint64_t)sprintf((char *)bytes + end, "%s ", words[check_random(&random) % 200]);
        offsets[row + 1] = end;
    }
    fastpair_rows rows = view_rows(ROWS, bytes, offsets);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .goal = FASTPAIR_GOAL_RATIO};
    uint8_t *image = NULL;
    uint64_t size = 0;
    CHECK_EQ(fastpair_compress(&rows, &options, &image, &size, NULL), FASTPAIR_OK);
    /* 8 bits per word would be perfect but for dictionary, sidecar and lengths. */
    CHECK(size < words_seen * 5 / 4 + 8000);
    if (size >= words_seen * 5 / 4 + 8000)
        fprintf(stderr, "  ^ %llu bytes of %llu words\n", (unsigned long long)size,
                (unsigned long long)words_seen);
    fastpair_free(NULL, image);
    free(bytes);
}

/* Allocations fail, one in each try: all memory comes back. */
static void failing_allocations(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 3, &(shape_options){.bytes = 3000});
    counting memory;
    counting_start(&memory);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .goal = FASTPAIR_GOAL_RATIO,
                                         .chunk_bytes = 2000,
                                         .allocator = counting_hooks(&memory)};
    uint8_t *image = NULL;
    uint64_t size = 0;
    CHECK_EQ(fastpair_compress(&s.rows, &options, &image, &size, NULL), FASTPAIR_OK);
    fastpair_free(&options.allocator, image);
    uint64_t calls = memory.calls;
    for (uint64_t fail_at = 0; fail_at < calls; fail_at += 1 + calls / check_scaled(50)) {
        memory.calls = 0, memory.fail_at = fail_at;
        fastpair_status status = fastpair_compress(&s.rows, &options, &image, &size, NULL);
        /* A buffer that cannot double may still grow to what is needed. */
        CHECK(status == FASTPAIR_ERROR_OUT_OF_MEMORY || (status == FASTPAIR_OK && image));
        fastpair_free(&options.allocator, image);
        CHECK_EQ(memory.live, 0);
    }
    shape_free(&s);
}

int main(void) {
    uint64_t seed = verify_seed();
    smallest_of_all(seed);
    two_hundred_words();
    failing_allocations();
    return check_done();
}
