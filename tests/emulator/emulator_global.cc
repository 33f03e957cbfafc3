/* emulator_global.cc - what emulated kernels do to global memory, checked. In: loads, stores and
 * atomic changes of lanes. Out: the same, or an error: outside the memory that the test made known,
 * misaligned, written although it is input, or written by two stores. */
#include "emulator_private.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>

namespace {

enum { MOST_MEMORIES = 4096 };

struct memory {
    uint64_t begin, bytes;
    emulator_access access;
    const char *name;
    uint8_t *written; /* EMULATOR_WRITE_ONCE: bits below, for each byte */
};

/* How a byte was written in this launch. */
enum { STORED = 1, CHANGED = 2 };

/* Sorted by address when a launch begins. */
memory memories[MOST_MEMORIES];
uint32_t memory_count;

bool holds(const memory *m, uint64_t address, uint32_t size) {
    return address >= m->begin && address - m->begin < m->bytes &&
           size <= m->bytes - (address - m->begin);
}

bool is_before(const memory &a, const memory &b) { return a.begin < b.begin; }

/* Says what an address that no memory holds is near to. */
void fail_outside(uint64_t address, uint32_t size, const char *doing) {
    char detail[160];
    uint64_t nearest = 4096; /* an address further off belongs to nothing */
    snprintf(detail, sizeof detail, " %u bytes at 0x%llx", size, (unsigned long long)address);
    for (uint32_t i = 0; i < memory_count; i++) {
        const memory *m = &memories[i];
        uint64_t end = m->begin + m->bytes, distance = 0;
        if (address < m->begin) distance = m->begin - address;
        if (address >= end) distance = address - end;
        if (distance >= nearest) continue;
        nearest = distance;
        snprintf(detail, sizeof detail, " %u bytes outside %s, at %lld of %llu", size, m->name,
                 (long long)(address - m->begin), (unsigned long long)m->bytes);
    }
    emulator_fail(doing, detail);
}

/* The memory that holds these bytes; NULL, and an error, if none does. */
memory *find_memory(uint64_t address, uint32_t size, const char *doing) {
    static uint32_t recent; /* most accesses are to the memory of the access before */
    if (address % size) {
        emulator_fail(doing, " misaligned global memory");
        return NULL;
    }
    if (recent < memory_count && holds(&memories[recent], address, size)) return &memories[recent];
    const memory wanted = {address, 0, EMULATOR_READ, NULL, NULL};
    memory *after = std::upper_bound(memories, memories + memory_count, wanted, is_before);
    recent = after > memories ? (uint32_t)(after - memories) - 1 : 0;
    if (recent < memory_count && holds(&memories[recent], address, size)) return &memories[recent];
    fail_outside(address, size, doing);
    return NULL;
}

} // namespace

/* ---------------------------------------------------------------- what the words call */

void emulate_global_load(void *to, uint64_t address, uint32_t size) {
    memory *m = find_memory(address, size, "reads");
    if (m && m->access == EMULATOR_WRITE_ONCE) emulator_fail("reads output: ", m->name);
    if (emulator_block_failed) emulator_leave_lane();
    memcpy(to, (const void *)(uintptr_t)address, size);
}

void emulate_global_store(uint64_t address, const void *from, uint32_t size) {
    memory *m = find_memory(address, size, "writes");
    if (m && m->access == EMULATOR_READ) emulator_fail("writes to ", m->name);
    for (uint32_t i = 0; m && m->written && i < size; i++) {
        uint8_t *flag = &m->written[address - m->begin + i];
        if (*flag) emulator_fail("writes a byte for the second time in ", m->name);
        *flag |= STORED;
    }
    if (emulator_block_failed) emulator_leave_lane();
    memcpy((void *)(uintptr_t)address, from, size);
}

/* Lanes may change a word many times: their changes need no order. With a store they would. */
static void note_change(uint64_t address, uint32_t size) {
    memory *m = find_memory(address, size, "changes");
    if (m && m->access == EMULATOR_READ) emulator_fail("changes ", m->name);
    for (uint32_t i = 0; m && m->written && i < size; i++) {
        uint8_t *flag = &m->written[address - m->begin + i];
        if (*flag & STORED) emulator_fail("changes a byte that was stored in ", m->name);
        *flag |= CHANGED;
    }
    if (emulator_block_failed) emulator_leave_lane();
}

void emulate_global_change(uint64_t address, uint32_t keep, uint32_t set) {
    uint32_t word;
    note_change(address, sizeof word);
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    word = (word & keep) | set;
    memcpy((void *)(uintptr_t)address, &word, sizeof word);
}

void emulate_global_max(uint64_t address, uint32_t value) {
    uint32_t word;
    note_change(address, sizeof word);
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    if (value > word) memcpy((void *)(uintptr_t)address, &value, sizeof value);
}

/* Adds to a number of 4 or 8 bytes; returns what it was. */
template <typename T> static T add_to(uint64_t address, T value) {
    T number, sum;
    note_change(address, sizeof number);
    memcpy(&number, (const void *)(uintptr_t)address, sizeof number);
    sum = number + value;
    memcpy((void *)(uintptr_t)address, &sum, sizeof sum);
    return number;
}

uint32_t emulate_global_add4(uint64_t address, uint32_t value) {
    return add_to<uint32_t>(address, value);
}

void emulate_global_add(uint64_t address, uint64_t value) { add_to<uint64_t>(address, value); }

/* ---------------------------------------------------------------- launches and tests */

void emulator_global_begin(void) {
    std::sort(memories, memories + memory_count, is_before);
    for (uint32_t i = 0; i < memory_count; i++) {
        memory *m = &memories[i];
        free(m->written);
        m->written = NULL;
        if (m->access == EMULATOR_WRITE_ONCE && !(m->written = (uint8_t *)calloc(m->bytes + 1, 1)))
            abort();
    }
}

void emulator_forget(void) {
    for (uint32_t i = 0; i < memory_count; i++) free(memories[i].written);
    memory_count = 0;
}

void emulator_memory(const void *bytes, uint64_t size, emulator_access access, const char *name) {
    if (memory_count == MOST_MEMORIES) abort();
    memories[memory_count++] = memory{(uint64_t)(uintptr_t)bytes, size, access, name, NULL};
}

uint64_t emulator_bytes_written(void) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < memory_count; i++)
        for (uint64_t k = 0; memories[i].written && k < memories[i].bytes; k++)
            count += memories[i].written[k] != 0;
    return count;
}
