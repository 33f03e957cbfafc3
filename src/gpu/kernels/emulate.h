/* emulate.h - the words of warp.cuh for the host, so that kernels run in tests. In: kernel text.
 * Out: the same text as ordinary C++.
 *
 * Each lane is a coroutine. It runs until it meets a word that involves other lanes and goes on
 * when all of them have met the same one; in between, lanes take turns in a random order. Words
 * that touch memory are checked: bounds and alignment in global memory; in shared memory also reads
 * of what nobody wrote, and accesses by two lanes with no synchronisation between them. The checks
 * and the coroutines are in tests/emulator.cc. */
#ifndef FP_GPU_EMULATE_H
#define FP_GPU_EMULATE_H

#include <stdint.h>
#include <string.h>

/* The lane that is running. */
extern struct emulate_lane { uint32_t thread, block_x, block_y, blocks_x, threads; } emulate_self;

typedef enum emulate_word {
    EMULATE_SHFL_UP,
    EMULATE_SHFL,
    EMULATE_BALLOT,
    EMULATE_OR,
    EMULATE_SAME,
    EMULATE_WARP_SYNC,
    EMULATE_BLOCK_SYNC
} emulate_word;

/* Waits for the other lanes; returns what the word gives this lane. File and line tell where lanes
 * went different ways. */
uint32_t emulate_meet(emulate_word word, uint32_t value, uint32_t argument, const char *file,
                      int line);
/* Copies between the lane and memory, checked. */
void emulate_global_load(void *to, uint64_t address, uint32_t size);
void emulate_global_store(uint64_t address, const void *from, uint32_t size);
/* Atomic: the word becomes (word & keep) | set. */
void emulate_global_change(uint64_t address, uint32_t keep, uint32_t set);
/* Atomic: the word becomes `value` if that is greater. */
void emulate_global_max(uint64_t address, uint32_t value);
/* Atomic: adds to a 4-byte number, and returns what it was before; adds to an 8-byte number. */
uint32_t emulate_global_add4(uint64_t address, uint32_t value);
void emulate_global_add(uint64_t address, uint64_t value);
void emulate_shared_load(void *to, const uint8_t *at, uint32_t size);
void emulate_shared_store(uint8_t *at, const void *from, uint32_t size);
uint32_t emulate_shared_add(uint8_t *at, uint32_t value);
void emulate_shared_or(uint8_t *at, uint32_t bits);
/* Copies that go on by themselves: they take from the word that starts them to the one that waits,
 * and whoever touches their shared memory in between is found. */
void emulate_async_load(uint8_t *to, uint64_t from, int is_there);
void emulate_async_wait(void);
void emulate_bulk_store(uint64_t to, const uint8_t *from, uint32_t bytes);
void emulate_bulk_fence(void);
void emulate_bulk_wait(void);
/* The block's memory: `bytes` declared, the same in all lanes, and what the launch asked for. */
uint8_t *emulate_shared(uint32_t bytes);
uint8_t *emulate_shared_dynamic(void);

#define DEVICE static inline __attribute__((unused))
#define UNROLL
#define ROLLED
#define SHARED_BYTES(name, bytes)  uint8_t *name = emulate_shared(bytes)
#define SHARED_DYNAMIC_BYTES(name) uint8_t *name = emulate_shared_dynamic()
#define HERE                       const char *file = __builtin_FILE(), int line = __builtin_LINE()

DEVICE uint32_t lane(void) { return emulate_self.thread & 31; }
DEVICE uint32_t thread_in_block(void) { return emulate_self.thread; }
DEVICE uint32_t threads_in_block(void) { return emulate_self.threads; }
DEVICE uint32_t warp_in_block(void) { return emulate_self.thread >> 5; }
DEVICE uint32_t block_x(void) { return emulate_self.block_x; }
DEVICE uint32_t block_y(void) { return emulate_self.block_y; }
DEVICE uint32_t blocks_x(void) { return emulate_self.blocks_x; }

