/* test_arrow_import.c - Arrow arrays and streams into columns: every layout that is taken, sliced, with
 * nulls anywhere, as such, encoded by a dictionary and in a struct, gives its rows; what the library
 * exports comes back with its name and type; what is released is released once. Lies and what cannot
 * be taken are in test_arrow_lies.c. */
#include "arrow_make.h"
#include "forge.h"

#include <errno.h>

/* Compresses a shape, exports it, compresses that, and compares the rows. */
static void round_trips(uint64_t *random) {
    for (int kind = 0; kind < SHAPE_KINDS; kind++)
        for (int layout = 1; layout < 4; layout++) {
            if (check_scale() < 1 && layout != 1 + kind % 3) continue;
            shape s;
            fastpair_error error;
            shape_make(&s, (shape_kind)kind, check_random(random),
                       &(shape_options){.bytes = 9000, .null_percent = kind % 2 ? 0 : 15});
            fastpair_metadata metadata = {
                .struct_size = sizeof metadata, .type = FASTPAIR_TYPE_DETECT, .name = "a name"};
            fastpair_compress_options compress = {
                .struct_size = sizeof compress, .chunk_bytes = 3000, .metadata = &metadata};
            uint8_t *image = NULL;
            uint64_t size = 0;
            verify_ok(fastpair_compress(&s.rows, &compress, &image, &size, &error), &error, s.name);
            fastpair_column *column = NULL;
            verify_ok(fastpair_column_open(image, size, NULL, &column, &error), &error, s.name);
            fastpair_type type = ((const fastpair_column *)column)->totals.is_text
                                     ? FASTPAIR_TYPE_TEXT
                                     : FASTPAIR_TYPE_BYTES;
            fastpair_arrow_options options = {.struct_size = sizeof options,
                                              .layout = (fastpair_arrow_layout)layout,
                                              .as_struct = kind % 2};
            struct ArrowArrayStream stream;
            forge_bytes again = {0};
            fastpair_sink sink = {forge_write, &again};
            verify_ok(
                fastpair_column_export_stream(column, 0, s.rows.rows, &options, &stream, &error),
                &error, s.name);
            fastpair_column_close(column); /* the stream has a reference of its own */
            verify_ok(fastpair_compress_arrow(&stream, layout == 1 ? "a name" : NULL, NULL, &sink,
                                              &error),
                      &error, s.name);
            CHECK(stream.release == NULL);
            verify_ok(fastpair_column_open(again.data, again.size, NULL, &column, &error), &error,
                      s.name);
            fastpair_metadata got = {.struct_size = sizeof got};
            verify_ok(fastpair_column_get_metadata(column, &got, &error), &error, s.name);
            CHECK(got.name && !strcmp(got.name, "a name"));
            CHECK_EQ(got.type, type);
            verify_decode(column, &s, NULL, 0, s.rows.rows, 64, 1, 1);
            fastpair_column_close(column);
            fastpair_free(NULL, image);
            free(again.data);
            shape_free(&s);
        }
}

/* ---------------------------------------------------------------- arrays that were made */

/* Rows of a shape as they must come back. */
static arrow_row *rows_of(const shape *s) {
    arrow_row *rows = arrow_room(s->rows.rows * sizeof *rows);
    for (uint64_t i = 0; i < s->rows.rows; i++)
        rows[i] = (arrow_row){s->out_bytes + s->out_offsets[i],
                              s->out_offsets[i + 1] - s->out_offsets[i], !verify_valid(s, i)};
    return rows;
}

static void shape_of(shape *s, const char *name, const arrow_row *rows, uint64_t count) {
    uint64_t *offsets = arrow_room((count + 1) * 8), size = 0;
    uint8_t *valid = arrow_room(count);
    for (uint64_t i = 0; i < count; i++) size += rows[i].is_null ? 0 : rows[i].size;
    uint8_t *bytes = arrow_room(size);
    offsets[0] = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length = rows[i].is_null ? 0 : rows[i].size;
        if (length) memcpy(bytes + offsets[i], rows[i].bytes, length);
        offsets[i + 1] = offsets[i] + length;
        valid[i] = !rows[i].is_null;
    }
    shape_from_rows(s, name, bytes, offsets, valid, count);
    free(bytes), free(offsets), free(valid);
}

