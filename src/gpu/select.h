/* select.h - what selections on a device need of a column. */
#ifndef FP_GPU_SELECT_H
#define FP_GPU_SELECT_H

#include "fastpair_gpu_select.h"
#include "kernels/select_params.h"
#include "rows.h"

/* Tokens of one table of the rows, in cells of one size. Places are bytes from the device memory
 * on. */
typedef struct fp_select_table {
    uint64_t cells;
    uint32_t stride;
} fp_select_table;

struct fastpair_gpu_select {
    const fastpair_gpu_rows *rows;
    fp_select_table *tables; /* one per table of the rows */
    /* What goes to the device: the table of chunks, then cells. */
    uint8_t *memory;
    uint64_t bytes;
    /* 0 until uploaded. */
    uint64_t device_memory;
};

#endif
