/* test_job_select_misuse.c - selections that are refused: arguments that are missing, misaligned or too
 * small, calls in the wrong order, allocations that fail. */
#include "fastpair_gpu_select.h"
#include "search_columns.h"

enum { ROWS, ROWS_SCRATCH, SELECT, GIVEN, SCRATCH, BYTES, BLOCKS };
static void *blocks[BLOCKS];
static fastpair_gpu_rows *rows;
static fastpair_gpu_select *gpu_select;
static fastpair_gpu_block tokens, scratch;

static fastpair_gpu_block block(int i, uint64_t size) {
    return (fastpair_gpu_block){fake_block(&blocks[i], 0, size), size};
}

#define REFUSED(call) CHECK_EQ(call, FASTPAIR_ERROR_INVALID_ARGUMENT)

static void check_open(void) {
    fastpair_gpu_select *none = (fastpair_gpu_select *)1;
    fastpair_gpu_select_info info = {.struct_size = sizeof info};
    REFUSED(fastpair_gpu_select_open(NULL, &none, NULL));
    REFUSED(fastpair_gpu_select_open(rows, NULL, NULL));
    fastpair_gpu_select_close(NULL);
    REFUSED(fastpair_gpu_select_get_info(NULL, &info, NULL));
    REFUSED(fastpair_gpu_select_get_info(gpu_select, NULL, NULL));
    info.struct_size = 0;
    REFUSED(fastpair_gpu_select_get_info(gpu_select, &info, NULL));
    uint64_t live = memory.live;
    for (uint64_t fails = 0; fails < 3; fails++) { /* every allocation in turn */
        memory.fail_at = memory.calls + fails;
        CHECK_EQ(fastpair_gpu_select_open(rows, &none, NULL), FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK(!none && memory.live == live);
        memory.fail_at = UINT64_MAX;
    }
}

static void check_upload(void) {
    fastpair_gpu_block odd = {tokens.address + 16, tokens.bytes}, small = {tokens.address, 1};
    REFUSED(fastpair_gpu_select_upload(NULL, &tokens, NULL, NULL));
    REFUSED(fastpair_gpu_select_upload(gpu_select, NULL, NULL, NULL));
    REFUSED(fastpair_gpu_select_upload(gpu_select, &odd, NULL, NULL));
    CHECK_EQ(fastpair_gpu_select_upload(gpu_select, &small, NULL, NULL),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
}

static fastpair_gpu_selection by_numbers(uint64_t count) {
    return (fastpair_gpu_selection){.struct_size = sizeof(fastpair_gpu_selection),
                                    .numbers = (uint64_t)(uintptr_t)blocks[GIVEN],
                                    .number_bits = 64,
                                    .most_rows = count};
}

static void check_sizes(void) {
    uint64_t bytes = 0;
    fastpair_gpu_selection good = by_numbers(4), s = good;
    fastpair_gpu_block small = {scratch.address, 16};
    REFUSED(fastpair_gpu_select_scratch(NULL, &s, &bytes, NULL));
    REFUSED(fastpair_gpu_select_scratch(gpu_select, NULL, &bytes, NULL));
    REFUSED(fastpair_gpu_select_scratch(gpu_select, &s, NULL, NULL));
    s.struct_size = 0;
    REFUSED(fastpair_gpu_select_scratch(gpu_select, &s, &bytes, NULL));
    s = good, s.bitmap = s.numbers; /* both */
    REFUSED(fastpair_gpu_select_sizes(gpu_select, &s, &scratch, NULL, NULL));
    s = good, s.numbers = 0; /* neither */
    REFUSED(fastpair_gpu_select_sizes(gpu_select, &s, &scratch, NULL, NULL));
    s = good, s.number_bits = 16;
    REFUSED(fastpair_gpu_select_sizes(gpu_select, &s, &scratch, NULL, NULL));
    s = good, s.numbers += 4;
    REFUSED(fastpair_gpu_select_sizes(gpu_select, &s, &scratch, NULL, NULL));
    s = good, s.bitmap = s.numbers + 2, s.numbers = 0;
    REFUSED(fastpair_gpu_select_sizes(gpu_select, &s, &scratch, NULL, NULL));
    s = good, s.most_rows = (1ull << 38) + 1;
    CHECK_EQ(fastpair_gpu_select_sizes(gpu_select, &s, &scratch, NULL, NULL), FASTPAIR_ERROR_LIMIT);
    REFUSED(fastpair_gpu_select_sizes(gpu_select, &good, NULL, NULL, NULL));
    CHECK_EQ(fastpair_gpu_select_sizes(gpu_select, &good, &small, NULL, NULL),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    CHECK_EQ(fastpair_gpu_select_sizes(gpu_select, &good, &scratch, NULL, NULL), FASTPAIR_OK);
}

static void check_decode(void) {
    fastpair_gpu_selection s = by_numbers(4);
    fastpair_gpu_selected good = {.struct_size = sizeof good, .bytes_capacity = 64};
    good.bytes = (uint64_t)(uintptr_t)blocks[BYTES];
    fastpair_gpu_selected bad[8] = {good, good, good, good, good, good, good, good};
    bad[0].struct_size = 0;
    bad[1].bytes = 0;
    bad[2].offsets = good.bytes, bad[2].offset_bits = 31;
    bad[3].offsets = good.bytes + 4, bad[3].offset_bits = 64;
    bad[4].validity = good.bytes + 2;
    bad[5].status = good.bytes + 1;
    bad[6].decoded = good.bytes, bad[6].decoded_offset_bits = 64; /* no offsets */
    bad[7].decoded = good.bytes + 8, bad[7].decoded_offsets = good.bytes;
    bad[7].decoded_offset_bits = 64;
    for (int i = 0; i < 8; i++)
        REFUSED(fastpair_gpu_select_decode(gpu_select, &s, &scratch, &bad[i], NULL, NULL));
    REFUSED(fastpair_gpu_select_decode(gpu_select, &s, &scratch, NULL, NULL, NULL));
    CHECK_EQ(fastpair_gpu_select_decode(gpu_select, &s, &scratch, &good, NULL, NULL), FASTPAIR_OK);
}

int main(void) {
    start_random(22);
    start();
    add_search_column(&columns, 12);
    fastpair_gpu_job *job = open_job(&columns, NULL, 0);
    fastpair_gpu_rows_info info = {.struct_size = sizeof info};
    fastpair_gpu_select_info select_info = {.struct_size = sizeof select_info};
    fake_allocate(job, 0);
    upload(job, NULL);
    CHECK_EQ(fastpair_gpu_rows_open(job, 0, &rows, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_select_open(rows, &gpu_select, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_rows_get_info(rows, &info, NULL), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_select_get_info(gpu_select, &select_info, NULL), FASTPAIR_OK);
    fastpair_gpu_block row_memory = block(ROWS, info.device_bytes);
    fastpair_gpu_block row_scratch = block(ROWS_SCRATCH, info.scratch_bytes);
    tokens = block(SELECT, select_info.device_bytes);
    scratch = block(SCRATCH, 4096);
    block(GIVEN, 64), block(BYTES, 64);
    memset(blocks[GIVEN], 0, 64);
    check_open();
    REFUSED(
        fastpair_gpu_select_upload(gpu_select, &tokens, NULL, NULL)); /* rows are not prepared */
    CHECK_EQ(fastpair_gpu_rows_prepare(rows, &row_memory, &row_scratch, 0, NULL, NULL),
             FASTPAIR_OK);
    check_upload();
    fastpair_gpu_selection s = by_numbers(4);
    REFUSED(fastpair_gpu_select_sizes(gpu_select, &s, &scratch, NULL, NULL)); /* nor uploaded */
    CHECK_EQ(fastpair_gpu_select_upload(gpu_select, &tokens, NULL, NULL), FASTPAIR_OK);
    check_sizes();
    check_decode();
    fastpair_gpu_select_close(gpu_select);
    fastpair_gpu_rows_close(rows);
    fake_release();
    fastpair_gpu_job_close(job);
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    close_columns(&columns);
    return check_done();
}
