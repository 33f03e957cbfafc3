/* array.c - the type Array: decoded rows, or the booleans of a search, in Arrow's layout. Any number of
 * consumers may take it: all of them, and slices, share the buffers, which go with the last. */
#include "binding.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What is shared. No Python object is in it: consumers drop it in threads of their own. */
typedef struct Shared {
    atomic_size_t references;
    struct ArrowSchema schema;
    struct ArrowArray array;
} Shared;

typedef struct ArrayObject {
    PyObject_HEAD Shared *shared;
    int64_t offset, length;
} ArrayObject;

static PyObject *array_type;

static void drop(Shared *shared) {
    if (atomic_fetch_sub(&shared->references, 1) != 1) return;
    if (shared->schema.release) shared->schema.release(&shared->schema);
    if (shared->array.release) shared->array.release(&shared->array);
    free(shared);
}

static Shared *keep(Shared *shared) {
    atomic_fetch_add(&shared->references, 1);
    return shared;
}

/* A new object of `type`, which takes over a reference to `shared`, also if it fails. */
static PyObject *wrap(PyTypeObject *type, Shared *shared, int64_t offset, int64_t length) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    ArrayObject *self = (ArrayObject *)allocate(type, 0);
    if (!self) {
        drop(shared);
        return NULL;
    }
    self->shared = shared;
    self->offset = offset;
    self->length = length;
    return (PyObject *)self;
}

PyObject *fpy_array_new(struct ArrowSchema *schema, struct ArrowArray *array) {
    Shared *shared = malloc(sizeof *shared);
    if (!shared) {
        schema->release(schema);
        array->release(array);
        return PyErr_NoMemory();
    }
    atomic_init(&shared->references, 1);
    shared->schema = *schema;
    shared->array = *array;
    /* The package has a class of its own, registered by use_array. */
    return wrap((PyTypeObject *)array_type, shared, array->offset, array->length);
}

static void array_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    drop(((ArrayObject *)object)->shared);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- booleans */

static void release_boolean_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_boolean(struct ArrowArray *array) {
    free((void *)array->buffers[0]);
    free((void *)array->buffers[1]);
    free(array->buffers);
    array->release = NULL;
}

PyObject *fpy_array_new_boolean(uint8_t *bitmap, uint8_t *validity, uint64_t rows, uint64_t nulls) {
    const void **buffers = malloc(2 * sizeof *buffers);
    if (!buffers) {
        free(bitmap);
        free(validity);
        return PyErr_NoMemory();
    }
    buffers[0] = validity;
    buffers[1] = bitmap;
    struct ArrowSchema schema = {
        .format = "b", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = release_boolean_schema};
    struct ArrowArray array = {.length = (int64_t)rows,
                               .null_count = (int64_t)nulls,
                               .n_buffers = 2,
                               .buffers = buffers,
                               .release = release_boolean};
    return fpy_array_new(&schema, &array);
}

/* ---------------------------------------------------------------- to consumers */

static void release_view(struct ArrowArray *array) {
    drop(array->private_data);
    array->release = NULL;
}

static void release_schema_view(struct ArrowSchema *schema) {
    drop(schema->private_data);
    schema->release = NULL;
}

static void view_schema(const ArrayObject *self, struct ArrowSchema *schema) {
    *schema = self->shared->schema;
    schema->private_data = keep(self->shared);
    schema->release = release_schema_view;
}

static void view_array(const ArrayObject *self, struct ArrowArray *array) {
    *array = self->shared->array;
    array->offset = self->offset;
    if (array->length != self->length) array->null_count = array->null_count ? -1 : 0;
    array->length = self->length;
    array->private_data = keep(self->shared);
    array->release = release_view;
}

static PyObject *arrow_schema(PyObject *self, PyObject *none) {
    (void)none;
    struct ArrowSchema schema;
    view_schema((ArrayObject *)self, &schema);
    return fpy_schema_capsule(&schema);
}

/* A request for another type is not met: the consumer converts. */
static PyObject *arrow_array(PyObject *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", names, &requested)) return NULL;
    struct ArrowArray array;
    view_array((ArrayObject *)self, &array);
    PyObject *type = arrow_schema(self, NULL), *rows = fpy_array_capsule(&array);
    PyObject *result = type && rows ? PyTuple_Pack(2, type, rows) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(rows);
    return result;
}

/* ---------------------------------------------------------------- to Python */

static int bit(const void *bitmap, int64_t i) {
    return ((const uint8_t *)bitmap)[i / 8] >> i % 8 & 1;
}

/* The value of a row of the shared array. */
static PyObject *value(const Shared *shared, int64_t row) {
    const void *const *buffers = shared->array.buffers;
    if (buffers[0] && !bit(buffers[0], row)) Py_RETURN_NONE;
    char kind = shared->schema.format[0];
    if (kind == 'b') return PyBool_FromLong(bit(buffers[1], row));
    uint64_t begin, end;
    if (kind == 'u' || kind == 'z') {
        begin = ((const uint32_t *)buffers[1])[row];
        end = ((const uint32_t *)buffers[1])[row + 1];
    } else {
        begin = ((const uint64_t *)buffers[1])[row];
        end = ((const uint64_t *)buffers[1])[row + 1];
    }
    const uint8_t *bytes = begin < end ? (const uint8_t *)buffers[2] + begin : NULL;
    return fpy_row(kind == 'u' || kind == 'U' ? FASTPAIR_TYPE_TEXT : FASTPAIR_TYPE_BYTES,
                   (uint64_t)row, bytes, end - begin);
}

