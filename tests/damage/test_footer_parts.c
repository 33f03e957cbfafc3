/* test_footer_parts.c - parts of the footer that lie, with every checksum right.
 *
 * A lie is told of a column with a name, pairs and bounds; the oracle must refuse it, to prove that
 * it is one, and so must the library, as a column and as a stream. */
#include "forge.h"
#include "probe.h"

enum { NAME, PAIRS, BOUNDS, PARTS };

static const char row_text[] = "applebananacherry pie\xc3\xa9t\xc3\xa9";
static const uint32_t row_lengths[] = {5, 6, 10, 0, 5};
static const uint8_t row_valid[] = {1, 1, 1, 0, 1};

/* What a lie may change. */
typedef struct description {
    forge_bytes part[PARTS];
    uint32_t kind[PARTS], flags[PARTS];
    uint32_t type;
    uint32_t minor, features;
    uint64_t extra; /* bytes of an extra block; 0: none */
    const char *extra_kind;
} description;

static void put_pair(forge_bytes *to, const char *key, uint32_t key_size, const char *value) {
    uint8_t *at = forge_append(to, NULL, 8);
    forge_put(at, key_size, 4), forge_put(at + 4, strlen(value), 4);
    forge_append(to, key, key_size);
    forge_append(to, value, strlen(value));
}

/* Two chunks: the rows above, and one null row. K is 8. */
static description honest(void) {
    description d = {.kind = {1, 2, 3}, .type = 1, .extra_kind = "FPXY"};
    forge_append(&d.part[NAME], "fruit", 5);
    uint8_t *at = forge_append(&d.part[PAIRS], NULL, 8);
    forge_put(at, 2, 4);
    put_pair(&d.part[PAIRS], "from", 4, "a garden");
    put_pair(&d.part[PAIRS], "unit", 4, "kg");
    at = forge_append(&d.part[BOUNDS], NULL, 8 + 2 * 24);
    forge_put(at, 8, 4);
    at[8] = 1, at[9] = 5, at[10] = 5;
    memcpy(at + 16, "apple", 5);
    memcpy(at + 24, "\xc3\xa9t\xc3\xa9", 5);
    return d;
}

static forge_bytes assemble(description *d) {
    forge f;
    forge_begin(&f, 64, 1, '\n');
    forge_put(f.file.data + 10, d->minor, 2), forge_put(f.file.data + 20, d->features, 4);
    f.final_separator = 1;
    f.type = d->type;
    forge_chunk c = forge_stored_chunk(row_text, 26, &(forge_rows){row_lengths, row_valid, 5});
    forge_add_chunk(&f, &c);
    const uint32_t none = 0;
    const uint8_t null = 0;
    c = forge_stored_chunk("", 0, &(forge_rows){&none, &null, 1});
    forge_add_chunk(&f, &c);
    if (d->extra) forge_add_extra(&f, d->extra_kind, d->extra, 0);
    for (int i = 0; i < PARTS; i++) {
        if (d->kind[i])
            forge_add_part(&f, d->kind[i], d->flags[i], d->part[i].data, d->part[i].size);
        free(d->part[i].data);
    }
    forge_finish(&f);
    forge_reseal(f.file.data, f.file.size);
    return f.file;
}

/* ---------------------------------------------------------------- lies */

#define NAMED(text)     d->part[NAME].size = 0, forge_append(&d->part[NAME], text, sizeof(text) - 1)
#define BYTE(which, at) d->part[which].data[at]
#define ENTRY(at)       BYTE(BOUNDS, 8 + (at))
#define LIE(name, ...)                                                                             \
    static void lie_##name(description *d) { __VA_ARGS__; }
#include "forged_parts.def"
#undef LIE

static const struct {
    const char *name;
    void (*tell)(description *);
} lies[] = {
#define LIE(name, ...) {#name, lie_##name},
#include "forged_parts.def"
#undef LIE
};

static void tell_lies(uint64_t *random) {
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        description d = honest();
        lies[i].tell(&d);
        forge_bytes image = assemble(&d);
        oracle_column oracle;
        int believed = oracle_decode(image.data, image.size, &oracle),
            unsupported = oracle.not_supported;
        CHECK(!believed);
        if (believed) fprintf(stderr, "  ^ the oracle believes %s\n", lies[i].name);
        oracle_free(&oracle);
        probe(lies[i].name, image.data, image.size, NULL, PROBE_REFUSE, random);
        /* What a later version may have is not called corrupt. */
        fastpair_column *column = NULL;
        fastpair_error error;
        fastpair_status status =
            fastpair_column_open(image.data, image.size, NULL, &column, &error);
        CHECK_EQ(status == FASTPAIR_ERROR_UNSUPPORTED, unsupported);
        if (unsupported)
            CHECK(strstr(error.message, "feature bit 2,") ||
                  strstr(error.message, "feature bit 2147483648,") ||
                  strstr(error.message, "part 77 "));
        if (status == FASTPAIR_OK) { /* harmless, whoever asks */
            fastpair_metadata metadata = {.struct_size = sizeof metadata};
            fastpair_column_get_metadata(column, &metadata, &error);
            for (uint64_t chunk = 0; chunk < 2; chunk++) {
                int may = 0;
                status = fastpair_column_may_hold(column, chunk, FASTPAIR_ROW_PREFIX, "zzzzzzzzzz",
                                                  10, &may, &error);
                CHECK(status == FASTPAIR_OK || (status == FASTPAIR_ERROR_CORRUPT && may == 1));
            }
        }
        fastpair_column_close(column);
        free(image.data);
    }
}

/* Every byte of the footer changed, with and without checksums made right. */
static void altered_bytes(uint64_t *random) {
    description d = honest();
    forge_bytes image = assemble(&d);
    uint64_t footer = forge_block(image.data, image.size, "FPFT", 0);
    uint8_t *copy = malloc(image.size);
    for (uint64_t at = footer; at < image.size; at++)
        for (int sealed = 0; sealed < 2; sealed++) {
            memcpy(copy, image.data, image.size);
            copy[at] ^= (uint8_t)(1u << check_random(random) % 8);
            if (sealed) forge_reseal(copy, image.size);
            if (sealed)
                probe_by_oracle("altered and sealed", copy, image.size, random);
            else
                probe("altered", copy, image.size, NULL, PROBE_REFUSE, random);
        }
    free(copy);
    free(image.data);
}

/* A text that is none. */
static void no_text(uint64_t *random) {
    uint32_t lengths[] = {1, 1};
    for (uint32_t type = 0; type < 2; type++) {
        forge f;
        forge_begin(&f, 64, 0, 0);
        f.type = type;
        /* Both rows together would be a character. */
        forge_chunk c = forge_stored_chunk("\xc3\xa9", 2, &(forge_rows){lengths, NULL, 2});
        forge_add_chunk(&f, &c);
        forge_finish(&f);
        probe_by_oracle("text", f.file.data, f.file.size, random);
        oracle_column oracle;
        CHECK_EQ(oracle_decode(f.file.data, f.file.size, &oracle), type == 0);
        oracle_free(&oracle);
        free(f.file.data);
    }
}

int main(void) {
    uint64_t random = verify_seed();
    description d = honest();
    forge_bytes image = assemble(&d);
    oracle_column oracle;
    CHECK(oracle_decode(image.data, image.size, &oracle));
    if (*oracle.why) fprintf(stderr, "  ^ %s\n", oracle.why);
    oracle_free(&oracle);
    probe_by_oracle("honest", image.data, image.size, &random);
    free(image.data);
    tell_lies(&random);
    altered_bytes(&random);
    no_text(&random);
    return check_done();
}
