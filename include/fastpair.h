/* fastpair.h - compress columns of strings so that CPUs and GPUs decode them at memory speed.
 *
 * The whole CPU interface. GPU decoding is in fastpair_gpu.h and needs no CUDA header either.
 *
 * What a column is.  Rows of bytes: any bytes, any lengths below 4 GiB, empty rows and nulls included. A
 * compressed column is one `.fpc` image (docs/format.md): chunks of rows, each decodable on its own, and
 * the dictionaries they use.
 *
 * Conventions that hold for every function here unless its comment says otherwise:
 *   - Success is FASTPAIR_OK (0). On any other status the outputs hold nothing the caller must free, and
 *     `error`, where given, says what went wrong, where, and what to do about it.
 *   - `error` may be NULL. It is written only on failure.
 *   - Options structs start with their size: set `struct_size = sizeof(options)`, leave the rest zero for
 *     the defaults. A NULL options pointer means all defaults.
 *   - Nothing is global. Nothing is printed. Nothing exits. Different objects may be used by different
 *     threads at once; which objects threads may share is said at each type.
 *   - Sizes, counts and positions are 64-bit.
 *
 * What is not promised: compressed bytes are the same for the same input, options, seed and library
 * version, whatever the number of threads; another library version may compress differently. Every version
 * decodes what earlier ones wrote.
 */
#ifndef FASTPAIR_H
#define FASTPAIR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FASTPAIR_VERSION_MAJOR 0
#define FASTPAIR_VERSION_MINOR 1
#define FASTPAIR_VERSION_PATCH 0

#if defined(FASTPAIR_BUILDING_SHARED) || defined(FASTPAIR_BUILDING)
#define FASTPAIR_API __attribute__((visibility("default")))
#else
#define FASTPAIR_API
#endif

/* The library's version as text, for example "0.1.0". The string is static. */
FASTPAIR_API const char *fastpair_version(void);

/* ---------------------------------------------------------------- errors */

typedef enum fastpair_status {
    FASTPAIR_OK = 0,
    FASTPAIR_ERROR_INVALID_ARGUMENT =
        1, /* the call itself is wrong: a NULL, a range, an unknown option */
    FASTPAIR_ERROR_OUT_OF_MEMORY = 2, /* the allocator returned NULL */
    FASTPAIR_ERROR_CORRUPT = 3, /* the compressed bytes contradict themselves or their checksums */
    FASTPAIR_ERROR_UNSUPPORTED =
        4, /* well formed, but of a version or feature this library lacks */
    FASTPAIR_ERROR_BUFFER_TOO_SMALL =
        5,                       /* a caller's buffer is smaller than the size the query gives */
    FASTPAIR_ERROR_IO = 6,       /* a read, write, open or map failed; the message has the reason */
    FASTPAIR_ERROR_LIMIT = 7,    /* beyond a limit of the format, for example a 4 GiB row */
    FASTPAIR_ERROR_CANCELLED = 8 /* the caller's progress function asked to stop */
} fastpair_status;

/* `position` when an error has none. */
#define FASTPAIR_NO_POSITION UINT64_MAX

/* Details of a failure, in the caller's memory. `position` is a byte offset in the compressed image for
 * CORRUPT and UNSUPPORTED, a row number for a failure about a row, else FASTPAIR_NO_POSITION; the message
 * says which. `message` always ends with a NUL. */
typedef struct fastpair_error {
    fastpair_status status;
    uint64_t position;
    char message[240];
} fastpair_error;

/* A short static text for a status, for example "corrupt data". Unknown values give "unknown status". */
FASTPAIR_API const char *fastpair_status_text(fastpair_status status);

/* ---------------------------------------------------------------- memory */

/* Allocation hooks. All zero means malloc and free. `allocate` returns memory aligned to 16 bytes or NULL;
 * `release` gets pointers that `allocate` returned, never NULL. Both may be called from several threads at
 * once when `threads` > 1. The struct is copied; `context` must outlive the objects made with it. */
typedef struct fastpair_allocator {
    void *(*allocate)(void *context, size_t size);
    void (*release)(void *context, void *memory);
    void *context;
} fastpair_allocator;

/* Frees memory the library handed out (the result of fastpair_compress and of fastpair_dictionary_export)
 * with the allocator that made it; `allocator` NULL means malloc and free. `memory` may be NULL. */
