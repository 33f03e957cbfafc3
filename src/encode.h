/* encode.h - one chunk on its way from rows to its block of the file. */
#ifndef FP_ENCODE_H
#define FP_ENCODE_H

#include "chunk.h"
#include "model.h"

/* The numbering in force: what a dictionary block of the file says, in the form the encoder needs. */
typedef struct fp_numbering {
    fp_dict dict;
    int owns_dict;                      /* 0: borrowed from a given dictionary */
    uint32_t number;                    /* of the dictionary block in the file */
    uint32_t code_of_id[FP_MAX_TOKENS]; /* FP_NO_CODE: the dictionary lacks this token */
    uint8_t lengths_of_code[FP_MAX_TOKENS];
} fp_numbering;

/* Rows of one chunk and what becomes of them. Buffers are kept from chunk to chunk. */
typedef struct fp_job {
    const uint8_t *bytes;     /* readable for FP_SLACK bytes behind the last row */
    const uint64_t *offsets;  /* rows + 1 entries into `bytes` */
    const uint8_t *null_rows; /* one byte a row, 1 = null */
    uint64_t rows;
    uint64_t nulls;
    uint16_t *ids; /* after parsing token ids, after building codes */
    uint64_t ids_capacity;
    uint64_t codes;
    uint32_t *counts; /* how often each of the model's ids occurs */
    uint32_t counts_capacity;
    int ends_unit;   /* the writer decides on the chunks up to here together */
    int coded;       /* decided by the writer: 0 stored */
    fp_buffer block; /* the finished block */
    fp_chunk chunk;  /* its header */
    fastpair_status status;
    fastpair_error error;
} fp_job;

static inline uint64_t fp_job_bytes(const fp_job *job) {
    return job->offsets[job->rows] - job->offsets[0];
}

/* Bytes a coded chunk would take for codes and sidecar. */
uint64_t fp_job_coded_size(const fp_job *job, uint32_t code_bits, uint32_t batch_codes);

/* Parses the rows with a model: fills ids, codes and counts. Sets job->status. */
void fp_job_parse(fp_job *job, const fastpair_dictionary *model,
                  const fastpair_allocator *allocator);

/* Builds the block: coded with `numbering`, or stored. Sets job->status. */
void fp_job_build(fp_job *job, const fp_numbering *numbering, uint32_t batch_codes,
                  uint32_t alignment, const fastpair_allocator *allocator);

void fp_job_free(fp_job *job, const fastpair_allocator *allocator);

#endif
