/* groups.c - which kernel decodes which chunks, and what assembled kernels need besides. In: the chunks of a batch. Out: groups of
 * chunks that share a dictionary, wherever they are, each with a kernel; images of dictionaries. */
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
 * be trusted: kernels check against what comes out of this. */
static uint64_t largest_by_sidecar(const fp_batch_chunk *placed, uint32_t each) {
    const fp_chunk *chunk = placed->chunk;
    const uint8_t *sidecar = fp_chunk_section(chunk, placed->block, FP_SECTION_SIDECAR);
    uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes), most = 0, begin = 0;
    for (uint64_t k = each; begin <= chunk->decoded_bytes; k += each) {
        uint64_t end = k < batches ? fp_sidecar_position(sidecar, batches, chunk->group_batches, k)
                                   : chunk->decoded_bytes;
        if (end > begin && end - begin > most) most = end - begin;
        if (k >= batches) break;
        begin = end;
    }
    return most;
}

/* The most bytes that `codes` codes from a multiple of it on decode to. By the sidecar only if the kernel goes by it:
 * positions made on the device are there to do without. */
static uint64_t largest_in_chunk(const fp_batch_chunk *placed, uint32_t codes, int regenerate) {
    uint32_t each = placed->chunk->batch_codes, touched = codes / each;
    if (codes % each) touched = (codes + each - 2) / each + 1;
    return regenerate || codes % each ? (uint64_t)touched * placed->chunk->largest_batch
                                      : largest_by_sidecar(placed, touched);
}

/* Chunk i of a group's. */
static const fp_batch_chunk *chunk_of(const fastpair_gpu_batch *batch, uint64_t group, uint64_t i) {
    return &batch->chunks[batch->coded_chunks[batch->groups[group].first_listed + i]];
}

/* For all K that the table has. */
static void find_largest_batches(const fastpair_gpu_batch *batch, uint64_t group, int regenerate,
                                 fp_column_shape *shape) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        uint32_t lane_codes = kernel->codes_per_lane;
        if (!fp_kernel_is_assembled(kernel) || shape->largest_batch[lane_codes]) continue;
        uint64_t most = 0, limit = 32ull * lane_codes * shape->max_length;
        for (uint64_t c = 0; c < batch->groups[group].listed; c++) {
            uint64_t here = largest_in_chunk(chunk_of(batch, group, c), 32 * lane_codes, regenerate);
            if (here > most) most = here;
        }
        shape->largest_batch[lane_codes] = (uint32_t)(most < limit ? most : limit);
    }
}

static fp_column_shape shape_of(const fastpair_gpu_batch *batch, uint64_t group, int regenerate) {
    const fp_dict *dict = batch->dicts[group];
    fp_column_shape shape = {.code_bits = dict->code_bits,
                             .max_length = fp_planes_describe(dict, 0).max_length,
                             .slots = dict->code_slots,
                             .hot_slots = dict->hot_slots};
    for (uint64_t i = 0; i < batch->groups[group].listed; i++) {
        const fp_chunk *chunk = chunk_of(batch, group, i)->chunk;
        if (i == 0) shape.batch_codes = chunk->batch_codes;
        if (shape.batch_codes != chunk->batch_codes) shape.batch_codes = 0;
        for (int length = 0; length < 16; length++) shape.codes_by_length[length] += chunk->by_length[length];
    }
    shape.in_classes = dict->order == 1 && dict->class_shift >= (uint32_t)FP_GPU_CLASS_SHIFT(dict->code_bits);
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
    return suits
               ? FASTPAIR_OK
               : fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                         "kernel \"%s\" cannot decode these columns: tokens of %u bytes, %u-bit codes, %u of "
                         "them, %u hot",
                         kernel->name, shape->max_length, shape->code_bits, shape->slots, shape->hot_slots);
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

fastpair_status fp_groups_make(fastpair_gpu_batch *batch, uint32_t kernel, int regenerate,
                               fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    batch->group_count = batch->dict_count ? batch->dict_count : 1;
    batch->groups = fp_allocate_zero(&batch->allocator, batch->group_count, sizeof *batch->groups);
    batch->coded_chunks = fp_allocate(&batch->allocator, batch->chunk_count, sizeof *batch->coded_chunks);
    if (!batch->groups || !batch->coded_chunks)
        return fp_fail_memory(error, batch->group_count * sizeof *batch->groups);
    for (uint64_t d = 0; d < batch->dict_count; d++)
        if (batch->dicts[d]->code_slots > batch->most_slots) batch->most_slots = batch->dicts[d]->code_slots;
    list_chunks(batch);
    for (uint64_t g = 0; g < batch->dict_count && !status; g++) {
        fp_batch_group *group = &batch->groups[g];
        fp_column_shape shape = shape_of(batch, g, regenerate);
        group->kernel =
            kernel < FP_KERNELS ? kernel : fp_select_kernel(&shape, &batch->gpu->info, !regenerate);
        int assembled = fp_kernel_is_assembled(fp_group_kernel(group));
        if (assembled) group->plan = fp_plan_assembled(fp_group_kernel(group), &shape, &batch->gpu->info);
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
    for (uint64_t g = 0; g < batch->group_count; g++) {
        if (!batch->groups[g].image.bytes) continue;
        batch->groups[g].image_offset = offset;
        offset = fp_device_align(offset + batch->groups[g].image.bytes);
    }
    return offset;
}

fastpair_status fp_groups_write_images(fastpair_gpu_batch *batch, fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t g = 0; g < batch->group_count && !status; g++) {
        fp_batch_group *group = &batch->groups[g];
        if (group->image.bytes)
            status = fp_planes_image(batch->dicts[g], fp_group_kernel(group), &group->image,
                                     batch->tables + group->image_offset, &batch->allocator, error);
    }
    return status;
}

void fp_groups_write_table(fastpair_gpu_batch *batch, uint64_t device_memory) {
    for (uint64_t g = 0; g < batch->group_count; g++) {
        const fp_batch_group *group = &batch->groups[g];
        if (!group->image.bytes) continue;
        const fp_gpu_dict dict = fp_planes_describe(batch->dicts[g], device_memory + batch->plane_offset[g]);
        fp_gpu_group entry = {.image = device_memory + group->image_offset,
                              .cold = fp_group_kernel(group)->max_token == 16 ? dict.rows16 : dict.low8,
                              .image_bytes = group->image.bytes,
                              .slots = group->image.slots,
                              .near = group->image.near,
                              .split = group->image.split,
                              .staging = group->plan.staging};
        memcpy(batch->tables + batch->group_table + g * sizeof entry, &entry, sizeof entry);
    }
}
