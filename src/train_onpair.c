/* train_onpair.c - a pass of OnPair training. In: a sample of pieces, and tokens. Out: more tokens,
 * merged pairs.
 *
 * One greedy pass: a piece is read token by token, always the longest that matches. A pair of
 * neighbours that has been seen often enough becomes a token, and reading goes on from that token.
 * "Often enough" is a threshold that follows how fast tokens come. So there are as many as wanted
 * when the sample ends: not earlier, with pairs of its beginning only, and not later. Many of them
 * are only steps to longer ones, and others turn out to be rare; train_prune.c keeps the best.
 *
 * The trick: a few cursors, each on a piece of its own, read in turns. All a step needs of memory,
 * the text's place in the trie and the pair's count, is known one turn ahead, and prefetched.
 *
 * Three things make the most of sample and dictionary:
 *   - Where tokens come too slowly even at the lowest threshold, neighbours too long for one token
 *     count as a pair too. The second is then cut to what fits.
 *   - Where hardly any pair is seen twice, as in random strings, the first neighbour is also paired
 *     with just one byte of the second.
 *   - In text, no token begins or ends inside a character, but for beginnings of one character, to
 *     which the rest can be merged. Tokens then fall in step with characters, and whoever decodes
 *     finds out with little work that rows are UTF-8 (docs/lab/text-check.md).
 *
 * Refuses nothing but a lack of memory. Time and memory are bounded by the sample and the code
 * width. */
#include "train_onpair.h"

#include "pair_table.h"
#include "trie_onpair.h"
#include "utf8.h"

#include <string.h>

#define CURSORS 4u /* pieces read in turns */

/* The scale of thresholds. From TWICE on a pair is merged when seen `threshold` times. Below TWICE
 * a pair is merged when seen twice. There, pairs too long for a token count as well, if at least so
 * many bytes of the second fit: */
#define TWICE 2u
static const uint8_t least_cut[TWICE] = {2, 5};

#define TRAINING_WORK 4u /* times what parsing takes */

/* A piece being read. Before `text` lies `previous` and then, if it is still to be paired,
 * `current`. */
typedef struct cursor {
    const uint8_t *text;
    uint32_t left; /* bytes of the piece from `text` on */
    uint32_t pair; /* the mixed pair of the two tokens */
    fp_match previous;
    fp_match current; /* length 0: none */
} cursor;

/* How many tokens are wanted, and how many there are. */
typedef struct token_quota {
    uint32_t payable;  /* tokens that a column of this size pays for */
    uint32_t capacity; /* tokens to make at most */
    uint32_t goal;     /* tokens wanted: one of the two */
    uint32_t made;
} token_quota;

/* What check_progress compares. It is due after so many bytes or tokens, whichever come first. */
typedef struct progress {
    uint64_t bytes_per_check;
    uint64_t made_per_check;
    uint64_t next_check_at;
    uint64_t checked_at;   /* `scanned` at the last check */
    uint32_t checked_made; /* `made` at the last check */
    uint32_t paired;       /* pairs counted since then */
    uint32_t paired_new;   /* pairs among them that were seen for the first time */
} progress;

typedef struct trainer_state {
    const fp_sample *sample;
    uint64_t scanned; /* bytes read */
    uint32_t max_token;
    fp_trie trie;
    fp_pair_table pairs;
    token_quota quota;
    progress progress;
    uint32_t threshold;   /* 0..FP_PAIR_COUNT_MAX */
    int pairs_are_random; /* hardly any pair was seen before */
    fp_poll *poll;
    int stopped;
} trainer_state;

/* Adapts the threshold: tokens should come as fast as the rest of the sample needs to reach the
 * goal. */
