/* device_array.c - decoded rows in device memory as capsules of the Arrow C Device interface. The memory
 * and the event belong to Python objects, which the array keeps until its consumer releases it. */
#include "binding.h"

#include <stdlib.h>

/* In whatever thread the consumer is done. */
static void drop_owner(void *context) {
    if (!fpy_is_alive()) return;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)context);
    PyGILState_Release(state);
}

static void free_capsule(PyObject *capsule) {
    struct ArrowDeviceArray *held = PyCapsule_GetPointer(capsule, "arrow_device_array");
    if (!held) return;
    if (held->array.release) held->array.release(&held->array);
    free(held);
}

static PyObject *make_capsule(struct ArrowDeviceArray *array) {
    struct ArrowDeviceArray *held = malloc(sizeof *held);
    PyObject *capsule = NULL;
    if (held) {
        *held = *array;
        capsule = PyCapsule_New(held, "arrow_device_array", free_capsule);
    } else {
        PyErr_NoMemory();
    }
    if (!capsule) {
        free(held);
        array->array.release(&array->array);
    }
    return capsule;
}

PyObject *fpy_device_array(const fastpair_gpu_job *job, fastpair_gpu_array *from, PyObject *owner) {
    fastpair_arrow_options options = {.struct_size = sizeof options};
    fastpair_error error;
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    from->release = drop_owner;
    from->context = Py_NewRef(owner);
    if (fastpair_gpu_export_array(job, 0, from, &options, &schema, &array, &error) != FASTPAIR_OK) {
        Py_DECREF(owner);
        return fpy_raise(&error);
    }
    PyObject *type = fpy_schema_capsule(&schema), *rows = make_capsule(&array);
    PyObject *result = type && rows ? PyTuple_Pack(2, type, rows) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(rows);
    return result;
}
