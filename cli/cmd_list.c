/* cmd_list.c - what compressed columns hold, from their headers alone.
 *
 * In: compressed files. Out: a table with one line per file and a total; with -v a page per file;
 * with --json one object per line. Nothing is decoded. Refuses pipes: a column's totals stand at
 * its end.
 */
#include "json.h"
#include "mapping.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void print_json(const char *path, const fastpair_column_info *info) {
    cli_figures figures = cli_figures_of(info);
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "file", path);
    cli_json_number(&json, "rows", info->rows);
    cli_json_number(&json, "nulls", info->nulls);
    cli_json_number(&json, "bytes", info->decoded_bytes);
    cli_json_number(&json, "text_bytes", figures.text_bytes);
    cli_json_number(&json, "compressed_bytes", info->compressed_bytes);
    cli_json_string(&json, "codec", figures.codec);
    cli_json_number(&json, "code_bits", info->code_bits);
    cli_json_number(&json, "codes", info->codes);
    cli_json_number(&json, "tokens", info->tokens);
    cli_json_number(&json, "tokens_in_use", info->tokens_in_use);
    cli_json_real(&json, "mean_token", figures.mean_token);
    cli_json_real(&json, "share_le8", figures.share_le8);
    cli_json_real(&json, "ratio", figures.ratio);
    cli_json_real(&json, "ratio_total", figures.ratio_total);
    cli_json_number(&json, "sidecar_bytes", info->sidecar_bytes);
    cli_json_number(&json, "chunks", info->chunks);
    cli_json_number(&json, "stored_chunks", info->stored_chunks);
    cli_json_number(&json, "dictionaries", info->dictionaries);
    cli_json_number(&json, "largest_batch", info->largest_batch);
    cli_json_number(&json, "batch_codes", info->batch_codes);
    cli_json_open(&json, "sections");
    cli_json_number(&json, "dictionary", info->dictionary_bytes);
    cli_json_number(&json, "codes", info->code_bytes);
    cli_json_number(&json, "sidecar", info->sidecar_bytes);
    cli_json_number(&json, "lengths", info->length_bytes);
    cli_json_number(&json, "validity", info->validity_bytes);
    cli_json_number(&json, "other", info->compressed_bytes - figures.section_bytes);
    cli_json_close(&json);
    cli_json_end(&json);
}

/* A figure with three decimals, or a dash where there is none. */
static const char *figure_text(double value, char buffer[32]) {
    if (isfinite(value))
        snprintf(buffer, 32, "%.3f", value);
    else
        snprintf(buffer, 32, "-");
    return buffer;
}

/* What a line of the table sums up. */
typedef struct sums {
    uint64_t rows, chunks, compressed, bytes;
} sums;

static void print_line(const char *name, const sums *of, double ratio, const char *codec) {
    char packed[32], plain[32], figure[32];
    printf("%12" PRIu64 "  %6" PRIu64 "  %10s  %12s  %7s  %-12s  %s\n", of->rows, of->chunks,
           cli_size_text(of->compressed, packed), cli_size_text(of->bytes, plain),
           figure_text(ratio, figure), codec, name);
}

