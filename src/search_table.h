/* search_table.h - an automaton run over the tokens of a dictionary: one look-up consumes a token.
 *
 * For the CPU and for GPUs. A row begins in table->start; each of its codes leads from state s to
 * fp_token_table_next(table, s, code). The row passes if the state at its end is first_accepting or
 * more. Two states are never left, where they are not FP_NO_STATE: the row passes once it reaches
 * `absorbing`, and does not once it reaches `dead`. */
#ifndef FP_SEARCH_TABLE_H
#define FP_SEARCH_TABLE_H

#include "dict.h"
#include "search_automaton.h"

typedef struct fp_token_table {
    uint32_t states;
    uint32_t code_bits;
    uint32_t code_slots;  /* codes from here on are in no valid file; they lead where they began */
    uint32_t state_bytes; /* 1 up to 256 states, else 2 */
    uint32_t start, first_accepting, absorbing, dead; /* as in fp_automaton */
    int anywhere;                                     /* the same */
    void *next; /* [state << code_bits | code], uint8_t or uint16_t */
} fp_token_table;

static inline uint32_t fp_token_table_next(const fp_token_table *table, uint32_t state,
                                           uint32_t code) {
    uint64_t at = (uint64_t)state << table->code_bits | code;
    return table->state_bytes == 1 ? ((const uint8_t *)table->next)[at]
                                   : ((const uint16_t *)table->next)[at];
}

/* Bytes that the table of so many states takes. */
static inline uint64_t fp_token_table_bytes(uint32_t states, uint32_t code_bits) {
    return (uint64_t)states * (states <= 256 ? 1 : 2) << code_bits;
}

/* Builds the table of an automaton that has a `next`. A slot without a token is taken for zero bytes,
 * as the decoders do. *table is NULL on failure (OUT_OF_MEMORY). */
fastpair_status fp_token_table_open(const fp_automaton *automaton, const fp_dict *dict,
                                    const fastpair_allocator *allocator, fp_token_table **table,
                                    fastpair_error *error);
void fp_token_table_close(fp_token_table *table, const fastpair_allocator *allocator);

#endif
