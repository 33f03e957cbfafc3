/* fake_launch.c - kernels that do nothing, for the made-up driver. */
#include "fake_cuda.h"

int fake_kernel(const char *symbol) { return symbol != NULL; }

fp_cu_result fake_run(int kernel, unsigned grid_x, unsigned grid_y, unsigned threads,
                      unsigned shared, void **parameters, void **extra) {
    (void)grid_x, (void)grid_y, (void)threads, (void)shared, (void)parameters, (void)extra;
    return kernel ? 0 : INVALID_VALUE;
}
