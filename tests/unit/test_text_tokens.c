/* test_text_tokens.c - the check that exported text is UTF-8, where the decoder finds out which tokens
 * are not UTF-8 by themselves: columns of many codes, of such tokens and others, good or with one
 * fault anywhere, above all where runs, batches, windows, chunks and rows end. Whoever is wrong is
 * named, at every CPU level, and what is good is never refused. Rows are short or long, and chunks warm
 * or cold, whose words have the ends of rows among them. */
#include "fastpair_arrow.h"
#include "forge.h"
#include "frame.h"
#include "oracle_parts.h"
#include "verify.h"

enum { CODES = 560000, CHUNKS = 3, BATCH = 256, FILLERS = 60, MOST = 128 };

/* Tokens in ascending order of lengths, as the loop for long tokens wants them. */
typedef struct vocabulary {
    char text[MOST][65];
    const char *sorted[MOST];
    uint8_t length_of[MOST];
    uint32_t count;
} vocabulary;

static int by_length(const void *a, const void *b) {
    size_t first = strlen(*(const char *const *)a), second = strlen(*(const char *const *)b);
    return first < second ? -1 : first > second;
}

/* `longest` is 8, 16, 32 or 64. Of kind 1, a token that begins inside a character fills its cell. */
static void make_vocabulary(vocabulary *v, uint32_t longest, int kind) {
    static const char *const parts[] = {
        "\xc3\xa9", "\xe2\x82\xac", "x\xf0\x9f\x92\xa9", "\xed\x95\x9cy", /* whole */
        "\xc3", "\xa9", "\xe2\x82", "\xac", "\xe2", "\x82\xac", "ab\xf0\x9f", "\x92\xa9z",
        "\xf0\x9f\x92", "q\xed\x95", "\x9c",
        /* Characters cut at every place. */
        "\xf0", "\x9f", "\x92", "\x82", "\x9f\x92\xa9", "\x92\xa9", "\xf0\x9f", "\xe0", "\xa4\x85",
        "\xe0\xa4", "\x85", "\xa4", "\xed", "\x95\x9c", "\x95", "\xf4", "\x8f\xbf\xbf", "\xf4\x8f",
        "\xbf\xbf", "\xbf", "\x8f", "\xa9\xc3", "\xac\xe2\x82\xac\xe2\x82",
        /* Overlong forms, surrogates, too large numbers, and what is never in UTF-8. */
        "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8", "\xe0\x80\x80", "\xa0", "\x90",
        "\x80", "\xff", "\x80\x80\x80\x80"};
    memset(v, 0, sizeof *v);
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++)
        strcpy(v->text[v->count++], parts[i]);
    for (uint32_t i = 0; i < FILLERS; i++) {
        uint32_t length = i < 20 ? 1 + i % 8 : longest - i % 2;
        memset(v->text[v->count], 'A' + (int)i % 26, length);
        v->text[v->count++][0] = (char)('0' + i % 10);
    }
    for (uint32_t i = 0; i < 3; i++) { /* tokens that fill a cell, whole and not */
        char *text = v->text[v->count];
        if (i == 2 && !kind) break;
        memset(text, 'w', longest);
        if (i == 0) memcpy(text + longest - 3, "\xe2\x82\xac", 3);
        if (i == 1) text[longest - 1] = '\xc3';
        if (i == 2) text[0] = '\xa9';
        v->count++;
    }
    for (uint32_t i = 0; i < v->count; i++) v->sorted[i] = v->text[i];
    qsort(v->sorted, v->count, sizeof *v->sorted, by_length);
    for (uint32_t i = 0; i < v->count; i++) v->length_of[i] = (uint8_t)strlen(v->sorted[i]);
}

static uint32_t code_of(const vocabulary *v, const char *text) {
    for (uint32_t i = 0; i < v->count; i++)
        if (!strcmp(v->sorted[i], text)) return i;
    CHECK(0);
    return 0;
}

/* A column under construction. */
typedef struct column {
    vocabulary words;
    uint32_t longest;
    uint32_t *codes;
    uint64_t starts[CHUNKS + 1]; /* codes of chunks */
    uint64_t *row_codes;         /* where rows begin; rows never cross chunks */
    uint64_t rows, shift_at;     /* this row begins one byte later; UINT64_MAX: none */
    uint32_t mean;               /* codes of a row, but for long ones, which are cut */
    int cold;
} column;

