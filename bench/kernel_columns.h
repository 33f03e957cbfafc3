/* kernel_columns.h - columns for kernel_check.cu. In: a file of tokens and codes. Out: the same with codes numbered as
 * files number them, packed or widened, and repeated.
 *
 * FILE, all little-endian: 32-bit magic 0x46504c31, code bits, longest token, dictionary size; 64-bit
 * number of codes; tokens zero-padded to 16 bytes; their lengths, a byte each; codes, 16 bits each. */
#ifndef FP_BENCH_KERNEL_COLUMNS_H
#define FP_BENCH_KERNEL_COLUMNS_H

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "params.h"

static const uint32_t AS_FILES = UINT32_MAX;

struct column {
    uint32_t bits, longest, slots, hot;
    std::vector<uint8_t> tokens, lengths;
    std::vector<uint16_t> codes; /* one period */
    uint64_t count;              /* codes after repetition */
    uint64_t bytes;              /* decoded */
};

/* Bytes that a token takes in shared memory. */
static uint64_t column_near(const column *c, uint32_t id) {
    uint32_t half = c->longest > 8 ? 8 : 4;
    return c->lengths[id] > half ? 2 * half : half;
}

/* How many of the tokens, which are in order, are within so many bytes; `codes` is how often they occur. */
static uint32_t column_within(const column *c, const std::vector<uint32_t> &order,
                              const std::vector<uint64_t> &counts, uint64_t bytes,
                              uint64_t *codes) {
    uint32_t hot = 0;
    uint64_t taken = 0;
    *codes = 0;
    for (uint32_t id : order)
        if ((taken += column_near(c, id)) <= bytes) hot++, *codes += counts[id];
    return hot;
}

/* How many tokens files have first, as in src/dict.c; 0 if all fit into 160 KiB. Sorts them by how often they are read
 * for the room they take. */
static uint32_t column_hot(const column *c, std::vector<uint32_t> &order,
                           const std::vector<uint64_t> &counts) {
    uint64_t codes, hot_codes;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return counts[a] * column_near(c, b) > counts[b] * column_near(c, a);
    });
    uint32_t all = column_within(c, order, counts, UINT64_MAX, &codes);
    if (column_within(c, order, counts, 160 << 10, &hot_codes) == all) return 0;
    uint32_t hot = column_within(c, order, counts, 136 << 10, &hot_codes);
    return hot_codes < codes - codes / 100 * 22
               ? column_within(c, order, counts, 160 << 10, &hot_codes)
               : hot;
}

/* Numbers the codes as files do (docs/format.md): `hot` of them first, by length inside each
 * part, classes at multiples of the group size, then by frequency; with no more bits than that takes. */
static bool column_order(column *c, uint32_t hot) {
    std::vector<uint64_t> counts(c->slots);
    for (uint16_t code : c->codes) counts[code]++;
    std::vector<uint32_t> order, cold(c->slots, 0), number(c->slots);
    for (uint32_t i = 0; i < c->slots; i++)
        if (counts[i] || c->lengths[i] == 1) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
    if (hot == AS_FILES) hot = column_hot(c, order, counts);
    for (size_t i = hot; hot && i < order.size(); i++) cold[order[i]] = 1;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return cold[a] != cold[b] ? cold[a] < cold[b] : c->lengths[a] < c->lengths[b];
    });
    uint32_t most_bits = c->bits, next = 0;
    for (c->bits = 9; c->bits < most_bits; c->bits++) {
        uint32_t shift = FP_GPU_CLASS_SHIFT(c->bits), slots = 0;
        for (size_t i = 0; i < order.size(); i++, slots++)
            if (i && (cold[order[i]] != cold[order[i - 1]] ||
                      c->lengths[order[i]] != c->lengths[order[i - 1]]))
                slots = (slots + (1u << shift) - 1) >> shift << shift;
        if (slots <= 1u << c->bits) break;
    }
    uint32_t group = 1u << FP_GPU_CLASS_SHIFT(c->bits);
    std::vector<uint8_t> tokens(16ull << c->bits), lengths(1ull << c->bits, 1);
    c->hot = 0;
    for (size_t i = 0; i < order.size(); i++) {
        uint32_t id = order[i];
        bool new_part = i && cold[id] != cold[order[i - 1]];
        if (i && (new_part || c->lengths[id] != c->lengths[order[i - 1]])) {
            for (; next % group; next++)
                if (next < lengths.size()) lengths[next] = c->lengths[order[i - 1]];
        }
        if (new_part) c->hot = next;
        if (next >= lengths.size()) return false;
        memcpy(&tokens[16ull * next], &c->tokens[16ull * id], 16);
        lengths[next] = c->lengths[id];
        number[id] = next++;
    }
    for (uint16_t &code : c->codes) code = (uint16_t)number[code];
    c->slots = next;
    tokens.resize(16ull * next);
    lengths.resize(next);
    c->tokens = tokens;
    c->lengths = lengths;
    if (*std::max_element(lengths.begin(), lengths.end()) <= 8) c->longest = 8;
    return true;
}

