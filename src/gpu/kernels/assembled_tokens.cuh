/* assembled_tokens.cuh - a lane's tokens, put together. In: K codes and lengths, and where the
 * lane's output begins. Out: the tokens, back to back, in shared memory. The trick: a lane shifts
 * tokens into place in registers and stores aligned units of 4 or 8 bytes when they are full. Of a
 * unit that two lanes share, the upper lane stores all, and then the lower lane its bytes again. */
#ifndef FP_GPU_ASSEMBLED_TOKENS_CUH
#define FP_GPU_ASSEMBLED_TOKENS_CUH

#include "assembled_codes.cuh"

/* What a lane stores at once. */
template <int S> struct assembled_unit;
template <> struct assembled_unit<4> { typedef uint32_t type; };
template <> struct assembled_unit<8> { typedef uint64_t type; };

/* Half a token from shared memory: L / 2 bytes. */
template <int L> DEVICE void assembled_half(const uint8_t *at, uint32_t *words) {
    if (L == 8) {
        words[0] = shared_load4(at);
    } else {
        uint64_t half = shared_load8(at);
        words[0] = (uint32_t)half;
        words[L / 8 - 1] = (uint32_t)(half >> 32);
    }
}

/* Whether the warp goes around fourth quarters where no lane has one: with short stores, which are
 * for short tokens. Where tokens are long, the second way costs more than it saves
 * (docs/lab/gpu-tried.md). */
template <class unit, int L> DEVICE constexpr bool assembled_goes_around() {
    return L == 32 && sizeof(unit) == 4;
}

/* Token k of up to 32 bytes: of its first three quarters those that it has, and zeros. */
template <int BITS>
DEVICE void assembled_quarters(const assembled_dict *dict, const uint32_t *words, int k,
                               uint32_t *token) {
    uint32_t at = assembled_scaled<BITS>(words, k, 3);
    UNROLL for (int i = 2; i < 6; i++) token[i] = 0;
    assembled_half<16>(dict->tokens + at, token);
    if (at >= dict->split << 3) assembled_half<16>(dict->halves + at, token + 2);
    if (at >= dict->further[0] << 3) assembled_half<16>(dict->quarters[0] + at, token + 4);
}

/* Its fourth quarter, or zeros. */
template <int BITS>
DEVICE void assembled_fourth(const assembled_dict *dict, const uint32_t *words, int k,
                             uint32_t *quarter) {
    uint32_t at = assembled_scaled<BITS>(words, k, 3);
    quarter[0] = quarter[1] = 0;
    if (at >= dict->further[1] << 3) assembled_half<16>(dict->quarters[1] + at, quarter);
}

/* Token k: L bytes, zero-padded. */
template <int BITS, int L, int D>
DEVICE void assembled_token(const assembled_dict *dict, const uint32_t *words, int k,
                            uint32_t *token) {
    enum { cell_scale = L == 16 ? 4 : 3, half_scale = cell_scale - 1 };
    if (D == FP_GPU_FAR) {
        uint64_t at = dict->cold + assembled_scaled<BITS>(words, k, cell_scale);
        fp_words4 cell = {{0, 0, 0, 0}};
        if (L == 8) {
            uint64_t eight = global_load8(at);
            cell.word[0] = (uint32_t)eight;
            cell.word[1] = (uint32_t)(eight >> 32);
        } else {
            cell = global_load16(at);
        }
        UNROLL for (int i = 0; i < L / 4; i++) token[i] = cell.word[i];
        return;
    }
    uint32_t at = assembled_scaled<BITS>(words, k, half_scale), split = dict->split << half_scale;
    if (D == FP_GPU_HOT) {
        near_or_far<L>(dict->tokens, dict->halves, dict->cold, at, dict->near << half_scale, split,
                       token);
    } else {
        UNROLL for (int i = L / 8; i < L / 4; i++) token[i] = 0;
        assembled_half<L>(dict->tokens + at, token);
        if (at >= split) assembled_half<L>(dict->halves + at, token + L / 8);
    }
}

/* What a lane has after its last token: bytes that do not fill a unit. */
template <class unit> struct assembled_rest {
    unit pending;
    uint32_t end; /* where the lane's bytes end, in shared memory */
};

/* Puts a token of WORDS words, zero-padded, after what the lane has, and stores all full units. */
template <int WORDS>
DEVICE void assembled_put(uint8_t *shared, const uint32_t *token, uint32_t length,
                          assembled_rest<uint32_t> *rest) {
    uint32_t shift = rest->end * 8, at = rest->end & ~3u, unit[WORDS + 1];
    unit[0] = rest->pending | funnel_left(0, token[0], shift);
    UNROLL for (int i = 1; i < WORDS; i++) unit[i] = funnel_left(token[i - 1], token[i], shift);
    unit[WORDS] = funnel_left(token[WORDS - 1], 0, shift);
    rest->end += length;
    rest->pending = unit[0];
    UNROLL for (uint32_t u = 0; u < WORDS; u++) {
        int full = rest->end - at >= 4 * u + 4;
        if (full) shared_store4(shared + at + 4 * u, unit[u]);
        rest->pending = full ? unit[u + 1] : rest->pending;
    }
}

/* The units that a token makes up from byte `end` on, after what is pending. */
template <int WORDS>
DEVICE void assembled_units(const uint32_t *token, uint32_t end, uint64_t pending, uint64_t *unit) {
    uint32_t shift = end * 8 & 63;
    unit[0] = pending;
    UNROLL for (int i = 0; i < WORDS / 2; i++) {
        uint64_t half = (uint64_t)token[2 * i + 1] << 32 | token[2 * i];
        unit[i] |= half << shift;
        unit[i + 1] = shift_right64(half, 64 - shift);
    }
}

