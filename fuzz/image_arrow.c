/* image_arrow.c - a column in memory that may be anything, exported to Arrow.
 *
 * What is demanded: what is exported as text is UTF-8, row by row, by the oracle's definition of it;
 * an export as text, as bytes and in views give the same rows; one of a list gives rows of the same
 * sizes, and the same rows if the column is valid (with a sidecar that lies, where decoding begins decides
 * what comes); all memory is given back. */
#include "image.h"

#include "fastpair_arrow.h"
#include "fuzz.h"
#include "oracle_parts.h"

typedef struct row {
    const uint8_t *bytes;
    uint64_t size;
    int is_null;
} row;

/* Row i of an array with 64-bit offsets or views. */
static row row_of(const struct ArrowArray *array, int is_view, uint64_t i) {
    const uint8_t *validity = array->buffers[0];
    row got = {.is_null = validity && !(validity[i / 8] >> (i % 8) & 1)};
    if (!is_view) {
        const int64_t *offsets = array->buffers[1];
        DEMAND(offsets[i] >= 0 && offsets[i] <= offsets[i + 1]);
        got.bytes = (const uint8_t *)array->buffers[2] + offsets[i];
        got.size = (uint64_t)(offsets[i + 1] - offsets[i]);
        return got;
    }
    const int32_t *view = (const int32_t *)array->buffers[1] + i * 4;
    const int64_t *sizes = array->buffers[array->n_buffers - 1];
    DEMAND(view[0] >= 0);
    got.size = (uint64_t)view[0];
    got.bytes = (const uint8_t *)(view + 1);
    if (view[0] <= 12) return got;
    DEMAND(view[2] >= 0 && view[2] < array->n_buffers - 3 && view[3] >= 0);
    DEMAND((int64_t)view[3] + view[0] <= sizes[view[2]]);
    got.bytes = (const uint8_t *)array->buffers[2 + view[2]] + view[3];
    return got;
}

void fuzz_probe_arrow(const fastpair_column *column, uint64_t rows,
                      const fastpair_allocator *allocator, int is_good) {
    fastpair_error error;
    struct ArrowArray plain, array;
    fastpair_arrow_options options = {.struct_size = sizeof options,
                                      .layout = FASTPAIR_ARROW_OFFSETS64,
                                      .type = FASTPAIR_ARROW_BYTES,
                                      .allocator = *allocator};
    fastpair_status status =
        fastpair_column_export_array(column, 0, rows, &options, NULL, &plain, &error);
    if (status) return;
    for (int k = 0; k < 4; k++) {
        uint64_t listed[3] = {rows - 1, rows / 2, 0};
        int is_list = k == 3 && rows;
        options.layout = k % 2 ? FASTPAIR_ARROW_VIEWS : FASTPAIR_ARROW_OFFSETS64;
        options.type = k / 2 ? FASTPAIR_ARROW_TEXT : FASTPAIR_ARROW_AS_RECORDED;
        struct ArrowSchema schema;
        status = is_list ? fastpair_column_export_listed(column, listed, 3, &options, &schema,
                                                         &array, &error)
                         : fastpair_column_export_array(column, 0, rows, &options, &schema, &array,
                                                        &error);
        /* A good text is text; other good columns are bytes. */
        DEMAND(!is_good || k / 2 || status != FASTPAIR_ERROR_CORRUPT);
        if (status) continue;
        int is_text = strchr(schema.format, 'u') || strchr(schema.format, 'U');
        DEMAND(k / 2 == 0 || is_text);
        for (uint64_t i = 0; i < (uint64_t)array.length; i++) {
            row got = row_of(&array, k % 2, i), wanted = row_of(&plain, 0, is_list ? listed[i] : i);
            DEMAND(got.size == wanted.size && got.is_null == wanted.is_null);
            int may_differ = is_list && !is_good;
            DEMAND(may_differ || !got.size || !memcmp(got.bytes, wanted.bytes, got.size));
            DEMAND(!is_text || oracle_is_utf8(got.bytes, got.size));
        }
        schema.release(&schema);
        array.release(&array);
    }
    plain.release(&plain);
}
