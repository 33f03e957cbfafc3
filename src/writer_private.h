/* writer_private.h - the writer's state: writer.c has the public calls, writer_units.c compresses
 * units.
 *
 * Each stage owns its state and calls no later stage. The two files here pass things on:
 *
 *   cut        rows → chunks, in units                      cut.h
 *   flight     chunks → drafts, parsed on all threads       flight.h, encode.h
 *   choose     figures → KEEP, RETURN or TRAIN              choose.h; regime.h keeps the dictionaries
 *   train      rows → model                                 model.h, train.h
 *   prune      model, drafts → fewer tokens                 prune.h
 *   number     tokens, counts → codes                       number.h
 *   flight     drafts, codes → blocks, on all threads       flight.h, encode.h
 *   file_out   blocks → file                                file_out.h
 */
#ifndef FP_WRITER_PRIVATE_H
#define FP_WRITER_PRIVATE_H

#include "choose.h"
#include "cut.h"
#include "file_out.h"
#include "flight.h"
#include "regime.h"
#include "writer.h"

struct fastpair_writer {
    fp_poll poll;
    fp_settings settings;  /* an automatic codec is replaced by the chosen one */
    uint64_t column_bytes; /* of the whole column, for estimates and progress; 0: unknown */
    fp_cut cut;
    fp_flight flight;
    fp_regimes regimes;
    fp_chooser chooser;
    fp_file_out file;
    uint64_t copied_bytes; /* of dictionaries that are in the file more than once */
    int trained;           /* the first model is settled: trained, given, or none needed */
    int tries_all;         /* all of a small column waits: every codec is to be tried on it */
    int failed;
    int finished;
};

/* Puts the model in force that makes the smallest file of the drafts, which are a small column, and
 * parses them with it. */
fastpair_status fp_writer_try_all(fastpair_writer *writer, fastpair_error *error);

/* Compresses the chunks of a list and writes them, dictionaries first. */
fastpair_status fp_writer_compress(fastpair_writer *writer, const fp_cut_list *list,
                                   fastpair_error *error);

#endif
