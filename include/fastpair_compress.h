/* fastpair_compress.h - columns in: compress at once or as a stream, train and move dictionaries.
 * The conventions of every function are in fastpair.h, which includes this header. */
#ifndef FASTPAIR_COMPRESS_H
#define FASTPAIR_COMPRESS_H

#include "fastpair_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- options */

/* How FASTPAIR_CODEC_AUTO chooses among onpair with 12, 14 and 16 bits, with tokens of up to 8, 16,
 * 32 or 64 bytes, and fsst12. Each is trained on a part of a sample and judged on the rest; in
 * columns of up to 4 MiB, unless the goal is speed, each is tried on the whole column. Rates are
 * estimates for an H200.
 *
 * In columns of up to 4 MiB the dictionary weighs much. There, with every codec, the goal also says
 * whether tokens that take more than they save are dropped, which makes codes more and narrower. */
typedef enum fastpair_goal {
    /* The least time from host memory to decoded bytes on a GPU, over a link of 50 GB/s. Tokens are
     * dropped if that divides the size by 1.02 or more. */
    FASTPAIR_GOAL_BALANCED = 0,
    /* The smallest size. */
    FASTPAIR_GOAL_RATIO = 1,
    /* The highest GPU decode rate, for columns that are on the device already, among the codecs that
     * compress at all. No tokens are dropped. */
    FASTPAIR_GOAL_SPEED = 2
} fastpair_goal;

/* Trained tokens. Immutable: threads may share a dictionary. */
typedef struct fastpair_dictionary fastpair_dictionary;

/* Called about once per MiB of work, be it training, parsing or writing, from the thread that
 * called the library, with the input bytes compressed and written so far and their total (0 when
 * unknown). The same numbers may come several times. A non-zero result stops the work with
 * FASTPAIR_ERROR_CANCELLED, soon but not at once: other threads finish their chunks. */
typedef int (*fastpair_progress)(void *context, uint64_t done, uint64_t total);

/* Levels of compression, as in zstd. */
#define FASTPAIR_LEVEL_DEFAULT 3u
#define FASTPAIR_LEVEL_GREEDY  6u
#define FASTPAIR_LEVEL_MOST    9u

/* fastpair_expert_options.hot_codes for no hot part. */
#define FASTPAIR_NO_HOT_CODES UINT32_MAX

/* fastpair_expert_options.bound_bytes for no bounds. */
#define FASTPAIR_NO_BOUNDS UINT32_MAX

/* Knobs that few callers need; the defaults suit CPUs and GPUs alike. */
typedef struct fastpair_expert_options {
    /* sizeof(fastpair_expert_options). */
    size_t struct_size;
    /* The most bytes that training looks at. 0: 1 MiB for fsst12; for onpair 4 MiB up to 12 bits,
     * then 6, 12, 16 and 24 MiB for 13 to 16 bits; twice that from level 5 on, a quarter at level 2,
     * and 768 KiB at level 1. */
    uint64_t sample_bytes;
    /* Decides which bytes training looks at; any value. */
    uint64_t seed;
    /* Codes per sidecar entry: a multiple of 32 in 32..1024; 0: 256. At most 16384 / max_token
     * counts, as a batch has at most 16 KiB. */
    uint32_t batch_codes;
    /* File offsets of sections are multiples of this: 64 or 4096; 0: 64. */
    uint32_t section_alignment;
    /* At most this many of the most frequent tokens are numbered first, ahead of the length classes
     * of the rest (docs/format.md, code order), for a GPU to keep in shared memory. 0: as many as a
     * GPU can keep, if it cannot keep the whole dictionary. FASTPAIR_NO_HOT_CODES: none. Else at
     * most 65536. */
    uint32_t hot_codes;
    /* The smallest and the largest row of each chunk are cut to so many bytes and kept in the file
     * (fastpair_column_get_chunk_bounds): 8, 16, 32 or 64. 0: the most that take 0.2 % of the file
     * or less, and none where 8 take more; fewer where chunks became larger after many small ones.
     * FASTPAIR_NO_BOUNDS: none. */
    uint32_t bound_bytes;
} fastpair_expert_options;