DEVICE uint32_t warp_shfl_up(uint32_t value, uint32_t distance, HERE) {
    return emulate_meet(EMULATE_SHFL_UP, value, distance, file, line);
}
DEVICE uint32_t warp_shfl(uint32_t value, uint32_t from, HERE) {
    return emulate_meet(EMULATE_SHFL, value, from, file, line);
}
DEVICE uint32_t warp_shfl_down(uint32_t value, uint32_t distance, HERE) {
    uint32_t from = lane() + distance;
    return emulate_meet(EMULATE_SHFL, value, from < 32 ? from : lane(), file, line);
}
DEVICE uint32_t warp_ballot(int condition, HERE) {
    return emulate_meet(EMULATE_BALLOT, condition != 0, 0, file, line);
}
DEVICE uint32_t warp_or(uint32_t value, HERE) {
    return emulate_meet(EMULATE_OR, value, 0, file, line);
}
DEVICE uint32_t warp_same(uint32_t value, HERE) {
    return emulate_meet(EMULATE_SAME, value, 0, file, line);
}
DEVICE void warp_sync(HERE) { emulate_meet(EMULATE_WARP_SYNC, 0, 0, file, line); }
DEVICE void block_sync(HERE) { emulate_meet(EMULATE_BLOCK_SYNC, 0, 0, file, line); }

DEVICE uint32_t popcount(uint32_t value) { return (uint32_t)__builtin_popcount(value); }
DEVICE uint32_t first_bit(uint32_t value) { return (uint32_t)__builtin_ctz(value); }
DEVICE uint32_t last_bit(uint32_t value) { return 31 - (uint32_t)__builtin_clz(value); }
DEVICE uint32_t multiply_high(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
DEVICE uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t shift) {
    return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}
