/* binding.h - what the files of the extension share. The extension is a thin layer: it turns Python
 * objects into calls of the public headers and back. What can be said in Python is in the package
 * fastpair; names here begin with fpy_.
 *
 * The limited API of Python 3.11 is used and nothing else, so that one file serves all later ones.
 * The module cannot be loaded into more than one interpreter of a process; Python refuses that by
 * itself. */
#ifndef FASTPAIR_BINDING_H
#define FASTPAIR_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <fastpair.h>
#include <fastpair_arrow.h>
#include <fastpair_gpu.h>
#include <fastpair_search.h>

/* Whether this thread can still release Python objects. While the interpreter ends, Py_IsInitialized says
 * no already, but modules are only then taken apart, by a thread that has a state. */
static inline int fpy_is_alive(void) {
    return Py_IsInitialized() || PyGILState_GetThisThreadState() != NULL;
}

/* ---------------------------------------------------------------- errors.c */

/* fastpair.Error, a ValueError with status, position and message. */
extern PyObject *fpy_error_type;

/* Raises what a failure is in Python and returns NULL. An exception that is raised already, by a
 * progress function for example, stays. */
PyObject *fpy_raise(const fastpair_error *error);

/* Raises fastpair.Error for a fault that the extension found by itself; `position` may be
 * FASTPAIR_NO_POSITION. */
PyObject *fpy_raise_fault(fastpair_status status, uint64_t position, const char *message);

/* Raises an OSError with errno value `number`, about `path`, which may be NULL. */
PyObject *fpy_raise_errno(int number, PyObject *path);

int fpy_add_errors(PyObject *module);

/* ---------------------------------------------------------------- column.c */

/* A range of rows of an open column, or all of them. Each object has a reference of its own. */
typedef struct ColumnObject {
    PyObject_HEAD
        /* NULL once it is closed. */
        fastpair_column *column;
    uint64_t first, count;
    /* What the whole column's file says; as it never changes, it is asked once. */
    fastpair_type type;
    /* What the package needs to open it again in another process; slices share it. May be NULL. */
    PyObject *source;
    /* 1 if bytes come from a Python function: then even a row may take long, and threads of the library
     * call Python. */
    int has_reader;
} ColumnObject;

extern PyObject *fpy_column_type;

/* A reference to the column for a call during which other threads may run and close `self`; the
 * caller closes it. NULL with an exception if `self` is closed already. */
fastpair_column *fpy_column_hold(ColumnObject *self);

/* A new object of `type` for a whole column, whose reference it takes over, also if it fails. */
PyObject *fpy_column_wrap(PyTypeObject *type, fastpair_column *column);

/* A row's bytes as str or bytes, whatever the column is. NULL with an exception: a row of a text that
 * is not UTF-8. */
PyObject *fpy_row(fastpair_type type, uint64_t row, const uint8_t *bytes, uint64_t size);

int fpy_add_column(PyObject *module);

/* ---------------------------------------------------------------- source.c */

/* _open_source(source, size, requests, threads): a column whose bytes source(offset, size) gives. */
PyObject *fpy_column_open_source(PyObject *type, PyObject *arguments);

/* Raises what the function of a source raised, if a read failed for that, or an interrupt that came
 * meanwhile, and returns 1; else 0. */
int fpy_source_raise(const fastpair_error *error);

/* Makes a stream over such columns give the interpreter away when a consumer calls it. 0, or -1 with an
 * exception and the stream released. */
int fpy_source_guard(struct ArrowArrayStream *stream);

/* column_methods.c */
extern PyMethodDef fpy_column_methods[];

/* ---------------------------------------------------------------- memory.c */

/* For the buffers of exported arrays. */
fastpair_allocator fpy_allocator(void);

/* Makes the memory survive a fork. Once, when the module is made; not 0 if there is no memory. */
int fpy_memory_open(void);

/* ---------------------------------------------------------------- arrow.c, array.c */

/* __arrow_c_schema__, __arrow_c_array__ and __arrow_c_stream__ of a column; `arguments` are those of
 * the Python methods. */
