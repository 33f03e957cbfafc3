/* device_chunk.h - chunks in emulated memory, and decoding them with an emulated kernel. */
#ifndef FP_TESTS_DEVICE_CHUNK_H
#define FP_TESTS_DEVICE_CHUNK_H

#include "device_memory.h"
#include "emulated_table.h"

/* ---------------------------------------------------------------- layout */

/* A chunk, and what launches say of it: `span` for assembled kernels, `work` for the paper's and
 * for the address of the status word. Tests may spoil everything before the run. */
typedef struct device_chunk {
    fp_gpu_span span;
    fp_staged_work work;
    fp_gpu_positions regenerated; /* codes is 0 unless positions are computed by kernels */
    fp_gpu_dict *head;            /* assembled kernels only */
    uint8_t *resident;            /* begins with lengths by class or by code */
    uint8_t *cold;                /* of tokens of up to 64 bytes in global memory */
    uint8_t *nibbles;             /* the paper's kernels only */
    uint64_t nibble_bytes;
    uint8_t *lengths;    /* for the kernels that compute positions */
    uint32_t *positions; /* NULL: the sidecar serves */
    uint32_t batches;    /* of the kernel */
} device_chunk;

/* A dictionary: cell c is the token of code c, zero-padded. */
typedef struct device_tokens {
    uint32_t code_bits, slots, hot;
    const uint8_t (*cells)[64];
    const uint8_t *lengths;
} device_tokens;

/* Lays out what the kernel reads of a dictionary. `largest`: bytes that a warp has room for, which
 * is more than any batch has, unless the kernel's batches may go in rounds. */
void device_lay_out_dict(const device_tokens *tokens, const emulated_variant *variant,
                         uint32_t largest, device *d, device_chunk *chunk);

/* Uses the dictionary of a chunk that is laid out already, with the same tokens. */
void device_share_dict(device_chunk *chunk, const device_chunk *of);

/* Output positions from a sidecar, or room for one per batch. */
typedef struct device_sidecar {
    const uint8_t *at;
    uint32_t batch_codes, group_batches;
} device_sidecar;
void device_use_sidecar(device_chunk *chunk, const device_sidecar *sidecar,
                        const emulated_variant *variant);
void device_use_positions(device_chunk *chunk, device *d);

/* Codes in memory, and where their bytes go. Comes first: the rest goes by it. */
typedef struct device_codes {
    const uint8_t *codes;
    uint32_t count, bits; /* bits is 16 if codes were widened */
    uint8_t *out;
    uint32_t decoded_bytes;
    uint32_t *status;
} device_codes;
device_chunk device_chunk_make(const device_codes *codes, const emulated_variant *variant);

/* ---------------------------------------------------------------- launches */

typedef struct device_grid {
    uint32_t spare_blocks;  /* more than there is work for */
    uint32_t blocks, teams; /* of assembled kernels; 0 means 1 */
    uint32_t shared_slots;  /* that fit into shared memory; 0: as many as there are */
} device_grid;

/* Runs the kernels that compute positions, for chunks that have room for them unless `regenerated`
 * says otherwise. NULL or an error. */
const char *device_run_positions(device_chunk *const *chunks, uint32_t count,
                                 const device_grid *grid);

/* Runs these kernels, and the decoder: all chunks in one launch. Chunks that share a dictionary
 * follow each other. A launch of an assembled kernel has one status word, so that chunks with
 * different words take a launch per word. NULL or an error. */
const char *device_run(const emulated_variant *variant, device_chunk *const *chunks, uint32_t count,
                       const device_grid *grid);

#endif
