/* encode_tables.c - makes the tables of encode_tables.h. In: a dictionary's tokens and codes. Out:
 * bytes for device memory. The trick: tokens go into a map of edges, forks and leaves one by one, and
 * a node is made after the nodes it begins with, so one pass over the nodes finds all answers. The
 * shape is the first whose tables fit into shared memory. Refuses nothing but a lack of memory. */
#include "encode_tables.h"

#include "../matcher_private.h"

#include "encode_hash.h"

#include <string.h>

/* A parse that is a guess begins so many tokens of average length before it counts, but no more than
 * half a segment. */
#define GUESS_TOKENS  12u
#define LONGEST_GUESS (FP_GPU_ENCODE_SEGMENT / 2)

enum { EDGE = 1, FORK = 2, LEAF = 3, KINDS = 4 };

typedef struct node {
    uint32_t parent, bytes; /* and what leads here from there */
    uint32_t answer;        /* code | length << 16; 0: no token yet */
    uint8_t depth, kind;
} node;

/* Node 0..255 are the single bytes. A leaf is no node, but takes an entry of the list as well. */
typedef struct build_state {
    const fastpair_dictionary *dictionary;
    const fastpair_allocator *allocator;
    node *nodes;
    uint32_t count, counts[KINDS];
    uint32_t *map; /* open addressing: 1 + the entry in the list; 0 is free */
    uint32_t map_shift, map_mask;
    uint32_t *numbers;   /* by node; of a leaf: unused */
    fp_encode_key *keys; /* edges, then forks */
    fp_encode_hash hashes[2];
    uint32_t numbers_end; /* above all numbers */
} build_state;

/* Entries that a token makes at most. */
static uint32_t most_entries(uint32_t length) { return (length - 1) / 4 + 2; }

static uint32_t *find_slot(const build_state *build, uint32_t parent, uint32_t bytes,
                           uint32_t kind) {
    const uint64_t key = (uint64_t)parent << 34 | (uint64_t)bytes << 2 | kind;
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> build->map_shift);
    for (;; slot = (slot + 1) & build->map_mask) {
        const uint32_t held = build->map[slot];
        if (!held) return &build->map[slot];
        const node *at = &build->nodes[held - 1];
        if (at->parent == parent && at->bytes == bytes && at->kind == kind)
            return &build->map[slot];
    }
}

/* 1 + the entry in the list; 0 if there is none. */
static uint32_t find_entry(const build_state *build, uint32_t parent, uint32_t bytes,
                           uint32_t kind) {
    return *find_slot(build, parent, bytes, kind);
}

static uint32_t add_entry(build_state *build, uint32_t parent, uint32_t bytes, uint32_t kind,
                          uint32_t depth) {
    uint32_t *slot = find_slot(build, parent, bytes, kind);
    if (!*slot) {
        build->nodes[build->count] = (node){parent, bytes, 0, (uint8_t)depth, (uint8_t)kind};
        build->counts[kind]++;
        *slot = ++build->count;
    }
    return *slot - 1;
}

/* Puts a token in. Of equal tokens the first counts, as for the matcher. */
static void add_token(build_state *build, uint32_t id) {
    const fp_tokens *tokens = &build->dictionary->tokens;
    const uint8_t *bytes = fp_token(tokens, id);
    const uint32_t length = tokens->lengths[id];
    uint32_t at = bytes[0], depth = 1;
    for (; length - depth >= 4; depth += 4)
        at = add_entry(build, at, fp_load32(bytes + depth), EDGE, depth + 4);
    if (length - depth >= 2) {
        at = add_entry(build, at, fp_load16(bytes + depth), FORK, depth + 2);
        depth += 2;
    }
    if (length > depth) at = add_entry(build, at, bytes[depth], LEAF, length);
    if (!build->nodes[at].answer)
        build->nodes[at].answer = build->dictionary->code_of_id[id] | length << 16;
}

