/* gpu_encode.c - a column encoded on the GPU, piece by piece.
 *
 * In: rows in pinned memory. Out: blocks of the file in pinned memory. The trick: each piece has a
 * stream for its copies, and kernels of all pieces have one of their own, which events order; so
 * the copies of one piece run beside kernels of another. The library allocates nothing on the
 * device, so the command does it here, and frees it. Refuses what does not fit the device's memory.
 */
#include "gpu_encode.h"

#include <string.h>

/* ---------------------------------------------------------------- memory */

/* Makes pinned memory at least so large; its first `kept` bytes stay. */
static fastpair_status grow_pinned(const cuda_driver *cuda, cli_pinned *pinned, uint64_t bytes,
                                   uint64_t kept, fastpair_error *error) {
    void *larger = NULL;
    if (bytes <= pinned->bytes) return FASTPAIR_OK;
    fastpair_status status = cuda_status(cuda, cuda->allocate_pinned(&larger, (size_t)bytes),
                                         "allocating pinned memory", error);
    if (status) return status;
    if (kept) memcpy(larger, pinned->memory, (size_t)kept);
    if (pinned->memory) cuda->release_pinned(pinned->memory);
    *pinned = (cli_pinned){larger, bytes};
    return FASTPAIR_OK;
}

/* The same for device memory that nobody uses any more. */
static fastpair_status grow_device(const cuda_driver *cuda, fastpair_gpu_block *block,
                                   uint64_t bytes, fastpair_error *error) {
    if (bytes <= block->bytes) return FASTPAIR_OK;
    if (block->address) cuda->release(block->address);
    *block = (fastpair_gpu_block){0};
    fastpair_status status = cuda_status(cuda, cuda->allocate(&block->address, (size_t)bytes),
                                         "allocating device memory", error);
    if (!status) block->bytes = bytes;
    return status;
}

/* Larger scratch takes over what pieces hand on. */
static fastpair_status grow_scratch(cli_gpu_encode *encode, const fastpair_gpu_encode_sizes *sizes,
                                    fastpair_error *error) {
    const cuda_driver *cuda = &encode->cuda;
    fastpair_gpu_block larger = {0}, before = encode->scratch;
    if (sizes->scratch_bytes <= before.bytes) return FASTPAIR_OK;
    fastpair_status status = grow_device(cuda, &larger, sizes->scratch_bytes, error);
    if (status) return status;
    int result = 0;
    if (encode->has_before)
        result = cuda->copy_on_device(larger.address, before.address, (size_t)sizes->state_bytes,
                                      encode->kernels);
    if (!result) result = cuda->stream_wait(encode->kernels);
    encode->scratch = larger;
    if (before.address) cuda->release(before.address);
    return cuda_status(cuda, result, "copying the encoder's state", error);
}

/* ---------------------------------------------------------------- opening and closing */

fastpair_status cli_gpu_encode_open(cli_gpu_encode *encode, fastpair_error *error) {
    *encode = (cli_gpu_encode){0};
    fastpair_status status = cuda_open(&encode->cuda, 0, error);
    const cuda_driver *cuda = &encode->cuda;
    if (status) return status;
    int result = cuda->stream_open(&encode->kernels, CUDA_STREAM_INDEPENDENT);
    for (int i = 0; i < CLI_ENCODE_SLOTS && !result; i++) {
        cli_encode_slot *slot = &encode->slots[i];
        slot->output.struct_size = sizeof slot->output;
        result = cuda->stream_open(&slot->copies, CUDA_STREAM_INDEPENDENT);
        if (!result) result = cuda->event_open(&slot->event, 0);
    }
    return cuda_status(cuda, result, "opening streams", error);
}

static void close_slot(const cuda_driver *cuda, cli_encode_slot *slot) {
    const fastpair_gpu_block *blocks[] = {&slot->device_bytes, &slot->device_offsets,
                                          &slot->output.image, &slot->output.record};
    const cli_pinned *pinned[] = {&slot->bytes, &slot->offsets, &slot->record, &slot->image};
    for (int i = 0; i < 4; i++) {
        if (blocks[i]->address) cuda->release(blocks[i]->address);
        if (pinned[i]->memory) cuda->release_pinned(pinned[i]->memory);
    }
    if (slot->event) cuda->event_close(slot->event);
    if (slot->copies) cuda->stream_close(slot->copies);
}

