/* test_shape.c - statistics of the chunks that share a dictionary, against counts of every code.
 * Columns are forged with all batch sizes, so that bounds come from headers, from sidecars and from
 * both. */
#include "gpu/shape.h"
#include "host_job.h"
#include "pack.h"
#include "plan_shapes.h"

/* Token lengths of all codes of a chunk, by unpacking. */
static uint8_t *code_lengths(const fastpair_column *column, uint64_t number) {
    const fp_chunk *chunk = chunk_of(column, number);
    const fp_dict *dict = &column->dictionaries[chunk->dictionary].dict;
    const fp_section *section = &chunk->sections[FP_SECTION_CODES];
    uint8_t *of_code = malloc(1u << dict->code_bits), *lengths = malloc(chunk->codes);
    uint16_t *codes = malloc(chunk->codes * sizeof *codes);
    if (!of_code || !lengths || !codes) abort();
    fp_dict_expand(dict, NULL, 0, of_code);
    fp_unpack(fp_chunk_section(chunk, column->image + chunk->position, FP_SECTION_CODES),
              section->size, dict->code_bits, 0, chunk->codes, codes);
    for (uint64_t i = 0; i < chunk->codes; i++) lengths[i] = of_code[codes[i]];
    free(of_code), free(codes);
    return lengths;
}

/* The most bytes of any aligned run of `codes` codes. */
static uint32_t largest_run(const fastpair_column *column, uint32_t codes) {
    uint32_t most = 0;
    for (uint64_t c = 0; c < column->totals.chunks; c++) {
        if (!chunk_of(column, c)->coded) continue;
        uint8_t *lengths = code_lengths(column, c);
        uint32_t bytes = 0;
        for (uint64_t i = 0; i < chunk_of(column, c)->codes; i++) {
            bytes = i % codes ? bytes + lengths[i] : lengths[i];
            if (bytes > most) most = bytes;
        }
        free(lengths);
    }
    return most;
}

static fp_shape shape_of(const fastpair_column *column, int use_sidecar) {
    fp_shape_chunk chunks[MOST_COLUMNS];
    uint32_t listed[MOST_COLUMNS];
    uint64_t count = 0;
    for (uint64_t c = 0; c < column->totals.chunks; c++) {
        chunks[c] =
            (fp_shape_chunk){chunk_of(column, c), column->image + chunk_of(column, c)->position};
        if (chunk_of(column, c)->coded) listed[count++] = (uint32_t)c;
    }
    return fp_shape_make(&column->dictionaries[0].dict, chunks, listed, count, use_sidecar);
}

/* Whether some kernel with so many codes per lane could decode such a column. */
static int has_kernel(const fp_shape *shape, uint32_t bits, uint32_t lane_codes) {
    for (uint32_t i = FP_STAGED_KERNELS; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        int wants_order = kernel->max_token <= 16 ? shape->in_classes : shape->ascends;
        if (kernel->code_bits != bits || kernel->codes_per_lane != lane_codes ||
            kernel->max_token < shape->max_length)
            continue;
        if (kernel->home == FP_GPU_FAR && kernel->max_token == 64) return 1;
        if (wants_order && (kernel->home != FP_GPU_HOT || shape->hot_slots)) return 1;
    }
    return 0;
}

/* Bounds hold, are there for the kernels that need them, and are exact where the sidecar can
 * tell. */
static void check_bounds(const fastpair_column *column, uint32_t bits, uint32_t batch) {
    for (int use_sidecar = 0; use_sidecar < 2; use_sidecar++) {
        fp_shape shape = shape_of(column, use_sidecar);
        for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) {
            uint32_t truth = largest_run(column, 32 * k), bound = shape.largest_batch[k];
            CHECK_EQ(bound != 0, has_kernel(&shape, bits, k));
            if (!bound) continue;
            CHECK(bound >= truth && bound <= 32 * k * shape.max_length);
            if ((use_sidecar && 32 * k % batch == 0) || 32 * k == batch) CHECK_EQ(bound, truth);
        }
    }
}

