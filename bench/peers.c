/* peers.c - fastpair-peers: other codecs on the bytes of a column.
 *
 *     fastpair-peers [options] FILE.fpc...
 *
 *     --nvcomp=PATH     libnvcomp.so.* of version 6 (5 and earlier have other calls); without it only
 *                       the CPU's codecs are measured
 *     --bytes=SIZE      decoded bytes on the GPU, decimal K, M or G (1G)
 *     --launches=N      launches per figure (50)
 *     --passes=N        passes from host memory per figure (5)
 *     --seconds=S       for each figure on the CPU (0.3)
 *     --only=cpu|gpu --settings=WHICH  of levels and chunk sizes: quick, host (those measured from
 *     host memory), main (those that matter; the default), all
 *     --not-host        without the settings that --settings=host has
 *     --from-host       on the GPU also from host memory, for some settings of each codec
 *     --memory=WHICH    of host memory: both (the default), or pinned
 *     --cold=COLD.fpc   only how small FILE.fpc, this cold file of the same column and zstd of its
 *                       text are, and how fast one thread reads them
 *
 * The bytes are those of all rows one after the other, without separators, as fastpair counts them.
 * They are cut into chunks, each compressed by itself, so that a GPU can decompress them side by
 * side. Out: one JSON object per line; every figure is of output that was compared. CPU libraries
 * that are not installed are left out. Exit codes: 0, 1 failure, 2 wrong arguments. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void usage(void) {
    fputs("usage: fastpair-peers [--nvcomp=PATH] [--bytes=SIZE] [--launches=N] [--passes=N] "
          "[--seconds=S]\n"
          "           [--only=cpu|gpu] [--settings=quick|host|main|all] [--not-host] [--from-host] "
          "[--memory=both|pinned]\n"
          "           [--cold=COLD.fpc] FILE.fpc...\n",
          stderr);
    exit(2);
}

/* Whether the argument, up to its equals sign, is this option. */
static bool is_option(const char *argument, size_t length, const char *option) {
    return length == strlen(option) && !strncmp(argument, option, length);
}

static peer_settings settings_of(const char *word) {
    static const char *const words[] = {"main", "quick", "host", "all"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(word, words[i])) return (peer_settings)i;
    usage();
}

static void take_option(peer_options *options, const char *argument) {
    const char *value = strchr(argument, '=');
    if (!strcmp(argument, "--from-host") || !strcmp(argument, "--not-host")) {
        *(argument[2] == 'f' ? &options->from_host : &options->not_host) = true;
        return;
    }
    if (!value) usage();
    size_t name = (size_t)(value++ - argument);
    if (is_option(argument, name, "--nvcomp"))
        options->nvcomp = value;
    else if (is_option(argument, name, "--cold"))
        options->cold = value;
    else if (is_option(argument, name, "--bytes"))
        options->bytes = bench_size(value);
    else if (is_option(argument, name, "--launches"))
        options->launches = bench_count(value);
    else if (is_option(argument, name, "--passes"))
        options->passes = bench_count(value);
    else if (is_option(argument, name, "--seconds"))
        options->seconds = bench_duration(value);
    else if (is_option(argument, name, "--settings"))
        options->settings = settings_of(value);
    else if (is_option(argument, name, "--memory")) {
        options->only_pinned = !strcmp(value, "pinned");
        if (!options->only_pinned && strcmp(value, "both") != 0) usage();
    } else if (is_option(argument, name, "--only")) {
        options->cpu = !strcmp(value, "cpu");
        options->gpu = !strcmp(value, "gpu");
        if (!options->cpu && !options->gpu) usage();
    } else
        usage();
}

int main(int count, char **arguments) {
    peer_options options = {.bytes = 1000000000u,
                            .launches = 50,
                            .passes = 5,
                            .seconds = 0.3,
                            .cpu = true,
                            .gpu = true};
    int first = 1;
    for (; first < count && !strncmp(arguments[first], "--", 2); first++)
        take_option(&options, arguments[first]);
    if (first == count) usage();

    bench_device device = {0};
    nvcomp_library *library = NULL;
    if (options.gpu && options.nvcomp) {
        fastpair_error error;
        if (!bench_device_open(&device, &error)) bench_die("fastpair-peers: %s", error.message);
        library = nvcomp_open(options.nvcomp);
    }
    for (; first < count; first++) {
        bench_column column = bench_column_open(arguments[first]);
        if (options.cold) {
            bench_column cold = bench_column_open(options.cold);
            measure_rest(&options, &column, &cold);
            bench_column_close(&cold);
            bench_column_close(&column);
            continue;
        }
        if (options.cpu) measure_cpu_peers(&options, &column);
        if (library) measure_nvcomp(&device, &options, library, &column);
        bench_column_close(&column);
    }
    if (library) nvcomp_close(library);
    bench_device_close(&device);
    return 0;
}
