/* test_gpu_outputs.c - what comes out per column on a real GPU, against fastpair_column_decode:
 * bytes, 32- and 64-bit offsets, validity and status, for all shapes of rows, with nulls and
 * without. Chunks are decoded in any order on two streams, outputs that are not wanted stay as they
 * are, columns may be closed after the upload, and a decode replays from a graph. Without a GPU it
 * is skipped. */
#include "device_run.h"
#include "shapes.h"

static fastpair_gpu *gpu;
static cuda_driver cuda;

/* ---------------------------------------------------------------- columns */

/* Replaces a sample's rows by what the CPU decodes, which must be what went in. */
static void expect_from_cpu(sample *s, const shape *from) {
    fastpair_error error = {.message = ""};
    uint64_t rows = from->rows.rows, size = from->out_size;
    s->rows = rows, s->nulls = from->nulls;
    s->bytes = malloc(size + 1), s->offsets = malloc((rows + 1) * 8);
    s->validity = calloc((rows + 31) / 32 * 4 + 1, 1);
    if (!s->bytes || !s->offsets || !s->validity) abort();
    fastpair_destination to = to_memory(s->bytes, size, s->offsets, 64, s->validity);
    CHECK_EQ(fastpair_column_decode(s->column, 0, rows, &to, &error), FASTPAIR_OK);
    CHECK_EQ(to.nulls, from->nulls);
    CHECK(memcmp(s->bytes, from->out_bytes, size) == 0);
    CHECK(memcmp(s->offsets, from->out_offsets, (rows + 1) * 8) == 0);
    CHECK(memcmp(s->validity, from->out_validity, (rows + 7) / 8) == 0);
}

