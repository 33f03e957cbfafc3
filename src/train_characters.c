/* train_characters.c - the characters of a text as its first tokens. In: a sample. Out: tokens.
 *
 * A pass of training makes tokens of pairs, so a character becomes one only after its bytes were seen
 * as a pair often enough, and rare ones never do. Rows then have them in pieces, and whoever decodes
 * must look at each of these (docs/lab/text-check.md). The trick: characters are counted by their
 * number, once, in a table no larger than the greatest byte asks for. They enter training as tokens
 * that are as good as others; pruning drops those that do not pay. Refuses nothing but a lack of
 * memory. */
#include "train_characters.h"

#include <stdlib.h>

/* Rarer characters are not worth a token, as it saves a code or two where it is used. */
#define LEAST_SEEN 4u

typedef struct character {
    uint32_t number, seen;
} character;

/* The most frequent first; of equal ones the lower number. */
static int by_frequency(const void *left, const void *right) {
    const character *a = left, *b = right;
    if (a->seen != b->seen) return a->seen > b->seen ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Counts the characters of one piece by their numbers. The ends of pieces cut characters; what is left
 * of these is not counted. */
static void count_piece(const uint8_t *bytes, uint32_t size, uint32_t *seen) {
    for (uint32_t at = 0; at < size;) {
        const uint32_t first = bytes[at++];
        const uint32_t more = first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        if (!more) continue;
        if (size - at < more) return;
        uint32_t number = first & (0x3fu >> more);
        for (uint32_t i = 0; i < more; i++) number = number << 6 | (bytes[at + i] & 0x3f);
        at += more;
        seen[number]++;
    }
}

/* Characters of the sample have numbers below this, by its greatest byte; 0 if it is ASCII. */
static uint32_t limit_of(const fp_sample *sample) {
    uint8_t greatest = 0;
    for (uint64_t i = 0; i < sample->size; i++)
        greatest = sample->bytes[i] > greatest ? sample->bytes[i] : greatest;
    return greatest < 0xc2   ? 0
           : greatest < 0xe0 ? (greatest - 0xc0u + 1) << 6
           : greatest < 0xf0 ? (greatest - 0xe0u + 1) << 12
                             : (greatest - 0xf0u + 1) << 18;
}

static uint32_t write_character(uint32_t number, uint8_t *to) {
    const uint32_t length = number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
    for (uint32_t i = length - 1; i > 0; i--, number >>= 6)
        to[i] = (uint8_t)(0x80 | (number & 0x3f));
    to[0] = (uint8_t)(0xf00u >> length | number);
    return length;
}

/* The characters that are seen often enough, in order. Returns how many. */
static uint32_t list_characters(const uint32_t *seen, uint32_t limit, character *characters) {
    uint32_t count = 0;
    for (uint32_t number = 0; number < limit; number++)
        if (seen[number] >= LEAST_SEEN) characters[count++] = (character){number, seen[number]};
    qsort(characters, count, sizeof *characters, by_frequency);
    return count;
}

fastpair_status fp_train_characters(const fp_sample *sample, uint32_t most,
                                    const fastpair_allocator *allocator, fp_tokens *tokens,
                                    fastpair_error *error) {
    const uint32_t limit = sample->is_text ? limit_of(sample) : 0;
    if (!limit) return FASTPAIR_OK;
    /* Of a sample's bytes, LEAST_SEEN of two bytes each are a character that is listed. */
    const uint64_t room = sample->size / (2 * LEAST_SEEN) + 1;
    uint32_t *seen = fp_allocate_zero(allocator, limit, sizeof *seen);
    character *characters = fp_allocate(allocator, room < limit ? room : limit, sizeof *characters);
    fastpair_status status = FASTPAIR_OK;
    if (seen && characters) {
        const uint8_t *piece = sample->bytes;
        for (uint64_t i = 0; i < sample->pieces; piece += sample->lengths[i++])
            count_piece(piece, sample->lengths[i], seen);
        const uint32_t count = list_characters(seen, limit, characters);
        for (uint32_t i = 0; i < count && i < most; i++) {
            uint8_t bytes[4];
            const uint32_t length = write_character(characters[i].number, bytes);
            fp_tokens_add(tokens, bytes, length);
        }
    } else {
        status = fp_fail_memory(error, limit * sizeof *seen);
    }
    fp_release(allocator, characters);
    fp_release(allocator, seen);
    return status;
}
