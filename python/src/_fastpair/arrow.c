/* arrow.c - a column's rows as Arrow: the three methods of the Arrow PyCapsule interface, and capsules
 * themselves. Nothing is copied: the buffers that the library decoded into are handed on.
 *
 * One object has one Arrow type, whichever method is asked: 64-bit offsets if the range has more than
 * INT32_MAX bytes, else 32-bit ones. `requested_schema` may ask for another. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- capsules */

/* DEFINE_CAPSULE(function, struct, name): a capsule that owns a struct on the heap and releases it
 * unless a consumer has moved it out. */
#define DEFINE_CAPSULE(function, type, capsule_name)                                               \
    static void free_##type(PyObject *capsule) {                                                   \
        struct type *held = PyCapsule_GetPointer(capsule, capsule_name);                           \
        if (!held) return;                                                                         \
        if (held->release) held->release(held);                                                    \
        free(held);                                                                                \
    }                                                                                              \
    PyObject *function(struct type *what) {                                                        \
        struct type *held = malloc(sizeof *held);                                                  \
        if (!held) {                                                                               \
            if (what->release) what->release(what);                                                \
            return PyErr_NoMemory();                                                               \
        }                                                                                          \
        *held = *what;                                                                             \
        what->release = NULL;                                                                      \
        PyObject *capsule = PyCapsule_New(held, capsule_name, free_##type);                        \
        if (!capsule) {                                                                            \
            if (held->release) held->release(held);                                                \
            free(held);                                                                            \
        }                                                                                          \
        return capsule;                                                                            \
    }

DEFINE_CAPSULE(fpy_schema_capsule, ArrowSchema, "arrow_schema")
DEFINE_CAPSULE(fpy_array_capsule, ArrowArray, "arrow_array")
DEFINE_CAPSULE(fpy_stream_capsule, ArrowArrayStream, "arrow_array_stream")

/* ---------------------------------------------------------------- which type */

/* A requested type that is not one of strings is not ours to give: the consumer gets what the column
 * is, and converts or complains. */
static int read_request(PyObject *requested, fastpair_arrow_options *options) {
    static const struct {
        const char *format;
        fastpair_arrow_layout layout;
        fastpair_arrow_type type;
    } known[] = {{"u", FASTPAIR_ARROW_OFFSETS32, FASTPAIR_ARROW_TEXT},
                 {"U", FASTPAIR_ARROW_OFFSETS64, FASTPAIR_ARROW_TEXT},
                 {"vu", FASTPAIR_ARROW_VIEWS, FASTPAIR_ARROW_TEXT},
                 {"z", FASTPAIR_ARROW_OFFSETS32, FASTPAIR_ARROW_BYTES},
                 {"Z", FASTPAIR_ARROW_OFFSETS64, FASTPAIR_ARROW_BYTES},
                 {"vz", FASTPAIR_ARROW_VIEWS, FASTPAIR_ARROW_BYTES}};
    if (!requested || requested == Py_None) return 0;
    const struct ArrowSchema *schema = PyCapsule_GetPointer(requested, "arrow_schema");
    if (!schema) return -1;
    if (!schema->release || !schema->format || schema->dictionary) return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(schema->format, known[i].format) == 0) {
            options->layout = known[i].layout;
            options->type = known[i].type;
        }
    }
    return 0;
}

int fpy_arrow_options(ColumnObject *self, fastpair_column *column, PyObject *requested,
                      fastpair_arrow_options *options) {
    *options =
        (fastpair_arrow_options){.struct_size = sizeof *options, .allocator = fpy_allocator()};
    fastpair_error error;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_status status = fastpair_column_get_totals(column, &totals, &error);
    uint64_t bytes = totals.decoded_bytes;
    /* The size of a range may take the unpacking of cold chunks: asked only where it matters. */
    if (status == FASTPAIR_OK && bytes > INT32_MAX && self->count != totals.rows) {
        uint64_t first = self->first, count = self->count;
        Py_BEGIN_ALLOW_THREADS
            status = fastpair_column_rows_size(column, first, count, &bytes, &error);
        Py_END_ALLOW_THREADS
    }
    if (status != FASTPAIR_OK) {
        fpy_raise(&error);
        return -1;
    }
    options->layout = bytes > INT32_MAX ? FASTPAIR_ARROW_OFFSETS64 : FASTPAIR_ARROW_OFFSETS32;
    return read_request(requested, options);
}

/* ---------------------------------------------------------------- the interface */

static int read_requested(PyObject *arguments, PyObject *keywords, PyObject **requested) {
    static char *names[] = {"requested_schema", NULL};
    *requested = NULL;
    return PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", names, requested) ? 0 : -1;
}

