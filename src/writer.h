/* writer.h - what the library itself needs of a writer beyond the public calls. */
#ifndef FP_WRITER_H
#define FP_WRITER_H

#include "settings.h"

/* Opens a writer. `model`, if not NULL, is already trained and becomes the writer's, also on
 * failure. `column_bytes` is 0 if unknown. */
fastpair_status fp_writer_open(const fastpair_sink *sink, const fp_settings *settings,
                               uint64_t column_bytes, fastpair_dictionary *model,
                               fastpair_writer **writer, fastpair_error *error);

#endif
