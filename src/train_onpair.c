/* train_onpair.c - OnPair training. In: a sample of pieces. Out: tokens, the single bytes and merged pairs.
 *
 * One greedy pass: a piece is read token by token, always the longest that matches; a pair of neighbours that
 * has been seen often enough becomes a token, and reading goes on from that. "Often enough" is a threshold
 * that follows how fast tokens come, so that the dictionary is full when the sample ends, neither before,
 * with pairs of its beginning only, nor not at all.
 *
 * The trick: a few pieces are read in turns. All a step needs of memory, the text's place in the trie and the
 * pair's count, is known one turn ahead, and prefetched.
 *
 * Four things make the most of sample and dictionary. Where tokens come too slowly even at the lowest threshold,
 * neighbours too long for one token count as a pair too, the second cut to what fits. Where hardly any pair is
 * seen twice, as in random strings, the first neighbour is also paired with just one byte of the second.
 * Tokens that were only steps to longer ones are forgotten, so that others take their place. And a small
 * column gets no more tokens than pay for their place in the file.
 *
 * Refuses nothing but a lack of memory. Time and memory are bounded by the sample and the code width. */
#include "train.h"
#include "trie_onpair.h"

#include <string.h>

#define LANES 4u /* pieces read in turns */

/* Pair slots are a power of two, about as many as there are pairs in the sample, within limits. */
#define MIN_PAIR_BITS 12u
#define MAX_PAIR_BITS 21u
#define PAIR_PROBES   4u /* slots in which a pair may lie */
#define MAX_COUNT     255u

/* The scale of thresholds. From TWICE on a pair is merged when seen `threshold` times. At those below it is merged
 * when seen twice, and pairs too long for a token count as well, if at least this much of the second fits: */
#define TWICE 2u
static const uint8_t least_cut[TWICE] = {2, 5};

/* Every second eighth of the sample, up to this one, shows which tokens are still met. Wider codes are not so
 * scarce that forgetting the others pays; and ids are not reused, so all that are ever made must fit. */
#define LAST_FORGETTING 6u
#define FORGETFUL_BITS  14u
_Static_assert(256 + ((1u << FORGETFUL_BITS) - 256) * (LAST_FORGETTING / 2 + 1) <= FP_MAX_TOKENS,
               "a full dictionary after every forgetting");

/* Bytes of the sample that tell whether a token pays. */
#define PROFIT_BYTES (4 << 20)

/* A piece being read: what lies before `text` is `previous` and then, if it is still to be paired, `current`. */
struct lane {
    const uint8_t *text;
    uint32_t left; /* bytes of the piece from `text` on */
    uint32_t pair; /* the mixed pair of the two tokens */
    fp_match previous;
    fp_match current; /* length 0: none */
};

struct trainer {
    fp_trie trie;
    fp_room room, empty_room;
    uint32_t max_token;
    uint32_t payable,
        capacity; /* tokens that a column of this size pays for, and those there is room for */
    uint32_t goal, made; /* tokens wanted, one of the two, and those made */

    const fp_sample *sample;
    uint64_t scanned; /* bytes read */
    int forgetful;
    uint8_t *met; /* by id: whether a token was made or read since this was cleared */

    uint32_t *
        pairs; /* a slot has 24 bits of the mixed pair, then its count; count 0 marks a free slot */
    uint32_t pair_mask;

    uint32_t threshold;   /* 0..MAX_COUNT */
    int pairs_are_random; /* hardly any was seen before */

    /* What check_progress compares. It is due after so many bytes or tokens, whichever come first. */
    uint64_t check_bytes, check_made, next_check_at;
    uint64_t checked_at;   /* at the last check: scanned, */
    uint32_t checked_made; /* made, */
    uint32_t paired,
        paired_new; /* and since then: pairs counted, and those seen for the first time */
};

