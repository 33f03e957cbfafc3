/* test_forged_fields.c - lies that checksums cannot catch, each in a file that is right in all else.
 *
 * Forged columns of 599 rows, 3 length blocks and, if coded, 57 batches are altered in one respect
 * and sealed. The oracle must refuse them, to prove that the lie is one, and so must the library;
 * decoding without asking must stay in bounds. */
#include "forge.h"
#include "probe.h"

#define TOKENS    9u
#define CODES     1797u
#define ROWS      599u
#define BATCH     32u
#define LENGTHS_Q 3u  /* length blocks */
#define WIDTH     12u /* bits of a packed row length */

static const char *const tokens[TOKENS] = {
    "a", "b", "cd", "efg", "hijk", "lmnopqr", "stuvwxyz", "0123456789", "ABCDEFGHIJKLMNOP"};

/* Which columns a lie is told of. */
enum { CODED = 1, NULLS = 2, ANY = 4 };
static const struct {
    const char *name;
    int traits;
} bases[] = {{"coded, nulls", CODED | NULLS | ANY},
             {"coded", CODED | ANY},
             {"stored, nulls", NULLS | ANY},
             {"stored", ANY}};

typedef struct column_parts {
    forge_dictionary dictionary;
    forge_chunk chunk;
} column_parts;

static column_parts honest(int traits, uint64_t seed) {
    column_parts p = {.dictionary = forge_plain_dictionary(tokens, TOKENS)};
    uint32_t codes[CODES], lengths[ROWS] = {0};
    uint8_t length_of[TOKENS], valid[ROWS];
    for (uint32_t i = 0; i < TOKENS; i++) length_of[i] = (uint8_t)strlen(tokens[i]);
    for (uint32_t i = 0; i < ROWS; i++) valid[i] = !(traits & NULLS) || i % 10 != 9;
    uint64_t random = seed;
    for (uint32_t i = 0; i < CODES; i++) {
        codes[i] = i / 3 == 301 ? TOKENS - 1 : (uint32_t)(check_random(&random) % TOKENS);
        uint32_t to = i / 3;
        lengths[valid[to] ? to : to - 1] += length_of[codes[i]];
    }
    forge_rows rows = {lengths, valid, ROWS};
    p.chunk =
        forge_coded_chunk(&(forge_codes){codes, CODES, p.dictionary.bits, length_of, BATCH}, &rows);
    free(p.chunk.sections[FORGE_LENGTHS].data);
    p.chunk.sections[FORGE_LENGTHS] = forge_lengths(&rows, WIDTH);
    if (!(traits & CODED)) {
        uint8_t *bytes = calloc(p.chunk.decoded, 1);
        forge_chunk stored = forge_stored_chunk(bytes, p.chunk.decoded, &rows);
        for (int i = FORGE_LENGTHS; i <= FORGE_VALIDITY; i++) {
            free(stored.sections[i].data);
            stored.sections[i] = p.chunk.sections[i];
        }
        stored.nulls = p.chunk.nulls, stored.has_validity = p.chunk.has_validity;
        free(p.chunk.sections[FORGE_CODES].data), free(p.chunk.sections[FORGE_SIDECAR].data),
            free(bytes);
        p.chunk = stored;
    }
    return p;
}

/* ---------------------------------------------------------------- the lies */

static uint8_t *run(column_parts *p, int i) { return p->dictionary.section.data + 8 * i; }
static uint8_t *length_entry(column_parts *p, int i) {
    return p->chunk.sections[FORGE_LENGTHS].data + 16 * i;
}
static uint8_t *position(column_parts *p, int i) {
    return p->chunk.sections[FORGE_SIDECAR].data + 4 * i;
}
static uint8_t *number(column_parts *p,
                       int i) { /* 57 batches, groups of 128: one position in front */
    return p->chunk.sections[FORGE_SIDECAR].data + 4 + 2 * i;
}
static uint8_t *last_byte(forge_bytes *section) { return section->data + section->size - 1; }
static void add(uint8_t *at, int64_t more, int width) {
    forge_put(at, forge_get(at, width) + (uint64_t)more, width);
}

static void code(column_parts *p, uint32_t i, uint32_t value) {
    uint8_t *codes = p->chunk.sections[FORGE_CODES].data; /* 4 bits each */
    codes[i / 2] =
        (uint8_t)(i % 2 ? (codes[i / 2] & 15) | value << 4 : (codes[i / 2] & 240) | value);
}

