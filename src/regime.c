/* regime.c - dictionaries of one file, kept while it is written. In: models, rows. Out: which of them suits the rows best. The
 * trick: a sample of some hundred pieces tells models apart as well as all rows do, since all of them parse the same pieces.
 * Refuses nothing. */
#include "regime.h"

#include <string.h>

/* Bytes of a unit that are parsed with every regime. */
#define PROBE_BYTES (256u << 10)

fastpair_status fp_regime_create(fastpair_dictionary *model, const fastpair_allocator *allocator,
                                 fp_regime *regime, fastpair_error *error) {
    *regime =
        (fp_regime){.model = model,
                    .counts = fp_allocate_zero(allocator, FP_MAX_TOKENS, sizeof *regime->counts),
                    .used = fp_allocate_zero(allocator, FP_MAX_TOKENS, 1)};
    if (regime->counts && regime->used) return FASTPAIR_OK;
    fp_regime_free(regime, allocator);
    return fp_fail_memory(error, FP_MAX_TOKENS * sizeof *regime->counts);
}

void fp_numbering_free(fp_numbering *numbering, const fastpair_allocator *allocator) {
    if (numbering && numbering->owns_dict) fp_dict_free(&numbering->dict, allocator);
    fp_release(allocator, numbering);
}

void fp_regime_free(fp_regime *regime, const fastpair_allocator *allocator) {
    fastpair_dictionary_free(regime->model);
    fp_numbering_free(regime->numbering, allocator);
    fp_release(allocator, regime->counts);
    fp_release(allocator, regime->used);
    *regime = (fp_regime){0};
}

void fp_regimes_free(fp_regimes *regimes, const fastpair_allocator *allocator) {
    fp_regime_free(&regimes->present, allocator);
    for (uint32_t i = 0; i < regimes->earlier_count; i++)
        fp_regime_free(&regimes->earlier[i], allocator);
    regimes->earlier_count = 0;
}

void fp_regimes_enter(fp_regimes *regimes, fp_regime next, const fastpair_allocator *allocator) {
    if (!regimes->present.numbering) {
        fp_regime_free(&regimes->present, allocator);
    } else {
        if (regimes->earlier_count == FP_EARLIER)
            fp_regime_free(&regimes->earlier[--regimes->earlier_count], allocator);
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

static uint64_t probe_bits(const fp_regime *regime, const fp_sample *sample,
                           const uint64_t *offsets, uint16_t *ids) {
    return fp_parse_rows(regime->model->matcher, sample->bytes, offsets, sample->pieces, ids) *
           regime->numbering->dict.code_bits;
}

fastpair_status fp_regimes_probe(const fp_regimes *regimes, const fastpair_rows *rows,
                                 uint64_t seed, const fastpair_allocator *allocator,
                                 uint32_t *which, double *share, fastpair_error *error) {
    *which = FP_EARLIER;
    *share = 1;
    fp_sample sample;
    fastpair_status status = fp_sample_draw(rows, PROBE_BYTES, seed, allocator, &sample, error);
    if (status) return status;
    uint64_t *offsets = fp_allocate(allocator, sample.pieces + 1, sizeof *offsets);
    uint16_t *ids = fp_allocate(allocator, sample.size, sizeof *ids);
    if (!offsets || !ids) {
        status = fp_fail_memory(error, sample.pieces * sizeof *offsets + sample.size * sizeof *ids);
    } else {
        offsets[0] = 0;
        for (uint64_t i = 0; i < sample.pieces; i++)
            offsets[i + 1] = offsets[i] + sample.lengths[i];
        uint64_t present = sample.size * 8; /* what does not get smaller is stored */
        if (regimes->present.numbering) {
            uint64_t bits = probe_bits(&regimes->present, &sample, offsets, ids);
            if (bits < present) present = bits;
        }
        uint64_t least = present;
        for (uint32_t i = 0; i < regimes->earlier_count; i++) {
            uint64_t bits = probe_bits(&regimes->earlier[i], &sample, offsets, ids);
            if (bits >= least) continue;
            least = bits;
            *which = i;
        }
        if (present) *share = (double)least / (double)present;
    }
    fp_release(allocator, offsets);
    fp_release(allocator, ids);
    fp_sample_free(&sample, allocator);
    return status;
}
