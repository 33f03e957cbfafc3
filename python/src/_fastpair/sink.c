/* sink.c - where compressed bytes go: a file descriptor, a Python object with write(), or memory; and
 * the progress function that lets Ctrl-C through.
 *
 * The library calls back while the interpreter is given away (Sink.thread). Whatever touches Python
 * takes it back first. */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fpy_sink_open(Sink *sink, PyObject *target, PyObject *progress) {
    *sink = (Sink){.descriptor = -1, .progress = progress == Py_None ? NULL : progress};
    if (target == Py_None) return 0;
    if (!PyLong_Check(target)) {
        sink->file = target;
        return 0;
    }
    sink->descriptor = (int)PyLong_AsLong(target);
    return PyErr_Occurred() ? -1 : 0;
}

void fpy_sink_close(Sink *sink) { free(sink->bytes); }

PyObject *fpy_sink_result(Sink *sink) {
    if (sink->descriptor >= 0 || sink->file) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(sink->bytes ? (char *)sink->bytes : "",
                                     (Py_ssize_t)sink->size);
}

static int write_memory(Sink *sink, const void *data, size_t size) {
    if (size > sink->capacity - sink->size) {
        size_t capacity = sink->capacity + sink->capacity / 2;
        if (capacity < sink->size + size) capacity = sink->size + size;
        uint8_t *bytes = realloc(sink->bytes, capacity);
        if (!bytes) return ENOMEM;
        sink->bytes = bytes;
        sink->capacity = capacity;
    }
    memcpy(sink->bytes + sink->size, data, size);
    sink->size += size;
    return 0;
}

static int interrupted(Sink *sink) {
    PyEval_RestoreThread(sink->thread);
    int result = PyErr_CheckSignals();
    sink->thread = PyEval_SaveThread();
    return result;
}

static int write_descriptor(Sink *sink, const char *data, size_t size) {
    while (size) {
        ssize_t written = write(sink->descriptor, data, size);
        int number = errno; /* which a signal's handler may change */
        if (written < 0 && number == EINTR && interrupted(sink) == 0) continue;
        if (written < 0) return number;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

/* Whoever kept the view must not see the memory later, also if an exception is on its way, which stays.
 * 0, or -1 with an exception. */
static int release_view(PyObject *view) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *released = PyObject_CallMethod(view, "release", NULL);
    int result = released ? 0 : -1;
    Py_XDECREF(released);
    if (type) PyErr_Restore(type, value, trace);
    return result;
}

/* Raw files may take less than they were given, and say how much. */
static int write_object(Sink *sink, const char *data, size_t size) {
    PyEval_RestoreThread(sink->thread);
    int result = 0;
    while (size && result == 0) {
        PyObject *view = PyMemoryView_FromMemory((char *)data, (Py_ssize_t)size, PyBUF_READ);
        PyObject *taken = view ? PyObject_CallMethod(sink->file, "write", "O", view) : NULL;
        int released = view ? release_view(view) : -1;
        size_t count = size;
        if (taken && PyLong_Check(taken)) count = PyLong_AsSize_t(taken);
        if (!taken || released != 0 || PyErr_Occurred()) {
            result = EIO;
        } else if (count == 0 || count > size) {
            PyErr_SetString(PyExc_OSError, "write() took no bytes");
            result = EIO;
        }
        Py_XDECREF(view);
        Py_XDECREF(taken);
        data += count;
        size -= count;
    }
    sink->thread = PyEval_SaveThread();
    return result;
}

static int sink_write(void *context, const void *data, size_t size) {
    Sink *sink = context;
    int number = sink->descriptor >= 0 ? write_descriptor(sink, data, size)
                 : sink->file          ? write_object(sink, data, size)
                                       : write_memory(sink, data, size);
    if (number) sink->error_number = number;
    return number;
}

fastpair_sink fpy_sink_callbacks(Sink *sink) { return (fastpair_sink){sink_write, sink}; }

int fpy_sink_progress(void *context, uint64_t done, uint64_t total) {
    Sink *sink = context;
    PyEval_RestoreThread(sink->thread);
    int stop = PyErr_CheckSignals() != 0;
    if (!stop && sink->progress) {
        PyObject *result = PyObject_CallFunction(sink->progress, "KK", done, total);
        stop = !result;
        Py_XDECREF(result);
    }
    sink->thread = PyEval_SaveThread();
    return stop;
}

PyObject *fpy_sink_raise(Sink *sink, const fastpair_error *error) {
    if (PyErr_Occurred()) return NULL;
    if (sink->error_number == ENOMEM && sink->descriptor < 0) return PyErr_NoMemory();
    if (error->status == FASTPAIR_ERROR_IO && sink->error_number) {
        return fpy_raise_errno(sink->error_number, NULL);
    }
    return fpy_raise(error);
}