/* Holds the column and says how to export it; NULL with an exception. */
static fastpair_column *begin(PyObject *object, PyObject *requested,
                              fastpair_arrow_options *options) {
    ColumnObject *self = (ColumnObject *)object;
    fastpair_column *column = fpy_column_hold(self);
    if (column && fpy_arrow_options(self, column, requested, options) != 0) {
        fastpair_column_close(column);
        return NULL;
    }
    return column;
}

PyObject *fpy_column_arrow_schema(PyObject *object, PyObject *none) {
    (void)none;
    fastpair_arrow_options options;
    fastpair_column *column = begin(object, NULL, &options);
    if (!column) return NULL;
    fastpair_error error;
    struct ArrowSchema schema;
    fastpair_status status = fastpair_column_export_schema(column, &options, &schema, &error);
    fastpair_column_close(column);
    return status == FASTPAIR_OK ? fpy_schema_capsule(&schema) : fpy_raise(&error);
}

/* Decodes all rows of a range and closes `column`. 0, or -1 with an exception. */
static int export_rows(const ColumnObject *self, fastpair_column *column,
                       const fastpair_arrow_options *options, struct ArrowSchema *schema,
                       struct ArrowArray *array) {
    fastpair_error error;
    uint64_t first = self->first, count = self->count;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_export_array(column, first, count, options, schema, array, &error);
        fastpair_column_close(column);
    Py_END_ALLOW_THREADS
    if (status == FASTPAIR_OK) return 0;
    fpy_raise(&error);
    return -1;
}

/* Takes both structs over, also if it fails. */
static PyObject *make_pair(struct ArrowSchema *schema, struct ArrowArray *array) {
    PyObject *type = fpy_schema_capsule(schema), *rows = fpy_array_capsule(array);
    PyObject *result = type && rows ? PyTuple_Pack(2, type, rows) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(rows);
    return result;
}

/* All rows of a range as a pair of capsules. */
static PyObject *export_pair(const ColumnObject *self, fastpair_column *column,
                             const fastpair_arrow_options *options) {
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (export_rows(self, column, options, &schema, &array) != 0) return NULL;
    return make_pair(&schema, &array);
}

PyObject *fpy_column_arrow_array(PyObject *object, PyObject *arguments, PyObject *keywords) {
    ColumnObject *self = (ColumnObject *)object;
    PyObject *requested;
    fastpair_arrow_options options;
    if (read_requested(arguments, keywords, &requested) != 0) return NULL;
    fastpair_column *column = begin(object, requested, &options);
    if (!column) return NULL;
    return export_pair(self, column, &options);
}

/* _views(): the same as views, which engines that work in views take as they are. */
PyObject *fpy_column_views(PyObject *object, PyObject *none) {
    (void)none;
    fastpair_arrow_options options;
    fastpair_column *column = begin(object, NULL, &options);
    if (!column) return NULL;
    options.layout = FASTPAIR_ARROW_VIEWS;
    return export_pair((ColumnObject *)object, column, &options);
}

PyObject *fpy_column_arrow_stream(PyObject *object, PyObject *arguments, PyObject *keywords) {
    ColumnObject *self = (ColumnObject *)object;
    PyObject *requested;
    fastpair_arrow_options options;
    if (read_requested(arguments, keywords, &requested) != 0) return NULL;
    fastpair_column *column = begin(object, requested, &options);
    if (!column) return NULL;
    fastpair_error error;
    struct ArrowArrayStream stream;
    fastpair_status status;
    uint64_t first = self->first, count = self->count;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_export_stream(column, first, count, &options, &stream, &error);
        fastpair_column_close(column);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    if (self->has_reader && fpy_source_guard(&stream) != 0) return NULL;
    return fpy_stream_capsule(&stream);
}

/* ---------------------------------------------------------------- arrays of our own */

/* _decode(type): all rows of the range as an Array; type 0: as recorded, 2: bytes. */
PyObject *fpy_column_decode(PyObject *object, PyObject *arguments) {
    ColumnObject *self = (ColumnObject *)object;
    int type;
    fastpair_arrow_options options;
    if (!PyArg_ParseTuple(arguments, "i", &type)) return NULL;
    fastpair_column *column = begin(object, NULL, &options);
    if (!column) return NULL;
    options.type = (fastpair_arrow_type)type;
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (export_rows(self, column, &options, &schema, &array) != 0) return NULL;
    return fpy_array_new(&schema, &array);
}

/* Copies row numbers of a range, in native 64-bit integers, and makes them numbers of the column.
 * Those below 0 count from the end. NULL with an exception. */
