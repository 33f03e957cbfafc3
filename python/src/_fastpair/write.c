/* write.c - compressing rows that are Python objects: any iterable of str, bytes and None. Rows are
 * gathered into a piece of some MiB, which goes to a streaming writer while other threads run. Arrow
 * data does not come this way: see write_arrow.c. */
#include "binding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)8 << 20)
#define PIECE_ROWS  ((size_t)1 << 18)

/* Rows that wait to be compressed, and how far we are. */
typedef struct Piece {
    uint8_t *bytes;
    size_t size, capacity;
    /* Room for PIECE_ROWS + 1. */
    uint64_t *offsets;
    uint8_t *validity;
    size_t rows, nulls;
    /* Rows before this piece. */
    uint64_t before;
    /* Kinds of rows met so far, for the type: str, bytes. */
    int has_text, has_bytes;
} Piece;

static int piece_open(Piece *piece) {
    *piece = (Piece){0};
    piece->offsets = malloc((PIECE_ROWS + 1) * sizeof *piece->offsets);
    piece->validity = malloc(PIECE_ROWS / 8);
    if (!piece->offsets || !piece->validity) {
        PyErr_NoMemory();
        return -1;
    }
    piece->offsets[0] = 0;
    return 0;
}

static void piece_close(Piece *piece) {
    free(piece->bytes);
    free(piece->offsets);
    free(piece->validity);
}

static int piece_add(Piece *piece, const void *bytes, size_t size, int is_valid) {
    if (!piece->bytes || size > piece->capacity - piece->size) {
        size_t capacity = piece->size + size;
        if (capacity < PIECE_BYTES + PIECE_BYTES / 4) capacity = PIECE_BYTES + PIECE_BYTES / 4;
        uint8_t *larger = realloc(piece->bytes, capacity);
        if (!larger) {
            PyErr_NoMemory();
            return -1;
        }
        piece->bytes = larger;
        piece->capacity = capacity;
    }
    if (size) memcpy(piece->bytes + piece->size, bytes, size);
    piece->size += size;
    size_t row = piece->rows++;
    if (row % 8 == 0) piece->validity[row / 8] = 0;
    piece->validity[row / 8] |= (uint8_t)((is_valid != 0) << row % 8);
    piece->nulls += !is_valid;
    piece->offsets[row + 1] = piece->size;
    return 0;
}

/* None, and what NumPy and pandas use in its place: a NaN, pandas.NA, pandas.NaT. -1 with an
 * exception. */
static int is_missing(PyObject *item) {
    if (item == Py_None) return 1;
    if (PyFloat_Check(item)) return isnan(PyFloat_AsDouble(item));
    PyObject *name = PyType_GetName(Py_TYPE(item));
    if (!name) return -1;
    int result = PyUnicode_CompareWithASCIIString(name, "NAType") == 0 ||
                 PyUnicode_CompareWithASCIIString(name, "NaTType") == 0;
    Py_DECREF(name);
    return result;
}

static int add_item(Piece *piece, PyObject *item) {
    if (PyUnicode_Check(item)) {
        piece->has_text = 1;
        /* Not PyUnicode_AsUTF8AndSize: the caller's strings would keep what it makes. */
        PyObject *bytes = PyUnicode_AsUTF8String(item);
        if (!bytes) return -1;
        int result = piece_add(piece, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), 1);
        Py_DECREF(bytes);
        return result;
    }
    Py_buffer buffer;
    if (item == Py_None || !PyObject_CheckBuffer(item)) {
        int missing = is_missing(item);
        if (missing > 0) return piece_add(piece, NULL, 0, 0);
        PyObject *kind = missing == 0 ? PyType_GetQualName(Py_TYPE(item)) : NULL;
        if (kind) {
            PyErr_Format(PyExc_TypeError, "row %llu is of type %S; rows are str, bytes or None",
                         (unsigned long long)piece->before + piece->rows, kind);
        }
        Py_XDECREF(kind);
        return -1;
    }
    if (PyObject_GetBuffer(item, &buffer, PyBUF_SIMPLE) != 0) return -1;
    piece->has_bytes = 1;
    int result = piece_add(piece, buffer.buf, (size_t)buffer.len, 1);
    PyBuffer_Release(&buffer);
    return result;
}

