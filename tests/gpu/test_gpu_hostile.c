/* test_gpu_hostile.c - wrong codes, sidecars, row lengths and dictionaries on a real GPU, with every kernel that suits: spoilt on the
 * device, behind the host's back, at random, with ones and with zeros. Nothing beside output and row offsets may be written, no
 * launch may fail, and what was not spoilt still decodes. Made for compute-sanitizer. Without a GPU it is skipped. */
#include "device_run.h"
#include "gpu/batch.h"

enum { MARGIN = 256, TARGETS = 5, WAYS = 3 };

static const char *const target_names[TARGETS] = {"codes", "sidecar", "lengths", "image", "planes"};

/* A batch of one column, its device memory as it should be, and output between margins. */
typedef struct victim {
    fastpair_gpu *gpu;
    const sample *source;
    fastpair_gpu_batch *batch;
    fastpair_gpu_batch_info info;
    device_buffers buffers; /* output and offsets point behind a margin */
    uint64_t output_bytes, offsets_bytes;
    uint8_t *pristine, *spoilt;
} victim;

static void make_victim(victim *v) {
    fastpair_error error;
    const fp_driver *d = &v->gpu->driver;
    device_buffers *b = &v->buffers;
    v->output_bytes = MARGIN + v->info.output_bytes + MARGIN;
    v->offsets_bytes = MARGIN + (v->info.rows + 1) * 8 + MARGIN;
    v->pristine = malloc(v->info.device_bytes + 1), v->spoilt = malloc(v->info.device_bytes + 1);
    *b = (device_buffers){0};
    device_ok(v->gpu, d->allocate(&b->tables, v->info.device_bytes));
    device_ok(v->gpu, d->allocate(&b->output, v->output_bytes));
    device_ok(v->gpu, d->allocate(&b->offsets, v->offsets_bytes));
    device_ok(v->gpu, d->allocate(&b->status, 4));
    device_ok(v->gpu, d->stream_create(&b->stream, 1));
    b->output += MARGIN, b->offsets += MARGIN;
    device_ok(v->gpu, d->fill(b->tables, 0, v->info.device_bytes, b->stream));
    CHECK_EQ(fastpair_gpu_batch_upload(v->batch, b->tables, v->info.device_bytes, 0, v->info.chunks,
                                       b->stream, &error),
             FASTPAIR_OK);
    device_ok(v->gpu, d->copy_to_host(v->pristine, b->tables, v->info.device_bytes, b->stream));
    device_ok(v->gpu, d->stream_wait(b->stream));
}

static void free_victim(victim *v) {
    v->buffers.output -= MARGIN, v->buffers.offsets -= MARGIN;
    free_buffers(v->gpu, &v->buffers);
    free(v->pristine), free(v->spoilt);
}

/* Where a target lies in the batch's device memory; 0 bytes if there is none. */
static void find_target(const victim *v, int target, uint64_t *at, uint64_t *size) {
    static const int sections[] = {FP_SECTION_CODES, FP_SECTION_SIDECAR, FP_SECTION_LENGTHS};
    const fp_batch_group *group = &v->batch->groups[0];
    *at = 0, *size = 0;
    if (target < 3) {
        const fp_batch_chunk *placed = &v->batch->chunks[0];
        const fp_section *section = &placed->chunk->sections[sections[target]];
        *at = placed->device_offset + section->offset - placed->first_section,
        *size = section->size;
    } else if (target == 3)
        *at = group->image_offset, *size = group->image.bytes;
    else if (v->batch->dict_count)
        *at = group->plane_offset, *size = fp_planes_size(&v->batch->dicts[0]->dict, group->planes);
}

/* Whether the margins of a block of device memory are as they were. */
static int margins_hold(const victim *v, uint64_t block, uint64_t size) {
    uint8_t margins[2 * MARGIN];
    const fp_driver *d = &v->gpu->driver;
    device_ok(v->gpu, d->copy_to_host(margins, block - MARGIN, MARGIN, v->buffers.stream));
    device_ok(v->gpu, d->copy_to_host(margins + MARGIN, block - MARGIN + size - MARGIN, MARGIN,
                                      v->buffers.stream));
    device_ok(v->gpu, d->stream_wait(v->buffers.stream));
    for (int i = 0; i < 2 * MARGIN; i++)
        if (margins[i] != 0xee) return 0;
    return 1;
}

