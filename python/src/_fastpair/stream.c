/* stream.c - reading a producer's Arrow stream of structs batch by batch, so that one pass over it can
 * feed several writers. A Stream gives Batches, which writers read where they lie. A Stream whose
 * batches were not asked for can be handed on to whoever speaks Arrow. */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct StreamObject {
    PyObject_HEAD struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    /* A call is under way in some thread: streams take one at a time. */
    int busy;
} StreamObject;

static PyObject *stream_type, *batch_type;

/* ---------------------------------------------------------------- batches */

static void batch_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    BatchObject *self = (BatchObject *)object;
    if (self->array.release) self->array.release(&self->array);
    Py_XDECREF(self->stream);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static Py_ssize_t batch_length(PyObject *self) {
    return (Py_ssize_t)((BatchObject *)self)->array.length;
}

int fpy_batch_open(PyObject *object, BatchObject **batch, const struct ArrowSchema **schema) {
    int is_batch = PyObject_IsInstance(object, batch_type);
    if (is_batch <= 0) {
        if (is_batch == 0) PyErr_SetString(PyExc_TypeError, "a batch of a stream is needed");
        return -1;
    }
    *batch = (BatchObject *)object;
    *schema = &((StreamObject *)(*batch)->stream)->schema;
    return 0;
}

/* ---------------------------------------------------------------- sizes */

/* Bytes of rows first .. end of an array of strings, as far as they can be seen at once. Rows of a
 * dictionary count as much as its entries do on average, and what is no string counts nothing. */
static double string_bytes(const struct ArrowSchema *type, const struct ArrowArray *array,
                           int64_t first, int64_t end) {
    const char *format = type->format;
    if (first >= end) return 0; /* such an array may have no buffers */
    if (type->dictionary && array->dictionary) {
        const struct ArrowArray *entries = array->dictionary;
        double all = string_bytes(type->dictionary, entries, 0, entries->length);
        return entries->length ? all / (double)entries->length * (double)(end - first) : 0;
    }
    if (array->n_buffers < 2 || !array->buffers[1]) return 0;
    first += array->offset;
    end += array->offset;
    if (strcmp(format, "u") == 0 || strcmp(format, "z") == 0) {
        const int32_t *offsets = array->buffers[1];
        return (double)offsets[end] - (double)offsets[first];
    }
    if (strcmp(format, "U") == 0 || strcmp(format, "Z") == 0) {
        const int64_t *offsets = array->buffers[1];
        return (double)offsets[end] - (double)offsets[first];
    }
    double sum = 0;
    if (strcmp(format, "vu") == 0 || strcmp(format, "vz") == 0) {
        const int32_t *views = array->buffers[1];
        for (int64_t i = first; i < end; i++) sum += views[4 * i];
    }
    return sum;
}

/* size(first, count): bytes of the strings of these rows, about; for deciding where a part ends. */
static PyObject *batch_size(PyObject *object, PyObject *arguments) {
    BatchObject *self;
    const struct ArrowSchema *schema;
    long long first, count;
    if (!PyArg_ParseTuple(arguments, "LL", &first, &count)) return NULL;
    if (fpy_batch_open(object, &self, &schema) != 0) return NULL;
    if (first < 0 || count < 0 || first > self->array.length - count) {
        PyErr_SetString(PyExc_IndexError, "no such rows");
        return NULL;
    }
    double sum = 0;
    first += self->array.offset;
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowArray *child = self->array.children[i];
        if (child->length >= first + count) {
            sum += string_bytes(schema->children[i], child, first, first + count);
        }
    }
    return PyFloat_FromDouble(sum);
}

/* ---------------------------------------------------------------- streams */

static void stream_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    StreamObject *self = (StreamObject *)object;
    if (self->schema.release) self->schema.release(&self->schema);
    if (self->stream.release) self->stream.release(&self->stream);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *raise_stream(struct ArrowArrayStream *stream, int number) {
    if (PyErr_Occurred()) return NULL;
    const char *message = stream->get_last_error(stream);
    PyErr_SetString(number == ENOMEM ? PyExc_MemoryError : PyExc_OSError,
                    message ? message : strerror(number));
    return NULL;
}

static int is_table(const struct ArrowSchema *schema) {
    if (!schema->release || !schema->format || strcmp(schema->format, "+s") != 0) return 0;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (!schema->children || !schema->children[i] || !schema->children[i]->format) return 0;
    }
    return 1;
}

