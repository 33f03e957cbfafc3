/* pack_oracle.c - parsed chunks → blocks, by the library's own functions; the order of decisions is
 * written down here again, list by list. */
#include "pack_oracle.h"

#include "encode.h"
#include "lengths.h"
#include "pack.h"
#include "sidecar.h"

#include <stdlib.h>

static fp_settings settings_of(const pack_rules *rules) {
    fp_settings settings = {.batch_codes = rules->wanted_batch, .alignment = rules->alignment};
    if (fp_allocator_resolve(&(fastpair_allocator){0}, &settings.allocator, NULL)) abort();
    return settings;
}

static fp_packing packing_of(const pack_rules *rules) {
    fp_settings settings = settings_of(rules);
    return fp_packing_for(&settings, rules->code_bits, rules->max_token);
}

void pack_oracle_rules(pack_rules *rules) {
    fp_packing packing = packing_of(rules);
    rules->batch_codes = packing.batch_codes;
    rules->group_batches = packing.group_batches;
}

uint64_t pack_oracle_lengths(const pack_chunk_rows *rows) {
    return fp_lengths_size(rows->offsets, rows->rows);
}

static fp_draft draft_of(const pack_chunk_rows *rows) {
    return (fp_draft){.rows = {.bytes = rows->bytes,
                               .offsets = rows->offsets,
                               .null_rows = rows->null_rows,
                               .rows = rows->rows,
                               .nulls = rows->nulls},
                      .parsed = {.ids = rows->codes, .codes = rows->code_count}};
}

uint32_t pack_oracle_decide(const pack_rules *rules, const pack_chunk_rows *rows, uint32_t count,
                            int had_dict, pack_result *results) {
    const fp_packing packing = packing_of(rules);
    uint32_t before = count, end;
    int has_dict = had_dict;
    for (uint32_t from = 0; from < count; from = end) {
        uint64_t saved = 0;
        if (rows[from].in_first) /* the first list */
            for (end = from; end < count && rows[end].in_first;) end++;
        else /* a unit */
            for (end = from + 1; end < count && !rows[end - 1].ends_unit;) end++;
        for (uint32_t i = from; i < end; i++) {
            fp_draft draft = draft_of(&rows[i]);
            saved += fp_draft_saving(&draft, packing);
        }
        if (!has_dict && saved > rules->dict_bytes) {
            before = from;
            has_dict = 1;
        }
        for (uint32_t i = from; i < end; i++) {
            fp_draft draft = draft_of(&rows[i]);
            results[i].coded = has_dict && fp_draft_saving(&draft, packing) > 0;
        }
    }
    return before;
}

static void take_sections(const fp_chunk *chunk, pack_result *result) {
    result->block_bytes = chunk->block_bytes;
    for (int s = 0; s < FP_SECTIONS; s++) {
        result->section[s] = chunk->sections[s].offset;
        result->section_bytes[s] = chunk->sections[s].size;
    }
}

void pack_oracle_layout(const pack_rules *rules, const pack_chunk_rows *rows, pack_result *result) {
    const fp_packing packing = packing_of(rules);
    const uint64_t codes = rows->code_count, bytes = rows->offsets[rows->rows] - rows->offsets[0];
    fp_chunk chunk = {0};
    chunk.sections[FP_SECTION_CODES].size =
        result->coded ? fp_packed_size(codes, packing.code_bits) : bytes;
    if (result->coded)
        chunk.sections[FP_SECTION_SIDECAR].size =
            fp_sidecar_size(codes, packing.batch_codes, packing.group_batches);
    chunk.sections[FP_SECTION_LENGTHS].size = pack_oracle_lengths(rows);
    chunk.sections[FP_SECTION_VALIDITY].size = rows->nulls ? (rows->rows + 7) / 8 : 0;
    fp_chunk_layout(&chunk, rules->alignment);
    take_sections(&chunk, result);
}

void pack_oracle_build(const pack_rules *rules, const pack_chunk_rows *rows, pack_result *result) {
    fp_numbering *numbering = calloc(1, sizeof *numbering);
    uint16_t *ids = malloc((rows->code_count + 1) * sizeof *ids); /* building replaces them */
    if (!numbering || !ids) abort();
    numbering->dict.code_bits = rules->code_bits;
    numbering->dict.max_token = rules->max_token;
    for (uint32_t i = 0; i < 1u << rules->code_bits; i++) {
        numbering->code_of_id[i] = i;
        numbering->lengths_of_code[i] = rules->lengths_of_code[i];
    }
    fp_settings settings = settings_of(rules);
    fp_draft draft = draft_of(rows);
    if (rows->code_count) memcpy(ids, rows->codes, rows->code_count * sizeof *ids);
    draft.parsed.ids = ids;
    draft.coded = result->coded;
    fp_block block = {0};
    fp_draft_build(&draft, numbering, &settings, &block);
    if (block.status) abort();
    const fp_chunk *chunk = &block.chunk;
    result->block = malloc(chunk->block_bytes);
    if (!result->block) abort();
    memcpy(result->block, block.bytes.data, chunk->block_bytes);
    take_sections(chunk, result);
    memcpy(result->by_length, chunk->by_length, sizeof result->by_length);
    result->largest_batch = chunk->largest_batch;
    result->largest_pair = chunk->largest_pair;
    result->largest_four = chunk->largest_four;
    fp_buffer_close(&block.bytes, &settings.allocator);
    free(numbering);
    free(ids);
}
