/* encode_match.cuh - the longest match, and a lane that parses a stretch of text with it. In: the
 * tables of encode_tables.h, text, the bitmap of row ends. Out: a code per step.
 *
 * A step takes one token, and all lanes take a step together. The trick: a step is some look-ups
 * whose number hardly depends on the token, so lanes seldom wait for each other; a trie, walked byte
 * by byte, keeps a third of them busy. The next 16 bytes are in registers, as two aligned units of
 * 16, and so are the next row ends. */
#ifndef FP_GPU_ENCODE_MATCH_CUH
#define FP_GPU_ENCODE_MATCH_CUH

#include "encode_input.cuh"

/* ---------------------------------------------------------------- look-ups */

/* The tables, and where those are that the shape has in shared memory. */
typedef struct parse_tables {
    const uint8_t *shared;
    const uint8_t
        *view; /* an encode_view in shared memory: it is seldom used, and registers are few */
    const fp_gpu_encode_tables *at;
} parse_tables;

/* Of a shape: which tables are in shared memory, and whether tokens have more than 16 bytes. */
#define PARSE_HOME(shape)         ((shape)&3)
#define PARSE_IS_LONG(shape)      ((shape)&FP_GPU_ENCODE_SHAPE_LONG)
#define PARSE_VIEW(tables, field) shared_load8((tables)->view + offsetof(encode_view, field))

/* A prefix of tokens that the text begins with. */
typedef struct parse_node {
    uint32_t number;
    uint32_t answer; /* code | length << 16; set if entries are far */
    uint32_t depth;  /* bytes */
    uint32_t next;   /* up to four bytes that come next */
} parse_node;

template <int IS_SHARED> DEVICE uint32_t table_load4(const parse_tables *tables, uint32_t place) {
    return IS_SHARED ? shared_load4(tables->shared + place)
                     : global_load4(tables->at->memory + place);
}

/* Whether edge or fork `bytes` leads on from the node; if so, goes there. */
template <uint32_t SHAPE>
DEVICE int parse_find(const parse_tables *tables, const fp_gpu_encode_hash *hash, uint32_t bytes,
                      parse_node *node) {
    const uint32_t first = bytes * hash->factors[0] + node->number * hash->factors[1];
    const uint32_t second = first + node->number * hash->factors[2];
    const uint32_t place = hash->multipliers + 2 * (first >> hash->shift);
    const uint32_t multiplier = PARSE_HOME(SHAPE) == FP_GPU_ENCODE_SHAPE_FAR
                                    ? global_load2(tables->at->memory + place)
                                    : shared_load2(tables->shared + place);
    const uint32_t slot = multiply_high(second * multiplier, hash->slots);
    if (PARSE_HOME(SHAPE) == FP_GPU_ENCODE_SHAPE_NEAR) {
        const uint64_t entry =
            shared_load8(tables->shared + hash->entries + FP_GPU_ENCODE_NEAR_ENTRY * slot);
        const uint32_t to = (uint32_t)(entry >> 32) ^ node->number << 16;
        if ((uint32_t)entry != bytes || to > 0xffff) return 0;
        node->number = to;
    } else {
        const fp_words4 entry = global_load16(tables->at->memory + hash->entries +
                                              FP_GPU_ENCODE_FAR_ENTRY * (uint64_t)slot);
        if (entry.word[0] != bytes || entry.word[1] != node->number) return 0;
        node->number = entry.word[2];
        node->answer = entry.word[3];
    }
    return 1;
}

/* ---------------------------------------------------------------- a lane */

/* Positions are relative to `origin`, a multiple of 16, and stay small. More than 15 fields, because
 * each is a register. */
typedef struct parse_lane {
    uint64_t origin, ends; /* addresses: of position 0; of the bitmap's word that `phase` is for */
    uint64_t out;          /* where codes go */
    uint32_t phase;        /* the bit of a row end right after the byte at position 0 */
    uint32_t at;           /* where the next token begins */
    uint32_t begin, end;   /* tokens that begin here count */
    uint32_t first;        /* where the first of them begins */
    uint32_t count;        /* how many there were */
    uint32_t base;         /* bytes from the chunk's start to position 0 */
    uint32_t segment;
    uint32_t whole;       /* units that may be loaded at once */
    uint32_t unit[8];     /* the one of `at`, and the next */
    uint32_t row_ends[2]; /* words of the bitmap: the one of the bit after `at`, and the next */
    uint32_t codes[2];    /* the last four */
} parse_lane;

