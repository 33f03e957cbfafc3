/* measure.c - one codec on one column in memory.
 *
 * In: rows and compression options. Out: sizes, rates, and whether every byte came back. The trick:
 * timings on a busy machine drift by more than what is compared, so the decoders take turns, round
 * after round, and medians are kept. Output memory is touched before any clock starts: first
 * touches of pages would be measured otherwise.
 */
#include "measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 1000, LEAST_ROUNDS = 3, GPU_LAUNCHES = 100 };

/* What training looks at by default, asked for by name, so that the rate is of the bytes looked at:
 * the sizes that fastpair_expert_options.sample_bytes gives for 0. */
static uint64_t default_sample(fastpair_codec codec, uint32_t code_bits) {
    static const uint64_t wide_mebibytes[] = {6, 10, 16, 24}; /* 13 to 16 bits */
    if (codec == FASTPAIR_CODEC_FSST12) return 1ull << 20;
    return (code_bits > 12 && code_bits <= 16 ? wide_mebibytes[code_bits - 13] : 4) << 20;
}

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
                   {FASTPAIR_CODEC_ONPAIR, 12, 32},
                   {FASTPAIR_CODEC_ONPAIR, 12, 64},
                   {FASTPAIR_CODEC_FSST12, 12, 8}};
    if (index < 0 || index >= (int)(sizeof(presets) / sizeof(*presets))) return false;
    settings->codec = presets[index].codec;
    settings->code_bits = presets[index].code_bits;
    settings->max_token = presets[index].max_token;
    return true;
}

/* One codec on one column, on its way to its figures. */
typedef struct measuring {
    const fastpair_rows *rows;
    const fastpair_compress_options *settings;
    double seconds; /* per figure */
    cli_measurement *result;
    timings training, encoding;
    timings one_thread, reference, all_threads; /* of decoding */
    uint64_t sample;                            /* bytes that training looked at */
    uint8_t *image;
    uint64_t image_size;
    fastpair_column *single, *column; /* the image, open for one thread and for all */
} measuring;

/* Times training alone, at least once. */
static fastpair_status measure_training(measuring *m, fastpair_error *error) {
    timings *times = &m->training;
    fastpair_expert_options expert = *m->settings->expert;
    if (!expert.sample_bytes)
        expert.sample_bytes = default_sample(m->settings->codec, m->settings->code_bits);
    m->sample = expert.sample_bytes;
    fastpair_compress_options settings = *m->settings;
    settings.expert = &expert;
    double end = cli_now() + m->seconds;
    do {
        fastpair_dictionary *dictionary;
        double start = cli_now();
        fastpair_status status = fastpair_dictionary_train(m->rows, &settings, &dictionary, error);
        if (status != FASTPAIR_OK) return status;
        times->seconds[times->count++] = cli_now() - start;
        fastpair_dictionary_close(dictionary);
    } while (cli_now() < end && times->count < MOST_ROUNDS);
    return FASTPAIR_OK;
}