static void check_progress(trainer_state *trainer) {
    progress *since = &trainer->progress;
    token_quota *quota = &trainer->quota;
    uint64_t left =
        trainer->sample->size > trainer->scanned ? trainer->sample->size - trainer->scanned : 1;
    uint64_t bytes =
        trainer->scanned > since->checked_at ? trainer->scanned - since->checked_at : 1;
    uint64_t wanted = quota->goal > quota->made ? quota->goal - quota->made : 0;
    uint64_t came = quota->made > since->checked_made ? quota->made - since->checked_made : 0;
    /* came / bytes against wanted / left */
    if (came * left > 2 * wanted * bytes) {
        if (trainer->threshold < FP_PAIR_COUNT_MAX) trainer->threshold++;
    } else if (2 * came * left < wanted * bytes) {
        if (trainer->threshold > 0) trainer->threshold--;
    }
    /* In a column of few distinct values nearly all pairs were seen before. Then steps to longer
     * tokens are worth more than they cost, however small the column. */
    quota->goal = since->paired_new < since->paired / 8 ? quota->capacity : quota->payable;
    trainer->pairs_are_random = since->paired_new > since->paired - since->paired / 8;
    since->paired = since->paired_new = 0;
    trainer->stopped = fp_poll_work(trainer->poll, TRAINING_WORK * bytes);
    since->checked_at = trainer->scanned;
    since->checked_made = quota->made;
    since->next_check_at = trainer->scanned + since->bytes_per_check;
}

/* Whether bytes are UTF-8, or the beginning of one character. */
static int suits_text(const uint8_t *bytes, uint32_t length) {
    fp_utf8 text = {{0}};
    if (fp_utf8_take(&text, bytes, length) != length) return 0;
    if (fp_utf8_is_whole(&text)) return 1;
    uint32_t continues = 0;
    while (continues + 1 < length && (bytes[continues + 1] & 0xc0) == 0x80) continues++;
    return bytes[0] >= 0x80 && continues + 1 == length;
}

/* Makes the `length` bytes at `text` a token if the pair they are has been seen often enough. */
static inline int merge(trainer_state *trainer, uint32_t *slot, const uint8_t *text,
                        uint32_t length, fp_match *merged) {
    uint32_t threshold = trainer->threshold < TWICE ? TWICE : trainer->threshold;
    token_quota *quota = &trainer->quota;
    if ((*slot & FP_PAIR_COUNT_MAX) < threshold) return 0;
    if (quota->made >= quota->goal) return 0;
    if (trainer->sample->is_text && !suits_text(text, length)) return 0;
    *slot &= ~FP_PAIR_COUNT_MAX;
    uint8_t bytes[FP_MAX_TOKEN] = {0};
    memcpy(bytes, text, length);
    uint32_t before = trainer->trie.tokens->count;
    *merged = (fp_match){fp_trie_add(&trainer->trie, bytes, length), length};
    /* Another cursor may have made the token since this one read on. */
    if (trainer->trie.tokens->count > before) {
        quota->made++;
        if (quota->made - trainer->progress.checked_made >= trainer->progress.made_per_check)
            check_progress(trainer);
    }
    return 1;
}

/* Counts a pair whose second is cut: to the longest token in the first `most` bytes of `current`,
 * if that has at least `least`. If the two become a token, reading goes back to where that token
 * ends. */
static void pair_cut(trainer_state *trainer, cursor *at, uint32_t most, uint32_t least,
                     fp_match *merged) {
    const uint8_t *text = at->text - at->current.length;
    fp_match cut = fp_trie_match(&trainer->trie, text, most);
    if (cut.length < least) return;
    int is_new;
    uint32_t *slot = fp_pair_count(&trainer->pairs, fp_pair_mix(at->previous.id, cut.id), &is_new);
    uint32_t length = at->previous.length + cut.length;
    if (merge(trainer, slot, text - at->previous.length, length, merged)) {
        uint32_t back = at->current.length - cut.length;
        at->text -= back;
        at->left += back;
        trainer->scanned -= back;
    }
}

/* Counts the pair of previous and current. Then what they have become, or current, is previous. */
static inline void pair_up(trainer_state *trainer, cursor *at) {
    uint32_t length = at->previous.length + at->current.length;
    fp_match next = at->current;
    if (length <= trainer->max_token) {
        int is_new;
        uint32_t *slot = fp_pair_count(&trainer->pairs, at->pair, &is_new);
        trainer->progress.paired++;
        trainer->progress.paired_new += (uint32_t)is_new;
        if (!merge(trainer, slot, at->text - length, length, &next) && is_new &&
            trainer->pairs_are_random && at->current.length > 1)
            pair_cut(trainer, at, 1, 1, &next);
    } else if (trainer->threshold < TWICE) {
        uint32_t most = trainer->max_token - at->previous.length,
                 least = least_cut[trainer->threshold];
        if (most >= least) pair_cut(trainer, at, most, least, &next);
    }
    at->previous = next;
    at->current.length = 0;
}

