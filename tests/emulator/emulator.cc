/* emulator.cc - the lanes of emulate.h. In: a kernel, a grid. Out: its effects on memory, or
 * the first error.
 *
 * A block is up to 1024 coroutines. The scheduler picks a warp at random and lets each of its
 * lanes, in random order, run to its next word; when all have met the same word it works out what
 * each gets. */
#include "coroutine.h"
#include "emulator_private.h"

#include <stdio.h>

emulate_lane emulate_self;
uint32_t emulator_warp_time[EMULATOR_MOST_WARPS], emulator_block_time;
bool emulator_block_failed;

namespace {

/* ---------------------------------------------------------------- state */

typedef enum lane_state { LANE_RUNS, LANE_WAITS, LANE_DONE } lane_state;

struct lane_record {
    coroutine self;
    lane_state state;
    emulate_word word; /* what it waits at */
    uint32_t value, argument, result;
    uint32_t words; /* it has met so far */
    const char *file;
    int line;
};

lane_record lanes[EMULATOR_MOST_THREADS];
coroutine scheduler;
bool coroutines_started;
uint64_t random_state;
emulator_kernel current_kernel;
const void *current_parameters;
char first_error[320];

uint32_t random_below(uint32_t bound) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % bound);
}

void lane_main(void) {
    coroutine_entered(&scheduler);
    for (;;) {
        current_kernel(current_parameters);
        emulator_check_copies();
        lanes[emulate_self.thread].state = LANE_DONE;
        emulator_leave_lane();
    }
}

/* ---------------------------------------------------------------- scheduling */

const char *word_name(emulate_word word) {
    static const char *const names[] = {"warp_shfl_up", "warp_shfl", "warp_ballot", "warp_or",
                                        "warp_same",    "warp_sync", "block_sync"};
    return names[word];
}

/* Checks that all lanes of a warp have met the same word. */
bool check_meeting(const lane_record *warp, uint32_t first_thread) {
    for (uint32_t i = 1; i < EMULATOR_LANES; i++) {
        const lane_record *a = &warp[0], *b = &warp[i];
        if (a->state == b->state &&
            (a->state == LANE_DONE ||
             (a->word == b->word && a->line == b->line && a->words == b->words &&
              (a->file == b->file || strcmp(a->file, b->file) == 0))))
            continue;
        char detail[200], at[2][80];
        const lane_record *pair[2] = {a, b};
        for (int k = 0; k < 2; k++) {
            const char *slash = pair[k]->file ? strrchr(pair[k]->file, '/') : NULL;
            if (pair[k]->state == LANE_DONE)
                snprintf(at[k], sizeof at[k], "has returned");
            else
                snprintf(at[k], sizeof at[k], "is at %s, %s:%d", word_name(pair[k]->word),
                         slash ? slash + 1 : "?", pair[k]->line);
        }
        snprintf(detail, sizeof detail, "lane 0 %s, lane %u %s", at[0], i, at[1]);
        emulate_self.thread = first_thread;
        emulator_fail("lanes went different ways: ", detail);
        return false;
    }
    return true;
}

/* Works out the word that all lanes of a warp wait at. */
void resolve(lane_record *warp, uint32_t number) {
    uint32_t ballot = 0, any = 0;
    for (uint32_t i = 0; i < EMULATOR_LANES; i++) {
        ballot |= (warp[i].word == EMULATE_BALLOT && warp[i].value) << i;
        any |= warp[i].value;
    }
    for (uint32_t i = 0; i < EMULATOR_LANES; i++) {
        uint32_t argument = warp[i].argument;
        switch (warp[i].word) {
        case EMULATE_SHFL_UP: warp[i].result = warp[i < argument ? i : i - argument].value; break;
        case EMULATE_SHFL: warp[i].result = warp[argument % EMULATOR_LANES].value; break;
        case EMULATE_BALLOT: warp[i].result = ballot; break;
        case EMULATE_OR: warp[i].result = any; break;
        case EMULATE_SAME:
            warp[i].result = warp[0].value;
            if (warp[i].value != warp[0].value) {
                emulate_self.thread = number * EMULATOR_LANES + i;
                emulator_fail("warp_same of", " different values");
            }
            break;
        case EMULATE_WARP_SYNC:
        case EMULATE_BLOCK_SYNC: break;
        }
        warp[i].state = LANE_RUNS;
    }
    if (warp[0].word == EMULATE_WARP_SYNC || warp[0].word == EMULATE_BLOCK_SYNC)
        emulator_warp_time[number]++;
}

