/* search_scan_codes.h - scans that run an automaton over codes. */
#ifndef FP_SEARCH_SCAN_CODES_H
#define FP_SEARCH_SCAN_CODES_H

#include "search_filter.h"
#include "search_scan.h"

/* The codes of a piece's rows: from .. to. CORRUPT if a row does not begin with a code. */
fastpair_status fp_scan_find_codes(const fp_piece *piece, fp_scan_room *room, uint64_t *from,
                                   uint64_t *to, fastpair_error *error);

/* As fp_scan_decoded, for a coded chunk and an automaton over the codes of its dictionary.
 *
 * Runs it over all codes, several rows at a time. */
fastpair_status fp_scan_codes(const fp_code_search *search, const fp_piece *piece,
                              fp_scan_room *room, uint64_t *bits, fastpair_error *error);

/* Runs it from codes that can begin a match. Only if search->can_filter. Where these are so many that
 * fp_scan_codes is faster, *gave_up becomes 1, and only some of the rows that pass have their bits; NULL:
 * it never gives up. */
fastpair_status fp_scan_filtered(const fp_code_search *search, const fp_piece *piece,
                                 fp_scan_room *room, int *gave_up, uint64_t *bits,
                                 fastpair_error *error);

#endif