/* Then lets neighbours change places, so that the load is even over 32 banks of shared memory. */
static void column_spread(column *c) {
    struct neighbours {
        uint32_t begin, end;
        uint64_t count;
    };
    std::vector<uint64_t> counts(c->slots), load(32);
    for (uint16_t code : c->codes) counts[code]++;
    std::vector<neighbours> all;
    for (uint32_t i = 0; i < c->slots; i++) {
        if (i % 32 == 0 || i == c->hot || c->lengths[i] != c->lengths[i - 1])
            all.push_back({i, i, 0});
        all.back().end++;
        all.back().count += counts[i];
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const neighbours &a, const neighbours &b) { return a.count > b.count; });
    std::vector<uint16_t> number(c->slots);
    std::vector<uint8_t> tokens(c->tokens.size());
    for (const neighbours &n : all) {
        std::vector<uint32_t> order, places;
        for (uint32_t i = n.begin; i < n.end; i++) order.push_back(i), places.push_back(i);
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
        for (uint32_t code : order) {
            auto best = std::min_element(places.begin(), places.end(), [&](uint32_t a, uint32_t b) {
                return load[a % 32] < load[b % 32];
            });
            load[*best % 32] += counts[code];
            number[code] = (uint16_t)*best;
            memcpy(&tokens[16ull * *best], &c->tokens[16ull * code], 16);
            places.erase(best);
        }
    }
    for (uint16_t &code : c->codes) code = number[code];
    c->tokens = tokens;
}

/* Reads a column and repeats it to about `target` decoded bytes; `hot` as above. */
static bool column_load(const char *path, uint64_t target, uint32_t hot, column *c) {
    FILE *file = fopen(path, "rb");
    uint32_t head[4];
    uint64_t count;
    if (!file || fread(head, 4, 4, file) != 4 || fread(&count, 8, 1, file) != 1 ||
        head[0] != 0x46504c31) {
        printf("%s: not an encoded column\n", path);
        if (file) fclose(file);
        return false;
    }
    c->bits = head[1];
    c->longest = head[2];
    c->slots = head[3];
    c->tokens.resize(16ull * c->slots);
    c->lengths.resize(c->slots);
    c->codes.resize(count);
    bool whole = fread(c->tokens.data(), 16, c->slots, file) == c->slots &&
                 fread(c->lengths.data(), 1, c->slots, file) == c->slots &&
                 fread(c->codes.data(), 2, count, file) == count;
    fclose(file);
    if (!whole || !count) return false;
    /* Spare bytes of a token are zero in the library's planes. */
    for (uint32_t i = 0; i < c->slots; i++)
        memset(&c->tokens[16ull * i] + c->lengths[i], 0, 16 - c->lengths[i]);
    /* Whole words in a period, so that packed codes can be repeated as they are. */
    if (count >= 32) c->codes.resize(count = count / 32 * 32);
    if (!column_order(c, hot)) {
        printf("%s: the length classes do not fit\n", path);
        return false;
    }
    column_spread(c);
    uint64_t period = 0;
    for (uint16_t code : c->codes) period += c->lengths[code];
    uint64_t periods = target / period ? target / period : 1;
    c->count = periods * count;
    c->bytes = periods * period;
    return c->bytes < 1ull << 32;
}

/* One period of the codes, widened or packed. */
static std::vector<uint32_t> column_codes(const column *c, bool widened) {
    uint32_t bits = widened ? 16 : c->bits;
    std::vector<uint32_t> words((c->codes.size() * bits + 31) / 32 + 1);
    uint64_t pending = 0, at = 0;
    uint32_t filled = 0;
    for (uint16_t code : c->codes) {
        pending |= (uint64_t)code << filled;
        filled += bits;
        if (filled >= 32) {
            words[at++] = (uint32_t)pending;
            pending >>= 32;
            filled -= 32;
        }
    }
    words[at] = (uint32_t)pending;
    words.resize((c->codes.size() * bits + 31) / 32);
    return words;
}

#endif
