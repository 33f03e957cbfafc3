/* arguments.c - the command line, parsed.
 *
 * In: argc and argv. Out: cli_options, every number checked, so that later stages meet only what
 * makes sense. The last of several modes wins, as do -k and --rm. Refuses combinations that could
 * only be mistakes.
 */
#include "arguments.h"

#include "cli.h"
#include "values.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_RM = 256,
    OPTION_CODEC,
    OPTION_OPTIMIZE,
    OPTION_SEED,
    OPTION_ROWS,
    OPTION_BACKEND,
    OPTION_JSON,
    OPTION_CHUNKS,
    OPTION_NAME,
    OPTION_META,
    OPTION_TYPE,
    OPTION_CHUNK,
    OPTION_ALIGN,
    OPTION_BATCH,
    OPTION_SAMPLE,
    OPTION_MEMORY,
    OPTION_TRAIN,
    OPTION_COLD,
    OPTION_WARM,
    OPTION_DEMO
};

static const char short_options[] = ":zdtlbco:fkvqVhT:D:0i:123456789";

static const struct option long_options[] = {
    {"compress", no_argument, NULL, 'z'},
    {"decompress", no_argument, NULL, 'd'},
    {"uncompress", no_argument, NULL, 'd'},
    {"test", no_argument, NULL, 't'},
    {"list", no_argument, NULL, 'l'},
    {"bench", no_argument, NULL, 'b'},
    {"stdout", no_argument, NULL, 'c'},
    {"output", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, 'f'},
    {"rm", no_argument, NULL, OPTION_RM},
    {"keep", no_argument, NULL, 'k'},
    {"threads", required_argument, NULL, 'T'},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {"null", no_argument, NULL, '0'},
    {"codec", required_argument, NULL, OPTION_CODEC},
    {"optimize", required_argument, NULL, OPTION_OPTIMIZE},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"rows", required_argument, NULL, OPTION_ROWS},
    {"backend", required_argument, NULL, OPTION_BACKEND},
    {"json", no_argument, NULL, OPTION_JSON},
    {"chunks", no_argument, NULL, OPTION_CHUNKS},
    {"name", required_argument, NULL, OPTION_NAME},
    {"meta", required_argument, NULL, OPTION_META},
    {"type", required_argument, NULL, OPTION_TYPE},
    {"chunk", required_argument, NULL, OPTION_CHUNK},
    {"align", required_argument, NULL, OPTION_ALIGN},
    {"batch", required_argument, NULL, OPTION_BATCH},
    {"sample", required_argument, NULL, OPTION_SAMPLE},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"dictionary", required_argument, NULL, 'D'},
    {"train-dict", required_argument, NULL, OPTION_TRAIN},
    {"cold", no_argument, NULL, OPTION_COLD},
    {"warm", no_argument, NULL, OPTION_WARM},
    {"demo", no_argument, NULL, OPTION_DEMO},
    {NULL, 0, NULL, 0},
};

static int parse_codec(const char *text, cli_options *options) {
    static const struct {
        const char *name;
        fastpair_codec codec;
        uint32_t code_bits;
        uint32_t max_token;
    } presets[] = {
        {"auto", FASTPAIR_CODEC_AUTO, 0, 0},         {"onpair16", FASTPAIR_CODEC_ONPAIR, 16, 16},
        {"onpair12", FASTPAIR_CODEC_ONPAIR, 12, 16}, {"fsst12", FASTPAIR_CODEC_FSST12, 12, 8},
        {"stored", FASTPAIR_CODEC_STORED, 0, 0},
    };
    options->codec_given = true;
    for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++)
        if (strcmp(text, presets[i].name) == 0) {
            options->codec = presets[i].codec;
            options->code_bits = presets[i].code_bits;
            options->max_token = presets[i].max_token;
            return CLI_OK;
        }
    const char *end;
    uint64_t bits = 0, token = 16;
    bool good = strncmp(text, "onpair:", 7) == 0 && cli_read_number(text + 7, &bits, &end) &&
                bits >= 9 && bits <= 16;
    if (good && *end == ':')
        good = cli_read_number(end + 1, &token, &end) &&
               (token == 8 || token == 16 || token == 32 || token == 64);
    if (!good || *end != 0)
        return cli_mistake(
            "--codec takes auto, onpair16, onpair12, fsst12, onpair:BITS[:8|16|32|64] "
            "with BITS from 9 to 16, or stored, not '%s'",
            text);
    options->codec = FASTPAIR_CODEC_ONPAIR;
    options->code_bits = (uint32_t)bits;
    options->max_token = (uint32_t)token;
    return CLI_OK;
}

