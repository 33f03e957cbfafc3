/* write_arrow.c - compressing what an Arrow producer gives: a capsule of a stream, or the two capsules of
 * one array. Buffers are read where they are, while other threads run; the producer takes the
 * interpreter by itself where it needs it. */
#include "binding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- one array as a stream */

typedef struct Single {
    struct ArrowSchema schema;
    struct ArrowArray array;
} Single;

/* The compressor asks for the schema once and we once before, so that a copy is needed. Only what it
 * reads is in it: the copy borrows all from the original, which outlives it. */
static void release_borrowed(struct ArrowSchema *schema) { schema->release = NULL; }

static int single_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    *out = ((Single *)stream->private_data)->schema;
    out->release = release_borrowed;
    out->private_data = NULL;
    return 0;
}

static int single_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    Single *single = stream->private_data;
    *out = single->array;
    single->array.release = NULL;
    return 0;
}

static const char *single_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return NULL;
}

static void single_release(struct ArrowArrayStream *stream) {
    Single *single = stream->private_data;
    if (single->schema.release) single->schema.release(&single->schema);
    if (single->array.release) single->array.release(&single->array);
    free(single);
    stream->release = NULL;
}

/* What a consumer has emptied has pointers still, to memory that is gone. */
static int raise_consumed(const char *what) {
    PyErr_Format(PyExc_ValueError, "this Arrow %s has been consumed already", what);
    return -1;
}

static int stream_of_array(PyObject *pair, struct ArrowArrayStream *stream) {
    PyObject *first, *second;
    if (!PyArg_ParseTuple(pair, "OO", &first, &second)) return -1;
    struct ArrowSchema *schema = PyCapsule_GetPointer(first, "arrow_schema");
    struct ArrowArray *array = schema ? PyCapsule_GetPointer(second, "arrow_array") : NULL;
    if (!array) return -1;
    if (!schema->release || !array->release) return raise_consumed("array");
    Single *single = malloc(sizeof *single);
    if (!single) {
        PyErr_NoMemory();
        return -1;
    }
    single->schema = *schema;
    single->array = *array;
    schema->release = NULL;
    array->release = NULL;
    *stream =
        (struct ArrowArrayStream){single_schema, single_next, single_error, single_release, single};
    /* cppcheck-suppress memleak ; the stream owns it */
    return 0;
}

int fpy_take_stream(PyObject *data, struct ArrowArrayStream *stream) {
    if (PyTuple_Check(data)) return stream_of_array(data, stream);
    struct ArrowArrayStream *held = PyCapsule_GetPointer(data, "arrow_array_stream");
    if (!held) return -1;
    if (!held->release) return raise_consumed("stream");
    *stream = *held;
    held->release = NULL;
    return 0;
}

/* ---------------------------------------------------------------- type and name */

/* NULL: there is none, or the schema lacks what it must have. */
static const struct ArrowSchema *find_field(const struct ArrowSchema *schema, const char *field) {
    if (!schema->release || !schema->format) return NULL;
    if (strcmp(schema->format, "+s") != 0) return schema;
    for (int64_t i = 0; schema->children && i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (!child || !child->format || (!field && schema->n_children != 1)) return NULL;
        if (!field || (child->name && strcmp(child->name, field) == 0)) return child;
    }
    return NULL;
}

static int is_text(const struct ArrowSchema *schema) {
    const char *format = schema->dictionary ? schema->dictionary->format : schema->format;
    /* The null type says nothing; rows that are all null can be called text. */
    if (!format) return 0;
    return strcmp(format, "u") == 0 || strcmp(format, "U") == 0 || strcmp(format, "vu") == 0 ||
           strcmp(format, "n") == 0;
}

/* What the caller leaves open is as the stream's schema says. A field that is not there is left to the
 * library to complain about. */
static int settle_metadata(struct ArrowArrayStream *stream, const char *field, Options *options,
                           char **name) {
    struct ArrowSchema schema = {0};
    int number, good = 0;
    Py_BEGIN_ALLOW_THREADS
        number = stream->get_schema(stream, &schema);
    Py_END_ALLOW_THREADS
    if (number) {
        const char *message = stream->get_last_error(stream);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_OSError, message ? message : strerror(number));
        return -1;
    }
    const struct ArrowSchema *found = find_field(&schema, field);
    if (found) {
        if (options->type < 0) {
            options->metadata.type = is_text(found) ? FASTPAIR_TYPE_TEXT : FASTPAIR_TYPE_BYTES;
        }
        if (!options->metadata.name && found->name && *found->name) {
            *name = strdup(found->name);
            options->metadata.name = *name;
            if (!*name) good = -1;
        }
    }
    if (schema.release) schema.release(&schema);
    if (good != 0) PyErr_NoMemory();
    return good;
}

/* ---------------------------------------------------------------- the call */

/* write_arrow(data, field, target, **options); `data` is a capsule of a stream, or a tuple of a
 * schema's and an array's. */
PyObject *fpy_write_arrow(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    PyObject *data, *target, *result = NULL;
    const char *field;
    char *name = NULL;
    Options options;
    Sink sink;
    struct ArrowArrayStream stream = {0};
    if (!PyArg_ParseTuple(arguments, "OzO", &data, &field, &target)) return NULL;
    if (fpy_options_open(&options, keywords) != 0 ||
        fpy_sink_open(&sink, target, options.progress) != 0) {
        fpy_options_close(&options);
        return NULL;
    }
    options.compress.progress = fpy_sink_progress;
    options.compress.progress_context = &sink;
    if (fpy_take_stream(data, &stream) == 0 &&
        settle_metadata(&stream, field, &options, &name) == 0) {
        fastpair_error error;
        fastpair_sink callbacks = fpy_sink_callbacks(&sink);
        sink.thread = PyEval_SaveThread();
        fastpair_status status =
            fastpair_compress_arrow(&stream, field, &options.compress, &callbacks, &error);
        PyEval_RestoreThread(sink.thread);
        stream.release = NULL;
        result = status == FASTPAIR_OK ? fpy_sink_result(&sink) : fpy_sink_raise(&sink, &error);
    }
    if (stream.release) stream.release(&stream);
    free(name);
    fpy_sink_close(&sink);
    fpy_options_close(&options);
    return result;
}