void cli_gpu_encode_close(cli_gpu_encode *encode) {
    const cuda_driver *cuda = &encode->cuda;
    if (!cuda->context) return;
    if (encode->kernels) cuda->stream_wait(encode->kernels);
    for (int i = 0; i < CLI_ENCODE_SLOTS; i++)
        if (encode->slots[i].copies) cuda->stream_wait(encode->slots[i].copies);
    for (int i = 0; i < CLI_ENCODE_SLOTS; i++) close_slot(cuda, &encode->slots[i]);
    if (encode->kernels) cuda->stream_close(encode->kernels);
    if (encode->tables.address) cuda->release(encode->tables.address);
    if (encode->scratch.address) cuda->release(encode->scratch.address);
    fastpair_gpu_encoded_close(encode->encoded);
    fastpair_gpu_encoder_close(encode->encoder);
    cuda_close(&encode->cuda);
    *encode = (cli_gpu_encode){0};
}

fastpair_status cli_gpu_encode_prepare(cli_gpu_encode *encode, fastpair_gpu *gpu,
                                       const fastpair_compress_options *options,
                                       fastpair_error *error) {
    fastpair_gpu_encoder_info info = {.struct_size = sizeof info};
    fastpair_status status = fastpair_gpu_encoder_open(gpu, options, &encode->encoder, error);
    if (!status) status = fastpair_gpu_encoder_get_info(encode->encoder, &info, error);
    if (!status) status = grow_device(&encode->cuda, &encode->tables, info.device_bytes, error);
    if (!status)
        status =
            fastpair_gpu_encoder_upload(encode->encoder, &encode->tables, encode->kernels, error);
    return status ? status : fastpair_gpu_encoded_open(encode->encoder, &encode->encoded, error);
}

/* ---------------------------------------------------------------- pieces */

fastpair_rows cli_gpu_encode_rows(const cli_encode_slot *slot) {
    return (fastpair_rows){.struct_size = sizeof(fastpair_rows),
                           .rows = slot->rows,
                           .bytes = slot->bytes.memory,
                           .offsets = slot->offsets.memory,
                           .offset_bits = 64};
}

fastpair_status cli_gpu_encode_reserve(cli_gpu_encode *encode, int number, uint64_t bytes,
                                       uint64_t rows, fastpair_error *error) {
    cli_encode_slot *slot = &encode->slots[number];
    /* A byte more, so that rows without bytes have an address, too. */
    uint64_t wanted = slot->size + bytes + 1, offsets = 8 * (slot->rows + rows + 1);
    fastpair_status status = FASTPAIR_OK;
    if (wanted > slot->bytes.bytes)
        status = grow_pinned(&encode->cuda, &slot->bytes, wanted + wanted / 4, slot->size, error);
    if (!status && offsets > slot->offsets.bytes)
        status = grow_pinned(&encode->cuda, &slot->offsets, offsets + offsets / 2,
                             slot->rows ? 8 * (slot->rows + 1) : 0, error);
    return status;
}

fastpair_status cli_gpu_encode_append(cli_gpu_encode *encode, int number, const fastpair_rows *rows,
                                      fastpair_error *error) {
    cli_encode_slot *slot = &encode->slots[number];
    const uint64_t *from = rows->offsets;
    uint64_t size = from[rows->rows] - from[0];
    fastpair_status status = cli_gpu_encode_reserve(encode, number, size, rows->rows, error);
    if (status) return status;
    if (size) memcpy((uint8_t *)slot->bytes.memory + slot->size, rows->bytes + from[0], size);
    uint64_t *to = (uint64_t *)slot->offsets.memory + slot->rows;
    for (uint64_t i = 0; i <= rows->rows; i++) to[i] = slot->size + (from[i] - from[0]);
    slot->size += size;
    slot->rows += rows->rows;
    return FASTPAIR_OK;
}

/* Memory for the slot's piece. */
static fastpair_status make_room(cli_gpu_encode *encode, cli_encode_slot *slot,
                                 const fastpair_gpu_encode_input *input, fastpair_error *error) {
    const cuda_driver *cuda = &encode->cuda;
    fastpair_gpu_encode_sizes sizes = {.struct_size = sizeof sizes};
    fastpair_status status = fastpair_gpu_encoder_sizes(encode->encoder, input, &sizes, error);
    if (!status) status = grow_scratch(encode, &sizes, error);
    if (!status) status = grow_device(cuda, &slot->device_bytes, slot->size + 1, error);
    if (!status) status = grow_device(cuda, &slot->device_offsets, 8 * (slot->rows + 1), error);
    if (!status) status = grow_device(cuda, &slot->output.image, sizes.output_bytes, error);
    if (!status) status = grow_device(cuda, &slot->output.record, sizes.record_bytes, error);
    if (!status) status = grow_pinned(cuda, &slot->record, sizes.record_bytes, 0, error);
    slot->record_bytes = sizes.record_bytes;
    return status;
}

