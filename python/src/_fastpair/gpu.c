/* gpu.c - the type Job: columns prepared for decoding on a GPU. Device memory and streams are numbers
 * here; who owns the memory is up to the package, which takes it from PyTorch or CuPy. */
#include "binding.h"

#include <stdlib.h>

#define MOST_DEVICES 64

typedef struct JobObject {
    PyObject_HEAD
        /* NULL once it is closed. */
        fastpair_gpu_job *job;
    fastpair_column **columns;
    uint64_t count;
    /* 1 while a call has given the interpreter away: a job is for one thread at a time. */
    int busy;
    /* What others hold of it. */
    uint64_t users;
} JobObject;

static PyObject *job_type;

/* GPUs stay open for the rest of the process: opening loads all kernels. The interpreter's lock guards
 * the table. */
static fastpair_gpu *gpus[MOST_DEVICES];

static fastpair_gpu *find_gpu(int device) {
    if (device < 0 || device >= MOST_DEVICES) {
        PyErr_SetString(PyExc_ValueError, "no such device");
        return NULL;
    }
    if (gpus[device]) return gpus[device];
    fastpair_gpu_options options = {.struct_size = sizeof options, .device = device};
    fastpair_gpu *gpu;
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_open(&options, &gpu, &error);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) {
        fpy_raise(&error);
        return NULL;
    }
    if (gpus[device]) {
        fastpair_gpu_close(gpu); /* another thread was faster */
    } else {
        gpus[device] = gpu;
    }
    return gpus[device];
}

/* ---------------------------------------------------------------- life */

static void drop(JobObject *self) {
    fastpair_gpu_job_close(self->job);
    for (uint64_t i = 0; i < self->count; i++) fastpair_column_close(self->columns[i]);
    free(self->columns);
    self->job = NULL;
    self->columns = NULL;
    self->count = 0;
}

static void job_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    drop((JobObject *)object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* Takes the columns' references into `self`. */
static int hold_columns(JobObject *self, PyObject *list) {
    Py_ssize_t count = PyList_Size(list);
    self->columns = calloc((size_t)count + 1, sizeof *self->columns);
    if (!self->columns) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (!PyObject_TypeCheck(item, (PyTypeObject *)fpy_column_type)) {
            PyErr_SetString(PyExc_TypeError, "a job is made of columns");
            return -1;
        }
        self->columns[i] = fpy_column_hold((ColumnObject *)item);
        if (!self->columns[i]) return -1;
        self->count++;
    }
    return 0;
}

/* gpu_job(device, columns, outputs, kernel) */
static PyObject *gpu_job(PyObject *module, PyObject *arguments) {
    (void)module;
    int device;
    PyObject *list;
    fastpair_gpu_job_options options = {.struct_size = sizeof options};
    if (!PyArg_ParseTuple(arguments, "iO!Iz", &device, &PyList_Type, &list, &options.outputs,
                          &options.kernel)) {
        return NULL;
    }
    fastpair_gpu *gpu = find_gpu(device);
    if (!gpu) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)job_type, Py_tp_alloc);
    JobObject *self = (JobObject *)allocate((PyTypeObject *)job_type, 0);
    if (!self) return NULL;
    if (hold_columns(self, list) != 0) {
        Py_DECREF(self);
        return NULL;
    }
    fastpair_error error;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_job_open(gpu, (const fastpair_column *const *)self->columns,
                                       self->count, &options, &self->job, &error);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) {
        self->job = NULL;
        Py_DECREF(self);
        return fpy_raise(&error);
    }
    return (PyObject *)self;
}

/* ---------------------------------------------------------------- methods */

static int enter(JobObject *self) {
    if (self->job && !self->busy) return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    self->job ? "another thread is using this job" : "this job is closed");
    return -1;
}

fastpair_gpu_job *fpy_job_retain(PyObject *object) {
    if (!PyObject_TypeCheck(object, (PyTypeObject *)job_type)) {
        PyErr_SetString(PyExc_TypeError, "this is no job");
        return NULL;
    }
    JobObject *self = (JobObject *)object;
    if (!self->job) {
        PyErr_SetString(PyExc_RuntimeError, "this job is closed");
        return NULL;
    }
    self->users++;
    Py_INCREF(object);
    return self->job;
}

void fpy_job_release(PyObject *object) {
    if (!object) return;
    ((JobObject *)object)->users--;
    Py_DECREF(object);
}

int fpy_job_enter(PyObject *object) {
    JobObject *self = (JobObject *)object;
    if (enter(self) != 0) return -1;
    self->busy = 1;
    return 0;
}

void fpy_job_leave(PyObject *object) { ((JobObject *)object)->busy = 0; }

static PyObject *job_close(PyObject *object, PyObject *none) {
    (void)none;
    JobObject *self = (JobObject *)object;
    if (self->busy || self->users) {
        PyErr_SetString(PyExc_RuntimeError, self->busy ? "another thread is using this job"
                                                       : "rows of this job are in use");
        return NULL;
    }
    drop(self);
    Py_RETURN_NONE;
}

static PyObject *job_info(PyObject *object, PyObject *none) {
    (void)none;
    JobObject *self = (JobObject *)object;
    if (enter(self) != 0) return NULL;
    fastpair_error error;
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    if (fastpair_gpu_job_get_info(self->job, &info, &error) != FASTPAIR_OK)
        return fpy_raise(&error);
    return Py_BuildValue("{sKsKsKsKsKss}", "columns", info.columns, "chunks", info.chunks, "rows",
                         info.rows, "decoded_bytes", info.decoded_bytes, "device_bytes",
                         info.device_bytes, "kernel", info.kernel);
}

