/* test_layout.c - who lies where in a job's device memory: nothing overlaps, everything is aligned,
 * small neighbours are joined into one copy, and what nobody asked for has no place. */
#include "host_job.h"

static counting memory;
static fastpair_gpu *gpu;

static fastpair_gpu_job_options options_for(uint32_t outputs, int regenerate) {
    return (fastpair_gpu_job_options){.struct_size = sizeof(fastpair_gpu_job_options),
                                      .outputs = outputs,
                                      .regenerate_positions = regenerate};
}

/* ---------------------------------------------------------------- what lies where */

typedef struct stretch {
    uint64_t from, bytes;
    uint64_t alignment;
} stretch;

/* Everything that has a place in a job's device memory. */
typedef struct map {
    stretch of[4096];
    uint64_t count;
} map;

static void put(map *m, uint64_t from, uint64_t bytes, uint64_t alignment) {
    if (m->count == sizeof m->of / sizeof *m->of) abort();
    if (bytes) m->of[m->count++] = (stretch){from, bytes, alignment};
}

static void map_dictionary(map *m, const fp_job_dict *dict) {
    const fp_dict *source = &dict->source->dict;
    const fp_device_dict *at = &dict->at;
    uint64_t cells = source->hot_slots ? 1ull << source->code_bits : source->code_slots;
    put(m, at->head, sizeof(fp_gpu_dict), 256);
    put(m, at->resident, dict->plan.resident.bytes, 256);
    put(m, at->low8, dict->plan.planes & FP_PLANE_LOW8 ? 8 * cells : 0, 256);
    put(m, at->high8, dict->plan.planes & FP_PLANE_HIGH8 ? 8 * cells : 0, 256);
    put(m, at->cells16, dict->plan.planes & FP_PLANE_CELLS16 ? 16 * cells : 0, 256);
    put(m, at->nibbles, dict->plan.planes & FP_PLANE_NIBBLES ? (source->code_slots + 1) / 2 : 0,
        256);
    put(m, at->lengths, dict->plan.planes & FP_PLANE_LENGTHS ? source->code_slots : 0, 256);
    uint64_t pieces = 0;
    for (uint32_t r = 0; r < source->run_count; r++)
        pieces += (uint64_t)source->runs[r].count * ((source->runs[r].length + 15) / 16);
    put(m, at->pieces,
        dict->plan.planes & FP_PLANE_PIECES ? FP_GPU_FAR_TABLE(source->code_bits) + 16 * pieces : 0,
        256);
    CHECK(at->end % 256 == 0 && at->head % FP_GPU_DICT_UNIT == 0);
}

/* Sections that decodes of this job read. Joined chunks lie as in the image, where sections are at
 * multiples of 64. */
static void map_sections(map *m, const fastpair_gpu_job *job, uint64_t i) {
    const fp_job_chunk *chunk = &job->chunks[i];
    const fp_job_source *source = &job->sources[i];
    for (int s = 0; s < FP_SECTIONS; s++) {
        uint64_t bytes = source->host.chunk->sections[s].size;
        int wanted = s == FP_SECTION_LENGTHS    ? job->outputs & FASTPAIR_GPU_OFFSETS
                     : s == FP_SECTION_VALIDITY ? job->outputs & FASTPAIR_GPU_VALIDITY
                                                : 1;
        if (wanted) put(m, chunk->sections[s], bytes, 64);
    }
    if (source->bytes && !source->joined) CHECK_EQ(source->to % 256, 0);
}

static int by_place(const void *a, const void *b) {
    uint64_t x = ((const stretch *)a)->from, y = ((const stretch *)b)->from;
    return x < y ? -1 : x > y;
}

/* Everything of a job: aligned, apart, inside the sizes that the job states. */
static void check_places(const fastpair_gpu_job *job) {
    static map m;
    m.count = 0;
    for (uint64_t d = 0; d < job->dict_count; d++) map_dictionary(&m, &job->dicts[d]);
    for (uint64_t s = 0; s < m.count; s++)
        CHECK(m.of[s].from + m.of[s].bytes <= job->sizes.dictionaries);
    uint64_t dictionary_stretches = m.count;
    for (uint64_t i = 0; i < job->chunk_count; i++) {
        const fp_job_chunk *chunk = &job->chunks[i];
        if (chunk->positions)
            put(&m, chunk->positions,
                4ull * fp_kernel_batches(fp_job_kernel(&job->dicts[chunk->dict]), chunk->codes),
                256);
        if (!chunk->on_device) map_sections(&m, job, i);
    }
    for (uint64_t s = dictionary_stretches; s < m.count; s++)
        CHECK(m.of[s].from >= job->sizes.dictionaries);
    qsort(m.of, m.count, sizeof *m.of, by_place);
    for (uint64_t s = 0; s < m.count; s++) {
        uint64_t end = m.of[s].from + m.of[s].bytes;
        CHECK_EQ(m.of[s].from % m.of[s].alignment, 0);
        CHECK(end <= (s + 1 < m.count ? m.of[s + 1].from : job->sizes.all));
    }
    CHECK_EQ(job->sizes.all % 256, 0);
}

