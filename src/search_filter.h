/* search_filter.h - which codes can begin a match: what lets a scan pass over most codes without
 * looking at them one by one. */
#ifndef FP_SEARCH_FILTER_H
#define FP_SEARCH_FILTER_H

#include "search_table.h"
#include "search_window.h"

/* What a code can do, as bits of a byte by code. */
enum {
    /* It leads out of the start state; or, where matches begin with rows, not to the dead state. */
    FP_CODE_BEGINS = 1,
    /* From another state it leads elsewhere than from the start state; or not to the dead state. A
     * code that cannot makes what came before it forgotten. */
    FP_CODE_GOES_ON = 2,
    /* It leads from the start state to one that accepts. */
    FP_CODE_ACCEPTS = 4,
    /* No valid file has it. */
    FP_CODE_BAD = 8
};

/* Codes that the AVX-512 filter tells apart: of wider codes it looks at the upper 12 bits. */
#define FP_COARSE_BITS 12u

/* A leaf's automaton for one dictionary. */
typedef struct fp_code_search {
    fp_token_table *table;
    uint8_t *flags; /* by code */
    int can_pass;   /* 0: no row of this dictionary's tokens can pass */
    /* 1: a row that passes has a code which begins a match, and runs may go on from row to row. */
    int can_filter;
    /* A bit for each code, or for each 2^shift of them: whether one of them begins a match or is bad,
     * whether one goes on, whether one accepts. */
    uint32_t shift;
    uint8_t begins[(1u << FP_COARSE_BITS) / 8], goes_on[(1u << FP_COARSE_BITS) / 8],
        accepts[(1u << FP_COARSE_BITS) / 8];
    int has_accepts; /* any of these */
    /* Lengths of tokens by the upper 8 bits of codes, if these decide them. */
    int has_classes;
    uint8_t length_of_class[256];
    uint32_t longest; /* of all tokens */
    fastpair_cpu_level level;
} fp_code_search;

/* Bytes that all of it takes. */
uint64_t fp_code_search_bytes(const fp_automaton *automaton, const fp_dict *dict);

fastpair_status fp_code_search_open(const fp_automaton *automaton, const fp_dict *dict,
                                    fastpair_cpu_level level, const fastpair_allocator *allocator,
                                    fp_code_search **search, fastpair_error *error);
void fp_code_search_close(fp_code_search *search, const fastpair_allocator *allocator);

/* Words of a window's masks. */
#define FP_WINDOW_WORDS (FP_WINDOW_CODES / 64)

/* Unpacks the codes of a window and sets the bits of those that may begin a match: of all of them,
 * and of some others. With `strict`, only of those that accept at once or that are followed by one
 * that goes on; and if fp_filter_tells_accepting, those that accept at once have their bits in
 * `accepting`, too. Returns how many may begin a match. */
uint32_t fp_filter_window(const fp_code_search *search, fp_code_window *window, int strict,
                          uint64_t *masks, uint64_t *accepting);

/* Whether bits of 64 codes at a time can be looked up exactly. */
static inline int fp_filter_tells_accepting(const fp_code_search *search) {
    return search->level >= FASTPAIR_CPU_AVX512 && !search->shift;
}

/* Bits of codes that accept at once, of codes that are unpacked. Returns how many. */
uint32_t fp_filter_accepts(const fp_code_search *search, const fp_code_window *window,
                           uint64_t *masks);

#if defined(__x86_64__)
uint32_t fp_filter_accepts_avx512(const fp_code_search *search, const fp_code_window *window,
                                  uint64_t *masks);
/* The first blocks of 64 codes of a window; returns how many there are. *found gets how many bits are
 * set. */
uint32_t fp_filter_blocks_avx512(const fp_code_search *search, fp_code_window *window, int strict,
                                 uint64_t *masks, uint64_t *accepting, uint32_t *found);
#endif

#endif
