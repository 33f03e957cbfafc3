/* test_fold.c - folded tokens: dictionaries of all kinds come back, those of docs/format.md too; damaged
 * ones give a status, in buffers that notice any access beside them. */
#include "fold.h"

#include "check.h"
#include "counting.h"
#include "format.h"
#include "guard.h"
#include "verify.h"

static fastpair_allocator allocator;
static uint64_t random_state;

/* A dictionary of order 0 that tests fill run by run. */
typedef struct made {
    fp_dict dict;
    fp_run runs[4096];
    uint8_t bytes[1 << 19];
} made;

static void begin(made *m) {
    m->dict = (fp_dict){
        .codec = FASTPAIR_CODEC_ONPAIR, .max_token = 64, .runs = m->runs, .bytes = m->bytes};
}

/* Adds a run; its bytes are the caller's to fill in. */
static uint8_t *add_run(made *m, uint32_t count, uint32_t length) {
    fp_dict *dict = &m->dict;
    uint8_t *bytes = m->bytes + dict->bytes_size;
    m->runs[dict->run_count++] = (fp_run){dict->tokens, count, length};
    dict->tokens += count;
    dict->bytes_size += (uint64_t)count * length;
    dict->code_slots = dict->tokens;
    for (dict->code_bits = 1; 1u << dict->code_bits < dict->code_slots;) dict->code_bits++;
    if (dict->bytes_size > sizeof m->bytes || dict->run_count > 4096) abort();
    return bytes;
}

static uint32_t draw(uint32_t below) { return (uint32_t)(check_random(&random_state) % below); }

/* Folds to a buffer of the very size that may be needed. */
static guard fold(const fp_dict *dict, uint64_t *size) {
    guard folded = guard_make(fp_fold_bound(dict));
    CHECK_EQ(fp_fold_write(dict, &allocator, folded.data, size), FASTPAIR_OK);
    CHECK(*size <= folded.size);
    return folded;
}

/* Unfolds a copy to buffers that end where the bytes end. The tokens are compared if they are given. */
static fastpair_status unfold(const fp_dict *dict, const uint8_t *folded, uint64_t size,
                              const uint8_t *tokens) {
    guard from = guard_make(size), to = guard_make(dict->bytes_size);
    if (size) memcpy(from.data, folded, size);
    fp_dict read = *dict;
    read.bytes = to.data;
    const char *fault = NULL;
    fastpair_status status = fp_fold_read(from.data, size, &allocator, &read, &fault);
    CHECK((status == FASTPAIR_ERROR_CORRUPT) == (fault != NULL));
    if (tokens) CHECK(!status && !memcmp(to.data, tokens, to.size));
    CHECK(guard_free(&from) && guard_free(&to));
    return status;
}

static uint64_t come_back(const made *m) {
    uint64_t size;
    guard folded = fold(&m->dict, &size);
    unfold(&m->dict, folded.data, size, m->bytes);
    CHECK(guard_free(&folded));
    return size;
}

/* ---------------------------------------------------------------- what comes back */

/* Runs of tokens over a small alphabet, joined from what there is, or of random bytes. */
static void make_random(made *m) {
    uint32_t runs = 1 + draw(12), letters = draw(3) ? 2 + draw(5) : 256, style = draw(4);
    begin(m);
    for (uint32_t r = 0; r < runs; r++) {
        uint64_t before = m->dict.bytes_size;
        uint32_t length = 1 + (style == 3 ? r % 64 : draw(64)), count = 1 + draw(draw(2) ? 4 : 200);
        uint8_t *bytes = add_run(m, count, length);
        for (uint64_t i = 0; i < (uint64_t)count * length; i++)
            bytes[i] = before && style == 1 && draw(20) ? m->bytes[(before + i - 1) / 2]
                       : before && style == 2           ? m->bytes[i % before]
                                                        : (uint8_t)draw(letters);
    }
}

static void test_random(made *m) {
    const uint64_t rounds = check_scaled(400);
    for (uint64_t i = 0; i < rounds; i++) {
        make_random(m);
        come_back(m);
    }
}

