/* test_forged_frames.c - cold blocks whose frame is no frame, or holds something else than the headers
 * say. All else of the file is right, checksums included.
 *
 * The oracle must refuse each of them, to prove that the lie is one, and so must the library, in every
 * call, in memory that the file's size and the format's limits on frames allow. */
#include "convert.h"
#include "forge.h"
#include "odd_frames.h"
#include "probe.h"

enum { TOKEN_COUNT = 9, CODES = 700, ROWS = 300, BATCH = 32 };
enum { WORDS = 1, BYTES = 2, TOKENS = 4 };

static const char *const tokens[TOKEN_COUNT] = {
    "a", "b", "cd", "efg", "hijk", "lmnopqr", "stuvwxyz", "0123456789", "ABCDEFGHIJKLMNOP"};

typedef struct parts {
    forge_dictionary dictionary;
    forge_chunk chunk;
    int base;
    forge_bytes data;                          /* what the frame of the base holds */
    forge_bytes (*frame)(const forge_bytes *); /* makes it */
    int feature;
} parts;

static parts honest(int base) {
    parts p = {.dictionary = forge_plain_dictionary(tokens, TOKEN_COUNT), .base = base};
    uint32_t codes[CODES], lengths[ROWS] = {0};
    uint8_t length_of[TOKEN_COUNT], valid[ROWS];
    uint64_t random = 5;
    for (uint32_t i = 0; i < TOKEN_COUNT; i++) length_of[i] = (uint8_t)strlen(tokens[i]);
    for (uint32_t i = 0; i < ROWS; i++) valid[i] = i % 10 != 9;
    for (uint32_t i = 0; i < CODES; i++) {
        uint32_t row = i * ROWS / CODES / 3 * 3; /* of three rows two are empty or null */
        codes[i] = (uint32_t)(check_random(&random) % TOKEN_COUNT);
        lengths[valid[row] ? row : row - 1] += length_of[codes[i]];
    }
    forge_rows rows = {lengths, valid, ROWS};
    forge_codes all = {codes, CODES, p.dictionary.bits, length_of, BATCH};
    if (base == BYTES) {
        uint64_t size = 0;
        for (uint32_t i = 0; i < ROWS; i++) size += lengths[i];
        uint8_t *bytes = malloc(size);
        for (uint64_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i / 7);
        p.chunk = forge_stored_chunk(bytes, size, &rows);
        p.chunk.encoding = 2;
        forge_append(&p.data, bytes, size);
        free(bytes);
    } else {
        p.chunk = forge_coded_chunk(&all, &rows);
    }
    if (base == WORDS) {
        forge_make_coded_cold(&p.chunk, &all, &rows, TOKEN_COUNT, p.dictionary.longest);
        const forge_bytes *raw = &p.chunk.sections[FORGE_CODES]; /* 14 + 3 bytes before the words */
        forge_append(&p.data, raw->data + 17, raw->size - 17);
    }
    if (base == TOKENS) {
        forge_append(&p.data, p.dictionary.section.data, p.dictionary.section.size);
        forge_make_dictionary_cold(&p.dictionary);
    }
    p.frame = as_zstd_does;
    p.feature = 1;
    return p;
}

static forge_bytes assemble(parts *p) {
    forge_bytes *section =
        p->base == TOKENS ? &p->dictionary.section : &p->chunk.sections[FORGE_CODES];
    free(section->data);
    *section = p->frame(&p->data);
    forge f;
    forge_begin(&f, 64, 0, 0);
    if (p->feature) forge_says_cold(&f);
    forge_add_dictionary(&f, &p->dictionary);
    forge_add_chunk(&f, &p->chunk);
    forge_finish(&f);
    free(p->data.data);
    return f.file;
}

/* ---------------------------------------------------------------- words */

static void word(parts *p, uint64_t i, uint32_t value) {
    forge_put(p->data.data + 2 * i, value, 2);
}

/* The first word of this value, not counting the last word. */
static uint64_t find_word(const parts *p, uint32_t value) {
    for (uint64_t i = 0; i + 1 < p->data.size / 2; i++)
        if (forge_get(p->data.data + 2 * i, 2) == value) return i;
    abort();
}

static uint64_t find_pair(const parts *p, uint32_t first, uint32_t second) {
    for (uint64_t i = 0; i + 2 < p->data.size / 2; i++)
        if (forge_get(p->data.data + 2 * i, 2) == first &&
            forge_get(p->data.data + 2 * i + 2, 2) == second)
            return i;
    abort();
}

