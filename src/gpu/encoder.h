/* encoder.h - compressing on a GPU: an encoder, and what the host knows of a column that was
 * encoded. */
#ifndef FP_GPU_ENCODER_H
#define FP_GPU_ENCODER_H

#include "cut.h"
#include "device.h"
#include "device_dict.h"
#include "encode_tables.h"
#include "fastpair_gpu_encode.h"
#include "file_out.h"
#include "kernels/encode_params.h"
#include "model.h"

struct fastpair_gpu_encoder {
    fastpair_gpu *gpu;
    fp_settings settings; /* but for its metadata, which are the caller's */
    fp_cut_rules cut;
    fp_gpu_encode_rules rules;
    fp_buffer dict_block; /* of the dictionary, as files have it */
    fp_encode_tables tables;
    fp_file_out described; /* what files say of their columns; nothing is written to it */
    int must_be_text;
    uint64_t device_memory; /* of the tables; 0 until uploaded */
};

/* ---------------------------------------------------------------- rows in device memory */

/* INVALID_ARGUMENT or LIMIT unless the struct and its counts are all right; and its addresses. */
fastpair_status fp_encode_input_check(const fastpair_gpu_encode_input *input,
                                      fastpair_error *error);
fastpair_status fp_encode_addresses_check(const fastpair_gpu_encode_input *input,
                                          fastpair_error *error);
/* The rows as kernels take them. */
fp_gpu_encode_input fp_encode_input_of(const fastpair_gpu_encode_input *input);

/* ---------------------------------------------------------------- records */

/* A record: the state, the bits of codes in use, then chunks. Both before the chunks are padded to
 * FP_DEVICE_ALIGNMENT. */
static inline uint64_t fp_encode_used_bytes(const fastpair_gpu_encoder *encoder) {
    return ((1ull << encoder->rules.code_bits) + 31) / 32 * 4;
}

static inline uint64_t fp_encode_used_at(void) {
    return fp_device_align(sizeof(fp_gpu_encode_state));
}

static inline uint64_t fp_encode_chunks_at(const fastpair_gpu_encoder *encoder) {
    return fp_encode_used_at() + fp_device_align(fp_encode_used_bytes(encoder));
}

/* ---------------------------------------------------------------- what was encoded */

/* A piece that was added. */
typedef struct fp_encoded_piece {
    uint64_t image_offset, image_bytes;
    uint64_t first_chunk, chunks;
    int has_dict; /* the dictionary's block is in it */
} fp_encoded_piece;

struct fastpair_gpu_encoded {
    const fastpair_gpu_encoder *encoder;
    fp_file_out file; /* lists blocks; its sink is `footer` */
    fp_buffer pieces; /* of fp_encoded_piece */
    fp_buffer chunks; /* of fp_chunk */
    fp_buffer footer;
    uint64_t dict_place; /* in the file, if there is a dictionary */
    uint32_t tokens;     /* in use */
    int has_begun;       /* a piece was completed */
    int finished, failed;
};

static inline uint64_t fp_encoded_piece_count(const fastpair_gpu_encoded *encoded) {
    return encoded->pieces.size / sizeof(fp_encoded_piece);
}

static inline uint64_t fp_encoded_chunk_count(const fastpair_gpu_encoded *encoded) {
    return encoded->chunks.size / sizeof(fp_chunk);
}

static inline fp_encoded_piece *fp_encoded_pieces(const fastpair_gpu_encoded *encoded) {
    return (fp_encoded_piece *)(void *)encoded->pieces.data;
}

static inline fp_chunk *fp_encoded_chunks(const fastpair_gpu_encoded *encoded) {
    return (fp_chunk *)(void *)encoded->chunks.data;
}

/* The numbers of a record, as the header of a chunk that lies at `position` has them; its sections
 * are laid out. CORRUPT if the record contradicts itself. */
fastpair_status fp_encoded_chunk(const fastpair_gpu_encoder *encoder,
                                 const fp_gpu_encode_chunk *record, uint64_t position,
                                 fp_chunk *chunk, fastpair_error *error);

/* The first bytes of the file: its header and the gap up to the first block. */
void fp_encoded_write_head(const fastpair_gpu_encoded *encoded, uint8_t *bytes);

#endif
