/* units.c - what the threads of a scan share: which rows are taken next, and the searches of parts.
 * The trick: a unit is a piece of a chunk of half a MiB decoded, so that the threads of a small file
 * have work, that a LIMIT ends soon, and that rows stay in the cache from decoding to the copy that
 * DuckDB gets. Cold chunks are unpacked as a whole, so each is one unit. */
#include "engine.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    UNIT_BYTES = 1 << 19,
    /* A search passes over rows much faster than decoding does. Of a chunk of the usual size all is
     * one unit: two threads in a chunk would wait for the same table of its dictionary. */
    SEARCHED_UNIT_BYTES = 16 << 20,
    /* Where no column is looked at. */
    BLIND_UNIT_ROWS = 1 << 20,
    MOST_THREADS = 1024
};

/* The search over a part, and who needs it. */
typedef struct part_search {
    pthread_mutex_t lock;
    fastpair_search *search;
    /* Units of the part that were given out and are not done. */
    uint64_t open_units;
    /* 1: no unit of the part will be given out any more. */
    bool ended;
} part_search;

struct fpd_scan {
    const fpd_bound *bound;
    /* The column whose chunks are cut into units: that which is searched, else the largest that is
     * wanted. -1: none is. */
    long guide;
    part_search *searches;
    size_t searches_ready;
    /* All below is the lock's: where the next unit begins. */
    pthread_mutex_t lock;
    bool lock_ready;
    bool stopped;
    size_t part;
    uint64_t row;
};

static bool searches(const fpd_scan *scan) { return scan->bound->predicate.root.child_count > 0; }

void fpd_scan_close(void *memory) {
    fpd_scan *scan = memory;
    if (!scan) return;
    for (size_t i = 0; scan->searches && i < scan->searches_ready; i++) {
        fastpair_search_close(scan->searches[i].search);
        pthread_mutex_destroy(&scan->searches[i].lock);
    }
    if (scan->lock_ready) pthread_mutex_destroy(&scan->lock);
    free(scan->searches);
    free(scan);
}

static uint64_t field_bytes(const fpd_table *table, long field) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < table->parts; i++)
        bytes += table->part[i].file[field].totals.decoded_bytes;
    return bytes;
}

int fpd_scan_open(fpd_scan **out, const fpd_bound *bound, const idx_t *column, size_t columns,
                  fpd_fault *fault) {
    fpd_scan *scan = calloc(1, sizeof *scan);
    *out = NULL;
    if (!scan) return fpd_fail_memory(fault);
    scan->bound = bound;
    scan->guide = -1;
    scan->lock_ready = pthread_mutex_init(&scan->lock, NULL) == 0;
    if (!scan->lock_ready) goto no_memory;
    for (size_t i = 0; i < columns; i++) {
        if (column[i] < bound->extras) continue;
        long field = (long)(column[i] - bound->extras);
        if (scan->guide < 0 ||
            field_bytes(&bound->table, field) > field_bytes(&bound->table, scan->guide))
            scan->guide = field;
    }
    if (searches(scan)) {
        scan->guide = (long)bound->predicate.field;
        scan->searches = calloc(bound->table.parts, sizeof *scan->searches);
        if (!scan->searches) goto no_memory;
        for (size_t i = 0; i < bound->table.parts; i++) {
            if (pthread_mutex_init(&scan->searches[i].lock, NULL) != 0) goto no_memory;
            scan->searches_ready++;
        }
    }
    *out = scan;
    return 0;
no_memory:
    fpd_scan_close(scan);
    return fpd_fail_memory(fault);
}

uint64_t fpd_scan_threads(const fpd_scan *scan) {
    const fpd_table *table = &scan->bound->table;
    uint64_t units = 0;
    for (size_t i = 0; i < table->parts && units < MOST_THREADS; i++) {
        const fpd_part *part = &table->part[i];
        units += scan->guide < 0 ? part->rows / BLIND_UNIT_ROWS + 1
                                 : part->file[scan->guide].totals.decoded_bytes / UNIT_BYTES + 1;
    }
    return units < MOST_THREADS ? units : MOST_THREADS;
}

