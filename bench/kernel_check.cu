/* kernel_check.cu - decode kernels on a GPU, one by one: are the bytes right, and how fast do they come.
 * In: encoded columns. Out: a line a kernel and way of running it: best and median rate in decimal GB/s of
 * decoded bytes, registers, resident blocks.
 *
 *   nvcc -std=c++17 -O3 -arch=sm_90 -Isrc/gpu/kernels -o kernel_check bench/kernel_check.cu
 *       the kernels that the library carries; with -DFP_ALL_VARIANTS [-DFP_ONLY_THREADS=256] the grid: it
 *       takes minutes to compile
 *   kernel_check [--bytes N] [--runs N] [--hot N] [--teams N] [--only TEXT] [--way WAY] [--tables] [--hostile] FILE...
 *
 * A column's codes are repeated to N decoded bytes (10^9) in one chunk. Ways: widened (16-bit codes, a
 * position for each batch: the paper's input), packed (codes as files hold them), sidecar (positions as
 * files hold them too), regenerated (positions computed in the same measurement). --hostile spoils codes,
 * positions and lengths instead, and checks that kernels say so and stay inside. --tables: kernels read the
 * chunk's entry from device memory, as in launches of very many chunks. --hot: so many codes first, instead of as
 * many as files with large dictionaries have. --teams: of an assembled kernel's blocks (params.h), instead of one.
 *
 * FILE is an encoded column (kernel_columns.h). */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

#include "image.h"
#include "kernel_columns.h"
#include "kernels.cu"
#include "work.h"

#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t must_error = (call);                                                           \
        if (must_error != cudaSuccess) {                                                           \
            printf("%s, line %d: %s\n", #call, __LINE__, cudaGetErrorString(must_error));          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---------------------------------------------------------------- kernels */

struct kernel_entry {
    const char *name;
    const void *function;
    uint32_t codes_per_lane, low_bytes, longest, threads;
    bool shared_dict;
    uint32_t code_bits; /* assembled: of the codes it reads; else 0 */
    fp_gpu_home home;
};

#define NAME(name, K, W, H, T, B) name " K" #K " W" #W " H" #H " T" #T " B" #B
static const kernel_entry kernels[] = {
#define FP_STAGED(K, W, H, T, B)                                                                   \
    IF_T##T({NAME("staged", K, W, H, T, B),                                                        \
             (const void *)fp_staged_k##K##_w##W##_h##H##_t##T##_b##B, K, W, 16, T, false}, )
#define FP_STAGED8(K, T, B)                                                                        \
    IF_T##T({"staged8 K" #K " T" #T " B" #B, (const void *)fp_staged8_k##K##_t##T##_b##B, K, 8, 8, \
             T, false}, )
#define FP_SHARED(K, W, H, T, B)                                                                   \
    IF_T##T({NAME("shared", K, W, H, T, B),                                                        \
             (const void *)fp_shared_k##K##_w##W##_h##H##_t##T##_b##B, K, W, 16, T, true}, )
#define FP_SHARED8(K, T, B)                                                                        \
    IF_T##T({"shared8 K" #K " T" #T " B" #B, (const void *)fp_shared8_k##K##_t##T##_b##B, K, 8, 8, \
             T, true}, )
#define FP_ASSEMBLED(K, BITS, L, D, S, T)                                                          \
    {"assembled K" #K " b" #BITS " L" #L " " #D " S" #S " T" #T,                                   \
     (const void *)fp_assembled_k##K##_b##BITS##_l##L##_##D##_s##S##_t##T,                         \
     K,                                                                                            \
     L,                                                                                            \
     L,                                                                                            \
     T,                                                                                            \
     false,                                                                                        \
     BITS,                                                                                         \
     FP_GPU_##D},
#include "variants.def"
};

/* ---------------------------------------------------------------- the device */