static sample shape_sample(shape_kind kind, uint64_t bytes, uint32_t null_percent,
                           const fastpair_compress_options *options) {
    fastpair_error error = {.message = ""};
    shape from;
    sample s = {.rows = 0};
    shape_options shaped = {.bytes = bytes, .null_percent = null_percent, .bit_offset = 3};
    shape_make(&from, kind, 100 * (uint64_t)kind + null_percent, &shaped);
    CHECK_EQ(fastpair_compress(&from.rows, options, &s.image, &s.image_size, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_column_open(s.image, s.image_size, NULL, &s.column, &error), FASTPAIR_OK);
    if (!s.column) fprintf(stderr, "  ^ %s\n", error.message), exit(1);
    expect_from_cpu(&s, &from);
    shape_free(&from);
    return s;
}

/* A column of every shape; of each three, one has no nulls, one some, one nothing else. */
static void open_shapes(sample samples[SHAPE_KINDS], uint64_t bytes, uint32_t turn,
                        const fastpair_compress_options *options) {
    static const uint32_t null_percent[] = {0, 30, 100};
    for (uint32_t kind = 0; kind < SHAPE_KINDS; kind++)
        samples[kind] =
            shape_sample((shape_kind)kind, bytes, null_percent[(kind + turn) % 3], options);
}

/* ---------------------------------------------------------------- ways to decode */

static void start(device_run *run, const sample *samples, uint64_t count,
                  const fastpair_gpu_job_options *options) {
    CHECK_EQ(run_open_job(run, &cuda, gpu, samples, count, options), FASTPAIR_OK);
    if (!run->job) fprintf(stderr, "  ^ %s\n", run->error.message), exit(1);
    run_allocate(run);
    CHECK_EQ(run_upload(run, NULL, run->outputs.stream), FASTPAIR_OK);
    device_ok(&cuda, cuda.stream_wait(run->outputs.stream));
}

static void clear(const device_run *run) {
    device_ok(&cuda, outputs_clear(run, &run->outputs));
    device_ok(&cuda, cuda.stream_wait(run->outputs.stream));
}

/* All chunks in one call; the first columns with 32-bit offsets, the others with 64, and the
 * reverse. */
static void decode_widths(device_run *run) {
    for (int turn = 0; turn < 2; turn++) {
        for (uint64_t c = 0; c < run->count; c++)
            run->outputs.to[c].offset_bits = (c < run->count / 2) == (turn == 0) ? 32 : 64;
        clear(run);
        CHECK_EQ(run_decode(run, NULL, run->outputs.stream), FASTPAIR_OK);
        run_check(run);
    }
}

/* Ranges of a few chunks each, in any order, in turns on two streams. Chunks that follow each other
 * share words of the validity bitmap. */
static void decode_ranges(device_run *run, uint64_t *random) {
    fastpair_gpu_range ranges[4096];
    uint64_t count = 0, most = run->info.chunks < 40 ? 3 : 12;
    cuda_stream other;
    for (uint64_t at = 0; at < run->info.chunks; count++) {
        uint64_t chunks = 1 + check_random(random) % most, left = run->info.chunks - at;
        if (count == sizeof ranges / sizeof *ranges - 1 || chunks > left) chunks = left;
        ranges[count] = (fastpair_gpu_range){at, chunks};
        at += chunks;
    }
    for (uint64_t i = count; i > 1; i--) {
        uint64_t k = check_random(random) % i;
        fastpair_gpu_range moved = ranges[k];
        ranges[k] = ranges[i - 1], ranges[i - 1] = moved;
    }
    device_ok(&cuda, cuda.stream_open(&other, CUDA_STREAM_INDEPENDENT));
    clear(run);
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(run_decode(run, &ranges[i], i % 2 ? other : run->outputs.stream), FASTPAIR_OK);
    device_ok(&cuda, cuda.stream_wait(other));
    run_check(run);
    device_ok(&cuda, cuda.stream_close(other));
}

/* Whether a block of device memory is as it was cleared. */
static int is_clear(const device_run *run, uint64_t block, uint64_t size) {
    uint8_t *host = malloc(size + 1);
    uint64_t changed = 0;
    device_ok(&cuda, cuda.copy_to_host(host, block, size, run->outputs.stream));
    device_ok(&cuda, cuda.stream_wait(run->outputs.stream));
    for (uint64_t i = 0; i < size; i++) changed += host[i] != CLEAR;
    free(host);
    return changed == 0;
}

/* Some columns without offsets, some without validity, some without either, none with a status
 * word. */
static void decode_parts(device_run *run) {
    fastpair_gpu_output *whole = run->outputs.to, *part = malloc((run->count + 1) * sizeof *part);
    if (!part) abort();
    memcpy(part, whole, run->count * sizeof *part);
    for (uint64_t c = 0; c < run->count; c++) {
        if (c % 4 & 1) part[c].offsets = 0;
        if (c % 4 & 2) part[c].validity = 0;
        part[c].status = 0;
    }
    clear(run);
    CHECK_EQ(fastpair_gpu_job_decode(run->job, part, NULL, run->outputs.stream, &run->error),
             FASTPAIR_OK);
    for (uint64_t c = 0; c < run->count; c++) {
        const sample *s = &run->samples[c];
        if (!part[c].offsets) CHECK(is_clear(run, whole[c].offsets, offsets_bytes(s)));
        if (!part[c].validity) CHECK(is_clear(run, whole[c].validity, bitmap_bytes(s)));
        part[c].status = whole[c].status; /* still 0 */
    }
    run->outputs.to = part;
    run_check(run);
    run->outputs.to = whole;
    free(part);
}

/* Captured once, replayed twice. */
static void decode_in_graph(device_run *run) {
    cuda_graph graph = NULL, instance = NULL;
    cuda_stream stream = run->outputs.stream;
    clear(run);
    device_ok(&cuda, cuda.capture_begin(stream, 1));
    CHECK_EQ(run_decode(run, NULL, stream), FASTPAIR_OK);
    device_ok(&cuda, cuda.capture_end(stream, &graph));
    device_ok(&cuda, cuda.graph_instantiate(&instance, graph, 0));
    for (int i = 0; i < 2; i++) {
        device_ok(&cuda, cuda.graph_launch(instance, stream));
        run_check(run);
        clear(run);
    }
    device_ok(&cuda, cuda.graph_instance_close(instance));
    device_ok(&cuda, cuda.graph_close(graph));
}

/* ---------------------------------------------------------------- tests */

static void test_shapes(uint64_t bytes, uint32_t turn, uint64_t *random) {
    static const struct {
        fastpair_codec codec;
        uint32_t bits, batch, max_token;
    } codecs[] = {{FASTPAIR_CODEC_ONPAIR, 12, 256, 0},
                  {FASTPAIR_CODEC_FSST12, 0, 160, 0}, /* a batch size that suits no kernel */
                  {FASTPAIR_CODEC_ONPAIR, 9, 64, 0},
                  {FASTPAIR_CODEC_ONPAIR, 12, 0, 32},
                  {FASTPAIR_CODEC_ONPAIR, 12, 0, 64},
                  {FASTPAIR_CODEC_STORED, 0, 0, 0}};
    uint32_t codec = turn % 6;
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = codecs[codec].codec,
                                         .code_bits = codecs[codec].bits,
                                         .max_token = codecs[codec].max_token,
                                         .chunk_bytes = bytes / 9,
                                         .expert = EXPERT(.batch_codes = codecs[codec].batch)};
    sample samples[SHAPE_KINDS];
    device_run run;
    open_shapes(samples, bytes, turn, &options);
    start(&run, samples, SHAPE_KINDS, &all_outputs);
    decode_widths(&run);
    decode_ranges(&run, random);
    decode_parts(&run);
    decode_in_graph(&run);
    printf("  %llu chunks: %s\n", (unsigned long long)run.info.chunks, run.info.kernel);
    /* The columns are of no use to an uploaded job. */
    for (int i = 0; i < SHAPE_KINDS; i++) {
        fastpair_column_close(samples[i].column);
        memset(samples[i].image, 0xcc, samples[i].image_size);
        samples[i].column = NULL;
    }
    clear(&run);
    CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    run_check(&run);
    run_close(&run);
    for (int i = 0; i < SHAPE_KINDS; i++) sample_close(&samples[i]);
}

