/* test_train_characters.c - which characters of a sample become tokens, and in which order. */
#include "check.h"
#include "counting.h"
#include "train_characters.h"

static fastpair_allocator plain;

/* A sample of some pieces, which are taken as they are. */
typedef struct made_sample {
    fp_sample sample;
    uint8_t bytes[1 << 14];
    uint32_t lengths[1 << 10];
} made_sample;

static void begin(made_sample *made) {
    memset(made, 0, sizeof *made);
    made->sample.bytes = made->bytes;
    made->sample.lengths = made->lengths;
    made->sample.is_text = 1;
}

static void add_piece(made_sample *made, const char *text, uint64_t times) {
    const uint64_t length = strlen(text);
    for (; times--; made->sample.size += length) {
        memcpy(made->bytes + made->sample.size, text, length);
        made->lengths[made->sample.pieces++] = (uint32_t)length;
    }
}

static fp_tokens train(const made_sample *made, uint32_t most) {
    fp_tokens tokens;
    CHECK_EQ(fp_tokens_open(&tokens, 16, &plain, NULL), FASTPAIR_OK);
    CHECK_EQ(fp_train_characters(&made->sample, most, &plain, &tokens, NULL), FASTPAIR_OK);
    return tokens;
}

/* Whether tokens after the single bytes are these, each ended by a blank. */
static int are(const fp_tokens *tokens, const char *wanted) {
    char found[1 << 10];
    size_t size = 0;
    for (uint32_t id = 256; id < tokens->count; id++) {
        memcpy(found + size, fp_token(tokens, id), tokens->lengths[id]);
        size += tokens->lengths[id];
        found[size++] = ' ';
    }
    found[size] = 0;
    if (strcmp(found, wanted)) fprintf(stderr, "found \"%s\", not \"%s\"\n", found, wanted);
    return !strcmp(found, wanted);
}

static void check(const made_sample *made, uint32_t most, const char *wanted) {
    fp_tokens tokens = train(made, most);
    CHECK(are(&tokens, wanted));
    fp_tokens_close(&tokens, &plain);
}

/* The most frequent first, of equal ones the lower number; rare ones and ASCII never. */
static void test_order(void) {
    made_sample made;
    begin(&made);
    add_piece(&made, "aaaa\xd0\xb4 b\xe4\xb8\xad", 5);
    add_piece(&made, "\xc3\xa9", 6);
    add_piece(&made, "\xf0\x9f\x98\x80z", 4);
    add_piece(&made, "\xe2\x82\xac", 3);
    check(&made, 100, "\xc3\xa9 \xd0\xb4 \xe4\xb8\xad \xf0\x9f\x98\x80 ");
    check(&made, 2, "\xc3\xa9 \xd0\xb4 ");
    check(&made, 0, "");
    add_piece(&made, "\xe2\x82\xac", 1);
    check(&made, 100, "\xc3\xa9 \xd0\xb4 \xe4\xb8\xad \xe2\x82\xac \xf0\x9f\x98\x80 ");
}

/* The least and the greatest character of each length. */
static void test_limits(void) {
    static const char *const characters[] = {"\xc2\x80",         "\xdf\xbf",        "\xe0\xa0\x80",
                                             "\xed\x9f\xbf",     "\xee\x80\x80",    "\xef\xbf\xbf",
                                             "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    made_sample made;
    begin(&made);
    for (uint32_t i = 0; i < 8; i++) add_piece(&made, characters[i], 20 - i);
    check(&made, 100,
          "\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf \xf0\x90\x80\x80 "
          "\xf4\x8f\xbf\xbf ");
}

/* What the ends of pieces leave of a character is none, and does not join what is in the next piece. */
static void test_cuts(void) {
    made_sample made;
    begin(&made);
    for (int i = 0; i < 9; i++) {
        add_piece(&made, "\x98\x80\xd0\xb4\xe4\xb8", 1);
        add_piece(&made, "\xad\xf0\x9f\x98", 1);
        add_piece(&made, "\x80\xe4", 1);
    }
    check(&made, 100, "\xd0\xb4 ");
}

static void test_nothing(void) {
    made_sample made;
    begin(&made);
    check(&made, 100, "");
    add_piece(&made, "plain ASCII", 9);
    check(&made, 100, "");
    add_piece(&made, "\xd0\xb4", 9);
    check(&made, 100, "\xd0\xb4 ");
    made.sample.is_text = 0;
    check(&made, 100, "");
}

static void test_allocation(void) {
    made_sample made;
    begin(&made);
    add_piece(&made, "\xd0\xb4", 9);
    for (uint64_t n = 0;; n++) {
        counting count;
        fp_tokens tokens;
        fastpair_error error;
        counting_start(&count);
        fastpair_allocator hooks = counting_hooks(&count);
        CHECK_EQ(fp_tokens_open(&tokens, 16, &plain, NULL), FASTPAIR_OK);
        count.fail_at = n;
        const fastpair_status status =
            fp_train_characters(&made.sample, 9, &hooks, &tokens, &error);
        CHECK_EQ(count.live, 0);
        CHECK_EQ(tokens.count, status ? 256 : 257);
        fp_tokens_close(&tokens, &plain);
        if (!status) break;
        CHECK_EQ(status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(error.status, FASTPAIR_ERROR_OUT_OF_MEMORY);
        CHECK(n < 2);
    }
}

int main(void) {
    fp_allocator_resolve(NULL, &plain, NULL);
    test_order();
    test_limits();
    test_cuts();
    test_nothing();
    test_allocation();
    return check_done();
}
