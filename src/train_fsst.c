/* train_fsst.c - FSST-12: tokens by rounds of parse, count and keep. In: a sample. Out: tokens of
 * at most 8 bytes for a 12-bit code space.
 *
 * Each round parses more of the sample with the tokens so far, counts tokens and pairs of
 * neighbours, and keeps the tokens and pairs that cover most bytes. So tokens can double in length
 * per round, and a token that a longer one has made useless goes. The trick: the parse is the
 * encoder's own, exact, and so fast that nine rounds are cheap. Refuses nothing but a lack of
 * memory; pairs first seen when the pair table is full are not counted. */
#include "train.h"

#include "format.h"
#include "parse.h"

#include <string.h>

#define ROUNDS 9u
/* A round takes so many times as long as parsing what it reads. */
#define ROUND_WORK   4u
#define CODE_BITS    12u
#define MAX_TOKEN    8u
#define MAX_CODES    (1u << CODE_BITS)
#define BLOCK_BYTES  (256u << 10) /* of the sample parsed at once */
#define BLOCK_PIECES 16384u
#define MIN_SLOTS    (1u << 13) /* of the pair table, which has two per sample byte */
#define MAX_SLOTS    (1u << 18)

typedef struct counted_pair {
    uint32_t ids; /* first << 12 | second */
    uint32_t count;
} counted_pair;

/* A token that might be kept, and the bytes of the sample it would cover. */
typedef struct choice {
    uint64_t bytes; /* first byte lowest, zero-padded */
    uint64_t gain;
    uint64_t length;
} choice;

typedef struct trainer_state {
    const fp_sample *sample;
    fp_tokens *tokens;
    uint32_t slots;      /* of the pair table, a power of two; the choices have twice as many */
    counted_pair *pairs; /* a count of 0: free */
    uint32_t pair_count; /* at most half the slots */
    choice *choices;
    uint32_t choice_count;
    uint32_t *choice_slots; /* choice + 1 */
    uint16_t *ids;          /* a block, parsed */
    uint64_t offsets[BLOCK_PIECES + 1];
    uint64_t counts[MAX_CODES];
} trainer_state;

static uint32_t hash_to(uint64_t key, uint32_t slots) {
    key *= 0x9e3779b97f4a7c15u;
    return (uint32_t)((key ^ key >> 32) * 0xd6e8feb86659fd93u >> 40) & (slots - 1);
}

/* ------------------------------------------------ count */

static void count_pair(trainer_state *trainer, uint32_t first, uint32_t second) {
    uint32_t ids = first << CODE_BITS | second, slot = hash_to(ids, trainer->slots);
    while (trainer->pairs[slot].count && trainer->pairs[slot].ids != ids)
        slot = (slot + 1) & (trainer->slots - 1);
    counted_pair *pair = &trainer->pairs[slot];
    if (!pair->count) {
        if (trainer->pair_count == trainer->slots / 2) return;
        trainer->pair_count++;
        pair->ids = ids;
    }
    pair->count += pair->count != UINT32_MAX;
}

/* Counts tokens and pairs of a parsed block. Pairs do not cross pieces. */
static void count_block(trainer_state *trainer, const uint32_t *piece_lengths, uint64_t pieces) {
    const uint8_t *token_lengths = trainer->tokens->lengths;
    const uint16_t *id = trainer->ids;
    for (uint64_t i = 0; i < pieces; i++) {
        uint32_t previous = 0, previous_length = MAX_TOKEN;
        for (uint32_t left = piece_lengths[i]; left; id++) {
            uint32_t length = token_lengths[*id];
            trainer->counts[*id]++;
            if (previous_length + length <= MAX_TOKEN) count_pair(trainer, previous, *id);
            previous = *id;
            previous_length = length;
            left -= length;
        }
    }
}

/* Parses and counts the first pieces of the sample, at least `size` bytes. */
static fastpair_status count_sample(trainer_state *trainer, uint64_t size,
                                    const fastpair_allocator *allocator, fastpair_error *error) {
    const fp_sample *sample = trainer->sample;
    uint64_t *offsets = trainer->offsets;
    fp_matcher *matcher;
    fastpair_status status = fp_matcher_open(trainer->tokens, allocator, &matcher, error);
    if (status != FASTPAIR_OK) return status;
    memset(trainer->counts, 0, sizeof trainer->counts);
    memset(trainer->pairs, 0, trainer->slots * sizeof *trainer->pairs);
    trainer->pair_count = 0;
    for (uint64_t done = 0, piece = 0; done < size;) {
        uint64_t pieces = 0;
        offsets[0] = 0;
        while (pieces < BLOCK_PIECES && offsets[pieces] < BLOCK_BYTES &&
               done + offsets[pieces] < size) {
            offsets[pieces + 1] = offsets[pieces] + sample->lengths[piece + pieces];
            pieces++;
        }
        fp_parse_rows(matcher, sample->bytes + done, offsets, pieces, trainer->ids);
        count_block(trainer, sample->lengths + piece, pieces);
        done += offsets[pieces];
        piece += pieces;
    }
    fp_matcher_close(matcher, allocator);
    return FASTPAIR_OK;
}

/* ------------------------------------------------ keep */

/* Adds to the gain of a token. The same token comes up in several ways: "a" + "bc" and "ab" +
 * "c". */
static void add_choice(trainer_state *trainer, uint64_t bytes, uint32_t length, uint64_t count) {
    const uint32_t slots = 2 * trainer->slots;
    uint32_t slot = hash_to(bytes + length, slots);
    for (; trainer->choice_slots[slot]; slot = (slot + 1) & (slots - 1)) {
        choice *known = &trainer->choices[trainer->choice_slots[slot] - 1];
        if (known->bytes == bytes && known->length == length) {
            known->gain += count * length;
            return;
        }
    }
    trainer->choices[trainer->choice_count++] = (choice){bytes, count * length, length};
    trainer->choice_slots[slot] = trainer->choice_count;
}

