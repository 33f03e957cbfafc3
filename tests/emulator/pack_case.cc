/* pack_case.cc - draws parsed chunks, and lays them out in the emulator's memory. */
#include "pack_case.h"

#include "check.h"

static uint32_t draw(pack_case *c, uint32_t bound) {
    return (uint32_t)(check_random(&c->random) % bound);
}

/* ---------------------------------------------------------------- drawing chunks */

static void draw_lengths(pack_case *c) {
    uint32_t kind = draw(c, 3), most = c->rules.max_token;
    c->lengths.resize(1u << c->rules.code_bits);
    for (uint8_t &length : c->lengths)
        length = (uint8_t)(kind == 0    ? 1 + draw(c, most)
                           : kind == 1  ? most
                           : draw(c, 4) ? 1
                                        : most);
    c->lengths[0] = 1; /* chunks of it do not get smaller */
    c->rules.lengths_of_code = c->lengths.data();
}

static void draw_codes(pack_case *c, chunk_case *chunk, uint32_t count, uint32_t kind) {
    uint32_t all = (uint32_t)c->lengths.size(), few = 1 + draw(c, all);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = kind < 2    ? draw(c, all)
                        : kind == 2 ? draw(c, few)
                        : kind == 3 ? all - 1
                                    : 0;
        chunk->codes.push_back((uint16_t)code);
        bytes += c->lengths[code];
    }
    chunk->text.resize(bytes + 1); /* data() is not NULL */
    for (uint8_t &byte : chunk->text) byte = (uint8_t)draw(c, 256);
}

/* Rows that have the text between them; null rows have none of it. */
static void draw_rows(pack_case *c, chunk_case *chunk) {
    uint64_t bytes = chunk->text.size() - 1;
    uint32_t kind = draw(c, 3), longest = 1 + draw(c, draw(c, 2) ? 30 : 3000);
    chunk->offsets.push_back(0);
    while (chunk->offsets.back() < bytes || chunk->null_rows.empty() || !draw(c, 9)) {
        uint64_t left = bytes - chunk->offsets.back(), length = draw(c, longest + 1);
        uint8_t is_null = kind == 1 && !draw(c, 3);
        if (is_null) length = 0;
        chunk->nulls += is_null;
        chunk->null_rows.push_back(is_null);
        chunk->offsets.push_back(chunk->offsets.back() + (length < left ? length : left));
    }
}

/* Around the places where batches, groups and takes end; sometimes none. */
static uint32_t draw_count(pack_case *c) {
    uint32_t batch = c->rules.batch_codes, group = batch * c->rules.group_batches;
    const uint32_t places[] = {batch, 2 * batch, 3 * batch, group, 4096 / group * group, 8192};
    if (!draw(c, 12)) return 0;
    if (!draw(c, 4)) return 1 + draw(c, 40);
    return draw(c, 2) ? places[draw(c, 6)] - 1 + draw(c, 3) : 1 + draw(c, 12000);
}

static void draw_chunks(pack_case *c, uint32_t count, pack_counts counts) {
    uint32_t first = c->before.image_end ? 0 : draw(c, count + 1);
    /* Chunks before this one do not get smaller. */
    uint32_t late = counts == PACK_TINY ? draw(c, count) : 0;
    c->chunks.resize(count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t codes = counts == PACK_TINY   ? draw(c, 60)
                         : counts == PACK_LONG ? 50000 + draw(c, 60000)
                                               : draw_count(c);
        draw_codes(c, &c->chunks[i], codes, i < late ? 4 : draw(c, 5));
        draw_rows(c, &c->chunks[i]);
        c->chunks[i].in_first = i < first;
        c->chunks[i].ends_unit = i + 1 == first || i + 1 == count || !draw(c, 3);
    }
}

/* What the CPU makes of all chunks. The dictionary's size is near what it saves, so that all decisions
 * occur. Returns whether the savings were exactly as large. */
