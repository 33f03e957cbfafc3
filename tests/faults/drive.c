/* drive.c - the command with each of its system calls failing in turn.
 *
 *     drive COMMAND    COMMAND is the command linked with wrap.c
 *
 * For every thing the command does, for every kind of call and every n, the n-th call fails.
 * Demanded: no crash, nothing leaked, exit code 1 with a message that gives the reason, or 0 with
 * the right output; the output's name holds what it held before, or the complete output; no
 * temporary is left; the input is intact unless --rm and all went well. Killed at any of these
 * calls, the command leaves the name as it was or with the complete output; ended by another
 * signal, no temporary either. A file that takes the input's name at any of these calls is never
 * lost. A compressed file that is cut gives no wrong rows. */
#define _GNU_SOURCE

#include "run.h"

/* ---------------------------------------------------------------- what the command does */

typedef struct task {
    const char *name;
    const char *words[12];
    const char *input;  /* file that must stay, or go with --rm */
    const char *stdin_; /* or NULL */
    const char *output; /* NULL: standard output alone */
    int replaces;       /* the output is there before */
    int removes;        /* --rm */
    int maps;           /* the input is mapped */
    int needs_zstd;     /* a build without it refuses the task */
    bytes expected, expected_stdout;
} task;

static task tasks[] = {
    {.name = "compress",
     .words = {"-q1", "-T2", "--chunk=9K", "--codec=onpair:12:32", "-o", "out", "rows"},
     .input = "rows",
     .output = "out"},
    {.name = "compress over",
     .words = {"-q1", "-f", "-T1", "-o", "out", "rows"},
     .input = "rows",
     .output = "out",
     .replaces = 1},
    {.name = "compress --rm",
     .words = {"-q1", "-T1", "--codec=onpair12", "--rm", "rows"},
     .input = "rows",
     .output = "rows.fpc",
     .removes = 1},
    {.name = "compress -D",
     .words = {"-q", "-T1", "-D", "dict", "-o", "out", "rows"},
     .input = "rows",
     .output = "out"},
    {.name = "compress stdin",
     .words = {"-q1", "-T2", "-c", "--chunk=9K", "--codec=onpair12"},
     .input = "rows",
     .stdin_ = "rows"},
    {.name = "decompress",
     .words = {"-q", "-d", "-T2", "-o", "out", "in.fpc"},
     .input = "in.fpc",
     .output = "out"},
    {.name = "decompress over",
     .words = {"-q", "-df", "-T1", "-o", "out", "in.fpc"},
     .input = "in.fpc",
     .output = "out",
     .replaces = 1},
    {.name = "decompress --rm",
     .words = {"-q", "-d", "-T1", "--rm", "-o", "out", "in.fpc"},
     .input = "in.fpc",
     .output = "out",
     .removes = 1},
    {.name = "decompress stdin",
     .words = {"-q", "-d", "-T2", "-c"},
     .input = "in.fpc",
     .stdin_ = "in.fpc"},
    {.name = "--rows",
     .words = {"-q", "-d", "-T2", "--rows=100..700", "-o", "out", "in.fpc"},
     .input = "in.fpc",
     .output = "out",
     .maps = 1},
    {.name = "--cold",
     .words = {"-q", "-T2", "--cold", "-o", "out", "in.fpc"},
     .input = "in.fpc",
     .output = "out",
     .maps = 1,
     .needs_zstd = 1},
    {.name = "--warm --rm",
     .words = {"-q", "-T1", "--warm", "--rm", "-o", "out", "in.fpc"},
     .input = "in.fpc",
     .output = "out",
     .removes = 1,
     .maps = 1},
    {.name = "-t", .words = {"-t", "in.fpc"}, .input = "in.fpc", .maps = 1},
    {.name = "-l", .words = {"-l", "--json", "in.fpc"}, .input = "in.fpc", .maps = 1},
    {.name = "--train-dict",
     .words = {"-q1", "--codec=onpair12", "--train-dict=out", "rows"},
     .input = "rows",
     .output = "out"},
};

