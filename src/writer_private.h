/* writer_private.h - the writer's state, shared by writer.c (rows in, blocks out) and adapt.c (which dictionary). */
#ifndef FP_WRITER_PRIVATE_H
#define FP_WRITER_PRIVATE_H

#include "encode.h"
#include "footer.h"
#include "pending.h"

struct fastpair_writer {
    fp_settings settings;
    fastpair_sink sink;
    uint64_t column_bytes; /* of the whole column, for estimates and progress; 0: unknown */

    fp_pending pending;
    fp_job *jobs; /* job_capacity of them, the chunks of one group */
    uint32_t job_capacity;

    /* The dictionary in force. */
    fastpair_dictionary *model; /* trained here and owned; NULL: given, stored, or not yet trained */
    int trained;                /* settled: trained, given or stored */
    fp_numbering *numbering;    /* NULL: none yet */
    uint64_t *counts;           /* of each id, over the coded chunks since the model was made */
    uint8_t *used;              /* ids that occur in chunks of the current dictionary block */
    uint32_t renumberings;
    double bytes_per_code; /* what the model reached where it was trained; drift is measured against it */
    uint32_t retry_wait;
    uint32_t chunks_before_retry; /* after a new model did not pay */

    /* The file so far. */
    int header_written;
    int has_framing;
    uint8_t separator;
    int final_separator;
    uint64_t position;
    fp_footer footer;        /* totals; counts of the two lists */
    fp_buffer dict_entries;  /* of fp_dict_entry */
    fp_buffer chunk_entries; /* of fp_chunk_entry */
    uint64_t bytes_taken;    /* decoded bytes in finished chunks, for progress */

    int failed;
    int finished;
};

/* The model that parses: the writer's own or the given one; NULL for stored. */
const fastpair_dictionary *fp_writer_model(const fastpair_writer *writer);

void fp_numbering_free(fp_numbering *numbering, const fastpair_allocator *allocator);

/* Opens a writer; `model`, if not NULL, is already trained and becomes the writer's, also on failure. */
fastpair_status fp_writer_create(const fastpair_sink *sink, const fp_settings *settings,
                                 uint64_t column_bytes, fastpair_dictionary *model, fastpair_writer **writer,
                                 fastpair_error *error);

/* Trains on the pending rows if that is still to be done. */
fastpair_status fp_adapt_train(fastpair_writer *writer, fastpair_error *error);

/* Decides jobs[0 .. count), which have just been parsed: for each, coded or stored, and with which dictionary. Writes
 * dictionary blocks and finished chunks in file order. `first_group`: these are the first chunks of the column; `whole`:
 * they are all of it. */
fastpair_status fp_adapt_group(fastpair_writer *writer, uint32_t count, int first_group, int whole,
                               fastpair_error *error);

/* Parses jobs[from .. to) in parallel. */
fastpair_status fp_writer_parse(fastpair_writer *writer, uint32_t from, uint32_t to, fastpair_error *error);

/* Builds jobs[from .. to) in parallel and writes them. */
fastpair_status fp_writer_emit(fastpair_writer *writer, uint32_t from, uint32_t to, fastpair_error *error);

/* Writes the numbering's dictionary block, gives it its number, and starts its record of used tokens. */
fastpair_status fp_writer_emit_dictionary(fastpair_writer *writer, fastpair_error *error);

#endif
