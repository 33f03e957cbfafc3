/* test_job_decode.c - the decode call on a device whose kernels do nothing: what is refused, which
 * kernels are launched for what, and with which addresses. Stored chunks and empty columns need no
 * kernel, so that their output is right here, too. */
#include "host_job.h"
#include "host_launches.h"

static counting memory;
static fastpair_gpu *gpu;

static const dict_recipe twelve_bits = {12, 16, 0, 7};
static const chunk_recipe kinds[] = {
    {900, 70, 0, 256}, {0, 33, 0, 0}, {500, 40, 3, 256}, {0, 7, 1, 0}};

/* A job of three columns (the second one empty), uploaded, and an output for each. */
typedef struct setting {
    columns c;
    fastpair_gpu_job *job;
    uint64_t device;
    fastpair_gpu_output to[3];
} setting;

static void open_setting(setting *s, const fastpair_gpu_job_options *options, uint64_t *random) {
    memset(s, 0, sizeof *s);
    add_chunks(&s->c, &twelve_bits, kinds, 4, random);
    add_image(&s->c, forge_empty_column());
    add_chunks(&s->c, &twelve_bits, kinds, 3, random);
    s->job = open_job(gpu, &s->c, options);
    s->device = device_block(s->job->sizes.all);
    for (uint64_t i = 0; i < 3; i++) {
        const fp_job_column *column = &s->job->columns[i];
        s->to[i] = (fastpair_gpu_output){.struct_size = sizeof s->to[i],
                                         .bytes = device_block(column->decoded_bytes),
                                         .bytes_capacity = column->decoded_bytes,
                                         .offset_bits = i ? 64 : 32,
                                         .status = device_block(4)};
        if (s->job->outputs & FASTPAIR_GPU_OFFSETS)
            s->to[i].offsets = device_block((column->rows + 1) * 8);
        if (s->job->outputs & FASTPAIR_GPU_VALIDITY)
            s->to[i].validity = device_block((column->rows + 31) / 32 * 4);
    }
}

static void upload(setting *s) {
    CHECK_EQ(fastpair_gpu_job_upload(s->job, s->device, s->job->sizes.all, NULL, NULL, NULL),
             FASTPAIR_OK);
}

static void close_setting(setting *s) {
    for (int i = 0; i < 3; i++) {
        drop_block(s->to[i].bytes), drop_block(s->to[i].status);
        if (s->to[i].offsets) drop_block(s->to[i].offsets);
        if (s->to[i].validity) drop_block(s->to[i].validity);
    }
    drop_block(s->device);
    fastpair_gpu_job_close(s->job);
    close_columns(&s->c);
}

static fastpair_gpu_job_options wanting(uint32_t outputs) {
    return (fastpair_gpu_job_options){.struct_size = sizeof(fastpair_gpu_job_options),
                                      .outputs = outputs};
}

/* ---------------------------------------------------------------- what is refused */

/* Nothing is launched or copied by a call that is refused. */
static void refuse(fastpair_gpu_job *job, const fastpair_gpu_output *to,
                   const fastpair_gpu_range *range, fastpair_status expected, const char *says) {
    fastpair_error error = {.message = ""};
    launches_start();
    CHECK_EQ(fastpair_gpu_job_decode(job, to, range, NULL, &error), expected);
    CHECK(error.status == expected && strstr(error.message, says) != NULL);
    if (!strstr(error.message, says)) fprintf(stderr, "  ^ said: %s\n", error.message);
    CHECK_EQ(launch_count, 0);
    CHECK(fake_current() == NULL);
}

/* The output of column 2 with one field set to something else. */
#define REFUSE_WITH(field, value, status, says)                                                    \
    do {                                                                                           \
        fastpair_gpu_output wrong[3] = {s.to[0], s.to[1], s.to[2]};                                \
        wrong[2].field = value;                                                                    \
        refuse(s.job, wrong, NULL, status, says);                                                  \
    } while (0)

