/* export.c - decoded columns in device memory as Arrow's device arrays. In: a job, and the memory that
 * a decode of it, or of rows selected from it, was given. Out: structs that wrap this memory; the
 * last owner gives it back through the caller's function. Nothing on the device is touched. Refuses
 * what a consumer could not trust: memory that a bad chunk may have left unwritten, and text that
 * nobody has looked at. */
#include "layout.h"

#include "arrow.h"
#include "options.h"

#include <inttypes.h>

/* What an exported array owns. */
typedef struct device_block {
    fastpair_allocator allocator;
    void *event; /* Arrow wants its address */
    void (*release)(void *context);
    void *context;
    struct ArrowArray child; /* of a struct */
    struct ArrowArray *children[1];
    const void *buffers[3];
} device_block;

static void release_array(struct ArrowArray *array) {
    if (!array || !array->release) return;
    device_block *block = array->private_data;
    fastpair_allocator allocator = block->allocator;
    if (block->child.release) block->child.release(&block->child);
    if (block->release) block->release(block->context);
    fp_release(&allocator, block);
    array->release = NULL;
}

static fastpair_status refuse(const char *what, fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                   "fastpair_gpu_export_array: %s", what);
}

/* Whether all that an array needs is there. */
static fastpair_status check_memory(const fp_job_column *column, const fastpair_gpu_output *output,
                                    const fp_arrow_plan *plan, fastpair_error *error) {
    if (plan->layout == FASTPAIR_ARROW_VIEWS)
        return refuse("a GPU decodes to offsets, not to views", error);
    if (output->offset_bits != 32 && output->offset_bits != 64)
        return refuse("offset_bits must be 32 or 64", error);
    if (plan->layout != FASTPAIR_ARROW_OFFSETS &&
        (plan->layout == FASTPAIR_ARROW_OFFSETS64) != (output->offset_bits == 64))
        return refuse("the layout asks for offsets of another width than the output has", error);
    if (output->offset_bits == 32 && column->decoded_bytes > INT32_MAX)
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "the rows have %" PRIu64 " bytes, too many for 32-bit offsets",
                       column->decoded_bytes);
    if ((column->rows && !output->offsets) || (column->decoded_bytes && !output->bytes))
        return refuse("the output has no offsets or no bytes", error);
    if (output->bytes_capacity < column->decoded_bytes)
        return fp_fail(error, FASTPAIR_ERROR_BUFFER_TOO_SMALL, FASTPAIR_NO_POSITION,
                       "the column has %" PRIu64 " bytes and bytes_capacity is %" PRIu64,
                       column->decoded_bytes, output->bytes_capacity);
    return column->nulls && !output->validity
               ? refuse("the column has nulls and the output has no validity", error)
               : FASTPAIR_OK;
}

/* Decides whether the rows are text. Bytes of a GPU are nobody's to check, so they are text only if
 * they can be nothing else. */
static fastpair_status decide_type(const fp_job_column *column, fastpair_arrow_type type,
                                   fp_arrow_plan *plan, fastpair_error *error) {
    int is_good = column->is_ascii || (column->is_valid && column->is_text);
    plan->is_text =
        type != FASTPAIR_ARROW_BYTES && is_good && (type == FASTPAIR_ARROW_TEXT || column->is_text);
    if (type == FASTPAIR_ARROW_TEXT && !plan->is_text)
        return refuse("nobody has checked that the rows are UTF-8; validate the column before the "
                      "job is opened, or export it as bytes",
                      error);
    return FASTPAIR_OK;
}

static device_block *open_block(const fp_arrow_plan *plan, const fastpair_gpu_array *from,
                                fastpair_error *error) {
    device_block *block = fp_allocate_zero(&plan->allocator, 1, sizeof *block);
    if (!block) {
        fp_note_memory(error, sizeof *block);
        return NULL;
    }
    block->allocator = plan->allocator;
    block->event = from->event;
    return block;
}

