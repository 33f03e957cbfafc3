/* test_gpu_hostile.c - wrong codes, sidecars, row lengths, validity bits and dictionaries on a real
 * GPU, with every kernel that suits: spoilt on the device, after the host's checks, at random, with
 * ones and with zeros. Nothing besides the outputs may be written, no launch may fail, and what was
 * not spoilt still decodes. Made for compute-sanitizer. Without a GPU it is skipped. */
#include "device_run.h"

enum { MARGIN = 256, OUTPUTS = 3, WAYS = 3 };

enum {
    SPOIL_CODES,
    SPOIL_SIDECAR,
    SPOIL_LENGTHS,
    SPOIL_VALIDITY,
    SPOIL_RESIDENT,
    SPOIL_PLANES,
    TARGETS
};
static const char *const target_names[TARGETS] = {"codes",    "sidecar",  "lengths",
                                                  "validity", "resident", "planes"};

/* A job of one column, its device memory as it should be, and outputs between margins. */
typedef struct victim {
    device_run run;
    /* Blocks of device memory, whose outputs begin after a margin. */
    uint64_t blocks[OUTPUTS], sizes[OUTPUTS];
    uint8_t *pristine, *spoilt;
} victim;

static void victim_open(victim *v) {
    device_run *run = &v->run;
    const cuda_driver *cuda = run->cuda;
    const sample *s = run->samples;
    const uint64_t sizes[OUTPUTS] = {s->offsets[s->rows], offsets_bytes(s), bitmap_bytes(s)};
    uint64_t size = run->info.device_bytes;
    v->pristine = malloc(size + 1), v->spoilt = malloc(size + 1);
    run->memory = device_block(cuda, size);
    for (int i = 0; i < OUTPUTS; i++) {
        v->sizes[i] = sizes[i] + 2 * MARGIN;
        v->blocks[i] = device_block(cuda, v->sizes[i]);
    }
    run->outputs.to = calloc(1, sizeof *run->outputs.to);
    if (!v->pristine || !v->spoilt || !run->outputs.to) abort();
    *run->outputs.to = (fastpair_gpu_output){.struct_size = sizeof *run->outputs.to,
                                             .bytes = v->blocks[0] + MARGIN,
                                             .bytes_capacity = sizes[0],
                                             .offsets = v->blocks[1] + MARGIN,
                                             .offset_bits = 64,
                                             .validity = v->blocks[2] + MARGIN,
                                             .status = device_block(cuda, 4)};
    device_ok(cuda, cuda->stream_open(&run->outputs.stream, CUDA_STREAM_INDEPENDENT));
    device_ok(cuda, cuda->fill(run->memory, 0, size, run->outputs.stream));
    CHECK_EQ(run_upload(run, NULL, run->outputs.stream), FASTPAIR_OK);
    device_ok(cuda, cuda->copy_to_host(v->pristine, run->memory, size, run->outputs.stream));
    device_ok(cuda, cuda->stream_wait(run->outputs.stream));
}

static void victim_close(victim *v) {
    const cuda_driver *cuda = v->run.cuda;
    device_ok(cuda, cuda->stream_wait(v->run.outputs.stream));
    for (int i = 0; i < OUTPUTS; i++) device_ok(cuda, cuda->release(v->blocks[i]));
    device_ok(cuda, cuda->release(v->run.outputs.to->status));
    device_ok(cuda, cuda->release(v->run.memory));
    device_ok(cuda, cuda->stream_close(v->run.outputs.stream));
    fastpair_gpu_job_close(v->run.job);
    free(v->run.outputs.to), free(v->pristine), free(v->spoilt);
}

/* Where a target lies in the job's device memory; 0 bytes if there is none. */
static void find_target(const victim *v, int target, uint64_t *at, uint64_t *size) {
    static const int sections[] = {FP_SECTION_CODES, FP_SECTION_SIDECAR, FP_SECTION_LENGTHS,
                                   FP_SECTION_VALIDITY};
    const fastpair_gpu_job *job = v->run.job;
    const fp_device_dict *dict = &job->dicts[0].at;
    *at = 0, *size = 0;
    if (target <= SPOIL_VALIDITY) {
        *at = job->chunks[0].sections[sections[target]];
        *size = job->sources[0].host.chunk->sections[sections[target]].size;
    } else if (job->dict_count && target == SPOIL_RESIDENT)
        *at = dict->resident, *size = job->dicts[0].plan.resident.bytes;
    else if (job->dict_count && target == SPOIL_PLANES) {
        const uint64_t planes[] = {dict->low8, dict->high8, dict->cells16, dict->nibbles,
                                   dict->lengths};
        uint64_t end = dict->pieces ? dict->pieces : dict->end;
        *at = end;
        for (int i = 0; i < 5; i++)
            if (planes[i] && planes[i] < *at) *at = planes[i];
        *size = end - *at;
        /* Entries of pieces say where to read: these are the host's own, and nobody's to spoil. */
        if (dict->pieces && !*size) {
            *at = dict->pieces + FP_GPU_FAR_TABLE(job->dicts[0].code_bits);
            *size = dict->end - *at;
        }
    }
}