/* Adapts the threshold: tokens should come as fast as the rest of the sample needs to reach the goal. */
static void check_progress(struct trainer *trainer) {
    uint64_t left =
        trainer->sample->size > trainer->scanned ? trainer->sample->size - trainer->scanned : 1;
    uint64_t bytes =
        trainer->scanned > trainer->checked_at ? trainer->scanned - trainer->checked_at : 1;
    uint64_t wanted = trainer->goal > trainer->made ? trainer->goal - trainer->made : 0;
    uint64_t came =
        trainer->made > trainer->checked_made ? trainer->made - trainer->checked_made : 0;
    /* came / bytes against wanted / left */
    if (came * left > 2 * wanted * bytes) {
        if (trainer->threshold < MAX_COUNT) trainer->threshold++;
    } else if (2 * came * left < wanted * bytes) {
        if (trainer->threshold > 0) trainer->threshold--;
    }
    /* Where nearly all pairs are old acquaintances, as in a column of few distinct values, steps to longer tokens
     * are worth more than they cost, however small the column. */
    trainer->goal =
        trainer->paired_new < trainer->paired / 8 ? trainer->capacity : trainer->payable;
    trainer->pairs_are_random = trainer->paired_new > trainer->paired - trainer->paired / 8;
    trainer->paired = trainer->paired_new = 0;
    trainer->checked_at = trainer->scanned;
    trainer->checked_made = trainer->made;
    trainer->next_check_at = trainer->scanned + trainer->check_bytes;
}

/* One-to-one, so that two pairs of the same home slot never share the bits in the slot. */
static inline uint32_t mix_pair(uint32_t first, uint32_t second) {
    uint32_t x = (first << 16 | second) * 0x9e3779b1u;
    x = (x ^ (x >> 15)) * 0x85ebca77u;
    return x ^ (x >> 13);
}

static inline void prefetch_pair(const struct trainer *trainer, uint32_t pair) {
    __builtin_prefetch(&trainer->pairs[pair & trainer->pair_mask]);
}

/* The slot of a pair, with its count one higher. A pair that is not there takes a free slot, else the place of
 * another: with that many pairs none of them is worth much. */
static inline uint32_t *count_pair(struct trainer *trainer, uint32_t pair, int *is_new) {
    uint32_t *home = &trainer->pairs[pair & trainer->pair_mask], *slot = home;
    for (uint32_t i = 0; i < PAIR_PROBES; i++) {
        if (!(home[i] & MAX_COUNT)) {
            slot = &home[i];
            break;
        }
        if (home[i] >> 8 == pair >> 8) {
            if ((home[i] & MAX_COUNT) < MAX_COUNT) home[i]++;
            *is_new = 0;
            return &home[i];
        }
    }
    *slot = (pair & ~MAX_COUNT) | 1;
    *is_new = 1;
    return slot;
}

/* Makes the `length` bytes at `text` a token if the pair they are has been seen often enough. */
static inline int merge(struct trainer *trainer, uint32_t *slot, const uint8_t *text,
                        uint32_t length, fp_match *merged) {
    uint32_t threshold = trainer->threshold < TWICE ? TWICE : trainer->threshold;
    if ((*slot & MAX_COUNT) < threshold) return 0;
    if (trainer->made >= trainer->goal || !fp_room_has(&trainer->room, length)) return 0;
    *slot &= ~MAX_COUNT;
    uint8_t bytes[FP_MAX_TOKEN] = {0};
    memcpy(bytes, text, length);
    uint32_t before = trainer->trie.tokens->count;
    *merged = (fp_match){fp_trie_add(&trainer->trie, bytes, length), length};
    if (trainer->trie.tokens->count >
        before) { /* another lane may have made it since this one read on */
        fp_room_take(&trainer->room, length);
        trainer->made++;
        trainer->met[merged->id] = 1;
        if (trainer->made - trainer->checked_made >= trainer->check_made) check_progress(trainer);
    }
    return 1;
}

/* Counts as a pair previous and of current only the longest token in its first `most` bytes, if that has at
 * least `least`. If they become one, reading goes back to behind them. */
static void pair_cut(struct trainer *trainer, struct lane *lane, uint32_t most, uint32_t least,
                     fp_match *merged) {
    const uint8_t *text = lane->text - lane->current.length;
    fp_match cut = fp_trie_match(&trainer->trie, text, most);
    if (cut.length < least) return;
    int is_new;
    uint32_t *slot = count_pair(trainer, mix_pair(lane->previous.id, cut.id), &is_new);
    uint32_t length = lane->previous.length + cut.length;
    if (merge(trainer, slot, text - lane->previous.length, length, merged)) {
        uint32_t back = lane->current.length - cut.length;
        lane->text -= back;
        lane->left += back;
        trainer->scanned -= back;
    }
}

