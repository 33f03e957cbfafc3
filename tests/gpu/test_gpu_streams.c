/* test_gpu_streams.c - many streams at once on a real GPU: one column, once on the device, decoded by several threads, each with
 * streams, outputs, tables and status words of its own; different columns side by side; one batch on several streams; a spoilt
 * column beside good ones. Every round is compared byte for byte, and only the spoilt column's own status word may speak. Without a
 * GPU it is skipped. */
#include "device_run.h"
#include "gpu/batch.h"

#include <pthread.h>

enum { THREADS = 6, STREAMS = 2, CODECS = 3 };

/* A batch of one column with everything it needs. */
typedef struct lane {
    const sample *source;
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info;
    device_buffers buffers;
    int is_spoilt;
} lane;

/* What one thread does, and the first thing that went wrong. */
typedef struct worker {
    fastpair_gpu *gpu;
    lane lanes[STREAMS];
    int rounds, uploads; /* uploads: again in every round */
    pthread_barrier_t *together;
    uint32_t statuses; /* of a spoilt lane: how many rounds its status word spoke */
    const char *wrong;
    char said[sizeof((fastpair_error *)0)->message];
} worker;

static lane make_lane(fastpair_gpu *gpu, const sample *source, const uint64_t *image,
                      int regenerate) {
    fastpair_error error = {.message = ""};
    lane l = {.source = source, .info = {.struct_size = sizeof l.info}};
    const fastpair_column *column = source->column;
    fastpair_gpu_batch_options options = {
        .struct_size = sizeof options, .device_images = image, .regenerate_sidecar = regenerate};
    CHECK_EQ(fastpair_gpu_batch_create(gpu, &column, 1, &options, &l.batch, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_batch_get_info(l.batch, &l.info, &error), FASTPAIR_OK);
    CHECK_EQ(l.info.makes_positions, regenerate);
    l.buffers = make_buffers(gpu, &l.info, 1);
    CHECK_EQ(fastpair_gpu_batch_upload(l.batch, l.buffers.tables, l.info.device_bytes, 0,
                                       l.info.chunks, l.buffers.stream, &error),
             FASTPAIR_OK);
    device_ok(gpu, gpu->driver.stream_wait(l.buffers.stream));
    return l;
}

static void free_lane(fastpair_gpu *gpu, lane *l) {
    free_buffers(gpu, &l->buffers);
    fastpair_gpu_batch_free(l->batch);
}

/* Spoils the sidecar of a lane's first chunk, on the device. */
static void spoil(fastpair_gpu *gpu, lane *l) {
    const fp_batch_chunk *placed = &l->batch->chunks[0];
    const fp_section *section = &placed->chunk->sections[FP_SECTION_SIDECAR];
    device_ok(gpu, gpu->driver.fill(l->buffers.tables + placed->device_offset + section->offset -
                                        placed->first_section,
                                    0xff, section->size, l->buffers.stream));
    device_ok(gpu, gpu->driver.stream_wait(l->buffers.stream));
    l->is_spoilt = 1;
}

/* ---------------------------------------------------------------- threads */

/* Queues one decode: all chunks in one call, or in two; the upload before it, if asked for. */
static fastpair_status start(worker *w, lane *l, int round, fastpair_error *error) {
    const device_buffers *b = &l->buffers;
    fastpair_gpu_destination to = destination_in(b, l->info.output_bytes);
    uint64_t first = round % 2 ? l->info.chunks / 2 : 0;
    fastpair_status status = FASTPAIR_OK;
    if (w->gpu->driver.fill(b->output, 0xee, l->info.output_bytes, b->stream) ||
        w->gpu->driver.fill(b->status, 0, 4, b->stream))
        w->wrong = "filling the output";
    if (w->uploads)
        status = fastpair_gpu_batch_upload(l->batch, b->tables, l->info.device_bytes, 0,
                                           l->info.chunks, b->stream, error);
    if (!status && first)
        status = fastpair_gpu_batch_decode(l->batch, 0, first, &to, b->stream, error);
    if (!status)
        status = fastpair_gpu_batch_decode(l->batch, first, l->info.chunks - first, &to, b->stream,
                                           error);
    return status;
}

/* Waits for a decode; what is wrong with it, or NULL. */
static const char *finish(worker *w, const lane *l) {
    if (!l->is_spoilt) return compare_output(w->gpu, l->batch, l->source, 1, &l->buffers, 64);
    uint32_t word = 0;
    uint8_t guard[16];
    const fp_driver *d = &w->gpu->driver;
    if (d->copy_to_host(&word, l->buffers.status, 4, l->buffers.stream) ||
        d->copy_to_host(guard, l->buffers.output + l->info.output_bytes, 16, l->buffers.stream) ||
        d->stream_wait(l->buffers.stream))
        return "a copy to the host";
    w->statuses += word != 0;
    for (int i = 0; i < 16; i++)
        if (guard[i] != 0xee) return "bytes behind the output";
    return word ? NULL : "the spoilt column's status word";
}

static void *work(void *argument) {
    worker *w = argument;
    fastpair_error error = {.message = ""};
    int entered = fp_gpu_push(w->gpu, &error) == FASTPAIR_OK;
    if (!entered) w->wrong = "entering the context";
    for (int round = 0; round < w->rounds; round++) {
        pthread_barrier_wait(w->together);
        for (int i = 0; i < STREAMS && !w->wrong; i++)
            if (start(w, &w->lanes[i], round, &error)) w->wrong = "a status";
        for (int i = 0; i < STREAMS && !w->wrong; i++) w->wrong = finish(w, &w->lanes[i]);
    }
    memcpy(w->said, error.message, sizeof w->said);
    if (entered) fp_gpu_pop(w->gpu);
    return NULL;
}

static void run_workers(worker *workers, const char *what) {
    pthread_t threads[THREADS];
    pthread_barrier_t together;
    CHECK_EQ(pthread_barrier_init(&together, NULL, THREADS), 0);
    for (int t = 0; t < THREADS; t++) {
        workers[t].together = &together;
        if (pthread_create(&threads[t], NULL, work, &workers[t])) abort();
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        CHECK(workers[t].wrong == NULL);
        if (workers[t].wrong)
            fprintf(stderr, "  ^ %s, thread %d: %s %s\n", what, t, workers[t].wrong,
                    workers[t].said);
        check_passed += (unsigned long long)workers[t].rounds * STREAMS;
    }
    pthread_barrier_destroy(&together);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < STREAMS; i++) free_lane(workers[t].gpu, &workers[t].lanes[i]);
}

