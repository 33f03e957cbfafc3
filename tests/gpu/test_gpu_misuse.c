/* test_gpu_misuse.c - a real GPU whose contexts are in others' hands: memory and streams of the CUDA runtime, before and after the
 * library came; the device reset under an open GPU; a current context that is not the primary one; none at all; a first launch that
 * is captured in a graph. What the header promises: right bytes or a status, the current context as it was, the runtime none the
 * worse. Without a GPU it is skipped, and without libcudart the parts that need it.
 *
 *     test_gpu_misuse          every part, each in a process of its own
 *     test_gpu_misuse PART     one part here, under a sanitizer or a debugger */
#define _GNU_SOURCE

#include "device_job.h"
#include "gpu/batch.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---------------------------------------------------------------- parts: the runtime */

/* The runtime's own memory and work, which must stay as they are while the library comes and goes. */
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
    job j;
    job_open(&j, gpu, &s, &r);
    for (int round = 0; round < 3; round++) {
        /* On the runtime's stream, then on the default one, which waits for it. */
        CHECK_EQ(job_upload(&j, round ? NULL : j.buffers.stream), FASTPAIR_OK);
        CHECK_EQ(job_decode(&j, round == 1 ? NULL : j.buffers.stream), FASTPAIR_OK);
        CHECK_EQ(r.wait(), 0);
        job_compare(&j, &r);
        CHECK_EQ(r.last_error(), 0);
        CHECK_EQ(r.fill((void *)(uintptr_t)j.buffers.output, 0xee, j.info.output_bytes), 0);
    }
    job_free(&j, &r);
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
    free_sample(&s);
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
    job j;
    job_open(&j, gpu, &s, &r);
    CHECK_EQ(job_upload(&j, j.buffers.stream), FASTPAIR_OK);
    CHECK_EQ(job_decode(&j, j.buffers.stream), FASTPAIR_OK);
    job_compare(&j, &r);
    CHECK_EQ(r.reset(), 0);
    if (in_use_again) CHECK_EQ(r.allocate(&memory, 1 << 20), 0);
    CHECK_EQ(job_upload(&j, NULL), FASTPAIR_ERROR_UNSUPPORTED);
    printf("  after a reset: %s\n", j.error.message);
    CHECK(strstr(j.error.message, "open it again") != NULL);
    CHECK_EQ(job_decode(&j, NULL), FASTPAIR_ERROR_UNSUPPORTED);
    CHECK(strstr(j.error.message, "open it again") != NULL);
    CHECK_EQ(fastpair_gpu_get_info(gpu, &info, &j.error), FASTPAIR_OK);
    fastpair_gpu *again = must_open();
    CHECK_EQ(job_decode(&j, NULL), FASTPAIR_ERROR_UNSUPPORTED);
    job_free(&j, NULL); /* memory and stream went with the context */
    fastpair_gpu_close(gpu);
    job_open(&j, again, &s, &r);
    CHECK_EQ(job_upload(&j, j.buffers.stream), FASTPAIR_OK);
    CHECK_EQ(job_decode(&j, j.buffers.stream), FASTPAIR_OK);
    job_compare(&j, &r);
    job_free(&j, &r);
    fastpair_gpu_close(again);
    if (memory) CHECK_EQ(r.release(memory), 0);
    CHECK_EQ(r.wait(), 0);
    CHECK_EQ(r.last_error(), 0);
    free_sample(&s);
}

static void reset_and_idle(void) { reset_under(0); }
static void reset_and_used(void) { reset_under(1); }

/* ---------------------------------------------------------------- parts: contexts */

/* Calls of the driver that the library has no use for. */
typedef struct context_calls {
    fp_cu_result (*create)(fp_cu_context *, unsigned flags, fp_cu_device);
    fp_cu_result (*destroy)(fp_cu_context);
    fp_cu_result (*current)(fp_cu_context *);
} context_calls;

static context_calls find_calls(const fastpair_gpu *gpu) {
    context_calls c = {0};
    *(void **)(void *)&c.create = dlsym(gpu->driver.library, "cuCtxCreate_v2");
    *(void **)(void *)&c.destroy = dlsym(gpu->driver.library, "cuCtxDestroy_v2");
    *(void **)(void *)&c.current = dlsym(gpu->driver.library, "cuCtxGetCurrent");
    CHECK(c.create && c.destroy && c.current);
    return c;
}

static void check_current(const context_calls *c, fp_cu_context expected) {
    fp_cu_context current = NULL;
    CHECK_EQ(c->current(&current), 0);
    CHECK(current == expected);
}

/* Everything the library does, with `current` the calling thread's context throughout. */
static void whole_flow(const sample *s, const context_calls *c, fastpair_gpu *lender,
                       fp_cu_context current) {
    fastpair_gpu *gpu = must_open();
    check_current(c, current);
    job j;
    /* The caller's memory and stream are the primary context's. */
    CHECK_EQ(fp_gpu_push(lender, NULL), FASTPAIR_OK);
    job_open(&j, gpu, s, NULL);
    device_ok(gpu, gpu->driver.stream_wait(j.buffers.stream));
    fp_gpu_pop(lender);
    for (int round = 0; round < 2; round++) {
        fp_cu_stream stream = round ? NULL : j.buffers.stream;
        CHECK_EQ(job_upload(&j, stream), FASTPAIR_OK);
        check_current(c, current);
        CHECK_EQ(job_decode(&j, stream), FASTPAIR_OK);
        check_current(c, current);
        CHECK_EQ(fp_gpu_push(lender, NULL), FASTPAIR_OK);
        device_ok(gpu, gpu->driver.stream_wait(stream));
        check_output(gpu, j.batch, s, 1, &j.buffers, 64);
        device_ok(gpu, gpu->driver.fill(j.buffers.output, 0xee, j.info.output_bytes, NULL));
        device_ok(gpu, gpu->driver.stream_wait(NULL));
        fp_gpu_pop(lender);
    }
    CHECK_EQ(fp_gpu_push(lender, NULL), FASTPAIR_OK);
    job_free(&j, NULL);
    fp_gpu_pop(lender);
    fastpair_gpu_close(gpu);
    check_current(c, current);
}