/* Without a type from the caller the rows say it, all of them the same. */
static int settle_type(Options *options, const Piece *piece) {
    if (options->type >= 0) return 0;
    if (piece->has_text && piece->has_bytes) {
        PyErr_SetString(PyExc_TypeError, "rows are str and bytes mixed; say type='text' or "
                                         "type='bytes'");
        return -1;
    }
    options->metadata.type = piece->has_bytes ? FASTPAIR_TYPE_BYTES : FASTPAIR_TYPE_TEXT;
    return 0;
}

/* Gives the piece to the writer, which is opened at the first one, when the type is known. */
static int flush(Piece *piece, Options *options, Sink *sink, fastpair_writer **writer) {
    if (settle_type(options, piece) != 0) return -1;
    fastpair_error error;
    fastpair_status status = FASTPAIR_OK;
    fastpair_rows rows = {.struct_size = sizeof rows,
                          .rows = piece->rows,
                          .bytes = piece->bytes,
                          .offsets = piece->offsets,
                          .validity = piece->nulls ? piece->validity : NULL};
    fastpair_sink callbacks = fpy_sink_callbacks(sink);
    sink->thread = PyEval_SaveThread();
    if (!*writer) status = fastpair_writer_open(&callbacks, &options->compress, writer, &error);
    if (status == FASTPAIR_OK) status = fastpair_writer_append(*writer, &rows, &error);
    PyEval_RestoreThread(sink->thread);
    if (status != FASTPAIR_OK) {
        if (error.position != FASTPAIR_NO_POSITION) error.position += piece->before;
        fpy_sink_raise(sink, &error);
        return -1;
    }
    piece->before += piece->rows;
    piece->rows = piece->size = piece->nulls = 0;
    return PyErr_CheckSignals();
}

static int write_all(PyObject *iterator, Piece *piece, Options *options, Sink *sink,
                     fastpair_writer **writer) {
    PyObject *item;
    while ((item = PyIter_Next(iterator)) != NULL) {
        int result = add_item(piece, item);
        Py_DECREF(item);
        if (result == 0 && (piece->rows == PIECE_ROWS || piece->size >= PIECE_BYTES)) {
            result = flush(piece, options, sink, writer);
        }
        if (result != 0) return -1;
    }
    if (PyErr_Occurred() || flush(piece, options, sink, writer) != 0) return -1;
    fastpair_error error;
    sink->thread = PyEval_SaveThread();
    fastpair_status status = fastpair_writer_finish(*writer, &error);
    PyEval_RestoreThread(sink->thread);
    if (status == FASTPAIR_OK && !PyErr_Occurred()) return 0;
    fpy_sink_raise(sink, &error);
    return -1;
}

PyObject *fpy_write_rows(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    PyObject *data, *target, *result = NULL;
    Options options;
    if (!PyArg_ParseTuple(arguments, "OO", &data, &target)) return NULL;
    if (fpy_options_open(&options, keywords) != 0) {
        fpy_options_close(&options);
        return NULL;
    }
    Sink sink;
    Piece piece = {0};
    fastpair_writer *writer = NULL;
    PyObject *iterator = NULL;
    if (fpy_sink_open(&sink, target, options.progress) == 0 && piece_open(&piece) == 0) {
        iterator = PyObject_GetIter(data);
    }
    options.compress.progress = fpy_sink_progress;
    options.compress.progress_context = &sink;
    if (iterator && write_all(iterator, &piece, &options, &sink, &writer) == 0) {
        result = fpy_sink_result(&sink);
    }
    fastpair_writer_close(writer);
    Py_XDECREF(iterator);
    piece_close(&piece);
    fpy_sink_close(&sink);
    fpy_options_close(&options);
    return result;
}
