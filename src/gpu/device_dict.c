/* device_dict.c - a dictionary as kernels read it. In: a dictionary and the plan for its chunks.
 * Out: the head that blocks read first, the resident dictionary that they copy to shared memory,
 * and fixed-stride planes (first 8 bytes, last 8 bytes, whole 16-byte cells, lengths), of these
 * only what the kernel reads. The trick: with a fixed stride a code is an address, and no table of
 * offsets is read first. Refuses nothing. */
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

fp_device_dict fp_device_dict_place(const fp_dict *dict, const fp_plan *plan, uint64_t at) {
    uint64_t cells = plane_cells(dict);
    fp_device_dict placed = {.head = at, .end = at + fp_device_align(sizeof(fp_gpu_dict))};
    placed.resident = take(plan->resident.bytes != 0, plan->resident.bytes, &placed.end);
    placed.low8 = take(plan->planes & FP_PLANE_LOW8, 8 * cells, &placed.end);
    placed.high8 = take(plan->planes & FP_PLANE_HIGH8, 8 * cells, &placed.end);
    placed.cells16 = take(plan->planes & FP_PLANE_CELLS16, 16 * cells, &placed.end);
    placed.nibbles =
        take(plan->planes & FP_PLANE_NIBBLES, (dict->code_slots + 1ull) / 2, &placed.end);
    return placed;
}

/* Bytes first .. first + 8 of each cell. */
static void write_halves(const uint8_t (*cells)[16], uint32_t first, uint32_t slots,
                         uint8_t *plane) {
    for (uint64_t i = 0; i < slots; i++) memcpy(plane + 8 * i, cells[i] + first, 8);
}

void fp_device_dict_write_head(const fp_plan *plan, const fp_device_dict *at, uint64_t dicts,
                               uint8_t *memory) {
    fp_gpu_dict head = {.resident = dicts + at->resident,
                        .cold = dicts + (plan->resident.longest == 16 ? at->cells16 : at->low8),
                        .resident_bytes = plan->resident.bytes,
                        .slots = plan->resident.slots,
                        .near = plan->resident.near,
                        .split = plan->resident.split,
                        .staging = plan->staging};
    memcpy(memory + at->head, &head, sizeof head);
}

fastpair_status fp_device_dict_write(const fp_dict *dict, const fp_plan *plan,
                                     const fp_device_dict *at, uint8_t *memory,
                                     const fastpair_allocator *allocator, fastpair_error *error) {
    uint64_t patterns = 1ull << dict->code_bits;
    uint32_t slots = dict->code_slots;
    uint8_t(*cells)[16] = fp_allocate(allocator, patterns, 16 + 1);
    if (!cells) return fp_fail_memory(error, patterns * 17);
    uint8_t *lengths = (uint8_t *)(cells + patterns);
    fp_dict_expand(dict, cells, lengths);
    const uint8_t(*tokens)[16] = (const uint8_t(*)[16])cells;
    memset(memory + at->head, 0, (size_t)(at->end - at->head));
    if (at->resident)
        fp_resident_write(&plan->resident, tokens, lengths, slots, memory + at->resident);
    if (at->low8) write_halves(tokens, 0, slots, memory + at->low8);
    if (at->high8) write_halves(tokens, 8, slots, memory + at->high8);
    if (at->cells16) memcpy(memory + at->cells16, cells, (size_t)slots * 16);
    for (uint32_t code = 0; at->nibbles && code < slots; code++)
        memory[at->nibbles + code / 2] |= (uint8_t)((lengths[code] - 1) << (code % 2 * 4));
    fp_release(allocator, cells);
    return FASTPAIR_OK;
}
