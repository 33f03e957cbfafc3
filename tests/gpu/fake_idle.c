/* fake_idle.c - kernels that do nothing, for the made-up driver. A test that is linked with the
 * driver may look at each launch. */
#include "fake_cuda.h"

#include <stdio.h>

int fake_kernel(const char *symbol) { return symbol != NULL; }

fp_cu_result fake_run(const fake_launch *launch) {
    enum { EXTRA_BUFFER = 1, EXTRA_SIZE = 3 }; /* places in what cuLaunchKernel is given */
    fake_launch seen = *launch;
    if (!launch->kernel || (launch->extra && fake_wish.takes_no_buffers)) return INVALID_VALUE;
    seen.first = launch->extra ? launch->extra[EXTRA_BUFFER] : launch->parameters[0];
    seen.first_bytes = launch->extra ? *(const size_t *)launch->extra[EXTRA_SIZE] : 0;
    const char *error = fake_wish.inspect ? fake_wish.inspect(&seen) : NULL;
    if (error) fprintf(stderr, "%s: %s\n", launch->symbol, error);
    return error ? LAUNCH_FAILED : 0;
}
