/* measure.c - one codec on one column in memory.
 *
 * In: rows and compression options. Out: sizes, rates, and whether every byte came back. The trick: timings on a busy
 * machine drift by more than what is compared, so the decoders take turns, round after round, and medians are kept.
 * Output memory is touched before any clock starts: first touches of pages would be measured otherwise.
 */
#include "measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 1000, LEAST_ROUNDS = 3, GPU_LAUNCHES = 100 };

typedef struct timings {
    double seconds[MOST_ROUNDS];
    int count;
} timings;

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 10^6 bytes per second at the median time. */
static double median_rate(timings *times, uint64_t bytes) {
    if (times->count == 0 || bytes == 0) return NAN;
    qsort(times->seconds, (size_t)times->count, sizeof(double), compare_times);
    double middle = times->seconds[times->count / 2];
    return middle > 0 ? (double)bytes / middle * 1e-6 : NAN;
}

bool cli_preset(int index, fastpair_compress_options *settings) {
    static const struct {
        fastpair_codec codec;
        uint32_t code_bits;
        uint32_t max_token;
    } presets[] = {{FASTPAIR_CODEC_ONPAIR, 16, 16},
                   {FASTPAIR_CODEC_ONPAIR, 12, 16},
                   {FASTPAIR_CODEC_FSST12, 12, 8}};
    if (index < 0 || index >= (int)(sizeof(presets) / sizeof(*presets))) return false;
    settings->codec = presets[index].codec;
    settings->code_bits = presets[index].code_bits;
    settings->max_token = presets[index].max_token;
    return true;
}

/* Times training alone, at least once. */
static fastpair_status measure_training(const fastpair_rows *rows,
                                        const fastpair_compress_options *settings, double seconds,
                                        timings *times, fastpair_error *error) {
    double end = cli_now() + seconds;
    do {
        fastpair_dictionary *dictionary;
        double start = cli_now();
        fastpair_status status = fastpair_dictionary_train(rows, settings, &dictionary, error);
        if (status != FASTPAIR_OK) return status;
        times->seconds[times->count++] = cli_now() - start;
        fastpair_dictionary_free(dictionary);
    } while (cli_now() < end && times->count < MOST_ROUNDS);
    return FASTPAIR_OK;
}

/* Times the whole compression, at least once, and keeps the last image. */
static fastpair_status measure_encoding(const fastpair_rows *rows,
                                        const fastpair_compress_options *settings, double seconds,
                                        timings *times, uint8_t **image, uint64_t *size,
                                        fastpair_error *error) {
    double end = cli_now() + seconds;
    *image = NULL;
    do {
        fastpair_free(NULL, *image);
        *image = NULL;
        double start = cli_now();
        fastpair_status status = fastpair_compress(rows, settings, image, size, error);
        if (status != FASTPAIR_OK) return status;
        times->seconds[times->count++] = cli_now() - start;
    } while (cli_now() < end && times->count < MOST_ROUNDS);
    return FASTPAIR_OK;
}

/* Memory for decoded bytes and offsets. */
typedef struct decode_memory {
    uint8_t *bytes;
    uint64_t *offsets;
    cli_reference *reference;
} decode_memory;

static fastpair_status decode_all(const fastpair_column *column, const fastpair_rows *rows,
                                  decode_memory *memory, bool with_offsets, uint32_t threads,
                                  fastpair_error *error) {
    fastpair_destination destination = {.bytes = memory->bytes,
                                        .bytes_capacity =
                                            rows->offsets[rows->rows] - rows->offsets[0],
                                        .offsets = with_offsets ? memory->offsets : NULL,
                                        .offset_bits = with_offsets ? 64 : 0};
    return fastpair_column_decode(column, 0, rows->rows, &destination, threads, error);
}

/* Whether the bytes in memory are those of the rows; spoils them for the next decoder. */
static bool bytes_match(const fastpair_rows *rows, decode_memory *memory) {
    uint64_t size = rows->offsets[rows->rows] - rows->offsets[0];
    bool same = size == 0 || memcmp(memory->bytes, rows->bytes + rows->offsets[0], size) == 0;
    memset(memory->bytes, 0xa5, size + CLI_REFERENCE_SLACK);
    return same;
}

static bool offsets_match(const fastpair_rows *rows, const decode_memory *memory) {
    for (uint64_t i = 0; i <= rows->rows; i++)
        if (memory->offsets[i] != rows->offsets[i] - rows->offsets[0]) return false;
    return true;
}

/* Every decoder once, with every byte and offset compared. Touches all output memory on the way. */
static fastpair_status verify_decoders(const fastpair_column *column, const fastpair_rows *rows,
                                       decode_memory *memory, cli_measurement *result,
                                       fastpair_error *error) {
    memset(memory->bytes, 0xa5, rows->offsets[rows->rows] - rows->offsets[0] + CLI_REFERENCE_SLACK);
    fastpair_status status = decode_all(column, rows, memory, true, 1, error);
    if (status != FASTPAIR_OK) return status;
    result->verified = bytes_match(rows, memory) && offsets_match(rows, memory);
    status = decode_all(column, rows, memory, true, result->threads, error);
    if (status != FASTPAIR_OK) return status;
    result->verified = bytes_match(rows, memory) && offsets_match(rows, memory) && result->verified;
    cli_reference_decode(memory->reference, memory->bytes);
    result->verified = bytes_match(rows, memory) && result->verified;
    return FASTPAIR_OK;
}

/* The time of this thread alone, so that what else a busy machine does is not measured; of all if there is no such clock. */
static double thread_now(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)) return cli_now();
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A short sleep, so that on a busy machine every decoder starts with a fresh time slice, not with what its predecessor
 * left of one. */
