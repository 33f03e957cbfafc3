/* test_job_upload.c - bringing a job to the device: what is copied, in how many copies, where to,
 * and what is refused. Device memory is the host's, so that a test can look at it. */
#include "host_job.h"
#include "ranged.h"

static counting memory;
static fastpair_gpu *gpu;

static const dict_recipe twelve_bits = {12, 16, 0, 7};

/* Uploads a range, and returns what was copied. */
static uint64_t copied(fastpair_gpu_job *job, uint64_t at, const fastpair_gpu_range *range,
                       uint64_t *copies) {
    fastpair_error error = {.message = ""};
    fake_wish.copies = fake_wish.copied_bytes = 0;
    CHECK_EQ(fastpair_gpu_job_upload(job, at, job->sizes.all, range, NULL, &error), FASTPAIR_OK);
    if (copies) *copies = fake_wish.copies;
    return fake_wish.copied_bytes;
}

static fastpair_gpu_job *open_for(const columns *c, uint32_t outputs) {
    fastpair_gpu_job_options options = {.struct_size = sizeof options, .outputs = outputs};
    return open_job(gpu, c, &options);
}

/* Every section that was asked for is on the device, byte for byte,, and so are the
 * dictionaries. */
static void check_contents(const fastpair_gpu_job *job) {
    const uint8_t *device = (const uint8_t *)(uintptr_t)job->device_memory;
    CHECK(memcmp(device, job->dictionaries, job->sizes.dictionaries) == 0);
    for (uint64_t i = 0; i < job->chunk_count; i++) {
        const fp_shape_chunk *host = &job->sources[i].host;
        for (int s = 0; s < FP_SECTIONS; s++) {
            if (s == FP_SECTION_LENGTHS && !(job->outputs & FASTPAIR_GPU_OFFSETS)) continue;
            if (s == FP_SECTION_VALIDITY && !(job->outputs & FASTPAIR_GPU_VALIDITY)) continue;
            CHECK(memcmp((const void *)(uintptr_t)fp_job_section(job, &job->chunks[i], s),
                         fp_chunk_section(host->chunk, host->block, s),
                         host->chunk->sections[s].size) == 0);
        }
    }
}

/* ---------------------------------------------------------------- what is copied */

/* Row lengths and validity bits are copied only for jobs that were opened for them. Sections of one
 * chunk lie one after the other, each at a multiple of 64. */
static void test_bytes(uint64_t *random) {
    const chunk_recipe recipes[] = {{5000, 90000, 2, 256}, {0, 90000, 3, 0}};
    for (int r = 0; r < 2; r++) {
        columns c = {0};
        add_chunks(&c, &twelve_bits, &recipes[r], 1, random);
        const fp_section *sections = chunk_of(c.of[0], 0)->sections;
        const fp_section *data = &sections[r ? FP_SECTION_CODES : FP_SECTION_SIDECAR];
        uint64_t lengths = sections[FP_SECTION_LENGTHS].size;
        uint64_t validity = sections[FP_SECTION_VALIDITY].size, bytes[4];
        CHECK(lengths >= FP_SMALL_GAP && validity == 90000 / 8);
        for (uint32_t outputs = 0; outputs < 4; outputs++) {
            fastpair_gpu_job *job = open_for(&c, outputs);
            uint64_t at = device_block(job->sizes.all), copies;
            bytes[outputs] = copied(job, at, NULL, &copies) - job->sizes.dictionaries;
            CHECK_EQ(copies, (job->sizes.dictionaries ? 2 : 1) +
                                 (outputs == FASTPAIR_GPU_VALIDITY ? 1 : 0));
            check_contents(job);
            fastpair_gpu_job_close(job);
            drop_block(at);
        }
        CHECK_EQ(bytes[0], data->offset + data->size - sections[FP_SECTION_CODES].offset);
        CHECK_EQ(bytes[FASTPAIR_GPU_OFFSETS],
                 sections[FP_SECTION_LENGTHS].offset + lengths - sections[FP_SECTION_CODES].offset);
        CHECK_EQ(bytes[FASTPAIR_GPU_VALIDITY], bytes[0] + validity);
        CHECK_EQ(bytes[3], sections[FP_SECTION_VALIDITY].offset + validity -
                               sections[FP_SECTION_CODES].offset);
        close_columns(&c);
    }
}

