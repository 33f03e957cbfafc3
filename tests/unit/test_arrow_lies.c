/* test_arrow_lies.c - Arrow arrays that cannot be taken: other types, numbers and buffers that
 * contradict the type, rows that point outside what is known of their buffers, text that is not UTF-8.
 * Each is refused as INVALID_ARGUMENT, with the row's number where there is a row, and leaves the
 * writer as it was. */
#include "arrow_make.h"

static const arrow_row rows[] = {{(const uint8_t *)"one", 3, 0},
                                 {NULL, 0, 1},
                                 {(const uint8_t *)"and a longer row", 16, 0},
                                 {(const uint8_t *)"another longer one", 18, 0}};
enum { ROWS = 4 };

static fastpair_writer *open_writer(forge_bytes *image, fastpair_type type) {
    fastpair_sink sink = {forge_write, image};
    fastpair_metadata metadata = {.struct_size = sizeof metadata, .type = type};
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_STORED, .metadata = &metadata};
    fastpair_writer *writer = NULL;
    CHECK_EQ(fastpair_writer_open(&sink, &options, &writer, NULL), FASTPAIR_OK);
    return writer;
}

/* Refused, at `row` unless it is FASTPAIR_NO_POSITION, and nothing is appended. */
static void refuses(const arrow_made *made, const char *field, fastpair_type type, uint64_t row,
                    const char *says) {
    forge_bytes image = {0};
    fastpair_writer *writer = open_writer(&image, type);
    fastpair_error error = {.message = ""};
    CHECK_EQ(fastpair_writer_append_arrow(writer, &made->schema, &made->array, field, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(error.position, row);
    CHECK(strstr(error.message, says) != NULL);
    if (error.position != row || !strstr(error.message, says))
        fprintf(stderr, "  ^ %s, not \"%s\"\n", error.message, says);
    CHECK_EQ(fastpair_writer_finish(writer, NULL), FASTPAIR_OK);
    fastpair_writer_close(writer);
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(image.data, image.size, NULL, &column, NULL), FASTPAIR_OK);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    CHECK_EQ(fastpair_column_get_totals(column, &totals, NULL), FASTPAIR_OK);
    CHECK_EQ(totals.rows, 0);
    fastpair_column_close(column);
    free(image.data);
}

static void refused(const arrow_made *made, const char *says) {
    refuses(made, NULL, FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, says);
}

static void refused_row(const arrow_made *made, uint64_t row, const char *says) {
    refuses(made, NULL, FASTPAIR_TYPE_BYTES, row, says);
}

static void types(uint64_t *random) {
    static const char *const others[][2] = {{"i", "int32"},         {"g", "double"},
                                            {"+l", "list"},         {"w:8", "fixed_size_binary"},
                                            {"b", "bool"},          {"tsu:", "timestamp"},
                                            {"d:19,10", "decimal"}, {"+r", "run_end_encoded"},
                                            {"", "known"},          {"uu", "uu"},
                                            {"v", "\"v\""},         {"vux", "vux"},
                                            {"tdD", "date32"}};
    arrow_place place = {0};
    arrow_made made, values;
    arrow_make(&made, "u", rows, ROWS, &place, random);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        made.schema.format = others[i][0];
        refused(&made, others[i][1]);
    }
    made.schema.format = "u";
    refuses(&made, "no such", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "no such");
    made.schema.release = NULL;
    refused(&made, "released");
    arrow_made_free(&made);

    uint64_t indices[ROWS] = {0, 1, 2, 3};
    arrow_make(&values, "u", rows, ROWS, &place, random);
    arrow_make_dictionary(&made, "i", &values, indices, rows, ROWS, &place, random);
    made.schema.format = "u";
    refused(&made, "no integer");
    made.schema.format = "";
    refused(&made, "no integer");
    made.schema.format = "i";
    values.schema.format = "g";
    refused(&made, "double");
    values.schema.format = "u";
    values.schema.dictionary = &values.schema;
    refused(&made, "dictionary of their own");
    values.schema.dictionary = NULL;
    made.array.dictionary = NULL;
    refused(&made, "NULL");
    arrow_made_free(&made), arrow_made_free(&values);
}