static void rest(void) {
    struct timespec pause = {.tv_nsec = 300000};
    nanosleep(&pause, NULL);
}

/* The decoders in turns, for three times `seconds` together. What is one thread's work is timed by its own clock. */
static fastpair_status measure_decoding(const fastpair_column *column, const fastpair_rows *rows,
                                        decode_memory *memory, double seconds,
                                        cli_measurement *result, timings times[3],
                                        fastpair_error *error) {
    double end = cli_now() + 3 * seconds;
    for (int round = 0; round < MOST_ROUNDS && (round < LEAST_ROUNDS || cli_now() < end); round++) {
        rest();
        double start = thread_now();
        fastpair_status status = decode_all(column, rows, memory, false, 1, error);
        times[0].seconds[round] = thread_now() - start;
        if (status != FASTPAIR_OK) return status;
        rest();
        start = thread_now();
        cli_reference_decode(memory->reference, memory->bytes);
        times[1].seconds[round] = thread_now() - start;
        rest();
        start = cli_now();
        status = decode_all(column, rows, memory, false, result->threads, error);
        times[2].seconds[round] = cli_now() - start;
        if (status != FASTPAIR_OK) return status;
        for (int i = 0; i < 3; i++) times[i].count = round + 1;
    }
    result->verified = bytes_match(rows, memory) && result->verified;
    return FASTPAIR_OK;
}

static fastpair_status measure_column(const fastpair_column *column, const fastpair_rows *rows,
                                      const fastpair_compress_options *settings, double seconds,
                                      cli_measurement *result, timings times[3],
                                      fastpair_error *error) {
    uint64_t bytes = rows->offsets[rows->rows] - rows->offsets[0];
    result->info.struct_size = sizeof(result->info);
    fastpair_status status = fastpair_column_get_info(column, &result->info, error);
    if (status != FASTPAIR_OK) return status;
    result->figures = cli_figures_of(&result->info);
    if (settings->codec !=
        FASTPAIR_CODEC_AUTO) /* as asked for: codes may be narrower where few tokens occur */
        cli_codec_name(settings->codec, settings->code_bits, settings->max_token,
                       result->figures.codec);
    decode_memory memory = {.bytes = malloc(bytes + CLI_REFERENCE_SLACK),
                            .offsets = malloc((rows->rows + 1) * sizeof(uint64_t)),
                            .reference = cli_reference_create(column)};
    if (memory.bytes && memory.offsets && memory.reference) {
        status = verify_decoders(column, rows, &memory, result, error);
        if (status == FASTPAIR_OK && result->verified)
            status = measure_decoding(column, rows, &memory, seconds, result, times, error);
    } else {
        *error = (fastpair_error){.status = FASTPAIR_ERROR_OUT_OF_MEMORY,
                                  .message = "no room for the decoded column"};
        status = FASTPAIR_ERROR_OUT_OF_MEMORY;
    }
    free(memory.bytes);
    free(memory.offsets);
    cli_reference_free(memory.reference);
    return status;
}

/* The GPU's figures, where --backend allows one and there is one. */
static fastpair_status measure_on_gpu(const cli_options *options, const fastpair_column *column,
                                      const fastpair_rows *rows, cli_measurement *result,
                                      fastpair_error *error) {
    fastpair_error why;
    fastpair_gpu *gpu = cli_backend_open_gpu(options, &why);
    if (!gpu) return FASTPAIR_OK;
    fastpair_status status = cli_measure_gpu(gpu, column, rows->bytes + rows->offsets[0], NULL,
                                             GPU_LAUNCHES, &result->gpu, error);
    fastpair_gpu_close(gpu);
    if (status == FASTPAIR_OK) result->verified = result->verified && result->gpu.verified;
    return status;
}

int cli_measure(const cli_options *options, const char *name, const fastpair_rows *rows,
                const fastpair_compress_options *settings, double seconds,
                cli_measurement *result) {
    *result = (cli_measurement){.threads = cli_threads(options, 0)};
    timings *times = calloc(5, sizeof(timings)); /* training, encoding, and the three decoders */
    if (!times) return cli_fail_errno(name, ENOMEM);
    fastpair_error error;
    fastpair_status status = FASTPAIR_OK;
    uint8_t *image = NULL;
    uint64_t size = 0, bytes = rows->offsets[rows->rows] - rows->offsets[0];
    fastpair_column *column = NULL;
    if (settings->codec != FASTPAIR_CODEC_STORED && settings->codec != FASTPAIR_CODEC_AUTO &&
        bytes > 0)
        status = measure_training(rows, settings, seconds, &times[0], &error);
    if (status == FASTPAIR_OK)
        status = measure_encoding(rows, settings, seconds, &times[1], &image, &size, &error);
    if (status == FASTPAIR_OK) status = fastpair_column_open(image, size, NULL, &column, &error);
    if (status == FASTPAIR_OK)
        status = measure_column(column, rows, settings, seconds, result, &times[2], &error);
    if (status == FASTPAIR_OK) status = measure_on_gpu(options, column, rows, result, &error);
    int code = status == FASTPAIR_OK ? CLI_OK : cli_fail_status(name, &error);
    if (code == CLI_OK) {
        uint64_t sample = settings->sample_bytes
                              ? settings->sample_bytes
                              : cli_default_sample(settings->codec, settings->code_bits);
        result->train_mb_s = median_rate(&times[0], sample < bytes ? sample : bytes);
        result->encode_mb_s = median_rate(&times[1], bytes);
        result->decode_1_mb_s = median_rate(&times[2], bytes);
        result->reference_mb_s = median_rate(&times[3], bytes);
        result->decode_mb_s = median_rate(&times[4], bytes);
    }
    fastpair_column_close(column);
    fastpair_free(NULL, image);
    free(times);
    return code;
}
