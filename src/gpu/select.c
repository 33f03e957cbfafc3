/* select.c - what selections on a device need of a column. In: its rows. Out: a table of its chunks,
 * and tokens in cells of one size, copied to device memory. The trick: unlike the decoder's tables,
 * which depend on the kernel that was planned, these are the same for every dictionary. Refuses
 * nothing. */
#include "select.h"

#include "options.h"

#include <string.h>

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

void fastpair_gpu_select_close(fastpair_gpu_select *select) {
    if (!select) return;
    const fastpair_allocator *allocator = &select->rows->job->gpu->allocator;
    fp_release(allocator, select->tables);
    fp_release(allocator, select->memory);
    fp_release(allocator, select);
}

/* Gives everything its place. Stored chunks need no cells. */
static void place(fastpair_gpu_select *select) {
    const fastpair_gpu_rows *rows = select->rows;
    select->bytes = fp_device_align(fp_rows_column(rows)->chunks * sizeof(fp_gpu_select_chunk));
    for (uint32_t t = 0; t < rows->table_count; t++) {
        const fp_dict *dict = rows->tables[t].dict;
        if (!dict) continue;
        uint32_t stride = (uint32_t)fp_align(fp_dict_longest(dict), 16);
        select->tables[t] = (fp_select_table){select->bytes, stride};
        select->bytes += fp_device_align((uint64_t)stride << dict->code_bits);
    }
}

static fastpair_status make(fastpair_gpu_select *select, fastpair_error *error) {
    const fastpair_gpu_rows *rows = select->rows;
    const fastpair_allocator *allocator = &rows->job->gpu->allocator;
    select->tables = fp_allocate_zero(allocator, rows->table_count, sizeof *select->tables);
    if (!select->tables) return fp_fail_memory(error, rows->table_count * sizeof *select->tables);
    place(select);
    select->memory = fp_allocate_zero(allocator, select->bytes, 1);
    if (!select->memory) return fp_fail_memory(error, select->bytes);
    for (uint32_t t = 0; t < rows->table_count; t++)
        if (rows->tables[t].dict)
            fp_dict_expand(rows->tables[t].dict, select->memory + select->tables[t].cells,
                           select->tables[t].stride, NULL);
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_select_open(const fastpair_gpu_rows *rows,
                                         fastpair_gpu_select **result, fastpair_error *error) {
    REFUSE(!rows || !result, FASTPAIR_ERROR_INVALID_ARGUMENT, "rows and select must not be NULL");
    *result = NULL;
    fastpair_gpu_select *select = fp_allocate_zero(&rows->job->gpu->allocator, 1, sizeof *select);
    if (!select) return fp_fail_memory(error, sizeof *select);
    select->rows = rows;
    fastpair_status status = make(select, error);
    if (status)
        fastpair_gpu_select_close(select);
    else
        *result = select;
    return status;
}

fastpair_status fastpair_gpu_select_get_info(const fastpair_gpu_select *select,
                                             fastpair_gpu_select_info *info,
                                             fastpair_error *error) {
    REFUSE(!select || !info, FASTPAIR_ERROR_INVALID_ARGUMENT, "select and info must not be NULL");
    fastpair_gpu_select_info filled = {.struct_size = sizeof filled, .device_bytes = select->bytes};
    return fp_info_copy("info", &filled, sizeof filled, info, error);
}

/* Chunk i of the table, for cells that will be at the address `memory`. */
static fp_gpu_select_chunk describe(const fastpair_gpu_select *select, uint64_t i,
                                    uint64_t memory) {
    const fastpair_gpu_rows *rows = select->rows;
    const fp_rows_chunk *chunk = &rows->chunks[i];
    const fp_job_chunk *source = fp_rows_job_chunk(rows, i);
    const fp_rows_table *table = &rows->tables[chunk->table];
    fp_gpu_select_chunk described = {.first_row = source->first_row,
                                     .codes = fp_job_section(rows->job, source, FP_SECTION_CODES),
                                     .starts = rows->device_memory + chunk->starts,
                                     .ranks = rows->device_memory + chunk->ranks,
                                     .filled = rows->device_memory + chunk->filled,
                                     .row_ranks = rows->device_memory + chunk->row_ranks,
                                     .positions = rows->device_memory + chunk->positions,
                                     .lengths =
                                         fp_job_section(rows->job, source, FP_SECTION_LENGTHS),
                                     .lengths_bytes = source->lengths_bytes,
                                     .rows = source->rows,
                                     .code_count = chunk->codes,
                                     .decoded_bytes = source->decoded_bytes,
                                     .code_bits = (uint8_t)table->code_bits,
                                     .slots = table->slots};
    if (source->has_validity)
        described.section = fp_job_section(rows->job, source, FP_SECTION_VALIDITY);
    if (table->dict) {
        described.token_lengths = rows->device_memory + table->lengths;
        described.cells = memory + select->tables[chunk->table].cells;
        described.stride = (uint16_t)select->tables[chunk->table].stride;
    }
    return described;
}

fastpair_status fastpair_gpu_select_upload(fastpair_gpu_select *select,
                                           const fastpair_gpu_block *memory, void *stream,
                                           fastpair_error *error) {
    REFUSE(!select, FASTPAIR_ERROR_INVALID_ARGUMENT, "select must not be NULL");
    const fastpair_gpu_rows *rows = select->rows;
    const fastpair_gpu *gpu = rows->job->gpu;
    fastpair_status status = fp_gpu_block_check("memory", memory, select->bytes, error);
    if (status || !select->bytes) return status;
    REFUSE(!rows->device_memory && rows->device_bytes, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the rows have not been prepared");
    if ((status = fp_gpu_push(gpu, error))) return status;
    for (uint64_t i = 0; i < fp_rows_column(rows)->chunks; i++) {
        fp_gpu_select_chunk chunk = describe(select, i, memory->address);
        memcpy(select->memory + i * sizeof chunk, &chunk, sizeof chunk);
    }
    fp_cu_result result =
        gpu->driver.copy_to_device(memory->address, select->memory, (size_t)select->bytes, stream);
    if (result)
        status = fp_driver_fail(&gpu->driver, result, "copying tokens to the device", error);
    else
        select->device_memory = memory->address;
    fp_gpu_pop(gpu);
    return status;
}
