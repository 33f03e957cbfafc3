/* job.c - opening a job. In: open columns. Out: every plan, size and place, computed on the host
 * from headers, dictionaries and sidecars. Dictionaries that several columns share are laid out
 * once. Refuses columns with a chunk header that breaks a rule, and counts that no launch can
 * hold. */
#include "layout.h"

#include "options.h"
#include "warm_cache.h"

#include <string.h>

#define NULL_ARGUMENT(condition, names)                                                            \
    if (condition)                                                                                 \
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,                   \
                   names " must not be NULL")

void fastpair_gpu_job_close(fastpair_gpu_job *job) {
    if (!job) return;
    const fastpair_allocator *allocator = &job->gpu->allocator;
    for (uint64_t i = 0; job->warmed && i < job->chunk_count; i++)
        fp_warm_close(&job->warmed[i], allocator);
    fp_release(allocator, job->warmed);
    fp_release(allocator, job->columns);
    fp_release(allocator, job->sources);
    fp_release(allocator, job->chunks);
    fp_release(allocator, job->dicts);
    fp_release(allocator, job->coded_chunks);
    fp_release(allocator, job->dictionaries);
    fp_release(allocator, job);
}

/* ---------------------------------------------------------------- dictionaries */

/* Distinct dictionaries by their checksums: a file may have a hundred thousand of them. */
typedef struct dict_index {
    /* The number of a dictionary plus one, in the first free place from its checksum on; 0:
     * free. */
    uint32_t *entries;
    /* A power of two, less one; at least twice as many places as dictionaries. */
    uint64_t mask;
} dict_index;

static int same_dict(const fp_column_dict *one, const fp_column_dict *other) {
    const fp_dict *a = &one->dict, *b = &other->dict;
    if (one->checksum != other->checksum) return 0;
    return a == b ||
           (a->code_bits == b->code_bits && a->code_slots == b->code_slots &&
            a->run_count == b->run_count && a->bytes_size == b->bytes_size &&
            a->class_shift == b->class_shift && a->hot_slots == b->hot_slots &&
            a->order == b->order && memcmp(a->runs, b->runs, a->run_count * sizeof *a->runs) == 0 &&
            memcmp(a->bytes, b->bytes, (size_t)a->bytes_size) == 0);
}

/* The number of a dictionary among the distinct ones; adds it if it is new. */
static uint32_t dict_number(fastpair_gpu_job *job, dict_index *index,
                            const fp_column_dict *wanted) {
    uint64_t at = wanted->checksum & index->mask;
    for (uint32_t entry; (entry = index->entries[at]); at = (at + 1) & index->mask)
        if (same_dict(job->dicts[entry - 1].source, wanted)) return entry - 1;
    job->dicts[job->dict_count] = (fp_job_dict){
        .source = wanted, .slots = wanted->dict.code_slots, .code_bits = wanted->dict.code_bits};
    index->entries[at] = (uint32_t)++job->dict_count;
    return index->entries[at] - 1;
}

/* ---------------------------------------------------------------- chunks */

/* Which bytes of a chunk's block are needed: sections lie one after the other. */
static fp_job_source source_of(const fp_chunk *chunk, const uint8_t *block, uint32_t outputs) {
    const fp_section *sections = chunk->sections;
    fp_job_source source = {.host = {chunk, block}};
    int first = -1, last = -1;
    for (int s = 0; s < FP_SECTIONS; s++) {
        if (!sections[s].size || (s == FP_SECTION_LENGTHS && !(outputs & FASTPAIR_GPU_OFFSETS)) ||
            (s == FP_SECTION_VALIDITY && !(outputs & FASTPAIR_GPU_VALIDITY)))
            continue;
        if (first >= 0 &&
            sections[s].offset - sections[last].offset - sections[last].size >= FP_SMALL_GAP) {
            source.validity_apart = 1; /* only row lengths can be left out before another section */
            continue;
        }
        if (first < 0) first = s;
        last = s;
    }
    if (first < 0) return source; /* a stored chunk of empty rows */
    source.first = sections[first].offset;
    source.bytes = sections[last].offset + sections[last].size - source.first;
    return source;
}

static fp_job_chunk describe(const fastpair_column *column, const fp_chunk_view *view,
                             uint64_t image) {
    const fp_chunk *chunk = view->chunk;
    uint64_t number = view->number;
    fp_job_chunk described = {
        .lengths_bytes = chunk->sections[FP_SECTION_LENGTHS].size,
        .first_row = column->starts.row[number],
        .first_byte = column->starts.byte[number],
        .rows = (uint32_t)chunk->rows,
        .codes = chunk->coded ? (uint32_t)chunk->codes : 0,
        .decoded_bytes = (uint32_t)chunk->decoded_bytes,
        .batch_codes = chunk->batch_codes,
        .group_batches = chunk->group_batches,
        .has_validity = chunk->has_validity != 0,
        .on_device = image != 0,
        .closes_column = number + 1 == column->totals.chunks,
    };
    for (int s = 0; s < FP_SECTIONS && image; s++)
        described.sections[s] = image + chunk->position + chunk->sections[s].offset;
    return described;
}

