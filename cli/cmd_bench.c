/* cmd_bench.c - every codec on the caller's own data.
 *
 * In: texts, each read into memory. Out: for each codec (or the one --codec names) sizes, rates and
 * a verdict, as a table or with --json one object per line. Fails if any byte does not come back.
 */
#include "json.h"
#include "measure.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void print_json(const char *path, const cli_measurement *result) {
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "file", path);
    cli_json_string(&json, "codec", result->figures.codec);
    cli_json_number(&json, "bytes", result->info.decoded_bytes);
    cli_json_number(&json, "rows", result->info.rows);
    cli_json_number(&json, "compressed_bytes", result->info.compressed_bytes);
    cli_json_real(&json, "ratio", result->figures.ratio);
    cli_json_real(&json, "ratio_total", result->figures.ratio_total);
    cli_json_real(&json, "mean_token", result->figures.mean_token);
    cli_json_real(&json, "train_mb_s", result->train_mb_s);
    cli_json_real(&json, "encode_mb_s", result->encode_mb_s);
    cli_json_real(&json, "cpu_decode_mb_s", result->decode_mb_s);
    cli_json_real(&json, "cpu_decode_1_mb_s", result->decode_1_mb_s);
    cli_json_real(&json, "cpu_reference_mb_s", result->reference_mb_s);
    cli_json_number(&json, "threads", result->threads);
    cli_json_string(&json, "cpu", cli_cpu_name());
    if (result->gpu.gpu[0]) {
        cli_json_string(&json, "gpu", result->gpu.gpu);
        cli_json_real(&json, "gpu_decode_gb_s", result->gpu.decode_gb_s);
        cli_json_string(&json, "gpu_kernel", result->gpu.kernel);
        cli_json_real(&json, "end_to_end_gb_s", result->gpu.end_to_end_gb_s);
        cli_json_real(&json, "gpu_dictionaries_us", result->gpu.upload_dictionaries_us);
    }
    cli_json_bool(&json, "verified", result->verified);
    cli_json_end(&json);
    cli_flush();
}

/* A number in a column of the table, or a dash. */
static void print_figure(int width, int decimals, double value) {
    if (isfinite(value))
        printf("  %*.*f", width, decimals, value);
    else
        printf("  %*s", width, "-");
}

static void print_line(const cli_measurement *result) {
    printf("%-12s", result->figures.codec);
    print_figure(6, 3, result->figures.ratio);
    print_figure(6, 3, result->figures.ratio_total);
    print_figure(5, 2, result->figures.mean_token);
    print_figure(6, 0, result->train_mb_s);
    print_figure(6, 0, result->encode_mb_s);
    print_figure(8, 0, result->decode_mb_s);
    print_figure(8, 0, result->decode_1_mb_s);
    print_figure(9, 0, result->reference_mb_s);
    printf("  %s\n", result->verified ? "verified" : "MISMATCH");
    if (result->gpu.gpu[0])
        printf("             %s, %s: %.1f GB/s on the device, %.1f from pinned host memory\n",
               result->gpu.gpu, result->gpu.kernel, result->gpu.decode_gb_s,
               result->gpu.end_to_end_gb_s);
    cli_flush();
}

static int bench_codec(const cli_options *options, const char *path, const fastpair_rows *rows,
                       const fastpair_compress_options *settings) {
    cli_measurement result;
    int code = cli_measure(options, path, rows, settings, options->bench_seconds, &result);
    if (code != CLI_OK) return code;
    if (options->json)
        print_json(path, &result);
    else
        print_line(&result);
    if (result.verified) return CLI_OK;
    return cli_fail(path, "%s does not give the same bytes back; please report this",
                    result.figures.codec);
}

static int bench_rows(const cli_options *options, const char *path, const fastpair_rows *rows) {
    fastpair_compress_options settings = cli_compress_options(options);
    settings.threads = cli_threads(options, 0);
    if (!options->json) {
        char name[CLI_NAME_ROOM], size[32];
        printf("%s: %" PRIu64 " rows, %s; %u thread%s, %s\n", cli_clean_name(path, name),
               rows->rows, cli_size_text(cli_rows_size(rows), size), settings.threads,
               settings.threads == 1 ? "" : "s", cli_cpu_name());
        printf("codec          ratio   total  token   train  encode    decode  1 thread  reference "
               " (MB/s)\n");
    }
    if (options->codec_given) return bench_codec(options, path, rows, &settings);
    int worst = CLI_OK;
    for (int i = 0; cli_flush() && cli_preset(i, &settings); i++) {
        int result = bench_codec(options, path, rows, &settings);
        if (result > worst) worst = result;
    }
    return worst;
}

static int bench_file(const cli_options *options, const char *path) {
    cli_input input;
    cli_text text;
    cli_rows all = {0};
    fastpair_rows rows;
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    result = cli_text_open(&text, &input, options->separator);
    while (result == CLI_OK && (result = cli_text_next(&text, &rows)) == CLI_OK && rows.rows > 0)
        if (!cli_rows_append(&all, &rows)) result = cli_fail_errno(input.name, ENOMEM);
    if (result == CLI_OK && all.rows == 0) result = cli_fail(input.name, "has no rows to measure");
    if (result == CLI_OK) {
        cli_text_close(&text);
        rows = cli_rows_view(&all);
        result = bench_rows(options, path, &rows);
    }
    cli_rows_close(&all);
    cli_text_close(&text);
    cli_input_close(&input);
    return result;
}

int cli_bench(const cli_options *options) {
    int worst = CLI_OK;
    for (int i = 0; i < options->file_count && cli_flush(); i++) {
        int result = bench_file(options, options->files[i]);
        if (result > worst) worst = result;
    }
    return worst;
}
