/* oracle_dictionary.c - a dictionary block (docs/format.md, section 2), plain, folded or cold: its
 * tokens come out. */
#include "oracle_private.h"

#include "frames.h"

static int run_entries(reading *r, uint64_t at, dictionary *dict, const uint8_t *bytes,
                       uint64_t size) {
    const uint8_t *h = r->data + at;
    uint64_t position = at + little(h + 48, 8);
    uint32_t longest = h[18], order = h[19], shift = h[20], runs = (uint32_t)little(h + 36, 4);
    uint64_t hot = little(h + 32, 4), end = 0, seen = 0, payload = 8ull * runs, last_length = 0,
             cold_part = hot == 0;
    RULE(size >= payload, position, "token section shorter than its runs");
    dict->token = room(NULL, dict->slots, 64);
    dict->length = room(NULL, dict->slots, 1);
    dict->covered = room(NULL, dict->slots, 1);
    dict->used = room(NULL, dict->slots, 1);
    memset(dict->token, 0, 64ull * dict->slots);
    memset(dict->covered, 0, dict->slots);
    memset(dict->used, 0, dict->slots);
    for (uint32_t i = 0; i < runs; i++) {
        const uint8_t *entry = bytes + 8ull * i;
        uint64_t where = position + 8ull * i, first = little(entry, 4),
                 count = little(entry + 4, 2) + 1;
        uint32_t length = entry[6];
        RULE(entry[7] == 0, where, "zero field of a run");
        RULE(length >= 1 && length <= longest, where, "token length");
        RULE(i ? first >= end : first == 0, where, "runs overlap, or the first is not at 0");
        RULE(first + count <= dict->slots, where, "run beyond N");
        for (uint64_t code = end; code < first; code++) dict->length[code] = (uint8_t)last_length;
        if (order == 1) {
            RULE(first % (1ull << shift) == 0, where, "run not at a multiple of 2^s");
            RULE(first >= hot || first + count <= hot, where, "run crosses the hot part's end");
            int restart = i == 0 || (hot && first == hot);
            if (hot && first == hot) cold_part = 1;
            RULE(restart || length > last_length, where, "lengths do not ascend");
        }
        RULE(payload + count * length <= size, where, "tokens beyond the section");
        for (uint64_t code = first; code < first + count; code++, payload += length) {
            memcpy(dict->token[code], bytes + payload, length);
            dict->length[code] = (uint8_t)length;
            dict->covered[code] = 1;
        }
        end = first + count;
        seen += count;
        last_length = length;
    }
    for (uint64_t code = end; code < dict->slots; code++) dict->length[code] = (uint8_t)last_length;
    RULE(cold_part, at + 32, "no run begins where the hot part ends");
    RULE(payload == size, position, "bytes past the tokens");
    RULE(seen == dict->tokens, at + 28, "token count");
    return 1;
}

/* 2.3: numbers are taken from a string of bits. */
typedef struct bit_string {
    const uint8_t *bytes;
    uint64_t bits, taken; /* taken > bits: there were too few */
} bit_string;

static uint64_t take(bit_string *from, uint32_t width) {
    uint64_t number = 0;
    for (uint32_t i = 0; i < width; i++, from->taken++)
        if (from->taken < from->bits)
            number |= (uint64_t)(from->bytes[from->taken / 8] >> from->taken % 8 & 1) << i;
    return number;
}

static uint32_t least_width(uint64_t n) {
    uint32_t w = 0;
    while (1ull << w < n) w++;
    return w;
}

/* Folded tokens to plain ones, token by token. `starts` is where each begins in `tokens`. */
static const char *unfold(bit_string *from, const uint8_t *entries, uint32_t runs, uint8_t *tokens,
                          uint64_t size, uint64_t *starts) {
    uint64_t count = 0, before = 0;
    for (uint32_t i = 0; i < runs; i++)
        for (uint64_t k = 0; k <= little(entries + 8ull * i + 4, 2); k++) {
            uint64_t left = entries[8ull * i + 6], at = before;
            if (left > size - before) return "tokens beyond the plain size";
            starts[count] = before;
            while (left > 1) {
                uint64_t where, length = 1;
                if (!take(from, 1)) {
                    uint64_t number = take(from, least_width(count));
                    if (number >= count) return "token that does not come before";
                    where = starts[number], length = starts[number + 1] - where;
                } else if (!take(from, 1)) {
                    tokens[at++] = (uint8_t)take(from, 8);
                    left--;
                    continue;
                } else {
                    where = take(from, least_width(before));
                    length = 2 + take(from, least_width(left - 1));
                    if (where + length > before) return "bytes that do not come before";
                }
                if (length > left) return "piece past the end of its token";
                memcpy(tokens + at, tokens + where, length);
                at += length, left -= length;
            }
            if (left) tokens[at++] = (uint8_t)take(from, 8);
            if (from->taken > from->bits) return "too few bits";
            before = at;
            starts[++count] = before;
        }
    if (from->bits - from->taken >= 8 || take(from, (uint32_t)(from->bits - from->taken)))
        return "bits past the tokens";
    return before == size ? NULL : "plain size of a dictionary";
}

