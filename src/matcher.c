/* matcher.c - builds the tables of matcher_private.h. In: tokens. Out: an immutable fp_matcher. The
 * trick: tokens are sorted, so that all that share a prefix follow the prefix itself, and one pass
 * finds every token's longest prefix and every node. Refuses nothing but a lack of memory; of equal
 * tokens the one with the lowest id counts. */
#include "matcher_private.h"

#include <string.h>

typedef struct node_info {
    uint32_t token;  /* one that begins with the node's bytes */
    uint32_t length; /* of the node */
    uint32_t stem;   /* of a fork: the stem it begins with; of a stem: itself */
} node_info;

/* What is known while a matcher is being built. */
typedef struct build_state {
    const fp_tokens *tokens;
    const fastpair_allocator *allocator;
    fp_matcher *matcher;
    uint32_t *order;  /* token ids, sorted by bytes, then length; equal tokens left out */
    uint32_t ordered; /* ids in `order` */
    node_info *nodes; /* nodes 0..255 are the one-byte stems */
    uint32_t node_count;
    uint32_t *node_of;     /* by id: the node that a token is or is a leaf of */
    uint32_t *leaf_starts; /* by node: where its leaves begin in the next two */
    uint8_t *leaf_bytes;
    uint32_t *leaf_ids;
    uint32_t *numbers; /* by node */
    fp_keys keys;      /* of the table being filled */
    uint32_t *members; /* by key: its node */
} build_state;

/* Of the bytes of a token that are in the tables: how many. */
static uint32_t length_of(const build_state *build, uint32_t id) {
    return fp_short_length(build->tokens->lengths[id]);
}

static uint32_t stem_length(uint32_t token_length) { return (token_length - 1) / 4 * 4 + 1; }

static int is_leaf(uint32_t token_length) { return token_length % 2 == 0; }

/* The bytes of a node from `from` on, zero-padded, at most 8. */
static uint64_t node_bytes(const build_state *build, const node_info *node, uint32_t from) {
    uint8_t padded[24] = {0};
    memcpy(padded, fp_token(build->tokens, node->token), node->length); /* at most 15 */
    return fp_load64(padded + from);
}

/* Stably sorts the ids of `from` into `to`: by one byte of their tokens, or by length if column is
 * `columns`. */
static void sort_by_column(const build_state *build, uint32_t column, uint32_t columns,
                           const uint32_t *from, uint32_t *to) {
    const fp_tokens *tokens = build->tokens;
    const int by_length = column == columns;
    uint32_t starts[257] = {0};
    for (uint32_t id = 0; id < tokens->count; id++)
        starts[1 + (by_length ? tokens->lengths[id] : fp_token(tokens, id)[column])]++;
    for (uint32_t key = 0; key < 256; key++) starts[key + 1] += starts[key];
    for (uint32_t i = 0; i < tokens->count; i++) {
        uint32_t id = from[i];
        to[starts[by_length ? tokens->lengths[id] : fp_token(tokens, id)[column]]++] = id;
    }
}

/* Fills `order`: sorts by length, then by each byte from the last to the first. So in the end the
 * first byte decides; the length decides between tokens that differ in trailing zeroes only. */
static void sort_tokens(build_state *build, uint32_t *scratch) {
    const uint32_t columns = build->matcher->longest;
    uint32_t *from = build->order, *to = scratch;
    for (uint32_t id = 0; id < build->tokens->count; id++) from[id] = id;
    for (uint32_t column = columns + 1; column-- > 0;) {
        sort_by_column(build, column, columns, from, to);
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != build->order) memcpy(build->order, from, build->tokens->count * sizeof *from);
}

static int begins_with(const fp_tokens *tokens, uint32_t id, uint32_t prefix, uint32_t length) {
    return memcmp(fp_token(tokens, id), fp_token(tokens, prefix), length) == 0;
}

/* Fills prefix_of, and drops equal tokens from the order. The stack holds the tokens that are
 * prefixes of the current one. */
