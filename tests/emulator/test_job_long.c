/* test_job_long.c - tokens of up to 32 and 64 bytes through the library's own calls: dictionaries
 * whose codes ascend by length and others, on devices with much and little shared memory, with
 * sidecars, without and with sidecars that lie. What comes out must be what the oracle decodes.
 * Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "job_columns.h"
#include "oracle.h"

/* ---------------------------------------------------------------- columns */

typedef enum token_lengths { MIXED, ONES, LONGEST, MOSTLY_SHORT, LENGTH_KINDS } token_lengths;

typedef struct recipe {
    uint32_t bits, longest;
    /* If codes ascend: in classes of 2^shift. */
    int ascends;
    uint32_t shift;
    token_lengths lengths;
    uint32_t codes, batch;
    /* A code outside the dictionary takes the place of the last one. */
    int bad_code;
} recipe;

static int compare_bytes(const void *a, const void *b) {
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

static uint8_t draw_length(const recipe *of) {
    switch (of->lengths) {
    case ONES: return 1;
    case LONGEST: return (uint8_t)of->longest;
    case MOSTLY_SHORT: return (uint8_t)(draw(20) ? 1 + draw(8) : of->longest - draw(8));
    default: return (uint8_t)(1 + draw(of->longest));
    }
}

/* A dictionary that has more than half of the codes there may be. */
static forge_dictionary make_dictionary(const recipe *of, uint8_t *length_of) {
    uint32_t space = 1u << of->bits, in_class = 1u << of->shift, bytes = 0, first = 0;
    uint8_t of_class[1 << 16];
    forge_dictionary d = {.codec = 1, .bits = of->bits, .longest = of->longest};
    d.order = of->ascends != 0, d.shift = of->shift;
    d.slots = space / 2 + 1 + draw(space / 2);
    /* The code after the last class. */
    if (of->bad_code) d.slots = (d.slots - (d.slots == space)) / in_class * in_class;
    d.tokens = d.slots;
    for (uint32_t i = 0; i * in_class < d.slots; i++) of_class[i] = draw_length(of);
    if (of->ascends) qsort(of_class, (d.slots + in_class - 1) / in_class, 1, compare_bytes);
    for (uint32_t i = 0; i < d.slots; i++) bytes += length_of[i] = of_class[i / in_class];
    for (uint32_t i = 1; i <= d.slots; i++) {
        if (i < d.slots && length_of[i] == length_of[first]) continue;
        forge_add_run(&d, first, i - first, length_of[first]);
        first = i;
    }
    uint8_t *text = forge_append(&d.section, NULL, bytes);
    for (uint32_t i = 0; i < bytes; i++) text[i] = (uint8_t)check_random(&random_state);
    return d;
}

/* Rows of up to 40 codes, one in nine of them null. */
static forge_chunk make_chunk(const recipe *of, const uint8_t *length_of, uint32_t slots) {
    uint32_t *codes = malloc((of->codes + 1) * sizeof *codes),
             *lengths = calloc(2 * of->codes + 2, sizeof *lengths);
    uint8_t *valid = malloc(2 * of->codes + 2);
    uint64_t rows = 0;
    if (!codes || !lengths || !valid) abort();
    for (uint32_t i = 0; i < of->codes; i++) {
        codes[i] = draw(slots);
        if (of->bad_code && i + 1 == of->codes) codes[i] = slots;
        lengths[rows] += length_of[codes[i]];
        valid[rows] = 1;
        if (draw(40) && i + 1 < of->codes) continue;
        rows++;
        if (draw(9) == 0) valid[rows++] = 0;
    }
    forge_chunk chunk =
        forge_coded_chunk(&(forge_codes){codes, of->codes, of->bits, length_of, of->batch},
                          &(forge_rows){lengths, valid, rows});
    free(codes), free(lengths), free(valid);
    return chunk;
}

static void add_long(const recipe *of, uint32_t chunks) {
    static uint8_t length_of[1 << 16];
    forge f;
    forge_begin(&f, 64, 0, 0);
    memset(length_of, 1, sizeof length_of);
    forge_dictionary dictionary = make_dictionary(of, length_of);
    uint32_t slots = dictionary.slots;
    forge_add_dictionary(&f, &dictionary);
    for (uint32_t i = 0; i < chunks; i++) {
        forge_chunk chunk = make_chunk(of, length_of, slots);
        forge_add_chunk(&f, &chunk);
    }
    forge_finish(&f);
    add_image(&columns, f.file);
}

/* ---------------------------------------------------------------- the oracle */

/* Outputs of a column against what the oracle makes of its image. */
static void check_oracle(uint64_t c) {
    const fastpair_gpu_output *to = &fake.outputs[c];
    oracle_column truth;
    uint64_t wrong = 0;
    CHECK(oracle_decode(columns.file[c].data, columns.file[c].size, &truth));
    CHECK_EQ(fake_status(c), 0);
    CHECK(memcmp(fake_at(to->bytes), truth.bytes, truth.decoded_bytes) == 0);
    for (uint64_t i = 0; i <= truth.rows; i++)
        wrong += forge_get(fake_at(to->offsets) + i * to->offset_bits / 8,
                           (int)to->offset_bits / 8) != truth.offsets[i];
    for (uint64_t i = 0; i < truth.rows; i++)
        wrong += (fake_at(to->validity)[i / 8] >> i % 8 & 1) != truth.valid[i];
    CHECK_EQ(wrong, 0);
    oracle_free(&truth);
}

/* Jobs that each kind of kernel had. */
static uint32_t taken[FP_GPU_PIECES + 1][2];

/* Decodes all columns with and without sidecars. */
static void check_columns(void) {
    for (int regenerate = 0; regenerate < 2; regenerate++) {
        fastpair_gpu_job *job = open_job(&columns, NULL, regenerate);
        fake_allocate(job, 0);
        decode(job, regenerate ? 2 : UINT64_MAX);
        for (uint64_t c = 0; c < columns.count; c++) check_oracle(c);
        for (uint64_t d = 0; d < job->dict_count; d++) {
            const fp_kernel *kernel = fp_job_kernel(&job->dicts[d]);
            if (kernel->max_token > 16) taken[kernel->home][kernel->max_token == 64]++;
        }
        fake_release();
        fastpair_gpu_job_close(job);
    }
}

/* ---------------------------------------------------------------- tests */

static void use_device(uint32_t kilobytes) {
    fake.gpu.info.shared_per_block = kilobytes << 10;
    fake.gpu.info.shared_per_multiprocessor = (kilobytes + 1) << 10;
}

/* As the writer has it. */
static uint32_t long_shift(uint32_t bits, uint32_t longest) {
    return longest == 32 && bits >= 9 && bits <= 12 ? bits - 7 : 0;
}

/* Every width, both limits, all orders and lengths; two columns in a job. */
static void test_columns(void) {
    static const uint32_t kilobytes[] = {227, 163, 99, 48};
    for (uint32_t bits = 1; bits <= 16; bits++)
        for (uint32_t turn = 0; turn < 8; turn++) {
            if (check_scale() < 1 && (bits + turn) % 4 != 2) continue;
            uint32_t longest = turn & 1 ? 64 : 32;
            recipe of = {.bits = bits,
                         .longest = longest,
                         .ascends = turn < 6,
                         .shift = turn % 3 != 1 && turn < 6 ? long_shift(bits, longest) : 0,
                         .lengths = (token_lengths)((bits + turn / 2) % LENGTH_KINDS),
                         .codes = 1200,
                         .batch = 32 * (1 + draw(512 / longest))};
            start();
            use_device(kilobytes[draw(4)]);
            if (turn % 3) of.batch = 128;
            add_long(&of, 2);
            of.codes = 1 + draw(400), of.lengths = MIXED;
            add_long(&of, 3);
            check_columns();
        }
    CHECK(taken[FP_GPU_SPLIT][0] && taken[FP_GPU_PIECES][1] && taken[FP_GPU_FAR][1]);
}

/* Longer tokens beside shorter ones, and chunks of one dictionary that many warps share. */
static void test_mixed(void) {
    const recipe of[] = {
        {12, 64, 1, 0, MOSTLY_SHORT, 20000, 128, 0}, {12, 32, 1, 5, MIXED, 20000, 128, 0},
        {12, 32, 1, 6, MOSTLY_SHORT, 20000, 128, 0}, {12, 32, 1, 4, MIXED, 2000, 128, 0},
        {12, 64, 0, 0, MIXED, 3000, 256, 0},         {12, 32, 0, 0, ONES, 900, 96, 0}};
    start();
    fake.gpu.info.multiprocessors = 1;
    for (int i = 0; i < 6; i++) add_long(&of[i], 2);
    add_classes(&columns, 12, 16, 0, 5, 3, 2000, 256, 1);
    add_classes(&columns, 12, 64, 1, 6, 3, 2000, 128, 1); /* with a hot part */
    add_classes(&columns, 12, 32, 0, 7, 3, 2000, 128, 1); /* in classes */
    add_empty(&columns);
    check_columns();
}

/* Files that must decode for ever. */
static void test_golden(void) {
    static const char *const paths[] = {"golden/long_tokens_32.fpc", "golden/long_tokens_64.fpc"};
    start();
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "rb");
        forge_bytes image = {0};
        uint8_t bytes[4096];
        CHECK(file != NULL);
        if (!file) return;
        for (size_t size; (size = fread(bytes, 1, sizeof bytes, file)) > 0;)
            forge_append(&image, bytes, size);
        fclose(file);
        add_image(&columns, image);
    }
    check_columns();
}

