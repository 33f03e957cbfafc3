/* writer.c - the type Writer: a column that is written batch by batch, from columns of an Arrow stream;
 * see stream.c. Several writers can share a stream, which none of them keeps. */
#include "binding.h"

typedef struct WriterObject {
    PyObject_HEAD
        /* NULL after finish() or a failure. */
        fastpair_writer *writer;
    /* The library holds its address. */
    Sink sink;
    /* What the sink borrows. */
    PyObject *target, *progress;
    /* A call is under way in some thread: writers take one at a time. */
    int busy;
} WriterObject;

/* Lets the writer go; nothing more is written. */
static void drop(WriterObject *self) {
    fastpair_writer_close(self->writer);
    self->writer = NULL;
}

static void writer_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    WriterObject *self = (WriterObject *)object;
    drop(self);
    fpy_sink_close(&self->sink);
    Py_XDECREF(self->target);
    Py_XDECREF(self->progress);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* Writer(target, **options); a target is a file descriptor or an object with write(). */
static PyObject *writer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *target;
    Options options;
    if (!PyArg_ParseTuple(arguments, "O", &target)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    WriterObject *self = (WriterObject *)allocate(type, 0);
    if (!self) return NULL;
    int good = fpy_options_open(&options, keywords) == 0;
    if (good) {
        self->target = Py_NewRef(target);
        self->progress = Py_NewRef(options.progress);
        good = fpy_sink_open(&self->sink, self->target, self->progress) == 0;
    }
    if (good) {
        fastpair_error error;
        fastpair_sink callbacks = fpy_sink_callbacks(&self->sink);
        options.compress.progress = fpy_sink_progress;
        options.compress.progress_context = &self->sink;
        self->sink.thread = PyEval_SaveThread();
        fastpair_status status =
            fastpair_writer_open(&callbacks, &options.compress, &self->writer, &error);
        PyEval_RestoreThread(self->sink.thread);
        good = status == FASTPAIR_OK;
        if (!good) fpy_sink_raise(&self->sink, &error);
    }
    fpy_options_close(&options);
    if (!good) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

/* 0, or -1 with an exception if the writer cannot be used now. */
static int begin(WriterObject *self) {
    if (self->busy || !self->writer) {
        PyErr_SetString(PyExc_ValueError, self->busy ? "another thread is using this writer"
                                                     : "this writer is finished or has failed");
        return -1;
    }
    self->busy = 1;
    return 0;
}

static PyObject *end(WriterObject *self, fastpair_status status, const fastpair_error *error) {
    self->busy = 0;
    if (status == FASTPAIR_OK && PyErr_CheckSignals() == 0) Py_RETURN_NONE;
    drop(self);
    return PyErr_Occurred() ? NULL : fpy_sink_raise(&self->sink, error);
}

/* append(batch, field, first, count): rows of a batch's column. */
static PyObject *writer_append(PyObject *object, PyObject *arguments) {
    WriterObject *self = (WriterObject *)object;
    PyObject *item;
    const char *field;
    long long first, count;
    BatchObject *batch;
    const struct ArrowSchema *schema;
    if (!PyArg_ParseTuple(arguments, "OsLL", &item, &field, &first, &count)) return NULL;
    if (fpy_batch_open(item, &batch, &schema) != 0) return NULL;
    if (first < 0 || count < 0 || first > batch->array.length - count) {
        PyErr_SetString(PyExc_IndexError, "no such rows");
        return NULL;
    }
    /* A part of the batch, which is borrowed. A struct's offset is that of all its children. */
    struct ArrowArray part = batch->array;
    part.offset += first;
    part.length = count;
    part.null_count = part.null_count ? -1 : 0;
    fastpair_error error;
    if (begin(self) != 0) return NULL;
    self->sink.thread = PyEval_SaveThread();
    fastpair_status status =
        fastpair_writer_append_arrow(self->writer, schema, &part, field, &error);
    PyEval_RestoreThread(self->sink.thread);
    return end(self, status, &error);
}

/* finish(): the rest and the footer. */
static PyObject *writer_finish(PyObject *object, PyObject *none) {
    (void)none;
    WriterObject *self = (WriterObject *)object;
    fastpair_error error;
    if (begin(self) != 0) return NULL;
    self->sink.thread = PyEval_SaveThread();
    fastpair_status status = fastpair_writer_finish(self->writer, &error);
    PyEval_RestoreThread(self->sink.thread);
    PyObject *result = end(self, status, &error);
    drop(self);
    return result;
}

int fpy_add_writer(PyObject *module) {
    static PyMethodDef methods[] = {{"append", writer_append, METH_VARARGS, NULL},
                                    {"finish", writer_finish, METH_NOARGS, NULL},
                                    {0}};
    PyType_Slot slots[] = {
        {Py_tp_new, writer_new}, {Py_tp_dealloc, writer_free}, {Py_tp_methods, methods}, {0, NULL}};
    PyType_Spec spec = {.name = "fastpair._fastpair.Writer",
                        .basicsize = sizeof(WriterObject),
                        .flags = Py_TPFLAGS_DEFAULT,
                        .slots = slots};
    PyObject *type = PyType_FromSpec(&spec);
    return type ? PyModule_AddObjectRef(module, "Writer", type) : -1;
}