/* The end of a null row changes places with a word after it that is a code. */
static void null_with_codes(parts *p) {
    uint64_t i = find_word(p, TOKEN_COUNT + 1), k = i + 1;
    while (forge_get(p->data.data + 2 * k, 2) >= TOKEN_COUNT) k++;
    uint32_t code = (uint32_t)forge_get(p->data.data + 2 * k, 2);
    for (uint64_t n = k; n > i; n--) word(p, n, (uint32_t)forge_get(p->data.data + 2 * (n - 1), 2));
    word(p, i, code);
}

#define LIE(base, name, ...)                                                                       \
    static void lie_##base##_##name(parts *p) {                                                    \
        forge_dictionary *d = &p->dictionary;                                                      \
        forge_chunk *c = &p->chunk;                                                                \
        (void)d, (void)c;                                                                          \
        __VA_ARGS__;                                                                               \
    }
#include "forged_frames.def"
#undef LIE

static const struct {
    const char *name;
    int base;
    void (*tell)(parts *);
} lies[] = {
#define LIE(base, name, ...) {#base ": " #name, base, lie_##base##_##name},
#include "forged_frames.def"
#undef LIE
};

/* The library refuses the image in every call, and takes little memory to find out. */
static void must_refuse(const char *what, const forge_bytes *image, uint64_t most) {
    unsigned long long before = check_failed;
    counting memory;
    counting_start(&memory);
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .allocator = counting_hooks(&memory)};
    fastpair_column *column = NULL;
    fastpair_error error = {.message = ""};
    fastpair_status status =
        fastpair_column_open(image->data, image->size, &options, &column, &error);
    if (!status) status = fastpair_column_validate(column, &error);
    CHECK(status == FASTPAIR_ERROR_CORRUPT || status == FASTPAIR_ERROR_LIMIT);
    CHECK(error.position <= image->size && error.message[0]);
    fastpair_column_close(column);
    verify_source from = {image->data, image->size, 0, 0};
    fastpair_source source = {verify_read, &from};
    fastpair_reader *reader = NULL;
    fastpair_rows rows = {.struct_size = sizeof rows};
    int at_end = 0;
    status = reader_open_with(2, &source, &options, &reader, &error);
    while (!status && !at_end) status = fastpair_reader_next(reader, &rows, &at_end, &error);
    CHECK(status == FASTPAIR_ERROR_CORRUPT || status == FASTPAIR_ERROR_LIMIT);
    fastpair_reader_close(reader);
    CHECK(memory.peak_bytes <= most);
    if (memory.peak_bytes > most)
        fprintf(stderr, "  ^ took %llu\n", (unsigned long long)memory.peak_bytes);
    CHECK_EQ(memory.live, 0);
    verify_note(before, what, "lie");
}

static void tell_lies(uint64_t *random) {
    for (int base = WORDS; base <= TOKENS; base *= 2) {
        parts p = honest(base);
        forge_bytes image = assemble(&p);
        probe_by_oracle("honest", image.data, image.size, random);
        oracle_column oracle;
        CHECK(oracle_decode(image.data, image.size, &oracle));
        if (oracle.why[0]) fprintf(stderr, "  ^ base %d: %s\n", base, oracle.why);
        oracle_free(&oracle), free(image.data);
    }
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        parts p = honest(lies[i].base);
        lies[i].tell(&p);
        /* Nothing is allocated that only one header claims; a megabyte is for zstd and tables. */
        uint64_t words = p.chunk.codes + p.chunk.rows, most = 1u << 20;
        forge_bytes image = assemble(&p);
        oracle_column oracle;
        int believed = oracle_decode(image.data, image.size, &oracle);
        CHECK(!believed);
        if (believed) fprintf(stderr, "  ^ the oracle believes %s\n", lies[i].name);
        oracle_free(&oracle);
        must_refuse(lies[i].name, &image, most + 64 * image.size);
        if (words < 1u << 24) /* a reader refuses more by its limit, without reading it */
            probe(lies[i].name, image.data, image.size, NULL, PROBE_REFUSE, random);
        free(image.data);
    }
}

int main(void) {
    if (!frames_available()) return only_refusals();
    uint64_t random = verify_seed();
    tell_lies(&random);
    return check_done();
}
