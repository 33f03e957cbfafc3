/* encode_launch.c - queueing an encode. In: rows in device memory, scratch. Out: kernels on the
 * caller's stream, in the order of kernels/encode_params.h. The host knows how many rows and bytes
 * there may be, and nothing of what the kernels find: grids are sized by the most there can be, and
 * blocks without work return. Refuses what could not be addressed. */
#include "encoder.h"

#include "options.h"
#include "rows.h"

/* Blocks are counted in 31 bits, and a block takes at least 256 rows or bytes. */
#define MOST (1ull << 38)

#define REFUSE(condition, status, ...)                                                             \
    if (condition) return fp_fail(error, status, FASTPAIR_NO_POSITION, __VA_ARGS__)

FP_GPU_ASSERT(FP_GPU_ENCODE_BAD_OFFSETS == FASTPAIR_GPU_ENCODE_BAD_OFFSETS &&
                  FP_GPU_ENCODE_TOO_SMALL == FASTPAIR_GPU_ENCODE_TOO_SMALL &&
                  FP_GPU_ENCODE_BAD_TABLES == FASTPAIR_GPU_ENCODE_BAD_PIECE,
              "kernels report the bits of fastpair_gpu_encode.h");

/* ---------------------------------------------------------------- sizes */

static uint64_t divide_up(uint64_t value, uint64_t by) { return value / by + (value % by != 0); }

static uint64_t take(uint64_t *at, uint64_t bytes) {
    uint64_t place = *at;
    *at = fp_device_align(place + bytes);
    return place;
}

/* The most there can be of everything. */
typedef struct bounds {
    uint64_t chunks, segments, row_blocks, length_blocks, ends_bytes;
} bounds;

static bounds bounds_of(const fastpair_gpu_encoder *encoder,
                        const fastpair_gpu_encode_input *input) {
    bounds most = {
        .chunks = fp_cut_most_chunks(input->rows, input->bytes_size, encoder->cut.chunk_bytes)};
    /* A chunk's segments begin at a multiple of 32, and its last one may be partial. */
    most.segments = fp_align(input->bytes_size / FP_GPU_ENCODE_SEGMENT, 32) + 64 * most.chunks;
    most.row_blocks = divide_up(input->rows, FP_GPU_ENCODE_ROWS);
    most.length_blocks = divide_up(input->rows, FP_LENGTH_BLOCK) + most.chunks;
    most.ends_bytes = 4 * ((input->bytes_size + 1 + 31) / 32 + 1);
    return most;
}

/* Places in scratch, from 0 on; *end gets its size. State and bits in use come first, as in a
 * record. */
static fp_gpu_encode_scratch place_scratch(const fastpair_gpu_encoder *encoder,
                                           const fastpair_gpu_encode_input *input,
                                           const bounds *most, uint64_t *end) {
    fp_gpu_encode_scratch placed = {.most_chunks = most->chunks, .most_segments = most->segments};
    uint64_t at = fp_encode_chunks_at(encoder), bytes = input->bytes_size;
    placed.ends = take(&at, most->ends_bytes);
    placed.length_blocks = take(&at, 8 * most->length_blocks);
    placed.extremes = take(&at, 8 * most->length_blocks);
    placed.codes = take(&at, 2 * (bytes + FP_GPU_ENCODE_SEGMENT + 16 * (most->chunks + 2)));
    placed.seg_first = take(&at, 4 * most->segments);
    placed.seg_end = take(&at, 4 * most->segments);
    placed.seg_count = take(&at, 4 * most->segments);
    placed.seg_rank = take(&at, 4 * most->segments);
    placed.hard = take(
        &at, fp_gpu_encode_hard_bytes(most->segments, most->chunks, encoder->tables.at.longest));
    placed.sums = take(&at, 8 * most->row_blocks);
    if (input->validity) {
        placed.starts = take(&at, 8 * (input->rows + 1));
        placed.text = take(&at, bytes);
    }
    *end = at;
    return placed;
}

/* Blocks of the image, by the reasons of src/compress.c. */
static uint64_t most_output(const fastpair_gpu_encoder *encoder,
                            const fastpair_gpu_encode_input *input, const bounds *most) {
    const fp_gpu_encode_rules *rules = &encoder->rules;
    uint64_t longest = input->bytes_size < UINT32_MAX ? input->bytes_size : UINT32_MAX;
    uint64_t length_bits = longest ? 64 - (uint64_t)__builtin_clzll(longest) : 0;
    uint64_t lengths = most->length_blocks * (FP_LENGTH_ENTRY + sizeof(uint32_t)) +
                       divide_up(input->rows * length_bits, 8);
    uint64_t validity = input->validity ? input->rows / 8 + most->chunks : 0;
    uint64_t rest = FP_CHUNK_HEADER + (FP_SECTIONS + 1) * (rules->alignment - 1);
    return fp_device_align(rules->first_block + input->bytes_size + lengths + validity +
                           most->chunks * rest);
}

