/* make_golden.c - wrote the files beside it, once. Kept so that one can see what they are and add
 * more.
 *
 * In: nothing. Out: NAME.fpc and NAME.rows in the current folder. It never writes over a file: what
 * is committed must decode for ever, so a change of the library or the format adds files and
 * replaces none. To add some, extend main(), extend `names` in test_golden.c, and in the
 * repository's root
 *     cc -std=gnu11 -Iinclude -Isrc -Itests/support tests/golden/make_golden.c tests/support/[a-z]*.c src/[a-z]*.c \
 *         -DFASTPAIR_ZSTD -lpthread -lm -lzstd -o /tmp/make_golden && cd tests/golden && /tmp/make_golden
 */
#include "forge.h"
#include "verify.h"

static void write_new(const char *name, const char *ending, const uint8_t *data, uint64_t size) {
    char path[200];
    snprintf(path, sizeof path, "%s%s", name, ending);
    FILE *file = fopen(path, "wbx"); /* fails if it exists */
    if (!file) {
        printf("%s is there already\n", path);
        return;
    }
    if (fwrite(data, 1, size, file) != size || fclose(file)) abort();
    printf("%s: %llu bytes\n", path, (unsigned long long)size);
}

/* One row a line: `\N` a null, `\xHH` a byte that does not print, `\\` a backslash. */
static void write_rows(const char *name, const shape *s) {
    forge_bytes text = {0};
    for (uint64_t i = 0; i < s->rows.rows; i++) {
        if (!verify_valid(s, i)) forge_append(&text, "\\N", 2);
        for (uint64_t k = s->out_offsets[i]; k < s->out_offsets[i + 1]; k++) {
            uint8_t byte = s->out_bytes[k];
            char escaped[8];
            if (byte == '\\')
                snprintf(escaped, sizeof escaped, "\\\\");
            else if (byte < 32 || byte > 126)
                snprintf(escaped, sizeof escaped, "\\x%02x", byte);
            else
                snprintf(escaped, sizeof escaped, "%c", byte);
            forge_append(&text, escaped, strlen(escaped));
        }
        forge_append(&text, "\n", 1);
    }
    write_new(name, ".rows", text.data ? text.data : (const uint8_t *)"", text.size);
    free(text.data);
}

/* The rows written with the options; with framing if `separator` is not negative. */
static void make(const char *name, shape *s, fastpair_compress_options options, int separator,
                 int coded) {
    options.struct_size = sizeof options;
    forge_bytes image = {0};
    fastpair_sink sink = {forge_write, &image};
    fastpair_writer *writer = NULL;
    if (fastpair_writer_open(&sink, &options, &writer, NULL)) abort();
    if (separator >= 0 && fastpair_writer_set_framing(writer, (uint8_t)separator, 0, NULL)) abort();
    if (fastpair_writer_append(writer, &s->rows, NULL) || fastpair_writer_finish(writer, NULL))
        abort();
    fastpair_writer_close(writer);
    if ((forge_block(image.data, image.size, "FPDI", 0) != 0) != coded)
        printf("%s: coded or stored by surprise\n", name);
    write_new(name, ".fpc", image.data, image.size);
    write_rows(name, s);
    free(image.data);
    shape_free(s);
}

static shape rows_of(shape_kind kind, uint64_t bytes, uint32_t null_percent) {
    shape s;
    shape_make(&s, kind, 2024, &(shape_options){.bytes = bytes, .null_percent = null_percent});
    return s;
}

/* What this library never writes but must read: no promised order, row lengths of width 32. */
static void make_forged(void) {
    static const char *const text[] = {"in ",  "the beginning ",   "was", " ", "a",
                                       "\xff", "0123456789abcdef", "z"};
    uint32_t codes[400], lengths[200] = {0};
    uint8_t length_of[8], valid[200];
    for (uint32_t i = 0; i < 8; i++) length_of[i] = (uint8_t)strlen(text[i]);
    for (uint32_t i = 0; i < 200; i++) valid[i] = i % 7 != 6;
    uint64_t random = 7;
    for (uint32_t i = 0; i < 400; i++) {
        codes[i] = (uint32_t)(check_random(&random) % 8);
        uint32_t row = i / 2;
        lengths[valid[row] ? row : row - 1] += length_of[codes[i]];
    }
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_dictionary d = forge_plain_dictionary(text, 8);
    forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 400, d.bits, length_of, 32},
                                      &(forge_rows){lengths, valid, 200});
    forge_add_dictionary(&f, &d);
    forge_add_chunk(&f, &c);
    forge_finish(&f);
    oracle_column oracle;
    shape s;
    if (!oracle_decode(f.file.data, f.file.size, &oracle)) abort();
    shape_from_rows(&s, "forged", oracle.bytes, oracle.offsets, oracle.valid, oracle.rows);
    write_new("order_none", ".fpc", f.file.data, f.file.size);
    write_rows("order_none", &s);
    shape_free(&s), oracle_free(&oracle), free(f.file.data);
}

