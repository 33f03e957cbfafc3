/* encode_case.cc - the encoder's kernels around the parse, in the emulator. */
#include "encode_case.h"
#include "gpu/kernels/encode_bounds.cuh"
#include "gpu/kernels/encode_cut.cuh"
#include "gpu/kernels/encode_lengths.cuh"
#include "gpu/kernels/encode_rows.cuh"
#include "gpu/kernels/encode_text.cuh"

#define KERNEL(name)                                                                               \
    static void run_##name(const void *launch) {                                                   \
        encode_##name((const fp_gpu_encode_launch *)launch);                                       \
    }
KERNEL(begin)
KERNEL(check)
KERNEL(sums)
KERNEL(scan)
KERNEL(starts)
KERNEL(move)
KERNEL(cut)
KERNEL(measure)
KERNEL(place)
KERNEL(lengths)
KERNEL(validity)
KERNEL(bounds)
KERNEL(bounds_merge)
KERNEL(text)

static uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* A block of scratch. */
static uint64_t scratch(encode_case *c, uint64_t bytes, const char *name) {
    return device_address(device_block(&c->memory, bytes, 0, EMULATOR_WRITE, name));
}

/* A copy at any address. */
static uint64_t copy_at(encode_case *c, const void *from, uint64_t bytes, uint32_t skip,
                        const char *name) {
    uint8_t *to = device_block(&c->memory, bytes, skip, EMULATOR_READ, name);
    if (bytes) memcpy(to, from, bytes);
    return device_address(to);
}

static uint64_t length_blocks(const fp_gpu_encode_launch *launch) {
    return divide_up(launch->input.rows, FP_GPU_ENCODE_LENGTHS) + launch->scratch.most_chunks;
}

void encode_case_make(encode_case *c, const encode_rows *rows, const encode_oracle_rules *rules,
                      uint64_t most_chunks) {
    memset(c, 0, sizeof *c);
    fp_gpu_encode_launch *launch = &c->launch;
    fp_gpu_encode_input *input = &launch->input;
    const uint32_t width = rows->offset_bits / 8;
    input->rows = rows->rows;
    input->bytes_size = rows->bytes_size;
    input->offset_bits = rows->offset_bits;
    input->validity_first = rows->validity_first;
    input->bytes = copy_at(c, rows->bytes, rows->bytes_size, rows->rows % 32, "bytes");
    input->offsets = copy_at(c, rows->offsets, width * (rows->rows + 1), 8, "offsets");
    if (rows->validity)
        input->validity = copy_at(c, rows->validity, rows->validity_bytes, 3, "validity");
    launch->rules.chunk_bytes = rules->chunk_bytes;
    launch->rules.unit_bytes = rules->unit_bytes;
    launch->rules.first_bytes = rules->first_bytes;
    launch->rules.alignment = 64;
    launch->rules.detects_text = launch->rules.wants_bounds = 1;
    if (!most_chunks) {
        most_chunks = 2 * rows->bytes_size / rules->chunk_bytes + rows->rows / (1 << 20) + 2;
        if (most_chunks > rows->rows) most_chunks = rows->rows;
    }
    fp_gpu_encode_scratch *to = &launch->scratch;
    to->most_chunks = most_chunks;
    to->most_segments = rows->bytes_size / FP_GPU_ENCODE_SEGMENT + 33 * most_chunks;
    to->state = scratch(c, sizeof(fp_gpu_encode_state), "state");
    to->chunks = scratch(c, most_chunks * sizeof(fp_gpu_encode_chunk), "chunks");
    if (rows->validity) {
        to->starts = scratch(c, 8 * (rows->rows + 1), "starts");
        to->sums = scratch(c, 8 * divide_up(rows->rows, FP_GPU_ENCODE_ROWS), "sums");
        to->text = scratch(c, rows->bytes_size, "text");
    }
    uint64_t words = (rows->bytes_size + 1 + 31) / 32 + 1;
    to->ends = scratch(c, 4 * words, "ends");
    to->length_blocks = scratch(c, 8 * length_blocks(launch), "length blocks");
    to->extremes = scratch(c, 8 * length_blocks(launch), "extremes");
    c->state = (fp_gpu_encode_state *)(uintptr_t)to->state;
    c->chunks = (fp_gpu_encode_chunk *)(uintptr_t)to->chunks;
    c->ends = (uint32_t *)(uintptr_t)to->ends;
    memset(c->state, 0, sizeof *c->state);
    memset(c->ends, 0, 4 * words);
    c->state->rows = rules->has_before ? 5 : 0;
}