typedef struct fastpair_compress_options {
    /* sizeof(fastpair_compress_options). */
    size_t struct_size;
    fastpair_codec codec;
    /* For FASTPAIR_CODEC_AUTO, and for small columns. */
    fastpair_goal goal;
    /* How much work goes into a small file, 1..FASTPAIR_LEVEL_MOST; 0: FASTPAIR_LEVEL_DEFAULT.
     * Level 1 is the fastest. Up to FASTPAIR_LEVEL_GREEDY rows are parsed greedily; from there on
     * into the fewest codes, which takes several times as long. Training takes longer with each
     * level. Decoding is the same. */
    uint32_t level;
    /* 1: the file is to be small at rest, about as small as zstd makes the text or smaller. Chunks
     * and dictionaries become zstd frames where that is smaller (docs/format.md: cold). Reading takes
     * longer, as a chunk is unpacked as a whole, also for one row of it. FASTPAIR_CODEC_AUTO then
     * weighs size and the time to read, whatever the goal. 0: not. */
    int cold;
    /* onpair: 9..16, 0: 16. fsst12: 0 or 12. Else 0. */
    uint32_t code_bits;
    /* Bytes of the longest token. onpair: 8, 16, 32 or 64, 0: 16. fsst12: 0 or 8. Else 0. */
    uint32_t max_token;
    /* Decoded bytes after which a chunk is closed; at most 1 GiB; 0: 8 MiB. A chunk is also closed
     * at 2^20 rows. The least is 16 times section_alignment, 1 KiB by default, and less counts as
     * that: what each chunk takes besides its rows would make the file a multiple of them. */
    uint64_t chunk_bytes;
    /* 0 or 1: the calling thread alone; at most 1024. The compressed bytes do not depend on it. */
    uint32_t threads;
    /* Use this dictionary and never train; codec, code_bits and max_token must then be 0. Borrowed:
     * it must outlive the call or the writer. NULL: train. */
    const fastpair_dictionary *dictionary;
    fastpair_allocator allocator;
    /* NULL: none. */
    fastpair_progress progress;
    void *progress_context;
    /* Read by the call, not kept. NULL: all defaults. */
    const fastpair_expert_options *expert;
    /* Name, type and pairs of the column. Read by the call; fastpair_writer_open copies them. NULL:
     * bytes without a name and without pairs. If the type is text, a row that is not UTF-8 is
     * refused as INVALID_ARGUMENT, with the row's number. */
    const fastpair_metadata *metadata;
} fastpair_compress_options;

/* ---------------------------------------------------------------- whole columns */

/* Compresses `rows` into one `.fpc` image. On success *image and *image_size are set; the image
 * comes from options->allocator and is freed with fastpair_free. Training samples the whole column.
 * What the rows contain never makes the call fail, unless the metadata says that they are text:
 * chunks that do not compress are stored. Statuses: LIMIT if a row has 4 GiB or more, CANCELLED;
 * INVALID_ARGUMENT also if a row of a text is not UTF-8. */
FASTPAIR_API fastpair_status fastpair_compress(const fastpair_rows *rows,
                                               const fastpair_compress_options *options,
                                               uint8_t **image, uint64_t *image_size,
                                               fastpair_error *error);

/* The most bytes an image can have of `rows` rows whose valid ones have `bytes` bytes together,
 * compressed with `options`; fewer rows or bytes never need more. UINT64_MAX if no buffer could
 * hold it, 0 if the options are invalid (fastpair_compress_into says why). */
FASTPAIR_API uint64_t fastpair_compress_bound(uint64_t rows, uint64_t bytes,
                                              const fastpair_compress_options *options);

/* fastpair_compress into the caller's buffer; *image_size gets what was used of it. With a capacity
 * of fastpair_compress_bound it fits; less may do. Statuses: those of fastpair_compress, and
 * BUFFER_TOO_SMALL. After a failure the buffer's contents are undefined. */
FASTPAIR_API fastpair_status fastpair_compress_into(const fastpair_rows *rows,
                                                    const fastpair_compress_options *options,
                                                    uint8_t *buffer, uint64_t capacity,
                                                    uint64_t *image_size, fastpair_error *error);

/* ---------------------------------------------------------------- streams */

/* Where a writer puts its bytes. `write` returns 0 once all `size` bytes were taken, else a
 * non-zero errno value, which ends the writer with FASTPAIR_ERROR_IO. Calls come in file order,
 * from the thread that calls the writer; nothing is ever written twice. */
typedef struct fastpair_sink {
    int (*write)(void *context, const void *data, size_t size);
    void *context;
} fastpair_sink;

/* Streaming compression in bounded memory. One thread at a time may use a writer. */
typedef struct fastpair_writer fastpair_writer;

/* Starts a column. `sink` is copied.
 *
 * Training. The writer first waits for two units of rows, or 32 MiB if that is more, and trains on a
 * sample of them. A unit is sample_bytes, at most 8 MiB, and at least a chunk. Later the writer looks for drift unit by unit. On drift it returns to
 * one of the last 8 dictionaries if that one serves as well, or trains a new one if that pays.
 *
 * Memory. At most about sample_bytes + max(96 MiB, 9 * (threads + 1) * max(chunk_bytes, longest
 * row)), and up to 150 MiB of training tables and dictionaries, however small chunks are; and 32
 * bytes per chunk, with bounds up to 1 % of the file, or three times 8 + 2 * bound_bytes per chunk
 * where that is set. */
