/* test_encode_bad.cc - input that the encoder's kernels must refuse, in the emulator: offsets that
 * decrease or end past the bytes, rows of 4 GiB, tables that are too small. There is a bit in the
 * status, and nothing outside the memory is touched; once there is one, later kernels write nothing.
 * What looks odd but is allowed is encoded. */
#include "check.h"
#include "encode_case.h"

static uint64_t random_state = 5;

static uint32_t draw(uint32_t bound) { return (uint32_t)(check_random(&random_state) % bound); }

enum { ROWS = 3000, BYTES = 40000 };

static uint8_t bytes[BYTES], validity[ROWS / 8 + 1];
static uint64_t offsets[ROWS + 1];
static uint32_t narrow[ROWS + 1];

/* Good rows, all valid, of `offset_bits`; `first` is where the first one begins. */
static encode_rows good_rows(uint32_t offset_bits, int with_validity, uint64_t first) {
    encode_rows made = {};
    uint64_t at = first;
    memset(bytes, 'x', sizeof bytes);
    memset(validity, 0xff, sizeof validity);
    for (uint32_t i = 0; i <= ROWS; i++) {
        offsets[i] = at;
        if (i < ROWS) at += draw(13);
    }
    made.bytes = bytes;
    made.bytes_size = at;
    made.rows = ROWS;
    made.offset_bits = offset_bits;
    made.offsets = offset_bits == 32 ? (void *)narrow : (void *)offsets;
    if (with_validity) made.validity = validity, made.validity_bytes = sizeof validity;
    return made;
}

static const encode_oracle_rules rules = {4096, 8192, 16384, 1, 0, 0};

/* Runs all kernels; returns the status. Whatever `most_chunks`, nothing but it may go wrong. */
static uint32_t run_all(const encode_rows *rows, uint64_t most_chunks, uint64_t most_segments) {
    encode_case c;
    for (uint32_t i = 0; i <= ROWS; i++) narrow[i] = (uint32_t)offsets[i];
    emulator_reset(check_random(&random_state));
    encode_case_make(&c, rows, &rules, most_chunks);
    if (most_segments) c.launch.scratch.most_segments = most_segments;
    const char *error = encode_case_cut(&c);
    uint32_t status = c.state->status;
    fp_gpu_encode_state before = *c.state;
    if (!error) error = encode_case_measure(&c);
    if (!status && !error) encode_case_lay_out(&c, 0);
    if (!error) error = encode_case_sections(&c);
    if (!error) error = encode_case_facts(&c);
    CHECK(!error);
    if (error) fprintf(stderr, "  %s\n", error);
    if (status) {
        CHECK(!memcmp(&before, c.state, sizeof before));
        uint64_t words = (rows->bytes_size + 32) / 32 + 1, marked = 0;
        for (uint64_t i = 0; i < words; i++) marked |= c.ends[i];
        CHECK_EQ(marked, 0);
    }
    encode_case_free(&c);
    return status;
}

static void check_offsets(uint32_t bits, int with_validity) {
    for (uint32_t kind = 0; kind < 9; kind++) {
        encode_rows rows = good_rows(bits, with_validity, kind % 2 ? 17 : 0);
        uint32_t at = 1 + draw(ROWS - 1), wanted = FP_GPU_ENCODE_BAD_OFFSETS;
        switch (kind) {
        case 0: offsets[at] = offsets[at + 1] + 1 + draw(100); break; /* it decreases */
        case 1: offsets[ROWS] = offsets[ROWS - 1] - 1; break;
        case 2: offsets[0] = offsets[1] + 1; break;
        case 3: rows.bytes_size = offsets[ROWS] - 1 - draw(30); break; /* past the bytes */
        case 4: offsets[ROWS] = bits == 32 ? 0xffffffffu : ~0ull; break;
        case 5: offsets[at] = bits == 32 ? 0x80000000u : 1ull << 63; break;
        case 6: /* 4 GiB, in a buffer that is said to be large enough, but is never read */
            if (bits == 32) continue;
            for (uint32_t i = at; i <= ROWS; i++) offsets[i] += 1ull << 32;
            break;
        case 7:
            offsets[ROWS] = offsets[ROWS - 1]; /* fewer bytes than there are: fine */
            wanted = 0;
            break;
        default: wanted = 0; break;
        }
        CHECK_EQ(run_all(&rows, 100, 0), wanted);
    }
}