/* Small chunks of a column come in one copy, whatever part of them is asked for. Dictionaries and
 * other columns have copies of their own, and chunks that nobody asked for have none. */
static void test_copies(uint64_t *random) {
    chunk_recipe chunks[50];
    columns c = {0};
    for (int i = 0; i < 50; i++) chunks[i] = (chunk_recipe){i % 7 ? 40 : 0, 9, 0, 256};
    for (int i = 0; i < 3; i++) add_chunks(&c, &twelve_bits, chunks, 50, random);
    fastpair_gpu_job *job = open_for(&c, 3);
    uint64_t at = device_block(job->sizes.all), bytes, copies;
    static const struct {
        fastpair_gpu_range range;
        uint64_t copies;
    } cases[] = {{{0, 0}, 1}, /* the first call brings the dictionaries */
                 {{0, 150}, 3}, {{5, 1}, 1},   {{20, 30}, 1},
                 {{49, 2}, 2},  {{49, 52}, 3}, {{150, 0}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes = copied(job, at, &cases[i].range, &copies);
        CHECK_EQ(copies, cases[i].copies);
        if (i == 0) CHECK_EQ(bytes, job->sizes.dictionaries);
        if (i == 2) CHECK_EQ(bytes, job->sources[5].bytes);
        if (i == 1) check_contents(job);
    }
    fastpair_gpu_job_close(job);
    drop_block(at);
    close_columns(&c);
}

/* Chunks in any order and in any ranges give the same device memory. */
static void test_ranges(uint64_t *random) {
    chunk_recipe chunks[20];
    columns c = {0};
    for (int i = 0; i < 20; i++)
        chunks[i] = (chunk_recipe){i % 5 == 4 ? 0
                                   : i == 11  ? 300000
                                              : 400,
                                   i == 7 ? 80000 : 30, (uint32_t)i % 3 * 2, 256};
    add_chunks(&c, &twelve_bits, chunks, 20, random);
    for (uint32_t outputs = 0; outputs < 4; outputs++) {
        fastpair_gpu_job *job = open_for(&c, outputs);
        uint64_t at = device_block(job->sizes.all);
        uint32_t first = (uint32_t)(check_random(random) % 20);
        for (uint64_t i = 0; i < 20; i++)
            copied(job, at, &(fastpair_gpu_range){(first + 7 * i) % 20, 1}, NULL);
        check_contents(job);
        fastpair_gpu_job_close(job);
        drop_block(at);
    }
    close_columns(&c);
}

/* Columns whose image is on the device: only dictionaries are copied. */
static void test_device_images(uint64_t *random) {
    const chunk_recipe chunks[] = {{900, 20, 2, 256}, {0, 20, 0, 0}, {900, 20, 0, 256}};
    columns c = {0};
    for (int i = 0; i < 3; i++) add_chunks(&c, &twelve_bits, chunks, 3, random);
    uint64_t images[3] = {device_block(c.image[0].size), 0, device_block(c.image[2].size)};
    fastpair_gpu_job_options options = {
        .struct_size = sizeof options, .outputs = 3, .device_images = images};
    fastpair_gpu_job *job = open_job(gpu, &c, &options);
    uint64_t at = device_block(job->sizes.all), copies;
    CHECK_EQ(copied(job, at, &(fastpair_gpu_range){0, 3}, &copies), job->sizes.dictionaries);
    CHECK_EQ(copies, 1);
    CHECK_EQ(copied(job, at, &(fastpair_gpu_range){6, 3}, &copies), 0);
    CHECK(copied(job, at, NULL, &copies) > 0 && copies == 1); /* the column in the middle */
    for (int i = 0; i < 3; i += 2)
        memcpy((void *)(uintptr_t)images[i], c.image[i].data, c.image[i].size);
    check_contents(job);
    fastpair_gpu_job_close(job);
    for (int i = 0; i < 3; i += 2) drop_block(images[i]);
    drop_block(at);
    close_columns(&c);
}

/* ---------------------------------------------------------------- what is refused */

static void refuse(fastpair_gpu_job *job, uint64_t at, uint64_t capacity,
                   const fastpair_gpu_range *range, fastpair_status expected, const char *says) {
    fastpair_error error = {.message = ""};
    fake_wish.copies = 0;
    CHECK_EQ(fastpair_gpu_job_upload(job, at, capacity, range, NULL, &error), expected);
    CHECK(error.status == expected && strstr(error.message, says) != NULL);
    if (!strstr(error.message, says)) fprintf(stderr, "  ^ said: %s\n", error.message);
    CHECK_EQ(fake_wish.copies, 0);
}

static void test_refusals(uint64_t *random) {
    const fastpair_status invalid = FASTPAIR_ERROR_INVALID_ARGUMENT;
    columns c = {0};
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){{900, 20, 0, 256}, {0, 20, 0, 0}}, 2, random);
    fastpair_gpu_job *job = open_for(&c, 0);
    uint64_t size = job->sizes.all, at = device_block(size), other = device_block(size);
    refuse(NULL, at, size, NULL, invalid, "NULL");
    refuse(job, 0, size, NULL, invalid, "multiple of 256");
    refuse(job, at + 128, size, NULL, invalid, "multiple of 256");
    refuse(job, at, size - 1, NULL, FASTPAIR_ERROR_BUFFER_TOO_SMALL, "bytes of device memory");
    refuse(job, at, size, &(fastpair_gpu_range){1, 2}, invalid, "2 chunks");
    CHECK_EQ(job->device_memory, 0);
    copied(job, at, &(fastpair_gpu_range){0, 1}, NULL);
    refuse(job, other, size, NULL, invalid, "another address");
    refuse(job, 0, size, NULL, invalid, "multiple of 256");
    refuse(job, at, size - 1, NULL, FASTPAIR_ERROR_BUFFER_TOO_SMALL, "bytes of device memory");
    copied(job, at, &(fastpair_gpu_range){1, 1}, NULL);
    check_contents(job);
    fastpair_gpu_job_close(job);
    drop_block(at), drop_block(other);
    close_columns(&c);
    /* A job with nothing to upload needs no memory. */
    CHECK_EQ(fastpair_gpu_job_open(gpu, NULL, 0, NULL, &job, NULL), FASTPAIR_OK);
    CHECK_EQ(copied(job, 0, NULL, NULL), 0);
    refuse(job, 1, 0, NULL, invalid, "multiple of 256");
    fastpair_gpu_job_close(job);
}

