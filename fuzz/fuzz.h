/* fuzz.h - what the fuzz targets share: demands that stop the program, an allocator with a cap, and
 * a way to draw numbers and bytes from the input. */
#ifndef FP_FUZZ_H
#define FP_FUZZ_H

#include "fastpair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where row i begins in rows with 64-bit offsets. */
static inline uint64_t row_start(const fastpair_rows *rows, uint64_t i) {
    return ((const uint64_t *)rows->offsets)[i];
}

/* libFuzzer's entry point; replay.c calls the same function for files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops with a message, which libFuzzer takes as a finding. Also in builds without assert. */
#define DEMAND(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: demanded: %s\n", __FILE__, __LINE__, #condition);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Demands that a call which says OK succeeded; prints what the library said otherwise. */
#define DEMAND_OK(call, error)                                                                     \
    do {                                                                                           \
        if ((call) != FASTPAIR_OK) {                                                               \
            fprintf(stderr, "%s:%d: failed: %s: %s\n", __FILE__, __LINE__, #call,                  \
                    (error)->message);                                                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Counts what is in use and refuses to go beyond the cap. One thread only. */
typedef struct fuzz_memory {
    uint64_t in_use;
    uint64_t peak;
    uint64_t cap;
    uint64_t refused;
} fuzz_memory;

/* Each block begins with its size, in 16 bytes to keep the alignment. */
static inline void *fuzz_allocate(void *context, size_t size) {
    fuzz_memory *memory = (fuzz_memory *)context;
    if (size > memory->cap - memory->in_use) {
        memory->refused++;
        return NULL;
    }
    uint8_t *block = (uint8_t *)malloc(size + 16);
    if (!block) abort();
    memcpy(block, &size, sizeof size);
    memory->in_use += size;
    if (memory->in_use > memory->peak) memory->peak = memory->in_use;
    return block + 16;
}

static inline void fuzz_release(void *context, void *pointer) {
    fuzz_memory *memory = (fuzz_memory *)context;
    uint8_t *block = (uint8_t *)pointer - 16;
    size_t size;
    memcpy(&size, block, sizeof size);
    memory->in_use -= size;
    free(block);
}

static inline fastpair_allocator fuzz_allocator(fuzz_memory *memory) {
    return (fastpair_allocator){fuzz_allocate, fuzz_release, memory};
}

/* malloc that stops the program instead of failing, and never returns NULL for 0 bytes. */
static inline void *fuzz_need(uint64_t size) {
    void *memory = malloc(size ? (size_t)size : 1);
    if (!memory) abort();
    return memory;
}

/* The input as a source of numbers; zeros when it is used up. */
typedef struct fuzz_input {
    const uint8_t *data;
    size_t left;
} fuzz_input;

static inline uint64_t fuzz_draw(fuzz_input *input, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && input->left; i++, input->left--)
        value |= (uint64_t)*input->data++ << (8 * i);
    return value;
}

#endif