static void find_prefixes(build_state *build) {
    const fp_tokens *tokens = build->tokens;
    uint32_t stack[FP_MAX_TOKEN + 1], depth = 0;
    for (uint32_t i = 0; i < tokens->count; i++) {
        uint32_t id = build->order[i], length = tokens->lengths[id];
        while (depth &&
               !(tokens->lengths[stack[depth - 1]] <= length &&
                 begins_with(tokens, id, stack[depth - 1], tokens->lengths[stack[depth - 1]])))
            depth--;
        build->matcher->prefix_of[id] = (uint16_t)(depth ? stack[depth - 1] : id);
        if (depth && tokens->lengths[stack[depth - 1]] == length) continue;
        stack[depth++] = id;
        build->order[build->ordered++] = id;
    }
}

/* Lists the nodes: each token's stem, and its fork if it has one. */
static void find_nodes(build_state *build) {
    const fp_tokens *tokens = build->tokens;
    uint32_t latest[FP_SHORT_TOKEN + 1]; /* by length: the last node found */
    for (uint32_t length = 0; length <= FP_SHORT_TOKEN; length++) latest[length] = UINT32_MAX;
    for (uint32_t byte = 0; byte < 256; byte++) build->nodes[byte] = (node_info){byte, 1, byte};
    build->node_count = 256;
    for (uint32_t i = 0; i < build->ordered; i++) {
        uint32_t id = build->order[i], token_length = length_of(build, id),
                 stem = stem_length(token_length);
        latest[1] = fp_token(tokens, id)[0];
        for (uint32_t length = stem; length <= token_length && length <= stem + 2; length += 2) {
            uint32_t known = latest[length];
            if (known == UINT32_MAX ||
                !begins_with(tokens, id, build->nodes[known].token, length)) {
                uint32_t made = build->node_count++;
                build->nodes[made] = (node_info){id, length, length == stem ? made : latest[stem]};
                latest[length] = made;
            }
            build->node_of[id] = latest[length];
        }
    }
}

/* Sorts the leaves by node. */
static void find_leaves(build_state *build) {
    const fp_tokens *tokens = build->tokens;
    uint32_t *starts = build->leaf_starts;
    memset(starts, 0, (build->node_count + 2) * sizeof *starts);
    for (uint32_t i = 0; i < build->ordered; i++)
        if (is_leaf(length_of(build, build->order[i])))
            starts[build->node_of[build->order[i]] + 2]++;
    for (uint32_t n = 0; n < build->node_count; n++) starts[n + 2] += starts[n + 1];
    for (uint32_t i = 0; i < build->ordered; i++) {
        uint32_t id = build->order[i], length = length_of(build, id);
        if (!is_leaf(length)) continue;
        uint32_t place = starts[build->node_of[id] + 1]++;
        build->leaf_bytes[place] = fp_token(tokens, id)[length - 1];
        build->leaf_ids[place] = id;
    }
}

/* Fills answers and leaves, once all nodes are numbered. */
static fastpair_status fill_answers(build_state *build, fastpair_error *error) {
    fp_matcher *matcher = build->matcher;
    uint32_t largest = 0;
    for (uint32_t n = 0; n < build->node_count; n++)
        if (build->numbers[n] > largest) largest = build->numbers[n];
    matcher->answers = fp_allocate_zero(build->allocator, largest + 1ull, sizeof *matcher->answers);
    matcher->leaves = fp_allocate(build->allocator, largest + 256ull, sizeof *matcher->leaves);
    if (!matcher->answers || !matcher->leaves) return fp_fail_memory(error, 8ull * largest);
    for (uint32_t place = 0; place < largest + 256; place++) matcher->leaves[place] = FP_LEAF_NONE;
    for (uint32_t n = 0; n < build->node_count; n++) {
        uint32_t id = build->nodes[n].token, number = build->numbers[n];
        while (matcher->lengths[id] > build->nodes[n].length) id = matcher->prefix_of[id];
        matcher->answers[number] = id | (uint32_t)matcher->lengths[id] << 16;
        for (uint32_t leaf = build->leaf_starts[n]; leaf < build->leaf_starts[n + 1]; leaf++)
            matcher->leaves[number + build->leaf_bytes[leaf]] =
                build->leaf_ids[leaf] | (uint32_t)build->leaf_bytes[leaf] << 16;
    }
    for (uint32_t byte = 0; byte < 256; byte++) matcher->stems_1[byte] = build->numbers[byte] << 2;
    return FASTPAIR_OK;
}

