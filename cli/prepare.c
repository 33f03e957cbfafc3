/* prepare.c - from the command line to what the library takes.
 *
 * In: cli_options. Out: compression options, a number of threads, a dictionary. The decisions here:
 * without an explicit -T all cores are used, but only as many as keep compression below the memory
 * promise (512 MiB for inputs of any size with default chunks), since every thread holds chunks of
 * its own. Decompression is kept to the promise, or to --memory, by the library's reader.
 */
#define _GNU_SOURCE /* sched_getaffinity */

#include "cli.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* What chunks may take together; training tables, the sample and buffers need the rest of the 512
 * MiB. */
#define CHUNK_MEMORY (384ull << 20)

#define DEFAULT_CHUNK (8ull << 20)

/* What the manual promises. */
#define DEFAULT_MEMORY (512ull << 20)

/* What the writer holds for each thread, in chunks; 65 MiB per thread were measured with chunks of
 * 8 MiB of random bytes, which need the most. */
#define WRITER_CHUNKS 8

/* No exported dictionary comes near this: 65536 tokens of 64 bytes and their runs. */
#define LARGEST_DICTIONARY (16ull << 20)

/* Cores this process may run on. */
static uint32_t available_cores(void) {
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return (uint32_t)CPU_COUNT(&set);
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint32_t)cores : 1;
}

uint32_t cli_threads(const cli_options *options, uint64_t bytes_each) {
    if (options->threads > 0) return options->threads;
    uint64_t threads = available_cores();
    if (threads > 1024) threads = 1024;
    if (bytes_each > 0 && threads * bytes_each > CHUNK_MEMORY) threads = CHUNK_MEMORY / bytes_each;
    return threads > 0 ? (uint32_t)threads : 1;
}

fastpair_compress_options cli_compress_options(const cli_options *options) {
    uint64_t chunk = options->chunk_bytes ? options->chunk_bytes : DEFAULT_CHUNK;
    return (fastpair_compress_options){
        .struct_size = sizeof(fastpair_compress_options),
        .codec = options->codec,
        .goal = options->goal,
        .level = options->level,
        .cold = options->cold,
        .code_bits = options->code_bits,
        .max_token = options->max_token,
        .chunk_bytes = options->chunk_bytes,
        .threads = cli_threads(options, chunk * WRITER_CHUNKS),
        .expert = &options->expert,
        .metadata = &options->description.metadata,
    };
}

fastpair_open_options cli_open_options(uint32_t threads) {
    return (fastpair_open_options){.struct_size = sizeof(fastpair_open_options),
                                   .threads = threads};
}

uint64_t cli_memory(const cli_options *options) {
    return options->memory ? options->memory : DEFAULT_MEMORY;
}

fastpair_open_options cli_reader_options(const cli_options *options) {
    fastpair_open_options settings = cli_open_options(cli_threads(options, 0));
    settings.memory_limit = cli_memory(options) / 4 * 3; /* output buffers take the rest */
    return settings;
}

int cli_dictionary_load(const cli_options *options, fastpair_dictionary **dictionary) {
    *dictionary = NULL;
    if (!options->dictionary) return CLI_OK;
    cli_input input;
    uint8_t *data;
    uint64_t size;
    int result = cli_input_open(&input, options->dictionary);
    if (result != CLI_OK) return result;
    result = cli_input_load(&input, LARGEST_DICTIONARY, &data, &size);
    cli_input_close(&input);
    if (result != CLI_OK) return result;
    fastpair_error error;
    if (fastpair_dictionary_open(data, size, NULL, dictionary, &error) != FASTPAIR_OK)
        result = cli_fail_status(options->dictionary, &error);
    free(data);
    return result;
}