/* Codes of good text, in which one in `rare` is not ASCII. */
static void fill(column *c, uint32_t rare, uint64_t *random) {
    static const char *const characters[][4] = {{"\xc3\xa9"},
                                                {"\xe2\x82\xac"},
                                                {"x\xf0\x9f\x92\xa9"},
                                                {"\xed\x95\x9cy"},
                                                {"\xc3", "\xa9"},
                                                {"\xe2\x82", "\xac"},
                                                {"\xe2", "\x82\xac"},
                                                {"ab\xf0\x9f", "\x92\xa9z"},
                                                {"\xf0\x9f\x92", "\xa9"},
                                                {"q\xed\x95", "\x9c"},
                                                {"\xe2", "\x82", "\xac"},
                                                {"\xf0", "\x9f", "\x92", "\xa9"},
                                                {"\xf0\x9f", "\x92\xa9"},
                                                {"\xf0", "\x9f\x92\xa9"},
                                                {"\xf0\x9f", "\x92", "\xa9"},
                                                {"\xe0", "\xa4\x85"},
                                                {"\xe0\xa4", "\x85"},
                                                {"\xe0", "\xa4", "\x85"},
                                                {"\xed", "\x95", "\x9c"},
                                                {"\xf4", "\x8f\xbf\xbf"},
                                                {"\xf4\x8f", "\xbf", "\xbf"},
                                                {"\xf4\x8f", "\xbf\xbf"},
                                                {"\xc3", "\xa9\xc3", "\xa9"},
                                                {"\xe2\x82", "\xac\xe2\x82\xac\xe2\x82", "\xac"}};
    enum { PICKS = sizeof characters / sizeof *characters };
    const vocabulary *v = &c->words;
    uint32_t known[PICKS][4], ascii[MOST], ascii_count = 0;
    for (uint32_t i = 0; i < PICKS; i++)
        for (uint32_t k = 0; k < 4 && characters[i][k]; k++)
            known[i][k] = code_of(v, characters[i][k]);
    for (uint32_t i = 0; i < v->count; i++) {
        int is_ascii = 1;
        for (const char *at = v->sorted[i]; *at; at++) is_ascii &= *at > 0;
        if (is_ascii && (v->length_of[i] <= 8 || i % 2)) ascii[ascii_count++] = i;
    }
    c->rows = 0;
    for (uint64_t i = 0, chunk = 0; i < CODES;) {
        if (i == c->starts[chunk])
            c->row_codes[c->rows++] = i, chunk++;
        else if (check_random(random) % c->mean == 0 ||
                 i > c->row_codes[c->rows - 1] + 12 * c->mean)
            c->row_codes[c->rows++] = i;
        uint64_t r = check_random(random);
        const uint32_t pick = (uint32_t)(r >> 8) % PICKS;
        if (r % rare || i + 4 > c->starts[chunk]) {
            c->codes[i++] = ascii[(r >> 16) % ascii_count];
        } else {
            for (uint32_t k = 0; k < 4 && characters[pick][k]; k++) c->codes[i++] = known[pick][k];
        }
    }
    c->row_codes[c->rows] = CODES;
}

/* The rows of a column, one by one. */
typedef struct truth {
    uint8_t *bytes;
    uint64_t *offsets;
    uint32_t *lengths;
    uint64_t first_bad; /* row; UINT64_MAX: none */
} truth;

static truth find_truth(const column *c) {
    const vocabulary *v = &c->words;
    truth t = {.bytes = malloc((uint64_t)CODES * 64),
               .offsets = calloc(c->rows + 1, sizeof *t.offsets),
               .lengths = calloc(c->rows + 1, sizeof *t.lengths),
               .first_bad = UINT64_MAX};
    uint64_t size = 0;
    for (uint64_t row = 0; row < c->rows; row++) {
        for (uint64_t i = c->row_codes[row]; i < c->row_codes[row + 1]; i++) {
            memcpy(t.bytes + size, v->sorted[c->codes[i]], v->length_of[c->codes[i]]);
            size += v->length_of[c->codes[i]];
        }
        t.offsets[row + 1] = size;
    }
    if (c->shift_at < c->rows) t.offsets[c->shift_at]++;
    for (uint64_t row = c->rows; row-- > 0;) {
        t.lengths[row] = (uint32_t)(t.offsets[row + 1] - t.offsets[row]);
        if (!oracle_is_utf8(t.bytes + t.offsets[row], t.lengths[row])) t.first_bad = row;
    }
    return t;
}

