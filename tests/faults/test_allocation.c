/* test_allocation.c - any allocation may fail, and the library must then clean up and say so.
 *
 * Each task runs with its 1st, 2nd, 3rd ... allocation failing, until it runs without reaching the
 * failing one: each failure must be OUT_OF_MEMORY with nothing left allocated, and the same task
 * must work right afterwards. Then once more with every later allocation failing too, so that no
 * clean-up depends on memory. */
#include "fail_each.h"

static shape words, mixed, many_words, many_urls; /* inputs */
static uint8_t *image;                            /* `mixed`, compressed */
static uint64_t image_size;
static uint8_t *exported; /* a dictionary */
static uint64_t exported_size;
static fastpair_dictionary *imported;
static char image_path[] = "/tmp/fastpair-test-XXXXXX";

static const fastpair_pair pair = {"key", "value", 5};
static const fastpair_metadata metadata = {sizeof metadata, FASTPAIR_TYPE_DETECT, "name", &pair, 1};

static fastpair_compress_options compress_options(counting *c, fastpair_codec codec,
                                                  uint32_t bits) {
    fastpair_compress_options o = {.struct_size = sizeof o, .codec = codec, .code_bits = bits};
    o.allocator = counting_hooks(c);
    o.chunk_bytes = 3000, o.metadata = &metadata;
    o.level = 1; /* of fewer rounds, all of which allocate alike */
    return o;
}

/* ---------------------------------------------------------------- tasks: return the status, leave nothing */

static fastpair_status compress_with(fastpair_compress_options *options, fastpair_error *error) {
    uint8_t *out = NULL;
    uint64_t size = 0;
    fastpair_status status = fastpair_compress(&words.rows, options, &out, &size, error);
    if (status == FASTPAIR_OK) {
        oracle_column oracle;
        CHECK(oracle_decode(out, size, &oracle));
        CHECK(oracle.decoded_bytes == words.out_size &&
              !memcmp(oracle.bytes, words.out_bytes, words.out_size));
        oracle_free(&oracle);
        fastpair_free(&options->allocator, out);
    } else
        CHECK(out == NULL);
    return status;
}

static fastpair_status task_onpair(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_ONPAIR, 12);
    return compress_with(&o, error);
}

/* Long tokens, and the parse into the fewest codes. */
static fastpair_status task_long_tokens(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_ONPAIR, 12);
    o.max_token = 64;
    o.level = 7;
    return compress_with(&o, error);
}

static fastpair_status task_onpair16_hot(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_ONPAIR, 16);
    o.expert = EXPERT(.hot_codes = 100);
    return compress_with(&o, error);
}

static fastpair_status task_fsst(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_FSST12, 0);
    return compress_with(&o, error);
}

static fastpair_status task_auto(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_AUTO, 0);
    return compress_with(&o, error);
}

static fastpair_status task_stored(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_STORED, 0);
    return compress_with(&o, error);
}

static fastpair_status task_threads(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_ONPAIR, 12);
    o.threads = 3;
    return compress_with(&o, error);
}

static fastpair_status task_own_dictionary(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_AUTO, 0);
    o.dictionary = imported;
    return compress_with(&o, error);
}

static int sink_write(void *context, const void *data, size_t size) {
    *(uint64_t *)context += size + (data == NULL);
    return 0;
}

/* Two appends of different data and a small sample, so that a second dictionary is tried. */
static fastpair_status task_writer(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_ONPAIR, 12);
    o.expert = EXPERT(.sample_bytes = 4000);
    uint64_t written = 0;
    fastpair_sink sink = {sink_write, &written};
    fastpair_writer *writer = NULL;
    fastpair_status status = fastpair_writer_open(&sink, &o, &writer, error);
    CHECK((status == FASTPAIR_OK) == (writer != NULL));
    if (status == FASTPAIR_OK) status = fastpair_writer_set_framing(writer, '\n', 1, error);
    if (status == FASTPAIR_OK) status = fastpair_writer_append(writer, &words.rows, error);
    if (status == FASTPAIR_OK) status = fastpair_writer_append(writer, &mixed.rows, error);
    if (status == FASTPAIR_OK) status = fastpair_writer_finish(writer, error);
    if (status == FASTPAIR_OK) CHECK(written > 0);
    fastpair_writer_close(writer);
    return status;
}