PyObject *fpy_column_arrow_schema(PyObject *self, PyObject *arguments);
PyObject *fpy_column_arrow_array(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *fpy_column_arrow_stream(PyObject *self, PyObject *arguments, PyObject *keywords);
/* Decoded rows as an Array, all of a column's or listed ones; the same as capsules of views. */
PyObject *fpy_column_decode(PyObject *self, PyObject *arguments);
PyObject *fpy_column_listed(PyObject *self, PyObject *arguments);
PyObject *fpy_column_views(PyObject *self, PyObject *none);
PyObject *fpy_column_listed_views(PyObject *self, PyObject *arguments);

/* Fills *options in for a column's range: the layout that its bytes need, unless `requested`, a
 * capsule with a schema or None, asks for another. 0, or -1 with an exception. */
int fpy_arrow_options(ColumnObject *self, fastpair_column *column, PyObject *requested,
                      fastpair_arrow_options *options);

/* Capsules as Arrow names them. They take the struct over and leave *what released. */
PyObject *fpy_schema_capsule(struct ArrowSchema *what);
PyObject *fpy_array_capsule(struct ArrowArray *what);
PyObject *fpy_stream_capsule(struct ArrowArrayStream *what);

/* A new Array that takes both structs over, also if it fails. */
PyObject *fpy_array_new(struct ArrowSchema *schema, struct ArrowArray *array);
/* The same for a boolean array: two bitmaps from malloc, the second may be NULL. */
PyObject *fpy_array_new_boolean(uint8_t *bitmap, uint8_t *validity, uint64_t rows, uint64_t nulls);

int fpy_add_arrow(PyObject *module);
int fpy_add_array(PyObject *module);

/* table.c: table_stream(columns, names) -> a capsule */
PyObject *fpy_table_stream(PyObject *module, PyObject *arguments);
PyObject *fpy_table_schema(PyObject *module, PyObject *arguments);
/* batch_stream.c: batch_stream(schema, batches) -> a capsule */
PyObject *fpy_batch_stream(PyObject *module, PyObject *arguments);

/* ---------------------------------------------------------------- write.c, sink.c */

/* One call that compresses: where the bytes go, and what must be called back. */
typedef struct Sink {
    /* The target, one of three: a file descriptor, or -1... */
    int descriptor;
    /* ...an object with write(), or NULL... */
    PyObject *file;
    /* ...else memory from malloc. */
    uint8_t *bytes;
    size_t size, capacity;
    /* A callable, or NULL. */
    PyObject *progress;
    /* What PyEval_SaveThread gave, while the interpreter is given away; else NULL. */
    PyThreadState *thread;
    /* Of the write that failed, or 0. */
    int error_number;
} Sink;

/* Sets a sink up for the target of write_rows and write_arrow: a descriptor, an object with write()
 * or None. Nothing is owned but what is written to memory. 0, or -1 with an exception. */
int fpy_sink_open(Sink *sink, PyObject *target, PyObject *progress);
void fpy_sink_close(Sink *sink);
/* bytes for a target in memory, else None. */
PyObject *fpy_sink_result(Sink *sink);
fastpair_sink fpy_sink_callbacks(Sink *sink);
/* A fastpair_progress; the context is a Sink. Looks for signals, so that Ctrl-C works. */
int fpy_sink_progress(void *context, uint64_t done, uint64_t total);
/* Raises what went wrong. */
PyObject *fpy_sink_raise(Sink *sink, const fastpair_error *error);

PyObject *fpy_write_rows(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *fpy_write_arrow(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *fpy_convert(PyObject *module, PyObject *arguments);

/* Moves a stream out of what a producer gave: a capsule of a stream, or a tuple of a schema's and an
 * array's. 0, or -1 with an exception. */
int fpy_take_stream(PyObject *data, struct ArrowArrayStream *stream);

/* ---------------------------------------------------------------- stream.c, writer.c, files.c */

/* Rows of a stream of structs. */
typedef struct BatchObject {
    PyObject_HEAD
        /* The stream it came from, which has its type. */
        PyObject *stream;
    struct ArrowArray array;
} BatchObject;

/* A batch and its type, both borrowed. 0, or -1 with an exception. */
int fpy_batch_open(PyObject *object, BatchObject **batch, const struct ArrowSchema **schema);

int fpy_add_stream(PyObject *module);
int fpy_add_writer(PyObject *module);

PyObject *fpy_exchange(PyObject *module, PyObject *arguments);

/* ---------------------------------------------------------------- options.c */

/* Everything that a caller may ask of a compressor, and the memory that it needs. */
typedef struct Options {
    fastpair_compress_options compress;
    fastpair_metadata metadata;
    fastpair_pair *pairs;
    /* -1: from the data. */
    int type;
    /* Borrowed from the keywords. */
    PyObject *progress;
} Options;

/* 0, or -1 with an exception. */
int fpy_options_open(Options *options, PyObject *keywords);
void fpy_options_close(Options *options);

/* ---------------------------------------------------------------- predicate.c, search.c, gpu*.c */

/* A search of a column's range. */
typedef struct Search {
    fastpair_search *search;
    uint64_t first, count;
    /* 1: it belongs to what _prepare gave, which the caller holds. */
    int is_borrowed;
} Search;

/* `tree` is a predicate's tuple, or what _prepare of this column gave. 0, or -1 with an exception; then
 * there is nothing to close. */
int fpy_search_open(Search *search, PyObject *column, PyObject *tree);
void fpy_search_close(Search *search);

PyObject *fpy_column_search(PyObject *self, PyObject *arguments);
PyObject *fpy_column_count(PyObject *self, PyObject *arguments);
PyObject *fpy_column_filter(PyObject *self, PyObject *arguments);
PyObject *fpy_column_find(PyObject *self, PyObject *arguments);
PyObject *fpy_column_prepare(PyObject *self, PyObject *arguments);
int fpy_add_search(PyObject *module);
PyObject *fpy_list_bits(PyObject *module, PyObject *arguments);

/* gpu.c: a job that must stay open until it is released, which also drops a reference; NULL with an
 * exception. And a call that uses it while other threads may run: 0, or -1 with an exception. */
fastpair_gpu_job *fpy_job_retain(PyObject *job);
void fpy_job_release(PyObject *job);
int fpy_job_enter(PyObject *job);
void fpy_job_leave(PyObject *job);
/* Reads a tuple (bytes, capacity, offsets, offset_bits, validity, status) of device addresses. 0, or -1
 * with an exception. */
int fpy_output(PyObject *item, fastpair_gpu_output *output);

/* device_array.c: capsules of a schema and a device array of a job's only column. `from` says where its
 * rows are; `owner` owns that memory and the event, and is kept until the array is released. */
PyObject *fpy_device_array(const fastpair_gpu_job *job, fastpair_gpu_array *from, PyObject *owner);

/* device_booleans(device, (bitmap, validity, rows), event, owner): the same of booleans. */
PyObject *fpy_device_booleans(PyObject *module, PyObject *arguments);

int fpy_add_gpu(PyObject *module);
int fpy_add_gpu_search(PyObject *module);

#endif
