/* fake_memory.c - what a program gets from the made-up driver and has to give back: memory,
 * streams, events, graphs, modules.
 *
 * Device memory is host memory, copies are memcpy, streams run at once. FAKE_CUDA_MEMORY is the
 * device's memory in bytes; a process hands what is taken of it on to those it starts, in a file
 * without a name whose descriptor is in FAKE_CUDA_USED. */
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
    (void)stream;
    fake_wish.copies++;
    memcpy((void *)(uintptr_t)to, from, size);
    return 0;
}

CALL(cuMemcpyDtoHAsync_v2)(void *to, fp_cu_pointer from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyDtoHAsync_v2");
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, size);
    return 0;
}

CALL(cuMemcpyDtoDAsync_v2)(fp_cu_pointer to, fp_cu_pointer from, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemcpyDtoDAsync_v2");
    (void)stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    return 0;
}

CALL(cuMemsetD8Async)(fp_cu_pointer to, unsigned char value, size_t size, fp_cu_stream stream) {
    FAULT_OR_GO("cuMemsetD8Async");
    (void)stream;
    memset((void *)(uintptr_t)to, value, size);
    return 0;
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
MAKER(cuEventCreate, FAKE_OTHER, (fp_cu_event * made, unsigned flags __attribute__((unused))))
MAKER(cuStreamEndCapture, FAKE_OTHER,
      (fp_cu_stream stream __attribute__((unused)), fp_cu_graph *made))
MAKER(cuGraphInstantiateWithFlags, FAKE_OTHER,
      (fp_cu_graph * made, fp_cu_graph graph __attribute__((unused)),
       unsigned long long flags __attribute__((unused))))
DROPPER(cuStreamDestroy_v2, FAKE_STREAM, fp_cu_stream)
DROPPER(cuEventDestroy_v2, FAKE_OTHER, fp_cu_event)
DROPPER(cuGraphDestroy, FAKE_OTHER, fp_cu_graph)
DROPPER(cuGraphExecDestroy, FAKE_OTHER, fp_cu_graph)
NOTHING(cuStreamSynchronize, (fp_cu_stream stream), (void)stream)
NOTHING(cuEventRecord, (fp_cu_event event, fp_cu_stream stream), (void)event, (void)stream)
NOTHING(cuEventSynchronize, (fp_cu_event event), (void)event)
NOTHING(cuEventElapsedTime, (float *milliseconds, fp_cu_event start, fp_cu_event end), (void)start,
        (void)end, *milliseconds = 1)
NOTHING(cuStreamBeginCapture_v2, (fp_cu_stream stream, int mode), (void)stream, (void)mode)
NOTHING(cuGraphLaunch, (fp_cu_graph instance, fp_cu_stream stream), (void)instance, (void)stream)
