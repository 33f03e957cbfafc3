/* verify.c - the checksums of the chunks a slice comes from.
 *
 * In: a range of rows of an open column. Out: whether the sections of every chunk that holds one of them match their
 * checksums. Decoding a mapped column makes sure only that a damaged file does no harm, since hashing it each time
 * would cost more than decoding; but a command that prints rows must not print wrong ones. This file and those of
 * the benchmark know the library's insides.
 */
#include "cli.h"
#include "column.h"

fastpair_status cli_verify_rows(const fastpair_column *column, uint64_t first, uint64_t end,
                                fastpair_error *error) {
    if (first >= end) return FASTPAIR_OK;
    uint64_t last_chunk = fp_column_find_chunk(column, end - 1);
    for (uint64_t chunk = fp_column_find_chunk(column, first); chunk <= last_chunk; chunk++) {
        fp_chunk_view view = fp_column_chunk(column, chunk);
        fastpair_status status = fp_chunk_verify_checksums(&view, error);
        if (status != FASTPAIR_OK) return status;
    }
    return FASTPAIR_OK;
}
