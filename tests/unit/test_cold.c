/* test_cold.c - cold files: what is written cold, or made cold, decodes in every way to the same rows;
 * what was warm, cold and is warm again is byte for byte the same. Without zstd all of it is refused
 * by name. */
#include "convert.h"
#include "counting.h"
#include "frames.h"
#include "sink.h"

static uint64_t cold_chunks, stored_cold, cold_dictionaries; /* seen by all tests together */

static void count_blocks(const forge_bytes *image) {
    uint64_t at;
    for (uint64_t n = 0; (at = forge_block(image->data, image->size, "FPDI", n)); n++)
        cold_dictionaries += image->data[at + 21];
    for (uint64_t n = 0; (at = forge_block(image->data, image->size, "FPCH", n)); n++) {
        cold_chunks += image->data[at + 16] == 3;
        stored_cold += image->data[at + 16] == 2;
    }
}

/* verify_image, but for the number of tokens in use: a forged footer says what it likes, and where a
 * chunk that was to be coded is stored in the end, its tokens have been counted. */
static void verify_rows_of(const forge_bytes *image, const shape *s, verify_effort *effort) {
    oracle_column oracle;
    fastpair_column *column = NULL;
    int good = oracle_decode(image->data, image->size, &oracle);
    CHECK(good && oracle.rows == s->rows.rows && oracle.nulls == s->nulls);
    if (!good) fprintf(stderr, "  ^ the oracle says: %s\n", oracle.why);
    CHECK(good && !oracle.gaps_not_zero && !oracle.padding_not_zero && !oracle.rows_cut_tokens);
    CHECK(good && !memcmp(oracle.bytes, s->out_bytes, s->out_size));
    CHECK_EQ(fastpair_column_open(image->data, image->size, NULL, &column, NULL), FASTPAIR_OK);
    verify_column(column, s, effort);
    fastpair_column_close(column);
    verify_reader(image->data, image->size, s, 1000, 2);
    oracle_free(&oracle);
}

/* Cold and warm again. `is_ours`: the library wrote it, so that it comes back as it was. */
static void there_and_back(const uint8_t *image, uint64_t size, const shape *s, int is_ours,
                           verify_effort *effort) {
    unsigned long long before = check_failed;
    forge_bytes cold = convert_image(image, size, 1, 1);
    if (is_ours)
        verify_image(cold.data, cold.size, s, effort);
    else
        verify_rows_of(&cold, s, effort);
    count_blocks(&cold);
    CHECK(cold.size <= size);
    forge_bytes warm = convert_image(cold.data, cold.size, 0, 1);
    CHECK_EQ(count_cold(warm.data, warm.size), 0);
    CHECK_EQ(warm.data[20], 0);
    if (is_ours)
        CHECK(same_bytes(&warm, image, size));
    else
        verify_rows_of(&warm, s, effort);
    forge_bytes again = convert_image(cold.data, cold.size, 1, 1); /* what is cold stays as it is */
    CHECK(same_bytes(&again, cold.data, cold.size));
    forge_bytes other = convert_image(image, size, 0, 1);
    if (is_ours) CHECK(same_bytes(&other, image, size));
    /* The same bytes whatever the threads. */
    for (uint32_t threads = 2; threads <= 8; threads *= 4) {
        forge_bytes one = convert_image(image, size, 1, threads),
                    two = convert_image(cold.data, cold.size, 0, threads);
        CHECK(same_bytes(&one, cold.data, cold.size));
        CHECK(same_bytes(&two, warm.data, warm.size));
        free(one.data), free(two.data);
    }
    free(cold.data), free(warm.data), free(again.data), free(other.data);
    verify_note(before, s->name, "there and back");
}

/* Written cold at once, with any number of threads. */
static void written_cold(const shape *s, fastpair_compress_options options, verify_effort *effort) {
    options.cold = 1;
    uint8_t *image = NULL, *other = NULL;
    uint64_t size = 0, other_size = 0;
    fastpair_error error;
    if (!verify_ok(fastpair_compress(&s->rows, &options, &image, &size, &error), &error, s->name))
        return;
    verify_image(image, size, s, effort);
    forge_bytes warm = convert_image(image, size, 0, 1);
    count_blocks(&(forge_bytes){image, size});
    verify_rows_of(&warm, s, effort);
    options.threads = 4;
    CHECK_EQ(fastpair_compress(&s->rows, &options, &other, &other_size, &error), FASTPAIR_OK);
    CHECK(other_size == size && !memcmp(other, image, size));
    free(warm.data);
    fastpair_free(NULL, image), fastpair_free(NULL, other);
}

