/*
 * Seeded generators for string columns of the TPC-H benchmark.
 *
 * The columns follow clause 4.2.2 of the public TPC-H specification: comments are random pieces of
 * the pseudo text described there, addresses are random v-strings, clerk names are numbered, ship
 * instructions come from a list of four. Rows are streamed one at a time, so a column may be of any
 * size while the generator itself needs about 130 KB.
 *
 * The rows of one (seed, column) pair are the same on every platform and in every run. They are not
 * the rows of the official generator, only drawn from the same distributions.
 */
#ifndef FP_BENCH_TPCH_H
#define FP_BENCH_TPCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The columns that can be generated. The values are part of the seeding, so never renumber them. */
typedef enum fp_tpch_column {
    FP_TPCH_L_COMMENT = 0,     /* lineitem: pseudo text, 10 to 43 bytes */
    FP_TPCH_PS_COMMENT = 1,    /* partsupp: pseudo text, 49 to 198 bytes */
    FP_TPCH_O_CLERK = 2,       /* orders: "Clerk#" and nine digits */
    FP_TPCH_C_ADDRESS = 3,     /* customer: random v-string, 10 to 40 bytes */
    FP_TPCH_L_SHIPINSTRUCT = 4 /* lineitem: one of four fixed strings */
} fp_tpch_column;

/* Number of columns in fp_tpch_column; the values 0 .. FP_TPCH_COLUMN_COUNT - 1 are valid. */
#define FP_TPCH_COLUMN_COUNT 5

/* No row of any column is longer than this many bytes. */
#define FP_TPCH_MAX_ROW 256

/*
 * Number of different clerks. The specification has 1000 for each unit of the scale factor; this is
 * scale factor 45.
 */
#define FP_TPCH_CLERKS 45000

/* Pseudo text being cut into comment rows; private to the implementation. */
struct fp_tpch_text;

/* A generator. Treat the members as private and use the functions below. */
typedef struct fp_tpch_gen {
    uint64_t rng;              /* state of the random number generator */
    struct fp_tpch_text *text; /* only for the comment columns, otherwise NULL */
    fp_tpch_column column;
} fp_tpch_gen;

/*
 * Prepares *gen to make the rows of `column` for `seed`; every seed is as good as any other, and
 * one seed gives unrelated streams for different columns. Takes well below a millisecond.
 *
 * Returns 0, or -1 if memory ran out or the column is not valid; *gen is then safe to destroy but
 * must not be asked for rows. Do not copy a generator, and use it from one
 * thread at a time.
 */
int fp_tpch_open(fp_tpch_gen *gen, uint64_t seed, fp_tpch_column column);

/*
 * Writes the next row to `row`, which has room for FP_TPCH_MAX_ROW bytes, and returns its length.
 * The row has no terminator of any kind: no NUL, no newline. Bytes of `row` after the length
 * returned may be overwritten. Never fails and never runs out of rows.
 */
size_t fp_tpch_next(fp_tpch_gen *gen, char *row);

/* Frees what *gen holds. A destroyed or zeroed generator may be destroyed again. */
void fp_tpch_close(fp_tpch_gen *gen);

/* The lower-case name of a column, such as "l_comment"; NULL for a value that is no column. */
const char *fp_tpch_column_name(fp_tpch_column column);

/* Finds the column called `name` (exact, lower case). Returns 0 and sets *column, or returns -1. */
int fp_tpch_column_parse(const char *name, fp_tpch_column *column);

#ifdef __cplusplus
}
#endif

#endif