/* What was exported are these rows. */
static void check_array(const struct ArrowArray *array, const truth *t, uint64_t rows) {
    const uint8_t *offsets = array->buffers[1];
    uint64_t wrong = 0;
    CHECK_EQ((uint64_t)array->length, rows);
    CHECK_EQ(array->null_count, 0);
    for (uint64_t row = 0; row <= rows; row++) {
        uint32_t offset;
        memcpy(&offset, offsets + row * 4, 4);
        wrong += offset != t->offsets[row];
    }
    CHECK_EQ(wrong, 0);
    CHECK(!memcmp(array->buffers[2], t->bytes, t->offsets[rows]));
}

static void try_image(const forge *f, const column *c, const truth *t) {
    for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++)
        for (uint32_t threads = 1; threads < 3; threads++) {
            if (level < FASTPAIR_CPU_AVX512 && threads > 1) continue;
            fastpair_open_options options = {.struct_size = sizeof options,
                                             .cpu_level = (fastpair_cpu_level)level,
                                             .threads = threads};
            fastpair_arrow_options as_bytes = {.struct_size = sizeof as_bytes,
                                               .type = FASTPAIR_ARROW_BYTES};
            fastpair_column *opened = NULL;
            fastpair_error error = {0};
            struct ArrowArray array;
            if (!verify_ok(
                    fastpair_column_open(f->file.data, f->file.size, &options, &opened, &error),
                    &error, "open"))
                break;
            fastpair_status status =
                fastpair_column_export_array(opened, 0, c->rows, NULL, NULL, &array, &error);
            if (t->first_bad == UINT64_MAX) {
                verify_ok(status, &error, "good text");
            } else {
                CHECK_EQ(status, FASTPAIR_ERROR_CORRUPT);
                CHECK_EQ(error.position, t->first_bad);
                status = fastpair_column_export_array(opened, 0, c->rows, &as_bytes, NULL, &array,
                                                      &error);
                verify_ok(status, &error, "bytes");
            }
            if (!status) {
                check_array(&array, t, c->rows);
                array.release(&array);
            }
            fastpair_column_close(opened);
        }
}

/* Exports the column and compares with what its rows are. Returns whether it is good. */
static int try_column(const column *c) {
    const vocabulary *v = &c->words;
    truth t = find_truth(c);
    forge f;
    forge_begin(&f, 64, 0, 0);
    f.type = 1;
    if (c->cold) forge_says_cold(&f);
    const char *const *text = v->sorted;
    forge_dictionary d = forge_plain_dictionary(text, v->count);
    const uint32_t slots = d.slots;
    d.longest = c->longest <= 16 ? 16 : c->longest;
    const uint32_t longest = d.longest;
    forge_add_dictionary(&f, &d);
    for (uint64_t k = 0, row = 0; k < CHUNKS; k++) {
        uint64_t first = row;
        while (row < c->rows && c->row_codes[row] < c->starts[k + 1]) row++;
        forge_codes codes = {c->codes + c->starts[k], c->starts[k + 1] - c->starts[k], d.bits,
                             v->length_of, BATCH};
        forge_rows rows = {t.lengths + first, NULL, row - first};
        forge_chunk chunk = forge_coded_chunk(&codes, &rows);
        if (c->cold) forge_make_coded_cold(&chunk, &codes, &rows, slots, longest);
        forge_add_chunk(&f, &chunk);
    }
    forge_finish(&f);
    try_image(&f, c, &t);
    free(f.file.data);
    free(t.bytes);
    free(t.offsets);
    free(t.lengths);
    return t.first_bad == UINT64_MAX;
}

/* The same of warm chunks and, if rows are whole codes, of cold ones. */
static int try_both(column *c) {
    c->cold = 0;
    const int is_good = try_column(c);
    c->cold = fp_frames_available() && c->shift_at == UINT64_MAX;
    if (c->cold) CHECK_EQ(try_column(c), is_good);
    return is_good;
}

