/* test_gpu_streams.c - many streams at once on a real GPU: one column, once on the device, decoded
 * by several threads, each with streams, outputs, memory and status words of its own; different
 * columns side by side; one job on several streams; a spoilt column beside good ones. Every round
 * is compared byte for byte, and only the spoilt column's own status word may speak. Without a GPU
 * it is skipped. */
#include "device_run.h"

#include <pthread.h>

enum { THREADS = 6, STREAMS = 2, CODECS = 4 };

/* A job of one column with everything it needs. */
typedef struct track {
    device_run run;
    int is_spoilt;
} track;

/* What one thread does, and the first thing that went wrong. */
typedef struct worker {
    track tracks[STREAMS];
    int rounds;
    /* 1: uploads again in every round. */
    int uploads;
    pthread_barrier_t *together;
    /* Of a spoilt track: how many rounds its status word spoke. */
    uint32_t statuses;
    const char *wrong;
    char said[sizeof((fastpair_error *)0)->message];
} worker;

static fastpair_gpu *gpu;
static cuda_driver cuda;

static track track_open(const sample *source, const uint64_t *image, int regenerate) {
    track t = {.is_spoilt = 0};
    fastpair_gpu_job_options options = all_outputs;
    options.device_images = image, options.regenerate_positions = regenerate;
    CHECK_EQ(run_open_job(&t.run, &cuda, gpu, source, 1, &options), FASTPAIR_OK);
    CHECK_EQ(t.run.info.regenerates_positions, regenerate);
    run_allocate(&t.run);
    CHECK_EQ(run_upload(&t.run, NULL, t.run.outputs.stream), FASTPAIR_OK);
    device_ok(&cuda, cuda.stream_wait(t.run.outputs.stream));
    return t;
}

/* ---------------------------------------------------------------- threads */

/* Queues one decode: all chunks in one call, or in two; the upload before it, if asked for. */
static fastpair_status start(const worker *w, track *t, int round) {
    device_run *run = &t->run;
    cuda_stream stream = run->outputs.stream;
    uint64_t half = round % 2 ? run->info.chunks / 2 : 0;
    fastpair_gpu_range first = {0, half}, second = {half, run->info.chunks - half};
    fastpair_status status =
        cuda_status(&cuda, outputs_clear(run, &run->outputs), "clearing", &run->error);
    if (!status && w->uploads) status = run_upload(run, NULL, stream);
    if (!status && half) status = run_decode(run, &first, stream);
    return status ? status : run_decode(run, &second, stream);
}

/* Waits for a decode; what is wrong with it, or NULL. */
static const char *finish(worker *w, const track *t) {
    const fastpair_gpu_output *to = t->run.outputs.to;
    cuda_stream stream = t->run.outputs.stream;
    if (!t->is_spoilt) return outputs_compare(&t->run, &t->run.outputs);
    uint32_t word = 0;
    uint8_t guard[GUARD];
    if (cuda.copy_to_host(&word, to->status, 4, stream) ||
        cuda.copy_to_host(guard, to->bytes + to->bytes_capacity, GUARD, stream) ||
        cuda.stream_wait(stream))
        return "a copy to the host";
    w->statuses += word != 0;
    if (!guard_holds(guard)) return "bytes after the output";
    return word ? NULL : "the spoilt column's status word";
}

static void *work(void *argument) {
    worker *w = argument;
    void *popped;
    int entered = cuda.context_push(cuda.context) == 0;
    if (!entered) w->wrong = "entering the context";
    for (int round = 0; round < w->rounds; round++) {
        pthread_barrier_wait(w->together);
        for (int i = 0; i < STREAMS && !w->wrong; i++)
            if (start(w, &w->tracks[i], round)) {
                w->wrong = "a status";
                memcpy(w->said, w->tracks[i].run.error.message, sizeof w->said);
            }
        for (int i = 0; i < STREAMS && !w->wrong; i++) w->wrong = finish(w, &w->tracks[i]);
    }
    if (entered) cuda.context_pop(&popped);
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
        for (int i = 0; i < STREAMS; i++) run_close(&workers[t].tracks[i].run);
}

/* ---------------------------------------------------------------- cases */

