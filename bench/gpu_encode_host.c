/* gpu_encode_host.c - from pinned host memory to a file in pinned host memory. In: rows, in pieces as a
 * reader hands them over, each with offsets of its own. Out: the time of all pieces together.
 *
 * Three pieces are under way: one is copied to the device and encoded, of the one before the blocks are
 * copied back, and of the one before that headers and checksums are made. Each has a stream for its
 * copies; kernels have one of their own, as pieces of a column are encoded in order. */
#include "gpu_encode.h"

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4 };

/* A piece in pinned memory. */
typedef struct host_piece {
    uint64_t rows, bytes;
    const uint8_t *from;     /* its bytes */
    const uint32_t *offsets; /* from 0 on */
} host_piece;

typedef struct host_slot {
    fastpair_gpu_block bytes, offsets;
    fastpair_gpu_encode_output output;
    void *record;
    cuda_stream copies;
    cuda_event event;
    fastpair_gpu_encoded_piece piece;
} host_slot;

typedef struct host_work {
    encode_subject *s;
    host_piece *pieces;
    uint64_t count;
    uint8_t *bytes, *image; /* pinned: all rows; the file */
    uint32_t *offsets;
    host_slot slots[SLOTS];
    fastpair_gpu_block scratch;
    uint64_t record_bytes;
    fastpair_gpu_encoded *encoded;
    uint64_t image_bytes;
} host_work;

/* ---------------------------------------------------------------- before the clock starts */

/* Cuts rows into pieces, where the library says. */
static void cut(host_work *w) {
    const encode_subject *s = w->s;
    const uint64_t *all = s->rows.offsets;
    uint64_t first = 0, rows = s->rows.rows, most = s->bytes / s->piece_bytes * 2 + 64;
    w->pieces = bench_memory(most * sizeof *w->pieces);
    w->bytes = bench_pinned_memory(&s->device, s->bytes);
    w->offsets = bench_pinned_memory(&s->device, 4 * (rows + most));
    memcpy(w->bytes, s->rows.bytes, s->bytes);
    for (uint32_t *offsets = w->offsets; first < rows; w->count++) {
        if (w->count == most) bench_die("there are too many pieces");
        uint64_t taken = 0, wanted = s->piece_bytes;
        /* More rows, until there is a unit among them. */
        for (uint64_t end = first; !taken; wanted *= 2) {
            while (end < rows && all[end] - all[first] < wanted) end++;
            fastpair_rows view = {.struct_size = sizeof view, .rows = end - first};
            view.bytes = s->rows.bytes, view.offsets = all + first;
            taken = fastpair_gpu_encoder_cut(s->encoder, &view, first > 0, end < rows);
            if (!taken && end == rows) bench_die("no piece was found");
        }
        host_piece *piece = &w->pieces[w->count];
        *piece =
            (host_piece){taken, all[first + taken] - all[first], w->bytes + all[first], offsets};
        for (uint64_t i = 0; i <= taken; i++) *offsets++ = (uint32_t)(all[first + i] - all[first]);
        first += taken;
    }
}

static fastpair_gpu_encode_input input_of(const host_work *w, uint64_t number,
                                          const host_slot *slot) {
    const host_piece *piece = &w->pieces[number];
    return (fastpair_gpu_encode_input){.struct_size = sizeof(fastpair_gpu_encode_input),
                                       .rows = piece->rows,
                                       .bytes = slot->bytes.address,
                                       .bytes_size = piece->bytes,
                                       .offsets = slot->offsets.address,
                                       .offset_bits = 32,
                                       .has_before = number > 0,
                                       .has_after = number + 1 < w->count};
}

/* Memory for the largest of all pieces. */
static void make_room(host_work *w) {
    const bench_device *device = &w->s->device;
    fastpair_gpu_encode_sizes most = {0};
    uint64_t rows = 0, bytes = 0;
    fastpair_error error;
    for (uint64_t i = 0; i < w->count; i++) {
        fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
        fastpair_gpu_encode_input input = input_of(w, i, &w->slots[0]);
        encode_must(fastpair_gpu_encoder_sizes(w->s->encoder, &input, &sizes, &error), &error);
        if (sizes.scratch_bytes > most.scratch_bytes) most.scratch_bytes = sizes.scratch_bytes;
        if (sizes.output_bytes > most.output_bytes) most.output_bytes = sizes.output_bytes;
        if (sizes.record_bytes > most.record_bytes) most.record_bytes = sizes.record_bytes;
        if (input.rows > rows) rows = input.rows;
        if (input.bytes_size > bytes) bytes = input.bytes_size;
    }
    w->scratch = encode_block(device, most.scratch_bytes);
    w->record_bytes = most.record_bytes;
    for (int i = 0; i < SLOTS; i++) {
        host_slot *slot = &w->slots[i];
        slot->bytes = encode_block(device, bytes);
        slot->offsets = encode_block(device, 4 * (rows + 1));
        slot->output.struct_size = sizeof slot->output;
        slot->output.image = encode_block(device, most.output_bytes);
        slot->output.record = encode_block(device, most.record_bytes);
        slot->record = bench_pinned_memory(device, most.record_bytes);
        bench_must(device, device->driver->stream_open(&slot->copies, CUDA_STREAM_INDEPENDENT),
                   "making a stream");
        bench_must(device, device->driver->event_open(&slot->event, 0), "making an event");
    }
}

/* ---------------------------------------------------------------- a pass */