/* Words, then something else, then words again, in units just large enough: a second dictionary,
 * and back to the first. */
static fastpair_status task_writer_goes_back(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_ONPAIR, 9);
    o.expert = EXPERT(.sample_bytes = 300000);
    o.chunk_bytes = 300000;
    uint64_t written = 0;
    fastpair_sink sink = {sink_write, &written};
    fastpair_writer *writer = NULL;
    fastpair_status status = fastpair_writer_open(&sink, &o, &writer, error);
    for (int part = 0; part < 4 && status == FASTPAIR_OK; part++)
        status =
            fastpair_writer_append(writer, part == 2 ? &many_urls.rows : &many_words.rows, error);
    if (status == FASTPAIR_OK) status = fastpair_writer_finish(writer, error);
    if (status == FASTPAIR_OK) CHECK(written > 0);
    fastpair_writer_close(writer);
    return status;
}

/* After a failed append the writer only closes: finish must fail, and must not crash. */
static fastpair_status task_writer_carries_on(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_FSST12, 0);
    o.expert = EXPERT(.sample_bytes = 4000);
    uint64_t written = 0;
    fastpair_sink sink = {sink_write, &written};
    fastpair_writer *writer = NULL;
    fastpair_status status = fastpair_writer_open(&sink, &o, &writer, error);
    if (status != FASTPAIR_OK) return status;
    status = fastpair_writer_append(writer, &mixed.rows, error);
    if (status != FASTPAIR_OK) {
        CHECK(fastpair_writer_append(writer, &mixed.rows, NULL) != FASTPAIR_OK);
        CHECK(fastpair_writer_finish(writer, NULL) != FASTPAIR_OK);
    } else
        status = fastpair_writer_finish(writer, error);
    fastpair_writer_close(writer);
    return status;
}

static fastpair_status train_with(counting *c, fastpair_codec codec, uint32_t bits,
                                  fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, codec, bits);
    fastpair_dictionary *dictionary = NULL;
    fastpair_status status = fastpair_dictionary_train(&words.rows, &o, &dictionary, error);
    CHECK((status == FASTPAIR_OK) == (dictionary != NULL));
    fastpair_dictionary_close(dictionary);
    return status;
}

static fastpair_status task_train_onpair(counting *c, fastpair_error *error) {
    return train_with(c, FASTPAIR_CODEC_ONPAIR, 14, error);
}
static fastpair_status task_train_fsst(counting *c, fastpair_error *error) {
    return train_with(c, FASTPAIR_CODEC_FSST12, 0, error);
}
static fastpair_status task_train_auto(counting *c, fastpair_error *error) {
    return train_with(c, FASTPAIR_CODEC_AUTO, 0, error);
}

static fastpair_status task_train_first(counting *c, fastpair_error *error) {
    fastpair_compress_options o = compress_options(c, FASTPAIR_CODEC_ONPAIR, 12);
    fastpair_dictionary *dictionary = NULL;
    fastpair_status status =
        fastpair_dictionary_train_first(&words.rows, 0, &o, &dictionary, error);
    CHECK((status == FASTPAIR_OK) == (dictionary != NULL));
    fastpair_dictionary_close(dictionary);
    return status;
}

static fastpair_status task_import(counting *c, fastpair_error *error) {
    fastpair_allocator hooks = counting_hooks(c);
    fastpair_dictionary *dictionary = NULL;
    fastpair_status status =
        fastpair_dictionary_open(exported, exported_size, &hooks, &dictionary, error);
    CHECK((status == FASTPAIR_OK) == (dictionary != NULL));
    fastpair_dictionary_close(dictionary);
    return status;
}

