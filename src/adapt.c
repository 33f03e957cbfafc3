/* adapt.c - which dictionary each chunk gets. In: parsed chunks. Out: chunks marked coded or stored, dictionary blocks
 * where they are needed. Decisions are made one chunk after the other and depend on the rows alone, never on how many
 * chunks were parsed at once, so the file is the same for any number of threads.
 *
 * A dictionary is written when the chunks at hand save more with it than it costs. It is replaced when the data has drifted:
 * a chunk whose tokens are clearly shorter than where the model was trained gets a new model if that pays. */
#include "writer_private.h"

#include <string.h>

/* A chunk this much below the model's bytes per code is worth a try at a new model... */
#define DRIFT_RATE 0.92
/* ...which must make the chunk at least this much smaller, the dictionary's cost spread over the chunks to come. */
#define DRIFT_GAIN   0.95
#define DRIFT_SPREAD 8
/* A model that saves less than this part of a chunk is of little use: then a new one is tried too. */
#define DRIFT_LITTLE_USE 4
/* Chunks to wait after a new model did not pay: twice as many each time, at most this many; and the least bytes worth
 * training on. */
#define DRIFT_MOST_WAIT   32
#define DRIFT_LEAST_BYTES (256u << 10)
/* Narrow numberings that leave out unused bytes are given up after this many surprises. */
#define MOST_RENUMBERINGS 4

const fastpair_dictionary *fp_writer_model(const fastpair_writer *writer) {
    return writer->model ? writer->model : writer->settings.dictionary;
}

fastpair_status fp_adapt_train(fastpair_writer *writer, fastpair_error *error) {
    if (writer->trained) return FASTPAIR_OK;
    writer->trained = 1;
    if (writer->settings.choice.codec == FASTPAIR_CODEC_STORED || writer->settings.dictionary)
        return FASTPAIR_OK;
    fastpair_rows rows = {.rows = writer->pending.rows,
                          .bytes = writer->pending.bytes.data,
                          .offsets = fp_pending_offsets(&writer->pending)};
    return fp_model_from_rows(&rows, &writer->settings, writer->column_bytes, &writer->model, error);
}

void fp_numbering_free(fp_numbering *numbering, const fastpair_allocator *allocator) {
    if (numbering && numbering->owns_dict) fp_dict_free(&numbering->dict, allocator);
    fp_release(allocator, numbering);
}

/* Numbers the model's tokens by `counts`. Unless they are all the column has, tokens that do not occur keep a code too, so
 * that later chunks find every byte; but not if leaving them out makes codes narrower. */
