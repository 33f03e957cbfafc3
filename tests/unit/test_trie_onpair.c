/* test_trie_onpair.c - the growing trie of OnPair training against a search that tries every
 * token. */
#include "check.h"
#include "trie_onpair.h"

static fastpair_allocator plain;

static fp_match naive_match(const fp_tokens *tokens, const uint8_t *text, uint64_t left) {
    fp_match best = {text[0], 1};
    for (uint32_t id = 256; id < tokens->count; id++)
        if (tokens->lengths[id] > best.length && tokens->lengths[id] <= left &&
            !memcmp(fp_token(tokens, id), text, tokens->lengths[id]))
            best = (fp_match){id, tokens->lengths[id]};
    return best;
}

static void check_matches(const fp_trie *trie, uint64_t *state, uint32_t letters) {
    uint8_t text[128];
    for (int round = 0; round < 60; round++) {
        for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(check_random(state) % letters);
        if (round & 1) { /* text that goes along a token */
            uint32_t id = (uint32_t)(check_random(state) % trie->tokens->count);
            memcpy(text, fp_token(trie->tokens, id), trie->tokens->lengths[id]);
        }
        uint64_t left = 1 + check_random(state) % (trie->tokens->max_token + 4);
        fp_match found = fp_trie_match(trie, text, left),
                 expected = naive_match(trie->tokens, text, left);
        CHECK_EQ(found.length, expected.length);
        CHECK_EQ(found.id, expected.id);
    }
}

static void test_trie(uint64_t seed, uint32_t max_token) {
    static const uint32_t letters[] = {1, 2, 3, 7, 256};
    for (size_t kind = 0; kind < sizeof letters / sizeof letters[0]; kind++) {
        uint64_t state = seed + kind;
        fp_tokens tokens;
        fp_trie trie;
        CHECK_EQ(fp_tokens_open(&tokens, max_token, &plain, NULL), FASTPAIR_OK);
        CHECK_EQ(fp_trie_open(&trie, &tokens, 1000, &plain, NULL), FASTPAIR_OK);
        for (int added = 0; added < 1000; added++) {
            uint8_t bytes[FP_MAX_TOKEN] = {0};
            uint32_t length = 2 + (uint32_t)(check_random(&state) % (max_token - 1)),
                     before = tokens.count;
            uint32_t shared = (uint32_t)(check_random(&state) % tokens.count);
            for (uint32_t i = 0; i < length; i++)
                bytes[i] = (uint8_t)(check_random(&state) % letters[kind]);
            if (added & 1) /* go on from another token's bytes */
                memcpy(bytes, fp_token(&tokens, shared),
                       tokens.lengths[shared] < length ? tokens.lengths[shared] : length);
            fp_match known = naive_match(&tokens, bytes, length);
            uint32_t id = fp_trie_add(&trie, bytes, length);
            CHECK_EQ(id, known.length == length ? known.id : before);
            CHECK_EQ(tokens.count, known.length == length ? before : before + 1);
            if (added % 10 == 0) check_matches(&trie, &state, letters[kind]);
        }
        /* If half of them are put in in another order, the answers are those of the half. */
        fp_trie_close(&trie, &plain);
        CHECK_EQ(fp_trie_open(&trie, &tokens, 1000, &plain, NULL), FASTPAIR_OK);
        for (uint32_t id = 256; id < tokens.count; id += 2) tokens.lengths[id] = 0;
        for (uint32_t id = tokens.count - 1; id >= 256; id--)
            if (tokens.lengths[id]) fp_trie_insert(&trie, id);
        for (int round = 0; round < 30; round++) check_matches(&trie, &state, letters[kind]);
        fp_trie_close(&trie, &plain);
        fp_tokens_close(&tokens, &plain);
    }
}

int main(void) {
    const char *text = getenv("FASTPAIR_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 20;
    printf("seed %" PRIu64 "\n", seed);
    fp_allocator_resolve(NULL, &plain, NULL);
    test_trie(seed, 16);
    test_trie(seed + 1, 32);
    test_trie(seed + 2, 64);
    return check_done();
}
