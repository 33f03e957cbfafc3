/* check.h - the whole test framework: checks that count, and a closing line. */
#ifndef FP_TESTS_CHECK_H
#define FP_TESTS_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long check_passed, check_failed;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (condition)                                                                             \
            check_passed++;                                                                        \
        else {                                                                                     \
            check_failed++;                                                                        \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                \
        }                                                                                          \
    } while (0)

#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        unsigned long long check_a = (unsigned long long)(a), check_b = (unsigned long long)(b);   \
        if (check_a == check_b)                                                                    \
            check_passed++;                                                                        \
        else {                                                                                     \
            check_failed++;                                                                        \
            fprintf(stderr, "%s:%d: failed: %s == %s (%llu != %llu)\n", __FILE__, __LINE__, #a,    \
                    #b, check_a, check_b);                                                         \
        }                                                                                          \
    } while (0)

/* Ends a test program: prints the counts, returns the exit code. A program that checked nothing
 * fails. */
static inline int check_done(void) {
    printf("%llu passed, %llu failed\n", check_passed, check_failed);
    return check_failed || !check_passed;
}

/* The share of its full length that a test is to run: FASTPAIR_TEST_SCALE, or all of it. */
static inline double check_scale(void) {
    const char *text = getenv("FASTPAIR_TEST_SCALE");
    return text && *text ? strtod(text, NULL) : 1.0;
}

/* Whether case `i` of many is to run. At a share of the full length these are spread evenly. */
static inline int check_takes(uint64_t i) {
    double scale = check_scale();
    return scale >= 1 || (uint64_t)((double)(i + 1) * scale) > (uint64_t)((double)i * scale);
}

/* `full` repetitions, or check_scale times as many, at least 1. */
static inline uint32_t check_scaled(uint32_t full) {
    double count = full * check_scale();
    return count < 1 ? 1 : (uint32_t)count;
}

/* A small seeded generator (splitmix64), so that failures can be repeated. */
static inline uint64_t check_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
