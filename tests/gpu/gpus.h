/* gpus.h - GPUs for tests of what follows from a device's limits: one per row of the paper's Table
 * 1 whose limits differ. */
#ifndef FP_TESTS_GPUS_H
#define FP_TESTS_GPUS_H

#include "fastpair_gpu.h"

enum { B300, H100, A100, L40S, GPUS };

static const fastpair_gpu_info gpus[GPUS] = {
    [B300] = {.struct_size = sizeof gpus[0],
              .name = "B300",
              .compute_major = 10,
              .compute_minor = 3,
              .multiprocessors = 148,
              .warps_per_multiprocessor = 64,
              .registers_per_multiprocessor = 65536,
              .shared_per_multiprocessor = 228 << 10,
              .shared_per_block = 227 << 10,
              .shared_reserved_per_block = 1024},
    [H100] = {.struct_size = sizeof gpus[0],
              .name = "H100",
              .compute_major = 9,
              .multiprocessors = 132,
              .warps_per_multiprocessor = 64,
              .registers_per_multiprocessor = 65536,
              .shared_per_multiprocessor = 228 << 10,
              .shared_per_block = 227 << 10,
              .shared_reserved_per_block = 1024},
    [A100] = {.struct_size = sizeof gpus[0],
              .name = "A100",
              .compute_major = 8,
              .multiprocessors = 108,
              .warps_per_multiprocessor = 64,
              .registers_per_multiprocessor = 65536,
              .shared_per_multiprocessor = 164 << 10,
              .shared_per_block = 163 << 10,
              .shared_reserved_per_block = 1024},
    [L40S] = {.struct_size = sizeof gpus[0],
              .name = "L40S",
              .compute_major = 8,
              .compute_minor = 9,
              .multiprocessors = 142,
              .warps_per_multiprocessor = 48,
              .registers_per_multiprocessor = 65536,
              .shared_per_multiprocessor = 100 << 10,
              .shared_per_block = 99 << 10,
              .shared_reserved_per_block = 1024},
};

#endif
