/* fuzz_open.c - any bytes as a column: open, validate, decode in every way there is.
 *
 * Runs the input as it is, and again with all its checksums recomputed, since whoever crafts a
 * hostile file does that too. What is demanded: see image.c. */
#include "forge.h"
#include "fuzz.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST_IMAGE) return 0;
    fuzz_run_image(data, size);
    uint8_t *sealed = fuzz_need(size);
    memcpy(sealed, data, size);
    forge_reseal(sealed, size);
    if (memcmp(sealed, data, size)) fuzz_run_image(sealed, size);
    free(sealed);
    return 0;
}
