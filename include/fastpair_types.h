/* fastpair_types.h - what all of fastpair shares: statuses, errors, memory, rows, codecs. The
 * conventions of every function are in fastpair.h, which includes this header. */
#ifndef FASTPAIR_TYPES_H
#define FASTPAIR_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef FASTPAIR_BUILDING
#define FASTPAIR_API __attribute__((visibility("default")))
#else
#define FASTPAIR_API
#endif

/* ---------------------------------------------------------------- errors */

typedef enum fastpair_status {
    FASTPAIR_OK = 0,
    /* The call itself is wrong: a NULL, a range, an option that is unknown or outside its range. */
    FASTPAIR_ERROR_INVALID_ARGUMENT = 1,
    /* The allocator returned NULL. */
    FASTPAIR_ERROR_OUT_OF_MEMORY = 2,
    /* The compressed bytes contradict themselves or their checksums. */
    FASTPAIR_ERROR_CORRUPT = 3,
    /* Well formed, but of a version or with a feature that this library or machine lacks. */
    FASTPAIR_ERROR_UNSUPPORTED = 4,
    /* A buffer of the caller's is smaller than what it must hold. */
    FASTPAIR_ERROR_BUFFER_TOO_SMALL = 5,
    /* A read, write, open or map failed; the message has the reason. */
    FASTPAIR_ERROR_IO = 6,
    /* Beyond a limit of the format, for example a row of 4 GiB, or of what the caller allows. */
    FASTPAIR_ERROR_LIMIT = 7,
    /* The caller's progress function asked to stop. */
    FASTPAIR_ERROR_CANCELLED = 8
} fastpair_status;

/* The `position` of an error that has none. */
#define FASTPAIR_NO_POSITION UINT64_MAX

/* Details of a failure, in the caller's memory. */
typedef struct fastpair_error {
    fastpair_status status;
    /* A byte offset in the compressed image for CORRUPT and UNSUPPORTED, a row number for a failure
     * about a row, else FASTPAIR_NO_POSITION. The message says which. */
    uint64_t position;
    /* Always ends with a NUL. */
    char message[240];
} fastpair_error;

/* A short static text for a status, for example "corrupt data"; "unknown status" for other
 * values. */
FASTPAIR_API const char *fastpair_status_text(fastpair_status status);

/* ---------------------------------------------------------------- memory */

/* Allocation hooks; all zero means malloc and free. The struct is copied, and `context` must
 * outlive the objects that were opened with it. The hooks may be called from several threads at
 * once where `threads` is above 1 or where several threads share a column, which allocates when a
 * dictionary is first used. */
typedef struct fastpair_allocator {
    /* Returns memory aligned to 16 bytes, or NULL. */
    void *(*allocate)(void *context, size_t size);
    /* Gets pointers that `allocate` returned, never NULL. */
    void (*release)(void *context, void *memory);
    void *context;
} fastpair_allocator;

/* Frees the image that fastpair_compress made. `allocator` is the one in that call's options; NULL
 * means malloc and free. `memory` may be NULL. */
FASTPAIR_API void fastpair_free(const fastpair_allocator *allocator, void *memory);

/* ---------------------------------------------------------------- rows */

/* A view of rows; all memory is and stays that of whoever filled the struct in. Arrow's string,
 * binary, large_string and large_binary arrays go in as they are. */
typedef struct fastpair_rows {
    /* sizeof(fastpair_rows). */
    size_t struct_size;
    uint64_t rows;
    /* Row i is bytes[offsets[i] .. offsets[i + 1]). NULL is allowed when no row has bytes. */
    const uint8_t *bytes;
    /* rows + 1 unsigned numbers that never decrease; the first need not be 0. NULL is allowed when
     * `rows` is 0. No alignment is asked for. */
    const void *offsets;
    /* Width of an offset: 32 or 64; 0 means 64. */
    uint32_t offset_bits;
    /* An Arrow bitmap: least significant bit first, 1 means valid. NULL means that all rows are
     * valid. The bytes of a null row are ignored, and so is how many it has: it comes back null and
     * empty. */
    const uint8_t *validity;
    /* The bit of `validity` that belongs to row 0. */
    uint64_t validity_bit_offset;
} fastpair_rows;

/* ---------------------------------------------------------------- codecs */

typedef enum fastpair_codec {
    /* Trains candidates on a sample and chooses by fastpair_goal. */
    FASTPAIR_CODEC_AUTO = 0,
    /* Merged pairs; codes of 9..16 bits, tokens of up to 8, 16, 32 or 64 bytes. */
    FASTPAIR_CODEC_ONPAIR = 1,
    /* An iterated symbol table; codes of 12 bits, tokens of up to 8 bytes. */
    FASTPAIR_CODEC_FSST12 = 2,
    /* Rows kept as they are. */
    FASTPAIR_CODEC_STORED = 3
} fastpair_codec;

/* ---------------------------------------------------------------- what a column is about */

typedef enum fastpair_type {
    /* Any bytes. */
    FASTPAIR_TYPE_BYTES = 0,
    /* Every valid row is UTF-8. */
    FASTPAIR_TYPE_TEXT = 1,
    /* Only for compressing: recorded as text if every valid row turns out to be UTF-8, else as
     * bytes. */
    FASTPAIR_TYPE_DETECT = 2
} fastpair_type;

/* A key and its value, which mean what their user wants. */
typedef struct fastpair_pair {
    /* 1 to 256 bytes of UTF-8, ended by a NUL. */
    const char *key;
    /* Any bytes; NULL is allowed if value_size is 0. */
    const void *value;
    uint64_t value_size;
} fastpair_pair;

/* What a file says of its column besides the rows. All of it is optional. */
typedef struct fastpair_metadata {
    /* sizeof(fastpair_metadata). */
    size_t struct_size;
    fastpair_type type;
    /* At most 1024 bytes of UTF-8, ended by a NUL. NULL: none; an empty name given to a compressor
     * means none, too. */
    const char *name;
    /* Keys must differ. To a compressor they come in any order; from a file they come sorted as
     * unsigned bytes. A file has at most 2^20 bytes of keys and values, 8 bytes for each pair and 8
     * more. */
    const fastpair_pair *pairs;
    uint64_t pair_count;
} fastpair_metadata;

#ifdef __cplusplus
}
#endif
#endif
