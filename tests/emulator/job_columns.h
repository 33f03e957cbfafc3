/* job_columns.h - jobs of forged columns, decoded through the library's own calls on the made-up
 * GPU. What comes out must be what the CPU decodes. */
#ifndef FP_TESTS_JOB_COLUMNS_H
#define FP_TESTS_JOB_COLUMNS_H

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

/* A column with a dictionary in classes. Nine parameters, as tests list such columns like rows of a
 * table. */
static inline void add_classes(made *m, uint32_t bits, uint32_t longest, int hot, uint64_t seed,
                               uint32_t chunks, uint32_t codes, uint32_t batch, int mixed) {
    forge_class_shape shape = {.bits = bits, .longest = longest, .hot = hot, .seed = seed};
    shape.chunks = chunks, shape.codes = codes, shape.batch = batch, shape.mixed = mixed;
    add_image(m, forge_class_column(&shape, &random_state));
}

/* A column without classes, which only the paper's kernels read. */
static inline void add_plain(made *m) { add_image(m, forge_plain_column(&random_state)); }

static inline void add_empty(made *m) { add_image(m, forge_empty_column()); }

static inline void close_columns(made *m) {
    for (uint64_t i = 0; i < m->count; i++) {
        fastpair_column_close((fastpair_column *)(uintptr_t)m->column[i]);
        free(m->file[i].data);
    }
    m->count = 0;
}

/* ---------------------------------------------------------------- jobs */

enum { ALL_OUTPUTS = FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY };

static inline fastpair_gpu_job *open_job(const made *m, const char *kernel, int regenerate) {
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .outputs = ALL_OUTPUTS,
                                        .kernel = kernel,
                                        .regenerate_positions = regenerate};
    fastpair_gpu_job *job = NULL;
    fastpair_error error = {0};
    fastpair_status status =
        fastpair_gpu_job_open(&fake.gpu, m->column, m->count, &options, &job, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status)
        fprintf(stderr, "  %s: %s\n", kernel ? kernel : "any kernel", error.message), abort();
    CHECK(fake_has_kernels(job));
    return job;
}

/* Uploads a range of chunks, or all if it is NULL. */
static inline void upload(fastpair_gpu_job *job, const fastpair_gpu_range *range) {
    CHECK_EQ(fastpair_gpu_job_upload(job, (uint64_t)(uintptr_t)fake.memory, fake.memory_bytes,
                                     range, NULL, NULL),
             FASTPAIR_OK);
}

/* Uploads and decodes everything: at once if `step` is UINT64_MAX, else in ranges of `step` chunks,
 * or of random sizes if that is 0. */
static inline void decode(fastpair_gpu_job *job, uint64_t step) {
    fastpair_error error = {0};
    uint64_t count;
    for (uint64_t first = 0; first < job->chunk_count || first == 0; first += count) {
        uint64_t left = job->chunk_count - first;
        count = step ? step : draw((uint32_t)left + 1);
        if (count > left) count = left;
        fastpair_gpu_range range = {first, count}, *of = step == UINT64_MAX ? NULL : &range;
        fake_wish.seed = check_random(&random_state);
        upload(job, of);
        fastpair_status status = fastpair_gpu_job_decode(job, fake.outputs, of, NULL, &error);
        CHECK_EQ(status, FASTPAIR_OK);
        if (status) fprintf(stderr, "  %s\n", error.message);
        if (status || !job->chunk_count) break;
    }
}

/* All outputs of a column against the CPU's. */
static inline void check_column(const made *m, uint64_t c) {
    const char *differs = fake_compare(m->column[c], c, 1);
    CHECK(!differs);
    if (differs) fprintf(stderr, "  column %llu: %s\n", (unsigned long long)c, differs);
}

static inline void check_outputs(const made *m) {
    for (uint64_t c = 0; c < m->count; c++) {
        CHECK_EQ(fake_status(c), 0);
        check_column(m, c);
    }
}

static inline uint32_t assembled_launches(void) {
    uint32_t launches = 0;
    for (uint32_t i = FP_STAGED_KERNELS; i < FP_KERNELS; i++) launches += fake.counts.launches[i];
    return launches;
}

/* A job at once, in random ranges, and seven chunks at a time. Returns launches of assembled
 * kernels in the first of these. Columns share a status word in the first way, and have each their
 * own in the others. */
static inline uint32_t check_job(const made *m, const char *kernel, int regenerate) {
    const uint64_t steps[] = {UINT64_MAX, 0, 7};
    uint32_t assembled = 0;
    for (int way = 0; way < 3; way++) {
        fastpair_gpu_job *job = open_job(m, kernel, regenerate);
        fake_allocate(job, way == 0);
        memset(fake.counts.launches, 0, sizeof fake.counts.launches);
        decode(job, steps[way]);
        check_outputs(m);
        if (way == 0) assembled = assembled_launches();
        fake_release();
        fastpair_gpu_job_close(job);
    }
    return assembled;
}

static made columns;

static inline void start(void) {
    fastpair_allocator hooks = counting_hooks(&memory);
    close_columns(&columns);
    fake_open(&hooks);
}

static inline void start_random(uint64_t seed) {
    const char *given = getenv("FASTPAIR_TEST_SEED");
    random_state = given ? strtoull(given, NULL, 0) : seed;
    printf("seed %llu\n", (unsigned long long)random_state);
    counting_start(&memory);
}

#endif
