/* cli.h - what the commands share: exit codes, messages, opened inputs, and each command's
 * entry. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "arguments.h"
#include "fastpair_gpu.h"

#include <stdbool.h>
#include <sys/stat.h>

/* Exit codes. With several files the highest one wins. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_CORRUPT = 2 };

/* ---------------------------------------------------------------- messages (messages.c) */

/* Names the command whose messages these are, and its remedy for short memory, which begins with a
 * semicolon. Both texts are kept. Without a call the command is fastpair. */
void cli_program(const char *name, const char *when_memory_is_short);

/* "fastpair: NAME: message", NAME left out when NULL and cleaned of control characters. Always
 * CLI_FAILED. */
int cli_fail(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a mistake on the command line, and where to read more. Always CLI_FAILED. */
int cli_mistake(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a system error, with what to do about it. Always CLI_FAILED. For outputs there is
 * cli_output_fail. */
int cli_fail_errno(const char *name, int number);

/* The same for a library failure; CLI_CORRUPT if the input's bytes are at fault, else
 * CLI_FAILED. */
int cli_fail_status(const char *name, const fastpair_error *error);

/* A remark on stderr, not with -q. */
void cli_note(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sends on what was printed to standard output; false once that has failed. Call it after each line
 * or object, so that the reason of a failure is known. */
bool cli_flush(void);

/* The same at the end, closing it. Prints what went wrong; CLI_OK or CLI_FAILED. */
int cli_finish_stdout(void);

/* The length of the UTF-8 sequence that a text begins with, or 0 if it begins with none. */
int cli_utf8_length(const char *text);

/* A name fit for a terminal: control characters, and bytes that are no UTF-8, become '?'. Cuts what
 * does not fit; returns `buffer`. */
#define CLI_NAME_ROOM 512
const char *cli_clean_name(const char *name, char buffer[CLI_NAME_ROOM]);

/* Bytes for people: "15.3 MiB". Returns `buffer`. */
const char *cli_size_text(uint64_t bytes, char buffer[32]);

/* Seconds on a clock that only goes forward. */
double cli_now(void);

/* ---------------------------------------------------------------- inputs (input.c) */

/* What tells a compressed column: the header of its file. */
enum { CLI_HEAD_BYTES = 64 };

typedef struct cli_input {
    int fd;
    const char *path; /* as given; "-" is standard input */
    const char *name; /* for messages */
    bool is_stdin;
    bool is_regular;
    struct stat info;
    uint64_t done;                /* bytes read so far */
    int error;                    /* errno of a failed read, else 0 */
    uint8_t head[CLI_HEAD_BYTES]; /* the first bytes read */
} cli_input;

/* Opens an input, "-" for standard input. Directories are refused. Prints what is wrong; CLI_OK or
 * CLI_FAILED. */
int cli_input_open(cli_input *input, const char *path);
void cli_input_close(cli_input *input);

/* Whether the input begins as compressed columns do, as far as it was read. */
bool cli_input_is_column(const cli_input *input);

/* Reads up to `size` bytes; 0 at the end, -1 with input->error set. */
long cli_input_read(cli_input *input, void *data, size_t size);

/* The input as a fastpair_source. */
fastpair_source cli_input_source(cli_input *input);

/* Reads all of an input of at most `limit` bytes into *data (free it). Prints what is wrong. */
int cli_input_load(cli_input *input, uint64_t limit, uint8_t **data, uint64_t *size);

/* ------------------------------------------------- which files are read and written (files.c) */

typedef struct cli_identity {
    dev_t device;
    ino_t file;
} cli_identity;

typedef struct cli_files {
    cli_identity *list; /* first the files that are read, sorted; then outputs that are no files */
    size_t read, written;
    bool has_stdout; /* the command writes to standard output, and that is a file */
    cli_identity standard_output;
} cli_files;

/* Notes what the command reads, before it writes anything. Refuses standard output if it is one of
 * these. Prints what is wrong; CLI_OK or CLI_FAILED. */
int cli_files_open(cli_files *files, const cli_options *options);
void cli_files_close(cli_files *files);

/* Whether the command reads this file. */
bool cli_files_read(const cli_files *files, const struct stat *info);

/* Whether this file is standard output, and the command writes there. */
bool cli_files_stdout(const cli_files *files, const struct stat *info);

/* Notes an output that is written in place; false if it was noted before. */
bool cli_files_write_once(cli_files *files, const struct stat *info);

/* Whether an output of that name is standard output, as NULL and "-" are. The names that systems
 * have for it are links, which must not be replaced. */
bool cli_names_stdout(const char *path);

/* A program started without standard streams must not open its files in their place, where messages
 * would go into them. A stand-in that fails when it is used takes each missing one. */
void cli_fill_standard_streams(void);

bool cli_same_file(const struct stat *a, const struct stat *b);

/* ---------------------------------------------------------- what the library needs (prepare.c) */

/* The library's compression options; threads are kept to the memory promise. The dictionary is not
 * set. */
fastpair_compress_options cli_compress_options(const cli_options *options);

/* Threads to use: what -T says; without it all cores, but no more than keep within the tool's
 * memory promise when each takes `bytes_each` (0: no limit). */
uint32_t cli_threads(const cli_options *options, uint64_t bytes_each);

/* Options of an open column or reader with that many threads. */
fastpair_open_options cli_open_options(uint32_t threads);

/* What --memory says, or its default. */
uint64_t cli_memory(const cli_options *options);

/* Options of a reader, which is kept to its share of that memory. */
fastpair_open_options cli_reader_options(const cli_options *options);

/* From this much memory on, output is written in the background, from buffers of up to 64 MiB. */
#define CLI_BACKGROUND_MEMORY (256ull << 20)

/* Opens the dictionary file of -D; *dictionary is NULL when there is none. */
int cli_dictionary_load(const cli_options *options, fastpair_dictionary **dictionary);

/* ----------------------------------------------------- rows; the command's have 64-bit offsets */

/* Where row i begins; row `rows` begins where the last row ends. */
static inline uint64_t cli_row_start(const fastpair_rows *rows, uint64_t i) {
    return ((const uint64_t *)rows->offsets)[i];
}

static inline uint64_t cli_rows_size(const fastpair_rows *rows) {
    return cli_row_start(rows, rows->rows) - cli_row_start(rows, 0);
}

/* A view of rows. */
static inline fastpair_rows cli_rows_of(uint64_t rows, const uint8_t *bytes,
                                        const uint64_t *offsets) {
    return (fastpair_rows){.struct_size = sizeof(fastpair_rows),
                           .rows = rows,
                           .bytes = bytes,
                           .offsets = offsets,
                           .offset_bits = 64};
}

/* ------------------------------------------------------------ figures of a column (figures.c) */

typedef struct cli_figures {
    char codec[32];         /* as --codec spells it */
    double ratio;           /* bytes / (codes + dictionaries + sidecar), as the literature counts */
    double ratio_total;     /* bytes / the whole file */
    double mean_token;      /* decoded bytes per code */
    double share_le8;       /* share of the codes whose token has at most 8 bytes */
    uint64_t section_bytes; /* all sections */
    uint64_t text_bytes;    /* what -d writes: the rows and their separators */
} cli_figures;

/* The name --codec has for it; codes narrower than --codec takes are named alike, for example
 * onpair:3:16. */
void cli_codec_name(fastpair_codec codec, uint32_t code_bits, uint32_t max_token, char name[32]);

/* Ratios are NaN where there is nothing to divide by. */
cli_figures cli_figures_of(const fastpair_column_info *info);

/* ---------------------------------------------------------------- backends (backend.c) */

/* Whether this build and machine can decode as --backend asks; prints why not. CLI_OK or
 * CLI_FAILED. */
int cli_backend_check(const cli_options *options);

/* The GPU that --backend allows; close it with fastpair_gpu_close. NULL when there is none, with
 * the reason in `why`. */
fastpair_gpu *cli_backend_open_gpu(const cli_options *options, fastpair_error *why);

/* ---------------------------------------------------------------- commands, one input each */

int cli_compress(const cli_options *options, const char *path,
                 const fastpair_dictionary *dictionary);
/* Whether a file begins as compressed columns do, so that --cold converts it (cmd_convert.c). A pipe is
 * not looked at. */
int cli_begins_as_column(const char *path, bool *is_column);
int cli_convert(const cli_options *options, const char *path);
int cli_decompress(const cli_options *options, const char *path);
int cli_test(const cli_options *options, const char *path);

/* These see all inputs at once. */
int cli_list(const cli_options *options);
int cli_train(const cli_options *options);
int cli_bench(const cli_options *options);
int cli_demo(const cli_options *options);

#endif
