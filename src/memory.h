/* memory.h - all allocation goes through the caller's hooks. */
#ifndef FP_MEMORY_H
#define FP_MEMORY_H

#include "error.h"

/* The hooks with the defaults filled in: `allocator` may be NULL or all zero. INVALID_ARGUMENT if
 * only one of the two functions is set. */
fastpair_status fp_allocator_resolve(const fastpair_allocator *allocator,
                                     fastpair_allocator *resolved, fastpair_error *error);

/* Tells the kernel that much memory of malloc's, which nobody has touched, is about to be written. It
 * then may use large pages: the first touch of small ones can take longer than decoding to them. A
 * hint: does nothing for memory of the caller's hooks, and where the kernel does not know it. */
void fp_expect_writes(const fastpair_allocator *allocator, void *memory, uint64_t size);

/* Allocates count * size bytes, uninitialised and 16-byte aligned. NULL if the hook returns NULL or
 * the product overflows PTRDIFF_MAX. Asking for 0 bytes gives a unique pointer. */
void *fp_allocate(const fastpair_allocator *allocator, uint64_t count, uint64_t size);

/* The same, zeroed. */
void *fp_allocate_zero(const fastpair_allocator *allocator, uint64_t count, uint64_t size);

/* Releases; NULL is allowed. */
void fp_release(const fastpair_allocator *allocator, void *memory);

/* A byte buffer that grows by doubling. All zero is empty. */
typedef struct fp_buffer {
    uint8_t *data;
    uint64_t size;
    uint64_t capacity;
} fp_buffer;

/* Makes room for `more` bytes after `size`, which stays. Contents are kept. */
fastpair_status fp_buffer_reserve(fp_buffer *buffer, const fastpair_allocator *allocator,
                                  uint64_t more, fastpair_error *error);
void fp_buffer_close(fp_buffer *buffer, const fastpair_allocator *allocator);

#endif
