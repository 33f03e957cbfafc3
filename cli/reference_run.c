/* reference_run.c - the reference loop over a whole column, and what else the benchmark needs of the library's insides.
 *
 * In: an open column. Out: its codes widened to 16 bits and its dictionaries as tables, prepared before any clock starts,
 * and then its bytes, decoded chunk by chunk by the loop of bench/reference.c. Stored chunks are copied.
 */
#include "column.h"
#include "measure.h"
#include "pack.h"
#include "reference.h"
#include "train.h"

#include <stdlib.h>
#include <string.h>

/* One chunk as the loop takes it. */
typedef struct reference_chunk {
    const fp_reference *tables; /* NULL for a stored chunk */
    uint16_t *codes;
    uint64_t count;
    const uint8_t *stored;
    uint64_t stored_bytes;
} reference_chunk;

struct cli_reference {
    reference_chunk *chunks;
    uint64_t chunk_count;
    fp_reference **dictionaries;
    uint64_t dictionary_count;
};

_Static_assert(CLI_REFERENCE_SLACK >= FP_REFERENCE_SLACK, "the loop writes beyond what it decodes");

static fp_reference *make_tables(const fp_dict *dict) {
    uint64_t count = 1ull << dict->code_bits;
    uint8_t(*rows)[16] = malloc(count * sizeof(*rows));
    uint8_t *lengths = malloc(count);
    fp_reference *made = NULL;
    if (rows && lengths) {
        fp_dict_expand(dict, rows, lengths);
        made = fp_reference_create((const uint8_t(*)[16])rows, lengths, (uint32_t)count);
    }
    free(rows);
    free(lengths);
    return made;
}

/* Widens a chunk's codes, or notes where its stored bytes are. False when memory is short. */
static bool prepare_chunk(const cli_reference *reference, const fastpair_column *column,
                          uint64_t number, reference_chunk *to) {
    fp_chunk_view view = fp_column_chunk(column, number);
    const fp_chunk *chunk = view.chunk;
    const uint8_t *section = fp_chunk_section(chunk, view.block, FP_SECTION_CODES);
    if (!chunk->coded) {
        to->stored = section;
        to->stored_bytes = chunk->decoded_bytes;
        return true;
    }
    to->tables = reference->dictionaries[chunk->dictionary];
    to->count = chunk->codes;
    to->codes = malloc(chunk->codes * sizeof(uint16_t));
    if (!to->codes) return false;
    fp_unpack(section, chunk->sections[FP_SECTION_CODES].size,
              column->dictionaries[chunk->dictionary].dict.code_bits, 0, chunk->codes, to->codes);
    return true;
}

cli_reference *cli_reference_create(const fastpair_column *column) {
    cli_reference *made = calloc(1, sizeof(*made));
    if (!made) return NULL;
    made->chunks = calloc(column->totals.chunks + 1, sizeof(*made->chunks));
    made->dictionaries = calloc(column->totals.dictionaries + 1, sizeof(*made->dictionaries));
    bool good = made->chunks && made->dictionaries;
    while (good && made->dictionary_count < column->totals.dictionaries) {
        fp_reference *tables = make_tables(&column->dictionaries[made->dictionary_count].dict);
        good = tables != NULL;
        if (good) made->dictionaries[made->dictionary_count++] = tables;
    }
    while (good && made->chunk_count < column->totals.chunks) {
        good = prepare_chunk(made, column, made->chunk_count, &made->chunks[made->chunk_count]);
        made->chunk_count++;
    }
    if (good) return made;
    cli_reference_free(made);
    return NULL;
}

uint64_t cli_reference_decode(const cli_reference *reference, uint8_t *out) {
    uint8_t *to = out;
    for (uint64_t i = 0; i < reference->chunk_count; i++) {
        const reference_chunk *chunk = &reference->chunks[i];
        if (chunk->tables)
            to += fp_reference_decode(chunk->tables, chunk->codes, chunk->count, to);
        else if (chunk->stored_bytes > 0) {
            memcpy(to, chunk->stored, chunk->stored_bytes);
            to += chunk->stored_bytes;
        }
    }
    return (uint64_t)(to - out);
}

void cli_reference_free(cli_reference *reference) {
    if (!reference) return;
    for (uint64_t i = 0; i < reference->chunk_count; i++) free(reference->chunks[i].codes);
    for (uint64_t i = 0; i < reference->dictionary_count; i++)
        fp_reference_free(reference->dictionaries[i]);
    free(reference->chunks);
    free(reference->dictionaries);
    free(reference);
}

uint64_t cli_default_sample(fastpair_codec codec, uint32_t code_bits) {
    return fp_sample_default(codec, code_bits);
}

const char *cli_cpu_name(void) {
    switch (fp_cpu_detect()) {
    case FP_CPU_AVX512: return "AVX-512";
    case FP_CPU_AVX2: return "AVX2";
    case FP_CPU_X86_64: return "x86-64";
    default: return "portable C";
    }
}