/* Columns of all kinds: several dictionaries, hot parts, stored chunks, nulls, chunks of empty
 * rows. */
static void add_kinds(columns *c, uint64_t *random) {
    const chunk_recipe chunks[] = {{3000, 100, 0, 256},   {0, 50, 0, 0},          {500, 20, 3, 256},
                                   {0, 30, 1, 0},         {70000, 90000, 2, 256}, {1, 1, 0, 256},
                                   {900000, 900, 0, 256}, {0, 90000, 5, 0},       {40, 2, 0, 256}};
    const dict_recipe dicts[] = {{12, 16, 0, 1}, {16, 16, 1, 2}, {9, 8, 0, 3}, {12, 16, 0, 1}};
    for (uint64_t d = 0; d < sizeof dicts / sizeof *dicts; d++)
        add_chunks(c, &dicts[d], chunks, sizeof chunks / sizeof *chunks, random);
    add_image(c, forge_plain_column(random));
    add_image(c, forge_empty_column());
}

static void test_places(uint64_t *random) {
    columns c = {0};
    add_kinds(&c, random);
    for (uint32_t outputs = 0; outputs < 4; outputs++)
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            fastpair_gpu_job_options options = options_for(outputs, regenerate);
            fastpair_gpu_job *job = open_job(gpu, &c, &options);
            check_places(job);
            fastpair_gpu_job_close(job);
            for (uint32_t k = 0; k < FP_KERNELS; k++) {
                options.kernel = fastpair_gpu_kernel_name(k);
                if (fastpair_gpu_job_open(gpu, c.of, c.count, &options, &job, NULL)) continue;
                check_places(job);
                fastpair_gpu_job_close(job);
            }
        }
    close_columns(&c);
}

/* ---------------------------------------------------------------- neighbours */

/* `pattern` has a letter per chunk: 'j' if it is joined with the chunk before it, else '.'. */
static void check_joined(const columns *c, const fastpair_gpu_job_options *options,
                         const char *pattern) {
    fastpair_gpu_job *job = open_job(gpu, c, options);
    CHECK_EQ(job->chunk_count, strlen(pattern));
    for (uint64_t i = 0; i < job->chunk_count; i++) {
        const fp_job_source *source = &job->sources[i], *before = source - 1;
        CHECK_EQ(source->joined, pattern[i] == 'j');
        if (source->joined) /* as far apart as in the image, as one copy brings both */
            CHECK_EQ(source->to - before->to, (uint64_t)(source->host.block + source->first -
                                                         before->host.block - before->first));
    }
    check_places(job);
    fastpair_gpu_job_close(job);
}

static void test_neighbours(uint64_t *random) {
    const dict_recipe dict = {12, 16, 0, 7};
    const chunk_recipe small = {500, 20, 4, 256}, stored = {0, 100, 0, 0}, empty = {0, 9, 1, 0};
    const chunk_recipe large = {200000, 50, 0, 256}; /* 300,000 bytes of codes */
    const chunk_recipe many_rows = {500, 60000, 2, 256};
    fastpair_gpu_job_options all = options_for(3, 0), bytes = options_for(0, 0);
    fastpair_gpu_job_options with_offsets = options_for(FASTPAIR_GPU_OFFSETS, 0);
    columns c = {0};
    add_chunks(&c, &dict, (chunk_recipe[]){small, small, stored, empty, small}, 5, random);
    check_joined(&c, &all, ".jjjj");
    check_joined(&c, &bytes, ".jjjj");
    add_chunks(&c, &dict, (chunk_recipe[]){small, large, small, small}, 4, random);
    check_joined(&c, &all, ".jjjj...j"); /* another column, and a large chunk */
    close_columns(&c);
    /* Row lengths and validity bits that nobody wants make the gap too large. */
    add_chunks(&c, &dict, (chunk_recipe[]){small, many_rows, small}, 3, random);
    CHECK(chunk_of(c.of[0], 1)->sections[FP_SECTION_LENGTHS].size >= FP_SMALL_GAP);
    check_joined(&c, &all, ".jj");
    check_joined(&c, &with_offsets, ".jj"); /* validity bits alone are a small gap */
    check_joined(&c, &bytes, ".j.");
    /* Validity bits after many row lengths that nobody wants have a copy of their own. */
    fastpair_gpu_job_options with_validity = options_for(FASTPAIR_GPU_VALIDITY, 0);
    check_joined(&c, &with_validity, ".j.");
    for (uint32_t outputs = 0; outputs < 4; outputs++) {
        fastpair_gpu_job_options options = options_for(outputs, 0);
        fastpair_gpu_job *job = open_job(gpu, &c, &options);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(job->sources[i].validity_apart, outputs == FASTPAIR_GPU_VALIDITY && i == 1);
        fastpair_gpu_job_close(job);
    }
    close_columns(&c);
    /* A dictionary lies between two chunks. */
    forge_classes *classes = malloc(sizeof *classes);
    forge f;
    forge_begin(&f, 64, 0, 0);
    for (uint64_t seed = 1; classes && seed < 4; seed++) {
        forge_dictionary d = forge_class_dictionary(classes, 12, 16, 0, seed);
        forge_add_dictionary(&f, &d);
        forge_chunk chunk = forge_class_chunk(classes, 400, 256, seed);
        chunk.dictionary = (uint32_t)seed - 1;
        forge_add_chunk(&f, &chunk);
    }
    forge_finish(&f);
    free(classes);
    add_image(&c, f.file);
    check_joined(&c, &all, "...");
    close_columns(&c);
}