static void start(host_work *w, uint64_t number) {
    const bench_device *device = &w->s->device;
    const cuda_driver *cuda = device->driver;
    const host_piece *piece = &w->pieces[number];
    host_slot *slot = &w->slots[number % SLOTS];
    fastpair_gpu_encode_input input = input_of(w, number, slot);
    fastpair_error error;
    bench_must(device,
               cuda->copy_to_device(slot->bytes.address, piece->from, piece->bytes, slot->copies),
               "copying rows");
    bench_must(device,
               cuda->copy_to_device(slot->offsets.address, piece->offsets, 4 * (piece->rows + 1),
                                    slot->copies),
               "copying offsets");
    bench_must(device, cuda->event_record(slot->event, slot->copies), "ordering streams");
    bench_must(device, cuda->stream_wait_event(device->streams[0], slot->event, 0),
               "ordering streams");
    encode_must(fastpair_gpu_encoder_encode(w->s->encoder, &input, &w->scratch, &slot->output,
                                            device->streams[0], &error),
                &error);
    bench_must(device, cuda->event_record(slot->event, device->streams[0]), "ordering streams");
    bench_must(device, cuda->stream_wait_event(slot->copies, slot->event, 0), "ordering streams");
    bench_must(device,
               cuda->copy_to_host(slot->record, slot->output.record.address, w->record_bytes,
                                  slot->copies),
               "copying a record");
}

/* Waits for the record, and has the blocks copied. */
static void fetch(host_work *w, uint64_t number) {
    const bench_device *device = &w->s->device;
    host_slot *slot = &w->slots[number % SLOTS];
    fastpair_error error;
    bench_must(device, device->driver->stream_wait(slot->copies), "encoding");
    slot->piece.struct_size = sizeof slot->piece;
    encode_must(
        fastpair_gpu_encoded_add(w->encoded, slot->record, w->record_bytes, &slot->piece, &error),
        &error);
    bench_must(device,
               device->driver->copy_to_host(w->image + slot->piece.image_offset,
                                            slot->output.image.address, slot->piece.image_bytes,
                                            slot->copies),
               "copying blocks");
}

static void complete(host_work *w, uint64_t number) {
    const bench_device *device = &w->s->device;
    host_slot *slot = &w->slots[number % SLOTS];
    fastpair_error error;
    bench_must(device, device->driver->stream_wait(slot->copies), "copying blocks");
    encode_must(fastpair_gpu_encoded_complete(w->encoded, slot->piece.image_offset,
                                              w->image + slot->piece.image_offset,
                                              slot->piece.image_bytes, &error),
                &error);
    w->image_bytes = slot->piece.image_offset + slot->piece.image_bytes;
}

static void pass(void *context) {
    host_work *w = context;
    fastpair_error error;
    const uint8_t *footer = NULL;
    uint64_t footer_bytes = 0;
    encode_must(fastpair_gpu_encoded_open(w->s->encoder, &w->encoded, &error), &error);
    for (uint64_t i = 0; i < w->count + SLOTS - 1; i++) {
        if (i < w->count) start(w, i);
        if (i >= 2 && i - 2 < w->count) fetch(w, i - 2);
        if (i >= SLOTS - 1) complete(w, i - (SLOTS - 1));
    }
    encode_must(fastpair_gpu_encoded_finish(w->encoded, &footer, &footer_bytes, &error), &error);
    memcpy(w->image + w->image_bytes, footer, footer_bytes);
    w->image_bytes += footer_bytes;
    fastpair_gpu_encoded_close(w->encoded);
}

static void clean_up(host_work *w) {
    const bench_device *device = &w->s->device;
    for (int i = 0; i < SLOTS; i++) {
        host_slot *slot = &w->slots[i];
        encode_release(device, &slot->bytes), encode_release(device, &slot->offsets);
        encode_release(device, &slot->output.image), encode_release(device, &slot->output.record);
        device->driver->release_pinned(slot->record);
        device->driver->event_close(slot->event);
        device->driver->stream_close(slot->copies);
    }
    encode_release(device, &w->scratch);
    device->driver->release_pinned(w->bytes);
    device->driver->release_pinned(w->offsets);
    device->driver->release_pinned(w->image);
    free(w->pieces);
}

void encode_from_host(encode_subject *s) {
    host_work w = {.s = s};
    cut(&w);
    make_room(&w);
    w.image = bench_pinned_memory(&s->device, s->image_bytes + (64u << 20));
    bench_times times = bench_time_passes(&s->device, s->passes, pass, &w);
    /* One more, so that nothing of an earlier one can pass for its output. */
    memset(w.image, 0xa5, s->image_bytes);
    pass(&w);
    bool same = w.image_bytes == s->image_bytes && !memcmp(w.image, s->image, s->image_bytes);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "kind", "host_encode");
    cli_json_string(&json, "file", s->path);
    cli_json_string(&json, "memory", "pinned");
    cli_json_number(&json, "bytes", s->bytes);
    cli_json_number(&json, "image_bytes", s->image_bytes);
    cli_json_number(&json, "pieces", w.count);
    cli_json_number(&json, "piece_bytes", s->piece_bytes);
    cli_json_number(&json, "threads", s->options.threads);
    cli_json_real(&json, "least_ms", times.least);
    cli_json_real(&json, "median_ms", times.median);
    cli_json_real(&json, "gbs", (double)s->bytes / times.least / 1e6);
    cli_json_bool(&json, "same_file", same);
    cli_json_end(&json);
    fflush(stdout);
    clean_up(&w);
}