/* ---------------------------------------------------------------- units */

/* How many rows from `row` on the next unit of a part has. */
static int measure(const fpd_scan *scan, const fpd_part *part, uint64_t row, uint64_t *rows,
                   fpd_fault *fault) {
    *rows = part->rows - row;
    if (scan->guide < 0) {
        if (*rows > BLIND_UNIT_ROWS) *rows = BLIND_UNIT_ROWS;
        return 0;
    }
    const fpd_file *file = &part->file[scan->guide];
    fastpair_chunk_info chunk = {.struct_size = sizeof chunk};
    fastpair_chunk_header header = {.struct_size = sizeof header};
    fastpair_error error;
    uint64_t number = 0;
    if (fastpair_column_find_chunk(file->column, row, &number, &error) != FASTPAIR_OK ||
        fastpair_column_get_chunk(file->column, number, &chunk, &error) != FASTPAIR_OK ||
        fastpair_column_get_chunk_header(file->column, number, &header, &error) != FASTPAIR_OK) {
        return fpd_fail_status(fault, file->path, &error);
    }
    *rows = chunk.first_row + chunk.rows - row;
    if (header.cold) return 0;
    uint64_t bytes = searches(scan) ? SEARCHED_UNIT_BYTES : UNIT_BYTES;
    uint64_t pieces = chunk.decoded_bytes / bytes + 1, vector = duckdb_vector_size();
    uint64_t wanted = (chunk.rows / pieces + vector - 1) / vector * vector;
    if (wanted > 0 && *rows > wanted) *rows = wanted;
    return 0;
}

int fpd_scan_next(fpd_scan *scan, fpd_unit *unit, fpd_fault *fault) {
    const fpd_table *table = &scan->bound->table;
    int status = 0;
    *unit = (fpd_unit){0};
    pthread_mutex_lock(&scan->lock);
    while (scan->part < table->parts && scan->row == table->part[scan->part].rows) {
        scan->part++;
        scan->row = 0;
    }
    if (!scan->stopped && scan->part < table->parts) {
        const fpd_part *part = &table->part[scan->part];
        status = measure(scan, part, scan->row, &unit->rows, fault);
        unit->part = scan->part;
        unit->first = scan->row;
        if (status == 0 && scan->searches) {
            part_search *search = &scan->searches[scan->part];
            pthread_mutex_lock(&search->lock);
            search->open_units++;
            search->ended = unit->first + unit->rows == part->rows;
            pthread_mutex_unlock(&search->lock);
        }
        scan->row += unit->rows;
        if (status != 0) scan->stopped = true;
    }
    pthread_mutex_unlock(&scan->lock);
    return status;
}

void fpd_scan_stop(fpd_scan *scan) {
    pthread_mutex_lock(&scan->lock);
    scan->stopped = true;
    pthread_mutex_unlock(&scan->lock);
}

/* ---------------------------------------------------------------- searches */

int fpd_scan_search(fpd_scan *scan, size_t number, fastpair_search **search, fpd_fault *fault) {
    const fpd_predicate *predicate = &scan->bound->predicate;
    const fpd_file *file = &scan->bound->table.part[number].file[predicate->field];
    part_search *shared = &scan->searches[number];
    fastpair_error error;
    int status = 0;
    pthread_mutex_lock(&shared->lock);
    if (!shared->search && fastpair_search_open(file->column, &predicate->root, NULL,
                                                &shared->search, &error) != FASTPAIR_OK) {
        status = fpd_fail_status(fault, file->path, &error);
    }
    *search = shared->search;
    pthread_mutex_unlock(&shared->lock);
    return status;
}

void fpd_scan_done(fpd_scan *scan, const fpd_unit *unit) {
    if (!scan->searches) return;
    part_search *shared = &scan->searches[unit->part];
    fastpair_search *over = NULL;
    pthread_mutex_lock(&shared->lock);
    if (--shared->open_units == 0 && shared->ended) {
        over = shared->search;
        shared->search = NULL;
    }
    pthread_mutex_unlock(&shared->lock);
    /* So that a table of many parts has only the searches that are at work. */
    fastpair_search_close(over);
}