/* Appends an array and compares the column with the rows. */
static void check_import(const arrow_made *made, const char *field, const arrow_row *rows,
                         uint64_t count, const char *name) {
    fastpair_error error;
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 9, .level = 1};
    fastpair_writer *writer = NULL;
    fastpair_column *column = NULL;
    shape s;
    shape_of(&s, name, rows, count);
    unsigned long long failed = check_failed;
    if (verify_ok(fastpair_writer_open(&sink, &options, &writer, &error), &error, name) &&
        verify_ok(fastpair_writer_append_arrow(writer, &made->schema, &made->array, field, &error),
                  &error, name) &&
        verify_ok(fastpair_writer_finish(writer, &error), &error, name) &&
        verify_ok(fastpair_column_open(image.data, image.size, NULL, &column, &error), &error,
                  name))
        verify_decode(column, &s, NULL, 0, count, 64, 1, 1);
    CHECK_EQ(made->array_releases + made->schema_releases, 0); /* both are borrowed */
    verify_note(failed, name, made->schema.format);
    fastpair_column_close(column);
    fastpair_writer_close(writer);
    shape_free(&s);
    free(image.data);
}

static const char *const formats[] = {"u", "z", "U", "Z", "vu", "vz"};

static arrow_place random_place(uint64_t *random) {
    return (arrow_place){check_random(random) % 20, check_random(random) % 10,
                         check_random(random) % 2 != 0};
}

static void plain_arrays(uint64_t *random) {
    for (uint32_t i = 0; i < 6 * SHAPE_KINDS; i++) {
        if (check_scale() < 1 && i % 6 != i / 6 % 6) continue; /* every shape once */
        shape s;
        arrow_made made;
        arrow_place place = random_place(random);
        shape_make(&s, (shape_kind)(i / 6), check_random(random),
                   &(shape_options){.bytes = 6000, .null_percent = i % 5 * 25});
        arrow_row *rows = rows_of(&s);
        arrow_make(&made, formats[i % 6], rows, s.rows.rows, &place, random);
        check_import(&made, i % 2 ? "made" : NULL, rows, s.rows.rows, s.name);
        arrow_made_free(&made);
        free(rows);
        shape_free(&s);
    }
}

/* Values of any layout, indices of every width; nulls among indices, among values, and both. */
static void dictionaries(uint64_t *random) {
    static const char *const index_formats[] = {"c", "s", "i", "l", "C", "S", "I", "L"};
    enum { ROWS = 700 };
    for (uint32_t i = 0; i < 48; i++) {
        shape s;
        arrow_made values, made;
        arrow_place value_place = random_place(random), place = random_place(random);
        shape_make(&s, i % 3 ? SHAPE_WORDS : SHAPE_UTF8, check_random(random),
                   &(shape_options){.bytes = 2000, .null_percent = i % 2 * 20});
        uint64_t value_count = s.rows.rows < 100 ? s.rows.rows : 100, indices[ROWS];
        arrow_row *value_rows = rows_of(&s), nulls[ROWS], expected[ROWS];
        for (uint64_t k = 0; k < ROWS; k++) {
            indices[k] = check_random(random) % value_count;
            nulls[k] = (arrow_row){.is_null = i % 4 > 1 && check_random(random) % 5 == 0};
            expected[k] = nulls[k].is_null ? nulls[k] : value_rows[indices[k]];
        }
        arrow_make(&values, formats[i % 6], value_rows, value_count, &value_place, random);
        arrow_make_dictionary(&made, index_formats[i % 8], &values, indices, nulls, ROWS, &place,
                              random);
        check_import(&made, NULL, expected, ROWS, s.name);
        arrow_made_free(&made);
        arrow_made_free(&values);
        free(value_rows);
        shape_free(&s);
    }
}

/* Fields of sliced structs whose rows may be null; also dictionaries and nulls. */
static void structs(uint64_t *random) {
    enum { ROWS = 300 };
    for (uint32_t i = 0; i < 40; i++) {
        shape s;
        shape_make(&s, SHAPE_WORDS, check_random(random),
                   &(shape_options){.bytes = 30000, .null_percent = i % 3 * 30});
        arrow_row *rows = rows_of(&s), nulls[ROWS], expected[ROWS];
        arrow_place outer_place = random_place(random), place = random_place(random);
        arrow_made made, field, other;
        uint64_t before = outer_place.before;
        if (s.rows.rows < before + ROWS) abort();
        for (uint64_t k = 0; k < ROWS; k++) {
            nulls[k] = (arrow_row){.is_null = i % 2 && check_random(random) % 4 == 0};
            expected[k] = nulls[k].is_null ? nulls[k] : rows[before + k];
        }
        /* Row k of the struct is row before + k of its fields. */
        arrow_make(&field, formats[i % 6], rows, before + ROWS, &place, random);
        arrow_make(&other, formats[(i + 1) % 6], rows, before + ROWS, &place, random);
        other.schema.name = "other";
        arrow_make_struct(&made, &field, &other, nulls, ROWS, &outer_place, random);
        check_import(&made, "made", expected, ROWS, s.name);
        made.schema.n_children = made.array.n_children = 1;
        check_import(&made, NULL, expected, ROWS, s.name);
        arrow_made_free(&made), arrow_made_free(&field), arrow_made_free(&other);
        free(rows);
        shape_free(&s);
    }
}

