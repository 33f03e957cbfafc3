/* validate.c - reading and checking everything. In: an open column, or one chunk. Out: OK, or what
 * is wrong and where.
 *
 * Opening has checked footer and dictionaries; those of a column with a source are checked first. Here every chunk's header is checked, and every
 * section is compared with its checksum and walked as docs/format.md describes it: each code, each
 * sidecar entry, each row.
 * Every byte of a chunk is looked at, gaps included, so that no changed bit goes unnoticed. Refuses
 * also what a decoder would never notice: codes without a token, tokens that cross a row's end,
 * null rows with bytes. */
#include "access.h"
#include "cold.h"
#include "column_source.h"

#include "lengths.h"
#include "pack.h"
#include "sidecar.h"
#include "threads.h"

#include <inttypes.h>
#include <stdatomic.h>

/* ---------------------------------------------------------------- rows */

static fastpair_status check_validity(const fp_chunk_view *view, fastpair_error *error) {
    const fp_chunk *chunk = view->chunk;
    if (!chunk->has_validity) return FASTPAIR_OK;
    const uint8_t *bitmap = fp_chunk_section(chunk, view->block, FP_SECTION_VALIDITY);
    if (chunk->rows % 8 && bitmap[chunk->rows / 8] >> chunk->rows % 8)
        return fp_chunk_fault(view, FP_SECTION_VALIDITY, chunk->rows / 8,
                              "spare validity bits are not zero", error);
    if (fp_chunk_validity(view, 0, chunk->rows, NULL, 0) != chunk->nulls)
        return fp_chunk_fault(view, FP_SECTION_VALIDITY, 0,
                              "the header gives another number of null rows", error);
    uint64_t starts[FP_LENGTH_BLOCK + 1];
    uint32_t rows;
    for (uint64_t first = 0; first < chunk->rows; first += FP_LENGTH_BLOCK) {
        fastpair_status status =
            fp_chunk_row_starts(view, first / FP_LENGTH_BLOCK, starts, &rows, error);
        if (status) return status;
        for (uint32_t i = 0; i < rows; i++)
            if (starts[i + 1] != starts[i] && fp_chunk_row_is_null(view, first + i))
                return fp_chunk_fault(view, FP_SECTION_LENGTHS,
                                      first / FP_LENGTH_BLOCK * FP_LENGTH_ENTRY,
                                      "a null row has bytes", error);
    }
    return FASTPAIR_OK;
}

/* A walk over the row ends of a chunk, which fp_lengths_check has found to be in order. */
typedef struct row_ends {
    const fp_chunk_view *view;
    uint64_t block;      /* the next to be read */
    uint32_t next, rows; /* starts[next .. rows] are the ends still to come */
    uint64_t starts[FP_LENGTH_BLOCK + 1];
} row_ends;

/* Walks over the ends up to `to` and returns how many of them are no token's end. token_ends[i]
 * says whether a token ends at chunk byte from + i. */
static uint64_t count_cut_rows(row_ends *ends, uint64_t from, uint64_t to,
                               const uint8_t *token_ends) {
    uint64_t cut = 0;
    for (;;) {
        for (; ends->next <= ends->rows && ends->starts[ends->next] <= to; ends->next++)
            cut += !token_ends[ends->starts[ends->next] - from];
        if (ends->next <= ends->rows || ends->block * FP_LENGTH_BLOCK >= ends->view->chunk->rows ||
            fp_chunk_row_starts(ends->view, ends->block++, ends->starts, &ends->rows, NULL))
            return cut;
        ends->next = 1;
    }
}

/* ---------------------------------------------------------------- codes */

static fastpair_status check_code_padding(const fp_chunk_view *view, uint32_t bits,
                                          fastpair_error *error) {
    const fp_section *section = &view->chunk->sections[FP_SECTION_CODES];
    const uint8_t *packed = view->block + section->offset;
    uint64_t used = view->chunk->codes * bits, whole = (used + 7) / 8; /* below 2^36 bits */
    if ((used % 8 && packed[used / 8] >> used % 8) ||
        !fp_all_zero(packed + whole, section->size - whole))
        return fp_chunk_fault(view, FP_SECTION_CODES, used / 8,
                              "the padding after the codes is not zero", error);
    return FASTPAIR_OK;
}

