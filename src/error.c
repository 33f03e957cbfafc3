/* error.c - statuses and messages. In: what failed and where. Out: the caller's fastpair_error.
 * Refuses nothing: a message too long for its field is cut. */
#include "error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define FP_TEXT_OF(x) #x
#define FP_TEXT(x)    FP_TEXT_OF(x)

uint32_t fastpair_version_number(void) { return FASTPAIR_VERSION_NUMBER; }

const char *fastpair_version(void) {
    return FP_TEXT(FASTPAIR_VERSION_MAJOR) "." FP_TEXT(FASTPAIR_VERSION_MINOR) "." FP_TEXT(
        FASTPAIR_VERSION_PATCH);
}

const char *fastpair_status_text(fastpair_status status) {
    switch (status) {
    case FASTPAIR_OK: return "ok";
    case FASTPAIR_ERROR_INVALID_ARGUMENT: return "invalid argument";
    case FASTPAIR_ERROR_OUT_OF_MEMORY: return "out of memory";
    case FASTPAIR_ERROR_CORRUPT: return "corrupt data";
    case FASTPAIR_ERROR_UNSUPPORTED: return "unsupported version or feature";
    case FASTPAIR_ERROR_BUFFER_TOO_SMALL: return "buffer too small";
    case FASTPAIR_ERROR_IO: return "input or output failed";
    case FASTPAIR_ERROR_LIMIT: return "beyond a limit";
    case FASTPAIR_ERROR_CANCELLED: return "cancelled";
    }
    return "unknown status";
}

void fp_note_failure(fastpair_error *error, fastpair_status status, uint64_t position,
                     const char *format, ...) {
    if (!error) return;
    error->status = status;
    error->position = position;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
}

void fp_note_memory(fastpair_error *error, uint64_t size) {
    fp_note_failure(error, FASTPAIR_ERROR_OUT_OF_MEMORY, FASTPAIR_NO_POSITION,
                    "could not allocate %" PRIu64 " bytes; use fewer threads or smaller chunks",
                    size);
}
