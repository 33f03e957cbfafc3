/* file_out.h - the file, front to back: the last stage of a writer.
 *
 * In: dictionaries and finished chunk blocks, in file order. Out: header, blocks, footer and
 * trailer of docs/format.md, through the caller's sink. Never goes back in the file. */
#ifndef FP_FILE_OUT_H
#define FP_FILE_OUT_H

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
} fp_file_out;

void fp_file_out_open(fp_file_out *file, const fastpair_sink *sink, uint32_t alignment,
                      const fastpair_allocator *allocator);
void fp_file_out_close(fp_file_out *file);

/* Writes a dictionary block; *number is what chunks call it by. */
fastpair_status fp_file_out_dictionary(fp_file_out *file, const fp_dict *dict, uint32_t *number,
                                       fastpair_error *error);

/* Adds to the tokens of dictionary `number` that occur in its chunks. */
void fp_file_out_use_tokens(fp_file_out *file, uint32_t number, uint32_t tokens);

/* Writes a chunk's block, `chunk` being its header. */
fastpair_status fp_file_out_chunk(fp_file_out *file, const fp_chunk *chunk, const fp_buffer *block,
                                  fastpair_error *error);

/* Writes footer and trailer. */
fastpair_status fp_file_out_finish(fp_file_out *file, fastpair_error *error);

#endif