static void test_refusals(uint64_t *random) {
    const fastpair_status invalid = FASTPAIR_ERROR_INVALID_ARGUMENT;
    fastpair_gpu_job_options all = wanting(3);
    setting s;
    open_setting(&s, &all, random);
    refuse(s.job, s.to, NULL, invalid, "not been uploaded");
    upload(&s);
    refuse(NULL, s.to, NULL, invalid, "NULL");
    refuse(s.job, NULL, NULL, invalid, "NULL");
    refuse(s.job, s.to, &(fastpair_gpu_range){0, 8}, invalid, "7 chunks");
    REFUSE_WITH(bytes, 0, invalid, "column 2: bytes");
    REFUSE_WITH(bytes, s.to[2].bytes + 8, invalid, "multiple of 16");
    REFUSE_WITH(bytes_capacity, s.to[2].bytes_capacity - 1, FASTPAIR_ERROR_BUFFER_TOO_SMALL,
                "column 2 needs");
    REFUSE_WITH(status, s.to[2].status + 2, invalid, "multiples of 4");
    REFUSE_WITH(validity, s.to[2].validity + 2, invalid, "multiples of 4");
    REFUSE_WITH(offsets, s.to[2].offsets + 4, invalid, "column 2: offset_bits");
    REFUSE_WITH(offset_bits, 0, invalid, "32 or 64");
    REFUSE_WITH(offset_bits, 16, invalid, "32 or 64");
    REFUSE_WITH(struct_size, 0, invalid, "struct_size");
    REFUSE_WITH(struct_size, sizeof s.to[0] - 8, invalid, "struct_size");
    fastpair_gpu_output unset[3] = {{0}};
    refuse(s.job, unset, NULL, invalid, "struct_size");
    uint64_t decoded = s.job->columns[2].decoded_bytes; /* more than anybody has here */
    s.job->columns[2].decoded_bytes = (uint64_t)INT32_MAX + 1;
    fastpair_gpu_output large[3] = {s.to[0], s.to[1], s.to[2]};
    large[2].bytes_capacity = UINT64_MAX, large[2].offset_bits = 32;
    refuse(s.job, large, NULL, FASTPAIR_ERROR_LIMIT, "64-bit offsets");
    s.job->columns[2].decoded_bytes = INT32_MAX;
    CHECK_EQ(fastpair_gpu_job_decode(s.job, large, NULL, NULL, NULL), FASTPAIR_OK);
    s.job->columns[2].decoded_bytes = decoded;
    close_setting(&s);
    /* Outputs that the job was not opened for, in the one column that asks for them. */
    for (uint32_t outputs = 0; outputs < 4; outputs++) {
        fastpair_gpu_job_options some = wanting(outputs);
        open_setting(&s, &some, random);
        upload(&s);
        if (!(outputs & FASTPAIR_GPU_OFFSETS))
            REFUSE_WITH(offsets, s.to[2].bytes, invalid, "FASTPAIR_GPU_OFFSETS");
        if (!(outputs & FASTPAIR_GPU_VALIDITY))
            REFUSE_WITH(validity, s.to[2].bytes, invalid, "FASTPAIR_GPU_VALIDITY");
        CHECK_EQ(fastpair_gpu_job_decode(s.job, s.to, NULL, NULL, NULL), FASTPAIR_OK);
        close_setting(&s);
    }
}

/* Outputs of a later version, which are further apart: what is added must be 0, and sizes the
 * same. */
