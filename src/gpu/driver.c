/* driver.c - opening the CUDA driver. In: nothing. Out: function pointers, or the reason why there
 * are none. The library is found at run time, so that one build works with and without a GPU. */
#include "driver.h"

#include <dlfcn.h>
#include <string.h>

/* The loader's reason tells a driver that is missing from one that is damaged, or made for another
 * machine. */
static fastpair_status fail_to_load(const char *reason, fastpair_error *error) {
    if (!reason || (strncmp(reason, "libcuda.so.1:", 13) == 0 && strstr(reason, "No such file")))
        return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                       "no GPU: the NVIDIA driver's libcuda.so.1 was not found; install the "
                       "driver, or decode on the CPU");
    return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                   "no GPU: the NVIDIA driver cannot be loaded: %.120s; reinstall it, or decode on "
                   "the CPU",
                   reason);
}

fastpair_status fp_driver_open(fp_driver *driver, fastpair_error *error) {
    memset(driver, 0, sizeof *driver);
    /* NODELETE: the driver keeps threads of its own and must not be unmapped under them. */
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!driver->library) return fail_to_load(dlerror(), error);
    const char *missing = NULL;
#define FP_FIND_CALL(name, symbol, parameters)                                                     \
    if (!missing) {                                                                                \
        *(void **)(void *)&driver->name = dlsym(driver->library, symbol);                          \
        if (!driver->name) missing = symbol;                                                       \
    }
    FP_DRIVER_CALLS(FP_FIND_CALL)
#undef FP_FIND_CALL
    if (missing) {
        fp_driver_close(driver);
        return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, FASTPAIR_NO_POSITION,
                       "no GPU: the NVIDIA driver is too old (it lacks %s); update it to one for "
                       "CUDA 12.0 or later",
                       missing);
    }
    return FASTPAIR_OK;
}

void fp_driver_close(fp_driver *driver) {
    if (driver->library) dlclose(driver->library);
    driver->library = NULL;
}

/* What a user can do about the driver results that have an everyday cause. */
static const char *remedy_for(fp_cu_result result) {
    switch (result) {
    case 2: return "; free device memory or decode fewer chunks at a time";
    case 46:
        return "; another process has the GPU to itself, or it is switched off for computing: "
               "check "
               "nvidia-smi";
    case 34: return "; this is the toolkit's stub library: install the real driver";
    case 100: return "; no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES";
    case 201:
        return "; streams must belong to the device's primary context; if the device was reset "
               "(cudaDeviceReset), close the jobs, close the GPU and open it again";
    case 209:
        return "; this library has no kernels for this GPU: build it for the GPU's architecture";
    case 218:
    case 222:
        return "; the driver is older than the toolkit this library was built with: update the "
               "driver";
    case 400: return "; streams must belong to the device's primary context, and still be there";
    case 700:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
        return "; the device's context is of no more use after this: restart the program, and "
               "please report "
               "it";
    case 709:
        return "; the device was reset (cudaDeviceReset) since it was opened: close the jobs, "
               "close "
               "the GPU and open it again";
    case 802: return "; the system is not ready: check that the fabric manager runs";
    case 803:
    case 804:
        return "; the driver's library and kernel module do not match: reboot or reinstall the "
               "driver";
    default: return "";
    }
}

fastpair_status fp_driver_fail(const fp_driver *driver, fp_cu_result result, const char *purpose,
                               fastpair_error *error) {
    const char *reason = NULL;
    if (!driver->error_text || driver->error_text(result, &reason) || !reason)
        reason = "unknown error";
    return fp_fail(error, result == 2 ? FASTPAIR_ERROR_OUT_OF_MEMORY : FASTPAIR_ERROR_UNSUPPORTED,
                   FASTPAIR_NO_POSITION, "GPU: %s failed: %s (%d)%s", purpose, reason, result,
                   remedy_for(result));
}
