/* test_golden.c - files written once must decode for ever, and the example in docs/format.md must
 * be true.
 *
 * Each golden/NAME.fpc has its rows in golden/NAME.rows, one a line: `\N` is a null row, `\xHH` a
 * byte, `\\` a backslash, all else stands for itself. This program only reads; golden/make_golden.c
 * once wrote them. */
#include "verify.h"

static const char *const names[] = {
    "onpair16",   "onpair12",       "onpair12_hot",   "onpair9_token8",   "fsst12", "stored",
    "no_rows",    "empty_rows",     "all_null",       "two_dictionaries", "framed", "aligned_4096",
    "order_none", "long_tokens_32", "long_tokens_64", "long_lengths"};

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

static void golden_files(void) {
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint64_t image_size = 0, text_size = 0;
        char *image = read_file("golden", names[i], ".fpc", &image_size);
        char *text = read_file("golden", names[i], ".rows", &text_size);
        if (image && text) {
            shape s;
            parse_rows(&s, names[i], text, text_size);
            verify_effort effort = {20, 20, 10, 1, i};
            verify_image((const uint8_t *)image, image_size, &s, &effort);
            shape_free(&s);
        }
        total += image_size + text_size;
        free(image), free(text);
    }
    CHECK(total > 0 && total <= 120000); /* small enough to keep for ever */
}

/* Lines ` OFFSET HH HH ...` of section 6 are the file; the offsets must follow on each other. */
static void document_example(void) {
    static const char *const expected[] = {"to be or not to be", "to be", NULL,
                                           "not to be or to be not"};
    uint64_t size = 0, image_size = 0;
    char *text = read_file("../docs", "format", ".md", &size);
    if (!text) return;
    char *line = strstr(text, "\n## 6. A worked example");
    CHECK(line != NULL);
    uint8_t *image = malloc(size);
    for (line = line ? line + 1 : NULL; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long long offset;
        int used = 0;
        if (strncmp(line, "    ", 4) || sscanf(line, " %4llx%n", &offset, &used) != 1 ||
            used != 8 || line[8] != ' ')
            continue;
        CHECK(offset >= image_size);
        while (image_size < offset && image_size < size)
            image[image_size++] = 0; /* lines of zeroes may be left out */
        for (char *c = line + 10;
             c[0] != '\n' && c[1] != '\n' && strchr("0123456789abcdef", c[0]) &&
             strchr("0123456789abcdef", c[1]);
             c += 3) {
            image[image_size++] = (uint8_t)(hex_digit(c[0]) << 4 | hex_digit(c[1]));
            if (c[2] != ' ') break;
        }
    }
    CHECK(image_size > 200);
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
    shape_free(&s);
    free(image), free(text);
}

int main(void) {
    golden_files();
    document_example();
    return check_done();
}