static int parse_seconds(const char *text, double *seconds) {
    char *end;
    *seconds = strtod(text, &end);
    if (end != text && *end == 0 && *seconds >= 0 && *seconds <= 3600) return CLI_OK;
    return cli_mistake("-i takes seconds from 0 to 3600, not '%s'", text);
}

/* One option with its value. */
static int take_option(int option, char *value, cli_options *options) {
    static const char *const goals[] = {"balanced", "ratio", "speed", NULL};
    static const char *const backends[] = {"auto", "cpu", "gpu", NULL};
    int index, result;
    uint64_t number = 0;
    if (option >= '1' && option <= '9') {
        options->level = (uint32_t)(option - '0');
        return CLI_OK;
    }
    switch (option) {
    case 'z': options->mode = CLI_MODE_COMPRESS; return CLI_OK;
    case 'd': options->mode = CLI_MODE_DECOMPRESS; return CLI_OK;
    case 't': options->mode = CLI_MODE_TEST; return CLI_OK;
    case 'l': options->mode = CLI_MODE_LIST; return CLI_OK;
    case 'b': options->mode = CLI_MODE_BENCH; return CLI_OK;
    case OPTION_DEMO: options->mode = CLI_MODE_DEMO; return CLI_OK;
    case OPTION_TRAIN:
        options->mode = CLI_MODE_TRAIN;
        options->train_output = value;
        return CLI_OK;
    case 'c': options->to_stdout = true; return CLI_OK;
    case 'o': options->output = value; return CLI_OK;
    case 'f': options->force = true; return CLI_OK;
    case 'k': options->remove_input = false; return CLI_OK;
    case OPTION_RM: options->remove_input = true; return CLI_OK;
    case 'v': options->verbosity = 1; return CLI_OK;
    case 'q': options->verbosity = -1; return CLI_OK;
    case '0': options->separator = 0; return CLI_OK;
    case 'D': options->dictionary = value; return CLI_OK;
    case OPTION_JSON: options->json = true; return CLI_OK;
    case OPTION_COLD: options->cold = true; return CLI_OK;
    case OPTION_WARM: options->warm = true; return CLI_OK;
    case OPTION_CHUNKS: options->chunk_list = true; return CLI_OK;
    case OPTION_NAME: return cli_describe_name(&options->description, value);
    case OPTION_META: return cli_describe_pair(&options->description, value);
    case OPTION_TYPE: return cli_describe_type(&options->description, value);
    case 'T':
        result = cli_parse_number("-T", value, 0, 1024, &number);
        options->threads = (uint32_t)number;
        return result;
    case 'i': return parse_seconds(value, &options->bench_seconds);
    case OPTION_CODEC: return parse_codec(value, options);
    case OPTION_OPTIMIZE:
        result = cli_parse_word("--optimize", value, goals, &index);
        options->goal = index == 1   ? FASTPAIR_GOAL_RATIO
                        : index == 2 ? FASTPAIR_GOAL_SPEED
                                     : FASTPAIR_GOAL_BALANCED;
        return result;
    case OPTION_BACKEND:
        result = cli_parse_word("--backend", value, backends, &index);
        options->backend = (cli_backend)index;
        return result;
    case OPTION_SEED:
        return cli_parse_number("--seed", value, 0, UINT64_MAX, &options->expert.seed);
    case OPTION_ROWS:
        options->slice = true;
        return cli_parse_rows(value, &options->first_row, &options->end_row);
    case OPTION_CHUNK:
        return cli_parse_size("--chunk", value, 1, 1ull << 30, &options->chunk_bytes);
    case OPTION_SAMPLE:
        return cli_parse_size("--sample", value, 1, 1ull << 40, &options->expert.sample_bytes);
    case OPTION_MEMORY:
        return cli_parse_size("--memory", value, 16u << 20, 1ull << 50, &options->memory);
    case OPTION_BATCH:
        result = cli_parse_number("--batch", value, 32, 1024, &number);
        options->expert.batch_codes = (uint32_t)number;
        return result == CLI_OK && number % 32
                   ? cli_mistake("--batch takes a multiple of 32, not '%s'", value)
                   : result;
    case OPTION_ALIGN:
        result = cli_parse_number("--align", value, 64, 4096, &number);
        options->expert.section_alignment = (uint32_t)number;
        return result == CLI_OK && number != 64 && number != 4096
                   ? cli_mistake("--align takes 64 or 4096, not '%s'", value)
                   : result;
    default: return cli_mistake("option %d is not handled", option);
    }
}

