/* oracle.c - the reference decoder: an image goes in, rows come out, or the first rule it breaks.
 *
 * This file has the parts of a file (docs/format.md, section 1); the blocks are in oracle_dictionary.c,
 * oracle_chunk.c and oracle_footer.c, each in the order of its section. The trick is to have none:
 * every number is read where the page puts it, every rule is one line, codes and lengths are read bit
 * by bit. It refuses all that the page forbids. */
#include "oracle_private.h"

#include "frames.h"

static int file_header(reading *r) {
    const uint8_t *d = r->data;
    RULE(r->size >= 64 + 112 + 32, 0, "too small for header, footer and trailer");
    RULE(!memcmp(d, "\x89\x46\x50\x43\x0d\x0a\x1a\x0a", 8), 0, "magic");
    RULE(little(d + 8, 2) == 1, 8, "major version");
    r->out->minor = (uint32_t)little(d + 10, 2);
    r->alignment = little(d + 12, 4);
    RULE(r->alignment == 64 || r->alignment == 4096, 12, "alignment");
    RULE(d[16] <= 1, 16, "framing");
    RULE(d[16] || !d[17], 17, "separator without framing");
    RULE(r->out->minor || (all_zero(d + 18, 2) && all_zero(d + 24, 32)), 18, "zero field");
    uint64_t known = frames_available() ? 1 : 0; /* without zstd a reader refuses cold files */
    r->out->not_supported = little(d + 20, 4) > known;
    RULE(little(d + 20, 4) <= known, 20, "feature");
    r->may_be_cold = d[20];
    RULE(little(d + 56, 8) == hash(d, 56), 56, "file header checksum");
    r->out->has_framing = d[16];
    r->out->separator = d[17];
    return 1;
}

int oracle_block_header(reading *r, uint64_t at, uint32_t header_size) {
    RULE(at + header_size <= r->size, at, "block header beyond the file");
    RULE(little(r->data + at + 4, 4) == header_size, at + 4, "header size");
    RULE(little(r->data + at + header_size - 8, 8) == hash(r->data + at, header_size - 8),
         at + header_size - 8, "block header checksum");
    return 1;
}

int oracle_section(reading *r, uint64_t at, uint64_t entry, uint64_t *end, const uint8_t **bytes,
                   uint64_t *size) {
    uint64_t offset = little(r->data + entry, 8), length = little(r->data + entry + 8, 8);
    uint64_t expected = little(r->data + entry + 16, 8);
    *size = length;
    *bytes = r->data + at; /* never read when empty */
    if (length == 0) {
        RULE(offset == 0 && expected == 0, entry, "empty section with an offset or a hash");
        return 1;
    }
    RULE(offset == round_up(*end, r->alignment), entry, "section offset");
    RULE(length <= r->size - at && offset <= r->size - at - length, entry + 8,
         "section beyond the file");
    RULE(hash(r->data + at + offset, length) == expected, at + offset, "section checksum");
    if (!all_zero(r->data + at + *end, offset - *end)) r->out->gaps_not_zero = 1;
    *bytes = r->data + at + offset;
    *end = offset + length;
    return 1;
}

int oracle_block_end(reading *r, uint64_t at, uint64_t end) {
    uint64_t block_size = little(r->data + at + 8, 8);
    RULE(block_size == round_up(end, r->alignment), at + 8, "block size");
    RULE(block_size <= r->size - at, at + 8, "block beyond the file");
    if (!all_zero(r->data + at + end, block_size - end)) r->out->gaps_not_zero = 1;
    return 1;
}

static int whole_file(reading *r) {
    if (!file_header(r)) return 0;
    uint64_t at = r->alignment;
    RULE(at + 112 + 32 <= r->size, 64, "no room for a footer");
    if (!all_zero(r->data + 64, at - 64)) r->out->gaps_not_zero = 1;
    for (;;) {
        RULE(at + 16 <= r->size, at, "no footer");
        if (!memcmp(r->data + at, "FPFT", 4)) return oracle_footer_block(r, at);
        int known = !memcmp(r->data + at, "FPDI", 4) || !memcmp(r->data + at, "FPCH", 4);
        RULE(!known || !r->out->extra_bytes, at, "a block after an extra one");
        if (!memcmp(r->data + at, "FPDI", 4)) {
            if (!oracle_dictionary_block(r, at)) return 0;
        } else if (!memcmp(r->data + at, "FPCH", 4)) {
            if (!oracle_chunk_block(r, at)) return 0;
        } else {
            uint64_t header = little(r->data + at + 4, 4), size = little(r->data + at + 8, 8);
            RULE(r->out->minor, at, "block kind");
            RULE(header >= 24 && size >= header && size <= r->size - at && size % r->alignment == 0,
                 at + 4, "sizes of an extra block");
            if (!oracle_block_header(r, at, (uint32_t)header)) return 0;
            r->out->extra_bytes += size;
        }
        at += little(r->data + at + 8, 8);
    }
}

int oracle_decode(const uint8_t *data, uint64_t size, oracle_column *column) {
    memset(column, 0, sizeof *column);
    column->offsets = more_room(NULL, 0, 1, 8);
    column->offsets[0] = 0;
    column->bytes = more_room(NULL, 0, 0, 1);
    column->valid = more_room(NULL, 0, 0, 1);
    reading r = {.data = data, .size = size, .out = column};
    int good = whole_file(&r);
    for (uint64_t i = 0; i < column->dictionaries; i++) {
        dictionary *dict = &r.dictionaries[i];
        for (uint32_t code = 0; dict->used && code < dict->slots; code++)
            column->tokens_in_use += dict->used[code];
        free(dict->token), free(dict->length), free(dict->covered), free(dict->used);
    }
    free(r.dictionaries), free(r.chunks);
    return good;
}

void oracle_free(oracle_column *column) {
    free(column->bytes), free(column->offsets), free(column->valid);
    memset(column, 0, sizeof *column);
}