/* Tokens of each length up to `longest`, pieces of one text, in the order that the library gives
 * long tokens: lengths ascend, and classes have one code. */
static void make_long(const char *name, uint32_t longest) {
    static const char text[] = "2015-10-18 18:01:47,978 INFO [main] org.apache.hadoop.mapreduce.v2."
                               "app.MRAppMaster: Created MRAppMaster for application appattempt_";
    uint32_t codes[150], lengths[50] = {0};
    uint8_t length_of[64], valid[50];
    forge_dictionary d = {.codec = 1,
                          .bits = longest == 64 ? 6 : 5,
                          .longest = longest,
                          .order = 1,
                          .slots = longest,
                          .tokens = longest};
    for (uint32_t i = 0; i < longest; i++) forge_add_run(&d, i, 1, length_of[i] = (uint8_t)(i + 1));
    for (uint32_t i = 0; i < longest; i++)
        forge_append(&d.section, text + 2 * (longest - i) % 60, i + 1);
    for (uint32_t i = 0; i < 50; i++) valid[i] = i % 9 != 8;
    uint64_t random = longest;
    for (uint32_t i = 0; i < 150; i++) {
        codes[i] = i < longest ? i : (uint32_t)(check_random(&random) % longest);
        lengths[valid[i / 3] ? i / 3 : i / 3 - 1] += length_of[codes[i]];
    }
    forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 150, d.bits, length_of, 32},
                                      &(forge_rows){lengths, valid, 50});
    forge_bytes image = forge_column(&d, &c);
    oracle_column oracle;
    shape s;
    if (!oracle_decode(image.data, image.size, &oracle)) abort();
    shape_from_rows(&s, name, oracle.bytes, oracle.offsets, oracle.valid, oracle.rows);
    write_new(name, ".fpc", image.data, image.size);
    write_rows(name, &s);
    shape_free(&s), oracle_free(&oracle), free(image.data);
}

/* A cold dictionary and cold chunks of both kinds, in frames that are not compressed. */
static void make_cold_raw(void) {
    static const char *const text[] = {"in ", "the beginning ", "was", " ", "0123456789abcdef"};
    uint32_t codes[300], lengths[100] = {0}, stored_lengths[3] = {10, 0, 9};
    uint8_t length_of[5], valid[100];
    for (uint32_t i = 0; i < 5; i++) length_of[i] = (uint8_t)strlen(text[i]);
    for (uint32_t i = 0; i < 100; i++) valid[i] = i % 7 != 6;
    uint64_t random = 9;
    for (uint32_t i = 0; i < 300; i++) {
        codes[i] = i < 5 ? i : (uint32_t)(check_random(&random) % 5);
        lengths[valid[i / 3] ? i / 3 : i / 3 - 1] += length_of[codes[i]];
    }
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_says_cold(&f);
    forge_dictionary d = forge_plain_dictionary(text, 5);
    forge_codes all = {codes, 300, d.bits, length_of, 32};
    forge_rows rows = {lengths, valid, 100};
    forge_chunk c = forge_coded_chunk(&all, &rows);
    forge_make_coded_cold(&c, &all, &rows, d.slots, d.longest);
    forge_make_dictionary_cold(&d);
    forge_add_dictionary(&f, &d);
    forge_add_chunk(&f, &c);
    forge_chunk s =
        forge_stored_chunk("stored and cold, yes", 19, &(forge_rows){stored_lengths, NULL, 3});
    forge_make_stored_cold(&s);
    forge_add_chunk(&f, &s);
    forge_finish(&f);
    oracle_column oracle;
    shape made;
    if (!oracle_decode(f.file.data, f.file.size, &oracle)) abort();
    shape_from_rows(&made, "cold_raw", oracle.bytes, oracle.offsets, oracle.valid, oracle.rows);
    write_new("cold_raw", ".fpc", f.file.data, f.file.size);
    write_rows("cold_raw", &made);
    shape_free(&made), oracle_free(&oracle), free(f.file.data);
}

static const fastpair_pair golden_pairs[] = {{"unit", "EUR", 3}, {"blob", "\0\xff", 2}};
static const fastpair_metadata golden_metadata = {.struct_size = sizeof golden_metadata,
                                                  .type = FASTPAIR_TYPE_DETECT,
                                                  .name = "Stra\xc3\x9f"
                                                          "e",
                                                  .pairs = golden_pairs,
                                                  .pair_count = 2};

/* A file of version 1.7, as this library sees it: blocks and a part that nobody knows, and fields
 * that are not zero any more. */
