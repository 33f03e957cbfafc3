/* params.h - what the host tells a kernel: plain structs, the same bytes in C, in CUDA and in the emulator.
 *
 * Fields that a decode kernel reads lie together in 16-byte units: each unit costs every warp one access. */
#ifndef FP_GPU_PARAMS_H
#define FP_GPU_PARAMS_H

#include <stddef.h>
#include <stdint.h>

/* Bits of the status word, as in fastpair_gpu.h. */
#define FP_GPU_BAD_CODE    1u
#define FP_GPU_BAD_SIDECAR 2u
#define FP_GPU_BAD_LENGTHS 4u

/* One chunk, in device memory, one entry a chunk; the table lies at a multiple of 16. Pointers are device
 * addresses, all inside the batch's device memory or the caller's image; the host has checked every size
 * against the chunk's header, so a kernel that stays within the counts below never reads outside. 128
 * bytes. */
typedef struct fp_gpu_chunk {
    /* packed codes, 16-byte aligned, whole 16-byte units (docs/format.md); stored chunks: the bytes */
    uint64_t codes;
    uint64_t out_offset; /* of the chunk's first byte in the output */
    uint64_t sidecar;    /* the sidecar section, 4-byte aligned */
    /* output positions made for this launch, 4 bytes for each of the kernel's batches, 16-byte aligned; 0:
     * use the sidecar, which needs 32 * K to be a multiple of batch_codes */
    uint64_t positions;
    uint64_t code_count; /* 0: stored. Below 2^32, because decoded_bytes is and no token is empty */
    uint32_t decoded_bytes;
    uint32_t dict;           /* index into the dictionary table */
    uint32_t file_batches;   /* entries of the sidecar */
    uint32_t batch_codes;    /* B of the file */
    uint32_t group_batches;  /* G of the file, a power of two */
    uint32_t last_in_column; /* 1: also writes the column's closing row offset */
    uint64_t packed_words;   /* 32-bit words of the codes section */
    uint64_t lengths;        /* the row-length section, 16-byte aligned */
    uint64_t lengths_bytes;
    uint64_t row_count;
    uint64_t first_row_slot; /* index of the chunk's first entry in the row-offset output */
    uint64_t
        column_offset; /* of the chunk's first byte within its column: what row offsets count from */
    uint64_t reserved[2];
} fp_gpu_chunk;

/* One dictionary, in device memory; the table lies at a multiple of 16. A plane that no kernel of the batch reads is
 * 0. Planes are zero-padded, 16-byte aligned and have an entry for each slot below `slots`; those of tokens
 * up to the end of the last length class, or, in a dictionary with a hot part, for all 2^code_bits codes. 64 bytes. */
typedef struct fp_gpu_dict {
    uint64_t low8;  /* first 8 bytes of each token, 8-byte stride */
    uint64_t high8; /* bytes 8..15, 8-byte stride */
    uint64_t
        nibbles; /* length minus one, two codes a byte, even code in the low nibble: (slots + 1) / 2 bytes */
    uint32_t slots; /* N, at least 1 */
    uint32_t code_bits;
    uint64_t rows16;     /* all 16 bytes, 16-byte stride */
    uint32_t max_length; /* of any token in it */
    uint32_t reserved[5];
} fp_gpu_dict;

/* All that a decode kernel needs of a chunk and its dictionary, worked out by the host (work.h) and passed
 * with the launch: parameters are in constant memory, which a warp reads for nothing, while reading the
 * tables costs it some 19 accesses a batch. 80 bytes. */
typedef struct fp_gpu_work {
    uint64_t codes;
    uint64_t out;                /* address of the chunk's first byte in the output */
    uint64_t positions;          /* 4 bytes each, one for 2^place_shift entries */
    uint64_t numbers;            /* 2 bytes each, one an entry, to be added; 0: none */
    uint64_t low, high, nibbles; /* planes of W bytes a slot and of the others, and lengths */
    uint32_t code_count;         /* 0: nothing to decode */
    uint32_t decoded_bytes;
    uint32_t entries; /* of positions */
    uint32_t slots;
    uint8_t code_bits;
    uint8_t place_shift;
    uint8_t place_each; /* entries that make up one of the kernel's batches */
    uint8_t reserved[5];
} fp_gpu_work;

/* The same for an assembled kernel, which has the dictionary elsewhere. Batches of all chunks of a launch are counted
 * through, for the kernel's batch size; chunks with one dictionary, a group, follow each other. 56 bytes. */
typedef struct fp_gpu_span {
    uint64_t codes, out, positions; /* as in fp_gpu_work */
    uint32_t numbers_at;            /* numbers are at positions + 4 * numbers_at; 0: none */
    uint32_t entries, code_count, decoded_bytes;
    uint32_t first_batch; /* of the chunk */
    uint32_t group;       /* number in the table of groups */
    uint32_t group_end;   /* the first batch behind those of the group */
    uint8_t place_shift, place_each;
    uint8_t reserved[2];
} fp_gpu_span;

/* The dictionary of an assembled kernel: what a block copies to shared memory. In device memory, one entry a
 * group of chunks with this dictionary, at a multiple of 16. 48 bytes. */
