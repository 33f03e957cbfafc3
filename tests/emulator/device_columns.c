/* device_columns.c - tables for kernels from a compressed column. In: rows. Out: what upload would put on a
 * device, but pointing into host memory, and what the CPU decodes. Written apart from the library's own
 * upload, from params.h and docs/format.md. */
#include "device_columns.h"

#include "column.h"
#include "sidecar.h"

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

static void add_piece(device_column *d, const void *at, uint64_t bytes, const char *name) {
    if (bytes) d->pieces[d->piece_count++] = (device_piece){at, bytes, name};
}

static uint64_t address(const void *at) { return (uint64_t)(uintptr_t)at; }

/* Planes in one block, each 16-byte aligned, each known with its exact size. */
static void make_dict(device_column *d, uint32_t number) {
    const fp_dict *dict = &d->column->dictionaries[number].dict;
    uint64_t slots = dict->code_slots, low = 0, high = fp_align(8 * slots, 16),
             rows = high + fp_align(8 * slots, 16);
    uint64_t nibbles = rows + 16 * slots, patterns = 1ull << dict->code_bits;
    uint8_t(*tokens)[16] = must(malloc(16 * patterns)), *lengths = must(malloc(patterns));
    uint8_t *planes = must(aligned_alloc(16, fp_align(nibbles + (slots + 1) / 2, 16)));
    fp_dict_expand(dict, tokens, lengths);
    memset(planes, 0, fp_align(nibbles + (slots + 1) / 2, 16));
    for (uint64_t i = 0; i < slots; i++) {
        memcpy(planes + low + 8 * i, tokens[i], 8);
        memcpy(planes + high + 8 * i, tokens[i] + 8, 8);
        memcpy(planes + rows + 16 * i, tokens[i], 16);
        planes[nibbles + i / 2] |= (uint8_t)((lengths[i] - 1) << i % 2 * 4);
    }
    free(tokens);
    free(lengths);
    d->planes[number] = planes;
    d->dicts[number] = (fp_gpu_dict){.low8 = address(planes + low),
                                     .high8 = address(planes + high),
                                     .rows16 = address(planes + rows),
                                     .nibbles = address(planes + nibbles),
                                     .slots = dict->code_slots,
                                     .code_bits = dict->code_bits,
                                     .max_length = dict->max_token};
    add_piece(d, planes + low, 8 * slots, "low plane");
    add_piece(d, planes + high, 8 * slots, "high plane");
    add_piece(d, planes + rows, 16 * slots, "rows");
    add_piece(d, planes + nibbles, (slots + 1) / 2, "nibbles");
    if (dict->max_token > d->longest) d->longest = dict->max_token;
}

static void make_chunk(device_column *d, uint32_t number) {
    const fp_chunk *chunk = &d->column->chunks[number];
    const uint8_t *block = d->image + chunk->position;
    const uint8_t *codes = fp_chunk_section(chunk, block, FP_SECTION_CODES);
    const uint8_t *sidecar = fp_chunk_section(chunk, block, FP_SECTION_SIDECAR);
    const uint8_t *lengths = fp_chunk_section(chunk, block, FP_SECTION_LENGTHS);
    d->chunks[number] = (fp_gpu_chunk){.codes = address(codes),
                                       .sidecar = address(sidecar),
                                       .lengths = address(lengths),
                                       .lengths_bytes = chunk->sections[FP_SECTION_LENGTHS].size,
                                       .out_offset = d->column->first_byte[number],
                                       .code_count = chunk->codes,
                                       .row_count = chunk->rows,
                                       .first_row_slot = d->column->first_row[number],
                                       .column_offset = d->column->first_byte[number],
                                       .decoded_bytes = (uint32_t)chunk->decoded_bytes,
                                       .batch_codes = chunk->batch_codes,
                                       .group_batches = chunk->group_batches,
                                       .dict = chunk->coded ? chunk->dictionary : 0,
                                       .packed_words = chunk->sections[FP_SECTION_CODES].size / 4,
                                       .last_in_column = number + 1 == d->chunk_count};
    if (chunk->coded) {
        d->chunks[number].file_batches =
            (uint32_t)fp_sidecar_batches(chunk->codes, chunk->batch_codes);
        d->coded_chunks++;
        add_piece(d, codes, chunk->sections[FP_SECTION_CODES].size, "codes");
        add_piece(d, sidecar, chunk->sections[FP_SECTION_SIDECAR].size, "sidecar");
    }
    add_piece(d, lengths, chunk->sections[FP_SECTION_LENGTHS].size, "row lengths");
}

/* Tables for the opened column. */
static void lay_out(device_column *d) {
    d->rows = d->column->totals.rows;
    d->expected_bytes = d->column->totals.decoded_bytes;
    d->expected = must(malloc(d->expected_bytes + 1));
    d->expected_offsets = must(malloc((d->rows + 1) * sizeof *d->expected_offsets));
    d->dict_count = (uint32_t)d->column->totals.dictionaries;
    d->chunk_count = (uint32_t)d->column->totals.chunks;
    d->dicts = must(calloc(d->dict_count + 1, sizeof *d->dicts));
    d->planes = must(calloc(d->dict_count + 1, sizeof *d->planes));
    d->chunks = must(aligned_alloc(16, (d->chunk_count + 1) * sizeof *d->chunks));
    d->pieces = must(calloc(4 * d->dict_count + 3 * d->chunk_count + 3, sizeof *d->pieces));
    for (uint32_t i = 0; i < d->dict_count; i++) make_dict(d, i);
    for (uint32_t i = 0; i < d->chunk_count; i++) make_chunk(d, i);
    add_piece(d, d->dicts, d->dict_count * sizeof *d->dicts, "dictionary table");
    add_piece(d, d->chunks, d->chunk_count * sizeof *d->chunks, "chunk table");
}

fastpair_status device_column_open(device_column *d, const uint8_t *image, uint64_t image_bytes,
                                   uint64_t most, fastpair_error *error) {
    *d = (device_column){.image_bytes = image_bytes};
    /* Sections are aligned in the file; the copy makes them so in memory. */
    d->image = must(aligned_alloc(64, fp_align(image_bytes + 1, 64)));
    memcpy(d->image, image, image_bytes);
    fastpair_status status = fastpair_column_open(d->image, image_bytes, NULL, &d->column, error);
    if (!status && (d->column->totals.decoded_bytes > most || d->column->totals.rows > most))
        status = FASTPAIR_ERROR_LIMIT;
    if (status) {
        device_column_free(d);
        return status;
    }
    lay_out(d);
    fastpair_destination to = {.bytes = d->expected,
                               .bytes_capacity = d->expected_bytes,
                               .offsets = d->expected_offsets,
                               .offset_bits = 64};
    d->decoded = fastpair_column_decode(d->column, 0, d->rows, &to, 1, error);
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

void device_column_free(device_column *d) {
    for (uint32_t i = 0; i < d->dict_count; i++) free(d->planes[i]);
    fastpair_column_close(d->column);
    free(d->image);
    free(d->expected);
    free(d->expected_offsets);
    free(d->chunks);
    free(d->dicts);
    free(d->planes);
    free(d->pieces);
    *d = (device_column){0};
}
