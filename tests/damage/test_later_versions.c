/* test_later_versions.c - files of later versions of the format, which may have all that section 7 of
 * docs/format.md lets them add: they decode to the same rows everywhere. The same files, if they said
 * that they are of version 1.0, break its rules. tests/gpu/test_job_upload.c has one for GPUs. */
#include "forge.h"
#include "probe.h"

/* Sets all bits of fields that are zero in 1.0. */
static void fill_zero_fields(forge_bytes *image) {
    uint8_t *data = image->data;
    uint64_t footer = forge_block(data, image->size, "FPFT", 0), at;
    memset(data + 18, 255, 2), memset(data + 24, 255, 32);
    for (uint64_t i = 0; (at = forge_block(data, image->size, "FPDI", i)); i++)
        memset(data + at + 22, 255, 2), memset(data + at + 80, 255, 8);
    for (uint64_t i = 0; (at = forge_block(data, image->size, "FPCH", i)); i++)
        memset(data + at + 18, 255, 2), memset(data + at + 76, 255, 4),
            memset(data + at + 304, 255, 8);
    memset(data + footer + 66, 255, 2), memset(data + footer + 88, 255, 16);
    for (uint64_t i = 0; i < forge_get(data + footer + 16, 8); i++)
        memset(data + footer + 112 + 24 * i + 20, 255, 4);
}

/* A column as the library writes it, with all that a later version may add. */
static forge_bytes future(const shape *s, uint32_t minor, int has_extra) {
    fastpair_pair pair = {"key", "value", 5};
    fastpair_metadata metadata = {.struct_size = sizeof metadata,
                                  .type = FASTPAIR_TYPE_DETECT,
                                  .name = "later",
                                  .pairs = &pair,
                                  .pair_count = 1};
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 4000,
                                         .metadata = &metadata,
                                         .expert = EXPERT(.bound_bytes = 16)};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    verify_ok(fastpair_compress(&s->rows, &options, &image, &size, &error), &error, "compress");
    forge_parts parts;
    CHECK(forge_parts_open(&parts, image, size));
    fastpair_free(NULL, image);
    forge_put(parts.head + 10, minor, 2);
    for (uint32_t i = 0; i < parts.footer_count; i++) { /* zero fields of parts */
        forge_bytes *bytes = &parts.footer_parts[i].bytes;
        if (parts.footer_parts[i].kind > 1) memset(bytes->data + 4, 255, 4);
        if (parts.footer_parts[i].kind == 3)
            for (uint64_t at = 8; at < bytes->size; at += 40) memset(bytes->data + at + 3, 255, 5);
    }
    for (uint32_t i = 0; i < 3; i++) {
        forge_footer_part *part = &parts.footer_parts[parts.footer_count++];
        *part = (forge_footer_part){.kind = 4 + 1000 * i};
        forge_append(&part->bytes, NULL, i == 2 ? 5000 : 1 + i);
    }
    if (has_extra) parts.extra = 3;
    forge_bytes joined = forge_join(&parts);
    forge_parts_close(&parts);
    fill_zero_fields(&joined);
    forge_reseal(joined.data, joined.size);
    return joined;
}

/* Taken apart and joined, it is the same file: fuzz_sections counts on that. */
static void joins_again(const forge_bytes *image) {
    forge_parts parts;
    CHECK(forge_parts_open(&parts, image->data, image->size));
    forge_bytes again = forge_join(&parts);
    forge_parts_close(&parts);
    CHECK(again.size == image->size && !memcmp(again.data, image->data, image->size));
    free(again.data);
}

static void later_versions(uint64_t *random) {
    shape s;
    shape_make(&s, SHAPE_UTF8, 5, &(shape_options){.bytes = 20000, .null_percent = 5});
    for (uint32_t minor = 1; minor < 65536; minor = minor * 255 + 7)
        for (int has_extra = 0; has_extra < 2; has_extra++) {
            forge_bytes image = future(&s, minor, has_extra);
            oracle_column oracle;
            CHECK(oracle_decode(image.data, image.size, &oracle));
            CHECK(oracle.minor == minor && oracle.is_text && oracle.name && oracle.bounds);
            CHECK_EQ(oracle.extra_bytes != 0, has_extra);
            oracle_free(&oracle);
            if (!has_extra) joins_again(&image);
            probe("a later version", image.data, image.size, &s, PROBE_ACCEPT, random);
            verify_effort effort = {4, 4, 2, 1, *random};
            verify_image(image.data, image.size, &s, &effort);
            fastpair_column *column = NULL;
            fastpair_error error;
            fastpair_metadata metadata = {.struct_size = sizeof metadata};
            verify_ok(fastpair_column_open(image.data, image.size, NULL, &column, &error), &error,
                      "open");
            verify_ok(fastpair_column_get_metadata(column, &metadata, &error), &error, "metadata");
            CHECK(metadata.name && !strcmp(metadata.name, "later") && metadata.pair_count == 1);
            fastpair_column_close(column);
            /* The same file as 1.0 breaks its rules. */
            forge_put(image.data + 10, 0, 2);
            forge_reseal(image.data, image.size);
            probe("a later version that says it is 1.0", image.data, image.size, NULL, PROBE_REFUSE,
                  random);
            free(image.data);
        }
    shape_free(&s);
}

/* Extra blocks of wrong sizes, or damaged. */
static void extra_blocks(uint64_t *random) {
    shape s;
    shape_make(&s, SHAPE_WORDS, 5, &(shape_options){.bytes = 2000});
    forge_bytes image = future(&s, 2, 1);
    uint64_t at = forge_block(image.data, image.size, "ABCD", 1),
             footer = forge_block(image.data, image.size, "FPFT", 0);
    CHECK_EQ(footer - at, 128 + 192);
    static const struct {
        uint64_t at, size, value;
        int of_footer;
    } lies[] = {{4, 4, 23, 0},         {4, 4, 129, 0}, {4, 4, UINT32_MAX, 0},
                {8, 8, 192, 0},        {8, 8, 0, 0},   {8, 8, 130, 0},
                {8, 8, UINT64_MAX, 0}, {20, 1, 7, 0},  {80, 8, 0, 1},
                {80, 8, 64, 1},        {80, 8, 1, 1},  {80, 8, UINT64_MAX - 63, 1},
                {0, 4, 0x48435046, 0}};
    uint8_t *copy = malloc(image.size);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(copy, image.data, image.size);
        forge_put(copy + (lies[i].of_footer ? footer : at) + lies[i].at, lies[i].value,
                  (int)lies[i].size);
        if (lies[i].of_footer)
            forge_put(copy + footer + 104, forge_checksum(copy + footer, 104), 8);
        if (lies[i].at < 16) forge_put(copy + at + 56, forge_checksum(copy + at, 56), 8);
        oracle_column oracle;
        CHECK(!oracle_decode(copy, image.size, &oracle));
        oracle_free(&oracle);
        probe("an extra block that lies", copy, image.size, NULL, PROBE_REFUSE, random);
    }
    free(copy);
    free(image.data);
    shape_free(&s);
}

int main(void) {
    uint64_t random = verify_seed();
    later_versions(&random);
    extra_blocks(&random);
    return check_done();
}
