/* cold_write.h - cold chunks (docs/format.md, section 3.1): from a warm block to a cold one. The way
 * back is in cold.h. */
#ifndef FP_COLD_WRITE_H
#define FP_COLD_WRITE_H

#include "chunk.h"
#include "dict.h"
#include "frame.h"

/* What is kept from chunk to chunk. All zero is empty. One thread at a time. */
typedef struct fp_cold_writer {
    fp_frame_writer frames;
    fp_buffer words;
    fp_buffer block; /* the cold block */
    fp_buffer other; /* a frame beside the one in the block */
} fp_cold_writer;

typedef struct fp_cold_input {
    const fp_chunk *warm;           /* valid */
    const uint8_t *block;           /* of the warm chunk; its header is not looked at */
    const fp_dict *dict;            /* NULL for a stored chunk */
    const uint8_t *lengths_of_code; /* of the dictionary; NULL for a stored chunk */
    const uint8_t *decoded;         /* the chunk's bytes, if storing them may be tried; or NULL */
    uint32_t alignment;
    uint32_t level;
    const fastpair_allocator *allocator; /* outlives the writer */
} fp_cold_input;

/* Builds the smallest cold block of a warm one, if that is smaller: *chunk is then its header and
 * writer->block the block. Otherwise chunk->cold is 0. Statuses: OUT_OF_MEMORY; CORRUPT if others
 * change the block meanwhile. */
fastpair_status fp_cold_build(fp_cold_writer *writer, const fp_cold_input *input, fp_chunk *chunk);

/* A frame as it is judged. */
typedef struct fp_frame_figures {
    uint64_t size, repetitions;
} fp_frame_figures;

/* Whether a frame without short repetitions is better than the one with them. */
int fp_cold_is_better(fp_frame_figures without, fp_frame_figures with);

void fp_cold_writer_close(fp_cold_writer *writer, const fastpair_allocator *allocator);

#endif
