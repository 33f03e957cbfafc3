/* search_predicate.c - from the caller's tree of tests to a checked one. In: a fastpair_predicate. Out:
 * nodes in the order of the tree, and an automaton for each leaf. The trick: what the predicate is for
 * a null row depends on no row, so it is found here, once, and all else need know only true and
 * false. Refuses kinds and structs that it does not know, and trees that are too large. */
#include "search_predicate.h"

#include "options.h"

#include <inttypes.h>

/* ---------------------------------------------------------------- checking */

/* What is known while the tree is read. */
typedef struct tree {
    uint32_t nodes, leaves, depth;
    uint64_t pattern_bytes;
} tree;

static int takes_patterns(fastpair_predicate_kind kind) {
    return kind >= FASTPAIR_EQUALS && kind <= FASTPAIR_LIKE;
}

static int takes_children(fastpair_predicate_kind kind) {
    return kind == FASTPAIR_ALL_OF || kind == FASTPAIR_ANY_OF;
}

#define INVALID(...)                                                                               \
    fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION, __VA_ARGS__)

static fastpair_status check_patterns(const fastpair_predicate *p, tree *t, fastpair_error *error) {
    if (!p->pattern_count || !p->patterns)
        return INVALID("predicate: it needs at least one pattern");
    t->leaves++;
    for (uint64_t i = 0; i < p->pattern_count; i++) {
        if (!p->patterns[i].bytes && p->patterns[i].size)
            return INVALID("predicate: pattern %" PRIu64 " has bytes NULL and a size", i);
        /* The number of empty patterns has a limit, too. */
        if (p->patterns[i].size >= FP_MOST_PATTERN_BYTES ||
            (t->pattern_bytes += p->patterns[i].size) > FP_MOST_PATTERN_BYTES ||
            i >= FP_MOST_PATTERN_BYTES)
            return fp_fail(error, FASTPAIR_ERROR_LIMIT, i,
                           "predicate: the patterns have more than 16 MiB together");
    }
    return FASTPAIR_OK;
}

static fastpair_status check_fields(const fastpair_predicate *p, fastpair_error *error) {
    if (!takes_patterns(p->kind) && !takes_children(p->kind) && p->kind != FASTPAIR_IS_NULL)
        return INVALID("predicate: unknown kind %d", (int)p->kind);
    if ((p->negate | p->ignore_case) & ~1)
        return INVALID("predicate: negate and ignore_case must be 0 or 1");
    if (p->escape < -1 || p->escape > 255)
        return INVALID("predicate: escape is %d; it must be in -1..255", p->escape);
    if (!takes_patterns(p->kind) && (p->pattern_count || p->ignore_case))
        return INVALID("predicate: only kinds that compare bytes take patterns and ignore_case");
    if (!takes_children(p->kind) && p->child_count)
        return INVALID("predicate: only ALL_OF and ANY_OF take children");
    if (p->kind != FASTPAIR_LIKE && p->escape > 0)
        return INVALID("predicate: only LIKE takes an escape");
    if (takes_children(p->kind) && (!p->child_count || !p->children))
        return INVALID("predicate: ALL_OF and ANY_OF need at least one child");
    return FASTPAIR_OK;
}

/* Child `i` as this version has it. Structs of another version lie as far apart as they are long. */
static fastpair_status read_child(const fastpair_predicate *parent, uint64_t i,
                                  fastpair_predicate *child, fastpair_error *error) {
    size_t stride = parent->children->struct_size;
    fastpair_status status = fp_struct_size_check("predicate", stride, sizeof *child, error);
    if (status) return status;
    const uint8_t *at = (const uint8_t *)parent->children + i * stride;
    status = fp_struct_check("predicate", at, sizeof *child, error);
    if (status) return status;
    memcpy(child, at, sizeof *child);
    if (child->struct_size != stride) return INVALID("predicate: children differ in struct_size");
    return FASTPAIR_OK;
}

static fastpair_status check_tree(const fastpair_predicate *p, uint32_t depth, tree *t,
                                  fastpair_error *error) {
    fastpair_status status = check_fields(p, error);
    if (!status && takes_patterns(p->kind)) status = check_patterns(p, t, error);
    if (status) return status;
    t->nodes++;
    if (depth > t->depth) t->depth = depth;
    if (takes_children(p->kind) &&
        (depth == FP_MOST_PREDICATE_DEPTH || p->child_count > FP_MOST_PREDICATE_NODES - t->nodes))
        return fp_fail(error, FASTPAIR_ERROR_LIMIT, FASTPAIR_NO_POSITION,
                       "predicate: the tree is deeper than %u or has more than %u nodes",
                       FP_MOST_PREDICATE_DEPTH, FP_MOST_PREDICATE_NODES);
    for (uint64_t i = 0; i < p->child_count && !status; i++) {
        fastpair_predicate child;
        status = read_child(p, i, &child, error);
        if (!status) status = check_tree(&child, depth + 1, t, error);
    }
    return status;
}

/* ---------------------------------------------------------------- leaves */

