/* test_writer.c - the writer and the reader: any split of the same rows, failing sinks and sources,
 * framing, drift.
 *
 * A column appended in pieces of any size must decode to its rows, and must give the very bytes
 * that one append gives: what the writer makes depends on rows and options alone. */
#include "sink.h"

#include <errno.h>

static void splits(uint64_t seed, uint32_t times) {
    static const fastpair_codec codecs[] = {FASTPAIR_CODEC_ONPAIR, FASTPAIR_CODEC_FSST12,
                                            FASTPAIR_CODEC_STORED, FASTPAIR_CODEC_AUTO};
    for (uint32_t i = 0; i < times; i++) {
        uint64_t random = seed * 65537 + i;
        shape s;
        shape_make(&s, (shape_kind)(i % SHAPE_KINDS), seed + i,
                   &(shape_options){.bytes = 1 + check_random(&random) % 40000,
                                    .null_percent = i % 3 * 10,
                                    .bit_offset = i % 9,
                                    .first_offset = i % 5});
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = codecs[check_random(&random) % 4]};
        options.chunk_bytes = 1000 + check_random(&random) % 20000;
        options.expert = EXPERT(.sample_bytes = i % 2 ? 0 : 3000 + check_random(&random) % 5000);
        options.threads = (uint32_t)(check_random(&random) % 4);
        sink_state whole = {.fail_at = UINT64_MAX};
        fastpair_error error;
        if (verify_ok(write_column(&whole, &s, &options, 0, 0, &error), &error, s.name)) {
            verify_effort effort = {2, 3, 2, 0, random};
            verify_image(whole.out.data, whole.out.size, &s, &effort);
        }
        static const uint64_t most[] = {1, 3, 50, 700};
        for (int k = 0; k < 4; k++) {
            sink_state split = {.fail_at = UINT64_MAX};
            options.threads = (options.threads + 1) % 4;
            if (verify_ok(write_column(&split, &s, &options, most[k], random + (uint64_t)k, &error),
                          &error, s.name)) {
                int same = split.out.size == whole.out.size &&
                           !memcmp(split.out.data, whole.out.data, whole.out.size);
                CHECK(same);
                if (!same) {
                    fprintf(stderr, "  ^ appends of up to %llu rows, codec %d: %s\n",
                            (unsigned long long)most[k], (int)options.codec, s.name);
                    verify_effort effort = {1, 1, 1, 0, random};
                    verify_image(split.out.data, split.out.size, &s, &effort);
                }
            }
            free(split.out.data);
        }
        free(whole.out.data);
        shape_free(&s);
    }
}

/* Every write fails once: IO with the system's reason, and the writer closes. */
static void failing_sinks(uint64_t seed) {
    shape s;
    shape_make(&s, SHAPE_WORDS, seed, &(shape_options){.bytes = 20000, .null_percent = 5});
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12};
    options.chunk_bytes = 3000;
    for (uint64_t n = 0;; n++) {
        sink_state state = {.fail_at = n, .code = n % 2 ? ENOSPC : EIO};
        fastpair_error error = {.status = FASTPAIR_OK};
        options.threads = 1 + n % 3;
        fastpair_status status = write_column(&state, &s, &options, 30, n, &error);
        free(state.out.data);
        if (state.writes <= n) {
            CHECK_EQ(status, FASTPAIR_OK);
            CHECK(n > 3); /* header, blocks and footer are not one write */
            break;
        }
        CHECK_EQ(status, FASTPAIR_ERROR_IO);
        CHECK_EQ(error.status, FASTPAIR_ERROR_IO);
        CHECK(strstr(error.message, strerror(state.code)) != NULL);
        CHECK_EQ(state.writes, n + 1); /* nothing is written past a hole */
    }
    shape_free(&s);
}

/* ---------------------------------------------------------------- sources */

typedef struct source_state {
    verify_source from;
    uint64_t fail_at; /* the read that fails */
    uint64_t reads;
} source_state;

