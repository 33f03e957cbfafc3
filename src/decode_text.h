/* decode_text.h - whether decoded tokens are UTF-8, found out from codes: what the loops that mark share.
 *
 * In: those codes of a run, in order, whose tokens may not be UTF-8 by themselves. Out: whether the
 * run's bytes are UTF-8. The trick: all other tokens are whole, so characters are cut only between
 * neighbours among these codes, and only their bytes are looked at. */
#ifndef FP_DECODE_TEXT_H
#define FP_DECODE_TEXT_H

#include "decode_private.h"
#include "token_text.h"
#include "utf8.h"

/* So many codes of a run are looked at. Where there are more, it is cheaper to judge all bytes. */
#define FP_MOST_CHAINED 160u

/* Neighbours that were looked at. */
typedef struct fp_chain {
    uint8_t before[3]; /* the last bytes, the last one first; 0 after a token that is whole */
    int is_wrong;
    uint64_t next; /* the code after the last that was looked at */
    uint64_t left; /* codes that may still be looked at */
} fp_chain;

/* `out` is where the run begins. The three bytes before it are there. */
static inline fp_chain fp_chain_begin(const uint8_t *out) {
    return (fp_chain){{out[-1], out[-2], out[-3]}, 0, 0, FP_MOST_CHAINED};
}

/* 1 if no character lacks a byte. */
static inline int fp_chain_is_closed(const fp_chain *chain) {
    return chain->before[0] < 0xc2 && chain->before[1] < 0xe0 && chain->before[2] < 0xf0;
}

/* Looks at code number `at` of the run. 0 if there are too many. */
static inline int fp_chain_add(fp_chain *chain, const fp_decoder *decoder, uint64_t at,
                               uint32_t code) {
    if (!chain->left--) return 0;
    if (at != chain->next) {
        chain->is_wrong |= !fp_chain_is_closed(chain);
        memset(chain->before, 0, sizeof chain->before);
    }
    chain->next = at + 1;
    if (code >= decoder->code_slots) return 1; /* the loop refuses it */
    uint32_t length;
    const uint8_t *token = fp_token_of(decoder, code, &length);
    uint8_t one = chain->before[0], two = chain->before[1], three = chain->before[2];
    for (uint32_t i = 0; i < length; i++) {
        chain->is_wrong |= fp_utf8_is_fault(token[i], one, two, three);
        three = two, two = one, one = token[i];
    }
    chain->before[0] = one, chain->before[1] = two, chain->before[2] = three;
    return 1;
}

/* Ends the chain after `codes` codes, which decode to bytes up to `known`. */
static inline void fp_chain_end(fp_chain *chain, uint64_t codes, const uint8_t *known,
                                fp_marks *marks) {
    if (chain->next != codes) chain->is_wrong |= !fp_chain_is_closed(chain);
    *marks = (fp_marks){known, chain->is_wrong};
}

#endif
