/* fail_each.h - runs a task again and again, with another of its allocations failing each time. */
#ifndef FP_TESTS_FAIL_EACH_H
#define FP_TESTS_FAIL_EACH_H

#include "counting.h"
#include "verify.h"

/* Allocates through the hooks, returns its status, and leaves nothing allocated. */
typedef fastpair_status (*task_function)(counting *, fastpair_error *);

/* Fails every `step`-th allocation from `start` on, first alone and then with all later ones. Each
 * failure must be OUT_OF_MEMORY, and the task must work afterwards. */
static inline void fail_every_allocation(const char *name, task_function run, uint64_t start,
                                         uint64_t step) {
    unsigned long long before = check_failed;
    uint64_t n = 0, failures = 0;
    for (int later_too = 0; later_too < 2; later_too++) {
        for (n = start % step;; n += step) {
            counting c;
            fastpair_error error = {.status = FASTPAIR_OK};
            counting_start(&c);
            c.fail_at = n;
            c.fail_after_too = later_too;
            fastpair_status status = run(&c, &error);
            CHECK_EQ(c.live, 0);
            CHECK_EQ(c.live_bytes, 0);
            if (c.calls <= n) { /* it never reached the failing one */
                verify_ok(status, &error, name);
                break;
            }
            /* One failure may be got over by asking for less; the tasks check what they made. */
            CHECK(status == FASTPAIR_ERROR_OUT_OF_MEMORY || (status == FASTPAIR_OK && !later_too));
            if (status != FASTPAIR_OK) {
                CHECK_EQ(error.status, status);
                CHECK(error.message[0] != 0 &&
                      memchr(error.message, 0, sizeof error.message) != NULL);
            }
            failures += status != FASTPAIR_OK;
            if (check_failed > before + 10 || n > 100000) break;
        }
        if (check_failed > before + 10) break;
    }
    CHECK(failures > 0); /* a task that allocates nothing through the hooks tests nothing */
    counting c;
    fastpair_error error;
    counting_start(&c);
    verify_ok(run(&c, &error), &error, name);
    CHECK_EQ(c.live, 0);
    printf("%-36s %llu allocations\n", name, (unsigned long long)n);
    verify_note(before, name, "task");
}

#endif
