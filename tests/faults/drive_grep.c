/* drive_grep.c - fpgrep with each of its system calls failing in turn.
 *
 *     drive_grep FPGREP FASTPAIR    both linked with wrap.c
 *
 * For every way to search, for every kind of call and every n, the n-th call fails. Demanded: no
 * crash, nothing leaked; exit code 2 with a message that gives the reason, or the right code with
 * the right output. What was printed before a failure is the beginning of the right output, in
 * whole rows. A file that is cut gives no wrong rows, and no wrong count. */
#define _GNU_SOURCE

#include "run.h"

typedef struct task {
    const char *name;
    const char *words[12];
    const char *stdin_; /* or NULL */
    int code;
    bytes expected;
} task;

static task tasks[] = {
    {"rows", {"-T2", "region 7", "in.fpc"}, NULL, 0, {0}},
    {"rows, one thread", {"-T1", "-n", "-v", "region 7", "in.fpc"}, NULL, 0, {0}},
    {"-c", {"-c", "-T2", "-i", "REGION 7", "in.fpc", "in.fpc"}, NULL, 0, {0}},
    {"-l -f", {"-l", "-T1", "-f", "list", "in.fpc"}, NULL, 0, {0}},
    {"--json", {"--json", "-T1", "-m3", "9 of", "in.fpc"}, NULL, 0, {0}},
    {"--color", {"--color=always", "-T1", "-e", "of", "-e", "77", "in.fpc"}, NULL, 0, {0}},
    {"--like", {"--like", "-T1", "%9 of%2", "in.fpc"}, NULL, 0, {0}},
    {"standard input", {"-T1", "--prefix", "customer 7", "-"}, "in.fpc", 0, {0}},
    {"nothing", {"-T1", "absent", "in.fpc"}, NULL, 1, {0}},
};

static const struct kind {
    const char *name;
    const char *how[3];
} kinds[] = {
    {"read", {"5", "half", "interrupt"}}, {"write", {"28", "half", "interrupt"}},
    {"open", {"24", "13", NULL}},         {"close", {"5", NULL, NULL}},
    {"stat", {"5", NULL, NULL}},          {"map", {"12", NULL, NULL}},
    {"thread", {"11", NULL, NULL}},       {"memory", {"12", NULL, NULL}},
};

static bytes column;

static void complain(const task *t, const char *fault, const run_result *r, const char *what) {
    CHECK(!"a fault is met as it should be");
    fprintf(stderr, "  %s, %s: %s (signal %d, code %d; said: %s)\n", t->name, fault, what,
            r->signal, r->code, r->said.data ? r->said.data : "");
}

/* Whole rows of what is right; -c and JSON are lines, too. */
static int is_beginning(const bytes *printed, const bytes *expected) {
    return printed->size <= expected->size &&
           !memcmp(printed->data, expected->data, printed->size) &&
           (!printed->size || printed->data[printed->size - 1] == '\n');
}

/* One run with a fault; returns whether there was such a call. */
static int run_faulty(const task *t, const struct kind *kind, long n, const char *how) {
    char fault[64];
    snprintf(fault, sizeof fault, "FASTPAIR_FAULT=%s:%ld:%s", kind->name, n, how);
    run_result r = run(t->words, t->stdin_, (const char *[]){fault, NULL});
    int number = atoi(how), is_cut = !strcmp(how, "cut"), reads = !strcmp(kind->name, "read");
    bytes printed = load("stdout");
    if (r.signal || r.code < 0 || r.code > 2) complain(t, fault, &r, "crashed");
    if (r.code < 2 && (r.code != t->code || !same(&printed, &t->expected)))
        complain(t, fault, &r, "said all was well, but the output is not right");
    /* A disk that fills up may take part of a row. */
    if (r.code == 2 && strcmp(kind->name, "write") != 0 && !is_beginning(&printed, &t->expected))
        complain(t, fault, &r, "printed what is not right");
    if (r.leaked_descriptors || r.leaked_memory)
        complain(t, fault, &r, r.leaked_memory ? "leaked memory" : "leaked descriptors");
    if (r.code == 2) {
        if (strncmp(r.said.data, "fpgrep: ", 8) != 0) complain(t, fault, &r, "gave no message");
        if (number && strcmp(kind->name, "memory") != 0 && strcmp(kind->name, "thread") != 0 &&
            !strstr(r.said.data, strerror(number)))
            complain(t, fault, &r, "did not give the reason");
        if (number && !strcmp(kind->name, "memory") && !strstr(r.said.data, "memory"))
            complain(t, fault, &r, "did not say that memory is short");
        if (!number && !is_cut && !reads) complain(t, fault, &r, "did not go on after half a call");
    }
    free(r.said.data), free(printed.data);
    return r.fired;
}

