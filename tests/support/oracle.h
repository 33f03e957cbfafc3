/* oracle.h - a slow decoder of `.fpc` images, written from docs/format.md alone and in its order.
 *
 * Tests compare the library with the oracle. The oracle shares no code with the library and checks
 * every rule that the page states. It decodes one bit and one byte at a time, so that a reader can
 * see that it does what the page says. */
#ifndef FP_TESTS_ORACLE_H
#define FP_TESTS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

/* One struct for all that a file says, in the order of docs/format.md: tests compare it field by
 * field with fastpair_column_info. */
typedef struct oracle_column {
    /* the rows: row i is bytes[offsets[i] .. offsets[i + 1]), valid[i] is 1 or 0 */
    uint64_t rows;
    uint64_t nulls;
    uint64_t decoded_bytes;
    uint8_t *bytes;
    uint64_t *offsets;
    uint8_t *valid;

    /* what the headers and sections added up to */
    uint64_t codes;
    uint64_t coded_bytes; /* what the codes decode to */
    uint64_t chunks;
    uint64_t stored_chunks;
    uint64_t cold_chunks;
    uint64_t dictionaries;
    uint64_t tokens;
    uint64_t tokens_in_use;       /* counted by the oracle */
    uint64_t tokens_claimed;      /* as the footer says */
    uint64_t codes_by_length[16]; /* the counts of chunk headers */
    uint64_t dictionary_bytes, code_bytes, sidecar_bytes, length_bytes, validity_bytes;
    uint32_t first_codec, first_bits, first_longest, first_batch_codes, largest_batch;
    int has_framing;
    uint8_t separator;
    int final_separator;

    /* what the footer says of the column; the pointers are into the image */
    uint32_t minor;
    int is_text;
    const uint8_t *name, *pairs, *bounds; /* the parts; NULL: none */
    uint64_t name_size, pairs_size;
    uint32_t bound_width; /* K */
    uint64_t extra_bytes;
    int not_supported; /* oracle_decode refused what a later version may have */

    /* departures from the page that do not change what the rows are */
    int gaps_not_zero;    /* a byte between sections or blocks */
    int padding_not_zero; /* a spare bit after packed codes or packed lengths */
    int rows_cut_tokens;  /* a row ends inside a token */
    int empty_slots_used; /* a code without a token occurs; it decoded to zero bytes */

    char why[160]; /* when oracle_decode refused: the reason, and the file offset it is about */
    uint64_t where;
} oracle_column;

/* Decodes an image. Returns 1 if it keeps every rule (see the departures above), else 0 with `why`
 * set. Call oracle_free in both cases. */
int oracle_decode(const uint8_t *data, uint64_t size, oracle_column *column);
void oracle_free(oracle_column *column);

#endif
