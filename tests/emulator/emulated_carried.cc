/* emulated_carried.cc - the kernels that the library carries, for the emulator. */
#include "emulated.h"

static const emulated_variant table[] = {
#define FP_STAGED(K, W, H, T, B) EMULATED_STAGED(K, W, H, T, 1)
#define FP_STAGED8(K, T, B)      EMULATED_STAGED8(K, T, 1)
#include "gpu/kernels/variants.def"
    EMULATED_END};

const emulated_variant *emulated_carried(void) { return table; }

void emulated_measure_batches(const void *parameters) {
    const emulated_parameters *p = (const emulated_parameters *)parameters;
    measure_batches(&p->launch, p->second);
}

void emulated_scan_batches(const void *parameters) {
    const emulated_parameters *p = (const emulated_parameters *)parameters;
    scan_batches(&p->launch, p->second);
}

void emulated_row_offsets(const void *parameters) {
    row_offsets(&((const emulated_parameters *)parameters)->launch);
}