static int decide(pack_case *c) {
    std::vector<pack_chunk_rows> rows;
    std::vector<pack_result> results(c->chunks.size() + 1);
    uint64_t bytes = 0, coded = 0, alignment = c->rules.alignment, saved;
    c->rules.dict_bytes = 0;
    for (chunk_case &chunk : c->chunks) rows.push_back(chunk.rows());
    pack_oracle_decide(&c->rules, rows.data(), (uint32_t)rows.size(), 1, results.data());
    uint32_t list = draw(c, (uint32_t)rows.size() + 1);
    for (uint32_t i = 0; i < list; i++) {
        if (i && rows[i - 1].ends_unit && !rows[i].in_first) bytes = coded = 0;
        if (!results[i].coded) continue;
        pack_oracle_layout(&c->rules, &rows[i], &results[i]);
        bytes += c->chunks[i].text.size() - 1;
        coded += results[i].section_bytes[0] + results[i].section_bytes[1];
    }
    saved = bytes - coded;
    c->rules.dict_bytes =
        alignment * (draw(c, 6) ? saved / alignment + (draw(c, 3) == 2) : draw(c, 40));
    c->dict_before = pack_oracle_decide(&c->rules, rows.data(), (uint32_t)rows.size(),
                                        (int)c->before.has_dict, results.data());
    for (uint32_t i = 0; i < rows.size(); i++) {
        c->chunks[i].result = results[i];
        pack_oracle_build(&c->rules, &rows[i], &c->chunks[i].result);
    }
    return saved && saved == c->rules.dict_bytes;
}

/* ---------------------------------------------------------------- device memory */

/* Tables of segments and codes of all chunks. */
static void put_segments(pack_case *c) {
    std::vector<uint16_t> codes;
    std::vector<uint32_t> first, count;
    for (uint32_t i = 0; i < c->chunks.size(); i++) {
        const chunk_case *chunk = &c->chunks[i];
        fp_gpu_encode_chunk *entry = &c->table[i];
        uint32_t at = 0;
        entry->bytes = (uint32_t)chunk->text.size() - 1;
        entry->segments = (entry->bytes + FP_GPU_ENCODE_SEGMENT - 1) / FP_GPU_ENCODE_SEGMENT;
        entry->first_segment = first.size();
        entry->code_place = codes.size();
        codes.resize(codes.size() + FP_GPU_ENCODE_SEGMENT * (uint64_t)entry->segments + 16, 0xeeee);
        first.resize((first.size() + entry->segments + 31 + draw(c, 40)) / 32 * 32, 0xeeeeeeee);
        count.resize(first.size(), 0xeeeeeeee);
        for (uint32_t s = 0; s < entry->segments; s++) count[entry->first_segment + s] = 0;
        for (uint16_t code : chunk->codes) {
            uint32_t s = at / FP_GPU_ENCODE_SEGMENT;
            uint32_t *codes_there = &count[entry->first_segment + s];
            if (!*codes_there) first[entry->first_segment + s] = at;
            codes[entry->code_place + FP_GPU_ENCODE_SEGMENT * (uint64_t)s + (*codes_there)++] =
                code;
            at += c->lengths[code];
        }
    }
    fp_gpu_encode_scratch *to = &c->launch.scratch;
    to->codes = device_address(
        device_copy(&c->memory, codes.data(), 2 * codes.size(), "codes in segments"));
    to->seg_first =
        device_address(device_copy(&c->memory, first.data(), 4 * first.size(), "first bytes"));
    to->seg_count =
        device_address(device_copy(&c->memory, count.data(), 4 * count.size(), "counts of codes"));
    to->seg_rank = device_address(
        device_block(&c->memory, 4 * first.size(), 16, EMULATOR_WRITE, "ranks of segments"));
    to->most_segments = first.size();
}

/* Text of all chunks, somewhere in the caller's bytes. */
static void put_text(pack_case *c) {
    uint64_t skip = draw(c, 40);
    std::vector<uint8_t> text(skip);
    for (uint32_t i = 0; i < c->chunks.size(); i++) {
        const std::vector<uint8_t> &own = c->chunks[i].text;
        c->table[i].first_byte = text.size() - skip;
        text.insert(text.end(), own.begin(), own.end() - 1);
    }
    const uint64_t offsets[2] = {skip, text.size()};
    fp_gpu_encode_input *input = &c->launch.input;
    uint8_t *bytes = device_block(&c->memory, text.size(), draw(c, 20), EMULATOR_READ, "text");
    if (!text.empty()) memcpy(bytes, text.data(), text.size());
    input->bytes = device_address(bytes);
    input->bytes_size = text.size();
    input->offsets = device_address(device_copy(&c->memory, offsets, sizeof offsets, "offsets"));
    input->offset_bits = 64;
    c->before.text_bytes = text.size() - skip;
}