/* ---------------------------------------------------------------- positions */

/* Positions have a place where the sidecar does not serve, and nowhere else. */
static void test_positions(uint64_t *random) {
    const chunk_recipe serve[] = {{3000, 9, 0, 256}, {0, 9, 0, 0}, {3000, 9, 0, 128}};
    const chunk_recipe mixed[] = {{3000, 9, 0, 256}, {3000, 9, 0, 160}, {0, 9, 0, 0}};
    fastpair_gpu_job_info info = {.struct_size = sizeof info};
    columns c = {0};
    add_chunks(&c, &(dict_recipe){12, 16, 0, 7}, serve, 3, random);
    for (int way = 0; way < 4; way++) {
        fastpair_gpu_job_options options = options_for(0, way == 1);
        if (way == 2) add_chunks(&c, &(dict_recipe){12, 16, 0, 7}, mixed, 3, random);
        if (way == 3) options.kernel = "assembled K16 b12 L16 SPLIT S4 T1024";
        fastpair_gpu_job *job = open_job(gpu, &c, &options);
        CHECK_EQ(fastpair_gpu_job_get_info(job, &info, NULL), FASTPAIR_OK);
        uint64_t placed = 0;
        for (uint64_t i = 0; i < job->chunk_count; i++) {
            const fp_job_chunk *chunk = &job->chunks[i];
            if (!chunk->codes) CHECK_EQ(chunk->positions, 0);
            if (!chunk->codes) continue;
            const fp_kernel *kernel = fp_job_kernel(&job->dicts[chunk->dict]);
            int serves = 32 * kernel->codes_per_lane % chunk->batch_codes == 0;
            CHECK_EQ(chunk->positions != 0, way == 1 || !serves);
            placed += chunk->positions != 0;
            if (chunk->positions) CHECK(job->dicts[chunk->dict].at.lengths != 0);
        }
        CHECK_EQ(info.regenerates_positions, placed != 0);
        if (way == 2)
            CHECK(placed > 0); /* no kernel has whole batches of all these sizes */
        else
            CHECK_EQ(placed, way == 0 ? 0 : way == 1 ? 2 : 1);
        check_places(job);
        fastpair_gpu_job_close(job);
    }
    close_columns(&c);
}

/* ---------------------------------------------------------------- ranges */

static void test_ranges(uint64_t *random) {
    const chunk_recipe chunks[] = {{300, 9, 0, 256}, {0, 9, 0, 0}, {300, 9, 0, 256}};
    columns c = {0};
    add_chunks(&c, &(dict_recipe){12, 16, 0, 7}, chunks, 3, random);
    fastpair_gpu_job *job = open_job(gpu, &c, NULL);
    fastpair_error error = {.message = ""};
    uint64_t first = 9, end = 9;
    CHECK(!fp_job_range(job, NULL, &first, &end, &error) && first == 0 && end == 3);
    const fastpair_gpu_range good[] = {{0, 3}, {1, 2}, {3, 0}, {0, 0}, {2, 1}};
    const fastpair_gpu_range bad[] = {{0, 4}, {3, 1}, {4, 0}, {1, UINT64_MAX}, {UINT64_MAX, 2}};
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(fp_job_range(job, &good[i], &first, &end, &error), FASTPAIR_OK);
        CHECK(first == good[i].first_chunk && end == first + good[i].chunks);
        CHECK_EQ(fp_job_range(job, &bad[i], &first, &end, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
        CHECK(strstr(error.message, "3 chunks") != NULL);
    }
    CHECK_EQ(fp_job_range(NULL, NULL, &first, &end, &error), FASTPAIR_ERROR_INVALID_ARGUMENT);
    fastpair_gpu_job_close(job);
    close_columns(&c);
}

int main(void) {
    uint64_t random = 5;
    counting_start(&memory);
    gpu = open_gpu(&memory);
    test_places(&random);
    test_neighbours(&random);
    test_positions(&random);
    test_ranges(&random);
    fastpair_gpu_close(gpu);
    CHECK_EQ(memory.live, 0);
    return check_done();
}