/* Counts of slots and codes, from the dictionary's runs and from every code. */
static void check_counts(const fastpair_column *column, uint32_t bits, uint32_t batch) {
    const fp_dict *dict = &column->dictionaries[0].dict;
    fp_shape shape = shape_of(column, 1);
    uint64_t by_length[FP_LENGTH_BANDS] = {0}, codes = 0, bytes = 0, longer = 0;
    uint32_t longest = 0, first_4 = dict->code_slots, eights[8];
    for (int i = 0; i < 8; i++) eights[i] = dict->code_slots;
    for (uint32_t r = dict->run_count; r-- > 0;) {
        if (dict->runs[r].length > longest) longest = dict->runs[r].length;
        if (dict->runs[r].length > 4) first_4 = dict->runs[r].first_code;
        for (uint32_t i = 0; i < 8 && dict->runs[r].length > 8 * i; i++)
            eights[i] = dict->runs[r].first_code;
    }
    for (uint64_t c = 0; c < column->totals.chunks; c++) {
        if (!chunk_of(column, c)->coded) continue;
        uint8_t *lengths = code_lengths(column, c);
        for (uint64_t i = 0; i < chunk_of(column, c)->codes; i++) {
            by_length[fp_length_band(lengths[i])]++, codes++;
            bytes += lengths[i];
            longer += lengths[i] > 8;
        }
        free(lengths);
    }
    CHECK(memcmp(shape.codes_by_length, by_length, sizeof by_length) == 0);
    CHECK_EQ(fp_shape_codes(&shape), codes);
    CHECK_EQ(shape.decoded_bytes, bytes);
    CHECK_EQ(fp_shape_mean_token(&shape), bytes * 100 / codes);
    CHECK_EQ(fp_shape_long_share(&shape), longer * 100 / codes);
    CHECK(shape.code_bits == bits && shape.max_length == longest && shape.in_classes);
    CHECK(shape.slots == dict->code_slots && shape.hot_slots == dict->hot_slots);
    CHECK_EQ(shape.ascends, !dict->hot_slots);
    CHECK_EQ(shape.first_above_4, first_4);
    CHECK(memcmp(shape.first_above_eights, eights, sizeof eights) == 0);
    CHECK_EQ(shape.batch_sizes, batch_size_bit(batch));
}

static void test_columns(uint64_t *random) {
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (uint32_t batch = 32; batch <= 1024; batch += bits % 3 ? 224 : 32) {
            dict_recipe dict = {bits, batch % 64 ? 8 : 16, bits > 13 && batch % 64, bits + batch};
            if (batch <= 256 && batch % 64) dict.longest = 64;
            if (batch <= 512 && batch % 64 == 0 && batch % 128) dict.longest = 32;
            const chunk_recipe chunks[] = {{3000, 100, 0, batch},
                                           {0, 5, 0, 0},
                                           {1, 1, 0, batch},
                                           {2 * batch, 7, 3, batch},
                                           {1025, 30, 0, batch}};
            columns c = {0};
            add_chunks(&c, &dict, chunks, 5, random);
            check_bounds(c.of[0], bits, batch);
            check_counts(c.of[0], bits, batch);
            close_columns(&c);
        }
}

/* Chunks of different batch sizes: a kernel serves all of them or does not. */
static void test_serves(uint64_t *random) {
    const chunk_recipe chunks[] = {{900, 10, 0, 256}, {900, 10, 0, 96}};
    columns c = {0};
    add_chunks(&c, &(dict_recipe){12, 16, 0, 5}, chunks, 2, random);
    fp_shape shape = shape_of(c.of[0], 1);
    CHECK_EQ(shape.batch_sizes, batch_size_bit(256) | batch_size_bit(96));
    uint32_t serve = 0;
    for (uint32_t k = 1; k <= FP_MOST_LANE_CODES; k++) {
        fp_kernel kernel = {.codes_per_lane = k};
        CHECK_EQ(fp_shape_serves(&shape, &kernel), k % 8 == 0 && k % 3 == 0);
        serve += (uint32_t)fp_shape_serves(&shape, &kernel);
    }
    CHECK_EQ(serve, 1);
    close_columns(&c);
}

/* A dictionary without classes, and one that no chunk uses. */
static void test_others(uint64_t *random) {
    columns c = {0};
    add_image(&c, forge_plain_column(random));
    fp_shape shape = shape_of(c.of[0], 1);
    CHECK(!shape.in_classes && !shape.ascends && shape.max_length == 16 && shape.slots == 4);
    add_chunks(&c, &(dict_recipe){12, 16, 0, 5}, &(chunk_recipe){0, 5, 0, 0}, 1, random);
    shape = shape_of(c.of[1], 1);
    CHECK(fp_shape_codes(&shape) == 0 && shape.batch_sizes == 0);
    CHECK(fp_shape_mean_token(&shape) == 0 && fp_shape_long_share(&shape) == 0);
    close_columns(&c);
}

int main(void) {
    uint64_t random = 31;
    test_columns(&random);
    test_serves(&random);
    test_others(&random);
    return check_done();
}
