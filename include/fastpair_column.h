/* fastpair_column.h - a compressed column, opened: what it holds, what it is about, whether it is in
 * order. Its rows come out in fastpair_decode.h. The conventions of every function are in fastpair.h,
 * which includes this header. */
#ifndef FASTPAIR_COLUMN_H
#define FASTPAIR_COLUMN_H

#include "fastpair_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- opening */

/* Which instructions decoding may use. All levels give the same bytes. */
typedef enum fastpair_cpu_level {
    FASTPAIR_CPU_BEST = 0,
    FASTPAIR_CPU_PORTABLE = 1,
    /* What every x86-64 CPU has. */
    FASTPAIR_CPU_BASELINE = 2,
    FASTPAIR_CPU_AVX2 = 3,
    /* AVX-512 with VBMI2, used where many codes are decoded at once; otherwise the same as AVX2. */
    FASTPAIR_CPU_AVX512 = 4
} fastpair_cpu_level;

/* The best level of this CPU; never FASTPAIR_CPU_BEST. */
FASTPAIR_API fastpair_cpu_level fastpair_cpu_detect(void);

typedef struct fastpair_open_options {
    /* sizeof(fastpair_open_options). */
    size_t struct_size;
    fastpair_allocator allocator;
    /* A level that this CPU lacks is UNSUPPORTED. */
    fastpair_cpu_level cpu_level;
    /* Threads that decoding, validating and reading ahead may use: 0 or 1 is the calling thread
     * alone; at most 1024. They start only where there is work for them, and live as long as the
     * call or the reader. Results do not depend on their number. */
    uint32_t threads;
    /* Bytes that a reader may allocate; 0 means 384 MiB. What needs more is LIMIT. Columns do
     * not look at it: fastpair_column_open says what they take. */
    uint64_t memory_limit;
    /* Called once when the last reference to the column is dropped, from the thread that drops it;
     * NULL: nothing is. So that an image in memory can go with its column. Not called if opening
     * fails, nor by readers. */
    void (*on_close)(void *context);
    void *on_close_context;
} fastpair_open_options;

/* An open compressed column. Any number of threads may use one at once, closing excepted. */
typedef struct fastpair_column fastpair_column;

/* Opens an image in memory, which is borrowed and must stay unchanged until the column is closed.
 * Whatever the bytes are, the file header, the footer and the dictionaries are checked, with their
 * checksums. Chunks are not touched, nor is what the footer says of the column besides: opening
 * costs the same whatever they hold. The header of a
 * chunk is checked in the first call that uses the chunk: any call below that decodes, measures or
 * inspects rows may return CORRUPT for a header. Sections are not read: see
 * fastpair_column_validate.
 *
 * Memory is bounded by a small multiple of `size`. Each chunk of which single rows were decoded
 * gets some 350 bytes for its header. No decoding tables are built: each dictionary gets its own, of
 * at most 1.2 MiB and twice its tokens, in the first call that decodes or validates with it on a CPU.
 * Such calls may return OUT_OF_MEMORY; a later one may succeed.
 *
 * Cold chunks are unpacked as a whole, each to about what its rows take in memory. The column keeps
 * the last four of which single rows or parts were asked for. A crafted chunk of some bytes can take
 * up to some 350 MiB while it is unpacked, in each thread that does so.
 *
 * Statuses: CORRUPT, UNSUPPORTED; LIMIT if the tables of a dictionary and of those before it could
 * pass 64 times the image's bytes up to its end plus 2 MiB. */
FASTPAIR_API fastpair_status fastpair_column_open(const uint8_t *data, uint64_t size,
                                                  const fastpair_open_options *options,
                                                  fastpair_column **column, fastpair_error *error);

/* The same for a file, which is mapped. A file that another process shortens while it is open makes
 * reads fault, as for every mapped file. Statuses: also IO. */
FASTPAIR_API fastpair_status fastpair_column_open_file(const char *path,
                                                       const fastpair_open_options *options,
                                                       fastpair_column **column,
                                                       fastpair_error *error);

/* Takes another reference to a column, so that two owners may each close it; returns `column`. Any
 * thread may call it while the column is open. */
FASTPAIR_API fastpair_column *fastpair_column_retain(fastpair_column *column);

/* Drops a reference; the last one closes the column. No other thread that holds no reference of its
 * own and no GPU job may be using it. */
FASTPAIR_API void fastpair_column_close(fastpair_column *column);

/* ---------------------------------------------------------------- what a column holds */

