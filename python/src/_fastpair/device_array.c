/* device_array.c - decoded rows, and booleans, in device memory as capsules of the Arrow C Device interface.
 * The memory and the event belong to Python objects, which the array keeps until its consumer releases it. */
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

/* ---------------------------------------------------------------- booleans */

/* What an array of booleans owns. */
typedef struct Booleans {
    void *event; /* Arrow wants its address */
    PyObject *owner;
    const void *buffers[2];
} Booleans;

static void release_type(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_booleans(struct ArrowArray *array) {
    Booleans *held = array->private_data;
    drop_owner(held->owner);
    free(held);
    array->release = NULL;
}

PyObject *fpy_device_booleans(PyObject *module, PyObject *arguments) {
    (void)module;
    int device;
    unsigned long long bitmap, validity, rows, event;
    PyObject *owner;
    if (!PyArg_ParseTuple(arguments, "i(KKK)KO", &device, &bitmap, &validity, &rows, &event,
                          &owner)) {
        return NULL;
    }
    Booleans *held = malloc(sizeof *held);
    if (!held) return PyErr_NoMemory();
    *held =
        (Booleans){.event = (void *)(uintptr_t)event,
                   .owner = Py_NewRef(owner),
                   .buffers = {(const void *)(uintptr_t)validity, (const void *)(uintptr_t)bitmap}};
    struct ArrowSchema schema = {
        .format = "b", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = release_type};
    struct ArrowDeviceArray array = {.array = {.length = (int64_t)rows,
                                               .null_count = validity ? -1 : 0,
                                               .n_buffers = 2,
                                               .buffers = held->buffers,
                                               .release = release_booleans,
                                               .private_data = held},
                                     .device_id = device,
                                     .device_type = ARROW_DEVICE_CUDA,
                                     .sync_event = event ? &held->event : NULL};
    PyObject *type = fpy_schema_capsule(&schema), *capsule = make_capsule(&array);
    PyObject *result = type && capsule ? PyTuple_Pack(2, type, capsule) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(capsule);
    return result;
}
