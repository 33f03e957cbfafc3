/* metadata.c - fastpair_metadata(path): what the footers of a table's files say, a row per file. No
 * chunk is touched, so that the rows of many files are counted in the time it takes to open them. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

typedef struct listing {
    fpd_table table;
} listing;

/* Where the one thread of a listing is. */
typedef struct place {
    size_t part;
    size_t file;
} place;

static const struct {
    const char *name;
    duckdb_type type;
} columns[] = {
    {"file_name", DUCKDB_TYPE_VARCHAR},        {"column_name", DUCKDB_TYPE_VARCHAR},
    {"column_type", DUCKDB_TYPE_VARCHAR},      {"num_rows", DUCKDB_TYPE_UBIGINT},
    {"num_nulls", DUCKDB_TYPE_UBIGINT},        {"decoded_bytes", DUCKDB_TYPE_UBIGINT},
    {"compressed_bytes", DUCKDB_TYPE_UBIGINT}, {"num_chunks", DUCKDB_TYPE_UBIGINT},
    {"num_dictionaries", DUCKDB_TYPE_UBIGINT},
};

enum { TEXT_COLUMNS = 3, COLUMNS = sizeof columns / sizeof *columns };

static void close_listing(void *memory) {
    listing *closing = memory;
    fpd_table_close(&closing->table);
    free(closing);
}

void fpd_metadata_bind(duckdb_bind_info info) {
    fpd_fault fault = {""};
    listing *made = calloc(1, sizeof *made);
    if (!made || fpd_bind_table(info, &made->table, &fault) != 0) {
        if (!made) fpd_fail_memory(&fault);
        free(made);
        fpd_bind_fail(info, &fault);
        return;
    }
    for (size_t i = 0; i < COLUMNS; i++) fpd_bind_column(info, columns[i].name, columns[i].type);
    duckdb_bind_set_cardinality(info, made->table.parts * made->table.fields, true);
    duckdb_bind_set_bind_data(info, made, close_listing);
}

void fpd_metadata_init(duckdb_init_info info) {
    place *start = calloc(1, sizeof *start);
    if (start) {
        duckdb_init_set_init_data(info, start, free);
    } else {
        duckdb_init_set_error(info, "fastpair: out of memory");
    }
}

static int emit_text(duckdb_vector vector, idx_t row, const char *text) {
    char *copy = strdup(text);
    if (!copy) return -1;
    fpd_make_utf8(copy);
    duckdb_vector_assign_string_element(vector, row, copy);
    free(copy);
    return 0;
}

static int emit_file(duckdb_data_chunk output, idx_t row, const fpd_file *file) {
    const fastpair_column_totals *totals = &file->totals;
    const char *texts[TEXT_COLUMNS] = {file->path, file->name,
                                       totals->type == FASTPAIR_TYPE_TEXT ? "VARCHAR" : "BLOB"};
    const uint64_t numbers[COLUMNS - TEXT_COLUMNS] = {
        totals->rows,   totals->nulls,       totals->decoded_bytes, totals->compressed_bytes,
        totals->chunks, totals->dictionaries};
    for (idx_t i = 0; i < COLUMNS; i++) {
        duckdb_vector vector = duckdb_data_chunk_get_vector(output, i);
        if (i < TEXT_COLUMNS) {
            if (emit_text(vector, row, texts[i]) != 0) return -1;
        } else {
            uint64_t *to = duckdb_vector_get_data(vector);
            to[row] = numbers[i - TEXT_COLUMNS];
        }
    }
    return 0;
}

void fpd_metadata_read(duckdb_function_info info, duckdb_data_chunk output) {
    const listing *from = duckdb_function_get_bind_data(info);
    place *at = duckdb_function_get_init_data(info);
    idx_t row = 0, most = duckdb_vector_size();
    while (row < most && at->part < from->table.parts) {
        const fpd_part *part = &from->table.part[at->part];
        if (emit_file(output, row++, &part->file[at->file]) != 0) {
            duckdb_data_chunk_set_size(output, 0);
            duckdb_function_set_error(info, "fastpair: out of memory");
            return;
        }
        if (++at->file == part->files) {
            at->file = 0;
            at->part++;
        }
    }
    duckdb_data_chunk_set_size(output, row);
}