static int folded_entries(reading *r, uint64_t at, dictionary *dict, const uint8_t *bytes,
                          uint64_t size, uint64_t plain) {
    uint64_t runs = little(r->data + at + 36, 4), position = at + little(r->data + at + 48, 8),
             all = 1;
    RULE(size >= 8 * runs && plain >= 8 * runs, position, "token section shorter than its runs");
    for (uint64_t i = 0; i < runs; i++) all += little(bytes + 8 * i + 4, 2) + 1;
    RULE(all - 1 == dict->tokens, at + 28, "token count");
    uint8_t *unfolded = room(NULL, plain, 1);
    uint64_t *starts = room(NULL, all, sizeof *starts);
    memcpy(unfolded, bytes, 8 * runs);
    bit_string from = {bytes + 8 * runs, 8 * (size - 8 * runs), 0};
    const char *fault =
        unfold(&from, bytes, (uint32_t)runs, unfolded + 8 * runs, plain - 8 * runs, starts);
    int good = fault ? refuse(r, position, fault) : run_entries(r, at, dict, unfolded, plain);
    free(unfolded), free(starts);
    return good;
}

int oracle_dictionary_block(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at;
    if (!oracle_block_header(r, at, 96)) return 0;
    RULE(h[16] == 1 || h[16] == 2, at + 16, "codec");
    RULE(h[17] >= 1 && h[17] <= 16, at + 17, "bits");
    RULE(h[18] == 8 || h[18] == 16 || h[18] == 32 || h[18] == 64, at + 18, "longest token");
    RULE(h[19] <= 1, at + 19, "order");
    RULE(h[20] <= 15 && (h[19] == 1 || h[20] == 0), at + 20, "class shift");
    RULE(r->out->minor || (all_zero(h + 22, 2) && all_zero(h + 80, 8)), at + 22, "zero field");
    RULE(h[21] <= 2 && (h[21] != 1 || r->may_be_cold), at + 21, "form of a dictionary");
    RULE(h[21] || all_zero(h + 72, 8), at + 72, "a plain dictionary has a plain size");
    uint64_t slots = little(h + 24, 4), tokens = little(h + 28, 4), hot = little(h + 32, 4),
             runs = little(h + 36, 4);
    uint32_t bits = h[17];
    RULE(slots >= 1 && slots <= 1ull << bits, at + 24, "N");
    RULE(bits == 1 || slots > 1ull << (bits - 1), at + 24, "bits not the smallest for N");
    RULE(tokens >= 1 && tokens <= slots, at + 28, "tokens");
    RULE(hot <= slots && (h[19] == 1 || hot == 0) && hot % (1ull << h[20]) == 0, at + 32,
         "hot slots");
    RULE(runs >= 1 && runs <= tokens, at + 36, "runs");
    uint64_t end = 96, size;
    const uint8_t *bytes;
    if (!oracle_section(r, at, at + 48, &end, &bytes, &size) || !oracle_block_end(r, at, end))
        return 0;
    RULE(size > 0, at + 48, "empty token section");

    oracle_column *out = r->out;
    r->dictionaries = more_room(r->dictionaries, out->dictionaries, out->dictionaries + 1,
                                sizeof *r->dictionaries);
    dictionary *dict = &r->dictionaries[out->dictionaries++];
    *dict = (dictionary){.bits = bits,
                         .slots = (uint32_t)slots,
                         .tokens = (uint32_t)tokens,
                         .longest = h[18],
                         .offset = at};
    dict->block_size = little(h + 8, 8);
    if (out->dictionaries == 1)
        out->first_codec = h[16], out->first_bits = bits, out->first_longest = h[18];
    out->tokens += tokens;
    out->dictionary_bytes += size;
    if (!h[21]) return run_entries(r, at, dict, bytes, size);
    uint64_t plain = little(h + 72, 8);
    RULE(plain <= 8 * runs + 64 * tokens, at + 72, "plain size of a dictionary");
    if (h[21] == 2) return folded_entries(r, at, dict, bytes, size, plain);
    uint8_t *unpacked = room(NULL, plain, 1);
    const char *fault = frame_unpack(bytes, size, unpacked, plain);
    int good = fault ? refuse(r, at + little(h + 48, 8), fault)
                     : run_entries(r, at, dict, unpacked, plain);
    free(unpacked);
    return good;
}
