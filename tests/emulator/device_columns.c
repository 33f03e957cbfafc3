/* device_columns.c - compressed columns for kernels. In: rows, or an image. Out: where its sections
 * are, its dictionaries expanded, and what the CPU decodes. Written apart from the library's own
 * layout. */
#include "device_columns.h"

#include "calls.h"
#include "column.h"
#include "gpu/kernels/params.h"

#include <stdio.h>
#include <stdlib.h>

static void *must(void *memory) {
    if (!memory) abort();
    return memory;
}

static void check_status(fastpair_status status, const fastpair_error *error) {
    if (status == FASTPAIR_OK) return;
    fprintf(stderr, "device_columns: the library failed: %s\n", error->message);
    abort();
}

static void expand_dict(device_column *d, uint32_t number) {
    const fp_dict *dict = &d->column->dictionaries[number].dict;
    uint64_t patterns = 1ull << dict->code_bits;
    device_dict *made = &d->dicts[number];
    *made = (device_dict){
        .code_bits = dict->code_bits,
        .slots = dict->code_slots,
        .hot = dict->hot_slots,
        .longest = dict->max_token,
        .in_classes = dict->order == 1 && dict->class_shift >= FP_GPU_CLASS_SHIFT(dict->code_bits),
        .ascends = dict->order == 1 && !dict->hot_slots,
        .in_long_classes = dict->order == 1 && !dict->hot_slots &&
                           dict->class_shift >= FP_GPU_LONG_SHIFT(dict->code_bits, 32),
        .cells = must(malloc(64 * patterns)),
        .lengths = must(malloc(patterns))};
    fp_dict_expand(dict, made->cells[0], 64, made->lengths);
    for (uint32_t i = 0; i < made->slots; i++)
        if (made->lengths[i] > made->longest_is) made->longest_is = made->lengths[i];
    if (dict->max_token > d->longest) d->longest = dict->max_token;
}

static device_section section_of(const device_column *d, const fp_chunk *chunk, int which) {
    if (!chunk->sections[which].size) return (device_section){NULL, 0};
    return (device_section){d->image + chunk->position + chunk->sections[which].offset,
                            chunk->sections[which].size};
}

static void describe_chunk(device_column *d, uint32_t number) {
    fp_chunk_view view;
    if (fp_column_chunk(d->column, number, &view, NULL)) abort();
    const fp_chunk *chunk = view.chunk;
    d->chunks[number] =
        (device_column_chunk){.codes = section_of(d, chunk, FP_SECTION_CODES),
                              .sidecar = section_of(d, chunk, FP_SECTION_SIDECAR),
                              .lengths = section_of(d, chunk, FP_SECTION_LENGTHS),
                              .validity = section_of(d, chunk, FP_SECTION_VALIDITY),
                              .first_row = d->column->starts.row[number],
                              .first_byte = d->column->starts.byte[number],
                              .rows = (uint32_t)chunk->rows,
                              .code_count = chunk->coded ? (uint32_t)chunk->codes : 0,
                              .decoded_bytes = (uint32_t)chunk->decoded_bytes,
                              .dict = chunk->coded ? chunk->dictionary : 0,
                              .batch_codes = chunk->batch_codes,
                              .group_batches = chunk->group_batches};
    d->coded_chunks += chunk->coded != 0;
}

/* Everything about the opened column. */
static void lay_out(device_column *d) {
    d->rows = d->column->totals.rows;
    d->bytes = d->column->totals.decoded_bytes;
    d->dict_count = (uint32_t)d->column->totals.dictionaries;
    d->chunk_count = (uint32_t)d->column->totals.chunks;
    d->dicts = must(calloc(d->dict_count + 1, sizeof *d->dicts));
    d->chunks = must(calloc(d->chunk_count + 1, sizeof *d->chunks));
    for (uint32_t i = 0; i < d->dict_count; i++) expand_dict(d, i);
    for (uint32_t i = 0; i < d->chunk_count; i++) describe_chunk(d, i);
}

static void decode_on_cpu(device_column *d, fastpair_error *error) {
    d->expected = must(malloc(d->bytes + 1));
    d->expected_offsets = must(malloc((d->rows + 1) * sizeof *d->expected_offsets));
    d->expected_validity = must(calloc((d->rows + 31) / 32 + 1, 4));
    fastpair_destination to =
        to_memory(d->expected, d->bytes, d->expected_offsets, 64, d->expected_validity);
    d->decoded = fastpair_column_decode(d->column, 0, d->rows, &to, error);
}

fastpair_status device_column_open(device_column *d, const uint8_t *image, uint64_t image_bytes,
                                   uint64_t most, fastpair_error *error) {
    *d = (device_column){0};
    /* Sections are aligned in the file; the copy makes them so in memory. */
    d->image = must(aligned_alloc(64, fp_align(image_bytes + 1, 64)));
    memcpy(d->image, image, image_bytes);
    fastpair_status status = fastpair_column_open(d->image, image_bytes, NULL, &d->column, error);
    if (!status && (d->column->totals.decoded_bytes > most || d->column->totals.rows > most))
        status = FASTPAIR_ERROR_LIMIT;
    fp_chunk_view view; /* headers must be good, as for a job */
    for (uint64_t i = 0; !status && i < d->column->totals.chunks; i++) {
        status = fp_column_chunk(d->column, i, &view, error);
        /* Kernels read warm chunks. It is the job that makes them so. */
        if (!status && view.chunk->cold) status = FASTPAIR_ERROR_UNSUPPORTED;
    }
    if (status) {
        device_column_close(d);
        return status;
    }
    lay_out(d);
    decode_on_cpu(d, error);
    return FASTPAIR_OK;
}

void device_column_make(device_column *d, const fastpair_rows *rows,
                        const fastpair_compress_options *options) {
    fastpair_error error;
    uint8_t *image;
    uint64_t image_bytes;
    check_status(fastpair_compress(rows, options, &image, &image_bytes, &error), &error);
    check_status(device_column_open(d, image, image_bytes, UINT64_MAX, &error), &error);
    check_status(d->decoded, &error);
    fastpair_free(&options->allocator, image);
}

void device_column_close(device_column *d) {
    for (uint32_t i = 0; i < d->dict_count; i++) {
        free(d->dicts[i].cells);
        free(d->dicts[i].lengths);
    }
    fastpair_column_close(d->column);
    free(d->image);
    free(d->expected);
    free(d->expected_offsets);
    free(d->expected_validity);
    free(d->chunks);
    free(d->dicts);
    *d = (device_column){0};
}
