/* writer_units.c - units of chunks through the stages. In: a list of chunks. Out: dictionaries and
 * chunks in the file. Units are decided on one after the other, by their rows alone, so the file is
 * the same for any number of threads. Refuses nothing but a lack of memory. */
#include "writer_private.h"

#include "auto.h"
#include "prune.h"

#include <string.h>

/* A numbering that leaves out unused tokens is given up after this many chunks that had one of
 * them. */
#define MAX_RENUMBERINGS 4

/* Of the file's bytes, copies of dictionaries may take this part, and so many in all: a reader keeps each
 * copy as a dictionary of its own. */
#define COPIES_DIVISOR 128u
#define MOST_COPIED    (4u << 20)

/* The model that parses: the writer's own or the given one; NULL: all is stored. */
static const fastpair_dictionary *model_in_force(const fastpair_writer *writer) {
    return writer->regimes.present.model ? writer->regimes.present.model
                                         : writer->settings.dictionary;
}

static fastpair_status parse_until(fastpair_writer *writer, uint32_t end, fastpair_error *error) {
    return fp_flight_parse(&writer->flight, end, model_in_force(writer), &writer->settings, error);
}

static fp_packing packing_of(const fastpair_writer *writer, const fp_numbering *numbering) {
    const fp_dict *dict = &numbering->dict;
    return fp_packing_for(&writer->settings, dict->code_bits, dict->max_token);
}

/* The figures of drafts from .. to with the regime in force, which has a model. */
static fp_unit measure(const fastpair_writer *writer, uint32_t from, uint32_t to) {
    const fp_regime *present = &writer->regimes.present;
    const fp_codec_choice *choice = &present->model->choice;
    fp_packing packing = present->numbering ? packing_of(writer, present->numbering)
                                            : fp_packing_for(&writer->settings, choice->code_bits,
                                                             choice->max_token);
    return fp_flight_measure(&writer->flight, from, to, packing);
}

/* Writes the drafts before `end` with the numbering in force. */
static fastpair_status write_until(fastpair_writer *writer, uint32_t end, fastpair_error *error) {
    fp_flight *flight = &writer->flight;
    const fp_numbering *numbering = writer->regimes.present.numbering;
    fastpair_status status = FASTPAIR_OK;
    while (flight->written < end && !status) {
        uint32_t built;
        status = fp_flight_build(flight, end, numbering, &writer->settings, &built, error);
        for (uint32_t i = 0; i < built && !status; i++) {
            const fp_block *block = &flight->blocks[i];
            fp_row_facts facts = {&block->bounds, block->is_text};
            status = fp_file_out_chunk(&writer->file, &block->chunk, &block->bytes, facts, error);
            flight->written++;
        }
        writer->poll.done = writer->file.footer.decoded_bytes;
        if (!status && fp_poll_ask(&writer->poll)) status = fp_fail_cancelled(error);
    }
    return status;
}

/* ---------------------------------------------------------------- number */

/* Marks a draft that the numbering in force covers as coded, if that makes it smaller. */
static void mark_coded(fastpair_writer *writer, fp_draft *draft) {
    fp_regime *present = &writer->regimes.present;
    const fp_numbering *numbering = present->numbering;
    draft->coded = fp_draft_saving(draft, packing_of(writer, numbering)) > 0;
    if (!draft->coded) return;
    fp_file_out_use_tokens(&writer->file, numbering->number,
                           fp_regime_count(present, &draft->parsed));
}

static int covers(const fastpair_writer *writer, const fp_draft *draft) {
    return fp_numbering_covers(writer->regimes.present.numbering, &draft->parsed);
}