/* Opening, then every call that reads a column; the first failure ends it. */
static fastpair_status column_calls(fastpair_column *column, uint32_t threads,
                                    fastpair_error *error) {
    enum { LISTED = 9000 }; /* more than one piece of a list */
    uint64_t rows = mixed.rows.rows, *listed = malloc(LISTED * 8),
             *list_offsets = malloc((LISTED + 1) * 8);
    uint64_t size = 0;
    fastpair_column_info info = {.struct_size = sizeof info};
    int is_null;
    uint8_t *bytes = malloc(mixed.out_size + 1);
    uint64_t *offsets = malloc((rows + 1) * 8);
    uint8_t *validity = malloc(rows / 8 + 1);
    fastpair_destination to = to_memory(bytes, mixed.out_size, offsets, 64, validity);
    for (uint64_t i = 0; i < LISTED; i++) listed[i] = i % 37 * 5 % rows;
    fastpair_metadata said = {.struct_size = sizeof said};
    fastpair_status status = fastpair_column_get_info(column, &info, error);
    if (status == FASTPAIR_OK) status = fastpair_column_get_metadata(column, &said, error);
    if (status == FASTPAIR_OK) status = validate_with(threads, column, error);
    if (status == FASTPAIR_OK) status = decode_with(threads, column, 0, rows, &to, error);
    if (status == FASTPAIR_OK) CHECK(!memcmp(bytes, mixed.out_bytes, mixed.out_size));
    if (status == FASTPAIR_OK) status = decode_with(threads, column, 3, rows - 7, &to, error);
    if (status == FASTPAIR_OK)
        status =
            fastpair_column_decode_row(column, 5, bytes, mixed.out_size, &size, &is_null, error);
    if (status == FASTPAIR_OK)
        status = fastpair_column_listed_size(column, listed, LISTED, &size, error);
    if (status == FASTPAIR_OK) {
        to = to_memory(malloc(size + 1), size, list_offsets, 64, NULL);
        status = decode_listed_with(threads, column, listed, LISTED, &to, error);
        free(to.bytes);
    }
    free(listed), free(list_offsets);
    free(bytes), free(offsets), free(validity);
    return status;
}

static fastpair_status open_and_decode(counting *c, const char *path, uint32_t threads,
                                       fastpair_error *error) {
    fastpair_open_options o = {.struct_size = sizeof o, .allocator = counting_hooks(c)};
    fastpair_column *column = NULL;
    fastpair_status status = path ? fastpair_column_open_file(path, &o, &column, error)
                                  : fastpair_column_open(image, image_size, &o, &column, error);
    CHECK((status == FASTPAIR_OK) == (column != NULL));
    if (status == FASTPAIR_OK) status = column_calls(column, threads, error);
    fastpair_column_close(column);
    return status;
}

static fastpair_status task_decode(counting *c, fastpair_error *error) {
    return open_and_decode(c, NULL, 1, error);
}
static fastpair_status task_decode_threads(counting *c, fastpair_error *error) {
    return open_and_decode(c, NULL, 3, error);
}
static fastpair_status task_open_file(counting *c, fastpair_error *error) {
    return open_and_decode(c, image_path, 2, error);
}

static fastpair_status read_all(counting *c, uint32_t threads, fastpair_error *error) {
    fastpair_open_options o = {.struct_size = sizeof o, .allocator = counting_hooks(c)};
    verify_source from = {image, image_size, 0, 1000};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_status status = reader_open_with(threads, &source, &o, &reader, error);
    CHECK((status == FASTPAIR_OK) == (reader != NULL));
    int at_end = 0;
    uint64_t rows_read = 0;
    while (status == FASTPAIR_OK && !at_end) {
        fastpair_rows rows = {.struct_size = sizeof rows};
        status = fastpair_reader_next(reader, &rows, &at_end, error);
        if (status == FASTPAIR_OK) rows_read += rows.rows;
    }
    if (status == FASTPAIR_OK) CHECK_EQ(rows_read, mixed.rows.rows);
    fastpair_reader_close(reader);
    return status;
}

