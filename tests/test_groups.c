/* test_groups.c - the host's side of assembled kernels, through the public calls and a driver that runs kernels in the emulator:
 * more dictionaries and chunks than a launch holds, ranges of chunks, chunks of several kinds in between, odd dictionaries,
 * sidecars that lie, memory that runs out. What comes out must be what the CPU decodes. Prints its seed; FASTPAIR_TEST_SEED
 * repeats a run. */
#include "classes.h"
#include "counting.h"
#include "fake_device.h"
#include "sidecar.h"

enum { MOST_COLUMNS = 160 };

static uint64_t random_state;
static counting memory;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

/* ---------------------------------------------------------------- columns */

typedef struct made {
    forge_bytes file[MOST_COLUMNS];
    const fastpair_column *column[MOST_COLUMNS];
    uint64_t count;
} made;

static void add_file(made *m, forge *f) {
    fastpair_error error = {0};
    fastpair_column *column = NULL;
    forge_finish(f);
    CHECK_EQ(fastpair_column_open(f->file.data, f->file.size, NULL, &column, &error), FASTPAIR_OK);
    if (!column) fprintf(stderr, "  %s\n", error.message), abort();
    m->file[m->count] = f->file;
    m->column[m->count++] = column;
}

static void add_stored(forge *f) {
    uint32_t lengths[] = {20, 0, 6};
    forge_chunk chunk = forge_stored_chunk("twenty bytes in all, and six", 26, lengths, 3);
    forge_add_chunk(f, &chunk);
}

/* A column with a dictionary in classes and so many chunks of up to so many codes; some of them stored, if it is `mixed`. */
static void add_classes(made *m, uint32_t bits, uint32_t longest, int hot, uint64_t seed, uint32_t chunks,
                        uint32_t codes, uint32_t batch, int mixed) {
    static classes c;
    static forge f;
    forge_begin(&f, 64, 0, 0);
    forge_dictionary dictionary = classes_dictionary(&c, bits, longest, hot, seed);
    if (mixed) add_stored(&f);
    forge_add_dictionary(&f, &dictionary);
    for (uint32_t i = 0; i < chunks; i++) {
        uint32_t count = 1 + draw(codes);
        forge_chunk chunk = classes_chunk(&c, count, batch, check_random(&random_state));
        forge_add_chunk(&f, &chunk);
        if (mixed && draw(3) == 0) add_stored(&f);
    }
    add_file(m, &f);
}

/* One without classes, which only staged kernels read. */
static void add_plain(made *m) {
    static forge f;
    const char *text[] = {"a", "bc", "of sixteen bytes", "def"};
    const uint8_t length_of[] = {1, 2, 16, 3};
    uint32_t codes[500], rows[1] = {0};
    forge_begin(&f, 64, 0, 0);
    forge_dictionary dictionary = forge_plain_dictionary(text, 4);
    forge_add_dictionary(&f, &dictionary);
    for (uint32_t i = 0; i < 500; i++) rows[0] += length_of[codes[i] = draw(4)];
    forge_chunk chunk = forge_coded_chunk(codes, 500, 2, length_of, 256, rows, NULL, 1);
    forge_add_chunk(&f, &chunk);
    add_file(m, &f);
}

static void add_empty(made *m) {
    static forge f;
    forge_begin(&f, 64, 0, 0);
    add_file(m, &f);
}

static void free_columns(made *m) {
    for (uint64_t i = 0; i < m->count; i++) {
        fastpair_column_close((fastpair_column *)(uintptr_t)m->column[i]);
        free(m->file[i].data);
    }
    m->count = 0;
}

/* ---------------------------------------------------------------- batches */