/* Times the whole compression, at least once, and keeps the last image. */
static fastpair_status measure_encoding(measuring *m, fastpair_error *error) {
    timings *times = &m->encoding;
    double end = cli_now() + m->seconds;
    do {
        fastpair_free(NULL, m->image);
        m->image = NULL;
        double start = cli_now();
        fastpair_status status =
            fastpair_compress(m->rows, m->settings, &m->image, &m->image_size, error);
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
                                  decode_memory *memory, bool with_offsets, fastpair_error *error) {
    fastpair_destination destination = {.struct_size = sizeof(destination),
                                        .bytes = memory->bytes,
                                        .bytes_capacity = cli_rows_size(rows),
                                        .offsets = with_offsets ? memory->offsets : NULL,
                                        .offset_bits = with_offsets ? 64 : 0};
    return fastpair_column_decode(column, 0, rows->rows, &destination, error);
}

/* Whether the bytes in memory are those of the rows; spoils them for the next decoder. */
static bool bytes_match(const fastpair_rows *rows, decode_memory *memory) {
    uint64_t size = cli_rows_size(rows);
    bool same = size == 0 || memcmp(memory->bytes, rows->bytes + cli_row_start(rows, 0), size) == 0;
    memset(memory->bytes, 0xa5, size + CLI_REFERENCE_SLACK);
    return same;
}

static bool offsets_match(const fastpair_rows *rows, const decode_memory *memory) {
    for (uint64_t i = 0; i <= rows->rows; i++)
        if (memory->offsets[i] != cli_row_start(rows, i) - cli_row_start(rows, 0)) return false;
    return true;
}

/* Every decoder once, with every byte and offset compared. Touches all output memory on the way. */
static fastpair_status verify_decoders(measuring *m, decode_memory *memory, fastpair_error *error) {
    const fastpair_rows *rows = m->rows;
    cli_measurement *result = m->result;
    memset(memory->bytes, 0xa5, cli_rows_size(rows) + CLI_REFERENCE_SLACK);
    fastpair_status status = decode_all(m->single, rows, memory, true, error);
    if (status != FASTPAIR_OK) return status;
    result->verified = bytes_match(rows, memory) && offsets_match(rows, memory);
    status = decode_all(m->column, rows, memory, true, error);
    if (status != FASTPAIR_OK) return status;
    result->verified = bytes_match(rows, memory) && offsets_match(rows, memory) && result->verified;
    cli_reference_decode(memory->reference, memory->bytes);
    result->verified = bytes_match(rows, memory) && result->verified;
    return FASTPAIR_OK;
}

/* The time of this thread alone, so that what else a busy machine does is not measured; of all if
 * there is no such clock. */
static double thread_now(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)) return cli_now();
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A short sleep, so that on a busy machine every decoder starts with a fresh time slice, not with
 * what its predecessor left of one. */
static void rest(void) {
    struct timespec pause = {.tv_nsec = 300000};
    nanosleep(&pause, NULL);
}

/* The decoders in turns, for three times `seconds` together. What is one thread's work is timed by
 * its own clock. */
static fastpair_status measure_decoding(measuring *m, decode_memory *memory,
                                        fastpair_error *error) {
    double end = cli_now() + 3 * m->seconds;
    for (int round = 0; round < MOST_ROUNDS && (round < LEAST_ROUNDS || cli_now() < end); round++) {
        rest();
        double start = thread_now();
        fastpair_status status = decode_all(m->single, m->rows, memory, false, error);
        m->one_thread.seconds[round] = thread_now() - start;
        if (status != FASTPAIR_OK) return status;
        rest();
        start = thread_now();
        cli_reference_decode(memory->reference, memory->bytes);
        m->reference.seconds[round] = thread_now() - start;
        rest();
        start = cli_now();
        status = decode_all(m->column, m->rows, memory, false, error);
        m->all_threads.seconds[round] = cli_now() - start;
        if (status != FASTPAIR_OK) return status;
        m->one_thread.count = m->reference.count = m->all_threads.count = round + 1;
    }
    m->result->verified = bytes_match(m->rows, memory) && m->result->verified;
    return FASTPAIR_OK;
}

/* Opens the image twice and measures its decoders. It is the library's own: the reference loop may
 * trust what validation accepts. */
