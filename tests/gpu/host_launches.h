/* host_launches.h - launches on the made-up GPU, recorded and compared with what a decode must
 * launch: for every chunk exactly the kernels that its column's output asks for, with the addresses
 * of that output. */
#ifndef FP_TESTS_HOST_LAUNCHES_H
#define FP_TESTS_HOST_LAUNCHES_H

#include "check.h"
#include "fake_cuda.h"
#include "gpu/kernels/staged/params.h"
#include "gpu/layout.h"

enum { MOST_LAUNCHES = 32 };

/* A launch, with the one parameter that kernels take: whole, or the part that was passed. */
typedef struct seen_launch {
    char symbol[64];
    unsigned grid_x, grid_y, threads, shared;
    size_t bytes;
    union {
        fp_gpu_span_launch spans;
        fp_staged_launch staged;
        fp_gpu_positions_launch positions;
        fp_gpu_offsets_launch offsets;
        fp_gpu_validity_launch validity;
    } parameters;
} seen_launch;

static seen_launch launches[MOST_LAUNCHES];
static uint32_t launch_count;

static inline int is_kind(const char *symbol, const char *prefix) {
    return strncmp(symbol, prefix, strlen(prefix)) == 0;
}

/* All of a kernel's parameter, for drivers that take no part of it. */
static inline size_t whole_parameter(const char *symbol) {
    return is_kind(symbol, "fp_row_offsets") ? sizeof(fp_gpu_offsets_launch)
           : is_kind(symbol, "fp_validity")  ? sizeof(fp_gpu_validity_launch)
           : is_kind(symbol, "fp_staged")    ? sizeof(fp_staged_launch)
           : is_kind(symbol, "fp_assembled") ? sizeof(fp_gpu_span_launch)
                                             : sizeof(fp_gpu_positions_launch);
}

static const char *record_launch(const fake_launch *l) {
    if (launch_count == MOST_LAUNCHES) return "more launches than a test expects";
    seen_launch *seen = &launches[launch_count++];
    snprintf(seen->symbol, sizeof seen->symbol, "%s", l->symbol);
    seen->grid_x = l->grid_x, seen->grid_y = l->grid_y;
    seen->threads = l->threads, seen->shared = l->shared;
    seen->bytes = l->first_bytes ? l->first_bytes : whole_parameter(l->symbol);
    memset(&seen->parameters, 0xdd, sizeof seen->parameters);
    memcpy(&seen->parameters, l->first, seen->bytes);
    return NULL;
}

static inline void launches_start(void) {
    launch_count = 0;
    fake_wish.inspect = record_launch;
}

/* ---------------------------------------------------------------- by kind */

/* Launches whose entries are one per chunk: they must be those of `chunks`, in order. */
#define EACH_ENTRY(prefix, member, entry)                                                          \
    for (uint32_t launch = 0; launch < launch_count; launch++)                                     \
        for (uint32_t in_launch = 0;                                                               \
             is_kind(launches[launch].symbol, prefix) && in_launch < launches[launch].grid_y;      \
             in_launch++)                                                                          \
            for (const fp_gpu_##member *entry =                                                    \
                     &launches[launch].parameters.member.entry[in_launch];                         \
                 entry; entry = NULL)

static inline void check_offsets(const fastpair_gpu_job *job, const fastpair_gpu_output *to,
                                 uint64_t first, uint64_t end) {
    uint64_t next = first;
    EACH_ENTRY("fp_row_offsets", offsets, entry) {
        while (next < end && !to[job->chunks[next].column].offsets) next++;
        CHECK(next < end);
        if (next >= end) return;
        const fp_job_chunk *chunk = &job->chunks[next++];
        const fastpair_gpu_output *of = &to[chunk->column];
        CHECK_EQ(entry->lengths, job->device_memory + chunk->sections[FP_SECTION_LENGTHS]);
        CHECK_EQ(entry->out, of->offsets + chunk->first_row * (of->offset_bits / 8));
        CHECK(entry->offset_bits == of->offset_bits && entry->status == of->status);
        CHECK(entry->rows == chunk->rows && entry->decoded_bytes == chunk->decoded_bytes);
        CHECK(entry->first_byte == chunk->first_byte &&
              entry->lengths_bytes == chunk->lengths_bytes);
        CHECK_EQ(entry->closes_column,
                 chunk->first_row + chunk->rows == job->columns[chunk->column].rows);
        CHECK(launches[launch].grid_x * (FP_GPU_HELPER_THREADS / 32) *
                  (256ull * FP_GPU_LENGTH_BLOCKS) >=
              chunk->rows);
    }
    for (; next < end; next++) CHECK_EQ(to[job->chunks[next].column].offsets, 0);
}

