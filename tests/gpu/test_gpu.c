/* test_gpu.c - decoding on a real GPU, through the public interface: whole batches, ranges of chunks, many columns, images already
 * on the device, regenerated sidecars, row offsets, graphs, corrupt data. Without a GPU it checks that the library says why, and
 * everything that is host arithmetic. FASTPAIR_TEST_GPU=1 makes a missing GPU a failure. */
#include "device_run.h"
#include "gpu/batch.h"

#define COLUMNS 5

static int has_long_tokens(const sample *samples, uint64_t count) {
    uint64_t longer = 0;
    for (uint64_t c = 0; c < count; c++) {
        fastpair_column_info info = {.struct_size = sizeof info};
        fastpair_column_get_info(samples[c].column, &info, NULL);
        for (int i = 8; i < 16; i++) longer += info.codes_by_length[i];
    }
    return longer > 0;
}

static uint64_t batches_tested;

/* One batch through every way of decoding it. */
static void test_batch(fastpair_gpu *gpu, const sample *samples, uint64_t count, const char *kernel,
                       int regenerate) {
    fastpair_error error;
    const fastpair_column *columns[COLUMNS];
    for (uint64_t c = 0; c < count; c++) columns[c] = samples[c].column;
    fastpair_gpu_batch_options options = {
        .struct_size = sizeof options, .kernel = kernel, .regenerate_sidecar = regenerate};
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info = {.struct_size = sizeof info};
    fastpair_status created =
        fastpair_gpu_batch_create(gpu, columns, count, &options, &batch, &error);
    if (kernel && strstr(kernel, "staged8") && has_long_tokens(samples, count)) {
        CHECK_EQ(created,
                 FASTPAIR_ERROR_INVALID_ARGUMENT); /* its planes have no room for such tokens */
        return;
    }
    if (kernel && strstr(kernel, "assembled") && created == FASTPAIR_ERROR_INVALID_ARGUMENT)
        return; /* another code width; test_assembled_kernels has the right one */
    CHECK_EQ(created, FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_batch_get_info(batch, &info, &error), FASTPAIR_OK);
    if (kernel) CHECK(strcmp(info.kernel, kernel) == 0);
    device_buffers b = make_buffers(gpu, &info, count);
    fastpair_gpu_destination to = destination_in(&b, info.output_bytes);
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, info.chunks, &to, b.stream, &error),
             FASTPAIR_ERROR_INVALID_ARGUMENT); /* not uploaded yet */
    batches_tested++;
    /* Chunk by chunk, uploads between decodes. */
    for (uint64_t i = 0; i < info.chunks; i++) {
        CHECK_EQ(
            fastpair_gpu_batch_upload(batch, b.tables, info.device_bytes, i, 1, b.stream, &error),
            FASTPAIR_OK);
        CHECK_EQ(fastpair_gpu_batch_decode(batch, i, 1, &to, b.stream, &error), FASTPAIR_OK);
    }
    check_output(gpu, batch, samples, count, &b, 64);
    /* All at once, 32-bit offsets. */
    device_ok(gpu, gpu->driver.fill(b.output, 0xee, info.output_bytes, b.stream));
    to.offset_bits = 32;
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, info.chunks, &to, b.stream, &error), FASTPAIR_OK);
    check_output(gpu, batch, samples, count, &b, 32);
    /* Captured in a graph and replayed. */
    fp_cu_graph graph, instance;
    device_ok(gpu, gpu->driver.fill(b.output, 0xee, info.output_bytes, b.stream));
    device_ok(gpu, gpu->driver.stream_wait(b.stream));
    device_ok(gpu, gpu->driver.capture_begin(b.stream, 1));
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, info.chunks, &to, b.stream, &error), FASTPAIR_OK);
    device_ok(gpu, gpu->driver.capture_end(b.stream, &graph));
    device_ok(gpu, gpu->driver.graph_instantiate(&instance, graph, 0));
    for (int i = 0; i < 2; i++) device_ok(gpu, gpu->driver.graph_launch(instance, b.stream));
    check_output(gpu, batch, samples, count, &b, 32);
    gpu->driver.graph_instance_destroy(instance);
    gpu->driver.graph_destroy(graph);
    /* Too little room is refused before anything is launched. */
    to.output_bytes = info.output_bytes - 1;
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, info.chunks, &to, b.stream, &error),
             FASTPAIR_ERROR_BUFFER_TOO_SMALL);
    free_buffers(gpu, &b);
    fastpair_gpu_batch_free(batch);
}