FASTPAIR_API void fastpair_free(const fastpair_allocator *allocator, void *memory);

/* ---------------------------------------------------------------- rows */

/* A view of rows in the caller's memory; nothing is owned. Row i is bytes[offsets[i] .. offsets[i+1]).
 * `offsets` has rows + 1 entries that never decrease; offsets[0] need not be 0. It may be NULL when rows
 * is 0, and `bytes` may be NULL when all rows are empty. `validity` is an Arrow bitmap, least significant
 * bit first, 1 = valid, its first bit at `validity_bit_offset`; NULL means all rows are valid. The bytes
 * of a null row are ignored: it comes back null and empty. */
typedef struct fastpair_rows {
    uint64_t rows;
    const uint8_t *bytes;
    const uint64_t *offsets;
    const uint8_t *validity;
    uint64_t validity_bit_offset;
} fastpair_rows;

/* ---------------------------------------------------------------- compression */

typedef enum fastpair_codec {
    FASTPAIR_CODEC_AUTO = 0,   /* train candidates on a sample, choose by `goal` */
    FASTPAIR_CODEC_ONPAIR = 1, /* merged pairs; code_bits 9..16, tokens up to 8 or 16 bytes */
    FASTPAIR_CODEC_FSST12 = 2, /* iterated symbol table, 12-bit codes, tokens up to 8 bytes */
    FASTPAIR_CODEC_STORED = 3  /* rows kept as they are */
} fastpair_codec;

/* How `auto` chooses among onpair16, onpair12, onpair with 14 bits and 8-byte tokens, and fsst12, each trained on a part
 * of a sample and judged on the rest:
 * BALANCED  the highest estimated GPU decode rate among those at most 1.25 times the smallest in estimated size;
 * RATIO     the smallest estimated size;
 * SPEED     the highest estimated GPU decode rate among those that compress at all. */
typedef enum fastpair_goal {
    FASTPAIR_GOAL_BALANCED = 0,
    FASTPAIR_GOAL_RATIO = 1,
    FASTPAIR_GOAL_SPEED = 2
} fastpair_goal;

typedef struct fastpair_dictionary
    fastpair_dictionary; /* trained tokens; immutable, threads may share */

/* Called from the thread that called the library, now and then, with input bytes done so far and the total
 * (0 when unknown). Returning non-zero stops the work with FASTPAIR_ERROR_CANCELLED. */
typedef int (*fastpair_progress)(void *context, uint64_t done, uint64_t total);

#define FASTPAIR_NO_HOT_CODES UINT32_MAX

typedef struct fastpair_compress_options {
    size_t struct_size;   /* sizeof(fastpair_compress_options) */
    fastpair_codec codec; /* 0: auto */
    fastpair_goal goal;   /* for auto; 0: balanced */
    uint32_t code_bits;   /* onpair: 9..16, 0: 16. Must be 0 or 12 for fsst12, 0 for auto, stored */
    uint32_t max_token;   /* onpair: 8 or 16 bytes, 0: 16. Must be 0 or 8 for fsst12, 0 otherwise */
    uint64_t seed;        /* of the training order; any value, 0 included */
    uint64_t sample_bytes; /* most bytes training looks at; 0: by code width (4 MiB at 12 bits) */
    uint64_t chunk_bytes; /* decoded bytes after which a chunk is closed; 0: 8 MiB; at most 1 GiB */
    uint32_t batch_codes; /* codes per sidecar entry, a multiple of 32 in 32..1024; 0: 256 */
    uint32_t section_alignment; /* file offsets of sections: 64 or 4096; 0: 64 */
    uint32_t hot_codes; /* at most this many most frequent tokens first, ahead of the length classes
                                   of the rest (docs/format.md, code order), for GPUs to keep in shared memory;
                                   0: what they can keep, if the whole dictionary is too large for that;
                                   FASTPAIR_NO_HOT_CODES: none */
    uint32_t threads;   /* 0 or 1: the calling thread alone; at most 1024 */
    const fastpair_dictionary
        *dictionary;              /* use this one and never train; codec, code_bits and max_token
                                   must then be 0. Borrowed: must outlive the call or the writer. NULL: train */
    fastpair_allocator allocator; /* all zero: malloc and free */
    fastpair_progress progress;   /* NULL: none */
    void *progress_context;
} fastpair_compress_options;