static fastpair_status check_codes(const fp_chunk_view *view, fastpair_error *error) {
    const fp_chunk *chunk = view->chunk;
    /* A coded chunk has a dictionary. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    const uint32_t bits = view->dictionary->dict.code_bits;
    const uint8_t *length_of_code;
    fastpair_status status = fp_column_dict_lengths(view->dictionary, &length_of_code, error);
    if (status) return status;
    const uint8_t *packed = fp_chunk_section(chunk, view->block, FP_SECTION_CODES);
    const uint8_t *sidecar = fp_chunk_section(chunk, view->block, FP_SECTION_SIDECAR);
    uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes), position = 0,
             largest = 0, pair = 0, four = 0, largest_pair = 0, largest_four = 0;
    /* Four counters per length, so that neighbours of equal length do not wait for each other. */
    uint64_t by_length[4][FP_MAX_TOKEN + 1] = {{0}};
    row_ends ends = {.view = view, .next = 1};
    /* 1 at the bytes of the batch where a token ends; one ended where the batch begins. */
    uint8_t token_ends[FP_LARGEST_BATCH + 1] = {1};
    for (uint64_t batch = 0; batch < batches; batch++) {
        uint16_t codes[FP_MAX_BATCH];
        uint64_t first = batch * chunk->batch_codes, left = chunk->codes - first;
        uint32_t count = left < chunk->batch_codes ? (uint32_t)left : chunk->batch_codes, bytes = 0;
        if (fp_sidecar_position(sidecar, batches, chunk->group_batches, batch) != position)
            return fp_chunk_fault(view, FP_SECTION_SIDECAR, 0,
                                  "a sidecar position is not where its batch begins", error);
        fp_unpack(packed, chunk->sections[FP_SECTION_CODES].size, bits, first, count, codes);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t length = length_of_code[codes[i]];
            by_length[i % 4][length]++;
            if ((bytes += length) > FP_LARGEST_BATCH)
                return fp_chunk_fault(view, FP_SECTION_CODES, first * bits / 8,
                                      "a batch decodes to more than 16384 bytes", error);
            token_ends[bytes] = 1;
        }
        if (by_length[0][0] | by_length[1][0] | by_length[2][0] | by_length[3][0])
            return fp_chunk_fault(view, FP_SECTION_CODES, first * bits / 8,
                                  "a code has no token in the dictionary", error);
        if (count_cut_rows(&ends, position, position + bytes, token_ends))
            return fp_chunk_fault(view, FP_SECTION_CODES, first * bits / 8,
                                  "a token crosses the end of a row", error);
        memset(token_ends + 1, 0, bytes);
        position += bytes;
        pair = batch % 2 ? pair + bytes : bytes;
        four = batch % 4 ? four + bytes : bytes;
        if (bytes > largest) largest = bytes;
        if (pair > largest_pair) largest_pair = pair;
        if (four > largest_four) largest_four = four;
    }
    uint64_t by_band[FP_LENGTH_BANDS];
    for (uint32_t i = 1; i <= FP_MAX_TOKEN; i++)
        by_length[0][i] += by_length[1][i] + by_length[2][i] + by_length[3][i];
    fp_count_bands(by_length[0], by_band);
    if (memcmp(by_band, chunk->by_length, sizeof by_band) != 0)
        return fp_chunk_fault(view, FP_SECTION_CODES, 0, "the header counts other token lengths",
                              error);
    if (position != chunk->decoded_bytes)
        return fp_chunk_fault(view, FP_SECTION_CODES, 0,
                              "the codes do not decode to the size the header gives", error);
    if (largest != chunk->largest_batch || largest_pair != chunk->largest_pair ||
        largest_four != chunk->largest_four)
        return fp_chunk_fault(view, FP_SECTION_CODES, 0, "the header gives other largest batches",
                              error);
    return check_code_padding(view, bits, error);
}

/* ---------------------------------------------------------------- chunks and the column */