static fastpair_status measure_column(measuring *m, fastpair_error *error) {
    cli_measurement *result = m->result;
    fastpair_open_options one = cli_open_options(1), all = cli_open_options(result->threads);
    fastpair_status status = fastpair_column_open(m->image, m->image_size, &one, &m->single, error);
    if (status == FASTPAIR_OK)
        status = fastpair_column_open(m->image, m->image_size, &all, &m->column, error);
    if (status == FASTPAIR_OK) status = fastpair_column_validate(m->column, error);
    result->info.struct_size = sizeof(result->info);
    if (status == FASTPAIR_OK) status = fastpair_column_get_info(m->column, &result->info, error);
    if (status != FASTPAIR_OK) return status;
    result->figures = cli_figures_of(&result->info);
    /* As asked for: codes may be narrower where few tokens occur. */
    if (m->settings->codec != FASTPAIR_CODEC_AUTO)
        cli_codec_name(m->settings->codec, m->settings->code_bits, m->settings->max_token,
                       result->figures.codec);
    decode_memory memory = {.bytes = malloc(cli_rows_size(m->rows) + CLI_REFERENCE_SLACK),
                            .offsets = malloc((m->rows->rows + 1) * sizeof(uint64_t)),
                            .reference = cli_reference_open(m->image, m->image_size)};
    if (memory.bytes && memory.offsets && memory.reference) {
        status = verify_decoders(m, &memory, error);
        if (status == FASTPAIR_OK && result->verified) status = measure_decoding(m, &memory, error);
    } else {
        *error = (fastpair_error){.status = FASTPAIR_ERROR_OUT_OF_MEMORY,
                                  .message = "no room for the decoded column"};
        status = FASTPAIR_ERROR_OUT_OF_MEMORY;
    }
    free(memory.bytes);
    free(memory.offsets);
    cli_reference_close(memory.reference);
    return status;
}

/* The GPU's figures, where --backend allows one and there is one. */
static fastpair_status measure_on_gpu(const cli_options *options, measuring *m,
                                      fastpair_error *error) {
    fastpair_error why;
    fastpair_gpu *gpu = cli_backend_open_gpu(options, &why);
    if (!gpu) return FASTPAIR_OK;
    cli_measurement *result = m->result;
    cli_gpu_subject subject = {m->image, m->image_size, m->rows->bytes + cli_row_start(m->rows, 0)};
    fastpair_status status = cli_measure_gpu(gpu, &subject, GPU_LAUNCHES, &result->gpu, error);
    fastpair_gpu_close(gpu);
    if (status == FASTPAIR_OK) result->verified = result->verified && result->gpu.verified;
    return status;
}

static void set_rates(measuring *m) {
    uint64_t bytes = cli_rows_size(m->rows);
    m->result->train_mb_s = median_rate(&m->training, m->sample < bytes ? m->sample : bytes);
    m->result->encode_mb_s = median_rate(&m->encoding, bytes);
    m->result->decode_1_mb_s = median_rate(&m->one_thread, bytes);
    m->result->reference_mb_s = median_rate(&m->reference, bytes);
    m->result->decode_mb_s = median_rate(&m->all_threads, bytes);
}

int cli_measure(const cli_options *options, const char *name, const fastpair_rows *rows,
                const fastpair_compress_options *settings, double seconds,
                cli_measurement *result) {
    *result = (cli_measurement){.threads = cli_threads(options, 0)};
    measuring *m = calloc(1, sizeof(*m));
    if (!m) return cli_fail_errno(name, ENOMEM);
    m->rows = rows;
    m->settings = settings;
    m->seconds = seconds;
    m->result = result;
    fastpair_error error;
    fastpair_status status = FASTPAIR_OK;
    if (settings->codec != FASTPAIR_CODEC_STORED && settings->codec != FASTPAIR_CODEC_AUTO &&
        cli_rows_size(rows) > 0)
        status = measure_training(m, &error);
    if (status == FASTPAIR_OK) status = measure_encoding(m, &error);
    if (status == FASTPAIR_OK) status = measure_column(m, &error);
    if (status == FASTPAIR_OK) status = measure_on_gpu(options, m, &error);
    if (status == FASTPAIR_OK) set_rates(m);
    fastpair_column_close(m->single);
    fastpair_column_close(m->column);
    fastpair_free(NULL, m->image);
    free(m);
    return status == FASTPAIR_OK ? CLI_OK : cli_fail_status(name, &error);
}
