/* shape.c - statistics of the chunks that share a dictionary. In: headers and sidecars. Out: an
 * fp_shape. The trick: the header's largest batch is exact for one batch of the file; several are
 * looked up in the sidecar only where the header's bound could raise the maximum. Nothing here is
 * trusted: kernels check every batch against these bounds. */
#include "shape.h"

#include "sidecar.h"

/* The first slot whose token is longer than `length`. */
static uint32_t first_above(const fp_dict *dict, uint32_t length) {
    for (uint32_t r = 0; r < dict->run_count; r++)
        if (dict->runs[r].length > length) return dict->runs[r].first_code;
    return dict->code_slots;
}

/* The most bytes in `each` consecutive batches of the sidecar that start at a multiple of `each`.
 * Batches that end before they begin count for nothing. */
static uint32_t largest_by_sidecar(const fp_shape_chunk *of, uint32_t each) {
    const fp_chunk *chunk = of->chunk;
    uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes);
    fp_sidecar_reader sidecar = fp_sidecar_open(
        fp_chunk_section(chunk, of->block, FP_SECTION_SIDECAR), batches, chunk->group_batches);
    uint32_t begin = 0;
    int32_t most = 0;
    for (uint64_t k = each; k < batches; k += each) {
        uint32_t end = (uint32_t)fp_sidecar_read(&sidecar, k);
        int32_t bytes = (int32_t)(end - begin);
        if (bytes > most) most = bytes;
        begin = end;
    }
    int32_t last = (int32_t)((uint32_t)chunk->decoded_bytes - begin);
    return (uint32_t)(last > most ? last : most);
}

/* Upper bound on the decoded bytes of any aligned run of `codes` codes; not exact if it is at most
 * `known`. Computed positions are there to do without the sidecar, so the sidecar is not asked for
 * kernels that do not go by it. */
static uint64_t largest_in_chunk(const fp_shape_chunk *of, uint32_t codes, int in_rounds,
                                 int use_sidecar, uint64_t known) {
    uint32_t each = of->chunk->batch_codes, touched = codes / each;
    if (codes % each) touched = (codes + each - 2) / each + 1;
    uint64_t bound = (uint64_t)touched * of->chunk->largest_batch;
    if (codes % each == 0 && touched == 2) return of->chunk->largest_pair;
    if (codes % each == 0 && touched == 4) return of->chunk->largest_four;
    /* A bound, which does where the buffer need not hold the largest batch. */
    if (codes % each == 0 && touched == 6 && in_rounds)
        return (uint64_t)of->chunk->largest_four + of->chunk->largest_pair;
    if (!use_sidecar || !of->block || codes % each || touched == 1 || bound <= known) return bound;
    return largest_by_sidecar(of, touched);
}

int fp_shape_suits(const fp_shape *shape, const fp_kernel *kernel) {
    if (shape->code_bits != kernel->code_bits || shape->max_length > kernel->max_token) return 0;
    if (kernel->max_token == 32) return shape->in_long_classes;
    if (kernel->max_token > 16) return kernel->home == FP_GPU_FAR || shape->ascends;
    return shape->in_classes && (kernel->home != FP_GPU_HOT || shape->hot_slots);
}

/* For every K of a kernel that suits: sidecars are large, so they are not asked in vain. A chunk's
 * sidecar is gone through for all K before the next chunk's, while it is in a cache. */
static void find_largest_batches(const fp_shape_chunk *chunks, const uint32_t *listed,
                                 uint64_t count, int use_sidecar, fp_shape *shape) {
    uint32_t wanted[FP_MOST_LANE_CODES], wanted_count = 0;
    for (uint32_t i = FP_STAGED_KERNELS; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        uint32_t lane_codes = kernel->codes_per_lane;
        if (!fp_shape_suits(shape, kernel) || shape->largest_batch[lane_codes]) continue;
        shape->largest_batch[lane_codes] = 1;
        wanted[wanted_count++] = lane_codes;
    }
    for (uint64_t c = 0; c < count; c++)
        for (uint32_t w = 0; w < wanted_count; w++) {
            uint32_t codes = 32 * wanted[w], limit = codes * shape->max_length;
            uint32_t *most = &shape->largest_batch[wanted[w]];
            if (*most == limit) continue;
            uint64_t here = largest_in_chunk(&chunks[listed[c]], codes, shape->max_length > 16,
                                             use_sidecar, *most);
            if (here > *most) *most = here < limit ? (uint32_t)here : limit;
        }
}

fp_shape fp_shape_make(const fp_dict *dict, const fp_shape_chunk *chunks, const uint32_t *listed,
                       uint64_t count, int use_sidecar) {
    fp_shape shape = {
        .code_bits = dict->code_bits, .slots = dict->code_slots, .hot_slots = dict->hot_slots};
    shape.max_length = fp_dict_longest(dict);
    for (uint64_t i = 0; i < count; i++) {
        const fp_chunk *chunk = chunks[listed[i]].chunk;
        shape.batch_sizes |= 1u << (chunk->batch_codes / 32 - 1);
        shape.decoded_bytes += chunk->decoded_bytes;
        for (uint32_t band = 0; band < FP_LENGTH_BANDS; band++)
            shape.codes_by_length[band] += chunk->by_length[band];
    }
    uint32_t class_shift = FP_GPU_CLASS_SHIFT(dict->code_bits);
    shape.in_classes = dict->order == 1 && dict->class_shift >= class_shift;
    shape.ascends = dict->order == 1 && !dict->hot_slots;
    shape.in_long_classes =
        shape.ascends && dict->class_shift >= (uint32_t)FP_GPU_LONG_SHIFT(dict->code_bits, 32);
    shape.first_above_4 = first_above(dict, 4);
    for (uint32_t i = 0; i < 8; i++) shape.first_above_eights[i] = first_above(dict, 8 * i);
    find_largest_batches(chunks, listed, count, use_sidecar, &shape);
    return shape;
}

int fp_shape_serves(const fp_shape *shape, const fp_kernel *kernel) {
    for (uint32_t i = 0; i < 32; i++)
        if ((shape->batch_sizes >> i & 1) && kernel->codes_per_lane % (i + 1)) return 0;
    return 1;
}

uint64_t fp_shape_codes(const fp_shape *shape) {
    uint64_t codes = 0;
    for (uint32_t i = 0; i < FP_LENGTH_BANDS; i++) codes += shape->codes_by_length[i];
    return codes;
}

uint32_t fp_shape_mean_token(const fp_shape *shape) {
    uint64_t codes = fp_shape_codes(shape);
    return codes ? (uint32_t)(shape->decoded_bytes * 100 / codes) : 0;
}

uint32_t fp_shape_long_share(const fp_shape *shape) {
    uint64_t codes = fp_shape_codes(shape), longer = 0;
    for (uint32_t i = fp_length_band(9); i < FP_LENGTH_BANDS; i++)
        longer += shape->codes_by_length[i];
    return codes ? (uint32_t)(longer * 100 / codes) : 0;
}