static void list_choices(trainer_state *trainer) {
    const fp_tokens *tokens = trainer->tokens;
    memset(trainer->choice_slots, 0, 2 * trainer->slots * sizeof *trainer->choice_slots);
    trainer->choice_count = 0;
    for (uint32_t id = 256; id < tokens->count; id++)
        if (trainer->counts[id])
            add_choice(trainer, fp_load64(fp_token(tokens, id)), tokens->lengths[id],
                       trainer->counts[id]);
    for (uint32_t slot = 0; slot < trainer->slots; slot++) {
        const counted_pair *pair = &trainer->pairs[slot];
        if (pair->count < 2) continue;
        uint32_t first = pair->ids >> CODE_BITS, second = pair->ids & (MAX_CODES - 1);
        uint64_t bytes = fp_load64(fp_token(tokens, first)) | fp_load64(fp_token(tokens, second))
                                                                  << 8 * tokens->lengths[first];
        add_choice(trainer, bytes, tokens->lengths[first] + (uint32_t)tokens->lengths[second],
                   pair->count);
    }
}

/* The order of preference: gain, then length, then bytes, so that there are no ties. */
static int is_better(const choice *a, const choice *b) {
    if (a->gain != b->gain) return a->gain > b->gain;
    if (a->length != b->length) return a->length > b->length;
    return a->bytes < b->bytes;
}

/* Lets the choice at `place` of a heap sink until no choice below it is better. */
static void sink(choice *heap, uint32_t size, uint32_t place) {
    choice moved = heap[place];
    for (;;) {
        uint32_t below = place * 2 + 1;
        if (below >= size) break;
        if (below + 1 < size && is_better(&heap[below + 1], &heap[below])) below++;
        if (!is_better(&heap[below], &moved)) break;
        heap[place] = heap[below];
        place = below;
    }
    heap[place] = moved;
}

/* Makes the best choices the new tokens. A heap does, because only some choices are taken. */
static void keep_best(trainer_state *trainer, const fp_code_space *space) {
    fp_tokens *tokens = trainer->tokens;
    fp_room room = fp_room_for(space);
    choice *heap = trainer->choices;
    fp_tokens_cut(tokens, 256);
    for (uint32_t place = trainer->choice_count / 2; place-- > 0;)
        sink(heap, trainer->choice_count, place);
    while (trainer->choice_count && !fp_room_full(&room, MAX_TOKEN)) {
        uint32_t length = (uint32_t)heap[0].length;
        if (fp_room_has(&room, length)) {
            uint8_t bytes[8];
            fp_store64(bytes, heap[0].bytes);
            fp_tokens_add(tokens, bytes, length);
            fp_room_take(&room, length);
        }
        heap[0] = heap[--trainer->choice_count];
        sink(heap, trainer->choice_count, 0);
    }
}

/* Opens a trainer: one allocation, which the caller releases. */
static trainer_state *open_trainer(const fp_sample *sample, fp_tokens *tokens,
                                   const fastpair_allocator *allocator, fastpair_error *error) {
    uint64_t slots = MIN_SLOTS, largest_piece = 0;
    while (slots < MAX_SLOTS && slots < 2 * sample->size) slots *= 2;
    for (uint64_t i = 0; i < sample->pieces; i++)
        if (sample->lengths[i] > largest_piece) largest_piece = sample->lengths[i];
    const uint64_t choices = slots / 2 + MAX_CODES, ids = BLOCK_BYTES + largest_piece;
    const uint64_t size = sizeof(trainer_state) + choices * sizeof(choice) +
                          slots * sizeof(counted_pair) + 2 * slots * sizeof(uint32_t) +
                          ids * sizeof(uint16_t);
    trainer_state *made = fp_allocate(allocator, size, 1);
    if (!made) {
        fp_fail_memory(error, size);
        return NULL;
    }
    made->sample = sample;
    made->tokens = tokens;
    made->slots = (uint32_t)slots;
    made->choices = (choice *)(made + 1);
    made->pairs = (counted_pair *)(made->choices + choices);
    made->choice_slots = (uint32_t *)(made->pairs + slots);
    made->ids = (uint16_t *)(made->choice_slots + 2 * slots);
    return made;
}

fastpair_status fp_train_fsst(const fp_sample *sample, const fp_code_space *space, fp_poll *poll,
                              const fastpair_allocator *allocator, fp_tokens *tokens,
                              fastpair_error *error) {
    fastpair_status status = fp_tokens_open(tokens, MAX_TOKEN, allocator, error);
    if (status != FASTPAIR_OK || !sample->size) return status;
    trainer_state *trainer = open_trainer(sample, tokens, allocator, error);
    if (!trainer) status = FASTPAIR_ERROR_OUT_OF_MEMORY;
    for (uint64_t round = 1; round <= ROUNDS && status == FASTPAIR_OK; round++) {
        uint64_t size = sample->size / ROUNDS * round + sample->size % ROUNDS;
        status = count_sample(trainer, size, allocator, error);
        if (status != FASTPAIR_OK) break;
        list_choices(trainer);
        keep_best(trainer, space);
        if (fp_poll_work(poll, ROUND_WORK * size)) status = fp_fail_cancelled(error);
    }
    fp_release(allocator, trainer);
    if (status != FASTPAIR_OK) fp_tokens_close(tokens, allocator);
    return status;
}