/* Stream(capsule): a capsule of a stream, or a tuple of a schema's and an array's. */
static PyObject *stream_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *data;
    (void)keywords;
    if (!PyArg_ParseTuple(arguments, "O", &data)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    StreamObject *self = (StreamObject *)allocate(type, 0);
    if (!self) return NULL;
    int number = 0;
    if (fpy_take_stream(data, &self->stream) != 0) goto failed;
    Py_BEGIN_ALLOW_THREADS
        number = self->stream.get_schema(&self->stream, &self->schema);
    Py_END_ALLOW_THREADS
    if (number) {
        raise_stream(&self->stream, number);
        goto failed;
    }
    if (!is_table(&self->schema)) {
        PyErr_SetString(PyExc_TypeError, "a table is an Arrow stream of structs: give a table, a "
                                         "frame or a relation, not one column");
        goto failed;
    }
    return (PyObject *)self;
failed:
    Py_DECREF((PyObject *)self);
    return NULL;
}

/* fields(): (name, format, format of the dictionary's values or None) of each column. */
static PyObject *stream_fields(PyObject *object, PyObject *none) {
    (void)none;
    const struct ArrowSchema *schema = &((StreamObject *)object)->schema;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        const char *values = child->dictionary ? child->dictionary->format : NULL;
        PyObject *item =
            Py_BuildValue("(ssz)", child->name ? child->name : "", child->format, values);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* 0, or -1 with an exception if the stream cannot be read now. */
static int begin(const StreamObject *self) {
    if (!self->busy && self->stream.release) return 0;
    PyErr_SetString(PyExc_ValueError, self->busy ? "another thread is reading this stream"
                                                 : "this stream has been handed on already");
    return -1;
}

/* __arrow_c_stream__(requested_schema=None): the stream itself, which is gone from here afterwards. */
static PyObject *stream_arrow_stream(PyObject *object, PyObject *arguments) {
    StreamObject *self = (StreamObject *)object;
    PyObject *requested = NULL;
    if (!PyArg_ParseTuple(arguments, "|O", &requested) || begin(self) != 0) return NULL;
    return fpy_stream_capsule(&self->stream);
}

/* next(): a Batch, or None at the end. */
static PyObject *stream_next(PyObject *object, PyObject *none) {
    (void)none;
    StreamObject *self = (StreamObject *)object;
    if (begin(self) != 0) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)batch_type, Py_tp_alloc);
    BatchObject *batch = (BatchObject *)allocate((PyTypeObject *)batch_type, 0);
    if (!batch) return NULL;
    int number;
    batch->stream = Py_NewRef(object);
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
        number = self->stream.get_next(&self->stream, &batch->array);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (number == 0 && batch->array.release && batch->array.n_children == self->schema.n_children) {
        return (PyObject *)batch;
    }
    int at_end = number == 0 && !batch->array.release;
    Py_DECREF((PyObject *)batch);
    if (at_end) Py_RETURN_NONE;
    if (number == 0) {
        PyErr_SetString(PyExc_OSError, "Arrow stream: a batch has other columns than its schema");
        return NULL;
    }
    return raise_stream(&self->stream, number);
}

int fpy_add_stream(PyObject *module) {
    static PyMethodDef stream_methods[] = {
        {"fields", stream_fields, METH_NOARGS, NULL},
        {"next", stream_next, METH_NOARGS, NULL},
        {"__arrow_c_stream__", stream_arrow_stream, METH_VARARGS, NULL},
        {0}};
    static PyMethodDef batch_methods[] = {{"size", batch_size, METH_VARARGS, NULL}, {0}};
    PyType_Slot stream_slots[] = {{Py_tp_new, stream_new},
                                  {Py_tp_dealloc, stream_free},
                                  {Py_tp_methods, stream_methods},
                                  {0, NULL}};
    PyType_Slot batch_slots[] = {{Py_tp_dealloc, batch_free},
                                 {Py_tp_methods, batch_methods},
                                 {Py_sq_length, batch_length},
                                 {0, NULL}};
    PyType_Spec stream_spec = {.name = "fastpair._fastpair.Stream",
                               .basicsize = sizeof(StreamObject),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = stream_slots};
    PyType_Spec batch_spec = {.name = "fastpair._fastpair.Batch",
                              .basicsize = sizeof(BatchObject),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              .slots = batch_slots};
    stream_type = PyType_FromSpec(&stream_spec);
    batch_type = PyType_FromSpec(&batch_spec);
    if (!stream_type || !batch_type) return -1;
    return PyModule_AddObjectRef(module, "Stream", stream_type);
}
