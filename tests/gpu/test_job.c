/* test_job.c - opening and describing jobs: dictionaries that columns share, lists of chunks, what
 * is refused, memory that runs out. Nothing here touches the device. */
#include "gpu/staged.h"
#include "host_job.h"

static counting memory;
static fastpair_gpu *gpu;

static const dict_recipe twelve_bits = {12, 16, 0, 7}, another = {12, 16, 0, 8};
static const chunk_recipe coded = {700, 30, 0, 256}, with_nulls = {700, 30, 4, 256},
                          stored = {0, 25, 0, 0};

/* ---------------------------------------------------------------- dictionaries */

/* A dictionary that several columns share is laid out once, and takes the memory of one. */
static void test_shared_dictionary(uint64_t *random) {
    columns c = {0};
    fastpair_gpu_job_info one = {.struct_size = sizeof one}, both = one;
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){coded, coded}, 2, random);
    fastpair_gpu_job *job = open_job(gpu, &c, NULL);
    CHECK_EQ(fastpair_gpu_job_get_info(job, &one, NULL), FASTPAIR_OK);
    CHECK(job->dict_count == 1 && one.dictionary_bytes > 0);
    fastpair_gpu_job_close(job);
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){stored, coded}, 2, random);
    job = open_job(gpu, &c, NULL);
    CHECK_EQ(fastpair_gpu_job_get_info(job, &both, NULL), FASTPAIR_OK);
    CHECK_EQ(job->dict_count, 1);
    CHECK_EQ(both.dictionary_bytes, one.dictionary_bytes);
    CHECK(c.of[0]->dictionaries != c.of[1]->dictionaries);
    fastpair_gpu_job_close(job);
    /* The same column twice. */
    c.of[2] = c.of[0];
    job = NULL;
    CHECK_EQ(fastpair_gpu_job_open(gpu, c.of, 3, NULL, &job, NULL), FASTPAIR_OK);
    CHECK(job->dict_count == 1 && job->chunk_count == 6);
    fastpair_gpu_job_close(job);
    /* Another dictionary, and then one whose checksum is the same by accident. */
    add_chunks(&c, &another, &coded, 1, random);
    for (int same_checksum = 0; same_checksum < 2; same_checksum++) {
        job = open_job(gpu, &c, NULL);
        CHECK_EQ(job->dict_count, 2);
        CHECK(job->chunks[4].dict == 1 && job->chunks[3].dict == 0);
        fastpair_gpu_job_close(job);
        c.of[2]->dictionaries[0].checksum = c.of[0]->dictionaries[0].checksum;
    }
    /* The same for a dictionary that differs in one byte of one token. */
    forge_bytes altered = {malloc(c.image[0].size), c.image[0].size};
    if (!altered.data) abort();
    memcpy(altered.data, c.image[0].data, altered.size);
    const uint8_t *tokens = c.of[0]->dictionaries[0].dict.bytes;
    uint8_t *first = altered.data;
    while (memcmp(first, tokens, c.of[0]->dictionaries[0].dict.bytes_size) != 0) first++;
    first[c.of[0]->dictionaries[0].dict.bytes_size - 1] ^= 1;
    forge_reseal(altered.data, altered.size);
    add_image(&c, altered);
    c.of[3]->dictionaries[0].checksum = c.of[0]->dictionaries[0].checksum;
    job = open_job(gpu, &c, NULL);
    CHECK_EQ(job->dict_count, 3);
    fastpair_gpu_job_close(job);
    close_columns(&c);
}

/* Coded chunks are listed by dictionary, ascending; ranges find their part of each list. */
static void test_lists(uint64_t *random) {
    columns c = {0};
    for (uint64_t i = 0; i < 30; i++) {
        dict_recipe dict = {10 + (uint32_t)(i % 3), 16, 0, i % 5};
        chunk_recipe chunks[3] = {i % 4 ? coded : stored, with_nulls, i % 2 ? stored : coded};
        add_chunks(&c, &dict, chunks, 3, random);
    }
    fastpair_gpu_job *job = open_job(gpu, &c, NULL);
    CHECK_EQ(job->dict_count, 15);
    uint64_t listed = 0, coded_chunks = 0;
    for (uint64_t i = 0; i < job->chunk_count; i++) coded_chunks += job->chunks[i].codes != 0;
    for (uint64_t d = 0; d < job->dict_count; d++) {
        const fp_job_dict *dict = &job->dicts[d];
        CHECK_EQ(dict->first_listed, listed);
        for (uint64_t i = listed; i < listed + dict->listed; i++) {
            uint32_t chunk = job->coded_chunks[i];
            CHECK(job->chunks[chunk].dict == d && job->chunks[chunk].codes);
            CHECK(i == listed || job->coded_chunks[i - 1] < chunk);
        }
        listed += dict->listed;
        for (uint64_t from = 0; from <= job->chunk_count; from += 7) {
            uint64_t at = fp_job_listed_from(job, dict, from);
            CHECK(at == dict->first_listed || job->coded_chunks[at - 1] < from);
            CHECK(at == listed || job->coded_chunks[at] >= from);
        }
    }
    CHECK_EQ(listed, coded_chunks);
    fastpair_gpu_job_close(job);
    close_columns(&c);
}

