/* groups.c - which kernel decodes which chunks, and what assembled kernels need besides. In: the chunks of a batch. Out: groups of
 * chunks that share a dictionary, wherever they are, each with a kernel; what that kernel reads of the dictionary. */
#include "batch.h"

#include "sidecar.h"

#include <string.h>

/* ---------------------------------------------------------------- shapes */

/* Slots, of the first `end`, from the first on whose token is longer than `length`. */
static uint32_t slots_above(const fp_dict *dict, uint32_t end, uint32_t length) {
    for (uint32_t r = 0; r < dict->run_count && dict->runs[r].first_code < end; r++)
        if (dict->runs[r].length > length) return end - dict->runs[r].first_code;
    return 0;
}

/* The most bytes in `each` sidecar batches that follow each other from a multiple of `each` on. The sidecar is not to
 * be trusted: kernels check against what comes out of this, and batches that end before they begin count for nothing. */
static uint32_t largest_by_sidecar(const fp_batch_chunk *placed, uint32_t each) {
    const fp_chunk *chunk = placed->chunk;
    uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes);
    fp_sidecar_reader sidecar = fp_sidecar_open(
        fp_chunk_section(chunk, placed->block, FP_SECTION_SIDECAR), batches, chunk->group_batches);
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

/* The most bytes that `codes` codes from a multiple of it on decode to, if they are more than `known`. The header has a bound, which
 * is exact for single batches of the sidecar. Several are looked up, but only if the kernel goes by the sidecar: positions
 * made on the device are there to do without. */
static uint64_t largest_in_chunk(const fp_batch_chunk *placed, uint32_t codes, int regenerate,
                                 uint64_t known) {
    uint32_t each = placed->chunk->batch_codes, touched = codes / each;
    if (codes % each) touched = (codes + each - 2) / each + 1;
    uint64_t bound = (uint64_t)touched * placed->chunk->largest_batch;
    return regenerate || codes % each || touched == 1 || bound <= known
               ? bound
               : largest_by_sidecar(placed, touched);
}

/* Chunk i of a group's. */
static const fp_batch_chunk *chunk_of(const fastpair_gpu_batch *batch, uint64_t group, uint64_t i) {
    return &batch->chunks[batch->coded_chunks[batch->groups[group].first_listed + i]];
}

/* For all K that the table has for codes of this width. A chunk's sidecar is gone through for all of them before the next one's, while
 * it is in a cache. */
static void find_largest_batches(const fastpair_gpu_batch *batch, uint64_t group, int regenerate,
                                 fp_column_shape *shape) {
    uint32_t wanted[FP_MOST_LANE_CODES], count = 0;
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (kernel->code_bits != shape->code_bits || shape->largest_batch[kernel->codes_per_lane])
            continue;
        shape->largest_batch[kernel->codes_per_lane] = 1;
        wanted[count++] = kernel->codes_per_lane;
    }
    for (uint64_t c = 0; c < batch->groups[group].listed; c++)
        for (uint32_t w = 0; w < count; w++) {
            uint32_t *most = &shape->largest_batch[wanted[w]],
                     limit = 32 * wanted[w] * shape->max_length;
            if (*most == limit) continue;
            uint64_t here =
                largest_in_chunk(chunk_of(batch, group, c), 32 * wanted[w], regenerate, *most);
            if (here > *most) *most = here < limit ? (uint32_t)here : limit;
        }
}

static fp_column_shape shape_of(const fastpair_gpu_batch *batch, uint64_t group, int regenerate) {
    const fp_dict *dict = &batch->dicts[group]->dict;
    fp_column_shape shape = {.code_bits = dict->code_bits,
                             .max_length = fp_planes_describe(dict, 0, 0).max_length,
                             .slots = dict->code_slots,
                             .hot_slots = dict->hot_slots};
    for (uint64_t i = 0; i < batch->groups[group].listed; i++) {
        const fp_chunk *chunk = chunk_of(batch, group, i)->chunk;
        if (i == 0) shape.batch_codes = chunk->batch_codes;
        if (shape.batch_codes != chunk->batch_codes) shape.batch_codes = 0;
        for (int length = 0; length < 16; length++)
            shape.codes_by_length[length] += chunk->by_length[length];
    }
    shape.in_classes =
        dict->order == 1 && dict->class_shift >= (uint32_t)FP_GPU_CLASS_SHIFT(dict->code_bits);
    if (!shape.in_classes) return shape;
    shape.above_4 = slots_above(dict, dict->code_slots, 4);
    shape.above_8 = slots_above(dict, dict->code_slots, 8);
    shape.hot_above_4 = slots_above(dict, dict->hot_slots, 4);
    shape.hot_above_8 = slots_above(dict, dict->hot_slots, 8);
    find_largest_batches(batch, group, regenerate, &shape);
    return shape;
}

/* ---------------------------------------------------------------- groups */

/* A kernel asked for by name must suit the tokens and what shared memory there is. */
static fastpair_status check_kernel(const fastpair_gpu_batch *batch, const fp_batch_group *group,
                                    const fp_column_shape *shape, fastpair_error *error) {
    const fp_kernel *kernel = fp_group_kernel(group);
    int suits = shape->max_length <= kernel->max_token &&
                kernel->static_shared + fp_kernel_dynamic_shared(kernel, batch->most_slots) <=
                    batch->gpu->info.shared_per_block;
    if (fp_kernel_is_assembled(kernel)) suits = group->plan.warps > 0;
    return suits ? FASTPAIR_OK
                 : fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                           "kernel \"%s\" cannot decode these columns: tokens of %u bytes, %u-bit "
                           "codes, %u of "
                           "them, %u hot",
                           kernel->name, shape->max_length, shape->code_bits, shape->slots,
                           shape->hot_slots);
}