/* Numbers of the struct itself. */
static void numbers(uint64_t *random) {
    static const char *const formats[] = {"z", "Z", "vz"};
    arrow_place place = {1, 1, 0};
    for (int i = 0; i < 3; i++) {
        arrow_made made;
        arrow_make(&made, formats[i], rows, ROWS, &place, random);
        struct ArrowArray good = made.array;
        made.array.length = -1;
        refused(&made, "negative");
        made.array = good, made.array.offset = -1;
        refused(&made, "negative");
        made.array = good, made.array.offset = INT64_MAX;
        refused(&made, "too large");
        made.array = good, made.array.n_buffers = 2;
        refused(&made, "buffers");
        made.array = good, made.array.buffers = NULL;
        refused(&made, "buffers");
        made.array = good, made.array.release = NULL;
        refused(&made, "released");
        const void *bitmap = made.buffers[0], *offsets = made.buffers[1];
        made.array = good, made.array.null_count = 1, made.buffers[0] = NULL;
        refused(&made, "bitmap");
        made.buffers[0] = bitmap, made.buffers[1] = NULL;
        refused(&made, "not there");
        made.buffers[1] = offsets;
        arrow_made_free(&made);
    }
}

static void offsets(uint64_t *random) {
    arrow_place place = {0};
    for (int width = 4; width <= 8; width += 4) {
        arrow_made made;
        arrow_make(&made, width == 4 ? "z" : "Z", rows, ROWS, &place, random);
        uint8_t *at = (uint8_t *)(uintptr_t)made.buffers[1];
        uint64_t last = forge_get(at + 4 * width, width);
        forge_put(at + 4 * width, UINT64_MAX, width); /* -1 */
        refused_row(&made, 3, "negative");
        forge_put(at + 3 * width, UINT64_MAX - 1, width);
        refused_row(&made, 2, "negative");
        forge_put(at + 4 * width, last, width);
        refused_row(&made, 2, "negative");
        forge_put(at + 3 * width, last + 1, width);
        refused_row(&made, 3, "before its start");
        const void *bytes = made.buffers[2];
        forge_put(at + 3 * width, 9, width);
        made.buffers[2] = NULL;
        refused(&made, "bytes must not be NULL");
        made.buffers[2] = bytes;
        arrow_made_free(&made);
    }
}

static void views(uint64_t *random) {
    static const struct {
        uint64_t size, buffer, offset;
        const char *says;
    } lies[] = {{UINT32_MAX, 0, 0, "negative"},    {13, 3, 0, "does not have"},
                {13, UINT32_MAX, 0, "not have"},   {13, 0, UINT32_MAX, "past the end"},
                {INT32_MAX, 0, 0, "past the end"}, {19, 0, 0, "past the end"},
                {18, 0, 1, "past the end"}};
    arrow_place place = {2, 0, 0};
    arrow_made made;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        arrow_make(&made, "vz", rows, ROWS, &place, random);
        /* The last row, in a buffer of its own size. */
        uint8_t *view = (uint8_t *)(uintptr_t)made.buffers[1] + 5 * 16;
        free((void *)(uintptr_t)made.buffers[2]);
        made.buffers[2] = memcpy(arrow_room(18), rows[3].bytes, 18);
        forge_put((uint8_t *)(uintptr_t)made.buffers[5], 18, 8);
        forge_put(view, lies[i].size, 4);
        forge_put(view + 8, lies[i].buffer, 4);
        forge_put(view + 12, lies[i].offset, 4);
        refused_row(&made, 3, lies[i].says);
        arrow_made_free(&made);
    }
    arrow_make(&made, "vz", rows, ROWS, &place, random);
    const void *sizes = made.buffers[5];
    made.buffers[5] = NULL;
    refused(&made, "sizes");
    made.buffers[5] = sizes;
    arrow_made_free(&made);
}

