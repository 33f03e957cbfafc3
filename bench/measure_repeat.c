/* measure_repeat.c - a longer column. In: an open column. Out: the image of one with its chunks several times over, each time a copy
 * of its own, and its dictionaries once: what a column of as much text like this would be. */
#include "measure.h"

#include "column.h"

#include <stdlib.h>
#include <string.h>

/* Where the blocks of a column end. */
static uint64_t end_of_blocks(const fastpair_column *column) {
    return column->size - FP_TRAILER -
           fp_footer_size(column->totals.dictionaries, column->totals.chunks);
}

uint64_t measure_repeated_size(const fastpair_column *column, uint64_t times) {
    uint64_t chunks = 0;
    for (uint64_t i = 0; i < column->totals.chunks; i++) chunks += column->chunks[i].block_bytes;
    return end_of_blocks(column) + (times - 1) * chunks +
           fp_footer_size(column->totals.dictionaries, times * column->totals.chunks) + FP_TRAILER;
}

void measure_repeat(const fastpair_column *column, uint64_t times, uint8_t *image) {
    uint64_t dictionaries = column->totals.dictionaries, each = column->totals.chunks;
    fp_dict_entry *dicts = bench_memory((dictionaries + 1) * sizeof *dicts);
    fp_chunk_entry *chunks = bench_memory((times * each + 1) * sizeof *chunks);
    uint64_t end = end_of_blocks(column);
    memcpy(image, column->image, (size_t)end);
    for (uint64_t i = 0; i < dictionaries; i++) dicts[i] = column->dictionaries[i].entry;
    for (uint64_t i = 0; i < times * each; i++) {
        const fp_chunk *chunk = &column->chunks[i % each];
        uint64_t position = i < each ? chunk->position : end;
        chunks[i] =
            (fp_chunk_entry){position, chunk->block_bytes, chunk->rows, chunk->decoded_bytes};
        if (i < each) continue;
        memcpy(image + end, column->image + chunk->position, (size_t)chunk->block_bytes);
        end += chunk->block_bytes;
    }
    fp_footer totals = column->totals;
    totals.chunks *= times, totals.rows *= times, totals.nulls *= times;
    totals.codes *= times, totals.decoded_bytes *= times;
    fp_footer_write(&totals, dicts, chunks, end, image + end);
    free(dicts), free(chunks);
}