static void run_faults(const task *t, double scale) {
    int cuts = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        int is_memory = !strcmp(kinds[k].name, "memory");
        long step = !is_memory || scale >= 1 ? 1 : (long)(1 / scale), n, total = 0;
        for (int h = 0; h < 3 && kinds[k].how[h]; h++) {
            for (n = 0; run_faulty(t, &kinds[k], n, kinds[k].how[h]); n += step) total++;
            CHECK(n < 100000);
        }
        for (n = 0; run_faulty(t, &kinds[k], n, "cut"); n += step, cuts++)
            save("in.fpc", column.data, column.size);
        save("in.fpc", column.data, column.size);
        if (total) printf("%-18s %-10s %ld faults\n", t->name, kinds[k].name, total);
        /* A search prints, maps and allocates; otherwise nothing was tested. */
        if (is_memory || !strcmp(kinds[k].name, "map")) CHECK(total > 0);
    }
    printf("%-18s %-10s %d faults\n", t->name, "cut", cuts);
    CHECK(cuts > 5);
}

int main(int argc, char **argv) {
    static const char *const no_fault[] = {NULL};
    static const char *const make_column[] = {"-q",     "-f",   "--chunk=9K", "-o",
                                              "in.fpc", "rows", NULL};
    const char *scale = getenv("FASTPAIR_TEST_SCALE");
    char folder[] = "/tmp/fastpair-faults-XXXXXX";
    const char *search = argc == 3 ? realpath(argv[1], NULL) : NULL;
    if (!search || !(command = realpath(argv[2], NULL)) || !mkdtemp(folder) || chdir(folder))
        abort();
    bytes rows = {malloc(1 << 16), 0};
    uint64_t random = 5;
    for (int i = 0; i < 1000; i++)
        rows.size += (size_t)sprintf(rows.data + rows.size, "customer %d of region %d\n",
                                     i * i % 977, (int)(check_random(&random) % 9));
    save("rows", rows.data, rows.size);
    save("list", "absent\nregion 3\n", 16);
    run_result r = run(make_column, NULL, no_fault);
    CHECK_EQ(r.code, 0);
    free(r.said.data), free((void *)(uintptr_t)command);
    column = load("in.fpc");
    command = search;
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        task *t = &tasks[i];
        r = run(t->words, t->stdin_, no_fault);
        t->expected = load("stdout");
        CHECK(r.code == t->code && r.said.size == 0 && !r.leaked_memory && !r.leaked_descriptors);
        CHECK((t->expected.size > 0) == !t->code);
        if (r.code != t->code) fprintf(stderr, "  %s: %s\n", t->name, r.said.data);
        free(r.said.data);
        run_faults(t, scale && *scale ? strtod(scale, NULL) : 1);
        free(t->expected.data);
    }
    static const char *const files[] = {"rows", "list", "in.fpc", "stdout", "stderr"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) unlink(files[i]);
    CHECK(chdir("/") == 0 && rmdir(folder) == 0);
    free(rows.data), free(column.data), free((void *)(uintptr_t)command);
    return check_done();
}
