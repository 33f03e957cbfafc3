/* source.c - columns whose bytes come from a Python function: source(offset, size) gives an object with
 * `size` bytes.
 *
 * The library calls it from threads of its own, so every call into the library that may read gives the
 * interpreter away first, streams included, whose consumers may not. What the function raises waits here,
 * by its text, until the call that failed is back in Python: the library tells of it in words alone. */
#include "binding.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* By reason: (source, exception). Few at a time: most are raised at once. */
static PyObject *failures;
#define MOST_FAILURES 64

/* Of the last read of this thread that failed. */
static _Thread_local char last_reason[160];

/* ---------------------------------------------------------------- reading */

/* Text of an exception in ASCII. */
static void put_reason(PyObject *type, PyObject *value) {
    PyObject *name = PyObject_GetAttrString(type, "__name__");
    PyObject *text = name ? PyUnicode_FromFormat("%U: %S", name, value ? value : Py_None) : NULL;
    PyObject *ascii = text ? PyUnicode_AsEncodedString(text, "ascii", "backslashreplace") : NULL;
    const char *bytes = ascii ? PyBytes_AsString(ascii) : NULL;
    PyErr_Clear();
    PyOS_snprintf(last_reason, sizeof last_reason, "%s", bytes ? bytes : "an exception");
    Py_XDECREF(name);
    Py_XDECREF(text);
    Py_XDECREF(ascii);
}

/* Keeps the exception that is set, for fpy_source_raise. */
static int keep_failure(PyObject *source) {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterruptEx(SIGINT); /* it comes again when the main thread is back in Python */
        PyOS_snprintf(last_reason, sizeof last_reason, "%s", "interrupted");
        return -EINTR;
    }
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
    put_reason(type, value);
    if (PyDict_Size(failures) >= MOST_FAILURES) PyDict_Clear(failures);
    PyObject *entry = value ? PyTuple_Pack(2, source, value) : NULL;
    if (!entry || PyDict_SetItemString(failures, last_reason, entry) != 0) PyErr_Clear();
    Py_XDECREF(entry);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -EIO;
}

static int64_t read_at(void *context, uint64_t offset, void *data, size_t size) {
    PyObject *source = context;
    if (!Py_IsInitialized()) return -EIO;
    PyGILState_STATE state = PyGILState_Ensure();
    int64_t result = -1;
    PyObject *bytes =
        PyObject_CallFunction(source, "Kn", (unsigned long long)offset, (Py_ssize_t)size);
    Py_buffer buffer;
    if (bytes && PyObject_GetBuffer(bytes, &buffer, PyBUF_SIMPLE) == 0) {
        result = buffer.len;
        memcpy(data, buffer.buf, (size_t)buffer.len < size ? (size_t)buffer.len : size);
        PyBuffer_Release(&buffer);
    }
    Py_XDECREF(bytes);
    if (result < 0) result = keep_failure(source);
    PyGILState_Release(state);
    return result;
}

static void explain(void *context, char *text, size_t size) {
    (void)context;
    PyOS_snprintf(text, size, "%s", last_reason);
}

/* The last reference to the column was dropped, in whatever thread that was. */
static void drop_source(void *context) {
    PyObject *source = context;
    if (!Py_IsInitialized()) return; /* the interpreter and its memory are gone */
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *trace, *reasons;
    PyErr_Fetch(&type, &value, &trace);
    reasons = PyDict_Keys(failures);
    for (Py_ssize_t i = 0; reasons && i < PyList_Size(reasons); i++) {
        PyObject *reason = PyList_GetItem(reasons, i);
        PyObject *entry = PyDict_GetItemWithError(failures, reason);
        if (entry && PyTuple_GetItem(entry, 0) == source) PyDict_DelItem(failures, reason);
    }
    Py_XDECREF(reasons);
    Py_DECREF(source);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
}

int fpy_source_raise(const fastpair_error *error) {
    if (PyErr_CheckSignals() != 0) return 1;
    if (!failures) return 0;
    PyObject *reason, *entry;
    Py_ssize_t at = 0;
    while (PyDict_Next(failures, &at, &reason, &entry)) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(reason, &size);
        size_t length = strlen(error->message);
        /* A long message is cut, and the reason is at its end. */
        const char *found = text ? strstr(error->message, ": ") : NULL;
        if (!found || strncmp(found + 2, text, length - (size_t)(found + 2 - error->message)) != 0)
            continue;
        PyObject *value = Py_NewRef(PyTuple_GetItem(entry, 1));
        PyDict_DelItem(failures, reason);
        PyErr_SetObject((PyObject *)Py_TYPE(value), value);
        Py_DECREF(value);
        return 1;
    }
    return 0;
}

/* ---------------------------------------------------------------- opening */

PyObject *fpy_column_open_source(PyObject *type, PyObject *arguments) {
    PyObject *source;
    unsigned long long size;
    unsigned requests, threads;
    if (!PyArg_ParseTuple(arguments, "OKII", &source, &size, &requests, &threads)) return NULL;
    if (!failures && !(failures = PyDict_New())) return NULL;
    fastpair_range_source from = {.struct_size = sizeof from,
                                  .read_at = read_at,
                                  .context = source,
                                  .file_size = size,
                                  .requests = requests,
                                  .explain = explain};
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .threads = threads,
                                     .on_close = drop_source,
                                     .on_close_context = source};
    fastpair_column *column;
    fastpair_error error;
    fastpair_status status;
    Py_INCREF(source); /* drop_source drops it */
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_open_source(&from, &options, &column, &error);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) {
        fpy_raise(&error);
        drop_source(source);
        return NULL;
    }
    PyObject *result = fpy_column_wrap((PyTypeObject *)type, column);
    if (result) ((ColumnObject *)result)->has_reader = 1;
    return result;
}

/* ---------------------------------------------------------------- streams */

static void *give_away(PyGILState_STATE *state) {
    *state = PyGILState_Ensure(); /* whether or not the consumer has the interpreter */
    return PyEval_SaveThread();
}

static void take_back(PyThreadState *thread, PyGILState_STATE state) {
    PyEval_RestoreThread(thread);
    PyGILState_Release(state);
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
    struct ArrowArrayStream *inner = stream->private_data;
    PyGILState_STATE state;
    PyThreadState *thread = give_away(&state);
    int result = inner->get_schema(inner, schema);
    take_back(thread, state);
    return result;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array) {
    struct ArrowArrayStream *inner = stream->private_data;
    PyGILState_STATE state;
    PyThreadState *thread = give_away(&state);
    int result = inner->get_next(inner, array);
    take_back(thread, state);
    return result;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
    struct ArrowArrayStream *inner = stream->private_data;
    return inner->get_last_error(inner);
}

static void release_stream(struct ArrowArrayStream *stream) {
    struct ArrowArrayStream *inner = stream->private_data;
    inner->release(inner);
    free(inner);
    stream->release = NULL;
}

int fpy_source_guard(struct ArrowArrayStream *stream) {
    struct ArrowArrayStream *inner = malloc(sizeof *inner);
    if (!inner) {
        stream->release(stream);
        PyErr_NoMemory();
        return -1;
    }
    *inner = *stream;
    *stream =
        (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, inner};
    /* cppcheck-suppress memleak ; the stream owns it */
    return 0;
}
