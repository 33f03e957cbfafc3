/* test_gpu_misuse.c - a real GPU whose contexts are in others' hands. Memory and streams of the
 * CUDA runtime, before and after the library came; the device reset under an open GPU; a current
 * context that is not the primary one; no current context; a first launch that is captured in a
 * graph. What the header promises: right bytes or a status, the current context as it was, the
 * runtime none the worse. Without a GPU the test is skipped, and without libcudart the parts that
 * need it.
 *
 *     test_gpu_misuse          every part, each in a process of its own
 *     test_gpu_misuse PART     one part here, under a sanitizer or a debugger */
#define _GNU_SOURCE

#include "device_job.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static sample make_column(void) {
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 10000};
    return sample_open(PS_COMMENT, getenv("FASTPAIR_TEST_SMALL") ? 30000 : 1000000, &options);
}

static fastpair_gpu *must_open(void) {
    fastpair_error error = {.message = ""};
    fastpair_gpu *gpu = NULL;
    CHECK_EQ(fastpair_gpu_open(NULL, &gpu, &error), FASTPAIR_OK);
    if (gpu) return gpu;
    fprintf(stderr, "  ^ %s\n", error.message);
    exit(check_done());
}

/* ---------------------------------------------------------------- parts: the runtime */

/* The runtime's own memory and work, which must stay as they are while the library comes and
 * goes. */
static void runtime_beside(int library_first) {
    runtime r;
    if (!runtime_open(&r)) exit(SKIPPED);
    sample s = make_column();
    uint8_t mine[4096], back[4096] = {0};
    void *kept = NULL;
    for (size_t i = 0; i < sizeof mine; i++) mine[i] = (uint8_t)(i * 7);
    fastpair_gpu *gpu = library_first ? must_open() : NULL;
    CHECK_EQ(r.allocate(&kept, sizeof mine), 0);
    CHECK_EQ(r.copy(kept, mine, sizeof mine, TO_DEVICE), 0);
    if (!gpu) gpu = must_open();
    device_run run;
    runtime_run_open(&run, gpu, &s, &r);
    for (int round = 0; round < 3; round++) {
        /* On the runtime's stream, then on the default one, which waits for it. */
        CHECK_EQ(run_upload(&run, NULL, round ? NULL : run.outputs.stream), FASTPAIR_OK);
        CHECK_EQ(run_decode(&run, NULL, round == 1 ? NULL : run.outputs.stream), FASTPAIR_OK);
        CHECK_EQ(r.wait(), 0);
        runtime_run_check(&run, &r);
        CHECK_EQ(r.last_error(), 0);
    }
    runtime_run_close(&run, &r);
    fastpair_gpu_close(gpu);
    /* The context is the runtime's, too, and outlives the library. */
    CHECK_EQ(r.copy(back, kept, sizeof back, TO_HOST), 0);
    CHECK(memcmp(mine, back, sizeof mine) == 0);
    CHECK_EQ(r.wait(), 0);
    CHECK_EQ(r.last_error(), 0);
    gpu = must_open();
    fastpair_gpu_close(gpu);
    CHECK_EQ(r.release(kept), 0);
    CHECK_EQ(r.last_error(), 0);
    sample_close(&s);
}

static void runtime_first(void) { runtime_beside(0); }
static void library_first(void) { runtime_beside(1); }