/* One job whose column is spoilt; its status word. */
static uint32_t decode_spoilt(int regenerate) {
    fastpair_gpu_job *job = open_job(&columns, NULL, regenerate);
    fake_allocate(job, 0);
    decode(job, UINT64_MAX);
    uint32_t status = fake_status(0);
    fake_release();
    fastpair_gpu_job_close(job);
    return status;
}

/* A code outside the dictionary, and positions that lie. */
static void test_damage(void) {
    for (uint32_t turn = 0; turn < 12; turn++) {
        recipe of = {turn < 6 ? 12 : 1 + draw(16),
                     turn & 1 ? 64 : 32,
                     turn % 3 > 0,
                     0,
                     MIXED,
                     1500,
                     128,
                     turn % 4 >= 2};
        if (of.ascends) of.shift = long_shift(of.bits, of.longest);
        start();
        add_long(&of, 1);
        if (of.bad_code) {
            CHECK(decode_spoilt(0) & FASTPAIR_GPU_BAD_CODE);
            CHECK(decode_spoilt(1) & FASTPAIR_GPU_BAD_CODE);
            continue;
        }
        const fp_chunk *chunk = chunk_of(columns.column[0], 0);
        const fp_section *section = &chunk->sections[FP_SECTION_SIDECAR];
        uint8_t *sidecar = columns.file[0].data + chunk->position + section->offset;
        for (uint64_t i = 0; i < section->size; i++)
            sidecar[i] = (uint8_t)(turn < 4 ? check_random(&random_state) : turn % 2 ? 0xff : 0);
        CHECK_EQ(decode_spoilt(0), FASTPAIR_GPU_BAD_SIDECAR);
        CHECK_EQ(decode_spoilt(1), 0);
    }
}

int main(void) {
    start_random(1204);
    test_columns();
    test_mixed();
    test_golden();
    test_damage();
    CHECK_EQ(memory.live, 0);
    close_columns(&columns);
    return check_done();
}