/* Combinations that could only be mistakes. */
static int check_together(const cli_options *options) {
    cli_mode mode = options->mode;
    bool writes = mode == CLI_MODE_COMPRESS || mode == CLI_MODE_DECOMPRESS;
    bool one_output = options->to_stdout || (options->output && strcmp(options->output, "-") == 0);
    if (options->slice && mode != CLI_MODE_DECOMPRESS)
        return cli_mistake("--rows goes with -d only");
    if (options->slice && options->remove_input)
        return cli_mistake(
            "--rm with --rows would remove rows that are not written; leave --rm out");
    if ((options->cold || options->warm) && mode != CLI_MODE_COMPRESS && mode != CLI_MODE_BENCH)
        return cli_mistake("--cold and --warm go with compressing and converting only");
    if (options->cold && options->warm)
        return cli_mistake("--cold and --warm contradict each other");
    if (options->json && mode != CLI_MODE_LIST && mode != CLI_MODE_BENCH)
        return cli_mistake("--json goes with -l and -b only");
    if (options->chunk_list && (!options->json || mode != CLI_MODE_LIST))
        return cli_mistake("--chunks goes with -l --json only");
    if (options->description.given && mode != CLI_MODE_COMPRESS)
        return cli_mistake("--name, --meta and --type go with compressing only");
    if (options->description.metadata.name && options->file_count > 1)
        return cli_mistake("--name takes one input, not %d", options->file_count);
    if (options->output && !writes)
        return cli_mistake("-o goes with compressing and -d only%s",
                           mode == CLI_MODE_TRAIN ? "; --train-dict names its own output" : "");
    if (options->output && options->to_stdout && strcmp(options->output, "-") != 0)
        return cli_mistake("-c and -o contradict each other");
    if (options->output && options->file_count > 1)
        return cli_mistake(
            "-o takes one input, not %d; leave -o out to write each beside its input",
            options->file_count);
    if (mode == CLI_MODE_COMPRESS && one_output && options->file_count > 1)
        return cli_mistake(
            "a compressed file holds one column; compress one file at a time to standard output");
    if (options->dictionary && (mode == CLI_MODE_BENCH || mode == CLI_MODE_TRAIN))
        return cli_mistake("-D goes with compressing only");
    if (options->dictionary && options->codec_given && mode == CLI_MODE_COMPRESS)
        return cli_mistake("-D brings its own codec; leave --codec out");
    if (mode == CLI_MODE_TRAIN && options->codec == FASTPAIR_CODEC_STORED)
        return cli_mistake("--codec=stored has no dictionary to train");
    return CLI_OK;
}

int cli_options_parse(int argc, char **argv, cli_options *options) {
    *options = (cli_options){.separator = '\n',
                             .expert = {.struct_size = sizeof(options->expert)},
                             .end_row = UINT64_MAX,
                             .bench_seconds = 1};
    cli_description_begin(&options->description);
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        const char *word = optind > 0 ? argv[optind - 1] : "";
        if (option == 'h' || option == 'V') { /* asked for before a mistake further on: answer it */
            options->mode = option == 'h' ? CLI_MODE_HELP : CLI_MODE_VERSION;
            return CLI_OK;
        }
        if (option == ':') {
            if (optopt < 256) return cli_mistake("-%c needs a value", optopt);
            return cli_mistake("%s needs a value", word);
        }
        if (option == '?' && optopt > 0 && optopt < 256)
            return cli_mistake("there is no option -%c", optopt);
        if (option == '?')
            return cli_mistake("there is no such option, or it takes no value: %s", word);
        if (take_option(option, optarg, options) != CLI_OK) return CLI_FAILED;
    }
    options->files = argv + optind;
    options->file_count = argc - optind;
    cli_description_finish(&options->description);
    return check_together(options);
}
