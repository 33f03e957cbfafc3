/* kernel_case.cc - made-up chunks for kernel tests. In: a seed and a shape. Out: a chunk in memory blocks
 * of exactly the right sizes, laid out after docs/format.md without the library's help, and what it must
 * decode to. */
#include "kernel_case.h"
#include "check.h"
#include "gpu/kernels/work.h"

/* ---------------------------------------------------------------- memory */

uint8_t *device_block(device *d, uint64_t bytes, uint32_t skip, emulator_access access,
                      const char *name) {
    /* Aligned as device memory is, and not a byte longer, so that the sanitizer guards it as well as the
     * emulator. */
    void *block_at = NULL;
    if (posix_memalign(&block_at, 16, bytes ? bytes : 1) ||
        d->count == sizeof d->blocks / sizeof d->blocks[0])
        abort();
    uint8_t *block = (uint8_t *)block_at;
    d->blocks[d->count++] = block;
    memset(block, 0xee, bytes);
    emulator_memory(block + skip, bytes - skip, access, name);
    return block;
}

void device_free(device *d) {
    for (uint32_t i = 0; i < d->count; i++) free(d->blocks[i]);
    d->count = 0;
}

/* ---------------------------------------------------------------- chunks */

static uint32_t draw(uint64_t *state, uint32_t bound) {
    return (uint32_t)(check_random(state) % bound);
}

static uint32_t draw_length(uint64_t *state, uint32_t longest, case_lengths lengths) {
    switch (lengths) {
    case CASE_ONES: return 1;
    case CASE_LONGEST: return longest;
    case CASE_SHORT: return draw(state, 10) ? 1 + draw(state, 4) : 1 + draw(state, longest);
    case CASE_EIGHT: return (longest == 16 ? 8 : 7) + draw(state, 2);
    case CASE_FEW_LONG:
        return draw(state, 20) ? 1 + draw(state, 8) : longest - draw(state, longest / 2);
    default: return 1 + draw(state, longest);
    }
}

void case_make(kernel_case *c, uint64_t seed, uint32_t slots, uint32_t count, uint32_t longest,
               case_lengths lengths) {
    uint64_t state = seed;
    memset(c, 0, sizeof *c);
    c->slots = slots;
    c->longest = longest;
    c->count = count;
    c->bits = 1;
    while (1u << c->bits < slots) c->bits++;
    c->lengths = (uint8_t *)malloc(slots);
    c->tokens = (uint8_t(*)[16])calloc(slots, 16);
    c->codes = (uint16_t *)malloc(2 * (size_t)count + 1);
    c->decoded = (uint8_t *)malloc(16 * (size_t)count + 16);
    if (!c->lengths || !c->tokens || !c->codes || !c->decoded) abort();
    for (uint32_t i = 0; i < slots; i++) {
        c->lengths[i] = (uint8_t)draw_length(&state, longest, lengths);
        for (uint32_t k = 0; k < c->lengths[i]; k++)
            c->tokens[i][k] = (uint8_t)(1 + draw(&state, 255));
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = draw(&state, slots);
        c->codes[i] = (uint16_t)code;
        memcpy(c->decoded + c->decoded_bytes, c->tokens[code], c->lengths[code]);
        c->decoded_bytes += c->lengths[code];
    }
}

static int has_length(case_lengths lengths, uint32_t longest, uint32_t length) {
    switch (lengths) {
    case CASE_ONES: return length == 1;
    case CASE_LONGEST: return length == longest;
    case CASE_SHORT: return length <= 4 || length == longest;
    case CASE_EIGHT:
        return length == (longest == 16 ? 8u : 7u) || length == (longest == 16 ? 9u : 8u);
    case CASE_FEW_LONG: return length <= 8 || length == longest;
    default: return 1;
    }
}

