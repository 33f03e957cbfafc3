/* predicate.c - predicates from Python, compiled for a column: for one search, or for many.
 *
 * A predicate comes as a tuple (kind, negate, ignore_case, escape, patterns, children) of plain numbers,
 * a tuple of bytes and a tuple of such tuples. */
#include "binding.h"

#include <stdlib.h>

#define DEEPEST 32

/* ---------------------------------------------------------------- predicates */

static void predicate_close(fastpair_predicate *predicate) {
    for (uint64_t i = 0; i < predicate->child_count; i++) {
        predicate_close((fastpair_predicate *)&predicate->children[i]);
    }
    free((void *)predicate->children);
    free((void *)predicate->patterns);
}

/* Fills in *predicate, which the caller closes, also after a failure: -1 with an exception. */
static int predicate_open(fastpair_predicate *predicate, PyObject *tree, int depth) {
    PyObject *patterns, *children;
    int kind;
    *predicate = (fastpair_predicate){.struct_size = sizeof *predicate};
    if (depth > DEEPEST) {
        fpy_raise_fault(FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                        "a predicate is at most 32 deep");
        return -1;
    }
    if (!PyArg_ParseTuple(tree, "ippiO!O!", &kind, &predicate->negate, &predicate->ignore_case,
                          &predicate->escape, &PyTuple_Type, &patterns, &PyTuple_Type, &children)) {
        return -1;
    }
    predicate->kind = (fastpair_predicate_kind)kind;
    Py_ssize_t pattern_count = PyTuple_Size(patterns), child_count = PyTuple_Size(children);
    fastpair_pattern *bytes = calloc((size_t)pattern_count + 1, sizeof *bytes);
    fastpair_predicate *below = calloc((size_t)child_count + 1, sizeof *below);
    predicate->patterns = bytes;
    predicate->children = below;
    if (!bytes || !below) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < pattern_count; i++) {
        char *text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(patterns, i), &text, &size) != 0) return -1;
        bytes[i] = (fastpair_pattern){text, (uint64_t)size};
    }
    predicate->pattern_count = (uint64_t)pattern_count;
    for (Py_ssize_t i = 0; i < child_count; i++) {
        PyObject *item = PyTuple_GetItem(children, i);
        predicate->child_count = (uint64_t)i + 1;
        if (!PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "a predicate is a tuple");
            return -1;
        }
        if (predicate_open(&below[i], item, depth + 1) != 0) return -1;
    }
    return 0;
}

/* A predicate that was compiled for a column, for many searches of slices of it. */
typedef struct PreparedObject {
    PyObject_HEAD fastpair_search *search;
    fastpair_column *column;
} PreparedObject;

static PyObject *prepared_type;

static int compile(fastpair_column *column, PyObject *tree, fastpair_search **search) {
    fastpair_predicate predicate;
    fastpair_search_options options = {.struct_size = sizeof options};
    fastpair_error error;
    int result = predicate_open(&predicate, tree, 0);
    if (result == 0) {
        fastpair_status status;
        Py_BEGIN_ALLOW_THREADS
            status = fastpair_search_open(column, &predicate, &options, search, &error);
        Py_END_ALLOW_THREADS
        if (status != FASTPAIR_OK) {
            fpy_raise(&error);
            result = -1;
        }
    }
    predicate_close(&predicate);
    return result;
}

int fpy_search_open(Search *search, PyObject *object, PyObject *tree) {
    ColumnObject *self = (ColumnObject *)object;
    *search = (Search){NULL, self->first, self->count, 0};
    fastpair_column *column = fpy_column_hold(self);
    if (!column) return -1;
    int result = -1;
    if (PyTuple_Check(tree)) {
        result = compile(column, tree, &search->search);
    } else if (PyObject_IsInstance(tree, prepared_type) != 1) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a predicate is a tuple");
    } else if (((PreparedObject *)tree)->column != column) {
        PyErr_SetString(PyExc_ValueError, "this predicate was prepared for another column");
    } else {
        search->search = ((PreparedObject *)tree)->search;
        search->is_borrowed = 1;
        result = 0;
    }
    fastpair_column_close(column);
    return result;
}

void fpy_search_close(Search *search) {
    if (!search->is_borrowed) fastpair_search_close(search->search);
}

/* _prepare(tree): what _search, _count, _filter and _find of this column and its slices take in place of
 * the tree, so that it is compiled once. */
PyObject *fpy_column_prepare(PyObject *object, PyObject *arguments) {
    PyObject *tree;
    if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &tree)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)prepared_type, Py_tp_alloc);
    PreparedObject *self = (PreparedObject *)allocate((PyTypeObject *)prepared_type, 0);
    if (!self) return NULL;
    self->column = fpy_column_hold((ColumnObject *)object);
    if (!self->column || compile(self->column, tree, &self->search) != 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void prepared_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    fastpair_search_close(((PreparedObject *)object)->search);
    fastpair_column_close(((PreparedObject *)object)->column);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

int fpy_add_search(PyObject *module) {
    (void)module;
    PyType_Slot slots[] = {{Py_tp_dealloc, prepared_free}, {0, NULL}};
    PyType_Spec spec = {.name = "fastpair._fastpair.Prepared",
                        .basicsize = sizeof(PreparedObject),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    prepared_type = PyType_FromSpec(&spec);
    return prepared_type ? 0 : -1;
}