static void every_shape(uint64_t seed, uint64_t *random) {
    static const uint32_t bits[] = {0, 9, 12, 16, 14}, longest[] = {0, 16, 8, 32, 64};
    for (int kind = 0; kind < SHAPE_KINDS; kind++)
        for (uint32_t nulls = 0; nulls <= 100; nulls += 50) {
            uint32_t draw = (uint32_t)check_random(random);
            shape s;
            shape_make(&s, (shape_kind)kind, seed,
                       &(shape_options){.bytes = 3000 + draw % 9000, .null_percent = nulls});
            fastpair_compress_options o = {.struct_size = sizeof o};
            o.codec = draw >> 8 & 1   ? FASTPAIR_CODEC_AUTO
                      : draw >> 9 & 3 ? FASTPAIR_CODEC_ONPAIR
                                      : FASTPAIR_CODEC_FSST12;
            if (o.codec == FASTPAIR_CODEC_ONPAIR)
                o.code_bits = bits[kind % 5], o.max_token = longest[(draw >> 12) % 5];
            o.chunk_bytes = draw >> 16 & 1 ? 1500 : 0;
            o.level = (draw >> 17) % 10;
            o.expert = EXPERT(.section_alignment = draw >> 24 & 3 ? 64 : 4096);
            verify_effort effort = {4, 6, 3, 1, draw};
            uint8_t *image = NULL;
            uint64_t size = 0;
            fastpair_error error;
            if (verify_ok(fastpair_compress(&s.rows, &o, &image, &size, &error), &error, s.name))
                there_and_back(image, size, &s, 1, &effort);
            written_cold(&s, o, &effort);
            fastpair_free(NULL, image);
            shape_free(&s);
        }
}

/* Dictionaries that no training makes: all widths, all lengths, hot parts, no order. */
static void every_dictionary(uint64_t *random) {
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (uint32_t longest = 8; longest <= 64; longest *= 2) {
            forge_class_shape like = {.bits = bits,
                                      .longest = longest,
                                      .hot = bits >= 9 && longest == 16,
                                      .mixed = bits % 2,
                                      .chunks = 3,
                                      .codes = 2000,
                                      .batch = longest == 64 ? 128 : 256,
                                      .seed = bits};
            forge_bytes image = bits == 2 && longest == 8 ? forge_plain_column(random)
                                                          : forge_class_column(&like, random);
            oracle_column oracle;
            shape s;
            CHECK(oracle_decode(image.data, image.size, &oracle));
            char name[64];
            snprintf(name, sizeof name, "forged, %u bits, tokens of %u", bits, longest);
            shape_from_rows(&s, name, oracle.bytes, oracle.offsets, oracle.valid, oracle.rows);
            verify_effort effort = {3, 4, 2, 1, bits};
            there_and_back(image.data, image.size, &s, 0, &effort);
            shape_free(&s), oracle_free(&oracle), free(image.data);
        }
}