/* The longest token that a node without one of its own begins with. Its parent has its answer. */
static uint32_t answer_of(const build_state *build, const node *of) {
    const node *nodes = build->nodes;
    uint32_t found, fork;
    if (of->kind == EDGE && (fork = find_entry(build, of->parent, of->bytes & 0xffff, FORK))) {
        found = find_entry(build, fork - 1, of->bytes >> 16 & 0xff, LEAF);
        if (found) return nodes[found - 1].answer;
        if (nodes[fork - 1].answer >> 16 == nodes[fork - 1].depth) return nodes[fork - 1].answer;
    }
    found = find_entry(build, of->parent, of->bytes & 0xff, LEAF);
    return nodes[found ? found - 1 : of->parent].answer;
}

static fastpair_status make_nodes(build_state *build, fastpair_error *error) {
    const fp_tokens *tokens = &build->dictionary->tokens;
    uint64_t most = 256, bits = 10;
    for (uint32_t id = 256; id < tokens->count; id++) most += most_entries(tokens->lengths[id]);
    while (1ull << bits < 2 * most) bits++;
    build->map_shift = (uint32_t)(64 - bits);
    build->map_mask = (1u << bits) - 1;
    build->nodes = fp_allocate(build->allocator, most, sizeof *build->nodes);
    build->map = fp_allocate_zero(build->allocator, 1ull << bits, sizeof *build->map);
    build->numbers = fp_allocate(build->allocator, most, sizeof *build->numbers);
    build->keys = fp_allocate(build->allocator, most, sizeof *build->keys);
    if (!build->nodes || !build->map || !build->numbers || !build->keys)
        return fp_fail_memory(error, most * sizeof *build->nodes);
    for (uint32_t byte = 0; byte < 256; byte++) build->nodes[byte] = (node){0, byte, 0, 1, 0};
    build->count = 256;
    for (uint32_t id = 0; id < tokens->count; id++) add_token(build, id);
    for (uint32_t n = 256; n < build->count; n++)
        if (!build->nodes[n].answer) build->nodes[n].answer = answer_of(build, &build->nodes[n]);
    return FASTPAIR_OK;
}

/* Lists the leaves of the nodes by node, as fp_number_nodes wants them. `indexes` numbers the nodes
 * without a gap for leaves. */
static void list_leaves(const build_state *build, const uint32_t *indexes, uint32_t *starts,
                        uint8_t *bytes) {
    const uint32_t nodes = build->count - build->counts[LEAF];
    for (uint32_t n = 0; n < build->count; n++)
        if (build->nodes[n].kind == LEAF) starts[indexes[build->nodes[n].parent] + 2]++;
    for (uint32_t i = 0; i < nodes; i++) starts[i + 2] += starts[i + 1];
    for (uint32_t n = 0; n < build->count; n++)
        if (build->nodes[n].kind == LEAF)
            bytes[starts[indexes[build->nodes[n].parent] + 1]++] = (uint8_t)build->nodes[n].bytes;
}

static fastpair_status number_nodes(build_state *build, fastpair_error *error) {
    const uint32_t nodes = build->count - build->counts[LEAF];
    uint32_t *indexes = fp_allocate(build->allocator, build->count, sizeof *indexes);
    uint32_t *starts = fp_allocate_zero(build->allocator, 2ull * nodes + 2, sizeof *starts);
    uint8_t *bytes = fp_allocate(build->allocator, build->counts[LEAF] + 1ull, 1);
    fastpair_status status = FASTPAIR_OK;
    if (!indexes || !starts || !bytes) {
        status = fp_fail_memory(error, build->count * sizeof *indexes);
    } else {
        uint32_t *numbers = starts + nodes + 2, listed = 0;
        for (uint32_t n = 0; n < build->count; n++)
            if (build->nodes[n].kind != LEAF) indexes[n] = listed++;
        list_leaves(build, indexes, starts, bytes);
        status = fp_number_nodes(starts, bytes, nodes, build->allocator, numbers, error);
        for (uint32_t n = 0; n < build->count && !status; n++) {
            if (build->nodes[n].kind == LEAF) continue;
            build->numbers[n] = numbers[indexes[n]];
            if (build->numbers[n] >= build->numbers_end) build->numbers_end = build->numbers[n] + 1;
        }
    }
    fp_release(build->allocator, indexes);
    fp_release(build->allocator, starts);
    fp_release(build->allocator, bytes);
    return status;
}

