/* test_golden.c - files written once must decode for ever, and the example in docs/format.md must
 * be true.
 *
 * Each golden/NAME.fpc has its rows in golden/NAME.rows, one a line: `\N` is a null row, `\xHH` a
 * byte, `\\` a backslash, all else stands for itself. This program only reads; golden/make_golden.c
 * once wrote them. */
#include "convert.h"
#include "frames.h"
#include "verify.h"

static const char *const names[] = {
    "onpair16",        "onpair12",       "onpair12_hot", "onpair9_token8", "fsst12",
    "stored",          "no_rows",        "empty_rows",   "all_null",       "two_dictionaries",
    "folded_onpair12", "folded_token64", "framed",       "aligned_4096",   "order_none",
    "long_tokens_32",  "long_tokens_64", "long_lengths", "described",      "bounds_64",
    "later_version"};

/* Files with name and pairs, and the width of their bounds. */
static const struct {
    const char *name;
    int is_described;
    uint32_t width;
} described[] = {
    {"described", 1, 16}, {"bounds_64", 0, 64}, {"later_version", 1, 8}, {"framed", 0, 0}};

/* Cold ones, which a build without zstd refuses by name. */
static const char *const cold_names[] = {"cold_onpair", "cold_fsst12", "cold_stored", "cold_raw"};

/* Tests run in tests/, but not only there. */
static char *read_file(const char *folder, const char *name, const char *ending, uint64_t *size) {
    static const char *const places[] = {".", "tests", "../tests", "../../tests"};
    for (size_t i = 0; i < 4; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s/%s%s", places[i], folder, name, ending);
        FILE *file = fopen(path, "rb");
        if (!file) continue;
        char *data = malloc(1u << 20);
        *size = data ? fread(data, 1, (1u << 20) - 1, file) : 0;
        if (data) data[*size] = 0;
        fclose(file);
        return data;
    }
    CHECK(!"file found");
    fprintf(stderr, "  ^ %s/%s%s: run this in the tests folder\n", folder, name, ending);
    return NULL;
}

static uint8_t hex_digit(char c) { return (uint8_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10); }

/* Rows in the escaped form to a shape. */
static void parse_rows(shape *s, const char *name, const char *text, uint64_t size) {
    uint8_t *bytes = malloc(size + 1), *valid = malloc(size + 1);
    uint64_t *offsets = malloc((size + 2) * 8), rows = 0, at = 0;
    int is_valid = 1;
    offsets[0] = 0;
    for (uint64_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            valid[rows++] = (uint8_t)is_valid;
            offsets[rows] = at;
            is_valid = 1;
        } else if (text[i] == '\\' && text[i + 1] == 'N') {
            is_valid = 0, i++;
        } else if (text[i] == '\\' && text[i + 1] == 'x') {
            bytes[at++] = (uint8_t)(hex_digit(text[i + 2]) << 4 | hex_digit(text[i + 3])), i += 3;
        } else {
            if (text[i] == '\\') i++;
            bytes[at++] = (uint8_t)text[i];
        }
    }
    shape_from_rows(s, name, bytes, offsets, valid, rows);
    free(bytes), free(valid), free(offsets);
}

static void refused_by_name(const uint8_t *image, uint64_t size) {
    fastpair_column *column = NULL;
    fastpair_error error;
    CHECK_EQ(fastpair_column_open(image, size, NULL, &column, &error), FASTPAIR_ERROR_UNSUPPORTED);
    CHECK(strstr(error.message, "zstd") != NULL);
}

static void golden_metadata(void) {
    for (size_t i = 0; i < sizeof described / sizeof described[0]; i++) {
        uint64_t size = 0;
        char *image = read_file("golden", described[i].name, ".fpc", &size);
        fastpair_column *column = NULL;
        fastpair_error error;
        fastpair_metadata metadata = {.struct_size = sizeof metadata};
        if (!image ||
            !verify_ok(fastpair_column_open((const uint8_t *)image, size, NULL, &column, &error),
                       &error, described[i].name))
            continue;
        verify_ok(fastpair_column_get_metadata(column, &metadata, &error), &error, "metadata");
        CHECK_EQ(metadata.name != NULL, described[i].is_described);
        CHECK_EQ(metadata.type,
                 described[i].is_described ? FASTPAIR_TYPE_TEXT : FASTPAIR_TYPE_BYTES);
        CHECK_EQ(metadata.pair_count, described[i].is_described ? 2 : 0);
        if (metadata.name && metadata.pair_count == 2) {
            const fastpair_pair *pairs = metadata.pairs;
            CHECK(!strcmp(metadata.name, "Stra\xc3\x9f"
                                         "e"));
            CHECK(!strcmp(pairs[0].key, "blob") && !memcmp(pairs[0].value, "\0\xff", 2));
            CHECK(!strcmp(pairs[1].key, "unit") && !memcmp(pairs[1].value, "EUR", 3));
        }
        fastpair_chunk_bounds bounds = {.struct_size = sizeof bounds};
        verify_ok(fastpair_column_get_chunk_bounds(column, 0, &bounds, &error), &error, "bounds");
        CHECK_EQ(bounds.has_bounds, described[i].width != 0);
        if (bounds.has_bounds)
            CHECK_EQ((uint64_t)(bounds.largest - bounds.smallest), described[i].width);
        fastpair_column_close(column);
        free(image);
    }
}