/* A copy fails: the call says so, and the same call succeeds later. */
static void test_failure(uint64_t *random) {
    columns c = {0};
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){{900, 20, 0, 256}, {300000, 20, 0, 256}}, 2,
               random);
    for (int n = 0; n < 3; n++) {
        fastpair_gpu_job *job = open_for(&c, 0);
        uint64_t at = device_block(job->sizes.all);
        fastpair_error error = {.message = ""};
        char fault[40];
        snprintf(fault, sizeof fault, "cuMemcpyHtoDAsync_v2:%d:2", n);
        setenv("FAKE_CUDA", fault, 1);
        fake_count_anew();
        CHECK_EQ(fastpair_gpu_job_upload(job, at, job->sizes.all, NULL, NULL, &error),
                 FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK(strstr(error.message, "copying a job") != NULL);
        unsetenv("FAKE_CUDA");
        copied(job, at, NULL, NULL);
        check_contents(job);
        fastpair_gpu_job_close(job);
        drop_block(at);
    }
    close_columns(&c);
}

/* A file of a later version: what is zero in 1.0 is not, and a block and a part are there that nobody
 * knows. The job is that of the same rows. */
static void test_later_version(uint64_t *random) {
    const chunk_recipe recipes[] = {{4000, 900, 0, 256}, {0, 900, 0, 0}};
    columns c = {0};
    add_chunks(&c, &twelve_bits, recipes, 2, random);
    forge_parts parts;
    CHECK(forge_parts_open(&parts, c.image[0].data, c.image[0].size));
    forge_put(parts.head + 10, 7, 2);
    memset(parts.head + 24, 255, 32);
    for (uint32_t i = 0; i < parts.count; i++)
        memset(parts.blocks[i].header + (parts.blocks[i].is_chunk ? 304 : 80), 255, 8);
    parts.extra = 2;
    parts.footer_parts[parts.footer_count].kind = 99;
    forge_append(&parts.footer_parts[parts.footer_count++].bytes, "later", 5);
    add_image(&c, forge_join(&parts));
    forge_parts_close(&parts);
    fastpair_gpu_job *job = open_for(&c, 0);
    CHECK_EQ(job->chunk_count, 4);
    uint64_t at = device_block(job->sizes.all);
    copied(job, at, NULL, NULL);
    check_contents(job);
    for (uint64_t i = 0; i < 2; i++) {
        const fp_shape_chunk *host = &job->sources[i].host, *later = &job->sources[i + 2].host;
        for (int s = 0; s < FP_SECTIONS; s++)
            CHECK_EQ(host->chunk->sections[s].checksum, later->chunk->sections[s].checksum);
    }
    fastpair_gpu_job_close(job);
    drop_block(at);
    close_columns(&c);
}

