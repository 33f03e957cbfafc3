/* test_jobs.c - jobs of many chunks and dictionaries, through the public calls and a driver that
 * runs kernels in the emulator: more dictionaries and chunks than a launch holds, ranges of chunks,
 * chunks of several kinds, small devices, memory that runs out. Prints its seed; FASTPAIR_TEST_SEED
 * repeats a run. */
#include "frames.h"
#include "job_columns.h"

/* Each column has a dictionary of its own. */
static void test_many_dictionaries(void) {
    start();
    for (uint64_t i = 0; i < 160; i++)
        add_classes(&columns, 12, 8, 0, 1000 + i, 1, 300, 256, i % 50 == 0);
    check_job(&columns, NULL, 0);
    CHECK(fake.counts.most_dicts > 120);
}

/* Several columns with one dictionary. */
static void test_many_chunks(void) {
    start();
    for (uint64_t i = 0; i < 7; i++) add_classes(&columns, 12, 16, 0, 77, 95, 40, 256, 0);
    CHECK_EQ(check_job(&columns, NULL, 0), 2);
    CHECK_EQ(fake.counts.most_spans, FP_GPU_SPANS);
    CHECK_EQ(fake.counts.most_dicts, 1);
    CHECK_EQ(fake.counts.most_entries[FAKE_VALIDITY], FP_GPU_ENTRIES);
    CHECK_EQ(fake.counts.most_entries[FAKE_OFFSETS], FP_GPU_ENTRIES - 1);
    CHECK_EQ(fake.counts.helper_launches[FAKE_MEASURE], 0);
    CHECK_EQ(check_job(&columns, NULL, 1), 2);
    CHECK_EQ(fake.counts.most_entries[FAKE_MEASURE], FP_GPU_ENTRIES);
    CHECK_EQ(fake.counts.most_entries[FAKE_SCAN], FP_GPU_ENTRIES);
    fake_wish.takes_no_buffers = 1; /* a driver that takes parameters only whole */
    CHECK_EQ(check_job(&columns, NULL, 1), 2);
}

/* The same for the paper's kernels, whose launches hold fewer chunks. */
static void test_many_staged_chunks(void) {
    start();
    for (uint64_t i = 0; i < 7; i++) add_classes(&columns, 12, 16, 0, 77 + i % 3, 65, 40, 256, 0);
    CHECK_EQ(check_job(&columns, "staged K8 W8 H1 T256 B4", 0), 0);
    CHECK_EQ(fake.counts.most_works, FP_STAGED_CHUNKS);
    uint32_t kernel = fp_kernel_find("staged K8 W8 H1 T256 B4"), launches = 0;
    for (uint32_t i = 0; i < FP_STAGED_KERNELS; i++) launches += fake.counts.launches[i];
    CHECK_EQ(launches, fake.counts.launches[kernel]);
    CHECK_EQ(check_job(&columns, "staged K6 W8 H1 T256 B4", 0), 0); /* batches that do not fit */
    CHECK(fake.counts.helper_launches[FAKE_SCAN] > 0);
    fake_wish.takes_no_buffers = 1;
    CHECK_EQ(check_job(&columns, "staged K8 W16 H0 T256 B4", 1), 0);
}

/* Small chunks of a column come in one copy. Dictionaries and other columns do not, nor do chunks
 * that nobody asked for. */
static void test_copies(void) {
    start();
    add_classes(&columns, 12, 16, 0, 77, 100, 40, 256, 0);
    add_classes(&columns, 12, 16, 0, 77, 50, 40, 256, 0);
    fastpair_gpu_job *job = open_job(&columns, NULL, 0);
    fake_allocate(job, 0);
    const uint64_t ranges[][3] = {{0, 0, 1},   {0, 150, 2}, {5, 1, 1},
                                  {20, 30, 1}, {99, 2, 2},  {150, 0, 0}};
    for (int i = 0; i < 6; i++) {
        fake_wish.copies = 0;
        upload(job, &(fastpair_gpu_range){ranges[i][0], ranges[i][1]});
        CHECK_EQ(fake_wish.copies, ranges[i][2]);
    }
    CHECK_EQ(fastpair_gpu_job_decode(job, fake.outputs, NULL, NULL, NULL), FASTPAIR_OK);
    check_outputs(&columns);
    fake_release();
    fastpair_gpu_job_close(job);
}

/* Exactly as many chunks as a launch holds, and then another dictionary. */
static void test_full_launch(void) {
    start();
    for (uint64_t i = 0; i < 10; i++)
        add_classes(&columns, 10, 8, 0, 78, FP_GPU_SPANS / 10, 30, 256, 0);
    CHECK_EQ(check_job(&columns, NULL, 0), 1);
    CHECK_EQ(fake.counts.most_spans, FP_GPU_SPANS);
    add_classes(&columns, 10, 8, 0, 79, 2, 30, 256, 0);
    CHECK_EQ(check_job(&columns, NULL, 0), 2);
}

