/* case_layout.h - made-up chunks laid out for a kernel. */
#ifndef FP_TESTS_CASE_LAYOUT_H
#define FP_TESTS_CASE_LAYOUT_H

#include "device_chunk.h"
#include "kernel_case.h"

typedef enum case_positions {
    POSITIONS_SIDECAR,     /* the kernel's batches are whole batches of the sidecar */
    POSITIONS_PREPARED,    /* computed on the host */
    POSITIONS_REGENERATED, /* computed by kernels */
    POSITIONS_WAYS
} case_positions;

/* How a case is laid out for a kernel. */
typedef struct case_layout {
    uint32_t widened; /* 1: codes are 16-bit integers */
    case_positions positions;
    uint32_t batch_codes; /* of the sidecar */
    uint32_t little_room; /* 1: as little room as rounds of long tokens need */
    uint32_t out_shift;   /* from a multiple of 256 to the chunk's first byte */
    /* EMULATOR_WRITE_ONCE, unless lies about positions make batches overlap. */
    emulator_access out_access;
} case_layout;

/* A case in emulated memory. */
typedef struct case_chunk {
    device_chunk chunk;
    uint8_t *codes, *sidecar, *out;
    uint64_t codes_bytes, sidecar_bytes;
    uint32_t group_batches; /* of the sidecar */
    uint32_t *status;
} case_chunk;

/* Lays out a case. Chunks of one launch share the device. */
case_chunk case_lay_out(const kernel_case *c, const emulated_variant *variant,
                        const case_layout *layout, device *d);

#endif
