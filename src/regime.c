/* regime.c - dictionaries of one file, kept while it is written. In: models, numberings, rows. Out:
 * how many bits each dictionary needs for the rows. The trick: a sample of some hundred pieces
 * tells dictionaries apart as well as all rows do, because all of them parse the same pieces.
 * Refuses nothing. */
#include "regime.h"

#include "parse.h"

#include <string.h>

/* Bytes of a unit that are parsed with every regime. */
#define PROBE_BYTES (256u << 10)

fastpair_status fp_regime_open(fastpair_dictionary *model, const fastpair_allocator *allocator,
                               fp_regime *regime, fastpair_error *error) {
    *regime =
        (fp_regime){.model = model,
                    .counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *regime->counts),
                    .used = fp_allocate_zero(allocator, FP_MAX_TOKENS, 1)};
    if (regime->counts && regime->used) return FASTPAIR_OK;
    fp_regime_close(regime, allocator);
    return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *regime->counts);
}

void fp_regime_close(fp_regime *regime, const fastpair_allocator *allocator) {
    fp_model_close(regime->model);
    fp_numbering_close(regime->numbering, allocator);
    fp_release(allocator, regime->counts);
    fp_release(allocator, regime->used);
    *regime = (fp_regime){0};
}

void fp_regimes_close(fp_regimes *regimes, const fastpair_allocator *allocator) {
    fp_regime_close(&regimes->present, allocator);
    for (uint32_t i = 0; i < regimes->earlier_count; i++)
        fp_regime_close(&regimes->earlier[i], allocator);
    regimes->earlier_count = 0;
}

void fp_regime_renumber(fp_regime *regime, fp_numbering *numbering,
                        const fastpair_allocator *allocator) {
    fp_numbering_close(regime->numbering, allocator);
    regime->numbering = numbering;
    regime->record.code_bits = numbering->dict.code_bits;
    regime->record.token_bytes = numbering->dict.bytes_size;
    memset(regime->used, 0, FP_MAX_TOKENS);
}

uint32_t fp_regime_count(fp_regime *regime, const fp_parsed *parsed) {
    uint32_t first_used = 0;
    for (uint32_t id = 0; id < parsed->counted; id++) {
        uint8_t first = parsed->counts[id] != 0 && !regime->used[id];
        regime->used[id] |= first;
        first_used += first;
    }
    for (uint64_t i = 0; i < parsed->codes && !parsed->counted; i++) {
        first_used += !regime->used[parsed->ids[i]];
        regime->used[parsed->ids[i]] = 1;
    }
    fp_parsed_add_counts(parsed, regime->counts);
    return first_used;
}

/* ---------------------------------------------------------------- present and earlier ones */

void fp_regimes_enter(fp_regimes *regimes, fp_regime next, const fastpair_allocator *allocator) {
    if (!regimes->present.numbering) {
        fp_regime_close(&regimes->present, allocator);
    } else {
        if (regimes->earlier_count == FP_MAX_EARLIER)
            fp_regime_close(&regimes->earlier[--regimes->earlier_count], allocator);
        memmove(regimes->earlier + 1, regimes->earlier,
                regimes->earlier_count * sizeof *regimes->earlier);
        regimes->earlier[0] = regimes->present;
        regimes->earlier_count++;
    }
    regimes->present = next;
}

void fp_regimes_return(fp_regimes *regimes, uint32_t which, const fastpair_allocator *allocator) {
    fp_regime back = regimes->earlier[which];
    regimes->earlier_count--;
    memmove(regimes->earlier + which, regimes->earlier + which + 1,
            (regimes->earlier_count - which) * sizeof *regimes->earlier);
    fp_regimes_enter(regimes, back, allocator);
}

fp_situation fp_regimes_situation(const fp_regimes *regimes, const fp_unit *unit) {
    fp_situation situation = {
        .unit = *unit, .present = regimes->present.record, .earlier_count = regimes->earlier_count};
    for (uint32_t i = 0; i < regimes->earlier_count; i++)
        situation.earlier[i] = regimes->earlier[i].record;
    return situation;
}

/* ---------------------------------------------------------------- measuring */

static uint64_t probe_bits(const fp_regime *regime, const fp_sample *sample,
                           const uint64_t *offsets, uint16_t *ids) {
    return fp_parse_rows(regime->model->matcher, sample->bytes, offsets, sample->pieces, ids) *
           regime->numbering->dict.code_bits;
}

fastpair_status fp_regimes_probe(const fp_regimes *regimes, const fastpair_rows *rows,
                                 uint64_t seed, const fastpair_allocator *allocator,
                                 fp_probe *probe, fastpair_error *error) {
    fp_sample sample;
    fastpair_status status = fp_sample_open(rows, PROBE_BYTES, seed, allocator, &sample, error);
    if (status) return status;
    uint64_t *offsets = fp_sample_offsets(&sample, allocator);
    uint16_t *ids = fp_allocate(allocator, sample.size, sizeof *ids);
    if (!offsets || !ids) {
        status = fp_fail_memory(error, sample.pieces * sizeof *offsets + sample.size * sizeof *ids);
    } else {
        *probe = (fp_probe){.bytes = sample.size, .present_bits = UINT64_MAX};
        if (regimes->present.numbering)
            probe->present_bits = probe_bits(&regimes->present, &sample, offsets, ids);
        for (uint32_t i = 0; i < regimes->earlier_count; i++)
            probe->earlier_bits[i] = probe_bits(&regimes->earlier[i], &sample, offsets, ids);
    }
    fp_release(allocator, offsets);
    fp_release(allocator, ids);
    fp_sample_close(&sample, allocator);
    return status;
}
