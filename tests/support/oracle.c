/* oracle.c - the reference decoder: an image goes in, rows come out, or the first rule it breaks.
 *
 * Functions are in the order of docs/format.md. The trick is to have none: every number is read
 * where the page puts it, every rule is one line, codes and lengths are read bit by bit. It refuses
 * all that the page forbids. */
#define XXH_INLINE_ALL
#include "oracle.h"

#include "frames.h"
#include "oracle_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct dictionary {
    uint32_t bits, slots, tokens, longest;
    uint64_t offset, block_size;
    uint8_t (*token)[64];
    uint8_t *length; /* of every slot, uncovered ones included */
    uint8_t *covered;
    uint8_t *used;
} dictionary;

typedef struct block {
    uint64_t offset, block_size, rows, decoded_bytes, dictionary;
} block;

typedef struct reading {
    const uint8_t *data;
    uint64_t size;
    uint64_t alignment;
    int may_be_cold; /* by the features of the file header */
    dictionary *dictionaries;
    block *chunks;
    oracle_column *out;
} reading;

static uint64_t little(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static uint64_t bits_at(const uint8_t *section, uint64_t bit, uint32_t width) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++)
        value |= (uint64_t)(section[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
    return value;
}

static uint64_t hash(const uint8_t *data, uint64_t size) { return XXH3_64bits(data, size); }

static int all_zero(const uint8_t *data, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        if (data[i]) return 0;
    return 1;
}

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }
static uint64_t divide_up(uint64_t value, uint64_t unit) {
    return value / unit + (value % unit != 0);
}

static void *room(void *old, uint64_t count, size_t size) {
    void *memory = realloc(old, count ? count * size : 1);
    if (!memory) abort();
    return memory;
}

static uint64_t power_above(uint64_t count) {
    uint64_t power = 1;
    while (power < count) power *= 2;
    return power;
}

/* Room for `count` entries where there were `had`, all made by this function. There is room for a
 * power of two of them, so that files of many chunks are not copied for each. */
static void *more_room(void *old, uint64_t had, uint64_t count, size_t size) {
    if (old && power_above(count) == power_above(had)) return old;
    return room(old, power_above(count), size);
}

static int refuse(reading *r, uint64_t where, const char *why) {
    snprintf(r->out->why, sizeof r->out->why, "%s", why);
    r->out->where = where;
    return 0;
}

/* One rule of the page: `where` is the file offset it is about. */
#define RULE(condition, where, why)                                                                \
    do {                                                                                           \
        if (!(condition)) return refuse(r, where, why);                                            \
    } while (0)

/* ---------------------------------------------------------------- 1. the parts of a file */

static int file_header(reading *r) {
    const uint8_t *d = r->data;
    RULE(r->size >= 64 + 112 + 32, 0, "too small for header, footer and trailer");
    RULE(!memcmp(d, "\x89\x46\x50\x43\x0d\x0a\x1a\x0a", 8), 0, "magic");
    RULE(little(d + 8, 2) == 1, 8, "major version");
    r->out->minor = (uint32_t)little(d + 10, 2);
    r->alignment = little(d + 12, 4);
    RULE(r->alignment == 64 || r->alignment == 4096, 12, "alignment");
    RULE(d[16] <= 1, 16, "framing");
    RULE(d[16] || !d[17], 17, "separator without framing");
    RULE(r->out->minor || (all_zero(d + 18, 2) && all_zero(d + 24, 32)), 18, "zero field");
    uint64_t known = frames_available() ? 1 : 0; /* without zstd a reader refuses cold files */
    r->out->not_supported = little(d + 20, 4) > known;
    RULE(little(d + 20, 4) <= known, 20, "feature");
    r->may_be_cold = d[20];
    RULE(little(d + 56, 8) == hash(d, 56), 56, "file header checksum");
    r->out->has_framing = d[16];
    r->out->separator = d[17];
    return 1;
}

