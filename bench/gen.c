/*
 * fastpair-gen: writes rows of a generated TPC-H column to standard output.
 *
 *     fastpair-gen COLUMN BYTES [SEED]
 *
 * Rows end with a newline and are written until at least BYTES bytes, newlines included, are out.
 * BYTES may end with K, M or G (powers of 1024). The seed is 1 unless given.
 * Exit codes: 0 all written, 1 out of memory or output failed, 2 wrong arguments.
 */
#include "tpch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_SIZE = 1 << 18 };

/* Reads a number without sign; sets *end to what follows. Returns 0, or -1 if there is none. */
static int parse_number(const char *s, uint64_t *value, const char **end) {
    char *stop;
    /* strtoull() takes signs and leading blanks, which mean a mistake here. */
    if (*s < '0' || *s > '9') return -1;
    errno = 0;
    unsigned long long v = strtoull(s, &stop, 10);
    if (errno != 0) return -1;
    *value = (uint64_t)v;
    *end = stop;
    return 0;
}

/* Reads a size such as 500, 64M or 10G. Returns 0, or -1 if it is malformed or too large. */
static int parse_size(const char *s, uint64_t *value) {
    const char *end;
    unsigned shift = 0;
    if (parse_number(s, value, &end) != 0) return -1;
    switch (*end) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    default: break;
    }
    if (shift != 0) end++;
    if (*end != '\0' || *value > (UINT64_MAX >> shift)) return -1;
    *value <<= shift;
    return 0;
}

static int parse_seed(const char *s, uint64_t *value) {
    const char *end;
    return parse_number(s, value, &end) == 0 && *end == '\0' ? 0 : -1;
}

static int usage(const char *problem) {
    fprintf(stderr,
            "fastpair-gen: %s\n"
            "usage: fastpair-gen COLUMN BYTES[K|M|G] [SEED]\n"
            "columns:",
            problem);
    for (int i = 0; i < FP_TPCH_COLUMN_COUNT; i++)
        fprintf(stderr, " %s", fp_tpch_column_name((fp_tpch_column)i));
    fputc('\n', stderr);
    return 2;
}

/* Writes rows until `bytes` bytes are out. Returns 0, or -1 with errno set. */
static int write_rows(fp_tpch_gen *gen, uint64_t bytes, char *buffer) {
    uint64_t done = 0;
    while (done < bytes) {
        size_t used = 0;
        while (used <= BUFFER_SIZE - (FP_TPCH_MAX_ROW + 1) && done + used < bytes) {
            used += fp_tpch_next(gen, buffer + used);
            buffer[used++] = '\n';
        }
        if (fwrite(buffer, 1, used, stdout) != used) return -1;
        done += used;
    }
    return fflush(stdout) == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    fp_tpch_column column;
    fp_tpch_gen gen;
    uint64_t bytes, seed = 1;

    if (argc != 3 && argc != 4) return usage("wrong number of arguments");
    if (fp_tpch_column_parse(argv[1], &column) != 0) return usage("unknown column");
    if (parse_size(argv[2], &bytes) != 0) return usage("BYTES is not a size");
    if (argc == 4 && parse_seed(argv[3], &seed) != 0) return usage("SEED is not a number");

#ifdef SIGPIPE
    /* A reader that goes away shall be a write error like any other, not a death by signal. */
    signal(SIGPIPE, SIG_IGN);
#endif
    /* Rows are collected in a large buffer of our own; one more copy in stdio would be waste. */
    setvbuf(stdout, NULL, _IONBF, 0);

    char *buffer = malloc(BUFFER_SIZE);
    int rc = 1;
    if (fp_tpch_open(&gen, seed, column) != 0 || !buffer)
        fputs("fastpair-gen: out of memory\n", stderr);
    else if (write_rows(&gen, bytes, buffer) != 0)
        fprintf(stderr, "fastpair-gen: cannot write: %s\n", strerror(errno));
    else
        rc = 0;
    fp_tpch_close(&gen);
    free(buffer);
    return rc;
}