static inline void check_validity(const fastpair_gpu_job *job, const fastpair_gpu_output *to,
                                  uint64_t first, uint64_t end) {
    uint64_t next = first;
    EACH_ENTRY("fp_validity", validity, entry) {
        while (next < end && !to[job->chunks[next].column].validity) next++;
        CHECK(next < end);
        if (next >= end) return;
        const fp_job_chunk *chunk = &job->chunks[next++];
        CHECK_EQ(entry->section, chunk->has_validity
                                     ? job->device_memory + chunk->sections[FP_SECTION_VALIDITY]
                                     : 0);
        CHECK_EQ(entry->out, to[chunk->column].validity);
        CHECK(entry->first_row == chunk->first_row && entry->rows == chunk->rows);
        CHECK_EQ(entry->closes_column,
                 chunk->first_row + chunk->rows == job->columns[chunk->column].rows);
        CHECK(launches[launch].grid_x * 256ull * 32 >= chunk->first_row % 32 + chunk->rows);
    }
    for (; next < end; next++) CHECK_EQ(to[job->chunks[next].column].validity, 0);
}

/* Positions are measured, then summed up, for the chunks that have none in the file. */
static inline void check_positions(const fastpair_gpu_job *job, uint64_t first, uint64_t end) {
    for (int scan = 0; scan < 2; scan++) {
        uint64_t next = first;
        EACH_ENTRY(scan ? "fp_scan_batches" : "fp_measure_batches", positions, entry) {
            while (next < end && !job->chunks[next].positions) next++;
            CHECK(next < end);
            if (next >= end) return;
            const fp_job_chunk *chunk = &job->chunks[next++];
            CHECK_EQ(entry->positions, job->device_memory + chunk->positions);
            CHECK_EQ(entry->codes, job->device_memory + chunk->sections[FP_SECTION_CODES]);
            CHECK_EQ(entry->lengths, job->device_memory + job->dicts[chunk->dict].at.lengths);
            CHECK_EQ(entry->code_count, chunk->codes);
            if (scan) CHECK_EQ(launches[launch].grid_x, 1);
        }
        for (; next < end; next++) CHECK_EQ(job->chunks[next].positions, 0);
    }
}

/* Every coded chunk is decoded once, to its place and with its column's status word. */
static inline void check_decodes(const fastpair_gpu_job *job, const fastpair_gpu_output *to,
                                 uint64_t first, uint64_t end) {
    uint64_t expected = 0, decoded = 0, found = 0;
    for (uint64_t i = first; i < end; i++) expected += job->chunks[i].codes != 0;
    for (uint32_t l = 0; l < launch_count; l++) {
        int staged = is_kind(launches[l].symbol, "fp_staged");
        int assembled = is_kind(launches[l].symbol, "fp_assembled");
        uint32_t count = staged      ? launches[l].grid_y
                         : assembled ? launches[l].parameters.spans.span_count
                                     : 0;
        decoded += count;
        for (uint32_t e = 0; e < count; e++) {
            const fp_gpu_span *span = &launches[l].parameters.spans.spans[e];
            const fp_staged_work *work = &launches[l].parameters.staged.work[e];
            uint64_t out = staged ? work->out : span->out;
            for (uint64_t i = first; i < end; i++) {
                const fp_job_chunk *chunk = &job->chunks[i];
                const fastpair_gpu_output *of = &to[chunk->column];
                if (!chunk->codes || out != of->bytes + chunk->first_byte) continue;
                found++;
                CHECK_EQ(staged ? work->status : launches[l].parameters.spans.status, of->status);
                CHECK_EQ(staged ? work->codes : span->codes,
                         job->device_memory + chunk->sections[FP_SECTION_CODES]);
                CHECK_EQ(staged ? work->decoded_bytes : span->decoded_bytes, chunk->decoded_bytes);
                if (chunk->positions)
                    CHECK_EQ(staged ? work->positions : span->positions,
                             job->device_memory + chunk->positions);
            }
        }
    }
    CHECK(decoded == expected && found == expected);
}

/* All launches of a decode of chunks first .. end, whose sections are in the job's own memory. */
static inline void check_launches(const fastpair_gpu_job *job, const fastpair_gpu_output *to,
                                  uint64_t first, uint64_t end) {
    check_positions(job, first, end);
    check_decodes(job, to, first, end);
    check_offsets(job, to, first, end);
    check_validity(job, to, first, end);
}

#endif
