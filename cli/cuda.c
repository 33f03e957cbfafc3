/* cuda.c - opening the CUDA driver for a program. In: a device number. Out: function pointers and
 * the device's primary context, current. The driver is found at run time, so that one build works
 * with and without a GPU. Refuses a driver that lacks a call. */
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define OUT_OF_MEMORY 2 /* the driver's number for it */

static fastpair_status fail(fastpair_error *error, fastpair_status status, const char *what,
                            const char *why, int number) {
    if (!error) return status;
    /* 700 and 714 to 719: a kernel failed, which leaves the context useless. */
    const char *remedy = number == OUT_OF_MEMORY ? "; free device memory"
                         : number == 700 || (number >= 714 && number <= 719)
                             ? "; the device's context is of no more use: restart the program"
                             : "";
    *error = (fastpair_error){.status = status, .position = FASTPAIR_NO_POSITION};
    snprintf(error->message, sizeof error->message, "GPU: %s failed: %s (%d)%s", what, why, number,
             remedy);
    return status;
}

fastpair_status cuda_open(cuda_driver *driver, int ordinal, fastpair_error *error) {
    memset(driver, 0, sizeof *driver);
    /* NODELETE: the driver keeps threads of its own and must not be unmapped under them. */
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *missing = driver->library ? NULL : dlerror();
#define CUDA_FIND_CALL(name, symbol, parameters)                                                   \
    if (!missing) {                                                                                \
        *(void **)(void *)&driver->name = dlsym(driver->library, symbol);                          \
        if (!driver->name) missing = "the driver lacks " symbol;                                   \
    }
    CUDA_CALLS(CUDA_FIND_CALL)
#undef CUDA_FIND_CALL
    if (missing) {
        cuda_close(driver);
        return fail(error, FASTPAIR_ERROR_UNSUPPORTED, "opening the driver", missing, 0);
    }
    void *context = NULL;
    int result = driver->init(0);
    if (!result) result = driver->device_get(&driver->device, ordinal);
    if (!result) result = driver->context_retain(&context, driver->device);
    if (!result && (result = driver->context_push(context)))
        driver->context_release(driver->device);
    if (!result) driver->context = context;
    fastpair_status status = cuda_status(driver, result, "entering the device's context", error);
    if (status) cuda_close(driver);
    return status;
}

void cuda_close(cuda_driver *driver) {
    if (driver->context) {
        void *popped;
        driver->context_pop(&popped);
        driver->context_release(driver->device);
    }
    if (driver->library) dlclose(driver->library);
    *driver = (cuda_driver){0};
}

fastpair_status cuda_status(const cuda_driver *driver, int result, const char *purpose,
                            fastpair_error *error) {
    const char *text = NULL;
    if (!result) return FASTPAIR_OK;
    if (driver->error_text(result, &text) || !text) text = "unknown error";
    return fail(error,
                result == OUT_OF_MEMORY ? FASTPAIR_ERROR_OUT_OF_MEMORY : FASTPAIR_ERROR_UNSUPPORTED,
                purpose, text, result);
}
