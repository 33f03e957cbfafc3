/* test_text_tokens.c - the check that exported text is UTF-8, where the decoder finds out which tokens
 * are not UTF-8 by themselves: columns of many codes, of such tokens and others, good or with one
 * fault anywhere, above all where runs, batches, windows, chunks and rows end. Whoever is wrong is
 * named, at every CPU level, and what is good is never refused. */
#include "fastpair_arrow.h"
#include "forge.h"
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
        "\xc3\xa9",   "\xe2\x82\xac", "x\xf0\x9f\x92\xa9", "\xed\x95\x9cy", /* whole */
        "\xc3",       "\xa9",         "\xe2\x82",          "\xac",          "\xe2", "\x82\xac",
        "ab\xf0\x9f", "\x92\xa9z",    "\xf0\x9f\x92",      "q\xed\x95",     "\x9c"};
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
} column;

/* Codes of good text, in which one in `rare` is not ASCII. */
static void fill(column *c, uint32_t rare, uint64_t *random) {
    static const char *const characters[][3] = {{"\xc3\xa9"},
                                                {"\xe2\x82\xac"},
                                                {"x\xf0\x9f\x92\xa9"},
                                                {"\xed\x95\x9cy"},
                                                {"\xc3", "\xa9"},
                                                {"\xe2\x82", "\xac"},
                                                {"\xe2", "\x82\xac"},
                                                {"ab\xf0\x9f", "\x92\xa9z"},
                                                {"\xf0\x9f\x92", "\xa9"},
                                                {"q\xed\x95", "\x9c"}};
    const vocabulary *v = &c->words;
    uint32_t known[10][3], ascii[MOST], ascii_count = 0;
    for (uint32_t i = 0; i < 10; i++)
        for (uint32_t k = 0; k < 3 && characters[i][k]; k++)
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
        else if (check_random(random) % 12 == 0 || i > c->row_codes[c->rows - 1] + 150)
            c->row_codes[c->rows++] = i;
        uint64_t r = check_random(random);
        const uint32_t pick = (uint32_t)(r >> 8) % 10;
        if (r % rare || i + 3 > c->starts[chunk]) {
            c->codes[i++] = ascii[(r >> 16) % ascii_count];
        } else {
            for (uint32_t k = 0; k < 3 && characters[pick][k]; k++) c->codes[i++] = known[pick][k];
        }
    }
    c->row_codes[c->rows] = CODES;
}

/* Exports the column and compares with what its rows are, one by one. Returns whether it is good. */
static int try_column(const column *c) {
    const vocabulary *v = &c->words;
    forge f;
    forge_begin(&f, 64, 0, 0);
    f.type = 1;
    const char *const *text = v->sorted;
    forge_dictionary d = forge_plain_dictionary(text, v->count);
    d.longest = c->longest <= 16 ? 16 : c->longest;
    forge_add_dictionary(&f, &d);
    uint64_t first_bad = UINT64_MAX, row = 0;
    for (uint32_t k = 0; k < CHUNKS; k++) {
        uint64_t first = row;
        uint32_t *lengths = calloc(c->rows + 1, sizeof *lengths);
        uint8_t late[64 * 200];
        for (; row < c->rows && c->row_codes[row] < c->starts[k + 1]; row++) {
            uint64_t size = 0, from = row == c->shift_at, next = row + 1 == c->shift_at;
            for (uint64_t i = c->row_codes[row]; i < c->row_codes[row + 1]; i++) {
                memcpy(late + size, v->sorted[c->codes[i]], v->length_of[c->codes[i]]);
                size += v->length_of[c->codes[i]];
            }
            if (next) late[size++] = (uint8_t)v->sorted[c->codes[c->row_codes[row + 1]]][0];
            lengths[row - first] = (uint32_t)(size - from);
            if (!oracle_is_utf8(late + from, size - from) && first_bad == UINT64_MAX)
                first_bad = row;
        }
        forge_chunk chunk = forge_coded_chunk(&(forge_codes){c->codes + c->starts[k],
                                                             c->starts[k + 1] - c->starts[k],
                                                             d.bits, v->length_of, BATCH},
                                              &(forge_rows){lengths, NULL, row - first});
        forge_add_chunk(&f, &chunk);
        free(lengths);
    }
    forge_finish(&f);
    for (int level = FASTPAIR_CPU_PORTABLE; level <= (int)fastpair_cpu_detect(); level++)
        for (uint32_t threads = 1; threads < 3; threads++) {
            if (level < FASTPAIR_CPU_AVX512 && threads > 1) continue;
            fastpair_open_options options = {.struct_size = sizeof options,
                                             .cpu_level = (fastpair_cpu_level)level,
                                             .threads = threads};
            fastpair_column *opened = NULL;
            fastpair_error error = {0};
            struct ArrowArray array;
            if (!verify_ok(
                    fastpair_column_open(f.file.data, f.file.size, &options, &opened, &error),
                    &error, "open"))
                break;
            fastpair_status status =
                fastpair_column_export_array(opened, 0, c->rows, NULL, NULL, &array, &error);
            if (first_bad == UINT64_MAX) {
                verify_ok(status, &error, "good text");
            } else {
                CHECK_EQ(status, FASTPAIR_ERROR_CORRUPT);
                CHECK_EQ(error.position, first_bad);
            }
            if (!status) array.release(&array);
            fastpair_column_close(opened);
        }
    free(f.file.data);
    return first_bad == UINT64_MAX;
}

/* A code near a border: of a chunk, of a run of 2048 or 4096 codes, of a batch, or anywhere. */
static uint64_t any_place(const column *c, uint64_t *random) {
    static const uint64_t borders[] = {2048, 4096, BATCH, 64, 1};
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
    static const uint32_t rare[] = {100000, 1500, 300, 3};
    for (uint32_t i = 0; i < check_scaled(4); i++) {
        c.shift_at = UINT64_MAX;
        fill(&c, rare[i % 4], random);
        if (i == 0) outcomes[try_column(&c)]++;
        for (uint32_t k = 0; k < 4; k++) {
            uint64_t place = any_place(&c, random), row = 0;
            uint32_t before = c.codes[place];
            c.shift_at = UINT64_MAX;
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
            outcomes[try_column(&c)]++;
            c.codes[place] = before;
        }
    }
    CHECK(outcomes[0] > 0 && outcomes[1] > 0);
    free(c.codes);
    free(c.row_codes);
}

int main(void) {
    uint64_t random = verify_seed();
    for (uint32_t longest = 8; longest <= 64; longest *= 2)
        for (int kind = 0; kind < 2; kind++) columns(longest, kind, &random);
    return check_done();
}
