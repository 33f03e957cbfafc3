/* fake_linked.c - makes a program open the made-up driver that it is linked with. The linker puts
 * __wrap_fp_driver_open in the place of fp_driver_open (-Wl,--wrap), which would look for
 * libcuda.so.1. */
#include "gpu/driver.h"

#include <string.h>

/* The driver's calls, by the names they have in the driver. */
#define DECLARE_CALL(name, symbol, parameters)                                                     \
    fp_cu_result linked_##name parameters __asm__(symbol);
FP_DRIVER_CALLS(DECLARE_CALL)
#undef DECLARE_CALL

fastpair_status __wrap_fp_driver_open(fp_driver *driver, fastpair_error *error);
fastpair_status __wrap_fp_driver_open(fp_driver *driver, fastpair_error *error) {
    (void)error;
    memset(driver, 0, sizeof *driver);
#define TAKE_CALL(name, symbol, parameters) driver->name = linked_##name;
    FP_DRIVER_CALLS(TAKE_CALL)
#undef TAKE_CALL
    return FASTPAIR_OK;
}