void case_make_classes(kernel_case *c, uint64_t seed, uint32_t bits, uint32_t count,
                       uint32_t longest, case_lengths lengths, int hot) {
    uint64_t state = seed;
    int few = bits <= 8; /* codes, so that not every length gets one */
    uint32_t space = 1u << bits, group = 1u << FP_GPU_CLASS_SHIFT(bits),
             parts = hot && !few ? 2 : 1, next = 0, used = 0;
    memset(c, 0, sizeof *c);
    c->bits = bits;
    c->longest = longest;
    c->count = count;
    c->lengths = (uint8_t *)calloc(space, 1);
    c->tokens = (uint8_t(*)[16])calloc(space, 16);
    c->codes = (uint16_t *)malloc(2 * (size_t)count + 1);
    c->decoded = (uint8_t *)malloc(16 * (size_t)count + 16);
    uint32_t *tokens = (uint32_t *)malloc(space * sizeof *tokens);
    if (!c->lengths || !c->tokens || !c->codes || !c->decoded || !tokens) abort();
    for (uint32_t part = 0; part < parts; part++) {
        for (uint32_t length = 1; length <= longest; length++) {
            if (!has_length(lengths, longest, length)) continue;
            uint32_t most = few ? (space - next + 1) / 2 : space / (parts * longest) - group;
            if (few && next && (next == space || draw(&state, 2))) continue;
            uint32_t size = 1 + draw(&state, most);
            for (uint32_t i = 0; i < size; i++, next++) {
                c->lengths[next] = (uint8_t)length;
                for (uint32_t k = 0; k < length; k++)
                    c->tokens[next][k] = (uint8_t)(1 + draw(&state, 255));
                tokens[used++] = next;
            }
            c->slots = next;
            for (; next % group; next++) c->lengths[next] = (uint8_t)length;
        }
        if (part == 0 && parts == 2) c->hot = next;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = tokens[draw(&state, used)];
        c->codes[i] = (uint16_t)code;
        memcpy(c->decoded + c->decoded_bytes, c->tokens[code], c->lengths[code]);
        c->decoded_bytes += c->lengths[code];
    }
    free(tokens);
}

void case_free(kernel_case *c) {
    free(c->lengths);
    free(c->tokens);
    free(c->codes);
    free(c->decoded);
    memset(c, 0, sizeof *c);
}

/* ---------------------------------------------------------------- layout */

/* Bytes decoded before code `end`. */
static uint32_t bytes_before(const kernel_case *c, uint32_t end) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < end && i < c->count; i++) bytes += c->lengths[c->codes[i]];
    return bytes;
}

static void lay_out_codes(const kernel_case *c, uint32_t widened, case_image *image) {
    image->codes_bytes =
        widened ? 2ull * c->count : ((uint64_t)c->count * c->bits + 127) / 128 * 16;
    image->codes = device_block(&image->memory, image->codes_bytes, 0, EMULATOR_READ, "codes");
    /* What lies behind the last code is not looked at. */
    memset(image->codes, widened ? 0 : c->codes[0] & 255, image->codes_bytes);
    for (uint32_t i = 0; i < c->count; i++) {
        if (widened) {
            memcpy(image->codes + 2 * (size_t)i, &c->codes[i], 2);
            continue;
        }
        for (uint32_t b = 0; b < c->bits; b++) {
            uint64_t bit = (uint64_t)i * c->bits + b;
            image->codes[bit / 8] = (uint8_t)((image->codes[bit / 8] & ~(1 << bit % 8)) |
                                              (c->codes[i] >> b & 1) << bit % 8);
        }
    }
}

static void lay_out_sidecar(const kernel_case *c, uint32_t batch_codes, case_image *image) {
    uint32_t group = 1, batches = (c->count + batch_codes - 1) / batch_codes, position = 0,
             base = 0;
    while (batch_codes * group * 2 <= 4096) group *= 2;
    uint32_t groups = (batches + group - 1) / group;
    image->sidecar_bytes = 4ull * groups + 2ull * batches;
    image->sidecar =
        device_block(&image->memory, image->sidecar_bytes, 0, EMULATOR_READ, "sidecar");
    for (uint32_t i = 0; i < batches; i++) {
        if (i % group == 0) memcpy(image->sidecar + i / group * 4, &position, 4), base = position;
        uint16_t number = (uint16_t)(position - base);
        memcpy(image->sidecar + 4 * groups + 2 * i, &number, 2);
        for (uint32_t k = i * batch_codes; k < (i + 1) * batch_codes && k < c->count; k++)
            position += c->lengths[c->codes[k]];
    }
    image->chunk->sidecar = (uint64_t)(uintptr_t)image->sidecar;
    image->chunk->file_batches = batches;
    image->chunk->batch_codes = batch_codes;
    image->chunk->group_batches = group;
}