/* The same by words: up one word if the unit's upper word comes first, then by bytes. Fewer
 * instructions, which pays for long tokens. */
template <int WORDS>
DEVICE void assembled_long_units(const uint32_t *token, uint32_t end, uint64_t pending,
                                 uint64_t *unit) {
    int up = (end & 4) != 0;
    uint32_t before = 0; /* the word below */
    UNROLL for (int i = 0; i < WORDS / 2 + 1; i++) {
        uint32_t half[2];
        UNROLL for (int j = 0; j < 2; j++) {
            int w = 2 * i + j;
            uint32_t straight = w < WORDS ? token[w < WORDS ? w : 0] : 0,
                     moved = w > 0 && w <= WORDS ? token[w > 0 && w <= WORDS ? w - 1 : 0] : 0;
            uint32_t word = up ? moved : straight;
            half[j] = funnel_left(before, word, end * 8);
            before = word;
        }
        unit[i] = (uint64_t)half[1] << 32 | half[0];
    }
    unit[0] |= pending;
}

template <int WORDS>
DEVICE void assembled_put(uint8_t *shared, const uint32_t *token, uint32_t length,
                          assembled_rest<uint64_t> *rest) {
    uint32_t at = rest->end & ~7u;
    uint64_t unit[WORDS / 2 + 1];
    if (WORDS > 4)
        assembled_long_units<WORDS>(token, rest->end, rest->pending, unit);
    else
        assembled_units<WORDS>(token, rest->end, rest->pending, unit);
    rest->end += length;
    rest->pending = unit[0];
    UNROLL for (uint32_t u = 0; u < WORDS / 2; u++) {
        int full = rest->end - at >= 8 * u + 8;
        if (full) shared_store8(shared + at + 8 * u, unit[u]);
        rest->pending = full ? unit[u + 1] : rest->pending;
    }
}

/* Asks for the first tokens. Any codes of BITS bits will do: global memory has a cell for each. */
template <class shape, int BITS, int L, int D>
DEVICE void assembled_ask(const assembled_dict *dict, const uint32_t *words,
                          uint32_t (*tokens)[shape::token_words]) {
    UNROLL for (int k = 0; k < shape::ahead; k++)
        assembled_token<BITS, L, D>(dict, words, k, tokens[k]);
}

/* assemble: this lane's tokens, from byte `position` of shared memory on; the first ones have been
 * asked for. All units that the tokens fill are stored; the first unit lacks what the lane below
 * has of it. */
template <class shape, class unit, int K, int BITS, int L, int D>
DEVICE assembled_rest<unit> assembled_assemble(const assembled_dict *dict, const uint32_t *words,
                                               const uint32_t *lengths, uint32_t long_steps,
                                               uint32_t position, uint8_t *shared,
                                               uint32_t (*tokens)[shape::token_words]) {
    enum { ahead = shape::ahead };
    assembled_rest<unit> rest = {0, position};
    UNROLL for (int k = 0; k < K; k++) {
        uint32_t length = byte_of(lengths[k / 4], k % 4), *token = tokens[k];
        /* An access by no lane takes as long as any other, so the warp goes around accesses to
         * fourth quarters and to rare second halves where it can. */
        if (assembled_goes_around<unit, L>()) {
            uint32_t quarter[2];
            assembled_quarters<BITS>(dict, words, k, token);
            assembled_put<6>(shared, token, least(length, 24), &rest);
            if (long_steps & assembled_step_bit(k)) {
                assembled_fourth<BITS>(dict, words, k, quarter);
                assembled_put<2>(shared, quarter, excess(length, 24), &rest);
            }
        } else if (L == 32) {
            assembled_quarters<BITS>(dict, words, k, token);
            assembled_fourth<BITS>(dict, words, k, token + 6);
            assembled_put<8>(shared, token, length, &rest);
        } else if (D == FP_GPU_RARE) {
            uint32_t at = assembled_scaled<BITS>(words, k, 3);
            assembled_half<16>(dict->tokens + at, token);
            if (long_steps & assembled_step_bit(k)) {
                token[2] = token[shape::token_words - 1] = 0;
                if (at >= dict->split << 3) assembled_half<16>(dict->halves + at, token + 2);
                assembled_put<4>(shared, token, length, &rest);
            } else {
                assembled_put<2>(shared, token, length, &rest);
            }
        } else {
            if (k + ahead < K)
                assembled_token<BITS, L, D>(dict, words, k + ahead, tokens[(k + ahead) % K]);
            assembled_put<shape::token_words>(shared, token, length, &rest);
        }
    }
    return rest;
}

/* join: what a lane has of its last unit. The lane above has stored that unit with zeros in place of
 * these bytes, if a warp_sync is between. A lane that has all its codes fills a unit; the chunk's
 * last lane may not, and stores byte by byte what it has. */
template <class unit>
DEVICE void assembled_join(uint8_t *shared, uint32_t position, assembled_rest<unit> rest) {
    uint32_t count = rest.end & (sizeof(unit) - 1), at = rest.end - count;
    uint64_t left = rest.pending;
    if (position > at) {
        for (uint32_t i = position; i < rest.end; i++)
            shared_store1(shared + i, (uint32_t)(left >> 8 * (i - at)));
        return;
    }
    UNROLL for (uint32_t bytes = sizeof(unit) / 2; bytes; bytes /= 2) {
        if (!(count & bytes)) continue;
        if (bytes == 4) shared_store4(shared + at, (uint32_t)left);
        if (bytes == 2) shared_store2(shared + at, (uint32_t)left);
        if (bytes == 1) shared_store1(shared + at, (uint32_t)left);
        left >>= 8 * bytes;
        at += bytes;
    }
}

#endif