fastpair_status fp_encode_input_check(const fastpair_gpu_encode_input *input,
                                      fastpair_error *error) {
    fastpair_status status = fp_struct_check("input", input, sizeof *input, error);
    if (status) return status;
    REFUSE(input->rows > MOST || input->bytes_size > MOST, FASTPAIR_ERROR_LIMIT,
           "one call takes at most %llu rows and bytes: encode in pieces",
           (unsigned long long)MOST);
    return FASTPAIR_OK;
}

static fastpair_status check_input(const fastpair_gpu_encoder *encoder,
                                   const fastpair_gpu_encode_input *input, fastpair_error *error) {
    REFUSE(!encoder || !input, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "encoder and input must not be NULL");
    return fp_encode_input_check(input, error);
}

fastpair_status fastpair_gpu_encoder_sizes(const fastpair_gpu_encoder *encoder,
                                           const fastpair_gpu_encode_input *input,
                                           fastpair_gpu_encode_sizes *sizes,
                                           fastpair_error *error) {
    REFUSE(!sizes, FASTPAIR_ERROR_INVALID_ARGUMENT, "sizes must not be NULL");
    fastpair_status status = check_input(encoder, input, error);
    if (status) return status;
    bounds most = bounds_of(encoder, input);
    fastpair_gpu_encode_sizes filled = {.struct_size = sizeof filled};
    place_scratch(encoder, input, &most, &filled.scratch_bytes);
    filled.output_bytes = most_output(encoder, input, &most);
    filled.record_bytes = fp_encode_chunks_at(encoder) + most.chunks * sizeof(fp_gpu_encode_chunk);
    filled.state_bytes = fp_encode_chunks_at(encoder);
    return fp_info_copy("sizes", &filled, sizeof filled, sizes, error);
}

/* ---------------------------------------------------------------- checks */

fastpair_status fp_encode_addresses_check(const fastpair_gpu_encode_input *input,
                                          fastpair_error *error) {
    REFUSE(input->rows && input->offset_bits != 32 && input->offset_bits != 64,
           FASTPAIR_ERROR_INVALID_ARGUMENT, "offsets have 32 or 64 bits");
    REFUSE(input->rows && (!input->offsets || input->offsets % (input->offset_bits / 8)),
           FASTPAIR_ERROR_INVALID_ARGUMENT, "offsets must be device memory, aligned to their size");
    REFUSE(!input->bytes && input->bytes_size, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "bytes must be device memory");
    REFUSE((input->has_before | input->has_after) & ~1, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "has_before and has_after must be 0 or 1");
    return FASTPAIR_OK;
}

fp_gpu_encode_input fp_encode_input_of(const fastpair_gpu_encode_input *input) {
    return (fp_gpu_encode_input){
        .bytes = input->bytes,
        .bytes_size = input->bytes_size,
        .offsets = input->offsets,
        .rows = input->rows,
        .validity = input->validity ? input->validity + input->validity_bit_offset / 8 : 0,
        .validity_first = input->validity_bit_offset % 8,
        .offset_bits = input->offset_bits,
        .is_last = !input->has_after};
}

