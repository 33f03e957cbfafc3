/* settings.c - from the caller's options to checked settings. In: fastpair_compress_options and the
 * expert options they point to. Out: fp_settings. Refuses values outside their documented ranges
 * and names the field. */
#include "settings.h"

#include "format.h"
#include "frame.h"
#include "options.h"
#include "parts.h"
#include "threads.h"

/* The least chunk, in units of the alignment. A chunk's header, gaps and footer entry take up to 11
 * alignments of 64 bytes, or 6 of 4096. Chunks may be half full, if rows are that long. So a file
 * is below three times its rows, whatever chunks are asked for. */
#define LEAST_CHUNK 16u

#define REFUSE(condition, ...)                                                                     \
    if (condition)                                                                                 \
    return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION, __VA_ARGS__)

static fastpair_status resolve_codec(const fastpair_compress_options *given,
                                     fp_codec_choice *choice, fastpair_error *error) {
    *choice = (fp_codec_choice){given->codec, given->code_bits, given->max_token};
    switch (given->codec) {
    case FASTPAIR_CODEC_AUTO:
    case FASTPAIR_CODEC_STORED:
        REFUSE(given->code_bits || given->max_token,
               "code_bits and max_token must be 0 unless codec is onpair");
        return FASTPAIR_OK;
    case FASTPAIR_CODEC_ONPAIR:
        REFUSE(given->code_bits && (given->code_bits < 9 || given->code_bits > 16),
               "code_bits is %u; onpair takes 9..16", given->code_bits);
        REFUSE(given->max_token && given->max_token != 8 && given->max_token != 16 &&
                   given->max_token != 32 && given->max_token != 64,
               "max_token is %u; onpair takes 8, 16, 32 or 64", given->max_token);
        if (!choice->code_bits) choice->code_bits = 16;
        if (!choice->max_token) choice->max_token = 16;
        return FASTPAIR_OK;
    case FASTPAIR_CODEC_FSST12:
        REFUSE(given->code_bits && given->code_bits != 12, "code_bits is %u; fsst12 has 12",
               given->code_bits);
        REFUSE(given->max_token && given->max_token != 8, "max_token is %u; fsst12 has 8",
               given->max_token);
        choice->code_bits = 12;
        choice->max_token = 8;
        return FASTPAIR_OK;
    }
    REFUSE(1, "unknown codec %d", (int)given->codec);
}

fastpair_status fp_settings_resolve(const fastpair_compress_options *options, fp_settings *settings,
                                    fastpair_error *error) {
    fastpair_compress_options given;
    fastpair_expert_options expert;
    fastpair_metadata metadata;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fp_options_copy(given.expert, &expert, sizeof expert, error);
    if (!status) status = fp_options_copy(given.metadata, &metadata, sizeof metadata, error);
    if (!status) status = fp_metadata_check(&metadata, NULL, error);
    if (status) return status;
    *settings = (fp_settings){.goal = given.goal,
                              .level = given.level ? given.level : FASTPAIR_LEVEL_DEFAULT,
                              .cold = given.cold,
                              .seed = expert.seed,
                              .sample_bytes = expert.sample_bytes,
                              .chunk_bytes = given.chunk_bytes ? given.chunk_bytes : 8u << 20,
                              .batch_codes = expert.batch_codes,
                              .alignment = expert.section_alignment ? expert.section_alignment : 64,
                              .hot_codes = expert.hot_codes,
                              .threads = given.threads ? given.threads : 1,
                              .dictionary = given.dictionary,
                              .progress = given.progress,
                              .progress_context = given.progress_context,
                              .bound_bytes = expert.bound_bytes,
                              .metadata = metadata};
    if ((status = fp_allocator_resolve(&given.allocator, &settings->allocator, error)) ||
        (status = resolve_codec(&given, &settings->choice, error)))
        return status;
    REFUSE(given.dictionary && given.codec != FASTPAIR_CODEC_AUTO,
           "codec must be 0 when a dictionary is given: the dictionary has its own");
    REFUSE((unsigned)given.goal > FASTPAIR_GOAL_SPEED, "unknown goal %d", (int)given.goal);
    REFUSE(given.level > FASTPAIR_LEVEL_MOST, "level is %u; the most is %u", given.level,
           FASTPAIR_LEVEL_MOST);
    REFUSE(given.cold != 0 && given.cold != 1, "cold is %d; it must be 0 or 1", given.cold);
    if (given.cold && !fp_frames_available()) return fp_frames_missing(FASTPAIR_NO_POSITION, error);
    REFUSE(settings->chunk_bytes > 1u << 30, "chunk_bytes is %llu; the most is 1 GiB",
           (unsigned long long)settings->chunk_bytes);
    REFUSE(settings->batch_codes % 32 || settings->batch_codes > FP_MAX_BATCH,
           "batch_codes is %u; it must be a multiple of 32 in 32..1024", settings->batch_codes);
    REFUSE(settings->alignment != 64 && settings->alignment != 4096,
           "section_alignment is %u; it must be 64 or 4096", settings->alignment);
    if (settings->chunk_bytes < LEAST_CHUNK * settings->alignment)
        settings->chunk_bytes = LEAST_CHUNK * settings->alignment;
    REFUSE(settings->hot_codes > 65536 && settings->hot_codes != FASTPAIR_NO_HOT_CODES,
           "hot_codes is %u; there are at most 65536 codes", settings->hot_codes);
    uint32_t bound = settings->bound_bytes;
    REFUSE(bound && bound != 8 && bound != 16 && bound != 32 && bound != 64 &&
               bound != FASTPAIR_NO_BOUNDS,
           "bound_bytes is %u; it must be 8, 16, 32 or 64", bound);
    REFUSE(settings->threads > FP_MAX_THREADS, "threads is %u; the most is %u", settings->threads,
           FP_MAX_THREADS);
    return FASTPAIR_OK;
}

fp_packing fp_packing_for(const fp_settings *settings, uint32_t code_bits, uint32_t max_token) {
    uint32_t batch = settings->batch_codes ? settings->batch_codes : 256,
             most = FP_LARGEST_BATCH / max_token;
    if (batch > most) batch = most;
    return (fp_packing){code_bits, batch, fp_group_batches(batch, max_token)};
}

void fp_settings_poll(fp_settings *settings, uint64_t column_bytes, fp_poll *poll) {
    poll->progress = settings->progress;
    poll->context = settings->progress_context;
    poll->done = poll->unasked = 0;
    poll->total = column_bytes;
    poll->caller = pthread_self();
    atomic_init(&poll->stopped, 0);
    settings->poll = poll;
}
