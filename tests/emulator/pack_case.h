/* pack_case.h - parsed chunks in device memory, as the encoder's kernels find them before they pack, and
 * what the CPU makes of them. */
#ifndef FP_TESTS_PACK_CASE_H
#define FP_TESTS_PACK_CASE_H

#include "device_memory.h"
#include "gpu/kernels/encode_params.h"
#include "pack_oracle.h"

#include <vector>

/* A chunk of a case, and what its segments are. */
struct chunk_case {
    std::vector<uint16_t> codes;
    std::vector<uint8_t> text, null_rows;
    std::vector<uint64_t> offsets; /* of rows, from 0 on */
    uint64_t nulls = 0;
    int in_first = 0, ends_unit = 0;
    pack_result result = {};
    pack_chunk_rows rows() {
        return pack_chunk_rows{text.data(), null_rows.data(), offsets.data(), null_rows.size(),
                               nulls,       codes.data(),     codes.size(),   in_first,
                               ends_unit};
    }
};

struct pack_case {
    uint64_t random; /* the state of the generator */
    device memory = {};
    pack_rules rules = {};
    std::vector<uint8_t> lengths;
    std::vector<chunk_case> chunks;
    fp_gpu_encode_launch launch = {};
    fp_gpu_encode_state *state = nullptr, before = {};
    fp_gpu_encode_chunk *table = nullptr;
    uint8_t *output = nullptr;
    uint32_t *used = nullptr;
    std::vector<uint32_t> used_before;
    uint64_t image_bytes = 0; /* that this piece has */
    uint32_t dict_before = 0; /* the chunk that the dictionary comes before */
};

/* How many codes chunks have: any number up to 12,000; a few, so that there can be many chunks; so many
 * that a block goes through dozens of takes. */
typedef enum pack_counts { PACK_ANY, PACK_TINY, PACK_LONG } pack_counts;

typedef struct pack_wanted {
    uint32_t code_bits, chunks;
    pack_counts counts;
} pack_wanted;

/* Draws a case from c->random; forgets the emulator's memory. Returns whether a dictionary saves exactly
 * what it takes. */
int pack_case_make(pack_case *c, pack_wanted wanted);
void pack_case_free(pack_case *c);

#endif
