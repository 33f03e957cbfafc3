/* first_dictionary.c - the dictionary that a writer begins with, for whoever writes in its place. In: the
 * first rows of a column. Out: a dictionary, numbered. The trick: it takes the rows through the writer's
 * own stages, up to where chunks would be written. Refuses nothing that a writer takes. */
#include "auto.h"
#include "cut.h"
#include "flight.h"
#include "number.h"
#include "prune.h"
#include "rows.h"

/* What there is on the way. */
typedef struct beginning {
    fp_settings settings;
    fp_cut cut;
    fp_flight flight;
    fastpair_dictionary *model;
} beginning;

/* Trains on what a writer waits for: `last` is not 0 if that is all of the column. */
static fastpair_status train(beginning *of, int last, fastpair_error *error) {
    fastpair_rows rows = fp_cut_rows(&of->cut);
    rows.struct_size = sizeof rows;
    return fp_auto_train(&rows, &of->settings, last ? fp_cut_bytes(&of->cut) : 0, &of->model,
                         error);
}

/* Drops tokens that the first chunks do not use, and numbers the others by how often they do. */
static fastpair_status number(beginning *of, fastpair_error *error) {
    const fastpair_allocator *allocator = &of->settings.allocator;
    fastpair_dictionary *model = of->model;
    const fp_flight *flight = &of->flight;
    fastpair_status status = fp_prune_unused(model, flight->drafts, flight->count, error);
    if (status) return status;
    uint64_t *counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *counts);
    model->code_of_id = fp_allocate(allocator, FP_MAX_TOKENS, sizeof *model->code_of_id);
    if (!counts || !model->code_of_id) {
        status = fp_fail_memory(error, FP_MAX_TOKENS * sizeof *counts);
    } else {
        for (uint32_t i = 0; i < flight->count; i++)
            fp_parsed_add_counts(&flight->drafts[i].parsed, counts);
        /* A writer leaves out single bytes that do not occur, if codes are narrower without them. Here
         * they stay, as nobody numbers again when one comes. */
        fp_number_input input = {.tokens = &model->tokens,
                                 .counts = counts,
                                 .coverage = FP_COVER_ALL,
                                 .hot_codes = of->settings.hot_codes,
                                 .codec = model->choice.codec,
                                 .seed = model->seed};
        status = fp_number_tokens(&input, allocator, &model->dict, model->code_of_id, error);
    }
    fp_release(allocator, counts);
    return status;
}

/* Rows to a numbered model; none if there are too few rows. */
static fastpair_status make(beginning *of, const fastpair_rows *rows, int has_after,
                            fastpair_error *error) {
    uint64_t next;
    fp_cut_list list;
    fastpair_status status = fp_cut_take(&of->cut, rows, 0, &next, error);
    if (status) return status;
    int is_full = fp_cut_is_full(&of->cut), last = !has_after && next == rows->rows && !is_full;
    if (!is_full && !last) return FASTPAIR_OK;
    if ((status = train(of, last, error)) || (status = fp_cut_next(&of->cut, last, &list, error)) ||
        (status = fp_flight_load(&of->flight, &list, &of->settings.allocator, error)) ||
        (status = fp_flight_parse(&of->flight, list.count, of->model, &of->settings, error)))
        return status;
    return number(of, error);
}

fastpair_status fastpair_dictionary_train_first(const fastpair_rows *rows, int has_after,
                                                const fastpair_compress_options *options,
                                                fastpair_dictionary **dictionary,
                                                fastpair_error *error) {
    if (dictionary) *dictionary = NULL;
    if (!rows || !dictionary)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "rows and dictionary must not be NULL");
    beginning of = {.model = NULL};
    fp_poll poll;
    fastpair_status status = fp_dictionary_settle(options, &of.settings, error);
    if (!status) status = fp_rows_check(rows, error);
    if (status) return status;
    fp_settings_poll(&of.settings, fp_rows_size(rows), &poll);
    fp_cut_open(&of.cut, &of.settings);
    status = make(&of, rows, has_after, error);
    fp_flight_close(&of.flight, &of.settings.allocator);
    fp_cut_close(&of.cut);
    if (status)
        fp_model_close(of.model);
    else
        *dictionary = of.model;
    return status;
}
