/* test_decode_widths.c - forged columns of every code width that a file may have, decoded every way
 * verify.h knows. */
#include "forge.h"
#include "verify.h"

/* A forged dictionary of 65536 tokens: code 65535 fits 16 bits, the count does not. */
static void all_codes_of_16_bits(void) {
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_dictionary d = {.codec = 1,
                          .bits = 16,
                          .longest = 16,
                          .order = 1,
                          .shift = 6,
                          .slots = 65536,
                          .tokens = 65536};
    uint8_t *length_of = malloc(65536);
    uint32_t *codes = malloc(65536 * 4), run_lengths[3] = {1, 3, 16},
             firsts[4] = {0, 256, 32768, 65536};
    d.runs = 3;
    for (int r = 0; r < 3; r++) {
        uint8_t *run = forge_append(&d.section, NULL, 8);
        forge_put(run, firsts[r], 4);
        forge_put(run + 4, firsts[r + 1] - firsts[r] - 1, 2);
        run[6] = (uint8_t)run_lengths[r];
    }
    uint64_t total = 256 + 32512ull * 3 + 32768ull * 16;
    uint8_t *token = forge_append(&d.section, NULL, total);
    for (uint32_t code = 0, r = 0; code < 65536; code++, token += run_lengths[r]) {
        while (code >= firsts[r + 1]) r++;
        forge_put(token, code * 2654435761u, run_lengths[r] < 4 ? (int)run_lengths[r] : 4);
        length_of[code] = (uint8_t)run_lengths[r];
        codes[code] = 65535 - code;
    }
    uint32_t lengths[2] = {16, (uint32_t)total - 16};
    forge_add_dictionary(&f, &d);
    forge_chunk c = forge_coded_chunk(&(forge_codes){codes, 65536, 16, length_of, 256},
                                      &(forge_rows){lengths, NULL, 2});
    forge_add_chunk(&f, &c);
    forge_finish(&f);
    oracle_column oracle;
    CHECK(oracle_decode(f.file.data, f.file.size, &oracle));
    CHECK_EQ(oracle.decoded_bytes, total);
    shape s;
    shape_from_rows(&s, "all 65536 codes", oracle.bytes, oracle.offsets, NULL, 2);
    verify_effort effort = {4, 4, 4, 1, 9};
    verify_image(f.file.data, f.file.size, &s, &effort);
    shape_free(&s);
    oracle_free(&oracle);
    free(length_of), free(codes), free(f.file.data);
}

/* A forged column: `count` random codes of width `bits` in rows of 0 to 4 codes, with no order
 * promised. */
static void one_width(uint32_t bits, uint32_t longest, uint32_t count, uint32_t batch,
                      uint64_t random) {
    uint32_t slots =
        (1u << bits) - (bits > 1 ? (uint32_t)(check_random(&random) % (1u << (bits - 1))) : 0);
    uint32_t tokens = slots < 2000 ? slots : 2000;
    forge_dictionary d = {.codec = 1,
                          .bits = bits,
                          .longest = longest,
                          .slots = slots,
                          .tokens = tokens,
                          .runs = tokens};
    uint8_t *length_of = malloc(slots), *used = calloc(slots, 1);
    uint32_t *codes = malloc((count + 1) * 4), *lengths = calloc(count + 9, 4),
             *code_of = malloc(tokens * 4), rows = 0, token_bytes = 0;
    uint8_t *run = forge_append(&d.section, NULL, 8 * tokens);
    for (uint32_t i = 0; i < tokens;
         i++, run += 8) { /* spread over the slots, the last one included */
        code_of[i] = (uint32_t)((uint64_t)i * (slots - 1) / (tokens > 1 ? tokens - 1 : 1));
        length_of[code_of[i]] = (uint8_t)(1 + check_random(&random) % longest);
        forge_put(run, code_of[i], 4);
        run[6] = length_of[code_of[i]];
        token_bytes += length_of[code_of[i]];
    }
    uint8_t *token = forge_append(&d.section, NULL, token_bytes);
    for (uint32_t i = 0; i < token_bytes; i++) token[i] = (uint8_t)check_random(&random);
    for (uint32_t i = 0; i < count;) {
        for (uint64_t n = check_random(&random) % 5; n && i < count; n--, i++) {
            codes[i] = code_of[check_random(&random) % tokens];
            lengths[rows] += length_of[codes[i]];
            d.in_use += !used[codes[i]];
            used[codes[i]] = 1;
        }
        rows += rows < count;
    }
    for (rows = count + 8; rows > 1 && !lengths[rows - 1]; rows--) {}
    forge f;
    forge_begin(&f, 64, 0, 0);
    forge_add_dictionary(&f, &d);
    forge_chunk c = forge_coded_chunk(&(forge_codes){codes, count, bits, length_of, batch},
                                      &(forge_rows){lengths, NULL, rows});
    forge_add_chunk(&f, &c);
    forge_finish(&f);
    char name[80];
    snprintf(name, sizeof name, "%u codes of %u bits, tokens to %u, batch %u", count, bits, longest,
             batch);
    oracle_column oracle;
    CHECK(oracle_decode(f.file.data, f.file.size, &oracle));
    shape s;
    shape_from_rows(&s, name, oracle.bytes, oracle.offsets, NULL, rows);
    verify_effort effort = {4, 4, 3, 1, random};
    verify_image(f.file.data, f.file.size, &s, &effort);
    shape_free(&s), oracle_free(&oracle);
    free(length_of), free(used), free(codes), free(lengths), free(code_of), free(f.file.data);
}

/* All widths a file may have, 1 to 16, with even, odd and awkward numbers of codes: a decoder that
 * works on groups of codes, or on pairs, must not drop the rest, nor read or write past the
 * last. */
static void every_width(void) {
    static const uint32_t counts[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1023, 4097};
    uint32_t share = check_scaled(12),
             stride = share >= 12 ? 1 : 12 / share; /* one in `stride`, another for each width */
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (uint32_t i = bits % stride; i < 12; i += stride)
            one_width(bits, i % 2 ? 8 : 16, counts[i], i % 3 ? 32 : 1024, bits * 100 + i);
    for (uint32_t bits = 9; bits <= 16; bits++)
        one_width(bits, bits % 2 ? 16 : 8, 30000, 256, bits);
    /* Tokens of more than 16 bytes. 1024 codes of them could be too much for a batch. */
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (uint32_t i = bits % stride; i < 12; i += stride)
            one_width(bits, i % 2 ? 32 : 64, counts[i], i % 3 ? 32 : 256, bits * 100 + 50 + i);
    for (uint32_t bits = 9; bits <= 16; bits++)
        one_width(bits, bits % 2 ? 64 : 32, 30000, 128, bits);
}

int main(void) {
    all_codes_of_16_bits();
    every_width();
    return check_done();
}