/* The key of a node in its table, in the two words that are hashed. */
static void node_key(const build_state *build, const node_info *node, uint64_t key[2]) {
    if (&build->nodes[node->stem] != node) {
        key[0] = fp_fork_key(build->numbers[node->stem], node_bytes(build, node, node->length - 2));
        key[1] = 0;
    } else {
        key[0] = node_bytes(build, node, 0);
        key[1] = node_bytes(build, node, 8);
    }
}

/* Fills table `which`: the stems of a class, or, for 0, the forks. *found is 0 if other factors are
 * needed. */
static fastpair_status fill_table(build_state *build, uint32_t which, int *found,
                                  fastpair_error *error) {
    const fp_matcher *matcher = build->matcher;
    fp_table *table = &build->matcher->tables[which];
    const uint32_t words = FP_TABLE_WORDS(which);
    uint64_t key[2];
    uint32_t count = 0;
    for (uint32_t n = 256; n < build->node_count; n++) {
        const node_info *node = &build->nodes[n];
        if ((node->stem == n ? node->length / 4 : 0) != which) continue;
        node_key(build, node, key);
        build->keys.hashes[count] = key[0] * matcher->factors[0] + key[1] * matcher->factors[1];
        build->members[count++] = n;
    }
    build->keys.count = count;
    fastpair_status status =
        fp_slots_find(&build->keys, build->allocator, &table->slots, found, error);
    if (status != FASTPAIR_OK || !*found) return status;
    uint64_t size = fp_slots_size(&table->slots);
    table->entries = fp_allocate_zero(build->allocator, size, words * sizeof *table->entries);
    if (!table->entries) return fp_fail_memory(error, size * words * sizeof *table->entries);
    /* An empty slot must hold a key that belongs elsewhere. Zeroed memory is key 0, which belongs
     * in slot 0; so only slot 0 needs another key. */
    uint64_t other = 1;
    while (!fp_slot(&table->slots, other * matcher->factors[words - 1])) other++;
    table->entries[words - 1] = other << 24;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = build->members[i];
        uint64_t *entry = table->entries + (uint64_t)build->keys.slot_of[i] * words;
        node_key(build, &build->nodes[n], key);
        entry[0] = key[0];
        entry[words - 1] =
            key[words - 1] << 24 | (which ? build->numbers[n] << 2 | which : build->numbers[n]);
    }
    return FASTPAIR_OK;
}

static void release_tables(fp_matcher *matcher, const fastpair_allocator *allocator) {
    for (uint32_t which = 0; which < FP_CLASSES; which++) {
        fp_release(allocator, matcher->tables[which].slots.multipliers);
        fp_release(allocator, matcher->tables[which].entries);
        matcher->tables[which] = (fp_table){0};
    }
}

/* Fills all hash tables, and tries other factors until all keys find slots; the first factors
 * nearly always do. Factors come from a digest of the tokens, so nobody can make up a column for
 * which they are always bad. */
static fastpair_status fill_tables(build_state *build, fastpair_error *error) {
    fp_matcher *matcher = build->matcher;
    const fp_tokens *tokens = build->tokens;
    uint64_t digest = tokens->count;
    for (uint32_t id = 0; id < tokens->count; id++) {
        digest = (digest ^ fp_load64(fp_token(tokens, id))) * 0x9e3779b97f4a7c15u;
        digest =
            (digest ^ digest >> 32 ^ fp_load64(fp_token(tokens, id) + 8)) * 0xbf58476d1ce4e5b9u;
    }
    for (int attempt = 0; attempt < 1000; attempt++) {
        for (int i = 0; i < 2; i++) {
            digest = (digest ^ digest >> 29) * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u;
            matcher->factors[i] = (digest ^ digest >> 32) | 1;
        }
        int found = 1;
        for (uint32_t which = 0; which < FP_CLASSES && found; which++) {
            fastpair_status status = fill_table(build, which, &found, error);
            if (status != FASTPAIR_OK) return status;
        }
        if (found) return FASTPAIR_OK;
        release_tables(matcher, build->allocator);
    }
    return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                   "no hash separates these tokens; train with another seed");
}

