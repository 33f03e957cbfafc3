/* arrow_export.c - decoded rows as Arrow arrays. In: an open column, a range or a list of rows. Out:
 * one ArrowArray that owns its buffers. The trick: how many bytes the rows have is known before they
 * are decoded, so that all buffers lie in one block of memory, which the decoder writes to. Refuses
 * rows that are not UTF-8 where the array would say that they are. */
#include "arrow.h"

#include "access.h"
#include "utf8.h"

#include <inttypes.h>

/* An array and what it owns: one block of memory, which begins somewhere before this struct, where
 * the allocator put it. */
typedef struct array_block {
    fastpair_allocator allocator;
    void *memory;
    struct ArrowArray child; /* of a struct */
    struct ArrowArray *children[1];
    const void *buffers[]; /* 1 of a struct, 3 with offsets, 3 and more with views */
} array_block;

static void release_array(struct ArrowArray *array) {
    if (!array || !array->release) return;
    array_block *block = array->private_data;
    fastpair_allocator allocator = block->allocator;
    if (block->child.release) block->child.release(&block->child);
    fp_release(&allocator, block->memory);
    array->release = NULL;
}

/* ---------------------------------------------------------------- memory */

/* Where the parts of an array lie, each at a multiple of the alignment. */
typedef struct array_parts {
    array_block *block;
    uint8_t *validity;
    uint8_t *offsets; /* or views, which end with the offsets while rows are decoded */
    uint8_t *bytes;
    fp_arrow_cuts cuts; /* of views */
} array_parts;

static uint8_t *take(uint8_t **at, uint64_t size) {
    uint8_t *part = *at;
    *at += fp_arrow_padded(size);
    return part;
}

/* One block for everything. A few bytes more than the rows have are there for whoever copies by
 * 16. */
static fastpair_status lay_out(const fp_arrow_plan *plan, uint64_t count, uint64_t bytes,
                               array_parts *parts, fastpair_error *error) {
    int has_views = plan->layout == FASTPAIR_ARROW_VIEWS;
    uint64_t cuts = has_views ? fp_arrow_most_cuts(bytes, FP_ARROW_VIEW_BUFFER) : 0;
    uint64_t width = has_views ? 16 : plan->layout == FASTPAIR_ARROW_OFFSETS64 ? 8 : 4;
    if (count > UINT64_MAX / 64 || bytes > UINT64_MAX / 4) return fp_fail_memory(error, bytes);
    uint64_t head = sizeof(array_block) + (3 + cuts) * sizeof(void *);
    uint64_t size = fp_arrow_padded(head) + fp_arrow_padded(count / 8 + 1) +
                    fp_arrow_padded((count + 1) * width) + 2 * fp_arrow_padded(cuts * 8) +
                    fp_arrow_padded(bytes + 16);
    uint8_t *memory = fp_allocate(&plan->allocator, size + FP_ARROW_ALIGNMENT, 1);
    if (!memory) return fp_fail_memory(error, size);
    fp_expect_writes(&plan->allocator, memory, size);
    uint8_t *at = memory + (FP_ARROW_ALIGNMENT - (uintptr_t)memory % FP_ARROW_ALIGNMENT);
    parts->block = (array_block *)(void *)take(&at, head);
    memset(parts->block, 0, (size_t)head);
    parts->block->allocator = plan->allocator;
    parts->block->memory = memory;
    parts->validity = take(&at, count / 8 + 1);
    parts->offsets = take(&at, (count + 1) * width);
    parts->cuts = (fp_arrow_cuts){.most = FP_ARROW_VIEW_BUFFER};
    parts->cuts.starts = (uint64_t *)(void *)take(&at, cuts * 8);
    parts->cuts.sizes = (int64_t *)(void *)take(&at, cuts * 8);
    parts->bytes = at;
    return FASTPAIR_OK;
}

/* Zeros from the end of a buffer to a multiple of the alignment. */
static void pad(uint8_t *buffer, uint64_t size) {
    memset(buffer + size, 0, (size_t)(fp_arrow_padded(size) - size));
}

/* ---------------------------------------------------------------- decoding */

/* Finds the decoded row that is not UTF-8. Null rows count: what lies under them is in the array,
 * too. */
static fastpair_status not_text(const fp_arrow_plan *plan, const fp_arrow_rows *rows,
                                const fastpair_destination *decoded, fastpair_error *error) {
    fastpair_rows view = {.struct_size = sizeof view,
                          .rows = rows->count,
                          .bytes = decoded->bytes,
                          .offsets = decoded->offsets,
                          .offset_bits = decoded->offset_bits};
    uint64_t byte = 0, row = fp_rows_not_text(&view, &byte);
    row = rows->listed ? rows->listed[row] : rows->first + row;
    int lies = plan->metadata.type == FASTPAIR_TYPE_TEXT;
    return fp_fail(error, lies ? FASTPAIR_ERROR_CORRUPT : FASTPAIR_ERROR_INVALID_ARGUMENT, row,
                   "row %" PRIu64 " is not UTF-8 from its byte %" PRIu64 " on%s", row, byte,
                   lies ? ", but the footer says that the column is text"
                        : "; export the column as bytes");
}

