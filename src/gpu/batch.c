/* batch.c - laying out columns for decoding. In: open columns. Out: every size and place on the device, computed on the host from
 * headers, dictionaries and sidecars. Dictionaries that several columns share are laid out once. Refuses nothing that opened as a column, but for
 * counts no launch can hold. */
#include "batch.h"

#include "options.h"
#include "sidecar.h"

#include <string.h>

/* Chunks with fewer bytes do not get a copy of their own; bytes between two of them that are rather copied than left out. */
#define SMALL_CHUNK (256u << 10)
#define SMALL_GAP   (16u << 10)

#define NULL_ARGUMENT(condition, names)                                                            \
    if (condition)                                                                                 \
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,                   \
                   names " must not be NULL")

void fastpair_gpu_batch_free(fastpair_gpu_batch *batch) {
    if (!batch) return;
    fastpair_allocator allocator = batch->allocator;
    fp_release(&allocator, batch->columns);
    fp_release(&allocator, batch->chunks);
    fp_release(&allocator, batch->dicts);
    fp_release(&allocator, batch->coded_chunks);
    fp_release(&allocator, batch->groups);
    fp_release(&allocator, batch->tables);
    fp_release(&allocator, batch);
}

/* Distinct dictionaries by their checksums: a file may have a hundred thousand of them. */
typedef struct dict_index {
    /* The number of a dictionary plus one, in the first place from its checksum on that was free; 0: free. */
    uint32_t *entries;
    uint64_t mask; /* twice as many places as dictionaries, or more: a power of two, less one */
} dict_index;

static int same_dict(const fp_column_dict *one, const fp_column_dict *other) {
    const fp_dict *a = &one->dict, *b = &other->dict;
    if (one->checksum != other->checksum) return 0;
    return a == b || (a->code_bits == b->code_bits && a->code_slots == b->code_slots &&
                      a->run_count == b->run_count && a->bytes_size == b->bytes_size &&
                      a->class_shift == b->class_shift && a->hot_slots == b->hot_slots &&
                      memcmp(a->runs, b->runs, a->run_count * sizeof *a->runs) == 0 &&
                      memcmp(a->bytes, b->bytes, (size_t)a->bytes_size) == 0);
}

/* The number of a dictionary among the distinct ones; adds it if it is new. The same block bytes are the same dictionary. */
static uint32_t dict_number(fastpair_gpu_batch *batch, dict_index *index,
                            const fp_column_dict *wanted) {
    uint64_t at = wanted->checksum & index->mask;
    for (uint32_t entry; (entry = index->entries[at]); at = (at + 1) & index->mask)
        if (same_dict(batch->dicts[entry - 1], wanted)) return entry - 1;
    batch->dicts[batch->dict_count] = wanted;
    index->entries[at] = (uint32_t)++batch->dict_count;
    return index->entries[at] - 1;
}

/* Lists columns, chunks and dictionaries; output offsets and row slots. */
static void collect(fastpair_gpu_batch *batch, const fastpair_column *const *columns,
                    const uint64_t *device_images, dict_index *index) {
    const fp_column_dict *dict = NULL;
    uint32_t number = 0;
    uint64_t next = 0;
    for (uint64_t c = 0; c < batch->column_count; c++) {
        const fastpair_column *column = columns[c];
        batch->columns[c] = (fp_batch_column){.column = column,
                                              .output_offset = batch->output_bytes,
                                              .output_bytes = column->totals.decoded_bytes,
                                              .chunks = column->totals.chunks,
                                              .first_chunk = next,
                                              .first_row_slot = batch->row_slots};
        batch->output_bytes = fp_device_align(batch->output_bytes + column->totals.decoded_bytes);
        batch->row_slots += column->totals.rows + 1;
        for (uint64_t i = 0; i < column->totals.chunks; i++, next++) {
            const fp_chunk *chunk = &column->chunks[i];
            fp_batch_chunk *placed = &batch->chunks[next];
            *placed = (fp_batch_chunk){.chunk = chunk, .block = column->image + chunk->position};
            if (device_images && device_images[c])
                placed->on_device = device_images[c] + chunk->position;
            const fp_section *first = &chunk->sections[FP_SECTION_CODES];
            const fp_section *last =
                &chunk->sections[FP_SECTION_LENGTHS]; /* never empty: a chunk has rows */
            placed->first_section = first->size ? first->offset : last->offset;
            placed->section_bytes = last->offset + last->size - placed->first_section;
            if (!chunk->coded) continue;
            /* Chunk after chunk has the same one: what is known need not be compared again. */
            if (dict != &column->dictionaries[chunk->dictionary])
                number = dict_number(batch, index, dict = &column->dictionaries[chunk->dictionary]);
            placed->group = number;
        }
    }
}

