/* flight.h - the chunks in flight: drafts that are parsed and built on several threads.
 *
 * In: chunks from the cut. Out: drafts, parsed ahead of the decisions on them, then built up to any
 * of them. The order of decisions and of blocks is that of the file, whatever the number of
 * threads. */
#ifndef FP_FLIGHT_H
#define FP_FLIGHT_H

#include "choose.h"
#include "encode.h"

typedef struct fp_flight {
    fp_draft *drafts;
    uint32_t capacity;
    uint32_t count;
    uint32_t parsed;  /* drafts before this one are parsed with the model in force */
    uint32_t ahead;   /* drafts to parse at once, at least */
    uint32_t written; /* drafts before this one are in the file */
    fp_block *blocks; /* of the drafts from `written` on, as many as were built last */
    uint32_t block_capacity;
} fp_flight;

void fp_flight_close(fp_flight *flight, const fastpair_allocator *allocator);

/* Takes chunks on board. All earlier ones have been written. */
fastpair_status fp_flight_load(fp_flight *flight, const fp_cut_list *list,
                               const fastpair_allocator *allocator, fastpair_error *error);

/* One past the last draft of the unit that begins with draft `from`. */
uint32_t fp_flight_unit_end(const fp_flight *flight, uint32_t from);

/* Parses at least the drafts before `end` that are not parsed yet. */
fastpair_status fp_flight_parse(fp_flight *flight, uint32_t end, const fastpair_dictionary *model,
                                const fp_settings *settings, fastpair_error *error);

/* Another model is in force from draft `from` on: forgets later parses. Few drafts are parsed at
 * once from here, because data that changes may go on changing. */
void fp_flight_forget(fp_flight *flight, uint32_t from, uint32_t end);

/* The figures of drafts from .. to, which are parsed, if their codes are stored like this. */
fp_unit fp_flight_measure(const fp_flight *flight, uint32_t from, uint32_t to, fp_packing packing);

/* The rows of drafts from .. to, for training. */
fastpair_rows fp_flight_rows(const fp_flight *flight, uint32_t from, uint32_t to);

/* Builds the blocks of *built drafts from `written` on, some MiB of them, none at or past `end`. */
fastpair_status fp_flight_build(fp_flight *flight, uint32_t end, const fp_numbering *numbering,
                                const fp_settings *settings, uint32_t *built,
                                fastpair_error *error);

#endif
