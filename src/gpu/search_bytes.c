/* search_bytes.c - leaves whose patterns tables by code cannot hold. In: the automaton over bytes, or the
 * trie, that the CPU made. Out: the same in device memory, and kernels that run it over the bytes of
 * rows. Refuses nothing: whatever the CPU could compile is searched, slowly. */
#include "device_search.h"

#include <string.h>

static uint64_t take(uint64_t *at, uint64_t bytes) {
    uint64_t place = *at;
    *at = fp_device_align(place + bytes);
    return place;
}

void fp_gpu_scan_plan(const fp_leaf *from, fp_gpu_leaf *leaf, uint64_t *end) {
    const fp_automaton *automaton = &from->automaton;
    const fp_pattern_trie *trie = &from->trie;
    fp_gpu_scan_automaton *to = &leaf->bytes;
    *to = (fp_gpu_scan_automaton){.absorbing = FP_GPU_SCAN_NO_STATE, .dead = FP_GPU_SCAN_NO_STATE};
    leaf->by_bytes = leaf->by_rows = 1;
    if (automaton->next) {
        to->classes = take(end, 256);
        to->next = take(end, 2ull * automaton->states * automaton->classes);
        to->class_count = automaton->classes;
        to->start = automaton->start;
        to->first_accepting = automaton->first_accepting;
        to->absorbing = automaton->absorbing;
        to->dead = automaton->dead;
        leaf->takes_empty = automaton->start >= automaton->first_accepting;
        to->cuts = leaf->contains && !leaf->takes_empty;
        return;
    }
    to->child = take(end, 4ull * trie->nodes);
    to->sibling = take(end, 4ull * trie->nodes);
    to->fallback = take(end, trie->fallback ? 4ull * trie->nodes : 0);
    to->byte = take(end, trie->nodes);
    to->ends = take(end, trie->nodes);
    to->anywhere = (uint8_t)trie->anywhere;
    to->anything_after = (uint8_t)trie->anything_after;
    to->ignore_case = (uint8_t)trie->ignore_case;
    leaf->takes_empty = trie->ends[0];
    to->cuts = leaf->contains && !leaf->takes_empty;
}

void fp_gpu_scan_write(const fp_leaf *from, const fp_gpu_leaf *leaf, uint8_t *memory) {
    const fp_automaton *automaton = &from->automaton;
    const fp_pattern_trie *trie = &from->trie;
    const fp_gpu_scan_automaton *to = &leaf->bytes;
    if (automaton->next) {
        memcpy(memory + to->classes, automaton->class_of, 256);
        memcpy(memory + to->next, automaton->next, 2ull * automaton->states * automaton->classes);
        return;
    }
    memcpy(memory + to->child, trie->child, 4ull * trie->nodes);
    memcpy(memory + to->sibling, trie->sibling, 4ull * trie->nodes);
    if (trie->fallback) memcpy(memory + to->fallback, trie->fallback, 4ull * trie->nodes);
    memcpy(memory + to->byte, trie->byte, trie->nodes);
    memcpy(memory + to->ends, trie->ends, trie->nodes);
}

fp_cu_result fp_launch_scan(const fp_gpu_run *run, uint32_t number) {
    const fastpair_gpu_search *search = run->search;
    const fastpair_gpu_rows *rows = search->rows;
    fp_gpu_scan_launch launched = {.of = {.chunks = search->select->device_memory},
                                   .automaton = search->leaves[number].bytes};
    fp_gpu_scan_automaton *in = &launched.automaton;
    uint64_t *places[] = {&in->child, &in->sibling, &in->fallback, &in->byte, &in->ends};
    if (in->class_count) {
        in->classes += search->device_memory;
        in->next += search->device_memory;
    } else {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            *places[i] += search->device_memory;
    }
    const fastpair_gpu *gpu = rows->job->gpu;
    fp_launch launch = {.function = in->cuts ? gpu->scan_codes : gpu->scan_rows,
                        .threads = FP_GPU_HELPER_THREADS,
                        .parameters = &launched,
                        .size = sizeof launched};
    fp_cu_result result = 0;
    uint64_t chunks = fp_rows_column(rows)->chunks;
    for (uint64_t i = 0; i < chunks && !result; i++) {
        uint32_t count = fp_rows_job_chunk(rows, i)->rows, lanes = count;
        if (in->cuts) lanes = 32 * fp_search_batches(rows->chunks[i].codes);
        uint32_t blocks = lanes / FP_GPU_HELPER_THREADS + (lanes % FP_GPU_HELPER_THREADS != 0);
        launched.entry[launch.blocks_y++] = (fp_gpu_scan_chunk){
            .found = run->scratch + number * rows->found_bytes + rows->chunks[i].found,
            .chunk = (uint32_t)i,
            .rows = count,
            .found_words = rows->chunks[i].found_words};
        if (blocks > launch.blocks_x) launch.blocks_x = blocks;
        if (launch.blocks_y < FP_GPU_ENTRIES && i + 1 < chunks) continue;
        launch.used =
            offsetof(fp_gpu_scan_launch, entry) + launch.blocks_y * sizeof *launched.entry;
        if (launch.blocks_x) result = fp_gpu_launch(gpu, &launch, run->stream);
        launch.blocks_x = launch.blocks_y = 0;
    }
    return result;
}
