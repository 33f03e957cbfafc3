/* search.c - predicates from Python, and the searches of a column: as booleans, as a count, as rows.
 *
 * A predicate comes as a tuple (kind, negate, ignore_case, escape, patterns, children) of plain numbers,
 * a tuple of bytes and a tuple of such tuples. Long searches go block by block, so that Ctrl-C ends
 * them. */
#include "binding.h"

#include <stdlib.h>

/* Rows between two looks for signals; a multiple of 8, so that bitmaps can be cut there. */
#define BLOCK_ROWS ((uint64_t)1 << 22)
#define DEEPEST    32

/* ---------------------------------------------------------------- predicates */

static void predicate_close(fastpair_predicate *predicate) {
    for (uint64_t i = 0; i < predicate->child_count; i++) {
        predicate_close((fastpair_predicate *)&predicate->children[i]);
    }
    free((void *)predicate->children);
    free((void *)predicate->patterns);
}

/* Fills in *predicate, which the caller closes, also after a failure: -1 with an exception. */
static int predicate_open(fastpair_predicate *predicate, PyObject *tree, int depth) {
    PyObject *patterns, *children;
    int kind;
    *predicate = (fastpair_predicate){.struct_size = sizeof *predicate};
    if (depth > DEEPEST) {
        fpy_raise_fault(FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                        "a predicate is at most 32 deep");
        return -1;
    }
    if (!PyArg_ParseTuple(tree, "ippiO!O!", &kind, &predicate->negate, &predicate->ignore_case,
                          &predicate->escape, &PyTuple_Type, &patterns, &PyTuple_Type, &children)) {
        return -1;
    }
    predicate->kind = (fastpair_predicate_kind)kind;
    Py_ssize_t pattern_count = PyTuple_Size(patterns), child_count = PyTuple_Size(children);
    fastpair_pattern *bytes = calloc((size_t)pattern_count + 1, sizeof *bytes);
    fastpair_predicate *below = calloc((size_t)child_count + 1, sizeof *below);
    predicate->patterns = bytes;
    predicate->children = below;
    if (!bytes || !below) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < pattern_count; i++) {
        char *text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(patterns, i), &text, &size) != 0) return -1;
        bytes[i] = (fastpair_pattern){text, (uint64_t)size};
    }
    predicate->pattern_count = (uint64_t)pattern_count;
    for (Py_ssize_t i = 0; i < child_count; i++) {
        PyObject *item = PyTuple_GetItem(children, i);
        predicate->child_count = (uint64_t)i + 1;
        if (!PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "a predicate is a tuple");
            return -1;
        }
        if (predicate_open(&below[i], item, depth + 1) != 0) return -1;
    }
    return 0;
}

/* A search, and the column that it is of; both are held. */
typedef struct Search {
    fastpair_search *search;
    uint64_t first, count;
} Search;

static int search_open(Search *search, PyObject *object, PyObject *tree) {
    ColumnObject *self = (ColumnObject *)object;
    fastpair_predicate predicate;
    fastpair_search_options options = {.struct_size = sizeof options};
    fastpair_error error;
    *search = (Search){NULL, self->first, self->count};
    fastpair_column *column = fpy_column_hold(self);
    if (!column) return -1;
    int result = predicate_open(&predicate, tree, 0);
    if (result == 0) {
        fastpair_status status;
        Py_BEGIN_ALLOW_THREADS
            status = fastpair_search_open(column, &predicate, &options, &search->search, &error);
        Py_END_ALLOW_THREADS
        if (status != FASTPAIR_OK) {
            fpy_raise(&error);
            result = -1;
        }
    }
    predicate_close(&predicate);
    fastpair_column_close(column);
    return result;
}

/* Searches all rows; the bitmaps of *matches may be NULL. */
static int search_run(const Search *search, fastpair_matches *matches) {
    uint64_t found = 0, nulls = 0;
    for (uint64_t row = 0; row < search->count; row += BLOCK_ROWS) {
        uint64_t rows = search->count - row < BLOCK_ROWS ? search->count - row : BLOCK_ROWS;
        fastpair_matches block = {.struct_size = sizeof block,
                                  .bitmap = matches->bitmap ? matches->bitmap + row / 8 : NULL,
                                  .validity =
                                      matches->validity ? matches->validity + row / 8 : NULL};
        fastpair_error error;
        fastpair_status status;
        Py_BEGIN_ALLOW_THREADS
            status = fastpair_search_run(search->search, search->first + row, rows, &block, &error);
        Py_END_ALLOW_THREADS
        if (status != FASTPAIR_OK) {
            fpy_raise(&error);
            return -1;
        }
        if (PyErr_CheckSignals() != 0) return -1;
        found += block.matches;
        nulls += block.nulls;
    }
    matches->matches = found;
    matches->nulls = nulls;
    return 0;
}

/* ---------------------------------------------------------------- from Python */