static void lay_out_dict(const kernel_case *c, case_image *image) {
    device *d = &image->memory;
    uint64_t rows = c->hot ? 1ull << c->bits
                           : c->slots; /* kernels with a hot part read those of bad codes too */
    image->nibble_bytes = (c->slots + 1) / 2;
    image->low8 = device_block(d, 8 * rows, 0, EMULATOR_READ, "low plane");
    image->high8 = device_block(d, 8 * rows, 0, EMULATOR_READ, "high plane");
    image->rows16 = device_block(d, 16 * rows, 0, EMULATOR_READ, "rows");
    memset(image->low8, 0, 8 * rows);
    memset(image->high8, 0, 8 * rows);
    memset(image->rows16, 0, 16 * rows);
    image->nibbles = device_block(d, image->nibble_bytes, 0, EMULATOR_READ, "nibbles");
    memset(image->nibbles, 0, image->nibble_bytes);
    for (uint32_t i = 0; i < c->slots; i++) {
        memcpy(image->low8 + 8 * i, c->tokens[i], 8);
        memcpy(image->high8 + 8 * i, c->tokens[i] + 8, 8);
        memcpy(image->rows16 + 16 * i, c->tokens[i], 16);
        image->nibbles[i / 2] |= (uint8_t)((c->lengths[i] - 1) << i % 2 * 4);
    }
    fp_gpu_dict dict = {};
    dict.low8 = (uint64_t)(uintptr_t)image->low8;
    dict.high8 = (uint64_t)(uintptr_t)image->high8;
    dict.rows16 = (uint64_t)(uintptr_t)image->rows16;
    dict.nibbles = (uint64_t)(uintptr_t)image->nibbles;
    dict.slots = c->slots;
    dict.code_bits = c->bits;
    dict.max_length = c->longest;
    image->dict =
        (fp_gpu_dict *)(void *)device_block(d, sizeof dict, 0, EMULATOR_READ, "dictionary table");
    *image->dict = dict;
}

/* For assembled kernels. */
static void lay_out_group(const kernel_case *c, const emulated_variant *variant,
                          const case_layout *layout, case_image *image) {
    device *d = &image->memory;
    uint32_t batch = 32 * variant->codes_per_lane, largest = 0;
    fp_gpu_image shape =
        fp_gpu_image_shape(variant->home, c->bits, variant->longest, c->lengths, c->slots, c->hot);
    image->group_image = device_block(d, shape.bytes, 0, EMULATOR_READ, "dictionary image");
    fp_gpu_image_write(&shape, c->tokens[0], 16, c->lengths, c->slots, image->group_image);
    for (uint32_t i = 0; i < image->batches; i++) {
        uint32_t bytes = bytes_before(c, (i + 1) * batch) - bytes_before(c, i * batch);
        if (bytes > largest) largest = bytes;
    }
    image->group =
        (fp_gpu_group *)(void *)device_block(d, sizeof *image->group, 0, EMULATOR_READ, "groups");
    *image->group = fp_gpu_group{};
    image->group->image = (uint64_t)(uintptr_t)image->group_image;
    image->group->image_bytes = shape.bytes;
    image->group->cold = variant->longest == 16 ? image->dict->rows16 : image->dict->low8;
    image->group->slots = shape.slots;
    image->group->near = shape.near;
    image->group->split = shape.split;
    image->group->staging = FP_GPU_STAGING(largest);
    fp_gpu_span_launch *spans = &image->parameters.spans;
    spans->groups = (uint64_t)(uintptr_t)image->group;
    spans->span_count = 1;
    spans->batches = image->batches;
    spans->blocks = 1 + (uint32_t)(layout->seed % 3);
    spans->teams = 1 + (uint32_t)(layout->seed / 3 % spans->blocks);
}

