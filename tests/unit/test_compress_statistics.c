/* test_compress_statistics.c - how well the codecs do on TPC-H columns, against the figures they
 * must reach.
 *
 * Columns come from bench/tpch.c. With FASTPAIR_TEST_FULL=1 they have 128 MB and the bars are
 * within 2 % of the table below (codes in use may be 3 % lower at 12 bits, where length classes of
 * whole groups cost some); otherwise they are smaller, and each line says by how much its bar is
 * wider, where a smaller column has less to learn from. All figures are those of
 * fastpair_column_get_info. */
#include "tpch.h"
#include "verify.h"

typedef struct bar {
    fp_tpch_column column;
    fastpair_codec codec;
    uint32_t bits;
    /* Trained on 128 MB. in_use 0: not checked. short_share: of codes of at most 8 bytes, or -1. */
    double in_use, bytes_per_code, short_share;
    /* For the smaller column: the part by which it may stay below, or by which the share may be
     * off. */
    double slack_in_use, slack_bytes, slack_share;
} bar;

static const bar bars[] = {
    {FP_TPCH_L_COMMENT, FASTPAIR_CODEC_ONPAIR, 16, 64973, 10.46, 0.33, 0.25, 0.02, 0.03},
    {FP_TPCH_PS_COMMENT, FASTPAIR_CODEC_ONPAIR, 16, 65147, 12.77, 0.15, 0.55, 0.03, 0.06},
    {FP_TPCH_O_CLERK, FASTPAIR_CODEC_ONPAIR, 16, 45001, 15.00, 0.00, 0.02, 0.02, 0.02},
    {FP_TPCH_C_ADDRESS, FASTPAIR_CODEC_ONPAIR, 16, 65344, 2.17, 1.00, 0.02, 0.02, 0.02},
    {FP_TPCH_L_SHIPINSTRUCT, FASTPAIR_CODEC_ONPAIR, 16, 5, 9.6, 0.40, 0, 0.01, 0.01},
    {FP_TPCH_L_COMMENT, FASTPAIR_CODEC_ONPAIR, 12, 3859, 7.75, 0.58, 0.03, 0.02, 0.02},
    {FP_TPCH_PS_COMMENT, FASTPAIR_CODEC_ONPAIR, 12, 3872, 10.19, 0.34, 0.03, 0.02, 0.05},
    {FP_TPCH_O_CLERK, FASTPAIR_CODEC_ONPAIR, 12, 3839, 7.74, 0.48, 0.03, 0.02, 0.02},
    {FP_TPCH_C_ADDRESS, FASTPAIR_CODEC_ONPAIR, 12, 3904, 1.90, 1.00, 0.03, 0.02, 0.02},
    {FP_TPCH_L_SHIPINSTRUCT, FASTPAIR_CODEC_ONPAIR, 12, 5, 9.6, 0.40, 0, 0.01, 0.01},
    {FP_TPCH_L_COMMENT, FASTPAIR_CODEC_FSST12, 12, 0, 5.7, -1, 0, 0, 0},
    {FP_TPCH_PS_COMMENT, FASTPAIR_CODEC_FSST12, 12, 0, 6.5, -1, 0, 0, 0},
    {FP_TPCH_O_CLERK, FASTPAIR_CODEC_FSST12, 12, 0, 4.9, -1, 0, 0, 0},
    {FP_TPCH_C_ADDRESS, FASTPAIR_CODEC_FSST12, 12, 0, 1.88, -1, 0, 0, 0},
};

typedef struct rows_of_column {
    fastpair_rows rows;
    uint8_t *bytes;
    uint64_t *offsets;
} rows_of_column;