static int failing_read(void *context, void *data, size_t size, size_t *got) {
    source_state *state = context;
    if (state->reads++ == state->fail_at) return EIO;
    return verify_read(&state->from, data, size, got);
}

static void failing_sources(uint64_t seed) {
    shape s;
    shape_make(&s, SHAPE_URLS, seed, &(shape_options){.bytes = 20000});
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_FSST12, .chunk_bytes = 4000};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    if (!verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, s.name))
        return;
    for (uint64_t n = 0;; n++) {
        source_state state = {.from = {image, size, 0, 500}, .fail_at = n};
        fastpair_source source = {failing_read, &state};
        fastpair_reader *reader = NULL;
        fastpair_status status = reader_open_with(1 + n % 3, &source, NULL, &reader, &error);
        fastpair_rows rows = {.struct_size = sizeof rows};
        int at_end = 0;
        uint64_t seen = 0, wrong = 0;
        while (status == FASTPAIR_OK && !at_end) {
            status = fastpair_reader_next(reader, &rows, &at_end, &error);
            for (uint64_t i = 0; status == FASTPAIR_OK && i < rows.rows; i++, seen++)
                wrong += fp_row_start(&rows, i + 1) - fp_row_start(&rows, i) !=
                         s.out_offsets[seen + 1] - s.out_offsets[seen];
        }
        CHECK_EQ(wrong, 0);
        if (status != FASTPAIR_OK && reader)
            CHECK(fastpair_reader_next(reader, &rows, &at_end, NULL) != FASTPAIR_OK);
        fastpair_reader_close(reader);
        if (state.reads <= n) {
            CHECK_EQ(status, FASTPAIR_OK);
            CHECK_EQ(seen, s.rows.rows);
            break;
        }
        CHECK_EQ(status, FASTPAIR_ERROR_IO);
        CHECK(strstr(error.message, strerror(EIO)) != NULL);
    }
    /* One byte at a time, and odd pieces; then what is left out of the end must be missed. */
    for (uint64_t most = 1; most < 1000; most = most * 3 + 1)
        verify_reader(image, size, &s, most, 1 + most % 4);
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* A reader that reaches the end says so again, and a stream of nothing is not a column. */
static void ends(void) {
    shape s;
    shape_make(&s, SHAPE_NO_ROWS, 1, &(shape_options){0});
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    verify_ok(fastpair_compress(&s.rows, NULL, &image, &size, &error), &error, s.name);
    verify_source from = {image, size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    verify_ok(reader_open_with(0, &source, NULL, &reader, &error), &error, "open");
    for (int i = 0; i < 3; i++) {
        fastpair_rows rows = {.struct_size = sizeof rows, .rows = 9};
        int at_end = 0;
        verify_ok(fastpair_reader_next(reader, &rows, &at_end, &error), &error, "next");
        CHECK(at_end == 1 && rows.rows == 0);
    }
    fastpair_reader_close(reader);
    verify_source nothing = {image, 0, 0, 0};
    source.context = &nothing;
    reader = NULL;
    fastpair_status status = reader_open_with(1, &source, NULL, &reader, &error);
    fastpair_rows rows = {.struct_size = sizeof rows};
    int at_end = 0;
    if (status == FASTPAIR_OK) status = fastpair_reader_next(reader, &rows, &at_end, &error);
    CHECK_EQ(status, FASTPAIR_ERROR_CORRUPT);
    fastpair_reader_close(reader);
    fastpair_free(NULL, image);
    shape_free(&s);
}

/* ---------------------------------------------------------------- framing */

static void framing(void) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 4, &(shape_options){.bytes = 6000});
    for (int final = 0; final < 2; final++) {
        for (int changed = 0; changed < 2; changed++) {
            sink_state state = {.fail_at = UINT64_MAX};
            fastpair_sink sink = {sink_write, &state};
            fastpair_writer *writer = NULL;
            fastpair_error error;
            verify_ok(fastpair_writer_open(&sink, NULL, &writer, &error), &error, "open");
            verify_ok(fastpair_writer_set_framing(writer, '\t', changed ? !final : final, &error),
                      &error, "framing");
            verify_ok(fastpair_writer_append(writer, &s.rows, &error), &error, "append");
            CHECK_EQ(fastpair_writer_set_framing(writer, '\n', final, &error),
                     FASTPAIR_ERROR_INVALID_ARGUMENT);
            if (changed)
                verify_ok(fastpair_writer_set_framing(writer, '\t', final, &error), &error,
                          "framing again");
            verify_ok(fastpair_writer_finish(writer, &error), &error, "finish");
            fastpair_writer_close(writer);
            verify_effort effort = {1, 1, 1, 0, 1};
            verify_image(state.out.data, state.out.size, &s, &effort);
            verify_source from = {state.out.data, state.out.size, 0, 0};
            fastpair_source source = {verify_read, &from};
            fastpair_reader *reader = NULL;
            verify_ok(reader_open_with(1, &source, NULL, &reader, &error), &error, "reader");
            int has = 0, final_seen = -1, at_end = 0;
            uint8_t separator = 0;
            verify_ok(fastpair_reader_get_framing(reader, &has, &separator, &final_seen, &error),
                      &error, "get_framing");
            CHECK(has == 1 && separator == '\t' && final_seen == 1);
            fastpair_rows rows = {.struct_size = sizeof rows};
            while (!at_end && verify_ok(fastpair_reader_next(reader, &rows, &at_end, &error),
                                        &error, "next")) {}
            verify_ok(fastpair_reader_get_framing(reader, &has, &separator, &final_seen, &error),
                      &error, "get_framing");
            CHECK(has == 1 && separator == '\t' && final_seen == final);
            fastpair_reader_close(reader);
            free(state.out.data);
        }
    }
    /* Too late after the first rows. */
    sink_state state = {.fail_at = UINT64_MAX};
    fastpair_sink sink = {sink_write, &state};
    fastpair_writer *writer = NULL;
    CHECK_EQ(fastpair_writer_open(&sink, NULL, &writer, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_append(writer, &s.rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_set_framing(writer, '\n', 1, NULL), FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_writer_close(writer);
    free(state.out.data);
    shape_free(&s);
}

/* ---------------------------------------------------------------- drift */

/* Different columns one after the other: the writer must notice and train again, and the file must
 * be smaller for it. */
static void drift(uint64_t seed) {
    static const shape_kind kinds[] = {SHAPE_WORDS, SHAPE_URLS, SHAPE_UTF8, SHAPE_CLERKS};
    for (uint32_t bits = 12; bits <= 16; bits += 4) {
        fastpair_compress_options options = {
            .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = bits};
        options.chunk_bytes = 1u << 20, options.expert = EXPERT(.sample_bytes = 2u << 20);
        sink_state adapted = {.fail_at = UINT64_MAX}, fixed = {.fail_at = UINT64_MAX};
        fastpair_sink sinks[2] = {{sink_write, &adapted}, {sink_write, &fixed}};
        fastpair_writer *writers[2] = {NULL, NULL};
        fastpair_error error;
        shape parts[4];
        for (int i = 0; i < 4; i++)
            shape_make(&parts[i], kinds[i], seed, &(shape_options){.bytes = 4u << 20});
        fastpair_dictionary *first = NULL;
        verify_ok(fastpair_dictionary_train(&parts[0].rows, &options, &first, &error), &error,
                  "train");
        verify_ok(fastpair_writer_open(&sinks[0], &options, &writers[0], &error), &error, "open");
        fastpair_compress_options given = {
            .struct_size = sizeof given, .chunk_bytes = 1u << 20, .dictionary = first};
        verify_ok(fastpair_writer_open(&sinks[1], &given, &writers[1], &error), &error, "open");
        for (int w = 0; w < 2; w++) {
            for (int i = 0; i < 4; i++)
                verify_ok(fastpair_writer_append(writers[w], &parts[i].rows, &error), &error,
                          "append");
            verify_ok(fastpair_writer_finish(writers[w], &error), &error, "finish");
            fastpair_writer_close(writers[w]);
        }
        fastpair_column *column = NULL;
        fastpair_column_info info = {.struct_size = sizeof info};
        verify_ok(fastpair_column_open(adapted.out.data, adapted.out.size, NULL, &column, &error),
                  &error, "open");
        verify_ok(fastpair_column_get_info(column, &info, &error), &error, "info");
        verify_ok(validate_with(1, column, &error), &error, "validate");
        CHECK(info.dictionaries >= 2);
        CHECK(adapted.out.size < fixed.out.size);
        printf("drift, %u bits: %llu dictionaries, %llu bytes, with the first alone %llu\n", bits,
               (unsigned long long)info.dictionaries, (unsigned long long)adapted.out.size,
               (unsigned long long)fixed.out.size);
        uint64_t base = 0;
        for (int i = 0; i < 4; i++) { /* each part comes back from where it lies */
            guard bytes = guard_make(parts[i].out_size);
            fastpair_destination to = to_memory(bytes.data, bytes.size, NULL, 0, NULL);
            verify_ok(decode_with(2, column, base, parts[i].rows.rows, &to, &error), &error,
                      "decode");
            CHECK(!memcmp(bytes.data, parts[i].out_bytes, bytes.size));
            base += parts[i].rows.rows;
            CHECK(guard_free(&bytes));
        }
        CHECK_EQ(base, info.rows);
        fastpair_column_close(column);
        fastpair_dictionary_close(first);
        for (int i = 0; i < 4; i++) shape_free(&parts[i]);
        free(adapted.out.data), free(fixed.out.data);
    }
}

/* A column that does not drift keeps its one dictionary. */
static void no_drift(uint64_t seed) {
    shape s;
    shape_make(&s, SHAPE_LOG_LINES, seed, &(shape_options){.bytes = 6u << 20});
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12};
    options.chunk_bytes = 500000, options.expert = EXPERT(.sample_bytes = 1u << 20);
    sink_state state = {.fail_at = UINT64_MAX};
    fastpair_error error;
    verify_ok(write_column(&state, &s, &options, 5000, seed, &error), &error, s.name);
    CHECK(forge_block(state.out.data, state.out.size, "FPDI", 0) != 0);
    CHECK_EQ(forge_block(state.out.data, state.out.size, "FPDI", 1), 0);
    free(state.out.data);
    shape_free(&s);
}

/* Rows that do not compress, then rows that do: the writer must find out, although the first model
 * was of no use. */
static void drift_from_noise(uint64_t seed) {
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .expert = EXPERT(.sample_bytes = 2u << 20),
                                         .chunk_bytes = 1u << 19};
    sink_state state = {.fail_at = UINT64_MAX};
    fastpair_sink sink = {sink_write, &state};
    fastpair_writer *writer = NULL;
    fastpair_error error;
    shape noise, text;
    shape_make(&noise, SHAPE_RANDOM_BYTES, seed, &(shape_options){.bytes = 6u << 20});
    shape_make(&text, SHAPE_LOG_LINES, seed, &(shape_options){.bytes = 16u << 20});
    verify_ok(fastpair_writer_open(&sink, &options, &writer, &error), &error, "open");
    verify_ok(fastpair_writer_append(writer, &noise.rows, &error), &error, "append");
    verify_ok(fastpair_writer_append(writer, &text.rows, &error), &error, "append");
    verify_ok(fastpair_writer_finish(writer, &error), &error, "finish");
    fastpair_writer_close(writer);
    printf("noise %llu, text %llu, file %llu\n", (unsigned long long)noise.out_size,
           (unsigned long long)text.out_size, (unsigned long long)state.out.size);
    CHECK(state.out.size < noise.out_size + text.out_size / 2);
    shape_free(&noise);
    shape_free(&text);
    free(state.out.data);
}

int main(void) {
    uint64_t seed = verify_seed();
    splits(seed, check_scaled(60));
    failing_sinks(seed);
    failing_sources(seed);
    ends();
    framing();
    drift(seed);
    drift_from_noise(seed);
    no_drift(seed);
    return check_done();
}
