/* encode_case.h - rows in memory that the emulator watches, and the encoder's kernels around the
 * parse on them. Every block of memory is exactly as large as the launch says. */
#ifndef FP_TESTS_ENCODE_CASE_H
#define FP_TESTS_ENCODE_CASE_H

#include "device_memory.h"
#include "encode_oracle.h"
#include "gpu/kernels/encode_params.h"

/* Rows as a caller has them, in host memory. */
typedef struct encode_rows {
    uint8_t *bytes;
    uint64_t bytes_size;
    void *offsets;
    uint8_t *validity; /* NULL: none */
    uint64_t validity_bytes, validity_first;
    uint64_t rows;
    uint32_t offset_bits;
} encode_rows;

typedef struct encode_case {
    device memory;
    fp_gpu_encode_launch launch;
    fp_gpu_encode_state *state;
    fp_gpu_encode_chunk *chunks;
    uint32_t *ends;
    uint8_t *output;
} encode_case;

/* Copies rows to watched memory and lays out scratch. `most_chunks` 0: as many as there can be. */
void encode_case_make(encode_case *c, const encode_rows *rows, const encode_oracle_rules *rules,
                      uint64_t most_chunks);
void encode_case_free(encode_case *c);

/* Kernels in the order of launches. Each returns NULL or what went wrong. */
const char *encode_case_check(const encode_case *c);   /* begin, check */
const char *encode_case_cut(const encode_case *c);     /* until chunks are cut, and before */
const char *encode_case_chunks(const encode_case *c);  /* cut alone */
const char *encode_case_measure(const encode_case *c); /* ends, measure, place */
/* Says where sections of row lengths and validity lie, in an output of its own. */
void encode_case_lay_out(encode_case *c, uint64_t image_begin);
const char *encode_case_sections(const encode_case *c);
const char *encode_case_facts(const encode_case *c); /* bounds, text */

#endif
