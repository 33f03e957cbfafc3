/* group_columns.h - batches of forged columns, decoded through the library's own calls on a fake device, for tests of the host's side of
 * assembled kernels. What comes out must be what the CPU decodes. */
#ifndef FP_TESTS_GROUP_COLUMNS_H
#define FP_TESTS_GROUP_COLUMNS_H

#include "check.h"
#include "counting.h"
#include "fake_device.h"
#include "forge.h"

enum { MOST_COLUMNS = 160 };

static uint64_t random_state;
static counting memory;

static inline uint32_t draw(uint32_t bound) {
    return (uint32_t)(check_random(&random_state) % bound);
}

/* ---------------------------------------------------------------- columns */

typedef struct made {
    forge_bytes file[MOST_COLUMNS];
    const fastpair_column *column[MOST_COLUMNS];
    uint64_t count;
} made;

/* Opens an image, and takes its memory. */
static inline void add_image(made *m, forge_bytes image) {
    fastpair_error error = {0};
    fastpair_column *column = NULL;
    CHECK_EQ(fastpair_column_open(image.data, image.size, NULL, &column, &error), FASTPAIR_OK);
    if (!column) fprintf(stderr, "  %s\n", error.message), abort();
    m->file[m->count] = image;
    m->column[m->count++] = column;
}

/* A column with a dictionary in classes. Nine parameters, as tests list such columns like rows of a table. */
static inline void add_classes(made *m, uint32_t bits, uint32_t longest, int hot, uint64_t seed,
                               uint32_t chunks, uint32_t codes, uint32_t batch, int mixed) {
    forge_class_shape shape = {.bits = bits, .longest = longest, .hot = hot, .seed = seed};
    shape.chunks = chunks, shape.codes = codes, shape.batch = batch, shape.mixed = mixed;
    add_image(m, forge_class_column(&shape, &random_state));
}

/* A column without classes, which only staged kernels read. */
static inline void add_plain(made *m) { add_image(m, forge_plain_column(&random_state)); }

static inline void add_empty(made *m) { add_image(m, forge_empty_column()); }

static inline void free_columns(made *m) {
    for (uint64_t i = 0; i < m->count; i++) {
        fastpair_column_close((fastpair_column *)(uintptr_t)m->column[i]);
        free(m->file[i].data);
    }
    m->count = 0;
}

/* ---------------------------------------------------------------- batches */

static inline fastpair_gpu_batch *make_batch(const made *m, const char *kernel, int regenerate) {
    fastpair_gpu_batch_options options = {
        .struct_size = sizeof options, .kernel = kernel, .regenerate_sidecar = regenerate};
    fastpair_gpu_batch *batch = NULL;
    fastpair_error error = {0};
    fastpair_status status =
        fastpair_gpu_batch_create(&fake.gpu, m->column, m->count, &options, &batch, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status)
        fprintf(stderr, "  %s: %s\n", kernel ? kernel : "any kernel", error.message), abort();
    CHECK(fake_has_kernels(batch));
    return batch;
}

/* All chunks, in ranges of `step`, or of random sizes if that is 0; uploaded before or as they are needed. */
static inline void decode(fastpair_gpu_batch *batch, const fastpair_gpu_destination *to,
                          uint64_t step) {
    fastpair_error error = {0};
    uint64_t memory_at = (uint64_t)(uintptr_t)fake.memory, count;
    for (uint64_t first = 0; first < batch->chunk_count || first == 0; first += count) {
        uint64_t left = batch->chunk_count - first;
        count = step ? step : draw((uint32_t)left + 1);
        if (count > left) count = left;
        fake_wish.seed = check_random(&random_state);
        CHECK_EQ(fastpair_gpu_batch_upload(batch, memory_at, fake.memory_bytes, first, count, NULL,
                                           &error),
                 FASTPAIR_OK);
        fastpair_status status = fastpair_gpu_batch_decode(batch, first, count, to, NULL, &error);
        CHECK_EQ(status, FASTPAIR_OK);
        if (status || !batch->chunk_count) break;
    }
}

/* Bytes and row offsets against the CPU's. */
static inline void check_output(const made *m, const fastpair_gpu_batch *batch) {
    uint64_t slot = 0;
    for (uint64_t c = 0; c < m->count; c++) {
        uint64_t rows = m->column[c]->totals.rows, size = m->column[c]->totals.decoded_bytes, at;
        uint8_t *bytes = malloc(size + 1);
        uint64_t *offsets = malloc((rows + 1) * sizeof *offsets);
        fastpair_destination to = {
            .bytes = bytes, .bytes_capacity = size, .offsets = offsets, .offset_bits = 64};
        CHECK_EQ(fastpair_column_decode(m->column[c], 0, rows, &to, 1, NULL), FASTPAIR_OK);
        CHECK_EQ(fastpair_gpu_batch_get_column(batch, c, &at, NULL, NULL, NULL), FASTPAIR_OK);
        CHECK(!memcmp(fake.output + at, bytes, size));
        CHECK(!memcmp(fake.offsets + 8 * slot, offsets, 8 * (rows + 1)));
        slot += rows + 1;
        free(bytes), free(offsets);
    }
}

/* A batch at once, in random ranges, and chunk by chunk; returns launches of assembled kernels in the first of these. */
static inline uint32_t check_batch(const made *m, const char *kernel, int regenerate) {
    const uint64_t steps[] = {UINT64_MAX, 0, 7};
    uint32_t assembled = 0;
    for (int way = 0; way < 3; way++) {
        fastpair_gpu_batch *batch = make_batch(m, kernel, regenerate);
        fastpair_gpu_destination to = fake_allocate(batch);
        memset(fake.launches, 0, sizeof fake.launches);
        decode(batch, &to, steps[way]);
        CHECK_EQ(fake.status, 0);
        check_output(m, batch);
        for (uint32_t i = 0; way == 0 && i < FP_KERNELS; i++)
            if (fp_kernel_is_assembled(&fp_kernel_table()[i])) assembled += fake.launches[i];
        fake_release();
        fastpair_gpu_batch_free(batch);
    }
    return assembled;
}

static made columns;

static inline void start(void) {
    fastpair_allocator hooks = counting_hooks(&memory);
    free_columns(&columns);
    fake_open(&hooks);
}

static inline void start_random(uint64_t seed) {
    const char *given = getenv("FASTPAIR_TEST_SEED");
    random_state = given ? strtoull(given, NULL, 0) : seed;
    printf("seed %llu\n", (unsigned long long)random_state);
    counting_start(&memory);
}

#endif
