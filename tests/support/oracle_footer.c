/* oracle_footer.c - the footer block and the trailer (docs/format.md, section 4), against the blocks that were
 * read before. */
#include "oracle_private.h"

#include "oracle_parts.h"

int oracle_footer_block(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at;
    oracle_column *out = r->out;
    if (!oracle_block_header(r, at, 112)) return 0;
    RULE(little(h + 16, 8) == out->dictionaries, at + 16, "dictionaries");
    RULE(little(h + 24, 8) == out->chunks, at + 24, "chunks");
    uint64_t parts = little(h + 68, 4), size = little(h + 8, 8);
    RULE(parts <= 64, at + 68, "parts");
    uint64_t blocks = 24 * out->dictionaries + 32 * out->chunks, entries = blocks + 32 * parts;
    RULE(size >= 112 + entries && size <= r->size - at - 32, at + 8, "footer size");
    RULE(r->size - at == size + 32, at + 8, "the trailer does not end the file");
    RULE(little(h + 32, 8) == out->rows, at + 32, "rows");
    RULE(little(h + 40, 8) == out->nulls, at + 40, "null rows");
    RULE(little(h + 48, 8) == out->codes, at + 48, "codes");
    RULE(little(h + 56, 8) == out->decoded_bytes, at + 56, "decoded bytes");
    RULE(h[64] <= 1 && (out->has_framing || h[64] == 0), at + 64, "final separator");
    RULE(h[65] <= 1, at + 65, "type");
    RULE(out->minor || (all_zero(h + 66, 2) && all_zero(h + 80, 24)), at + 66, "zero field");
    RULE(little(h + 80, 8) == out->extra_bytes, at + 80, "extra blocks");
    out->is_text = h[65];
    RULE(little(h + 72, 8) == (entries ? hash(h + 112, entries) : 0), at + 72,
         "footer entries checksum");
    out->final_separator = h[64];
    const uint8_t *entry = h + 112;
    for (uint64_t i = 0; i < out->dictionaries; i++, entry += 24) {
        uint64_t where = (uint64_t)(entry - r->data);
        RULE(little(entry, 8) == r->dictionaries[i].offset, where, "dictionary offset");
        RULE(little(entry + 8, 8) == r->dictionaries[i].block_size, where + 8,
             "dictionary block size");
        RULE(out->minor || all_zero(entry + 20, 4), where + 20, "zero field");
        out->tokens_claimed += little(entry + 16, 4);
    }
    for (uint64_t i = 0; i < out->chunks; i++, entry += 32) {
        uint64_t where = (uint64_t)(entry - r->data);
        RULE(little(entry, 8) == r->chunks[i].offset, where, "chunk offset");
        RULE(little(entry + 8, 8) == r->chunks[i].block_size, where + 8, "chunk block size");
        RULE(little(entry + 16, 4) == r->chunks[i].rows, where + 16, "chunk rows");
        RULE(!little(entry + 20, 4) || little(entry + 20, 4) - 1 == r->chunks[i].dictionary,
             where + 20, "chunk dictionary");
        RULE(little(entry + 24, 8) == r->chunks[i].decoded_bytes, where + 24,
             "chunk decoded bytes");
    }
    uint64_t *chunk_rows = room(NULL, out->chunks, 8), where = at;
    for (uint64_t i = 0; i < out->chunks; i++) chunk_rows[i] = r->chunks[i].rows;
    const char *why = oracle_check_parts(
        &(oracle_footer){r->data, at, size, 112 + blocks, parts, chunk_rows}, out, &where);
    free(chunk_rows);
    RULE(!why, where, why);
    entry = h + size;
    where = at + size;
    RULE(little(entry, 8) == at, where, "footer offset in the trailer");
    RULE(little(entry + 8, 8) == r->size, where + 8, "file size in the trailer");
    RULE(little(entry + 16, 8) == hash(entry, 16), where + 16, "trailer checksum");
    RULE(!memcmp(entry + 24, "\x46\x50\x43\x0a\x1a\x45\x4e\x44", 8), where + 24, "trailer magic");
    return 1;
}
