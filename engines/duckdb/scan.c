/* scan.c - units of rows in, chunks of DuckDB out. A thread takes a unit, searches it if there is a
 * predicate, decodes the columns that are wanted in batches of bounded size, and hands a batch over
 * vector by vector. DuckDB stops a scan between two vectors; it ends one by no longer calling. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that a thread decodes at once, unless a single row is larger. */
static const uint64_t batch_bytes = UINT64_C(32) << 20;

/* What one thread works on. */
typedef struct reader {
    const fpd_bound *bound;
    /* The columns that are wanted, by their numbers in the function's result, and the decoded rows of
     * each; extra columns have none. */
    idx_t *column;
    fpd_rows *rows;
    size_t columns;
    fpd_unit unit;
    bool unit_is_open;
    /* 1: all of the unit's rows are less than batch_bytes. */
    bool unit_is_small;
    /* Of the unit: the numbers of the rows that pass, and their bits. NULL: there is no predicate. */
    uint64_t *list;
    uint8_t *bitmap;
    uint64_t list_capacity;
    /* Rows of the unit that pass; how many of them are in batches before this one and in this one;
     * how many of this one were handed over. */
    uint64_t selected;
    uint64_t before;
    uint64_t batch;
    uint64_t handed;
} reader;

/* ---------------------------------------------------------------- opening */

static void close_reader(void *memory) {
    reader *closing = memory;
    for (size_t i = 0; closing->rows && i < closing->columns; i++)
        fpd_rows_close(&closing->rows[i]);
    free(closing->rows);
    free(closing->column);
    free(closing->list);
    free(closing->bitmap);
    free(closing);
}

static reader *open_reader(duckdb_init_info info) {
    reader *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->bound = duckdb_init_get_bind_data(info);
    made->columns = duckdb_init_get_column_count(info);
    made->rows = calloc(made->columns + 1, sizeof *made->rows);
    made->column = calloc(made->columns + 1, sizeof *made->column);
    if (!made->rows || !made->column) {
        close_reader(made);
        return NULL;
    }
    for (size_t i = 0; i < made->columns; i++)
        made->column[i] = duckdb_init_get_column_index(info, i);
    return made;
}

void fpd_init(duckdb_init_info info) {
    fpd_fault fault = {""};
    fpd_scan *scan = NULL;
    reader *model = open_reader(info);
    int status = model ? fpd_scan_open(&scan, model->bound, model->column, model->columns, &fault)
                       : fpd_fail_memory(&fault);
    if (model) close_reader(model);
    if (status != 0) {
        duckdb_init_set_error(info, fault.message);
        return;
    }
    duckdb_init_set_max_threads(info, fpd_scan_threads(scan));
    duckdb_init_set_init_data(info, scan, fpd_scan_close);
}

void fpd_local_init(duckdb_init_info info) {
    reader *made = open_reader(info);
    if (made) {
        duckdb_init_set_init_data(info, made, close_reader);
    } else {
        fpd_fault fault = {""};
        fpd_fail_memory(&fault);
        duckdb_init_set_error(info, fault.message);
    }
}

static const fpd_part *part_of(const reader *from) {
    return &from->bound->table.part[from->unit.part];
}

/* The file of a wanted column; NULL for an extra column. */
static const fpd_file *file_of(const reader *from, size_t i) {
    size_t extras = from->bound->extras;
    return from->column[i] < extras ? NULL : &part_of(from)->file[from->column[i] - extras];
}

/* ---------------------------------------------------------------- selecting */

static int make_room(reader *to, uint64_t rows, fpd_fault *fault) {
    if (to->list && to->list_capacity >= rows) return 0;
    free(to->list);
    free(to->bitmap);
    to->list = malloc(rows * sizeof *to->list);
    /* Read as words of 8 bytes. */
    to->bitmap = malloc((rows + 63) / 64 * 8);
    to->list_capacity = to->list && to->bitmap ? rows : 0;
    return to->list_capacity ? 0 : fpd_fail_memory(fault);
}

/* The numbers of the rows whose bits are 1. */
static void list_rows(reader *from) {
    uint64_t *next = from->list;
    for (uint64_t word = 0; word * 64 < from->unit.rows; word++) {
        uint64_t bits;
        memcpy(&bits, from->bitmap + 8 * word, sizeof bits);
        for (; bits; bits &= bits - 1)
            *next++ = from->unit.first + 64 * word + (uint64_t)__builtin_ctzll(bits);
    }
}

static int search_unit(reader *to, fpd_scan *scan, fpd_fault *fault) {
    const fpd_unit *unit = &to->unit;
    fastpair_search *search;
    fastpair_error error;
    if (make_room(to, unit->rows, fault) != 0 ||
        fpd_scan_search(scan, unit->part, &search, fault) != 0)
        return -1;
    memset(to->bitmap + unit->rows / 64 * 8, 0, unit->rows % 64 ? 8 : 0);
    fastpair_matches found = {.struct_size = sizeof found, .bitmap = to->bitmap};
    if (fastpair_search_run(search, unit->first, unit->rows, &found, &error) != FASTPAIR_OK) {
        const fpd_file *file = &part_of(to)->file[to->bound->predicate.field];
        return fpd_fail_status(fault, file->path, &error);
    }
    to->selected = found.matches;
    if (found.matches > 0 && to->list) list_rows(to);
    return 0;
}

