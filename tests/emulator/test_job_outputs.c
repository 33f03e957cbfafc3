/* test_job_outputs.c - what a job writes for each of its columns, through the public calls and a
 * driver that runs kernels in the emulator: nulls, outputs that are wanted or not, images that are
 * on the device, and status words that tell which column is bad. Prints its seed;
 * FASTPAIR_TEST_SEED repeats a run. */
#include "job_columns.h"
#include "truth.h"

/* ---------------------------------------------------------------- columns with nulls */

/* Coded rows, of which some are null. No validity section if `null_percent` is 0. */
static void add_coded(forge *f, const forge_classes *classes, uint32_t count,
                      uint32_t null_percent) {
    uint32_t *codes = malloc(count * sizeof *codes), *lengths = calloc(40 * count, sizeof *lengths);
    uint8_t *valid = malloc(40 * count);
    if (!codes || !lengths || !valid) abort();
    uint64_t rows = 0;
    memset(valid, 1, 40 * count);
    for (uint32_t i = 0; i < count; i++) {
        codes[i] = classes->codes[draw(classes->tokens)];
        lengths[rows] += classes->length_of[codes[i]];
        if (draw(5) && i + 1 < count) continue;
        rows++;
        while (draw(100) < null_percent && rows < 40 * count - 1) valid[rows++] = 0;
    }
    forge_chunk chunk =
        forge_coded_chunk(&(forge_codes){codes, count, classes->bits, classes->length_of, 256},
                          &(forge_rows){lengths, null_percent ? valid : NULL, rows});
    forge_add_chunk(f, &chunk);
    free(codes), free(lengths), free(valid);
}

/* Rows without a byte: all of them null, or all of them empty. */
static void add_bare(forge *f, uint32_t rows, int null) {
    uint32_t *lengths = calloc(rows, sizeof *lengths);
    uint8_t *valid = calloc(rows, 1);
    if (!lengths || !valid) abort();
    forge_chunk chunk =
        forge_stored_chunk("", 0, &(forge_rows){lengths, null ? valid : NULL, rows});
    forge_add_chunk(f, &chunk);
    free(lengths), free(valid);
}

/* A column for assembled kernels: chunks that begin at any bit of the bitmap, with and without
 * nulls. */
static void add_nullable(made *m, uint32_t bits, uint64_t seed, uint32_t chunks) {
    forge_classes *classes = malloc(sizeof *classes);
    if (!classes) abort();
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_dictionary d = forge_class_dictionary(classes, bits, 16, 0, seed);
    forge_add_dictionary(&f, &d);
    for (uint32_t i = 0; i < chunks; i++) {
        uint32_t kind = draw(5);
        if (kind == 0)
            add_bare(&f, 1 + draw(200), 1);
        else if (kind == 1)
            add_bare(&f, 1 + draw(20), 0);
        else
            add_coded(&f, classes, 1 + draw(1500), kind == 2 ? 0 : 1 + draw(90));
    }
    forge_finish(&f);
    free(classes);
    add_image(m, f.file);
}

/* A column for the paper's kernels: several dictionaries, coded and stored chunks, nulls. */
static void add_truth(made *m) {
    truth t = truth_mixed(2000, 40, 64, &random_state);
    forge_bytes image = t.image.file;
    t.image.file = (forge_bytes){NULL, 0};
    truth_free(&t);
    add_image(m, image);
}

static void add_columns(void) {
    start();
    add_nullable(&columns, 12, 1 + draw(3), 1 + draw(6));
    if (draw(2)) add_truth(&columns);
    add_classes(&columns, 12, 16, 0, 1 + draw(3), 3, 900, 256, 1);
    if (draw(2)) add_empty(&columns);
    add_nullable(&columns, 9 + draw(8), 1 + draw(3), 1 + draw(6));
    add_nullable(&columns, 12, 1 + draw(3), 1 + draw(6));
}

static void test_nulls(void) {
    uint64_t nulls = 0;
    for (int turn = 0; turn < 12; turn++) {
        add_columns();
        for (uint64_t c = 0; c < columns.count; c++) nulls += columns.column[c]->totals.nulls;
        check_job(&columns, NULL, turn % 2);
    }
    CHECK(nulls > 100);
}