/* Numbers the model's tokens by drafts from .. to and all chunks coded with the model before. */
static fastpair_status open_numbering(const fastpair_writer *writer, uint32_t from, uint32_t to,
                                      int is_whole, fp_numbering **numbering,
                                      fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    const fastpair_allocator *allocator = &settings->allocator;
    const fp_regime *present = &writer->regimes.present;
    const fastpair_dictionary *model = model_in_force(writer);
    const uint32_t ids = model->tokens.count;
    if (settings->dictionary)
        return fp_numbering_borrow(&model->dict, model->code_of_id, ids, allocator, numbering,
                                   error);
    uint64_t *counts = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *counts);
    if (!counts) return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *counts);
    memcpy(counts, present->counts, ids * sizeof *counts);
    for (uint32_t i = from; i < to; i++)
        fp_parsed_add_counts(&writer->flight.drafts[i].parsed, counts);
    fp_number_input input = {.tokens = &model->tokens,
                             .counts = counts,
                             .coverage = is_whole ? FP_COVER_USED
                                         : present->renumberings < MAX_RENUMBERINGS
                                             ? FP_COVER_NARROWEST
                                             : FP_COVER_ALL,
                             .hot_codes = settings->hot_codes,
                             .codec = model->choice.codec,
                             .seed = model->seed};
    fastpair_status status = fp_numbering_open(&input, allocator, numbering, error);
    fp_release(allocator, counts);
    return status;
}

/* Numbers tokens by drafts from .. to. If these drafts save more than the dictionary costs, it is
 * written, and they are coded with it. Otherwise the drafts stay stored, the numbering in force
 * stays in force, and *adopted is 0. */
static fastpair_status adopt_numbering(fastpair_writer *writer, uint32_t from, uint32_t to,
                                       int is_whole, int *adopted, fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    const fastpair_allocator *allocator = &settings->allocator;
    fp_numbering *numbering;
    fp_buffer block = {0};
    uint64_t codes = 0, saved = 0;
    *adopted = 0;
    for (uint32_t i = from; i < to; i++) codes += writer->flight.drafts[i].parsed.codes;
    if (!codes) return FASTPAIR_OK;
    fastpair_status status = open_numbering(writer, from, to, is_whole, &numbering, error);
    if (status) return status;
    for (uint32_t i = from; i < to; i++)
        saved += fp_draft_saving(&writer->flight.drafts[i], packing_of(writer, numbering));
    if (saved)
        status = fp_dict_build(&numbering->dict, settings->alignment, allocator, &block, error);
    if (status || saved <= block.size) {
        fp_numbering_close(numbering, allocator);
        fp_buffer_close(&block, allocator);
        return status;
    }
    *adopted = 1;
    fp_regime_renumber(&writer->regimes.present, numbering, allocator);
    status =
        fp_file_out_dictionary(&writer->file, &numbering->dict, &block, &numbering->number, error);
    fp_buffer_close(&block, allocator);
    for (uint32_t i = from; i < to && !status; i++) mark_coded(writer, &writer->flight.drafts[i]);
    return status;
}

/* Marks drafts from .. end coded or stored. Tokens are numbered anew where the numbering lacks
 * one. */
