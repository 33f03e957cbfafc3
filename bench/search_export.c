/* search_export.c - what the check of UTF-8 costs when a whole column is exported to Arrow. In: a column.
 * Out: the rates as bytes and as text, in turns, the least time of many. The trick: exported arrays take the
 * same memory by turns, so that the kernel's pages are not measured. */
#include "fastpair_arrow.h"
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that was touched before: one block, which exported arrays have in turns. */
static void *keep(void *context, size_t size) {
    text *block = context;
    if (size > block->size) {
        free(block->bytes);
        block->bytes = aligned_alloc(64, block->size = (size + 63) / 64 * 64);
        if (block->bytes) memset(block->bytes, 1, block->size);
    }
    return block->bytes;
}

static void give_back(void *context, void *memory) { (void)context, (void)memory; }

/* How long it takes to export all rows. */
static double export_once(const fastpair_column *column, uint64_t rows,
                          const fastpair_arrow_options *options) {
    fastpair_error error;
    struct ArrowArray array;
    double begin = now();
    need(fastpair_column_export_array(column, 0, rows, options, NULL, &array, &error), &error);
    double took = now() - begin;
    array.release(&array);
    return took;
}

void compare_exports(const char *path, const fastpair_open_options *options, int rounds) {
    fastpair_error error;
    fastpair_column *column = NULL;
    need(fastpair_column_open_file(path, options, &column, &error), &error);
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    need(fastpair_column_get_totals(column, &totals, &error), &error);
    text block = {0};
    fastpair_arrow_options as_bytes = {.struct_size = sizeof as_bytes,
                                       .type = FASTPAIR_ARROW_BYTES,
                                       .allocator = {keep, give_back, &block}};
    fastpair_arrow_options as_text = as_bytes;
    as_text.type = FASTPAIR_ARROW_TEXT;
    double bytes_took = 1e9, text_took = 1e9;
    for (int i = 0; i <= rounds; i++) {
        double first = export_once(column, totals.rows, &as_bytes),
               second = export_once(column, totals.rows, &as_text);
        if (i && first < bytes_took) bytes_took = first;
        if (i && second < text_took) text_took = second;
    }
    const double size = (double)totals.decoded_bytes / 1e9;
    printf("%s: as bytes %.2f GB/s, as text %.2f, time %.3f\n", path, size / bytes_took,
           size / text_took, text_took / bytes_took);
    fflush(stdout);
    free(block.bytes);
    fastpair_column_close(column);
}