/* The null type has no buffers; more rows than are gathered at once. */
static void nulls_and_pieces(uint64_t *random) {
    enum { ROWS = 150000 };
    arrow_row *rows = calloc(ROWS, sizeof *rows);
    arrow_made made;
    arrow_place place = {3, 0, 0};
    for (uint64_t i = 0; i < ROWS; i++) rows[i].is_null = 1;
    arrow_begin(&made, "n", ROWS, &place);
    check_import(&made, NULL, rows, ROWS, "null type");
    for (uint64_t i = 0; i < ROWS; i++)
        rows[i] = (arrow_row){(const uint8_t *)"a row of some bytes" + i % 9, i % 10 ? 10 : 1000,
                              i % 17 == 0};
    uint8_t *longer = arrow_room(1000);
    memset(longer, 'x', 1000);
    for (uint64_t i = 0; i < ROWS; i += 10) rows[i].bytes = longer;
    arrow_make(&made, "vu", rows, ROWS, &place, random);
    check_import(&made, NULL, rows, ROWS, "pieces");
    arrow_made_free(&made);
    free(longer);
    free(rows);
}

/* ---------------------------------------------------------------- streams */

/* Gives the same array a number of times, then fails or ends. */
typedef struct made_stream {
    arrow_made *made;
    int left, code, schema_code, releases;
    const char *message;
} made_stream;

static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
    made_stream *state = stream->private_data;
    if (state->schema_code) return state->schema_code;
    *schema = state->made->schema;
    return 0;
}

static int give_next(struct ArrowArrayStream *stream, struct ArrowArray *array) {
    made_stream *state = stream->private_data;
    *array = (struct ArrowArray){0};
    if (!state->left) return state->code;
    state->left--;
    *array = state->made->array;
    return 0;
}

static const char *give_error(struct ArrowArrayStream *stream) {
    return ((made_stream *)stream->private_data)->message;
}

static void end_stream(struct ArrowArrayStream *stream) {
    ((made_stream *)stream->private_data)->releases++;
    stream->release = NULL;
}

static void streams(uint64_t *random) {
    static const arrow_row rows[] = {
        {(const uint8_t *)"one", 3, 0}, {NULL, 0, 1}, {(const uint8_t *)"and a longer row", 16, 0}};
    arrow_place place = {2, 1, 0};
    for (int i = 0; i < 6; i++) {
        arrow_made made;
        arrow_make(&made, formats[i], rows, 3, &place, random);
        made_stream state = {.made = &made, .left = 4};
        if (i % 3 == 1) state.code = EPROTO, state.message = "the disk is on fire";
        if (i == 4) state.schema_code = EINVAL, state.message = NULL;
        struct ArrowArrayStream stream = {give_schema, give_next, give_error, end_stream, &state};
        forge_bytes image = {0};
        fastpair_sink sink = {forge_write, &image};
        fastpair_error error = {.message = ""};
        fastpair_status status = fastpair_compress_arrow(&stream, NULL, NULL, &sink, &error);
        CHECK_EQ(status, i % 3 == 1 ? FASTPAIR_ERROR_IO : FASTPAIR_OK);
        if (i == 1) CHECK(strstr(error.message, "the disk is on fire") != NULL);
        CHECK(stream.release == NULL);
        CHECK_EQ(state.releases, 1);
        CHECK_EQ(made.schema_releases, i != 4);
        CHECK_EQ(made.array_releases, i == 4 ? 0 : 4);
        if (!status) {
            fastpair_column *column = NULL;
            arrow_row expected[12];
            shape s;
            for (int k = 0; k < 12; k++) expected[k] = rows[k % 3];
            shape_of(&s, "stream", expected, 12);
            verify_ok(fastpair_column_open(image.data, image.size, NULL, &column, &error), &error,
                      "stream");
            CHECK(((const fastpair_column *)column)->totals.is_text ==
                  (strchr(formats[i], 'u') || strchr(formats[i], 'U')));
            verify_decode(column, &s, NULL, 0, 12, 32, 1, 1);
            fastpair_column_close(column);
            shape_free(&s);
        }
        arrow_made_free(&made);
        free(image.data);
    }
}

int main(void) {
    uint64_t random = verify_seed();
    round_trips(&random);
    plain_arrays(&random);
    dictionaries(&random);
    structs(&random);
    nulls_and_pieces(&random);
    streams(&random);
    return check_done();
}
