/* engine.h - what the files of the DuckDB extension share: a table of .fpc files, the predicate of a
 * query, and failures in words. Internal names begin with fpd_. Functions that can fail return 0, or
 * -1 with *fault filled in. */
#ifndef FASTPAIR_DUCKDB_ENGINE_H
#define FASTPAIR_DUCKDB_ENGINE_H

#include <duckdb_extension.h>

#include <fastpair.h>

#include <stdbool.h>

DUCKDB_EXTENSION_EXTERN

/* ---------------------------------------------------------------- failures: fault.c */

/* A failure as DuckDB shows it: the file, what is wrong, where, and what helps. */
typedef struct fpd_fault {
    char message[2048];
} fpd_fault;

/* Fills *fault in as printf does; returns -1. `path`, which may be NULL, comes first. */
__attribute__((format(printf, 3, 4))) int fpd_fail(fpd_fault *fault, const char *path,
                                                   const char *format, ...);

/* The same for what the library said of a file. */
int fpd_fail_status(fpd_fault *fault, const char *path, const fastpair_error *error);

int fpd_fail_memory(fpd_fault *fault);

/* Replaces bytes above 127 by '?' if `text` is not UTF-8, which DuckDB's strings must be. */
void fpd_make_utf8(char *text);

/* ---------------------------------------------------------------- names of files: files.c */

/* Names in the order that their table has. All zero: none. */
typedef struct fpd_names {
    char **name;
    size_t count;
    size_t capacity;
} fpd_names;

void fpd_names_close(fpd_names *names);

/* Adds a copy of `name`, after `folder` and a slash if there is a folder. */
int fpd_names_add(fpd_names *names, const char *folder, const char *name, fpd_fault *fault);

/* Adds the path, or what a path with *, ? or [ in it stands for, sorted by bytes; a tilde at its begin
 * stands for the home folder. Nothing found is a failure, and so is a path with a scheme such as s3:. */
int fpd_names_expand(fpd_names *names, const char *path, bool may_list, fpd_fault *fault);

/* Adds the .fpc files and the folders in a folder, sorted by bytes, without hidden ones: names that
 * begin with a dot or an underscore. */
int fpd_names_list(const char *folder, fpd_names *files, fpd_names *folders, fpd_fault *fault);

/* 1 for a folder, 0 for anything else, also for what is not there. */
int fpd_is_folder(const char *path);

/* ---------------------------------------------------------------- tables: table.c, kept.c */

/* A column of a table. */
typedef struct fpd_field {
    char *name;
    fastpair_type type;
} fpd_field;

/* A column of a part. */
typedef struct fpd_file {
    char *path;
    /* What the file says, else its name without folder and ending. */
    char *name;
    bool name_is_recorded;
    /* Its place among the columns, if the file says one, else UINT32_MAX. */
    uint32_t position;
    fastpair_column *column;
    fastpair_column_totals totals;
} fpd_file;

/* Consecutive rows of a table: a file for each field, all with the same rows. */
typedef struct fpd_part {
    /* Of the file, or of the folder if there are several. */
    char *path;
    uint64_t rows;
    fpd_file *file;
    size_t files;
} fpd_part;

/* A table, open. Threads may share it. */
typedef struct fpd_table {
    fpd_part *part;
    size_t parts;
    fpd_field *field;
    size_t fields;
    uint64_t rows;
} fpd_table;

/* Files that stay open between queries. Threads may share it. */
typedef struct fpd_kept fpd_kept;

/* NULL: no memory; then nothing is kept. */
fpd_kept *fpd_kept_open(void);

/* Columns that queries still hold stay open. */
void fpd_kept_close(void *kept);

/* fastpair_column_open_file, or another reference to the column if the file is open and unchanged.
 * `kept` NULL: nothing is kept. */
fastpair_status fpd_kept_column(fpd_kept *kept, const char *path,
                                const fastpair_open_options *options, fastpair_column **column,
                                fastpair_error *error);

/* What DuckDB's settings let a query read. */
typedef struct fpd_access {
    fpd_kept *kept;
    /* Opens what is allowed, and nothing else. */
    duckdb_file_system system;
    /* 0: files alone, no folder may be listed. */
    bool may_list;
} fpd_access;

/* Opens the parts that the paths name: files, folders of columns, folders of parts. Columns and types
 * must be the same in all of them. After a failure there is nothing to close. */
int fpd_table_open(fpd_table *table, const fpd_names *paths, const fpd_access *access,
                   fpd_fault *fault);

void fpd_table_close(fpd_table *table);

/* ---------------------------------------------------------------- predicates: predicate.c */

enum { FPD_PREDICATE_KINDS = 5 };

/* What a query asks of one column: all that was given must hold. */
typedef struct fpd_predicate {
    /* `root` and its children; no children: nothing was asked. */
    fastpair_predicate root;
    fastpair_predicate child[FPD_PREDICATE_KINDS];
    /* The column's number in the table. */
    size_t field;
} fpd_predicate;

