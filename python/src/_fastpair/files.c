/* files.c - what Python's own library cannot do with files. */
#include "binding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

/* exchange(a, b): two files or folders take each other's names, at once. False: the file system, or
 * the kernel, cannot do that. */
PyObject *fpy_exchange(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *first = NULL, *second = NULL;
    if (!PyArg_ParseTuple(arguments, "O&O&", PyUnicode_FSConverter, &first, PyUnicode_FSConverter,
                          &second)) {
        return NULL;
    }
    long result = -1;
    errno = ENOSYS;
#ifdef SYS_renameat2
    result = syscall(SYS_renameat2, AT_FDCWD, PyBytes_AsString(first), AT_FDCWD,
                     PyBytes_AsString(second), RENAME_EXCHANGE);
#endif
    int number = errno;
    Py_DECREF(first);
    Py_DECREF(second);
    if (result == 0) Py_RETURN_TRUE;
    if (number == ENOSYS || number == EINVAL) Py_RETURN_FALSE;
    return fpy_raise_errno(number, NULL);
}
