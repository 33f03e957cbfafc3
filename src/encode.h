/* encode.h - one chunk on its way from rows to its block of the file.
 *
 * A draft is parsed with a model: rows → token ids. The writer marks it coded or stored. Then it is
 * built with a numbering: ids → codes → block. Drafts share nothing that changes, so threads may
 * work on several. */
#ifndef FP_ENCODE_H
#define FP_ENCODE_H

#include "chunk.h"
#include "cut.h"
#include "model.h"
#include "number.h"

/* The tokens of a chunk. */
typedef struct fp_parsed {
    uint16_t *ids; /* in row order; after building: codes */
    uint64_t ids_capacity;
    uint64_t codes;   /* how many ids there are */
    uint32_t *counts; /* by id: how often it occurs */
    uint32_t counts_capacity;
} fp_parsed;

/* Buffers are kept from chunk to chunk. All zero is an empty draft. */
typedef struct fp_draft {
    fp_chunk_rows rows;
    fp_parsed parsed;
    int coded;       /* 0: stored */
    fp_buffer block; /* the finished block */
    fp_chunk chunk;  /* its header */
    fastpair_status status;
    fastpair_error error;
} fp_draft;

/* Begins a chunk: sets its rows, and nothing parsed. */
void fp_draft_begin(fp_draft *draft, const fp_chunk_rows *rows);
void fp_draft_close(fp_draft *draft, const fastpair_allocator *allocator);

/* Parses the rows with a model. Sets draft->status. */
void fp_draft_parse(fp_draft *draft, const fastpair_dictionary *model,
                    const fastpair_allocator *allocator);

/* Bytes of codes and sidecar, if the parsed chunk is coded. */
uint64_t fp_draft_coded_size(const fp_draft *draft, uint32_t code_bits, uint32_t batch_codes);

/* Bytes that coding saves over storing, the dictionary not counted; 0 if it saves nothing. */
uint64_t fp_draft_saving(const fp_draft *draft, uint32_t code_bits, uint32_t batch_codes);

/* Builds the block: coded with `numbering`, or stored. Sets draft->status. */
void fp_draft_build(fp_draft *draft, const fp_numbering *numbering, uint32_t batch_codes,
                    uint32_t alignment, const fastpair_allocator *allocator);

#endif