void encode_case_free(encode_case *c) { device_free(&c->memory); }

static const char *run(const encode_case *c, emulator_kernel kernel, uint32_t threads,
                       uint64_t blocks) {
    return blocks ? emulator_run(kernel, &c->launch, threads, (uint32_t)blocks, 1, 0) : NULL;
}

static const char *run_helper(const encode_case *c, emulator_kernel kernel, uint64_t blocks) {
    return run(c, kernel, FP_GPU_HELPER_THREADS, blocks);
}

const char *encode_case_chunks(const encode_case *c) { return run_helper(c, run_cut, 1); }

const char *encode_case_check(const encode_case *c) {
    const char *error = run(c, run_begin, 32, 1);
    return error ? error
                 : run_helper(c, run_check, divide_up(c->launch.input.rows, FP_GPU_ENCODE_ROWS));
}

const char *encode_case_cut(const encode_case *c) {
    const fp_gpu_encode_input *input = &c->launch.input;
    uint64_t blocks = divide_up(input->rows, FP_GPU_ENCODE_ROWS);
    uint64_t with_validity = input->validity ? blocks : 0;
    const char *error = encode_case_check(c);
    if (!error) error = run_helper(c, run_sums, with_validity);
    if (!error) error = run(c, run_scan, FP_GPU_ENCODE_THREADS, 1);
    if (!error) error = run_helper(c, run_starts, with_validity);
    if (!error && with_validity)
        error = run_helper(c, run_move, divide_up(input->bytes_size, FP_GPU_ENCODE_MOVED));
    return error ? error : run_helper(c, run_cut, 1 + blocks);
}

/* The same launches as in production, but for a block more or less. */
static uint64_t length_grid(const encode_case *c, uint32_t each) {
    return divide_up(length_blocks(&c->launch), (uint64_t)FP_GPU_HELPER_THREADS / 32 * each);
}

const char *encode_case_measure(const encode_case *c) {
    const char *error = run_helper(c, run_measure, length_grid(c, 1));
    return error ? error : run_helper(c, run_place, 3);
}

void encode_case_lay_out(encode_case *c, uint64_t image_begin) {
    uint64_t at = image_begin;
    for (uint32_t i = 0; i < c->state->chunks; i++) {
        fp_gpu_encode_chunk *chunk = &c->chunks[i];
        chunk->block = at;
        chunk->section[2] = 320;
        chunk->section[3] = divide_up(320 + chunk->lengths_bytes, 64) * 64;
        chunk->block_bytes = chunk->section[3] + divide_up(chunk->rows, 512) * 64;
        at += chunk->block_bytes;
    }
    c->state->image_begin = image_begin;
    c->output = device_block(&c->memory, at - image_begin, 0, EMULATOR_WRITE_ONCE, "output");
    c->launch.output = device_address(c->output);
}

const char *encode_case_sections(const encode_case *c) {
    const char *error = run_helper(c, run_lengths, length_grid(c, 1));
    return error || !c->launch.input.validity ? error
                                              : run_helper(c, run_validity, length_grid(c, 1));
}

const char *encode_case_facts(const encode_case *c) {
    const char *error = run_helper(c, run_bounds, length_grid(c, FP_GPU_ENCODE_BOUNDED));
    if (!error) error = run_helper(c, run_bounds_merge, 2);
    return error ? error
                 : run_helper(c, run_text,
                              divide_up(c->launch.input.bytes_size + 32, FP_GPU_ENCODE_JUDGED));
}
