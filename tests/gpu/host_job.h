/* host_job.h - columns and jobs for tests of the host side, on the made-up GPU that a test is
 * linked with. Columns are forged, so that sizes, dictionaries and nulls are the test's choice. */
#ifndef FP_TESTS_HOST_JOB_H
#define FP_TESTS_HOST_JOB_H

#include "calls.h"
#include "check.h"
#include "counting.h"
#include "fake_cuda.h"
#include "forge.h"
#include "gpu/layout.h"

enum { MOST_COLUMNS = 64 };

typedef struct columns {
    forge_bytes image[MOST_COLUMNS];
    const fastpair_column *of[MOST_COLUMNS];
    uint64_t count;
} columns;

/* Opens an image, and takes its memory. */
static inline void add_image(columns *c, forge_bytes image) {
    fastpair_error error = {.message = ""};
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(image.data, image.size, NULL, &column, &error), FASTPAIR_OK);
    if (!column) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    c->image[c->count] = image;
    c->of[c->count++] = column;
}

static inline void close_columns(columns *c) {
    for (uint64_t i = 0; i < c->count; i++) {
        fastpair_column_close((fastpair_column *)(uintptr_t)c->of[i]);
        free(c->image[i].data);
    }
    c->count = 0;
}

/* A chunk of rows, coded or stored. */
typedef struct chunk_recipe {
    /* 0: stored, 4 bytes per row. */
    uint32_t codes;
    uint32_t rows;
    /* Every so many rows one is null. 0: none; 1: all, which then have no bytes. */
    uint32_t null_every;
    uint32_t batch;
} chunk_recipe;

/* Rows of about as many bytes each; null rows are empty. */
static inline void cut_rows(const chunk_recipe *recipe, uint64_t bytes, uint32_t *lengths,
                            uint8_t *valid) {
    uint64_t left = bytes;
    for (uint32_t i = 0; i < recipe->rows; i++) {
        valid[i] = !recipe->null_every || (i + 1) % recipe->null_every;
        lengths[i] = valid[i] ? (uint32_t)(left / (recipe->rows - i)) : 0;
        left -= lengths[i];
    }
    uint32_t last = recipe->rows - 1;
    while (left && !valid[last]) last--;
    lengths[last] += (uint32_t)left;
}

static inline forge_chunk make_chunk(const forge_classes *classes, const chunk_recipe *recipe,
                                     uint64_t *random) {
    uint32_t *codes = calloc(recipe->codes + 1, sizeof *codes);
    uint32_t *lengths = calloc(recipe->rows, sizeof *lengths);
    uint8_t *valid = calloc(recipe->rows, 1), *bytes = calloc(recipe->rows, 4);
    uint64_t size = recipe->codes || recipe->null_every == 1 ? 0 : 4ull * recipe->rows;
    if (!codes || !lengths || !valid || !bytes) abort();
    for (uint32_t i = 0; i < recipe->codes; i++) {
        codes[i] = classes->codes[check_random(random) % classes->tokens];
        size += classes->length_of[codes[i]];
    }
    for (uint64_t i = 0; i < 4ull * recipe->rows; i++) bytes[i] = (uint8_t)check_random(random);
    cut_rows(recipe, size, lengths, valid);
    forge_rows rows = {lengths, recipe->null_every ? valid : NULL, recipe->rows};
    forge_codes coded = {codes, recipe->codes, classes->bits, classes->length_of, recipe->batch};
    forge_chunk chunk =
        recipe->codes ? forge_coded_chunk(&coded, &rows) : forge_stored_chunk(bytes, size, &rows);
    free(codes), free(lengths), free(valid), free(bytes);
    return chunk;
}

/* A dictionary in length classes, and where it is from. */
typedef struct dict_recipe {
    uint32_t bits, longest;
    int hot;
    uint64_t seed;
} dict_recipe;

/* Adds a column of these chunks, with one dictionary. */
static inline void add_chunks(columns *c, const dict_recipe *dict, const chunk_recipe *recipes,
                              uint32_t count, uint64_t *random) {
    forge_classes *classes = malloc(sizeof *classes);
    if (!classes) abort();
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_dictionary d =
        forge_class_dictionary(classes, dict->bits, dict->longest, dict->hot, dict->seed);
    forge_add_dictionary(&f, &d);
    for (uint32_t i = 0; i < count; i++) {
        forge_chunk chunk = make_chunk(classes, &recipes[i], random);
        forge_add_chunk(&f, &chunk);
    }
    forge_finish(&f);
    add_image(c, f.file);
    free(classes);
}

/* The made-up GPU, with an allocator that counts. */
static inline fastpair_gpu *open_gpu(counting *memory) {
    fastpair_error error = {.message = ""};
    fastpair_gpu_options options = {.struct_size = sizeof options,
                                    .allocator = counting_hooks(memory)};
    fastpair_gpu *gpu = NULL;
    CHECK_EQ(fastpair_gpu_open(&options, &gpu, &error), FASTPAIR_OK);
    if (!gpu) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    return gpu;
}

static inline fastpair_gpu_job *open_job(fastpair_gpu *gpu, const columns *c,
                                         const fastpair_gpu_job_options *options) {
    fastpair_error error = {.message = ""};
    fastpair_gpu_job *job = NULL;
    CHECK_EQ(fastpair_gpu_job_open(gpu, c->of, c->count, options, &job, &error), FASTPAIR_OK);
    if (!job) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    return job;
}

/* Device memory of exactly this size, at a multiple of 256, all 0xee. */
static inline uint64_t device_block(uint64_t size) {
    void *memory = NULL;
    CHECK_EQ(fake_make(FAKE_MEMORY, size, &memory), 0);
    memset(memory, 0xee, size);
    return (uint64_t)(uintptr_t)memory;
}

static inline void drop_block(uint64_t memory) {
    CHECK_EQ(fake_drop(FAKE_MEMORY, (void *)(uintptr_t)memory), 0);
}

#endif