static fastpair_gpu_batch *make_batch(const made *m, const char *kernel, int regenerate) {
    fastpair_gpu_batch_options options = {
        .struct_size = sizeof options, .kernel = kernel, .regenerate_sidecar = regenerate};
    fastpair_gpu_batch *batch = NULL;
    fastpair_error error = {0};
    fastpair_status status =
        fastpair_gpu_batch_create(&fake.gpu, m->column, m->count, &options, &batch, &error);
    CHECK_EQ(status, FASTPAIR_OK);
    if (status) fprintf(stderr, "  %s: %s\n", kernel ? kernel : "any kernel", error.message), abort();
    CHECK(fake_has_kernels(batch));
    return batch;
}

/* All chunks, in ranges of `step`, or of random sizes if that is 0; uploaded before or as they are needed. */
static void decode(fastpair_gpu_batch *batch, const fastpair_gpu_destination *to, uint64_t step) {
    fastpair_error error = {0};
    uint64_t memory_at = (uint64_t)(uintptr_t)fake.memory, count;
    for (uint64_t first = 0; first < batch->chunk_count || first == 0; first += count) {
        uint64_t left = batch->chunk_count - first;
        count = step ? step : draw((uint32_t)left + 1);
        if (count > left) count = left;
        fake.seed = check_random(&random_state);
        CHECK_EQ(fastpair_gpu_batch_upload(batch, memory_at, fake.memory_bytes, first, count, NULL, &error),
                 FASTPAIR_OK);
        fastpair_status status = fastpair_gpu_batch_decode(batch, first, count, to, NULL, &error);
        CHECK_EQ(status, FASTPAIR_OK);
        if (status || !batch->chunk_count) break;
    }
}

