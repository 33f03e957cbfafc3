/* encode.h - one chunk on its way from rows to its block of the file.
 *
 * A draft is parsed with a model: rows → token ids. The writer marks it coded or stored. Then it is
 * built with a numbering: ids → codes → block. Drafts share nothing that changes, so threads may
 * work on several. */
#ifndef FP_ENCODE_H
#define FP_ENCODE_H

#include "bounds.h"
#include "chunk.h"
#include "cold_write.h"
#include "cut.h"
#include "model.h"
#include "number.h"
#include "parse.h"

/* Buffers are kept from chunk to chunk. All zero is an empty draft. There may be thousands of
 * drafts, so a small chunk's draft takes some hundred bytes besides its ids. */
typedef struct fp_draft {
    fp_chunk_rows rows;
    fp_parsed parsed; /* after building, its ids are codes */
    int coded;        /* 0: stored */
    fastpair_status status;
} fp_draft;

/* A finished block. The buffer is kept from block to block. All zero is an empty one. */
typedef struct fp_block {
    fp_buffer bytes;
    fp_chunk chunk; /* its header */
    fp_cold_writer cold;
    fastpair_status status;
    fp_bounds bounds; /* of its rows, if they are wanted */
    int is_text;      /* its rows are UTF-8; 1 where nobody asks */
} fp_block;

/* Begins a chunk: sets its rows, and nothing parsed. */
void fp_draft_begin(fp_draft *draft, const fp_chunk_rows *rows);
void fp_draft_close(fp_draft *draft, const fastpair_allocator *allocator);

/* Parses the rows with a model. Sets draft->status: OK, OUT_OF_MEMORY or CANCELLED. */
void fp_draft_parse(fp_draft *draft, const fastpair_dictionary *model, const fp_settings *settings);

/* Reports the failure of a draft that was parsed; draft->status is not OK. */
fastpair_status fp_draft_failure(const fp_draft *draft, fastpair_error *error);

/* Bytes of codes and sidecar, if the parsed chunk is coded. */
uint64_t fp_draft_coded_size(const fp_draft *draft, fp_packing packing);

/* Bytes that coding saves over storing, the dictionary not counted; 0 if it saves nothing. */
uint64_t fp_draft_saving(const fp_draft *draft, fp_packing packing);

/* Builds the block: coded with `numbering`, or stored, and cold if the settings say so. Sets block->status: OK or OUT_OF_MEMORY.
 */
void fp_draft_build(fp_draft *draft, const fp_numbering *numbering, const fp_settings *settings,
                    fp_block *block);

#endif
