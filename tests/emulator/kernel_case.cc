/* kernel_case.cc - made-up chunks for kernel tests. In: a seed and a shape. Out: tokens, codes, and
 * the bytes that they must decode to. */
#include "kernel_case.h"

#include "check.h"
#include "gpu/kernels/params.h"

static uint32_t draw(uint64_t *state, uint32_t bound) {
    return (uint32_t)(check_random(state) % bound);
}

static uint32_t draw_length(uint64_t *state, uint32_t longest, case_lengths lengths) {
    switch (lengths) {
    case CASE_ONES: return 1;
    case CASE_LONGEST: return longest;
    case CASE_SHORT: return draw(state, 10) ? 1 + draw(state, 4) : 1 + draw(state, longest);
    case CASE_EIGHT: return (longest == 16 ? 8 : 7) + draw(state, 2);
    case CASE_FEW_LONG:
        return draw(state, 20) ? 1 + draw(state, 8) : longest - draw(state, longest / 2);
    default: return 1 + draw(state, longest);
    }
}

void case_make(kernel_case *c, uint64_t seed, uint32_t slots, uint32_t count, uint32_t longest,
               case_lengths lengths) {
    uint64_t state = seed;
    memset(c, 0, sizeof *c);
    c->slots = slots;
    c->longest = longest;
    c->count = count;
    c->bits = 1;
    while (1u << c->bits < slots) c->bits++;
    c->lengths = (uint8_t *)malloc(slots);
    c->tokens = (uint8_t(*)[16])calloc(slots, 16);
    c->codes = (uint32_t *)malloc(4 * (size_t)count + 1);
    c->decoded = (uint8_t *)malloc(16 * (size_t)count + 16);
    if (!c->lengths || !c->tokens || !c->codes || !c->decoded) abort();
    for (uint32_t i = 0; i < slots; i++) {
        c->lengths[i] = (uint8_t)draw_length(&state, longest, lengths);
        for (uint32_t k = 0; k < c->lengths[i]; k++)
            c->tokens[i][k] = (uint8_t)(1 + draw(&state, 255));
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = draw(&state, slots);
        c->codes[i] = code;
        memcpy(c->decoded + c->decoded_bytes, c->tokens[code], c->lengths[code]);
        c->decoded_bytes += c->lengths[code];
    }
}

static int has_length(case_lengths lengths, uint32_t longest, uint32_t length) {
    switch (lengths) {
    case CASE_ONES: return length == 1;
    case CASE_LONGEST: return length == longest;
    case CASE_SHORT: return length <= 4 || length == longest;
    case CASE_EIGHT:
        return length == (longest == 16 ? 8u : 7u) || length == (longest == 16 ? 9u : 8u);
    case CASE_FEW_LONG: return length <= 8 || length == longest;
    default: return 1;
    }
}

void case_make_classes(kernel_case *c, uint64_t seed, uint32_t bits, uint32_t count,
                       uint32_t longest, case_lengths lengths, int hot) {
    uint64_t state = seed;
    int few = bits <= 8; /* there are so few codes that not every length gets a class */
    uint32_t space = 1u << bits, in_class = 1u << FP_GPU_CLASS_SHIFT(bits),
             parts = hot && !few ? 2 : 1, next = 0, used = 0;
    memset(c, 0, sizeof *c);
    c->bits = bits;
    c->longest = longest;
    c->count = count;
    c->lengths = (uint8_t *)calloc(space, 1);
    c->tokens = (uint8_t(*)[16])calloc(space, 16);
    c->codes = (uint32_t *)malloc(4 * (size_t)count + 1);
    c->decoded = (uint8_t *)malloc(16 * (size_t)count + 16);
    uint32_t *tokens = (uint32_t *)malloc(space * sizeof *tokens);
    if (!c->lengths || !c->tokens || !c->codes || !c->decoded || !tokens) abort();
    for (uint32_t part = 0; part < parts; part++) {
        for (uint32_t length = 1; length <= longest; length++) {
            if (!has_length(lengths, longest, length)) continue;
            uint32_t most = few ? (space - next + 1) / 2 : space / (parts * longest) - in_class;
            if (few && next && (next == space || draw(&state, 2))) continue;
            uint32_t size = 1 + draw(&state, most);
            for (uint32_t i = 0; i < size; i++, next++) {
                c->lengths[next] = (uint8_t)length;
                for (uint32_t k = 0; k < length; k++)
                    c->tokens[next][k] = (uint8_t)(1 + draw(&state, 255));
                tokens[used++] = next;
            }
            c->slots = next;
            for (; next % in_class; next++) c->lengths[next] = (uint8_t)length;
        }
        if (part == 0 && parts == 2) c->hot = next;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = tokens[draw(&state, used)];
        c->codes[i] = code;
        memcpy(c->decoded + c->decoded_bytes, c->tokens[code], c->lengths[code]);
        c->decoded_bytes += c->lengths[code];
    }
    free(tokens);
}

void case_free(kernel_case *c) {
    free(c->lengths);
    free(c->tokens);
    free(c->codes);
    free(c->decoded);
    memset(c, 0, sizeof *c);
}