/* Checks everything, and describes it to kernels. */
static fastpair_status describe(const fastpair_gpu_encoder *encoder,
                                const fastpair_gpu_encode_input *input,
                                const fastpair_gpu_block *scratch,
                                const fastpair_gpu_encode_output *output,
                                fp_gpu_encode_launch *launch, fastpair_error *error) {
    fastpair_status status = check_input(encoder, input, error);
    if (!status) status = fp_encode_addresses_check(input, error);
    if (status) return status;
    REFUSE(!output, FASTPAIR_ERROR_INVALID_ARGUMENT, "output must not be NULL");
    uint64_t scratch_bytes;
    bounds most = bounds_of(encoder, input);
    fp_gpu_encode_scratch placed = place_scratch(encoder, input, &most, &scratch_bytes);
    uint64_t record_bytes =
        fp_encode_chunks_at(encoder) + most.chunks * sizeof(fp_gpu_encode_chunk);
    if ((status = fp_struct_check("output", output, sizeof *output, error)) ||
        (status = fp_gpu_block_check("scratch", scratch, scratch_bytes, error)) ||
        (status = fp_gpu_block_check("record", &output->record, record_bytes, error)) ||
        (status = fp_gpu_block_check("image", &output->image, output->image.bytes, error)))
        return status;
    REFUSE(!encoder->device_memory, FASTPAIR_ERROR_INVALID_ARGUMENT,
           "the encoder has not been uploaded");
    const uint64_t at = scratch->address;
    *launch = (fp_gpu_encode_launch){
        .input = fp_encode_input_of(input),
        .rules = encoder->rules,
        .scratch = {.state = at,
                    .chunks = output->record.address + fp_encode_chunks_at(encoder),
                    .most_chunks = placed.most_chunks,
                    .sums = at + placed.sums,
                    .ends = at + placed.ends,
                    .length_blocks = at + placed.length_blocks,
                    .extremes = at + placed.extremes,
                    .codes = at + placed.codes,
                    .seg_first = at + placed.seg_first,
                    .seg_end = at + placed.seg_end,
                    .seg_count = at + placed.seg_count,
                    .seg_rank = at + placed.seg_rank,
                    .most_segments = placed.most_segments,
                    .hard = at + placed.hard},
        .tables = fp_encode_tables_at(&encoder->tables, encoder->device_memory),
        .output = output->image.address,
        .output_capacity = output->image.bytes,
        .used = at + fp_encode_used_at()};
    if (!input->validity) return FASTPAIR_OK;
    launch->scratch.starts = at + placed.starts;
    launch->scratch.text = at + placed.text;
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- launches */

/* An encode being queued. */
typedef struct queue {
    const fastpair_gpu *gpu;
    fp_gpu_encode_launch *launch;
    fp_cu_stream stream;
    fp_cu_result result; /* the first failure; nothing is queued after it */
} queue;

static void launch_shared(queue *to, int kernel, uint64_t blocks, uint32_t threads,
                          uint32_t shared) {
    fp_launch launch = {.function = to->gpu->encode[kernel],
                        .blocks_x = (uint32_t)blocks,
                        .blocks_y = 1,
                        .threads = threads,
                        .shared = shared,
                        .parameters = to->launch,
                        .used = sizeof *to->launch,
                        .size = sizeof *to->launch};
    if (blocks && !to->result) to->result = fp_gpu_launch(to->gpu, &launch, to->stream);
}

static void launch(queue *to, int kernel, uint64_t blocks) {
    launch_shared(to, kernel, blocks, FP_GPU_HELPER_THREADS, 0);
}

static void clear(queue *to, uint64_t address, uint64_t bytes) {
    if (bytes && !to->result)
        to->result = to->gpu->driver.fill(address, 0, (size_t)bytes, to->stream);
}

/* Rows to chunks. */
static void launch_cut(queue *to, const bounds *most, uint64_t turns) {
    const fp_gpu_encode_input *input = &to->launch->input;
    int has_validity = to->launch->scratch.starts != 0;
    launch_shared(to, FP_ENCODE_begin, 1, 32, 0);
    launch(to, FP_ENCODE_check, most->row_blocks);
    if (has_validity) launch(to, FP_ENCODE_sums, most->row_blocks);
    launch_shared(to, FP_ENCODE_scan, 1, FP_GPU_ENCODE_THREADS, 0);
    if (has_validity) {
        launch(to, FP_ENCODE_starts, most->row_blocks);
        launch(to, FP_ENCODE_move, divide_up(input->bytes_size, FP_GPU_ENCODE_MOVED));
    }
    clear(to, to->launch->scratch.ends, most->ends_bytes);
    launch(to, FP_ENCODE_cut, 1 + most->row_blocks);
    launch(to, FP_ENCODE_measure, divide_up(most->length_blocks, 8));
    launch(to, FP_ENCODE_place, turns);
}

/* Text to codes: guesses where tokens begin, then seams, where a guess was wrong. Rounds after the
 * first find little or nothing to do. */
static void launch_parse(queue *to, const bounds *most) {
    static const uint8_t kernels[FP_GPU_ENCODE_SHAPES] = {
        FP_ENCODE_parse_near,        FP_ENCODE_parse_leaves,    FP_ENCODE_parse_hashes,
        FP_ENCODE_parse_far,         FP_ENCODE_parse_near_long, FP_ENCODE_parse_leaves_long,
        FP_ENCODE_parse_hashes_long, FP_ENCODE_parse_far_long};
    const fp_gpu_encode_tables *tables = &to->launch->tables;
    const int is_near = (tables->shape & ~FP_GPU_ENCODE_SHAPE_LONG) == FP_GPU_ENCODE_SHAPE_NEAR;
    const uint32_t threads = is_near ? FP_GPU_ENCODE_NEAR_THREADS : FP_GPU_ENCODE_FAR_THREADS;
    const uint32_t sms = to->gpu->info.multiprocessors;
    /* A short text is spread over all multiprocessors, a warp or two on each. */
    uint64_t blocks = divide_up(most->segments, 32), chain = 2ull * sms;
    if (blocks > sms) blocks = sms;
    if (chain > most->chunks) chain = most->chunks;
    for (uint32_t round = 0; round < 4; round++) {
        to->launch->round = round;
        if (round == 3) launch(to, FP_ENCODE_chain, chain);
        if (round == 1 || round == 2)
            launch(to, FP_ENCODE_seams, divide_up(most->segments, FP_GPU_HELPER_THREADS));
        launch_shared(to, kernels[tables->shape], blocks, threads, tables->shared_bytes);
    }
}

/* Codes to blocks. */
static void launch_pack(queue *to, const bounds *most, uint64_t turns) {
    const fastpair_gpu_info *info = &to->gpu->info;
    uint32_t shared = fp_gpu_encode_pack_shared(to->launch->rules.code_bits);
    uint32_t blocks = info->shared_per_multiprocessor / (shared + info->shared_reserved_per_block);
    uint32_t by_warps = info->warps_per_multiprocessor / (FP_GPU_ENCODE_PACK_THREADS / 32);
    if (blocks > by_warps) blocks = by_warps;
    launch(to, FP_ENCODE_count, turns);
    launch(to, FP_ENCODE_layout, 1);
    if (most->chunks)
        launch_shared(to, FP_ENCODE_pack, (uint64_t)blocks * info->multiprocessors,
                      FP_GPU_ENCODE_PACK_THREADS, shared);
}

/* Everything else that a block or the footer has. */
static void launch_frame(queue *to, const bounds *most, uint64_t turns) {
    const fp_gpu_encode_rules *rules = &to->launch->rules;
    launch(to, FP_ENCODE_lengths, divide_up(most->length_blocks, 8));
    if (to->launch->scratch.starts)
        launch(to, FP_ENCODE_validity, divide_up(most->length_blocks, 8));
    if (rules->wants_bounds) {
        launch(to, FP_ENCODE_bounds, divide_up(most->length_blocks, 8 * FP_GPU_ENCODE_BOUNDED));
        launch(to, FP_ENCODE_bounds_merge, turns);
    }
    if (rules->detects_text)
        launch(to, FP_ENCODE_text,
               divide_up(to->launch->input.bytes_size + 32, FP_GPU_ENCODE_JUDGED));
}

static fp_cu_result launch_all(const fastpair_gpu_encoder *encoder,
                               const fastpair_gpu_encode_input *input,
                               const fastpair_gpu_encode_output *output,
                               fp_gpu_encode_launch *launched, fp_cu_stream stream) {
    const fastpair_gpu *gpu = encoder->gpu;
    queue to = {.gpu = gpu, .launch = launched, .stream = stream};
    bounds most = bounds_of(encoder, input);
    /* Blocks that take turns at chunks. */
    uint64_t turns = 4ull * gpu->info.multiprocessors;
    if (turns > most.chunks) turns = most.chunks;
    if (!input->has_before) clear(&to, launched->scratch.state, fp_encode_chunks_at(encoder));
    launch_cut(&to, &most, turns);
    launch_parse(&to, &most);
    launch_pack(&to, &most, turns);
    launch_frame(&to, &most, turns);
    if (!to.result)
        to.result = gpu->driver.copy_on_device(output->record.address, launched->scratch.state,
                                               (size_t)fp_encode_chunks_at(encoder), stream);
    return to.result;
}

fastpair_status fastpair_gpu_encoder_encode(const fastpair_gpu_encoder *encoder,
                                            const fastpair_gpu_encode_input *input,
                                            const fastpair_gpu_block *scratch,
                                            const fastpair_gpu_encode_output *output, void *stream,
                                            fastpair_error *error) {
    fp_gpu_encode_launch launched;
    fastpair_status status = describe(encoder, input, scratch, output, &launched, error);
    if (!status) status = fp_gpu_push(encoder->gpu, error);
    if (status) return status;
    const fastpair_gpu *gpu = encoder->gpu;
    fp_cu_result result = launch_all(encoder, input, output, &launched, stream);
    if (result) status = fp_driver_fail(&gpu->driver, result, "launching an encode", error);
    fp_gpu_pop(gpu);
    return status;
}
