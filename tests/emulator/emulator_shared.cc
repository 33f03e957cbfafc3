/* emulator_shared.cc - what emulated kernels do to shared memory, checked. In: loads, stores,
 * additions and copies of lanes. Out: the same, or an error: outside the block's memory,
 * misaligned, by two lanes with no synchronisation between them, read before it was written, or
 * touched while a copy is under way.
 *
 * The trick: a shadow remembers for each byte who wrote and read it, and when, in terms of
 * synchronisations. It finds a missing synchronisation whatever order the lanes ran in. */
#include "emulator_private.h"

#include <stdlib.h>

namespace {

/* Who did something, and when: the warp's count of synchronisations and the block's. */
struct moment {
    uint16_t thread; /* plus one; 0: never */
    uint16_t mixed;  /* 1: other lanes did the same at the same time */
    uint32_t warp_time, block_time;
};

struct shadow {
    moment written, read;
    uint64_t order; /* of the store, among all stores and fences of the block */
    /* Copies under way: started, and not waited for. */
    uint8_t copies_writing, copies_reading;
    uint8_t added; /* the last store was an addition */
};

struct shared_memory {
    uint8_t *bytes;
    shadow *shadows;
    uint32_t size;
};

/* Copies that a lane has started and not waited for. */
struct pending_copy {
    uint64_t global;
    uint8_t *shared;
    uint32_t bytes;
};

enum { MOST_PENDING = 64 };

struct lane_copies {
    pending_copy loads[MOST_PENDING], stores[MOST_PENDING];
    uint32_t load_count, store_count;
    uint64_t fence_order; /* of its last bulk_fence */
};

lane_copies copies[EMULATOR_MOST_THREADS];
uint64_t order_count;
shared_memory declared, dynamic;

shared_memory *find_shared(const uint8_t *at, uint32_t size, const char *doing) {
    if ((uintptr_t)at % size) {
        emulator_fail(doing, " misaligned shared memory");
        return NULL;
    }
    shared_memory *both[] = {&declared, &dynamic};
    for (shared_memory *m : both)
        if (m->bytes && at >= m->bytes && at < m->bytes + m->size &&
            size <= m->size - (uint32_t)(at - m->bytes))
            return m;
    emulator_fail(doing, " outside the block's shared memory");
    return NULL;
}

/* The shadow of a byte that is known to be there. */
shadow *shadow_of(const uint8_t *at) {
    shared_memory *m = find_shared(at, 1, "copies");
    return &m->shadows[at - m->bytes];
}

/* Whether no synchronisation lies between an access and the running lane's next step. */
bool same_time(const moment *m) {
    uint32_t warp = emulate_self.thread / EMULATOR_LANES;
    if (!m->thread) return false;
    return (m->thread - 1u) / EMULATOR_LANES == warp ? m->warp_time == emulator_warp_time[warp]
                                                     : m->block_time == emulator_block_time;
}

/* The same for accesses by another lane. */
bool concurrent(const moment *m) {
    return same_time(m) && (m->mixed || m->thread != emulate_self.thread + 1);
}

void note(moment *m, uint16_t mixed) {
    *m = moment{(uint16_t)(emulate_self.thread + 1), mixed,
                emulator_warp_time[emulate_self.thread / EMULATOR_LANES], emulator_block_time};
}

/* Checks and notes a store, or the start of a copy that may store at any time from now on. */
void note_store(shadow *s) {
    if (s->copies_writing || s->copies_reading)
        emulator_fail("writes shared memory that a copy", " is still using");
    if (concurrent(&s->written))
        emulator_fail("writes shared memory that another lane wrote, with no",
                      " synchronisation between");
    if (concurrent(&s->read))
        emulator_fail("writes shared memory that another lane read, with no",
                      " synchronisation between");
    note(&s->written, 0);
}

void shared_allocate(shared_memory *m, uint32_t size) {
    m->size = size;
    m->bytes = (uint8_t *)aligned_alloc(16, (size + 15) / 16 * 16);
    m->shadows = (shadow *)calloc(size, sizeof *m->shadows);
    if (!m->bytes || !m->shadows) abort();
    memset(m->bytes, 0xa5, size);
}

void shared_release(shared_memory *m) {
    free(m->bytes);
    free(m->shadows);
    *m = shared_memory{};
}

} // namespace

/* ---------------------------------------------------------------- what the words call */

void emulate_shared_load(void *to, const uint8_t *at, uint32_t size) {
    shared_memory *m = find_shared(at, size, "reads");
    for (uint32_t i = 0; m && i < size; i++) {
        shadow *s = &m->shadows[at + i - m->bytes];
        if (!s->written.thread) emulator_fail("reads shared memory that", " nobody wrote");
        if (s->copies_writing)
            emulator_fail("reads shared memory that a copy", " is still writing");
        if (concurrent(&s->written))
            emulator_fail("reads shared memory that another lane wrote, with no",
                          " synchronisation between");
        note(&s->read, concurrent(&s->read));
    }
    if (emulator_block_failed) emulator_leave_lane();
    memcpy(to, at, size);
}

void emulate_shared_store(uint8_t *at, const void *from, uint32_t size) {
    shared_memory *m = find_shared(at, size, "writes");
    for (uint32_t i = 0; m && i < size; i++) {
        shadow *s = &m->shadows[at + i - m->bytes];
        note_store(s);
        s->order = ++order_count;
        s->added = 0;
    }
    if (emulator_block_failed) emulator_leave_lane();
    memcpy(at, from, size);
}