/* The column's image is on the device once; the threads share it, and the open column. */
static void shared_column(const sample *s, int regenerate, int rounds) {
    worker workers[THREADS] = {{.rounds = 0}};
    uint64_t image = device_block(&cuda, s->image_size);
    device_ok(&cuda, cuda.copy_to_device(image, s->image, s->image_size, NULL));
    device_ok(&cuda, cuda.stream_wait(NULL));
    for (int t = 0; t < THREADS; t++) {
        workers[t].rounds = rounds;
        for (int i = 0; i < STREAMS; i++) workers[t].tracks[i] = track_open(s, &image, regenerate);
    }
    const fastpair_gpu_job_info *info = &workers[0].tracks[0].run.info;
    printf("  one column: %s, %llu bytes, %llu chunks%s\n", info->kernel,
           (unsigned long long)info->decoded_bytes, (unsigned long long)info->chunks,
           regenerate ? ", no sidecar" : "");
    run_workers(workers, "one column");
    device_ok(&cuda, cuda.release(image));
}

static void different_columns(const sample *samples, int rounds) {
    worker workers[THREADS] = {{.rounds = 0}};
    for (int t = 0; t < THREADS; t++) {
        workers[t].rounds = rounds, workers[t].uploads = 1;
        for (int i = 0; i < STREAMS; i++)
            workers[t].tracks[i] = track_open(&samples[(t + i) % CODECS], NULL, 0);
    }
    run_workers(workers, "different columns");
}

/* The first track of the first thread is spoilt. */
static void spoilt_column(const sample *samples, int spoilt, int rounds) {
    worker workers[THREADS] = {{.rounds = 0}};
    for (int t = 0; t < THREADS; t++) {
        workers[t].rounds = rounds;
        for (int i = 0; i < STREAMS; i++)
            workers[t].tracks[i] = track_open(&samples[t + i ? (t + i) % CODECS : spoilt], NULL, 0);
    }
    track *bad = &workers[0].tracks[0];
    run_spoil(&bad->run, 0, FP_SECTION_SIDECAR, 0xff);
    device_ok(&cuda, cuda.stream_wait(bad->run.outputs.stream));
    bad->is_spoilt = 1;
    run_workers(workers, "a spoilt column");
    CHECK_EQ(workers[0].statuses, rounds);
}

/* One thread, one job, several streams and outputs, all queued before the first is waited for. */
static void one_job(const sample *s, int rounds) {
    track t = track_open(s, NULL, 0);
    device_outputs other[THREADS];
    for (int i = 0; i < THREADS; i++) other[i] = outputs_open(&t.run);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < THREADS; i++) {
            device_ok(&cuda, outputs_clear(&t.run, &other[i]));
            CHECK_EQ(fastpair_gpu_job_decode(t.run.job, other[i].to, NULL, other[i].stream,
                                             &t.run.error),
                     FASTPAIR_OK);
        }
        for (int i = 0; i < THREADS; i++) CHECK(outputs_compare(&t.run, &other[i]) == NULL);
    }
    for (int i = 0; i < THREADS; i++) outputs_close(&t.run, &other[i]);
    run_close(&t.run);
}

int main(void) {
    gpu = open_or_skip(&cuda);
    int is_small = getenv("FASTPAIR_TEST_SMALL") != NULL;
    uint64_t bytes = is_small ? 12000 : 3000000;
    int rounds = is_small ? 2 : 20, few = is_small ? 1 : 6;
    /* With a hot part most codes are in shared memory, the others are fetched. */
    const fastpair_compress_options codecs[CODECS] = {
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16, .expert = EXPERT(.hot_codes = 3000)},
        {.codec = FASTPAIR_CODEC_FSST12},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .max_token = 64}};
    sample samples[CODECS];
    for (int i = 0; i < CODECS; i++) {
        fastpair_compress_options options = codecs[i];
        uint64_t size = i == 1 ? 8 * bytes : bytes; /* as many as 16 bits take */
        options.struct_size = sizeof options;
        options.chunk_bytes = size / 5;
        samples[i] = sample_open(i == 2 ? PS_COMMENT : L_COMMENT, size, &options);
    }
    for (int i = 0; i < CODECS; i++) {
        shared_column(&samples[i], 0, i == 1 ? few : rounds);
        shared_column(&samples[i], 1, few); /* positions of each job's own */
        one_job(&samples[i], few);
        spoilt_column(samples, i, few);
    }
    different_columns(samples, few);
    CHECK(is_small || samples[1].column->dictionaries[0].dict.hot_slots > 0);
    for (int i = 0; i < CODECS; i++) sample_close(&samples[i]);
    close_both(gpu, &cuda);
    return check_done();
}
