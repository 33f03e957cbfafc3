/* kernel_case.h - small made-up chunks for kernel tests. */
#ifndef FP_TESTS_KERNEL_CASE_H
#define FP_TESTS_KERNEL_CASE_H

#include <stdint.h>

typedef enum case_lengths {
    CASE_MIXED,    /* 1 to the longest, each as often as the others */
    CASE_ONES,     /* 1-byte tokens only */
    CASE_LONGEST,  /* tokens of the greatest length only */
    CASE_SHORT,    /* mostly 1..4 */
    CASE_EIGHT,    /* 8 and 9, or 7 and 8; where tokens have pieces, 16 and 17 */
    CASE_FEW_LONG, /* one in 20 longer than 8 */
    CASE_LENGTHS
} case_lengths;

/* Bytes of a cell for any token. */
enum { CASE_CELL = 64 };

typedef struct kernel_case {
    uint32_t bits, slots, longest, hot;
    uint8_t *lengths;             /* of the token of each slot */
    uint8_t (*tokens)[CASE_CELL]; /* zero-padded */
    uint32_t *codes;
    uint32_t count;
    uint32_t decoded_bytes;
    uint8_t *decoded; /* what must come out */
} kernel_case;

/* Random tokens and codes: `slots` codes, of the fewest bits that hold them; longest is 8 or 16. */
void case_make(kernel_case *c, uint64_t seed, uint32_t slots, uint32_t count, uint32_t longest,
               case_lengths lengths);
/* The same with codes in length classes, as files have them and as assembled kernels want them;
 * with `hot`, in two parts. Slots between classes hold no token and do not occur. Seven parameters,
 * all of which tests vary. */
void case_make_classes(kernel_case *c, uint64_t seed, uint32_t bits, uint32_t count,
                       uint32_t longest, case_lengths lengths, int hot);
/* The same for tokens of up to 32 or 64 bytes: codes ascend by length, in classes of 2^shift codes,
 * and all of them have a token. With `any_order`, codes do not ascend. Eight parameters, for the
 * same reason. */
void case_make_long(kernel_case *c, uint64_t seed, uint32_t bits, uint32_t count, uint32_t longest,
                    case_lengths lengths, uint32_t shift, int any_order);
void case_free(kernel_case *c);

#endif