static void test_mixed(void) {
    for (int turn = 0; turn < 3; turn++) {
        start();
        if (turn == 1) add_plain(&columns);
        add_classes(&columns, 12, 16, 0, 5, 6, 3000, 256, 1);
        add_empty(&columns);
        add_classes(&columns, 16, 16, 1, 6, 4, 2000, 256, 1);
        if (turn == 2) add_plain(&columns);
        /* The first column's dictionary, another batch size. */
        add_classes(&columns, 12, 16, 0, 5, 4, 3000, 128, 0);
        add_classes(&columns, 9, 8, 0, 7, 3, 900, 512, 1);
        add_classes(&columns, 12, 16, 0, 8, 3, 900, 160, 1); /* a batch size that suits nothing */
        uint32_t assembled = check_job(&columns, NULL, 0);
        CHECK(assembled >= 2);
        CHECK(check_job(&columns, NULL, 1) >= assembled);
    }
    start();
    add_empty(&columns);
    CHECK_EQ(check_job(&columns, NULL, 0), 0);
}

/* Makes the columns cold, as far as they can be; returns how many chunks are. */
static uint64_t make_cold(made *m) {
    uint64_t cold = 0;
    for (uint64_t i = 0; i < m->count; i++) {
        forge_bytes image = {0};
        fastpair_sink sink = {forge_write, &image};
        fastpair_convert_options options = {.struct_size = sizeof options, .cold = 1, .level = 9};
        fastpair_column *column = NULL;
        fastpair_column_info info = {.struct_size = sizeof info};
        fastpair_open_options open = {.struct_size = sizeof open, .threads = 1 + i % 2};
        CHECK_EQ(fastpair_column_convert(m->column[i], &options, &sink, NULL), FASTPAIR_OK);
        CHECK_EQ(fastpair_column_open(image.data, image.size, &open, &column, NULL), FASTPAIR_OK);
        CHECK_EQ(fastpair_column_get_info(column, &info, NULL), FASTPAIR_OK);
        cold += info.cold_chunks;
        fastpair_column_close((fastpair_column *)(uintptr_t)m->column[i]);
        free(m->file[i].data);
        m->column[i] = column;
        m->file[i] = image;
    }
    return cold;
}

/* Cold columns, beside warm ones and with chunks of both kinds, decode to the same rows. Their chunks
 * are made warm on the host. */
static void test_cold(void) {
    if (!frames_available()) return;
    start();
    add_classes(&columns, 12, 16, 0, 5, 6, 3000, 256, 1);
    add_classes(&columns, 16, 16, 1, 6, 4, 2000, 256, 1);
    add_classes(&columns, 12, 64, 0, 9, 3, 2000, 128, 1);
    add_classes(&columns, 9, 32, 0, 7, 3, 900, 128, 0);
    add_plain(&columns);
    add_empty(&columns);
    CHECK(make_cold(&columns) > 9);
    add_classes(&columns, 12, 16, 0, 5, 4, 3000, 256, 0); /* warm, with the first's dictionary */
    CHECK(check_job(&columns, NULL, 0) > 0);
    CHECK(check_job(&columns, NULL, 1) > 0);
}

/* Devices with little shared memory, and one for which the model finds no room at all. */
static void test_devices(void) {
    const uint32_t block_kilobytes[] = {227, 163, 99, 99}, reserved[] = {1, 1, 1, 200};
    for (int d = 0; d < 4; d++) {
        start();
        fake.gpu.info.shared_per_block = block_kilobytes[d] << 10;
        fake.gpu.info.shared_per_multiprocessor = (block_kilobytes[d] + 1) << 10;
        fake.gpu.info.shared_reserved_per_block = reserved[d] << 10;
        add_classes(&columns, 12, 16, 0, 10, 3, 3000, 256, 1);
        add_classes(&columns, 12, 16, 0, 11, 3, 3000, 256, 1);
        add_classes(&columns, 10, 8, 0, 12, 3, 3000, 256, 1);
        add_classes(&columns, 10, 8, 0, 13, 3, 3000, 256, 1);
        CHECK(check_job(&columns, NULL, 0) > 0);
    }
}