/* A column that is read in ranges: its job is that of the image in memory. */
static void test_source(uint64_t *random) {
    const chunk_recipe recipes[] = {{4000, 900, 0, 256}, {0, 900, 0, 0}, {7000, 900, 3, 256}};
    static const fp_source_sizes sizes = {100, 64, 5000};
    columns c = {0};
    add_chunks(&c, &twelve_bits, recipes, 3, random);
    ranged from;
    ranged_start(&from, c.image[0].data, c.image[0].size);
    fastpair_range_source source = ranged_source(&from, 2);
    fastpair_column *column = NULL;
    CHECK_EQ(fp_column_open_sized(&source, &sizes, NULL, &column, NULL), FASTPAIR_OK);
    c.of[c.count] = column, c.image[c.count++] = (forge_bytes){0};
    fastpair_gpu_job *job = open_for(&c, 3);
    CHECK_EQ(from.twice, 0);
    CHECK_EQ(job->chunk_count, 6);
    uint64_t at = device_block(job->sizes.all);
    copied(job, at, NULL, NULL);
    check_contents(job);
    for (uint64_t i = 0; i < 3; i++) {
        const fp_shape_chunk *host = &job->sources[i].host, *other = &job->sources[i + 3].host;
        CHECK(host->block != other->block);
        CHECK(!memcmp(host->block, other->block, host->chunk->block_bytes));
        CHECK(!memcmp(host->chunk, other->chunk, sizeof *host->chunk));
        CHECK_EQ(job->chunks[i].dict, job->chunks[i + 3].dict);
    }
    fastpair_gpu_job_close(job);
    drop_block(at);
    close_columns(&c);
    ranged_end(&from);
}

int main(void) {
    uint64_t random = 29;
    counting_start(&memory);
    gpu = open_gpu(&memory);
    test_bytes(&random);
    test_copies(&random);
    test_ranges(&random);
    test_device_images(&random);
    test_refusals(&random);
    test_failure(&random);
    test_later_version(&random);
    test_source(&random);
    fastpair_gpu_close(gpu);
    CHECK_EQ(memory.live, 0);
    return check_done();
}
