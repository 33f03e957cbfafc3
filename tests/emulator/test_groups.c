/* test_groups.c - the host's side of assembled kernels, through the public calls and a driver that runs kernels in the emulator:
 * more dictionaries and chunks than a launch holds, ranges of chunks, chunks of several kinds in between, small devices, memory
 * that runs out. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "fake_device.h"
#include "group_columns.h"

/* Each column has a dictionary of its own. */
static void test_many_dictionaries(void) {
    start();
    for (uint64_t i = 0; i < 160; i++)
        add_classes(&columns, 12, 8, 0, 1000 + i, 1, 300, 256, i % 50 == 0);
    check_batch(&columns, NULL, 0);
    CHECK(fake.most_groups > 120);
}

/* Several columns with one dictionary. */
static void test_many_chunks(void) {
    start();
    for (uint64_t i = 0; i < 7; i++) add_classes(&columns, 12, 16, 0, 77, 95, 40, 256, 0);
    CHECK_EQ(check_batch(&columns, NULL, 0), 2);
    CHECK_EQ(fake.most_chunks, FP_GPU_SPANS);
    CHECK_EQ(fake.most_groups, 1);
    CHECK_EQ(check_batch(&columns, NULL, 1), 2);
    fake_wish.takes_no_buffers = 1; /* a driver that takes no part of parameters */
    CHECK_EQ(check_batch(&columns, NULL, 0), 2);
}

/* Small chunks of a column come in one copy. Dictionaries and other columns do not, nor chunks that nobody asked for. */
static void test_copies(void) {
    start();
    add_classes(&columns, 12, 16, 0, 77, 100, 40, 256, 0);
    add_classes(&columns, 12, 16, 0, 77, 50, 40, 256, 0);
    fastpair_gpu_batch *batch = make_batch(&columns, NULL, 0);
    fastpair_gpu_destination to = fake_allocate(batch);
    const uint64_t ranges[][3] = {{0, 0, 1},   {0, 150, 2}, {5, 1, 1},
                                  {20, 30, 1}, {99, 2, 2},  {150, 0, 0}};
    for (int i = 0; i < 6; i++) {
        fake_wish.copies = 0;
        CHECK_EQ(fastpair_gpu_batch_upload(batch, (uint64_t)(uintptr_t)fake.memory,
                                           fake.memory_bytes, ranges[i][0], ranges[i][1], NULL,
                                           NULL),
                 FASTPAIR_OK);
        CHECK_EQ(fake_wish.copies, ranges[i][2]);
    }
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, 150, &to, NULL, NULL), FASTPAIR_OK);
    check_output(&columns, batch);
    fake_release();
    fastpair_gpu_batch_free(batch);
}

/* Exactly as many chunks as a launch holds, and then another dictionary. */
static void test_full_launch(void) {
    start();
    for (uint64_t i = 0; i < 10; i++)
        add_classes(&columns, 10, 8, 0, 78, FP_GPU_SPANS / 10, 30, 256, 0);
    CHECK_EQ(check_batch(&columns, NULL, 0), 1);
    CHECK_EQ(fake.most_chunks, FP_GPU_SPANS);
    add_classes(&columns, 10, 8, 0, 79, 2, 30, 256, 0);
    CHECK_EQ(check_batch(&columns, NULL, 0), 2);
}

static void test_mixed(void) {
    for (int turn = 0; turn < 3; turn++) {
        start();
        if (turn == 1) add_plain(&columns);
        add_classes(&columns, 12, 16, 0, 5, 6, 3000, 256, 1);
        add_empty(&columns);
        add_classes(&columns, 16, 16, 1, 6, 4, 2000, 256, 1);
        if (turn == 2) add_plain(&columns);
        add_classes(&columns, 12, 16, 0, 5, 4, 3000, 128,
                    0); /* the first one's dictionary, another batch size */
        add_classes(&columns, 9, 8, 0, 7, 3, 900, 512, 1);
        add_classes(&columns, 12, 16, 0, 8, 3, 900, 160, 1); /* a batch size that suits nothing */
        uint32_t assembled = check_batch(&columns, NULL, 0);
        CHECK(assembled >= 2);
        CHECK(check_batch(&columns, NULL, 1) >= assembled);
    }
    start();
    add_empty(&columns);
    CHECK_EQ(check_batch(&columns, NULL, 0), 0);
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
        CHECK(check_batch(&columns, NULL, 0) > 0);
    }
}