/* Takes the next token of the cursor's piece. */
static inline fp_match read_token(trainer_state *trainer, cursor *at) {
    fp_match match = fp_trie_match(&trainer->trie, at->text, at->left);
    at->text += match.length;
    at->left -= match.length;
    trainer->scanned += match.length;
    fp_trie_prefetch(&trainer->trie, at->text);
    return match;
}

static void read_sample(trainer_state *trainer) {
    const fp_sample *sample = trainer->sample;
    const uint8_t *next_piece = sample->bytes;
    uint64_t pieces = 0;
    uint32_t reading = CURSORS;
    cursor cursors[CURSORS] = {{0}};
    while (reading && !trainer->stopped && trainer->quota.made < trainer->quota.capacity) {
        reading = CURSORS;
        for (cursor *at = cursors; at < cursors + CURSORS; at++) {
            if (at->current.length) pair_up(trainer, at);
            if (at->left) {
                if (trainer->pairs_are_random)
                    fp_pair_prefetch(&trainer->pairs, fp_pair_mix(at->previous.id, *at->text));
                at->current = read_token(trainer, at);
                at->pair = fp_pair_mix(at->previous.id, at->current.id);
                fp_pair_prefetch(&trainer->pairs, at->pair);
            } else if (pieces < sample->pieces) {
                at->text = next_piece;
                at->left = sample->lengths[pieces++];
                next_piece += at->left;
                at->previous = read_token(trainer, at);
            } else {
                reading--;
            }
        }
        if (trainer->scanned >= trainer->progress.next_check_at) check_progress(trainer);
    }
}

/* Sets how many tokens are wanted. */
static void set_quota(trainer_state *trainer, fp_onpair_quota wanted) {
    const fp_sample *sample = trainer->sample;
    token_quota *quota = &trainer->quota;
    const uint64_t payable = 512 + sample->column_bytes / 256 + wanted.given;
    quota->capacity = wanted.most < 8 * payable ? wanted.most : (uint32_t)(8 * payable);
    quota->payable = payable < wanted.most ? (uint32_t)payable : quota->capacity;
    quota->goal = quota->payable;
    quota->made = trainer->progress.checked_made = trainer->trie.tokens->count - 256;
    trainer->progress.made_per_check = quota->goal / 64 < 8 ? 8 : quota->goal / 64;
    trainer->progress.bytes_per_check = sample->size / 512 + 1;
    trainer->progress.next_check_at = trainer->progress.bytes_per_check;
}

fastpair_status fp_onpair_pass(const fp_sample *sample, fp_onpair_quota wanted, fp_poll *poll,
                               const fastpair_allocator *allocator, fp_tokens *tokens,
                               fastpair_error *error) {
    trainer_state trainer = {.sample = sample,
                             .poll = poll,
                             .max_token = tokens->max_token,
                             .pairs = fp_pair_table_for(sample->size),
                             .threshold = TWICE};
    const uint64_t slots = fp_pair_table_slots(&trainer.pairs);
    fastpair_status status = fp_trie_open(&trainer.trie, tokens, wanted.most, allocator, error);
    if (status) return status;
    trainer.pairs.slots = fp_allocate_zero(allocator, slots, sizeof *trainer.pairs.slots);
    if (trainer.pairs.slots) {
        for (uint32_t id = 256; id < tokens->count; id++) fp_trie_insert(&trainer.trie, id);
        set_quota(&trainer, wanted);
        read_sample(&trainer);
    } else {
        status = fp_fail_memory(error, slots * sizeof *trainer.pairs.slots);
    }
    if (trainer.stopped) status = fp_fail_cancelled(error);
    fp_release(allocator, trainer.pairs.slots);
    fp_trie_close(&trainer.trie, allocator);
    return status;
}