/* How far a chunk's sections are behind those of the chunk before it in the image, if one copy is to bring both; else 0. Both are so
 * small then that a copy of their own would cost more than to copy what is between them. */
static uint64_t distance_if_joined(const fp_batch_chunk *before, const fp_batch_chunk *placed) {
    uint64_t distance = before->chunk->block_bytes - before->first_section + placed->first_section;
    int is_next = before->block + before->chunk->block_bytes == placed->block;
    int are_small = before->section_bytes < SMALL_CHUNK && placed->section_bytes < SMALL_CHUNK;
    int are_close = distance - before->section_bytes < SMALL_GAP;
    return is_next && are_small && are_close && !before->on_device && !placed->on_device ? distance
                                                                                         : 0;
}

/* Gives everything its device offset. */
static void place(fastpair_gpu_batch *batch, int regenerate) {
    uint64_t offset = fp_device_align(batch->chunk_count * sizeof(fp_gpu_chunk));
    batch->dict_table = offset;
    offset =
        fp_groups_place(batch, fp_device_align(offset + batch->dict_count * sizeof(fp_gpu_dict)));
    batch->table_bytes = offset;
    for (uint64_t i = 0; i < batch->chunk_count; i++) {
        fp_batch_chunk *placed = &batch->chunks[i];
        const fp_kernel *kernel = fp_chunk_kernel(batch, i);
        if (!fp_makes_positions(placed->chunk, kernel, regenerate)) continue;
        placed->positions = offset;
        offset = fp_device_align(offset +
                                 fp_kernel_batches(placed->chunk->codes, kernel->codes_per_lane) *
                                     sizeof(uint32_t));
        batch->regenerates = 1;
    }
    for (uint64_t i = 0; i < batch->chunk_count; i++) {
        fp_batch_chunk *placed = &batch->chunks[i];
        if (placed->on_device) continue;
        uint64_t distance = i ? distance_if_joined(placed - 1, placed) : 0;
        placed->joined = distance != 0;
        placed->device_offset =
            distance ? placed[-1].device_offset + distance : fp_device_align(offset);
        offset = placed->device_offset + placed->section_bytes;
    }
    batch->device_bytes = fp_device_align(offset);
}

static fastpair_status lay_out(fastpair_gpu_batch *batch, const fastpair_column *const *columns,
                               const fastpair_gpu_batch_options *options, fastpair_error *error) {
    const fastpair_allocator *allocator = &batch->allocator;
    uint64_t dicts = 0;
    for (uint64_t c = 0; c < batch->column_count; c++) {
        batch->chunk_count += columns[c]->totals.chunks;
        dicts += columns[c]->totals.dictionaries;
    }
    if (batch->chunk_count > UINT32_MAX)
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "too many chunks for one batch");
    batch->columns = fp_allocate(allocator, batch->column_count, sizeof *batch->columns);
    batch->chunks = fp_allocate(allocator, batch->chunk_count, sizeof *batch->chunks);
    batch->dicts = fp_allocate(allocator, dicts, sizeof *batch->dicts);
    if (!batch->columns || !batch->chunks || !batch->dicts)
        return fp_fail_memory(error, batch->chunk_count * sizeof *batch->chunks);
    dict_index index = {.mask = 1};
    while (index.mask < 2 * dicts) index.mask = 2 * index.mask + 1;
    index.entries = fp_allocate_zero(allocator, index.mask + 1, sizeof *index.entries);
    if (!index.entries) return fp_fail_memory(error, (index.mask + 1) * sizeof *index.entries);
    collect(batch, columns, options->device_images, &index);
    fp_release(allocator, index.entries);
    uint32_t kernel = options->kernel ? fp_kernel_find(options->kernel) : FP_KERNELS;
    if (options->kernel && kernel == FP_KERNELS)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "no kernel is called \"%s\"; fastpair_gpu_kernel_name lists them",
                       options->kernel);
    fastpair_status status = fp_groups_make(batch, kernel, options->regenerate_sidecar, error);
    if (status) return status;
    place(batch, options->regenerate_sidecar);
    batch->tables = fp_allocate(allocator, batch->table_bytes, 1);
    if (!batch->tables) return fp_fail_memory(error, batch->table_bytes);
    /* What comes before images and planes is filled in at the upload, but for the gaps. */
    uint64_t dictionaries = batch->dict_count ? batch->groups[0].image_offset : batch->table_bytes;
    memset(batch->tables, 0, (size_t)dictionaries);
    return fp_groups_write_dictionaries(batch, error);
}

