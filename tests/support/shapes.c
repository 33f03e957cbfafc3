/* shapes.c - a seed and a kind go in, a column and its expected decoding come out.
 *
 * Rows are made into growing buffers and then moved to memory of exactly their size, and the answer
 * is worked out from the definition of fastpair_rows, not by the library. Aborts when memory runs
 * out. */
#include "shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
    uint64_t random;
    uint8_t *bytes;
    uint64_t size, capacity;
    uint64_t *ends;
    uint64_t rows, row_capacity;
} builder;

static uint64_t draw(builder *b) {
    uint64_t z = (b->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t below(builder *b, uint64_t bound) { return draw(b) % bound; }

static void *checked(void *memory) {
    if (!memory) abort();
    return memory;
}

static void put(builder *b, const void *data, uint64_t size) {
    if (b->size + size > b->capacity) {
        b->capacity = (b->size + size) * 2 + 64;
        b->bytes = checked(realloc(b->bytes, b->capacity));
    }
    if (size) memcpy(b->bytes + b->size, data, size);
    b->size += size;
}

static void put_byte(builder *b, uint64_t byte) { put(b, &(uint8_t){(uint8_t)byte}, 1); }
static void put_text(builder *b, const char *text) { put(b, text, strlen(text)); }

static void end_row(builder *b) {
    if (b->rows == b->row_capacity) {
        b->row_capacity = b->row_capacity * 2 + 16;
        b->ends = checked(realloc(b->ends, b->row_capacity * sizeof *b->ends));
    }
    b->ends[b->rows++] = b->size;
}

/* ---------------------------------------------------------------- text that looks like columns */

static const char *const words[] = {
    "furiously", "sly",     "carefully", "blithely",    "requests", "deposits",    "accounts",
    "packages",  "the",     "of",        "final",       "ironic",   "express",     "pending",
    "among",     "bold",    "regular",   "theodolites", "sleep",    "haggle",      "wake",
    "nag",       "against", "pinto",     "beans",       "foxes",    "quickly",     "even",
    "a",         "unusual", "across",    "silent",      "special",  "instructions"};
#define WORDS (sizeof words / sizeof words[0])

static void word(builder *b) { put_text(b, words[below(b, below(b, WORDS) + 1)]); }

static void words_row(builder *b, uint64_t least) {
    uint64_t start = b->size, target = least + below(b, 40);
    while (b->size - start < target) {
        word(b);
        if (below(b, 9) == 0) put_text(b, ".");
        put_text(b, " ");
    }
}

static void digits(builder *b, uint64_t number, int width) {
    char text[24];
    snprintf(text, sizeof text, "%0*llu", width, (unsigned long long)number);
    put_text(b, text);
}

static void url_row(builder *b) {
    static const char *const hosts[] = {"example.org", "www.example.com", "data.example.net",
                                        "files.test"};
    put_text(b, below(b, 5) ? "https://" : "http://");
    put_text(b, hosts[below(b, 4)]);
    for (uint64_t part = below(b, 4) + 1; part; part--) put_text(b, "/"), word(b);
    if (below(b, 3) == 0) put_text(b, "?id="), digits(b, below(b, 1000000), 1);
}

static void log_row(builder *b) {
    static const char *const levels[] = {"INFO", "WARN", "ERROR", "DEBUG"};
    put_text(b, "2024-0"), digits(b, 1 + below(b, 9), 1), put_text(b, "-"),
        digits(b, 10 + below(b, 19), 2);
    put_text(b, " "), digits(b, below(b, 24), 2), put_text(b, ":"), digits(b, below(b, 60), 2),
        put_text(b, ":");
    digits(b, below(b, 60), 2), put_text(b, " "), put_text(b, levels[below(b, 4)]);
    put_text(b, " [worker-"), digits(b, below(b, 32), 1), put_text(b, "] block blk_"),
        digits(b, draw(b) >> 20, 1);
    put_text(b, " "), word(b), put_text(b, " "), word(b);
}

static void utf8_row(builder *b) {
    static const char *const parts[] = {"Größe ", "naïve ", "Привет ", "мир ",   "数据",
                                        "压缩",   "列",     "🙂",    "ñandú ", "λ"};
    for (uint64_t n = below(b, 12); n; n--) put_text(b, parts[below(b, 10)]);
}

/* ---------------------------------------------------------------- one row of each kind */

static void make_row(builder *b, shape_kind kind, uint64_t number, uint64_t target) {
    static const char *const four[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE",
                                       "TAKE BACK RETURN"};
    switch (kind) {
    case SHAPE_NUL_RUNS:
    case SHAPE_FF_RUNS:
        for (uint64_t n = below(b, 8) ? below(b, 20) : below(b, 600); n; n--)
            put_byte(b, kind == SHAPE_NUL_RUNS ? 0 : 255);
        break;
    case SHAPE_NUL_AND_FF:
        for (uint64_t n = below(b, 6); n; n--) {
            put_text(b, below(b, 2) ? "ab" : "abc");
            for (uint64_t m = below(b, 12); m; m--) put_byte(b, below(b, 7) ? 0 : 255);
        }
        break;
    case SHAPE_RANDOM_BYTES:
        for (uint64_t n = below(b, 64); n; n--) put_byte(b, draw(b));
        break;
    case SHAPE_FEW_BYTES:
        for (uint64_t n = below(b, 64); n; n--) put_byte(b, "ACGT"[below(b, 4)]);
        break;
    case SHAPE_WORDS: words_row(b, 5); break;
    case SHAPE_URLS: url_row(b); break;
    case SHAPE_LOG_LINES: log_row(b); break;
    case SHAPE_UTF8: utf8_row(b); break;
    case SHAPE_FOUR_VALUES: put_text(b, four[below(b, 4)]); break;
    case SHAPE_PERIODIC:
        for (uint64_t n = below(b, 100), phase = below(b, 7); n; n--)
            put_byte(b, "xyzxyw\0"[phase++ % 7]);
        break;
    case SHAPE_ALL_LENGTHS:
        for (uint64_t n = number % 300; n; n--) put_byte(b, 'a' + n * n % 26);
        break;
    case SHAPE_PREFIXES:
        put(b, "the quick brown fox jumps over the lazy dog and then sleeps", below(b, 60));
        break;
    case SHAPE_INTEGERS: {
        uint64_t value = number * 3 + below(b, 3);
        put(b, &value, 8);
        break;
    }
    case SHAPE_TINY_ROWS:
        for (uint64_t n = below(b, 4); n; n--) put_byte(b, 'a' + below(b, 5));
        break;
    case SHAPE_EVEN_LENGTHS:
        for (uint64_t n = 16 * (1 + below(b, 4)); n; n--) put_byte(b, 'A' + below(b, 40));
        break;
    case SHAPE_CLERKS: put_text(b, "Clerk#"), digits(b, below(b, 1000), 9); break;
    case SHAPE_LONG_AND_TINY:
        if (number == 3) {
            uint64_t start = b->size;
            while (b->size - start < target / 2) words_row(b, 20);
        } else if (below(b, 3))
            word(b);
        break;
    case SHAPE_DRIFT:
        if (b->size < target / 2)
            words_row(b, 5);
        else
            url_row(b);
        break;
    default: break;
    }
}

static void make_rows(builder *b, shape_kind kind, uint64_t target) {
    if (kind == SHAPE_NO_ROWS) return;
    if (kind == SHAPE_EMPTY_ROWS) {
        for (uint64_t n = 1 + below(b, 700); n; n--) end_row(b);
    } else if (kind == SHAPE_ONE_BYTE) {
        put_byte(b, draw(b));
        end_row(b);
    } else if (kind == SHAPE_ONE_LONG_ROW) {
        while (b->size < target) words_row(b, 20);
        end_row(b);
    } else {
        for (uint64_t number = 0; b->size < target && number < target; number++) {
            make_row(b, kind, number, target);
            end_row(b);
        }
    }
}

/* ---------------------------------------------------------------- the column and its answer */

/* Fills the input and output sides from rows that end at ends[i]; `valid` has one byte per row, or
 * is NULL. */
static void settle(shape *s, const uint8_t *bytes, const uint64_t *ends, uint64_t rows,
                   const uint8_t *valid, const shape_options *options) {
    uint64_t size = rows ? ends[rows - 1] : 0, first = options->first_offset;
    s->bytes = checked(malloc(first + size ? first + size : 1));
    memset(s->bytes, 0xa5, first);
    if (size) memcpy(s->bytes + first, bytes, size);
    s->offsets = checked(malloc((rows + 1) * sizeof *s->offsets));
    s->offsets[0] = first;
    s->out_bytes = checked(malloc(size ? size : 1));
    s->out_offsets = checked(malloc((rows + 1) * sizeof *s->out_offsets));
    s->out_validity = checked(calloc(rows / 8 + 1, 1));
    uint64_t bitmap_bytes = (options->bit_offset + rows + 7) / 8;
    if (valid) {
        s->validity = checked(malloc(bitmap_bytes ? bitmap_bytes : 1));
        memset(s->validity, 0x5a, bitmap_bytes); /* the bits around are garbage */
    }
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t start = i ? ends[i - 1] : 0;
        int is_valid = !valid || valid[i];
        s->offsets[i + 1] = first + ends[i];
        s->out_offsets[i] = s->out_size;
        if (is_valid && ends[i] > start)
            memcpy(s->out_bytes + s->out_size, bytes + start, ends[i] - start);
        if (is_valid) s->out_size += ends[i] - start;
        if (is_valid) s->out_validity[i / 8] |= (uint8_t)(1u << (i % 8));
        s->nulls += !is_valid;
        if (valid) {
            uint64_t bit = options->bit_offset + i;
            s->validity[bit / 8] = (uint8_t)((s->validity[bit / 8] & ~(1u << (bit % 8))) |
                                             (unsigned)is_valid << (bit % 8));
        }
    }
    s->out_offsets[rows] = s->out_size;
    s->rows = (fastpair_rows){.struct_size = sizeof(fastpair_rows),
                              .rows = rows,
                              .bytes = s->bytes,
                              .offsets = s->offsets,
                              .validity = s->validity,
                              .validity_bit_offset = valid ? options->bit_offset : 0};
    if (rows == 0) s->rows.bytes = NULL, s->rows.offsets = NULL;
}

void shape_make(shape *s, shape_kind kind, uint64_t seed, const shape_options *options) {
    memset(s, 0, sizeof *s);
    builder b = {.random = seed * 1000003 + kind};
    make_rows(&b, kind, options->bytes);
    uint8_t *valid = NULL;
    if (options->null_percent || options->validity_always) {
        valid = checked(malloc(b.rows + 1));
        for (uint64_t i = 0; i < b.rows; i++) valid[i] = below(&b, 100) >= options->null_percent;
    }
    snprintf(s->name, sizeof s->name,
             "%s, seed %llu, %llu bytes, %u%% null, bit offset %u, offset %llu",
             shape_kind_name(kind), (unsigned long long)seed, (unsigned long long)options->bytes,
             options->null_percent, options->bit_offset, (unsigned long long)options->first_offset);
    settle(s, b.bytes, b.ends, b.rows, valid, options);
    free(b.bytes), free(b.ends), free(valid);
}

void shape_from_rows(shape *s, const char *name, const uint8_t *bytes, const uint64_t *offsets,
                     const uint8_t *valid, uint64_t rows) {
    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", name);
    uint64_t *ends = checked(malloc((rows + 1) * sizeof *ends));
    for (uint64_t i = 0; i < rows; i++) ends[i] = offsets[i + 1] - offsets[0];
    settle(s, bytes ? bytes + offsets[0] : NULL, ends, rows, valid, &(shape_options){0});
    free(ends);
}

void shape_free(shape *s) {
    free(s->bytes), free(s->offsets), free(s->validity);
    free(s->out_bytes), free(s->out_offsets), free(s->out_validity);
    memset(s, 0, sizeof *s);
}

fastpair_rows shape_slice(const shape *s, uint64_t first, uint64_t count) {
    fastpair_rows view = s->rows;
    view.rows = count;
    if (view.offsets) view.offsets = (const uint64_t *)view.offsets + first;
    view.validity_bit_offset += first;
    return view;
}

const char *shape_kind_name(shape_kind kind) {
    static const char *const names[SHAPE_KINDS] = {
        "no rows",      "empty rows", "one byte",     "NUL runs",      "0xff runs", "NUL and 0xff",
        "random bytes", "few bytes",  "words",        "urls",          "log lines", "utf-8",
        "four values",  "periodic",   "all lengths",  "prefixes",      "integers",  "tiny rows",
        "even lengths", "clerks",     "one long row", "long and tiny", "drift"};
    return kind < SHAPE_KINDS ? names[kind] : "?";
}