/* Limits: one byte; all bytes equal; 65,536 tokens; equal tokens; tokens that are all single bytes. */
static void test_limits(made *m) {
    begin(m);
    *add_run(m, 1, 1) = 0xff;
    CHECK_EQ(come_back(m), 1);
    begin(m);
    memset(add_run(m, 64, 64), 'x', 64 * 64);
    CHECK(come_back(m) < 64 * 64 / 8);
    begin(m);
    uint8_t *bytes = add_run(m, 65536, 2);
    for (uint32_t i = 0; i < 65536; i++) fp_store16(bytes + 2 * i, (uint16_t)(i * 40503u));
    come_back(m);
    begin(m);
    bytes = add_run(m, 65536, 8);
    for (uint32_t i = 0; i < 65536; i++) fp_store64(bytes + 8 * i, i / 2 * 0x9E3779B97F4A7C15u);
    come_back(m);
    begin(m);
    bytes = add_run(m, 256, 1);
    for (uint32_t i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
    CHECK_EQ(come_back(m), 256);
}

/* The listing of docs/format.md, section 2.3, which the library also writes. */
static void test_page(made *m) {
    static const uint8_t listed[] = {0x89, 0x95, 0x45, 0xf7, 0x16, 0x08, 0xaf, 0x08};
    FILE *file = fopen("../docs/format.md", "rb");
    char line[4096], shown[3 * sizeof listed + 8] = "    ";
    int is_there = 0;
    for (size_t i = 0; i < sizeof listed; i++)
        snprintf(shown + 4 + 3 * i, 4, "%02x%s", listed[i], i + 1 < sizeof listed ? " " : "\n");
    while (file && fgets(line, sizeof line, file)) is_there |= !strcmp(line, shown);
    CHECK(file != NULL);
    if (file) fclose(file);
    CHECK(is_there);
    begin(m);
    memcpy(add_run(m, 2, 2), "beto", 4);
    memcpy(add_run(m, 2, 3), " beo b", 6);
    memcpy(add_run(m, 1, 5), "to be", 5);
    CHECK_EQ(unfold(&m->dict, listed, sizeof listed, m->bytes), FASTPAIR_OK);
    CHECK(come_back(m) <= sizeof listed);
}

/* ---------------------------------------------------------------- damage */

/* Every shorter and longer section and every changed byte: a status, and nothing beside the buffers. */
static void test_damage(made *m) {
    uint64_t refused = 0;
    for (uint64_t i = 0; i < check_scaled(12); i++) {
        uint64_t size;
        do make_random(m);
        while (m->dict.bytes_size > 600 || m->dict.bytes_size < 16);
        guard folded = fold(&m->dict, &size);
        uint8_t *changed = malloc(size + 2);
        for (uint64_t cut = 0; cut < size; cut++)
            CHECK_EQ(unfold(&m->dict, folded.data, cut, NULL), FASTPAIR_ERROR_CORRUPT);
        memcpy(changed, folded.data, size);
        memset(changed + size, 0, 2);
        CHECK_EQ(unfold(&m->dict, changed, size + 1, NULL), FASTPAIR_ERROR_CORRUPT);
        CHECK_EQ(unfold(&m->dict, changed, size + 2, NULL), FASTPAIR_ERROR_CORRUPT);
        for (uint64_t at = 0; at < size; at++)
            for (uint32_t other = 1; other < 256; other++) {
                changed[at] ^= (uint8_t)other;
                refused += unfold(&m->dict, changed, size, NULL) == FASTPAIR_ERROR_CORRUPT;
                changed[at] ^= (uint8_t)other;
            }
        free(changed);
        CHECK(guard_free(&folded));
    }
    CHECK(refused > 0); /* a changed byte that is a byte of a token is none the less a dictionary */
}

/* Single rules, one wrong bit string each: the tokens are of 2, 3 and 3 bytes. */
static void test_rules(made *m) {
    static const struct {
        uint8_t bytes[6];
        uint32_t size;
        int is_good;
    } cases[] = {
        /* Byte b, e; byte 20, token 0; 3 bytes from position 0 on. */
        {{0x89, 0x95, 0x05, 0x62, 0x04}, 5, 1},
        {{0x89, 0x95, 0x05, 0x62, 0x04}, 4, 0},
        {{0x89, 0x95, 0x05, 0x62, 0x04}, 6, 0},
        {{0x89, 0x95, 0x05, 0x62, 0x44}, 5, 0}, /* a bit after the tokens */
        {{0x89, 0x95, 0x05, 0xe2, 0x05}, 5, 0}, /* 3 bytes from position 3 on, of 5 */
        {{0x89, 0x95, 0x05, 0x22, 0x31, 0x01},
         6,
         0},            /* byte b, then token 1, which is longer than what is left */
        {{0x00}, 1, 0}, /* a token before the first */
    };
    begin(m);
    memcpy(add_run(m, 1, 2), "be", 2);
    memcpy(add_run(m, 2, 3), " bebe ", 6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fastpair_status status = unfold(&m->dict, cases[i].bytes, cases[i].size, NULL);
        CHECK_EQ(status, cases[i].is_good ? FASTPAIR_OK : FASTPAIR_ERROR_CORRUPT);
        if ((status == FASTPAIR_OK) != cases[i].is_good) fprintf(stderr, "  ^ case %zu\n", i);
    }
}

/* ---------------------------------------------------------------- blocks */

/* Blocks of both forms come back; a folded one is smaller; allocations that fail are a status. */
static void test_blocks(made *m) {
    begin(m);
    uint8_t *bytes = add_run(m, 26, 1);
    for (uint32_t i = 0; i < 26; i++) bytes[i] = (uint8_t)('a' + i);
    for (uint32_t length = 2; length < 60; length++) {
        bytes = add_run(m, 20, length);
        for (uint32_t i = 0; i < 20 * length; i++) bytes[i] = (uint8_t)('a' + (i + length) % 26);
    }
    counting memory;
    counting_start(&memory);
    fastpair_allocator hooks = counting_hooks(&memory);
    for (uint32_t alignment = 64; alignment <= 4096; alignment *= 64) {
        fp_buffer block = {0};
        fp_dict read;
        CHECK_EQ(fp_dict_build(&m->dict, alignment, &hooks, &block, NULL), FASTPAIR_OK);
        CHECK_EQ(block.data[21], FP_FORM_FOLDED);
        CHECK(block.size < fp_dict_block_size(&m->dict, alignment));
        fp_dict_block from = {block.data, block.size, 0, alignment, 0, 0};
        CHECK_EQ(fp_dict_read(&from, &hooks, &read, NULL), FASTPAIR_OK);
        CHECK_EQ(read.bytes_size, m->dict.bytes_size);
        CHECK(!memcmp(read.bytes, m->bytes, read.bytes_size));
        fp_dict_close(&read, &hooks);
        fp_buffer_close(&block, &hooks);
    }
    uint64_t calls = 0;
    int failed = 1;
    for (uint64_t i = 0; failed; i++) {
        fp_buffer block = {0};
        memory.fail_at = memory.calls + i;
        fastpair_status status = fp_dict_build(&m->dict, 64, &hooks, &block, NULL);
        failed = status != FASTPAIR_OK;
        if (failed) CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        fp_dict_block from = {block.data, block.size, 0, 64, 0, 0};
        memory.fail_at = UINT64_MAX;
        for (uint64_t k = 0; !failed && k < 4; k++) { /* runs, tokens, and where they begin */
            fp_dict read;
            memory.fail_at = memory.calls + k;
            status = fp_dict_read(&from, &hooks, &read, NULL);
            CHECK_EQ(status, k < 3 ? FASTPAIR_ERROR_OUT_OF_MEMORY : FASTPAIR_OK);
            fp_dict_close(&read, &hooks);
        }
        memory.fail_at = UINT64_MAX;
        calls = i;
        fp_buffer_close(&block, &hooks);
    }
    CHECK_EQ(calls, 8); /* the block, what is made of it, and six tables */
    CHECK_EQ(memory.live, 0);
}

/* What folding does not make smaller stays plain. */
static void test_plain(made *m) {
    fp_buffer block = {0};
    begin(m);
    uint8_t *bytes = add_run(m, 500, 3);
    for (uint32_t i = 0; i < 1500; i++) bytes[i] = (uint8_t)draw(256);
    CHECK_EQ(fp_dict_build(&m->dict, 64, &allocator, &block, NULL), FASTPAIR_OK);
    CHECK_EQ(block.data[21], FP_FORM_PLAIN);
    CHECK_EQ(block.size, fp_dict_block_size(&m->dict, 64));
    fp_buffer_close(&block, &allocator);
}

int main(void) {
    static made m;
    if (fp_allocator_resolve(NULL, &allocator, NULL)) return 1;
    random_state = verify_seed();
    test_page(&m);
    test_limits(&m);
    test_random(&m);
    test_rules(&m);
    test_damage(&m);
    test_blocks(&m);
    test_plain(&m);
    return check_done();
}
