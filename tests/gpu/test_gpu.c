/* test_gpu.c - decoding on a real GPU, through the public interface, with every kernel: whole jobs,
 * ranges of chunks, many columns, images already on the device, computed positions, all outputs,
 * graphs, corrupt data. Without a GPU it checks that the library says why. FASTPAIR_TEST_GPU=1
 * makes a missing GPU a failure. */
#include "device_run.h"
#include "gpu/staged.h"

static fastpair_gpu *gpu;
static cuda_driver cuda;
static uint64_t jobs_tested;

/* ---------------------------------------------------------------- one job, decoded every way */

/* Uploads between decodes, chunk by chunk. */
static void decode_chunks(device_run *run) {
    for (uint64_t i = 0; i < run->info.chunks; i++) {
        fastpair_gpu_range one = {i, 1};
        CHECK_EQ(run_upload(run, &one, run->outputs.stream), FASTPAIR_OK);
        CHECK_EQ(run_decode(run, &one, run->outputs.stream), FASTPAIR_OK);
    }
    run_check(run);
}

/* All at once, with 32-bit offsets. */
static void decode_all(device_run *run) {
    for (uint64_t c = 0; c < run->count; c++) run->outputs.to[c].offset_bits = 32;
    device_ok(&cuda, outputs_clear(run, &run->outputs));
    CHECK_EQ(run_decode(run, NULL, run->outputs.stream), FASTPAIR_OK);
    run_check(run);
}

/* Captured in a graph and replayed. */
static void decode_in_graph(device_run *run) {
    cuda_graph graph = NULL, instance = NULL;
    device_ok(&cuda, outputs_clear(run, &run->outputs));
    device_ok(&cuda, cuda.stream_wait(run->outputs.stream));
    device_ok(&cuda, cuda.capture_begin(run->outputs.stream, 1));
    CHECK_EQ(run_decode(run, NULL, run->outputs.stream), FASTPAIR_OK);
    device_ok(&cuda, cuda.capture_end(run->outputs.stream, &graph));
    device_ok(&cuda, cuda.graph_instantiate(&instance, graph, 0));
    for (int i = 0; i < 2; i++) device_ok(&cuda, cuda.graph_launch(instance, run->outputs.stream));
    run_check(run);
    device_ok(&cuda, cuda.graph_instance_close(instance));
    device_ok(&cuda, cuda.graph_close(graph));
}

/* Whether tokens of more than so many bytes occur. */
static int has_tokens_above(uint32_t length, const sample *samples, uint64_t count) {
    uint64_t longer = 0;
    for (uint64_t c = 0; c < count; c++) {
        fastpair_column_info info = {.struct_size = sizeof info};
        fastpair_column_get_info(samples[c].column, &info, NULL);
        for (uint32_t i = fp_length_band(length + 1); i < FP_LENGTH_BANDS; i++)
            longer += info.codes_by_length[i];
    }
    return longer > 0;
}

static void test_job(const sample *samples, uint64_t count, const char *kernel, int regenerate) {
    device_run run;
    fastpair_gpu_job_options options = all_outputs;
    options.kernel = kernel, options.regenerate_positions = regenerate;
    fastpair_status opened = run_open_job(&run, &cuda, gpu, samples, count, &options);
    uint32_t most = kernel && strstr(kernel, "staged8") ? 8 : 16;
    if (kernel && !strstr(kernel, "assembled") && has_tokens_above(most, samples, count)) {
        /* Its planes have no room for such tokens. */
        CHECK_EQ(opened, FASTPAIR_ERROR_INVALID_ARGUMENT);
        return;
    }
    if (kernel && strstr(kernel, "assembled") && opened == FASTPAIR_ERROR_INVALID_ARGUMENT)
        return; /* another code width; test_assembled_kernels has the right one */
    CHECK_EQ(opened, FASTPAIR_OK);
    if (kernel) CHECK(strcmp(run.info.kernel, kernel) == 0);
    run_allocate(&run);
    CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_ERROR_INVALID_ARGUMENT);
    jobs_tested++;
    decode_chunks(&run);
    decode_all(&run);
    decode_in_graph(&run);
    run_close(&run);
}

/* Every assembled kernel, on columns made for it: training would take narrower codes. */
static void test_assembled_kernels(void) {
    for (uint32_t i = FP_STAGED_KERNELS; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        forge_class_shape shape = {.bits = kernel->code_bits,
                                   .longest = kernel->max_token,
                                   .hot = kernel->home == FP_GPU_HOT,
                                   .chunks = 4,
                                   .codes = getenv("FASTPAIR_TEST_SMALL") ? 1500 : 60000,
                                   .batch = kernel->codes_per_lane % 2 ? 480 : 256};
        sample samples[2];
        uint64_t before = jobs_tested, random = i;
        for (int k = 0; k < 2; k++, shape.seed++)
            samples[k] = sample_of_image(forge_class_column(&shape, &random));
        test_job(samples, 1, kernel->name, 0);
        test_job(samples, 1, kernel->name, 1);
        test_job(samples, 2, kernel->name, 0);
        CHECK_EQ(jobs_tested, before + 3);
        if (jobs_tested != before + 3) fprintf(stderr, "  ^ %s\n", kernel->name);
        for (int k = 0; k < 2; k++) sample_close(&samples[k]);
    }
}

/* ---------------------------------------------------------------- images on the device, damage */

