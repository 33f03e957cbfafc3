/* arrow_stream.c - a column as a stream of Arrow arrays. In: an open column, of which the stream
 * takes a reference. Out: arrays, each decoded when it is asked for. Refuses what arrays refuse; a
 * failure stays. */
#include "arrow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef struct stream_state {
    fp_arrow_plan plan;
    fastpair_column *column; /* the stream's own reference */
    uint64_t next, end;
    int failed; /* what get_next returns from now on; 0: nothing has failed */
    fastpair_error failure;
    char name[];
} stream_state;

static int code_of(const fastpair_error *failure, const fp_arrow_plan *plan) {
    switch (failure->status) {
    case FASTPAIR_ERROR_CORRUPT: return EILSEQ;
    case FASTPAIR_ERROR_OUT_OF_MEMORY: return ENOMEM;
    case FASTPAIR_ERROR_LIMIT: return EFBIG;
    /* Options and range were checked before: only a row that is no text is left. */
    case FASTPAIR_ERROR_INVALID_ARGUMENT: return plan->is_text ? EILSEQ : EIO;
    case FASTPAIR_OK:
    case FASTPAIR_ERROR_UNSUPPORTED:
    case FASTPAIR_ERROR_BUFFER_TOO_SMALL:
    case FASTPAIR_ERROR_IO:
    case FASTPAIR_ERROR_CANCELLED: break;
    }
    return EIO;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
    stream_state *state = stream->private_data;
    *schema = (struct ArrowSchema){0};
    if (!fp_arrow_make_schema(&state->plan, schema, &state->failure)) return 0;
    return code_of(&state->failure, &state->plan);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array) {
    stream_state *state = stream->private_data;
    *array = (struct ArrowArray){0};
    if (state->failed) return state->failed;
    if (state->next == state->end) return 0; /* no release function: the end */
    uint64_t next = fp_arrow_batch_end(&state->plan, state->next, state->end);
    fp_arrow_rows rows = {.first = state->next, .count = next - state->next};
    if (fp_arrow_make_array(&state->plan, &rows, array, &state->failure)) {
        state->failed = code_of(&state->failure, &state->plan);
        return state->failed;
    }
    state->next = next;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
    stream_state *state = stream->private_data;
    return state->failure.status ? state->failure.message : NULL;
}

static void release_stream(struct ArrowArrayStream *stream) {
    if (!stream || !stream->release) return;
    stream_state *state = stream->private_data;
    fastpair_allocator allocator = state->plan.allocator;
    fastpair_column_close(state->column);
    fp_release(&allocator, state);
    stream->release = NULL;
}

fastpair_status fastpair_column_export_stream(fastpair_column *column, uint64_t first,
                                              uint64_t count, const fastpair_arrow_options *options,
                                              struct ArrowArrayStream *stream,
                                              fastpair_error *error) {
    if (stream) *stream = (struct ArrowArrayStream){0};
    if (!column || !stream)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_column_export_stream: column and stream must not be NULL");
    fp_arrow_plan plan;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_status status = fp_arrow_plan_open(column, options, &plan, error);
    if (!status) status = fastpair_column_get_totals(column, &totals, error);
    if (status) return status;
    if (first > totals.rows || count > totals.rows - first)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, first,
                       "rows %" PRIu64 " .. + %" PRIu64 " are not in the column, which has %" PRIu64
                       " rows",
                       first, count, totals.rows);
    if ((status = fp_arrow_plan_stream(&plan, first, count, error))) return status;
    uint64_t name_size = strlen(plan.name) + 1;
    stream_state *state = fp_allocate(&plan.allocator, sizeof *state + name_size, 1);
    if (!state) return fp_fail_memory(error, sizeof *state + name_size);
    *state = (stream_state){.plan = plan,
                            .column = fastpair_column_retain(column),
                            .next = first,
                            .end = first + count};
    memcpy(state->name, plan.name, (size_t)name_size);
    state->plan.name = state->name;
    *stream =
        (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, state};
    return FASTPAIR_OK;
}
