/* sink.h - writing a column to memory, in appends of any size, with writes that fail on demand. */
#ifndef FP_TESTS_SINK_H
#define FP_TESTS_SINK_H

#include "forge.h"
#include "verify.h"

typedef struct sink_state {
    forge_bytes out;
    uint64_t writes;
    uint64_t fail_at; /* the write that fails; UINT64_MAX: none */
    int code;
} sink_state;

static inline int sink_write(void *context, const void *data, size_t size) {
    sink_state *state = context;
    if (state->writes++ == state->fail_at) return state->code;
    forge_append(&state->out, data, size);
    return 0;
}

/* Writes a column in appends: `most` 0 whole, 1 row by row, else in random pieces of up to `most`
 * rows. After a failure the writer must stay failed. */
static inline fastpair_status write_column(sink_state *state, const shape *s,
                                           const fastpair_compress_options *options, uint64_t most,
                                           uint64_t random, fastpair_error *error) {
    fastpair_sink sink = {sink_write, state};
    fastpair_writer *writer = NULL;
    fastpair_status status = fastpair_writer_open(&sink, options, &writer, error);
    for (uint64_t row = 0; status == FASTPAIR_OK && row < s->rows.rows;) {
        uint64_t count = most == 0   ? s->rows.rows
                         : most == 1 ? 1
                                     : check_random(&random) % (most + 1);
        if (count > s->rows.rows - row) count = s->rows.rows - row;
        fastpair_rows piece = shape_slice(s, row, count);
        status = fastpair_writer_append(writer, &piece, error);
        row += count;
    }
    if (status == FASTPAIR_OK) status = fastpair_writer_finish(writer, error);
    if (status != FASTPAIR_OK && writer) CHECK(fastpair_writer_finish(writer, NULL) != FASTPAIR_OK);
    fastpair_writer_close(writer);
    return status;
}

#endif