/* The image is on the device already; only the dictionaries are uploaded. */
static void test_device_image(const sample *s) {
    device_run run;
    uint64_t image = device_block(&cuda, s->image_size);
    fastpair_gpu_job_options options = all_outputs;
    options.device_images = &image;
    CHECK_EQ(run_open_job(&run, &cuda, gpu, s, 1, &options), FASTPAIR_OK);
    run_allocate(&run);
    device_ok(&cuda, cuda.copy_to_device(image, s->image, s->image_size, run.outputs.stream));
    CHECK_EQ(run_upload(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
    run_check(&run);
    run_close(&run);
    device_ok(&cuda, cuda.release(image));
}

/* Damage on the device, after the host's checks: the status word tells, and nothing outside the
 * output is written. */
static void test_damage(const sample *s) {
    const int sections[] = {FP_SECTION_CODES, FP_SECTION_SIDECAR, FP_SECTION_LENGTHS};
    for (int which = 0; which < 3; which++)
        for (int value = 0; value < 256; value += 255) {
            device_run run;
            CHECK_EQ(run_open_job(&run, &cuda, gpu, s, 1, &all_outputs), FASTPAIR_OK);
            run_allocate(&run);
            CHECK_EQ(run_upload(&run, NULL, run.outputs.stream), FASTPAIR_OK);
            run_spoil(&run, 0, sections[which], (uint8_t)value);
            CHECK_EQ(run_decode(&run, NULL, run.outputs.stream), FASTPAIR_OK);
            /* Computed positions do without the sidecar. */
            int unread = sections[which] == FP_SECTION_SIDECAR && run.info.regenerates_positions;
            CHECK_EQ(run_status(&run) != 0, !unread);
            const fastpair_gpu_output *to = run.outputs.to;
            const uint64_t ends[] = {to->bytes + to->bytes_capacity, to->offsets + offsets_bytes(s),
                                     to->validity + bitmap_bytes(s)};
            for (int i = 0; i < 3; i++) {
                uint8_t guard[GUARD] = {0};
                device_ok(&cuda, cuda.copy_to_host(guard, ends[i], GUARD, run.outputs.stream));
                device_ok(&cuda, cuda.stream_wait(run.outputs.stream));
                CHECK(guard_holds(guard));
            }
            run_close(&run);
        }
}

/* ---------------------------------------------------------------- the device */

/* The resource model against the driver, for every kernel. */
static void test_occupancy(void) {
    fastpair_error error;
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        fastpair_gpu_kernel_info info = {.struct_size = sizeof info};
        CHECK_EQ(fastpair_gpu_get_kernel(gpu, i, &info, &error), FASTPAIR_OK);
        CHECK_EQ(info.model_blocks, info.driver_blocks);
        CHECK_EQ(info.static_shared, fp_kernel_table()[i].static_shared);
        CHECK(info.registers <= info.register_limit);
        CHECK_EQ(info.spill_bytes, 0);
    }
}

static int say_why_not(fastpair_status status, const fastpair_error *error) {
    CHECK_EQ(status, FASTPAIR_ERROR_UNSUPPORTED);
    CHECK(strstr(error->message, "GPU") != NULL);
    CHECK(gpu == NULL);
    CHECK(!getenv("FASTPAIR_TEST_GPU"));
    printf("no GPU here: %s\n", error->message);
    return check_done();
}

int main(void) {
    fastpair_error error = {.message = ""};
    fastpair_gpu_info info = {.struct_size = sizeof info};
    fastpair_status status = fastpair_gpu_open(NULL, &gpu, &error);
    if (status) return say_why_not(status, &error);
    fastpair_gpu_close(gpu);
    gpu = open_or_skip(&cuda);
    CHECK_EQ(fastpair_gpu_get_info(gpu, &info, &error), FASTPAIR_OK);
    printf("%s, compute capability %d.%d\n", info.name, info.compute_major, info.compute_minor);
    test_occupancy();
    uint64_t bytes = getenv("FASTPAIR_TEST_SMALL") ? 100000 : 3000000;
    const fastpair_compress_options codecs[] = {
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 16, .chunk_bytes = 700000},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .chunk_bytes = 100000},
        {.codec = FASTPAIR_CODEC_FSST12, .expert = EXPERT(.batch_codes = 192)},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 9, .expert = EXPERT(.batch_codes = 32)},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .max_token = 32, .chunk_bytes = 300000},
        {.codec = FASTPAIR_CODEC_ONPAIR, .code_bits = 12, .max_token = 64, .chunk_bytes = 300000},
        {.codec = FASTPAIR_CODEC_ONPAIR,
         .code_bits = 14,
         .max_token = 64,
         .expert = EXPERT(.batch_codes = 96)}, /* positions are computed */
    };
    for (size_t codec = 0; codec < sizeof codecs / sizeof *codecs; codec++) {
        sample samples[COLUMN_KINDS];
        fastpair_compress_options options = codecs[codec];
        options.struct_size = sizeof options;
        for (int kind = 0; kind < COLUMN_KINDS; kind++)
            samples[kind] = sample_open(kind, bytes, &options);
        test_job(samples, COLUMN_KINDS, NULL, 0);
        test_job(samples, COLUMN_KINDS, NULL, 1);
        for (uint32_t i = 0; fastpair_gpu_kernel_name(i); i++)
            test_job(samples, 2, fastpair_gpu_kernel_name(i), 0);
        for (int kind = 0; kind < COLUMN_KINDS; kind++) test_job(&samples[kind], 1, NULL, 0);
        test_device_image(&samples[PS_COMMENT]);
        test_damage(&samples[L_COMMENT]);
        for (int kind = 0; kind < COLUMN_KINDS; kind++) sample_close(&samples[kind]);
    }
    test_assembled_kernels();
    printf("%llu jobs\n", (unsigned long long)jobs_tested);
    close_both(gpu, &cuda);
    return check_done();
}