/* Takes the next unit that has rows to hand over; to->selected is 0 if there is none. */
static int next_unit(reader *to, fpd_scan *scan, fpd_fault *fault) {
    int status = 0;
    do {
        if (to->unit_is_open) fpd_scan_done(scan, &to->unit);
        status = fpd_scan_next(scan, &to->unit, fault);
        to->unit_is_open = status == 0 && to->unit.rows > 0;
        to->selected = to->before = to->batch = to->handed = 0;
        if (!to->unit_is_open) return status;
        if (to->bound->predicate.root.child_count > 0) {
            status = search_unit(to, scan, fault);
        } else {
            to->selected = to->unit.rows;
        }
    } while (status == 0 && to->selected == 0);
    return status;
}

/* ---------------------------------------------------------------- decoding */

/* Decoded bytes in all wanted columns: of all rows of the unit, or of `count` rows from the batch's
 * begin on. */
static int measure(const reader *from, bool whole_unit, uint64_t count, uint64_t *bytes,
                   fpd_fault *fault) {
    uint64_t first = from->unit.first + from->before;
    *bytes = 0;
    for (size_t i = 0; i < from->columns; i++) {
        const fpd_file *file = file_of(from, i);
        if (!file) continue;
        uint64_t size = 0;
        fastpair_error error;
        fastpair_status status;
        if (whole_unit) {
            status = fastpair_column_rows_size(file->column, from->unit.first, from->unit.rows,
                                               &size, &error);
        } else if (from->list) {
            status = fastpair_column_listed_size(file->column, from->list + from->before, count,
                                                 &size, &error);
        } else {
            status = fastpair_column_rows_size(file->column, first, count, &size, &error);
        }
        if (status != FASTPAIR_OK) return fpd_fail_status(fault, file->path, &error);
        *bytes += size;
    }
    return 0;
}

/* Decodes the rows of the batch. Where many rows of a unit pass, it is quicker to decode them all and
 * to keep those: a row that is looked up by its number costs as much as some six others. */
static int decode_column(const reader *from, const fpd_file *file, fpd_rows *rows,
                         fpd_fault *fault) {
    const uint64_t *list = from->list ? from->list + from->before : NULL;
    bool dense = list && from->unit_is_small && from->selected > from->unit.rows / 6;
    uint64_t first = list ? list[0] : from->unit.first + from->before;
    if (!dense) return fpd_rows_decode(rows, file, first, from->batch, list, fault);
    uint64_t range = list[from->batch - 1] + 1 - first;
    if (fpd_rows_decode(rows, file, first, range, NULL, fault) != 0) return -1;
    if (range > from->batch) fpd_rows_pick(rows, first, list, from->batch);
    return 0;
}

/* Decodes as many of the unit's rows that were not yet handed over as batch_bytes allows. */
static int next_batch(reader *to, fpd_fault *fault) {
    uint64_t bytes = 0;
    to->before += to->batch;
    to->handed = 0;
    to->batch = to->selected - to->before;
    if (to->before == 0) {
        if (measure(to, true, 0, &bytes, fault) != 0) return -1;
        to->unit_is_small = bytes <= batch_bytes;
    }
    while (!to->unit_is_small && to->batch > 1) {
        if (measure(to, false, to->batch, &bytes, fault) != 0) return -1;
        if (bytes <= batch_bytes) break;
        to->batch /= 2;
    }
    for (size_t i = 0; i < to->columns; i++) {
        const fpd_file *file = file_of(to, i);
        if (file && decode_column(to, file, &to->rows[i], fault) != 0) return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- handing over */

static void emit_row_numbers(const reader *from, uint64_t count, duckdb_vector vector) {
    int64_t *numbers = duckdb_vector_get_data(vector);
    uint64_t at = from->before + from->handed;
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = (int64_t)(from->list ? from->list[at + i] : from->unit.first + at + i);
}

static int emit_path(const char *path, duckdb_vector vector, fpd_fault *fault) {
    char *text = strdup(path);
    if (!text) return fpd_fail_memory(fault);
    fpd_make_utf8(text);
    duckdb_value value = duckdb_create_varchar(text);
    free(text);
    if (!value) return fpd_fail_memory(fault);
    duckdb_vector_reference_value(vector, value);
    duckdb_destroy_value(&value);
    return 0;
}

static int emit(reader *from, duckdb_data_chunk output, fpd_fault *fault) {
    uint64_t count = from->batch - from->handed;
    int status = 0;
    if (count > duckdb_vector_size()) count = duckdb_vector_size();
    for (size_t i = 0; i < from->columns && status == 0; i++) {
        duckdb_vector vector = duckdb_data_chunk_get_vector(output, i);
        if (file_of(from, i)) {
            fpd_rows_emit(&from->rows[i], from->handed, count, vector);
        } else if (from->bound->extra[from->column[i]] == FPD_FILENAME) {
            status = emit_path(part_of(from)->path, vector, fault);
        } else {
            emit_row_numbers(from, count, vector);
        }
    }
    duckdb_data_chunk_set_size(output, status == 0 ? count : 0);
    from->handed += count;
    return status;
}

void fpd_read(duckdb_function_info info, duckdb_data_chunk output) {
    fpd_scan *scan = duckdb_function_get_init_data(info);
    reader *at = duckdb_function_get_local_init_data(info);
    fpd_fault fault;
    int status = 0;
    if (at->handed == at->batch) {
        if (at->before + at->batch == at->selected) status = next_unit(at, scan, &fault);
        if (status == 0 && at->selected > 0) status = next_batch(at, &fault);
    }
    if (status == 0 && at->selected > 0) {
        status = emit(at, output, &fault);
    } else {
        duckdb_data_chunk_set_size(output, 0);
    }
    if (status != 0) {
        fpd_scan_stop(scan);
        fpd_make_utf8(fault.message);
        duckdb_function_set_error(info, fault.message);
    }
}
