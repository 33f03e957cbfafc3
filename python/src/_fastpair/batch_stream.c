/* batch_stream.c - an Arrow stream of structs whose batches come from Python: an iterator of lists of
 * arrays, one per column. So a table that is decoded piece by piece, in threads of Python, needs no
 * Arrow library to be read by one. What the iterator raises is the stream's error. */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Feed {
    /* A callable that gives a new capsule of the schema each time, and an iterator of (rows, arrays). */
    PyObject *schema, *batches;
    /* What the arrays must be. */
    struct ArrowSchema expected;
    /* From malloc, or NULL. */
    char *message;
    /* An errno value, once get_next failed. */
    int failed;
} Feed;

/* A batch's children and the arrays of Python that they were moved from are not needed any more. */
typedef struct Batch {
    const void *no_validity;
    struct ArrowArray **pointers;
    struct ArrowArray children[];
} Batch;

static void release_batch(struct ArrowArray *array) {
    Batch *batch = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (batch->children[i].release) batch->children[i].release(&batch->children[i]);
    }
    free(batch->pointers);
    free(batch);
    array->release = NULL;
}

/* The exception that is set becomes the message; an errno value. The interpreter is held. */
static int keep_exception(Feed *feed) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
    int number = type && PyErr_GivenExceptionMatches(type, PyExc_MemoryError) ? ENOMEM : EIO;
    free(feed->message);
    feed->message = bytes ? strdup(PyBytes_AsString(bytes)) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(bytes);
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return number;
}

/* ---------------------------------------------------------------- a batch */

/* Moves one array of Python into *child if it is of the type expected. 0, or -1 with an exception. */
static int take_child(PyObject *object, const struct ArrowSchema *expected, int64_t rows,
                      struct ArrowArray *child) {
    PyObject *pair = PyObject_CallMethod(object, "__arrow_c_array__", NULL);
    PyObject *first, *second;
    if (!pair) return -1;
    int result = -1;
    if (PyArg_ParseTuple(pair, "OO", &first, &second)) {
        const struct ArrowSchema *schema = PyCapsule_GetPointer(first, "arrow_schema");
        struct ArrowArray *array = schema ? PyCapsule_GetPointer(second, "arrow_array") : NULL;
        if (array && (!array->release || !schema->release)) {
            PyErr_SetString(PyExc_ValueError, "an array of a batch has been consumed already");
        } else if (array && strcmp(schema->format, expected->format) != 0) {
            PyErr_Format(PyExc_ValueError,
                         "column '%s' is of Arrow type %s here and of %s elsewhere",
                         expected->name ? expected->name : "", schema->format, expected->format);
        } else if (array && array->length != rows) {
            PyErr_SetString(PyExc_ValueError, "arrays of a batch have different lengths");
        } else if (array) {
            *child = *array;
            array->release = NULL;
            result = 0;
        }
    }
    Py_DECREF(pair);
    return result;
}

/* Makes a struct of an item of the iterator. 0, or -1 with an exception. */
static int make_batch(const Feed *feed, PyObject *item, struct ArrowArray *out) {
    long long rows;
    PyObject *list;
    size_t count = (size_t)feed->expected.n_children;
    if (!PyArg_ParseTuple(item, "LO!", &rows, &PyList_Type, &list)) return -1;
    if (PyList_Size(list) != (Py_ssize_t)count) {
        PyErr_SetString(PyExc_ValueError, "a batch has another number of columns than its schema");
        return -1;
    }
    Batch *batch = calloc(1, sizeof *batch + count * sizeof *batch->children);
    struct ArrowArray **pointers = calloc(count + 1, sizeof *pointers);
    if (!batch || !pointers) {
        free(batch);
        free(pointers);
        PyErr_NoMemory();
        return -1;
    }
    batch->pointers = pointers;
    *out = (struct ArrowArray){.length = rows,
                               .n_buffers = 1,
                               .n_children = (int64_t)count,
                               .buffers = &batch->no_validity,
                               .children = pointers,
                               .release = release_batch,
                               .private_data = batch};
    for (size_t i = 0; i < count; i++) {
        pointers[i] = &batch->children[i];
        PyObject *object = PyList_GetItem(list, (Py_ssize_t)i);
        if (take_child(object, feed->expected.children[i], rows, pointers[i]) != 0) {
            out->release(out);
            return -1;
        }
    }
    return 0;
}

/* ---------------------------------------------------------------- the stream */

/* Calls for a schema and moves it out of its capsule. 0, or -1 with an exception. */
static int make_schema(const Feed *feed, struct ArrowSchema *out) {
    PyObject *capsule = PyObject_CallNoArgs(feed->schema);
    struct ArrowSchema *schema = capsule ? PyCapsule_GetPointer(capsule, "arrow_schema") : NULL;
    if (schema) {
        *out = *schema;
        schema->release = NULL;
    }
    Py_XDECREF(capsule);
    return schema ? 0 : -1;
}

static int feed_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    Feed *feed = stream->private_data;
    PyGILState_STATE state = PyGILState_Ensure();
    int number = make_schema(feed, out) == 0 ? 0 : keep_exception(feed);
    PyGILState_Release(state);
    return number;
}

static int feed_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    Feed *feed = stream->private_data;
    out->release = NULL;
    if (feed->failed) return feed->failed;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *item = PyIter_Next(feed->batches);
    if (item) make_batch(feed, item, out);
    Py_XDECREF(item);
    if (PyErr_Occurred()) feed->failed = keep_exception(feed);
    PyGILState_Release(state);
    return feed->failed;
}

static const char *feed_error(struct ArrowArrayStream *stream) {
    return ((Feed *)stream->private_data)->message;
}

static void feed_close(Feed *feed) {
    if (fpy_is_alive()) { /* else the interpreter and its memory are gone */
        PyGILState_STATE state = PyGILState_Ensure();
        Py_XDECREF(feed->schema);
        Py_XDECREF(feed->batches);
        if (feed->expected.release) feed->expected.release(&feed->expected);
        PyGILState_Release(state);
    }
    free(feed->message);
    free(feed);
}

static void feed_release(struct ArrowArrayStream *stream) {
    feed_close(stream->private_data);
    stream->release = NULL;
}

/* batch_stream(schema, batches): a capsule. `schema` is called for capsules of the schema, a struct's;
 * `batches` is an iterator of (rows, list of objects with __arrow_c_array__). */
PyObject *fpy_batch_stream(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *schema, *batches;
    if (!PyArg_ParseTuple(arguments, "OO", &schema, &batches)) return NULL;
    Feed *feed = calloc(1, sizeof *feed);
    if (!feed) return PyErr_NoMemory();
    feed->schema = Py_NewRef(schema);
    feed->batches = PyObject_GetIter(batches);
    if (!feed->batches || make_schema(feed, &feed->expected) != 0) {
        feed_close(feed);
        return NULL;
    }
    struct ArrowArrayStream stream = {feed_schema, feed_next, feed_error, feed_release, feed};
    return fpy_stream_capsule(&stream);
}