/* Framing and what the file says of its column go with it. */
static void kept_with_the_column(void) {
    shape s;
    shape_make(&s, SHAPE_UTF8, 3, &(shape_options){.bytes = 20000, .null_percent = 5});
    const fastpair_pair pairs[] = {{"unit", (const uint8_t *)"EUR", 3}, {"a", NULL, 0}};
    fastpair_metadata said = {.struct_size = sizeof said, .name = "Größe"};
    said.pairs = pairs, said.pair_count = 2;
    fastpair_compress_options o = {.struct_size = sizeof o, .metadata = &said};
    o.chunk_bytes = 3000;
    sink_state state = {.fail_at = UINT64_MAX};
    fastpair_sink sink = {sink_write, &state};
    fastpair_writer *writer = NULL;
    CHECK_EQ(fastpair_writer_open(&sink, &o, &writer, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_set_framing(writer, ';', 1, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_append(writer, &s.rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_finish(writer, NULL), FASTPAIR_OK);
    fastpair_writer_close(writer);
    verify_effort effort = {4, 6, 3, 0, 5};
    there_and_back(state.out.data, state.out.size, &s, 1, &effort);
    forge_bytes cold = convert_image(state.out.data, state.out.size, 1, 2);
    fastpair_column *column = NULL;
    fastpair_metadata metadata = {.struct_size = sizeof metadata};
    CHECK_EQ(fastpair_column_open(cold.data, cold.size, NULL, &column, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_get_metadata(column, &metadata, NULL), FASTPAIR_OK);
    CHECK(metadata.name && !strcmp(metadata.name, said.name) && metadata.pair_count == 2);
    fastpair_column_close(column);
    free(cold.data), free(state.out.data);
    shape_free(&s);
}

/* ---------------------------------------------------------------- failures */

typedef struct cancellation {
    uint64_t calls, at, last;
} cancellation;

static int count_progress(void *context, uint64_t done, uint64_t total) {
    cancellation *c = context;
    CHECK(done >= c->last && done <= total);
    c->last = done;
    return c->calls++ == c->at;
}

static void failures(void) {
    shape s;
    shape_make(&s, SHAPE_LOG_LINES, 3, &(shape_options){.bytes = 40000});
    fastpair_compress_options o = {.struct_size = sizeof o, .chunk_bytes = 4000};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    CHECK_EQ(fastpair_compress(&s.rows, &o, &image, &size, &error), FASTPAIR_OK);
    fastpair_column *column = NULL;
    fastpair_open_options open = {.struct_size = sizeof open, .threads = 2};
    CHECK_EQ(fastpair_column_open(image, size, &open, &column, &error), FASTPAIR_OK);
    fastpair_convert_options to_cold = {.struct_size = sizeof to_cold, .cold = 1};
    for (uint64_t fail_at = 0, done = 0; !done; fail_at++) { /* every write fails in turn */
        sink_state state = {.fail_at = fail_at, .code = 28};
        fastpair_sink sink = {sink_write, &state};
        fastpair_status status = fastpair_column_convert(column, &to_cold, &sink, &error);
        done = state.writes <= fail_at;
        CHECK_EQ(status, done ? FASTPAIR_OK : FASTPAIR_ERROR_IO);
        if (!done) CHECK_EQ(error.status, FASTPAIR_ERROR_IO);
        free(state.out.data);
    }
    for (uint64_t at = 0;; at++) { /* every report cancels in turn */
        cancellation stop = {.at = at};
        sink_state state = {.fail_at = UINT64_MAX};
        fastpair_sink sink = {sink_write, &state};
        to_cold.progress = count_progress, to_cold.progress_context = &stop;
        fastpair_status status = fastpair_column_convert(column, &to_cold, &sink, &error);
        CHECK_EQ(status, stop.calls <= at ? FASTPAIR_OK : FASTPAIR_ERROR_CANCELLED);
        free(state.out.data);
        if (!status) CHECK(at > 2 && stop.last == s.out_size);
        if (!status) break;
    }
    to_cold.progress = NULL;
    fastpair_sink sink = {sink_write, &(sink_state){.fail_at = UINT64_MAX}};
    const fastpair_convert_options bad[] = {{.struct_size = sizeof bad[0], .cold = 2},
                                            {.struct_size = sizeof bad[0], .cold = -1},
                                            {.struct_size = sizeof bad[0], .level = 10},
                                            {.struct_size = 3}};
    for (int i = 0; i < 4; i++)
        CHECK_EQ(fastpair_column_convert(column, &bad[i], &sink, &error),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_convert(NULL, &to_cold, &sink, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_column_convert(column, &to_cold, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_column_close(column);
    /* Damage that decoding would not notice: the old file is not to be trusted. */
    forge_bytes cold = convert_image(image, size, 1, 1);
    for (int k = 0; k < 2; k++) {
        uint8_t *data = k ? cold.data : image;
        uint64_t bytes = k ? cold.size : size, chunk = forge_block(data, bytes, "FPCH", 2);
        data[chunk + forge_get(data + chunk + 208, 8) + 20] ^= 4;
        for (int to = 0; to < 2; to++) {
            fastpair_convert_options options = {.struct_size = sizeof options, .cold = to};
            forge_bytes none = convert_with(data, bytes, NULL, &options, &error);
            CHECK_EQ(none.size, 0);
            CHECK_EQ(error.status, FASTPAIR_ERROR_CORRUPT);
        }
    }
    free(cold.data);
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* ---------------------------------------------------------------- memory of the reader */

/* A cold column is read within any limit, or refused by name; the rows are the same. */
static void little_memory(void) {
    shape s;
    shape_make(&s, SHAPE_CLERKS, 8, &(shape_options){.bytes = 3000000, .null_percent = 2});
    fastpair_compress_options o = {.struct_size = sizeof o, .cold = 1, .chunk_bytes = 700000};
    uint8_t *image = NULL;
    uint64_t size = 0, read = 0, refused = 0;
    fastpair_error error;
    CHECK_EQ(fastpair_compress(&s.rows, &o, &image, &size, &error), FASTPAIR_OK);
    CHECK(count_cold(image, size) > 2);
    for (uint64_t limit = 1u << 17; limit < 64u << 20; limit += limit / 3)
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            counting memory;
            counting_start(&memory);
            fastpair_open_options open = {.struct_size = sizeof open,
                                          .allocator = counting_hooks(&memory),
                                          .memory_limit = limit};
            verify_source from = {image, size, 0, 5000};
            fastpair_source source = {verify_read, &from};
            fastpair_reader *reader = NULL;
            fastpair_status status = reader_open_with(threads, &source, &open, &reader, &error);
            uint64_t row = 0, wrong = 0;
            for (int at_end = 0; !status && !at_end;) {
                fastpair_rows rows = {.struct_size = sizeof rows};
                status = fastpair_reader_next(reader, &rows, &at_end, &error);
                for (uint64_t i = 0; !status && i < rows.rows; i++, row++) {
                    uint64_t start = fp_row_start(&rows, i);
                    uint64_t length = fp_row_start(&rows, i + 1) - start;
                    wrong += length != s.out_offsets[row + 1] - s.out_offsets[row] ||
                             memcmp(rows.bytes + start, s.out_bytes + s.out_offsets[row], length);
                }
            }
            CHECK(status == FASTPAIR_OK || status == FASTPAIR_ERROR_LIMIT);
            if (!status) CHECK_EQ(row, s.rows.rows);
            CHECK_EQ(wrong, 0);
            CHECK(memory.peak_bytes <= limit);
            read += !status, refused += status != 0;
            fastpair_reader_close(reader);
            CHECK_EQ(memory.live, 0);
        }
    CHECK(read > 4 && refused > 0);
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* ---------------------------------------------------------------- builds without zstd */

static void refused_by_name(void) {
    static const uint8_t bytes[] = "abc";
    static const uint64_t offsets[] = {0, 3};
    fastpair_rows rows = view_rows(1, bytes, offsets);
    fastpair_compress_options o = {.struct_size = sizeof o, .cold = 1};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error = {.message = ""};
    CHECK_EQ(fastpair_compress(&rows, &o, &image, &size, &error), FASTPAIR_ERROR_UNSUPPORTED);
    CHECK(strstr(error.message, "zstd") != NULL);
    fastpair_sink sink = {sink_write, &(sink_state){.fail_at = UINT64_MAX}};
    fastpair_writer *writer = NULL;
    CHECK_EQ(fastpair_writer_open(&sink, &o, &writer, &error), FASTPAIR_ERROR_UNSUPPORTED);
    o.cold = 0;
    CHECK_EQ(fastpair_compress(&rows, &o, &image, &size, &error), FASTPAIR_OK);
    fastpair_convert_options to_cold = {.struct_size = sizeof to_cold, .cold = 1};
    forge_bytes none = convert_with(image, size, NULL, &to_cold, &error);
    CHECK(!none.size && error.status == FASTPAIR_ERROR_UNSUPPORTED);
    forge_bytes warm = convert_image(image, size, 0, 1);
    CHECK(same_bytes(&warm, image, size));
    image[20] = 1; /* a file that may have cold blocks */
    forge_reseal(image, size);
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(image, size, NULL, &column, &error), FASTPAIR_ERROR_UNSUPPORTED);
    CHECK_EQ(error.position, 20);
    verify_source from = {image, size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    CHECK_EQ(fastpair_reader_open(&source, NULL, &reader, &error), FASTPAIR_ERROR_UNSUPPORTED);
    free(warm.data);
    fastpair_free(NULL, image);
}

int main(void) {
    uint64_t seed = verify_seed(), random = seed;
    if (!frames_available()) {
        refused_by_name();
        return check_done();
    }
    every_shape(seed, &random);
    every_dictionary(&random);
    kept_with_the_column();
    failures();
    little_memory();
    printf("%llu coded and cold chunks, %llu stored and cold, %llu cold dictionaries\n",
           (unsigned long long)cold_chunks, (unsigned long long)stored_cold,
           (unsigned long long)cold_dictionaries);
    CHECK(cold_chunks > 50 && stored_cold > 5 && cold_dictionaries > 20);
    return check_done();
}