/* Finds the hashes of edges and forks. */
static fastpair_status find_hashes(build_state *build, fastpair_error *error) {
    uint32_t listed = 0;
    for (uint32_t kind = EDGE; kind <= FORK; kind++) {
        const uint32_t first = listed;
        for (uint32_t n = 256; n < build->count; n++) {
            const node *at = &build->nodes[n];
            if (at->kind == kind)
                build->keys[listed++] = (fp_encode_key){build->numbers[at->parent], at->bytes,
                                                        build->numbers[n], at->answer};
        }
        fastpair_status status = fp_encode_hash_open(
            build->keys + first, listed - first, build->allocator, &build->hashes[kind - 1], error);
        if (status) return status;
    }
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- the tables' bytes */

/* Gives a table its place. */
static uint32_t place(uint64_t *end, uint64_t bytes) {
    const uint64_t at = *end;
    *end = (at + bytes + 15) / 16 * 16;
    return (uint32_t)at;
}

/* Lays the tables out for a shape; returns the bytes that are in shared memory. */
static uint64_t lay_out(build_state *build, uint32_t shape, fp_gpu_encode_tables *at,
                        uint64_t *bytes) {
    const int is_near = shape == FP_GPU_ENCODE_SHAPE_NEAR;
    fp_gpu_encode_hash *hashes[2] = {&at->edges, &at->forks};
    uint64_t end = 0, shared = 0;
    at->shape = shape;
    at->stems = place(&end, 2048);
    for (int i = 0; i < 2; i++) {
        *hashes[i] = build->hashes[i].at;
        hashes[i]->multipliers = place(&end, 2ull * build->hashes[i].buckets);
    }
    if (shape == FP_GPU_ENCODE_SHAPE_HASHES) shared = end;
    at->leaves = place(&end, 4 * (build->numbers_end + 255ull));
    if (shape == FP_GPU_ENCODE_SHAPE_LEAVES) shared = end;
    for (int i = 0; i < 2; i++)
        hashes[i]->entries =
            place(&end, (uint64_t)hashes[i]->slots *
                            (is_near ? FP_GPU_ENCODE_NEAR_ENTRY : FP_GPU_ENCODE_FAR_ENTRY));
    at->answers = is_near ? place(&end, 4ull * build->numbers_end) : 0;
    if (is_near) shared = end;
    at->lengths = place(&end, 1ull << build->dictionary->dict.code_bits);
    *bytes = end;
    return shared + FP_GPU_ENCODE_VIEW;
}

static void fill_entries(const fp_encode_hash *hash, const fp_encode_key *keys, uint32_t count,
                         uint32_t shape, uint8_t *entries) {
    const uint32_t size =
        shape == FP_GPU_ENCODE_SHAPE_NEAR ? FP_GPU_ENCODE_NEAR_ENTRY : FP_GPU_ENCODE_FAR_ENTRY;
    /* No node has the number that an empty entry leads from. */
    memset(entries, 0xff, (size_t)hash->at.slots * size);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry[4] = {keys[i].bytes, keys[i].from, keys[i].to, keys[i].answer};
        if (shape == FP_GPU_ENCODE_SHAPE_NEAR) entry[1] = keys[i].from << 16 | keys[i].to;
        memcpy(entries + (size_t)hash->slot_of[i] * size, entry, size);
    }
}

static void fill_tables(const build_state *build, const fp_gpu_encode_tables *at, uint8_t *memory) {
    const fp_gpu_encode_hash *hashes[2] = {&at->edges, &at->forks};
    const fp_encode_key *keys = build->keys;
    for (int i = 0; i < 2; i++) {
        const uint32_t count = build->counts[EDGE + i];
        memcpy(memory + hashes[i]->multipliers, build->hashes[i].multipliers,
               2ull * build->hashes[i].buckets);
        fill_entries(&build->hashes[i], keys, count, at->shape & ~FP_GPU_ENCODE_SHAPE_LONG,
                     memory + hashes[i]->entries);
        keys += count;
    }
    uint8_t *leaves = memory + at->leaves;
    for (uint32_t i = 0; i < build->numbers_end + 255; i++) fp_store32(leaves + 4ull * i, 1u << 24);
    for (uint32_t n = 0; n < build->count; n++) {
        const node *of = &build->nodes[n];
        const uint32_t code = of->answer & 0xffff, number = build->numbers[n];
        if (of->kind == LEAF) {
            const uint32_t from = build->numbers[of->parent];
            fp_store32(leaves + 4ull * (from + of->bytes), code | of->bytes << 16);
        } else if ((at->shape & ~FP_GPU_ENCODE_SHAPE_LONG) == FP_GPU_ENCODE_SHAPE_NEAR) {
            fp_store32(memory + at->answers + 4ull * number, of->answer);
        }
        if (n < 256) {
            fp_store32(memory + at->stems + 4ull * n, number);
            fp_store32(memory + at->stems + 1024 + 4ull * n, of->answer);
        }
    }
    const fastpair_dictionary *from = build->dictionary;
    for (uint32_t id = 0; id < from->tokens.count; id++)
        memory[at->lengths + from->code_of_id[id]] = from->tokens.lengths[id];
}

