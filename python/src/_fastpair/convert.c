/* convert.c - an open column written again, cold or warm, without training. */
#include "binding.h"

/* convert(column, target, cold, level, progress); `target` as in write_rows. */
PyObject *fpy_convert(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *object, *target, *progress, *result = NULL;
    fastpair_convert_options options = {.struct_size = sizeof options};
    Sink sink;
    if (!PyArg_ParseTuple(arguments, "O!OpIO", (PyTypeObject *)fpy_column_type, &object, &target,
                          &options.cold, &options.level, &progress) ||
        fpy_sink_open(&sink, target, progress) != 0) {
        return NULL;
    }
    fastpair_column *column = fpy_column_hold((ColumnObject *)object);
    if (column) {
        fastpair_error error;
        fastpair_sink callbacks = fpy_sink_callbacks(&sink);
        options.progress = fpy_sink_progress;
        options.progress_context = &sink;
        sink.thread = PyEval_SaveThread();
        fastpair_status status = fastpair_column_convert(column, &options, &callbacks, &error);
        fastpair_column_close(column);
        PyEval_RestoreThread(sink.thread);
        result = status == FASTPAIR_OK ? fpy_sink_result(&sink) : fpy_sink_raise(&sink, &error);
    }
    fpy_sink_close(&sink);
    return result;
}