/* "Every block": kind has been seen; checks H, the size and the header's hash. */
static int block_header(reading *r, uint64_t at, uint32_t header_size) {
    RULE(at + header_size <= r->size, at, "block header beyond the file");
    RULE(little(r->data + at + 4, 4) == header_size, at + 4, "header size");
    RULE(little(r->data + at + header_size - 8, 8) == hash(r->data + at, header_size - 8),
         at + header_size - 8, "block header checksum");
    return 1;
}

/* A section entry: where it must lie, given the end of what is before it; moves *end past it. */
static int section(reading *r, uint64_t at, uint64_t entry, uint64_t *end, const uint8_t **bytes,
                   uint64_t *size) {
    uint64_t offset = little(r->data + entry, 8), length = little(r->data + entry + 8, 8);
    uint64_t expected = little(r->data + entry + 16, 8);
    *size = length;
    *bytes = r->data + at; /* never read when empty */
    if (length == 0) {
        RULE(offset == 0 && expected == 0, entry, "empty section with an offset or a hash");
        return 1;
    }
    RULE(offset == round_up(*end, r->alignment), entry, "section offset");
    RULE(length <= r->size - at && offset <= r->size - at - length, entry + 8,
         "section beyond the file");
    RULE(hash(r->data + at + offset, length) == expected, at + offset, "section checksum");
    if (!all_zero(r->data + at + *end, offset - *end)) r->out->gaps_not_zero = 1;
    *bytes = r->data + at + offset;
    *end = offset + length;
    return 1;
}

/* The block ends at the first multiple of A at or past the end of its last section. */
static int block_end(reading *r, uint64_t at, uint64_t end) {
    uint64_t block_size = little(r->data + at + 8, 8);
    RULE(block_size == round_up(end, r->alignment), at + 8, "block size");
    RULE(block_size <= r->size - at, at + 8, "block beyond the file");
    if (!all_zero(r->data + at + end, block_size - end)) r->out->gaps_not_zero = 1;
    return 1;
}

/* ---------------------------------------------------------------- 2. dictionary block */

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

static int dictionary_block(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at;
    if (!block_header(r, at, 96)) return 0;
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
    if (!section(r, at, at + 48, &end, &bytes, &size) || !block_end(r, at, end)) return 0;
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

/* ---------------------------------------------------------------- 3. chunk block */

/* The counts of a header: codes whose token has so many bytes at most, and more than the count
 * before has. */
static const uint32_t most_bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40, 48, 56, 64};

/* What the codes of a chunk add up to. */
typedef struct tally {
    uint64_t batch; /* B */
    uint64_t codes, done;
    uint64_t begin[3]; /* where the present batch begins, and the present two and four */
    uint64_t largest[3];
    uint64_t by_length[16];
} tally;

/* Decodes one code: its token goes to `bytes`, and `boundary` is marked where it begins. */
static int add_code(reading *r, uint64_t at, uint64_t code, tally *sum, uint8_t *bytes,
                    uint8_t *boundary) {
    const uint8_t *h = r->data + at;
    dictionary *dict = &r->dictionaries[little(h + 20, 4)];
    uint64_t where = at + little(h + 208, 8);
    RULE(code < dict->slots, where, "code not below N");
    if (!dict->covered[code]) r->out->empty_slots_used = 1;
    if (dict->covered[code]) dict->used[code] = 1;
    uint32_t length = dict->length[code], band = 0;
    RULE(sum->done + length <= little(h + 48, 8), where, "more bytes than the header says");
    for (int i = 0; i < 3; i++)
        if (sum->codes % (sum->batch << i) == 0) sum->begin[i] = sum->done;
    memcpy(bytes + sum->done, dict->token[code], length);
    boundary[sum->done] = 1;
    sum->done += length;
    sum->codes++;
    while (length > most_bytes[band]) band++;
    sum->by_length[band]++;
    for (int i = 0; i < 3; i++)
        if (sum->done - sum->begin[i] > sum->largest[i])
            sum->largest[i] = sum->done - sum->begin[i];
    return 1;
}