static fastpair_status decode_listed(const fp_arrow_plan *plan, const fp_arrow_rows *rows,
                                     fastpair_destination *to, int *is_text,
                                     fastpair_error *error) {
    fp_text_check text = {0};
    fp_row_list list = {
        .rows = rows->listed, .count = rows->count, .text = plan->is_text ? &text : NULL};
    fastpair_status status = fp_decode_list(plan->column, &list, rows->sizes, to, error);
    *is_text = !text.is_wrong;
    return status;
}

static uint64_t follow(void *context, uint64_t ready) {
    fp_arrow_views *views = context;
    fp_arrow_make_views(views, ready);
    return views->row;
}

/* `views` NULL: offsets are wanted. Else views are made of rows while their bytes are in the cache,
 * where that can be. */
static fastpair_status decode(const fp_arrow_plan *plan, const fp_arrow_rows *rows,
                              fastpair_destination *to, fp_arrow_views *views,
                              fastpair_error *error) {
    int is_text = 1;
    fp_alongside alongside = {plan->is_text ? &is_text : NULL, views ? follow : NULL, views};
    fastpair_status status = rows->listed ? decode_listed(plan, rows, to, &is_text, error)
                                          : fp_column_decode(plan->column, rows->first, rows->count,
                                                             to, &alongside, error);
    if (status || is_text) return status;
    if (views && views->row) /* the offsets once more */
        status = fp_column_decode(plan->column, rows->first, rows->count, to, NULL, error);
    return status ? status : not_text(plan, rows, to, error);
}

/* The rest of the views, after decoding. */
static fastpair_status finish_views(fp_arrow_views *views, fastpair_error *error) {
    fp_arrow_make_views(views, UINT64_MAX);
    if (views->row == views->count) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_LIMIT, views->row,
                   "row %" PRIu64 " of the array has 2 GiB or more, too many for a view; export "
                   "it with 64-bit offsets",
                   views->row);
}

/* ---------------------------------------------------------------- arrays */

/* The buffers of views, after the first two: parts of the bytes, and their sizes. */
static uint64_t point_to_cuts(array_parts *parts) {
    const fp_arrow_cuts *cuts = &parts->cuts;
    for (uint64_t i = 0; i < cuts->count; i++)
        parts->block->buffers[2 + i] = parts->bytes + cuts->starts[i];
    parts->block->buffers[2 + cuts->count] = cuts->sizes;
    return 3 + cuts->count;
}

static fastpair_status fill(const fp_arrow_plan *plan, const fp_arrow_rows *rows, uint64_t bytes,
                            array_parts *parts, struct ArrowArray *array, fastpair_error *error) {
    uint64_t count = rows->count;
    int has_views = plan->layout == FASTPAIR_ARROW_VIEWS;
    uint32_t bits =
        plan->layout == FASTPAIR_ARROW_OFFSETS64 || (has_views && bytes > INT32_MAX) ? 64 : 32;
    uint64_t skip = has_views ? fp_arrow_offsets_in_views(count, bits) : 0;
    fastpair_destination to = {.struct_size = sizeof to,
                               .bytes = parts->bytes,
                               .bytes_capacity = bytes,
                               .offsets = parts->offsets + skip,
                               .offset_bits = bits,
                               .validity = parts->validity};
    fp_arrow_views views = {.views = parts->offsets,
                            .count = count,
                            .offset_bits = bits,
                            .bytes = parts->bytes,
                            .cuts = &parts->cuts};
    fastpair_status status = decode(plan, rows, &to, has_views ? &views : NULL, error);
    if (status) return status;
    memset(parts->bytes + bytes, 0, (size_t)(fp_arrow_padded(bytes + 16) - bytes));
    if (has_views && (status = finish_views(&views, error))) return status;
    pad(parts->validity, (count + 7) / 8);
    pad(parts->offsets, has_views ? count * 16 : (count + 1) * (bits / 8));
    array_block *block = parts->block;
    block->buffers[0] = to.nulls ? parts->validity : NULL;
    block->buffers[1] = parts->offsets;
    block->buffers[2] = parts->bytes;
    *array = (struct ArrowArray){.length = (int64_t)count,
                                 .null_count = (int64_t)to.nulls,
                                 .n_buffers = has_views ? (int64_t)point_to_cuts(parts) : 3,
                                 .buffers = block->buffers,
                                 .release = release_array,
                                 .private_data = block};
    return FASTPAIR_OK;
}

