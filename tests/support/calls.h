/* calls.h - public calls for tests, with what they change from call to call spelled out: the number
 * of threads of an open column, expert options, views of rows. */
#ifndef CALLS_H
#define CALLS_H

#include "column.h"
#include "rows.h"

#include <stdlib.h>

/* A view of rows with 64-bit offsets. */
static inline fastpair_rows view_rows(uint64_t rows, const uint8_t *bytes,
                                      const uint64_t *offsets) {
    fastpair_rows view = {0};
    view.struct_size = sizeof view;
    view.rows = rows;
    view.bytes = bytes;
    view.offsets = offsets;
    return view;
}

/* Where decoded rows go; offset_bits 0: no offsets. */
static inline fastpair_destination to_memory(void *bytes, uint64_t capacity, void *offsets,
                                             uint32_t offset_bits, void *validity) {
    fastpair_destination to = {0};
    to.struct_size = sizeof to;
    to.bytes = (uint8_t *)bytes;
    to.bytes_capacity = capacity;
    to.offsets = offsets;
    to.offset_bits = offset_bits;
    to.validity = (uint8_t *)validity;
    return to;
}

/* Expert options for fastpair_compress_options.expert, which live as long as the block they are
 * written in. */
#define EXPERT(...)                                                                                \
    (&(fastpair_expert_options){.struct_size = sizeof(fastpair_expert_options), __VA_ARGS__})

/* Exports a dictionary to memory of malloc's. */
static inline fastpair_status export_dictionary(const fastpair_dictionary *dictionary,
                                                uint8_t **data, uint64_t *size,
                                                fastpair_error *error) {
    uint64_t capacity = fastpair_dictionary_export_size(dictionary);
    *data = (uint8_t *)malloc(capacity);
    if (!*data) abort();
    return fastpair_dictionary_export_into(dictionary, *data, capacity, size, error);
}

/* Columns are opened with a number of threads; tests that are alone with a column change it
 * afterwards. */
static inline void set_threads(const fastpair_column *column, uint32_t threads) {
    if (column) ((fastpair_column *)(uintptr_t)column)->settings.threads = threads ? threads : 1;
}

static inline fastpair_status decode_with(uint32_t threads, const fastpair_column *column,
                                          uint64_t first, uint64_t count, fastpair_destination *to,
                                          fastpair_error *error) {
    set_threads(column, threads);
    return fastpair_column_decode(column, first, count, to, error);
}

static inline fastpair_status decode_listed_with(uint32_t threads, const fastpair_column *column,
                                                 const uint64_t *rows, uint64_t count,
                                                 fastpair_destination *to, fastpair_error *error) {
    set_threads(column, threads);
    return fastpair_column_decode_listed(column, rows, count, to, error);
}

static inline fastpair_status validate_with(uint32_t threads, const fastpair_column *column,
                                            fastpair_error *error) {
    set_threads(column, threads);
    return fastpair_column_validate(column, error);
}

static inline fastpair_status reader_open_with(uint32_t threads, const fastpair_source *source,
                                               const fastpair_open_options *options,
                                               fastpair_reader **reader, fastpair_error *error) {
    fastpair_open_options with = {0};
    if (options) with = *options;
    with.struct_size = sizeof with;
    with.threads = threads;
    return fastpair_reader_open(source, &with, reader, error);
}

/* A chunk's header, which must be good. */
static inline const fp_chunk *chunk_of(const fastpair_column *column, uint64_t number) {
    fp_chunk_view view;
    if (fp_column_chunk(column, number, &view, NULL)) abort();
    return view.chunk;
}

#endif
