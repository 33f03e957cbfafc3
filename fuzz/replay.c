/* replay.c - runs a fuzz target over files, without libFuzzer: to repeat a finding, or to test with
 * any compiler.
 *
 *     replay_open FILE...
 *
 * Each argument is a file, or a folder whose files are taken in order of name. Where a target has a
 * mutator of its own, FASTPAIR_REPLAY_MUTATIONS=N also runs N files made from each by it. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
    __attribute__((weak));

static uint64_t files_run, mutations_run;

/* Each made from the one before, so that changes add up. */
static void run_mutations(const uint8_t *data, size_t size) {
    const char *asked = getenv("FASTPAIR_REPLAY_MUTATIONS");
    unsigned count = asked && LLVMFuzzerCustomMutator ? (unsigned)strtoul(asked, NULL, 10) : 0;
    size_t most = size * 2 + 4096, now = 0;
    uint8_t *room = fuzz_need(most);
    for (unsigned seed = 0; seed < count; seed++, mutations_run++) {
        if (seed % 8 == 0 || now == 0) {
            memcpy(room, data, size);
            now = size;
        }
        now = LLVMFuzzerCustomMutator(room, now, most, seed);
        uint8_t *exact = fuzz_need(now);
        memcpy(exact, room, now);
        LLVMFuzzerTestOneInput(exact, now);
        free(exact);
    }
    free(room);
}

static int run_file(FILE *file, const char *path) {
    size_t size = 0, capacity = 1 << 16;
    uint8_t *data = fuzz_need(capacity);
    size_t got;
    while ((got = fread(data + size, 1, capacity - size, file)) > 0) {
        size += got;
        if (size == capacity && !(data = realloc(data, capacity *= 2))) abort();
    }
    int failed = ferror(file);
    if (failed) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    } else {
        /* Exactly as large as the input, so that sanitizers see a read past it. */
        uint8_t *exact = fuzz_need(size);
        memcpy(exact, data, size);
        fprintf(stderr, "%s: %zu bytes\n", path, size);
        LLVMFuzzerTestOneInput(exact, size);
        run_mutations(exact, size);
        free(exact);
        files_run++;
    }
    free(data);
    return failed;
}

static int run_path(const char *path) {
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0 && errno == ENOTDIR) {
        FILE *file = fopen(path, "rb");
        if (file) {
            int failed = run_file(file, path);
            fclose(file);
            return failed;
        }
    }
    if (count < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    int failed = 0;
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.') {
            size_t size = strlen(path) + strlen(names[i]->d_name) + 2;
            char *inner = fuzz_need(size);
            snprintf(inner, size, "%s/%s", path, names[i]->d_name);
            failed |= run_path(inner);
            free(inner);
        }
        free(names[i]);
    }
    free(names);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) failed |= run_path(argv[i]);
    printf("%llu files run, %llu mutations\n", (unsigned long long)files_run,
           (unsigned long long)mutations_run);
    return failed || files_run == 0;
}