void case_lay_out(const kernel_case *c, const emulated_variant *variant, const case_layout *layout,
                  emulator_access out_access, case_image *image) {
    device *d = &image->memory;
    uint32_t batch = 32 * variant->codes_per_lane;
    memset(image, 0, sizeof *image);
    emulator_reset(layout->seed);
    image->batches = (c->count + batch - 1) / batch;
    image->chunk = (fp_gpu_chunk *)(void *)device_block(d, sizeof *image->chunk, 0, EMULATOR_READ,
                                                        "chunk table");
    memset(image->chunk, 0, sizeof *image->chunk);
    lay_out_dict(c, image);
    lay_out_codes(c, layout->widened, image);
    lay_out_sidecar(c, layout->batch_codes ? layout->batch_codes : batch, image);
    if (layout->positions != POSITIONS_SIDECAR) {
        image->positions = (uint32_t *)(void *)device_block(d, 4ull * image->batches, 0,
                                                            EMULATOR_WRITE, "positions");
        if (layout->positions == POSITIONS_PREPARED)
            for (uint32_t i = 0; i < image->batches; i++)
                image->positions[i] = bytes_before(c, i * batch);
        image->chunk->positions = (uint64_t)(uintptr_t)image->positions;
    }
    uint8_t *out = device_block(d, layout->out_shift + (uint64_t)c->decoded_bytes,
                                layout->out_shift, out_access, "output");
    image->out = out + layout->out_shift;
    image->status = (uint32_t *)(void *)device_block(d, 4, 0, EMULATOR_WRITE, "status");
    *image->status = 0;
    image->chunk->codes = (uint64_t)(uintptr_t)image->codes;
    image->chunk->out_offset = layout->out_shift;
    image->chunk->code_count = c->count;
    image->chunk->decoded_bytes = c->decoded_bytes;
    image->chunk->packed_words = image->codes_bytes / 4;
    fp_gpu_launch *launch = &image->parameters.launch;
    launch->chunks = (uint64_t)(uintptr_t)image->chunk;
    launch->dicts = (uint64_t)(uintptr_t)image->dict;
    launch->out = (uint64_t)(uintptr_t)out;
    launch->out_bytes = layout->out_shift + (uint64_t)c->decoded_bytes;
    launch->status = (uint64_t)(uintptr_t)image->status;
    launch->widened = layout->widened;
    if (variant->code_bits) lay_out_group(c, variant, layout, image);
}

const char *case_make_positions(const emulated_variant *variant, const case_layout *layout,
                                case_image *image) {
    emulated_parameters parameters = image->parameters;
    uint32_t warps = EMULATED_HELPER_THREADS / 32;
    parameters.second = variant->codes_per_lane;
    const char *error =
        emulator_run(emulated_measure_batches, &parameters, EMULATED_HELPER_THREADS,
                     (image->batches + warps - 1) / warps + layout->spare_blocks, 1, 0);
    return error
               ? error
               : emulator_run(emulated_scan_batches, &parameters, EMULATED_HELPER_THREADS, 1, 1, 0);
}

const char *case_run(const emulated_variant *variant, const case_layout *layout,
                     case_image *image) {
    emulated_parameters parameters = image->parameters;
    uint32_t warps = variant->threads / 32, dynamic = 0;
    const char *error = NULL;
    if (layout->positions == POSITIONS_REGENERATED)
        error = case_make_positions(variant, layout, image);
    if (error) return error;
    fp_gpu_launch *launch = &parameters.launch;
    launch->has_work = layout->has_work;
    if (layout->has_work)
        launch->work[0] = fp_gpu_work_make(image->chunk, image->dict, launch->out,
                                           variant->codes_per_lane, variant->low_bytes);
    uint32_t blocks = (image->batches + warps - 1) / warps + layout->spare_blocks;
    if (variant->shared_dict) {
        parameters.second =
            image->parameters.second ? image->parameters.second : image->dict->slots;
        dynamic = FP_SHARED_DICT_BYTES(parameters.second, variant->longest);
        blocks = 1 + layout->spare_blocks; /* warps take several batches in turn */
    }
    if (variant->code_bits) {
        uint32_t warp_bytes =
            FP_GPU_CODE_BUFFER(variant->codes_per_lane, variant->code_bits) + image->group->staging;
        dynamic = FP_GPU_BLOCK_SHARED(image->group->image_bytes, warps, warp_bytes);
        blocks = 3 + layout->spare_blocks;
        fp_gpu_span *span = parameters.spans.spans;
        parameters.spans.status = launch->status;
        span[0] = fp_gpu_span_make(image->chunk, launch->out, variant->codes_per_lane);
        span[0].group_end = span[1].first_batch = image->batches;
    }
    return emulator_run(variant->kernel, &parameters, variant->threads, blocks, 1, dynamic);
}

void case_image_free(case_image *image) { device_free(&image->memory); }
