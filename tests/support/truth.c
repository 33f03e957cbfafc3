/* truth.c - columns forged from random tokens, and the rows they must decode to. */
#include "truth.h"

/* Room for `more` items of `size` bytes after the first `used`, growing by doubling. */
static void *room(void *items, uint64_t used, uint64_t more, uint64_t size) {
    uint64_t before = 64, after = 64;
    while (before < used) before *= 2;
    while (after < used + more) after *= 2;
    if (items && before == after) return items;
    items = realloc(items, after * size);
    if (!items) abort();
    return items;
}

void truth_begin(truth *t, uint32_t alignment, int framing) {
    memset(t, 0, sizeof *t);
    forge_begin(&t->image, alignment, framing, framing ? '\n' : 0);
    t->image.final_separator = framing;
    t->offsets = room(NULL, 0, 1, sizeof *t->offsets);
    t->bytes = room(NULL, 0, 1, 1);
    t->valid = room(NULL, 0, 1, 1);
    t->offsets[0] = 0;
}

void truth_free(truth *t) {
    for (int i = 0; i < 2; i++) free(t->image.entries[i].data);
    free(t->image.file.data), free(t->bytes), free(t->offsets), free(t->valid);
}

void truth_add_dictionary(truth *t, uint32_t tokens, uint64_t *random) {
    const char *list[TRUTH_MOST_TOKENS];
    if (tokens > TRUTH_MOST_TOKENS) abort();
    for (uint32_t i = 0; i < tokens; i++) {
        uint32_t length = 1 + (uint32_t)(check_random(random) % 16);
        for (uint32_t j = 0; j < length; j++)
            t->text[i][j] = (char)(33 + check_random(random) % 90);
        t->text[i][length] = 0;
        t->length_of[i] = (uint8_t)length;
        list[i] = t->text[i];
    }
    forge_dictionary d = forge_plain_dictionary(list, tokens);
    t->tokens = tokens;
    t->bits = d.bits;
    forge_add_dictionary(&t->image, &d);
}

/* Appends a row of `pieces` random tokens, and their codes; of a fixed text if there are no
 * tokens. */
static void add_row(truth *t, uint64_t pieces, uint32_t tokens, uint32_t *codes, uint64_t *random) {
    t->bytes = room(t->bytes, t->size, pieces * 16, 1);
    t->offsets = room(t->offsets, t->rows + 1, 1, sizeof *t->offsets);
    for (uint64_t i = 0; i < pieces; i++) {
        codes[i] = tokens ? (uint32_t)(check_random(random) % tokens) : 0;
        const char *text = tokens ? t->text[codes[i]] : "stored \n";
        memcpy(t->bytes + t->size, text, strlen(text));
        t->size += strlen(text);
    }
    t->offsets[++t->rows] = t->size;
}

/* A chunk of random rows; 0 tokens: stored. */
static void add_chunk(truth *t, const truth_chunk *shape, uint32_t tokens, uint64_t *random) {
    uint64_t count = 0, first_byte = t->size;
    uint32_t *codes = NULL, *lengths = malloc(shape->rows * sizeof *lengths);
    uint8_t *valid = malloc(shape->rows);
    if (!lengths || !valid) abort();
    for (uint64_t row = 0; row < shape->rows; row++) {
        valid[row] = check_random(random) % 100 >= shape->null_percent;
        uint64_t pieces = valid[row] ? check_random(random) % (shape->longest_row + 1) : 0;
        uint64_t before = t->size;
        codes = room(codes, count, pieces, sizeof *codes);
        t->valid = room(t->valid, t->rows, 1, 1);
        t->valid[t->rows] = valid[row];
        t->nulls += !valid[row];
        add_row(t, pieces, tokens, codes + count, random);
        count += pieces;
        lengths[row] = (uint32_t)(t->size - before);
    }
    forge_rows rows = {lengths, valid, shape->rows};
    forge_chunk c;
    if (tokens && count) {
        c = forge_coded_chunk(&(forge_codes){codes, count, t->bits, t->length_of, shape->batch},
                              &rows);
        c.dictionary = (uint32_t)t->image.dictionaries - 1;
    } else {
        c = forge_stored_chunk(t->bytes + first_byte, t->size - first_byte, &rows);
    }
    forge_add_chunk(&t->image, &c);
    free(codes), free(lengths), free(valid);
}

void truth_add_coded(truth *t, const truth_chunk *shape, uint64_t *random) {
    add_chunk(t, shape, t->tokens, random);
}

void truth_add_stored(truth *t, const truth_chunk *shape, uint64_t *random) {
    add_chunk(t, shape, 0, random);
}

truth truth_mixed(uint64_t bytes, uint64_t scale, uint32_t alignment, uint64_t *random) {
    static const uint32_t batches[4] = {32, 256, 1024, 96}, tokens[4] = {1, 300, 9, 64};
    truth t;
    truth_begin(&t, alignment, 1);
    for (int i = 0; t.size < bytes || i < 4; i++) {
        truth_chunk shape = {.batch = batches[i % 4], .longest_row = 9};
        truth_add_dictionary(&t, tokens[i % 4], random);
        shape.rows = 1 + check_random(random) % (2 * scale);
        truth_add_coded(&t, &shape, random);
        shape = (truth_chunk){.batch = 1024, .longest_row = (uint32_t)scale * 15};
        shape.null_percent = 20, shape.rows = 1 + check_random(random) % (scale / 8);
        truth_add_coded(&t, &shape, random);
        shape = (truth_chunk){.longest_row = 20, .null_percent = 30};
        shape.rows = 1 + check_random(random) % scale;
        truth_add_stored(&t, &shape, random);
        shape = (truth_chunk){.longest_row = 0, .null_percent = 50}; /* empty and null rows only */
        shape.rows = 1 + check_random(random) % (3 * scale);
        truth_add_stored(&t, &shape, random);
        shape = (truth_chunk){.batch = 32, .longest_row = 3, .null_percent = 10};
        shape.rows = 1 + check_random(random) % (16 * scale);
        truth_add_coded(&t, &shape, random);
    }
    forge_finish(&t.image);
    return t;
}