/* Kinds of calls, the errors they get, and which fail without harm to the result. */
static const struct kind {
    const char *name;
    const char *how[3];
} kinds[] = {
    {"read", {"5", "half", "interrupt"}}, {"write", {"28", "half", "interrupt"}},
    {"fsync", {"5", "28", NULL}},         {"rename", {"5", "28", "13"}},
    {"open", {"24", "13", NULL}},         {"close", {"5", "28", NULL}},
    {"unlink", {"13", NULL, NULL}},       {"stat", {"5", NULL, NULL}},
    {"attributes", {"1", NULL, NULL}},    {"map", {"12", NULL, NULL}},
    {"thread", {"11", NULL, NULL}},       {"memory", {"12", NULL, NULL}},
};

static bytes rows, column;
static const bytes old = {(char *)(uintptr_t) "what was there before", 21};

static void prepare(const task *t) {
    unlink("out"), unlink("rows.fpc");
    if (t->replaces) save(t->output, old.data, old.size);
    if (!strcmp(t->input, "rows"))
        save("rows", rows.data, rows.size);
    else
        save("in.fpc", column.data, column.size);
}

static void complain(const task *t, const char *fault, const run_result *r, const char *what) {
    CHECK(!"a fault is met as it should be");
    fprintf(stderr, "  %s, %s: %s (signal %d, code %d; said: %s)\n", t->name, fault, what,
            r->signal, r->code, r->said.data ? r->said.data : "");
}

/* One run with a fault; returns whether there was such a call. */
static int run_faulty(const task *t, const struct kind *kind, long n, const char *how) {
    char fault[64];
    snprintf(fault, sizeof fault, "FASTPAIR_FAULT=%s:%ld:%s", kind->name, n, how);
    prepare(t);
    run_result r = run(t->words, t->stdin_, (const char *[]){fault, NULL});
    int ended = !strcmp(how, "end"), killed = !strcmp(how, "kill") || ended;
    int temporaries = remove_temporaries(), number = atoi(how);
    const bytes *before = t->replaces ? &old : &(bytes){0};
    bytes input = load(t->input), output = t->output ? load(t->output) : (bytes){0},
          printed = load("stdout");
    const bytes *original = !strcmp(t->input, "rows") ? &rows : &column;
    int is_new = same(&output, &t->expected), is_old = t->output ? same(&output, before) : 1;
    if (!killed && (r.signal || r.code < 0 || r.code > 1))
        complain(t, fault, &r, "crashed, or blamed the input");
    if (killed && r.fired && r.signal != (ended ? SIGTERM : SIGKILL))
        complain(t, fault, &r, "was not ended by the signal");
    if (!is_new && !is_old) complain(t, fault, &r, "left something else under the output's name");
    if (r.code == 0 && (!is_new || !same(&printed, &t->expected_stdout)))
        complain(t, fault, &r, "said all was well, but the output is not right");
    /* Standard output is closed last of all. */
    int late = t->removes || strstr(r.said.data, "standard output");
    if (r.code == 1 && !is_old && !late) complain(t, fault, &r, "failed, but changed the output");
    if (!same(&input, original) && !(t->removes && !input.data && is_new))
        complain(t, fault, &r, "did not keep the input");
    if (t->removes && r.code == 0 && input.data) complain(t, fault, &r, "did not remove the input");
    if (temporaries && (!killed || ended) && strcmp(kind->name, "unlink") != 0)
        complain(t, fault, &r, "left a temporary");
    if (r.leaked_descriptors || r.leaked_memory)
        complain(t, fault, &r, r.leaked_memory ? "leaked memory" : "leaked descriptors");
    if (r.code == 1) {
        if (strncmp(r.said.data, "fastpair: ", 10) != 0) complain(t, fault, &r, "gave no message");
        if (number && strcmp(kind->name, "memory") != 0 && strcmp(kind->name, "thread") != 0 &&
            !strstr(r.said.data, strerror(number)))
            complain(t, fault, &r, "did not give the reason");
        if (!strcmp(kind->name, "memory") && !strstr(r.said.data, "memory"))
            complain(t, fault, &r, "did not say that memory is short");
        if (!number && !killed) complain(t, fault, &r, "did not go on after half a call");
    }
    free(r.said.data), free(input.data), free(output.data), free(printed.data);
    return r.fired;
}