static PyObject *job_column(PyObject *object, PyObject *number) {
    JobObject *self = (JobObject *)object;
    uint64_t i = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() || enter(self) != 0) return NULL;
    fastpair_error error;
    fastpair_gpu_column_info info = {.struct_size = sizeof info};
    if (fastpair_gpu_job_get_column(self->job, i, &info, &error) != FASTPAIR_OK) {
        return fpy_raise(&error);
    }
    return Py_BuildValue("{sKsKsKsK}", "rows", info.rows, "nulls", info.nulls, "decoded_bytes",
                         info.decoded_bytes, "validity_bytes", info.validity_bytes);
}

/* upload(address, capacity, stream) */
static PyObject *job_upload(PyObject *object, PyObject *arguments) {
    JobObject *self = (JobObject *)object;
    unsigned long long address, capacity, stream;
    if (!PyArg_ParseTuple(arguments, "KKK", &address, &capacity, &stream) || enter(self) != 0) {
        return NULL;
    }
    fastpair_error error;
    fastpair_status status;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_gpu_job_upload(self->job, address, capacity, NULL,
                                         (void *)(uintptr_t)stream, &error);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    Py_RETURN_NONE;
}

int fpy_output(PyObject *item, fastpair_gpu_output *output) {
    unsigned long long bytes, capacity, offsets, validity, status;
    unsigned bits;
    if (!PyArg_ParseTuple(item, "KKKIKK", &bytes, &capacity, &offsets, &bits, &validity, &status)) {
        return -1;
    }
    *output = (fastpair_gpu_output){.struct_size = sizeof *output,
                                    .bytes = bytes,
                                    .bytes_capacity = capacity,
                                    .offsets = offsets,
                                    .offset_bits = bits,
                                    .validity = validity,
                                    .status = status};
    return 0;
}

/* decode(outputs, stream): one tuple (bytes, capacity, offsets, offset_bits, validity, status) of
 * addresses per column. Launches and returns. */
static PyObject *job_decode(PyObject *object, PyObject *arguments) {
    JobObject *self = (JobObject *)object;
    PyObject *list;
    unsigned long long stream;
    if (!PyArg_ParseTuple(arguments, "O!K", &PyList_Type, &list, &stream) || enter(self) != 0) {
        return NULL;
    }
    if ((uint64_t)PyList_Size(list) != self->count) {
        PyErr_SetString(PyExc_ValueError, "a job needs one output per column");
        return NULL;
    }
    fastpair_gpu_output *outputs = calloc(self->count + 1, sizeof *outputs);
    if (!outputs) return PyErr_NoMemory();
    for (uint64_t i = 0; i < self->count; i++) {
        if (fpy_output(PyList_GetItem(list, (Py_ssize_t)i), &outputs[i]) != 0) {
            free(outputs);
            return NULL;
        }
    }
    fastpair_error error;
    fastpair_status status;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
        status =
            fastpair_gpu_job_decode(self->job, outputs, NULL, (void *)(uintptr_t)stream, &error);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    free(outputs);
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    Py_RETURN_NONE;
}

/* export(output, event, owner, selected): Arrow capsules of what a decode into `output` left; all of it
 * has been waited for and found good. `selected` is None, or (rows, bytes) of a selection. */
static PyObject *job_export(PyObject *object, PyObject *arguments) {
    JobObject *self = (JobObject *)object;
    PyObject *item, *owner, *selected;
    unsigned long long event, rows = 0, bytes = 0;
    fastpair_gpu_output output;
    if (!PyArg_ParseTuple(arguments, "O!KOO", &PyTuple_Type, &item, &event, &owner, &selected) ||
        fpy_output(item, &output) != 0 || enter(self) != 0) {
        return NULL;
    }
    if (!Py_IsNone(selected) && !PyArg_ParseTuple(selected, "KK", &rows, &bytes)) return NULL;
    if (self->count != 1) {
        PyErr_SetString(PyExc_ValueError, "only jobs of one column are exported");
        return NULL;
    }
    fastpair_gpu_array from = {.struct_size = sizeof from,
                               .output = &output,
                               .event = (void *)(uintptr_t)event,
                               .status_was_zero = 1,
                               .column = self->columns[0],
                               .is_selection = !Py_IsNone(selected),
                               .selected_rows = rows,
                               .selected_bytes = bytes};
    return fpy_device_array(self->job, &from, owner);
}

int fpy_add_gpu(PyObject *module) {
    static PyMethodDef opener = {"gpu_job", gpu_job, METH_VARARGS, NULL};
    static PyMethodDef methods[] = {{"info", job_info, METH_NOARGS, NULL},
                                    {"column", job_column, METH_O, NULL},
                                    {"upload", job_upload, METH_VARARGS, NULL},
                                    {"decode", job_decode, METH_VARARGS, NULL},
                                    {"export", job_export, METH_VARARGS, NULL},
                                    {"close", job_close, METH_NOARGS, NULL},
                                    {0}};
    PyType_Slot slots[] = {{Py_tp_dealloc, job_free},
                           {Py_tp_methods, methods},
                           {Py_tp_doc, "Columns prepared for a GPU."},
                           {0, NULL}};
    PyType_Spec spec = {.name = "fastpair._fastpair.Job",
                        .basicsize = sizeof(JobObject),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    PyObject *function = PyCFunction_New(&opener, NULL);
    job_type = PyType_FromSpec(&spec);
    int good = job_type && function && PyModule_AddObjectRef(module, "Job", job_type) == 0 &&
               PyModule_AddObjectRef(module, "gpu_job", function) == 0;
    Py_XDECREF(function);
    return good ? 0 : -1;
}