/* Sorts the coded chunks by group: counts, then places. */
static void list_chunks(fastpair_gpu_batch *batch) {
    uint64_t next = 0;
    for (uint64_t i = 0; i < batch->chunk_count; i++)
        if (batch->chunks[i].chunk->coded) batch->groups[batch->chunks[i].group].listed++;
    for (uint64_t g = 0; g < batch->group_count; g++) {
        batch->groups[g].first_listed = next;
        next += batch->groups[g].listed;
        batch->groups[g].listed = 0;
    }
    for (uint64_t i = 0; i < batch->chunk_count; i++) {
        fp_batch_group *group = &batch->groups[batch->chunks[i].group];
        if (batch->chunks[i].chunk->coded)
            batch->coded_chunks[group->first_listed + group->listed++] = (uint32_t)i;
    }
}

/* What the kernels that a group's chunks need read of its dictionary. */
static uint32_t planes_of_group(const fastpair_gpu_batch *batch, uint64_t group, int regenerate) {
    const fp_kernel *kernel = fp_group_kernel(&batch->groups[group]);
    uint32_t planes = fp_planes_of(kernel);
    for (uint64_t i = 0; i < batch->groups[group].listed; i++)
        if (fp_makes_positions(chunk_of(batch, group, i)->chunk, kernel, regenerate))
            planes |= FP_PLANE_NIBBLES;
    return planes;
}

fastpair_status fp_groups_make(fastpair_gpu_batch *batch, uint32_t kernel, int regenerate,
                               fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    batch->group_count = batch->dict_count ? batch->dict_count : 1;
    batch->groups = fp_allocate_zero(&batch->allocator, batch->group_count, sizeof *batch->groups);
    batch->coded_chunks =
        fp_allocate(&batch->allocator, batch->chunk_count, sizeof *batch->coded_chunks);
    if (!batch->groups || !batch->coded_chunks)
        return fp_fail_memory(error, batch->group_count * sizeof *batch->groups);
    for (uint64_t d = 0; d < batch->dict_count; d++)
        if (batch->dicts[d]->dict.code_slots > batch->most_slots)
            batch->most_slots = batch->dicts[d]->dict.code_slots;
    list_chunks(batch);
    for (uint64_t g = 0; g < batch->dict_count && !status; g++) {
        fp_batch_group *group = &batch->groups[g];
        fp_column_shape shape = shape_of(batch, g, regenerate);
        group->kernel =
            kernel < FP_KERNELS ? kernel : fp_select_kernel(&shape, &batch->gpu->info, !regenerate);
        int assembled = fp_kernel_is_assembled(fp_group_kernel(group));
        if (assembled)
            group->plan = fp_plan_assembled(fp_group_kernel(group), &shape, &batch->gpu->info);
        group->planes = planes_of_group(batch, g, regenerate);
        status = check_kernel(batch, group, &shape, error);
        if (!status && assembled)
            status = fp_planes_image(batch->dicts[g], fp_group_kernel(group), &group->image, NULL,
                                     &batch->allocator, error);
    }
    return status;
}

/* ---------------------------------------------------------------- tables */

uint64_t fp_groups_place(fastpair_gpu_batch *batch, uint64_t offset) {
    batch->group_table = offset;
    offset = fp_device_align(offset + batch->group_count * sizeof(fp_gpu_group));
    for (uint64_t g = 0; g < batch->dict_count; g++) {
        fp_batch_group *group = &batch->groups[g];
        group->image_offset = offset;
        group->plane_offset = offset + fp_device_align(group->image.bytes);
        offset = group->plane_offset + fp_planes_size(&batch->dicts[g]->dict, group->planes);
    }
    return offset;
}

fastpair_status fp_groups_write_dictionaries(fastpair_gpu_batch *batch, fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t g = 0; g < batch->dict_count && !status; g++) {
        fp_batch_group *group = &batch->groups[g];
        if (group->image.bytes)
            status = fp_planes_image(batch->dicts[g], fp_group_kernel(group), &group->image,
                                     batch->tables + group->image_offset, &batch->allocator, error);
        if (!status)
            status = fp_planes_write(batch->dicts[g], group->planes,
                                     batch->tables + group->plane_offset, &batch->allocator, error);
    }
    return status;
}

void fp_groups_write_tables(fastpair_gpu_batch *batch, uint64_t device_memory) {
    for (uint64_t g = 0; g < batch->dict_count; g++) {
        const fp_batch_group *group = &batch->groups[g];
        fp_gpu_dict dict = fp_planes_describe(&batch->dicts[g]->dict, group->planes,
                                              device_memory + group->plane_offset);
        fp_gpu_group entry = {.image = device_memory + group->image_offset,
                              .cold =
                                  fp_group_kernel(group)->max_token == 16 ? dict.rows16 : dict.low8,
                              .image_bytes = group->image.bytes,
                              .slots = group->image.slots,
                              .near = group->image.near,
                              .split = group->image.split,
                              .staging = group->plan.staging};
        memcpy(batch->tables + batch->dict_table + g * sizeof dict, &dict, sizeof dict);
        memcpy(batch->tables + batch->group_table + g * sizeof entry, &entry, sizeof entry);
    }
}
