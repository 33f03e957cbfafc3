/* drive_gpu_compress.c - the command compressing on a GPU whose driver fails.
 *
 *     drive_gpu_compress COMMAND FOLDER
 *
 * COMMAND is linked with wrap.c; FOLDER has the made-up driver as libcuda.so.1, whose kernels run in the
 * emulator. Every driver call of the library and of the command fails in turn. Demanded: with
 * --backend=gpu exit code 1, a message, and the output as it was; with `auto` the file that the CPU
 * writes. `auto` takes a GPU from a size of file on, which wrap.c makes up. Nothing is left over: no
 * temporary file, no memory, no half of a file under its final name. */
#define _GNU_SOURCE

#include "driver_calls.h"
#include "run.h"

#define LARGE "2147483648"
#define SMALL "2147483647"

/* Small chunks and samples, so that there are several pieces, and a writer begins before the end. */
#define OPTIONS "-f", "-T1", "--codec=onpair:9", "--chunk=2K", "--sample=2K"
static const char *const on_gpu[] = {OPTIONS, "--backend=gpu", "-o", "out", "rows", NULL};
static const char *const by_three[] = {OPTIONS, "-T3", "--backend=gpu", "-o", "out", "rows", NULL};
static const char *const automatic[] = {OPTIONS, "-o", "out", "rows", NULL};
static const char *const to_stdout[] = {OPTIONS, "-c", "rows", NULL};

static const bytes old = {(char *)(uintptr_t) "what was there before", 21};
static bytes wanted; /* what the CPU writes */

/* What a run is to end with. */
typedef enum end {
    FAILS,      /* unless its fault did not happen */
    COMPRESSES, /* whatever happened */
    ANY         /* either, but not between */
} end;

static run_result run_once(const char *what, const char *const *words, const char *const *settings,
                           end how) {
    save("out", old.data, old.size);
    run_result r = run(words, NULL, settings);
    bytes output = load("out");
    unsigned long long before = check_failed;
    CHECK(r.signal == 0 && r.code <= 1);
    CHECK(!r.leaked_memory && !r.leaked_descriptors && remove_temporaries() == 0);
    CHECK(!r.leaked_on_gpu);
    CHECK(same(&output, r.code ? &old : &wanted));
    if (how == FAILS) CHECK_EQ(r.code, r.fired);
    if (how == COMPRESSES) CHECK_EQ(r.code, 0);
    if (r.code) CHECK(!strncmp(r.said.data, "fastpair: ", 10));
    if (check_failed != before)
        fprintf(stderr, "  ^ %s: code %d, signal %d, said %s\n", what, r.code, r.signal,
                r.said.data);
    free(output.data);
    return r;
}

static int says(run_result r, const char *text) {
    int found = strstr(r.said.data, text) != NULL;
    free(r.said.data);
    return found;
}

/* Calls that are made hundreds of times fail at every so many of them. */
static long next_fault(long n, double scale) {
    return scale < 1 ? 3 * n + 3 : n + (n < 2 ? 1 : 2 + n / 2);
}

static void every_call(const char *path, double scale) {
    int total = 0, by_auto = 0, fallbacks = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (long n = 0; n < 100000 && !is_repeated(i); n = next_fault(n, scale)) {
            char fault[80];
            snprintf(fault, sizeof fault, "FAKE_CUDA=%s:%ld:%d", calls[i], n, n % 2 ? 719 : 2);
            const char *plain[] = {path, fault, NULL};
            const char *large[] = {path, fault, "FASTPAIR_FAULT_SIZE=" LARGE, NULL};
            run_result r = run_once(fault, on_gpu, plain, is_harmless(calls[i]) ? ANY : FAILS);
            free(r.said.data);
            if (!r.fired) break;
            /* --backend=gpu opens the GPU once more, before anything else, so counts differ. */
            r = run_once(fault, automatic, large, COMPRESSES);
            by_auto += r.fired;
            fallbacks += says(r, "the CPU compresses it");
            total++;
        }
    printf("%d faults of the driver, %d times with a note\n", total, fallbacks);
    /* A GPU that cannot even be opened is no news, and most calls look up kernels. */
    if (scale >= 1) CHECK(total > 100 && by_auto > 80 && fallbacks > 30);
    CHECK(total && by_auto && fallbacks);
}

/* From which size on `auto` takes a GPU: its first launch fails there. */
static void threshold(const char *path) {
    const char *fault = "FAKE_CUDA=cuLaunchKernel:0:719";
    const char *small[] = {path, fault, "FASTPAIR_FAULT_SIZE=" SMALL, NULL};
    const char *large[] = {path, fault, "FASTPAIR_FAULT_SIZE=" LARGE, NULL};
    const char *working[] = {path, "FASTPAIR_FAULT_SIZE=" LARGE, NULL};
    run_result r = run_once("a small file", automatic, small, COMPRESSES);
    CHECK(!r.fired && r.said.size == 0);
    free(r.said.data);
    r = run_once("a large file", automatic, large, COMPRESSES);
    CHECK(r.fired && strstr(r.said.data, "the CPU compresses it"));
    free(r.said.data);
    r = run_once("a large file, and nothing fails", automatic, working, COMPRESSES);
    CHECK(r.said.size == 0);
    free(r.said.data);
    /* What a GPU cannot do is not tried. */
    static const char *const best[] = {"-f", "-9", "-T1", "-o", "other", "rows", NULL};
    r = run(best, NULL, large);
    CHECK(r.code == 0 && !r.fired);
    free(r.said.data);
    unlink("other");
}