/* The header against what its codes add up to. */
static int check_tally(reading *r, uint64_t at, const tally *sum) {
    const uint8_t *h = r->data + at;
    RULE(sum->done == little(h + 48, 8), at + 48, "decoded bytes");
    for (int i = 0; i < 3; i++)
        RULE(sum->largest[i] == little(h + 64 + 4 * i, 4), at + 64 + 4 * (uint64_t)i,
             "largest batch, pair or four");
    RULE(sum->largest[0] <= 16384, at + 64, "a batch of more than 16384 bytes");
    for (int i = 0; i < 16; i++)
        RULE(sum->by_length[i] == little(h + 80 + 8 * i, 8), at + 80 + 8 * i, "codes by length");
    r->out->codes += sum->codes;
    r->out->coded_bytes += sum->done;
    for (int i = 0; i < 16; i++) r->out->codes_by_length[i] += sum->by_length[i];
    if (sum->largest[0] > r->out->largest_batch) r->out->largest_batch = (uint32_t)sum->largest[0];
    return 1;
}

/* Codes and sidecar. Fills the chunk's bytes and marks in `boundary` where codes begin. */
static int coded_bytes(reading *r, uint64_t at, const uint8_t *codes, const uint8_t *sidecar,
                       uint8_t *bytes, uint8_t *boundary) {
    const uint8_t *h = r->data + at;
    uint32_t bits = r->dictionaries[little(h + 20, 4)].bits;
    uint64_t count = little(h + 40, 8), batch = little(h + 56, 4), group = little(h + 60, 4);
    uint64_t batches = divide_up(count, batch), groups = divide_up(batches, group);
    tally sum = {.batch = batch};
    for (uint64_t i = 0; i < count; i++) {
        if (i % batch == 0) {
            uint64_t k = i / batch;
            uint64_t claim =
                little(sidecar + k / group * 4, 4) + little(sidecar + groups * 4 + k * 2, 2);
            RULE(claim == sum.done, (uint64_t)(sidecar - r->data) + groups * 4 + k * 2,
                 "sidecar position");
        }
        if (!add_code(r, at, bits_at(codes, i * bits, bits), &sum, bytes, boundary)) return 0;
    }
    if (!check_tally(r, at, &sum)) return 0;
    for (uint64_t bit = count * bits; bit % 128; bit++)
        if (bits_at(codes, bit, 1)) r->out->padding_not_zero = 1;
    return 1;
}

/* Row lengths and validity: appends the chunk's rows to the column. `base` is where the chunk's
 * bytes begin. (Seven parameters: the chunk's sections, as the decoder has them at hand.) */
