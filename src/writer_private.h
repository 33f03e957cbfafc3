/* writer_private.h - the writer's state, shared by writer.c (rows in, blocks out), adapt.c (which dictionary) and
 * renumber.c (which codes). */
#ifndef FP_WRITER_PRIVATE_H
#define FP_WRITER_PRIVATE_H

#include "footer.h"
#include "pending.h"
#include "regime.h"

struct fastpair_writer {
    fp_settings settings;
    fastpair_sink sink;
    uint64_t column_bytes; /* of the whole column, for estimates and progress; 0: unknown */

    fp_pending pending;
    fp_job *jobs; /* job_capacity of them, the chunks of one group */
    uint32_t job_capacity;

    /* The dictionary in force, and earlier ones. */
    fp_regimes regimes;
    int trained; /* settled: trained, given or stored */
    uint32_t retry_wait;
    uint32_t units_before_retry; /* after a new model did not pay */
    uint32_t probe_wait;
    uint32_t units_before_probe; /* after no earlier model was better */

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

/* Opens a writer; `model`, if not NULL, is already trained and becomes the writer's, also on failure. */
fastpair_status fp_writer_create(const fastpair_sink *sink, const fp_settings *settings,
                                 uint64_t column_bytes, fastpair_dictionary *model,
                                 fastpair_writer **writer, fastpair_error *error);

/* Trains on the pending rows if that is still to be done. */
fastpair_status fp_adapt_train(fastpair_writer *writer, fastpair_error *error);

/* Parses jobs[0 .. count) and decides on them: for each, coded or stored, and with which dictionary. Writes dictionary
 * blocks and finished chunks in file order. `first_group`: these are the first chunks of the column; `whole`: they are all
 * of it. Later groups are whole units, each up to a job with ends_unit. */
fastpair_status fp_adapt_group(fastpair_writer *writer, uint32_t count, int first_group, int whole,
                               fastpair_error *error);

/* What coding a chunk saves over storing it, without the dictionary; 0 if nothing. */
uint64_t fp_chunk_saving(const fp_job *job, uint32_t code_bits, uint32_t batch_codes);

/* Drops tokens that jobs[0 .. count), the first chunks, never use, from the model and from their counts and ids. */
fastpair_status fp_prune_model(fastpair_writer *writer, uint32_t count, fastpair_error *error);

/* Numbers by jobs[from .. to) and the chunks before them. If they save more than the dictionary costs, it is written and they are
 * coded with it; otherwise they are stored, the numbering stays what it was and *adopted is 0. `whole` as above. */
fastpair_status fp_adopt_numbering(fastpair_writer *writer, uint32_t from, uint32_t to, int whole,
                                   int *adopted, fastpair_error *error);

/* Whether the present numbering has a code for every token of a chunk. */
int fp_numbering_covers(const fastpair_writer *writer, const fp_job *job);

/* Marks a chunk that the present numbering covers as coded, if that makes it smaller, and counts its tokens. */
void fp_mark_coded(fastpair_writer *writer, fp_job *job);

/* Parses jobs[from .. to) in parallel. */
fastpair_status fp_writer_parse(fastpair_writer *writer, uint32_t from, uint32_t to,
                                fastpair_error *error);

/* Builds jobs[from .. to) in parallel and writes them. */
fastpair_status fp_writer_emit(fastpair_writer *writer, uint32_t from, uint32_t to,
                               fastpair_error *error);

/* Writes the present numbering's dictionary block, gives it its number, and starts its record of used tokens. */
fastpair_status fp_writer_emit_dictionary(fastpair_writer *writer, fastpair_error *error);

#endif