/* Null rows may be as long as they like, but may not decrease either. */
static void check_nulls(uint32_t bits) {
    for (uint32_t kind = 0; kind < 3; kind++) {
        encode_rows rows = good_rows(bits, 1, 9);
        uint32_t at = 1 + draw(ROWS - 2);
        validity[at / 8] &= (uint8_t) ~(1u << at % 8);
        if (kind == 1) offsets[at + 1] = offsets[at] - 1;
        CHECK_EQ(run_all(&rows, 100, 0), kind == 1 ? FP_GPU_ENCODE_BAD_OFFSETS : 0);
        memset(validity, 0, sizeof validity);
        if (kind == 2) CHECK_EQ(run_all(&rows, 100, 0), 0);
    }
}

/* The check alone, with a bytes_size that no memory has: a row of 4 GiB less one byte is the
 * longest, unless it is null. */
static void check_lengths(void) {
    for (uint32_t kind = 0; kind < 3; kind++) {
        encode_rows rows = good_rows(64, 1, 0);
        uint32_t at = draw(ROWS), longest = kind == 0;
        uint64_t more = (1ull << 32) - longest - (offsets[at + 1] - offsets[at]);
        for (uint32_t i = at + 1; i <= ROWS; i++) offsets[i] += more;
        if (kind == 2) validity[at / 8] &= (uint8_t) ~(1u << at % 8);
        encode_case c;
        emulator_reset(check_random(&random_state));
        encode_case_make(&c, &rows, &rules, 100);
        c.launch.input.bytes_size = offsets[ROWS];
        CHECK(!encode_case_check(&c));
        CHECK_EQ(c.state->status, kind == 1 ? FP_GPU_ENCODE_BAD_OFFSETS : 0);
        CHECK_EQ(c.state->moves_text, kind == 2);
        encode_case_free(&c);
    }
}

static void check_tables(void) {
    encode_rows rows = good_rows(64, 0, 0);
    fastpair_rows view = {};
    view.struct_size = sizeof view, view.rows = ROWS, view.bytes = bytes, view.offsets = offsets;
    encode_oracle oracle = encode_oracle_cut(&view, &rules);
    uint64_t segments =
        32 * (oracle.count - 1) + (oracle.chunks[oracle.count - 1].bytes + 511) / 512;
    CHECK(oracle.count > 3);
    CHECK_EQ(run_all(&rows, oracle.count, segments), 0);
    CHECK_EQ(run_all(&rows, oracle.count - 1, 0), FP_GPU_ENCODE_BAD_TABLES);
    CHECK_EQ(run_all(&rows, 1, 0), FP_GPU_ENCODE_BAD_TABLES);
    CHECK_EQ(run_all(&rows, oracle.count, segments - 1), FP_GPU_ENCODE_BAD_TABLES);
    encode_oracle_close(&oracle);
}

/* A piece after one that failed does nothing; after one that did not, it counts on. */
static void check_pieces(void) {
    encode_rows rows = good_rows(64, 0, 0);
    encode_case c;
    emulator_reset(1);
    encode_case_make(&c, &rows, &rules, 100);
    CHECK(!encode_case_cut(&c));
    CHECK(c.state->chunks && c.state->rows == 0 && c.chunks[0].in_first == 1);
    CHECK(!encode_case_cut(&c));
    CHECK_EQ(c.state->rows, ROWS);
    CHECK_EQ(c.state->bytes, offsets[ROWS]);
    CHECK(c.state->chunks && c.chunks[0].in_first == 0);
    c.state->status = FP_GPU_ENCODE_TOO_SMALL;
    fp_gpu_encode_state before = *c.state;
    memset(c.chunks, 0x55, sizeof *c.chunks);
    CHECK(!encode_case_cut(&c));
    CHECK(!memcmp(&before, c.state, sizeof before) && c.chunks[0].rows == 0x55555555u);
    encode_case_free(&c);
}

int main(void) {
    for (uint32_t i = 0; i < 4; i++) check_offsets(i % 2 ? 32 : 64, i / 2);
    check_nulls(32);
    check_nulls(64);
    check_lengths();
    check_tables();
    check_pieces();
    return check_done();
}