static int row_lengths(reading *r, uint64_t at, const uint8_t *lengths, uint64_t size,
                       const uint8_t *validity, uint64_t base, const uint8_t *boundary) {
    const uint8_t *h = r->data + at;
    uint64_t rows = little(h + 24, 8), nulls = little(h + 32, 8), decoded = little(h + 48, 8);
    uint64_t blocks = divide_up(rows, 256), position = (uint64_t)(lengths - r->data), start = 0,
             packed = 0, nulls_seen = 0;
    oracle_column *out = r->out;
    RULE(size >= blocks * 16, at + 256, "length directory");
    out->offsets = more_room(out->offsets, out->rows + 1, out->rows + rows + 1, 8);
    out->valid = more_room(out->valid, out->rows, out->rows + rows, 1);
    for (uint64_t block_number = 0; block_number < blocks; block_number++) {
        const uint8_t *entry = lengths + 16 * block_number;
        uint64_t where = position + 16 * block_number, minimum = little(entry + 8, 4);
        uint64_t in_block = rows - block_number * 256 < 256 ? rows - block_number * 256 : 256;
        uint32_t width = entry[12];
        RULE(all_zero(entry + 13, 3), where + 13, "zero field of a length block");
        RULE(width <= 32, where + 12, "length width");
        RULE(little(entry, 4) == start, where, "start of a length block");
        RULE(little(entry + 4, 4) == packed, where + 4, "place of packed lengths");
        uint64_t taken = divide_up(in_block * width, 32) * 4;
        RULE(packed + taken <= size - blocks * 16, where + 4, "packed lengths beyond the section");
        const uint8_t *numbers = lengths + blocks * 16 + packed;
        for (uint64_t i = 0; i < in_block; i++) {
            uint64_t row = block_number * 256 + i,
                     length = minimum + bits_at(numbers, i * width, width);
            int valid = validity ? validity[row / 8] >> (row % 8) & 1 : 1;
            RULE(valid || length == 0, where, "null row with bytes");
            RULE(length <= decoded - start, where, "row lengths exceed the decoded bytes");
            if (boundary && start < decoded && !boundary[start]) out->rows_cut_tokens = 1;
            out->offsets[out->rows] = base + start;
            out->valid[out->rows] = (uint8_t)valid;
            out->rows++;
            start += length;
            nulls_seen += !valid;
        }
        for (uint64_t bit = in_block * width; bit % 32; bit++)
            if (bits_at(numbers, bit, 1)) out->padding_not_zero = 1;
        packed += taken;
    }
    RULE(packed == size - blocks * 16, at + 256, "bytes past the packed lengths");
    RULE(start == decoded, position, "row lengths do not add up");
    RULE(nulls_seen == nulls, at + 32, "null count");
    if (validity)
        for (uint64_t row = rows; row % 8; row++)
            RULE(!(validity[row / 8] >> (row % 8) & 1), at + 280, "spare validity bit");
    out->offsets[out->rows] = base + decoded;
    out->nulls += nulls;
    return 1;
}

/* Section 3.1: the words of a coded and cold chunk. Appends its rows to the column. */
static int cold_words(reading *r, uint64_t at, const uint8_t *words, uint8_t *bytes,
                      uint64_t base) {
    const uint8_t *h = r->data + at;
    oracle_column *out = r->out;
    uint64_t slots = r->dictionaries[little(h + 20, 4)].slots, where = at + little(h + 208, 8);
    uint64_t rows = little(h + 24, 8), count = little(h + 40, 8), row = 0, begin = 0, nulls = 0;
    tally sum = {.batch = little(h + 56, 4)};
    uint8_t *boundary = room(NULL, little(h + 48, 8) + 1, 1); /* rows are not cut by lengths */
    out->offsets = more_room(out->offsets, out->rows + 1, out->rows + rows + 1, 8);
    out->valid = more_room(out->valid, out->rows, out->rows + rows, 1);
    out->offsets[out->rows] = base;
    const char *fault = NULL;
    for (uint64_t i = 0; i < count + rows && !fault; i++) {
        uint64_t word = little(words + 2 * i, 2);
        if (word < slots) {
            if (sum.codes == count)
                fault = "more codes than the header says";
            else if (!r->dictionaries[little(h + 20, 4)].covered[word])
                fault = "word without a token";
            else if (!add_code(r, at, word, &sum, bytes, boundary))
                break;
            continue;
        }
        int valid = word == slots;
        if (word > slots + 1) fault = "word above N + 1";
        if (row == rows) fault = "more rows than the header says";
        if (!valid && sum.codes != begin) fault = "null row with codes";
        if (fault) break;
        out->valid[out->rows + row] = (uint8_t)valid;
        out->offsets[out->rows + row + 1] = base + sum.done;
        nulls += !valid;
        begin = sum.codes;
        row++;
    }
    free(boundary);
    RULE(!fault, where, fault);
    if (r->out->why[0]) return 0; /* add_code said why */
    RULE(row == rows && sum.codes == begin, where, "rows, or codes after the last of them");
    RULE(nulls == little(h + 32, 8), at + 32, "null count");
    out->rows += rows;
    out->nulls += nulls;
    return check_tally(r, at, &sum);
}