/* Bytes and row offsets against the CPU's. */
static void check_output(const made *m, const fastpair_gpu_batch *batch) {
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
static uint32_t check_batch(const made *m, const char *kernel, int regenerate) {
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

/* ---------------------------------------------------------------- tests */

static made columns;

static void start(void) {
    fastpair_allocator hooks = counting_hooks(&memory);
    free_columns(&columns);
    fake_open(&hooks);
}

/* Each column has a dictionary of its own. */
static void test_many_dictionaries(void) {
    start();
    for (uint64_t i = 0; i < 140; i++) add_classes(&columns, 12, 8, 0, 1000 + i, 1, 300, 256, i % 50 == 0);
    CHECK(check_batch(&columns, NULL, 0) >= 2);
    CHECK_EQ(fake.most_shares, FP_GPU_WIDE_GROUPS);
}

/* Several columns with one dictionary. */
static void test_many_chunks(void) {
    start();
    for (uint64_t i = 0; i < 5; i++) add_classes(&columns, 12, 16, 0, 77, 100, 40, 256, 0);
    CHECK_EQ(check_batch(&columns, NULL, 0), 2);
    CHECK_EQ(fake.most_chunks, FP_GPU_WIDE_CHUNKS);
    CHECK_EQ(fake.most_shares, 1);
    CHECK_EQ(check_batch(&columns, NULL, 1), 2);
}

/* Exactly as many chunks as a launch holds, and then another dictionary. */
static void test_full_launch(void) {
    start();
    for (uint64_t i = 0; i < 4; i++) add_classes(&columns, 10, 8, 0, 78, 95, 30, 256, 0);
    CHECK_EQ(check_batch(&columns, NULL, 0), 1);
    CHECK_EQ(fake.most_chunks, FP_GPU_WIDE_CHUNKS);
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

/* Every assembled kernel, by name, also where sidecars do not suit it. */
static void test_every_kernel(void) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (!fp_kernel_is_assembled(kernel)) continue;
        for (uint32_t turn = 0; turn < 3; turn++) {
            start();
            int hot = kernel->home == FP_GPU_HOT || turn == 1;
            uint32_t longest = turn == 2 ? 8 : kernel->max_token, batch = turn ? 32 * (1 + draw(32)) : 32;
            add_classes(&columns, kernel->code_bits, longest, hot, 100 + turn, 4, 1500, batch, 1);
            add_classes(&columns, kernel->code_bits, longest, hot, 200 + turn, 2, 1500, batch, 0);
            CHECK(check_batch(&columns, kernel->name, (int)draw(2)) > 0);
            CHECK(fake.launches[i] > 0);
        }
    }
}

/* What the choice counts on is what the image has. */
static void test_image_bytes(void) {
    for (uint32_t bits = 9; bits <= 16; bits++)
        for (uint32_t turn = 0; turn < 8; turn++) {
            start();
            add_classes(&columns, bits, turn & 1 ? 8 : 16, turn >> 1 & 1, draw(1000), 1, 800, 32, 0);
            for (uint32_t i = 0; i < FP_KERNELS; i++) {
                fastpair_gpu_batch_options options = {.struct_size = sizeof options,
                                                      .kernel = fp_kernel_table()[i].name};
                fastpair_gpu_batch *batch = NULL;
                if (fastpair_gpu_batch_create(&fake.gpu, columns.column, 1, &options, &batch, NULL)) continue;
                const fp_batch_group *group = &batch->groups[0];
                CHECK_EQ(group->image.bytes, group->plan.image_bytes);
                CHECK(group->image.split <= group->image.near && group->image.near <= group->image.slots);
                fastpair_gpu_batch_free(batch);
            }
        }
}

/* Positions made on the device do without the sidecar, whatever it says; otherwise the status word tells. */
static void test_lying_sidecar(void) {
    for (uint32_t turn = 0; turn < 8; turn++) {
        do {
            start();
            add_classes(&columns, turn < 4 ? 12 : 16, 16, 0, 9, 1, 4000, 256, 0);
        } while (columns.column[0]->totals.codes < 2000);
        uint64_t size = columns.column[0]->totals.decoded_bytes;
        uint8_t *bytes = malloc(size);
        fastpair_destination host = {.bytes = bytes, .bytes_capacity = size};
        CHECK_EQ(fastpair_column_decode(columns.column[0], 0, columns.column[0]->totals.rows, &host, 1, NULL),
                 FASTPAIR_OK);
        const fp_chunk *chunk = &columns.column[0]->chunks[0];
        uint8_t *sidecar =
            columns.file[0].data + chunk->position + chunk->sections[FP_SECTION_SIDECAR].offset;
        uint64_t sidecar_bytes = chunk->sections[FP_SECTION_SIDECAR].size;
        uint64_t batches = fp_sidecar_batches(chunk->codes, 256), groups = (sidecar_bytes - 2 * batches) / 4;
        /* All batches at the beginning, all at the end, some of them anywhere, or all of one size. */
        if (turn % 4 < 2) memset(sidecar, turn % 4 ? 0xff : 0, sidecar_bytes);
        for (uint64_t i = 0; i < sidecar_bytes && turn % 4 == 2; i++)
            if (draw(4) == 0) sidecar[i] = (uint8_t)draw(256);
        for (uint64_t i = 0; i < batches && turn % 4 == 3; i++) {
            uint64_t group = i / chunk->group_batches * chunk->group_batches;
            forge_put(sidecar + group / chunk->group_batches * 4, size * group / batches, 4);
            forge_put(sidecar + 4 * groups + 2 * i, size * i / batches - size * group / batches, 2);
        }
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            fastpair_gpu_batch *batch = make_batch(&columns, NULL, regenerate);
            CHECK(fp_kernel_is_assembled(fp_group_kernel(&batch->groups[0])) || !regenerate);
            fastpair_gpu_destination to = fake_allocate(batch);
            decode(batch, &to, UINT64_MAX);
            CHECK_EQ(fake.status, regenerate ? 0 : FASTPAIR_GPU_BAD_SIDECAR);
            CHECK(!regenerate || !memcmp(fake.output, bytes, size));
            fake_release();
            fastpair_gpu_batch_free(batch);
        }
        free(bytes);
    }
}