/* The same codes, of another width. */
static void repack(column_parts *p, uint32_t bits) {
    forge_bytes old = p->chunk.sections[FORGE_CODES], packed = {0};
    forge_append(&packed, NULL, (CODES * bits + 127) / 128 * 16);
    for (uint32_t i = 0; i < CODES; i++)
        forge_bits(packed.data, i * bits, bits, old.data[i / 2] >> i % 2 * 4 & 15);
    free(old.data);
    p->chunk.sections[FORGE_CODES] = packed;
}

/* Adds to a row's packed length, modulo 2^12. */
static void row(column_parts *p, uint32_t i, int more) {
    uint8_t *packed = length_entry(p, LENGTHS_Q) + i / 256 * (256 * WIDTH / 8);
    uint32_t bit = i % 256 * WIDTH,
             old = (uint32_t)forge_get(packed + bit / 8, 2) >> (bit % 8) & 4095;
    uint32_t word = (uint32_t)forge_get(packed + bit / 8, 2) & ~(4095u << (bit % 8));
    forge_put(packed + bit / 8, word | (old + (uint32_t)more) % 4096 << (bit % 8), 2);
}

/* Only the middle block has packed lengths: too wide, but the section ends with them. */
static void wide_block(column_parts *p, uint32_t width) {
    forge_bytes *section = &p->chunk.sections[FORGE_LENGTHS];
    uint64_t directory = 16 * LENGTHS_Q, bytes = 256 * width / 8;
    section->size = directory;
    forge_append(section, NULL, bytes);
    length_entry(p, 0)[12] = length_entry(p, 2)[12] = 0;
    length_entry(p, 1)[12] = (uint8_t)width;
    forge_put(length_entry(p, 1) + 4, 0, 4);
    forge_put(length_entry(p, 2) + 4, bytes, 4);
}

#define LIE(bases_of_it, name, ...)                                                                \
    static void lie_##name(column_parts *p) {                                                      \
        forge_dictionary *d = &p->dictionary;                                                      \
        forge_chunk *c = &p->chunk;                                                                \
        (void)d, (void)c;                                                                          \
        __VA_ARGS__;                                                                               \
    }
#include "forged_fields.def"
#undef LIE

static const struct {
    const char *name;
    int of;
    void (*tell)(column_parts *);
} lies[] = {
#define LIE(of, name, ...) {#name, of, lie_##name},
#include "forged_fields.def"
#undef LIE
};

static forge_bytes assemble(column_parts *p) { return forge_column(&p->dictionary, &p->chunk); }

/* The oracle finds nothing at all to object to. */
static int believes(const forge_bytes *image) {
    oracle_column o;
    int good = oracle_decode(image->data, image->size, &o);
    good = good && !o.gaps_not_zero && !o.padding_not_zero && !o.rows_cut_tokens &&
           !o.empty_slots_used;
    oracle_free(&o);
    return good;
}

static void tell_lies(size_t base, uint64_t seed, uint64_t *random) {
    column_parts truth = honest(bases[base].traits, seed);
    forge_bytes image = assemble(&truth);
    CHECK(believes(&image));
    probe_by_oracle(bases[base].name, image.data, image.size, random);
    free(image.data);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        if (!(lies[i].of & bases[base].traits)) continue;
        column_parts p = honest(bases[base].traits, seed);
        char what[100];
        snprintf(what, sizeof what, "%s: %s", bases[base].name, lies[i].name);
        lies[i].tell(&p);
        image = assemble(&p);
        int believed = believes(&image);
        CHECK(!believed);
        if (believed) fprintf(stderr, "  ^ the oracle believes %s\n", what);
        for (int again = 0; again < 6; again++) /* other ranges and rows each time */
            probe(what, image.data, image.size, NULL, PROBE_REFUSE, random);
        free(image.data);
    }
}

/* ---------------------------------------------------------------- length classes and hot parts */

/* Order 1, classes of 4 codes: hot part of 8 slots (2 tokens of 1 byte, 1 of 3), cold part (1 of 2
 * bytes, 2 of 9). Run entries and header fields are altered; only the first row is the truth. */