fastpair_status fastpair_gpu_batch_create(fastpair_gpu *gpu, const fastpair_column *const *columns,
                                          uint64_t count, const fastpair_gpu_batch_options *options,
                                          fastpair_gpu_batch **result, fastpair_error *error) {
    NULL_ARGUMENT(!gpu || !result || (count && !columns), "gpu, columns and batch");
    *result = NULL;
    for (uint64_t c = 0; c < count; c++) NULL_ARGUMENT(!columns[c], "columns");
    fastpair_gpu_batch_options given;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (status) return status;
    for (uint64_t c = 0; c < count && given.device_images; c++)
        if (given.device_images[c] % 64)
            return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                           "device image %llu is not at a multiple of 64", (unsigned long long)c);
    fastpair_gpu_batch *batch = fp_allocate_zero(&gpu->allocator, 1, sizeof *batch);
    if (!batch) return fp_fail_memory(error, sizeof *batch);
    batch->gpu = gpu;
    batch->allocator = gpu->allocator;
    batch->column_count = count;
    status = lay_out(batch, columns, &given, error);
    if (status)
        fastpair_gpu_batch_free(batch);
    else
        *result = batch;
    return status;
}

fastpair_status fastpair_gpu_batch_get_info(const fastpair_gpu_batch *batch,
                                            fastpair_gpu_batch_info *info, fastpair_error *error) {
    NULL_ARGUMENT(!batch || !info, "batch and info");
    if (info->struct_size < sizeof info->struct_size)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "info->struct_size must be set");
    fastpair_gpu_batch_info full = {.struct_size = sizeof full,
                                    .chunks = batch->chunk_count,
                                    .rows = batch->row_slots - batch->column_count,
                                    .device_bytes = batch->device_bytes,
                                    .table_bytes = batch->table_bytes,
                                    .output_bytes = batch->output_bytes,
                                    .makes_positions = batch->regenerates};
    if (batch->group_count)
        strncpy(full.kernel, fp_group_kernel(&batch->groups[0])->name, sizeof full.kernel - 1);
    size_t size = info->struct_size < sizeof full ? info->struct_size : sizeof full;
    memcpy(info, &full, size);
    info->struct_size = size;
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_batch_get_column(const fastpair_gpu_batch *batch, uint64_t column,
                                              uint64_t *output_offset, uint64_t *output_bytes,
                                              uint64_t *first_chunk, fastpair_error *error) {
    NULL_ARGUMENT(!batch, "batch");
    if (column >= batch->column_count)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "column %llu is not in a batch of %llu", (unsigned long long)column,
                       (unsigned long long)batch->column_count);
    const fp_batch_column *placed = &batch->columns[column];
    if (output_offset) *output_offset = placed->output_offset;
    if (output_bytes) *output_bytes = placed->output_bytes;
    if (first_chunk) *first_chunk = placed->first_chunk;
    return FASTPAIR_OK;
}

const char *fastpair_gpu_kernel_name(uint32_t i) {
    return i < FP_KERNELS ? fp_kernel_table()[i].name : NULL;
}
