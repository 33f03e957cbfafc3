/* gpu_search.c - the types Rows and DeviceSearch: rows of a job's only column, prepared for searches
 * and selections on its GPU, and predicates compiled for them. As in gpu.c, device memory and streams
 * are numbers, and the package says who owns the memory. A call takes what may be missing as 0. */
#include "binding.h"

#include <fastpair_gpu_select.h>

typedef struct RowsObject {
    PyObject_HEAD
        /* Outlives the rows. */
        PyObject *job;
    fastpair_gpu_rows *rows;
    fastpair_gpu_select *select;
} RowsObject;

typedef struct DeviceSearchObject {
    PyObject_HEAD
        /* Outlives the search. */
        RowsObject *rows;
    fastpair_gpu_search *search;
} DeviceSearchObject;

static PyObject *rows_type, *search_type;

static void *allocate(PyObject *type) {
    allocfunc function = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    return function((PyTypeObject *)type, 0);
}

static void deallocate(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc function = (freefunc)PyType_GetSlot(type, Py_tp_free);
    function(object);
    Py_DECREF(type);
}

static PyObject *answer(fastpair_status status, const fastpair_error *error) {
    if (status != FASTPAIR_OK) return fpy_raise(error);
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- rows */

static void rows_free(PyObject *object) {
    RowsObject *self = (RowsObject *)object;
    fastpair_gpu_select_close(self->select);
    fastpair_gpu_rows_close(self->rows);
    fpy_job_release(self->job);
    deallocate(object);
}

/* gpu_rows(job) */
static PyObject *gpu_rows(PyObject *module, PyObject *job) {
    (void)module;
    RowsObject *self = allocate(rows_type);
    if (!self) return NULL;
    fastpair_gpu_job *of = fpy_job_retain(job);
    if (!of || fpy_job_enter(job) != 0) {
        if (of) fpy_job_release(job);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    self->job = job;
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_rows_open(of, 0, &self->rows, &error);
        if (status == FASTPAIR_OK) {
            status = fastpair_gpu_select_open(self->rows, &self->select, &error);
        }
    Py_END_ALLOW_THREADS
    fpy_job_leave(job);
    if (status != FASTPAIR_OK) {
        Py_DECREF((PyObject *)self);
        return fpy_raise(&error);
    }
    return (PyObject *)self;
}

/* info() -> bytes of device memory: (rows, scratch of prepare, select) */
static PyObject *rows_info(PyObject *object, PyObject *none) {
    (void)none;
    RowsObject *self = (RowsObject *)object;
    fastpair_error error;
    fastpair_gpu_rows_info rows = {.struct_size = sizeof rows};
    fastpair_gpu_select_info select = {.struct_size = sizeof select};
    if (fastpair_gpu_rows_get_info(self->rows, &rows, &error) != FASTPAIR_OK ||
        fastpair_gpu_select_get_info(self->select, &select, &error) != FASTPAIR_OK) {
        return fpy_raise(&error);
    }
    return Py_BuildValue("(KKK)", rows.device_bytes, rows.scratch_bytes, select.device_bytes);
}

/* prepare((address, bytes) of the rows, of the scratch, of the select, status, stream) */
static PyObject *rows_prepare(PyObject *object, PyObject *arguments) {
    RowsObject *self = (RowsObject *)object;
    unsigned long long at[6], word, stream;
    if (!PyArg_ParseTuple(arguments, "(KK)(KK)(KK)KK", &at[0], &at[1], &at[2], &at[3], &at[4],
                          &at[5], &word, &stream) ||
        fpy_job_enter(self->job) != 0) {
        return NULL;
    }
    fastpair_gpu_block rows = {at[0], at[1]}, scratch = {at[2], at[3]}, select = {at[4], at[5]};
    void *queue = (void *)(uintptr_t)stream;
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_rows_prepare(self->rows, &rows, &scratch, word, queue, &error);
        if (status == FASTPAIR_OK) {
            status = fastpair_gpu_select_upload(self->select, &select, queue, &error);
        }
    Py_END_ALLOW_THREADS
    fpy_job_leave(self->job);
    return answer(status, &error);
}

/* ---------------------------------------------------------------- selections */

/* Reads (bitmap, numbers, most_rows); numbers have 64 bits. */
static int read_selection(PyObject *item, fastpair_gpu_selection *selection) {
    unsigned long long bitmap, numbers, most;
    if (!PyArg_ParseTuple(item, "KKK", &bitmap, &numbers, &most)) return -1;
    *selection = (fastpair_gpu_selection){.struct_size = sizeof *selection,
                                          .bitmap = bitmap,
                                          .numbers = numbers,
                                          .number_bits = 64,
                                          .most_rows = most};
    return 0;
}

/* scratch(selection) -> bytes */
static PyObject *rows_scratch(PyObject *object, PyObject *item) {
    RowsObject *self = (RowsObject *)object;
    fastpair_gpu_selection selection;
    uint64_t bytes;
    fastpair_error error;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a selection is a tuple");
        return NULL;
    }
    if (read_selection(item, &selection) != 0) return NULL;
    if (fastpair_gpu_select_scratch(self->select, &selection, &bytes, &error) != FASTPAIR_OK) {
        return fpy_raise(&error);
    }
    return PyLong_FromUnsignedLongLong(bytes);
}

/* sizes(selection, (address, bytes) of the scratch, stream): two 64-bit numbers will be at its start */
static PyObject *rows_sizes(PyObject *object, PyObject *arguments) {
    RowsObject *self = (RowsObject *)object;
    PyObject *item;
    unsigned long long address, bytes, stream;
    fastpair_gpu_selection selection;
    if (!PyArg_ParseTuple(arguments, "O!(KK)K", &PyTuple_Type, &item, &address, &bytes, &stream) ||
        read_selection(item, &selection) != 0 || fpy_job_enter(self->job) != 0) {
        return NULL;
    }
    fastpair_gpu_block scratch = {address, bytes};
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_select_sizes(self->select, &selection, &scratch,
                                           (void *)(uintptr_t)stream, &error);
    Py_END_ALLOW_THREADS
    fpy_job_leave(self->job);
    return answer(status, &error);
}

/* decode(selection, (address, bytes) of the scratch, output, rows, stream): output is that of gpu.c,
 * with room for so many rows. */
static PyObject *rows_decode(PyObject *object, PyObject *arguments) {
    RowsObject *self = (RowsObject *)object;
    PyObject *item, *output;
    unsigned long long address, bytes, rows, stream;
    fastpair_gpu_selection selection;
    fastpair_gpu_output to;
    if (!PyArg_ParseTuple(arguments, "O!(KK)O!KK", &PyTuple_Type, &item, &address, &bytes,
                          &PyTuple_Type, &output, &rows, &stream) ||
        read_selection(item, &selection) != 0 || fpy_output(output, &to) != 0 ||
        fpy_job_enter(self->job) != 0) {
        return NULL;
    }
    fastpair_gpu_block scratch = {address, bytes};
    fastpair_gpu_selected selected = {.struct_size = sizeof selected,
                                      .bytes = to.bytes,
                                      .bytes_capacity = to.bytes_capacity,
                                      .rows_capacity = rows,
                                      .offsets = to.offsets,
                                      .offset_bits = to.offset_bits,
                                      .validity = to.validity,
                                      .status = to.status};
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_select_decode(self->select, &selection, &scratch, &selected,
                                            (void *)(uintptr_t)stream, &error);
    Py_END_ALLOW_THREADS
    fpy_job_leave(self->job);
    return answer(status, &error);
}

/* ---------------------------------------------------------------- searches */

static void search_free(PyObject *object) {
    DeviceSearchObject *self = (DeviceSearchObject *)object;
    fastpair_gpu_search_close(self->search);
    Py_XDECREF((PyObject *)self->rows);
    deallocate(object);
}

/* search(column, tree): the column of the job, and a predicate's tuple */
static PyObject *rows_search(PyObject *object, PyObject *arguments) {
    RowsObject *rows = (RowsObject *)object;
    PyObject *column, *tree;
    Search compiled;
    if (!PyArg_ParseTuple(arguments, "O!O", fpy_column_type, &column, &tree)) return NULL;
    DeviceSearchObject *self = allocate(search_type);
    if (!self) return NULL;
    if (fpy_search_open(&compiled, column, tree) != 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    if (fpy_job_enter(rows->job) != 0) {
        fpy_search_close(&compiled);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    self->rows = (RowsObject *)Py_NewRef(object);
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_search_open(rows->rows, compiled.search, NULL, &self->search, &error);
    Py_END_ALLOW_THREADS
    fpy_job_leave(rows->job);
    fpy_search_close(&compiled);
    if (status != FASTPAIR_OK) {
        Py_DECREF((PyObject *)self);
        return fpy_raise(&error);
    }
    return (PyObject *)self;
}

/* info() -> bytes of device memory: (tables, scratch, a bitmap) */
static PyObject *search_info(PyObject *object, PyObject *none) {
    (void)none;
    fastpair_error error;
    fastpair_gpu_search_info info = {.struct_size = sizeof info};
    const fastpair_gpu_search *search = ((DeviceSearchObject *)object)->search;
    if (fastpair_gpu_search_get_info(search, &info, &error) != FASTPAIR_OK) {
        return fpy_raise(&error);
    }
    return Py_BuildValue("(KKK)", info.device_bytes, info.scratch_bytes, info.bitmap_bytes);
}

/* upload((address, bytes) of the tables, stream) */
static PyObject *search_upload(PyObject *object, PyObject *arguments) {
    DeviceSearchObject *self = (DeviceSearchObject *)object;
    unsigned long long address, bytes, stream;
    if (!PyArg_ParseTuple(arguments, "(KK)K", &address, &bytes, &stream) ||
        fpy_job_enter(self->rows->job) != 0) {
        return NULL;
    }
    fastpair_gpu_block tables = {address, bytes};
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status =
            fastpair_gpu_search_upload(self->search, &tables, (void *)(uintptr_t)stream, &error);
    Py_END_ALLOW_THREADS
    fpy_job_leave(self->rows->job);
    return answer(status, &error);
}

/* run((address, bytes) of the scratch, (bitmap, validity, counts), stream) */
static PyObject *search_run(PyObject *object, PyObject *arguments) {
    DeviceSearchObject *self = (DeviceSearchObject *)object;
    unsigned long long address, bytes, to[3], stream;
    if (!PyArg_ParseTuple(arguments, "(KK)(KKK)K", &address, &bytes, &to[0], &to[1], &to[2],
                          &stream) ||
        fpy_job_enter(self->rows->job) != 0) {
        return NULL;
    }
    fastpair_gpu_block scratch = {address, bytes};
    fastpair_gpu_matches matches = {
        .struct_size = sizeof matches, .bitmap = to[0], .validity = to[1], .counts = to[2]};
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_search_run(self->search, &scratch, &matches,
                                         (void *)(uintptr_t)stream, &error);
    Py_END_ALLOW_THREADS
    fpy_job_leave(self->rows->job);
    return answer(status, &error);
}

int fpy_add_gpu_search(PyObject *module) {
    static PyMethodDef opener = {"gpu_rows", gpu_rows, METH_O, NULL};
    static PyMethodDef of_rows[] = {{"info", rows_info, METH_NOARGS, NULL},
                                    {"prepare", rows_prepare, METH_VARARGS, NULL},
                                    {"scratch", rows_scratch, METH_O, NULL},
                                    {"sizes", rows_sizes, METH_VARARGS, NULL},
                                    {"decode", rows_decode, METH_VARARGS, NULL},
                                    {"search", rows_search, METH_VARARGS, NULL},
                                    {0}};
    static PyMethodDef of_searches[] = {{"info", search_info, METH_NOARGS, NULL},
                                        {"upload", search_upload, METH_VARARGS, NULL},
                                        {"run", search_run, METH_VARARGS, NULL},
                                        {0}};
    PyType_Slot row_slots[] = {{Py_tp_dealloc, rows_free}, {Py_tp_methods, of_rows}, {0, NULL}};
    PyType_Slot search_slots[] = {
        {Py_tp_dealloc, search_free}, {Py_tp_methods, of_searches}, {0, NULL}};
    PyType_Spec rows = {.name = "fastpair._fastpair.Rows",
                        .basicsize = sizeof(RowsObject),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = row_slots};
    PyType_Spec searches = {.name = "fastpair._fastpair.DeviceSearch",
                            .basicsize = sizeof(DeviceSearchObject),
                            .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            .slots = search_slots};
    PyObject *function = PyCFunction_New(&opener, NULL);
    rows_type = PyType_FromSpec(&rows);
    search_type = PyType_FromSpec(&searches);
    int good = rows_type && search_type && function &&
               PyModule_AddObjectRef(module, "gpu_rows", function) == 0;
    Py_XDECREF(function);
    return good ? 0 : -1;
}
