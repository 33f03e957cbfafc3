/* number.c - numbering tokens. In: tokens and how often each occurs. Out: a dictionary and the code
 * of every token.
 *
 * The trick: tokens are sorted by (part, length, frequency), and each run of equal length begins on
 * a class boundary. So a code's upper bits give its token's length. In dictionaries of text, a run
 * ends with the tokens that are not UTF-8 by themselves, so that the upper bits tell these, too, but
 * for few rare ones. Then neighbouring codes are exchanged, so that the banks of a GPU's shared memory
 * are used evenly. Refuses nothing that training produces. */
#include "number.h"

#include "utf8.h"

#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    uint64_t count;
    uint32_t id;
    uint8_t cold; /* 0 in the hot part */
    uint8_t length;
    uint8_t resident; /* bytes in a GPU's shared memory */
    uint8_t partial;  /* 1 if the token is not UTF-8 by itself, in a dictionary of text */
} ranked;

static int by_frequency(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_code_order(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->cold != b->cold) return a->cold < b->cold ? -1 : 1;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    if (a->partial != b->partial) return a->partial < b->partial ? -1 : 1;
    return by_frequency(left, right);
}

/* ---------------------------------------------------------------- text */

/* Training on text leaves pieces of one character, and nothing else that is not UTF-8. */
#define LONGEST_PIECE 3u

/* Marks tokens that are not UTF-8 by themselves, if this is a dictionary of text. */
static void mark_partial(const fp_tokens *tokens, ranked *list, uint32_t count) {
    int is_text = 1;
    for (uint32_t i = 0; i < count && is_text; i++) {
        const uint8_t *token = fp_token(tokens, list[i].id);
        list[i].partial = !fp_is_ascii(token, list[i].length) &&
                          fp_utf8_fault(token, list[i].length) != UINT64_MAX;
        is_text = !list[i].partial || list[i].length <= LONGEST_PIECE;
    }
    for (uint32_t i = 0; i < count && !is_text; i++) list[i].partial = 0;
}

/* ---------------------------------------------------------------- hot part */

/* A resident dictionary has the first half of every token, and the second half of every token that
 * has one. */
static uint32_t resident_bytes(uint32_t length, uint32_t max_token) {
    return length > max_token / 2 ? max_token : max_token / 2;
}

/* Tokens that occur most often per resident byte come first. */
static int by_density(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    uint64_t of_a = a->count * b->resident, of_b = b->count * a->resident;
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    return by_frequency(left, right);
}

/* Marks as cold what does not fit into `bytes`; returns how many codes of the data are hot. */
static uint64_t mark_beyond(ranked *list, uint32_t count, uint64_t bytes) {
    uint64_t taken = 0, hot = 0;
    for (uint32_t i = 0; i < count; i++) {
        taken += list[i].resident;
        list[i].cold = taken > bytes;
        if (!list[i].cold) hot += list[i].count;
    }
    return hot;
}

/* Marks what is not in the hot part. Pieces of characters are rare, and if some of them were hot they
 * would share a class with frequent letters. Returns whether there is a hot part; dictionaries with long
 * tokens have none. */
static int mark_cold(ranked *list, uint32_t count, uint32_t max_token, uint32_t hot_codes) {
    if (max_token > FP_SHORT_TOKEN) return 0;
    uint64_t resident = 0, codes = 0;
    for (uint32_t i = 0; i < count; i++) {
        resident += list[i].resident;
        codes += list[i].count;
    }
    if (hot_codes == FASTPAIR_NO_HOT_CODES || hot_codes >= count ||
        (!hot_codes && resident <= FP_WHOLE_BYTES))
        return 0;
    qsort(list, count, sizeof *list, hot_codes ? by_frequency : by_density);
    if (hot_codes)
        for (uint32_t i = 0; i < count; i++) list[i].cold = i >= hot_codes;
    else if (mark_beyond(list, count, FP_HOT_BYTES) < codes - codes / 100 * FP_MANY_COLD_PERCENT)
        mark_beyond(list, count, FP_HOT_BYTES_MANY_COLD);
    for (uint32_t i = 0; i < count && !hot_codes; i++) list[i].cold |= list[i].partial;
    return 1;
}

/* ---------------------------------------------------------------- length classes */

/* Cuts the sorted list into runs for one class size. Returns N; fills dict->runs, run_count,
 * hot_slots. */
static uint32_t place_runs(fp_dict *dict, const ranked *list, uint32_t count, uint32_t shift) {
    uint32_t class_codes = 1u << shift, next = 0;
    dict->run_count = 0;
    dict->hot_slots = 0;
    for (uint32_t i = 0; i < count; i++) {
        int starts_cold = i > 0 && list[i].cold != list[i - 1].cold;
        if (i == 0 || starts_cold || list[i].length != list[i - 1].length) {
            next = (next + class_codes - 1) & ~(class_codes - 1);
            if (starts_cold) dict->hot_slots = next;
            dict->runs[dict->run_count++] = (fp_run){.first_code = next, .length = list[i].length};
        }
        dict->runs[dict->run_count - 1].count++;
        next++;
    }
    return next;
}