template <typename T> static uint64_t upload(const std::vector<T> &data) {
    void *memory;
    MUST(cudaMalloc(&memory, data.size() * sizeof(T) + 16));
    MUST(cudaMemcpy(memory, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
    return (uint64_t)memory;
}

/* `bytes` of device memory, the data over and over. */
static uint64_t upload_repeated(const void *data, uint64_t size, uint64_t bytes, uint64_t skip) {
    uint8_t *memory;
    MUST(cudaMalloc(&memory, skip + bytes + 4096 + 16));
    MUST(cudaMemset(memory, 0xee, skip + bytes + 4096 + 16));
    MUST(cudaMemcpy(memory + skip, data, std::min(size, bytes), cudaMemcpyHostToDevice));
    for (uint64_t done = size; done < bytes; done *= 2)
        MUST(cudaMemcpy(memory + skip + done, memory + skip, std::min(done, bytes - done),
                        cudaMemcpyDeviceToDevice));
    return (uint64_t)memory;
}

static void release(uint64_t memory) { MUST(cudaFree((void *)memory)); }

/* Counts 16-byte pieces that differ. */
__global__ void compare(const uint4 *a, const uint4 *b, uint64_t pieces, unsigned *different) {
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < pieces;
         i += (uint64_t)gridDim.x * blockDim.x)
        if (a[i].x != b[i].x || a[i].y != b[i].y || a[i].z != b[i].z || a[i].w != b[i].w)
            atomicAdd(different, 1u);
}

/* Output with a margin on both sides; the reference has the same margins, filled with what the output is
 * filled with. */
static const uint64_t margin = 4096;
static uint8_t *output, *reference;
static uint64_t output_bytes;
static unsigned *device_words; /* 0: status, 1: differences */

static bool same_as_reference(void) {
    unsigned words[2];
    MUST(cudaMemset(device_words + 1, 0, 4));
    compare<<<1024, 256>>>((uint4 *)output, (uint4 *)reference, output_bytes / 16,
                           device_words + 1);
    MUST(cudaMemcpy(words, device_words, 8, cudaMemcpyDeviceToHost));
    return words[0] == 0 && words[1] == 0;
}

/* ---------------------------------------------------------------- running */

enum way { WAY_WIDENED, WAY_PACKED, WAY_SIDECAR, WAY_REGENERATED, WAYS };
static const char *const way_names[] = {"widened", "packed", "sidecar", "regenerated"};

struct setting {
    column c;
    uint64_t widened, packed, positions, sidecar, chunks, dicts;
    fp_gpu_chunk chunk;
    fp_gpu_dict dict;
    fp_gpu_launch launch;
    fp_gpu_span_launch spans;
    uint64_t image;
};

static const char *only, *only_way;
static uint32_t runs = 100, hot_codes = AS_FILES, teams = 1;
static bool hostile, tables;

static void run_positions(setting *s, uint32_t codes_per_lane, uint64_t batches) {
    void *arguments[] = {&s->launch, &codes_per_lane};
    MUST(cudaLaunchKernel((const void *)fp_measure_batches, dim3((unsigned)((batches + 7) / 8)),
                          dim3(256), arguments, 0, 0));
    MUST(cudaLaunchKernel((const void *)fp_scan_batches, dim3(1), dim3(256), arguments, 0, 0));
}

/* The sidecar of docs/format.md, section 3, from positions of batches of the same size. */
static void make_sidecar(setting *s, uint32_t batch_codes, uint64_t batches) {
    std::vector<uint32_t> positions(batches);
    MUST(cudaMemcpy(positions.data(), (void *)s->positions, 4 * batches, cudaMemcpyDeviceToHost));
    uint32_t group = 1;
    while (batch_codes * group * 2 <= 4096) group *= 2;
    uint64_t groups = (batches + group - 1) / group;
    std::vector<uint8_t> sidecar(4 * groups + 2 * batches);
    for (uint64_t i = 0; i < batches; i++) {
        uint32_t base = positions[i / group * group];
        uint16_t number = (uint16_t)(positions[i] - base);
        memcpy(&sidecar[i / group * 4], &base, 4);
        memcpy(&sidecar[4 * groups + 2 * i], &number, 2);
    }
    if (s->sidecar) release(s->sidecar);
    s->chunk.sidecar = s->sidecar = upload(sidecar);
    s->chunk.file_batches = (uint32_t)batches;
    s->chunk.batch_codes = batch_codes;
    s->chunk.group_batches = group;
}

static void store_chunk(setting *s) {
    MUST(cudaMemcpy((void *)s->chunks, &s->chunk, sizeof s->chunk, cudaMemcpyHostToDevice));
}

/* The group table of an assembled kernel, with its dictionary. Returns dynamic shared memory; 0 if it does not
 * fit. */
static size_t make_group(setting *s, const kernel_entry *kernel, uint64_t batches,
                         uint32_t *threads) {
    const column *c = &s->c;
    uint32_t most_batch = 0, batch = 32 * kernel->codes_per_lane, here = 0;
    /* The largest batch, wherever batches begin in the period. */
    for (uint64_t i = 0, period = c->codes.size(); i < period + batch; i++) {
        here += c->lengths[c->codes[i % period]];
        if (i >= batch) here -= c->lengths[c->codes[(i - batch) % period]];
        most_batch = std::max(most_batch, here);
    }
    fp_gpu_image shape = fp_gpu_image_shape(kernel->home, c->bits, kernel->longest,
                                            c->lengths.data(), c->slots, c->hot);
    std::vector<fp_gpu_group> group(1);
    std::vector<uint8_t> image(shape.bytes);
    fp_gpu_image_write(&shape, c->tokens.data(), 16, c->lengths.data(), c->slots, image.data());
    group[0].image = upload(image);
    group[0].image_bytes = shape.bytes;
    group[0].cold = kernel->longest == 16 ? s->dict.rows16 : s->dict.low8;
    group[0].slots = shape.slots;
    group[0].near = shape.near;
    group[0].split = shape.split;
    group[0].staging = FP_GPU_STAGING(most_batch);
    if (s->spans.groups) release(s->image), release(s->spans.groups);
    s->image = group[0].image;
    s->spans.groups = upload(group);
    s->spans.status = s->launch.status;
    s->spans.span_count = 1;
    s->spans.batches = (uint32_t)batches;
    uint32_t warp =
        FP_GPU_CODE_BUFFER(kernel->codes_per_lane, kernel->code_bits) + group[0].staging;
    uint32_t most = 232448, least = FP_GPU_BLOCK_SHARED(group[0].image_bytes, 0, warp);
    uint32_t warps = least < most ? std::min(kernel->threads / 32, (most - least) / warp) : 0;
    if (warps < 4) return 0;
    *threads = 32 * warps;
    return FP_GPU_BLOCK_SHARED(group[0].image_bytes, warps, warp);
}

/* What the launch brings along for this kernel, unless kernels are to look into the tables. */
static void fill_work(setting *s, const kernel_entry *kernel) {
    s->launch.has_work = !tables;
    s->launch.work[0] = fp_gpu_work_make(&s->chunk, &s->dict, s->launch.out, kernel->codes_per_lane,
                                         kernel->low_bytes);
    s->spans.spans[0] = fp_gpu_span_make(&s->chunk, s->launch.out, kernel->codes_per_lane);
    s->spans.spans[0].group_end = s->spans.spans[1].first_batch = s->spans.batches;
}

/* As the library does it: of an assembled kernel's parameters only what is filled in is passed, which the runtime has no
 * call for. */
static void launch(setting *s, const kernel_entry *kernel, unsigned blocks, unsigned threads,
                   size_t dynamic) {
    typedef int (*launch_call)(cudaFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, cudaStream_t, void **, void **);
    static launch_call call;
    uint32_t shared_slots = s->c.slots;
    void *arguments[] = {&s->launch, &shared_slots};
    if (!kernel->code_bits) {
        MUST(
            cudaLaunchKernel(kernel->function, dim3(blocks), dim3(threads), arguments, dynamic, 0));
        return;
    }
    cudaFunction_t function;
    size_t size = FP_GPU_SPAN_LAUNCH_BYTES(s->spans.span_count);
    void *prefix[] = {(void *)1, &s->spans, (void *)2, &size, NULL};
    if (!call)
        MUST(cudaGetDriverEntryPointByVersion("cuLaunchKernel", (void **)&call, 12000, 0, NULL));
    MUST(cudaGetFuncBySymbol(&function, kernel->function));
    MUST((cudaError_t)call(function, blocks, 1, 1, threads, 1, 1, (unsigned)dynamic, 0, NULL,
                           prefix));
}

static void run_kernel(setting *s, const kernel_entry *kernel, way how) {
    char label[96];
    snprintf(label, sizeof label, "%s %s", kernel->name, way_names[how]);
    if ((only && !strstr(label, only)) || (only_way && strcmp(only_way, way_names[how]))) return;
    uint64_t batch_codes = 32ull * kernel->codes_per_lane,
             batches = (s->c.count + batch_codes - 1) / batch_codes;
    uint32_t threads = kernel->threads;
    size_t dynamic =
        kernel->shared_dict ? FP_SHARED_DICT_BYTES((size_t)s->c.slots, kernel->longest) : 0;
    if (kernel->code_bits && (how == WAY_WIDENED || kernel->code_bits != s->c.bits ||
                              (kernel->home == FP_GPU_HOT && !s->c.hot) ||
                              (kernel->longest == 16) != (s->c.longest > 8)))
        return;
    if (kernel->code_bits && !(dynamic = make_group(s, kernel, batches, &threads))) return;
    uint32_t warps = threads / 32;
    cudaFuncAttributes attributes;
    int resident = 0, processors = 0, most_shared = 0;
    MUST(cudaFuncGetAttributes(&attributes, kernel->function));
    MUST(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    MUST(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    if (dynamic + attributes.sharedSizeBytes > (size_t)most_shared)
        return; /* the dictionary does not fit */
    if (dynamic)
        MUST(cudaFuncSetAttribute(kernel->function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)dynamic));
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel->function, (int)threads,
                                                       dynamic));
    uint64_t blocks = (batches + warps - 1) / warps;
    if (kernel->shared_dict || kernel->code_bits)
        blocks = std::min<uint64_t>(blocks, (uint64_t)resident * processors);

    s->launch.widened = how == WAY_WIDENED;
    s->chunk.codes = how == WAY_WIDENED ? s->widened : s->packed;
    s->chunk.positions = s->positions;
    store_chunk(s);
    run_positions(s, kernel->codes_per_lane, batches);
    if (how == WAY_SIDECAR) {
        make_sidecar(s, (uint32_t)batch_codes, batches);
        s->chunk.positions = 0;
        store_chunk(s);
    }
    fill_work(s, kernel);
    /* An assembled kernel's blocks stay, and share all batches. */
    s->spans.blocks = (uint32_t)blocks;
    s->spans.teams = std::min(teams, s->spans.blocks);
    MUST(cudaMemset(output, 0xee, output_bytes));
    MUST(cudaMemset(device_words, 0, 4));
    launch(s, kernel, (unsigned)blocks, threads, dynamic);
    MUST(cudaDeviceSynchronize());
    bool right = same_as_reference();

    std::vector<float> times(runs);
    cudaEvent_t begin, end;
    MUST(cudaEventCreate(&begin));
    MUST(cudaEventCreate(&end));
    for (float &time : times) {
        MUST(cudaEventRecord(begin));
        if (how == WAY_REGENERATED) run_positions(s, kernel->codes_per_lane, batches);
        launch(s, kernel, (unsigned)blocks, threads, dynamic);
        MUST(cudaEventRecord(end));
        MUST(cudaEventSynchronize(end));
        MUST(cudaEventElapsedTime(&time, begin, end));
    }
    MUST(cudaEventDestroy(begin));
    MUST(cudaEventDestroy(end));
    std::sort(times.begin(), times.end());
    printf("   %-44s best %8.1f GB/s  med %8.1f  r%d b%d w%u s%zuK loc%zu%s\n", label,
           (double)s->c.bytes / (times[0] * 1e6),
           (double)s->c.bytes / (times[times.size() / 2] * 1e6), attributes.numRegs, resident,
           resident * warps, dynamic / 1024, attributes.localSizeBytes, right ? "" : " *** BAD");
    if (!right) {
        unsigned words[2];
        MUST(cudaMemcpy(words, device_words, 8, cudaMemcpyDeviceToHost));
        printf("      status %u, %u pieces differ\n", words[0], words[1]);
    }
}