/* Whether the margins of a block of device memory are as they were. */
static int margins_hold(const victim *v, int block) {
    const cuda_driver *cuda = v->run.cuda;
    cuda_stream stream = v->run.outputs.stream;
    uint8_t margins[2 * MARGIN];
    uint64_t end = v->blocks[block] + v->sizes[block];
    device_ok(cuda, cuda->copy_to_host(margins, v->blocks[block], MARGIN, stream));
    device_ok(cuda, cuda->copy_to_host(margins + MARGIN, end - MARGIN, MARGIN, stream));
    device_ok(cuda, cuda->stream_wait(stream));
    for (int i = 0; i < 2 * MARGIN; i++)
        if (margins[i] != CLEAR) return 0;
    return 1;
}

/* Decodes what `memory` says; the status word. */
static uint32_t decode(victim *v, const uint8_t *memory) {
    device_run *run = &v->run;
    const cuda_driver *cuda = run->cuda;
    cuda_stream stream = run->outputs.stream;
    device_ok(cuda, cuda->copy_to_device(run->memory, memory, run->info.device_bytes, stream));
    for (int i = 0; i < OUTPUTS; i++)
        device_ok(cuda, cuda->fill(v->blocks[i], CLEAR, v->sizes[i], stream));
    device_ok(cuda, cuda->fill(run->outputs.to->status, 0, 4, stream));
    CHECK_EQ(run_decode(run, NULL, stream), FASTPAIR_OK);
    uint32_t status = run_status(run);
    for (int i = 0; i < OUTPUTS; i++) CHECK(margins_hold(v, i));
    return status;
}

static uint64_t cases, noticed;

static void spoil_all(victim *v, uint64_t *random) {
    for (int target = 0; target < TARGETS; target++) {
        uint64_t at, size;
        find_target(v, target, &at, &size);
        for (int way = 0; way < WAYS && size; way++) {
            unsigned long long before = check_failed;
            memcpy(v->spoilt, v->pristine, v->run.info.device_bytes);
            if (way)
                memset(v->spoilt + at, way == 1 ? 0xff : 0, size);
            else
                for (uint64_t i = 0; i < size; i++)
                    if (check_random(random) % 50 == 0)
                        v->spoilt[at + i] = (uint8_t)check_random(random);
            uint32_t status = decode(v, v->spoilt);
            if (target == SPOIL_SIDECAR && way == 1 && !v->run.info.regenerates_positions)
                CHECK(status & FASTPAIR_GPU_BAD_SIDECAR);
            if (target == SPOIL_VALIDITY) CHECK_EQ(status, 0); /* every section is a bitmap */
            cases++, noticed += status != 0;
            if (check_failed != before)
                fprintf(stderr, "  ^ %s, %s, way %d\n", v->run.info.kernel, target_names[target],
                        way);
        }
    }
    CHECK_EQ(decode(v, v->pristine), 0);
    run_check(&v->run);
}

/* Every kernel that takes the column, with the sidecar and without. Returns how many there are. */
static uint32_t spoil_column(fastpair_gpu *gpu, const cuda_driver *cuda, const sample *s,
                             uint64_t *random) {
    uint32_t kernels = 0;
    for (uint32_t i = 0; fastpair_gpu_kernel_name(i); i++)
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            victim v;
            fastpair_gpu_job_options options = all_outputs;
            options.kernel = fastpair_gpu_kernel_name(i), options.regenerate_positions = regenerate;
            if (run_open_job(&v.run, cuda, gpu, s, 1, &options)) continue;
            victim_open(&v);
            spoil_all(&v, random);
            victim_close(&v);
            kernels += !regenerate;
        }
    return kernels;
}

int main(void) {
    cuda_driver cuda;
    fastpair_gpu *gpu = open_or_skip(&cuda);
    uint64_t random = 23, bytes = getenv("FASTPAIR_TEST_SMALL") ? 4000 : 200000;
    static const struct {
        fastpair_codec codec;
        uint32_t bits, times;
        int kind;
        uint32_t max_token;
    } columns[] = {
        {FASTPAIR_CODEC_ONPAIR, 9, 1, SHORT_ROWS, 0}, /* which has nulls */
        {FASTPAIR_CODEC_ONPAIR, 12, 1, L_COMMENT, 0},
        {FASTPAIR_CODEC_ONPAIR, 16, 30, L_COMMENT, 0}, /* so many bytes have a hot part */
        {FASTPAIR_CODEC_ONPAIR, 12, 1, L_COMMENT, 32},
        {FASTPAIR_CODEC_ONPAIR, 12, 1, PS_COMMENT, 64},
        {FASTPAIR_CODEC_FSST12, 0, 1, L_COMMENT, 0}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        uint64_t size = bytes * (bytes > 4000 ? columns[i].times : 1);
        fastpair_compress_options options = {.struct_size = sizeof options,
                                             .codec = columns[i].codec,
                                             .code_bits = columns[i].bits,
                                             .max_token = columns[i].max_token,
                                             .chunk_bytes = size / 2};
        sample s = sample_open(columns[i].kind, size, &options);
        uint32_t kernels = spoil_column(gpu, &cuda, &s, &random);
        printf("codec %d, %u bits, longest token %u: %u kernels\n", (int)columns[i].codec,
               columns[i].bits, columns[i].max_token, kernels);
        CHECK(kernels > 0);
        sample_close(&s);
    }
    printf("%llu columns spoilt, %llu of them noticed on the device\n", (unsigned long long)cases,
           (unsigned long long)noticed);
    CHECK(cases > 100 && noticed > cases / 4);
    close_both(gpu, &cuda);
    return check_done();
}
