/* test_sample_numbers.cc - the long numbers of kernels/sample.cuh, where columns are larger than a test can
 * have: products and quotients of 128 bits in pieces, against the compiler's own. */
#include "check.h"
#include "gpu/kernels/sample.cuh"

typedef unsigned __int128 wide;

int main(void) {
    uint64_t random = 3;
    for (uint32_t i = 0; i < 200000; i++) {
        uint64_t a = check_random(&random) >> check_random(&random) % 64;
        uint64_t b = check_random(&random) >> check_random(&random) % 64;
        CHECK_EQ(sample_high(a, b), (uint64_t)((wide)a * b >> 64));
        uint64_t whole = 1 + (check_random(&random) >> (2 + check_random(&random) % 62));
        uint64_t part = check_random(&random) % whole;
        if ((wide)a * part / whole <= UINT64_MAX)
            CHECK_EQ(sample_share(a, part, whole), (uint64_t)((wide)a * part / whole));
        /* Where a stratum begins, as src/sample.c says. */
        uint64_t runs = 1 + (check_random(&random) >> (25 + check_random(&random) % 39));
        uint64_t strata = 1 + check_random(&random) % runs;
        uint64_t stratum = check_random(&random) % (strata + 1);
        sample_walk walk = {};
        walk.width = runs / strata;
        walk.part = sample_share(1ull << 32, runs % strata, strata);
        wide width = ((wide)runs << 32) / strata;
        CHECK_EQ(sample_edge(&walk, stratum), (uint64_t)(width * stratum >> 32));
    }
    return check_done();
}
