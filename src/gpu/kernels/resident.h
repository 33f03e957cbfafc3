/* resident.h - the resident dictionary: what blocks of the assembled decoder copy to shared memory.
 * In: tokens and lengths in code order. Out: lengths, by class or by code, then tokens laid out as
 * the kernel wants them. Plain C, for the host. */
#ifndef FP_GPU_RESIDENT_H
#define FP_GPU_RESIDENT_H

#include "params.h"

#include <string.h>

/* Where a kernel has its tokens. */
typedef enum fp_gpu_home {
    /* Shared memory: first halves of all tokens, second halves from the first token on that has
     * one. Tokens of up to 32 bytes have quarters instead. */
    FP_GPU_SPLIT,
    /* The same, for columns in which tokens with second halves are rare. */
    FP_GPU_RARE,
    /* The hot part as with SPLIT, the other tokens in global memory. */
    FP_GPU_HOT,
    /* Global memory. */
    FP_GPU_FAR,
    /* Shared memory: tokens of up to 64 bytes, in pieces of 16. */
    FP_GPU_PIECES
} fp_gpu_home;

/* The shape of a resident dictionary. */
typedef struct fp_resident {
    fp_gpu_home home;
    /* longest: the kernel's longest token, 8, 16, 32 or 64. */
    uint32_t code_bits, longest;
    /* Slots of the dictionary, up to the end of the last length class if there are classes. */
    uint32_t slots;
    /* Slots that are resident; from `split` on, up to `near`, tokens have a second part. */
    uint32_t near, split;
    /* The slots from which on tokens have a third and a fourth part. */
    uint32_t further[2];
    /* Whole lines. */
    uint32_t bytes;
} fp_resident;

/* Bytes of the parts that tokens are cut into: halves, quarters, pieces. */
static inline uint32_t fp_resident_part(uint32_t longest) {
    return longest <= 16 ? longest / 2 : longest / 4;
}

/* log2 of the codes of a length class. */
static inline uint32_t fp_resident_shift(uint32_t code_bits, uint32_t longest) {
    return longest <= 16 ? FP_GPU_CLASS_SHIFT(code_bits) : FP_GPU_LONG_SHIFT(code_bits, longest);
}

/* Slots up to the end of the last length class. */
static inline uint32_t fp_resident_slots(uint32_t code_bits, uint32_t longest, uint32_t slots) {
    uint32_t class_codes = 1u << fp_resident_shift(code_bits, longest);
    return (slots + class_codes - 1) / class_codes * class_codes;
}

/* The shape for a dictionary of `slots` tokens, of which `hot` are the hot part. first_above[i] is
 * the first slot, of those that are resident, whose token is longer than i + 1 parts. */
static inline fp_resident fp_resident_shape(fp_gpu_home home, uint32_t code_bits, uint32_t longest,
                                            uint32_t slots, uint32_t hot,
                                            const uint32_t first_above[3]) {
    fp_resident shape = {home, code_bits, longest, 0, 0, 0, {0, 0}, 0};
    shape.slots = fp_resident_slots(code_bits, longest, slots);
    shape.near = home == FP_GPU_FAR ? 0 : home == FP_GPU_HOT ? hot : shape.slots;
    shape.split = first_above[0] < shape.near ? first_above[0] : shape.near;
    uint32_t parts = 2 * shape.near - shape.split;
    for (int i = 0; i < 2 && longest > 16; i++) {
        shape.further[i] = first_above[i + 1] < shape.near ? first_above[i + 1] : shape.near;
        parts += shape.near - shape.further[i];
    }
    uint32_t table = (uint32_t)FP_GPU_CLASS_TABLE(code_bits);
    if (longest > 16)
        table = home == FP_GPU_FAR ? 0 : (uint32_t)FP_GPU_LENGTH_TABLE(code_bits, longest);
    shape.bytes = FP_GPU_LINES(table + fp_resident_part(longest) * parts);
    return shape;
}

/* Tokens by code, zero-padded to `stride` bytes, and their lengths. */
typedef struct fp_resident_tokens {
    const uint8_t *cells;
    uint32_t stride;
    const uint8_t *lengths;
    uint32_t slots;
} fp_resident_tokens;