/* Sorts the list, finds the least code width that holds it, and its runs. */
static void place_codes(fp_dict *dict, ranked *list, uint32_t count) {
    qsort(list, count, sizeof *list, by_code_order);
    dict->code_bits = 1;
    while (dict->code_bits < 16 && (1u << dict->code_bits) < count) dict->code_bits++;
    for (;; dict->code_bits++) {
        dict->class_shift = fp_class_shift(dict->code_bits, dict->max_token);
        dict->code_slots = place_runs(dict, list, count, dict->class_shift);
        if (dict->code_slots <= 1u << dict->code_bits || dict->code_bits == 16) break;
    }
    /* Where wider codes have smaller classes, narrower ones may have had too few slots, and these too many.
     * The format wants no wider codes than slots need, so some slots without a token follow. */
    const uint32_t narrower = 1u << (dict->code_bits - 1);
    if (dict->code_bits > 1 && dict->code_slots <= narrower) dict->code_slots = narrower + 1;
}

/* ---------------------------------------------------------------- banks */

/* Codes of one run between multiples of FP_BANKS, all partial or none. */
typedef struct neighbours {
    uint64_t count; /* of their occurrences */
    uint32_t first_code;
    uint32_t listed; /* where the first code's token is in the list */
    uint32_t codes;
} neighbours;

static int by_neighbours_count(const void *left, const void *right) {
    const neighbours *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->first_code < b->first_code ? -1 : a->first_code > b->first_code;
}

/* Deals these codes to their tokens again: each token, the most frequent first, gets the code whose
 * bank has the least load. */
static void spread_neighbours(ranked *list, const neighbours *these, uint64_t *load) {
    ranked by_count[FP_BANKS];
    uint32_t free_codes[FP_BANKS], left = these->codes;
    memcpy(by_count, list + these->listed, these->codes * sizeof *list);
    for (uint32_t c = 0; c < left; c++) free_codes[c] = c;
    for (uint32_t i = 0; left; i++) {
        uint32_t best = 0;
        for (uint32_t f = 1; f < left; f++)
            if (load[(these->first_code + free_codes[f]) % FP_BANKS] <
                load[(these->first_code + free_codes[best]) % FP_BANKS])
                best = f;
        load[(these->first_code + free_codes[best]) % FP_BANKS] += by_count[i].count;
        list[these->listed + free_codes[best]] = by_count[i];
        left--;
        memmove(free_codes + best, free_codes + best + 1, (left - best) * sizeof *free_codes);
    }
}

/* Without this the most frequent token of every run would be in the first bank. Only neighbouring
 * codes are exchanged, so that frequent tokens stay together in caches. `places` has room for three
 * entries per run and one per FP_BANKS codes. */
static void spread_over_banks(const fp_dict *dict, ranked *list, neighbours *places) {
    uint64_t load[FP_BANKS] = {0};
    uint32_t count = 0, listed = 0;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        for (uint32_t i = 0; i < run->count; i++, listed++) {
            uint32_t code = run->first_code + i;
            if (i == 0 || code % FP_BANKS == 0 || list[listed].partial != list[listed - 1].partial)
                places[count++] = (neighbours){0, code, listed, 0};
            places[count - 1].count += list[listed].count;
            places[count - 1].codes++;
        }
    }
    qsort(places, count, sizeof *places, by_neighbours_count);
    for (uint32_t i = 0; i < count; i++) spread_neighbours(list, &places[i], load);
}

/* ---------------------------------------------------------------- all of it */

/* Copies the tokens in code order and notes their codes. */
static fastpair_status fill_dict(const fp_tokens *tokens, const ranked *list,
                                 const fastpair_allocator *allocator, fp_dict *dict,
                                 uint32_t *code_of_id, fastpair_error *error) {
    dict->bytes = fp_allocate(allocator, dict->bytes_size, 1);
    if (!dict->bytes) return fp_fail_memory(error, dict->bytes_size);
    uint8_t *next = dict->bytes;
    for (uint32_t r = 0; r < dict->run_count; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++, list++) {
            code_of_id[list->id] = dict->runs[r].first_code + i;
            memcpy(next, fp_token(tokens, list->id), list->length);
            next += list->length;
        }
    return FASTPAIR_OK;
}