/* Compresses `rows` into one `.fpc` image. On success *image (allocated by options->allocator; free it with
 * fastpair_free) and *image_size are set. Training samples the whole column. Never fails for what the rows
 * contain: incompressible chunks are stored. LIMIT if a row has 4 GiB or more. */
FASTPAIR_API fastpair_status fastpair_compress(const fastpair_rows *rows,
                                               const fastpair_compress_options *options,
                                               uint8_t **image, uint64_t *image_size,
                                               fastpair_error *error);

/* Where a writer puts its bytes. `write` returns 0 when all `size` bytes were taken, else a non-zero errno
 * value, which ends the writer with FASTPAIR_ERROR_IO. Calls come in file order from the thread that calls
 * the writer; the sink never needs to seek. */
typedef struct fastpair_sink {
    int (*write)(void *context, const void *data, size_t size);
    void *context;
} fastpair_sink;

/* Streaming compression in bounded memory. One thread at a time may use a writer. */
typedef struct fastpair_writer fastpair_writer;

/* Starts a column. Trains on a sample of sample_bytes from what comes first (two units, see below, or 16 MiB, or 24 or 32, if
 * that is more; from all, if less comes), and again when the data drifts, none of the last 8 dictionaries serves it as
 * well, and a new one pays. Drift is looked for in units of sample_bytes, at most 8 MiB and at least a chunk, so that
 * small chunks compress like large ones. `sink` is copied. Memory in use is at most about sample_bytes + max(80 MiB,
 * 9 * (threads + 1) * max(chunk_bytes, longest row)) + training tables and dictionaries (under 150 MiB); chunks below
 * 64 KiB take up to 256 KiB each besides, those of the first 16 to 32 MiB at once. */
FASTPAIR_API fastpair_status fastpair_writer_open(const fastpair_sink *sink,
                                                  const fastpair_compress_options *options,
                                                  fastpair_writer **writer, fastpair_error *error);

/* Appends rows; they are copied, so the view may go afterwards. After a failure the writer only closes. */
FASTPAIR_API fastpair_status fastpair_writer_append(fastpair_writer *writer,
                                                    const fastpair_rows *rows,
                                                    fastpair_error *error);

/* Records that the rows are the pieces of a text cut at `separator`, so that a tool can give it back byte
 * for byte; `final_separator` is non-zero if the text ended with one. The first call must come before the
 * first append; a later call, any time before finish, may change only final_separator. */
FASTPAIR_API fastpair_status fastpair_writer_set_framing(fastpair_writer *writer, uint8_t separator,
                                                         int final_separator,
                                                         fastpair_error *error);

/* Writes what is pending and the footer. The image is complete only if this returns FASTPAIR_OK. */
FASTPAIR_API fastpair_status fastpair_writer_finish(fastpair_writer *writer, fastpair_error *error);

/* Frees the writer, finished or not. NULL is allowed. Writes nothing. */
FASTPAIR_API void fastpair_writer_close(fastpair_writer *writer);

/* ---------------------------------------------------------------- dictionaries */

/* Trains a dictionary on `rows` as fastpair_compress would. The result holds all 256 single bytes, so it
 * encodes any column. Free it with fastpair_dictionary_free. */
FASTPAIR_API fastpair_status fastpair_dictionary_train(const fastpair_rows *rows,
                                                       const fastpair_compress_options *options,
                                                       fastpair_dictionary **dictionary,
                                                       fastpair_error *error);

/* Serialises a dictionary: the dictionary block of docs/format.md, checksummed. *data is allocated by the
 * dictionary's allocator; free it with fastpair_free and the same allocator. */
FASTPAIR_API fastpair_status fastpair_dictionary_export(const fastpair_dictionary *dictionary,
                                                        uint8_t **data, uint64_t *size,
                                                        fastpair_error *error);

/* Reads an exported dictionary from untrusted bytes; nothing of `data` is kept. `allocator` NULL: malloc.
 * INVALID_ARGUMENT if it lacks some single byte and so could not encode every row. */
FASTPAIR_API fastpair_status fastpair_dictionary_import(const uint8_t *data, uint64_t size,
                                                        const fastpair_allocator *allocator,
                                                        fastpair_dictionary **dictionary,
                                                        fastpair_error *error);

