/* replay.c - runs a fuzz target over files, without libFuzzer: to repeat a finding, or to test with any compiler.
 *
 *     replay_open FILE...
 *
 * Each argument is a file, or a folder whose files are taken in order of name. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>

static uint64_t files_run;

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
        /* Exactly as large as the input, so that sanitizers see a read behind it. */
        uint8_t *exact = fuzz_need(size);
        memcpy(exact, data, size);
        fprintf(stderr, "%s: %zu bytes\n", path, size);
        LLVMFuzzerTestOneInput(exact, size);
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
    printf("%llu files run\n", (unsigned long long)files_run);
    return failed || files_run == 0;
}