/* Jobs that were opened for less: the same column with each choice of outputs, and twice in one
 * job. */
static void test_choices(uint64_t bytes) {
    fastpair_compress_options options = {.struct_size = sizeof options,
                                         .codec = FASTPAIR_CODEC_ONPAIR,
                                         .code_bits = 12,
                                         .chunk_bytes = bytes / 3};
    sample s = shape_sample(SHAPE_WORDS, bytes, 20, &options), both[2] = {s, s};
    for (uint32_t outputs = 0; outputs < 4; outputs++)
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            device_run run;
            fastpair_gpu_job_options chosen = {.struct_size = sizeof chosen,
                                               .outputs = outputs,
                                               .regenerate_positions = regenerate};
            start(&run, both, 2, &chosen);
            CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
            run_check(&run);
            run_close(&run);
        }
    sample_close(&s);
}

/* Each column's status word speaks for that column alone, and columns may share one. */
static void test_statuses(uint64_t bytes) {
    fastpair_compress_options options = {
        .struct_size = sizeof options, .codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12};
    sample s = shape_sample(SHAPE_WORDS, bytes, 20, &options), three[3] = {s, s, s};
    for (int shared = 0; shared < 2; shared++) {
        device_run run;
        start(&run, three, 3, &all_outputs);
        uint64_t own = run.outputs.to[2].status;
        if (shared) run.outputs.to[2].status = run.outputs.to[1].status;
        run_spoil(&run, run.job->columns[1].first_chunk, FP_SECTION_LENGTHS, 0xff);
        CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
        for (int c = 0; c < 3; c++) {
            uint32_t word = 0;
            device_ok(&cuda,
                      cuda.copy_to_host(&word, run.outputs.to[c].status, 4, run.outputs.stream));
            device_ok(&cuda, cuda.stream_wait(run.outputs.stream));
            CHECK_EQ(word, c == 1 || (shared && c == 2) ? FASTPAIR_GPU_BAD_LENGTHS : 0);
        }
        run.outputs.to[2].status = own;
        run_close(&run);
    }
    sample_close(&s);
}

int main(void) {
    gpu = open_or_skip(&cuda);
    int is_small = getenv("FASTPAIR_TEST_SMALL") != NULL;
    uint64_t random = 41, bytes = is_small ? 6000 : 200000;
    for (uint32_t turn = 0; turn < (is_small ? 6 : 12); turn++) test_shapes(bytes, turn, &random);
    test_choices(is_small ? 3000 : 1000000);
    test_statuses(is_small ? 3000 : 1000000);
    close_both(gpu, &cuda);
    return check_done();
}
