/* dict.c - numbering tokens and expanding numbered dictionaries. In: trained tokens and how often each occurs.
 * Out: a dictionary in the order of docs/format.md, 2.1, and the code of every token. The trick: codes are sorted by
 * (part, length, frequency), and each run of equal length starts on a group boundary, so that a code's upper bits
 * give its token's length; then neighbours change places so that the banks of a GPU's shared memory are used
 * evenly. Refuses nothing that training produces. */
#include "dict.h"

#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    uint64_t count;
    uint32_t id;
    uint8_t cold; /* 0 in the hot part */
    uint8_t length;
    uint8_t near; /* bytes in a GPU's shared memory */
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
    return by_frequency(left, right);
}

/* Cuts the sorted list into runs for one group size. Returns N; fills dict->runs, run_count and hot_slots. */
static uint32_t place_runs(fp_dict *dict, const ranked *list, uint32_t count, uint32_t shift) {
    uint32_t group = 1u << shift, next = 0;
    dict->run_count = 0;
    dict->hot_slots = 0;
    for (uint32_t i = 0; i < count; i++) {
        int starts_cold = i > 0 && list[i].cold != list[i - 1].cold;
        if (i == 0 || starts_cold || list[i].length != list[i - 1].length) {
            next = (next + group - 1) & ~(group - 1);
            if (starts_cold) dict->hot_slots = next;
            dict->runs[dict->run_count++] = (fp_run){.first_code = next, .length = list[i].length};
        }
        dict->runs[dict->run_count - 1].count++;
        next++;
    }
    return next;
}

/* Shared memory of a GPU's multiprocessor: a dictionary of up to NEAR_BYTES is kept there whole, of a larger one
 * HOT_BYTES; the rest of some 220 KiB is for what is being decoded. MOST_HOT_BYTES if many codes are cold even so: then
 * there is enough under way anyhow. (H200, files of OnPair-16, GB/s with 128, 136, 144 and 160 KiB: hdfs_selfrun 2569, 2574,
 * 2390 and 2382, npm_repo_url 2136, 2125, 2095 and 1975, loghub_hadoop 2904, 2948, 2950 and 3018; with many cold codes
 * l_comment 2085, 2097, 2104 and 2123.) */
#define NEAR_BYTES     (160u << 10)
#define HOT_BYTES      (136u << 10)
#define MOST_HOT_BYTES (160u << 10)
#define MANY_COLD      22u /* of 100 */

/* Bytes there: first halves of tokens, and second halves of those that have one. */
static uint32_t near_bytes(uint32_t length, uint32_t max_token) {
    return length > max_token / 2 ? max_token : max_token / 2;
}

/* What is most often read for the room it takes comes first. */
static int by_density(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    uint64_t of_a = a->count * b->near, of_b = b->count * a->near;
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    return by_frequency(left, right);
}

/* Marks what is beyond `bytes`; returns how many codes of the data are not. */
static uint64_t mark_beyond(ranked *list, uint32_t count, uint64_t bytes) {
    uint64_t taken = 0, hot = 0;
    for (uint32_t i = 0; i < count; i++) {
        taken += list[i].near;
        list[i].cold = taken > bytes;
        if (!list[i].cold) hot += list[i].count;
    }
    return hot;
}

/* Marks what is not in the hot part. Returns whether there is one. */
static int mark_cold(ranked *list, uint32_t count, uint32_t hot_codes) {
    uint64_t near = 0, codes = 0;
    for (uint32_t i = 0; i < count; i++) {
        near += list[i].near;
        codes += list[i].count;
    }
    if (hot_codes == FASTPAIR_NO_HOT_CODES || hot_codes >= count ||
        (!hot_codes && near <= NEAR_BYTES))
        return 0;
    qsort(list, count, sizeof *list, hot_codes ? by_frequency : by_density);
    if (hot_codes)
        for (uint32_t i = 0; i < count; i++) list[i].cold = i >= hot_codes;
    else if (mark_beyond(list, count, HOT_BYTES) < codes - codes / 100 * MANY_COLD)
        mark_beyond(list, count, MOST_HOT_BYTES);
    return 1;
}

/* Numbers the list: sorts it, finds the least code width that holds it, and its runs. */
static void number_codes(fp_dict *dict, ranked *list, uint32_t count) {
    qsort(list, count, sizeof *list, by_code_order);
    /* Wider codes have larger groups, never smaller ones, so the first width that fits is the least. */
    dict->code_bits = 1;
    while (dict->code_bits < 16 && (1u << dict->code_bits) < count) dict->code_bits++;
    for (;; dict->code_bits++) {
        dict->class_shift = fp_class_shift(dict->code_bits);
        dict->code_slots = place_runs(dict, list, count, dict->class_shift);
        if (dict->code_slots <= 1u << dict->code_bits || dict->code_bits == 16) break;
    }
}

/* Shared memory has 32 banks, and code c is in bank c % 32, or in one of 16 or 8 that a part of c says. The most
 * frequent token of every run would be in the first. */
#define BANKS 32u

/* Codes of one run between multiples of BANKS. */
typedef struct neighbours {
    uint64_t count;              /* of their occurrences */
    uint32_t first_code, listed; /* listed: of the first, in the list */
    uint32_t codes;
} neighbours;

static int by_neighbours_count(const void *left, const void *right) {
    const neighbours *a = left, *b = right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->first_code < b->first_code ? -1 : a->first_code > b->first_code;
}

