/* memory.c - allocation through the caller's hooks. In: a count and a size. Out: memory or NULL.
 * Refuses products that overflow, so no caller needs to check its multiplications. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *default_allocate(void *context, size_t size) {
    (void)context;
    return malloc(size);
}

static void default_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

fastpair_status fp_allocator_resolve(const fastpair_allocator *allocator,
                                     fastpair_allocator *resolved, fastpair_error *error) {
    if (!allocator || (!allocator->allocate && !allocator->release)) {
        *resolved = (fastpair_allocator){default_allocate, default_release, NULL};
        return FASTPAIR_OK;
    }
    if (!allocator->allocate || !allocator->release)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "allocator: set both allocate and release, or neither");
    *resolved = *allocator;
    return FASTPAIR_OK;
}

void *fp_allocate(const fastpair_allocator *allocator, uint64_t count, uint64_t size) {
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX) return NULL;
    return allocator->allocate(allocator->context, bytes ? (size_t)bytes : 1);
}

/* What a large page has, and from how many bytes on they are asked for. */
#define LARGE_PAGE (2u << 20)
#define LARGE_SIZE (2 * LARGE_PAGE)

void fp_expect_writes(const fastpair_allocator *allocator, void *memory, uint64_t size) {
#ifdef MADV_HUGEPAGE
    if (allocator->allocate != default_allocate || size < LARGE_SIZE) return;
    uint64_t skipped = -(uintptr_t)memory % LARGE_PAGE;
    uint64_t pages = (size - skipped) / LARGE_PAGE;
    madvise((uint8_t *)memory + skipped, (size_t)(pages * LARGE_PAGE), MADV_HUGEPAGE);
#else
    (void)allocator, (void)memory, (void)size;
#endif
}

void *fp_allocate_zero(const fastpair_allocator *allocator, uint64_t count, uint64_t size) {
    void *memory = fp_allocate(allocator, count, size);
    if (memory) memset(memory, 0, (size_t)(count * size));
    return memory;
}

void fp_release(const fastpair_allocator *allocator, void *memory) {
    if (memory) allocator->release(allocator->context, memory);
}

void fastpair_free(const fastpair_allocator *allocator, void *memory) {
    fastpair_allocator resolved = {0};
    if (fp_allocator_resolve(allocator, &resolved, NULL) == FASTPAIR_OK)
        fp_release(&resolved, memory);
}

fastpair_status fp_buffer_reserve(fp_buffer *buffer, const fastpair_allocator *allocator,
                                  uint64_t more, fastpair_error *error) {
    uint64_t needed;
    if (__builtin_add_overflow(buffer->size, more, &needed))
        return fp_fail_memory(error, UINT64_MAX);
    if (needed <= buffer->capacity) return FASTPAIR_OK;
    uint64_t capacity = buffer->capacity < 4096 ? 4096 : buffer->capacity;
    while (capacity < needed && capacity < UINT64_MAX / 2) capacity *= 2;
    if (capacity < needed) capacity = needed;
    uint8_t *data = fp_allocate(allocator, capacity, 1);
    if (!data && capacity > needed) data = fp_allocate(allocator, capacity = needed, 1);
    if (!data) return fp_fail_memory(error, needed);
    if (buffer->size) memcpy(data, buffer->data, (size_t)buffer->size);
    fp_release(allocator, buffer->data);
    buffer->data = data;
    buffer->capacity = capacity;
    return FASTPAIR_OK;
}

void fp_buffer_close(fp_buffer *buffer, const fastpair_allocator *allocator) {
    fp_release(allocator, buffer->data);
    *buffer = (fp_buffer){0};
}