/* Handles from before a reset are refused, and given back without harm. */
static void reset_under(int in_use_again) {
    runtime r;
    void *memory = NULL;
    if (!runtime_open(&r)) exit(SKIPPED);
    sample s = make_column();
    CHECK_EQ(r.release(NULL), 0);
    fastpair_gpu *gpu = must_open();
    fastpair_gpu_info info = {.struct_size = sizeof info};
    device_run run;
    runtime_run_open(&run, gpu, &s, &r);
    CHECK_EQ(run_upload(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    runtime_run_check(&run, &r);
    CHECK_EQ(r.reset(), 0);
    if (in_use_again) CHECK_EQ(r.allocate(&memory, 1 << 20), 0);
    CHECK_EQ(run_upload(&run, NULL, NULL), FASTPAIR_ERROR_UNSUPPORTED);
    printf("  after a reset: %s\n", run.error.message);
    CHECK(strstr(run.error.message, "open it again") != NULL);
    CHECK_EQ(run_decode(&run, NULL, NULL), FASTPAIR_ERROR_UNSUPPORTED);
    CHECK(strstr(run.error.message, "open it again") != NULL);
    CHECK_EQ(fastpair_gpu_get_info(gpu, &info, &run.error), FASTPAIR_OK);
    fastpair_gpu *again = must_open();
    CHECK_EQ(run_decode(&run, NULL, NULL), FASTPAIR_ERROR_UNSUPPORTED);
    runtime_run_close(&run, NULL);
    fastpair_gpu_close(gpu);
    runtime_run_open(&run, again, &s, &r);
    CHECK_EQ(run_upload(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    runtime_run_check(&run, &r);
    runtime_run_close(&run, &r);
    fastpair_gpu_close(again);
    if (memory) CHECK_EQ(r.release(memory), 0);
    CHECK_EQ(r.wait(), 0);
    CHECK_EQ(r.last_error(), 0);
    sample_close(&s);
}

static void reset_and_idle(void) { reset_under(0); }
static void reset_and_used(void) { reset_under(1); }

/* ---------------------------------------------------------------- parts: contexts */

/* Calls of the driver that neither the library nor programs have a use for. */
typedef struct context_calls {
    int (*open)(void **context, unsigned flags, int device);
    int (*close)(void *context);
    int (*current)(void **context);
} context_calls;

/* The driver with nothing current on this thread: enter and leave are for the test's own calls. */
static context_calls open_driver(cuda_driver *cuda) {
    fastpair_error error = {.message = ""};
    context_calls c = {0};
    void *popped;
    CHECK_EQ(cuda_open(cuda, 0, &error), FASTPAIR_OK);
    if (!cuda->context) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    device_ok(cuda, cuda->context_pop(&popped));
    *(void **)(void *)&c.open = dlsym(cuda->library, "cuCtxCreate_v2");
    *(void **)(void *)&c.close = dlsym(cuda->library, "cuCtxDestroy_v2");
    *(void **)(void *)&c.current = dlsym(cuda->library, "cuCtxGetCurrent");
    CHECK(c.open && c.close && c.current);
    return c;
}

static void enter(const cuda_driver *cuda) { device_ok(cuda, cuda->context_push(cuda->context)); }

static void leave(const cuda_driver *cuda) {
    void *popped;
    device_ok(cuda, cuda->context_pop(&popped));
}

static void close_driver(cuda_driver *cuda) {
    enter(cuda);
    cuda_close(cuda);
}

static void check_current(const context_calls *c, const void *expected) {
    void *current = NULL;
    CHECK_EQ(c->current(&current), 0);
    CHECK(current == expected);
}

/* Everything the library does, with `current` the calling thread's context throughout. The caller's
 * memory and stream are the primary context's. */
static void whole_flow(const sample *s, const context_calls *c, const cuda_driver *cuda,
                       const void *current) {
    fastpair_gpu *gpu = must_open();
    check_current(c, current);
    device_run run;
    CHECK_EQ(run_open_job(&run, cuda, gpu, s, 1, &all_outputs), FASTPAIR_OK);
    check_current(c, current);
    enter(cuda);
    run_allocate(&run);
    device_ok(cuda, cuda->stream_wait(run.outputs.stream));
    leave(cuda);
    for (int round = 0; round < 2; round++) {
        cuda_stream stream = round ? NULL : run.outputs.stream;
        CHECK_EQ(run_upload(&run, NULL, stream), FASTPAIR_OK);
        check_current(c, current);
        CHECK_EQ(run_decode(&run, NULL, stream), FASTPAIR_OK);
        check_current(c, current);
        enter(cuda);
        device_ok(cuda, cuda->stream_wait(stream));
        run_check(&run);
        device_ok(cuda, outputs_clear(&run, &run.outputs));
        device_ok(cuda, cuda->stream_wait(run.outputs.stream));
        leave(cuda);
    }
    enter(cuda);
    run_close(&run);
    leave(cuda);
    fastpair_gpu_close(gpu);
    check_current(c, current);
}

/* A stream of another context: a status, or the right bytes. The GPU stays usable. */
static void foreign_stream(const sample *s, fastpair_gpu *gpu, const cuda_driver *cuda,
                           void *other) {
    cuda_stream stream = NULL;
    device_run run;
    enter(cuda);
    CHECK_EQ(run_open_job(&run, cuda, gpu, s, 1, &all_outputs), FASTPAIR_OK);
    run_allocate(&run);
    CHECK_EQ(run_upload(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    device_ok(cuda, cuda->stream_wait(run.outputs.stream));
    device_ok(cuda, cuda->context_push(other));
    device_ok(cuda, cuda->stream_open(&stream, CUDA_STREAM_INDEPENDENT));
    fastpair_status status = run_decode(&run, NULL, stream);
    printf("  a stream of another context: %s\n", status ? run.error.message : "accepted");
    if (status)
        CHECK(status == FASTPAIR_ERROR_UNSUPPORTED && strstr(run.error.message, "primary context"));
    device_ok(cuda, cuda->stream_wait(stream));
    device_ok(cuda, cuda->stream_close(stream));
    leave(cuda);
    if (!status) run_check(&run);
    CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    run_check(&run);
    run_close(&run);
    leave(cuda);
}

static void other_context(void) {
    sample s = make_column();
    fastpair_gpu *gpu = must_open();
    cuda_driver cuda;
    context_calls c = open_driver(&cuda);
    void *other = NULL;
    device_ok(&cuda, c.open(&other, 0, cuda.device));
    check_current(&c, other);
    whole_flow(&s, &c, &cuda, other);
    foreign_stream(&s, gpu, &cuda, other);
    check_current(&c, other);
    device_ok(&cuda, c.close(other));
    close_driver(&cuda);
    fastpair_gpu_close(gpu);
    sample_close(&s);
}

typedef struct bare_thread {
    const sample *s;
    const context_calls *c;
    const cuda_driver *cuda;
} bare_thread;

static void *in_thread(void *argument) {
    const bare_thread *t = argument;
    whole_flow(t->s, t->c, t->cuda, NULL);
    return NULL;
}

/* Nothing is current: on the thread that opened the GPU, and on one that never heard of it. */
static void no_context(void) {
    sample s = make_column();
    fastpair_gpu *gpu = must_open();
    cuda_driver cuda;
    context_calls c = open_driver(&cuda);
    check_current(&c, NULL);
    whole_flow(&s, &c, &cuda, NULL);
    bare_thread t = {&s, &c, &cuda};
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, &t)) abort();
    pthread_join(thread, NULL);
    close_driver(&cuda);
    fastpair_gpu_close(gpu);
    sample_close(&s);
}

/* A GPU's very first launch is one that is captured: drivers load kernels late. */
static void capture_first(void) {
    sample s = make_column();
    cuda_driver cuda;
    fastpair_gpu *gpu = open_or_skip(&cuda);
    cuda_graph graph = NULL, instance = NULL;
    device_run run;
    CHECK_EQ(run_open_job(&run, &cuda, gpu, &s, 1, &all_outputs), FASTPAIR_OK);
    run_allocate(&run);
    CHECK_EQ(run_upload(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    device_ok(&cuda, cuda.stream_wait(run.outputs.stream));
    device_ok(&cuda, cuda.capture_begin(run.outputs.stream, 0 /* the strictest */));
    CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    device_ok(&cuda, cuda.capture_end(run.outputs.stream, &graph));
    device_ok(&cuda, cuda.graph_instantiate(&instance, graph, 0));
    device_ok(&cuda, cuda.graph_launch(instance, run.outputs.stream));
    run_check(&run);
    device_ok(&cuda, cuda.graph_instance_close(instance));
    device_ok(&cuda, cuda.graph_close(graph));
    run_close(&run);
    close_both(gpu, &cuda);
    sample_close(&s);
}

/* ---------------------------------------------------------------- all parts */

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"no_context", no_context},         {"other_context", other_context},
             {"runtime_first", runtime_first},   {"library_first", library_first},
             {"reset_and_idle", reset_and_idle}, {"reset_and_used", reset_and_used},
             {"capture_first", capture_first}};

/* One part in a process of its own: what CUDA keeps per process must be new. */
static void run_part(const char *program, const char *name) {
    fflush(NULL);
    printf("%s\n", name);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", program, name, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        printf("  skipped: no libcudart; FASTPAIR_CUDART names it\n");
    else
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (WIFSIGNALED(status)) fprintf(stderr, "  ^ %s: signal %d\n", name, WTERMSIG(status));
}

/* Whether there is a GPU; if not, says why. Another process finds out, so that this one never
 * starts the driver. */
static int has_gpu(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fastpair_error error = {.message = ""};
        fastpair_gpu *gpu;
        fastpair_status status = fastpair_gpu_open(NULL, &gpu, &error);
        if (status) printf("skipped: %s\n", error.message);
        fflush(NULL);
        _exit(status != FASTPAIR_OK);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv) {
    if (argc < 2 && !has_gpu()) return getenv("FASTPAIR_TEST_GPU") ? 1 : SKIPPED;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc < 2)
            run_part(argv[0], parts[i].name);
        else if (strcmp(argv[1], parts[i].name) == 0)
            parts[i].run();
    return check_done();
}
