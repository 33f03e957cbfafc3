/* column_methods.c - what a column says of itself, and validating it. Plain dicts and tuples go out;
 * the package gives them their shape. */
#include "binding.h"

static PyObject *column_totals(PyObject *object, PyObject *none) {
    (void)none;
    fastpair_column *column = fpy_column_hold((ColumnObject *)object);
    if (!column) return NULL;
    fastpair_error error;
    fastpair_column_totals totals = {.struct_size = sizeof totals};
    fastpair_status status = fastpair_column_get_totals(column, &totals, &error);
    fastpair_column_close(column);
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    return Py_BuildValue("{sKsKsKsKsKsK}", "rows", totals.rows, "nulls", totals.nulls,
                         "decoded_bytes", totals.decoded_bytes, "compressed_bytes",
                         totals.compressed_bytes, "chunks", totals.chunks, "dictionaries",
                         totals.dictionaries);
}

static const char *codec_name(fastpair_codec codec) {
    switch (codec) {
    case FASTPAIR_CODEC_ONPAIR: return "onpair";
    case FASTPAIR_CODEC_FSST12: return "fsst12";
    case FASTPAIR_CODEC_STORED: return "stored";
    default: return "unknown";
    }
}

static PyObject *column_information(PyObject *object, PyObject *none) {
    (void)none;
    fastpair_column *column = fpy_column_hold((ColumnObject *)object);
    if (!column) return NULL;
    fastpair_error error;
    fastpair_column_info info = {.struct_size = sizeof info};
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_get_info(column, &info, &error);
        fastpair_column_close(column);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    return Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsKsssIsIsKsKsKsKsKsKsK}", "rows", info.rows, "nulls", info.nulls,
        "decoded_bytes", info.decoded_bytes, "compressed_bytes", info.compressed_bytes, "codes",
        info.codes, "chunks", info.chunks, "stored_chunks", info.stored_chunks, "cold_chunks",
        info.cold_chunks, "dictionaries", info.dictionaries, "codec", codec_name(info.codec),
        "code_bits", info.code_bits, "max_token", info.max_token, "tokens", info.tokens,
        "tokens_in_use", info.tokens_in_use, "dictionary_bytes", info.dictionary_bytes,
        "code_bytes", info.code_bytes, "sidecar_bytes", info.sidecar_bytes, "length_bytes",
        info.length_bytes, "validity_bytes", info.validity_bytes);
}

/* Name, or None, and a list of pairs. */
static PyObject *column_describe(PyObject *object, PyObject *none) {
    (void)none;
    fastpair_column *column = fpy_column_hold((ColumnObject *)object);
    if (!column) return NULL;
    fastpair_error error;
    fastpair_metadata metadata = {.struct_size = sizeof metadata};
    PyObject *list = NULL, *result = NULL;
    if (fastpair_column_get_metadata(column, &metadata, &error) != FASTPAIR_OK) {
        fpy_raise(&error);
        goto done;
    }
    list = PyList_New(0);
    for (uint64_t i = 0; list && i < metadata.pair_count; i++) {
        const fastpair_pair *pair = &metadata.pairs[i];
        const char *value = pair->value_size ? pair->value : "";
        PyObject *item = Py_BuildValue("(sy#)", pair->key, value, (Py_ssize_t)pair->value_size);
        if (!item || PyList_Append(list, item) != 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    if (list) result = Py_BuildValue("(zO)", metadata.name, list);
done:
    Py_XDECREF(list);
    fastpair_column_close(column);
    return result;
}

/* (first_row, rows, decoded_bytes, file_offset, file_bytes) */
static PyObject *column_chunk(PyObject *object, PyObject *number) {
    uint64_t chunk = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) return NULL;
    fastpair_column *column = fpy_column_hold((ColumnObject *)object);
    if (!column) return NULL;
    fastpair_error error;
    fastpair_chunk_info info = {.struct_size = sizeof info};
    fastpair_status status = fastpair_column_get_chunk(column, chunk, &info, &error);
    fastpair_column_close(column);
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    return Py_BuildValue("(KKKKK)", info.first_row, info.rows, info.decoded_bytes, info.file_offset,
                         info.file_bytes);
}

/* Decoded bytes of this range of rows. */
static PyObject *column_size(PyObject *object, PyObject *none) {
    (void)none;
    ColumnObject *self = (ColumnObject *)object;
    fastpair_column *column = fpy_column_hold(self);
    if (!column) return NULL;
    fastpair_error error;
    uint64_t bytes, first = self->first, count = self->count;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fastpair_column_rows_size(column, first, count, &bytes, &error);
        fastpair_column_close(column);
    Py_END_ALLOW_THREADS
    return status == FASTPAIR_OK ? PyLong_FromUnsignedLongLong(bytes) : fpy_raise(&error);
}

/* Validates everything, or the chunks of this range if `part` is true. */
static PyObject *column_validate(PyObject *object, PyObject *part) {
    ColumnObject *self = (ColumnObject *)object;
    int rows_only = PyObject_IsTrue(part);
    if (rows_only < 0) return NULL;
    fastpair_column *column = fpy_column_hold(self);
    if (!column) return NULL;
    fastpair_error error;
    uint64_t first = self->first, count = self->count;
    fastpair_status status;
    Py_BEGIN_ALLOW_THREADS
        status = rows_only ? fastpair_column_validate_rows(column, first, count, &error)
                           : fastpair_column_validate(column, &error);
        fastpair_column_close(column);
    Py_END_ALLOW_THREADS
    if (status != FASTPAIR_OK) return fpy_raise(&error);
    Py_RETURN_NONE;
}

PyMethodDef fpy_column_methods[] = {
    {"_totals", column_totals, METH_NOARGS, NULL},
    {"_information", column_information, METH_NOARGS, NULL},
    {"_describe", column_describe, METH_NOARGS, NULL},
    {"_chunk", column_chunk, METH_O, NULL},
    {"_size", column_size, METH_NOARGS, NULL},
    {"_validate", column_validate, METH_O, NULL},
    {"_decode", fpy_column_decode, METH_VARARGS, NULL},
    {"_views", fpy_column_views, METH_NOARGS, NULL},
    {"_listed", fpy_column_listed, METH_VARARGS, NULL},
    {"_listed_views", fpy_column_listed_views, METH_VARARGS, NULL},
    {"_search", fpy_column_search, METH_VARARGS, NULL},
    {"_count", fpy_column_count, METH_VARARGS, NULL},
    {"_filter", fpy_column_filter, METH_VARARGS, NULL},
    {"_find", fpy_column_find, METH_VARARGS, NULL},
    {"_prepare", fpy_column_prepare, METH_VARARGS, NULL},
    {"__arrow_c_schema__", fpy_column_arrow_schema, METH_NOARGS,
     "The column's Arrow type, as a capsule of an ArrowSchema."},
    {"__arrow_c_array__", (PyCFunction)(void (*)(void))fpy_column_arrow_array,
     METH_VARARGS | METH_KEYWORDS,
     "Decodes the rows into one Arrow array: capsules of an ArrowSchema and an ArrowArray."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))fpy_column_arrow_stream,
     METH_VARARGS | METH_KEYWORDS,
     "A stream of Arrow arrays, one per chunk, each decoded when it is asked for."},
    {0}};