/* Chunks as large as can be, which nobody has here: their headers say so, and nothing runs. */
static void test_large_chunks(void) {
    start();
    for (uint64_t i = 0; i < 4; i++) add_classes(&columns, 9, 16, 0, 17, 95, 30, 32, 0);
    fastpair_gpu_job *job = open_job(&columns, NULL, 0);
    uint32_t number = job->dicts[0].plan.kernel;
    const fp_kernel *kernel = &fp_kernel_table()[number];
    CHECK(!fp_kernel_is_staged(number));
    fake_allocate(job, 1);
    uint64_t all = fp_kernel_batches(kernel, UINT32_MAX) * job->chunk_count;
    upload(job, NULL);
    for (uint64_t i = 0; i < job->chunk_count; i++) job->chunks[i].codes = UINT32_MAX;
    fake_wish.only_counts = 1;
    CHECK_EQ(fastpair_gpu_job_decode(job, fake.outputs, NULL, NULL, NULL), FASTPAIR_OK);
    CHECK_EQ(fake.counts.batches, all);
    /* Numbers past the last batch, which warps look at, stay below 2^32, too. */
    CHECK(fake.counts.most_batches < UINT32_MAX - (1u << 24));
    CHECK_EQ(fake.counts.launches[number], all > 1ull << 31 ? 2 : 1);
    fake_release();
    fastpair_gpu_job_close(job);
}

/* A device so small that warps go through several batches, of several chunks. */
static void test_turns(void) {
    start();
    fake.gpu.info.multiprocessors = 1;
    add_classes(&columns, 12, 16, 0, 14, 2, 40000, 256, 1);
    add_classes(&columns, 9, 8, 0, 15, 2, 100000, 256, 1);
    add_classes(&columns, 9, 8, 0, 16, 40, 500, 256, 1);
    CHECK(check_job(&columns, NULL, 0) > 0);
}

/* Once a job is uploaded, its columns may be closed. */
static void test_closed_columns(void) {
    start();
    add_classes(&columns, 12, 16, 0, 5, 3, 2000, 256, 1);
    add_plain(&columns);
    add_empty(&columns);
    add_classes(&columns, 12, 16, 0, 8, 3, 900, 160, 1); /* positions are computed for it */
    fastpair_gpu_job *job = open_job(&columns, NULL, 0);
    fake_allocate(job, 0);
    decode(job, UINT64_MAX);
    check_outputs(&columns);
    uint8_t *expected[4] = {NULL};
    for (uint64_t c = 0; c < 4; c++) {
        uint64_t size = fake.outputs[c].bytes_capacity;
        if (!(expected[c] = malloc(size + 1))) abort();
        memcpy(expected[c], fake_at(fake.outputs[c].bytes), size);
        memset((void *)(uintptr_t)fake.outputs[c].bytes, 0xee, size);
    }
    close_columns(&columns);
    CHECK_EQ(fastpair_gpu_job_decode(job, fake.outputs, NULL, NULL, NULL), FASTPAIR_OK);
    for (uint64_t c = 0; c < 4; c++) {
        fastpair_gpu_column_info info = {.struct_size = sizeof info};
        CHECK_EQ(fastpair_gpu_job_get_column(job, c, &info, NULL), FASTPAIR_OK);
        CHECK_EQ(info.decoded_bytes, fake.outputs[c].bytes_capacity);
        CHECK(!memcmp(fake_at(fake.outputs[c].bytes), expected[c], info.decoded_bytes));
        free(expected[c]);
    }
    fake_release();
    fastpair_gpu_job_close(job);
}

/* Every allocation of a job fails in turn. */
static void test_memory(void) {
    start();
    add_classes(&columns, 12, 16, 0, 5, 2, 500, 256, 1);
    add_classes(&columns, 16, 16, 1, 6, 2, 500, 256, 0);
    fastpair_gpu_job *job = NULL;
    uint64_t n = 0;
    for (fastpair_status status = FASTPAIR_ERROR_OUT_OF_MEMORY; status; n++) {
        counting_start(&memory);
        memory.fail_at = n;
        status = fastpair_gpu_job_open(&fake.gpu, columns.column, columns.count, NULL, &job, NULL);
        CHECK(status == FASTPAIR_OK || (status == FASTPAIR_ERROR_OUT_OF_MEMORY && !job));
        fastpair_gpu_job_close(job);
        CHECK_EQ(memory.live, 0);
        if (n > 100) break;
    }
    CHECK(n > 10 && n < 100);
}

int main(void) {
    start_random(1202);
    test_many_dictionaries();
    test_many_chunks();
    test_many_staged_chunks();
    test_copies();
    test_full_launch();
    test_mixed();
    test_cold();
    test_devices();
    test_turns();
    test_large_chunks();
    test_closed_columns();
    CHECK_EQ(memory.live, 0);
    test_memory();
    close_columns(&columns);
    return check_done();
}
