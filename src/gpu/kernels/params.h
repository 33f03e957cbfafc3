/* params.h - what the host tells a kernel: plain structs, the same bytes in C, in CUDA and in the
 * emulator, and the constants that both sides compute with.
 *
 * All parameters are passed by value. They lie in constant memory then, which a warp reads at no
 * cost. A launch passes only the entries that it fills in: 32 KiB of parameters would take five
 * microseconds to pass. */
#ifndef FP_GPU_PARAMS_H
#define FP_GPU_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
#define FP_GPU_ASSERT static_assert
#else
#define FP_GPU_ASSERT _Static_assert
#endif

/* Bits of the status word. decode.c asserts that they are those of fastpair_gpu.h. */
#define FP_GPU_BAD_CODE    1u
#define FP_GPU_BAD_SIDECAR 2u
#define FP_GPU_BAD_LENGTHS 4u

/* The most bytes of parameters that a kernel takes. */
#define FP_GPU_MOST_PARAMETERS 32764u

/* ---------------------------------------------------------------- the assembled decoder */

/* One chunk of a launch. Batches of all chunks of a launch are counted through, for the kernel's
 * batch size; chunks with one dictionary follow each other. 56 bytes. */
typedef struct fp_gpu_span {
    /* Packed codes: 16-byte aligned, whole 16-byte units (docs/format.md). */
    uint64_t codes;
    /* Address of the chunk's first byte in the output. */
    uint64_t out;
    /* Address of output positions, 4 bytes each, one per 2^position_shift entries. */
    uint64_t positions;
    /* Deltas, 2 bytes each, one per entry, are at positions + 4 * deltas_at; 0: there are none. */
    uint32_t deltas_at;
    uint32_t entries, code_count, decoded_bytes;
    /* The chunk's first batch; its dictionary; the first batch after those with that dictionary. */
    uint32_t first_batch, dict, dict_end;
    /* position_step entries make up one of the kernel's batches. */
    uint8_t position_shift, position_step;
    uint8_t reserved[2];
} fp_gpu_span;

#define FP_GPU_SPANS 580u

/* Spans in the order of first_batch, and one more after the last, whose first_batch is `batches`.
 *
 * Blocks work in teams: each team has a stretch of the batches, as long as it has blocks, and its
 * members take turns. With one dictionary and few chunks there is one team, which goes through memory
 * from one end to the other. With several, blocks whose shares of the batches have the same
 * dictionary are a team, and a block whose share has several is alone. */
typedef struct fp_gpu_span_launch {
    /* Address of the status word that all spans share, or 0. A word per span would cost every batch
     * 1 to 2 % (docs/lab), so that columns with different words take different launches. */
    uint64_t status;
    /* Device address of the job's dictionaries. */
    uint64_t dicts;
    uint32_t span_count, batches;
    /* At least one block per team. */
    uint32_t blocks, teams;
    fp_gpu_span spans[FP_GPU_SPANS + 1];
} fp_gpu_span_launch;

#define FP_GPU_SPAN_LAUNCH_BYTES(count)                                                            \
    (offsetof(fp_gpu_span_launch, spans) + ((size_t)(count) + 1) * sizeof(fp_gpu_span))

/* What a block of the assembled decoder reads of a dictionary before anything else: the head of the
 * dictionary in device memory, at dicts + FP_GPU_DICT_UNIT * fp_gpu_span.dict. Both places are
 * addresses: to add them up in the kernel costs HOT kernels 1 to 3 % (docs/lab). 48 bytes. */
typedef struct fp_gpu_dict {
    /* The resident dictionary (resident.h), 16-byte aligned. */
    uint64_t resident;
    /* For kernels that read global memory: cells as long as the kernel's longest token, or, of
     * tokens of up to 64 bytes, FP_GPU_FAR_ENTRY words and then pieces. */
    uint64_t cold;
    /* Whole lines; the other three as in fp_resident. */
    uint32_t resident_bytes, slots, near, split;
    /* FP_GPU_STAGING of the largest batch; less where a batch may go in several rounds. */
    uint32_t staging;
    /* As in fp_resident. */
    uint32_t further[2];
    /* Of a block: as many as have room for their buffers beside this dictionary. A launch of several
     * dictionaries has the threads of the one with the most; the others are idle. */
    uint32_t warps;
} fp_gpu_dict;

#define FP_GPU_DICT_UNIT 256u

/* Codes with the same code >> FP_GPU_CLASS_SHIFT have tokens of one length. Lengths less one are
 * nibbles of a table, the first in the low half of the first byte. For kernels with tokens of at
 * most 8 bytes, a nibble of 8 or more marks codes after the dictionary's last class. */
#define FP_GPU_CLASS_SHIFT(bits) ((bits) <= 8 ? 0 : (bits) <= 14 ? (bits)-8 : 6)
#define FP_GPU_CLASS_TABLE(bits) ((bits) <= 5 ? 16 : 1 << ((bits)-FP_GPU_CLASS_SHIFT(bits)) >> 1)
#define FP_GPU_NO_CLASS          15u

/* Tokens of more than 16 bytes: lengths are bytes of a table. Of up to 32 bytes there is one per
 * class of codes: 128 classes are 32 words, one per bank, and lanes read them without a conflict.
 * Classes of up to 64 lengths would waste too many codes, so there is one per code.
 * FP_GPU_NO_LENGTH marks codes that the dictionary does not have. */
#define FP_GPU_LONG_SHIFT(bits, longest) ((longest) > 32 || (bits) <= 7 ? 0 : (bits)-7)
#define FP_GPU_LENGTH_TABLE(bits, longest)                                                         \
    ((bits) <= 4 ? 16 : 1 << ((bits)-FP_GPU_LONG_SHIFT(bits, longest)))