static fastpair_status number_tokens(const fastpair_writer *writer, const uint64_t *counts, int whole,
                                     fp_numbering *numbering, fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    const fastpair_dictionary *model = fp_writer_model(writer);
    if (settings->dictionary) {
        /* Borrowed: a given dictionary is used as it is, so that columns that share it have the same block. */
        numbering->dict = model->dict;
        memcpy(numbering->code_of_id, model->code_of_id, model->tokens.count * sizeof *numbering->code_of_id);
        fp_dict_expand(&numbering->dict, NULL, numbering->lengths_of_code);
        return FASTPAIR_OK;
    }
    /* Only used tokens first; then, unless that was right, all of them; then back if they cost a bit. */
    int only_used = whole || writer->renumberings < MOST_RENUMBERINGS;
    uint32_t narrow_bits = 0;
    for (int attempt = 0; attempt < 3; attempt++) {
        fp_dict_free(&numbering->dict, &settings->allocator);
        numbering->owns_dict = 1;
        fastpair_status status =
            /* Whoever encodes has a model, trained or given. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
            fp_dict_order(&model->tokens, counts, only_used, settings->hot_codes, model->choice.codec,
                          model->seed, &settings->allocator, &numbering->dict, numbering->code_of_id, error);
        if (status) return status;
        if (whole || (attempt == 0 && !only_used) || attempt == 2) break;
        if (attempt == 0) narrow_bits = numbering->dict.code_bits;
        if (attempt == 1 && narrow_bits == numbering->dict.code_bits) break;
        only_used = !only_used;
    }
    fp_dict_expand(&numbering->dict, NULL, numbering->lengths_of_code);
    return FASTPAIR_OK;
}

/* What coding a chunk saves over storing it, without the dictionary; 0 if nothing. */
static uint64_t saving(const fp_job *job, uint32_t code_bits, uint32_t batch_codes) {
    uint64_t stored = fp_job_bytes(job), coded = fp_job_coded_size(job, code_bits, batch_codes);
    return coded < stored ? stored - coded : 0;
}

static void mark_coded(fastpair_writer *writer, fp_job *job) {
    job->coded = saving(job, writer->numbering->dict.code_bits, writer->settings.batch_codes) > 0;
    if (!job->coded) return;
    uint32_t ids = fp_writer_model(writer)->tokens.count;
    for (uint32_t id = 0; id < ids; id++) {
        writer->counts[id] += job->counts[id];
        writer->used[id] |= job->counts[id] != 0;
    }
}

/* Numbers by the chunks at hand (and those before them). If the chunks save more than the dictionary costs, it is written
 * and they are coded with it; otherwise they are stored and the numbering stays what it was. */
static fastpair_status adopt_numbering(fastpair_writer *writer, uint32_t from, uint32_t to, int whole,
                                       fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    const fastpair_allocator *allocator = &settings->allocator;
    uint32_t ids = fp_writer_model(writer)->tokens.count;
    uint64_t codes = 0, saved = 0;
    for (uint32_t j = from; j < to; j++) {
        writer->jobs[j].coded = 0;
        codes += writer->jobs[j].codes;
    }
    if (!codes) return FASTPAIR_OK;
    fastpair_status status = FASTPAIR_OK;
    uint64_t *counts = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *counts);
    fp_numbering *numbering = fp_allocate_zero(allocator, 1, sizeof *numbering);
    if (!counts || !numbering) {
        status = fp_fail_memory(error, sizeof *numbering);
    } else {
        memcpy(counts, writer->counts, ids * sizeof *counts);
        for (uint32_t j = from; j < to; j++)
            for (uint32_t id = 0; id < ids; id++) counts[id] += writer->jobs[j].counts[id];
        status = number_tokens(writer, counts, whole, numbering, error);
    }
    for (uint32_t j = from; j < to && !status; j++)
        saved += saving(&writer->jobs[j], numbering->dict.code_bits, settings->batch_codes);
    if (!status && saved > fp_dict_block_size(&numbering->dict, settings->alignment)) {
        fp_numbering *old = writer->numbering;
        writer->numbering = numbering;
        numbering = old;
        status = fp_writer_emit_dictionary(writer, error);
        for (uint32_t j = from; j < to && !status; j++) mark_coded(writer, &writer->jobs[j]);
    }
    fp_numbering_free(numbering, allocator);
    fp_release(allocator, counts);
    return status;
}

/* Drops tokens that the first chunks never use, from the model and from their counts and ids. */
static fastpair_status prune_model(fastpair_writer *writer, uint32_t count, fastpair_error *error) {
    const fastpair_allocator *allocator = &writer->settings.allocator;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    uint16_t *new_id_of = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *new_id_of);
    uint32_t before = writer->model->tokens.count;
    fastpair_status status = FASTPAIR_OK;
    if (!counts || !new_id_of) {
        status = fp_fail_memory(error, FP_MAX_TOKENS * sizeof *counts);
    } else {
        for (uint32_t j = 0; j < count; j++)
            for (uint32_t id = 0; id < before; id++) counts[id] += writer->jobs[j].counts[id];
        status = fp_model_prune(writer->model, counts, new_id_of, error);
    }
    if (!status && writer->model->tokens.count < before)
        for (uint32_t j = 0; j < count; j++) {
            fp_job *job = &writer->jobs[j];
            for (uint64_t i = 0; i < job->codes; i++) job->ids[i] = new_id_of[job->ids[i]];
            memset(counts, 0, FP_MAX_TOKENS * sizeof *counts);
            for (uint32_t id = 0; id < before; id++)
                if (job->counts[id]) counts[new_id_of[id]] = job->counts[id];
            memcpy(job->counts, counts, FP_MAX_TOKENS * sizeof *counts);
        }
    fp_release(allocator, counts);
    fp_release(allocator, new_id_of);
    return status;
}

static int numbering_covers(const fastpair_writer *writer, const fp_job *job) {
    uint32_t ids = fp_writer_model(writer)->tokens.count;
    for (uint32_t id = 0; id < ids; id++)
        if (job->counts[id] && writer->numbering->code_of_id[id] == FP_NO_CODE) return 0;
    return 1;
}

static double bytes_per_code(const fp_job *job) {
    return job->codes ? (double)fp_job_bytes(job) / (double)job->codes : 0;
}

/* Whether a new model is worth a try: the tokens are clearly shorter than where the model was trained, or the model is of little
 * use for these rows anyway. */
static int has_drifted(const fastpair_writer *writer, const fp_job *job) {
    if (!writer->model || writer->chunks_before_retry || fp_job_bytes(job) < DRIFT_LEAST_BYTES) return 0;
    uint32_t bits = writer->numbering ? writer->numbering->dict.code_bits : writer->model->choice.code_bits;
    return bytes_per_code(job) < DRIFT_RATE * writer->bytes_per_code ||
           saving(job, bits, writer->settings.batch_codes) < fp_job_bytes(job) / DRIFT_LITTLE_USE;
}

