/* reference_run.c - the reference loop over a whole column.
 *
 * In: a valid image. Out: its codes widened to 16 bits and its dictionaries as tables, prepared
 * before any clock starts, and then its bytes, decoded chunk by chunk by the loop of
 * bench/reference.c. Stored chunks are copied.
 */
#include "measure.h"
#include "reference.h"
#include "sections.h"

#include <stdlib.h>
#include <string.h>

struct cli_reference {
    bench_sections sections;
    fp_reference **tables; /* of each dictionary */
};

_Static_assert(CLI_REFERENCE_SLACK >= FP_REFERENCE_SLACK, "the loop writes beyond what it decodes");

cli_reference *cli_reference_open(const uint8_t *image, uint64_t size) {
    cli_reference *opened = calloc(1, sizeof(*opened));
    if (!opened) return NULL;
    bench_sections *sections = &opened->sections;
    bool good = bench_sections_open(image, size, sections);
    if (good) opened->tables = calloc(sections->dictionary_count + 1, sizeof(*opened->tables));
    good = opened->tables != NULL;
    for (uint64_t i = 0; i < sections->dictionary_count && good; i++) {
        const bench_dictionary *dictionary = &sections->dictionaries[i];
        opened->tables[i] = fp_reference_open((const uint8_t(*)[64])dictionary->cells,
                                              dictionary->lengths, 1u << dictionary->code_bits);
        good = opened->tables[i] != NULL;
    }
    if (good) return opened;
    cli_reference_close(opened);
    return NULL;
}

uint64_t cli_reference_decode(const cli_reference *reference, uint8_t *out) {
    uint8_t *to = out;
    for (uint64_t i = 0; i < reference->sections.chunk_count; i++) {
        const bench_chunk *chunk = &reference->sections.chunks[i];
        if (chunk->codes)
            to += fp_reference_decode(reference->tables[chunk->dictionary], chunk->codes,
                                      chunk->count, to);
        else if (chunk->decoded_bytes > 0) {
            memcpy(to, chunk->stored, chunk->decoded_bytes);
            to += chunk->decoded_bytes;
        }
    }
    return (uint64_t)(to - out);
}

void cli_reference_close(cli_reference *reference) {
    if (!reference) return;
    for (uint64_t i = 0; reference->tables && i < reference->sections.dictionary_count; i++)
        fp_reference_close(reference->tables[i]);
    free(reference->tables);
    bench_sections_close(&reference->sections);
    free(reference);
}