/* Codes behind the last token, of its class: assembled kernels take them for zeros. The class's end is the end. */
static void test_codes_without_token(void) {
    static const char *const names[] = {"assembled K16 b15 L16 FAR S4 T512",
                                        "assembled K16 b15 L16 HOT S4 T1024"};
    for (uint32_t turn = 0; turn < 8; turn++) {
        static classes c;
        static forge f;
        uint64_t seed = turn;
        uint32_t codes[64], rows[1] = {0}, behind = turn % 4 == 3;
        start();
        forge_begin(&f, 64, 0, 0);
        forge_dictionary dictionary = classes_dictionary(&c, 15, 16, 1, seed);
        while (c.slots % 64 == 0 || c.slots % 64 > 40) {
            free(dictionary.section.data);
            dictionary = classes_dictionary(&c, 15, 16, 1, seed += 10);
        }
        forge_add_dictionary(&f, &dictionary);
        for (uint32_t i = 0; i < 64; i++) {
            codes[i] = (c.slots | 63) - i % 8 + (behind && i == 63 ? 8 : 0);
            c.length_of[codes[i]] = 16;
            rows[0] += 16;
        }
        forge_chunk chunk = forge_coded_chunk(codes, 64, 15, c.length_of, 256, rows, NULL, 1);
        forge_add_chunk(&f, &chunk);
        add_file(&columns, &f);
        fastpair_gpu_batch *batch = make_batch(&columns, names[turn / 4], 0);
        fastpair_gpu_destination to = fake_allocate(batch);
        decode(batch, &to, UINT64_MAX);
        CHECK_EQ(fake.status, behind ? FASTPAIR_GPU_BAD_CODE : 0);
        for (uint32_t i = 0; i < 1024; i++)
            if (fake.output[i] != (behind ? 0xee : 0)) {
                CHECK(!"a token that is not there is zeros, and a bad batch stays as it was");
                break;
            }
        fake_release();
        fastpair_gpu_batch_free(batch);
    }
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
    fp_chunk large = *batch->chunks[0].chunk;
    large.codes = UINT32_MAX;
    uint64_t each = fp_kernel_batches(&large, kernel->codes_per_lane), uploaded = batch->chunk_count;
    fastpair_error error;
    CHECK_EQ(fastpair_gpu_batch_upload(batch, (uint64_t)(uintptr_t)fake.memory, fake.memory_bytes, 0,
                                       uploaded, NULL, &error),
             FASTPAIR_OK);
    for (uint64_t i = 0; i < batch->chunk_count; i++) batch->chunks[i].chunk = &large;
    fake.only_counts = 1;
    to.row_offsets = 0;
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, batch->chunk_count, &to, NULL, &error), FASTPAIR_OK);
    CHECK_EQ(fake.batches, each * batch->chunk_count);
    CHECK(fake.most_batches <
          UINT32_MAX - (1u << 24)); /* and so are the numbers of batches that do not exist */
    CHECK_EQ(fake.launches[kernel - fp_kernel_table()], each * batch->chunk_count > 1ull << 31 ? 2 : 1);
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
        status = fastpair_gpu_batch_create(&fake.gpu, columns.column, columns.count, NULL, &batch, NULL);
        CHECK(status == FASTPAIR_OK || (status == FASTPAIR_ERROR_OUT_OF_MEMORY && !batch));
        fastpair_gpu_batch_free(batch);
        CHECK_EQ(memory.live, 0);
        if (n > 100) break;
    }
    CHECK(n > 10 && n < 100);
}

int main(void) {
    const char *seed = getenv("FASTPAIR_TEST_SEED");
    random_state = seed ? strtoull(seed, NULL, 0) : 1202;
    printf("seed %llu\n", (unsigned long long)random_state);
    counting_start(&memory);
    test_many_dictionaries();
    test_many_chunks();
    test_full_launch();
    test_mixed();
    test_every_kernel();
    test_image_bytes();
    test_lying_sidecar();
    test_codes_without_token();
    test_devices();
    test_turns();
    test_large_chunks();
    CHECK_EQ(memory.live, 0);
    test_memory();
    free_columns(&columns);
    return check_done();
}