/* Where listing has got to: the next chunk of the job, and the dictionary of the chunk before. */
typedef struct collection {
    dict_index index;
    uint64_t next;
    const fp_column_dict *dict;
    uint32_t number; /* of `dict` in the job */
} collection;

/* Lists the chunks of one column, with their headers, and the distinct dictionaries. */
static fastpair_status collect_column(fastpair_gpu_job *job, const fastpair_column *column,
                                      uint64_t number, uint64_t image, collection *at,
                                      fastpair_error *error) {
    const fp_footer *totals = &column->totals;
    uint64_t nulls = 0, codes = 0;
    fp_job_column *described = &job->columns[number];
    *described = (fp_job_column){at->next,
                                 totals->chunks,
                                 totals->rows,
                                 totals->nulls,
                                 totals->decoded_bytes,
                                 1,
                                 !image && fp_column_is_valid(column),
                                 totals->is_text};
    for (uint64_t i = 0; i < totals->chunks; i++, at->next++) {
        fp_chunk_view view;
        fastpair_status status = fp_column_chunk(column, i, &view, error);
        if (status) return status;
        nulls += view.chunk->nulls;
        codes += view.chunk->codes;
        int is_cold = view.chunk->cold;
        if (is_cold || (column->source && !image))
            view = fp_warm_view(&job->warmed[at->next], &view);
        job->chunks[at->next] = describe(column, &view, is_cold ? 0 : image);
        job->chunks[at->next].column = (uint32_t)number;
        job->sources[at->next] = source_of(view.chunk, view.block, job->outputs);
        described->is_ascii &= view.dictionary
                                   ? fp_column_dict_text(view.dictionary) == FP_TOKENS_ASCII
                                   : !view.chunk->decoded_bytes;
        if (!view.dictionary) continue;
        /* Chunk after chunk has the same dictionary: what is known need not be looked up. */
        if (at->dict != view.dictionary)
            at->number = dict_number(job, &at->index, at->dict = view.dictionary);
        job->chunks[at->next].dict = at->number;
    }
    return fp_column_check_totals(column, nulls, codes, error);
}

/* Sorts the coded chunks by dictionary: counts, then places. */
static void list_chunks(fastpair_gpu_job *job) {
    uint64_t next = 0;
    for (uint64_t i = 0; i < job->chunk_count; i++)
        if (job->chunks[i].codes) job->dicts[job->chunks[i].dict].listed++;
    for (uint64_t d = 0; d < job->dict_count; d++) {
        job->dicts[d].first_listed = next;
        next += job->dicts[d].listed;
        job->dicts[d].listed = 0;
    }
    for (uint64_t i = 0; i < job->chunk_count; i++) {
        if (!job->chunks[i].codes) continue;
        fp_job_dict *dict = &job->dicts[job->chunks[i].dict];
        job->coded_chunks[dict->first_listed + dict->listed++] = (uint32_t)i;
    }
}

/* ---------------------------------------------------------------- the line */

/* Plans every dictionary. A kernel asked for by name must suit all of them. */
static fastpair_status plan_dicts(fastpair_gpu_job *job, const fp_plan_request *request,
                                  fastpair_error *error) {
    fp_shape_chunk *chunks = fp_allocate(&job->gpu->allocator, job->chunk_count, sizeof *chunks);
    if (!chunks) return fp_fail_memory(error, job->chunk_count * sizeof *chunks);
    for (uint64_t i = 0; i < job->chunk_count; i++) chunks[i] = job->sources[i].host;
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t d = 0; d < job->dict_count && !status; d++) {
        fp_job_dict *dict = &job->dicts[d];
        fp_shape shape =
            fp_shape_make(&dict->source->dict, chunks, job->coded_chunks + dict->first_listed,
                          dict->listed, !request->regenerate);
        dict->plan = fp_plan_make(&shape, &job->gpu->info, request);
        if (!dict->plan.warps)
            status = fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                             "kernel \"%s\" cannot decode these columns: tokens of %u bytes, "
                             "%u-bit codes, %u of them, %u hot",
                             fp_job_kernel(dict)->name, shape.max_length, shape.code_bits,
                             shape.slots, shape.hot_slots);
    }
    fp_release(&job->gpu->allocator, chunks);
    return status;
}

