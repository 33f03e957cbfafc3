/* renumber.c - which code each token gets in a file. In: a model and parsed chunks. Out: a numbering, its dictionary block, chunks
 * marked coded. A dictionary is written only when the chunks at hand save more with it than it costs. The trick: tokens
 * that do not occur get no code where that makes codes narrower; if one does occur later, tokens are numbered anew. */
#include "writer_private.h"

#include <string.h>

/* Narrow numberings that leave out unused bytes are given up after this many surprises. */
#define MOST_RENUMBERINGS 4

/* Numbers the model's tokens by `counts`. Unless they are all the column has, tokens that do not occur keep a code too, so
 * that later chunks find every byte; but not if leaving them out makes codes narrower. */
static fastpair_status number_tokens(const fastpair_writer *writer, const uint64_t *counts,
                                     int whole, fp_numbering *numbering, fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    const fastpair_dictionary *model = fp_writer_model(writer);
    if (settings->dictionary) {
        /* Borrowed: a given dictionary is used as it is, so that columns that share it have the same block. */
        numbering->dict = model->dict;
        memcpy(numbering->code_of_id, model->code_of_id,
               model->tokens.count * sizeof *numbering->code_of_id);
        fp_dict_expand(&numbering->dict, NULL, numbering->lengths_of_code);
        return FASTPAIR_OK;
    }
    /* Only used tokens first; then, unless that was right, all of them; then back if they cost a bit. */
    int only_used = whole || writer->regimes.present.renumberings < MOST_RENUMBERINGS;
    uint32_t narrow_bits = 0;
    for (int attempt = 0; attempt < 3; attempt++) {
        fp_dict_free(&numbering->dict, &settings->allocator);
        numbering->owns_dict = 1;
        fastpair_status status =
            /* Whoever encodes has a model, trained or given. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
            fp_dict_order(&model->tokens, counts, only_used, settings->hot_codes,
                          model->choice.codec, model->seed, &settings->allocator, &numbering->dict,
                          numbering->code_of_id, error);
        if (status) return status;
        if (whole || (attempt == 0 && !only_used) || attempt == 2) break;
        if (attempt == 0) narrow_bits = numbering->dict.code_bits;
        if (attempt == 1 && narrow_bits == numbering->dict.code_bits) break;
        only_used = !only_used;
    }
    fp_dict_expand(&numbering->dict, NULL, numbering->lengths_of_code);
    return FASTPAIR_OK;
}

uint64_t fp_chunk_saving(const fp_job *job, uint32_t code_bits, uint32_t batch_codes) {
    uint64_t stored = fp_job_bytes(job), coded = fp_job_coded_size(job, code_bits, batch_codes);
    return coded < stored ? stored - coded : 0;
}

void fp_mark_coded(fastpair_writer *writer, fp_job *job) {
    fp_regime *present = &writer->regimes.present;
    job->coded =
        fp_chunk_saving(job, present->numbering->dict.code_bits, writer->settings.batch_codes) > 0;
    if (!job->coded) return;
    fp_dict_entry *entry =
        (fp_dict_entry *)(void *)writer->dict_entries.data + present->numbering->number;
    uint32_t ids = fp_writer_model(writer)->tokens.count;
    for (uint32_t id = 0; id < ids; id++) {
        uint8_t first = job->counts[id] != 0 && !present->used[id];
        present->counts[id] += job->counts[id];
        present->used[id] |= first;
        entry->tokens_in_use += first;
    }
}

fastpair_status fp_adopt_numbering(fastpair_writer *writer, uint32_t from, uint32_t to, int whole,
                                   int *adopted, fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    const fastpair_allocator *allocator = &settings->allocator;
    uint32_t ids = fp_writer_model(writer)->tokens.count;
    uint64_t codes = 0, saved = 0;
    *adopted = 0;
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
        memcpy(counts, writer->regimes.present.counts, ids * sizeof *counts);
        for (uint32_t j = from; j < to; j++)
            for (uint32_t id = 0; id < ids; id++) counts[id] += writer->jobs[j].counts[id];
        status = number_tokens(writer, counts, whole, numbering, error);
    }
    for (uint32_t j = from; j < to && !status; j++)
        saved +=
            fp_chunk_saving(&writer->jobs[j], numbering->dict.code_bits, settings->batch_codes);
    if (!status && saved > fp_dict_block_size(&numbering->dict, settings->alignment)) {
        fp_numbering *old = writer->regimes.present.numbering;
        writer->regimes.present.numbering = numbering;
        numbering = old;
        *adopted = 1;
        status = fp_writer_emit_dictionary(writer, error);
        for (uint32_t j = from; j < to && !status; j++) fp_mark_coded(writer, &writer->jobs[j]);
    }
    fp_numbering_free(numbering, allocator);
    fp_release(allocator, counts);
    return status;
}

fastpair_status fp_prune_model(fastpair_writer *writer, uint32_t count, fastpair_error *error) {
    const fastpair_allocator *allocator = &writer->settings.allocator;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    uint16_t *new_id_of = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *new_id_of);
    uint32_t before = writer->regimes.present.model->tokens.count;
    fastpair_status status = FASTPAIR_OK;
    if (!counts || !new_id_of) {
        status = fp_fail_memory(error, FP_MAX_TOKENS * sizeof *counts);
    } else {
        for (uint32_t j = 0; j < count; j++)
            for (uint32_t id = 0; id < before; id++) counts[id] += writer->jobs[j].counts[id];
        status = fp_model_prune(writer->regimes.present.model, counts, new_id_of, error);
    }
    if (!status && writer->regimes.present.model->tokens.count < before)
        for (uint32_t j = 0; j < count; j++) {
            fp_job *job = &writer->jobs[j];
            for (uint64_t i = 0; i < job->codes; i++) job->ids[i] = new_id_of[job->ids[i]];
            /* New ids are not above old ones, and those dropped do not occur. */
            for (uint32_t id = 0; id < before; id++) {
                uint32_t count_of_id = job->counts[id];
                job->counts[id] = 0;
                if (count_of_id) job->counts[new_id_of[id]] = count_of_id;
            }
        }
    fp_release(allocator, counts);
    fp_release(allocator, new_id_of);
    return status;
}

int fp_numbering_covers(const fastpair_writer *writer, const fp_job *job) {
    uint32_t ids = fp_writer_model(writer)->tokens.count;
    for (uint32_t id = 0; id < ids; id++)
        if (job->counts[id] && writer->regimes.present.numbering->code_of_id[id] == FP_NO_CODE)
            return 0;
    return 1;
}