/* Frees a dictionary. NULL is allowed. */
FASTPAIR_API void fastpair_dictionary_free(fastpair_dictionary *dictionary);

/* ---------------------------------------------------------------- open columns */

/* An open compressed column. Immutable after opening: any number of threads may decode from one at once. */
typedef struct fastpair_column fastpair_column;

typedef struct fastpair_open_options {
    size_t struct_size; /* sizeof(fastpair_open_options) */
    fastpair_allocator allocator;
    uint32_t
        cpu_level; /* which decoder: 0 best for this CPU, 1 portable C, 2 x86-64 baseline, 3 AVX2,
                           4 AVX-512 with VBMI2, which is for many codes and else the same as 3;
                           a level the CPU lacks is UNSUPPORTED. All give the same bytes. */
} fastpair_open_options;

/* Opens an image in memory, which must stay unchanged until the column is closed. Checks all headers, the
 * footer and the dictionaries, with checksums, whatever the bytes are. Decoding compares the sizes that
 * sections of chunks give with each other and stays inside its buffers, but verifies no section checksums, for
 * speed: fastpair_column_validate does, and fastpair_reader_next. Memory taken is bounded by a small multiple of
 * `size`, plus 1.2 MiB a dictionary; LIMIT if that would be more than 64 * size + 2 MiB of decoding tables. */
FASTPAIR_API fastpair_status fastpair_column_open(const uint8_t *data, uint64_t size,
                                                  const fastpair_open_options *options,
                                                  fastpair_column **column, fastpair_error *error);

/* The same for a file, which is mapped. A file that another process shortens while it is open makes reads
 * fault, as for every mapped file. */
FASTPAIR_API fastpair_status fastpair_column_open_file(const char *path,
                                                       const fastpair_open_options *options,
                                                       fastpair_column **column,
                                                       fastpair_error *error);

/* Closes a column. No other thread may be using it. NULL is allowed. */
FASTPAIR_API void fastpair_column_close(fastpair_column *column);

/* What a column holds; all from its headers, nothing is decoded. */
typedef struct fastpair_column_info {
    size_t struct_size; /* set it to sizeof(fastpair_column_info) before the call */
    uint64_t rows;
    uint64_t nulls;
    uint64_t decoded_bytes;
    uint64_t compressed_bytes; /* the whole image */
    uint64_t codes;
    uint64_t chunks;
    uint64_t stored_chunks;
    uint64_t dictionaries;
    fastpair_codec codec;         /* of the first dictionary; STORED if there is none */
    uint32_t code_bits;           /* width of packed codes, of the first dictionary */
    uint32_t max_token;           /* longest token the codec may have: 8 or 16 */
    uint64_t tokens;              /* in all dictionaries */
    uint64_t tokens_in_use;       /* tokens that occur in the column */
    uint64_t codes_by_length[16]; /* codes whose token has i + 1 bytes */
    uint32_t batch_codes;         /* of the first chunk */
    uint32_t largest_batch;       /* decoded bytes of the largest sidecar batch */
    uint64_t dictionary_bytes;    /* sections, headers excluded */
    uint64_t code_bytes;          /* packed codes, and the bytes of stored chunks */
    uint64_t sidecar_bytes;
    uint64_t length_bytes;
    uint64_t validity_bytes;
    int has_framing; /* see fastpair_writer_set_framing */
    uint8_t separator;
    int final_separator;
} fastpair_column_info;

FASTPAIR_API fastpair_status fastpair_column_get_info(const fastpair_column *column,
                                                      fastpair_column_info *info,
                                                      fastpair_error *error);

/* Reads and checks everything: section checksums, every code, sidecar entry, row length and count. OK means
 * that every decode call succeeds. `threads` as in the options. */
FASTPAIR_API fastpair_status fastpair_column_validate(const fastpair_column *column,
                                                      uint32_t threads, fastpair_error *error);

/* ---------------------------------------------------------------- decoding */