static void test_later_version(uint64_t *random) {
    typedef struct later {
        fastpair_gpu_output output;
        uint64_t more;
    } later;
    fastpair_gpu_job_options all = wanting(3);
    setting s;
    open_setting(&s, &all, random);
    upload(&s);
    later to[3] = {{.more = 0}};
    for (int i = 0; i < 3; i++) to[i].output = s.to[i], to[i].output.struct_size = sizeof to[i];
    launches_start();
    CHECK_EQ(fastpair_gpu_job_decode(s.job, &to[0].output, NULL, NULL, NULL), FASTPAIR_OK);
    check_launches(s.job, s.to, 0, s.job->chunk_count);
    to[1].more = 1;
    refuse(s.job, &to[0].output, NULL, FASTPAIR_ERROR_INVALID_ARGUMENT, "this version");
    to[1].more = 0;
    to[2].output.struct_size = sizeof(fastpair_gpu_output);
    refuse(s.job, &to[0].output, NULL, FASTPAIR_ERROR_INVALID_ARGUMENT, "same struct_size");
    /* No struct of ours has such a size; the second output would not be aligned. */
    uint8_t odd[3 * (sizeof(fastpair_gpu_output) + 4)] __attribute__((aligned(16))) = {0};
    for (size_t i = 0, size = sizeof(fastpair_gpu_output) + 4; i < 3; i++) {
        memcpy(odd + i * size, &s.to[i], sizeof s.to[i]);
        memcpy(odd + i * size, &size, sizeof size);
    }
    refuse(s.job, (const fastpair_gpu_output *)(const void *)odd, NULL,
           FASTPAIR_ERROR_INVALID_ARGUMENT, "struct_size");
    close_setting(&s);
}

/* ---------------------------------------------------------------- what is launched */

/* All chunks and parts of them, with every choice of outputs, with the sidecar and without. */
static void test_launches(uint64_t *random) {
    static const fastpair_gpu_range ranges[] = {{0, 7}, {0, 0}, {2, 3}, {4, 1}, {7, 0}, {1, 1}};
    for (uint32_t way = 0; way < 16; way++) {
        fastpair_gpu_job_options options = wanting(way % 4);
        options.regenerate_positions = way / 4 % 2;
        options.kernel = way / 8 ? "staged K8 W8 H1 T256 B4" : NULL;
        setting s;
        open_setting(&s, &options, random);
        upload(&s);
        fastpair_gpu_output to[3] = {s.to[0], s.to[1], s.to[2]};
        if (way % 4 == 3) to[0].offsets = to[0].validity = 0; /* not wanted after all */
        if (way % 4 == 2) to[2].status = to[0].status;
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            launches_start();
            fake_wish.takes_no_buffers = r == 2;
            CHECK_EQ(fastpair_gpu_job_decode(s.job, to, &ranges[r], NULL, NULL), FASTPAIR_OK);
            check_launches(s.job, to, ranges[r].first_chunk,
                           ranges[r].first_chunk + ranges[r].chunks);
        }
        fake_wish.takes_no_buffers = 0;
        close_setting(&s);
    }
}

/* ---------------------------------------------------------------- without kernels */

static int holds_only(uint64_t block, uint8_t value, uint64_t size) {
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)block;
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != value) return 0;
    return 1;
}

/* Stored chunks are copied, and an empty column gets its one offset: by the calls whose range
 * touches its place among the chunks. Columns may be closed by then. */
