/* device_dict.h - a dictionary as kernels read it: a head, the resident dictionary and planes, one
 * after the other. The only place that knows these bytes. */
#ifndef FP_GPU_DEVICE_DICT_H
#define FP_GPU_DEVICE_DICT_H

#include "error.h"
#include "memory.h"
#include "plan.h"

/* Everything in device memory starts at a multiple of this. */
#define FP_DEVICE_ALIGNMENT 256u

static inline uint64_t fp_device_align(uint64_t value) {
    return fp_align(value, FP_DEVICE_ALIGNMENT);
}

/* Where the parts are, in bytes from the job's dictionaries on; 0: not there. A plane is
 * zero-padded and has a cell per slot, up to the end of the last length class; with a hot part, one
 * per code, because kernels then read cells of codes that they have not checked yet. */
typedef struct fp_device_dict {
    uint64_t head;
    uint64_t resident;
    uint64_t low8, high8, cells16, nibbles, lengths, pieces;
    uint64_t end;
} fp_device_dict;

/* Places the parts that the plan needs from `at` on, which is a multiple of FP_DEVICE_ALIGNMENT. */
fp_device_dict fp_device_dict_place(const fp_dict *dict, const fp_plan *plan, uint64_t at);

/* Writes all parts but the head; `memory` is the host's copy of the job's dictionaries.
 * OUT_OF_MEMORY. */
fastpair_status fp_device_dict_write(const fp_dict *dict, const fp_plan *plan,
                                     const fp_device_dict *at, uint8_t *memory,
                                     const fastpair_allocator *allocator, fastpair_error *error);

/* Writes the head, for dictionaries that will be at the device address `dicts`. */
void fp_device_dict_write_head(const fp_plan *plan, const fp_device_dict *at, uint64_t dicts,
                               uint8_t *memory);

#endif