/* Chunks that just fill the blocks of the kernels for rows, or need a row more; columns without a
 * code. */
static void test_block_edges(void) {
    static const uint32_t edges[] = {256, 2048, 4096, 8192, 16384};
    for (uint32_t turn = 0; turn < 20; turn++) {
        forge f;
        start();
        forge_begin(&f, 64, 0, 0);
        add_bare(&f, 1 + draw(40), 1);
        add_bare(&f, edges[turn % 5] + draw(3) - 1, (int)draw(2));
        forge_finish(&f);
        add_image(&columns, f.file);
        check_job(&columns, NULL, 0);
    }
}

/* ---------------------------------------------------------------- outputs that are wanted */

static fastpair_gpu_job *open_for(uint32_t outputs, const uint64_t *device_images) {
    fastpair_gpu_job_options options = {
        .struct_size = sizeof options, .outputs = outputs, .device_images = device_images};
    fastpair_gpu_job *job = NULL;
    CHECK_EQ(fastpair_gpu_job_open(&fake.gpu, columns.column, columns.count, &options, &job, NULL),
             FASTPAIR_OK);
    if (!job) abort();
    return job;
}

/* Jobs are opened for what is wanted, and each column gets what it wants of that. */
static void test_wanted(void) {
    for (uint32_t turn = 0; turn < 12; turn++) {
        uint32_t outputs = turn % 4;
        add_columns();
        fastpair_gpu_job *job = open_for(outputs, NULL);
        fake_allocate(job, (int)draw(2));
        for (uint64_t c = 0; c < columns.count && turn >= 4; c++) {
            if (draw(2)) fake.outputs[c].offsets = 0;
            if (draw(2)) fake.outputs[c].validity = 0;
        }
        decode(job, draw(2) ? UINT64_MAX : 0);
        check_outputs(&columns);
        if (!(outputs & FASTPAIR_GPU_OFFSETS))
            CHECK_EQ(fake.counts.helper_launches[FAKE_OFFSETS], 0);
        if (!(outputs & FASTPAIR_GPU_VALIDITY))
            CHECK_EQ(fake.counts.helper_launches[FAKE_VALIDITY], 0);
        fake_release();
        fastpair_gpu_job_close(job);
    }
}

/* Row lengths and validity take no device memory unless they are wanted. */
static void test_sizes(void) {
    forge_classes *classes = malloc(sizeof *classes);
    if (!classes) abort();
    forge f;
    start();
    forge_begin(&f, 64, 0, 0);
    forge_dictionary d = forge_class_dictionary(classes, 12, 16, 0, 1);
    forge_add_dictionary(&f, &d);
    add_coded(&f, classes, 20000, 30);
    forge_finish(&f);
    free(classes);
    add_image(&columns, f.file);
    const fp_section *sections = chunk_of(columns.column[0], 0)->sections;
    fastpair_gpu_job *none = open_for(0, NULL), *rows = open_for(FASTPAIR_GPU_OFFSETS, NULL);
    fastpair_gpu_job *all = open_for(ALL_OUTPUTS, NULL);
    uint64_t more = rows->sizes.all - none->sizes.all, most = all->sizes.all - rows->sizes.all;
    CHECK(sections[FP_SECTION_LENGTHS].size > 10000 && sections[FP_SECTION_VALIDITY].size > 300);
    CHECK(rows->sizes.all > none->sizes.all && all->sizes.all > rows->sizes.all);
    CHECK(more + 512 > sections[FP_SECTION_LENGTHS].size);
    CHECK(most + 512 > sections[FP_SECTION_VALIDITY].size);
    fastpair_gpu_job_close(none), fastpair_gpu_job_close(rows), fastpair_gpu_job_close(all);
}