/* ---------------------------------------------------------------- cases */

/* The column's image is on the device once; the threads share it, and the open column. */
static void shared_column(fastpair_gpu *gpu, const sample *s, int regenerate, int rounds) {
    worker workers[THREADS] = {{0}};
    uint64_t image;
    device_ok(gpu, gpu->driver.allocate(&image, s->image_size));
    device_ok(gpu, gpu->driver.copy_to_device(image, s->image, s->image_size, NULL));
    device_ok(gpu, gpu->driver.stream_wait(NULL));
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){.gpu = gpu, .rounds = rounds};
        for (int i = 0; i < STREAMS; i++)
            workers[t].lanes[i] = make_lane(gpu, s, &image, regenerate);
    }
    printf("  one column: %s, %llu bytes, %llu chunks%s\n", workers[0].lanes[0].info.kernel,
           (unsigned long long)workers[0].lanes[0].info.output_bytes,
           (unsigned long long)workers[0].lanes[0].info.chunks, regenerate ? ", no sidecar" : "");
    run_workers(workers, "one column");
    gpu->driver.release(image);
}

static void different_columns(fastpair_gpu *gpu, const sample *samples, int rounds) {
    worker workers[THREADS] = {{0}};
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){.gpu = gpu, .rounds = rounds, .uploads = 1};
        for (int i = 0; i < STREAMS; i++)
            workers[t].lanes[i] = make_lane(gpu, &samples[(t + i) % CODECS], NULL, 0);
    }
    run_workers(workers, "different columns");
}

/* The first lane of the first thread is spoilt. */
static void spoilt_column(fastpair_gpu *gpu, const sample *samples, int spoilt, int rounds) {
    worker workers[THREADS] = {{0}};
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker){.gpu = gpu, .rounds = rounds};
        for (int i = 0; i < STREAMS; i++)
            workers[t].lanes[i] =
                make_lane(gpu, &samples[t + i ? (t + i) % CODECS : spoilt], NULL, 0);
    }
    spoil(gpu, &workers[0].lanes[0]);
    run_workers(workers, "a spoilt column");
    CHECK_EQ(workers[0].statuses, rounds);
}

/* One thread, one batch, several streams and outputs, all queued before the first is waited for. */
static void one_batch(fastpair_gpu *gpu, const sample *s, int rounds) {
    lane l = make_lane(gpu, s, NULL, 0);
    fastpair_error error = {.message = ""};
    device_buffers other[THREADS];
    for (int i = 0; i < THREADS; i++) other[i] = make_buffers(gpu, &l.info, 1);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < THREADS; i++) {
            fastpair_gpu_destination to = destination_in(&other[i], l.info.output_bytes);
            device_ok(
                gpu, gpu->driver.fill(other[i].output, 0xee, l.info.output_bytes, other[i].stream));
            CHECK_EQ(
                fastpair_gpu_batch_decode(l.batch, 0, l.info.chunks, &to, other[i].stream, &error),
                FASTPAIR_OK);
        }
        for (int i = 0; i < THREADS; i++) check_output(gpu, l.batch, s, 1, &other[i], 64);
    }
    for (int i = 0; i < THREADS; i++) free_buffers(gpu, &other[i]);
    free_lane(gpu, &l);
}

int main(void) {
    fastpair_gpu *gpu = open_or_skip();
    int is_small = getenv("FASTPAIR_TEST_SMALL") != NULL;
    uint64_t bytes = is_small ? 12000 : 3000000;
    int rounds = is_small ? 2 : 20, few = is_small ? 1 : 6;
    const fastpair_compress_options codecs[CODECS] = {
        {.struct_size = sizeof codecs[0], .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12},
        {.struct_size = sizeof codecs[0],
         .codec = FASTPAIR_CODEC_ONPAIR,
         .code_bits = 16,
         .hot_codes = 3000}, /* most codes are in shared memory, the others are fetched */
        {.struct_size = sizeof codecs[0], .codec = FASTPAIR_CODEC_FSST12},
    };
    sample samples[CODECS];
    for (int i = 0; i < CODECS; i++) {
        fastpair_compress_options options = codecs[i];
        uint64_t size = i == 1 ? 8 * bytes : bytes; /* as many as 16 bits take */
        options.chunk_bytes = size / 5;
        samples[i] = make_sample(i / 2, size, &options);
    }
    for (int i = 0; i < CODECS; i++) {
        shared_column(gpu, &samples[i], 0, i == 1 ? few : rounds);
        shared_column(gpu, &samples[i], 1, few); /* positions of each batch's own */
        one_batch(gpu, &samples[i], few);
        spoilt_column(gpu, samples, i, few);
    }
    different_columns(gpu, samples, few);
    CHECK(is_small || samples[1].column->dictionaries[0].dict.hot_slots > 0);
    for (int i = 0; i < CODECS; i++) free_sample(&samples[i]);
    fp_gpu_pop(gpu);
    fastpair_gpu_close(gpu);
    return check_done();
}
