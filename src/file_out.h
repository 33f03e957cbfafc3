/* file_out.h - the file, front to back: the last stage of a writer.
 *
 * In: dictionaries and finished chunk blocks, in file order. Out: header, blocks, footer and
 * trailer of docs/format.md, through the caller's sink. Never goes back in the file. */
#ifndef FP_FILE_OUT_H
#define FP_FILE_OUT_H

#include "bounds.h"
#include "chunk.h"
#include "dict.h"
#include "footer.h"
#include "memory.h"

typedef struct fp_file_out {
    fastpair_sink sink;
    fastpair_allocator allocator;
    fp_file_header header;
    int header_written;
    int final_separator;     /* with framing: the last row has a separator too */
    uint64_t position;       /* bytes written */
    fp_footer footer;        /* totals so far */
    fp_buffer dict_entries;  /* of fp_dict_entry */
    fp_buffer chunk_entries; /* of fp_chunk_entry */
    int detects_text;        /* the type is text if all chunks are */
    fp_buffer name, pairs;   /* parts of the footer; empty: none */
    fp_bounds_list bounds;
    int has_bounds;
} fp_file_out;

void fp_file_out_open(fp_file_out *file, const fastpair_sink *sink, uint32_t alignment,
                      const fastpair_allocator *allocator);
void fp_file_out_close(fp_file_out *file);

/* Copies what the caller says of the column. `bound_bytes` as in fp_settings. */
fastpair_status fp_file_out_describe(fp_file_out *file, const fastpair_metadata *metadata,
                                     uint32_t bound_bytes, fastpair_error *error);

/* The same as another file says, to which nothing was written. */
fastpair_status fp_file_out_describe_as(fp_file_out *file, const fp_file_out *other,
                                        fastpair_error *error);

/* Writes a dictionary's block, which fp_dict_build made, in a cold file as a cold one; *number is what
 * chunks call it by. */
fastpair_status fp_file_out_dictionary(fp_file_out *file, const fp_dict *dict, fp_buffer *block,
                                       uint32_t *number, fastpair_error *error);

/* Where the block of dictionary `number` ends in the file. */
uint64_t fp_file_out_dictionary_end(const fp_file_out *file, uint32_t number);

/* How many bytes it has. */
uint64_t fp_file_out_dictionary_bytes(const fp_file_out *file, uint32_t number);

/* Adds to the tokens of dictionary `number` that occur in its chunks. */
void fp_file_out_use_tokens(fp_file_out *file, uint32_t number, uint32_t tokens);

/* What the footer will say of a chunk's rows. */
typedef struct fp_row_facts {
    const fp_bounds *bounds;
    int is_text; /* they are UTF-8 */
} fp_row_facts;

/* Writes a chunk's block, `chunk` being its header. */
fastpair_status fp_file_out_chunk(fp_file_out *file, const fp_chunk *chunk, const fp_buffer *block,
                                  fp_row_facts facts, fastpair_error *error);

/* What these two note for the footer, without writing: for blocks that others bring to the file, at
 * file->position. */
fastpair_status fp_file_out_list_dictionary(fp_file_out *file, uint64_t size, uint32_t *number,
                                            fastpair_error *error);
fastpair_status fp_file_out_list_chunk(fp_file_out *file, const fp_chunk *chunk, fp_row_facts facts,
                                       fastpair_error *error);

/* Writes footer and trailer. */
fastpair_status fp_file_out_finish(fp_file_out *file, fastpair_error *error);

#endif