/* No driver, and a GPU without memory. */
static void no_gpu(const char *path) {
    const char *none[] = {"FASTPAIR_FAULT_SIZE=" LARGE, "LD_LIBRARY_PATH=/nowhere", NULL};
    const char *narrow[] = {path, "FAKE_CUDA_MEMORY=1100000", "FASTPAIR_FAULT_SIZE=" LARGE, NULL};
    run_result r = run_once("no driver", automatic, none, COMPRESSES);
    CHECK(r.said.size == 0);
    free(r.said.data);
    r = run_once("no driver, but a GPU is asked for", on_gpu, none, ANY);
    CHECK_EQ(r.code, 1);
    CHECK(says(r, "GPU"));
    CHECK(says(run_once("little memory", automatic, narrow, COMPRESSES), "the CPU compresses it"));
    r = run_once("little memory, but a GPU is asked for", on_gpu, narrow, ANY);
    CHECK_EQ(r.code, 1);
    CHECK(says(r, "memory"));
}

/* Standard output cannot be taken back: once bytes are out, a failure is one. */
static void half_way(const char *path) {
    int failed = 0, fell_back = 0;
    for (long n = 0; n < 400; n += 15) {
        char fault[80];
        snprintf(fault, sizeof fault, "FAKE_CUDA=cuLaunchKernel:%ld:719", n);
        const char *settings[] = {path, fault, "FASTPAIR_FAULT_SIZE=" LARGE, NULL};
        run_result r = run(to_stdout, NULL, settings);
        bytes output = load("stdout");
        CHECK(r.code <= 1 && r.signal == 0 && !r.leaked_memory);
        if (!r.code) CHECK(same(&output, &wanted));
        if (r.code) CHECK(r.fired && output.size && output.size < wanted.size);
        failed += r.code;
        fell_back += !r.code && r.fired;
        int fired = r.fired;
        free(r.said.data), free(output.data);
        if (!fired) break;
    }
    CHECK(failed > 0 && fell_back > 0);
}

/* A disk that is full, a file that cannot be read, an end in between. */
static void system_calls(const char *path, double scale) {
    static const char *const kinds[] = {"write",  "read",   "open",  "fsync",
                                        "rename", "thread", "memory"};
    int total = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (long n = 0; n < 5000; n = next_fault(n, scale)) {
            char fault[80];
            snprintf(fault, sizeof fault, "FASTPAIR_FAULT=%s:%ld:%d", kinds[k], n, ENOSPC);
            const char *settings[] = {path, fault, NULL};
            run_result r = run_once(fault, on_gpu, settings, ANY);
            int fired = r.fired;
            free(r.said.data);
            if (!fired) break;
            total++;
        }
    CHECK(total > (scale < 1 ? 5 : 20));
    /* Several threads cut the text: reads fail, give half, are interrupted; and there is no thread. */
    static const char *const reads[] = {"pread", "thread"}, *const hows[] = {"5", "half",
                                                                             "interrupt"};
    for (int i = 0; i < 6; i++)
        for (long n = 0; n < 300; n += 1 + n / 2) {
            char fault[80];
            snprintf(fault, sizeof fault, "FASTPAIR_FAULT=%s:%ld:%s", reads[i % 2], n, hows[i / 2]);
            const char *settings[] = {path, fault, NULL};
            run_result r = run_once(fault, by_three, settings, i == 0 ? FAILS : COMPRESSES);
            int fired = r.fired;
            free(r.said.data);
            CHECK(n || fired);
            if (!fired) break;
        }
    for (long n = 0; n < 3; n++) { /* killed: a temporary file may be left, and the old file is */
        char fault[80];
        snprintf(fault, sizeof fault, "FASTPAIR_FAULT=write:%ld:kill", n);
        const char *settings[] = {path, fault, NULL};
        save("out", old.data, old.size);
        run_result r = run(on_gpu, NULL, settings);
        bytes output = load("out");
        CHECK(same(&output, r.signal ? &old : &wanted));
        CHECK(n || r.signal);
        free(r.said.data), free(output.data);
        remove_temporaries();
    }
}

int main(int argc, char **argv) {
    const char *scaled = getenv("FASTPAIR_TEST_SCALE");
    double scale = scaled && *scaled ? strtod(scaled, NULL) : 1;
    char folder[] = "/tmp/fastpair-faults-XXXXXX", path[1100];
    if (argc != 3 || !(command = realpath(argv[1], NULL)) || !mkdtemp(folder) || chdir(folder))
        abort();
    snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", argv[2]);
    FILE *rows = fopen("rows", "w");
    /* All bytes occur from the beginning on, so that the CPU's writer does not leave any out. */
    uint64_t random = 1;
    for (int i = 0; rows && i < 900; i++) {
        uint64_t drawn = check_random(&random);
        fprintf(rows, "customer %d of region %d ", i * i % 977, i % 7);
        for (int k = 0; k < 56; k += 8) putc(drawn >> k & 255, rows);
        putc('\n', rows);
    }
    if (!rows || fclose(rows)) abort();
    const char *none[] = {NULL}, *working[] = {path, NULL};
    run_result r = run(automatic, NULL, none);
    CHECK_EQ(r.code, 0);
    free(r.said.data);
    wanted = load("out");
    CHECK(wanted.size > 1000);
    r = run_once("nothing fails", on_gpu, working, COMPRESSES);
    free(r.said.data);
    threshold(path);
    no_gpu(path);
    half_way(path);
    system_calls(path, scale);
    every_call(path, scale);
    static const char *const files[] = {"rows", "out", "stdout", "stderr"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(files[i]);
    free(wanted.data);
    CHECK(!chdir("/") && !rmdir(folder));
    return check_done();
}
