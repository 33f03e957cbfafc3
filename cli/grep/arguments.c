/* arguments.c - the command line of fpgrep, parsed.
 *
 * In: argc and argv. Out: grep_options. The first word that is no option is the pattern, unless -e
 * or -f gave one. Options are grep's where grep has them. Refuses combinations that could only be
 * mistakes, and what grep has and this command has not.
 */
#include "grep.h"
#include "values.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum {
    OPTION_LIKE = 256,
    OPTION_PREFIX,
    OPTION_SUFFIX,
    OPTION_ESCAPE,
    OPTION_COLOR,
    OPTION_BACKEND,
    OPTION_ROWS,
    OPTION_JSON,
    OPTION_CHECK,
    OPTION_HELP
};

static const char short_options[] = ":cvnilLm:e:f:FxqhH0T:aVEGP";

static const struct option long_options[] = {
    {"count", no_argument, NULL, 'c'},
    {"invert-match", no_argument, NULL, 'v'},
    {"row-number", no_argument, NULL, 'n'},
    {"line-number", no_argument, NULL, 'n'},
    {"ignore-case", no_argument, NULL, 'i'},
    {"files-with-matches", no_argument, NULL, 'l'},
    {"files-without-match", no_argument, NULL, 'L'},
    {"max-count", required_argument, NULL, 'm'},
    {"pattern", required_argument, NULL, 'e'},
    {"file", required_argument, NULL, 'f'},
    {"fixed-strings", no_argument, NULL, 'F'},
    {"whole-row", no_argument, NULL, 'x'},
    {"line-regexp", no_argument, NULL, 'x'},
    {"prefix", no_argument, NULL, OPTION_PREFIX},
    {"suffix", no_argument, NULL, OPTION_SUFFIX},
    {"like", no_argument, NULL, OPTION_LIKE},
    {"escape", required_argument, NULL, OPTION_ESCAPE},
    {"quiet", no_argument, NULL, 'q'},
    {"silent", no_argument, NULL, 'q'},
    {"no-filename", no_argument, NULL, 'h'},
    {"with-filename", no_argument, NULL, 'H'},
    {"null", no_argument, NULL, '0'},
    {"text", no_argument, NULL, 'a'},
    {"threads", required_argument, NULL, 'T'},
    {"color", optional_argument, NULL, OPTION_COLOR},
    {"colour", optional_argument, NULL, OPTION_COLOR},
    {"backend", required_argument, NULL, OPTION_BACKEND},
    {"rows", required_argument, NULL, OPTION_ROWS},
    {"json", no_argument, NULL, OPTION_JSON},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* How a row is compared: said once, or twice alike. */
static int take_kind(fastpair_predicate_kind kind, grep_options *options) {
    if (options->kind != FASTPAIR_CONTAINS && options->kind != kind)
        return cli_mistake("-x, --prefix, --suffix and --like contradict each other");
    options->kind = kind;
    return CLI_OK;
}

/* -q before all, -l and -L before -c, as in grep. */
static void take_answer(grep_answer answer, grep_options *options) {
    bool names = answer == GREP_WITH || answer == GREP_WITHOUT;
    if (answer == GREP_SILENCE || options->answer == GREP_ROWS ||
        (names && options->answer != GREP_SILENCE))
        options->answer = answer;
}

/* Options with a value. */
static int take_value(int option, const char *value, grep_options *options) {
    static const char *const words[] = {"auto", "always", "never", NULL};
    static const char *const backends[] = {"auto", "cpu", "gpu", NULL};
    cli_options *common = &options->common;
    uint64_t number = 0;
    int index = 0, result;
    switch (option) {
    case 'm': return cli_parse_number("-m", value, 0, UINT64_MAX, &options->most);
    case 'e':
        options->patterns.given = true;
        return grep_patterns_add(&options->patterns, value, strlen(value));
    case 'f': return grep_patterns_load(&options->patterns, value);
    case 'T':
        result = cli_parse_number("-T", value, 0, 1024, &number);
        common->threads = (uint32_t)number;
        return result;
    case OPTION_ESCAPE:
        if (strlen(value) != 1)
            return cli_mistake("--escape takes one byte such as '\\', not '%s'", value);
        options->escape = (uint8_t)value[0];
        return CLI_OK;
    case OPTION_COLOR: /* --color alone is auto, as in grep */
        result = value ? cli_parse_word("--color", value, words, &index) : CLI_OK;
        options->color = (grep_when)index;
        return result;
    case OPTION_BACKEND:
        result = cli_parse_word("--backend", value, backends, &index);
        common->backend = (cli_backend)index;
        return result;
    case OPTION_ROWS:
        common->slice = true;
        return cli_parse_rows(value, &common->first_row, &common->end_row);
    default: return cli_mistake("option %d is not handled", option);
    }
}

static int take_option(int option, const char *value, grep_options *options) {
    switch (option) {
    case 'c': take_answer(GREP_COUNT, options); return CLI_OK;
    case 'l': take_answer(GREP_WITH, options); return CLI_OK;
    case 'L': take_answer(GREP_WITHOUT, options); return CLI_OK;
    case 'q': take_answer(GREP_SILENCE, options); return CLI_OK;
    case 'v': options->negate = true; return CLI_OK;
    case 'n': options->numbers = true; return CLI_OK;
    case 'i': options->ignore_case = true; return CLI_OK;
    case 'h': options->names = GREP_NEVER; return CLI_OK;
    case 'H': options->names = GREP_ALWAYS; return CLI_OK;
    case '0': options->null_ends = true; return CLI_OK;
    case 'F':
    case 'a': return CLI_OK; /* for habit: patterns and rows are bytes anyway */
    case 'E':
    case 'G':
    case 'P':
        return cli_mistake(
            "-%c: there are no regular expressions here; patterns are literal bytes, "
            "and --like takes %% and _",
            option);
    case 'x': return take_kind(FASTPAIR_EQUALS, options);
    case OPTION_PREFIX: return take_kind(FASTPAIR_STARTS_WITH, options);
    case OPTION_SUFFIX: return take_kind(FASTPAIR_ENDS_WITH, options);
    case OPTION_LIKE: return take_kind(FASTPAIR_LIKE, options);
    case OPTION_JSON: options->json = true; return CLI_OK;
    case OPTION_CHECK: options->check = true; return CLI_OK;
    default: return take_value(option, value, options);
    }
}

/* Combinations that could only be mistakes. */
static int check_together(const grep_options *options) {
    if (options->json && options->answer != GREP_ROWS && options->answer != GREP_COUNT)
        return cli_mistake("--json goes with rows and with -c, not with -l, -L and -q");
    if (options->json && options->null_ends)
        return cli_mistake("--json and -0 contradict each other");
    if (options->escape >= 0 && options->kind != FASTPAIR_LIKE)
        return cli_mistake("--escape goes with --like only");
    return CLI_OK;
}

/* The pattern, if it is a word of its own, then the files. */
static int take_words(int count, char **words, grep_options *options) {
    if (!options->patterns.given) {
        if (count == 0) return cli_mistake("give a pattern, then the files to search");
        if (grep_patterns_add(&options->patterns, words[0], strlen(words[0])) != CLI_OK)
            return CLI_FAILED;
        words++;
        count--;
    }
    options->common.files = words;
    options->common.file_count = count;
    return check_together(options);
}

int grep_options_parse(int argc, char **argv, grep_options *options) {
    *options = (grep_options){.common = {.mode = CLI_MODE_SEARCH,
                                         .to_stdout = true,
                                         .separator = '\n',
                                         .end_row = UINT64_MAX},
                              .kind = FASTPAIR_CONTAINS,
                              .escape = -1,
                              .most = UINT64_MAX};
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        const char *word = optind > 0 ? argv[optind - 1] : "";
        if (option == OPTION_HELP || option == 'V') { /* asked for before a mistake further on */
            options->answer = option == 'V' ? GREP_VERSION : GREP_HELP;
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
    return take_words(argc - optind, argv + optind, options);
}