/* A unit, byte by byte: what is outside the text's memory is 0. */
DEVICE fp_words4 parse_edge_unit(const parse_tables *tables, uint64_t address) {
    const uint64_t begin = PARSE_VIEW(tables, low), end = PARSE_VIEW(tables, high);
    uint64_t low = 0, high = 0;
    ROLLED for (uint32_t i = 16; i-- > 0;) {
        high = high << 8 | low >> 56;
        low <<= 8;
        if (address + i >= begin && address + i < end) low |= global_load1(address + i);
    }
    return fp_words4{
        {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
}

DEVICE void parse_load_unit(const parse_tables *tables, const parse_lane *l, uint32_t i,
                            uint32_t *unit) {
    const uint64_t address = l->origin + 16 * (uint64_t)i;
    const fp_words4 loaded =
        i < l->whole ? global_load16_ahead(address) : parse_edge_unit(tables, address);
    UNROLL for (uint32_t k = 0; k < 4; k++) unit[k] = loaded.word[k];
}

/* The bytes of the row that are left at `at`, if they are no more than 32, or, for long tokens, 64;
 * else more than that. */
template <uint32_t SHAPE> DEVICE uint32_t parse_left(const parse_lane *l) {
    const uint32_t bit = l->at + l->phase, shift = bit & 31;
    const uint32_t bits = funnel_right(l->row_ends[0], l->row_ends[1], shift);
    if (bits) return first_bit(bits) + 1;
    if (!PARSE_IS_LONG(SHAPE)) return 33;
    if (l->row_ends[1] >> shift) return first_bit(l->row_ends[1] >> shift) + 33;
    /* Some row ends later, so there is another word. */
    const uint32_t further = global_load4(l->ends + 4 * (uint64_t)((bit >> 5) + 2));
    return 65 - shift + (further ? first_bit(further) : 32);
}

/* Four bytes from a multiple of 4 on; 0 if none of them is before position `end`. */
DEVICE uint32_t parse_word(const parse_tables *tables, const parse_lane *l, uint32_t at,
                           uint32_t end) {
    const uint64_t address = l->origin + at;
    if (at >= end) return 0;
    if (at / 16 < l->whole) return global_load4(address);
    const uint64_t high = PARSE_VIEW(tables, high);
    uint32_t word = 0;
    ROLLED for (uint32_t i = 0; i < 4 && address + i < high; i++) word |= global_load1(address + i)
                                                                          << 8 * i;
    return word;
}

/* Goes on from a stem of 13 bytes along edges. */
template <uint32_t SHAPE>
DEVICE void parse_long(const parse_tables *tables, const parse_lane *l, uint32_t left,
                       parse_node *node) {
    const uint32_t shift = 8 * ((l->at + 13) & 3), end = l->at + left;
    uint32_t word_at = (l->at + 13) & ~3u, low = parse_word(tables, l, word_at, end);
    for (;;) {
        const uint32_t high = parse_word(tables, l, word_at += 4, end);
        node->next = funnel_right(low, high, shift);
        if (left < node->depth + 4 ||
            !parse_find<SHAPE>(tables, &tables->at->edges, node->next, node))
            return;
        node->depth += 4;
        low = high;
    }
}

/* Finds the longest stem at `at`. */
template <uint32_t SHAPE>
DEVICE void parse_stem(const parse_tables *tables, const parse_lane *l, uint32_t left,
                       parse_node *node) {
    const fp_gpu_encode_hash *edges = &tables->at->edges;
    const uint32_t shift = 8 * (l->at & 3), skips_two = l->at & 8, skips_one = l->at & 4;
    uint32_t words[6], window[4];
    UNROLL for (uint32_t i = 0; i < 6; i++) words[i] = skips_two ? l->unit[i + 2] : l->unit[i];
    UNROLL for (uint32_t i = 0; i < 5; i++) words[i] = skips_one ? words[i + 1] : words[i];
    UNROLL for (uint32_t i = 0; i < 4; i++) window[i] = funnel_right(words[i], words[i + 1], shift);
    const uint32_t stem = tables->at->stems + 4 * (window[0] & 255);
    node->number = table_load4<PARSE_HOME(SHAPE) != FP_GPU_ENCODE_SHAPE_FAR>(tables, stem);
    if (PARSE_HOME(SHAPE) != FP_GPU_ENCODE_SHAPE_NEAR)
        node->answer =
            table_load4<PARSE_HOME(SHAPE) != FP_GPU_ENCODE_SHAPE_FAR>(tables, stem + 1024);
    node->depth = 1;
    node->next = funnel_right(window[0], window[1], 8);
    if (left < 5 || !parse_find<SHAPE>(tables, edges, node->next, node)) return;
    node->depth = 5;
    node->next = funnel_right(window[1], window[2], 8);
    if (left < 9 || !parse_find<SHAPE>(tables, edges, node->next, node)) return;
    node->depth = 9;
    node->next = funnel_right(window[2], window[3], 8);
    if (left < 13 || !parse_find<SHAPE>(tables, edges, node->next, node)) return;
    node->depth = 13;
    node->next = window[3] >> 8;
    if (PARSE_IS_LONG(SHAPE)) parse_long<SHAPE>(tables, l, left, node);
}

/* The longest match at `at`: code | length << 16. */
template <uint32_t SHAPE>
DEVICE uint32_t parse_match(const parse_tables *tables, const parse_lane *l) {
    const uint32_t left = parse_left<SHAPE>(l);
    parse_node node;
    parse_stem<SHAPE>(tables, l, left, &node);
    if (left >= node.depth + 2 &&
        parse_find<SHAPE>(tables, &tables->at->forks, node.next & 0xffff, &node)) {
        node.depth += 2;
        node.next >>= 16;
    }
    const uint32_t byte = node.next & 255;
    const uint32_t leaf = table_load4<PARSE_HOME(SHAPE) <= FP_GPU_ENCODE_SHAPE_LEAVES>(
        tables, tables->at->leaves + 4 * (node.number + byte));
    if (PARSE_HOME(SHAPE) == FP_GPU_ENCODE_SHAPE_NEAR)
        node.answer = shared_load4(tables->shared + tables->at->answers + 4 * node.number);
    const uint32_t code = leaf ^ byte << 16;
    return code <= 0xffff && left > node.depth ? code | (node.depth + 1) << 16 : node.answer;
}

/* Loads what belongs to `at`, after it was `before`. */
template <uint32_t SHAPE>
DEVICE void parse_move(const parse_tables *tables, parse_lane *l, uint32_t before) {
    const uint32_t unit = l->at >> 4, units = unit - (before >> 4);
    if (units) {
        UNROLL for (uint32_t k = 0; k < 4; k++) l->unit[k] = l->unit[k + 4];
        if (PARSE_IS_LONG(SHAPE) && units > 1) parse_load_unit(tables, l, unit, l->unit);
        parse_load_unit(tables, l, unit + 1, l->unit + 4);
    }
    const uint32_t word = (l->at + l->phase) >> 5, words = word - ((before + l->phase) >> 5);
    if (words) {
        const uint64_t address = l->ends + 4 * (uint64_t)word;
        l->row_ends[0] = l->row_ends[1];
        if (PARSE_IS_LONG(SHAPE) && words > 1) l->row_ends[0] = global_load4(address);
        l->row_ends[1] = global_load4(address + 4);
    }
}

/* Takes a token. The lane is not at its end. */
template <uint32_t SHAPE> DEVICE void parse_step(const parse_tables *tables, parse_lane *l) {
    const uint32_t match = parse_match<SHAPE>(tables, l), before = l->at;
    l->at += match >> 16;
    l->codes[0] = funnel_right(l->codes[0], l->codes[1], 16);
    l->codes[1] = funnel_right(l->codes[1], match, 16);
    if (before >= l->begin) {
        l->count++;
        if (!(l->count & 3))
            global_store8(l->out + 2 * (uint64_t)l->count - 8,
                          (uint64_t)l->codes[1] << 32 | l->codes[0]);
    } else {
        l->first = l->at;
    }
    if (l->at < l->end) parse_move<SHAPE>(tables, l, before);
}

/* Stores the codes that are left. There is room for four. */
DEVICE void parse_flush(const parse_lane *l) {
    const uint32_t left = l->count & 3;
    if (!left) return;
    const uint64_t codes = (uint64_t)l->codes[1] << 32 | l->codes[0];
    global_store8(l->out + 2 * (uint64_t)(l->count - left), codes >> 16 * (4 - left));
}

#endif
