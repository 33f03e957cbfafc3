/* fastpair_search.h - which rows of a column pass a test, found on its codes: rows are not decoded.
 * The conventions of every function are in fastpair.h, which includes this header.
 *
 * A predicate is a tree in the caller's memory. fastpair_search_open compiles it for the dictionaries
 * of one column: each pattern becomes an automaton, and the automaton is run once over every token
 * from every state. From then on one look-up consumes a token. A predicate that tables cannot hold is
 * answered by decoding rows and running the automaton over their bytes. The answer is the same
 * whatever the way: it is exact, over bytes, and no other notion of equality or case is known. */
#ifndef FASTPAIR_SEARCH_H
#define FASTPAIR_SEARCH_H

#include "fastpair_decode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- predicates */

typedef enum fastpair_predicate_kind {
    /* The row is one of the patterns: SQL's = and IN. */
    FASTPAIR_EQUALS = 1,
    /* The row begins with, ends with, or contains one of the patterns. Every row contains the empty
     * pattern. */
    FASTPAIR_STARTS_WITH = 2,
    FASTPAIR_ENDS_WITH = 3,
    FASTPAIR_CONTAINS = 4,
    /* SQL's LIKE with one of the patterns: % stands for any bytes, _ for one character. A character
     * is one code point of UTF-8; a byte that is part of none counts as a character. */
    FASTPAIR_LIKE = 5,
    /* The row is null: true or false, never null. Takes no patterns. */
    FASTPAIR_IS_NULL = 6,
    /* All or any of the children, as SQL combines true, false and null. */
    FASTPAIR_ALL_OF = 7,
    FASTPAIR_ANY_OF = 8
} fastpair_predicate_kind;

/* Bytes of a pattern; they may hold NULs. */
typedef struct fastpair_pattern {
    /* NULL is allowed if `size` is 0. */
    const void *bytes;
    uint64_t size;
} fastpair_pattern;

/* A test of a row. For a null row it is null, neither true nor false, but for IS_NULL and what it is
 * combined into. */
typedef struct fastpair_predicate {
    /* sizeof(fastpair_predicate). */
    size_t struct_size;
    fastpair_predicate_kind kind;
    /* 1: true becomes false and false true; null stays null. */
    int negate;
    /* 1: letters A..Z and a..z are the same. Other characters are compared as they are. */
    int ignore_case;
    /* LIKE: the byte after which %, _ and itself stand for themselves; before anything else, and at
     * the end of a pattern, it is INVALID_ARGUMENT. -1 or 0..255; 0 means none, as -1 does. Other
     * kinds take none. */
    int escape;
    /* At least one for the kinds that take patterns. */
    const fastpair_pattern *patterns;
    uint64_t pattern_count;
    /* ALL_OF and ANY_OF: at least one. The tree may be 32 deep. */
    const struct fastpair_predicate *children;
    uint64_t child_count;
} fastpair_predicate;

/* ---------------------------------------------------------------- searching */

/* A predicate compiled for a column. Immutable: threads may share it. It keeps the column open. */
typedef struct fastpair_search fastpair_search;

/* How a search goes about a leaf of its predicate. For measurements and tests. */
typedef enum fastpair_search_method {
    FASTPAIR_SEARCH_BEST = 0,
    /* Decode rows, run the automaton over their bytes. */
    FASTPAIR_SEARCH_DECODE = 1,
    /* Run the automaton over all codes. */
    FASTPAIR_SEARCH_CODES = 2,
    /* Pass over codes that cannot begin a match, run the automaton over the rest. */
    FASTPAIR_SEARCH_FILTER = 3
} fastpair_search_method;

typedef struct fastpair_search_options {
    /* sizeof(fastpair_search_options). */
    size_t struct_size;
    fastpair_allocator allocator;
    /* BEST: chosen chunk by chunk. Another method is used where the predicate allows it. */
    fastpair_search_method method;
    /* Bytes that tables may take; 0: 64 MiB. What does not fit is decoded. */
    uint64_t memory_limit;
    /* 1: leave no chunk out by its bounds, which a file could lie about. */
    int ignore_bounds;
} fastpair_search_options;

/* Compiles a predicate, which may go when the call returns. Statuses: CORRUPT; LIMIT: patterns of
 * more than 16 MiB together, a tree deeper than 32 or of more than 4096 nodes, a LIKE whose automaton
 * has more than 65,536 states. */
FASTPAIR_API fastpair_status fastpair_search_open(fastpair_column *column,
                                                  const fastpair_predicate *predicate,
                                                  const fastpair_search_options *options,
                                                  fastpair_search **search, fastpair_error *error);

/* Closes a search. NULL is allowed. */
FASTPAIR_API void fastpair_search_close(fastpair_search *search);

/* What a search over some rows found. */
typedef struct fastpair_matches {
    /* sizeof(fastpair_matches). */
    size_t struct_size;
    /* An Arrow bitmap of (count + 7) / 8 bytes in the caller's memory: 1 where the predicate is true,
     * spare bits 0. NULL: not wanted. */
    uint8_t *bitmap;
    /* The same, 1 where the predicate is true or false, 0 where it is null. NULL: not wanted. */
    uint8_t *validity;
    /* Set by the call: rows for which the predicate is true, and for which it is null. */
    uint64_t matches;
    uint64_t nulls;
} fastpair_matches;

/* Searches rows first .. first + count. As many threads work as the column has. Chunks that bounds or
 * dictionaries rule out are not touched, and of others no more is looked at than the answer needs. So
 * damage may go unnoticed; fastpair_column_validate finds it. After a failure the bitmaps' contents
 * are undefined. Memory: some 0.3 MiB per thread, tables as options->memory_limit allows, and what
 * cold chunks take. Statuses: CORRUPT. */
FASTPAIR_API fastpair_status fastpair_search_run(const fastpair_search *search, uint64_t first,
                                                 uint64_t count, fastpair_matches *matches,
                                                 fastpair_error *error);

/* Writes the numbers of the first rows from `first` on for which the predicate is true to `rows`, in
 * order, at most `capacity` of them, and sets *found to how many. *next gets where to go on: the row
 * after the last one that was looked at, the number of rows at the end. Statuses: CORRUPT. (Seven
 * parameters: a cursor's struct would have to be kept by every caller.) */
FASTPAIR_API fastpair_status fastpair_search_list(const fastpair_search *search, uint64_t first,
                                                  uint64_t *rows, uint64_t capacity,
                                                  uint64_t *found, uint64_t *next,
                                                  fastpair_error *error);

/* ---------------------------------------------------------------- selected rows */

/* The number and the decoded size of the rows first .. first + count whose bit in `bitmap` is 1; bit
 * 0 belongs to row `first`. Either output may be NULL. Statuses: CORRUPT. (Seven parameters: two
 * outputs of one pass.) */
FASTPAIR_API fastpair_status fastpair_column_selected_size(const fastpair_column *column,
                                                           uint64_t first, uint64_t count,
                                                           const uint8_t *bitmap, uint64_t *rows,
                                                           uint64_t *bytes, fastpair_error *error);

/* Decodes those rows, compactly and in order, as fastpair_column_decode does: the destination has
 * offsets and validity for the selected rows alone. */
FASTPAIR_API fastpair_status fastpair_column_decode_selected(const fastpair_column *column,
                                                             uint64_t first, uint64_t count,
                                                             const uint8_t *bitmap,
                                                             fastpair_destination *destination,
                                                             fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
