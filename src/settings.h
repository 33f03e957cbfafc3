/* settings.h - compression options, checked and with every default filled in. */
#ifndef FP_SETTINGS_H
#define FP_SETTINGS_H

#include "memory.h"
#include "poll.h"

/* A codec with its parameters. */
typedef struct fp_codec_choice {
    fastpair_codec codec;
    uint32_t code_bits; /* 0 for auto and stored */
    uint32_t max_token;
} fp_codec_choice;

/* More than 15 fields: one for each option. */
typedef struct fp_settings {
    fp_codec_choice choice;
    fastpair_goal goal;
    uint32_t level;
    int cold;
    uint64_t seed;
    uint64_t sample_bytes; /* 0: fp_sample_default of the codec in use */
    uint64_t chunk_bytes;
    uint32_t batch_codes; /* 0: fp_packing_for has a default */
    uint32_t alignment;
    uint32_t hot_codes;
    uint32_t threads;
    const fastpair_dictionary *dictionary;
    fastpair_allocator allocator;
    fastpair_progress progress;
    void *progress_context;
    fp_poll *poll;              /* whom to ask; NULL until fp_settings_poll */
    uint32_t bound_bytes;       /* 0: chosen at the end; FASTPAIR_NO_BOUNDS: none */
    fastpair_metadata metadata; /* points to the caller's memory */
} fp_settings;

/* Checks `options` (NULL: all defaults). INVALID_ARGUMENT names the field and its range. */
fastpair_status fp_settings_resolve(const fastpair_compress_options *options, fp_settings *settings,
                                    fastpair_error *error);

/* How codes of a dictionary are stored: what the sizes of sections follow from. */
typedef struct fp_packing {
    uint32_t code_bits;
    uint32_t batch_codes;   /* B of docs/format.md */
    uint32_t group_batches; /* G */
} fp_packing;

/* B is what the settings say or a default, and no more than keeps a batch of tokens of `max_token`
 * bytes within FP_LARGEST_BATCH. */
fp_packing fp_packing_for(const fp_settings *settings, uint32_t code_bits, uint32_t max_token);

/* Lets work with these settings ask their progress function, from the calling thread. *poll must
 * live as long as the settings are used. */
void fp_settings_poll(fp_settings *settings, uint64_t column_bytes, fp_poll *poll);

#endif