static void run_faults(const task *t, double scale) {
    /* Tasks that differ in where bytes come from and go to allocate alike. */
    int allocates_as_another = t->replaces || t->removes || t->stdin_;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (allocates_as_another && !strcmp(kinds[k].name, "memory")) continue;
        long step = strcmp(kinds[k].name, "memory") != 0 || scale >= 1 ? 1 : (long)(1 / scale), n,
             total = 0;
        for (int h = 0; h < 3 && kinds[k].how[h]; h++) {
            if (scale < 1 && h > 0 && atoi(kinds[k].how[h]))
                continue; /* one error number stands for others */
            for (n = 0; run_faulty(t, &kinds[k], n, kinds[k].how[h]); n += step) total++;
            CHECK(n < 100000);
        }
        /* Killed at a call that changes files. */
        if (!strcmp(kinds[k].name, "write") || !strcmp(kinds[k].name, "fsync") ||
            !strcmp(kinds[k].name, "rename") || !strcmp(kinds[k].name, "unlink") ||
            !strcmp(kinds[k].name, "attributes"))
            for (n = 0; run_faulty(t, &kinds[k], n, "kill"); n++) total++;
        /* Ended at any call: the handler has to meet a path that is there, and no other. */
        for (n = 0; run_faulty(t, &kinds[k], n, "end"); n += n < 20 ? 1 : 10 * step) total++;
        if (total) printf("%-18s %-10s %ld faults\n", t->name, kinds[k].name, total);
        /* A task that writes a file writes, syncs and renames; otherwise nothing was tested. */
        if (t->output && k > 0 && k < 4) CHECK(total > 0);
    }
}

/* Another file takes the input's name at any call of `compress --rm`: it is still there, or in the
 * output. */
static void swap_input(const task *t) {
    static const char text[] = "PRECIOUS\nrows of somebody else\n";
    const bytes taker = {(char *)(uintptr_t)text, sizeof text - 1};
    int total = 0, kept = 0;
    unlink(t->output);
    save(t->input, taker.data, taker.size);
    run_result r = run(t->words, NULL, (const char *[]){NULL});
    bytes packed = load(t->output);
    CHECK(r.code == 0 && packed.data);
    free(r.said.data);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (long n = 0, fired = 1; fired; n++, total += (int)fired) {
            char fault[64];
            snprintf(fault, sizeof fault, "FASTPAIR_FAULT=%s:%ld:swap", kinds[k].name, n);
            prepare(t);
            save("taker", taker.data, taker.size);
            r = run(t->words, NULL, (const char *[]){fault, NULL});
            fired = r.fired;
            bytes input = load(t->input), output = load(t->output);
            int in_place = same(&input, &taker), in_output = same(&output, &packed);
            if (fired && !in_place && !(in_output && !input.data))
                complain(t, fault, &r, "lost a file that took the input's name");
            if (fired && in_place && output.data && !same(&output, &t->expected) && !in_output)
                complain(t, fault, &r, "left something else under the output's name");
            if (r.signal || r.code > 1 || remove_temporaries())
                complain(t, fault, &r, "crashed, or left a temporary");
            kept += fired && in_place;
            free(r.said.data), free(input.data), free(output.data);
            if (!strcmp(kinds[k].name, "memory")) break;
        }
    printf("%-18s %-10s %d faults\n", t->name, "swap", total);
    CHECK(kept > 10 && kept < total);
    unlink("taker");
    free(packed.data);
}