/* What a coded and cold chunk obeys besides. */
static int cold_header(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at;
    const dictionary *dict = &r->dictionaries[little(h + 20, 4)];
    uint64_t batch = little(h + 56, 4), group = 1;
    RULE(dict->slots <= 65534, at + 20, "N of a cold chunk's dictionary");
    RULE(little(h + 40, 8) + little(h + 24, 8) <= 1u << 25, at + 40, "words of a cold chunk");
    RULE(batch * dict->longest <= 16384, at + 56, "B of a cold chunk");
    while (2 * group * batch <= 4096 && 2 * group * batch * dict->longest <= 65536) group *= 2;
    RULE(little(h + 60, 4) == group, at + 60, "G of a cold chunk");
    return 1;
}

static int chunk_block(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at, *bytes[4];
    oracle_column *out = r->out;
    if (!block_header(r, at, 320)) return 0;
    int coded = h[16] & 1, cold = h[16] >> 1, has_validity = h[17] == 1;
    RULE(h[16] <= 3 && cold <= r->may_be_cold, at + 16, "encoding");
    RULE(h[17] <= 1, at + 17, "validity flag");
    RULE(r->out->minor || (all_zero(h + 18, 2) && all_zero(h + 76, 4) && all_zero(h + 304, 8)),
         at + 18, "zero field");
    uint64_t dict_number = little(h + 20, 4), rows = little(h + 24, 8), nulls = little(h + 32, 8);
    uint64_t count = little(h + 40, 8), decoded = little(h + 48, 8), batch = little(h + 56, 4),
             group = little(h + 60, 4);
    RULE(coded ? dict_number < out->dictionaries : dict_number == 0xffffffffu, at + 20,
         "dictionary number");
    RULE(rows >= 1 && rows <= 1u << 28, at + 24, "rows");
    RULE(nulls <= rows && (nulls > 0) == has_validity, at + 32, "nulls");
    RULE(decoded < 1ull << 32, at + 48, "decoded bytes");
    uint64_t sizes[4], end = 320, sum = 0, least = 0, most = 0;
    for (int i = 0; i < 16; i++) {
        uint64_t of_length = little(h + 80 + 8 * i, 8);
        RULE(of_length <= count, at + 80 + 8 * i, "codes by length");
        sum += of_length; /* at most 16 times count, which the section's size bounds below */
        least += of_length * (i ? most_bytes[i - 1] + 1ull : 1);
        most += of_length * most_bytes[i];
    }
    if (coded) {
        RULE(count >= 1 && count < 1ull << 32, at + 40, "codes");
        RULE(batch >= 32 && batch <= 1024 && batch % 32 == 0, at + 56, "batch");
        RULE(group >= 1 && (group & (group - 1)) == 0 && batch * group <= 4096, at + 60,
             "batches per group");
        RULE(sum == count && least <= decoded && decoded <= most, at + 80,
             "codes by length do not add up");
        if (cold && !cold_header(r, at)) return 0;
    } else {
        RULE(count == 0 && sum == 0 && batch == 0 && group == 0 && all_zero(h + 64, 12), at + 40,
             "stored chunk with codes");
        RULE(!cold || (decoded && decoded <= 1u << 26), at + 48, "bytes of a cold chunk");
    }
    for (int i = 0; i < 4; i++)
        if (!section(r, at, at + 208 + 24 * (uint64_t)i, &end, &bytes[i], &sizes[i])) return 0;
    if (!block_end(r, at, end)) return 0;
    uint64_t batches = coded ? divide_up(count, batch) : 0;
    RULE(cold || sizes[0] == (coded ? divide_up(count * r->dictionaries[dict_number].bits, 128) * 16
                                    : decoded),
         at + 208, "size of the codes");
    RULE(sizes[1] == (coded && !cold ? divide_up(batches, group) * 4 + batches * 2 : 0), at + 232,
         "size of the sidecar");
    RULE(!(coded && cold) || sizes[2] == 0, at + 256, "row lengths of a cold chunk");
    RULE(sizes[3] == (has_validity && !(coded && cold) ? divide_up(rows, 8) : 0), at + 280,
         "size of the validity");

    uint64_t base = out->decoded_bytes, unpacked = coded ? 2 * (count + rows) : decoded;
    out->bytes = more_room(out->bytes, base, base + decoded, 1);
    uint8_t *frame = cold ? room(NULL, unpacked, 1) : NULL;
    const char *fault = cold ? frame_unpack(bytes[0], sizes[0], frame, unpacked) : NULL;
    uint8_t *boundary = coded && !cold ? calloc(decoded + 1, 1) : NULL;
    if (!coded && !fault) memcpy(out->bytes + base, cold ? frame : bytes[0], decoded);
    int good = !fault || refuse(r, at + 208, fault);
    if (good && coded && cold)
        good = cold_words(r, at, frame, out->bytes + base, base);
    else if (good)
        good =
            (!coded || coded_bytes(r, at, bytes[0], bytes[1], out->bytes + base, boundary)) &&
            row_lengths(r, at, bytes[2], sizes[2], has_validity ? bytes[3] : NULL, base, boundary);
    free(boundary), free(frame);
    if (!good) return 0;
    out->decoded_bytes += decoded;
    r->chunks = more_room(r->chunks, out->chunks, out->chunks + 1, sizeof *r->chunks);
    r->chunks[out->chunks++] = (block){at, little(h + 8, 8), rows, decoded, dict_number};
    out->stored_chunks += !coded;
    out->cold_chunks += (uint64_t)cold;
    if (out->chunks == 1) out->first_batch_codes = (uint32_t)batch;
    out->code_bytes += sizes[0], out->sidecar_bytes += sizes[1];
    out->length_bytes += sizes[2], out->validity_bytes += sizes[3];
    return 1;
}