/* Declares the named parameters below for a function. */
void fpd_predicate_declare(duckdb_table_function function);

/* Reads the parameters contains, like, prefix, suffix, equals, ignore_case, escape and search_column.
 * Must be closed also after a failure. */
int fpd_predicate_read(fpd_predicate *predicate, duckdb_bind_info info, const fpd_table *table,
                       fpd_fault *fault);

void fpd_predicate_close(fpd_predicate *predicate);

/* ---------------------------------------------------------------- binding: bind.c */

/* Columns that are no file's. */
typedef enum fpd_extra { FPD_FILENAME, FPD_FILE_ROW_NUMBER, FPD_EXTRAS } fpd_extra;

/* What a call of read_fastpair is bound to. Not changed afterwards. */
typedef struct fpd_bound {
    fpd_table table;
    fpd_predicate predicate;
    /* The extra columns, which come before the table's: how many there are, and which. */
    size_t extras;
    fpd_extra extra[FPD_EXTRAS];
} fpd_bound;

/* Callbacks of DuckDB. */
void fpd_bind(duckdb_bind_info info);

/* Opens the table that the first parameter of a function names: a path, or a list of them. */
int fpd_bind_table(duckdb_bind_info info, fpd_table *table, fpd_fault *fault);

/* Gives a message to DuckDB, which wants it as UTF-8. */
void fpd_bind_fail(duckdb_bind_info info, fpd_fault *fault);

/* Adds a column to what a function returns. */
void fpd_bind_column(duckdb_bind_info info, const char *name, duckdb_type type);

/* Adds the parameter that fpd_bind_table reads. */
void fpd_declare_paths(duckdb_table_function function);

/* ---------------------------------------------------------------- scanning: scan.c, units.c */

/* Rows that one thread takes on at once. */
typedef struct fpd_unit {
    size_t part;
    uint64_t first;
    uint64_t rows;
} fpd_unit;

/* What the threads of a scan share. */
typedef struct fpd_scan fpd_scan;

/* Opens a scan that hands over `columns` columns, given by their numbers in the function's result:
 * below bound->extras an extra column, from there on the table's. */
int fpd_scan_open(fpd_scan **scan, const fpd_bound *bound, const idx_t *column, size_t columns,
                  fpd_fault *fault);

void fpd_scan_close(void *scan);

/* How many threads have something to do. */
uint64_t fpd_scan_threads(const fpd_scan *scan);

/* Takes the next unit; unit->rows is 0 when there is none. Any thread. */
int fpd_scan_next(fpd_scan *scan, fpd_unit *unit, fpd_fault *fault);

/* The search over a part's column, compiled at the first call. Any thread. It lasts until each unit
 * of the part is done. */
int fpd_scan_search(fpd_scan *scan, size_t part, fastpair_search **search, fpd_fault *fault);

/* Says that a unit is done, well or not. */
void fpd_scan_done(fpd_scan *scan, const fpd_unit *unit);

/* No further unit is given out: some thread failed. */
void fpd_scan_stop(fpd_scan *scan);

void fpd_init(duckdb_init_info info);
void fpd_local_init(duckdb_init_info info);
void fpd_read(duckdb_function_info info, duckdb_data_chunk output);

/* ---------------------------------------------------------------- rows out: rows.c */

/* Decoded rows of one column, in memory that is used again. All zero: none, and no memory. */
typedef struct fpd_rows {
    const uint8_t *bytes;
    /* One more than there are rows. */
    const int64_t *offsets;
    /* NULL: no row is null. */
    const uint8_t *validity;
    /* The Arrow array that holds them, and blocks of memory that are kept for later ones. */
    void *array;
    void *pool;
} fpd_rows;

/* Decodes rows first .. first + count of a column, or those listed if `list` is not NULL. Text is
 * checked to be UTF-8. */
int fpd_rows_decode(fpd_rows *rows, const fpd_file *file, uint64_t first, uint64_t count,
                    const uint64_t *list, fpd_fault *fault);

/* Keeps those rows of a decoded range that are listed, in order, as if they alone had been decoded.
 * `first` is the range's first row. */
void fpd_rows_pick(fpd_rows *rows, uint64_t first, const uint64_t *list, uint64_t count);

/* Copies rows at .. at + count to a vector of VARCHAR or BLOB; `at` is a multiple of 8, and count at
 * most DuckDB's vector size. */
void fpd_rows_emit(const fpd_rows *rows, uint64_t at, uint64_t count, duckdb_vector vector);

void fpd_rows_close(fpd_rows *rows);

/* ---------------------------------------------------------------- fastpair_metadata: metadata.c */

void fpd_metadata_bind(duckdb_bind_info info);
void fpd_metadata_init(duckdb_init_info info);
void fpd_metadata_read(duckdb_function_info info, duckdb_data_chunk output);

#endif