/* Made cold and warm again, the rows are the same, also of a file of a later version. */
static void converted(const uint8_t *image, uint64_t size, const shape *s) {
    forge_bytes made[2];
    made[0] = convert_image(image, size, 1, 1);
    made[1] = convert_image(made[0].data, made[0].size, 0, 2);
    for (int i = 0; i < 2; i++) {
        verify_effort effort = {3, 3, 3, 0, size};
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(made[i].data, made[i].size, NULL, &column, NULL),
                 FASTPAIR_OK);
        verify_column(column, s, &effort);
        verify_reader(made[i].data, made[i].size, s, 0, 1);
        fastpair_column_close(column);
        free(made[i].data);
    }
}

/* Returns the bytes of both files. */
static uint64_t golden_file(const char *name, int is_cold, uint64_t seed) {
    uint64_t image_size = 0, text_size = 0;
    char *image = read_file("golden", name, ".fpc", &image_size);
    char *text = read_file("golden", name, ".rows", &text_size);
    if (image && text && is_cold && !frames_available()) {
        refused_by_name((const uint8_t *)image, image_size);
    } else if (image && text) {
        shape s;
        parse_rows(&s, name, text, text_size);
        verify_effort effort = {20, 20, 10, 1, seed};
        verify_image((const uint8_t *)image, image_size, &s, &effort);
        if (frames_available()) converted((const uint8_t *)image, image_size, &s);
        shape_free(&s);
    }
    free(image), free(text);
    return image_size + text_size;
}

static void golden_files(void) {
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        total += golden_file(names[i], 0, i);
    for (size_t i = 0; i < sizeof cold_names / sizeof cold_names[0]; i++)
        total += golden_file(cold_names[i], 1, i);
    CHECK(total > 0 && total <= 200000); /* small enough to keep for ever */
}

/* Lines ` OFFSET HH HH ...` from `line` to `end` are written over an image of zero bytes; its end is
 * returned. Lines of zeroes may be left out, and `kept` bytes that are there already. */
static uint64_t read_listing(const char *line, const char *end, uint8_t *image, uint64_t kept) {
    uint64_t size = 0;
    for (; line && line < end; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long long offset;
        int used = 0;
        if (strncmp(line, "    ", 4) || sscanf(line, " %4llx%n", &offset, &used) != 1 ||
            used != 8 || line[8] != ' ')
            continue;
        CHECK(offset >= size || offset >= kept);
        size = offset;
        for (const char *c = line + 10;
             c[0] != '\n' && c[1] != '\n' && strchr("0123456789abcdef", c[0]) &&
             strchr("0123456789abcdef", c[1]);
             c += 3) {
            image[size++] = (uint8_t)(hex_digit(c[0]) << 4 | hex_digit(c[1]));
            if (c[2] != ' ') break;
        }
    }
    return size;
}

/* Section 6 lists two files with the same rows. The second leaves out the dictionary of the first. */
static void document_examples(void) {
    static const char *const expected[] = {"to be or not to be", "to be", NULL,
                                           "not to be or to be not"};
    enum { DICTIONARY = 0x40, CHUNK = 0x100, ROOM = 4096 };
    static uint8_t image[ROOM], cold[ROOM];
    uint64_t size = 0;
    char *text = read_file("../docs", "format", ".md", &size);
    if (!text) return;
    const char *first = strstr(text, "\n## 6. A worked example"),
               *second = strstr(text, "\n### 6.1 "), *end = strstr(text, "\n## 7. ");
    CHECK(first && second && end);
    if (!first || !second || !end) exit(1);
    uint64_t image_size = read_listing(first + 1, second + 1, image, 0);
    memcpy(cold + DICTIONARY, image + DICTIONARY, CHUNK - DICTIONARY);
    uint64_t cold_size = read_listing(second + 1, end, cold, CHUNK);
    CHECK(image_size > 200 && cold_size > 200);
    uint8_t bytes[200], valid[8];
    uint64_t offsets[9] = {0}, rows = sizeof expected / sizeof expected[0];
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t length = expected[i] ? strlen(expected[i]) : 0;
        if (length) memcpy(bytes + offsets[i], expected[i], length);
        offsets[i + 1] = offsets[i] + length;
        valid[i] = expected[i] != NULL;
    }
    shape s;
    shape_from_rows(&s, "docs/format.md, section 6", bytes, offsets, valid, rows);
    verify_effort effort = {10, 10, 10, 1, 1};
    verify_image(image, image_size, &s, &effort);
    if (frames_available())
        verify_image(cold, cold_size, &s, &effort);
    else
        refused_by_name(cold, cold_size);
    shape_free(&s);
    free(text);
}

int main(void) {
    golden_files();
    golden_metadata();
    document_examples();
    return check_done();
}