static void test_copies(uint64_t *random) {
    fastpair_gpu_job_options all = wanting(3);
    setting s;
    open_setting(&s, &all, random);
    upload(&s);
    const fp_job_chunk stored = s.job->chunks[1];
    uint8_t *expected = malloc(stored.decoded_bytes);
    if (!expected) abort();
    memcpy(expected,
           fp_chunk_section(s.job->sources[1].host.chunk, s.job->sources[1].host.block,
                            FP_SECTION_CODES),
           stored.decoded_bytes);
    close_columns(&s.c);
    CHECK_EQ(fastpair_gpu_job_decode(s.job, s.to, &(fastpair_gpu_range){0, 1}, NULL, NULL),
             FASTPAIR_OK);
    CHECK(holds_only(s.to[0].bytes, 0xee, s.to[0].bytes_capacity));
    CHECK(holds_only(s.to[1].offsets, 0xee, 8));
    CHECK_EQ(fastpair_gpu_job_decode(s.job, s.to, &(fastpair_gpu_range){1, 3}, NULL, NULL),
             FASTPAIR_OK);
    CHECK(memcmp((const void *)(uintptr_t)(s.to[0].bytes + stored.first_byte), expected,
                 stored.decoded_bytes) == 0);
    CHECK(holds_only(s.to[0].bytes, 0xee, stored.first_byte));
    CHECK(holds_only(s.to[1].offsets, 0, 8)); /* chunk 4 is the first after the empty column */
    /* A 32-bit offset has 4 bytes. */
    fastpair_gpu_output narrow[3] = {s.to[0], s.to[1], s.to[2]};
    narrow[1].offset_bits = 32;
    memset((void *)(uintptr_t)s.to[1].offsets, 0xee, 8);
    CHECK_EQ(fastpair_gpu_job_decode(s.job, narrow, &(fastpair_gpu_range){4, 1}, NULL, NULL),
             FASTPAIR_OK);
    CHECK(holds_only(s.to[1].offsets, 0, 4) && holds_only(s.to[1].offsets + 4, 0xee, 4));
    free(expected);
    close_setting(&s);
}

/* Jobs that need no memory of their own decode without an upload. */
static void test_nothing(void) {
    fastpair_gpu_job *job = NULL;
    columns c = {0};
    CHECK_EQ(fastpair_gpu_job_open(gpu, NULL, 0, NULL, &job, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_job_decode(job, NULL, NULL, NULL, NULL), FASTPAIR_OK);
    fastpair_gpu_job_close(job);
    add_image(&c, forge_empty_column());
    fastpair_gpu_job_options all = wanting(3);
    job = open_job(gpu, &c, &all);
    uint64_t offsets = device_block(8);
    fastpair_gpu_output to = {.struct_size = sizeof to, .offsets = offsets, .offset_bits = 64};
    CHECK_EQ(fastpair_gpu_job_decode(job, &to, NULL, NULL, NULL), FASTPAIR_OK);
    CHECK(holds_only(offsets, 0, 8));
    drop_block(offsets);
    fastpair_gpu_job_close(job);
    close_columns(&c);
}

/* Each driver call that a decode makes fails in turn: a status, and no context left current. */
static void test_failures(uint64_t *random) {
    static const char *const calls[] = {"cuLaunchKernel", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
                                        "cuCtxPushCurrent_v2", "cuCtxGetId"};
    fastpair_gpu_job_options options = wanting(3);
    options.regenerate_positions = 1;
    setting s;
    open_setting(&s, &options, random);
    upload(&s);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int n = 0, failed = 1; failed && n < 20; n++) {
            fastpair_error error = {.message = ""};
            char fault[60];
            snprintf(fault, sizeof fault, "%s:%d:700", calls[i], n);
            setenv("FAKE_CUDA", fault, 1);
            fake_count_anew(), launches_start();
            fastpair_status status = fastpair_gpu_job_decode(s.job, s.to, NULL, NULL, &error);
            failed = status != FASTPAIR_OK;
            CHECK_EQ(error.status, failed ? FASTPAIR_ERROR_UNSUPPORTED : FASTPAIR_OK);
            CHECK(n > 0 ? n < 19 : failed);
            CHECK(fake_current() == NULL);
        }
    unsetenv("FAKE_CUDA");
    launches_start();
    CHECK_EQ(fastpair_gpu_job_decode(s.job, s.to, NULL, NULL, NULL), FASTPAIR_OK);
    check_launches(s.job, s.to, 0, s.job->chunk_count);
    close_setting(&s);
}

int main(void) {
    uint64_t random = 3;
    counting_start(&memory);
    gpu = open_gpu(&memory);
    test_refusals(&random);
    test_later_version(&random);
    test_launches(&random);
    test_copies(&random);
    test_nothing();
    test_failures(&random);
    fastpair_gpu_close(gpu);
    CHECK_EQ(memory.live, 0);
    CHECK_EQ(fake_things(), 0);
    return check_done();
}
