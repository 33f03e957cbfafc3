/* test_estimate.c - the rates that an automatic choice goes by, against measured ones: every rate of
 * a chosen kernel in docs/results; and that goals count what they say. */
#include "check.h"
#include "estimate.h"

#include <stdlib.h>
#include <string.h>

#define RESULTS "../docs/results/h200.jsonl"

/* The number after "NAME": in a line of results; 0 if there is none. */
static double number_of(const char *line, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = strstr(line, key);
    return found ? strtod(found + strlen(key), NULL) : 0;
}

static int has(const char *line, const char *text) { return strstr(line, text) != NULL; }

/* The codec and the width that the file had in the end, both from the kernel's name. */
static fp_codec_choice choice_of(const char *line) {
    const char *bits = strstr(line, " b"), *token = strstr(line, " L");
    return (fp_codec_choice){FASTPAIR_CODEC_ONPAIR, bits ? (uint32_t)atoi(bits + 2) : 0,
                             token ? (uint32_t)atoi(token + 2) : 0};
}

/* Differences in percent, to sort. */
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Half of the estimates are within 6 % of what was measured, nine in ten within 20 %. */
static void test_rates(void) {
    static double off[1000];
    static char line[1 << 16];
    uint32_t count = 0;
    FILE *file = fopen(RESULTS, "r");
    CHECK(file != NULL);
    while (file && fgets(line, sizeof line, file)) {
        if (!has(line, "\"kind\":\"rate\"") || !has(line, "\"chosen\":true") ||
            !has(line, "\"positions\":\"stored\"") || !has(line, "\"study\":\"rates\"") ||
            !has(line, "assembled") || !has(line, "\"verified\":true") ||
            has(line, "\"outputs\":\"offsets\"") || count == 1000)
            continue;
        double measured = number_of(line, "gb_s"), ratio = number_of(line, "ratio");
        fp_estimate of = {
            .size = 1 / ratio, .bytes = 1, .mean_token = number_of(line, "mean_token")};
        double estimated = fp_estimate_rate(choice_of(line), &of);
        off[count++] =
            100 * (estimated > measured ? estimated / measured : measured / estimated) - 100;
        if (off[count - 1] > 30)
            fprintf(stderr, "  %.0f estimated, %.0f measured: %.200s\n", estimated, measured, line);
    }
    if (file) fclose(file);
    CHECK(count >= 40);
    qsort(off, count, sizeof *off, by_size);
    printf("%u rates; half within %.1f %%, nine in ten within %.1f %%, all within %.1f %%\n", count,
           off[count / 2], off[count * 9 / 10], off[count - 1]);
    CHECK(off[count / 2] < 6);
    CHECK(off[count * 9 / 10] < 20);
}

static void test_costs(void) {
    const fp_codec_choice wide = {FASTPAIR_CODEC_ONPAIR, 16, 16},
                          narrow = {FASTPAIR_CODEC_ONPAIR, 12, 16},
                          longer = {FASTPAIR_CODEC_ONPAIR, 12, 64};
    /* A cluster log, as measured: 16 bits 5.53 at 2814 GB/s, 12 bits 5.76 at 3020. */
    const fp_estimate log_16 = {1e9 / 5.53, 1e9, 12.5}, log_12 = {1e9 / 5.76, 1e9, 8.8};
    for (int goal = FASTPAIR_GOAL_BALANCED; goal <= FASTPAIR_GOAL_SPEED; goal++)
        CHECK(fp_estimate_cost((fastpair_goal)goal, narrow, &log_12) <
              fp_estimate_cost((fastpair_goal)goal, wide, &log_16));
    /* npm_repo_url: 12 bits 3.10, 16 bits 3.49. Over a link the smaller one arrives first. */
    const fp_estimate npm_16 = {1e9 / 3.49, 1e9, 7.5}, npm_12 = {1e9 / 3.10, 1e9, 4.7};
    CHECK(fp_estimate_cost(FASTPAIR_GOAL_BALANCED, wide, &npm_16) <
          fp_estimate_cost(FASTPAIR_GOAL_BALANCED, narrow, &npm_12));
    CHECK(fp_estimate_cost(FASTPAIR_GOAL_RATIO, wide, &npm_16) <
          fp_estimate_cost(FASTPAIR_GOAL_RATIO, narrow, &npm_12));
    /* Long tokens: twice the ratio at a lower rate. */
    const fp_estimate long_64 = {1e9 / 13.8, 1e9, 21.6};
    CHECK(fp_estimate_cost(FASTPAIR_GOAL_BALANCED, longer, &long_64) <
          0.6 * fp_estimate_cost(FASTPAIR_GOAL_BALANCED, narrow, &log_12));
    CHECK(fp_estimate_cost(FASTPAIR_GOAL_SPEED, longer, &long_64) >
          fp_estimate_cost(FASTPAIR_GOAL_SPEED, narrow, &log_12));
    /* What does not shrink is no choice, however fast. */
    const fp_estimate grows = {1.1e9, 1e9, 8}, shrinks = {0.9e9, 1e9, 1.4};
    CHECK(fp_estimate_cost(FASTPAIR_GOAL_SPEED, narrow, &grows) >
          fp_estimate_cost(FASTPAIR_GOAL_SPEED, wide, &shrinks));
}

int main(void) {
    test_rates();
    test_costs();
    return check_done();
}
