/* gpu_select.c - rates of selections on a GPU. In: a column there, a share of its rows. Out: times of
 * decoding these rows alone, and of decoding all rows and copying these. */
#include "gpu_select.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct selecting {
    const select_subject *s;
    fastpair_gpu_select *select;
    fastpair_gpu_selection selection;
    fastpair_gpu_block scratch, tokens;
    fastpair_gpu_selected to;
    /* The whole column, for the other way. */
    fastpair_gpu_output whole;
    uint64_t status;
    bool decodes_all;
} selecting;

static void must(fastpair_status status, const fastpair_error *error) {
    if (status) bench_die("%s", error->message);
}

/* Rows that are wanted, as they must come out. */
typedef struct expected {
    uint64_t *rows, *offsets, count, size;
    uint8_t *bytes;
} expected;

static uint64_t draw(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

static expected choose(const select_subject *s, double percent, bool in_any_order) {
    fastpair_column_info info = {.struct_size = sizeof info};
    fastpair_error error;
    must(fastpair_column_get_info(s->column, &info, &error), &error);
    uint64_t *offsets = bench_memory((info.rows + 1) * sizeof *offsets), state = 88172645463325252u;
    uint8_t *all = bench_memory(info.decoded_bytes + 1);
    fastpair_destination to = {.struct_size = sizeof to, .bytes = all, .offset_bits = 64};
    to.bytes_capacity = info.decoded_bytes, to.offsets = offsets;
    must(fastpair_column_decode(s->column, 0, info.rows, &to, &error), &error);
    expected e = {.rows = bench_memory((info.rows + 1) * sizeof *e.rows)};
    uint64_t limit = (uint64_t)(percent / 100 * 4294967296.0);
    for (uint64_t r = 0; r < info.rows; r++)
        if (draw(&state) >> 32 < limit) e.rows[e.count++] = r;
    for (uint64_t i = e.count; in_any_order && i > 1; i--) {
        uint64_t j = draw(&state) % i, row = e.rows[i - 1];
        e.rows[i - 1] = e.rows[j], e.rows[j] = row;
    }
    e.offsets = bench_memory((e.count + 1) * sizeof *e.offsets);
    for (uint64_t i = 0; i < e.count; i++) {
        e.offsets[i] = e.size;
        e.size += offsets[e.rows[i] + 1] - offsets[e.rows[i]];
    }
    e.offsets[e.count] = e.size;
    e.bytes = bench_memory(e.size + 1);
    for (uint64_t i = 0; i < e.count; i++)
        memcpy(e.bytes + e.offsets[i], all + offsets[e.rows[i]], e.offsets[i + 1] - e.offsets[i]);
    free(all), free(offsets);
    return e;
}

static uint64_t put(const bench_device *device, const void *from, uint64_t bytes) {
    uint64_t memory = bench_device_memory(device, bytes + 16);
    bench_must(device, device->driver->copy_to_device(memory, from, bytes, device->streams[0]),
               "copying");
    bench_must(device, device->driver->stream_wait(device->streams[0]), "waiting");
    return memory;
}

/* The selection in device memory: a bitmap, or a list of 32-bit numbers. */
static fastpair_gpu_selection place(const select_subject *s, const expected *e, uint64_t rows,
                                    bool is_list) {
    fastpair_gpu_selection selection = {.struct_size = sizeof selection, .most_rows = e->count};
    uint64_t size = is_list ? 4 * e->count : (rows + 31) / 32 * 4;
    uint8_t *memory = bench_memory(size + 8);
    memset(memory, 0, size);
    for (uint64_t i = 0; i < e->count; i++) {
        uint32_t row = (uint32_t)e->rows[i];
        if (is_list)
            memcpy(memory + 4 * i, &row, 4);
        else
            memory[row / 8] |= (uint8_t)(1 << row % 8);
    }
    uint64_t *to = is_list ? &selection.numbers : &selection.bitmap;
    *to = put(s->device, memory, size + 4);
    selection.number_bits = 32;
    free(memory);
    return selection;
}

static void run(void *context) {
    selecting *g = context;
    fastpair_error error;
    void *stream = g->s->device->streams[0];
    if (g->decodes_all)
        must(fastpair_gpu_job_decode(g->s->job, &g->whole, NULL, stream, &error), &error);
    must(fastpair_gpu_select_sizes(g->select, &g->selection, &g->scratch, stream, &error), &error);
    must(fastpair_gpu_select_decode(g->select, &g->selection, &g->scratch, &g->to, stream, &error),
         &error);
}

static void run_sizes(void *context) {
    selecting *g = context;
    fastpair_error error;
    must(fastpair_gpu_select_sizes(g->select, &g->selection, &g->scratch, g->s->device->streams[0],
                                   &error),
         &error);
}

/* Memory of a selection, and of the whole column's offsets. */
static void allocate(selecting *g, const expected *e, uint64_t rows) {
    const bench_device *device = g->s->device;
    fastpair_error error;
    fastpair_gpu_select_info info = {.struct_size = sizeof info};
    must(fastpair_gpu_select_open(g->s->rows, &g->select, &error), &error);
    must(fastpair_gpu_select_get_info(g->select, &info, &error), &error);
    g->tokens =
        (fastpair_gpu_block){bench_device_memory(device, info.device_bytes), info.device_bytes};
    must(fastpair_gpu_select_upload(g->select, &g->tokens, device->streams[0], &error), &error);
    must(fastpair_gpu_select_scratch(g->select, &g->selection, &g->scratch.bytes, &error), &error);
    g->scratch.address = bench_device_memory(device, g->scratch.bytes);
    g->status = bench_device_memory(device, 4);
    bench_must(device, device->driver->fill(g->status, 0, 4, device->streams[0]), "filling");
    g->to = (fastpair_gpu_selected){.struct_size = sizeof g->to,
                                    .bytes = bench_device_memory(device, e->size + 16),
                                    .bytes_capacity = e->size,
                                    .rows_capacity = e->count,
                                    .offsets = bench_device_memory(device, 8 * e->count + 8),
                                    .offset_bits = 64,
                                    .status = g->status};
    g->whole = (fastpair_gpu_output){.struct_size = sizeof g->whole,
                                     .bytes = g->s->decoded,
                                     .offsets = bench_device_memory(device, 8 * rows + 8),
                                     .offset_bits = 64,
                                     .status = g->status};
}

static bool is_right(const selecting *g, const expected *e) {
    uint32_t zero = 0;
    uint64_t sizes[2] = {e->count, e->size};
    const bench_device *device = g->s->device;
    return bench_same(device, g->to.bytes, e->bytes, e->size) &&
           bench_same(device, g->to.offsets, (const uint8_t *)e->offsets, 8 * e->count + 8) &&
           bench_same(device, g->scratch.address, (const uint8_t *)sizes, 16) &&
           bench_same(device, g->status, (const uint8_t *)&zero, 4);
}

void bench_select(const select_subject *s, double percent, bool in_any_order) {
    fastpair_gpu_column_info info = {.struct_size = sizeof info};
    fastpair_error error;
    must(fastpair_gpu_job_get_column(s->job, 0, &info, &error), &error);
    expected e = choose(s, percent, in_any_order);
    selecting g = {.s = s, .selection = place(s, &e, info.rows, in_any_order)};
    allocate(&g, &e, info.rows);
    g.whole.bytes_capacity = info.decoded_bytes;
    const bench_device *device = s->device;
    bench_must(device, device->driver->fill(g.to.bytes, 1, e.size, device->streams[0]), "filling");
    bench_times sized = bench_time_launches(device, s->launches, run_sizes, &g);
    bench_times direct = bench_time_launches(device, s->launches, run, &g);
    bool right = is_right(&g, &e);
    bench_must(device, device->driver->fill(g.to.bytes, 2, e.size, device->streams[0]), "filling");
    g.decodes_all = true;
    g.to.decoded = g.whole.bytes, g.to.decoded_offsets = g.whole.offsets;
    g.to.decoded_offset_bits = 64;
    bench_times all = bench_time_launches(device, s->launches, run, &g);
    bool all_right = is_right(&g, &e);
    g.decodes_all = false;
    bench_times copied = bench_time_launches(device, s->launches, run, &g);
    printf("{\"file\": \"%s\", \"%s\": %g, \"rows\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"sizes_ms\": %.4f, \"select_ms\": %.4f, \"decode_all_and_copy_ms\": %.4f, "
           "\"copy_ms\": %.4f, \"ratio\": %.3f, \"right\": %s}\n",
           s->path, in_any_order ? "take" : "select", percent, e.count, e.size, sized.least,
           direct.least, all.least, copied.least, direct.least / all.least,
           right && all_right ? "true" : "false");
    fflush(stdout);
    fastpair_gpu_select_close(g.select);
    const uint64_t memory[] = {g.scratch.address,  g.tokens.address,   g.status,
                               g.to.bytes,         g.to.offsets,       g.whole.offsets,
                               g.selection.bitmap, g.selection.numbers};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (memory[i]) bench_must(device, device->driver->release(memory[i]), "releasing");
    free(e.rows), free(e.offsets), free(e.bytes);
}
