/* fuzz_sections.c - column files changed part by part, laid out and signed again (mutate.c): every
 * section, header and count, past the checksums.
 *
 * What is demanded: what image.c demands; and that a file which validates, taken apart and put
 * together again, is the same file, so that the mutator is known to keep to the format. */
#include "forge.h"
#include "fuzz.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static forge_parts p;
    fastpair_column *column;
    if (size > FUZZ_LARGEST_IMAGE) return 0;
    fuzz_run_image(data, size);
    if (fastpair_column_open(data, size, NULL, &column, NULL) != FASTPAIR_OK) return 0;
    if (fastpair_column_validate(column, NULL) == FASTPAIR_OK && forge_parts_open(&p, data, size)) {
        forge_bytes again = forge_join(&p);
        DEMAND(again.size == size && !memcmp(again.data, data, size));
        free(again.data);
        forge_parts_close(&p);
    }
    fastpair_column_close(column);
    return 0;
}