static void fill_strings(const fp_job_column *column, const fastpair_gpu_array *from,
                         device_block *block, struct ArrowArray *array) {
    const fastpair_gpu_output *output = from->output;
    int has_validity = column->nulls != 0;
    int is_counted = column->is_valid && !from->is_selection;
    block->release = from->release;
    block->context = from->context;
    block->buffers[0] = has_validity ? (const void *)(uintptr_t)output->validity : NULL;
    block->buffers[1] = (const void *)(uintptr_t)output->offsets;
    block->buffers[2] = (const void *)(uintptr_t)output->bytes;
    *array = (struct ArrowArray){.length = (int64_t)column->rows,
                                 /* What headers say of nulls need not be so. */
                                 .null_count = !has_validity ? 0
                                               : is_counted  ? (int64_t)column->nulls
                                                             : -1,
                                 .n_buffers = 3,
                                 .buffers = block->buffers,
                                 .release = release_array,
                                 .private_data = block};
}

static fastpair_status make_array(const fp_arrow_plan *plan, const fp_job_column *column,
                                  const fastpair_gpu_array *from, struct ArrowDeviceArray *array,
                                  fastpair_error *error) {
    device_block *strings = open_block(plan, from, error);
    device_block *outer = strings && plan->as_struct ? open_block(plan, from, error) : NULL;
    if (!strings || (plan->as_struct && !outer)) {
        fp_release(&plan->allocator, strings);
        return FASTPAIR_ERROR_OUT_OF_MEMORY;
    }
    if (from->event) array->sync_event = plan->as_struct ? &outer->event : &strings->event;
    if (!outer) {
        fill_strings(column, from, strings, &array->array);
        return FASTPAIR_OK;
    }
    fill_strings(column, from, strings, &outer->child);
    outer->children[0] = &outer->child;
    array->array = (struct ArrowArray){.length = (int64_t)column->rows,
                                       .n_buffers = 1,
                                       .n_children = 1,
                                       .buffers = outer->buffers,
                                       .children = outer->children,
                                       .release = release_array,
                                       .private_data = outer};
    return FASTPAIR_OK;
}

fastpair_status fastpair_gpu_export_array(const fastpair_gpu_job *job, uint64_t column,
                                          const fastpair_gpu_array *from,
                                          const fastpair_arrow_options *options,
                                          struct ArrowSchema *schema,
                                          struct ArrowDeviceArray *array, fastpair_error *error) {
    fp_arrow_plan plan;
    fastpair_arrow_options given;
    if (schema) *schema = (struct ArrowSchema){0};
    if (array) *array = (struct ArrowDeviceArray){0};
    if (!job || !from || !array) return refuse("job, from and array must not be NULL", error);
    fastpair_status status = fp_struct_check("from", from, sizeof *from, error);
    if (!status) status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fp_arrow_plan_open(from->column, options, &plan, error);
    if (status) return status;
    if (column >= job->column_count) return refuse("the job has no such column", error);
    if (!from->output) return refuse("output must not be NULL", error);
    fp_job_column of = job->columns[column];
    if (from->is_selection) {
        of.rows = from->selected_rows;
        of.decoded_bytes = from->selected_bytes;
    }
    if (!from->status_was_zero && (!of.is_valid || from->is_selection))
        return refuse("a bad chunk leaves memory as it was: read the status word after the decode "
                      "and set status_was_zero, or validate the column before the job is opened",
                      error);
    status = fp_struct_check("output", from->output, sizeof *from->output, error);
    if (!status) status = check_memory(&of, from->output, &plan, error);
    if (!status) status = decide_type(&of, given.type, &plan, error);
    if (status) return status;
    plan.layout =
        from->output->offset_bits == 64 ? FASTPAIR_ARROW_OFFSETS64 : FASTPAIR_ARROW_OFFSETS32;
    struct ArrowSchema type = {0};
    if (schema && (status = fp_arrow_make_schema(&plan, &type, error))) return status;
    status = make_array(&plan, &of, from, array, error);
    if (status) {
        if (type.release) type.release(&type);
        return status;
    }
    if (schema) *schema = type;
    array->device_id = job->gpu->ordinal;
    array->device_type = ARROW_DEVICE_CUDA;
    return FASTPAIR_OK;
}