/* Notes what bounds can say about the leaf. */
static fastpair_status add_anchors(const fastpair_predicate *p, uint64_t bytes, int escape,
                                   const fastpair_allocator *allocator, fp_leaf *leaf,
                                   fastpair_error *error) {
    if (p->ignore_case || p->pattern_count > FP_MOST_ANCHORS) return FASTPAIR_OK;
    if (p->kind != FASTPAIR_EQUALS && p->kind != FASTPAIR_STARTS_WITH && p->kind != FASTPAIR_LIKE)
        return FASTPAIR_OK;
    leaf->anchor = fp_allocate(allocator, p->pattern_count, sizeof *leaf->anchor);
    leaf->anchor_bytes = fp_allocate(allocator, bytes, 1);
    if (!leaf->anchor || !leaf->anchor_bytes) return fp_fail_memory(error, bytes);
    uint8_t *at = leaf->anchor_bytes;
    for (uint64_t i = 0; i < p->pattern_count; i++) {
        const fastpair_pattern *pattern = &p->patterns[i];
        fp_anchor *anchor = &leaf->anchor[i];
        int whole = p->kind == FASTPAIR_EQUALS;
        *anchor = (fp_anchor){FASTPAIR_ROW_PREFIX, pattern->size, at};
        if (p->kind == FASTPAIR_LIKE)
            whole = fp_like_prefix(pattern, escape, at, &anchor->size);
        else if (pattern->size)
            memcpy(at, pattern->bytes, (size_t)pattern->size);
        if (whole) anchor->test = FASTPAIR_ROW_EQUAL;
        at += anchor->size;
        if (!whole && !anchor->size) return FASTPAIR_OK; /* any row may pass */
    }
    leaf->anchors = (uint32_t)p->pattern_count;
    return FASTPAIR_OK;
}

static fastpair_status build_leaf(const fastpair_predicate *p, const fastpair_allocator *allocator,
                                  fp_leaf *leaf, fastpair_error *error) {
    uint64_t bytes = 0;
    int escape = p->escape > 0 ? p->escape : -1;
    for (uint64_t i = 0; i < p->pattern_count; i++) bytes += p->patterns[i].size;
    fastpair_status status;
    if (p->kind == FASTPAIR_LIKE) {
        fp_like_set set = {p->patterns, p->pattern_count, bytes, escape, p->ignore_case};
        status = fp_like_build(&set, allocator, &leaf->automaton, error);
    } else {
        fp_pattern_set set = {p->patterns,
                              p->pattern_count,
                              bytes,
                              p->kind == FASTPAIR_CONTAINS || p->kind == FASTPAIR_ENDS_WITH,
                              p->kind == FASTPAIR_CONTAINS || p->kind == FASTPAIR_STARTS_WITH,
                              p->ignore_case};
        status = fp_pattern_trie_build(&set, allocator, &leaf->trie, &leaf->automaton, error);
    }
    return status ? status : add_anchors(p, bytes, escape, allocator, leaf, error);
}

static void close_leaf(fp_leaf *leaf, const fastpair_allocator *allocator) {
    fp_automaton_close(&leaf->automaton, allocator);
    fp_pattern_trie_close(&leaf->trie, allocator);
    fp_release(allocator, leaf->anchor);
    fp_release(allocator, leaf->anchor_bytes);
}

/* ---------------------------------------------------------------- the tree */

static fp_truth join(fastpair_predicate_kind kind, fp_truth a, fp_truth b) {
    fp_truth decides = kind == FASTPAIR_ALL_OF ? FP_FALSE : FP_TRUE;
    if (a == decides || b == decides) return decides;
    return a == FP_NULL || b == FP_NULL ? FP_NULL : a;
}

/* Adds a node and all below it. *truth gets what it is for a null row. */
static fastpair_status add_node(const fastpair_predicate *p, const fastpair_allocator *allocator,
                                fp_predicate *out, fp_truth *truth, fastpair_error *error) {
    fp_predicate_node *node = &out->node[out->nodes++];
    fastpair_status status = FASTPAIR_OK;
    *node = (fp_predicate_node){.kind = p->kind, .negate = p->negate};
    *truth = p->kind == FASTPAIR_IS_NULL ? FP_TRUE : FP_NULL;
    if (takes_patterns(p->kind)) {
        node->leaf = out->leaves++;
        status = build_leaf(p, allocator, &out->leaf[node->leaf], error);
    }
    for (uint64_t i = 0; i < p->child_count && !status; i++) {
        fastpair_predicate child;
        fp_truth of_child = FP_NULL;
        status = read_child(p, i, &child, error);
        if (!status) status = add_node(&child, allocator, out, &of_child, error);
        if (!status) *truth = i ? join(p->kind, *truth, of_child) : of_child;
    }
    node->end = out->nodes;
    if (p->negate && *truth != FP_NULL) *truth = *truth == FP_TRUE ? FP_FALSE : FP_TRUE;
    return status;
}

fastpair_status fp_predicate_open(const fastpair_predicate *given,
                                  const fastpair_allocator *allocator, fp_predicate *predicate,
                                  fastpair_error *error) {
    tree t = {0};
    fastpair_predicate root;
    *predicate = (fp_predicate){0};
    fastpair_status status = fp_struct_check("predicate", given, sizeof root, error);
    if (status) return status;
    memcpy(&root, given, sizeof root);
    if ((status = check_tree(&root, 1, &t, error))) return status;
    predicate->depth = t.depth;
    predicate->node = fp_allocate_zero(allocator, t.nodes, sizeof *predicate->node);
    predicate->leaf = fp_allocate_zero(allocator, t.leaves, sizeof *predicate->leaf);
    status = predicate->node && predicate->leaf
                 ? add_node(&root, allocator, predicate, &predicate->for_null_row, error)
                 : fp_fail_memory(error, t.nodes * sizeof *predicate->node);
    if (status) fp_predicate_close(predicate, allocator);
    return status;
}

void fp_predicate_close(fp_predicate *predicate, const fastpair_allocator *allocator) {
    for (uint32_t i = 0; i < predicate->leaves; i++) close_leaf(&predicate->leaf[i], allocator);
    fp_release(allocator, predicate->node);
    fp_release(allocator, predicate->leaf);
    *predicate = (fp_predicate){0};
}