/* The compressed file is cut at any call: the rows that come are right, and a file that is mapped
 * is found to be cut. */
static void cut_input(const task *t) {
    int total = 0, found = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (long n = 0, fired = 1; fired; n++, total += (int)fired) {
            char fault[64];
            snprintf(fault, sizeof fault, "FASTPAIR_FAULT=%s:%ld:cut", kinds[k].name, n);
            prepare(t);
            run_result r = run(t->words, t->stdin_, (const char *[]){fault, NULL});
            fired = r.fired;
            bytes output = t->output ? load(t->output) : (bytes){0}, printed = load("stdout");
            const bytes *before = t->replaces ? &old : &(bytes){0};
            if (r.signal || r.code < 0) complain(t, fault, &r, "crashed");
            if (r.code == 0 &&
                (!same(&output, &t->expected) || !same(&printed, &t->expected_stdout)))
                complain(t, fault, &r, "said all was well, but the output is not right");
            if (r.code > 0 && t->output && !t->removes && !same(&output, before))
                complain(t, fault, &r, "failed, but changed the output");
            if (remove_temporaries()) complain(t, fault, &r, "left a temporary");
            found += r.code == 2 && strstr(r.said.data, "was cut short");
            free(r.said.data), free(output.data), free(printed.data);
        }
    printf("%-18s %-10s %d faults\n", t->name, "cut", total);
    if (t->maps) CHECK(found > 2);
}

int main(int argc, char **argv) {
    static const char *const no_fault[] = {NULL};
    const char *scale = getenv("FASTPAIR_TEST_SCALE");
    char folder[] = "/tmp/fastpair-faults-XXXXXX";
    if (argc != 2 || !(command = realpath(argv[1], NULL)) || !mkdtemp(folder) || chdir(folder))
        abort();
    rows.data = malloc(1 << 16);
    uint64_t random = 5;
    for (int i = 0; i < 1000; i++)
        rows.size += (size_t)sprintf(rows.data + rows.size, "customer %d of region %d\n",
                                     i * i % 977, (int)(check_random(&random) % 9));
    save("rows", rows.data, rows.size);
    save("sample", rows.data, rows.size);
    static const char *const make_column[] = {"-q",     "-f",   "--chunk=9K", "-o",
                                              "in.fpc", "rows", NULL};
    static const char *const make_dictionary[] = {"-q", "-f", "--train-dict=dict", "sample", NULL};
    run_result r = run(make_column, NULL, no_fault);
    CHECK_EQ(r.code, 0);
    CHECK(!r.leaked_memory && !r.leaked_descriptors);
    free(r.said.data);
    column = load("in.fpc");
    r = run(make_dictionary, NULL, no_fault);
    CHECK_EQ(r.code, 0);
    free(r.said.data);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        task *t = &tasks[i];
        prepare(t);
        r = run(t->words, t->stdin_, no_fault);
        if (t->needs_zstd && r.code && strstr(r.said.data, "zstd")) {
            free(r.said.data);
            continue;
        }
        CHECK(r.code == 0 && r.said.size == 0 && !r.leaked_memory && !r.leaked_descriptors);
        if (r.code) fprintf(stderr, "  %s: %s\n", t->name, r.said.data);
        free(r.said.data);
        t->expected = t->output ? load(t->output) : (bytes){0};
        t->expected_stdout = load("stdout");
        run_faults(t, scale && *scale ? strtod(scale, NULL) : 1);
        if (t->removes && !strcmp(t->input, "rows")) swap_input(t);
        if (!strcmp(t->input, "in.fpc")) cut_input(t);
        free(t->expected.data), free(t->expected_stdout.data);
    }
    static const char *const files[] = {"rows", "sample",   "in.fpc", "dict",
                                        "out",  "rows.fpc", "stdout", "stderr"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) unlink(files[i]);
    CHECK(chdir("/") == 0 && rmdir(folder) == 0);
    free(rows.data), free(column.data), free((void *)(uintptr_t)command);
    return check_done();
}