/* A stream of another context: a status, or the right bytes; the GPU stays usable. */
static void foreign_stream(const sample *s, fastpair_gpu *gpu, fp_cu_context other) {
    fp_cu_stream stream = NULL;
    job j;
    CHECK_EQ(fp_gpu_push(gpu, NULL), FASTPAIR_OK);
    job_open(&j, gpu, s, NULL);
    CHECK_EQ(job_upload(&j, j.buffers.stream), FASTPAIR_OK);
    device_ok(gpu, gpu->driver.stream_wait(j.buffers.stream));
    device_ok(gpu, gpu->driver.context_push(other));
    device_ok(gpu, gpu->driver.stream_create(&stream, 1));
    fastpair_status status = job_decode(&j, stream);
    printf("  a stream of another context: %s\n", status ? j.error.message : "accepted");
    if (status)
        CHECK(status == FASTPAIR_ERROR_UNSUPPORTED && strstr(j.error.message, "primary context"));
    device_ok(gpu, gpu->driver.stream_wait(stream));
    device_ok(gpu, gpu->driver.stream_destroy(stream));
    fp_gpu_pop(gpu);
    if (!status) check_output(gpu, j.batch, s, 1, &j.buffers, 64);
    CHECK_EQ(job_decode(&j, j.buffers.stream), FASTPAIR_OK);
    check_output(gpu, j.batch, s, 1, &j.buffers, 64);
    job_free(&j, NULL);
    fp_gpu_pop(gpu);
}

static void other_context(void) {
    sample s = make_column();
    fastpair_gpu *gpu = must_open();
    context_calls c = find_calls(gpu);
    fp_cu_context other = NULL;
    device_ok(gpu, c.create(&other, 0, gpu->device));
    check_current(&c, other);
    whole_flow(&s, &c, gpu, other);
    foreign_stream(&s, gpu, other);
    check_current(&c, other);
    device_ok(gpu, c.destroy(other));
    fastpair_gpu_close(gpu);
    free_sample(&s);
}

typedef struct bare_thread {
    const sample *s;
    const context_calls *c;
    fastpair_gpu *gpu;
} bare_thread;

static void *in_thread(void *argument) {
    const bare_thread *t = argument;
    whole_flow(t->s, t->c, t->gpu, NULL);
    return NULL;
}

/* Nothing is current: on the thread that opened the GPU, and on one that never heard of it. */
static void no_context(void) {
    sample s = make_column();
    fastpair_gpu *gpu = must_open();
    context_calls c = find_calls(gpu);
    check_current(&c, NULL);
    whole_flow(&s, &c, gpu, NULL);
    bare_thread t = {&s, &c, gpu};
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, &t)) abort();
    pthread_join(thread, NULL);
    fastpair_gpu_close(gpu);
    free_sample(&s);
}

/* A GPU's very first launch is one that is captured: drivers load kernels late. */
static void capture_first(void) {
    sample s = make_column();
    fastpair_gpu *gpu = must_open();
    fp_cu_graph graph = NULL, instance = NULL;
    job j;
    CHECK_EQ(fp_gpu_push(gpu, NULL), FASTPAIR_OK);
    job_open(&j, gpu, &s, NULL);
    CHECK_EQ(job_upload(&j, j.buffers.stream), FASTPAIR_OK);
    device_ok(gpu, gpu->driver.stream_wait(j.buffers.stream));
    device_ok(gpu, gpu->driver.capture_begin(j.buffers.stream, 0 /* the strictest */));
    CHECK_EQ(job_decode(&j, j.buffers.stream), FASTPAIR_OK);
    device_ok(gpu, gpu->driver.capture_end(j.buffers.stream, &graph));
    device_ok(gpu, gpu->driver.graph_instantiate(&instance, graph, 0));
    device_ok(gpu, gpu->driver.graph_launch(instance, j.buffers.stream));
    check_output(gpu, j.batch, &s, 1, &j.buffers, 64);
    gpu->driver.graph_instance_destroy(instance);
    gpu->driver.graph_destroy(graph);
    job_free(&j, NULL);
    fp_gpu_pop(gpu);
    fastpair_gpu_close(gpu);
    free_sample(&s);
}

/* ---------------------------------------------------------------- all parts */

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"no_context", no_context},         {"other_context", other_context},
             {"runtime_first", runtime_first},   {"library_first", library_first},
             {"reset_and_idle", reset_and_idle}, {"reset_and_used", reset_and_used},
             {"capture_first", capture_first}};

/* One part in a process of its own: what CUDA keeps for each process must be new. */
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

/* Why there is no GPU; found out in another process, so that this one never starts the driver. */
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
