/* writer.h - what the library itself needs of a writer beyond the public calls. */
#ifndef FP_WRITER_H
#define FP_WRITER_H

#include "settings.h"

/* Opens a writer. `model`, if not NULL, is already trained and becomes the writer's, also on
 * failure. `column_bytes` is 0 if unknown. */
fastpair_status fp_writer_open(const fastpair_sink *sink, const fp_settings *settings,
                               uint64_t column_bytes, fastpair_dictionary *model,
                               fastpair_writer **writer, fastpair_error *error);

/* The settings that a writer was opened with. */
const fp_settings *fp_writer_settings(const fastpair_writer *writer);

/* A column of at most so many bytes, all of which waits in the cut before the first chunk is
 * listed, is small: it is compressed as a whole, so that things can be tried. */
#define FP_SMALL_COLUMN (4u << 20)

/* Whether every codec is tried on a small column. */
static inline int fp_tries_all(const fp_settings *settings) {
    return settings->choice.codec == FASTPAIR_CODEC_AUTO && settings->goal != FASTPAIR_GOAL_SPEED &&
           !settings->dictionary;
}

#endif
