/* fake_memory.c - what a program gets from the made-up driver and has to give back: memory,
 * streams, events, graphs, modules.
 *
 * Device memory is host memory, copies are memcpy, streams run at once. Work on a stream that is
 * being captured is kept instead, and done when its graph is launched. FAKE_CUDA_MEMORY is the
 * device's memory in bytes. Processes that one process starts share its device: the count of bytes
 * taken is in a file without a name, whose descriptor is in FAKE_CUDA_USED. */
#define _GNU_SOURCE

#include "fake_cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct thing {
    fake_kind kind;
    void *handle;
    size_t size;
    fp_cu_context context;
} thing;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static thing things[8192];
static int thing_count;

/* ---------------------------------------------------------------- how much there is */

static _Atomic long long *used; /* by all processes */
static _Atomic long long used_here;
static long long most;

static void find_used(void) {
    const char *limit = getenv("FAKE_CUDA_MEMORY"), *descriptor = getenv("FAKE_CUDA_USED");
    if (used || !limit) return;
    int fd = descriptor ? atoi(descriptor) : memfd_create("used", 0);
    if (fd < 0 || (!descriptor && ftruncate(fd, 8))) abort();
    used = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (used == MAP_FAILED) abort();
    char text[12];
    snprintf(text, sizeof text, "%d", fd);
    setenv("FAKE_CUDA_USED", text, 1);
    most = atoll(limit);
}

int fake_take(long long bytes) {
    find_used();
    if (!used) return 1;
    if (atomic_fetch_add(used, bytes) + bytes > most && bytes > 0)
        return atomic_fetch_sub(used, bytes), 0;
    atomic_fetch_add(&used_here, bytes);
    return 1;
}

/* A process that ends gives everything back. */
__attribute__((destructor)) static void at_the_end(void) {
    if (used) atomic_fetch_sub(used, atomic_load(&used_here));
}

static int is_on_device(fake_kind kind) { return kind == FAKE_MEMORY || kind == FAKE_MODULE; }

/* ---------------------------------------------------------------- what there is */

fp_cu_result fake_make(fake_kind kind, size_t size, void **handle) {
    size_t room = (size + 256) / 256 * 256;
    void *memory = NULL;
    *handle = NULL;
    if (size > (size_t)1 << 40 || (is_on_device(kind) && !fake_take((long long)room)))
        return OUT_OF_MEMORY;
    /* Not a byte more than was asked for, so that sanitizers see what lies past it. */
    if (posix_memalign(&memory, 256, size ? size : 1)) memory = NULL;
    pthread_mutex_lock(&lock);
    if (memory && thing_count < (int)(sizeof things / sizeof *things)) {
        things[thing_count++] = (thing){kind, memory, size, fake_current()};
        *handle = memset(memory, 0, size);
    }
    pthread_mutex_unlock(&lock);
    if (*handle) return 0;
    if (is_on_device(kind)) fake_take(-(long long)room);
    free(memory);
    return OUT_OF_MEMORY;
}

/* With the lock held. */
static void drop_at(int i) {
    if (is_on_device(things[i].kind)) fake_take(-(long long)((things[i].size + 256) / 256 * 256));
    free(things[i].handle);
    things[i] = things[--thing_count];
}

fp_cu_result fake_drop(fake_kind kind, void *handle) {
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < thing_count && (things[i].kind != kind || things[i].handle != handle)) i++;
    int found = i < thing_count;
    if (found) drop_at(i);
    pthread_mutex_unlock(&lock);
    return found ? 0 : INVALID_VALUE;
}

void fake_drop_all_of(fp_cu_context context) {
    pthread_mutex_lock(&lock);
    for (int i = thing_count - 1; i >= 0; i--)
        if (things[i].context == context) drop_at(i);
    pthread_mutex_unlock(&lock);
}

long fake_things(void) { return thing_count; }

void *fake_find(fake_kind kind, const void *address, fp_cu_context *context) {
    void *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < thing_count && !found; i++) {
        uintptr_t begin = (uintptr_t)things[i].handle, at = (uintptr_t)address;
        if (things[i].kind != kind || at < begin || at >= begin + things[i].size) continue;
        found = things[i].handle;
        if (context) *context = things[i].context;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void fake_each_memory(void (*each)(const void *memory, size_t size)) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < thing_count; i++)
        if (things[i].kind == FAKE_MEMORY) each(things[i].handle, things[i].size);
    pthread_mutex_unlock(&lock);
}

/* ---------------------------------------------------------------- work that graphs keep */

enum { MOST_CAPTURES = 8 };

