/* sections.c - from an image to 16-bit codes and tables of tokens. In: a valid `.fpc` image. Out:
 * its chunks and dictionaries in file order. Numbers below are offsets of docs/format.md. Checks
 * nothing: measuring programs validate an image before they take it apart. */
#include "sections.h"

#include <stdlib.h>
#include <string.h>

enum {
    TRAILER_BYTES = 32,
    FOOTER_DICTIONARIES = 16,
    FOOTER_CHUNKS = 24,
    FOOTER_ENTRIES = 112,
    DICT_ENTRY_BYTES = 24,
    CHUNK_ENTRY_BYTES = 32,
    DICT_CODE_BITS = 17,
    DICT_FORM = 21,
    DICT_TOKENS = 28,
    DICT_RUNS = 36,
    DICT_SECTION = 48,
    RUN_BYTES = 8,
    CHUNK_ENCODING = 16,
    CHUNK_DICTIONARY = 20,
    CHUNK_CODES = 40,
    CHUNK_DECODED_BYTES = 48,
    CHUNK_SECTION = 208
};

/* A little-endian number of `bytes` bytes; fastpair runs on little-endian machines alone. */
static uint64_t number(const uint8_t *from, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, from, bytes);
    return value;
}

/* Folded tokens: section 2.3 of the page. */
typedef struct folded {
    const uint8_t *bits;
    uint64_t at;     /* bits taken */
    uint8_t *bytes;  /* of all tokens so far */
    uint64_t *first; /* where each of them begins, and where the last ends */
    uint64_t tokens;
} folded;

static uint32_t width(uint64_t n) {
    uint32_t bits = 0;
    while (1ull << bits < n) bits++;
    return bits;
}

static uint64_t take(folded *from, uint32_t count) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++, from->at++)
        value |= (uint64_t)(from->bits[from->at / 8] >> from->at % 8 & 1) << i;
    return value;
}

/* Appends the next token. */
static const uint8_t *unfold(folded *from, uint64_t length) {
    uint64_t before = from->first[from->tokens], at = before, end = before + length;
    while (end - at > 1) {
        uint64_t piece, count;
        if (!take(from, 1)) {
            uint64_t token = take(from, width(from->tokens));
            piece = from->first[token], count = from->first[token + 1] - piece;
        } else if (!take(from, 1)) {
            from->bytes[at++] = (uint8_t)take(from, 8);
            continue;
        } else {
            piece = take(from, width(before)), count = 2 + take(from, width(end - at - 1));
        }
        memcpy(from->bytes + at, from->bytes + piece, count);
        at += count;
    }
    if (at < end) from->bytes[at] = (uint8_t)take(from, 8);
    from->first[++from->tokens] = end;
    return from->bytes + before;
}

static bool read_dictionary(const uint8_t *block, bench_dictionary *to) {
    to->code_bits = block[DICT_CODE_BITS];
    size_t codes = (size_t)1 << to->code_bits;
    to->cells = calloc(codes, sizeof *to->cells);
    to->lengths = malloc(codes);
    if (!to->cells || !to->lengths) return false;
    memset(to->lengths, 1, codes);
    uint64_t runs = number(block + DICT_RUNS, 4);
    const uint8_t *run = block + number(block + DICT_SECTION, 8), *token = run + runs * RUN_BYTES;
    uint64_t tokens = number(block + DICT_TOKENS, 4);
    bool is_folded = block[DICT_FORM] == 2;
    folded from = {token, 0, malloc(tokens * 64), calloc(tokens + 1, sizeof *from.first), 0};
    bool good = from.bytes && from.first;
    for (; good && runs; runs--, run += RUN_BYTES) {
        uint64_t code = number(run, 4), end = code + number(run + 4, 2) + 1;
        uint8_t length = run[6];
        for (; code < end; code++, token += length) {
            to->lengths[code] = length;
            memcpy(to->cells[code], is_folded ? unfold(&from, length) : token, length);
        }
    }
    free(from.bytes);
    free(from.first);
    return good;
}

static bool read_chunk(const uint8_t *block, const bench_dictionary *dictionaries,
                       bench_chunk *to) {
    const uint8_t *section = block + number(block + CHUNK_SECTION, 8);
    to->decoded_bytes = number(block + CHUNK_DECODED_BYTES, 8);
    if (!block[CHUNK_ENCODING]) {
        to->stored = section;
        return true;
    }
    to->dictionary = (uint32_t)number(block + CHUNK_DICTIONARY, 4);
    to->count = number(block + CHUNK_CODES, 8);
    to->codes = malloc((size_t)to->count * sizeof *to->codes);
    if (!to->codes) return false;
    const uint32_t bits = dictionaries[to->dictionary].code_bits;
    for (uint64_t i = 0; i < to->count; i++) {
        uint64_t bit = i * bits, bytes = (bit % 8 + bits + 7) / 8; /* at most 3 */
        to->codes[i] = (uint16_t)(number(section + bit / 8, bytes) >> bit % 8 & ((1u << bits) - 1));
    }
    return true;
}

bool bench_sections_open(const uint8_t *image, uint64_t size, bench_sections *sections) {
    const uint8_t *footer = image + number(image + size - TRAILER_BYTES, 8);
    uint64_t dictionaries = number(footer + FOOTER_DICTIONARIES, 8),
             chunks = number(footer + FOOTER_CHUNKS, 8);
    const uint8_t *entry = footer + FOOTER_ENTRIES;
    *sections = (bench_sections){.dictionaries = calloc(dictionaries + 1, sizeof(bench_dictionary)),
                                 .chunks = calloc(chunks + 1, sizeof(bench_chunk))};
    bool good = sections->dictionaries && sections->chunks;
    for (uint64_t i = 0; i < dictionaries && good; i++, entry += DICT_ENTRY_BYTES) {
        good = read_dictionary(image + number(entry, 8), &sections->dictionaries[i]);
        sections->dictionary_count = i + 1;
    }
    for (uint64_t i = 0; i < chunks && good; i++, entry += CHUNK_ENTRY_BYTES) {
        good = read_chunk(image + number(entry, 8), sections->dictionaries, &sections->chunks[i]);
        sections->chunk_count = i + 1;
    }
    if (!good) bench_sections_close(sections);
    return good;
}

void bench_sections_close(bench_sections *sections) {
    for (uint64_t i = 0; i < sections->dictionary_count; i++) {
        free(sections->dictionaries[i].cells);
        free(sections->dictionaries[i].lengths);
    }
    for (uint64_t i = 0; i < sections->chunk_count; i++) free(sections->chunks[i].codes);
    free(sections->dictionaries);
    free(sections->chunks);
    *sections = (bench_sections){0};
}