/* Images of some columns are on the device already; nothing of them is uploaded. */
static void test_images_on_device(void) {
    for (int turn = 0; turn < 6; turn++) {
        uint64_t addresses[MOST_COLUMNS] = {0};
        void *blocks[MOST_COLUMNS];
        add_columns();
        for (uint64_t c = 0; c < columns.count; c++) {
            uint64_t size = columns.file[c].size;
            if (fake_make(FAKE_MEMORY, size + 64, &blocks[c])) abort();
            if (turn && draw(2)) continue;
            addresses[c] = (uint64_t)(uintptr_t)blocks[c] + 64;
            memcpy((void *)(uintptr_t)addresses[c], columns.file[c].data, size);
        }
        fastpair_gpu_job *job = open_for(ALL_OUTPUTS, addresses);
        fake_allocate(job, 0);
        fake_wish.copies = 0;
        decode(job, UINT64_MAX);
        if (!turn) CHECK_EQ(fake_wish.copies, 1); /* the dictionaries */
        check_outputs(&columns);
        fake_release();
        fastpair_gpu_job_close(job);
        for (uint64_t c = 0; c < columns.count; c++) CHECK_EQ(fake_drop(FAKE_MEMORY, blocks[c]), 0);
    }
}

/* ---------------------------------------------------------------- status words */

/* Spoils a chunk of a column. Returns what its status word must say. */
static uint32_t spoil(uint64_t c, const fp_chunk *chunk) {
    uint8_t *block = columns.file[c].data + chunk->position;
    uint8_t *sidecar = block + chunk->sections[FP_SECTION_SIDECAR].offset;
    uint8_t *lengths = block + chunk->sections[FP_SECTION_LENGTHS].offset;
    if (draw(2)) {
        forge_put(lengths, forge_get(lengths, 4) + 1 + draw(50),
                  4); /* where the first row begins */
        return FASTPAIR_GPU_BAD_LENGTHS;
    }
    forge_put(sidecar, forge_get(sidecar, 4) + 1 + draw(50), 4); /* where the first batch begins */
    return FASTPAIR_GPU_BAD_SIDECAR;
}

/* Some columns are bad, and their words alone say so; all others are right. */
static void check_status(const char *kernel, int one_status) {
    uint32_t expected[5] = {0}, any = 0;
    start();
    for (uint64_t i = 0; i < 5; i++) add_classes(&columns, 12, 16, 0, 20 + i / 2, 4, 900, 256, 1);
    fastpair_gpu_job *job = open_job(&columns, kernel, 0);
    fake_allocate(job, one_status);
    for (uint64_t c = 0; c < 5; c++) {
        uint64_t chunk = draw((uint32_t)columns.column[c]->totals.chunks);
        if (draw(2) || !chunk_of(columns.column[c], chunk)->coded) continue;
        any |= expected[c] = spoil(c, chunk_of(columns.column[c], chunk));
    }
    decode(job, draw(2) ? UINT64_MAX : 0);
    for (uint64_t c = 0; c < 5; c++) {
        CHECK_EQ(fake_status(c), one_status ? any : expected[c]);
        if (!expected[c]) check_column(&columns, c);
    }
    fake_release();
    fastpair_gpu_job_close(job);
}

static void test_status(void) {
    static const char *const kernels[] = {NULL, "staged K8 W8 H1 T256 B4",
                                          "assembled K16 b12 L16 SPLIT S4 T1024"};
    for (int turn = 0; turn < 24; turn++) check_status(kernels[turn % 3], turn / 3 % 2);
    CHECK(fake.counts.launches[fp_kernel_find(kernels[2])] > 0);
}

/* A column without a status word, between columns that have one. */
static void test_no_status(void) {
    start();
    for (uint64_t i = 0; i < 3; i++) add_classes(&columns, 12, 16, 0, 20, 4, 900, 256, 0);
    fastpair_gpu_job *job = open_job(&columns, NULL, 0);
    fake_allocate(job, 0);
    spoil(1, chunk_of(columns.column[1], 0));
    uint64_t word = fake.outputs[1].status;
    fake.outputs[1].status = 0;
    decode(job, UINT64_MAX);
    CHECK_EQ(*(const uint32_t *)(const void *)fake_at(word), 0);
    for (uint64_t c = 0; c < 3; c += 2) {
        CHECK_EQ(fake_status(c), 0);
        check_column(&columns, c);
    }
    fake_release();
    fastpair_gpu_job_close(job);
}

int main(void) {
    start_random(1811);
    test_nulls();
    test_block_edges();
    test_wanted();
    test_sizes();
    test_images_on_device();
    test_status();
    test_no_status();
    CHECK_EQ(memory.live, 0);
    close_columns(&columns);
    return check_done();
}
