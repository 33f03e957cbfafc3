/* arguments.h - the command line, parsed. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "describe.h"
#include "fastpair.h"

#include <stdbool.h>

typedef enum cli_mode {
    CLI_MODE_COMPRESS,
    CLI_MODE_DECOMPRESS,
    CLI_MODE_TEST,
    CLI_MODE_LIST,
    CLI_MODE_BENCH,
    CLI_MODE_TRAIN,
    CLI_MODE_DEMO,
    CLI_MODE_SEARCH, /* of the command fpgrep */
    CLI_MODE_HELP,
    CLI_MODE_VERSION
} cli_mode;

typedef enum cli_backend { CLI_BACKEND_AUTO, CLI_BACKEND_CPU, CLI_BACKEND_GPU } cli_backend;

typedef struct cli_options {
    cli_mode mode;
    bool to_stdout;                 /* -c */
    const char *output;             /* -o, or NULL */
    bool force;                     /* -f */
    bool remove_input;              /* --rm */
    bool json;                      /* --json */
    bool chunk_list;                /* --chunks */
    int verbosity;                  /* -1 quiet, 0, 1 verbose */
    uint32_t threads;               /* -T; 0 all cores */
    uint64_t memory;                /* --memory; 0 default */
    uint8_t separator;              /* '\n', or 0 with -0 */
    bool codec_given;               /* --codec was there */
    fastpair_codec codec;           /* --codec */
    uint32_t code_bits;             /* 0 unless the codec says */
    uint32_t max_token;             /* 0 unless the codec says */
    fastpair_goal goal;             /* --optimize */
    uint32_t level;                 /* -1 to -9; 0 default */
    bool cold;                      /* --cold */
    bool warm;                      /* --warm */
    uint64_t chunk_bytes;           /* --chunk; 0 default */
    fastpair_expert_options expert; /* --seed, --sample, --batch, --align */
    cli_description description;    /* --name, --meta, --type */
    bool slice;                     /* --rows was given */
    uint64_t first_row;             /* --rows: from this row */
    uint64_t end_row;               /* --rows: up to here, exclusive; UINT64_MAX for the end */
    cli_backend backend;            /* --backend */
    const char *dictionary;         /* -D, or NULL */
    const char *train_output;       /* --train-dict, or NULL */
    double bench_seconds;           /* -i */
    char **files;                   /* inputs, `-` for standard input */
    int file_count;
    struct cli_files *known; /* what the command reads; set by main */
} cli_options;

/* Parses the command line; `files` points into argv. On a mistake prints what is wrong and returns
 * non-zero. */
int cli_options_parse(int argc, char **argv, cli_options *options);

/* The text of --help, on stdout. */
void cli_print_help(void);

#endif