/* Counts the pair of previous and current; then what they have become, or current, is previous. */
static inline void pair_up(struct trainer *trainer, struct lane *lane) {
    uint32_t length = lane->previous.length + lane->current.length;
    fp_match next = lane->current;
    if (length <= trainer->max_token) {
        int is_new;
        uint32_t *slot = count_pair(trainer, lane->pair, &is_new);
        trainer->paired++;
        trainer->paired_new += (uint32_t)is_new;
        if (!merge(trainer, slot, lane->text - length, length, &next) && is_new &&
            trainer->pairs_are_random && lane->current.length > 1)
            pair_cut(trainer, lane, 1, 1, &next);
    } else if (trainer->threshold < TWICE) {
        uint32_t most = trainer->max_token - lane->previous.length,
                 least = least_cut[trainer->threshold];
        if (most >= least) pair_cut(trainer, lane, most, least, &next);
    }
    lane->previous = next;
    lane->current.length = 0;
}

/* Takes the next token of the lane's piece. */
static inline fp_match read_token(struct trainer *trainer, struct lane *lane) {
    fp_match match = fp_trie_match(&trainer->trie, lane->text, lane->left);
    lane->text += match.length;
    lane->left -= match.length;
    trainer->scanned += match.length;
    trainer->met[match.id] = 1;
    fp_trie_prefetch(&trainer->trie, lane->text);
    return match;
}

/* Nothing more can be added, or is wanted. */
static inline int is_full(const struct trainer *trainer) {
    return trainer->made >= trainer->capacity ||
           (!trainer->room.groups_free && fp_room_full(&trainer->room, trainer->max_token));
}

/* Forgets the tokens that were not met of late: their lengths become 0. The others keep their ids, and so do
 * the counts of their pairs. */
static void forget_unmet(struct trainer *trainer) {
    fp_tokens *tokens = trainer->trie.tokens;
    trainer->room = trainer->empty_room;
    trainer->made = 0;
    fp_trie_clear(&trainer->trie);
    for (uint32_t id = 256; id < tokens->count; id++) {
        if (!trainer->met[id]) tokens->lengths[id] = 0;
        if (!tokens->lengths[id]) continue;
        fp_room_take(&trainer->room, tokens->lengths[id]);
        fp_trie_insert(&trainer->trie, id);
        trainer->made++;
    }
    trainer->checked_made = trainer->made;
}

/* Forgets the tokens that save less than they take in a small column's dictionary. In two steps, the first with
 * half the measure, as others have to stand in for what is forgotten. */
static void forget_unprofitable(struct trainer *trainer, uint32_t code_bits) {
    const fp_sample *sample = trainer->sample;
    const fp_tokens *tokens = trainer->trie.tokens;
    uint32_t *uses = trainer->pairs; /* the pairs are no longer needed */
    if (tokens->count > trainer->pair_mask) return;
    for (uint32_t step = 1; step <= 2; step++) {
        const uint8_t *text = sample->bytes;
        memset(uses, 0, tokens->count * sizeof *uses);
        for (uint64_t i = 0; i < sample->pieces && text - sample->bytes < PROFIT_BYTES; i++)
            for (uint32_t left = sample->lengths[i]; left;) {
                fp_match match = fp_trie_match(&trainer->trie, text, left);
                uses[match.id]++;
                text += match.length;
                left -= match.length;
            }
        /* Bits saved in the column, one code a use, against bits in the dictionary. */
        uint64_t parsed = (uint64_t)(text - sample->bytes);
        for (uint32_t id = 256; id < tokens->count; id++)
            trainer->met[id] = uses[id] * 2 * sample->column_bytes * code_bits >=
                               step * parsed * (tokens->lengths[id] + 1u) * 8;
        forget_unmet(trainer);
    }
}

/* Closes the gaps that forgotten tokens have left. */
static void close_gaps(fp_tokens *tokens) {
    uint32_t count = 256;
    for (uint32_t id = 256; id < tokens->count; id++) {
        if (!tokens->lengths[id]) continue;
        memcpy(tokens->bytes[count], tokens->bytes[id], sizeof tokens->bytes[id]);
        tokens->lengths[count++] = tokens->lengths[id];
    }
    memset(tokens->bytes[count], 0, (tokens->count - count) * sizeof tokens->bytes[0]);
    memset(tokens->lengths + count, 0, tokens->count - count);
    tokens->count = count;
}