/* Spoils what the kernel reads, in a few ways, and looks at status and margins. */
static void run_hostile(setting *s, const kernel_entry *kernel, uint64_t nibbles) {
    if (only && !strstr(kernel->name, only)) return;
    if (kernel->shared_dict || kernel->code_bits) return;
    uint64_t batch_codes = 32ull * kernel->codes_per_lane,
             batches = (s->c.count + batch_codes - 1) / batch_codes;
    unsigned blocks = (unsigned)((batches * 32 + kernel->threads - 1) / kernel->threads);
    const char *const what[] = {"codes", "positions", "lengths"};
    for (int kind = 0; kind < 3; kind++) {
        uint64_t target = kind == 0 ? s->packed : kind == 1 ? s->positions : nibbles;
        uint64_t bytes = kind == 0   ? s->chunk.packed_words * 4
                         : kind == 1 ? batches * 4
                                     : (s->c.slots + 1) / 2;
        s->launch.widened = 0;
        s->chunk.codes = s->packed;
        s->chunk.positions = s->positions;
        store_chunk(s);
        run_positions(s, kernel->codes_per_lane, batches);
        std::vector<uint8_t> saved(bytes), spoilt(bytes), margins(margin);
        MUST(cudaMemcpy(saved.data(), (void *)target, bytes, cudaMemcpyDeviceToHost));
        for (uint64_t i = 0; i < bytes; i++)
            spoilt[i] = (uint8_t)(saved[i] ^ (rand() % 50 ? 0 : rand()));
        MUST(cudaMemcpy((void *)target, spoilt.data(), bytes, cudaMemcpyHostToDevice));
        MUST(cudaMemset(output, 0xee, output_bytes));
        MUST(cudaMemset(device_words, 0, 4));
        fill_work(s, kernel);
        void *arguments[] = {&s->launch};
        MUST(cudaLaunchKernel(kernel->function, dim3(blocks), dim3(kernel->threads), arguments, 0,
                              0));
        MUST(cudaDeviceSynchronize());
        unsigned status = 0, touched = 0;
        MUST(cudaMemcpy(&status, device_words, 4, cudaMemcpyDeviceToHost));
        for (int side = 0; side < 2; side++) {
            MUST(cudaMemcpy(margins.data(), side ? output + margin + s->c.bytes : output, margin,
                            cudaMemcpyDeviceToHost));
            for (uint8_t byte : margins) touched += byte != 0xee;
        }
        printf("   %-44s spoilt %-9s status %u, %u bytes outside%s\n", kernel->name, what[kind],
               status, touched, status == 0 || touched ? " *** BAD" : "");
        MUST(cudaMemcpy((void *)target, saved.data(), bytes, cudaMemcpyHostToDevice));
    }
}

