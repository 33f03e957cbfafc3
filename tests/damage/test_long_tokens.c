/* test_long_tokens.c - damage to files with tokens of more than 16 bytes: sections full of nonsense,
 * and batches that decode to more than a batch may. */
#include "forge.h"
#include "probe.h"

/* A forged column whose sections are overwritten in place, checksums left alone. Decoding does not
 * look at checksums, so these bytes reach the innermost loops of every CPU level. */
static void wild_sections(uint32_t bits, uint32_t longest, uint32_t times, uint64_t *random) {
    forge_class_shape like = {.bits = bits,
                              .longest = longest,
                              .chunks = 2,
                              .codes = 40000,
                              .batch = 128,
                              .seed = check_random(random)};
    forge_bytes image = forge_class_column(&like, random);
    oracle_column oracle;
    CHECK(oracle_decode(image.data, image.size, &oracle));
    uint8_t *copy = malloc(image.size);
    for (uint32_t i = 0; i < times; i++) {
        memcpy(copy, image.data, image.size);
        uint64_t chunk = forge_block(copy, image.size, "FPCH", i / 3 % 2),
                 entry = chunk + 208 + 24 * (uint64_t)(i % 3);
        uint64_t at = chunk + forge_get(copy + entry, 8), length = forge_get(copy + entry + 8, 8);
        uint64_t first = check_random(random) % length, last = first + check_random(random) % 40;
        if (i / 6 % 4 == 0) first = 0, last = length - 1;
        for (uint64_t k = first; k <= last && k < length; k++)
            copy[at + k] = (uint8_t)(i % 5 == 0 ? 255 : i % 5 == 1 ? 0 : check_random(random));
        fastpair_cpu_level level = (fastpair_cpu_level)(i / 3 % VERIFY_LEVELS);
        fastpair_open_options open = {.struct_size = sizeof open, .cpu_level = level};
        fastpair_column *column = NULL;
        if (level > fastpair_cpu_detect()) continue;
        CHECK_EQ(fastpair_column_open(copy, image.size, &open, &column, NULL), FASTPAIR_OK);
        for (int again = 0; again < 3; again++)
            probe_decode(column, image.size, oracle.rows, random);
        CHECK(validate_with(2, column, NULL) != FASTPAIR_OK ||
              !memcmp(copy, image.data, image.size));
        fastpair_column_close(column);
    }
    oracle_free(&oracle), free(copy), free(image.data);
}

/* One chunk of tokens of 64 bytes, in batches of `batch` codes, groups of one. All is true but, if
 * the largest batch passes 16384 bytes, the header's claim that it has so many. */
static forge_bytes uniform_column(uint32_t batch, uint32_t count) {
    static const uint8_t length_of[2] = {64, 64};
    uint32_t *codes = calloc(count, sizeof *codes), length = 64 * count;
    if (!codes) abort();
    for (uint32_t i = 0; i < count; i++) codes[i] = i % 3 == 0;
    forge_dictionary d = {.codec = 1, .bits = 1, .longest = 64, .slots = 2, .tokens = 2};
    forge_add_run(&d, 0, 2, 64);
    memset(forge_append(&d.section, NULL, 128), 'x', 64);
    forge_chunk c = forge_coded_chunk(&(forge_codes){codes, count, 1, length_of, batch},
                                      &(forge_rows){&length, NULL, 1});
    c.group = 1;
    free(c.sections[FORGE_SIDECAR].data);
    memset(&c.sections[FORGE_SIDECAR], 0, sizeof c.sections[FORGE_SIDECAR]);
    uint64_t batches = (count + batch - 1) / batch;
    uint8_t *sidecar = forge_append(&c.sections[FORGE_SIDECAR], NULL, batches * 6);
    for (uint64_t k = 0; k < batches; k++) forge_put(sidecar + 4 * k, 64 * batch * k, 4);
    if (c.largest > 16384) { /* what the header can say at most */
        c.largest = 16384;
        if (c.largest_pair > 32768) c.largest_pair = 32768;
        if (c.largest_four > 65536) c.largest_four = 65536;
    }
    free(codes);
    return forge_column(&d, &c);
}

/* Up to 16384 bytes a batch is good. A larger one is not, whatever B: what reads it refuses. */
static void batch_sizes(uint64_t *random) {
    for (uint32_t batch = 32; batch <= 1024; batch += 32)
        for (uint32_t count = 200; count <= 2000; count += 900) {
            uint32_t largest = 64 * (batch < count ? batch : count);
            forge_bytes image = uniform_column(batch, count);
            oracle_column oracle;
            CHECK_EQ(oracle_decode(image.data, image.size, &oracle), largest <= 16384);
            oracle_free(&oracle);
            probe_by_oracle("64 bytes each", image.data, image.size, random);
            free(image.data);
        }
}

int main(void) {
    uint64_t random = verify_seed();
    for (uint32_t bits = 1; bits <= 16; bits++) {
        wild_sections(bits, 32, check_scaled(60), &random);
        wild_sections(bits, 64, check_scaled(60), &random);
    }
    batch_sizes(&random);
    return check_done();
}
