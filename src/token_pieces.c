/* token_pieces.c - the pieces of tokens. In: tokens and their matcher. Out: for every learned token
 * the tokens that its text would be parsed into without it.
 *
 * The trick: those are the longest token that is a proper prefix, and then the greedy parse of the
 * rest, which cannot contain the token itself. So all rests are parsed at once, as rows. Refuses
 * nothing but a lack of memory. */
#include "token_pieces.h"

#include "matcher_private.h"
#include "parse.h"

fastpair_status fp_token_pieces_open(const fp_tokens *tokens, const fp_matcher *matcher,
                                     const fastpair_allocator *allocator, fp_token_pieces *pieces,
                                     fastpair_error *error) {
    const uint16_t *prefix_of = matcher->prefix_of;
    const uint64_t learned = tokens->count - 256;
    uint64_t size = 0;
    for (uint32_t id = 256; id < tokens->count; id++)
        size += tokens->lengths[id] - tokens->lengths[prefix_of[id]];
    uint8_t *rests = fp_allocate(allocator, size + FP_SLACK, 1);
    uint64_t *offsets = fp_allocate(allocator, learned + 1, sizeof *offsets);
    uint16_t *parsed = fp_allocate(allocator, size, sizeof *parsed);
    pieces->first = fp_allocate(allocator, tokens->count + 1ull, sizeof *pieces->first);
    pieces->ids = fp_allocate(allocator, learned + size, sizeof *pieces->ids);
    fastpair_status status = FASTPAIR_OK;
    if (!rests || !offsets || !parsed || !pieces->first || !pieces->ids) {
        fp_token_pieces_close(pieces, allocator);
        status = fp_fail_memory(error, size * 5 + learned * 14);
    } else {
        offsets[0] = 0;
        for (uint64_t i = 0; i < learned; i++) {
            uint32_t id = (uint32_t)i + 256, skipped = tokens->lengths[prefix_of[id]];
            memcpy(rests + offsets[i], fp_token(tokens, id) + skipped,
                   tokens->lengths[id] - skipped);
            offsets[i + 1] = offsets[i] + tokens->lengths[id] - skipped;
        }
        memset(rests + size, 0, FP_SLACK);
        fp_parse_rows(matcher, rests, offsets, learned, parsed);
        const uint16_t *next = parsed;
        uint32_t placed = 0;
        for (uint64_t i = 0; i < learned; i++) {
            pieces->first[i + 256] = placed;
            pieces->ids[placed++] = prefix_of[i + 256];
            for (uint64_t left = offsets[i + 1] - offsets[i]; left;) {
                left -= tokens->lengths[*next];
                pieces->ids[placed++] = *next++;
            }
        }
        pieces->first[tokens->count] = placed;
    }
    fp_release(allocator, rests);
    fp_release(allocator, offsets);
    fp_release(allocator, parsed);
    return status;
}

void fp_token_pieces_close(fp_token_pieces *pieces, const fastpair_allocator *allocator) {
    fp_release(allocator, pieces->first);
    fp_release(allocator, pieces->ids);
    *pieces = (fp_token_pieces){0};
}