static void run_column(const char *path, uint64_t target) {
    static setting s; /* the launch's parameters are large */
    s = setting();
    column *c = &s.c;
    if (!column_load(path, target, hot_codes, c)) return;
    double mean = (double)c->bytes / (double)c->count;
    printf("%s bits %u dict %u meanlen %.2f out %.0f MB codes %llu\n", path, c->bits, c->slots,
           mean, (double)c->bytes / 1e6, (unsigned long long)c->count);
    output_bytes = (margin + c->bytes + margin + 15) / 16 * 16;
    std::vector<uint8_t> expected;
    for (uint16_t code : c->codes)
        expected.insert(expected.end(), &c->tokens[16ull * code],
                        &c->tokens[16ull * code] + c->lengths[code]);
    MUST(cudaMalloc(&output, output_bytes));
    reference = (uint8_t *)upload_repeated(expected.data(), expected.size(), c->bytes, margin);

    std::vector<uint8_t> low(8ull * c->slots), high(8ull * c->slots), nibbles((c->slots + 1) / 2);
    for (uint32_t i = 0; i < c->slots; i++) {
        memcpy(&low[8ull * i], &c->tokens[16ull * i], 8);
        memcpy(&high[8ull * i], &c->tokens[16ull * i + 8], 8);
        nibbles[i / 2] |= (uint8_t)((c->lengths[i] - 1) << i % 2 * 4);
    }
    std::vector<fp_gpu_dict> dict(1);
    dict[0].low8 = upload(low);
    dict[0].high8 = upload(high);
    dict[0].rows16 = upload(c->tokens);
    dict[0].nibbles = upload(nibbles);
    dict[0].slots = c->slots;
    dict[0].code_bits = c->bits;
    dict[0].max_length = c->longest;
    std::vector<uint32_t> packed = column_codes(c, false), widened = column_codes(c, true);
    uint64_t periods = c->count / c->codes.size();
    s.packed = upload_repeated(packed.data(), 4 * packed.size(), 4 * packed.size() * periods, 0);
    s.widened =
        upload_repeated(widened.data(), 4 * widened.size(), 4 * widened.size() * periods, 0);
    s.positions = upload(std::vector<uint32_t>(c->count / 32 + 1));
    s.chunk.out_offset = margin;
    s.chunk.code_count = c->count;
    s.chunk.decoded_bytes = (uint32_t)c->bytes;
    s.chunk.packed_words = (c->count * c->bits + 127) / 128 * 4;
    s.dict = dict[0];
    s.dicts = upload(dict);
    s.chunks = upload(std::vector<fp_gpu_chunk>(1, s.chunk));
    s.launch.chunks = s.chunks;
    s.launch.dicts = s.dicts;
    s.launch.out = (uint64_t)output;
    s.launch.out_bytes = output_bytes;
    s.launch.status = (uint64_t)device_words;
    for (const kernel_entry &kernel : kernels) {
        if (c->longest > kernel.longest) continue;
        if (hostile) run_hostile(&s, &kernel, dict[0].nibbles);
        for (int how = 0; how < WAYS && !hostile; how++) run_kernel(&s, &kernel, (way)how);
    }
    const uint64_t all[] = {dict[0].low8, dict[0].high8,    dict[0].rows16,     dict[0].nibbles,
                            s.packed,     s.widened,        s.positions,        s.dicts,
                            s.chunks,     (uint64_t)output, (uint64_t)reference};
    for (uint64_t memory : all) release(memory);
    if (s.sidecar) release(s.sidecar);
    if (s.spans.groups) release(s.image), release(s.spans.groups);
}