/* _search(tree): booleans, null where the predicate is. */
PyObject *fpy_column_search(PyObject *object, PyObject *arguments) {
    PyObject *tree, *result = NULL;
    Search search;
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &tree)) return NULL;
    if (search_open(&search, object, tree) != 0) return NULL;
    size_t bytes = (size_t)(search.count + 7) / 8;
    fastpair_matches matches = {.bitmap = malloc(bytes + 1), .validity = malloc(bytes + 1)};
    if (!matches.bitmap || !matches.validity) {
        PyErr_NoMemory();
    } else if (search_run(&search, &matches) == 0) {
        if (!matches.nulls) {
            free(matches.validity);
            matches.validity = NULL;
        }
        result =
            fpy_array_new_boolean(matches.bitmap, matches.validity, search.count, matches.nulls);
        matches.bitmap = matches.validity = NULL;
    }
    free(matches.bitmap);
    free(matches.validity);
    fastpair_search_close(search.search);
    return result;
}

/* _count(tree): rows for which it is true, and for which it is null. */
PyObject *fpy_column_count(PyObject *object, PyObject *arguments) {
    PyObject *tree;
    Search search;
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &tree)) return NULL;
    if (search_open(&search, object, tree) != 0) return NULL;
    fastpair_matches matches = {0};
    int result = search_run(&search, &matches);
    fastpair_search_close(search.search);
    return result == 0 ? Py_BuildValue("(KK)", matches.matches, matches.nulls) : NULL;
}

/* Numbers of the rows whose bit is 1, `count` of them; NULL without memory. */
static uint64_t *list_bits(const uint8_t *bitmap, uint64_t first, uint64_t count, uint64_t rows) {
    uint64_t *numbers = malloc(count ? count * sizeof *numbers : 1), filled = 0;
    for (uint64_t at = 0; numbers && at < (rows + 7) / 8; at++) {
        for (unsigned bits = bitmap[at]; bits && filled < count; bits &= bits - 1) {
            numbers[filled++] = first + at * 8 + (unsigned)__builtin_ctz(bits);
        }
    }
    return numbers;
}

/* _filter(tree): the rows for which it is true, as an Array. */
PyObject *fpy_column_filter(PyObject *object, PyObject *arguments) {
    PyObject *tree, *result = NULL;
    Search search;
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &tree)) return NULL;
    fastpair_column *column = fpy_column_hold((ColumnObject *)object);
    if (!column) return NULL;
    if (search_open(&search, object, tree) != 0) {
        fastpair_column_close(column);
        return NULL;
    }
    uint64_t *rows = NULL;
    fastpair_matches matches = {.bitmap = malloc((size_t)(search.count + 7) / 8 + 1)};
    if (!matches.bitmap) {
        PyErr_NoMemory();
    } else if (search_run(&search, &matches) == 0) {
        fastpair_arrow_options options = {.struct_size = sizeof options,
                                          .allocator = fpy_allocator()};
        fastpair_error error = {.status = FASTPAIR_ERROR_OUT_OF_MEMORY};
        struct ArrowSchema schema;
        struct ArrowArray array;
        fastpair_status status = FASTPAIR_ERROR_OUT_OF_MEMORY;
        Py_BEGIN_ALLOW_THREADS
            rows = list_bits(matches.bitmap, search.first, matches.matches, search.count);
            if (rows) {
                status = fastpair_column_export_listed(column, rows, matches.matches, &options,
                                                       &schema, &array, &error);
            }
        Py_END_ALLOW_THREADS
        result = status == FASTPAIR_OK ? fpy_array_new(&schema, &array) : fpy_raise(&error);
    }
    free(rows);
    free(matches.bitmap);
    fastpair_search_close(search.search);
    fastpair_column_close(column);
    return result;
}

/* _find(tree, from, limit): numbers of rows from `from` on for which it is true, at most `limit` of
 * them, as bytes of native 64-bit integers that count in this range; and where to go on. */
PyObject *fpy_column_find(PyObject *object, PyObject *arguments) {
    PyObject *tree, *result = NULL;
    unsigned long long from, limit;
    Search search;
    if (!PyArg_ParseTuple(arguments, "O!KK", &PyTuple_Type, &tree, &from, &limit)) return NULL;
    if (search_open(&search, object, tree) != 0) return NULL;
    uint64_t end = search.first + search.count,
             capacity = limit < search.count ? limit : search.count;
    uint64_t found = 0, next = end;
    uint64_t *rows = malloc(capacity ? capacity * sizeof *rows : 1);
    fastpair_error error;
    fastpair_status status = FASTPAIR_OK;
    if (!rows) {
        PyErr_NoMemory();
        goto done;
    }
    if (from < search.count) {
        Py_BEGIN_ALLOW_THREADS
            status = fastpair_search_list(search.search, search.first + from, rows, capacity,
                                          &found, &next, &error);
        Py_END_ALLOW_THREADS
    }
    if (status != FASTPAIR_OK) {
        fpy_raise(&error);
        goto done;
    }
    while (found && rows[found - 1] >= end) found--;
    for (uint64_t i = 0; i < found; i++) rows[i] -= search.first;
    if (next > end) next = end;
    result = Py_BuildValue("(y#K)", (char *)rows, (Py_ssize_t)(found * sizeof *rows),
                           next - search.first);
done:
    free(rows);
    fastpair_search_close(search.search);
    return result;
}
