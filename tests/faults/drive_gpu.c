/* drive_gpu.c - the command decompressing, and fpgrep searching, on a GPU whose driver fails.
 *
 *     drive_gpu COMMAND FOLDER OLD FPGREP
 *
 * COMMAND and FPGREP are linked with wrap.c; FOLDER has fake_cuda.c as libcuda.so.1, OLD a driver that is too
 * old. Every driver call of the library and of the command fails in turn. Demanded: exit code 1 (of
 * fpgrep 2) and a message that says what to do, no output, nothing kept on the device. A damaged file is refused
 * with exit code 2 whatever the GPU makes of it, and a missing or old driver with 1. */
#define _GNU_SOURCE

#include "driver_calls.h"
#include "run.h"

static const char *const decompresses[] = {"-q", "-df", "-T1",    "--backend=gpu",
                                           "-o", "out", "in.fpc", NULL};
static const char *const searches[] = {"--backend=gpu", "-T1",    "-e", "region 3", "-e",
                                       "9 of",          "in.fpc", NULL};
/* Of the command that runs: its words, how its messages begin, its exit code for a failure. */
static const char *const *words = decompresses;
static const char *program = "fastpair: ";
static int failure = 1;

static const bytes old = {(char *)(uintptr_t) "what was there before", 21};

/* A run that must end with this code, unless its fault did not happen; below 0: with any. The
 * output must stay as it was. Returns whether the fault happened. */
static int run_failing(const char *what, const char *const *settings, int code, const char *says) {
    save("out", old.data, old.size);
    run_result r = run(words, NULL, settings);
    bytes output = load("out");
    int expects_failure = code >= 0 && (r.fired || !settings[1]);
    unsigned long long before = check_failed;
    CHECK(r.signal == 0 && r.code <= 2);
    CHECK(!r.leaked_memory && !r.leaked_descriptors && remove_temporaries() == 0);
    CHECK(!r.leaked_on_gpu);
    if (expects_failure) CHECK_EQ(r.code, code == 1 ? failure : code);
    if (r.code >= failure) {
        CHECK(same(&output, &old));
        CHECK(strncmp(r.said.data, program, strlen(program)) == 0 &&
              strstr(r.said.data, says) != NULL);
        CHECK(code == 2 || strstr(r.said.data, "--backend=cpu") != NULL);
    }
    if (check_failed != before)
        fprintf(stderr, "  ^ %s: code %d, signal %d, said %s\n", what, r.code, r.signal,
                r.said.data);
    free(r.said.data), free(output.data);
    return r.fired;
}

static void every_call(const char *path, double scale) {
    int total = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int k = 0; k < (scale < 1 ? 1 : 2) && !is_repeated(i); k++)
            for (long n = 0; n < 1000; n++, total++) {
                char fault[80];
                snprintf(fault, sizeof fault, "FAKE_CUDA=%s:%ld:%d", calls[i], n, k ? 700 : 2);
                const char *settings[] = {path, fault, NULL};
                if (!run_failing(fault, settings, is_harmless(calls[i]) ? -1 : 1,
                                 k ? "restart" : "free device memory"))
                    break;
            }
    printf("%d faults of the driver\n", total);
    CHECK(total > 50);
}

/* Bytes all over the file altered, one at a time: the kernels of this GPU do nothing and report
 * nothing, so that only checksums can tell. */
static void damage(const char *path, const bytes *column, double scale) {
    const char *settings[] = {path, NULL};
    char *copy = malloc(column->size), what[80];
    for (size_t at = 0; at < column->size; at += scale < 1 ? 97 : 1 + at % 37) {
        memcpy(copy, column->data, column->size);
        copy[at] ^= 16;
        save("in.fpc", copy, column->size);
        static const char *const test[] = {"-t", "-q", "in.fpc", NULL};
        run_result r = run(test, NULL, settings);
        snprintf(what, sizeof what, "byte %zu altered", at);
        /* Gaps are looked at by -t alone, and no output depends on them. */
        CHECK_EQ(r.code, 2);
        if (copy[at] != 16) run_failing(what, settings, 2, "in.fpc");
        free(r.said.data);
    }
    save("in.fpc", column->data, column->size);
    free(copy);
}

int main(int argc, char **argv) {
    const char *scaled = getenv("FASTPAIR_TEST_SCALE");
    double scale = scaled && *scaled ? strtod(scaled, NULL) : 1;
    char folder[] = "/tmp/fastpair-faults-XXXXXX", path[1100], old_path[1100];
    char *search = argc == 5 ? realpath(argv[4], NULL) : NULL, *decompress;
    if (argc != 5 || !search || !(command = decompress = realpath(argv[1], NULL)) ||
        !mkdtemp(folder) || chdir(folder))
        abort();
    snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", argv[2]);
    snprintf(old_path, sizeof old_path, "LD_LIBRARY_PATH=%s", argv[3]);
    FILE *rows = fopen("rows", "w");
    for (int i = 0; rows && i < 900; i++)
        fprintf(rows, "customer %d of region %d\n", i * i % 977, i % 7);
    if (!rows || fclose(rows)) abort();
    static const char *const make_column[] = {
        "-q", "--codec=onpair12", "--chunk=9K", "-o", "in.fpc", "rows", NULL};
    const char *none[] = {NULL}, *fake[] = {path, NULL}, *too_old[] = {old_path, NULL};
    run_result r = run(make_column, NULL, none);
    CHECK_EQ(r.code, 0);
    free(r.said.data);
    bytes column = load("in.fpc");
    r = run(words, NULL, fake);
    CHECK(r.code == 0 && !r.leaked_on_gpu && !r.leaked_memory && !r.leaked_descriptors);
    if (r.code) fprintf(stderr, "  ^ said %s\n", r.said.data);
    free(r.said.data);
    run_failing("a driver that is too old", too_old, 1, "update it");
    save("libcuda.so.1", "no library", 10);
    const char *malformed[] = {"LD_LIBRARY_PATH=.", NULL};
    run_failing("a driver that is no library", malformed, 1, "cannot be loaded");
    run_failing("a driver that is no library", malformed, 1, "file too short");
    unlink("libcuda.so.1");
    every_call(path, scale);
    damage(path, &column, scale);
    command = search, words = searches, program = "fpgrep: ", failure = 2;
    r = run(words, NULL, fake);
    CHECK(r.code == 1 && !r.leaked_on_gpu && !r.leaked_memory && !r.leaked_descriptors);
    if (r.code != 1) fprintf(stderr, "  ^ code %d, said %s\n", r.code, r.said.data);
    free(r.said.data);
    run_failing("a driver that is too old", too_old, 1, "update it");
    every_call(path, scale);
    static const char *const files[] = {"rows", "in.fpc", "out", "stdout", "stderr"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) unlink(files[i]);
    CHECK(chdir("/") == 0 && rmdir(folder) == 0);
    free(column.data), free(search), free(decompress);
    return check_done();
}
