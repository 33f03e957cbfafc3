/* table.c - several columns of the same number of rows as one Arrow stream of structs. Batches end where
 * the chunks of the largest column do, and all columns are cut there, so that each is decoded batch by
 * batch. */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Member {
    fastpair_column *column;
    uint64_t first;
    char *name;
    fastpair_arrow_options options;
} Member;

typedef struct Table {
    uint64_t rows, next;
    /* The column whose chunks make the batches. */
    int64_t lead;
    int64_t count;
    fastpair_error error;
    int failed;
    /* Of any member. */
    int has_reader;
    Member members[];
} Table;

static void table_close(Table *table) {
    for (int64_t i = 0; i < table->count; i++) {
        fastpair_column_close(table->members[i].column);
        free(table->members[i].name);
    }
    free(table);
}

/* ---------------------------------------------------------------- structs of structs */

static void release_schema(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child->release) child->release(child);
    }
    free(schema->private_data);
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child->release) child->release(child);
    }
    free(array->private_data);
    array->release = NULL;
}

/* A struct of `count` fields; fields are pushed one by one, so that a failure can release it. */
static int open_schema(struct ArrowSchema *schema, int64_t count) {
    size_t n = (size_t)count;
    *schema = (struct ArrowSchema){.format = "+s", .name = "", .release = release_schema};
    struct ArrowSchema *children = calloc(n ? n : 1, sizeof *children + sizeof children);
    if (!children) return -1;
    schema->private_data = children;
    schema->children = (struct ArrowSchema **)(children + n);
    for (size_t i = 0; i < n; i++) schema->children[i] = &children[i];
    return 0;
}

static int open_array(struct ArrowArray *array, int64_t count, uint64_t rows) {
    size_t n = (size_t)count;
    *array = (struct ArrowArray){.length = (int64_t)rows, .n_buffers = 1, .release = release_array};
    /* The children, the pointers to them, and the one buffer, which is NULL: no struct is null. */
    struct ArrowArray *children =
        calloc(1, n * (sizeof *children + sizeof children) + sizeof(void *));
    if (!children) return -1;
    array->private_data = children;
    array->children = (struct ArrowArray **)(children + n);
    array->buffers = (const void **)(array->children + n);
    for (size_t i = 0; i < n; i++) array->children[i] = &children[i];
    return 0;
}

