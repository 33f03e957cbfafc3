/* test_driver.c - GPU decoding where the driver fails: none, too old, no device, device too old,
 * memory exhausted, each driver call failing in turn, the device reset under an open GPU. Every
 * failure is a status and a message that says what to do; nothing is left retained, allocated or
 * current. The driver is fake_cuda.c as libcuda.so.1, so no GPU is needed. Each case runs in a
 * process of its own, as a driver stays loaded. */
#include "calls.h"
#include "check.h"
#include "counting.h"
#include "gpu/layout.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

/* Takes the place of the library's own, so that the kernels count as built. */
const void *fp_kernel_binary(void) { return "kernels"; }

static uint8_t *image;
static uint64_t image_size;

static long (*live)(void);
static int (*fired)(void);
static void (*reset)(void);
static fp_cu_result (*pop)(fp_cu_context *);
static fp_cu_result (*retain)(fp_cu_context *, fp_cu_device);
static fp_cu_result (*let_go)(fp_cu_device);

/* Loads a driver by its path; the library's own dlopen then finds it by its name. */
static int load_fake(const char *folder) {
    char path[1000];
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    *(void **)(void *)&live = dlsym(library, "fake_cuda_live");
    *(void **)(void *)&fired = dlsym(library, "fake_cuda_fired");
    *(void **)(void *)&reset = dlsym(library, "fake_cuda_reset");
    *(void **)(void *)&pop = dlsym(library, "cuCtxPopCurrent_v2");
    *(void **)(void *)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void **)(void *)&let_go = dlsym(library, "cuDevicePrimaryCtxRelease_v2");
    return 1;
}

/* A child process; 1 if all its checks passed. */
static int in_child(void (*work)(const void *), const void *context) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        check_failed = 0;
        work(context);
        fflush(NULL);
        _exit(check_failed ? 1 : 0);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---------------------------------------------------------------- opening */

typedef struct opening {
    const char *folder; /* of the driver; NULL: none is loaded */
    const char *variable, *value;
    fastpair_status status;
    const char *says[2];
} opening;

static void open_and_compare(const void *context) {
    const opening *o = context;
    if (o->folder && !load_fake(o->folder)) exit(2);
    if (o->variable) setenv(o->variable, o->value, 1);
    counting memory;
    counting_start(&memory);
    fastpair_gpu_options options = {.struct_size = sizeof options,
                                    .allocator = counting_hooks(&memory)};
    fastpair_error error = {.message = ""};
    fastpair_gpu *gpu = (fastpair_gpu *)&memory;
    fastpair_status status = fastpair_gpu_open(&options, &gpu, &error);
    CHECK_EQ(status, o->status);
    if (status) {
        CHECK(gpu == NULL && error.status == status && error.position == FASTPAIR_NO_POSITION);
        for (int i = 0; i < 2 && o->says[i]; i++) {
            CHECK(strstr(error.message, o->says[i]) != NULL);
            if (!strstr(error.message, o->says[i]))
                fprintf(stderr, "  ^ said: %s\n", error.message);
        }
    } else
        fastpair_gpu_close(gpu);
    CHECK_EQ(memory.live, 0);
    if (live) CHECK_EQ(live(), 0);
}