static fastpair_status write_dicts(fastpair_gpu_job *job, fastpair_error *error) {
    const fastpair_allocator *allocator = &job->gpu->allocator;
    job->dictionaries = fp_allocate(allocator, job->sizes.dictionaries, 1);
    if (!job->dictionaries) return fp_fail_memory(error, job->sizes.dictionaries);
    fastpair_status status = FASTPAIR_OK;
    for (uint64_t d = 0; d < job->dict_count && !status; d++)
        status = fp_device_dict_write(&job->dicts[d].source->dict, &job->dicts[d].plan,
                                      &job->dicts[d].at, job->dictionaries, allocator, error);
    return status;
}

static fastpair_status allocate(fastpair_gpu_job *job, uint64_t dicts, fastpair_error *error) {
    const fastpair_allocator *allocator = &job->gpu->allocator;
    job->columns = fp_allocate(allocator, job->column_count, sizeof *job->columns);
    job->sources = fp_allocate(allocator, job->chunk_count, sizeof *job->sources);
    job->chunks = fp_allocate(allocator, job->chunk_count, sizeof *job->chunks);
    job->dicts = fp_allocate(allocator, dicts, sizeof *job->dicts);
    job->coded_chunks = fp_allocate(allocator, job->chunk_count, sizeof *job->coded_chunks);
    if (!job->columns || !job->sources || !job->chunks || !job->dicts || !job->coded_chunks)
        return fp_fail_memory(error, job->chunk_count * sizeof *job->chunks);
    return FASTPAIR_OK;
}

/* warm → collect → plan → layout → dictionaries */
static fastpair_status prepare(fastpair_gpu_job *job, const fastpair_column *const *columns,
                               const fastpair_gpu_job_options *options, fastpair_error *error) {
    uint64_t dicts = 0;
    for (uint64_t c = 0; c < job->column_count; c++) {
        job->chunk_count += columns[c]->totals.chunks;
        dicts += columns[c]->totals.dictionaries;
    }
    if (job->chunk_count > UINT32_MAX || job->column_count > UINT32_MAX)
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "too many chunks for one job; decode fewer columns at a time");
    fp_plan_request request = {FP_KERNELS, options->regenerate_positions != 0};
    if (options->kernel && (request.kernel = fp_kernel_find(options->kernel)) == FP_KERNELS)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "there is no kernel \"%s\"; fastpair_gpu_kernel_name lists them",
                       options->kernel);
    fastpair_status status = allocate(job, dicts, error);
    if (status) return status;
    if ((status = fp_job_warm(job, columns, options->device_images, error))) return status;
    collection at = {.index = {.mask = 1}};
    dict_index *index = &at.index;
    while (index->mask < 2 * dicts) index->mask = 2 * index->mask + 1;
    index->entries =
        fp_allocate_zero(&job->gpu->allocator, index->mask + 1, sizeof *index->entries);
    if (!index->entries) return fp_fail_memory(error, (index->mask + 1) * sizeof *index->entries);
    for (uint64_t c = 0; c < job->column_count && !status; c++)
        status = collect_column(job, columns[c], c,
                                options->device_images ? options->device_images[c] : 0, &at, error);
    fp_release(&job->gpu->allocator, index->entries);
    if (status) return status;
    list_chunks(job);
    if ((status = plan_dicts(job, &request, error))) return status;
    fp_layout_place(job, request.regenerate);
    return write_dicts(job, error);
}

fastpair_status fastpair_gpu_job_open(fastpair_gpu *gpu, const fastpair_column *const *columns,
                                      uint64_t count, const fastpair_gpu_job_options *options,
                                      fastpair_gpu_job **result, fastpair_error *error) {
    NULL_ARGUMENT(!gpu || !result || (count && !columns), "gpu, columns and job");
    *result = NULL;
    for (uint64_t c = 0; c < count; c++) NULL_ARGUMENT(!columns[c], "columns");
    fastpair_gpu_job_options given;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (status) return status;
    if (given.outputs & ~(FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY))
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "outputs has bits that this library does not know: %#x", given.outputs);
    for (uint64_t c = 0; c < count && given.device_images; c++)
        if (given.device_images[c] % 64)
            return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                           "device image %llu is not at a multiple of 64", (unsigned long long)c);
    fastpair_gpu_job *job = fp_allocate_zero(&gpu->allocator, 1, sizeof *job);
    if (!job) return fp_fail_memory(error, sizeof *job);
    job->gpu = gpu;
    job->column_count = count;
    job->outputs = given.outputs;
    status = prepare(job, columns, &given, error);
    if (status)
        fastpair_gpu_job_close(job);
    else
        *result = job;
    return status;
}
