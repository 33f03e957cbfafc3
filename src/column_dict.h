/* column_dict.h - a dictionary of an open column or reader. It is parsed and checked when it is
 * opened; the tables that CPUs need to decode or validate with it are built on first use. */
#ifndef FP_COLUMN_DICT_H
#define FP_COLUMN_DICT_H

#include "decode.h"
#include "footer.h"
#include "token_text.h"

#include <pthread.h>

/* The caller's open options, checked and with every default filled in. */
typedef struct fp_open_settings {
    fastpair_allocator allocator;
    fastpair_cpu_level level;        /* one that this CPU has, never FASTPAIR_CPU_BEST */
    uint32_t threads;                /* at least 1 */
    uint64_t memory_limit;           /* of a reader */
    void (*on_close)(void *context); /* of a column; NULL: none */
    void *on_close_context;
} fp_open_settings;

fastpair_status fp_open_settings_resolve(const fastpair_open_options *options,
                                         fp_open_settings *settings, fastpair_error *error);

/* Any number of threads may use one at once. What is above the empty line never
 * changes. */
typedef struct fp_column_dict {
    fp_dict dict;
    fp_dict_entry entry;    /* where its block is, and the tokens in use */
    uint64_t checksum;      /* of the block's section: right, but others may have the same */
    uint64_t section_bytes; /* in the file; fewer than the tokens take if it is cold */

    const fp_open_settings *settings; /* of the column or reader */
    pthread_mutex_t building;         /* held by the one thread that builds tables */
    fp_decoder *decoder;              /* NULL until first used, then for good: read atomically */
    fp_decoder *word_decoder;         /* of words of cold chunks; the same */
    uint8_t *length_of_code;          /* the same */
    uint32_t text;                    /* FP_TOKENS_ constant: read atomically */
} fp_column_dict;

/* What decoding tables may take: up to 18 bytes per code, and copies of tokens of more than 16 bytes,
 * which the file has room for itself. Bricks take 16 bytes for each byte of tokens at most, because
 * every code then has a token, so the file has room for them, too. A file of 200 bytes can ask for
 * 1.1 MiB of them, so a hostile file that holds many such dictionaries is refused. The tables of a
 * dictionary and of all before it may take 64 bytes for each byte of file up to the dictionary's end,
 * and 2 MiB. So whoever reads front to back and whoever opens the whole file refuse the same files. A
 * dictionary that fills half of its code width, as all do that a writer made, has at least one byte of
 * file for 36 bytes of tables. Bricks for the words of cold chunks are not counted: of a dictionary
 * they take at most 1 MiB, and at most two thirds of what is counted. */
typedef struct fp_table_budget {
    uint64_t taken; /* by the dictionaries so far, whether or not their tables are built */
} fp_table_budget;

/* LIMIT if what is taken is too much for a file up to `end`. The dictionary at `position` was the last to
 * take. */
fastpair_status fp_table_budget_check(const fp_table_budget *budget, uint64_t position,
                                      uint64_t end, fastpair_error *error);

/* Parses and checks a dictionary block. LIMIT if the budget does not allow its tables. `settings`
 * must outlive the dictionary, which must not move. */
fastpair_status fp_column_dict_open(const fp_dict_block *block, const fp_open_settings *settings,
                                    fp_table_budget *budget, fp_column_dict *dictionary,
                                    fastpair_error *error);

/* All zero is allowed: a dictionary that was never opened. */
void fp_column_dict_close(fp_column_dict *dictionary);

/* The decoder, built if it is not there yet. OUT_OF_MEMORY changes nothing: a later call tries
 * again. */
fastpair_status fp_column_dict_decoder(fp_column_dict *dictionary, const fp_decoder **decoder,
                                       fastpair_error *error);

/* The decoder of words of cold chunks. */
fastpair_status fp_column_dict_word_decoder(fp_column_dict *dictionary, const fp_decoder **decoder,
                                            fastpair_error *error);

/* Token lengths of all 2^b codes, and of N and N + 1; 0 for codes that have no token, unlike in the
 * decoder's tables. Built like the decoder. */
fastpair_status fp_column_dict_lengths(fp_column_dict *dictionary, const uint8_t **lengths,
                                       fastpair_error *error);

/* What its tokens are as text: one of the constants of token_text.h. Looks at the tokens once. */
uint32_t fp_column_dict_text(fp_column_dict *dictionary);

/* Upper bound on what tables that are not built yet will take, or 0 if all are there. */
uint64_t fp_column_dict_missing_bytes(const fp_column_dict *dictionary);

/* Releases the tables, which are built again on their next use. No other thread may use the
 * dictionary meanwhile. */
void fp_column_dict_drop_tables(fp_column_dict *dictionary);

#endif