static void openings(void) {
    static const char fake[] = FAKE_CUDA_FOLDER, old[] = FAKE_CUDA_OLD_FOLDER;
    static const opening cases[] = {
        {fake, NULL, NULL, FASTPAIR_OK, {NULL}},
        {old, NULL, NULL, FASTPAIR_ERROR_UNSUPPORTED, {"too old", "update it"}},
        {fake, "FAKE_CUDA_DEVICES", "0", FASTPAIR_ERROR_UNSUPPORTED, {"no GPU 0", "nvidia-smi"}},
        {fake, "FAKE_CUDA_COMPUTE", "75", FASTPAIR_ERROR_UNSUPPORTED, {"7.5", "decode on the CPU"}},
        {fake,
         "FAKE_CUDA",
         "cuInit:0:100",
         FASTPAIR_ERROR_UNSUPPORTED,
         {"nvidia-smi", "CUDA_VISIBLE_DEVICES"}},
        {fake,
         "FAKE_CUDA",
         "cuInit:0:34",
         FASTPAIR_ERROR_UNSUPPORTED,
         {"stub", "install the real driver"}},
        {fake, "FAKE_CUDA", "cuInit:0:803", FASTPAIR_ERROR_UNSUPPORTED, {"do not match", "reboot"}},
        {fake,
         "FAKE_CUDA",
         "cuInit:0:802",
         FASTPAIR_ERROR_UNSUPPORTED,
         {"not ready", "fabric manager"}},
        {fake, "FAKE_CUDA", "cuInit:0:9999", FASTPAIR_ERROR_UNSUPPORTED, {"unknown error", "9999"}},
        {fake,
         "FAKE_CUDA",
         "cuDevicePrimaryCtxRetain:0:2",
         FASTPAIR_ERROR_OUT_OF_MEMORY,
         {"free device memory"}},
        {fake,
         "FAKE_CUDA",
         "cuDevicePrimaryCtxRetain:0:46",
         FASTPAIR_ERROR_UNSUPPORTED,
         {"another process", "nvidia-smi"}},
        {fake,
         "FAKE_CUDA",
         "cuModuleLoadData:0:2",
         FASTPAIR_ERROR_OUT_OF_MEMORY,
         {"free device memory"}},
        {fake,
         "FAKE_CUDA",
         "cuModuleLoadData:0:209",
         FASTPAIR_ERROR_UNSUPPORTED,
         {"no kernels for this GPU", "build it"}},
        {fake,
         "FAKE_CUDA",
         "cuModuleLoadData:0:222",
         FASTPAIR_ERROR_UNSUPPORTED,
         {"update the driver"}},
        {fake,
         "FAKE_CUDA",
         "cuModuleGetFunction:3:500",
         FASTPAIR_ERROR_UNSUPPORTED,
         {"finding a kernel"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(in_child(open_and_compare, &cases[i]));
    /* Only where there really is no driver. */
    void *real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    static const opening none = {NULL,
                                 NULL,
                                 NULL,
                                 FASTPAIR_ERROR_UNSUPPORTED,
                                 {"libcuda.so.1 was not found", "decode on the CPU"}};
    if (real)
        printf("there is a driver here: its absence is not tested\n");
    else
        CHECK(in_child(open_and_compare, &none));
}

/* ---------------------------------------------------------------- every call failing in turn */

typedef struct fault {
    const char *call;
    long n;
    int result;
    const char *seen; /* where the child leaves word that the fault happened */
} fault;

/* Every output of a job of one column, in memory of the host's, which is the device's here. */
static fastpair_status upload_and_decode(fastpair_gpu_job *job, fastpair_error *error) {
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    fastpair_status status = fastpair_gpu_job_get_info(job, &info, error);
    if (status) return status;
    void *memory = aligned_alloc(256, (info.device_bytes + 255) / 256 * 256);
    void *bytes = aligned_alloc(256, (info.decoded_bytes + 255) / 256 * 256);
    void *offsets = malloc((info.rows + 1) * 8), *validity = malloc(info.rows / 8 + 4);
    fastpair_gpu_output to = {.struct_size = sizeof to,
                              .bytes = (uint64_t)(uintptr_t)bytes,
                              .bytes_capacity = info.decoded_bytes,
                              .offsets = (uint64_t)(uintptr_t)offsets,
                              .offset_bits = 64,
                              .validity = (uint64_t)(uintptr_t)validity};
    status = fastpair_gpu_job_upload(job, (uint64_t)(uintptr_t)memory, info.device_bytes, NULL,
                                     NULL, error);
    if (!status) status = fastpair_gpu_job_decode(job, &to, NULL, NULL, error);
    free(memory), free(bytes), free(offsets), free(validity);
    return status;
}

/* Opens, lays out, uploads and decodes; asks about a kernel. Returns the first failure. */
static fastpair_status whole_flow(fastpair_error *error) {
    fastpair_column *column = NULL;
    fastpair_gpu *gpu = NULL;
    fastpair_gpu_job *job = NULL;
    fastpair_gpu_kernel_info kernel = {.struct_size = sizeof kernel};
    fastpair_gpu_job_options options = {.struct_size = sizeof options,
                                        .outputs = FASTPAIR_GPU_OFFSETS | FASTPAIR_GPU_VALIDITY,
                                        .regenerate_positions = 1};
    fastpair_status status = fastpair_column_open(image, image_size, NULL, &column, error);
    if (!status) status = fastpair_gpu_open(NULL, &gpu, error);
    if (!status)
        status = fastpair_gpu_job_open(gpu, (const fastpair_column *const *)&column, 1, &options,
                                       &job, error);
    if (!status) status = upload_and_decode(job, error);
    if (!status) status = fastpair_gpu_get_kernel(gpu, 0, &kernel, error);
    fastpair_gpu_job_close(job);
    fastpair_gpu_close(gpu);
    fastpair_column_close(column);
    return status;
}

static void fail_one_call(const void *context) {
    const fault *f = context;
    char setting[100];
    if (!load_fake(FAKE_CUDA_FOLDER)) exit(2);
    /* The program has a context current, as one that uses the runtime API has. */
    fp_cu_result (*push)(fp_cu_context);
    void *library = dlopen(FAKE_CUDA_FOLDER "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    *(void **)(void *)&push = dlsym(library, "cuCtxPushCurrent_v2");
    static char of_the_program;
    fp_cu_context current = NULL;
    CHECK_EQ(push(&of_the_program), 0);
    snprintf(setting, sizeof setting, "%s:%ld:%d", f->call, f->n, f->result);
    setenv("FAKE_CUDA", setting, 1);
    fastpair_error error = {.message = ""};
    fastpair_status status = whole_flow(&error);
    int happened = fired();
    unsetenv("FAKE_CUDA");
    if (happened) {
        FILE *word = fopen(f->seen, "w");
        if (word) fclose(word);
    } else
        CHECK_EQ(status, FASTPAIR_OK);
    if (status) {
        CHECK_EQ(status,
                 f->result == 2 ? FASTPAIR_ERROR_OUT_OF_MEMORY : FASTPAIR_ERROR_UNSUPPORTED);
        CHECK(error.status == status && strstr(error.message, "GPU: ") == error.message);
        if (f->result == 2) CHECK(strstr(error.message, "free device memory") != NULL);
        if (f->result == 700) CHECK(strstr(error.message, "restart") != NULL);
    }
    CHECK_EQ(pop(&current), 0);
    CHECK(current == &of_the_program);
    CHECK_EQ(live(), 0);
    if (check_failed)
        fprintf(stderr, "  ^ %s: status %d, %s\n", setting, (int)status, error.message);
}

static void every_call(void) {
    static const char *const calls[] = {
#define NAME_OF_CALL(name, symbol, parameters) symbol,
        FP_DRIVER_CALLS(NAME_OF_CALL)
#undef NAME_OF_CALL
    };
    char seen[] = "/tmp/fastpair-driver-XXXXXX";
    int fd = mkstemp(seen), total = 0;
    CHECK(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int k = 0; k < 2; k++)
            for (long n = 0; n < 1000; n++, total++) {
                fault f = {calls[i], n, k ? 700 : 2, seen};
                unlink(seen);
                CHECK(in_child(fail_one_call, &f));
                if (access(seen, F_OK) != 0) break;
            }
    unlink(seen);
    printf("%d faults of the driver\n", total);
    CHECK(total > 50);
}

/* ---------------------------------------------------------------- the device is reset */

static void check_refused(fastpair_status status, const fastpair_error *error) {
    CHECK_EQ(status, FASTPAIR_ERROR_UNSUPPORTED);
    CHECK(strstr(error->message, "cudaDeviceReset") && strstr(error->message, "open it again"));
}

/* Handles from before a reset are refused, whether or not the context is in use again, and can be
 * given back. The driver ends the program if one of them reaches it. */
static void reset_and_go_on(const void *context) {
    int in_use_again = *(const int *)context;
    if (!load_fake(FAKE_CUDA_FOLDER)) exit(2);
    fastpair_error error = {.message = ""};
    fastpair_column *column;
    fastpair_gpu *gpu, *another;
    fastpair_gpu_job *job;
    fp_cu_context revived;
    uint64_t memory = 256; /* never touched */
    fastpair_gpu_output to = {
        .struct_size = sizeof to, .bytes = memory, .bytes_capacity = UINT64_MAX};
    CHECK_EQ(fastpair_column_open(image, image_size, NULL, &column, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_open(NULL, &gpu, &error), FASTPAIR_OK);
    CHECK_EQ(
        fastpair_gpu_job_open(gpu, (const fastpair_column *const *)&column, 1, NULL, &job, &error),
        FASTPAIR_OK);
    reset();
    if (in_use_again) CHECK_EQ(retain(&revived, 0), 0);
    check_refused(fastpair_gpu_job_upload(job, memory, UINT64_MAX, NULL, NULL, &error), &error);
    job->device_memory = memory; /* as if uploaded before */
    error.message[0] = 0;
    check_refused(fastpair_gpu_job_decode(job, &to, NULL, NULL, &error), &error);
    CHECK_EQ(fastpair_gpu_open(NULL, &another, &error), FASTPAIR_OK);
    check_refused(fastpair_gpu_job_decode(job, &to, NULL, NULL, &error), &error);
    fastpair_gpu_job_close(job);
    fastpair_gpu_close(gpu);
    fastpair_gpu_close(another);
    if (in_use_again) let_go(0);
    fastpair_column_close(column);
    CHECK_EQ(live(), 0);
}

static void resets(void) {
    for (int in_use_again = 0; in_use_again < 2; in_use_again++)
        CHECK(in_child(reset_and_go_on, &in_use_again));
}

int main(void) {
    /* Several chunks, coded and stored, with nulls. */
    uint8_t text[20000];
    uint64_t offsets[1001] = {0}, random = 3;
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 20; k++)
            text[offsets[i] + (uint64_t)k] =
                (uint8_t)(i < 600 ? (uint64_t)("row of the text....."[k] + i % 3)
                                  : check_random(&random));
        offsets[i + 1] = offsets[i] + 20;
    }
    uint8_t validity[125];
    memset(validity, 0xb7, sizeof validity);
    fastpair_rows rows = view_rows(1000, text, offsets);
    rows.validity = validity;
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = 4000};
    CHECK_EQ(fastpair_compress(&rows, &options, &image, &image_size, NULL), FASTPAIR_OK);
    openings();
    every_call();
    resets();
    fastpair_free(NULL, image);
    return check_done();
}
