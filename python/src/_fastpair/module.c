/* module.c - the module fastpair._fastpair: its types and functions. */
#include "binding.h"

static PyObject *version(PyObject *module, PyObject *none) {
    (void)module;
    (void)none;
    return PyUnicode_FromString(fastpair_version());
}

#define WITH_KEYWORDS(function)                                                                    \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {{"version", version, METH_NOARGS, NULL},
                                  {"write_rows", WITH_KEYWORDS(fpy_write_rows), NULL},
                                  {"write_arrow", WITH_KEYWORDS(fpy_write_arrow), NULL},
                                  {"table_stream", fpy_table_stream, METH_VARARGS, NULL},
                                  {"convert", fpy_convert, METH_VARARGS, NULL},
                                  {"batch_stream", fpy_batch_stream, METH_VARARGS, NULL},
                                  {"device_booleans", fpy_device_booleans, METH_VARARGS, NULL},
                                  {"list_bits", fpy_list_bits, METH_VARARGS, NULL},
                                  {"exchange", fpy_exchange, METH_VARARGS, NULL},
                                  {"table_schema", fpy_table_schema, METH_VARARGS, NULL},
                                  {0}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_fastpair", .m_size = -1,
                                 .m_methods = functions};

PyMODINIT_FUNC PyInit__fastpair(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (fpy_memory_open() != 0) {
        Py_DECREF(module);
        return PyErr_NoMemory();
    }
    if (fpy_add_errors(module) != 0 || fpy_add_column(module) != 0 || fpy_add_array(module) != 0 ||
        fpy_add_stream(module) != 0 || fpy_add_writer(module) != 0 || fpy_add_search(module) != 0 ||
        fpy_add_gpu(module) != 0 || fpy_add_gpu_search(module) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