static void indices(uint64_t *random) {
    static const char *const formats[] = {"c", "S", "i", "I", "l", "L"};
    arrow_place place = {3, 0, 0};
    for (int i = 0; i < 6; i++)
        for (int negative = 0; negative < 2; negative++) {
            arrow_made made, values;
            uint64_t numbers_of[ROWS] = {0, 0, negative ? UINT64_MAX : 2, 1};
            arrow_make(&values, "z", rows, 2, &place, random);
            arrow_make_dictionary(&made, formats[i], &values, numbers_of, rows, ROWS, &place,
                                  random);
            refused_row(&made, 2, "outside the dictionary");
            arrow_made_free(&made), arrow_made_free(&values);
        }
}

static void structs(uint64_t *random) {
    arrow_place place = {1, 1, 0}, outer_place = {2, 0, 0};
    arrow_made made, field, other;
    arrow_make(&field, "z", rows, ROWS, &place, random);
    arrow_make(&other, "z", rows, ROWS, &place, random);
    arrow_make_struct(&made, &field, &other, rows, 2, &outer_place, random);
    refused(&made, "2 fields");
    refuses(&made, "made", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "twice");
    refuses(&made, "no such", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "no such");
    other.schema.name = NULL;
    made.array.length = 3;
    refuses(&made, "made", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "shorter");
    made.array.length = 2;
    field.array.release = NULL;
    refuses(&made, "made", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "released");
    made.array.n_children = 0;
    refuses(&made, "made", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "child");
    made.schema.n_children = -1;
    refuses(&made, "made", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "children");
    made.schema.n_children = 2, made.schema.children = NULL;
    refuses(&made, "made", FASTPAIR_TYPE_BYTES, FASTPAIR_NO_POSITION, "children");
    arrow_made_free(&made), arrow_made_free(&field), arrow_made_free(&other);
}

/* Text that is none, also in a later piece: nothing of the array is in the column then. */
static void text(uint64_t *random) {
    static const char *const formats[] = {"u", "U", "vu"};
    enum { MANY = 150000 };
    arrow_row *many = calloc(MANY, sizeof *many);
    arrow_place place = {0};
    for (uint64_t i = 0; i < MANY; i++) many[i] = (arrow_row){(const uint8_t *)"caf\xc3\xa9", 5, 0};
    many[140000].size = 4;
    many[9] = (arrow_row){(const uint8_t *)"\xff", 1, 1}; /* null: its bytes do not count */
    for (int i = 0; i < 3; i++) {
        arrow_made made;
        arrow_make(&made, formats[i], many, MANY, &place, random);
        refuses(&made, NULL, FASTPAIR_TYPE_TEXT, 140000, "not UTF-8");
        arrow_made_free(&made);
    }
    free(many);
}

/* Calls that are wrong themselves. */
static void calls(uint64_t *random) {
    arrow_place place = {0};
    arrow_made made;
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    arrow_make(&made, "u", rows, ROWS, &place, random);
    fastpair_writer *writer = open_writer(&image, FASTPAIR_TYPE_BYTES);
    CHECK_EQ(fastpair_writer_append_arrow(NULL, &made.schema, &made.array, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_writer_append_arrow(writer, NULL, &made.array, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_writer_append_arrow(writer, &made.schema, NULL, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_writer_finish(writer, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_writer_append_arrow(writer, &made.schema, &made.array, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_writer_close(writer);
    struct ArrowArrayStream stream = {0};
    CHECK_EQ(fastpair_compress_arrow(NULL, NULL, NULL, &sink, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_compress_arrow(&stream, NULL, NULL, &sink, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    arrow_made_free(&made);
    free(image.data);
}

int main(void) {
    uint64_t random = verify_seed();
    types(&random);
    numbers(&random);
    offsets(&random);
    views(&random);
    indices(&random);
    structs(&random);
    text(&random);
    calls(&random);
    return check_done();
}