/* Rows of `bytes` bytes. */
static fastpair_status make_measured(fp_arrow_plan *plan, const fp_arrow_rows *rows, uint64_t bytes,
                                     struct ArrowArray *array, fastpair_error *error) {
    if (plan->layout == FASTPAIR_ARROW_OFFSETS)
        plan->layout = bytes > INT32_MAX ? FASTPAIR_ARROW_OFFSETS64 : FASTPAIR_ARROW_OFFSETS32;
    if (plan->layout == FASTPAIR_ARROW_OFFSETS32 && bytes > INT32_MAX)
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "the rows have %" PRIu64
                       " bytes, too many for 32-bit offsets; use 64-bit ones or smaller batches",
                       bytes);
    array_parts parts;
    fastpair_status status = lay_out(plan, rows->count, bytes, &parts, error);
    if (status) return status;
    status = fill(plan, rows, bytes, &parts, array, error);
    if (status) fp_release(&plan->allocator, parts.block->memory);
    return status;
}

static fastpair_status make_strings(fp_arrow_plan *plan, const fp_arrow_rows *rows,
                                    struct ArrowArray *array, fastpair_error *error) {
    fastpair_status status;
    if (!rows->listed) {
        uint64_t bytes = 0;
        status = fastpair_column_rows_size(plan->column, rows->first, rows->count, &bytes, error);
        return status ? status : make_measured(plan, rows, bytes, array, error);
    }
    fp_row_list list = {.rows = rows->listed, .count = rows->count};
    fp_list_sizes sizes;
    if ((status = fp_measure_list(plan->column, &list, &sizes, error))) return status;
    fp_arrow_rows measured = *rows;
    measured.sizes = &sizes;
    status = make_measured(plan, &measured, sizes.bytes, array, error);
    fp_list_sizes_close(plan->column, &sizes);
    return status;
}

fastpair_status fp_arrow_make_array(fp_arrow_plan *plan, const fp_arrow_rows *rows,
                                    struct ArrowArray *array, fastpair_error *error) {
    if (!plan->as_struct) return make_strings(plan, rows, array, error);
    uint64_t size = sizeof(array_block) + sizeof(void *);
    array_block *block = fp_allocate_zero(&plan->allocator, size, 1);
    if (!block) return fp_fail_memory(error, size);
    block->allocator = plan->allocator;
    block->memory = block;
    block->children[0] = &block->child;
    fastpair_status status = make_strings(plan, rows, &block->child, error);
    if (status) {
        fp_release(&plan->allocator, block);
        return status;
    }
    *array = (struct ArrowArray){.length = block->child.length,
                                 .n_buffers = 1,
                                 .n_children = 1,
                                 .buffers = block->buffers,
                                 .children = block->children,
                                 .release = release_array,
                                 .private_data = block};
    return FASTPAIR_OK;
}

static fastpair_status export_rows(const fastpair_column *column, const fp_arrow_rows *rows,
                                   const fastpair_arrow_options *options,
                                   struct ArrowSchema *schema, struct ArrowArray *array,
                                   fastpair_error *error) {
    if (schema) *schema = (struct ArrowSchema){0};
    if (array) *array = (struct ArrowArray){0};
    if (!column || !array)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "exporting to Arrow: column and array must not be NULL");
    fp_arrow_plan plan;
    fastpair_status status = fp_arrow_plan_open(column, options, &plan, error);
    if (!status) status = fp_arrow_make_array(&plan, rows, array, error);
    if (!status && schema) {
        status = fp_arrow_make_schema(&plan, schema, error);
        if (status) array->release(array);
    }
    return status;
}

fastpair_status fastpair_column_export_array(const fastpair_column *column, uint64_t first,
                                             uint64_t count, const fastpair_arrow_options *options,
                                             struct ArrowSchema *schema, struct ArrowArray *array,
                                             fastpair_error *error) {
    fp_arrow_rows rows = {.first = first, .count = count};
    return export_rows(column, &rows, options, schema, array, error);
}

fastpair_status fastpair_column_export_listed(const fastpair_column *column, const uint64_t *rows,
                                              uint64_t count, const fastpair_arrow_options *options,
                                              struct ArrowSchema *schema, struct ArrowArray *array,
                                              fastpair_error *error) {
    static const uint64_t none;
    if (!rows && count) column = NULL; /* refused like it */
    fp_arrow_rows wanted = {.listed = rows ? rows : &none, .count = count};
    return export_rows(column, &wanted, options, schema, array, error);
}