static void make_later(void) {
    shape s = rows_of(SHAPE_UTF8, 3000, 10);
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .metadata = &golden_metadata,
                                         .chunk_bytes = 1200,
                                         .expert = EXPERT(.bound_bytes = 8)};
    uint8_t *image = NULL;
    uint64_t size = 0;
    if (fastpair_compress(&s.rows, &options, &image, &size, NULL)) abort();
    forge_parts parts;
    if (!forge_parts_open(&parts, image, size)) abort();
    fastpair_free(NULL, image);
    forge_put(parts.head + 10, 7, 2);
    memset(parts.head + 18, 0x77, 2), memset(parts.head + 24, 0x77, 32);
    for (uint32_t i = 0; i < parts.count; i++)
        memset(parts.blocks[i].header + (parts.blocks[i].is_chunk ? 304 : 80), 0x77, 8);
    memset(parts.footer + 88, 0x77, 16);
    parts.footer_parts[parts.footer_count].kind = 40;
    forge_append(&parts.footer_parts[parts.footer_count++].bytes, "later", 5);
    parts.extra = 2;
    forge_bytes joined = forge_join(&parts);
    forge_parts_close(&parts);
    write_new("later_version", ".fpc", joined.data, joined.size);
    write_rows("later_version", &s);
    free(joined.data), shape_free(&s);
}

int main(void) {
    typedef fastpair_compress_options options;
    shape s = rows_of(SHAPE_URLS, 4000, 5);
    make("onpair16", &s, (options){.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16}, -1, 1);
    s = rows_of(SHAPE_LOG_LINES, 5000, 0);
    make("onpair12", &s,
         (options){.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .chunk_bytes = 1200}, -1, 1);
    s = rows_of(SHAPE_WORDS, 4000, 10);
    make("onpair12_hot", &s,
         (options){
             .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .expert = EXPERT(.hot_codes = 40)},
         -1, 1);
    s = rows_of(SHAPE_PREFIXES, 3000, 0);
    make("onpair9_token8", &s,
         (options){.codec = FASTPAIR_CODEC_ONPAIR,
                   .code_bits = 9,
                   .max_token = 8,
                   .expert = EXPERT(.batch_codes = 32)},
         -1, 1);
    s = rows_of(SHAPE_CLERKS, 4000, 3);
    make("fsst12", &s,
         (options){.codec = FASTPAIR_CODEC_FSST12, .expert = EXPERT(.batch_codes = 1024)}, -1, 1);
    s = rows_of(SHAPE_RANDOM_BYTES, 600, 10);
    make("stored", &s, (options){.codec = FASTPAIR_CODEC_STORED}, -1, 0);
    s = rows_of(SHAPE_NO_ROWS, 0, 0);
    make("no_rows", &s, (options){0}, -1, 0);
    s = rows_of(SHAPE_EMPTY_ROWS, 0, 0);
    make("empty_rows", &s, (options){0}, -1, 0);
    s = rows_of(SHAPE_EMPTY_ROWS, 0, 100);
    make("all_null", &s, (options){0}, -1, 0);
    s = rows_of(SHAPE_DRIFT, 12000, 0);
    make("two_dictionaries", &s,
         (options){.codec = FASTPAIR_CODEC_ONPAIR,
                   .code_bits = 12,
                   .chunk_bytes = 2500,
                   .expert = EXPERT(.sample_bytes = 2500)},
         -1, 1);
    s = rows_of(SHAPE_FOUR_VALUES, 3000, 0);
    make("framed", &s, (options){0}, '\n', 1);
    s = rows_of(SHAPE_UTF8, 300, 0);
    make("aligned_4096", &s,
         (options){.codec = FASTPAIR_CODEC_STORED, .expert = EXPERT(.section_alignment = 4096)}, -1,
         0);
    s = rows_of(SHAPE_LONG_AND_TINY, 6000, 0);
    make("long_lengths", &s, (options){0}, -1, 1);
    make_forged();
    make_long("long_tokens_32", 32);
    make_long("long_tokens_64", 64);
    s = rows_of(SHAPE_LOG_LINES, 9000, 5);
    make("cold_onpair", &s, (options){.cold = 1, .chunk_bytes = 4000}, -1, 1);
    s = rows_of(SHAPE_CLERKS, 6000, 3);
    make("cold_fsst12", &s, (options){.codec = FASTPAIR_CODEC_FSST12, .cold = 1}, '\n', 1);
    s = rows_of(SHAPE_FEW_BYTES, 3000, 10);
    make("cold_stored", &s, (options){.codec = FASTPAIR_CODEC_STORED, .cold = 1}, -1, 0);
    make_cold_raw();
    s = rows_of(SHAPE_UTF8, 4000, 5);
    make("described", &s,
         (options){.codec = FASTPAIR_CODEC_FSST12,
                   .chunk_bytes = 1500,
                   .metadata = &golden_metadata,
                   .expert = EXPERT(.bound_bytes = 16)},
         '\n', 1);
    s = rows_of(SHAPE_LONG_AND_TINY, 3000, 60);
    make("bounds_64", &s,
         (options){.codec = FASTPAIR_CODEC_STORED,
                   .chunk_bytes = 1024,
                   .expert = EXPERT(.bound_bytes = 64)},
         -1, 0);
    make_later();
    s = rows_of(SHAPE_WORDS, 9000, 5);
    make("folded_onpair12", &s,
         (options){.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .chunk_bytes = 5000}, -1, 1);
    s = rows_of(SHAPE_LOG_LINES, 9000, 0);
    make("folded_token64", &s,
         (options){.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 10, .max_token = 64}, '\n', 1);
    return 0;
}