static void put_chunks(pack_case *c) {
    uint64_t rows = 0, bytes = sizeof(fp_gpu_encode_chunk) * c->chunks.size();
    c->table = (fp_gpu_encode_chunk *)(void *)device_block(&c->memory, bytes, 8, EMULATOR_WRITE,
                                                           "table of chunks");
    memset((void *)c->table, 0, bytes);
    for (uint32_t i = 0; i < c->chunks.size(); i++) {
        chunk_case *chunk = &c->chunks[i];
        pack_chunk_rows own = chunk->rows();
        c->table[i].first_row = rows;
        c->table[i].rows = (uint32_t)own.rows;
        c->table[i].nulls = (uint32_t)own.nulls;
        c->table[i].in_first = (uint8_t)own.in_first;
        c->table[i].ends_unit = (uint8_t)own.ends_unit;
        c->table[i].lengths_bytes = (uint32_t)pack_oracle_lengths(&own);
        rows += own.rows;
    }
    c->launch.scratch.chunks = device_address(c->table);
    c->launch.scratch.most_chunks = c->chunks.size();
}

static void put_launch(pack_case *c) {
    fp_gpu_encode_launch *launch = &c->launch;
    launch->rules.dict_bytes = c->rules.dict_bytes;
    launch->rules.first_block = c->rules.alignment;
    launch->rules.alignment = c->rules.alignment;
    launch->rules.code_bits = c->rules.code_bits;
    launch->rules.batch_codes = c->rules.batch_codes;
    launch->rules.group_batches = c->rules.group_batches;
    launch->rules.max_token = c->rules.max_token;
    c->before.chunks = (uint32_t)c->chunks.size();
    c->state = (fp_gpu_encode_state *)(void *)device_block(&c->memory, sizeof *c->state, 8,
                                                           EMULATOR_WRITE, "state");
    *c->state = c->before;
    launch->scratch.state = device_address(c->state);
    launch->tables.lengths = device_address(
        device_copy(&c->memory, c->lengths.data(), c->lengths.size(), "lengths of tokens"));
    uint64_t words = (c->lengths.size() + 31) / 32;
    c->used = (uint32_t *)(void *)device_block(&c->memory, 4 * words, 4, EMULATOR_WRITE, "used");
    for (uint64_t i = 0; i < words; i++) c->used[i] = draw(c, 3) ? 0 : draw(c, 0x7fffffff);
    launch->used = device_address(c->used);
    c->used_before.assign(c->used, c->used + words);
    c->image_bytes = c->before.image_end ? 0 : c->rules.alignment;
    for (chunk_case &chunk : c->chunks) c->image_bytes += chunk.result.block_bytes;
    if (c->dict_before < c->chunks.size()) c->image_bytes += c->rules.dict_bytes;
    launch->output_capacity = c->image_bytes;
    c->output = device_block(&c->memory, c->image_bytes, 0, EMULATOR_WRITE_ONCE, "image");
    launch->output = device_address(c->output);
}

int pack_case_make(pack_case *c, pack_wanted w) {
    const uint32_t tokens[] = {8, 16, 32, 64}, batches[] = {0, 32, 96, 256, 512, 1024};
    emulator_reset(check_random(&c->random));
    c->rules.code_bits = w.code_bits;
    c->rules.max_token = tokens[draw(c, 4)];
    c->rules.alignment = draw(c, 5) ? 64 : 4096;
    c->rules.wanted_batch = draw(c, 4) ? batches[draw(c, 6)] : 32 * (1 + draw(c, 32));
    pack_oracle_rules(&c->rules);
    if (draw(c, 3) == 0) { /* a piece that is not the first one */
        c->before.image_end = (uint64_t)c->rules.alignment * (2 + draw(c, 1u << 30));
        c->before.has_dict = draw(c, 3) != 0;
        c->before.dict_place = c->before.has_dict ? c->rules.alignment : 0;
    }
    draw_lengths(c);
    draw_chunks(c, w.chunks, w.counts);
    int exactly = decide(c);
    put_chunks(c);
    put_text(c);
    put_segments(c);
    put_launch(c);
    return exactly;
}

void pack_case_free(pack_case *c) {
    for (chunk_case &chunk : c->chunks) free(chunk.result.block);
    device_free(&c->memory);
}
