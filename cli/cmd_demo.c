/* cmd_demo.c - a first look without any data of one's own.
 *
 * In: nothing; a TPC-H comment column is generated in memory, the same on every machine. Out: a
 * table with every preset codec's sizes and rates, and whether every byte came back. Fails if one
 * did not.
 */
#include "measure.h"
#include "text.h"
#include "tpch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define DEMO_BYTES   16000000ull
#define DEMO_SEED    1
#define DEMO_SECONDS 0.2

static int generate(cli_rows *all) {
    fp_tpch_gen generator;
    char row[FP_TPCH_MAX_ROW];
    if (fp_tpch_open(&generator, DEMO_SEED, FP_TPCH_L_COMMENT) != 0)
        return cli_fail_errno("the demo column", ENOMEM);
    int result = CLI_OK;
    while (result == CLI_OK && all->size < DEMO_BYTES) {
        uint64_t offsets[2] = {0, fp_tpch_next(&generator, row)};
        fastpair_rows one = cli_rows_of(1, (const uint8_t *)row, offsets);
        if (!cli_rows_append(all, &one)) result = cli_fail_errno("the demo column", ENOMEM);
    }
    fp_tpch_close(&generator);
    return result;
}

static int run_codecs(const cli_options *options, const fastpair_rows *rows) {
    fastpair_compress_options settings = cli_compress_options(options);
    settings.threads = cli_threads(options, 0);
    fastpair_error why;
    fastpair_gpu *gpu = cli_backend_open_gpu(options, &why);
    fastpair_gpu_close(gpu);
    printf("TPC-H l_comment, generated: %" PRIu64 " rows, %" PRIu64 " bytes\n", rows->rows,
           cli_rows_size(rows));
    if (gpu)
        printf("decoding on the GPU\n");
    else
        printf("decoding on the CPU (%s, %u thread%s): %s\n", cli_cpu_name(), settings.threads,
               settings.threads == 1 ? "" : "s", why.message);
    printf("\ncodec           rows       bytes  compressed   ratio  encode MB/s  decode GB/s  "
           "verified\n");
    int worst = CLI_OK;
    for (int i = 0; cli_preset(i, &settings); i++) {
        cli_measurement result;
        int code = cli_measure(options, "the demo column", rows, &settings, DEMO_SECONDS, &result);
        if (code == CLI_OK) {
            printf("%-12s %7" PRIu64 "  %10" PRIu64 "  %10" PRIu64 "  %6.3f  %11.0f  %11.2f  %s\n",
                   result.figures.codec, result.info.rows, result.info.decoded_bytes,
                   result.info.compressed_bytes, result.figures.ratio, result.encode_mb_s,
                   result.gpu.gpu[0] ? result.gpu.decode_gb_s : result.decode_mb_s / 1000,
                   result.verified ? "every byte" : "MISMATCH");
            cli_flush();
            if (!result.verified)
                code = cli_fail(NULL, "%s does not give the same bytes back", result.figures.codec);
        }
        if (code > worst) worst = code;
    }
    return worst;
}

int cli_demo(const cli_options *options) {
    cli_rows all = {0};
    int result = generate(&all);
    if (result == CLI_OK) {
        fastpair_rows rows = cli_rows_view(&all);
        result = run_codecs(options, &rows);
    }
    cli_rows_close(&all);
    return result;
}
