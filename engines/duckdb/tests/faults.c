/* faults.c - allocations of the extension that fail when a test asks for it: the one with a given
 * number, counted from 0. test_faults.py calls the two functions that are visible. */
#include "faults.h"

#include <stdatomic.h>

/* Here the functions themselves are meant. */
#undef malloc
#undef calloc
#undef realloc
#undef strdup
#undef strndup

static atomic_long before_fault = -1, asked;

/* From now on the allocation after `number` others fails; -1: none does. */
__attribute__((visibility("default"))) void fpd_faults_begin(long number) {
    atomic_store(&before_fault, number);
    atomic_store(&asked, 0);
}

/* How many allocations there were since. */
__attribute__((visibility("default"))) long fpd_faults_seen(void) { return atomic_load(&asked); }

static int fails(void) {
    atomic_fetch_add(&asked, 1);
    return atomic_load(&before_fault) >= 0 && atomic_fetch_sub(&before_fault, 1) == 0;
}

void *faulty_malloc(size_t size) { return fails() ? NULL : malloc(size); }

void *faulty_calloc(size_t count, size_t size) { return fails() ? NULL : calloc(count, size); }

void *faulty_realloc(void *memory, size_t size) { return fails() ? NULL : realloc(memory, size); }

char *faulty_strdup(const char *text) { return fails() ? NULL : strdup(text); }

char *faulty_strndup(const char *text, size_t size) { return fails() ? NULL : strndup(text, size); }
