/* device_dict.c - a dictionary as kernels read it. In: a dictionary and the plan for its chunks.
 * Out: the head that blocks read first, the resident dictionary that they copy to shared memory,
 * and planes (first 8 bytes, last 8 bytes, whole 16-byte cells, lengths, pieces), of these only
 * what the kernel reads. The trick: with a fixed stride a code is an address, and no table of
 * offsets is read first; only tokens of more than 16 bytes, which would waste too much, have one.
 * Refuses nothing. */
#include "device_dict.h"

#include <string.h>

static uint64_t plane_cells(const fp_dict *dict) {
    return dict->hot_slots ? 1ull << dict->code_bits : fp_align(dict->code_slots, 64);
}

/* `bytes` at *next if they are wanted, which moves on; else 0. */
static uint64_t take(int wanted, uint64_t bytes, uint64_t *next) {
    uint64_t here = *next;
    if (wanted) *next += fp_device_align(bytes);
    return wanted ? here : 0;
}

/* Of an entry per code and all pieces. Slots without a token are as long as the run before them. */
static uint64_t far_bytes(const fp_dict *dict) {
    uint64_t pieces = 0;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        uint32_t end = r + 1 < dict->run_count ? dict->runs[r + 1].first_code : dict->code_slots;
        pieces += (uint64_t)(end - dict->runs[r].first_code) *
                  ((dict->runs[r].length + FP_GPU_PIECE - 1) / FP_GPU_PIECE);
    }
    return FP_GPU_FAR_TABLE(dict->code_bits) + pieces * FP_GPU_PIECE;
}

fp_device_dict fp_device_dict_place(const fp_dict *dict, const fp_plan *plan, uint64_t at) {
    uint64_t cells = plane_cells(dict);
    fp_device_dict placed = {.head = at, .end = at + fp_device_align(sizeof(fp_gpu_dict))};
    placed.resident = take(plan->resident.bytes != 0, plan->resident.bytes, &placed.end);
    placed.low8 = take(plan->planes & FP_PLANE_LOW8, 8 * cells, &placed.end);
    placed.high8 = take(plan->planes & FP_PLANE_HIGH8, 8 * cells, &placed.end);
    placed.cells16 = take(plan->planes & FP_PLANE_CELLS16, 16 * cells, &placed.end);
    placed.nibbles =
        take(plan->planes & FP_PLANE_NIBBLES, (dict->code_slots + 1ull) / 2, &placed.end);
    placed.lengths = take(plan->planes & FP_PLANE_LENGTHS, dict->code_slots, &placed.end);
    placed.pieces = take(plan->planes & FP_PLANE_PIECES, far_bytes(dict), &placed.end);
    return placed;
}

void fp_device_dict_write_head(const fp_plan *plan, const fp_device_dict *at, uint64_t dicts,
                               uint8_t *memory) {
    const fp_resident *resident = &plan->resident;
    uint64_t cold = resident->longest > 16  ? at->pieces
                    : resident->longest > 8 ? at->cells16
                                            : at->low8;
    fp_gpu_dict head = {.resident = dicts + at->resident,
                        .cold = dicts + cold,
                        .resident_bytes = resident->bytes,
                        .slots = resident->slots,
                        .near = resident->near,
                        .split = resident->split,
                        .staging = plan->staging,
                        .further = {resident->further[0], resident->further[1]},
                        .warps = plan->warps};
    memcpy(memory + at->head, &head, sizeof head);
}

/* Planes for tokens of up to 16 bytes. */
static void write_cells(const fp_resident_tokens *tokens, const fp_device_dict *at,
                        uint8_t *memory) {
    const uint32_t slots = tokens->slots;
    if (at->low8) fp_resident_parts(tokens, 0, 8, 0, slots, memory + at->low8);
    if (at->high8) fp_resident_parts(tokens, 1, 8, 0, slots, memory + at->high8);
    if (at->cells16) fp_resident_parts(tokens, 0, 16, 0, slots, memory + at->cells16);
    for (uint32_t code = 0; at->nibbles && code < slots; code++)
        memory[at->nibbles + code / 2] |= (uint8_t)((tokens->lengths[code] - 1) << (code % 2 * 4));
}

fastpair_status fp_device_dict_write(const fp_dict *dict, const fp_plan *plan,
                                     const fp_device_dict *at, uint8_t *memory,
                                     const fastpair_allocator *allocator, fastpair_error *error) {
    const uint64_t patterns = 1ull << dict->code_bits;
    const uint32_t stride = fp_dict_longest(dict) > 16 ? FP_MAX_TOKEN : 16;
    uint8_t *cells = fp_allocate(allocator, patterns, stride + 1);
    if (!cells) return fp_fail_memory(error, patterns * (stride + 1));
    uint8_t *lengths = cells + patterns * stride;
    fp_dict_expand(dict, cells, stride, lengths);
    const fp_resident_tokens tokens = {cells, stride, lengths, dict->code_slots};
    memset(memory + at->head, 0, (size_t)(at->end - at->head));
    if (at->resident) fp_resident_write(&plan->resident, &tokens, memory + at->resident);
    if (at->pieces) fp_resident_write_far(&tokens, dict->code_bits, memory + at->pieces);
    if (at->lengths) memcpy(memory + at->lengths, lengths, dict->code_slots);
    write_cells(&tokens, at, memory);
    fp_release(allocator, cells);
    return FASTPAIR_OK;
}