static rows_of_column generate(fp_tpch_column column, uint64_t size, uint64_t seed) {
    rows_of_column made = {.bytes = malloc(size + FP_TPCH_MAX_ROW),
                           .offsets = malloc((size / 4 + 2) * 8)};
    fp_tpch_gen generator;
    if (!made.bytes || !made.offsets || fp_tpch_open(&generator, seed, column)) abort();
    uint64_t at = 0, rows = 0;
    made.offsets[0] = 0;
    while (at < size) {
        at += fp_tpch_next(&generator, (char *)made.bytes + at);
        made.offsets[++rows] = at;
    }
    fp_tpch_close(&generator);
    made.rows = view_rows(rows, made.bytes, made.offsets);
    return made;
}

static void measure(const bar *b, const rows_of_column *column, int full) {
    unsigned long long before = check_failed;
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = b->codec, .code_bits = b->bits, .threads = 2};
    uint8_t *image = NULL;
    uint64_t size = 0;
    fastpair_error error;
    const char *name = fp_tpch_column_name(b->column);
    if (!verify_ok(fastpair_compress(&column->rows, &options, &image, &size, &error), &error, name))
        return;
    fastpair_column *opened = NULL;
    fastpair_column_info info = {.struct_size = sizeof info};
    verify_ok(fastpair_column_open(image, size, NULL, &opened, &error), &error, name);
    verify_ok(fastpair_column_get_info(opened, &info, &error), &error, name);
    uint64_t short_codes = 0;
    for (int i = 0; i < 8; i++) short_codes += info.codes_by_length[i];
    double bytes_per_code = (double)info.decoded_bytes / (double)info.codes;
    double share = (double)short_codes / (double)info.codes, in_use = (double)info.tokens_in_use;
    uint64_t coded = info.code_bytes + info.dictionary_bytes + info.sidecar_bytes;
    printf("%-15s %s-%-2u %5.0f codes in use, %6.3f bytes per code, %5.1f %% of at most 8 bytes, "
           "ratio %.3f, "
           "whole file %.3f\n",
           name, b->codec == FASTPAIR_CODEC_FSST12 ? "fsst" : "onpair", b->bits, in_use,
           bytes_per_code, 100 * share, (double)info.decoded_bytes / (double)coded,
           (double)info.decoded_bytes / (double)size);
    CHECK_EQ(info.stored_chunks, 0);
    CHECK_EQ(info.dictionaries, 1);
    CHECK_EQ(info.codec, b->codec);
    double below_in_use = full ? (b->bits == 12 ? 0.03 : 0.02) : b->slack_in_use;
    double below_bytes = full ? 0.02 : b->slack_bytes, off_share = full ? 0.02 : b->slack_share;
    if (b->codec == FASTPAIR_CODEC_FSST12) {
        CHECK(bytes_per_code >= b->bytes_per_code);
    } else if (b->in_use == 5) {
        CHECK_EQ(info.tokens_in_use, 5);
        CHECK_EQ(info.code_bits, 3);
        CHECK(bytes_per_code > 9.55 && bytes_per_code < 9.65 && share > 0.39 && share < 0.41);
    } else {
        CHECK(in_use >= b->in_use * (1 - below_in_use) && in_use <= 1u << b->bits);
        CHECK(bytes_per_code >= b->bytes_per_code * (1 - below_bytes));
        CHECK(share <= b->short_share + off_share);
    }
    if (b->bits == 12 && b->in_use != 5) CHECK((double)info.sidecar_bytes <= 0.006 * (double)coded);
    fastpair_column_close(opened);
    fastpair_free(NULL, image);
    verify_note(before, name, "column");
}

int main(void) {
    const char *full_text = getenv("FASTPAIR_TEST_FULL");
    int full = full_text && *full_text == '1';
    uint64_t seed = verify_seed(), bytes = full ? 128000000 : 24000000;
    for (int column = 0; column < FP_TPCH_COLUMN_COUNT; column++) {
        rows_of_column rows = generate((fp_tpch_column)column, bytes, seed);
        for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++)
            if (bars[i].column == (fp_tpch_column)column) measure(&bars[i], &rows, full);
        free(rows.bytes), free(rows.offsets);
    }
    return check_done();
}