static fastpair_status check_gaps(const fp_chunk_view *view, fastpair_error *error) {
    const fp_chunk *chunk = view->chunk;
    uint64_t end = FP_CHUNK_HEADER;
    for (int i = 0; i <= FP_SECTIONS; i++) {
        if (i < FP_SECTIONS && !chunk->sections[i].size) continue;
        uint64_t next = i < FP_SECTIONS ? chunk->sections[i].offset : chunk->block_bytes;
        if (!fp_all_zero(view->block + end, next - end))
            return fp_fail(error, FASTPAIR_ERROR_CORRUPT, chunk->position + end,
                           "chunk %" PRIu64 ": the bytes between two sections (offset %" PRIu64
                           ") are not all zero",
                           view->number, chunk->position + end);
        if (i < FP_SECTIONS) end = next + chunk->sections[i].size;
    }
    return FASTPAIR_OK;
}

fastpair_status fp_chunk_validate_block(const fp_chunk_view *view, fastpair_error *error) {
    fastpair_status status = fp_chunk_verify_checksums(view, error);
    return status ? status : check_gaps(view, error);
}

fastpair_status fp_chunk_validate_rows(const fp_chunk_view *view, fastpair_error *error) {
    const fp_section *lengths = &view->chunk->sections[FP_SECTION_LENGTHS];
    uint64_t where;
    const char *fault = fp_lengths_check(view->block + lengths->offset, lengths->size,
                                         view->chunk->rows, view->chunk->decoded_bytes, &where);
    if (fault) return fp_chunk_fault(view, FP_SECTION_LENGTHS, where, fault, error);
    fastpair_status status = check_validity(view, error);
    return !status && view->chunk->coded ? check_codes(view, error) : status;
}

typedef struct chunk_range {
    const fastpair_column *column;
    uint64_t first, end;
    _Atomic uint64_t nulls, codes;
} chunk_range;

static fastpair_status check_chunk(void *context, uint64_t number, fastpair_error *error) {
    chunk_range *range = context;
    fp_chunk room;
    fp_chunk_view view;
    fp_hold hold;
    fp_warm warm = {0};
    fp_wanted_chunk wanted = {range->first + number, range->end, &room};
    fastpair_status status = fp_column_hold_raw(range->column, &wanted, &view, &hold, error);
    if (!status) status = fp_chunk_validate_block(&view, error);
    if (!status && view.chunk->cold) {
        status = fp_warm_open(&view, &range->column->settings.allocator, &warm, error);
        view = fp_warm_view(&warm, &view);
    }
    if (!status) status = fp_chunk_validate_rows(&view, error);
    if (!status) status = fp_column_check_rows(range->column, &view, error);
    if (!status) {
        atomic_fetch_add_explicit(&range->nulls, view.chunk->nulls, memory_order_relaxed);
        atomic_fetch_add_explicit(&range->codes, view.chunk->codes, memory_order_relaxed);
    }
    fp_warm_close(&warm, &range->column->settings.allocator);
    fp_column_drop(range->column, &hold);
    return status;
}

static fastpair_status check_chunks(chunk_range *range, fastpair_error *error) {
    const fastpair_column *column = range->column;
    uint64_t first = range->first, end = range->end;
    uint64_t work = fp_column_work(column->starts.byte[end] - column->starts.byte[first],
                                   column->starts.row[end] - column->starts.row[first]);
    return fp_run_tasks(fp_threads_for(column->settings.threads, work), end - first, check_chunk,
                        range, error);
}

fastpair_status fastpair_column_validate(const fastpair_column *column, fastpair_error *error) {
    if (!column)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_validate: column must not be NULL");
    chunk_range all = {.column = column, .end = column->totals.chunks};
    fastpair_status status = column->source ? fp_source_load_all(column, error) : FASTPAIR_OK;
    if (!status) status = check_chunks(&all, error);
    if (!status) status = fp_column_check_totals(column, all.nulls, all.codes, error);
    if (!status) status = fp_column_check_parts(column, error);
    if (!status) __atomic_store_n(&column->parts->is_valid, 1, __ATOMIC_RELEASE);
    return status;
}

fastpair_status fastpair_column_validate_rows(const fastpair_column *column, uint64_t first,
                                              uint64_t count, fastpair_error *error) {
    if (!column)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_validate_rows: column must not be NULL");
    fastpair_status status = fp_column_check_range(column, first, count, error);
    if (status || !count) return status;
    chunk_range range = {.column = column,
                         .first = fp_column_find_chunk(column, first),
                         .end = fp_column_find_chunk(column, first + count - 1) + 1};
    return check_chunks(&range, error);
}
