/* truth.h - forged columns whose rows are known, and reading them front to back.
 *
 * Images are built field by field (forge.h), so nothing here depends on the writer: several dictionaries, coded and
 * stored chunks, chunks of empty rows, nulls at any bit, rows that cross many windows of work. */
#ifndef FP_TESTS_TRUTH_H
#define FP_TESTS_TRUTH_H

#include "check.h"
#include "fastpair.h"
#include "forge.h"

/* A column and what its rows are. */
typedef struct truth {
    forge image;
    uint64_t rows, nulls, size;
    uint8_t *bytes;
    uint64_t *offsets;
    uint8_t *valid;
} truth;

#define MOST_TOKENS 300u
static char truth_text[MOST_TOKENS][17];

/* Room for `more` items of `size` bytes behind the first `used`, growing by doubling. */
static inline void *room(void *items, uint64_t used, uint64_t more, uint64_t size) {
    uint64_t before = 64, after = 64;
    while (before < used) before *= 2;
    while (after < used + more) after *= 2;
    if (items && before == after) return items;
    items = realloc(items, after * size);
    if (!items) abort();
    return items;
}

static inline uint32_t add_dictionary(truth *t, uint32_t tokens, uint64_t *random) {
    const char *list[MOST_TOKENS];
    for (uint32_t i = 0; i < tokens; i++) {
        uint32_t length = 1 + (uint32_t)(check_random(random) % 16);
        for (uint32_t j = 0; j < length; j++)
            truth_text[i][j] = (char)(33 + check_random(random) % 90);
        truth_text[i][length] = 0;
        list[i] = truth_text[i];
    }
    forge_dictionary d = forge_plain_dictionary(list, tokens);
    uint32_t bits = d.bits;
    forge_add_dictionary(&t->image, &d);
    return bits;
}

/* A chunk of random rows with the last dictionary, which has `tokens` tokens; 0 tokens: stored. */
static inline void add_chunk(truth *t, uint64_t rows, uint32_t tokens, uint32_t bits,
                             uint32_t batch, uint32_t longest_row, uint32_t null_percent,
                             uint64_t *random) {
    uint64_t codes_size = 0, first_byte = t->size, nulls = t->nulls;
    uint32_t *codes = NULL, *lengths = malloc(rows * sizeof *lengths);
    uint8_t length_of[MOST_TOKENS], *valid = malloc(rows);
    for (uint32_t i = 0; i < tokens; i++) length_of[i] = (uint8_t)strlen(truth_text[i]);
    for (uint64_t row = 0; row < rows; row++) {
        valid[row] = check_random(random) % 100 >= null_percent;
        uint64_t pieces = valid[row] ? check_random(random) % (longest_row + 1) : 0,
                 before = t->size;
        t->bytes = room(t->bytes, t->size, pieces * 16, 1);
        t->offsets = room(t->offsets, t->rows + 1, 1, sizeof *t->offsets);
        t->valid = room(t->valid, t->rows, 1, 1);
        codes = room(codes, codes_size, pieces, sizeof *codes);
        t->valid[t->rows++] = valid[row];
        t->nulls += !valid[row];
        for (uint64_t i = 0; i < pieces; i++) {
            uint32_t code = tokens ? (uint32_t)(check_random(random) % tokens) : 0;
            const char *text = tokens ? truth_text[code] : "stored \n";
            memcpy(t->bytes + t->size, text, strlen(text));
            t->size += strlen(text);
            codes[codes_size++] = code;
        }
        t->offsets[t->rows] = t->size;
        lengths[row] = (uint32_t)(t->size - before);
    }
    forge_chunk c;
    if (tokens && codes_size) {
        c = forge_coded_chunk(codes, codes_size, bits, length_of, batch, lengths, valid, rows);
        c.dictionary = (uint32_t)t->image.dictionaries - 1;
    } else {
        c = forge_stored_chunk(t->bytes + first_byte, t->size - first_byte, lengths, rows);
        c.nulls = t->nulls - nulls;
        if ((c.has_validity = c.nulls != 0)) {
            forge_append(&c.sections[FORGE_VALIDITY], NULL, (rows + 7) / 8);
            for (uint64_t i = 0; i < rows; i++)
                forge_bits(c.sections[FORGE_VALIDITY].data, i, 1, valid[i]);
        }
    }
    forge_add_chunk(&t->image, &c);
    free(codes), free(lengths), free(valid);
}