/* A copy, a fill or a launch, and after it the launch's parameter. */
typedef struct kept {
    void *to;
    const void *from; /* NULL: a fill */
    size_t size;
    int value;
    fake_launch launch; /* unless its symbol is NULL */
    size_t parameter_bytes;
} kept;

/* Works one after the other; a graph is the same bytes, its own size first. */
typedef struct capture {
    cuda_stream stream;
    size_t *bytes;
} capture;

static capture captures[MOST_CAPTURES]; /* with the lock held */

static capture *capture_of(cuda_stream stream) {
    for (int i = 0; stream && i < MOST_CAPTURES; i++)
        if (captures[i].stream == stream) return &captures[i];
    return NULL;
}

/* Keeps a work if its stream is being captured; returns whether it is. */
static int keep(cuda_stream stream, const kept *work, const void *parameter) {
    pthread_mutex_lock(&lock);
    capture *c = capture_of(stream);
    if (c) {
        size_t room = (work->parameter_bytes + 15) / 16 * 16, size = c->bytes[0];
        c->bytes = realloc(c->bytes, size + sizeof *work + room);
        if (!c->bytes) abort();
        memcpy((uint8_t *)c->bytes + size, work, sizeof *work);
        if (parameter)
            memcpy((uint8_t *)c->bytes + size + sizeof *work, parameter, work->parameter_bytes);
        c->bytes[0] = size + sizeof *work + room;
    }
    pthread_mutex_unlock(&lock);
    return c != NULL;
}

fp_cu_result fake_queue(const fake_launch *launch, cuda_stream stream) {
    enum { EXTRA_BUFFER = 1, EXTRA_SIZE = 3 }; /* places in what cuLaunchKernel is given */
    kept work = {.launch = *launch};
    if (launch->extra) work.parameter_bytes = *(const size_t *)launch->extra[EXTRA_SIZE];
    if (!keep(stream, &work, launch->extra ? launch->extra[EXTRA_BUFFER] : NULL))
        return fake_run(launch);
    return launch->extra ? 0 : INVALID_VALUE; /* of a parameter's size nothing is known here */
}

static fp_cu_result do_kept(kept *work, void *parameter) {
    void *extra[] = {(void *)1, parameter, (void *)2, &work->parameter_bytes, NULL};
    if (work->launch.symbol) {
        work->launch.extra = extra;
        return fake_run(&work->launch);
    }
    if (work->from)
        memcpy(work->to, work->from, work->size);
    else
        memset(work->to, work->value, work->size);
    return 0;
}

/* At once, or with the graph that is being captured. */
static fp_cu_result copy_or_fill(kept work, cuda_stream stream) {
    return keep(stream, &work, NULL) ? 0 : do_kept(&work, NULL);
}

static void *pointer_to(fp_cu_pointer memory) { return (void *)(uintptr_t)memory; }

/* ---------------------------------------------------------------- memory */

CALL(cuMemAlloc_v2)(fp_cu_pointer *memory, size_t size) {
    FAULT_OR_GO("cuMemAlloc_v2");
    void *block;
    fp_cu_result result = fake_make(FAKE_MEMORY, size, &block);
    *memory = (fp_cu_pointer)(uintptr_t)block;
    return result;
}

CALL(cuMemFree_v2)(fp_cu_pointer memory) {
    fp_cu_result result = fake_drop(FAKE_MEMORY, (void *)(uintptr_t)memory);
    FAULT_OR_GO("cuMemFree_v2");
    return result;
}

CALL(cuMemAllocHost_v2)(void **memory, size_t size) {
    FAULT_OR_GO("cuMemAllocHost_v2");
    return fake_make(FAKE_PINNED, size, memory);
}

CALL(cuMemFreeHost)(void *memory) {
    fp_cu_result result = fake_drop(FAKE_PINNED, memory);
    FAULT_OR_GO("cuMemFreeHost");
    return result;
}

CALL(cuMemcpyHtoDAsync_v2)(fp_cu_pointer to, const void *from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyHtoDAsync_v2");
    __atomic_add_fetch(&fake_wish.copies, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&fake_wish.copied_bytes, size, __ATOMIC_RELAXED);
    return copy_or_fill((kept){.to = pointer_to(to), .from = from, .size = size}, stream);
}

CALL(cuMemcpyDtoHAsync_v2)(void *to, fp_cu_pointer from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyDtoHAsync_v2");
    return copy_or_fill((kept){.to = to, .from = pointer_to(from), .size = size}, stream);
}

CALL(cuMemcpyDtoDAsync_v2)(fp_cu_pointer to, fp_cu_pointer from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyDtoDAsync_v2");
    return copy_or_fill((kept){.to = pointer_to(to), .from = pointer_to(from), .size = size},
                        stream);
}

