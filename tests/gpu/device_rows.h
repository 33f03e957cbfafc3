/* device_rows.h - prepared rows of a sample on a GPU, in memory with guards, for tests of searches and
 * selections. */
#ifndef FP_TESTS_DEVICE_ROWS_H
#define FP_TESTS_DEVICE_ROWS_H

#include "device_run.h"
#include "fastpair_gpu_search.h"

static fastpair_gpu *gpu;
static cuda_driver cuda;

/* Device memory with a guard after it. */
static fastpair_gpu_block guarded_block(uint64_t bytes) {
    fastpair_gpu_block block = {device_block(&cuda, bytes + GUARD), bytes};
    device_ok(&cuda, cuda.fill(block.address, CLEAR, bytes + GUARD, NULL));
    return block;
}

static void close_block(fastpair_gpu_block block) {
    uint8_t guard[GUARD];
    device_ok(&cuda, cuda.copy_to_host(guard, block.address + block.bytes, GUARD, NULL));
    device_ok(&cuda, cuda.stream_wait(NULL));
    CHECK(guard_holds(guard));
    device_ok(&cuda, cuda.release(block.address));
}

/* Prepared rows of a sample's only column. */
typedef struct searched {
    device_run run;
    fastpair_gpu_rows *rows;
    fastpair_gpu_block memory;
} searched;

static inline searched searched_open(const sample *s) {
    searched of = {0};
    fastpair_gpu_rows_info info = {.struct_size = sizeof info};
    fastpair_error error = {0};
    CHECK_EQ(run_open_job(&of.run, &cuda, gpu, s, 1, &all_outputs), FASTPAIR_OK);
    run_allocate(&of.run);
    cuda_stream stream = of.run.outputs.stream;
    CHECK_EQ(run_upload(&of.run, NULL, stream), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_rows_open(of.run.job, 0, &of.rows, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_rows_get_info(of.rows, &info, &error), FASTPAIR_OK);
    of.memory = guarded_block(info.device_bytes);
    fastpair_gpu_block scratch = guarded_block(info.scratch_bytes);
    device_ok(&cuda, cuda.stream_wait(NULL));
    CHECK_EQ(fastpair_gpu_rows_prepare(of.rows, &of.memory, &scratch, of.run.outputs.to->status,
                                       stream, &error),
             FASTPAIR_OK);
    device_ok(&cuda, cuda.stream_wait(stream));
    CHECK_EQ(run_status(&of.run), 0);
    close_block(scratch);
    return of;
}

static inline void searched_close(searched *of) {
    close_block(of->memory);
    fastpair_gpu_rows_close(of->rows);
    run_close(&of->run);
}

#endif