static inline void truth_begin(truth *t, uint32_t alignment, int framing) {
    memset(t, 0, sizeof *t);
    forge_begin(&t->image, alignment, framing, framing ? '\n' : 0);
    t->image.final_separator = framing;
    t->offsets = room(NULL, 0, 1, sizeof *t->offsets);
    t->bytes = room(NULL, 0, 1, 1);
    t->valid = room(NULL, 0, 1, 1);
    t->offsets[0] = 0;
}

static inline void truth_free(truth *t) {
    free(t->image.file.data), free(t->bytes), free(t->offsets), free(t->valid);
}

/* Everything at once: at least `bytes` decoded bytes, in up to 16 * `scale` rows a chunk. */
static inline truth make_mixed(uint64_t bytes, uint64_t scale, uint32_t alignment,
                               uint64_t *random) {
    truth t;
    truth_begin(&t, alignment, 1);
    static const uint32_t batches[4] = {32, 256, 1024, 96}, tokens[4] = {1, 300, 9, 64};
    for (int i = 0; t.size < bytes || i < 4; i++) {
        uint32_t bits = add_dictionary(&t, tokens[i % 4], random);
        add_chunk(&t, 1 + check_random(random) % (2 * scale), tokens[i % 4], bits, batches[i % 4],
                  9, 0, random);
        add_chunk(&t, 1 + check_random(random) % (scale / 8), tokens[i % 4], bits, 1024,
                  (uint32_t)scale * 15, 20, random);
        add_chunk(&t, 1 + check_random(random) % scale, 0, 0, 0, 20, 30, random); /* stored */
        add_chunk(&t, 1 + check_random(random) % (3 * scale), 0, 0, 0, 0, 50,
                  random); /* empty and null rows only */
        add_chunk(&t, 1 + check_random(random) % (16 * scale), tokens[i % 4], bits, 32, 3, 10,
                  random);
    }
    forge_finish(&t.image);
    return t;
}

/* ---------------------------------------------------------------- streaming */

typedef struct drip {
    const uint8_t *data;
    uint64_t size, at;
    uint64_t most;    /* bytes a call; 0: all asked for */
    uint64_t fail_at; /* EIO when this offset is reached */
} drip;

static inline int drip_read(void *context, void *data, size_t size, size_t *got) {
    drip *d = context;
    uint64_t take = d->size - d->at < size ? d->size - d->at : size;
    if (d->most && take > d->most) take = d->most;
    if (d->at + take > d->fail_at) return 5;
    memcpy(data, d->data + d->at, take);
    d->at += take;
    *got = take;
    return 0;
}

/* Reads to the end or an error; counts the rows given and checks them against `t` where it is not NULL. */
static inline fastpair_status stream(drip *from, const truth *t, uint32_t threads,
                                     const fastpair_allocator *hooks, uint64_t *rows_read,
                                     fastpair_error *error) {
    fastpair_source source = {drip_read, from};
    fastpair_open_options options = {.struct_size = sizeof options};
    if (hooks) options.allocator = *hooks;
    fastpair_reader *reader = NULL;
    uint64_t row = 0, wrong = 0;
    int at_end = 0, has = -1, final = -1;
    uint8_t separator = 9;
    fastpair_status status = fastpair_reader_open(&source, &options, threads, &reader, error);
    while (status == FASTPAIR_OK && !at_end) {
        fastpair_rows got;
        CHECK_EQ(fastpair_reader_get_framing(reader, &has, &separator, &final, NULL), FASTPAIR_OK);
        if (has) CHECK(separator == '\n' && final == 1);
        status = fastpair_reader_next(reader, &got, &at_end, error);
        if (status) {
            fastpair_error again;
            CHECK_EQ(fastpair_reader_next(reader, &got, &at_end, &again),
                     status); /* it stays failed */
            CHECK(!strcmp(error->message, again.message));
            break;
        }
        CHECK_EQ(got.rows == 0, at_end);
        for (uint64_t i = 0; i < got.rows && t; i++, row++) {
            uint64_t start = t->offsets[row], length = t->offsets[row + 1] - start,
                     bit = got.validity_bit_offset + i;
            wrong += got.offsets[i + 1] - got.offsets[i] != length ||
                     (length && memcmp(got.bytes + got.offsets[i], t->bytes + start, length)) ||
                     (got.validity ? got.validity[bit / 8] >> (bit % 8) & 1 : 1) != t->valid[row];
        }
    }
    if (status == FASTPAIR_OK) {
        fastpair_rows got;
        CHECK_EQ(fastpair_reader_next(reader, &got, &at_end, NULL), FASTPAIR_OK);
        CHECK(at_end == 1 && got.rows == 0);
    }
    CHECK_EQ(wrong, 0);
    *rows_read = row;
    fastpair_reader_close(reader);
    return status;
}

#endif