CALL(cuMemsetD8Async)(fp_cu_pointer to, unsigned char value, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemsetD8Async");
    return copy_or_fill((kept){.to = pointer_to(to), .value = value, .size = size}, stream);
}

/* ---------------------------------------------------------------- streams, events, graphs */

#define MAKER(name, kind, parameters)                                                              \
    CALL(name) parameters {                                                                        \
        FAULT_OR_GO(#name);                                                                        \
        return fake_make(kind, 1, (void **)made);                                                  \
    }
#define DROPPER(name, kind, type)                                                                  \
    CALL(name)(type handle) {                                                                      \
        fp_cu_result result = fake_drop(kind, handle);                                             \
        FAULT_OR_GO(#name);                                                                        \
        return result;                                                                             \
    }
#define NOTHING(name, parameters, ...)                                                             \
    CALL(name) parameters {                                                                        \
        FAULT_OR_GO(#name);                                                                        \
        __VA_ARGS__;                                                                               \
        return 0;                                                                                  \
    }
MAKER(cuStreamCreate, FAKE_STREAM, (fp_cu_stream * made, unsigned flags __attribute__((unused))))
MAKER(cuEventCreate, FAKE_OTHER, (cuda_event * made, unsigned flags __attribute__((unused))))
DROPPER(cuStreamDestroy_v2, FAKE_STREAM, fp_cu_stream)
DROPPER(cuEventDestroy_v2, FAKE_OTHER, cuda_event)
DROPPER(cuGraphDestroy, FAKE_OTHER, cuda_graph)
DROPPER(cuGraphExecDestroy, FAKE_OTHER, cuda_graph)
NOTHING(cuStreamSynchronize, (fp_cu_stream stream), (void)stream)
NOTHING(cuEventRecord, (cuda_event event, fp_cu_stream stream), (void)event, (void)stream)
NOTHING(cuStreamWaitEvent, (fp_cu_stream stream, cuda_event event, unsigned flags), (void)stream,
        (void)event, (void)flags)
NOTHING(cuEventSynchronize, (cuda_event event), (void)event)
NOTHING(cuEventElapsedTime, (float *milliseconds, cuda_event start, cuda_event end), (void)start,
        (void)end, *milliseconds = 1)

CALL(cuStreamBeginCapture_v2)(fp_cu_stream stream, int mode) {
    FAULT_OR_GO("cuStreamBeginCapture_v2");
    (void)mode;
    pthread_mutex_lock(&lock);
    int is_new = stream && !capture_of(stream);
    for (int i = 0; i < MOST_CAPTURES && is_new; i++) {
        if (captures[i].stream) continue;
        captures[i] = (capture){stream, malloc(16)};
        if (!captures[i].bytes) abort();
        captures[i].bytes[0] = 16;
        is_new = 0;
    }
    int found = capture_of(stream) != NULL;
    pthread_mutex_unlock(&lock);
    return found ? 0 : INVALID_VALUE;
}

CALL(cuStreamEndCapture)(fp_cu_stream stream, cuda_graph *graph) {
    FAULT_OR_GO("cuStreamEndCapture");
    pthread_mutex_lock(&lock);
    capture *c = capture_of(stream), ended = {0};
    if (c) ended = *c, *c = (capture){0};
    pthread_mutex_unlock(&lock);
    if (!ended.bytes) return INVALID_VALUE;
    fp_cu_result result = fake_make(FAKE_OTHER, ended.bytes[0], graph);
    if (!result) memcpy(*graph, ended.bytes, ended.bytes[0]);
    free(ended.bytes);
    return result;
}

CALL(cuGraphInstantiateWithFlags)(cuda_graph *made, cuda_graph graph, unsigned long long flags) {
    FAULT_OR_GO("cuGraphInstantiateWithFlags");
    (void)flags;
    size_t size = *(const size_t *)graph;
    fp_cu_result result = fake_make(FAKE_OTHER, size, made);
    if (!result) memcpy(*made, graph, size);
    return result;
}

CALL(cuGraphLaunch)(cuda_graph instance, fp_cu_stream stream) {
    FAULT_OR_GO("cuGraphLaunch");
    (void)stream;
    size_t size = *(const size_t *)instance;
    fp_cu_result result = 0;
    for (uint8_t *at = (uint8_t *)instance + 16; at < (uint8_t *)instance + size && !result;) {
        kept *work = (kept *)(void *)at;
        result = do_kept(work, at + sizeof *work);
        at += sizeof *work + (work->parameter_bytes + 15) / 16 * 16;
    }
    return result;
}
