/* encode_tables.h - what a dictionary looks like to the kernel that parses.
 *
 * A *node* is a prefix of tokens: a *stem* of 1, 5, 9, ... 61 bytes, or a *fork*, a stem and two
 * bytes more. So every token is a node, or a node and one last byte, its *leaf*. A node has an
 * answer: the longest token that the node is or begins with. The longest match of the next bytes:
 *   1. the first byte is a stem;
 *   2. as long as the stem and the next four bytes are an *edge*, go on to the longer stem;
 *   3. if the stem and the next two bytes are a fork, go on to the fork;
 *   4. if the node and the next byte are a leaf, that is the match, else the node's answer is.
 * All prefixes of a stem that are stems' lengths are stems, so the first edge that is missing ends
 * step 2. (matcher_private.h looks up stems of all lengths at once instead, because a CPU would wait
 * for one after the other. On a GPU other warps go on meanwhile.) No step takes a row's end in.
 *
 * Tables, in this order; those that the shape has in shared memory come first:
 *   stems      by byte: the node's number, 4 bytes; then by byte its answer, 4 bytes
 *   multipliers of edges, of forks: 2 bytes per bucket
 *   entries    of edges, of forks. Near: bytes; the node they lead from << 16 | the node they lead
 *              to. Far: bytes; from; to; answer of the node they lead to
 *   leaves     by node number + byte: code | byte << 16; 1 << 24 where there is none
 *   answers    near only, by node number: code | length << 16
 *   lengths    by code, a byte; 2^code_bits of them, 0 for codes without a token
 * Nodes are numbered as in matcher_private.h, so that leaves need no hash. */
#ifndef FP_GPU_ENCODE_TABLES_H
#define FP_GPU_ENCODE_TABLES_H

#include "../model.h"

#include "kernels/encode_params.h"

/* The tables of a dictionary in host memory, to be copied to a device as they are. `at` has no device
 * addresses yet. */
typedef struct fp_encode_tables {
    uint8_t *memory;
    uint64_t bytes;
    fp_gpu_encode_tables at;
} fp_encode_tables;

/* Makes the tables of a dictionary with a numbering. The dictionary is not needed afterwards. Blocks
 * may have `shared_limit` bytes of shared memory; the shape follows from it. The same dictionary and
 * limit always give the same tables. Statuses: OUT_OF_MEMORY; LIMIT if no hash separates its tokens,
 * which is as good as impossible. */
fastpair_status fp_encode_tables_open(const fastpair_dictionary *dictionary, uint32_t shared_limit,
                                      const fastpair_allocator *allocator, fp_encode_tables *tables,
                                      fastpair_error *error);
void fp_encode_tables_close(fp_encode_tables *tables, const fastpair_allocator *allocator);

/* What launches need once the tables lie at a device address, a multiple of 16. */
fp_gpu_encode_tables fp_encode_tables_at(const fp_encode_tables *tables, uint64_t address);

#endif