DEVICE uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t shift) {
    return (uint32_t)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
DEVICE uint32_t and_or(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }
DEVICE uint32_t hidden(uint32_t value) { return value; }
DEVICE uint64_t shift_right64(uint64_t value, uint32_t shift) {
    return shift < 64 ? value >> shift : 0;
}
DEVICE uint32_t byte_of(uint32_t value, uint32_t i) { return value >> 8 * i & 255; }
DEVICE uint32_t pick_bytes(uint32_t low, uint32_t high, uint32_t order) {
    uint64_t all = (uint64_t)high << 32 | low;
    uint32_t picked = 0;
    for (uint32_t i = 0; i < 4; i++)
        picked |= (uint32_t)(all >> 8 * (order >> 4 * i & 7) & 255) << 8 * i;
    return picked;
}
DEVICE uint32_t add_bytes(uint32_t value, uint32_t sum) {
    return sum + byte_of(value, 0) + byte_of(value, 1) + byte_of(value, 2) + byte_of(value, 3);
}
DEVICE uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
DEVICE uint32_t excess(uint32_t a, uint32_t b) { return a > b ? a - b : 0; }
DEVICE uint32_t greatest(uint32_t a, uint32_t b) { return a > b ? a : b; }

#define EMULATE_LOAD(name, function, from, type, result)                                           \
    DEVICE result name(from at) {                                                                  \
        type loaded;                                                                               \
        function(&loaded, at, sizeof loaded);                                                      \
        return loaded;                                                                             \
    }
#define EMULATE_STORE(name, function, to, type, from)                                              \
    DEVICE void name(to at, from value) {                                                          \
        type stored = (type)value;                                                                 \
        function(at, &stored, sizeof stored);                                                      \
    }
EMULATE_LOAD(global_load1, emulate_global_load, uint64_t, uint8_t, uint32_t)
EMULATE_LOAD(global_load2, emulate_global_load, uint64_t, uint16_t, uint32_t)
EMULATE_LOAD(global_load4, emulate_global_load, uint64_t, uint32_t, uint32_t)
EMULATE_LOAD(global_load8, emulate_global_load, uint64_t, uint64_t, uint64_t)
EMULATE_LOAD(global_load16, emulate_global_load, uint64_t, fp_words4, fp_words4)
EMULATE_LOAD(global_load16_ahead, emulate_global_load, uint64_t, fp_words4, fp_words4)
EMULATE_LOAD(global_reload1, emulate_global_load, uint64_t, uint8_t, uint32_t)
EMULATE_LOAD(global_reload4, emulate_global_load, uint64_t, uint32_t, uint32_t)
EMULATE_LOAD(global_reload8, emulate_global_load, uint64_t, uint64_t, uint64_t)
EMULATE_LOAD(global_reload16, emulate_global_load, uint64_t, fp_words4, fp_words4)
EMULATE_STORE(global_store1, emulate_global_store, uint64_t, uint8_t, uint32_t)
EMULATE_STORE(global_store4, emulate_global_store, uint64_t, uint32_t, uint32_t)
EMULATE_STORE(global_store8, emulate_global_store, uint64_t, uint64_t, uint64_t)
EMULATE_STORE(global_store16, emulate_global_store, uint64_t, fp_words4, fp_words4)
EMULATE_LOAD(shared_load1, emulate_shared_load, const uint8_t *, uint8_t, uint32_t)
EMULATE_LOAD(shared_load2, emulate_shared_load, const uint8_t *, uint16_t, uint32_t)
EMULATE_LOAD(shared_load4, emulate_shared_load, const uint8_t *, uint32_t, uint32_t)
EMULATE_LOAD(shared_load8, emulate_shared_load, const uint8_t *, uint64_t, uint64_t)
EMULATE_LOAD(shared_load16, emulate_shared_load, const uint8_t *, fp_words4, fp_words4)
EMULATE_STORE(shared_store1, emulate_shared_store, uint8_t *, uint8_t, uint32_t)
EMULATE_STORE(shared_store2, emulate_shared_store, uint8_t *, uint16_t, uint32_t)
EMULATE_STORE(shared_store4, emulate_shared_store, uint8_t *, uint32_t, uint32_t)
EMULATE_STORE(shared_store8, emulate_shared_store, uint8_t *, uint64_t, uint64_t)
EMULATE_STORE(shared_store16, emulate_shared_store, uint8_t *, fp_words4, fp_words4)
DEVICE uint32_t shared_add4(uint8_t *at, uint32_t value) { return emulate_shared_add(at, value); }
DEVICE void shared_or4(uint8_t *at, uint32_t bits) { emulate_shared_or(at, bits); }
template <int L>
DEVICE void near_or_far(const uint8_t *firsts, const uint8_t *seconds, uint64_t far_cells,
                        uint32_t at, uint32_t near_end, uint32_t split, uint32_t *cell) {
    uint8_t bytes[L] = {0};
    if (at >= near_end)
        emulate_global_load(bytes, far_cells + 2 * (uint64_t)at, L);
    else
        emulate_shared_load(bytes, firsts + at, L / 2);
    if (at < near_end && at >= split) emulate_shared_load(bytes + L / 2, seconds + at, L / 2);
    memcpy(cell, bytes, L);
}
DEVICE void async_load16(uint8_t *to, uint64_t from, int is_there) {
    emulate_async_load(to, from, is_there);
}
DEVICE void async_wait(void) { emulate_async_wait(); }
DEVICE void bulk_store(uint64_t to, const uint8_t *from, uint32_t bytes) {
    if (lane() == 0 && bytes) emulate_bulk_store(to, from, bytes);
}
DEVICE void bulk_fence(void) { emulate_bulk_fence(); }
DEVICE void bulk_wait_read(void) { emulate_bulk_wait(); }
DEVICE void bulk_wait(void) { emulate_bulk_wait(); }
DEVICE void global_or4(uint64_t address, uint32_t bits) {
    emulate_global_change(address, 0xffffffffu, bits);
}
DEVICE void global_max4(uint64_t address, uint32_t value) { emulate_global_max(address, value); }
DEVICE uint32_t global_add4(uint64_t address, uint32_t value) {
    return emulate_global_add4(address, value);
}
DEVICE void global_add8(uint64_t address, uint64_t value) { emulate_global_add(address, value); }
DEVICE void global_and4(uint64_t address, uint32_t bits) {
    emulate_global_change(address, bits, 0);
}

#endif