/* Lengths by class, as nibbles or as bytes; returns the bytes that they take. */
static inline uint32_t fp_resident_lengths(const fp_resident *shape,
                                           const fp_resident_tokens *tokens, uint8_t *to) {
    uint32_t codes = 1u << shape->code_bits;
    uint32_t shift = fp_resident_shift(shape->code_bits, shape->longest);
    for (uint32_t i = 0; i << shift < codes; i++) {
        uint32_t code = i << shift;
        if (shape->longest > 16) {
            to[i] = code < tokens->slots ? tokens->lengths[code] : FP_GPU_NO_LENGTH;
            continue;
        }
        uint32_t nibble = code < tokens->slots ? tokens->lengths[code] - 1u : FP_GPU_NO_CLASS;
        to[i / 2] |= (uint8_t)(nibble << i % 2 * 4);
    }
    return (uint32_t)(shape->longest > 16 ? FP_GPU_LENGTH_TABLE(shape->code_bits, shape->longest)
                                          : FP_GPU_CLASS_TABLE(shape->code_bits));
}

/* All pieces of each token, token after token; returns how many. NULL: only counts. */
static inline uint32_t fp_resident_pieces(const fp_resident_tokens *tokens, uint8_t *to) {
    uint32_t count = 0;
    for (uint32_t code = 0; code < tokens->slots; code++)
        for (uint32_t at = 0; at < tokens->lengths[code]; at += FP_GPU_PIECE, count++)
            if (to)
                memcpy(to + (size_t)count * FP_GPU_PIECE,
                       tokens->cells + (size_t)code * tokens->stride + at, FP_GPU_PIECE);
    return count;
}

/* Part `number`, of `bytes` bytes, of the tokens of codes from .. to. */
static inline void fp_resident_parts(const fp_resident_tokens *tokens, uint32_t number,
                                     uint32_t bytes, uint32_t from, uint32_t end, uint8_t *to) {
    const uint8_t *cell = tokens->cells + (size_t)from * tokens->stride + (size_t)number * bytes;
    const uint32_t stride = tokens->stride;
    if (stride == bytes) {
        memcpy(to, cell, (size_t)(end - from) * bytes);
        return;
    }
    /* With a constant size a copy is one instruction, and there are up to 65,536 of them. */
    for (uint32_t code = from; code < end; code++, cell += stride, to += bytes) switch (bytes) {
        case 4: memcpy(to, cell, 4); break;
        case 8: memcpy(to, cell, 8); break;
        default: memcpy(to, cell, 16); break;
        }
}

/* Fills shape->bytes bytes. */
static inline void fp_resident_write(const fp_resident *shape, const fp_resident_tokens *tokens,
                                     uint8_t *resident) {
    memset(resident, 0, shape->bytes);
    if (shape->home == FP_GPU_FAR && shape->longest > 16) return;
    uint8_t *to = resident + fp_resident_lengths(shape, tokens, resident);
    if (shape->home == FP_GPU_PIECES) {
        fp_resident_pieces(tokens, to);
        return;
    }
    const uint32_t part = fp_resident_part(shape->longest), near = shape->near,
                   count = near < tokens->slots ? near : tokens->slots;
    const uint32_t from[4] = {0, shape->split, shape->further[0], shape->further[1]};
    for (uint32_t i = 0; i < (shape->longest > 16 ? 4u : 2u); i++) {
        if (from[i] < count) fp_resident_parts(tokens, i, part, from[i], count, to);
        to += (size_t)part * (near - from[i]);
    }
}

/* Tokens of up to 64 bytes in global memory: a table of FP_GPU_FAR_ENTRY words for every code of
 * code_bits bits, then the pieces. */
static inline void fp_resident_write_far(const fp_resident_tokens *tokens, uint32_t code_bits,
                                         uint8_t *to) {
    uint32_t piece = 0;
    for (uint32_t code = 0; code < 1u << code_bits; code++) {
        uint32_t length = code < tokens->slots ? tokens->lengths[code] : FP_GPU_NO_LENGTH;
        uint32_t entry = FP_GPU_FAR_ENTRY(piece, length);
        memcpy(to + 4ull * code, &entry, sizeof entry);
        if (code < tokens->slots) piece += (length + FP_GPU_PIECE - 1) / FP_GPU_PIECE;
    }
    fp_resident_pieces(tokens, to + FP_GPU_FAR_TABLE(code_bits));
}

#endif