static uint64_t *read_numbers(const ColumnObject *self, const Py_buffer *buffer, uint64_t *count) {
    *count = (uint64_t)buffer->len / sizeof(int64_t);
    uint64_t *rows = malloc(*count ? *count * sizeof *rows : 1);
    if (!rows) {
        PyErr_NoMemory();
        return NULL;
    }
    for (uint64_t i = 0; i < *count; i++) {
        int64_t row;
        memcpy(&row, (const char *)buffer->buf + i * sizeof row, sizeof row);
        if (row < 0) row += (int64_t)self->count;
        if (row < 0 || (uint64_t)row >= self->count) {
            free(rows);
            PyErr_Format(PyExc_IndexError, "number %llu of the list is not a row",
                         (unsigned long long)i);
            return NULL;
        }
        rows[i] = self->first + (uint64_t)row;
    }
    return rows;
}

/* A list of rows of a column. Both are the caller's to close. */
typedef struct List {
    fastpair_column *column;
    uint64_t *rows;
    uint64_t count;
} List;

/* Reads the one argument of a method, a buffer of native int64. 0, or -1 with an exception. */
static int list_open(List *list, PyObject *object, PyObject *arguments) {
    ColumnObject *self = (ColumnObject *)object;
    Py_buffer buffer;
    *list = (List){0};
    if (!PyArg_ParseTuple(arguments, "y*", &buffer)) return -1;
    list->column = fpy_column_hold(self);
    if (list->column) list->rows = read_numbers(self, &buffer, &list->count);
    PyBuffer_Release(&buffer);
    if (list->rows) return 0;
    fastpair_column_close(list->column);
    return -1;
}

static void list_close(List *list) {
    fastpair_column_close(list->column);
    free(list->rows);
}

/* _listed(numbers): an Array of listed rows; `numbers` is a buffer of native int64. */
PyObject *fpy_column_listed(PyObject *object, PyObject *arguments) {
    List list;
    if (list_open(&list, object, arguments) != 0) return NULL;
    /* Offsets as wide as the rows need, whatever the column's are: rows may repeat. */
    fastpair_arrow_options options = {.struct_size = sizeof options, .allocator = fpy_allocator()};
    fastpair_error error;
    struct ArrowSchema schema;
    struct ArrowArray array;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_export_listed(list.column, list.rows, list.count, &options,
                                               &schema, &array, &error);
        list_close(&list);
    Py_END_ALLOW_THREADS
    return status == FASTPAIR_OK ? fpy_array_new(&schema, &array) : fpy_raise(&error);
}

/* ---------------------------------------------------------------- views of listed rows */

/* A row that is looked up by its number takes as long as this many in a range. */
#define LOOKUP_ROWS 5u

/* Whether rows ascend and are so many of their range that all of it is decoded sooner. */
static int is_dense(const List *list) {
    for (uint64_t i = 1; i < list->count; i++) {
        if (list->rows[i] <= list->rows[i - 1]) return 0;
    }
    return list->count && list->rows[list->count - 1] - list->rows[0] < list->count * LOOKUP_ROWS;
}

/* Keeps those rows of a range of views that are listed and ascend. The buffers are ours until the array
 * is handed on. */
static void keep_listed(const List *list, struct ArrowArray *array) {
    uint8_t *validity = (uint8_t *)array->buffers[0], *views = (uint8_t *)array->buffers[1];
    int64_t nulls = 0;
    for (uint64_t i = 0; i < list->count; i++) {
        uint64_t row = list->rows[i] - list->rows[0];
        if (row != i) memcpy(views + i * 16, views + row * 16, 16);
        if (!validity) continue;
        unsigned bit = validity[row / 8] >> row % 8 & 1u;
        validity[i / 8] = (uint8_t)((validity[i / 8] & ~(1u << i % 8)) | bit << i % 8);
        nulls += !bit;
    }
    array->length = (int64_t)list->count;
    array->null_count = nulls;
}

/* _listed_views(numbers): the same rows as views. Bytes between rows are kept with them where that is
 * faster than to look each row up. */
PyObject *fpy_column_listed_views(PyObject *object, PyObject *arguments) {
    List list;
    if (list_open(&list, object, arguments) != 0) return NULL;
    fastpair_arrow_options options = {.struct_size = sizeof options,
                                      .layout = FASTPAIR_ARROW_VIEWS,
                                      .allocator = fpy_allocator()};
    fastpair_error error;
    struct ArrowSchema schema;
    struct ArrowArray array;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        if (is_dense(&list)) {
            uint64_t range = list.rows[list.count - 1] - list.rows[0] + 1;
            status = fastpair_column_export_array(list.column, list.rows[0], range, &options,
                                                  &schema, &array, &error);
            if (status == FASTPAIR_OK) keep_listed(&list, &array);
        } else {
            status = fastpair_column_export_listed(list.column, list.rows, list.count, &options,
                                                   &schema, &array, &error);
        }
        list_close(&list);
    Py_END_ALLOW_THREADS
    return status == FASTPAIR_OK ? make_pair(&schema, &array) : fpy_raise(&error);
}
