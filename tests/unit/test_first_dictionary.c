/* test_first_dictionary.c - the dictionary that a writer begins with. Given to a writer, it must make the
 * file that the writer makes by itself, where that has one dictionary of the same width; with too few
 * rows there is none. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "sink.h"

static uint64_t random_state;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

/* Dictionaries of a file, and the bits of their codes. */
static fastpair_column_info describe(const forge_bytes *image) {
    fastpair_column *column = NULL;
    fastpair_column_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_column_open(image->data, image->size, NULL, &column, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
    fastpair_column_close(column);
    return info;
}

/* 1: the files are the same; 0: the writer chose otherwise, as it may. */
static int check_shape(shape_kind kind, const fastpair_compress_options *options, uint64_t bytes) {
    shape s;
    fastpair_dictionary *first = NULL;
    fastpair_error error = {0};
    shape_make(&s, kind, check_random(&random_state),
               &(shape_options){.bytes = bytes, .null_percent = draw(2) * 20});
    sink_state own = {.fail_at = UINT64_MAX}, given = {.fail_at = UINT64_MAX};
    verify_ok(write_column(&own, &s, options, 0, 1, &error), &error, "write");
    /* As many rows as suffice, and more every time. */
    uint64_t count = 1;
    for (; !first; count = count < s.rows.rows ? 2 * count : count) {
        fastpair_rows rows = shape_slice(&s, 0, count < s.rows.rows ? count : s.rows.rows);
        int has_after = rows.rows < s.rows.rows;
        verify_ok(fastpair_dictionary_train_first(&rows, has_after, options, &first, &error),
                  &error, "train");
        if (!has_after) CHECK(first);
        if (!has_after && !first) break;
    }
    fastpair_compress_options with = *options;
    with.codec = FASTPAIR_CODEC_AUTO, with.code_bits = with.max_token = 0, with.dictionary = first;
    verify_ok(write_column(&given, &s, &with, 0, 1, &error), &error, "write");
    fastpair_column_info one = describe(&own.out), other = describe(&given.out);
    int is_same =
        own.out.size == given.out.size && !memcmp(own.out.data, given.out.data, own.out.size);
    int must_be =
        one.dictionaries == 1 && other.dictionaries == 1 && one.code_bits == other.code_bits;
    if (must_be && s.out_size > 3 * options->expert->sample_bytes) CHECK(is_same);
    fastpair_dictionary_close(first);
    free(own.out.data);
    free(given.out.data);
    shape_free(&s);
    return is_same && must_be;
}

static void check_refusals(void) {
    static uint8_t byte;
    const uint64_t falling[3] = {0, 1, 0};
    fastpair_rows none = {.struct_size = sizeof none},
                  bad = {.struct_size = sizeof bad, .rows = 2, .bytes = &byte, .offsets = falling};
    fastpair_compress_options stored = {.struct_size = sizeof stored,
                                        .codec = FASTPAIR_CODEC_STORED};
    fastpair_dictionary *first = NULL;
    const fastpair_status invalid = FASTPAIR_ERROR_INVALID_ARGUMENT;
    CHECK_EQ(fastpair_dictionary_train_first(NULL, 0, NULL, &first, NULL), invalid);
    CHECK_EQ(fastpair_dictionary_train_first(&none, 0, NULL, NULL, NULL), invalid);
    CHECK_EQ(fastpair_dictionary_train_first(&bad, 0, NULL, &first, NULL), invalid);
    CHECK_EQ(fastpair_dictionary_train_first(&none, 0, &stored, &first, NULL), invalid);
    CHECK_EQ(fastpair_dictionary_train_first(&none, 1, NULL, &first, NULL), FASTPAIR_OK);
    CHECK(!first);
    CHECK_EQ(fastpair_dictionary_train_first(&none, 0, NULL, &first, NULL), FASTPAIR_OK);
    CHECK(first); /* of single bytes */
    fastpair_dictionary_close(first);
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 31;
    printf("seed %llu\n", (unsigned long long)random_state);
    int same = 0, all = 0;
    for (uint32_t round = 0; round < check_scaled(4); round++)
        for (int kind = SHAPE_NUL_RUNS; kind < SHAPE_KINDS; kind++) {
            fastpair_expert_options expert = {.struct_size = sizeof expert,
                                              .sample_bytes = 20000 + draw(40000)};
            fastpair_compress_options options = {.struct_size = sizeof options,
                                                 .codec = draw(5) ? FASTPAIR_CODEC_ONPAIR
                                                                  : FASTPAIR_CODEC_AUTO,
                                                 .level = draw(8),
                                                 .chunk_bytes = 2048u << draw(4),
                                                 .expert = &expert};
            if (options.codec == FASTPAIR_CODEC_ONPAIR) options.code_bits = 9 + draw(5);
            same += check_shape((shape_kind)kind, &options, 150000 + draw(200000));
            all++;
        }
    printf("%d of %d files are the same\n", same, all);
    CHECK(same > all / 8);
    check_refusals();
    return check_done();
}
