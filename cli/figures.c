/* figures.c - the figures people quote, from what a column's headers say.
 *
 * In: fastpair_column_info. Out: ratios, token lengths and the codec's name. Where there is nothing
 * to divide by the result is NaN, which JSON shows as null and tables as a dash.
 */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double divide(double a, double b) { return b > 0 ? a / b : NAN; }

void cli_codec_name(fastpair_codec codec, uint32_t code_bits, uint32_t max_token, char name[32]) {
    if (codec == FASTPAIR_CODEC_STORED)
        strcpy(name, "stored");
    else if (codec == FASTPAIR_CODEC_FSST12)
        strcpy(name, "fsst12");
    else if (max_token == 16 && (code_bits == 12 || code_bits == 16))
        snprintf(name, 32, "onpair%u", code_bits);
    else
        snprintf(name, 32, "onpair:%u:%u", code_bits, max_token);
}

const char *cli_cpu_name(void) {
    switch (fastpair_cpu_detect()) {
    case FASTPAIR_CPU_AVX512: return "AVX-512";
    case FASTPAIR_CPU_AVX2: return "AVX2";
    case FASTPAIR_CPU_BASELINE: return "x86-64";
    default: return "portable C";
    }
}

cli_figures cli_figures_of(const fastpair_column_info *info) {
    cli_figures figures = {.text_bytes = info->decoded_bytes + info->rows};
    if (info->has_framing && !info->final_separator && info->rows > 0) figures.text_bytes--;
    double codes = 0, short_codes = 0;
    for (int i = 0; i < 16; i++) {
        double count = (double)info->codes_by_length[i];
        codes += count;
        if (i < 8) short_codes += count;
    }
    double decoded = (double)info->decoded_bytes;
    double paper = (double)(info->code_bytes + info->dictionary_bytes + info->sidecar_bytes);
    cli_codec_name(info->codec, info->code_bits, info->max_token, figures.codec);
    figures.ratio = info->decoded_bytes ? divide(decoded, paper) : NAN;
    figures.ratio_total =
        info->decoded_bytes ? divide(decoded, (double)info->compressed_bytes) : NAN;
    figures.mean_token = divide((double)info->coded_bytes, codes);
    figures.share_le8 = divide(short_codes, codes);
    figures.section_bytes = info->dictionary_bytes + info->code_bytes + info->sidecar_bytes +
                            info->length_bytes + info->validity_bytes;
    return figures;
}
