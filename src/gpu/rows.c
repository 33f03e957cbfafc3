/* rows.c - laying out what searches need of a column's rows. In: a column of a job. Out: the place
 * of everything that prepare derives, and the lengths of tokens. The trick: a stored chunk is one
 * whose codes are its bytes, so that one way serves all chunks. Refuses jobs without row lengths.
 */
#include "rows.h"

#include "options.h"

#include <string.h>

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

fastpair_status fp_gpu_block_check(const char *name, const fastpair_gpu_block *block,
                                   uint64_t bytes, fastpair_error *error) {
    if (!bytes) return FASTPAIR_OK;
    REFUSE(!block || !block->address || block->address % FP_DEVICE_ALIGNMENT,
           FASTPAIR_ERROR_INVALID_ARGUMENT, "%s must be device memory at a multiple of %u", name,
           FP_DEVICE_ALIGNMENT);
    REFUSE(block->bytes < bytes, FASTPAIR_ERROR_BUFFER_TOO_SMALL,
           "%s needs %llu bytes of device memory, %llu were given", name, (unsigned long long)bytes,
           (unsigned long long)block->bytes);
    return FASTPAIR_OK;
}

void fastpair_gpu_rows_close(fastpair_gpu_rows *rows) {
    if (!rows) return;
    const fastpair_allocator *allocator = &rows->job->gpu->allocator;
    fp_release(allocator, rows->chunks);
    fp_release(allocator, rows->tables);
    fp_release(allocator, rows->lengths);
    fp_release(allocator, rows);
}

/* ---------------------------------------------------------------- tables of tokens */

/* Looks at codes of a chunk at equal distances, if they are on the host. Any codes will do, or
 * none: they decide nothing but speed. */
static void take_sample(const fastpair_gpu_rows *rows, uint64_t i, fp_rows_table *table) {
    const fp_job_source *source = &rows->job->sources[fp_rows_column(rows)->first_chunk + i];
    const fp_chunk *chunk = source->host.chunk;
    if (!source->host.block) return;
    const uint8_t *codes = fp_chunk_section(chunk, source->host.block, FP_SECTION_CODES);
    uint64_t count = 8 * chunk->sections[FP_SECTION_CODES].size / table->code_bits;
    if (count > chunk->codes && chunk->codes) count = chunk->codes;
    for (uint64_t k = 0; k < FP_ROWS_SAMPLE && k < count; k++) {
        uint64_t bit = k * (count / FP_ROWS_SAMPLE + 1) % count * table->code_bits, code = 0;
        for (uint32_t b = 0; b < table->code_bits; b++, bit++)
            code |= (uint64_t)(codes[bit / 8] >> bit % 8 & 1) << b;
        table->sample[table->sampled++] = (uint16_t)(code < table->slots ? code : 0);
    }
}

/* The tables that chunks need: job dictionaries in the order of their first chunk, and single
 * bytes. `number` has a place per dictionary of the job and one for single bytes, all UINT32_MAX
 * before. */
static void list_tables(fastpair_gpu_rows *rows, uint32_t *number) {
    const fastpair_gpu_job *job = rows->job;
    for (uint64_t i = 0; i < fp_rows_column(rows)->chunks; i++) {
        const fp_job_chunk *chunk = fp_rows_job_chunk(rows, i);
        uint64_t dict = chunk->codes ? chunk->dict : job->dict_count;
        if (number[dict] == UINT32_MAX) {
            number[dict] = rows->table_count;
            fp_rows_table *table = &rows->tables[rows->table_count++];
            if (chunk->codes)
                *table = (fp_rows_table){.dict = &job->dicts[dict].source->dict,
                                         .slots = job->dicts[dict].slots,
                                         .code_bits = job->dicts[dict].code_bits};
            else
                *table = (fp_rows_table){.slots = 256, .code_bits = 8};
            take_sample(rows, i, table);
        }
        rows->chunks[i].table = number[dict];
    }
}