static Py_ssize_t array_length(PyObject *self) { return (Py_ssize_t)((ArrayObject *)self)->length; }

static PyObject *array_item(PyObject *object, Py_ssize_t index) {
    ArrayObject *self = (ArrayObject *)object;
    if (index < 0 || index >= self->length) {
        PyErr_SetString(PyExc_IndexError, "no such row");
        return NULL;
    }
    return value(self->shared, self->offset + index);
}

static PyObject *array_subscript(PyObject *object, PyObject *key) {
    ArrayObject *self = (ArrayObject *)object;
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) return NULL;
        Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)self->length, &start, &stop, step);
        if (step != 1) {
            PyErr_SetString(PyExc_ValueError, "slices of an Array have step 1");
            return NULL;
        }
        return wrap(Py_TYPE(object), keep(self->shared), self->offset + start, count);
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) return NULL;
    return array_item(object, index < 0 ? index + (Py_ssize_t)self->length : index);
}

static PyObject *array_to_list(PyObject *object, PyObject *none) {
    (void)none;
    ArrayObject *self = (ArrayObject *)object;
    PyObject *list = PyList_New((Py_ssize_t)self->length);
    for (int64_t i = 0; list && i < self->length; i++) {
        PyObject *item = value(self->shared, self->offset + i);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_format(PyObject *self, void *none) {
    (void)none;
    return PyUnicode_FromString(((ArrayObject *)self)->shared->schema.format);
}

/* Counts bits of a bitmap from the array's offset on. */
static int64_t count_bits(const ArrayObject *self, const void *bitmap) {
    int64_t count = 0;
    for (int64_t i = 0; i < self->length; i++) count += bit(bitmap, self->offset + i);
    return count;
}

static PyObject *get_null_count(PyObject *object, void *none) {
    (void)none;
    ArrayObject *self = (ArrayObject *)object;
    const void *validity = self->shared->array.buffers[0];
    return PyLong_FromLongLong(validity ? self->length - count_bits(self, validity) : 0);
}

/* Bytes of buffer i that rows up to the end of this slice use. */
static size_t buffer_size(const ArrayObject *self, long i) {
    const Shared *shared = self->shared;
    int64_t end = self->offset + self->length;
    char kind = shared->schema.format[0];
    if (i == 0 || kind == 'b') return (size_t)(end + 7) / 8;
    int wide = kind == 'U' || kind == 'Z';
    if (i == 1) return (size_t)(end + 1) * (wide ? 8 : 4);
    const void *offsets = shared->array.buffers[1];
    return wide ? ((const uint64_t *)offsets)[end] : ((const uint32_t *)offsets)[end];
}

/* A copy of buffer i as bytes, or None where there is none. */
static PyObject *array_buffer(PyObject *object, PyObject *number) {
    ArrayObject *self = (ArrayObject *)object;
    long i = PyLong_AsLong(number);
    if (PyErr_Occurred()) return NULL;
    if (i < 0 || i >= self->shared->array.n_buffers) {
        PyErr_SetString(PyExc_ValueError, "no such buffer");
        return NULL;
    }
    const void *buffer = self->shared->array.buffers[i];
    if (!buffer) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(buffer, (Py_ssize_t)buffer_size(self, i));
}

static PyObject *get_offset(PyObject *self, void *none) {
    (void)none;
    return PyLong_FromLongLong(((ArrayObject *)self)->offset);
}

/* use_array(class): Arrays are made as objects of this subclass from now on. */
static PyObject *use_array(PyObject *module, PyObject *type) {
    (void)module;
    PyObject *before = array_type;
    int is_ours = PyObject_IsSubclass(type, before);
    if (is_ours < 0) return NULL;
    if (!is_ours) return PyErr_Format(PyExc_TypeError, "%R is no subclass of %R", type, before);
    array_type = Py_NewRef(type);
    Py_DECREF(before);
    Py_RETURN_NONE;
}

static PyMethodDef registration = {"use_array", use_array, METH_O, NULL};

int fpy_add_array(PyObject *module) {
    static PyMethodDef methods[] = {
        {"to_pylist", array_to_list, METH_NOARGS, "All rows as a list."},
        {"_buffer", array_buffer, METH_O, NULL},
        {"__arrow_c_schema__", arrow_schema, METH_NOARGS,
         "The Arrow type, as a capsule of an ArrowSchema."},
        {"__arrow_c_array__", (PyCFunction)(void (*)(void))arrow_array,
         METH_VARARGS | METH_KEYWORDS,
         "Capsules of an ArrowSchema and an ArrowArray; the buffers are shared."},
        {0}};
    static PyGetSetDef attributes[] = {
        {"format", get_format, NULL, "Arrow's name of the type, for example 'u' or 'b'.", NULL},
        {"null_count", get_null_count, NULL, "How many rows are null.", NULL},
        {"_offset", get_offset, NULL, NULL, NULL},
        {0}};
    PyType_Slot slots[] = {{Py_tp_dealloc, array_free},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, attributes},
                           {Py_sq_length, array_length},
                           {Py_sq_item, array_item},
                           {Py_mp_length, array_length},
                           {Py_mp_subscript, array_subscript},
                           {Py_tp_doc, "Rows in Arrow's layout."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "fastpair._fastpair.Array",
                        .basicsize = sizeof(ArrayObject),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    PyObject *function = PyCFunction_New(&registration, NULL);
    array_type = PyType_FromSpec(&spec);
    int good = array_type && function && PyModule_AddObjectRef(module, "Array", array_type) == 0 &&
               PyModule_AddObjectRef(module, "use_array", function) == 0;
    Py_XDECREF(function);
    return good ? 0 : -1;
}