/* A code near a border: of a chunk, of a run of 4096 or 8192 codes, of a batch, or anywhere. */
static uint64_t any_place(const column *c, uint64_t *random) {
    static const uint64_t borders[] = {4096, 8192, BATCH, 64, 1};
    uint64_t r = check_random(random), chunk = r % CHUNKS, near = (r >> 8) % 5, place;
    uint64_t begin = c->starts[chunk], size = c->starts[chunk + 1] - begin;
    if ((r >> 16) % 6 == 0)
        place = (r >> 20) % 2 ? begin : begin + size;
    else {
        uint64_t border = borders[(r >> 20) % 5];
        place = begin + (r >> 24) % size / border * border;
    }
    place += near;
    return place < 2 ? 0 : place - 2 < CODES ? place - 2 : CODES - 1;
}

/* Any token, or any that is not UTF-8 by itself. */
static uint32_t any_code(const vocabulary *v, int is_partial, uint64_t *random) {
    uint32_t code;
    do code = (uint32_t)(check_random(random) % v->count);
    while (is_partial && oracle_is_utf8((const uint8_t *)v->sorted[code], v->length_of[code]));
    return code;
}

static void columns(uint32_t longest, int kind, uint64_t *random) {
    column c = {.longest = longest,
                .starts = {0, CODES / 2 + 77, CODES - 5000, CODES},
                .codes = malloc((CODES + 3) * sizeof *c.codes),
                .row_codes = malloc((CODES + 1) * sizeof *c.row_codes)};
    make_vocabulary(&c.words, longest, kind);
    uint64_t outcomes[2] = {0};
    static const uint32_t rare[] = {100000, 1500, 300, 40, 3};
    for (uint32_t i = 0; i < check_scaled(5); i++) {
        c.shift_at = UINT64_MAX;
        c.mean = (i + (uint32_t)kind) % 2 ? 12 : 300;
        fill(&c, rare[i % 5], random);
        if (i == 0) outcomes[try_both(&c)]++;
        for (uint32_t k = 0; k < 5; k++) {
            uint64_t place = any_place(&c, random), row = 0;
            uint32_t before = c.codes[place];
            c.shift_at = UINT64_MAX;
            if (k == 4) { /* a letter between the parts of a character */
                const uint64_t first = place < CODES - 3 ? place : CODES - 3;
                uint32_t kept[3];
                memcpy(kept, c.codes + first, sizeof kept);
                c.codes[first] = code_of(&c.words, "\xe2\x82");
                c.codes[first + 1] = code_of(&c.words, "0");
                c.codes[first + 2] = code_of(&c.words, "\xac");
                CHECK(!try_both(&c));
                memcpy(c.codes + first, kept, sizeof kept);
                continue;
            }
            if (k < 3) {
                c.codes[place] = any_code(&c.words, k > 0, random);
            } else { /* a row begins one byte into a token that is UTF-8 by itself */
                while (row + 2 < c.rows && c.row_codes[row + 1] <= place) row++;
                int starts_chunk = 0;
                for (uint32_t n = 0; n < CHUNKS; n++)
                    starts_chunk |= c.row_codes[row] == c.starts[n];
                if (starts_chunk) continue;
                place = c.row_codes[row], before = c.codes[place];
                c.codes[place] = code_of(&c.words, "\xc3\xa9");
                c.shift_at = row;
            }
            outcomes[try_both(&c)]++;
            c.codes[place] = before;
        }
    }
    CHECK(outcomes[0] > 0 && outcomes[1] > 0);
    free(c.codes);
    free(c.row_codes);
}

/* ---------------------------------------------------------------- trained dictionaries */

static uint64_t put_character(uint8_t *to, uint32_t number) {
    if (number < 0x80) return to[0] = (uint8_t)number, 1;
    if (number < 0x800) {
        to[0] = (uint8_t)(0xc0 | number >> 6), to[1] = (uint8_t)(0x80 | (number & 63));
        return 2;
    }
    uint64_t size = number < 0x10000 ? 3 : 4;
    to[0] = (uint8_t)(size == 3 ? 0xe0 | number >> 12 : 0xf0 | number >> 18);
    for (uint64_t i = 1; i < size; i++)
        to[i] = (uint8_t)(0x80 | (number >> 6 * (size - 1 - i) & 63));
    return size;
}

