/* column.c - the type Column: opening, closing, rows by number, ranges. Its other methods are in
 * column_methods.c, arrow.c and search.c. */
#include "binding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

PyObject *fpy_column_type;

/* ---------------------------------------------------------------- opening */

/* The buffer that a column's image lies in; it goes when the column's last reference does, in whatever
 * thread that is. */
static void drop_buffer(void *context) {
    Py_buffer *buffer = context;
    if (fpy_is_alive()) { /* else the interpreter and its memory are gone */
        PyGILState_STATE state = PyGILState_Ensure();
        PyBuffer_Release(buffer);
        PyGILState_Release(state);
    }
    free(buffer);
}

/* A new object of `type` around `column`, whose reference it takes over, also if it fails. */
static PyObject *wrap(PyTypeObject *type, fastpair_column *column, uint64_t first, uint64_t count) {
    fastpair_error error;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_status status = fastpair_column_get_totals(column, &totals, &error);
    if (status == FASTPAIR_OK && totals.rows > (uint64_t)PY_SSIZE_T_MAX) {
        fastpair_column_close(column);
        return fpy_raise_fault(FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                               "more rows than len() can say");
    }
    if (status != FASTPAIR_OK) {
        fastpair_column_close(column);
        return fpy_raise(&error);
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    ColumnObject *self = (ColumnObject *)allocate(type, 0);
    if (!self) {
        fastpair_column_close(column);
        return NULL;
    }
    self->column = column;
    self->first = first;
    self->count = count == UINT64_MAX ? totals.rows : count;
    self->type = totals.type;
    return (PyObject *)self;
}

PyObject *fpy_column_wrap(PyTypeObject *type, fastpair_column *column) {
    return wrap(type, column, 0, UINT64_MAX);
}

/* The reason of a failed open as Python knows it: the library tells it in words alone. */
static PyObject *raise_open(PyObject *path, const char *name, const fastpair_error *error) {
    struct stat about;
    if (error->status == FASTPAIR_ERROR_IO) {
        int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0) return fpy_raise_errno(errno, path);
        int number = fstat(file, &about) == 0 && S_ISDIR(about.st_mode) ? EISDIR : 0;
        close(file);
        if (number) return fpy_raise_errno(number, path);
    }
    return fpy_raise(error);
}

static PyObject *column_open_file(PyObject *type, PyObject *arguments) {
    PyObject *path, *name;
    unsigned threads;
    if (!PyArg_ParseTuple(arguments, "OI", &path, &threads)) return NULL;
    if (!PyUnicode_FSConverter(path, &name)) return NULL;
    fastpair_open_options options = {.struct_size = sizeof options, .threads = threads};
    fastpair_column *column;
    fastpair_error error;
    fastpair_status status;
    const char *text = PyBytes_AsString(name);
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_open_file(text, &options, &column, &error);
    Py_END_ALLOW_THREADS
    PyObject *self = status == FASTPAIR_OK ? wrap((PyTypeObject *)type, column, 0, UINT64_MAX)
                                           : raise_open(path, text, &error);
    Py_DECREF(name);
    return self;
}

static PyObject *column_open_buffer(PyObject *type, PyObject *arguments) {
    PyObject *image;
    unsigned threads;
    if (!PyArg_ParseTuple(arguments, "OI", &image, &threads)) return NULL;
    Py_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer) return PyErr_NoMemory();
    if (PyObject_GetBuffer(image, buffer, PyBUF_SIMPLE) != 0) {
        free(buffer);
        return NULL;
    }
    fastpair_open_options options = {.struct_size = sizeof options,
                                     .threads = threads,
                                     .on_close = drop_buffer,
                                     .on_close_context = buffer};
    fastpair_column *column;
    fastpair_error error;
    fastpair_status status;
    /* An empty buffer may have no address. */
    const uint8_t *data = buffer->buf ? buffer->buf : (const uint8_t *)"";
    uint64_t size = (uint64_t)buffer->len;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_open(data, size, &options, &column, &error);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) {
        PyBuffer_Release(buffer);
        free(buffer);
        return fpy_raise(&error);
    }
    return wrap((PyTypeObject *)type, column, 0, UINT64_MAX);
}

/* ---------------------------------------------------------------- life */

fastpair_column *fpy_column_hold(ColumnObject *self) {
    if (!self->column) {
        PyErr_SetString(PyExc_ValueError, "this column is closed");
        return NULL;
    }
    return fastpair_column_retain(self->column);
}

static PyObject *column_close(PyObject *object, PyObject *none) {
    (void)none;
    ColumnObject *self = (ColumnObject *)object;
    fastpair_column *column = self->column;
    self->column = NULL;
    fastpair_column_close(column);
    Py_RETURN_NONE;
}

static void column_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    fastpair_column_close(((ColumnObject *)object)->column);
    Py_XDECREF(((ColumnObject *)object)->source);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- rows */

PyObject *fpy_row(fastpair_type type, uint64_t row, const uint8_t *bytes, uint64_t size) {
    const char *text = size ? (const char *)bytes : "";
    if (type != FASTPAIR_TYPE_TEXT) return PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, NULL);
    if (!result && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        PyErr_Clear();
        return fpy_raise_fault(FASTPAIR_ERROR_CORRUPT, row,
                               "the file says text, but this row is not UTF-8");
    }
    return result;
}

/* One row; fills *size in. Nothing gives the interpreter away for it, as a row takes less time than
 * that, unless its bytes have to be read by Python. */