#define FP_GPU_NO_LENGTH 0x80u

/* Tokens of up to 64 bytes are cut into pieces of up to 16. A warp lists the pieces of its codes:
 * as many as this at a time, 4 bytes each, and where the last one ends. */
#define FP_GPU_PIECE      16u
#define FP_GPU_LISTED     576u
#define FP_GPU_LIST_BYTES (4 * FP_GPU_LISTED + 16)
/* The least room that rounds of tokens of more than 16 bytes need: a lane's codes, and a line. */
#define FP_GPU_LEAST_ROOM 1024u
/* In global memory: for each code 4 bytes, its first piece and its length; then the pieces. */
#define FP_GPU_FAR_ENTRY(piece, length) ((uint32_t)(piece) << 8 | (length))
#define FP_GPU_FAR_TABLE(bits)          (4ull << ((bits) < 2 ? 2 : (bits)))

/* A warp's buffer for the codes of a batch; lanes that are not aligned read a word more. */
#define FP_GPU_CODE_BUFFER(codes_per_lane, bits) ((codes_per_lane) * (bits)*4 + 16)
/* A warp's buffer for output: a batch of so many bytes fits wherever in a line it begins. */
#define FP_GPU_LINE           128
#define FP_GPU_STAGING(bytes) (((bytes) + FP_GPU_LINE - 1 + 15) / 16 * 16)
/* A warp's buffers, whole lines: codes arrive in as few accesses as can be if they lie in lines of
 * shared memory as they do in global memory. */
#define FP_GPU_LINES(bytes) (((bytes) + FP_GPU_LINE - 1) / FP_GPU_LINE * FP_GPU_LINE)
#define FP_GPU_WARP_SHARED(codes_per_lane, bits, longest, staging)                                 \
    FP_GPU_LINES(FP_GPU_CODE_BUFFER(codes_per_lane, bits) +                                        \
                 ((longest) == 64 ? FP_GPU_LIST_BYTES : 0) + (staging))
/* Shared memory of a block: the resident dictionary, two buffers per warp, and the number of the
 * next run of batches. */
#define FP_GPU_BLOCK_SHARED(resident, warps, warp) ((resident) + (warps) * (warp) + 16)

/* ---------------------------------------------------------------- kernels beside the decoder */

/* These kernels take one entry per chunk: blocks with blockIdx.y = c work on entry c. */
#define FP_GPU_HELPER_THREADS 256u
#define FP_GPU_ENTRIES        512u
/* Blocks of 256 row lengths that a warp takes; an even number. */
#define FP_GPU_LENGTH_BLOCKS 2u

/* A chunk whose output positions are computed on the device. 40 bytes. */
typedef struct fp_gpu_positions {
    uint64_t codes;
    /* Where positions go: 4 bytes per batch of 32 * codes_per_lane codes, 16-byte aligned. */
    uint64_t positions;
    /* Lengths of the dictionary's tokens, a byte each. */
    uint64_t lengths;
    uint32_t code_count, slots;
    uint32_t code_bits, codes_per_lane;
} fp_gpu_positions;

/* A chunk whose row offsets are wanted. 64 bytes. */
typedef struct fp_gpu_offsets {
    /* The row-length section, 16-byte aligned, and its size. */
    uint64_t lengths, lengths_bytes;
    /* Address of the offset of the chunk's first row. */
    uint64_t out;
    /* Of the chunk within its column: what offsets count from. */
    uint64_t first_byte;
    uint64_t status;
    uint32_t rows, decoded_bytes;
    uint32_t offset_bits;
    /* 1: the column's last chunk, which also writes the offset where the last row ends. */
    uint32_t closes_column;
    uint64_t reserved;
} fp_gpu_offsets;

/* A chunk whose validity bits are wanted. 32 bytes. */
typedef struct fp_gpu_validity {
    /* The validity section; 0: all rows are valid. */
    uint64_t section;
    /* The column's bitmap, in 32-bit words. */
    uint64_t out;
    /* Of the chunk within its column. */
    uint64_t first_row;
    uint32_t rows;
    /* 1: the column's last chunk, which also clears the bits after the last row. */
    uint32_t closes_column;
} fp_gpu_validity;

typedef struct fp_gpu_positions_launch {
    fp_gpu_positions entry[FP_GPU_ENTRIES];
} fp_gpu_positions_launch;
typedef struct fp_gpu_offsets_launch {
    fp_gpu_offsets entry[FP_GPU_ENTRIES - 1];
} fp_gpu_offsets_launch;
typedef struct fp_gpu_validity_launch {
    fp_gpu_validity entry[FP_GPU_ENTRIES];
} fp_gpu_validity_launch;

FP_GPU_ASSERT(sizeof(fp_gpu_span) == 56 && sizeof(fp_gpu_dict) == 48 &&
                  sizeof(fp_gpu_positions) == 40 && sizeof(fp_gpu_offsets) == 64 &&
                  sizeof(fp_gpu_validity) == 32 && offsetof(fp_gpu_span_launch, spans) == 32,
              "host and device must agree on these sizes");
FP_GPU_ASSERT(sizeof(fp_gpu_span_launch) <= FP_GPU_MOST_PARAMETERS &&
                  sizeof(fp_gpu_positions_launch) <= FP_GPU_MOST_PARAMETERS &&
                  sizeof(fp_gpu_offsets_launch) <= FP_GPU_MOST_PARAMETERS &&
                  sizeof(fp_gpu_validity_launch) <= FP_GPU_MOST_PARAMETERS,
              "the most that devices take");

#endif