/* Rows of letters, some frequent and some rare, of several scripts. Returns the bytes. */
static uint64_t write_text(uint8_t *bytes, uint64_t *offsets, uint64_t rows, uint64_t *random) {
    static const struct {
        uint32_t first, count;
    } scripts[] = {{'a', 26}, {0x430, 32}, {0x4e00, 9000}, {0x905, 50}, {0x1f600, 80}, {' ', 1}};
    uint64_t size = 0;
    for (uint64_t row = 0; row < rows; row++) {
        offsets[row] = size;
        for (uint64_t n = check_random(random) % 40; n; n--) {
            uint64_t r = check_random(random), which = r % 100;
            uint32_t script = which < 40 ? 0 : which < 65 ? 1 : which < 85 ? 2 : which < 88 ? 3 : 5;
            if (which == 99) script = 4;
            uint64_t spread = (r >> 8) % scripts[script].count;
            spread = spread * ((r >> 32) % scripts[script].count) / scripts[script].count;
            size += put_character(bytes + size, scripts[script].first + (uint32_t)spread);
        }
    }
    offsets[rows] = size;
    return size;
}

/* Has one row begin with the second byte of a character. All bytes together are still UTF-8. */
static void begin_inside(const uint8_t *bytes, uint64_t *offsets, uint64_t rows, uint64_t *random) {
    uint64_t row;
    do row = 1 + check_random(random) % (rows - 1);
    while (offsets[row] == offsets[row + 1] || bytes[offsets[row]] < 0xc0);
    offsets[row]++;
}

/* Text as the library compresses it, with classes of many codes; one byte of it may be another one, or a
 * row may begin inside a character. */
static void trained(uint32_t code_bits, uint32_t max_token, uint64_t *random) {
    enum { ROWS = 100000 };
    uint8_t *bytes = malloc(ROWS * 40 * 4);
    uint64_t *offsets = malloc((ROWS + 1) * sizeof *offsets), outcomes[2] = {0};
    for (uint32_t n = 0; n < 2 || n < check_scaled(6); n++) {
        uint64_t size = write_text(bytes, offsets, ROWS, random), first_bad = ROWS;
        if (n % 3 == 1)
            bytes[check_random(random) % size] = n == 1 ? 0xff : (uint8_t)check_random(random);
        if (n % 3 == 2) begin_inside(bytes, offsets, ROWS, random);
        for (uint64_t i = ROWS; i-- > 0;)
            if (!oracle_is_utf8(bytes + offsets[i], offsets[i + 1] - offsets[i])) first_bad = i;
        fastpair_rows rows = {.struct_size = sizeof rows,
                              .rows = ROWS,
                              .bytes = bytes,
                              .offsets = offsets,
                              .offset_bits = 64};
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = FASTPAIR_CODEC_ONPAIR,
                                             .code_bits = code_bits,
                                             .max_token = max_token,
                                             .level = 2};
        uint8_t *image = NULL;
        uint64_t image_size = 0;
        fastpair_error error;
        if (!verify_ok(fastpair_compress(&rows, &options, &image, &image_size, &error), &error,
                       "compress"))
            break;
        image[forge_block(image, image_size, "FPFT", 0) + 65] = 1; /* it is text, the file says */
        forge_reseal(image, image_size);
        for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++) {
            fastpair_open_options how = {.struct_size = sizeof how,
                                         .cpu_level = (fastpair_cpu_level)level};
            fastpair_column *opened = NULL;
            struct ArrowArray array;
            if (!verify_ok(fastpair_column_open(image, image_size, &how, &opened, &error), &error,
                           "open"))
                break;
            fastpair_status status =
                fastpair_column_export_array(opened, 0, ROWS, NULL, NULL, &array, &error);
            CHECK_EQ(status, first_bad < ROWS ? FASTPAIR_ERROR_CORRUPT : FASTPAIR_OK);
            if (status) CHECK_EQ(error.position, first_bad);
            if (!status) array.release(&array);
            fastpair_column_close(opened);
        }
        outcomes[first_bad == ROWS]++;
        fastpair_free(NULL, image);
    }
    CHECK(outcomes[0] > 0 && outcomes[1] > 0);
    free(bytes);
    free(offsets);
}

int main(void) {
    uint64_t random = verify_seed();
    trained(12, 16, &random);
    trained(14, 16, &random);
    trained(16, 16, &random);
    trained(12, 64, &random);
    for (uint32_t longest = 8; longest <= 64; longest *= 2)
        for (int kind = 0; kind < 2; kind++) columns(longest, kind, &random);
    return check_done();
}