static fastpair_status decode_row(ColumnObject *self, uint64_t row, uint8_t *bytes, uint64_t *size,
                                  int *is_null, fastpair_error *error) {
    uint64_t capacity = *size;
    if (!self->has_reader) {
        return fastpair_column_decode_row(self->column, row, bytes, capacity, size, is_null, error);
    }
    fastpair_column *column = fastpair_column_retain(self->column);
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_decode_row(column, row, bytes, capacity, size, is_null, error);
        fastpair_column_close(column);
    Py_END_ALLOW_THREADS
    return status;
}

static PyObject *long_row(ColumnObject *self, uint64_t row, uint64_t size) {
    fastpair_error error;
    uint8_t *bytes = malloc(size);
    if (!bytes) return PyErr_NoMemory();
    PyObject *result = decode_row(self, row, bytes, &size, NULL, &error) == FASTPAIR_OK
                           ? fpy_row(self->type, row, bytes, size)
                           : fpy_raise(&error);
    free(bytes);
    return result;
}

static PyObject *column_item(PyObject *object, Py_ssize_t index) {
    ColumnObject *self = (ColumnObject *)object;
    if (index < 0 || (uint64_t)index >= self->count) {
        PyErr_SetString(PyExc_IndexError, "no such row");
        return NULL;
    }
    if (!self->column) {
        PyErr_SetString(PyExc_ValueError, "this column is closed");
        return NULL;
    }
    uint8_t bytes[512];
    uint64_t row = self->first + (uint64_t)index, size = sizeof bytes;
    int is_null;
    fastpair_error error;
    fastpair_status status = decode_row(self, row, bytes, &size, &is_null, &error);
    if (status == FASTPAIR_ERROR_BUFFER_TOO_SMALL && self->column) {
        return long_row(self, row, size);
    }
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    if (is_null) Py_RETURN_NONE;
    return fpy_row(self->type, row, bytes, size);
}

static Py_ssize_t column_length(PyObject *self) {
    return (Py_ssize_t)((ColumnObject *)self)->count;
}

static PyObject *slice(ColumnObject *self, PyObject *key) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return NULL;
    Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)self->count, &start, &stop, step);
    if (step != 1) {
        return PyObject_CallMethod((PyObject *)self, "_stepped", "nnn", start, step, count);
    }
    fastpair_column *column = fpy_column_hold(self);
    if (!column) return NULL;
    PyObject *view =
        wrap(Py_TYPE((PyObject *)self), column, self->first + (uint64_t)start, (uint64_t)count);
    if (view) ((ColumnObject *)view)->source = Py_XNewRef(self->source);
    if (view) ((ColumnObject *)view)->has_reader = self->has_reader;
    return view;
}

static PyObject *column_subscript(PyObject *object, PyObject *key) {
    ColumnObject *self = (ColumnObject *)object;
    if (PySlice_Check(key)) return slice(self, key);
    if (!PyIndex_Check(key)) {
        PyErr_SetString(PyExc_TypeError, "rows are chosen by an integer or a slice; see take()");
        return NULL;
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) return NULL;
    return column_item(object, index < 0 ? index + (Py_ssize_t)self->count : index);
}

/* ---------------------------------------------------------------- the type */

static PyObject *get_first(PyObject *self, void *none) {
    (void)none;
    return PyLong_FromUnsignedLongLong(((ColumnObject *)self)->first);
}

static PyObject *get_closed(PyObject *self, void *none) {
    (void)none;
    return PyBool_FromLong(!((ColumnObject *)self)->column);
}

static PyObject *get_type(PyObject *self, void *none) {
    (void)none;
    return PyUnicode_FromString(((ColumnObject *)self)->type == FASTPAIR_TYPE_TEXT ? "text"
                                                                                   : "bytes");
}

static PyObject *get_source(PyObject *self, void *none) {
    (void)none;
    PyObject *source = ((ColumnObject *)self)->source;
    return Py_NewRef(source ? source : Py_None);
}

static int set_source(PyObject *self, PyObject *source, void *none) {
    (void)none;
    PyObject *before = ((ColumnObject *)self)->source;
    ((ColumnObject *)self)->source = Py_XNewRef(source);
    Py_XDECREF(before);
    return 0;
}

static PyGetSetDef attributes[] = {
    {"_source", get_source, set_source, NULL, NULL},
    {"first", get_first, NULL,
     "Number of the first row in the whole column: 0 unless this is a slice.", NULL},
    {"closed", get_closed, NULL, "True after close().", NULL},
    {"type", get_type, NULL, "'text' if rows are str, 'bytes' if they are bytes.", NULL},
    {0}};

static PyMethodDef openers[] = {
    {"_open_file", column_open_file, METH_VARARGS | METH_CLASS, NULL},
    {"_open_buffer", column_open_buffer, METH_VARARGS | METH_CLASS, NULL},
    {"_open_source", fpy_column_open_source, METH_VARARGS | METH_CLASS, NULL},
    {"close", column_close, METH_NOARGS,
     "Lets go of the file. Slices, arrays and streams made before go on working."},
    {0}};

int fpy_add_column(PyObject *module) {
    /* One table of methods for the type, made of two. */
    static PyMethodDef methods[64];
    size_t count = 0;
    for (PyMethodDef *from = openers; from->ml_name; from++) methods[count++] = *from;
    for (PyMethodDef *from = fpy_column_methods; from->ml_name; from++) methods[count++] = *from;
    PyType_Slot slots[] = {{Py_tp_dealloc, column_free},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, attributes},
                           {Py_sq_length, column_length},
                           {Py_sq_item, column_item},
                           {Py_mp_length, column_length},
                           {Py_mp_subscript, column_subscript},
                           {Py_tp_doc, "A compressed column, opened."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "fastpair._fastpair.Column",
                        .basicsize = sizeof(ColumnObject),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    fpy_column_type = PyType_FromSpec(&spec);
    return fpy_column_type ? PyModule_AddObjectRef(module, "Column", fpy_column_type) : -1;
}
