/* fake_idle.c - kernels that do nothing, for the made-up driver. */
#include "fake_cuda.h"

int fake_kernel(const char *symbol) { return symbol != NULL; }

fp_cu_result fake_run(const fake_launch *launch) { return launch->kernel ? 0 : INVALID_VALUE; }