static fastpair_status write_lengths(fastpair_gpu_rows *rows, fastpair_error *error) {
    const fastpair_allocator *allocator = &rows->job->gpu->allocator;
    uint64_t at = 0;
    for (uint32_t t = 0; t < rows->table_count; t++) {
        rows->tables[t].lengths = at;
        at = fp_device_align(at + rows->tables[t].slots);
    }
    rows->lengths_bytes = at;
    rows->lengths = fp_allocate_zero(allocator, at, 1);
    if (!rows->lengths) return fp_fail_memory(error, at);
    for (uint32_t t = 0; t < rows->table_count; t++) {
        const fp_rows_table *table = &rows->tables[t];
        uint8_t *lengths = rows->lengths + table->lengths;
        if (!table->dict) memset(lengths, 1, table->slots);
        /* Codes without a token have length 0, which prepare reports. */
        for (uint32_t r = 0; table->dict && r < table->dict->run_count; r++) {
            const fp_run *run = &table->dict->runs[r];
            memset(lengths + run->first_code, (int)run->length, run->count);
        }
    }
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- places */

static uint64_t take(uint64_t *at, uint64_t bytes) {
    uint64_t place = *at;
    *at = fp_device_align(place + bytes);
    return place;
}

/* Looks at the blocks of a chunk's row lengths. If none has a minimum of 0, all rows have bytes, and are
 * numbered as such. Of lengths that lie in device memory alone nothing is known. */
static void bound_lengths(fastpair_gpu_rows *rows, uint64_t i) {
    const fp_job_source *source = &rows->job->sources[fp_rows_column(rows)->first_chunk + i];
    const fp_chunk *chunk = source->host.chunk;
    uint64_t blocks = (chunk->rows + FP_LENGTH_BLOCK - 1) / FP_LENGTH_BLOCK;
    int is_whole = source->host.block && chunk->sections[FP_SECTION_LENGTHS].size >= 16 * blocks;
    const uint8_t *entry =
        is_whole ? fp_chunk_section(chunk, source->host.block, FP_SECTION_LENGTHS) : NULL;
    if (!is_whole) rows->may_be_empty = 1, rows->longest = UINT32_MAX;
    for (uint64_t b = 0; is_whole && b < blocks; b++, entry += 16) {
        uint64_t least = fp_load32(entry + 8), bits = entry[12];
        uint64_t most = bits < 32 ? least + (1ull << bits) - 1 : UINT32_MAX;
        if (!least) rows->may_be_empty = 1;
        if (most > rows->longest) rows->longest = most;
    }
}

static void place_chunks(fastpair_gpu_rows *rows) {
    uint64_t at = rows->lengths_bytes, scratch = 0, found = 0;
    /* Null rows have no bytes, and in forged files, where they have, must not match either. */
    rows->may_be_empty = fp_rows_column(rows)->nulls != 0;
    for (uint64_t i = 0; i < fp_rows_column(rows)->chunks; i++) {
        const fp_job_chunk *chunk = fp_rows_job_chunk(rows, i);
        fp_rows_chunk *placed = &rows->chunks[i];
        placed->codes = chunk->codes ? chunk->codes : chunk->decoded_bytes;
        placed->code_bits = rows->tables[placed->table].code_bits;
        uint32_t batches = fp_search_batches(placed->codes);
        uint64_t words = ((uint64_t)chunk->rows + 31) / 32;
        placed->starts = take(&at, batches ? 4 * FP_GPU_START_WORDS(batches) : 0);
        placed->ranks = take(&at, 4ull * batches);
        placed->positions = take(&at, 4ull * batches);
        placed->filled = take(&at, 4 * words);
        placed->row_ranks = take(&at, 4 * words);
        placed->offsets = take(&scratch, 4 * ((uint64_t)chunk->rows + 1));
        placed->found = found;
        placed->found_words = (uint32_t)words;
        found += 4 * words;
        bound_lengths(rows, i);
    }
    rows->device_bytes = at;
    rows->scratch_bytes = scratch;
    rows->found_bytes = fp_device_align(found);
}

static fastpair_status lay_out(fastpair_gpu_rows *rows, fastpair_error *error) {
    const fastpair_gpu_job *job = rows->job;
    const fastpair_allocator *allocator = &job->gpu->allocator;
    uint64_t chunks = fp_rows_column(rows)->chunks, dicts = job->dict_count + 1;
    rows->chunks = fp_allocate_zero(allocator, chunks, sizeof *rows->chunks);
    rows->tables = fp_allocate_zero(allocator, dicts, sizeof *rows->tables);
    uint32_t *number = fp_allocate(allocator, dicts, sizeof *number);
    fastpair_status status = FASTPAIR_OK;
    if (!rows->chunks || !rows->tables || !number) {
        status = fp_fail_memory(error, chunks * sizeof *rows->chunks);
    } else {
        memset(number, 255, dicts * sizeof *number);
        list_tables(rows, number);
        status = write_lengths(rows, error);
    }
    fp_release(allocator, number);
    if (!status) place_chunks(rows);
    return status;
}

fastpair_status fastpair_gpu_rows_open(fastpair_gpu_job *job, uint64_t column,
                                       fastpair_gpu_rows **result, fastpair_error *error) {
    REFUSE(!job || !result, FASTPAIR_ERROR_INVALID_ARGUMENT, "job and rows must not be NULL");
    *result = NULL;
    REFUSE(column >= job->column_count, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the job has only %llu columns", (unsigned long long)job->column_count);
    REFUSE(!(job->outputs & FASTPAIR_GPU_OFFSETS) ||
               (job->columns[column].nulls && !(job->outputs & FASTPAIR_GPU_VALIDITY)),
           FASTPAIR_ERROR_INVALID_ARGUMENT,
           "a search needs row lengths and nulls on the device: open the job with "
           "FASTPAIR_GPU_OFFSETS and FASTPAIR_GPU_VALIDITY");
    fastpair_gpu_rows *rows = fp_allocate_zero(&job->gpu->allocator, 1, sizeof *rows);
    if (!rows) return fp_fail_memory(error, sizeof *rows);
    rows->job = job;
    rows->column = column;
    fastpair_status status = lay_out(rows, error);
    if (status)
        fastpair_gpu_rows_close(rows);
    else
        *result = rows;
    return status;
}

fastpair_status fastpair_gpu_rows_get_info(const fastpair_gpu_rows *rows,
                                           fastpair_gpu_rows_info *info, fastpair_error *error) {
    REFUSE(!rows || !info, FASTPAIR_ERROR_INVALID_ARGUMENT, "rows and info must not be NULL");
    fastpair_gpu_rows_info filled = {.struct_size = sizeof filled,
                                     .rows = fp_rows_column(rows)->rows,
                                     .device_bytes = rows->device_bytes,
                                     .scratch_bytes = rows->scratch_bytes};
    return fp_info_copy("info", &filled, sizeof filled, info, error);
}