static fastpair_status fill_matcher(build_state *build, fastpair_error *error) {
    sort_tokens(build, build->members);
    find_prefixes(build);
    fastpair_status status = FASTPAIR_OK;
    if (build->matcher->longest > FP_SHORT_TOKEN)
        status = fp_matcher_add_long(build->matcher, build->tokens, build->order, &build->ordered,
                                     build->allocator, error);
    if (status) return status;
    find_nodes(build);
    find_leaves(build);
    status = fp_number_nodes(build->leaf_starts, build->leaf_bytes, build->node_count,
                             build->allocator, build->numbers, error);
    if (status == FASTPAIR_OK) status = fill_answers(build, error);
    if (status == FASTPAIR_OK) status = fill_tables(build, error);
    return status;
}

fastpair_status fp_matcher_open(const fp_tokens *tokens, const fastpair_allocator *allocator,
                                fp_matcher **matcher, fastpair_error *error) {
    const uint64_t count = tokens->count, nodes = 256 + 2 * count;
    const uint64_t scratch_size =
        nodes * (sizeof(uint64_t) + sizeof(node_info) + 4 * sizeof(uint32_t)) +
        2 * sizeof(uint32_t) + count * (3 * sizeof(uint32_t) + 1);
    fp_matcher *made = fp_allocate_zero(allocator, 1, sizeof *made);
    void *scratch = fp_allocate(allocator, scratch_size, 1);
    if (made) {
        made->prefix_of = fp_allocate(allocator, count, sizeof *made->prefix_of);
        made->lengths = fp_allocate(allocator, count, 1);
    }
    if (!made || !scratch || !made->prefix_of || !made->lengths) {
        fp_release(allocator, scratch);
        fp_matcher_close(made, allocator);
        return fp_fail_memory(error, scratch_size + sizeof *made + count * 3);
    }
    memcpy(made->lengths, tokens->lengths, count);
    for (uint32_t id = 0; id < count; id++)
        if (tokens->lengths[id] > made->longest) made->longest = tokens->lengths[id];

    build_state build = {
        .tokens = tokens, .allocator = allocator, .matcher = made, .keys.hashes = scratch};
    build.nodes = (node_info *)(build.keys.hashes + nodes);
    build.leaf_starts = (uint32_t *)(build.nodes + nodes);
    build.numbers = build.leaf_starts + nodes + 2;
    build.members = build.numbers + nodes;
    build.keys.slot_of = build.members + nodes;
    build.order = build.keys.slot_of + nodes;
    build.node_of = build.order + count;
    build.leaf_ids = build.node_of + count;
    build.leaf_bytes = (uint8_t *)(build.leaf_ids + count);
    fastpair_status status = fill_matcher(&build, error);
    fp_release(allocator, scratch);
    if (status != FASTPAIR_OK) {
        fp_matcher_close(made, allocator);
        return status;
    }
    *matcher = made;
    return FASTPAIR_OK;
}

void fp_matcher_close(fp_matcher *matcher, const fastpair_allocator *allocator) {
    if (!matcher) return;
    release_tables(matcher, allocator);
    fp_release(allocator, matcher->answers);
    fp_release(allocator, matcher->leaves);
    fp_release(allocator, matcher->prefix_of);
    fp_release(allocator, matcher->lengths);
    fp_release(allocator, matcher->stubs);
    fp_release(allocator, matcher->long_cells);
    fp_long_trie_close(&matcher->long_trie, allocator);
    fp_release(allocator, matcher);
}