static void hot_parts(uint64_t *random) {
    static const struct {
        const char *what;
        uint32_t order, shift, slots, tokens, hot, run, first, count, length;
    } cases[] = {
        {"right", 1, 2, 16, 6, 8, 0, 0, 2, 1},
        {"hot part is all", 1, 2, 16, 6, 16, 0, 0, 2, 1},
        {"hot part beyond N", 1, 2, 16, 6, 20, 0, 0, 2, 1},
        {"hot part cuts a group", 1, 2, 16, 6, 6, 0, 0, 2, 1},
        {"hot part with no order", 0, 0, 16, 6, 8, 0, 0, 2, 1},
        {"no hot part, lengths fall", 1, 2, 16, 6, 0, 0, 0, 2, 1},
        {"hot part ends early", 1, 2, 16, 6, 4, 0, 0, 2, 1},
        {"hot part ends late", 1, 2, 16, 6, 12, 0, 0, 2, 1},
        {"cold part begins late", 1, 2, 24, 6, 8, 2, 12, 1, 2},
        {"run crosses into the cold part", 1, 2, 16, 10, 8, 1, 4, 5, 3},
        {"same length twice", 1, 2, 16, 6, 8, 3, 12, 2, 2},
        {"lengths fall in the hot part", 1, 2, 16, 6, 8, 0, 0, 2, 4},
        {"run inside a group", 1, 2, 16, 6, 8, 3, 13, 2, 9},
        {"run ends past N", 1, 2, 16, 9, 8, 3, 12, 5, 9},
        {"shift too large for the runs", 1, 3, 16, 6, 8, 0, 0, 2, 1},
        {"one token more", 1, 2, 16, 7, 8, 0, 0, 2, 1},
        {"one token fewer", 1, 2, 16, 5, 8, 0, 0, 2, 1},
        {"first run at 4", 1, 2, 16, 6, 8, 0, 4, 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t runs[4][3] = {{0, 2, 1}, {4, 1, 3}, {8, 1, 2}, {12, 2, 9}}, lengths[1] = {2},
                 codes[2] = {0, 0};
        runs[cases[i].run][0] = cases[i].first, runs[cases[i].run][1] = cases[i].count;
        runs[cases[i].run][2] = cases[i].length;
        forge_dictionary d = {
            .codec = 2, .longest = 16, .runs = 4, .bits = cases[i].slots > 16 ? 5 : 4};
        d.order = cases[i].order, d.shift = cases[i].shift, d.slots = cases[i].slots,
        d.tokens = cases[i].tokens;
        d.hot = cases[i].hot;
        uint64_t bytes = 0;
        for (int r = 0; r < 4; r++) {
            uint8_t *entry = forge_append(&d.section, NULL, 8);
            forge_put(entry, runs[r][0], 4), forge_put(entry + 4, runs[r][1] - 1, 2),
                entry[6] = (uint8_t)runs[r][2];
            bytes += runs[r][1] * runs[r][2];
        }
        forge_append(&d.section,
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;", bytes);
        uint8_t length_of[1] = {1};
        forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 2, d.bits, length_of, 32},
                                          &(forge_rows){lengths, NULL, 1});
        if (cases[i].run == 0 && cases[i].length != 1) { /* the code stays what it says it is */
            c.decoded = 8, c.largest = c.largest_pair = c.largest_four = 8, c.by_length[0] = 0,
            c.by_length[3] = 2;
            forge_put(c.sections[FORGE_LENGTHS].data + 16, 8, 4);
        }
        forge f;
        forge_begin(&f, 64, 0, 0);
        forge_add_dictionary(&f, &d);
        forge_add_chunk(&f, &c);
        forge_finish(&f);
        CHECK_EQ(believes(&f.file), i == 0);
        probe_by_oracle(cases[i].what, f.file.data, f.file.size, random);
        free(f.file.data);
    }
}

/* Order 1 with gaps between the classes. A code in a gap must be found by validation; a decoder
 * that lets it pass gives zero bytes of the class's length, the same everywhere. */
