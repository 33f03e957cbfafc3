/* kernel_case.cc - made-up chunks for kernel tests. In: a seed and a shape. Out: tokens, codes, and
 * the bytes that they must decode to. */
#include "kernel_case.h"

#include "check.h"
#include "gpu/kernels/params.h"

static uint32_t draw(uint64_t *state, uint32_t bound) {
    return (uint32_t)(check_random(state) % bound);
}

/* Where tokens get a second part, or would get one. */
static uint32_t middle_length(uint32_t longest) {
    return longest == 64 ? 16 : longest >= 16 ? 8 : 7;
}

static uint32_t draw_length(uint64_t *state, uint32_t longest, case_lengths lengths) {
    switch (lengths) {
    case CASE_ONES: return 1;
    case CASE_LONGEST: return longest;
    case CASE_SHORT: return draw(state, 10) ? 1 + draw(state, 4) : 1 + draw(state, longest);
    case CASE_EIGHT: return middle_length(longest) + draw(state, 2);
    case CASE_FEW_LONG:
        return draw(state, 20) ? 1 + draw(state, 8) : longest - draw(state, longest / 2);
    default: return 1 + draw(state, longest);
    }
}

/* Room for c->count codes and so many tokens. */
static void allocate(kernel_case *c, uint32_t tokens) {
    c->lengths = (uint8_t *)calloc(tokens, 1);
    c->tokens = (uint8_t(*)[CASE_CELL])calloc(tokens, CASE_CELL);
    c->codes = (uint32_t *)malloc(4 * (size_t)c->count + 1);
    c->decoded = (uint8_t *)malloc(CASE_CELL * (size_t)c->count + 1);
    if (!c->lengths || !c->tokens || !c->codes || !c->decoded) abort();
}

static void fill_token(kernel_case *c, uint32_t code, uint32_t length, uint64_t *state) {
    c->lengths[code] = (uint8_t)length;
    for (uint32_t k = 0; k < length; k++) c->tokens[code][k] = (uint8_t)(1 + draw(state, 255));
}

static void add_code(kernel_case *c, uint32_t at, uint32_t code) {
    c->codes[at] = code;
    memcpy(c->decoded + c->decoded_bytes, c->tokens[code], c->lengths[code]);
    c->decoded_bytes += c->lengths[code];
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
    allocate(c, slots);
    for (uint32_t i = 0; i < slots; i++)
        fill_token(c, i, draw_length(&state, longest, lengths), &state);
    for (uint32_t i = 0; i < count; i++) add_code(c, i, draw(&state, slots));
}

static int has_length(case_lengths lengths, uint32_t longest, uint32_t length) {
    switch (lengths) {
    case CASE_ONES: return length == 1;
    case CASE_LONGEST: return length == longest;
    case CASE_SHORT: return length <= 4 || length == longest;
    case CASE_EIGHT: return length - middle_length(longest) < 2;
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
    allocate(c, space);
    uint32_t *tokens = (uint32_t *)malloc(space * sizeof *tokens);
    if (!tokens) abort();
    for (uint32_t part = 0; part < parts; part++) {
        for (uint32_t length = 1; length <= longest; length++) {
            if (!has_length(lengths, longest, length)) continue;
            uint32_t most = few ? (space - next + 1) / 2 : space / (parts * longest) - in_class;
            if (few && next && (next == space || draw(&state, 2))) continue;
            uint32_t size = 1 + draw(&state, most);
            for (uint32_t i = 0; i < size; i++, next++) {
                fill_token(c, next, length, &state);
                tokens[used++] = next;
            }
            c->slots = next;
            for (; next % in_class; next++) c->lengths[next] = (uint8_t)length;
        }
        if (part == 0 && parts == 2) c->hot = next;
    }
    for (uint32_t i = 0; i < count; i++) add_code(c, i, tokens[draw(&state, used)]);
    free(tokens);
}

void case_make_long(kernel_case *c, uint64_t seed, uint32_t bits, uint32_t count, uint32_t longest,
                    case_lengths lengths, uint32_t shift, int any_order) {
    uint64_t state = seed;
    uint32_t space = 1u << bits, in_class = 1u << shift, of_length[CASE_CELL + 1] = {}, next = 0;
    memset(c, 0, sizeof *c);
    c->bits = bits;
    c->longest = longest;
    c->count = count;
    c->slots = draw(&state, 2) ? space : 1 + draw(&state, space);
    allocate(c, c->slots);
    for (uint32_t i = 0; i < c->slots; i += in_class) {
        uint32_t length = draw_length(&state, longest, lengths);
        of_length[length] += in_class;
        if (any_order) fill_token(c, i, length, &state);
    }
    for (uint32_t length = 1; length <= longest && !any_order; length++)
        for (uint32_t i = 0; i < of_length[length] && next < c->slots; i++)
            fill_token(c, next++, length, &state);
    for (uint32_t i = 0; i < count; i++) add_code(c, i, draw(&state, c->slots));
}

void case_free(kernel_case *c) {
    free(c->lengths);
    free(c->tokens);
    free(c->codes);
    free(c->decoded);
    memset(c, 0, sizeof *c);
}
