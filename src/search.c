/* search.c - opening and closing searches. In: a column and a predicate. Out: a search, which threads
 * may share. The trick: everything that depends on the predicate alone is built here, and all that
 * depends on a dictionary when a chunk first needs it. Refuses predicates that
 * search_predicate.c refuses. */
#include "search.h"

#include "options.h"

#define DEFAULT_MEMORY (64ull << 20)

static fastpair_status resolve(const fastpair_search_options *options, fp_search_settings *settings,
                               fastpair_error *error) {
    fastpair_search_options given;
    fastpair_status status = fp_options_copy(options, &given, sizeof given, error);
    if (!status) status = fp_allocator_resolve(&given.allocator, &settings->allocator, error);
    if (status) return status;
    if ((uint32_t)given.method > FASTPAIR_SEARCH_FILTER)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "method is %d; it must be in 0..3", (int)given.method);
    settings->method = given.method;
    settings->memory_limit = given.memory_limit ? given.memory_limit : DEFAULT_MEMORY;
    settings->ignore_bounds = given.ignore_bounds != 0;
    return FASTPAIR_OK;
}

/* ---------------------------------------------------------------- tables on first use */

static uint64_t count_places(const fastpair_search *search) {
    return (uint64_t)search->predicate.leaves * search->column->totals.dictionaries;
}

/* Makes room for pointers to tables, if that alone does not pass the limit. */
static fastpair_status make_places(fastpair_search *search, fastpair_error *error) {
    uint64_t count = count_places(search), bytes = count * sizeof *search->tables;
    if (!count || bytes > search->settings.memory_limit / 2) return FASTPAIR_OK;
    search->tables = fp_allocate_zero(&search->settings.allocator, count, sizeof *search->tables);
    if (!search->tables) return fp_fail_memory(error, bytes);
    search->taken = bytes;
    return FASTPAIR_OK;
}

/* Stands for a table that a thread is building. */
#define BEING_BUILT ((fp_code_search *)(uintptr_t)1)

/* Takes on the building of a table that nobody has begun, if it is not too large. The lock is held. */
static int begin_building(fastpair_search *search, fp_code_search **place, uint64_t bytes) {
    if (bytes > search->settings.memory_limit ||
        search->taken > search->settings.memory_limit - bytes)
        return 0;
    search->taken += bytes;
    __atomic_store_n(place, BEING_BUILT, __ATOMIC_RELAXED);
    return 1;
}

/* Threads that search different dictionaries build their tables side by side: a column may have as
 * many dictionaries as chunks, and a table may cost as much as searching its chunk. Those that need
 * the same table wait for it. */
static fastpair_status find_or_build(fastpair_search *search, const fp_automaton *automaton,
                                     uint32_t dictionary, fp_code_search **place,
                                     fp_code_search **found, fastpair_error *error) {
    const fp_dict *dict = &search->column->dictionaries[dictionary].dict;
    const uint64_t bytes = fp_code_search_bytes(automaton, dict);
    fp_code_search *made = NULL;
    pthread_mutex_lock(&search->lock);
    while (*place == BEING_BUILT) pthread_cond_wait(&search->built, &search->lock);
    *found = *place;
    int mine = !*found && begin_building(search, place, bytes);
    pthread_mutex_unlock(&search->lock);
    if (!mine) return FASTPAIR_OK;
    fastpair_status status = fp_code_search_open(automaton, dict, search->column->settings.level,
                                                 &search->settings.allocator, &made, error);
    if (status) made = NULL;
    pthread_mutex_lock(&search->lock);
    if (status) search->taken -= bytes;
    __atomic_store_n(place, made, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&search->built);
    pthread_mutex_unlock(&search->lock);
    *found = made;
    return status;
}

fastpair_status fp_search_table(const fastpair_search *search, uint32_t leaf, uint32_t dictionary,
                                const fp_code_search **found, fastpair_error *error) {
    const fp_automaton *automaton = &search->predicate.leaf[leaf].automaton;
    *found = NULL;
    if (!search->tables || !automaton->next) return FASTPAIR_OK;
    fp_code_search **place =
        &search->tables[leaf * search->column->totals.dictionaries + dictionary];
    fp_code_search *made = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    fastpair_status status = FASTPAIR_OK;
    if (!made || made == BEING_BUILT) {
        /* Threads share a search, which is the same to them before and after. */
        fastpair_search *shared = (fastpair_search *)(uintptr_t)search;
        status = find_or_build(shared, automaton, dictionary, place, &made, error);
    }
    *found = made;
    return status;
}

/* ---------------------------------------------------------------- opening */

static int open_lock(fastpair_search *search) {
    if (pthread_mutex_init(&search->lock, NULL)) return 0;
    if (pthread_cond_init(&search->built, NULL) == 0) return 1;
    pthread_mutex_destroy(&search->lock);
    return 0;
}

fastpair_status fastpair_search_open(fastpair_column *column, const fastpair_predicate *predicate,
                                     const fastpair_search_options *options,
                                     fastpair_search **search, fastpair_error *error) {
    if (search) *search = NULL;
    if (!column || !predicate || !search)
        return fp_fail(error, FASTPAIR_ERROR_INVALID_ARGUMENT, FASTPAIR_NO_POSITION,
                       "fastpair_search_open: column, predicate and search must not be NULL");
    fp_search_settings settings;
    fastpair_status status = resolve(options, &settings, error);
    if (status) return status;
    fastpair_search *made = fp_allocate_zero(&settings.allocator, 1, sizeof *made);
    if (!made) return fp_fail_memory(error, sizeof *made);
    made->settings = settings;
    status = fp_predicate_open(predicate, &made->settings.allocator, &made->predicate, error);
    if (!status && !open_lock(made)) {
        fp_predicate_close(&made->predicate, &settings.allocator);
        status = fp_fail_memory(error, sizeof made->lock);
    }
    if (status) {
        fp_release(&settings.allocator, made);
        return status;
    }
    made->column = fastpair_column_retain(column);
    if (settings.method != FASTPAIR_SEARCH_DECODE) status = make_places(made, error);
    if (status) {
        fastpair_search_close(made);
        return status;
    }
    *search = made;
    return FASTPAIR_OK;
}

void fastpair_search_close(fastpair_search *search) {
    if (!search) return;
    fastpair_allocator allocator = search->settings.allocator;
    for (uint64_t i = 0; search->tables && i < count_places(search); i++)
        fp_code_search_close(search->tables[i], &allocator);
    fp_release(&allocator, search->tables);
    fp_predicate_close(&search->predicate, &allocator);
    pthread_cond_destroy(&search->built);
    pthread_mutex_destroy(&search->lock);
    fastpair_column_close(search->column);
    fp_release(&allocator, search);
}
