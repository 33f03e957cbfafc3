/* kernel_case.h - small made-up chunks, and decoding them with an emulated kernel. */
#ifndef FP_TESTS_KERNEL_CASE_H
#define FP_TESTS_KERNEL_CASE_H

#include "emulator.h"
#include "gpu/kernels/image.h"

/* ---------------------------------------------------------------- kernels */

/* One kernel of variants.def. Kernels that differ only in B are the same here. */
typedef struct emulated_variant {
    const char *name;
    uint32_t codes_per_lane; /* K */
    uint32_t low_bytes;      /* W */
    uint32_t longest;        /* 8 or 16 */
    uint32_t threads;        /* T */
    int shared_dict;         /* takes dynamic shared memory, and a second parameter */
    int carried;             /* in the library, not in the grid alone */
    emulator_kernel kernel;
    uint32_t code_bits; /* assembled kernels: of the codes they read; else 0 */
    fp_gpu_home home;
} emulated_variant;

/* What an emulated kernel is called with. */
typedef struct emulated_parameters {
    fp_gpu_launch launch;
    uint32_t second;          /* shared_slots or codes_per_lane */
    fp_gpu_span_launch spans; /* of assembled kernels, in place of both */
} emulated_parameters;

/* Parts of the grid, ended by an entry without a name; each in a file of its own, as they take long to
 * compile. */
const emulated_variant *emulated_carried(void);
const emulated_variant *emulated_assembled(void);
const emulated_variant *emulated_grid_split_low(void);  /* W 8, K 1..5 */
const emulated_variant *emulated_grid_split_high(void); /* W 8, K 6..8 */
const emulated_variant *emulated_grid_whole(void);      /* W 16, and tokens of at most 8 bytes */
const emulated_variant *emulated_grid_shared(void);     /* dictionary in shared memory */

/* The kernels beside the decoders; parameters as above. */
void emulated_measure_batches(const void *parameters);
void emulated_scan_batches(const void *parameters);
void emulated_row_offsets(const void *parameters);
#define EMULATED_HELPER_THREADS 256u

/* ---------------------------------------------------------------- memory */

/* Blocks of memory of exactly the size asked for, known to the emulator. */
typedef struct device {
    void *blocks[256];
    uint32_t count;
} device;

/* A new block, filled with 0xee; `bytes` may be 0. The kernels may touch only the part behind the first
 * `skip` bytes, which start at a multiple of 16. */
uint8_t *device_block(device *d, uint64_t bytes, uint32_t skip, emulator_access access,
                      const char *name);
void device_free(device *d);

/* ---------------------------------------------------------------- chunks */

typedef enum case_lengths {
    CASE_MIXED,    /* 1..16 alike */
    CASE_ONES,     /* 1-byte tokens only */
    CASE_LONGEST,  /* tokens of the greatest length only */
    CASE_SHORT,    /* mostly 1..4 */
    CASE_EIGHT,    /* 8 and 9, or 7 and 8 */
    CASE_FEW_LONG, /* one in 20 longer than 8 */
    CASE_LENGTHS
} case_lengths;

typedef struct kernel_case {
    uint32_t bits, slots, longest, hot;
    uint8_t *lengths;      /* of each slot */
    uint8_t (*tokens)[16]; /* zero-padded */
    uint16_t *codes;
    uint32_t count;
    uint32_t decoded_bytes;
    uint8_t *decoded; /* what must come out */
} kernel_case;

/* Random tokens and codes. `slots` codes of the fewest bits that hold them; longest is 8 or 16. */
void case_make(kernel_case *c, uint64_t seed, uint32_t slots, uint32_t count, uint32_t longest,
               case_lengths lengths);
/* The same with codes in length classes, as files have them and as assembled kernels want them; with
 * `hot`, in two parts. Slots between classes hold no token and are no codes. */
void case_make_classes(kernel_case *c, uint64_t seed, uint32_t bits, uint32_t count,
                       uint32_t longest, case_lengths lengths, int hot);
void case_free(kernel_case *c);

typedef enum case_positions {
    POSITIONS_SIDECAR,     /* batch_codes of the file suits the kernel */
    POSITIONS_PREPARED,    /* made on the host */
    POSITIONS_REGENERATED, /* made by kernels */
    POSITIONS_WAYS
} case_positions;

/* How a case is laid out for a kernel. */
typedef struct case_layout {
    uint64_t seed; /* of the order of lanes */
    uint32_t widened;
    case_positions positions;
    uint32_t batch_codes; /* of the sidecar; 0: the kernel's */
    uint32_t out_shift;   /* where the chunk begins in the output */
    uint32_t spare_blocks;
    uint32_t
        has_work; /* the launch brings the chunk's work along; else kernels look into the tables */
} case_layout;

/* A case in emulated memory, ready to run or to be spoilt first. */
typedef struct case_image {
    device memory;
    emulated_parameters parameters;
    fp_gpu_chunk *chunk;
    fp_gpu_dict *dict;
    fp_gpu_group *group;
    uint8_t *group_image; /* begins with lengths by class */
    uint8_t *codes, *sidecar, *low8, *high8, *rows16, *nibbles,
        *out; /* out: the chunk's first byte */
    uint32_t *positions, *status;
    uint64_t codes_bytes, sidecar_bytes, nibble_bytes;
    uint32_t batches; /* of the kernel */
} case_image;

/* Lays out; `out_access` is EMULATOR_WRITE_ONCE unless lies about positions may make batches overlap. */
void case_lay_out(const kernel_case *c, const emulated_variant *variant, const case_layout *layout,
                  emulator_access out_access, case_image *image);

/* Runs the kernels that make positions. NULL or an error. */
const char *case_make_positions(const emulated_variant *variant, const case_layout *layout,
                                case_image *image);

/* Runs those, if the layout says so, and the decoder. NULL or an error. */
const char *case_run(const emulated_variant *variant, const case_layout *layout, case_image *image);
void case_image_free(case_image *image);

#endif