static fastpair_status table_schema(Table *table, struct ArrowSchema *out) {
    if (open_schema(out, table->count) != 0) return FASTPAIR_ERROR_OUT_OF_MEMORY;
    for (int64_t i = 0; i < table->count; i++) {
        Member *member = &table->members[i];
        fastpair_status status = fastpair_column_export_schema(member->column, &member->options,
                                                               out->children[i], &table->error);
        if (status != FASTPAIR_OK) {
            out->release(out);
            return status;
        }
        out->n_children = i + 1;
    }
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- the stream */

static int errno_of(fastpair_status status) {
    switch (status) {
    case FASTPAIR_OK: return 0;
    case FASTPAIR_ERROR_OUT_OF_MEMORY: return ENOMEM;
    case FASTPAIR_ERROR_CORRUPT:
    case FASTPAIR_ERROR_INVALID_ARGUMENT: return EILSEQ;
    case FASTPAIR_ERROR_LIMIT: return EFBIG;
    default: return EIO;
    }
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    return errno_of(table_schema(stream->private_data, out));
}

/* Rows of the next batch. */
static fastpair_status next_rows(Table *table, uint64_t *rows) {
    const Member *lead = &table->members[table->lead];
    uint64_t chunk, row = lead->first + table->next;
    fastpair_chunk_info info = {.struct_size = sizeof info};
    fastpair_status status = fastpair_column_find_chunk(lead->column, row, &chunk, &table->error);
    if (status == FASTPAIR_OK) {
        status = fastpair_column_get_chunk(lead->column, chunk, &info, &table->error);
    }
    *rows = info.first_row + info.rows - row;
    if (*rows > table->rows - table->next) *rows = table->rows - table->next;
    return status;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    Table *table = stream->private_data;
    out->release = NULL;
    if (table->failed) return table->failed;
    if (table->next == table->rows) return 0;
    uint64_t rows;
    fastpair_status status = next_rows(table, &rows);
    if (status == FASTPAIR_OK && open_array(out, table->count, rows) != 0) {
        status = FASTPAIR_ERROR_OUT_OF_MEMORY;
        out->release = NULL;
    }
    for (int64_t i = 0; status == FASTPAIR_OK && i < table->count; i++) {
        Member *member = &table->members[i];
        status =
            fastpair_column_export_array(member->column, member->first + table->next, rows,
                                         &member->options, NULL, out->children[i], &table->error);
        if (status == FASTPAIR_OK) out->n_children = i + 1;
    }
    table->failed = errno_of(status);
    if (table->failed) {
        if (out->release) out->release(out);
        return table->failed;
    }
    table->next += rows;
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream) {
    Table *table = stream->private_data;
    return *table->error.message ? table->error.message : NULL;
}

static void stream_release(struct ArrowArrayStream *stream) {
    table_close(stream->private_data);
    stream->release = NULL;
}

/* ---------------------------------------------------------------- from Python */

static int add_member(Table *table, PyObject *item, uint64_t *most) {
    PyObject *object;
    const char *name;
    if (!PyArg_ParseTuple(item, "sO!", &name, (PyTypeObject *)fpy_column_type, &object)) return -1;
    ColumnObject *self = (ColumnObject *)object;
    Member *member = &table->members[table->count];
    member->column = fpy_column_hold(self);
    if (!member->column) return -1;
    table->count++;
    table->has_reader |= self->has_reader;
    member->name = strdup(name);
    member->first = self->first;
    if (!member->name) {
        PyErr_NoMemory();
        return -1;
    }
    if (fpy_arrow_options(self, member->column, NULL, &member->options) != 0) return -1;
    member->options.name = member->name;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_column_get_totals(member->column, &totals, NULL);
    if (table->count == 1 || totals.decoded_bytes > *most) {
        *most = totals.decoded_bytes;
        table->lead = table->count - 1;
    }
    if (table->count > 1 && self->count != table->rows) {
        PyErr_Format(PyExc_ValueError, "column '%s' has %llu rows, those before it have %llu", name,
                     (unsigned long long)self->count, (unsigned long long)table->rows);
        return -1;
    }
    table->rows = self->count;
    return 0;
}

/* A table of a list of (name, column); NULL with an exception. */
static Table *table_open(PyObject *arguments) {
    PyObject *list;
    if (!PyArg_ParseTuple(arguments, "O!", &PyList_Type, &list)) return NULL;
    Py_ssize_t count = PyList_Size(list);
    Table *table = calloc(1, sizeof *table + (size_t)count * sizeof *table->members);
    if (!table) {
        PyErr_NoMemory();
        return NULL;
    }
    uint64_t most = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (add_member(table, PyList_GetItem(list, i), &most) != 0) {
            table_close(table);
            return NULL;
        }
    }
    return table;
}

PyObject *fpy_table_stream(PyObject *module, PyObject *arguments) {
    (void)module;
    Table *table = table_open(arguments);
    if (!table) return NULL;
    struct ArrowArrayStream stream = {stream_schema, stream_next, stream_error, stream_release,
                                      table};
    if (table->has_reader && fpy_source_guard(&stream) != 0) return NULL;
    return fpy_stream_capsule(&stream);
}

PyObject *fpy_table_schema(PyObject *module, PyObject *arguments) {
    (void)module;
    Table *table = table_open(arguments);
    if (!table) return NULL;
    struct ArrowSchema schema;
    fastpair_status status = table_schema(table, &schema);
    PyObject *result =
        status == FASTPAIR_OK ? fpy_schema_capsule(&schema) : fpy_raise(&table->error);
    table_close(table);
    return result;
}