/* Every assembled kernel, on a column made for it. */
static void test_assembled_kernels(fastpair_gpu *gpu) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (!fp_kernel_is_assembled(kernel)) continue;
        int few = kernel->code_bits <= 8;
        fastpair_compress_options options = {
            .struct_size = sizeof options,
            .codec = FASTPAIR_CODEC_ONPAIR,
            .code_bits = few ? 12 : kernel->code_bits,
            .max_token = kernel->max_token,
            .hot_codes = kernel->home == FP_GPU_HOT ? 3000 : FASTPAIR_NO_HOT_CODES,
            .chunk_bytes = 600000,
            .batch_codes = kernel->codes_per_lane % 2 ? 480 : 256};
        int fills = kernel->code_bits > 13;
        sample samples[2] = {make_sample(few     ? FEW_OF(kernel->code_bits)
                                         : fills ? ADDRESSES
                                                 : 0,
                                         kernel->code_bits == 16 ? 40000000
                                         : fills                 ? 8000000
                                                                 : 3000000,
                                         &options),
                             make_sample(1, 2000000, &options)};
        uint64_t before = batches_tested;
        test_batch(gpu, samples, 1, kernel->name, 0);
        test_batch(gpu, samples, 1, kernel->name, 1);
        CHECK_EQ(batches_tested, before + 2);
        if (batches_tested != before + 2) fprintf(stderr, "  %s\n", kernel->name);
        test_batch(gpu, samples, 2, kernel->name, 0);
        for (int k = 0; k < 2; k++) free_sample(&samples[k]);
    }
}

/* The image is on the device already; only tables are uploaded. */
static void test_device_image(fastpair_gpu *gpu, const sample *s) {
    fastpair_error error;
    uint64_t image;
    device_ok(gpu, gpu->driver.allocate(&image, s->image_size));
    const fastpair_column *column = s->column;
    fastpair_gpu_batch_options options = {.struct_size = sizeof options, .device_images = &image};
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_gpu_batch_create(gpu, &column, 1, &options, &batch, &error), FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_batch_get_info(batch, &info, &error), FASTPAIR_OK);
    device_buffers b = make_buffers(gpu, &info, 1);
    device_ok(gpu, gpu->driver.copy_to_device(image, s->image, s->image_size, b.stream));
    fastpair_gpu_destination to = destination_in(&b, info.output_bytes);
    CHECK_EQ(fastpair_gpu_batch_upload(batch, b.tables, info.device_bytes, 0, info.chunks, b.stream,
                                       &error),
             FASTPAIR_OK);
    CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, info.chunks, &to, b.stream, &error), FASTPAIR_OK);
    check_output(gpu, batch, s, 1, &b, 64);
    free_buffers(gpu, &b);
    fastpair_gpu_batch_free(batch);
    gpu->driver.release(image);
}

/* Damage on the device, behind the host's back: the status word tells, and nothing outside the output is written. */
static void test_damage(fastpair_gpu *gpu, const sample *s) {
    fastpair_error error;
    const fastpair_column *column = s->column;
    const int sections[] = {FP_SECTION_CODES, FP_SECTION_SIDECAR, FP_SECTION_LENGTHS};
    for (int which = 0; which < 3; which++)
        for (int value = 0; value < 256; value += 255) {
            fastpair_gpu_batch *batch;
            fastpair_gpu_batch_info info = {.struct_size = sizeof info};
            CHECK_EQ(fastpair_gpu_batch_create(gpu, &column, 1, NULL, &batch, &error), FASTPAIR_OK);
            CHECK_EQ(fastpair_gpu_batch_get_info(batch, &info, &error), FASTPAIR_OK);
            device_buffers b = make_buffers(gpu, &info, 1);
            CHECK_EQ(fastpair_gpu_batch_upload(batch, b.tables, info.device_bytes, 0, info.chunks,
                                               b.stream, &error),
                     FASTPAIR_OK);
            const fp_batch_chunk *placed = &batch->chunks[0];
            const fp_section *section = &placed->chunk->sections[sections[which]];
            device_ok(gpu, gpu->driver.fill(b.tables + placed->device_offset + section->offset -
                                                placed->first_section,
                                            (unsigned char)value, section->size, b.stream));
            fastpair_gpu_destination to = destination_in(&b, info.output_bytes);
            CHECK_EQ(fastpair_gpu_batch_decode(batch, 0, info.chunks, &to, b.stream, &error),
                     FASTPAIR_OK);
            CHECK(read_status(gpu, &b) != 0);
            uint8_t guard[16];
            device_ok(gpu,
                      gpu->driver.copy_to_host(guard, b.output + info.output_bytes, 16, b.stream));
            device_ok(gpu, gpu->driver.stream_wait(b.stream));
            for (int i = 0; i < 16; i++) CHECK_EQ(guard[i], 0xee);
            free_buffers(gpu, &b);
            fastpair_gpu_batch_free(batch);
        }
}