int main(int count, char **arguments) {
    uint64_t bytes = 1000000000;
    int first = 1;
    for (; first < count && !strncmp(arguments[first], "--", 2); first++) {
        const char *name = arguments[first], *value = first + 1 < count ? arguments[first + 1] : "";
        if (!strcmp(name, "--hostile")) hostile = true;
        if (!strcmp(name, "--tables")) tables = true;
        if (!strcmp(name, "--hostile") || !strcmp(name, "--tables")) continue;
        first++;
        if (!strcmp(name, "--bytes")) bytes = strtoull(value, NULL, 0);
        if (!strcmp(name, "--runs")) runs = (uint32_t)std::max(1, atoi(value));
        if (!strcmp(name, "--hot")) hot_codes = (uint32_t)atoi(value);
        if (!strcmp(name, "--teams")) teams = (uint32_t)std::max(1, atoi(value));
        if (!strcmp(name, "--only")) only = value;
        if (!strcmp(name, "--way")) only_way = value;
    }
    if (first >= count) {
        printf("usage: kernel_check [--bytes N] [--runs N] [--hot N] [--teams N] [--only TEXT] "
               "[--way WAY] "
               "[--tables] "
               "[--hostile] "
               "FILE...\n");
        return 2;
    }
    MUST(cudaMalloc(&device_words, 8));
    MUST(cudaMemset(device_words, 0, 8));
    for (; first < count; first++) run_column(arguments[first], bytes);
    MUST(cudaFree(device_words));
    return 0;
}