/* ---------------------------------------------------------------- what a job says of itself */

static void test_info(uint64_t *random) {
    columns c = {0};
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){coded, with_nulls, stored}, 3, random);
    add_image(&c, forge_empty_column());
    add_chunks(&c, &another, &stored, 1, random);
    fastpair_gpu_job *job = open_job(gpu, &c, NULL);
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    fastpair_gpu_column_info column = {.struct_size = sizeof column};
    fastpair_error error = {.message = ""};
    CHECK_EQ(fastpair_gpu_job_get_info(job, &info, &error), FASTPAIR_OK);
    CHECK(info.columns == 3 && info.chunks == 4 && info.rows == 30 + 30 + 25 + 25);
    CHECK_EQ(info.decoded_bytes, c.of[0]->totals.decoded_bytes + 100);
    CHECK(info.device_bytes > info.dictionary_bytes && info.dictionary_bytes);
    CHECK(!info.regenerates_positions && fp_kernel_find(info.kernel) < FP_KERNELS);
    static const uint64_t expected[3][5] = {/* first chunk, chunks, rows, nulls, validity bytes */
                                            {0, 3, 85, 7, 12},
                                            {3, 0, 0, 0, 0},
                                            {3, 1, 25, 0, 4}};
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(fastpair_gpu_job_get_column(job, i, &column, &error), FASTPAIR_OK);
        CHECK(column.first_chunk == expected[i][0] && column.chunks == expected[i][1]);
        CHECK(column.rows == expected[i][2] && column.nulls == expected[i][3]);
        CHECK(column.validity_bytes == expected[i][4]);
        CHECK_EQ(column.decoded_bytes, c.of[i]->totals.decoded_bytes);
    }
    CHECK_EQ(fastpair_gpu_job_get_column(job, 3, &column, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "column 3") != NULL);
    CHECK_EQ(fastpair_gpu_job_get_column(job, 0, NULL, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_job_get_column(NULL, 0, &column, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_job_get_info(job, NULL, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_job_get_info(NULL, &info, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    column.struct_size = 0, info.struct_size = sizeof info - 1;
    CHECK_EQ(fastpair_gpu_job_get_column(job, 0, &column, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_job_get_info(job, &info, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_gpu_job_close(job);
    close_columns(&c);
}

/* Jobs with nothing in them, or nothing that a kernel decodes. */
static void test_empty(uint64_t *random) {
    fastpair_gpu_job *job = NULL;
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_gpu_job_open(gpu, NULL, 0, NULL, &job, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_job_get_info(job, &info, NULL), FASTPAIR_OK);
    CHECK(info.columns == 0 && info.chunks == 0 && info.device_bytes == 0 && !info.kernel[0]);
    fastpair_gpu_job_close(job);
    columns c = {0};
    add_image(&c, forge_empty_column());
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){stored, {0, 9, 1, 0}}, 2, random);
    fastpair_gpu_job_options named = {.struct_size = sizeof named,
                                      .kernel = fastpair_gpu_kernel_name(0)};
    for (int i = 0; i < 2; i++) {
        job = open_job(gpu, &c, i ? &named : NULL);
        CHECK_EQ(fastpair_gpu_job_get_info(job, &info, NULL), FASTPAIR_OK);
        CHECK(job->dict_count == 0 && info.dictionary_bytes == 0 && !info.kernel[0]);
        fastpair_gpu_job_close(job);
    }
    close_columns(&c);
    fastpair_gpu_job_close(NULL);
}

/* ---------------------------------------------------------------- kernels */

static void test_kernels(void) {
    fastpair_gpu_kernel_info info = {.struct_size = sizeof info};
    fastpair_error error = {.message = ""};
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        CHECK_EQ(fastpair_gpu_get_kernel(gpu, i, &info, &error), FASTPAIR_OK);
        CHECK_EQ(info.threads, kernel->threads);
        CHECK_EQ(info.register_limit, fp_register_limit(kernel->threads, kernel->blocks));
        CHECK(info.registers && info.driver_blocks); /* what the made-up driver says */
        if (fp_kernel_is_staged(i)) CHECK_EQ(info.shared_bytes, fp_staged_shared(i, 4096));
        fp_block_needs needs = {info.threads, info.registers, info.shared_bytes};
        CHECK_EQ(info.model_blocks, fp_resident_blocks(&gpu->info, &needs));
    }
    CHECK_EQ(fastpair_gpu_get_kernel(gpu, FP_KERNELS, &info, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_get_kernel(NULL, 0, &info, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_get_kernel(gpu, 0, NULL, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    info.struct_size = 4;
    CHECK_EQ(fastpair_gpu_get_kernel(gpu, 0, &info, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
}

/* ---------------------------------------------------------------- what is refused */

static void test_refusals(uint64_t *random) {
    columns c = {0};
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){coded, stored}, 2, random);
    add_chunks(&c, &another, &stored, 1, random);
    const fastpair_column *missing[2] = {c.of[0], NULL};
    const uint64_t images[2] = {4096, 4096 + 32}, aligned[2] = {4096, 0};
    size_t size = sizeof(fastpair_gpu_job_options);
    const struct {
        const fastpair_column *const *columns;
        fastpair_gpu_job_options options;
        const char *says;
    } cases[] = {
        {NULL, {.struct_size = size}, "NULL"},
        {missing, {.struct_size = size}, "NULL"},
        {c.of, {.struct_size = 0}, "struct_size"},
        {c.of, {.struct_size = size - 8}, "struct_size"},
        {c.of, {.struct_size = size, .outputs = 4}, "0x4"},
        {c.of, {.struct_size = size, .outputs = 0x80000001u}, "0x80000001"},
        {c.of, {.struct_size = size, .device_images = images}, "image 1"},
        {c.of, {.struct_size = size, .kernel = "no such kernel"}, "no such kernel"},
        {c.of, {.struct_size = size, .kernel = "staged8 K8 T256 B4"}, "cannot decode"},
        {c.of, {.struct_size = size, .kernel = "assembled K32 b9 L8 SPLIT S4 T1024"}, "12-bit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fastpair_error error = {.message = ""};
        fastpair_gpu_job *job = (fastpair_gpu_job *)&memory;
        CHECK_EQ(fastpair_gpu_job_open(gpu, cases[i].columns, 2, &cases[i].options, &job, &error),
                 FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(error.status == FASTPAIR_ERROR_INVALID_ARGUMENT &&
              strstr(error.message, cases[i].says));
        if (!strstr(error.message, cases[i].says)) fprintf(stderr, "  ^ said: %s\n", error.message);
        if (cases[i].columns) CHECK(job == NULL);
    }
    fastpair_gpu_job *job;
    CHECK_EQ(fastpair_gpu_job_open(NULL, c.of, 2, NULL, &job, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(fastpair_gpu_job_open(gpu, c.of, 2, NULL, NULL, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    /* A later version's options, with what it added left alone and then set. */
    struct {
        fastpair_gpu_job_options options;
        uint64_t more;
    } later = {{.struct_size = sizeof later, .device_images = aligned}, 0};
    CHECK_EQ(fastpair_gpu_job_open(gpu, c.of, 2, &later.options, &job, NULL), FASTPAIR_OK);
    CHECK(job->chunks[0].on_device && !job->chunks[2].on_device);
    CHECK_EQ(job->chunks[0].sections[FP_SECTION_CODES],
             4096 + chunk_of(c.of[0], 0)->position + chunk_of(c.of[0], 0)->sections[0].offset);
    fastpair_gpu_job_close(job);
    later.more = 1;
    CHECK_EQ(fastpair_gpu_job_open(gpu, c.of, 2, &later.options, &job, NULL),
             FASTPAIR_ERROR_INVALID_ARGUMENT);
    /* More chunks than numbers hold: a column that says so of itself. */
    fastpair_column many = *c.of[0];
    const fastpair_column *claimed = &many;
    many.totals.chunks = 1ull << 32;
    CHECK_EQ(fastpair_gpu_job_open(gpu, &claimed, 1, NULL, &job, NULL), FASTPAIR_ERROR_LIMIT);
    CHECK(job == NULL);
    close_columns(&c);
}

/* Every allocation fails in turn: nothing is kept. */
static void test_memory(uint64_t *random) {
    columns c = {0};
    add_chunks(&c, &twelve_bits, (chunk_recipe[]){coded, stored}, 2, random);
    add_chunks(&c, &(dict_recipe){16, 16, 1, 6}, &with_nulls, 1, random);
    uint64_t before = memory.live, n = 0;
    for (fastpair_status status = FASTPAIR_ERROR_OUT_OF_MEMORY; status && n < 100; n++) {
        fastpair_error error = {.message = ""};
        fastpair_gpu_job *job = (fastpair_gpu_job *)&memory;
        memory.fail_at = memory.calls + n;
        status = fastpair_gpu_job_open(gpu, c.of, c.count, NULL, &job, &error);
        CHECK(status == FASTPAIR_OK || (status == FASTPAIR_ERROR_OUT_OF_MEMORY && !job));
        CHECK_EQ(error.status, status);
        fastpair_gpu_job_close(job);
        CHECK_EQ(memory.live, before);
    }
    memory.fail_at = UINT64_MAX;
    CHECK(n > 9 && n < 100);
    close_columns(&c);
}

int main(void) {
    uint64_t random = 11;
    counting_start(&memory);
    gpu = open_gpu(&memory);
    test_shared_dictionary(&random);
    test_lists(&random);
    test_info(&random);
    test_empty(&random);
    test_kernels();
    test_refusals(&random);
    test_memory(&random);
    fastpair_gpu_close(gpu);
    CHECK_EQ(memory.live, 0);
    return check_done();
}
