/* test_gpu_memory.c - a real GPU whose memory is exhausted: by this process, for the library in it,
 * for the command and for a second process that opens the GPU. Each failure is OUT_OF_MEMORY or
 * exit code 1, with a message that says what to do. Nothing is left half done. Once memory is free,
 * the same calls succeed and decode right. Without a GPU it is skipped.
 *
 *     test_gpu_memory          everything; runs itself with "open", and the command: ../fastpair
 *                              beside it or FASTPAIR_COMMAND
 *     test_gpu_memory open     opens the GPU: exit code 10 if there was no memory for it and the
 *                              message says so */
#define _GNU_SOURCE

#include "device_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PIECES = 4096, SMALLEST_PIECE = 64 << 10, NO_MEMORY = 10 };

static char program[PATH_MAX], command[PATH_MAX];

static int says_what_to_do(const char *message) {
    return strstr(message, "free device memory") != NULL;
}

static int open_only(void) {
    fastpair_error error = {.message = ""};
    fastpair_gpu *gpu;
    fastpair_status status = fastpair_gpu_open(NULL, &gpu, &error);
    if (!status) fastpair_gpu_close(gpu);
    printf("  another process: %s\n", status ? error.message : "opened the GPU");
    return !status                                                                    ? 0
           : status == FASTPAIR_ERROR_OUT_OF_MEMORY && says_what_to_do(error.message) ? NO_MEMORY
                                                                                      : 1;
}

/* ---------------------------------------------------------------- filling the device */

typedef struct filling {
    uint64_t pieces[MOST_PIECES];
    int count;
    uint64_t bytes;
} filling;

/* Takes all memory of the device, in ever smaller pieces. */
static void fill_device(const cuda_driver *cuda, filling *f) {
    f->count = 0, f->bytes = 0;
    for (uint64_t piece = 1ull << 40; piece >= SMALLEST_PIECE; piece /= 2)
        while (f->count < MOST_PIECES && !cuda->allocate(&f->pieces[f->count], piece))
            f->count++, f->bytes += piece;
    printf("  took %llu MiB in %d pieces\n", (unsigned long long)f->bytes >> 20, f->count);
    uint64_t more = 0;
    CHECK_EQ(cuda->allocate(&more, 8u << 20), 2);
}

static void empty_device(const cuda_driver *cuda, const filling *f) {
    for (int i = 0; i < f->count; i++) device_ok(cuda, cuda->release(f->pieces[i]));
}

/* ---------------------------------------------------------------- other processes */

/* Runs a program with its messages in the file `said`; its exit code, or -1 for a signal. */
static int run(const char *const *words, const char *said) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int out = said ? open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600) : 1;
        if (out < 0 || dup2(out, 2) < 0) _exit(99);
        execv(words[0], (char *const *)(uintptr_t)words);
        _exit(99);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int files_here(void) {
    DIR *folder = opendir(".");
    int count = 0;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.' || entry->d_name[1] > '.';
    if (folder) closedir(folder);
    return count;
}

/* Whether a file is these bytes. */
static int holds(const char *name, const void *bytes, uint64_t size) {
    FILE *file = fopen(name, "rb");
    uint8_t *found = malloc(size + 1);
    uint64_t got = file && found ? fread(found, 1, size + 1, file) : 0;
    int same = file && found && got == size && memcmp(found, bytes, size) == 0;
    if (file) fclose(file);
    free(found);
    return same;
}