/* ---------------------------------------------------------------- 4. footer block and trailer */

static int footer_block(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at;
    oracle_column *out = r->out;
    if (!block_header(r, at, 112)) return 0;
    RULE(little(h + 16, 8) == out->dictionaries, at + 16, "dictionaries");
    RULE(little(h + 24, 8) == out->chunks, at + 24, "chunks");
    uint64_t parts = little(h + 68, 4), size = little(h + 8, 8);
    RULE(parts <= 64, at + 68, "parts");
    uint64_t blocks = 24 * out->dictionaries + 32 * out->chunks, entries = blocks + 32 * parts;
    RULE(size >= 112 + entries && size <= r->size - at - 32, at + 8, "footer size");
    RULE(r->size - at == size + 32, at + 8, "the trailer does not end the file");
    RULE(little(h + 32, 8) == out->rows, at + 32, "rows");
    RULE(little(h + 40, 8) == out->nulls, at + 40, "null rows");
    RULE(little(h + 48, 8) == out->codes, at + 48, "codes");
    RULE(little(h + 56, 8) == out->decoded_bytes, at + 56, "decoded bytes");
    RULE(h[64] <= 1 && (out->has_framing || h[64] == 0), at + 64, "final separator");
    RULE(h[65] <= 1, at + 65, "type");
    RULE(out->minor || (all_zero(h + 66, 2) && all_zero(h + 80, 24)), at + 66, "zero field");
    RULE(little(h + 80, 8) == out->extra_bytes, at + 80, "extra blocks");
    out->is_text = h[65];
    RULE(little(h + 72, 8) == (entries ? hash(h + 112, entries) : 0), at + 72,
         "footer entries checksum");
    out->final_separator = h[64];
    const uint8_t *entry = h + 112;
    for (uint64_t i = 0; i < out->dictionaries; i++, entry += 24) {
        uint64_t where = (uint64_t)(entry - r->data);
        RULE(little(entry, 8) == r->dictionaries[i].offset, where, "dictionary offset");
        RULE(little(entry + 8, 8) == r->dictionaries[i].block_size, where + 8,
             "dictionary block size");
        RULE(out->minor || all_zero(entry + 20, 4), where + 20, "zero field");
        out->tokens_claimed += little(entry + 16, 4);
    }
    for (uint64_t i = 0; i < out->chunks; i++, entry += 32) {
        uint64_t where = (uint64_t)(entry - r->data);
        RULE(little(entry, 8) == r->chunks[i].offset, where, "chunk offset");
        RULE(little(entry + 8, 8) == r->chunks[i].block_size, where + 8, "chunk block size");
        RULE(little(entry + 16, 4) == r->chunks[i].rows, where + 16, "chunk rows");
        RULE(!little(entry + 20, 4) || little(entry + 20, 4) - 1 == r->chunks[i].dictionary,
             where + 20, "chunk dictionary");
        RULE(little(entry + 24, 8) == r->chunks[i].decoded_bytes, where + 24,
             "chunk decoded bytes");
    }
    uint64_t *chunk_rows = room(NULL, out->chunks, 8), where = at;
    for (uint64_t i = 0; i < out->chunks; i++) chunk_rows[i] = r->chunks[i].rows;
    const char *why = oracle_check_parts(
        &(oracle_footer){r->data, at, size, 112 + blocks, parts, chunk_rows}, out, &where);
    free(chunk_rows);
    RULE(!why, where, why);
    entry = h + size;
    where = at + size;
    RULE(little(entry, 8) == at, where, "footer offset in the trailer");
    RULE(little(entry + 8, 8) == r->size, where + 8, "file size in the trailer");
    RULE(little(entry + 16, 8) == hash(entry, 16), where + 16, "trailer checksum");
    RULE(!memcmp(entry + 24, "\x46\x50\x43\x0a\x1a\x45\x4e\x44", 8), where + 24, "trailer magic");
    return 1;
}