static fastpair_status task_reader(counting *c, fastpair_error *error) {
    return read_all(c, 1, error);
}
static fastpair_status task_reader_threads(counting *c, fastpair_error *error) {
    return read_all(c, 4, error);
}

/* ---------------------------------------------------------------- the experiment */

static const struct {
    const char *name;
    task_function run;
} tasks[] = {
    {"compress onpair 12", task_onpair},
    {"compress long tokens, fewest codes", task_long_tokens},
    {"compress onpair 16, hot part", task_onpair16_hot},
    {"compress fsst12", task_fsst},
    {"compress auto", task_auto},
    {"compress stored", task_stored},
    {"compress, 3 threads", task_threads},
    {"compress, own dictionary", task_own_dictionary},
    {"writer", task_writer},
    {"writer that goes back", task_writer_goes_back},
    {"writer that carries on", task_writer_carries_on},
    {"train and export onpair", task_train_onpair},
    {"train and export fsst12", task_train_fsst},
    {"train and export auto", task_train_auto},
    {"train a first dictionary", task_train_first},
    {"import", task_import},
    {"open, validate, decode", task_decode},
    {"open, validate, decode, 3 threads", task_decode_threads},
    {"open file", task_open_file},
    {"reader", task_reader},
    {"reader, 4 threads", task_reader_threads},
};

static void prepare(uint64_t seed) {
    shape_make(&words, SHAPE_WORDS, seed, &(shape_options){.bytes = 9000});
    shape_make(&mixed, SHAPE_DRIFT, seed,
               &(shape_options){.bytes = 20000, .null_percent = 10, .bit_offset = 3});
    shape_make(&many_words, SHAPE_WORDS, seed, &(shape_options){.bytes = 310000});
    shape_make(&many_urls, SHAPE_URLS, seed, &(shape_options){.bytes = 310000});
    fastpair_compress_options o = {
        .struct_size = sizeof o, .codec = FASTPAIR_CODEC_ONPAIR, .chunk_bytes = 3000};
    o.metadata = &metadata, o.expert = EXPERT(.bound_bytes = 32);
    fastpair_error error;
    verify_ok(fastpair_compress(&mixed.rows, &o, &image, &image_size, &error), &error,
              "prepare image");
    fastpair_dictionary *dictionary = NULL;
    o.code_bits = 12;
    verify_ok(fastpair_dictionary_train(&mixed.rows, &o, &dictionary, &error), &error,
              "prepare dictionary");
    verify_ok(export_dictionary(dictionary, &exported, &exported_size, &error), &error,
              "prepare export");
    verify_ok(fastpair_dictionary_open(exported, exported_size, NULL, &imported, &error), &error,
              "prepare import");
    fastpair_dictionary_close(dictionary);
    FILE *file = fdopen(mkstemp(image_path), "wb");
    CHECK(file && fwrite(image, 1, image_size, file) == image_size && fclose(file) == 0);
}

/* Half a pair of hooks is refused before anything is allocated. */
static void half_hooks(void) {
    counting c;
    counting_start(&c);
    fastpair_compress_options o = compress_options(&c, FASTPAIR_CODEC_ONPAIR, 12);
    uint8_t *out = NULL;
    uint64_t size = 0;
    o.allocator.release = NULL;
    CHECK_EQ(fastpair_compress(&words.rows, &o, &out, &size, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    o.allocator = (fastpair_allocator){NULL, counting_release, &c};
    CHECK_EQ(fastpair_compress(&words.rows, &o, &out, &size, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(c.calls, 0);
}

int main(void) {
    uint64_t share = check_scaled(100), step = share >= 100 ? 1 : 100 / share;
    prepare(verify_seed());
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        fail_every_allocation(tasks[i].name, tasks[i].run, i, step);
    half_hooks();
    remove(image_path);
    fastpair_dictionary_close(imported);
    fastpair_free(NULL, image), free(exported);
    shape_free(&words), shape_free(&mixed), shape_free(&many_words), shape_free(&many_urls);
    return check_done();
}