static void save(const char *name, const void *bytes, uint64_t size) {
    FILE *file = fopen(name, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static void read_message(char *message, size_t size) {
    FILE *file = fopen("said", "rb");
    size_t got = file ? fread(message, 1, size - 1, file) : 0;
    message[got] = 0;
    if (file) fclose(file);
    unlink("said");
}

/* The rows as the command writes them. */
static uint8_t *as_text(const sample *s, uint64_t *size) {
    uint64_t bytes = s->offsets[s->rows];
    uint8_t *text = malloc(bytes + s->rows + 1);
    *size = 0;
    for (uint64_t row = 0; text && row < s->rows; row++) {
        uint64_t length = s->offsets[row + 1] - s->offsets[row];
        memcpy(text + *size, s->bytes + s->offsets[row], length);
        *size += length;
        text[(*size)++] = '\n';
    }
    return text;
}

/* The command on the GPU, and with the choice left to it, which means decompressing on the CPU. */
static void test_command(const sample *s, int has_memory) {
    static const char before[] = "what was there before";
    const char *on_gpu[] = {command, "-q", "-df", "--backend=gpu", "-o", "out", "in.fpc", NULL};
    const char *on_any[] = {command, "-q", "-df", "--backend=auto", "-o", "out", "in.fpc", NULL};
    const char *measure[] = {command, "-q", "-b", "-i0.01", "in.txt", NULL};
    char message[2000];
    uint64_t size;
    uint8_t *text = as_text(s, &size);
    save("in.fpc", s->image, s->image_size);
    save("in.txt", text, 5000);
    for (int exists = 0; exists < 2; exists++) {
        if (exists) save("out", before, sizeof before);
        int files = files_here();
        CHECK_EQ(run(on_gpu, "said"), has_memory ? 0 : 1);
        read_message(message, sizeof message);
        if (!has_memory) {
            printf("  %s", message);
            CHECK(says_what_to_do(message) && strstr(message, "--backend=cpu"));
            CHECK_EQ(files_here(), files); /* nothing half done, under any name */
            if (exists) CHECK(holds("out", before, sizeof before));
        } else
            CHECK(holds("out", text, size));
        unlink("out");
    }
    CHECK_EQ(run(on_any, "said"), 0);
    CHECK(holds("out", text, size));
    CHECK_EQ(run(measure, "said"), 0);
    read_message(message, sizeof message);
    static const char *const files[] = {"out", "in.fpc", "in.txt", "said"};
    for (int i = 0; i < 4; i++) unlink(files[i]);
    free(text);
}

static void test_processes(const sample *s, int has_memory) {
    const char *opens[] = {program, "open", NULL};
    CHECK_EQ(run(opens, NULL), has_memory ? 0 : NO_MEMORY);
    if (access(command, X_OK) == 0)
        test_command(s, has_memory);
    else
        printf("  skipped: no command at %s; FASTPAIR_COMMAND names it\n", command);
}

/* ---------------------------------------------------------------- this process */

/* A call that may find no memory: then it says so. Returns whether it succeeded. */
static int may_lack_memory(fastpair_status status, const fastpair_error *error, const char *what) {
    printf("  %s: %s\n", what, status ? error->message : "succeeds");
    CHECK(status == FASTPAIR_OK || status == FASTPAIR_ERROR_OUT_OF_MEMORY);
    if (status) CHECK(says_what_to_do(error->message));
    return status == FASTPAIR_OK;
}

static void test_library(fastpair_gpu *gpu, const cuda_driver *cuda, const sample *s) {
    static filling f;
    fastpair_error error = {.message = ""};
    fastpair_gpu *second;
    device_run run;
    /* The caller's memory is there before; kernels were never launched. */
    CHECK_EQ(run_open_job(&run, cuda, gpu, s, 1, &all_outputs), FASTPAIR_OK);
    run_allocate(&run);
    CHECK_EQ(run_status(&run), 0);
    fill_device(cuda, &f);

    device_run prepared; /* laying out takes no device memory at all */
    CHECK_EQ(run_open_job(&prepared, cuda, gpu, s, 1, &all_outputs), FASTPAIR_OK);
    fastpair_gpu_job_close(prepared.job);
    if (may_lack_memory(fastpair_gpu_open(NULL, &second, &error), &error, "opening it again"))
        fastpair_gpu_close(second);
    else
        CHECK(second == NULL);
    cuda_stream stream = run.outputs.stream;
    if (may_lack_memory(run_upload(&run, NULL, stream), &run.error, "upload") &&
        may_lack_memory(run_decode(&run, NULL, stream), &run.error, "decode"))
        run_check(&run);
    test_processes(s, 0);

    empty_device(cuda, &f);
    device_ok(cuda, outputs_clear(&run, &run.outputs));
    CHECK_EQ(fastpair_gpu_open(NULL, &second, &error), FASTPAIR_OK);
    fastpair_gpu_close(second);
    CHECK_EQ(run_upload(&run, NULL, stream), FASTPAIR_OK);
    CHECK_EQ(run_decode(&run, NULL, stream), FASTPAIR_OK);
    run_check(&run);
    test_processes(s, 1);
    run_close(&run);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "open") == 0) return open_only();
    cuda_driver cuda;
    fastpair_gpu *gpu = open_or_skip(&cuda);
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) abort();
    const char *given = getenv("FASTPAIR_COMMAND");
    snprintf(command, sizeof command, "%.*s/../fastpair", (int)(strrchr(program, '/') - program),
             program);
    if (given && !realpath(given, command)) abort();
    char folder[] = "/tmp/fastpair-memory-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder)) abort();
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 100000};
    sample s = sample_open(L_COMMENT, getenv("FASTPAIR_TEST_SMALL") ? 30000 : 1000000, &options);
    test_library(gpu, &cuda, &s);
    sample_close(&s);
    close_both(gpu, &cuda);
    CHECK(chdir("/") == 0 && rmdir(folder) == 0);
    return check_done();
}
