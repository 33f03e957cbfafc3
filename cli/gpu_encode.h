/* gpu_encode.h - a column that is encoded on the GPU piece by piece, with the memory that the
 * library leaves to its caller. */
#ifndef CLI_GPU_ENCODE_H
#define CLI_GPU_ENCODE_H

#include "cuda.h"
#include "fastpair_gpu_encode.h"

/* Pieces take turns at these: one is filled, one copied to the device and encoded, one on its way
 * back, one written. */
enum { CLI_ENCODE_SLOTS = 4 };

/* Memory that grows; 0 or NULL: none yet. */
typedef struct cli_pinned {
    void *memory;
    uint64_t bytes;
} cli_pinned;

/* A piece on its way. */
typedef struct cli_encode_slot {
    cli_pinned bytes, offsets; /* its rows, in pinned memory */
    uint64_t size, rows;
    fastpair_gpu_block device_bytes, device_offsets;
    fastpair_gpu_encode_output output;
    cli_pinned record, image; /* copied back */
    uint64_t record_bytes;
    fastpair_gpu_encoded_piece piece;
    cuda_stream copies; /* its copies; kernels of all pieces have a stream of their own */
    cuda_event event;
} cli_encode_slot;

typedef struct cli_gpu_encode {
    cuda_driver cuda;
    fastpair_gpu_encoder *encoder;
    fastpair_gpu_encoded *encoded;
    fastpair_gpu_block tables, scratch;
    cuda_stream kernels;
    cli_encode_slot slots[CLI_ENCODE_SLOTS];
    int has_before; /* a piece was started */
} cli_gpu_encode;

/* Opens the driver, for pinned memory. On failure, too, everything is closed with
 * cli_gpu_encode_close. */
fastpair_status cli_gpu_encode_open(cli_gpu_encode *encode, fastpair_error *error);
void cli_gpu_encode_close(cli_gpu_encode *encode);

/* Prepares an encoder with these options, which have a dictionary. */
fastpair_status cli_gpu_encode_prepare(cli_gpu_encode *encode, fastpair_gpu *gpu,
                                       const fastpair_compress_options *options,
                                       fastpair_error *error);

/* Makes room in a slot for so many more bytes and rows; what it has stays. */
fastpair_status cli_gpu_encode_reserve(cli_gpu_encode *encode, int slot, uint64_t bytes,
                                       uint64_t rows, fastpair_error *error);

/* Adds rows to a slot that is free. */
fastpair_status cli_gpu_encode_append(cli_gpu_encode *encode, int slot, const fastpair_rows *rows,
                                      fastpair_error *error);
fastpair_rows cli_gpu_encode_rows(const cli_encode_slot *slot);

/* Queues the first `rows` rows of a slot: copies to the device, kernels, and the record's way back.
 * The slot is left with these rows. */
fastpair_status cli_gpu_encode_start(cli_gpu_encode *encode, int slot, uint64_t rows, int has_after,
                                     fastpair_error *error);

/* Waits for the record of the slot's piece, and queues the copy of its blocks. Pieces in order. */
fastpair_status cli_gpu_encode_fetch(cli_gpu_encode *encode, int slot, fastpair_error *error);

/* Waits for the blocks, and makes file bytes of them: slot->image.memory, slot->piece.image_bytes.
 */
fastpair_status cli_gpu_encode_finish(cli_gpu_encode *encode, int slot, fastpair_error *error);

#endif
