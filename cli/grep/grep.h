/* grep.h - the command fpgrep: its command line, parsed, and what its files share. */
#ifndef CLI_GREP_H
#define CLI_GREP_H

#include "cli.h"
#include "fastpair_search.h"
#include "patterns.h"

/* Exit codes, as grep has them. */
enum { GREP_FOUND = 0, GREP_NOTHING = 1, GREP_FAILED = 2 };

/* What is told of each file. */
typedef enum grep_answer {
    GREP_ROWS,    /* the rows that match */
    GREP_COUNT,   /* -c: how many */
    GREP_WITH,    /* -l: its name, if there is one */
    GREP_WITHOUT, /* -L: its name, if there is none */
    GREP_SILENCE, /* -q */
    GREP_HELP,
    GREP_VERSION
} grep_answer;

typedef enum grep_when { GREP_AUTO, GREP_ALWAYS, GREP_NEVER } grep_when;

typedef struct grep_options {
    /* What the two commands share: files, threads, backend, --rows. */
    cli_options common;
    grep_answer answer;
    fastpair_predicate_kind kind;
    bool negate;      /* -v */
    bool ignore_case; /* -i */
    int escape;       /* --escape, or -1 */
    uint64_t most;    /* -m; UINT64_MAX: no limit */
    bool numbers;     /* -n */
    bool null_ends;   /* -0 */
    bool json;        /* --json */
    bool check;       /* --check */
    grep_when names;  /* -H and -h */
    grep_when color;  /* --color */
    grep_patterns patterns;
    fastpair_gpu *gpu; /* where the search runs; NULL: on the CPU. Set by main */
} grep_options;

/* Parses the command line, and reads what -f names. On a mistake prints what is wrong and returns
 * non-zero. Free options->patterns either way, with grep_patterns_close. */
int grep_options_parse(int argc, char **argv, grep_options *options);

/* The text of --help, on stdout. */
void grep_print_help(void);

#endif
