/* fastpair_source.h - a column in a file that is not in memory: on another machine, in an object store,
 * inside an archive. The caller says how a range of its bytes is read, and the library asks for the
 * ranges that it needs. The conventions of every function are in fastpair.h, which includes this
 * header. */
#ifndef FASTPAIR_SOURCE_H
#define FASTPAIR_SOURCE_H

#include "fastpair_column.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is read in ranges. */
typedef struct fastpair_range_source {
    /* sizeof(fastpair_range_source). */
    size_t struct_size;
    /* Puts the bytes offset .. offset + size of the file into `data`, all of which are below
     * `file_size`, and returns `size`. Returns fewer if no more can be had, or a negated errno value if
     * the read failed. Either fails the call of the library that needed the bytes, with IO. Several
     * threads may call it at once, also threads of the library's; see `requests`. It must not call the
     * library for the same column. */
    int64_t (*read_at)(void *context, uint64_t offset, void *data, size_t size);
    void *context;
    /* Bytes of the whole file, which must not change while the column is open. */
    uint64_t file_size;
    /* Calls of read_at that one call of the library may have under way at once, on threads that it
     * starts for them; 0 means 4, the most is 64. With 1 none are started: read_at then is called by
     * the threads that call the library, and by those of fastpair_open_options.threads. */
    uint32_t requests;
    /* Called right after read_at returned a negative number, by the same thread: puts the reason into
     * `text`, which has room for `size` bytes with the NUL at its end, for the message of the error.
     * NULL: the message says what the errno value means. */
    void (*explain)(void *context, char *text, size_t size);
} fastpair_range_source;

/* Opens a column whose bytes come from `source`, which is copied. All functions that take a column take
 * this one, with the same results. It differs in when bytes are read and checked:
 *
 *   - Opening reads the end of the file (up to 36 KiB), and its beginning (up to 26 KiB): two requests,
 *     which are under way at once, or one if the file is small. A longer footer takes one request more.
 *   - A dictionary is read and checked when a chunk that uses it is first used: in the request for the
 *     chunk if the two are neighbours, in none if it came with the beginning of the file, else in one
 *     that is under way at the same time. A damaged dictionary is CORRUPT then, not when the column is
 *     opened. So a row takes one round of requests. With `requests` 1 it takes up to two.
 *   - A chunk is read as a whole, in one request, when its rows are first used. Its sections are compared
 *     with their checksums, so that bytes that came wrong, or from a file that was replaced, are CORRUPT
 *     and not taken for rows.
 *   - Calls that go over several chunks join neighbours to requests of up to 4 MiB, several at once.
 *     Calls that ask for one chunk after the other are found out, and get more of them ahead each time.
 *     fastpair_column_get_info and fastpair_column_get_chunk_header read headers alone, of 320 bytes.
 *     Searching does not read chunks whose bounds rule out a match, unless the column has nulls, which
 *     takes the header.
 *
 * Memory: the footer, the dictionaries in use, chunks that are in use, and of the ranges that were used
 * last up to 32 MiB, or two rounds of requests if that is more. A GPU job has
 * a copy of all chunks.
 *
 * Any call that needs bytes may return IO if they cannot be read; the message names the range, and
 * error->position is its first byte. Nothing that failed is kept: a later call asks again. A file that
 * was replaced by one of another size or content is CORRUPT or IO where that is noticed, never worse.
 *
 * Statuses: those of fastpair_column_open, and IO. */
FASTPAIR_API fastpair_status fastpair_column_open_source(const fastpair_range_source *source,
                                                         const fastpair_open_options *options,
                                                         fastpair_column **column,
                                                         fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
