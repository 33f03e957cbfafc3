/* test_teams.cc - how blocks of the assembled decoder divide the batches of a launch: each batch is one
 * block's, shares are even, and a block goes through no more dictionaries than its share has. Random
 * launches of one to many dictionaries, large and small ones in any order. */
#include "check.h"
#include "gpu/kernels/assembled.cuh"

#include <stdlib.h>
#include <vector>

static uint64_t state = 11;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&state) % bound); }

/* Dictionaries of one chunk to many, of which chunks have one batch to many. */
static void fill(fp_gpu_span_launch *launch, uint32_t dicts) {
    launch->span_count = launch->batches = 0;
    for (uint32_t d = 0; d < dicts; d++) {
        uint32_t first = launch->span_count, chunks = 1 + draw(draw(3) ? 2 : 40);
        for (uint32_t c = 0; c < chunks; c++) {
            fp_gpu_span *span = &launch->spans[launch->span_count++];
            span->first_batch = launch->batches;
            launch->batches += 1 + draw(draw(2) ? 300 : 3);
        }
        for (uint32_t s = first; s < launch->span_count; s++) {
            launch->spans[s].dict = d;
            launch->spans[s].dict_end = launch->batches;
        }
    }
    launch->blocks = 1 + draw(draw(2) ? 140 : 8);
    launch->teams = draw(2) ? 1 : 1 + draw(launch->blocks);
}

static uint32_t dicts_in(const fp_gpu_span_launch *launch, uint32_t begin, uint32_t end) {
    return launch->spans[assembled_find(launch, end - 1)].dict -
           launch->spans[assembled_find(launch, begin)].dict + 1;
}

static void check_launch(const fp_gpu_span_launch *launch) {
    std::vector<uint8_t> taken(launch->batches);
    uint32_t each = launch->batches / launch->blocks, alone = 0;
    for (uint32_t block = 0; block < launch->blocks; block++) {
        emulate_self.block_x = block;
        assembled_part part = assembled_my_part(launch);
        CHECK(part.first <= part.end && part.end <= launch->batches && part.member < part.members);
        uint32_t count = 0;
        for (uint64_t at = (uint64_t)part.first + part.member; at < part.end; at += part.members) {
            taken[at]++;
            count++;
        }
        CHECK(count == each || count == each + 1);
        alone += part.members == 1;
        if (part.first < part.end && dicts_in(launch, part.first, part.end) > 1) {
            CHECK_EQ(part.members, 1);
            CHECK(part.end - part.first <= each + 1);
        }
    }
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < launch->batches; i++) wrong += taken[i] != 1;
    CHECK_EQ(wrong, 0);
    /* Where there is one dictionary, the host alone says what teams there are. */
    if (launch->teams == 1 && launch->spans[0].dict_end == launch->batches && launch->blocks > 1 &&
        each)
        CHECK_EQ(alone, 0);
}

int main(void) {
    fp_gpu_span_launch *launch = (fp_gpu_span_launch *)calloc(1, sizeof *launch);
    if (!launch) abort();
    for (uint32_t i = 0; i < 3000; i++) {
        fill(launch, 1 + draw(draw(2) ? 3 : 14));
        check_launch(launch);
    }
    free(launch);
    return check_done();
}