static void read_sample(struct trainer *trainer) {
    const fp_sample *sample = trainer->sample;
    const uint8_t *next_piece = sample->bytes;
    uint64_t pieces = 0, eighth = sample->size / 8 + 1, next_eighth_at = eighth;
    uint32_t reading = LANES, eighths = trainer->forgetful ? 0 : LAST_FORGETTING;
    struct lane lanes[LANES] = {{0}};
    while (reading && !(eighths >= LAST_FORGETTING && is_full(trainer))) {
        reading = LANES;
        for (struct lane *lane = lanes; lane < lanes + LANES; lane++) {
            if (lane->current.length) pair_up(trainer, lane);
            if (lane->left) {
                if (trainer->pairs_are_random)
                    prefetch_pair(trainer, mix_pair(lane->previous.id, *lane->text));
                lane->current = read_token(trainer, lane);
                lane->pair = mix_pair(lane->previous.id, lane->current.id);
                prefetch_pair(trainer, lane->pair);
            } else if (pieces < sample->pieces) {
                lane->text = next_piece;
                lane->left = sample->lengths[pieces++];
                next_piece += lane->left;
                lane->previous = read_token(trainer, lane);
            } else {
                reading--;
            }
        }
        if (trainer->scanned >= trainer->next_check_at) check_progress(trainer);
        if (trainer->scanned >= next_eighth_at && eighths < LAST_FORGETTING) {
            next_eighth_at += eighth;
            if (++eighths & 1)
                memset(trainer->met, 0, FP_MAX_TOKENS);
            else
                forget_unmet(trainer);
        }
    }
}

fastpair_status fp_train_onpair(const fp_sample *sample, uint32_t code_bits, uint32_t max_token,
                                int hot, const fastpair_allocator *allocator, fp_tokens *tokens,
                                fastpair_error *error) {
    struct trainer trainer = {.room = fp_room_for(code_bits, max_token, hot),
                              .max_token = max_token,
                              .threshold = TWICE,
                              .sample = sample,
                              .check_bytes = sample->size / 512 + 1};
    trainer.next_check_at = trainer.check_bytes;
    trainer.empty_room = trainer.room;
    trainer.capacity = trainer.room.groups_free << trainer.room.shift;
    const uint64_t payable = 512 + sample->column_bytes / 256;
    const int is_small = payable < trainer.capacity;
    if (trainer.capacity > 8 * payable) trainer.capacity = (uint32_t)(8 * payable);
    trainer.payable = is_small ? (uint32_t)payable : trainer.capacity;
    trainer.goal = trainer.payable;
    trainer.forgetful = code_bits <= FORGETFUL_BITS && sample->size / 512 > trainer.goal;
    trainer.check_made = trainer.goal / 64 < 8 ? 8 : trainer.goal / 64;

    uint32_t pair_bits = MIN_PAIR_BITS;
    while (pair_bits < MAX_PAIR_BITS && 1ull << pair_bits < sample->size / 4) pair_bits++;
    trainer.pair_mask = (1u << pair_bits) - 1;
    const uint64_t slots = trainer.pair_mask + 1ull + PAIR_PROBES;

    fastpair_status status = fp_tokens_create(tokens, max_token, allocator, error);
    if (status != FASTPAIR_OK) return status;
    status = fp_trie_create(&trainer.trie, tokens, trainer.capacity, allocator, error);
    if (status == FASTPAIR_OK) {
        trainer.met = fp_allocate_zero(allocator, FP_MAX_TOKENS, 1);
        trainer.pairs = fp_allocate_zero(allocator, slots, sizeof *trainer.pairs);
        if (trainer.met && trainer.pairs) {
            read_sample(&trainer);
            if (is_small) forget_unprofitable(&trainer, code_bits);
        } else {
            status = fp_fail_memory(error, FP_MAX_TOKENS + slots * sizeof *trainer.pairs);
        }
    }
    fp_release(allocator, trainer.pairs);
    fp_release(allocator, trainer.met);
    fp_trie_free(&trainer.trie, allocator);
    if (status == FASTPAIR_OK)
        close_gaps(tokens);
    else
        fp_tokens_free(tokens, allocator);
    return status;
}