/* Numbers all tokens, or the used ones. */
static fastpair_status number_once(const fp_number_input *input, int only_used,
                                   const fastpair_allocator *allocator, fp_dict *dict,
                                   uint32_t *code_of_id, fastpair_error *error) {
    const fp_tokens *tokens = input->tokens;
    *dict = (fp_dict){
        .codec = input->codec, .max_token = tokens->max_token, .order = 1, .seed = input->seed};
    ranked *list = fp_allocate(allocator, tokens->count, sizeof *list);
    /* There are at most two runs per length, a hot and a cold one. */
    dict->runs = fp_allocate(allocator, 2 * FP_MAX_TOKEN, sizeof *dict->runs);
    neighbours *places =
        fp_allocate(allocator, tokens->count / FP_BANKS + 3 * 2 * FP_MAX_TOKEN, sizeof *places);
    fastpair_status status;
    if (!list || !dict->runs || !places) {
        status = fp_fail_memory(error, tokens->count * (uint64_t)sizeof *list);
    } else {
        for (uint32_t id = 0; id < tokens->count; id++) {
            code_of_id[id] = FP_NO_CODE;
            if (only_used && !input->counts[id]) continue;
            list[dict->tokens++] =
                (ranked){input->counts[id],
                         id,
                         0,
                         tokens->lengths[id],
                         (uint8_t)resident_bytes(tokens->lengths[id], tokens->max_token),
                         0};
            dict->bytes_size += tokens->lengths[id];
        }
        mark_partial(tokens, list, dict->tokens);
        int has_hot = mark_cold(list, dict->tokens, tokens->max_token, input->hot_codes);
        place_codes(dict, list, dict->tokens);
        if (has_hot && dict->code_slots > 1u << dict->code_bits) {
            /* Two parts waste up to twice as many codes. If training left no room for that, there
             * is no hot part. */
            for (uint32_t i = 0; i < dict->tokens; i++) list[i].cold = 0;
            place_codes(dict, list, dict->tokens);
        }
        spread_over_banks(dict, list, places);
        status = fill_dict(tokens, list, allocator, dict, code_of_id, error);
    }
    fp_release(allocator, list);
    fp_release(allocator, places);
    if (status) fp_dict_close(dict, allocator);
    return status;
}

fastpair_status fp_number_tokens(const fp_number_input *input, const fastpair_allocator *allocator,
                                 fp_dict *dict, uint32_t *code_of_id, fastpair_error *error) {
    int only_used = input->coverage != FP_COVER_ALL;
    fastpair_status status = number_once(input, only_used, allocator, dict, code_of_id, error);
    if (status || input->coverage != FP_COVER_NARROWEST) return status;
    uint32_t narrow_bits = dict->code_bits;
    fp_dict_close(dict, allocator);
    status = number_once(input, 0, allocator, dict, code_of_id, error);
    if (status || dict->code_bits == narrow_bits) return status;
    fp_dict_close(dict, allocator);
    return number_once(input, 1, allocator, dict, code_of_id, error);
}

/* ---------------------------------------------------------------- numberings */

fastpair_status fp_numbering_open(const fp_number_input *input, const fastpair_allocator *allocator,
                                  fp_numbering **result, fastpair_error *error) {
    *result = NULL;
    fp_numbering *numbering = fp_allocate_zero(allocator, 1, sizeof *numbering);
    if (!numbering) return fp_fail_memory(error, sizeof *numbering);
    numbering->owns_dict = 1;
    fastpair_status status =
        fp_number_tokens(input, allocator, &numbering->dict, numbering->code_of_id, error);
    if (status) {
        fp_numbering_close(numbering, allocator);
        return status;
    }
    fp_dict_expand(&numbering->dict, NULL, 0, numbering->lengths_of_code);
    *result = numbering;
    return FASTPAIR_OK;
}

fastpair_status fp_numbering_borrow(const fp_dict *dict, const uint32_t *code_of_id, uint32_t ids,
                                    const fastpair_allocator *allocator, fp_numbering **result,
                                    fastpair_error *error) {
    fp_numbering *numbering = *result = fp_allocate_zero(allocator, 1, sizeof *numbering);
    if (!numbering) return fp_fail_memory(error, sizeof *numbering);
    numbering->dict = *dict;
    memcpy(numbering->code_of_id, code_of_id, ids * sizeof *code_of_id);
    fp_dict_expand(&numbering->dict, NULL, 0, numbering->lengths_of_code);
    return FASTPAIR_OK;
}

void fp_numbering_close(fp_numbering *numbering, const fastpair_allocator *allocator) {
    if (numbering && numbering->owns_dict) fp_dict_close(&numbering->dict, allocator);
    fp_release(allocator, numbering);
}

int fp_numbering_covers(const fp_numbering *numbering, const fp_parsed *parsed) {
    for (uint32_t id = 0; id < parsed->counted; id++)
        if (parsed->counts[id] && numbering->code_of_id[id] == FP_NO_CODE) return 0;
    for (uint64_t i = 0; i < parsed->codes && !parsed->counted; i++)
        if (numbering->code_of_id[parsed->ids[i]] == FP_NO_CODE) return 0;
    return 1;
}
