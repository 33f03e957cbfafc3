/* values.h - values of options: numbers, sizes, ranges of rows, words. The two commands share them. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Digits only, without sign; *end is set to what follows. False if it is no number. */
bool cli_read_number(const char *text, uint64_t *value, const char **end);

/* All others print what is wrong, naming the option; CLI_OK or CLI_FAILED. */

int cli_parse_number(const char *option, const char *text, uint64_t least, uint64_t most,
                     uint64_t *value);

/* A size: a number, then nothing, K, M or G (powers of 1024), each also as KB or KiB. */
int cli_parse_size(const char *option, const char *text, uint64_t least, uint64_t most,
                   uint64_t *value);

/* The value of --rows: A..B, A.. or ..B, rows A up to, not including, B. Without B *end is
 * UINT64_MAX. */
int cli_parse_rows(const char *text, uint64_t *first, uint64_t *end);

/* The place of `text` in a list of three words that NULL ends. */
int cli_parse_word(const char *option, const char *text, const char *const *words, int *index);

#endif
