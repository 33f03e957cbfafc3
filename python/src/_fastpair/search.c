/* search.c - the searches of a column: as booleans, as a count, as rows. Predicates are those of
 * predicate.c. Long searches go block by block, so that Ctrl-C ends them. */
#include "binding.h"

#include <stdlib.h>

/* Rows between two looks for signals; a multiple of 8, so that bitmaps can be cut there. */
#define BLOCK_ROWS ((uint64_t)1 << 22)
/* The same where a few rows are looked for. */
#define FIRST_ROWS ((uint64_t)1 << 14)

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
    if (!PyArg_ParseTuple(arguments, "O", &tree)) return NULL;
    if (fpy_search_open(&search, object, tree) != 0) return NULL;
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
    fpy_search_close(&search);
    return result;
}

/* _count(tree): rows for which it is true, and for which it is null. */
PyObject *fpy_column_count(PyObject *object, PyObject *arguments) {
    PyObject *tree;
    Search search;
    if (!PyArg_ParseTuple(arguments, "O", &tree)) return NULL;
    if (fpy_search_open(&search, object, tree) != 0) return NULL;
    fastpair_matches matches = {0};
    int result = search_run(&search, &matches);
    fpy_search_close(&search);
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

/* list_bits(bitmap, rows, limit): numbers of the bits that are 1 among the first `rows`, at most
 * `limit` of them, as bytes of native 64-bit integers. */
PyObject *fpy_list_bits(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer bitmap;
    unsigned long long rows, limit;
    if (!PyArg_ParseTuple(arguments, "y*KK", &bitmap, &rows, &limit)) return NULL;
    PyObject *result = NULL;
    uint64_t count = 0, *numbers = NULL;
    if (rows > (uint64_t)bitmap.len * 8) {
        PyErr_SetString(PyExc_ValueError, "a bitmap has fewer bits than rows");
    } else {
        const uint8_t *bits = bitmap.buf;
        for (uint64_t i = 0; i < rows / 8; i++) count += (unsigned)__builtin_popcount(bits[i]);
        for (uint64_t i = rows / 8 * 8; i < rows; i++) count += bits[i / 8] >> i % 8 & 1;
        if (count > limit) count = limit;
        numbers = list_bits(bits, 0, count, rows);
        if (!numbers) PyErr_NoMemory();
    }
    PyBuffer_Release(&bitmap);
    if (numbers) {
        result = PyBytes_FromStringAndSize((char *)numbers, (Py_ssize_t)(count * sizeof *numbers));
    }
    free(numbers);
    return result;
}

/* _filter(tree): the rows for which it is true, as an Array. */
PyObject *fpy_column_filter(PyObject *object, PyObject *arguments) {
    PyObject *tree, *result = NULL;
    Search search;
    if (!PyArg_ParseTuple(arguments, "O", &tree)) return NULL;
    fastpair_column *column = fpy_column_hold((ColumnObject *)object);
    if (!column) return NULL;
    if (fpy_search_open(&search, object, tree) != 0) {
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
    fpy_search_close(&search);
    fastpair_column_close(column);
    return result;
}

/* Numbers of rows that were found, and a bitmap for the block that is searched. */
typedef struct Found {
    uint64_t *rows;
    uint64_t count, limit;
    uint8_t *bitmap;
} Found;

/* Makes room for `more` rows, or as many as are still wanted. 0, or -1 with an exception. */
static int make_room(Found *found, uint64_t more) {
    if (more > found->limit - found->count) more = found->limit - found->count;
    uint64_t *rows = realloc(found->rows, (found->count + more + 1) * sizeof *rows);
    if (!rows) {
        PyErr_NoMemory();
        return -1;
    }
    found->rows = rows;
    return 0;
}

/* Adds the rows of one block, which lies inside the range. 0, or -1 with an exception. */
static int find_block(const Search *search, uint64_t at, uint64_t count, Found *found) {
    fastpair_matches matches = {.struct_size = sizeof matches, .bitmap = found->bitmap};
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_search_run(search->search, search->first + at, count, &matches, &error);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) {
        fpy_raise(&error);
        return -1;
    }
    if (make_room(found, matches.matches) != 0) return -1;
    for (uint64_t i = 0; matches.matches && i < (count + 7) / 8; i++) {
        for (unsigned bits = found->bitmap[i]; bits && found->count < found->limit;
             bits &= bits - 1) {
            found->rows[found->count++] = at + i * 8 + (unsigned)__builtin_ctz(bits);
        }
    }
    return PyErr_CheckSignals();
}

/* _find(tree, from, limit): numbers of rows from `from` on for which it is true, at most `limit` of
 * them, as bytes of native 64-bit integers that count in this range. Goes block by block, first small
 * ones: fastpair_search_list would search past the end of a slice. */
PyObject *fpy_column_find(PyObject *object, PyObject *arguments) {
    PyObject *tree, *result = NULL;
    unsigned long long from, limit;
    Search search;
    if (!PyArg_ParseTuple(arguments, "OKK", &tree, &from, &limit)) return NULL;
    if (fpy_search_open(&search, object, tree) != 0) return NULL;
    uint64_t step = search.count < BLOCK_ROWS ? search.count : BLOCK_ROWS;
    Found found = {.limit = limit < search.count ? limit : search.count,
                   .bitmap = malloc(step / 8 + 1)};
    int good = found.bitmap && make_room(&found, 0) == 0;
    if (!found.bitmap) PyErr_NoMemory();
    uint64_t block = found.limit < search.count ? FIRST_ROWS : BLOCK_ROWS;
    for (uint64_t at = from; good && at < search.count && found.count < found.limit; at += block) {
        if (at > from && block < BLOCK_ROWS) block *= 2;
        uint64_t count = search.count - at < block ? search.count - at : block;
        good = find_block(&search, at, count, &found) == 0;
    }
    if (good) {
        result = PyBytes_FromStringAndSize((char *)found.rows,
                                           (Py_ssize_t)(found.count * sizeof *found.rows));
    }
    free(found.rows);
    free(found.bitmap);
    fpy_search_close(&search);
    return result;
}