/* An atomic change of a word. Lanes that all change it need no synchronisation among each other, only
 * with lanes that load or store the word. */
static void note_change(uint8_t *at, const char *doing) {
    shared_memory *m = find_shared(at, 4, doing);
    for (uint32_t i = 0; m && i < 4; i++) {
        shadow *s = &m->shadows[at + i - m->bytes];
        if (!s->written.thread) emulator_fail(doing, " shared memory that nobody wrote");
        bool others_add = concurrent(&s->written) && s->added;
        if (others_add) s->written.thread = 0;
        note_store(s);
        s->written.mixed = others_add;
        s->order = ++order_count;
        s->added = 1;
    }
    if (emulator_block_failed) emulator_leave_lane();
}

uint32_t emulate_shared_add(uint8_t *at, uint32_t value) {
    uint32_t before, after;
    note_change(at, "adds to");
    memcpy(&before, at, sizeof before);
    after = before + value;
    memcpy(at, &after, sizeof after);
    return before;
}

void emulate_shared_or(uint8_t *at, uint32_t bits) {
    uint32_t word;
    note_change(at, "sets bits of");
    memcpy(&word, at, sizeof word);
    word |= bits;
    memcpy(at, &word, sizeof word);
}

/* The bytes count as written from here on, but cannot be read before the copy is waited for. */
void emulate_async_load(uint8_t *to, uint64_t from, int is_there) {
    lane_copies *mine = &copies[emulate_self.thread];
    shared_memory *m = find_shared(to, 16, "copies to");
    if (mine->load_count == MOST_PENDING) abort();
    for (uint32_t i = 0; m && i < 16; i++) {
        shadow *s = &m->shadows[to + i - m->bytes];
        note_store(s);
        s->copies_writing = 1;
    }
    if (emulator_block_failed) emulator_leave_lane();
    mine->loads[mine->load_count++] = pending_copy{is_there ? from : 0, to, 16};
}

void emulate_async_wait(void) {
    lane_copies *mine = &copies[emulate_self.thread];
    for (uint32_t i = 0; i < mine->load_count; i++) {
        uint8_t bytes[16] = {0}, *to = mine->loads[i].shared;
        shadow *s = shadow_of(to);
        for (uint32_t k = 0; k < 16; k++) s[k].copies_writing = 0;
        if (mine->loads[i].global) emulate_global_load(bytes, mine->loads[i].global, 16);
        emulate_shared_store(to, bytes, 16);
    }
    mine->load_count = 0;
}

void emulate_bulk_fence(void) { copies[emulate_self.thread].fence_order = ++order_count; }

/* The copy reads shared memory from here on until it is waited for. */
void emulate_bulk_store(uint64_t to, const uint8_t *from, uint32_t bytes) {
    lane_copies *mine = &copies[emulate_self.thread];
    if (mine->store_count == MOST_PENDING) abort();
    if (to % 16 || (uintptr_t)from % 16 || bytes % 16)
        emulator_fail("bulk copy of", " misaligned memory");
    for (uint32_t at = 0; at < bytes && !emulator_block_failed; at += 16) {
        uint8_t ignored[16];
        emulate_shared_load(ignored, from + at, 16);
        shadow *s = shadow_of(from + at);
        for (uint32_t i = 0; i < 16; i++) {
            if (s[i].order > copies[s[i].written.thread - 1].fence_order)
                emulator_fail("bulk copy of bytes whose writer", " did not fence them");
            s[i].copies_reading = 1;
        }
    }
    if (emulator_block_failed) emulator_leave_lane();
    mine->stores[mine->store_count++] = pending_copy{to, (uint8_t *)(uintptr_t)from, bytes};
}

void emulate_bulk_wait(void) {
    lane_copies *mine = &copies[emulate_self.thread];
    for (uint32_t i = 0; i < mine->store_count; i++) {
        const pending_copy *copy = &mine->stores[i];
        for (uint32_t at = 0; at < copy->bytes; at += 16) {
            uint8_t bytes[16];
            emulate_shared_load(bytes, copy->shared + at, 16);
            emulate_global_store(copy->global + at, bytes, 16);
        }
        shadow *s = shadow_of(copy->shared);
        for (uint32_t k = 0; k < copy->bytes; k++) s[k].copies_reading = 0;
    }
    mine->store_count = 0;
}

void emulator_check_copies(void) {
    const lane_copies *mine = &copies[emulate_self.thread];
    if (mine->load_count || mine->store_count) emulator_fail("returns with copies", " under way");
}

uint8_t *emulate_shared(uint32_t bytes) {
    if (!declared.bytes) shared_allocate(&declared, bytes);
    if (declared.size != bytes) {
        emulator_fail("declares shared memory of", " another size");
        emulator_leave_lane();
    }
    return declared.bytes;
}

uint8_t *emulate_shared_dynamic(void) { return dynamic.bytes; }

/* ---------------------------------------------------------------- launches and tests */

void emulator_shared_begin(uint32_t dynamic_bytes) {
    if (dynamic_bytes) shared_allocate(&dynamic, dynamic_bytes);
    for (lane_copies &lane : copies) lane.load_count = lane.store_count = 0, lane.fence_order = 0;
    order_count = 0;
}

void emulator_shared_end(void) {
    shared_release(&declared);
    shared_release(&dynamic);
}
