/* sections.h - the codes and dictionaries inside a `.fpc` image, for loops that are compared with
 * fastpair's. Read by docs/format.md alone, without the library. */
#ifndef FP_BENCH_SECTIONS_H
#define FP_BENCH_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_dictionary {
    uint32_t code_bits;
    uint8_t (*cells)[64]; /* 2^code_bits tokens by code, zero-padded */
    uint8_t *lengths;     /* of each; 1 for codes without a token, which do not occur */
} bench_dictionary;

typedef struct bench_chunk {
    uint16_t *codes; /* NULL for a stored chunk */
    uint64_t count;
    uint32_t dictionary;
    const uint8_t *stored; /* bytes of a stored chunk, in the image */
    uint64_t decoded_bytes;
} bench_chunk;

typedef struct bench_sections {
    bench_dictionary *dictionaries;
    uint64_t dictionary_count;
    bench_chunk *chunks;
    uint64_t chunk_count;
} bench_sections;

/* Unpacks all codes of an image that fastpair_column_validate accepts; the image must outlive the
 * result. False if there is no memory, and then nothing is open. */
bool bench_sections_open(const uint8_t *image, uint64_t size, bench_sections *sections);
void bench_sections_close(bench_sections *sections);

#endif