/* Gives these codes to their tokens again, the most frequent token to the bank with the least load first. */
static void spread_neighbours(ranked *list, const neighbours *these, uint64_t *load) {
    ranked by_count[BANKS];
    uint32_t free_codes[BANKS], left = these->codes;
    memcpy(by_count, list + these->listed, these->codes * sizeof *list);
    for (uint32_t c = 0; c < left; c++) free_codes[c] = c;
    for (uint32_t i = 0; left; i++) {
        uint32_t best = 0;
        for (uint32_t f = 1; f < left; f++)
            if (load[(these->first_code + free_codes[f]) % BANKS] <
                load[(these->first_code + free_codes[best]) % BANKS])
                best = f;
        load[(these->first_code + free_codes[best]) % BANKS] += by_count[i].count;
        list[these->listed + free_codes[best]] = by_count[i];
        left--;
        memmove(free_codes + best, free_codes + best + 1, (left - best) * sizeof *free_codes);
    }
}

/* Changes the order inside runs, of codes that are close to each other only: frequent tokens stay together in caches.
 * `places` has room for two for each run and one for every BANKS codes. */
static void spread_over_banks(const fp_dict *dict, ranked *list, neighbours *places) {
    uint64_t load[BANKS] = {0};
    uint32_t count = 0, listed = 0;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        for (uint32_t i = 0; i < run->count; i++, listed++) {
            uint32_t code = run->first_code + i;
            if (i == 0 || code % BANKS == 0) places[count++] = (neighbours){0, code, listed, 0};
            places[count - 1].count += list[listed].count;
            places[count - 1].codes++;
        }
    }
    qsort(places, count, sizeof *places, by_neighbours_count);
    for (uint32_t i = 0; i < count; i++) spread_neighbours(list, &places[i], load);
}

fastpair_status fp_dict_order(const fp_tokens *tokens, const uint64_t *counts, int only_used,
                              uint32_t hot_codes, fastpair_codec codec, uint64_t seed,
                              const fastpair_allocator *allocator, fp_dict *dict,
                              uint32_t *code_of_id, fastpair_error *error) {
    *dict = (fp_dict){.codec = codec, .max_token = tokens->max_token, .order = 1, .seed = seed};
    ranked *list = fp_allocate(allocator, tokens->count, sizeof *list);
    /* A hot and a cold run for each length is the most there can be. */
    dict->runs = fp_allocate(allocator, 2 * FP_MAX_TOKEN, sizeof *dict->runs);
    neighbours *places =
        fp_allocate(allocator, tokens->count / BANKS + 2 * 2 * FP_MAX_TOKEN, sizeof *places);
    if (!list || !dict->runs || !places) {
        fp_release(allocator, list);
        fp_release(allocator, places);
        fp_dict_free(dict, allocator);
        return fp_fail_memory(error, tokens->count * (uint64_t)sizeof *list);
    }
    uint32_t count = 0;
    for (uint32_t id = 0; id < tokens->count; id++) {
        code_of_id[id] = FP_NO_CODE;
        if (only_used && !counts[id]) continue;
        uint8_t near = (uint8_t)near_bytes(tokens->lengths[id], tokens->max_token);
        list[count++] = (ranked){counts[id], id, 0, tokens->lengths[id], near};
        dict->bytes_size += tokens->lengths[id];
    }
    int has_hot = mark_cold(list, count, hot_codes);
    number_codes(dict, list, count);
    if (has_hot && dict->code_slots > 1u << dict->code_bits) {
        /* Two parts waste up to twice as many codes: more than there are, if training did not know of them. */
        for (uint32_t i = 0; i < count; i++) list[i].cold = 0;
        number_codes(dict, list, count);
    }
    spread_over_banks(dict, list, places);
    fp_release(allocator, places);
    dict->tokens = count;
    dict->bytes = fp_allocate(allocator, dict->bytes_size, 1);
    if (!dict->bytes) {
        uint64_t size = dict->bytes_size;
        fp_release(allocator, list);
        fp_dict_free(dict, allocator);
        return fp_fail_memory(error, size);
    }
    uint8_t *next = dict->bytes;
    const ranked *from = list;
    for (uint32_t r = 0; r < dict->run_count; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++, from++) {
            code_of_id[from->id] = dict->runs[r].first_code + i;
            memcpy(next, tokens->bytes[from->id], from->length);
            next += from->length;
        }
    fp_release(allocator, list);
    return FASTPAIR_OK;
}

void fp_dict_free(fp_dict *dict, const fastpair_allocator *allocator) {
    fp_release(allocator, dict->runs);
    fp_release(allocator, dict->bytes);
    dict->runs = NULL;
    dict->bytes = NULL;
}

void fp_dict_expand(const fp_dict *dict, uint8_t (*rows)[16], uint8_t *lengths) {
    uint32_t patterns = 1u << dict->code_bits;
    const uint8_t *from = dict->bytes;
    if (rows) memset(rows, 0, (size_t)patterns * 16);
    for (uint32_t r = 0; r < dict->run_count; r++) {
        const fp_run *run = &dict->runs[r];
        uint32_t end = r + 1 < dict->run_count ? dict->runs[r + 1].first_code : patterns;
        if (lengths) memset(lengths + run->first_code, (int)run->length, end - run->first_code);
        for (uint32_t i = 0; i < run->count; i++, from += run->length)
            if (rows) memcpy(rows[run->first_code + i], from, run->length);
    }
}