static fastpair_status code_unit(fastpair_writer *writer, uint32_t from, uint32_t end,
                                 fastpair_error *error) {
    fp_regime *present = &writer->regimes.present;
    fp_draft *drafts = writer->flight.drafts;
    for (; from < end && present->numbering && covers(writer, &drafts[from]); from++)
        mark_coded(writer, &drafts[from]);
    if (from == end) return FASTPAIR_OK;
    /* There is no dictionary yet, or it lacks a token. Drafts before this one go out with what
     * there was. */
    int adopted;
    fastpair_status status = write_until(writer, from, error);
    if (!status && present->numbering) present->renumberings++;
    if (!status) status = adopt_numbering(writer, from, end, 0, &adopted, error);
    if (status || adopted || !present->numbering) return status;
    for (; from < end; from++)
        if (covers(writer, &drafts[from])) mark_coded(writer, &drafts[from]);
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- choose */

/* Trains a model on drafts from .. end, and measures what it reaches there. */
static fastpair_status try_model(fastpair_writer *writer, uint32_t from, uint32_t end,
                                 fp_regime *regime, fp_trial *trial, fastpair_error *error) {
    const fastpair_allocator *allocator = &writer->settings.allocator;
    fastpair_rows rows = fp_flight_rows(&writer->flight, from, end);
    fastpair_dictionary *model;
    fastpair_status status =
        fp_auto_train(&rows, &writer->settings, writer->column_bytes, &model, error);
    if (status || (status = fp_regime_open(model, allocator, regime, error))) return status;
    fp_draft draft = {.rows = writer->flight.drafts[from].rows};
    draft.rows.rows = rows.rows;
    fp_draft_parse(&draft, model, &writer->settings);
    *trial = (fp_trial){
        .coded_bytes =
            fp_draft_coded_size(&draft, fp_packing_for(&writer->settings, model->choice.code_bits,
                                                       model->choice.max_token)),
        .token_bytes = fp_model_token_bytes(model),
        .bytes_per_code = fp_bytes_per_code(fp_chunk_rows_bytes(&draft.rows), draft.parsed.codes)};
    regime->record.trained_bytes_per_code = trial->bytes_per_code;
    regime->record.expected_bytes_per_code = trial->bytes_per_code;
    status = draft.status;
    if (status) status = fp_draft_failure(&draft, error);
    fp_draft_close(&draft, allocator);
    if (status) fp_regime_close(regime, allocator);
    return status;
}

/* Whether the dictionary that was returned to is worth a copy of so many bytes before a draft that is coded
 * with it. The file must stay smaller than its rows, for fastpair_compress_bound. */
static int may_copy(const fastpair_writer *writer, const fp_draft *draft, uint64_t bytes) {
    const fp_file_out *file = &writer->file;
    const fp_numbering *numbering = writer->regimes.present.numbering;
    const uint64_t copied = writer->copied_bytes + bytes;
    return fp_file_out_dictionary_end(file, numbering->number) > FP_READ_AT_OPENING &&
           copied <= file->position / COPIES_DIVISOR && copied <= MOST_COPIED &&
           file->position + bytes <= file->footer.decoded_bytes && covers(writer, draft) &&
           fp_draft_saving(draft, packing_of(writer, numbering)) > 0;
}

/* Writes the dictionary that was returned to once more, before the draft, which is coded with it: whoever
 * reads a row of that chunk over a network gets both by one request. */
static fastpair_status copy_dictionary(fastpair_writer *writer, const fp_draft *draft,
                                       fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    fp_regime *present = &writer->regimes.present;
    fp_buffer block = {0};
    /* Where it lies already it has as many bytes, or fewer if it is cold. */
    if (!may_copy(writer, draft,
                  fp_file_out_dictionary_bytes(&writer->file, present->numbering->number)))
        return FASTPAIR_OK;
    fastpair_status status = fp_dict_build(&present->numbering->dict, settings->alignment,
                                           &settings->allocator, &block, error);
    if (!status && may_copy(writer, draft, block.size)) {
        writer->copied_bytes += block.size;
        memset(present->used, 0, FP_MAX_TOKENS);
        status = fp_file_out_dictionary(&writer->file, &present->numbering->dict, &block,
                                        &present->numbering->number, error);
    }
    fp_buffer_close(&block, &settings->allocator);
    return status;
}

/* Puts another regime in force for drafts from .. end: `next` after TRAIN, an earlier one after
 * RETURN. */
static fastpair_status change_regime(fastpair_writer *writer, uint32_t from, uint32_t end,
                                     fp_decision decision, const fp_regime *next,
                                     fastpair_error *error) {
    const fastpair_allocator *allocator = &writer->settings.allocator;
    fastpair_status status = write_until(writer, from, error);
    if (decision.action == FP_TRAIN)
        fp_regimes_enter(&writer->regimes, *next, allocator);
    else
        fp_regimes_return(&writer->regimes, decision.which, allocator);
    if (status) return status;
    fp_flight_forget(&writer->flight, from, end);
    status = parse_until(writer, end, error);
    if (!status && decision.action == FP_RETURN)
        status = copy_dictionary(writer, &writer->flight.drafts[from], error);
    return status;
}

/* Sees to it that the best regime to be had is in force for drafts from .. end, which are
 * parsed. */
static fastpair_status choose_regime(fastpair_writer *writer, uint32_t from, uint32_t end,
                                     fastpair_error *error) {
    const fp_settings *settings = &writer->settings;
    fp_chooser *chooser = &writer->chooser;
    fp_regimes *regimes = &writer->regimes;
    fastpair_status status = FASTPAIR_OK;
    fp_unit unit = measure(writer, from, end);
    fp_situation situation = fp_regimes_situation(regimes, &unit);
    fp_probe probe, *measured = NULL;
    fp_regime next = {0};
    if (fp_choose_probes(chooser, &situation)) {
        fastpair_rows rows = fp_flight_rows(&writer->flight, from, end);
        measured = &probe;
        status =
            fp_regimes_probe(regimes, &rows, settings->seed, &settings->allocator, measured, error);
        if (status) return status;
    }
    fp_decision decision = fp_choose(chooser, &situation, measured);
    if (decision.action == FP_TRAIN) {
        fp_trial trial;
        if ((status = try_model(writer, from, end, &next, &trial, error))) return status;
        decision = fp_choose_after_trial(chooser, &situation, measured, &trial);
        if (decision.action != FP_TRAIN) fp_regime_close(&next, &settings->allocator);
    }
    if (decision.action != FP_KEEP)
        status = change_regime(writer, from, end, decision, &next, error);
    if (status) return status;
    unit = measure(writer, from, end);
    fp_choose_expect(decision, &unit, &regimes->present.record);
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- the line */

/* The first chunks: the model was trained on them, and one numbering serves them all. */
static fastpair_status begin_column(fastpair_writer *writer, int is_whole, fastpair_error *error) {
    fp_flight *flight = &writer->flight;
    fp_regime *present = &writer->regimes.present;
    const fp_settings *settings = &writer->settings;
    fastpair_status status = writer->tries_all ? fp_writer_try_all(writer, error)
                                               : parse_until(writer, flight->count, error);
    if (!status && present->model) {
        fp_unit unit = measure(writer, 0, flight->count);
        if (is_whole && unit.bytes <= FP_SMALL_COLUMN && !writer->tries_all &&
            settings->goal != FASTPAIR_GOAL_SPEED)
            status = fp_prune_small(present->model, flight->drafts, flight->count,
                                    settings->goal == FASTPAIR_GOAL_RATIO ? 1 : FP_BALANCED_SIZE,
                                    settings, error);
        present->record.trained_bytes_per_code = fp_bytes_per_code(unit.bytes, unit.codes);
        present->record.expected_bytes_per_code = present->record.trained_bytes_per_code;
        if (!status) status = fp_prune_unused(present->model, flight->drafts, flight->count, error);
    }
    int adopted;
    return status ? status : adopt_numbering(writer, 0, flight->count, is_whole, &adopted, error);
}

fastpair_status fp_writer_compress(fastpair_writer *writer, const fp_cut_list *list,
                                   fastpair_error *error) {
    fp_flight *flight = &writer->flight;
    fastpair_status status = fp_flight_load(flight, list, &writer->settings.allocator, error);
    if (!status && (model_in_force(writer) || writer->tries_all) && list->is_first) {
        status = begin_column(writer, list->is_whole, error);
    } else if (!status && model_in_force(writer)) {
        for (uint32_t from = 0, end; from < flight->count && !status; from = end) {
            end = fp_flight_unit_end(flight, from);
            status = parse_until(writer, end, error);
            if (!status && writer->regimes.present.model)
                status = choose_regime(writer, from, end, error);
            if (!status) status = code_unit(writer, from, end, error);
        }
    }
    return status ? status : write_until(writer, flight->count, error);
}