/* How far before a segment its parse begins. The longer tokens are, the later two parses meet; where
 * tokens have 10 bytes on average, 128 bytes do for 49 of 50 segments. */
static uint32_t guess_of(uint64_t all_bytes, uint32_t tokens) {
    const uint64_t guess = tokens ? all_bytes * GUESS_TOKENS / tokens : 0;
    return guess < 32 ? 32 : guess > LONGEST_GUESS ? LONGEST_GUESS : (uint32_t)guess;
}

static fastpair_status make_tables(build_state *build, uint32_t shared_limit,
                                   fp_encode_tables *tables, fastpair_error *error) {
    fastpair_status status = make_nodes(build, error);
    if (!status) status = number_nodes(build, error);
    if (!status) status = find_hashes(build, error);
    if (status) return status;
    uint64_t shared = 0;
    for (uint32_t shape = 0; shape <= FP_GPU_ENCODE_SHAPE_FAR; shape++) {
        /* Near entries have 16 bits for a node's number, and empty ones have them all set. */
        if (shape == FP_GPU_ENCODE_SHAPE_NEAR && build->numbers_end >= 0xffff) continue;
        shared = lay_out(build, shape, &tables->at, &tables->bytes);
        if (shared <= shared_limit) break;
    }
    tables->at.shared_bytes = (uint32_t)shared;
    tables->at.bytes = tables->bytes;
    const fp_tokens *tokens = &build->dictionary->tokens;
    uint64_t all = 0;
    for (uint32_t id = 0; id < tokens->count; id++) {
        all += tokens->lengths[id];
        if (tokens->lengths[id] > tables->at.longest) tables->at.longest = tokens->lengths[id];
    }
    if (tables->at.longest > FP_SHORT_TOKEN) tables->at.shape |= FP_GPU_ENCODE_SHAPE_LONG;
    tables->at.guess = guess_of(all, tokens->count);
    tables->memory = fp_allocate_zero(build->allocator, tables->bytes, 1);
    if (!tables->memory) return fp_fail_memory(error, tables->bytes);
    fill_tables(build, &tables->at, tables->memory);
    return FASTPAIR_OK;
}

fastpair_status fp_encode_tables_open(const fastpair_dictionary *dictionary, uint32_t shared_limit,
                                      const fastpair_allocator *allocator, fp_encode_tables *tables,
                                      fastpair_error *error) {
    build_state build = {.dictionary = dictionary, .allocator = allocator};
    *tables = (fp_encode_tables){0};
    fastpair_status status = make_tables(&build, shared_limit, tables, error);
    fp_release(allocator, build.nodes);
    fp_release(allocator, build.map);
    fp_release(allocator, build.numbers);
    fp_release(allocator, build.keys);
    fp_encode_hash_close(&build.hashes[0], allocator);
    fp_encode_hash_close(&build.hashes[1], allocator);
    if (status) fp_encode_tables_close(tables, allocator);
    return status;
}

void fp_encode_tables_close(fp_encode_tables *tables, const fastpair_allocator *allocator) {
    fp_release(allocator, tables->memory);
    *tables = (fp_encode_tables){0};
}

fp_gpu_encode_tables fp_encode_tables_at(const fp_encode_tables *tables, uint64_t address) {
    fp_gpu_encode_tables at = tables->at;
    at.memory = address;
    at.lengths += address;
    return at;
}