/* What the file header and the footer say of a column. */
typedef struct fastpair_column_totals {
    /* Set it to sizeof(fastpair_column_totals) before the call. */
    size_t struct_size;
    uint64_t rows;
    /* Compared with the chunks by fastpair_column_validate and fastpair_column_get_info. */
    uint64_t nulls;
    uint64_t decoded_bytes;
    /* Of the whole image. */
    uint64_t compressed_bytes;
    /* Compared as `nulls` is. */
    uint64_t codes;
    uint64_t chunks;
    uint64_t dictionaries;
    /* See fastpair_writer_set_framing. */
    int has_framing;
    uint8_t separator;
    int final_separator;
    /* Text or bytes. What the file says: fastpair_column_validate compares it with the rows. */
    fastpair_type type;
} fastpair_column_totals;

/* Fills *totals in, at once: no chunk is touched. Fields that a later version of the struct has and
 * this library does not know become 0. After a failure all are 0, as in every struct that a
 * function here fills in. */
FASTPAIR_API fastpair_status fastpair_column_get_totals(const fastpair_column *column,
                                                        fastpair_column_totals *totals,
                                                        fastpair_error *error);

/* Figures of a column, from its footer, its dictionaries and the headers of all chunks. */
typedef struct fastpair_column_info {
    /* Set it to sizeof(fastpair_column_info) before the call. */
    size_t struct_size;
    uint64_t rows;
    uint64_t nulls;
    uint64_t decoded_bytes;
    /* Of the whole image. */
    uint64_t compressed_bytes;
    uint64_t codes;
    /* What the codes decode to: decoded_bytes without stored chunks. */
    uint64_t coded_bytes;
    uint64_t chunks;
    uint64_t stored_chunks;
    /* Whose sections are zstd frames: fastpair_compress_options.cold. */
    uint64_t cold_chunks;
    uint64_t dictionaries;
    /* Of the first dictionary: its codec (FASTPAIR_CODEC_STORED if there is none), the width of its
     * codes, and the longest token that the codec allows: 8, 16, 32 or 64 bytes. */
    fastpair_codec codec;
    uint32_t code_bits;
    uint32_t max_token;
    /* In all dictionaries, and how many of those occur in the column. */
    uint64_t tokens;
    uint64_t tokens_in_use;
    /* Codes by the length of their token: of 1, 2, ... 8 bytes each for itself, then of 9..12,
     * 13..16, 17..24, 25..32, 33..40, 41..48, 49..56 and 57..64 bytes. */
    uint64_t codes_by_length[16];
    /* Codes per sidecar entry, in the first chunk. */
    uint32_t batch_codes;
    /* Decoded bytes of the largest batch. */
    uint32_t largest_batch;
    /* Sizes of sections. code_bytes counts the bytes of stored chunks, too. */
    uint64_t dictionary_bytes;
    uint64_t code_bytes;
    uint64_t sidecar_bytes;
    uint64_t length_bytes;
    uint64_t validity_bytes;
    /* See fastpair_writer_set_framing. */
    int has_framing;
    uint8_t separator;
    int final_separator;
    /* As in fastpair_column_totals. */
    fastpair_type type;
} fastpair_column_info;

/* Fills *info in, as fastpair_column_get_totals does. Reads the headers of all chunks each time,
 * which takes a while for a column of a million chunks. Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_get_info(const fastpair_column *column,
                                                      fastpair_column_info *info,
                                                      fastpair_error *error);

/* Where a chunk of a column is. Chunks are numbered from 0 and follow each other in rows, bytes and
 * file. */
typedef struct fastpair_chunk_info {
    /* Set it to sizeof(fastpair_chunk_info) before the call. */
    size_t struct_size;
    /* It holds rows first_row .. first_row + rows of the column... */
    uint64_t first_row;
    uint64_t rows;
    /* ...and bytes first_byte .. first_byte + decoded_bytes of the column's decoded bytes. */
    uint64_t first_byte;
    uint64_t decoded_bytes;
    /* Where its block is in the image, and how large it is. */
    uint64_t file_offset;
    uint64_t file_bytes;
} fastpair_chunk_info;

/* Fills *info in for a chunk below fastpair_column_totals.chunks, from the footer: the chunk is not
 * touched. */
FASTPAIR_API fastpair_status fastpair_column_get_chunk(const fastpair_column *column,
                                                       uint64_t chunk, fastpair_chunk_info *info,
                                                       fastpair_error *error);

/* What the header of a chunk says besides. */
typedef struct fastpair_chunk_header {
    /* Set it to sizeof(fastpair_chunk_header) before the call. */
    size_t struct_size;
    /* Rows that are null. */
    uint64_t nulls;
    /* 1 for a cold chunk. */
    int cold;
    /* 0 for a stored chunk. */
    uint64_t codes;
    /* Of its dictionary; FASTPAIR_CODEC_STORED and 0 for a stored chunk. */
    fastpair_codec codec;
    uint32_t code_bits;
    /* Number of its dictionary in the column, from 0; FASTPAIR_NO_DICTIONARY for a stored chunk. */
    uint32_t dictionary;
} fastpair_chunk_header;