FASTPAIR_API fastpair_status fastpair_writer_open(const fastpair_sink *sink,
                                                  const fastpair_compress_options *options,
                                                  fastpair_writer **writer, fastpair_error *error);

/* Appends rows. They are copied, so the view may go afterwards. Rows that are refused
 * (INVALID_ARGUMENT, LIMIT) leave the writer as it was: it takes other rows, and can be finished. A
 * position is the number of a row of this call.
 * After any other failure, and a failure of fastpair_writer_finish, it can only be closed, and
 * further calls return INVALID_ARGUMENT. Statuses: LIMIT if a row has 4 GiB or more, IO,
 * CANCELLED. */
FASTPAIR_API fastpair_status fastpair_writer_append(fastpair_writer *writer,
                                                    const fastpair_rows *rows,
                                                    fastpair_error *error);

/* Records that the rows are the pieces of a text cut at `separator`, so that a tool can give the
 * text back byte for byte; `final_separator` is non-zero if the text ended with one. The first call
 * must come before the first append; a later call, any time before finish, may change only
 * final_separator. */
FASTPAIR_API fastpair_status fastpair_writer_set_framing(fastpair_writer *writer, uint8_t separator,
                                                         int final_separator,
                                                         fastpair_error *error);

/* Writes what is pending and the footer. The image is complete only if this returns FASTPAIR_OK.
 * Statuses: IO, CANCELLED. */
FASTPAIR_API fastpair_status fastpair_writer_finish(fastpair_writer *writer, fastpair_error *error);

/* Closes a writer, finished or not. Writes nothing. */
FASTPAIR_API void fastpair_writer_close(fastpair_writer *writer);

/* ---------------------------------------------------------------- dictionaries */

/* Trains a dictionary on `rows` as fastpair_compress would, and opens it. It holds all 256 single
 * bytes, so it encodes any column. Statuses: LIMIT if a row has 4 GiB or more. */
FASTPAIR_API fastpair_status fastpair_dictionary_train(const fastpair_rows *rows,
                                                       const fastpair_compress_options *options,
                                                       fastpair_dictionary **dictionary,
                                                       fastpair_error *error);

/* Trains the dictionary that a fastpair_writer with these options begins its column with, and opens it:
 * for whoever writes in its place, as a GPU does. `rows` are the first of the column, and has_after is
 * not 0 if others follow them. A writer trains on what it waits for, 32 MiB unless the options say
 * otherwise, or 2^22 rows; drops tokens that its first chunks do not use; and numbers the others by how
 * often they do. *dictionary is NULL after success if these rows are too few: call again, with more.
 * A file that is written with this dictionary given is the one that the writer makes without it, byte for
 * byte, as long as the writer does not find another one better later on; unless the column ends within
 * the first rows, or has so few distinct bytes that the writer leaves the others out.
 * Statuses: those of fastpair_dictionary_train. */
FASTPAIR_API fastpair_status fastpair_dictionary_train_first(
    const fastpair_rows *rows, int has_after, const fastpair_compress_options *options,
    fastpair_dictionary **dictionary, fastpair_error *error);

/* Opens an exported dictionary from untrusted bytes; nothing of `data` is kept. `allocator` NULL:
 * malloc and free. Statuses: CORRUPT; INVALID_ARGUMENT also if the dictionary lacks a single byte
 * and so could not encode every row. */
FASTPAIR_API fastpair_status fastpair_dictionary_open(const uint8_t *data, uint64_t size,
                                                      const fastpair_allocator *allocator,
                                                      fastpair_dictionary **dictionary,
                                                      fastpair_error *error);

/* The bytes that exporting a dictionary takes; 0 for NULL. */
FASTPAIR_API uint64_t fastpair_dictionary_export_size(const fastpair_dictionary *dictionary);

/* Writes a dictionary to `buffer`: the checksummed dictionary block of docs/format.md. *size gets
 * its size. Statuses: BUFFER_TOO_SMALL if capacity is below fastpair_dictionary_export_size; *size
 * is set then, too. */
FASTPAIR_API fastpair_status fastpair_dictionary_export_into(const fastpair_dictionary *dictionary,
                                                             uint8_t *buffer, uint64_t capacity,
                                                             uint64_t *size, fastpair_error *error);

/* Closes a dictionary. No call and no writer may be using it. */
FASTPAIR_API void fastpair_dictionary_close(fastpair_dictionary *dictionary);

#ifdef __cplusplus
}
#endif
#endif
