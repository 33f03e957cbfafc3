/* case_layout.cc - made-up chunks in emulated memory. In: tokens and codes. Out: a chunk that a
 * kernel can decode. */
#include "case_layout.h"

#include "forge.h"

/* Bytes decoded before code `end`. */
static uint32_t bytes_before(const kernel_case *c, uint32_t end) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < end && i < c->count; i++) bytes += c->lengths[c->codes[i]];
    return bytes;
}

static void lay_out_codes(const kernel_case *c, uint32_t widened, device *d, case_chunk *made) {
    forge_codes codes = {c->codes, c->count, widened ? 16 : c->bits, c->lengths, 32};
    forge_bytes packed = forge_packed_codes(&codes);
    if (widened) packed.size = 2ull * c->count;
    /* What lies after the last code is not to be looked at. */
    for (uint64_t bit = c->count * (uint64_t)codes.bits; bit < 8 * packed.size; bit++)
        forge_bits(packed.data, bit, 1, c->codes[0] >> bit % 5 & 1);
    made->codes = device_copy(d, packed.data, packed.size, "codes");
    made->codes_bytes = packed.size;
    free(packed.data);
}

static void lay_out_sidecar(const kernel_case *c, uint32_t batch_codes, device *d,
                            case_chunk *made) {
    uint32_t largest[3];
    forge_codes codes = {c->codes, c->count, c->bits, c->lengths, batch_codes};
    forge_bytes sidecar = forge_sidecar(&codes, &made->group_batches, largest);
    made->sidecar = device_copy(d, sidecar.data, sidecar.size, "sidecar");
    made->sidecar_bytes = sidecar.size;
    free(sidecar.data);
}

case_chunk case_lay_out(const kernel_case *c, const emulated_variant *variant,
                        const case_layout *layout, device *d) {
    uint32_t batch = 32 * variant->codes_per_lane, largest = 0;
    case_chunk made = {};
    lay_out_codes(c, layout->widened, d, &made);
    made.out = device_block(d, c->decoded_bytes, layout->out_shift, layout->out_access, "output");
    made.status = (uint32_t *)(void *)device_block(d, 4, 4, EMULATOR_WRITE, "status");
    *made.status = 0;
    device_codes codes = {made.codes, c->count,         layout->widened ? 16 : c->bits,
                          made.out,   c->decoded_bytes, made.status};
    device_chunk *chunk = &(made.chunk = device_chunk_make(&codes, variant));
    if (layout->positions == POSITIONS_SIDECAR) {
        lay_out_sidecar(c, layout->batch_codes, d, &made);
        const device_sidecar sidecar = {made.sidecar, layout->batch_codes, made.group_batches};
        device_use_sidecar(chunk, &sidecar, variant);
    } else {
        device_use_positions(chunk, d);
    }
    if (layout->positions == POSITIONS_PREPARED) chunk->regenerated.codes = 0;
    for (uint32_t i = 0; i < chunk->batches; i++) {
        uint32_t begin = bytes_before(c, i * batch),
                 bytes = bytes_before(c, (i + 1) * batch) - begin;
        if (layout->positions == POSITIONS_PREPARED) chunk->positions[i] = begin;
        if (bytes > largest) largest = bytes;
    }
    const device_tokens tokens = {c->bits, c->slots, c->hot, c->tokens, c->lengths};
    if (variant->longest > 16 && layout->little_room) largest = FP_GPU_LEAST_ROOM;
    device_lay_out_dict(&tokens, variant, largest, d, chunk);
    return made;
}
