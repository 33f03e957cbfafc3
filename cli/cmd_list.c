/* cmd_list.c - what compressed columns hold, from their headers alone.
 *
 * In: compressed files. Out: a table with one line per file and a total; with -v a page per file;
 * with --json one object per line. Nothing is decoded. Refuses pipes: a column's totals stand at
 * its end.
 */
#include "list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Name, type and pairs. Values that no terminal should see, or that are long, are described. */
static void print_metadata(const fastpair_metadata *metadata) {
    char clean[CLI_NAME_ROOM];
    if (metadata->name) printf("  name            %s\n", cli_clean_name(metadata->name, clean));
    printf("  type            %s\n",
           metadata->type == FASTPAIR_TYPE_TEXT ? "text, all of it UTF-8" : "bytes");
    for (uint64_t i = 0; i < metadata->pair_count; i++) {
        const fastpair_pair *pair = &metadata->pairs[i];
        char value[CLI_NAME_ROOM], clean_value[CLI_NAME_ROOM];
        int is_short = pair->value_size < sizeof(value) / 2 &&
                       (!pair->value_size || !memchr(pair->value, 0, (size_t)pair->value_size));
        if (is_short)
            snprintf(value, sizeof(value), "%.*s", (int)pair->value_size,
                     pair->value_size ? (const char *)pair->value : "");
        else
            snprintf(value, sizeof(value), "(%" PRIu64 " bytes)", pair->value_size);
        printf("  pair            %s = %s\n", cli_clean_name(pair->key, clean),
               cli_clean_name(value, clean_value));
    }
}

static void print_page(const char *name, const cli_listed *listed) {
    const fastpair_column_info *info = &listed->info;
    cli_figures figures = cli_figures_of(info);
    char plain[32], packed[32], ratio[32], total[32], token[32], share[32];
    figure_text(figures.ratio, ratio);
    figure_text(figures.ratio_total, total);
    figure_text(figures.mean_token, token);
    figure_text(figures.share_le8 * 100, share);
    printf("%s\n", name);
    print_metadata(&listed->metadata);
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
    printf("  chunks          %" PRIu64 ", %" PRIu64 " of them stored, %" PRIu64 " cold\n",
           info->chunks, info->stored_chunks, info->cold_chunks);
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

static void close_listed(cli_listed *listed) {
    fastpair_column_close(listed->column);
    cli_mapping_close(&listed->mapping);
    cli_input_close(&listed->input);
}

/* Opens one file and reads its headers. Closed by close_listed if it is CLI_OK. */
static int open_listed(const char *path, cli_listed *listed) {
    *listed = (cli_listed){.info = {.struct_size = sizeof(listed->info)},
                           .metadata = {.struct_size = sizeof(listed->metadata)}};
    int result = cli_input_open(&listed->input, path);
    if (result != CLI_OK) return result;
    if (!listed->input.is_regular || listed->input.is_stdin)
        result = cli_fail(listed->input.name, "-l needs a file: what it shows stands at the end");
    if (result == CLI_OK) result = cli_mapping_open(&listed->mapping, &listed->input);
    fastpair_open_options settings = cli_open_options(1);
    fastpair_error error;
    const cli_mapping *mapping = &listed->mapping;
    if (result == CLI_OK &&
        (fastpair_column_open(mapping->data, mapping->size, &settings, &listed->column, &error) !=
             FASTPAIR_OK ||
         fastpair_column_get_info(listed->column, &listed->info, &error) != FASTPAIR_OK ||
         fastpair_column_get_metadata(listed->column, &listed->metadata, &error) != FASTPAIR_OK))
        result = cli_mapping_fail(mapping, &error);
    if (result != CLI_OK) close_listed(listed);
    return result;
}

/* Shows one file and adds it to the total. */
static int show(const cli_options *options, const char *path, sums *total, int *listed_before) {
    bool table = !options->json && options->verbosity <= 0;
    char name[CLI_NAME_ROOM];
    cli_listed listed;
    int result = open_listed(path, &listed);
    if (result != CLI_OK) return result;
    const fastpair_column_info *info = &listed.info;
    if (table && (*listed_before)++ == 0)
        printf("        Rows  Chunks  Compressed  Uncompressed    Ratio  Codec         "
               "Filename\n");
    cli_clean_name(path, name);
    if (options->json) {
        fastpair_error error;
        if (cli_list_json(&listed, path, options->chunk_list, &error) != FASTPAIR_OK)
            result = cli_mapping_fail(&listed.mapping, &error);
    } else if (!table) {
        print_page(name, &listed);
    } else {
        cli_figures figures = cli_figures_of(info);
        char own[CLI_NAME_ROOM] = "", both[2 * CLI_NAME_ROOM + 4];
        const char *given = listed.metadata.name;
        if (given) cli_clean_name(given, own);
        snprintf(both, sizeof(both), "%s%s%s%s", name, given ? " (" : "", own, given ? ")" : "");
        sums one = {info->rows, info->chunks, info->compressed_bytes, info->decoded_bytes};
        print_line(both, &one, figures.ratio_total, figures.codec);
    }
    total->rows += info->rows;
    total->chunks += info->chunks;
    total->compressed += info->compressed_bytes;
    total->bytes += info->decoded_bytes;
    close_listed(&listed);
    return result;
}

int cli_list(const cli_options *options) {
    int worst = CLI_OK, listed = 0;
    sums total = {0};
    for (int i = 0; i < options->file_count; i++) {
        int result = show(options, options->files[i], &total, &listed);
        if (result > worst) worst = result;
        if (!cli_flush()) break;
    }
    if (listed > 1) {
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