/* Where decoded rows go; all memory is the caller's, of exactly the size needed: no slack is asked for and
 * nothing outside is touched. `bytes` holds at least the sum of the row lengths. `offsets` gets count + 1
 * entries starting at 0, 32- or 64-bit as offset_bits says (0: no offsets wanted; 32 with more than
 * INT32_MAX bytes is LIMIT, as Arrow's are signed). `validity` gets (count + 7) / 8 bytes, 1 = valid, spare
 * bits 0, or is NULL when not wanted. `nulls` is set by the call. */
typedef struct fastpair_destination {
    uint8_t *bytes;
    uint64_t bytes_capacity;
    void *offsets;
    uint32_t offset_bits;
    uint8_t *validity;
    uint64_t nulls;
} fastpair_destination;

/* The decoded size of rows first .. first + count. Costs at most two blocks of 256 row lengths. */
FASTPAIR_API fastpair_status fastpair_column_rows_size(const fastpair_column *column,
                                                       uint64_t first, uint64_t count,
                                                       uint64_t *bytes, fastpair_error *error);

/* Decodes rows first .. first + count; first = 0 and count = rows decodes all. On failure the destination
 * holds undefined bytes, but never more than its capacities. CORRUPT names the offset in the image. */
FASTPAIR_API fastpair_status fastpair_column_decode(const fastpair_column *column, uint64_t first,
                                                    uint64_t count,
                                                    fastpair_destination *destination,
                                                    uint32_t threads, fastpair_error *error);

/* Decodes one row into `bytes`. *size gets its length, *is_null (may be NULL) 1 for a null row. When the
 * capacity is too small nothing is written but *size, and the status is BUFFER_TOO_SMALL. `bytes` may be
 * NULL when `capacity` is 0. */
FASTPAIR_API fastpair_status fastpair_column_decode_row(const fastpair_column *column, uint64_t row,
                                                        uint8_t *bytes, uint64_t capacity,
                                                        uint64_t *size, int *is_null,
                                                        fastpair_error *error);

/* The decoded size of `count` listed rows, in any order, repeats allowed. */
FASTPAIR_API fastpair_status fastpair_column_listed_size(const fastpair_column *column,
                                                         const uint64_t *rows, uint64_t count,
                                                         uint64_t *bytes, fastpair_error *error);

/* Decodes listed rows, in the order listed. Ascending lists are fastest. */
FASTPAIR_API fastpair_status fastpair_column_decode_listed(const fastpair_column *column,
                                                           const uint64_t *rows, uint64_t count,
                                                           fastpair_destination *destination,
                                                           uint32_t threads, fastpair_error *error);

/* ---------------------------------------------------------------- streaming decompression */

/* Where a reader gets its bytes. `read` puts up to `size` bytes into `data`, sets *got (0 means the end) and
 * returns 0, or a non-zero errno value. */
typedef struct fastpair_source {
    int (*read)(void *context, void *data, size_t size, size_t *got);
    void *context;
} fastpair_source;

/* Reads a column front to back in bounded memory, from a pipe for example. One thread at a time. */
typedef struct fastpair_reader fastpair_reader;

/* Starts reading. `source` is copied. Memory: the dictionaries seen so far, and `threads` chunks, each
 * grown only as its bytes really arrive. */
FASTPAIR_API fastpair_status fastpair_reader_open(const fastpair_source *source,
                                                  const fastpair_open_options *options,
                                                  uint32_t threads, fastpair_reader **reader,
                                                  fastpair_error *error);

/* Gives the next rows, one chunk, every checksum and count of which has been checked as
 * fastpair_column_validate does it: *rows is a view of the reader's memory that stays until the next call. At
 * the end of the column, after its footer has been checked against what was read, rows->rows is 0 and *at_end
 * is 1. A chunk of 0 rows is never given. */
FASTPAIR_API fastpair_status fastpair_reader_next(fastpair_reader *reader, fastpair_rows *rows,
                                                  int *at_end, fastpair_error *error);

/* The framing recorded by fastpair_writer_set_framing. *separator and *final_separator are set only if
 * *has_framing is. The separator is known from the start; final_separator only once next has said at_end
 * (before, it is 1). */
FASTPAIR_API fastpair_status fastpair_reader_get_framing(const fastpair_reader *reader,
                                                         int *has_framing, uint8_t *separator,
                                                         int *final_separator,
                                                         fastpair_error *error);

/* Frees the reader. NULL is allowed. */
FASTPAIR_API void fastpair_reader_close(fastpair_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