#define FASTPAIR_NO_DICTIONARY UINT32_MAX

/* Fills *header in for a chunk below fastpair_column_totals.chunks. Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_get_chunk_header(const fastpair_column *column,
                                                              uint64_t chunk,
                                                              fastpair_chunk_header *header,
                                                              fastpair_error *error);

/* The number of the chunk that holds `row`, in time logarithmic in the chunks. */
FASTPAIR_API fastpair_status fastpair_column_find_chunk(const fastpair_column *column, uint64_t row,
                                                        uint64_t *chunk, fastpair_error *error);

/* ---------------------------------------------------------------- what a column is about */

/* Fills *metadata in: the type, the name (NULL if there is none) and the pairs, sorted by key. All
 * pointers are to the column's memory, which lasts until the column is closed. The first call reads
 * and checks these parts of the footer and takes memory for them, at most some MiB; opening a column
 * does not look at them. The type is what the file says, FASTPAIR_TYPE_BYTES or FASTPAIR_TYPE_TEXT:
 * whoever needs UTF-8 from a file that nobody validated must check the rows. Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_get_metadata(const fastpair_column *column,
                                                          fastpair_metadata *metadata,
                                                          fastpair_error *error);

/* Finds the pair with a key, which ends with a NUL; *pair becomes NULL if there is none, and else
 * points to the column's memory as above. Takes time logarithmic in the pairs, after the first call.
 * Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_find_pair(const fastpair_column *column,
                                                       const char *key, const fastpair_pair **pair,
                                                       fastpair_error *error);

/* The smallest and the largest valid row of a chunk, compared as strings of unsigned bytes: so that
 * a search can leave chunks out. */
typedef struct fastpair_chunk_bounds {
    /* Set it to sizeof(fastpair_chunk_bounds) before the call. */
    size_t struct_size;
    /* 0: the file has no bounds, and all below is 0. */
    int has_bounds;
    /* 0: all rows of the chunk are null, and all below is 0. */
    int has_row;
    /* The first bytes of either row: all of them, or 8, 16, 32 or 64 if the row is longer, and then
     * it is cut. A row that is cut is above the bytes that are here. The pointers are into the image;
     * nothing ends them. */
    const uint8_t *smallest;
    uint64_t smallest_size;
    int smallest_is_cut;
    const uint8_t *largest;
    uint64_t largest_size;
    int largest_is_cut;
} fastpair_chunk_bounds;

/* Fills *bounds in for a chunk below fastpair_column_totals.chunks, without touching the chunk. The
 * first call for a column reads and checks the bounds of all chunks, which may be 0.2 % of the
 * image. They are what the file says: fastpair_column_validate compares them with the rows. Statuses:
 * CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_get_chunk_bounds(const fastpair_column *column,
                                                              uint64_t chunk,
                                                              fastpair_chunk_bounds *bounds,
                                                              fastpair_error *error);

/* What a row is looked for. */
typedef enum fastpair_row_test {
    /* The row equals the bytes. */
    FASTPAIR_ROW_EQUAL = 0,
    /* The row begins with the bytes. */
    FASTPAIR_ROW_PREFIX = 1
} fastpair_row_test;

/* Sets *may to 0 if the bounds of a chunk say that no valid row of it passes the test, else to 1:
 * always 1 without bounds, and after a failure. `bytes` may be NULL if size is 0. Cost and statuses
 * are those of fastpair_column_get_chunk_bounds. A file whose bounds lie can make this call miss
 * rows, nothing worse. (Seven parameters: a struct would only hold the bytes and their size.) */
FASTPAIR_API fastpair_status fastpair_column_may_hold(const fastpair_column *column, uint64_t chunk,
                                                      fastpair_row_test test, const void *bytes,
                                                      uint64_t size, int *may,
                                                      fastpair_error *error);

/* ---------------------------------------------------------------- validating */

/* Reads and checks the whole image: headers, section checksums, every code, sidecar entry, row
 * length and count, name, pairs and bounds, and that the rows of a text are UTF-8. FASTPAIR_OK means
 * that no other call finds fault with it. Blocks and parts of later versions are compared with their
 * checksums, as far as these are known. Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_validate(const fastpair_column *column,
                                                      fastpair_error *error);

/* The same for the chunks that hold rows first .. first + count and their bounds, and no others.
 * Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_column_validate_rows(const fastpair_column *column,
                                                           uint64_t first, uint64_t count,
                                                           fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