typedef struct fp_gpu_group {
    uint64_t image;       /* lengths by class, then tokens (image.h), 16-byte aligned */
    uint64_t cold;        /* the plane of rows as long as the kernel's longest; HOT and FAR */
    uint32_t image_bytes; /* whole 16-byte units */
    uint32_t slots, near, split; /* as in fp_gpu_image */
    uint32_t staging;            /* FP_GPU_STAGING of the largest batch */
    uint32_t reserved[3];
} fp_gpu_group;

/* Codes with the same code >> FP_GPU_CLASS_SHIFT are of one length. Lengths less one are nibbles of a table,
 * the first in the low half of the first byte. For kernels with tokens of at most 8 bytes, a nibble of 8 or
 * more marks codes behind the dictionary's last. */
#define FP_GPU_CLASS_SHIFT(bits) ((bits) <= 8 ? 0 : (bits) <= 14 ? (bits)-8 : 6)
#define FP_GPU_CLASS_TABLE(bits) ((bits) <= 5 ? 16 : 1 << ((bits)-FP_GPU_CLASS_SHIFT(bits)) >> 1)
#define FP_GPU_NO_CLASS          15u

/* A warp's buffer for the codes of a batch; lanes that are not aligned read a word more. */
#define FP_GPU_CODE_BUFFER(codes_per_lane, bits) ((codes_per_lane) * (bits)*4 + 16)
/* A warp's buffer for output: a batch of so many bytes fits wherever in a line it begins. */
#define FP_GPU_LINE           128
#define FP_GPU_STAGING(bytes) (((bytes) + FP_GPU_LINE - 1 + 15) / 16 * 16)
/* Shared memory of a block: the image, two buffers a warp, and the number of the next run of batches. */
#define FP_GPU_BLOCK_SHARED(image, warps, warp) ((image) + (warps) * (warp) + 16)

/* So many chunks a launch of a staged kernel brings along, in 4 KiB of parameters; for more, the kernel looks into the
 * tables. A launch of an assembled kernel, which decodes whole columns at a time, has no more chunks than these, and
 * passes no more of its parameters than it has chunks: 32 KiB would take 5 microseconds to pass. */
#define FP_GPU_WORK_CHUNKS 48u
#define FP_GPU_SPANS       580u

/* The parameters of a launch, passed by value. Blocks with blockIdx.y = c work on chunk first_chunk + c. */
typedef struct fp_gpu_launch {
    uint64_t chunks; /* device address of the fp_gpu_chunk table */
    uint64_t dicts;  /* device address of the fp_gpu_dict table */
    uint64_t out;    /* output, at a multiple of 16 */
    uint64_t out_bytes;
    uint64_t status; /* device address of a 32-bit word, or 0 */
    uint64_t row_offsets;
    uint32_t offset_bits;
    uint32_t first_chunk;
    uint32_t
        widened; /* 1: codes are 16-bit integers whatever the dictionary's width (the paper's input) */
    /* 1: decode kernels take chunk first_chunk + c from work[c], for at most FP_GPU_WORK_CHUNKS chunks; 0:
     * from the tables. The kernels beside them always use the tables. */
    uint32_t has_work;
    fp_gpu_work work[FP_GPU_WORK_CHUNKS];
} fp_gpu_launch;

/* The parameters of a launch of an assembled kernel: a header, and as many spans as there are chunks, in the order of
 * first_batch, with one behind them whose first_batch is `batches`. What follows need not be there.
 *
 * Blocks work in teams: each team has a stretch of the batches, as long as it has blocks, and its members take turns.
 * With one dictionary there is one team, which goes through memory from one end to the other; with many there are many,
 * so that a block sees few of the dictionaries. */
typedef struct fp_gpu_span_launch {
    uint64_t status; /* device address of a 32-bit word, or 0 */
    uint64_t groups; /* device address of the fp_gpu_group table */
    uint32_t span_count, batches;
    uint32_t blocks, teams; /* at least one block a team */
    fp_gpu_span spans[FP_GPU_SPANS + 1];
} fp_gpu_span_launch;

/* How much of it has to be passed. */
#define FP_GPU_SPAN_LAUNCH_BYTES(spans)                                                            \
    (sizeof(uint64_t) * 4 + ((size_t)(spans) + 1) * sizeof(fp_gpu_span))

/* Dynamic shared memory of a kernel that copies the dictionary there (staged_shared.cuh): tokens of up to
 * `longest` bytes, 8 or 16, and their lengths. */
#define FP_SHARED_DICT_BYTES(slots, longest)                                                       \
    (((slots) * (longest) + ((slots) + 1) / 2 + 15) / 16 * 16)

#if defined(__cplusplus)
#define FP_GPU_ASSERT static_assert
#else
#define FP_GPU_ASSERT _Static_assert
#endif
FP_GPU_ASSERT(sizeof(fp_gpu_chunk) == 128 && sizeof(fp_gpu_dict) == 64 &&
                  sizeof(fp_gpu_work) == 80 && sizeof(fp_gpu_group) == 48 &&
                  sizeof(fp_gpu_span) == 56 &&
                  sizeof(fp_gpu_launch) == 64 + 80 * FP_GPU_WORK_CHUNKS,
              "host and device must agree on these sizes");
FP_GPU_ASSERT(sizeof(fp_gpu_launch) <= 4096 - 8, "and a kernel may have a second parameter");
FP_GPU_ASSERT(sizeof(fp_gpu_span_launch) == FP_GPU_SPAN_LAUNCH_BYTES(FP_GPU_SPANS) &&
                  sizeof(fp_gpu_span_launch) <= 32764,
              "the most that devices take");

#endif