/* Copies on the slot's stream, and kernels that wait for them. */
static int queue_copies(cli_gpu_encode *encode, cli_encode_slot *slot) {
    const cuda_driver *cuda = &encode->cuda;
    int result = 0;
    if (slot->size)
        result = cuda->copy_to_device(slot->device_bytes.address, slot->bytes.memory,
                                      (size_t)slot->size, slot->copies);
    if (!result && slot->rows)
        result = cuda->copy_to_device(slot->device_offsets.address, slot->offsets.memory,
                                      8 * (size_t)(slot->rows + 1), slot->copies);
    if (!result) result = cuda->event_record(slot->event, slot->copies);
    return result ? result : cuda->stream_wait_event(encode->kernels, slot->event, 0);
}

static int queue_record(cli_gpu_encode *encode, cli_encode_slot *slot) {
    const cuda_driver *cuda = &encode->cuda;
    int result = cuda->event_record(slot->event, encode->kernels);
    if (!result) result = cuda->stream_wait_event(slot->copies, slot->event, 0);
    return result ? result
                  : cuda->copy_to_host(slot->record.memory, slot->output.record.address,
                                       (size_t)slot->record_bytes, slot->copies);
}

fastpair_status cli_gpu_encode_start(cli_gpu_encode *encode, int number, uint64_t rows,
                                     int has_after, fastpair_error *error) {
    cli_encode_slot *slot = &encode->slots[number];
    const cuda_driver *cuda = &encode->cuda;
    slot->rows = rows;
    slot->size = rows ? ((const uint64_t *)slot->offsets.memory)[rows] : 0;
    fastpair_gpu_encode_input input = {.struct_size = sizeof input,
                                       .rows = rows,
                                       .bytes_size = slot->size,
                                       .offset_bits = 64,
                                       .has_before = encode->has_before,
                                       .has_after = has_after};
    fastpair_status status = make_room(encode, slot, &input, error);
    if (status) return status;
    input.bytes = slot->device_bytes.address;
    input.offsets = slot->device_offsets.address;
    if ((status =
             cuda_status(cuda, queue_copies(encode, slot), "copying rows to the device", error)) ||
        (status = fastpair_gpu_encoder_encode(encode->encoder, &input, &encode->scratch,
                                              &slot->output, encode->kernels, error)))
        return status;
    encode->has_before = 1;
    return cuda_status(cuda, queue_record(encode, slot), "copying a record back", error);
}

fastpair_status cli_gpu_encode_fetch(cli_gpu_encode *encode, int number, fastpair_error *error) {
    cli_encode_slot *slot = &encode->slots[number];
    const cuda_driver *cuda = &encode->cuda;
    slot->piece.struct_size = sizeof slot->piece;
    fastpair_status status = cuda_status(cuda, cuda->stream_wait(slot->copies), "encoding", error);
    if (!status)
        status = fastpair_gpu_encoded_add(encode->encoded, slot->record.memory, slot->record_bytes,
                                          &slot->piece, error);
    if (!status) {
        uint64_t bytes = slot->piece.image_bytes;
        status = grow_pinned(cuda, &slot->image, bytes + bytes / 8, 0, error);
    }
    if (status) return status;
    int result = cuda->copy_to_host(slot->image.memory, slot->output.image.address,
                                    (size_t)slot->piece.image_bytes, slot->copies);
    return cuda_status(cuda, result, "copying encoded blocks back", error);
}

fastpair_status cli_gpu_encode_finish(cli_gpu_encode *encode, int number, fastpair_error *error) {
    cli_encode_slot *slot = &encode->slots[number];
    const cuda_driver *cuda = &encode->cuda;
    fastpair_status status =
        cuda_status(cuda, cuda->stream_wait(slot->copies), "copying encoded blocks back", error);
    if (!status)
        status = fastpair_gpu_encoded_complete(encode->encoded, slot->piece.image_offset,
                                               slot->image.memory, slot->piece.image_bytes, error);
    slot->rows = slot->size = 0;
    return status;
}