/* Lets every lane of a warp run to its next word, in random order. */
void run_warp(uint32_t number) {
    uint8_t order[EMULATOR_LANES];
    for (uint32_t i = 0; i < EMULATOR_LANES; i++) {
        uint32_t k = random_below(i + 1);
        order[i] = order[k];
        order[k] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < EMULATOR_LANES && !emulator_block_failed; i++) {
        uint32_t thread = number * EMULATOR_LANES + order[i];
        if (lanes[thread].state != LANE_RUNS) continue;
        emulate_self.thread = thread;
        coroutine_switch(&scheduler, &lanes[thread].self);
    }
}

void run_block(uint32_t threads, uint32_t dynamic_shared) {
    uint32_t warps = threads / EMULATOR_LANES;
    emulator_block_failed = false;
    memset(emulator_warp_time, 0, sizeof emulator_warp_time);
    emulator_block_time = 0;
    for (uint32_t i = 0; i < threads; i++) {
        lanes[i].state = LANE_RUNS;
        lanes[i].words = 0;
    }
    emulator_shared_begin(dynamic_shared);
    while (!emulator_block_failed) {
        uint32_t ready[EMULATOR_MOST_WARPS], ready_count = 0, waiting = 0;
        for (uint32_t w = 0; w < warps; w++) {
            const lane_record *first = &lanes[w * EMULATOR_LANES];
            if (first->state == LANE_RUNS) ready[ready_count++] = w;
            waiting += first->state == LANE_WAITS;
        }
        if (ready_count) {
            uint32_t w = ready[random_below(ready_count)];
            run_warp(w);
            if (emulator_block_failed ||
                !check_meeting(&lanes[w * EMULATOR_LANES], w * EMULATOR_LANES))
                break;
            if (lanes[w * EMULATOR_LANES].state == LANE_WAITS &&
                lanes[w * EMULATOR_LANES].word != EMULATE_BLOCK_SYNC)
                resolve(&lanes[w * EMULATOR_LANES], w);
            continue;
        }
        if (!waiting) break;
        /* All that are left wait for the block. A warp that has returned never comes. */
        if (waiting < warps) {
            emulator_fail("block_sync", " that some warps never reach");
            break;
        }
        for (uint32_t w = 0; w < warps; w++) resolve(&lanes[w * EMULATOR_LANES], w);
        emulator_block_time++;
    }
    emulator_shared_end();
    /* Lanes of a block that failed stand somewhere in the kernel: they are started anew. */
    if (emulator_block_failed)
        for (uint32_t i = 0; i < EMULATOR_MOST_THREADS; i++)
            coroutine_start(&lanes[i].self, lane_main);
}

} // namespace

/* ---------------------------------------------------------------- what the words call */

uint32_t emulate_meet(emulate_word word, uint32_t value, uint32_t argument, const char *file,
                      int line) {
    lane_record *lane = &lanes[emulate_self.thread];
    lane->state = LANE_WAITS;
    lane->word = word;
    lane->value = value;
    lane->argument = argument;
    lane->file = file;
    lane->line = line;
    lane->words++;
    emulator_leave_lane();
    return lane->result;
}

void emulator_fail(const char *what, const char *detail) {
    emulator_block_failed = true;
    if (first_error[0]) return;
    snprintf(first_error, sizeof first_error, "block %u,%u thread %u: %s%s", emulate_self.block_x,
             emulate_self.block_y, emulate_self.thread, what, detail);
}

void emulator_leave_lane(void) { coroutine_switch(&lanes[emulate_self.thread].self, &scheduler); }

/* ---------------------------------------------------------------- what tests call */

void emulator_reset(uint64_t seed) {
    emulator_forget();
    random_state = seed;
}

const char *emulator_run(emulator_kernel kernel, const void *parameters, uint32_t threads,
                         uint32_t grid_x, uint32_t grid_y, uint32_t dynamic_shared) {
    if (!coroutines_started) {
        for (uint32_t i = 0; i < EMULATOR_MOST_THREADS; i++)
            coroutine_start(&lanes[i].self, lane_main);
        coroutines_started = true;
    }
    emulator_global_begin();
    first_error[0] = 0;
    current_kernel = kernel;
    current_parameters = parameters;
    uint64_t blocks = (uint64_t)grid_x * grid_y, step = 1 + 2 * random_below(1000);
    /* An odd step reaches every block exactly once if their count is a power of two: it is made
     * one. */
    uint64_t rounded = 1;
    while (rounded < blocks) rounded *= 2;
    for (uint64_t i = 0; i < rounded; i++) {
        uint64_t block = i * step % rounded;
        if (block >= blocks) continue;
        emulate_self = emulate_lane{0, (uint32_t)(block % grid_x), (uint32_t)(block / grid_x),
                                    grid_x, threads};
        run_block(threads, dynamic_shared);
    }
    return first_error[0] ? first_error : NULL;
}