/* Chunks as large as can be, which nobody has here: their headers say so, and nothing runs. */
static void test_large_chunks(void) {
    start();
    for (uint64_t i = 0; i < 4; i++) add_classes(&columns, 9, 16, 0, 17, 95, 30, 32, 0);
    fastpair_gpu_batch *batch = make_batch(&columns, NULL, 0);
    const fp_kernel *kernel = fp_group_kernel(&batch->groups[0]);
    CHECK(fp_kernel_is_assembled(kernel));
    fastpair_gpu_destination to = fake_allocate(batch);
    uint64_t each = fp_kernel_batches(UINT32_MAX, kernel->codes_per_lane),
             uploaded = batch->chunk_count;
    fastpair_error error;
    CHECK_EQ(fastpair_gpu_batch_upload(batch, (uint64_t)(uintptr_t)fake.memory, fake.memory_bytes,
                                       0, uploaded, NULL, &error),
             FASTPAIR_OK);
    for (uint64_t i = 0; i < batch->chunk_count; i++)
        fp_chunk_on_device(batch, i)->code_count = UINT32_MAX;
    fake_wish.only_counts = 1;
    to.row_offsets = 0;
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, batch->chunk_count, &to, NULL, &error),
             FASTPAIR_OK);
    CHECK_EQ(fake.batches, each * batch->chunk_count);
    CHECK(fake.most_batches <
          UINT32_MAX - (1u << 24)); /* and so are the numbers of batches that do not exist */
    CHECK_EQ(fake.launches[kernel - fp_kernel_table()],
             each * batch->chunk_count > 1ull << 31 ? 2 : 1);
    fake_release();
    fastpair_gpu_batch_free(batch);
}

/* A device so small that warps go through several batches, of several chunks. */
static void test_turns(void) {
    start();
    fake.gpu.info.multiprocessors = 1;
    add_classes(&columns, 12, 16, 0, 14, 2, 40000, 256, 1);
    add_classes(&columns, 9, 8, 0, 15, 2, 100000, 256, 1);
    add_classes(&columns, 9, 8, 0, 16, 40, 500, 256, 1);
    CHECK(check_batch(&columns, NULL, 0) > 0);
}

/* Once a batch is uploaded, its columns may be closed. */
static void test_closed_columns(void) {
    start();
    add_classes(&columns, 12, 16, 0, 5, 3, 2000, 256, 1);
    add_plain(&columns);
    add_empty(&columns);
    add_classes(&columns, 12, 16, 0, 8, 3, 900, 160, 1); /* positions are made for it */
    fastpair_gpu_batch *batch = make_batch(&columns, NULL, 0);
    fastpair_gpu_destination to = fake_allocate(batch);
    decode(batch, &to, UINT64_MAX);
    uint64_t bytes = fake.output_bytes, at, size, known = columns.column[1]->totals.decoded_bytes;
    uint8_t *expected = malloc(bytes);
    if (!expected) abort();
    memcpy(expected, fake.output, bytes);
    memset(fake.output, 0xee, bytes);
    free_columns(&columns);
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, batch->chunk_count, &to, NULL, NULL), FASTPAIR_OK);
    CHECK(!memcmp(fake.output, expected, bytes));
    CHECK_EQ(fastpair_gpu_batch_get_column(batch, 1, &at, &size, NULL, NULL), FASTPAIR_OK);
    CHECK_EQ(size, known);
    free(expected);
    fake_release();
    fastpair_gpu_batch_free(batch);
}

/* Every allocation of a batch fails in turn. */
static void test_memory(void) {
    start();
    add_classes(&columns, 12, 16, 0, 5, 2, 500, 256, 1);
    add_classes(&columns, 16, 16, 1, 6, 2, 500, 256, 0);
    fastpair_gpu_batch *batch = NULL;
    uint64_t n = 0;
    for (fastpair_status status = FASTPAIR_ERROR_OUT_OF_MEMORY; status; n++) {
        counting_start(&memory);
        memory.fail_at = n;
        status =
            fastpair_gpu_batch_create(&fake.gpu, columns.column, columns.count, NULL, &batch, NULL);
        CHECK(status == FASTPAIR_OK || (status == FASTPAIR_ERROR_OUT_OF_MEMORY && !batch));
        fastpair_gpu_batch_free(batch);
        CHECK_EQ(memory.live, 0);
        if (n > 100) break;
    }
    CHECK(n > 10 && n < 100);
}

int main(void) {
    start_random(1202);
    test_many_dictionaries();
    test_many_chunks();
    test_copies();
    test_full_launch();
    test_mixed();
    test_devices();
    test_turns();
    test_large_chunks();
    test_closed_columns();
    CHECK_EQ(memory.live, 0);
    test_memory();
    free_columns(&columns);
    return check_done();
}