/* Decodes what `memory` says; the status word. */
static uint32_t decode(const victim *v, const uint8_t *memory) {
    fastpair_error error = {.message = ""};
    const fp_driver *d = &v->gpu->driver;
    const device_buffers *b = &v->buffers;
    fastpair_gpu_destination to = destination_in(b, v->info.output_bytes);
    device_ok(v->gpu, d->copy_to_device(b->tables, memory, v->info.device_bytes, b->stream));
    device_ok(v->gpu, d->fill(b->output - MARGIN, 0xee, v->output_bytes, b->stream));
    device_ok(v->gpu, d->fill(b->offsets - MARGIN, 0xee, v->offsets_bytes, b->stream));
    device_ok(v->gpu, d->fill(b->status, 0, 4, b->stream));
    CHECK_EQ(fastpair_gpu_batch_decode(v->batch, 0, v->info.chunks, &to, b->stream, &error),
             FASTPAIR_OK);
    uint32_t status = read_status(v->gpu, b);
    CHECK(margins_hold(v, b->output, v->output_bytes));
    CHECK(margins_hold(v, b->offsets, v->offsets_bytes));
    return status;
}

static uint64_t cases, noticed;

static void spoil_all(victim *v, uint64_t *random) {
    for (int target = 0; target < TARGETS; target++) {
        uint64_t at, size;
        find_target(v, target, &at, &size);
        for (int way = 0; way < WAYS && size; way++) {
            unsigned long long before = check_failed;
            memcpy(v->spoilt, v->pristine, v->info.device_bytes);
            if (way)
                memset(v->spoilt + at, way == 1 ? 0xff : 0, size);
            else
                for (uint64_t i = 0; i < size; i++)
                    if (check_random(random) % 50 == 0)
                        v->spoilt[at + i] = (uint8_t)check_random(random);
            uint32_t status = decode(v, v->spoilt);
            if (target == 1 && way == 1 && !v->info.makes_positions)
                CHECK(status & FASTPAIR_GPU_BAD_SIDECAR);
            cases++, noticed += status != 0;
            if (check_failed != before)
                fprintf(stderr, "  ^ %s, %s, way %d\n", v->info.kernel, target_names[target], way);
        }
    }
    CHECK_EQ(decode(v, v->pristine), 0);
    check_output(v->gpu, v->batch, v->source, 1, &v->buffers, 64);
}

/* Every kernel that takes the column, with the sidecar and without. Returns how many there are. */
static uint32_t spoil_column(fastpair_gpu *gpu, const sample *s, uint64_t *random) {
    uint32_t kernels = 0;
    const fastpair_column *column = s->column;
    for (uint32_t i = 0; fastpair_gpu_kernel_name(i); i++)
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            fastpair_error error;
            victim v = {.gpu = gpu, .source = s, .info = {.struct_size = sizeof v.info}};
            fastpair_gpu_batch_options options = {.struct_size = sizeof options,
                                                  .kernel = fastpair_gpu_kernel_name(i),
                                                  .regenerate_sidecar = regenerate};
            if (fastpair_gpu_batch_create(gpu, &column, 1, &options, &v.batch, &error)) continue;
            CHECK_EQ(fastpair_gpu_batch_get_info(v.batch, &v.info, &error), FASTPAIR_OK);
            make_victim(&v);
            spoil_all(&v, random);
            free_victim(&v);
            fastpair_gpu_batch_free(v.batch);
            kernels += !regenerate;
        }
    return kernels;
}

int main(void) {
    fastpair_gpu *gpu = open_or_skip();
    uint64_t random = 23, bytes = getenv("FASTPAIR_TEST_SMALL") ? 4000 : 200000;
    static const struct {
        fastpair_codec codec;
        uint32_t bits, times;
    } columns[] = {{FASTPAIR_CODEC_ONPAIR, 9, 1},
                   {FASTPAIR_CODEC_ONPAIR, 12, 1},
                   {FASTPAIR_CODEC_ONPAIR, 16, 30}, /* so many bytes have a hot part */
                   {FASTPAIR_CODEC_FSST12, 0, 1}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        uint64_t size = bytes * (bytes > 4000 ? columns[i].times : 1);
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = columns[i].codec,
                                             .code_bits = columns[i].bits,
                                             .chunk_bytes = size / 2};
        sample s = make_sample(0, size, &options);
        uint32_t kernels = spoil_column(gpu, &s, &random);
        printf("codec %d, %u bits: %u kernels\n", (int)columns[i].codec, columns[i].bits, kernels);
        CHECK(kernels > 0);
        free_sample(&s);
    }
    printf("%llu columns spoilt, %llu of them noticed on the device\n", (unsigned long long)cases,
           (unsigned long long)noticed);
    CHECK(cases > 100 && noticed > cases / 4);
    fp_gpu_pop(gpu);
    fastpair_gpu_close(gpu);
    return check_done();
}