static void print_page(const char *name, const fastpair_column_info *info) {
    cli_figures figures = cli_figures_of(info);
    char plain[32], packed[32], ratio[32], total[32], token[32], share[32];
    figure_text(figures.ratio, ratio);
    figure_text(figures.ratio_total, total);
    figure_text(figures.mean_token, token);
    figure_text(figures.share_le8 * 100, share);
    printf("%s\n", name);
    printf("  rows            %" PRIu64 ", %" PRIu64 " of them null\n", info->rows, info->nulls);
    printf("  uncompressed    %s (%" PRIu64 " bytes)\n", cli_size_text(info->decoded_bytes, plain),
           info->decoded_bytes);
    printf("  compressed      %s (%" PRIu64 " bytes)\n",
           cli_size_text(info->compressed_bytes, packed), info->compressed_bytes);
    printf("  ratio           %s of codes, dictionaries and sidecar; %s of the whole file\n", ratio,
           total);
    printf("  codec           %s, %u-bit codes, %u codes per batch, largest batch %u bytes\n",
           figures.codec, info->code_bits, info->batch_codes, info->largest_batch);
    printf("  codes           %" PRIu64 ", %s bytes each, %s %% with at most 8 bytes\n",
           info->codes, token, share);
    printf("  tokens          %" PRIu64 ", %" PRIu64 " in use, in %" PRIu64 " dictionaries\n",
           info->tokens, info->tokens_in_use, info->dictionaries);
    printf("  chunks          %" PRIu64 ", %" PRIu64 " of them stored\n", info->chunks,
           info->stored_chunks);
    printf("  sections        dictionary %" PRIu64 ", codes %" PRIu64 ", sidecar %" PRIu64
           ", lengths %" PRIu64 ", validity %" PRIu64 ", other %" PRIu64 "\n",
           info->dictionary_bytes, info->code_bytes, info->sidecar_bytes, info->length_bytes,
           info->validity_bytes, info->compressed_bytes - figures.section_bytes);
    if (info->has_framing)
        printf("  text            cut at byte 0x%02x, %s one; %" PRIu64 " bytes\n", info->separator,
               info->final_separator ? "ended with" : "did not end with", figures.text_bytes);
    else
        printf("  text            none: the rows were given one by one\n");
}

/* Opens one file and reads its headers. */
static int read_info(const char *path, fastpair_column_info *info) {
    cli_input input;
    int result = cli_input_open(&input, path);
    if (result != CLI_OK) return result;
    if (!input.is_regular || input.is_stdin)
        result = cli_fail(input.name, "-l needs a file: what it shows stands at the end");
    cli_mapping mapping = {0};
    if (result == CLI_OK) result = cli_mapping_open(&mapping, &input);
    fastpair_open_options settings = cli_open_options(1);
    fastpair_column *column = NULL;
    fastpair_error error;
    *info = (fastpair_column_info){.struct_size = sizeof(*info)};
    if (result == CLI_OK && (fastpair_column_open(mapping.data, mapping.size, &settings, &column,
                                                  &error) != FASTPAIR_OK ||
                             fastpair_column_get_info(column, info, &error) != FASTPAIR_OK))
        result = cli_mapping_fail(&mapping, &error);
    fastpair_column_close(column);
    cli_mapping_close(&mapping);
    cli_input_close(&input);
    return result;
}

int cli_list(const cli_options *options) {
    int worst = CLI_OK, listed = 0;
    sums total = {0};
    bool table = !options->json && options->verbosity <= 0;
    for (int i = 0; i < options->file_count; i++) {
        fastpair_column_info info;
        char name[CLI_NAME_ROOM];
        int result = read_info(options->files[i], &info);
        if (result > worst) worst = result;
        if (result != CLI_OK) continue;
        if (table && listed == 0)
            printf("        Rows  Chunks  Compressed  Uncompressed    Ratio  Codec         "
                   "Filename\n");
        cli_clean_name(options->files[i], name);
        if (options->json)
            print_json(options->files[i], &info);
        else if (!table)
            print_page(name, &info);
        else {
            cli_figures figures = cli_figures_of(&info);
            sums one = {info.rows, info.chunks, info.compressed_bytes, info.decoded_bytes};
            print_line(name, &one, figures.ratio_total, figures.codec);
        }
        total.rows += info.rows;
        total.chunks += info.chunks;
        total.compressed += info.compressed_bytes;
        total.bytes += info.decoded_bytes;
        listed++;
        if (!cli_flush()) break;
    }
    if (table && listed > 1) {
        char name[64];
        snprintf(name, sizeof(name), "%d files", listed);
        printf("-----------------------------------------------------------------------------------"
               "-----\n");
        print_line(name, &total,
                   total.bytes && total.compressed ? (double)total.bytes / (double)total.compressed
                                                   : NAN,
                   "");
    }
    return worst;
}