/* The resource model against the driver, for every kernel. */
static void test_occupancy(const fastpair_gpu *gpu) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        int registers, shared, local, blocks;
        device_ok(gpu, gpu->driver.function_attribute(&registers, FP_CU_FUNCTION_REGISTERS,
                                                      gpu->kernels[i]));
        device_ok(gpu,
                  gpu->driver.function_attribute(&shared, FP_CU_FUNCTION_SHARED, gpu->kernels[i]));
        device_ok(gpu,
                  gpu->driver.function_attribute(&local, FP_CU_FUNCTION_LOCAL, gpu->kernels[i]));
        device_ok(gpu, gpu->driver.occupancy(&blocks, gpu->kernels[i], (int)kernel->threads, 0));
        fp_block_needs needs = {kernel->threads, (uint32_t)registers, (uint32_t)shared};
        CHECK_EQ(fp_resident_blocks(&gpu->info, &needs), blocks);
        CHECK_EQ(shared, kernel->static_shared);
        CHECK_EQ(local, 0);
    }
}

int main(void) {
    fastpair_error error = {0};
    fastpair_gpu *gpu;
    fastpair_status status = fastpair_gpu_open(NULL, &gpu, &error);
    if (status) {
        CHECK_EQ(status, FASTPAIR_ERROR_UNSUPPORTED);
        CHECK(strstr(error.message, "GPU") != NULL);
        CHECK(gpu == NULL);
        CHECK(!getenv("FASTPAIR_TEST_GPU"));
        printf("no GPU here: %s\n", error.message);
        return check_done();
    }
    fastpair_gpu_info info = {.struct_size = sizeof info};
    CHECK_EQ(fastpair_gpu_get_info(gpu, &info, &error), FASTPAIR_OK);
    printf("%s, compute capability %d.%d\n", info.name, info.compute_major, info.compute_minor);
    CHECK_EQ(fp_gpu_push(gpu, &error),
             FASTPAIR_OK); /* the test's own calls need a current context too */
    test_occupancy(gpu);

    uint64_t bytes = getenv("FASTPAIR_TEST_SMALL") ? 100000 : 3000000;
    const fastpair_compress_options codecs[] = {
        {.struct_size = sizeof codecs[0],
         .codec = FASTPAIR_CODEC_ONPAIR,
         .code_bits = 16,
         .chunk_bytes = 700000},
        {.struct_size = sizeof codecs[0],
         .codec = FASTPAIR_CODEC_ONPAIR,
         .code_bits = 12,
         .chunk_bytes = 100000},
        {.struct_size = sizeof codecs[0], .codec = FASTPAIR_CODEC_FSST12, .batch_codes = 192},
        {.struct_size = sizeof codecs[0],
         .codec = FASTPAIR_CODEC_ONPAIR,
         .code_bits = 9,
         .batch_codes = 32},
    };
    for (size_t codec = 0; codec < sizeof codecs / sizeof *codecs; codec++) {
        sample samples[COLUMNS];
        for (int kind = 0; kind < COLUMNS; kind++)
            samples[kind] = make_sample(kind, bytes, &codecs[codec]);
        test_batch(gpu, samples, COLUMNS, NULL, 0);
        test_batch(gpu, samples, COLUMNS, NULL, 1);
        for (uint32_t i = 0; fastpair_gpu_kernel_name(i); i++)
            test_batch(gpu, samples, 2, fastpair_gpu_kernel_name(i), 0);
        for (int kind = 0; kind < COLUMNS; kind++) test_batch(gpu, &samples[kind], 1, NULL, 0);
        test_device_image(gpu, &samples[1]);
        test_damage(gpu, &samples[0]);
        for (int kind = 0; kind < COLUMNS; kind++) free_sample(&samples[kind]);
    }
    test_assembled_kernels(gpu);
    printf("%llu batches\n", (unsigned long long)batches_tested);
    fp_gpu_pop(gpu);
    fastpair_gpu_close(gpu);
    return check_done();
}