static int whole_file(reading *r) {
    if (!file_header(r)) return 0;
    uint64_t at = r->alignment;
    RULE(at + 112 + 32 <= r->size, 64, "no room for a footer");
    if (!all_zero(r->data + 64, at - 64)) r->out->gaps_not_zero = 1;
    for (;;) {
        RULE(at + 16 <= r->size, at, "no footer");
        if (!memcmp(r->data + at, "FPFT", 4)) return footer_block(r, at);
        int known = !memcmp(r->data + at, "FPDI", 4) || !memcmp(r->data + at, "FPCH", 4);
        RULE(!known || !r->out->extra_bytes, at, "a block after an extra one");
        if (!memcmp(r->data + at, "FPDI", 4)) {
            if (!dictionary_block(r, at)) return 0;
        } else if (!memcmp(r->data + at, "FPCH", 4)) {
            if (!chunk_block(r, at)) return 0;
        } else {
            uint64_t header = little(r->data + at + 4, 4), size = little(r->data + at + 8, 8);
            RULE(r->out->minor, at, "block kind");
            RULE(header >= 24 && size >= header && size <= r->size - at && size % r->alignment == 0,
                 at + 4, "sizes of an extra block");
            if (!block_header(r, at, (uint32_t)header)) return 0;
            r->out->extra_bytes += size;
        }
        at += little(r->data + at + 8, 8);
    }
}

int oracle_decode(const uint8_t *data, uint64_t size, oracle_column *column) {
    memset(column, 0, sizeof *column);
    column->offsets = more_room(NULL, 0, 1, 8);
    column->offsets[0] = 0;
    column->bytes = more_room(NULL, 0, 0, 1);
    column->valid = more_room(NULL, 0, 0, 1);
    reading r = {.data = data, .size = size, .out = column};
    int good = whole_file(&r);
    for (uint64_t i = 0; i < column->dictionaries; i++) {
        dictionary *dict = &r.dictionaries[i];
        for (uint32_t code = 0; dict->used && code < dict->slots; code++)
            column->tokens_in_use += dict->used[code];
        free(dict->token), free(dict->length), free(dict->covered), free(dict->used);
    }
    free(r.dictionaries), free(r.chunks);
    return good;
}

void oracle_free(oracle_column *column) {
    free(column->bytes), free(column->offsets), free(column->valid);
    memset(column, 0, sizeof *column);
}
