/* upload.c - bringing a batch to the device. In: a laid-out batch, device memory of the caller's. Out: copies queued on the
 * caller's stream. The chunk table is filled in here, when device addresses are known; after that nothing on the host is needed
 * to decode. */
#include "batch.h"

#include "sidecar.h"

#include <string.h>

static uint64_t section_address(const fp_batch_chunk *placed, uint64_t device_memory, int section) {
    const fp_section *entry = &placed->chunk->sections[section];
    if (placed->on_device) return placed->on_device + entry->offset;
    return device_memory + placed->device_offset + (entry->offset - placed->first_section);
}

static fp_gpu_chunk describe_chunk(const fastpair_gpu_batch *batch, const fp_batch_column *column,
                                   uint64_t i, uint64_t device_memory) {
    const fp_batch_chunk *placed = &batch->chunks[i];
    const fp_chunk *chunk = placed->chunk;
    uint64_t number = i - column->first_chunk;
    fp_gpu_chunk entry = {
        .lengths = section_address(placed, device_memory, FP_SECTION_LENGTHS),
        .lengths_bytes = chunk->sections[FP_SECTION_LENGTHS].size,
        .positions = placed->positions ? device_memory + placed->positions : 0,
        .out_offset = column->output_offset + column->column->first_byte[number],
        .code_count = chunk->codes,
        .row_count = chunk->rows,
        .first_row_slot = column->first_row_slot + column->column->first_row[number],
        .column_offset = column->column->first_byte[number],
        .decoded_bytes = (uint32_t)chunk->decoded_bytes,
        .batch_codes = chunk->batch_codes,
        .group_batches = chunk->group_batches,
        .dict = placed->group,
        .last_in_column = number + 1 == column->column->totals.chunks,
    };
    if (chunk->sections[FP_SECTION_CODES].size) {
        entry.codes = section_address(placed, device_memory, FP_SECTION_CODES);
        entry.packed_words = chunk->sections[FP_SECTION_CODES].size / 4;
    }
    if (chunk->coded) {
        entry.sidecar = section_address(placed, device_memory, FP_SECTION_SIDECAR);
        entry.file_batches = (uint32_t)fp_sidecar_batches(chunk->codes, chunk->batch_codes);
    }
    return entry;
}

static void fill_tables(fastpair_gpu_batch *batch, uint64_t device_memory) {
    for (uint64_t c = 0; c < batch->column_count; c++) {
        const fp_batch_column *column = &batch->columns[c];
        for (uint64_t i = 0; i < column->column->totals.chunks; i++) {
            fp_gpu_chunk entry =
                describe_chunk(batch, column, column->first_chunk + i, device_memory);
            memcpy(batch->tables + (column->first_chunk + i) * sizeof entry, &entry, sizeof entry);
        }
    }
    fp_groups_write_tables(batch, device_memory);
}

fastpair_status fastpair_gpu_batch_upload(fastpair_gpu_batch *batch, uint64_t device_memory,
                                          uint64_t device_bytes, uint64_t first, uint64_t count,
                                          void *stream, fastpair_error *error) {
    if (!batch || device_memory % FP_DEVICE_ALIGNMENT || (!device_memory && batch->device_bytes))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "batch must not be NULL and device_memory must be at a multiple of %u",
                       FP_DEVICE_ALIGNMENT);
    if (first > batch->chunk_count || count > batch->chunk_count - first)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the batch has only %llu chunks", (unsigned long long)batch->chunk_count);
    if (batch->device_memory && batch->device_memory != device_memory)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "the batch is on the device already, at another address");
    if (device_bytes < batch->device_bytes)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "the batch needs %llu bytes of device memory, %llu were given",
                       (unsigned long long)batch->device_bytes, (unsigned long long)device_bytes);
    const fp_driver *driver = &batch->gpu->driver;
    fastpair_status status = fp_gpu_push(batch->gpu, error);
    if (status) return status;
    fp_cu_result result = 0;
    if (!batch->device_memory) {
        fill_tables(batch, device_memory);
        if (batch->table_bytes)
            result = driver->copy_to_device(device_memory, batch->tables,
                                            (size_t)batch->table_bytes, stream);
        if (!result) batch->device_memory = device_memory;
    }
    for (uint64_t i = first, next; i < first + count && !result; i = next) {
        const fp_batch_chunk *placed = &batch->chunks[i], *last = placed;
        for (next = i + 1; next < first + count && batch->chunks[next].joined; next++)
            last = &batch->chunks[next];
        uint64_t bytes = last->device_offset + last->section_bytes - placed->device_offset;
        if (!placed->on_device)
            result = driver->copy_to_device(device_memory + placed->device_offset,
                                            placed->block + placed->first_section, (size_t)bytes,
                                            stream);
    }
    if (result) status = fp_driver_fail(driver, result, "copying a batch to the device", error);
    fp_gpu_pop(batch->gpu);
    return status;
}