/* Tries a new model on chunk `j`. If it pays, finished chunks before it are written, the new model is in force, and the
 * rest of the group has been parsed again. */
static fastpair_status try_new_model(fastpair_writer *writer, uint32_t *done, uint32_t j, uint32_t count,
                                     int *replaced, fastpair_error *error) {
    const fastpair_allocator *allocator = &writer->settings.allocator;
    fp_job *job = &writer->jobs[j];
    fastpair_rows rows = {.rows = job->rows, .bytes = job->bytes, .offsets = job->offsets};
    fastpair_dictionary *model;
    fastpair_status status =
        fp_model_from_rows(&rows, &writer->settings, writer->column_bytes, &model, error);
    if (status) return status;
    fp_job trial = {.bytes = job->bytes, .offsets = job->offsets, .rows = job->rows};
    fp_job_parse(&trial, model, allocator);
    uint64_t dictionary = 0;
    for (uint32_t id = 0; id < model->tokens.count; id++) dictionary += model->tokens.lengths[id];
    uint64_t old_size =
        fp_job_bytes(job) -
        (writer->numbering ? saving(job, writer->numbering->dict.code_bits, writer->settings.batch_codes)
                           : 0);
    uint64_t new_size = fp_job_coded_size(&trial, model->choice.code_bits, writer->settings.batch_codes) +
                        dictionary / DRIFT_SPREAD;
    *replaced = !trial.status && (double)new_size < DRIFT_GAIN * (double)old_size;
    if (trial.status) {
        status = trial.status;
        if (error) *error = trial.error;
    } else if (*replaced) {
        writer->bytes_per_code = bytes_per_code(&trial);
        writer->retry_wait = 0;
    } else {
        writer->bytes_per_code = bytes_per_code(job);
        writer->retry_wait = writer->retry_wait ? 2 * writer->retry_wait : 2;
        if (writer->retry_wait > DRIFT_MOST_WAIT) writer->retry_wait = DRIFT_MOST_WAIT;
        writer->chunks_before_retry = writer->retry_wait;
    }
    fp_job_free(&trial, allocator);
    if (!*replaced) {
        fastpair_dictionary_free(model);
        return status;
    }
    status = fp_writer_emit(writer, *done, j, error);
    *done = j;
    fp_numbering_free(writer->numbering, allocator);
    writer->numbering = NULL;
    fastpair_dictionary_free(writer->model);
    writer->model = model;
    writer->renumberings = 0;
    memset(writer->counts, 0, FP_MAX_TOKENS * sizeof *writer->counts);
    return status ? status : fp_writer_parse(writer, j, count, error);
}

fastpair_status fp_adapt_group(fastpair_writer *writer, uint32_t count, int first_group, int whole,
                               fastpair_error *error) {
    fastpair_status status = FASTPAIR_OK;
    if (!fp_writer_model(writer)) {
        for (uint32_t j = 0; j < count; j++) writer->jobs[j].coded = 0;
        return fp_writer_emit(writer, 0, count, error);
    }
    if (first_group) {
        uint64_t bytes = 0, codes = 0;
        for (uint32_t j = 0; j < count; j++) {
            bytes += fp_job_bytes(&writer->jobs[j]);
            codes += writer->jobs[j].codes;
        }
        writer->bytes_per_code = codes ? (double)bytes / (double)codes : 0;
        if (writer->model) status = prune_model(writer, count, error);
        if (!status) status = adopt_numbering(writer, 0, count, whole, error);
        return status ? status : fp_writer_emit(writer, 0, count, error);
    }
    uint32_t done = 0;
    for (uint32_t j = 0; j < count && !status; j++) {
        fp_job *job = &writer->jobs[j];
        job->coded = 0;
        if (writer->chunks_before_retry) writer->chunks_before_retry--;
        int replaced = 0;
        if (has_drifted(writer, job)) status = try_new_model(writer, &done, j, count, &replaced, error);
        if (status) break;
        if (writer->numbering && numbering_covers(writer, job)) {
            mark_coded(writer, job);
            continue;
        }
        /* No dictionary yet, or one that lacks a byte: chunks before this one go out with what there was. */
        status = fp_writer_emit(writer, done, j, error);
        done = j;
        if (!status && writer->numbering) writer->renumberings++;
        if (!status) status = adopt_numbering(writer, j, j + 1, 0, error);
    }
    return status ? status : fp_writer_emit(writer, done, count, error);
}
