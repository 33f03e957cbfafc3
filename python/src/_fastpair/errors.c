/* errors.c - statuses of the library become exceptions: MemoryError, OSError, and fastpair.Error for
 * all that is about data and arguments. */
#include "binding.h"

#include <errno.h>

PyObject *fpy_error_type;

static const char *status_name(fastpair_status status) {
    static const char *const names[] = {"OK",
                                        "INVALID_ARGUMENT",
                                        "OUT_OF_MEMORY",
                                        "CORRUPT",
                                        "UNSUPPORTED",
                                        "BUFFER_TOO_SMALL",
                                        "IO",
                                        "LIMIT",
                                        "CANCELLED"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "UNKNOWN";
}

PyObject *fpy_raise_fault(fastpair_status status, uint64_t position, const char *message) {
    PyObject *exception = PyObject_CallFunction(fpy_error_type, "s", message);
    if (!exception) return NULL;
    PyObject *name = PyUnicode_FromString(status_name(status));
    PyObject *text = PyUnicode_FromString(message);
    PyObject *where = NULL;
    if (position != FASTPAIR_NO_POSITION) {
        where = PyLong_FromUnsignedLongLong(position);
    } else {
        where = Py_NewRef(Py_None);
    }
    if (name && text && where && PyObject_SetAttrString(exception, "status", name) == 0 &&
        PyObject_SetAttrString(exception, "message", text) == 0 &&
        PyObject_SetAttrString(exception, "position", where) == 0) {
        PyErr_SetObject(fpy_error_type, exception);
    }
    Py_XDECREF(name);
    Py_XDECREF(text);
    Py_XDECREF(where);
    Py_DECREF(exception);
    return NULL;
}

PyObject *fpy_raise(const fastpair_error *error) {
    if (PyErr_Occurred()) return NULL;
    switch (error->status) {
    case FASTPAIR_ERROR_OUT_OF_MEMORY:
        PyErr_SetString(PyExc_MemoryError, error->message);
        return NULL;
    case FASTPAIR_ERROR_IO:
        if (!fpy_source_raise(error)) PyErr_SetString(PyExc_OSError, error->message);
        return NULL;
    case FASTPAIR_ERROR_CANCELLED: PyErr_SetNone(PyExc_KeyboardInterrupt); return NULL;
    default: return fpy_raise_fault(error->status, error->position, error->message);
    }
}

PyObject *fpy_raise_errno(int number, PyObject *path) {
    errno = number;
    return path ? PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path)
                : PyErr_SetFromErrno(PyExc_OSError);
}

int fpy_add_errors(PyObject *module) {
    fpy_error_type = PyErr_NewExceptionWithDoc(
        "fastpair.Error",
        "Data or arguments that fastpair refuses.\n\n"
        "status    what kind of failure, for example 'CORRUPT', 'INVALID_ARGUMENT' or 'LIMIT'\n"
        "position  a byte offset in the file, or the number of a row, or None; the message says "
        "which\n"
        "message   what is wrong",
        PyExc_ValueError, NULL);
    if (!fpy_error_type) return -1;
    /* So that every instance has them, also one that a user makes. */
    if (PyObject_SetAttrString(fpy_error_type, "status", Py_None) != 0 ||
        PyObject_SetAttrString(fpy_error_type, "position", Py_None) != 0 ||
        PyObject_SetAttrString(fpy_error_type, "message", Py_None) != 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "Error", fpy_error_type);
}