static void empty_slots(uint64_t *random) {
    for (uint32_t bad = 0; bad < 3; bad++) {
        forge_dictionary d = {.codec = 1,
                              .bits = 4,
                              .longest = 16,
                              .order = 1,
                              .shift = 2,
                              .slots = 16,
                              .tokens = 4,
                              .runs = 3};
        static const uint8_t runs[3][8] = {
            {0, 0, 0, 0, 1, 0, 1, 0}, {4, 0, 0, 0, 0, 0, 3, 0}, {8, 0, 0, 0, 0, 0, 9, 0}};
        forge_append(&d.section, runs, 24);
        forge_append(&d.section, "xyabc123456789", 14);
        static const uint8_t length_of[16] = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 9, 9, 9, 9};
        static const uint32_t gap[3] = {0, 6, 15}; /* 0 has a token: the file is good */
        uint32_t codes[40], lengths[40];
        for (uint32_t i = 0; i < 40; i++) {
            codes[i] = i % 7 == 3 ? gap[bad] : ((const uint32_t[]){0, 1, 4, 8})[i % 4];
            lengths[i] = length_of[codes[i]];
        }
        forge f;
        forge_begin(&f, 64, 0, 0);
        forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 40, 4, length_of, 32},
                                          &(forge_rows){lengths, NULL, 40});
        forge_add_dictionary(&f, &d);
        forge_add_chunk(&f, &c);
        forge_finish(&f);
        probe_by_oracle("empty slots", f.file.data, f.file.size, random);
        oracle_column oracle;
        CHECK(oracle_decode(f.file.data, f.file.size, &oracle));
        CHECK_EQ(oracle.empty_slots_used, bad > 0);
        for (uint32_t level = 1; level < VERIFY_LEVELS; level++) {
            fastpair_open_options options = {.struct_size = sizeof options, .cpu_level = level};
            fastpair_column *column = NULL;
            if (fastpair_column_open(f.file.data, f.file.size, &options, &column, NULL) !=
                FASTPAIR_OK)
                continue;
            guard bytes = guard_make(oracle.decoded_bytes);
            fastpair_destination to = to_memory(bytes.data, oracle.decoded_bytes, NULL, 0, NULL);
            fastpair_status status = decode_with(1, column, 0, 40, &to, NULL);
            CHECK(status == FASTPAIR_OK || (bad && status == FASTPAIR_ERROR_CORRUPT));
            if (status == FASTPAIR_OK)
                CHECK(!memcmp(bytes.data, oracle.bytes, oracle.decoded_bytes));
            CHECK(guard_free(&bytes));
            fastpair_column_close(column);
        }
        oracle_free(&oracle);
        free(f.file.data);
    }
}

/* ---------------------------------------------------------------- sections full of nonsense */

/* A column large enough for several decoding windows, whose sections are overwritten in place. What
 * comes out is anyone's guess, but it comes out inside the buffers: decoding does not look at
 * checksums, so these bytes reach the innermost loops. */
static void wild_sections(uint64_t seed, uint32_t times, uint64_t *random) {
    shape s;
    shape_make(&s, SHAPE_WORDS, seed, &(shape_options){.bytes = 500000, .null_percent = 5});
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12};
    options.expert = EXPERT(.batch_codes = 64), options.chunk_bytes = 300000;
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    if (!verify_ok(fastpair_compress(&s.rows, &options, &image, &size, &error), &error, s.name))
        return;
    uint8_t *copy = malloc(size);
    for (uint32_t i = 0; i < times; i++) {
        memcpy(copy, image, size);
        uint64_t chunk = forge_block(copy, size, "FPCH", i / 4 % 2),
                 entry = chunk + 208 + 24 * (uint64_t)(i % 4);
        uint64_t at = chunk + forge_get(copy + entry, 8), length = forge_get(copy + entry + 8, 8);
        uint64_t first = check_random(random) % length,
                 last = first + 1 + check_random(random) % 40;
        if (i / 8 % 4 == 0) first = 0, last = length;
        if (last > length) last = length;
        for (uint64_t k = first; k < last; k++) {
            switch (i / 8 % 5) {
            case 0: copy[at + k] = (uint8_t)check_random(random); break;
            case 1: copy[at + k] = 255; break;
            case 2: copy[at + k] = 0; break;
            case 3: copy[at + k] = copy[at + check_random(random) % length]; break;
            default: copy[at + k] = (uint8_t)(copy[at + k] + 1); break;
            }
        }
        fastpair_open_options open = {.struct_size = sizeof open, .cpu_level = i % 3 ? 0 : 1};
        fastpair_column *column = NULL;
        CHECK_EQ(fastpair_column_open(copy, size, &open, &column, &error), FASTPAIR_OK);
        for (int again = 0; again < 3; again++) probe_decode(column, size, s.rows.rows, random);
        CHECK(validate_with(2, column, NULL) != FASTPAIR_OK || !memcmp(copy, image, size));
        fastpair_column_close(column);
    }
    free(copy);
    fastpair_free(NULL, image);
    shape_free(&s);
}

int main(void) {
    uint64_t seed = verify_seed(), random = seed;
    for (size_t base = 0; base < sizeof bases / sizeof bases[0]; base++)
        tell_lies(base, seed, &random);
    hot_parts(&random);
    empty_slots(&random);
    wild_sections(seed, check_scaled(300), &random);
    return check_done();
}
