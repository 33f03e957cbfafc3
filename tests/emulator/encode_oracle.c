/* encode_oracle.c - rows through the library's cut, as writer.c takes them through it, and each chunk
 * through the functions that write its sections and facts. */
#include "encode_oracle.h"

#include "bounds.h"
#include "cut.h"
#include "lengths.h"
#include "rows.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

static void must(fastpair_status status) {
    if (status) abort();
}

static void *room(uint64_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) abort();
    return memory;
}

static void look_at(const fp_chunk_rows *rows, encode_oracle_chunk *chunk) {
    chunk->lengths_bytes = fp_lengths_size(rows->offsets, rows->rows);
    chunk->lengths = room(chunk->lengths_bytes);
    fp_lengths_write(rows->offsets, rows->rows, chunk->lengths);
    chunk->validity_bytes = rows->nulls ? (rows->rows + 7) / 8 : 0;
    chunk->validity = room(chunk->validity_bytes);
    memset(chunk->validity, 0, chunk->validity_bytes);
    fp_bounds bounds = {0};
    for (uint64_t row = 0; row < rows->rows; row++) {
        if (rows->null_rows[row]) continue;
        if (rows->nulls) chunk->validity[row / 8] |= (uint8_t)(1u << row % 8);
        fp_bounds_add(&bounds, rows->bytes + rows->offsets[row],
                      rows->offsets[row + 1] - rows->offsets[row]);
    }
    chunk->has_row = (uint64_t)bounds.has_row;
    memcpy(chunk->smallest, &bounds.smallest, sizeof chunk->smallest);
    memcpy(chunk->largest, &bounds.largest, sizeof chunk->largest);
    fastpair_rows view = {.rows = rows->rows, .bytes = rows->bytes, .offsets = rows->offsets};
    uint64_t byte;
    chunk->is_text = fp_rows_not_text(&view, &byte) == rows->rows;
}

static void add_list(encode_oracle *oracle, const fp_cut_list *list, uint64_t row, uint64_t byte,
                     int is_whole) {
    for (uint32_t i = 0; i < list->count; i++) {
        const fp_chunk_rows *rows = &list->chunks[i];
        if (oracle->count == oracle->capacity) {
            oracle->capacity = 2 * oracle->capacity + 64;
            oracle->chunks = realloc(oracle->chunks, oracle->capacity * sizeof *oracle->chunks);
            if (!oracle->chunks) abort();
        }
        encode_oracle_chunk *chunk = &oracle->chunks[oracle->count++];
        *chunk = (encode_oracle_chunk){.first_row = row,
                                       .first_byte = byte,
                                       .rows = rows->rows,
                                       .nulls = rows->nulls,
                                       .bytes = fp_chunk_rows_bytes(rows),
                                       .in_first = list->is_first,
                                       .ends_unit = rows->ends_unit};
        if (is_whole) look_at(rows, chunk);
        row += chunk->rows;
        byte += chunk->bytes;
    }
}

/* Bytes of the chunks so far. */
static uint64_t cut_bytes(const encode_oracle *oracle) {
    if (!oracle->count) return 0;
    const encode_oracle_chunk *last = &oracle->chunks[oracle->count - 1];
    return last->first_byte + last->bytes;
}

static int compress_ready(fp_cut *cut, int last, encode_oracle *oracle, int is_whole) {
    fp_cut_list list;
    must(fp_cut_next(cut, last, &list, NULL));
    if (!list.count) return 0;
    add_list(oracle, &list, oracle->rows, cut_bytes(oracle), is_whole);
    oracle->rows += list.rows;
    fp_cut_drop(cut, list.rows);
    return 1;
}

static encode_oracle take_all(const fastpair_rows *rows, const encode_oracle_rules *rules,
                              int is_whole) {
    encode_oracle oracle = {0};
    fp_settings settings = {.chunk_bytes = rules->chunk_bytes, .threads = 1, .alignment = 64};
    must(fp_allocator_resolve(NULL, &settings.allocator, NULL));
    fp_cut cut;
    fp_cut_open(&cut, &settings);
    cut.rules =
        (fp_cut_rules){rules->chunk_bytes, rules->unit_bytes, rules->first_bytes, rules->units};
    cut.started = rules->has_before;
    uint64_t next = 0, step = rules->append ? rules->append : rows->rows;
    for (uint64_t end = 0; end < rows->rows;) {
        fastpair_rows piece = *rows;
        end = rows->rows - end > step ? end + step : rows->rows;
        piece.rows = end;
        while (next < end) {
            must(fp_cut_take(&cut, &piece, next, &next, NULL));
            for (int more = 1; more && fp_cut_is_full(&cut);)
                more = compress_ready(&cut, 0, &oracle, is_whole);
        }
    }
    for (int more = 1; more && cut.rows;) more = compress_ready(&cut, 1, &oracle, is_whole);
    fp_cut_close(&cut);
    if (oracle.rows != rows->rows) abort();
    oracle.bytes = cut_bytes(&oracle);
    return oracle;
}

encode_oracle encode_oracle_cut(const fastpair_rows *rows, const encode_oracle_rules *rules) {
    return take_all(rows, rules, 0);
}

encode_oracle encode_oracle_open(const fastpair_rows *rows, const encode_oracle_rules *rules) {
    encode_oracle oracle = take_all(rows, rules, 1);
    oracle.text = room(oracle.bytes);
    oracle.starts = room((rows->rows + 1) * sizeof *oracle.starts);
    uint64_t at = oracle.starts[0] = 0;
    for (uint64_t row = 0; row < rows->rows; row++) {
        uint64_t start = fp_row_start(rows, row), size = fp_row_start(rows, row + 1) - start;
        if (fp_row_is_null(rows, row)) size = 0;
        if (size) memcpy(oracle.text + at, rows->bytes + start, size);
        oracle.starts[row + 1] = at += size;
    }
    return oracle;
}

void encode_oracle_close(encode_oracle *oracle) {
    for (uint64_t i = 0; i < oracle->count; i++) {
        free(oracle->chunks[i].lengths);
        free(oracle->chunks[i].validity);
    }
    free(oracle->chunks);
    free(oracle->text);
    free(oracle->starts);
    *oracle = (encode_oracle){0};
}
