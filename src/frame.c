/* frame.c - zstd frames. In: bytes, or an untrusted frame. Out: a frame, or its bytes. The trick: a
 * reader knows how many bytes a frame must hold before it looks at it. So a frame that claims more is
 * refused before anything is allocated, and one that holds more ends at the buffer's end. Refuses
 * frames with another content size, without one, with a dictionary, or with anything after them. */
#include "frame.h"

#include <string.h>

#ifdef FASTPAIR_ZSTD

/* For contexts in the caller's memory, and for literals that stay as they are. Both have been the same
 * since zstd 1.4, and are in the shared library. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define FRAME_MAGIC 0xfd2fb528u

/* Levels of zstd for text that is parsed into codes already. Higher ones gain little until the
 * last. */
#define QUICK_LEVEL 3
#define USUAL_LEVEL 9
#define HARD_LEVEL  12
#define MOST_LEVEL  19
/* As much as a chunk of 8 MiB can hold. Larger chunks do without longer distances. */
#define WINDOW_LOG 24

int fp_frames_available(void) { return 1; }

fastpair_status fp_frames_missing(uint64_t position, fastpair_error *error) {
    (void)position, (void)error;
    return FASTPAIR_OK;
}

uint64_t fp_frame_bound(uint64_t size) { return ZSTD_compressBound((size_t)size); }

fp_frame_style fp_frame_style_of(uint32_t level) {
    if (level == FASTPAIR_LEVEL_MOST) return (fp_frame_style){MOST_LEVEL, 0, 0};
    if (level > FASTPAIR_LEVEL_GREEDY) return (fp_frame_style){HARD_LEVEL, 0, 0};
    return (fp_frame_style){level < FASTPAIR_LEVEL_DEFAULT ? QUICK_LEVEL : USUAL_LEVEL, 1, 0};
}

static void *allocate(void *context, size_t size) { return fp_allocate(context, size, 1); }
static void release(void *context, void *memory) { fp_release(context, memory); }

static ZSTD_customMem memory_of(const fastpair_allocator *allocator) {
    /* The hooks get the address back as they take it, without const, and change nothing there. */
    return (ZSTD_customMem){allocate, release, (void *)(uintptr_t)allocator};
}

fastpair_status fp_frame_writer_open(fp_frame_writer *writer, const fastpair_allocator *allocator) {
    if (!writer->context) writer->context = ZSTD_createCCtx_advanced(memory_of(allocator));
    return writer->context ? FASTPAIR_OK : FASTPAIR_ERROR_OUT_OF_MEMORY;
}

fastpair_status fp_frame_write(const fp_frame_writer *writer, fp_frame_style style,
                               const void *data, uint64_t size, uint8_t *out, uint64_t *written) {
    ZSTD_CCtx *context = writer->context;
    *written = 0;
    ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, style.level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);
    if (size > 1u << 21) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WINDOW_LOG);
    if (style.plain_literals)
        ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_ps_disable);
    if (style.least_match) ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, style.least_match);
    size_t result = ZSTD_compress2(context, out, (size_t)fp_frame_bound(size), data, (size_t)size);
    /* Nothing but memory can be missing: the buffer has room, and all parameters are in range. */
    if (ZSTD_isError(result)) return FASTPAIR_ERROR_OUT_OF_MEMORY;
    *written = result;
    return FASTPAIR_OK;
}

void fp_frame_writer_close(fp_frame_writer *writer) {
    ZSTD_freeCCtx(writer->context);
    writer->context = NULL;
}

/* What a compressed block of RFC 8878 counts as sequences; it begins with plain literals. */
static uint64_t block_repetitions(const uint8_t *block) {
    /* The literals' header has 1 to 3 bytes, and then their number; or a byte stands for all. */
    static const uint8_t header_sizes[4] = {1, 2, 1, 3};
    const uint32_t header = header_sizes[block[0] >> 2 & 3], is_one_byte = block[0] & 1;
    uint32_t literals = 0;
    memcpy(&literals, block, header);
    literals >>= header == 1 ? 3 : 4;
    block += header + (is_one_byte ? 1 : literals);
    if (block[0] < 128) return block[0];
    return block[0] < 255 ? (block[0] - 128u) * 256 + block[1]
                          : block[1] + block[2] * 256 + 0x7f00u;
}

uint64_t fp_frame_repetitions(const uint8_t *frame, uint64_t size) {
    const uint8_t *block = frame + ZSTD_frameHeaderSize(frame, (size_t)size), *end = frame + size;
    uint64_t repetitions = 0;
    while (end - block > 3) {
        uint32_t header = block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16;
        uint32_t type = header >> 1 & 3;
        if (type == 2) repetitions += block_repetitions(block + 3);
        block += 3 + (type == 1 ? 1 : header >> 3);
    }
    return repetitions;
}

const char *fp_frame_fault(const uint8_t *frame, uint64_t frame_size, uint64_t size) {
    uint32_t magic = 0;
    memcpy(&magic, frame, frame_size < sizeof magic ? (size_t)frame_size : sizeof magic);
    if (magic != FRAME_MAGIC) return "this is no zstd frame";
    if (ZSTD_getFrameContentSize(frame, (size_t)frame_size) != size)
        return "the zstd frame does not say that it holds as many bytes as the header asks for";
    if (ZSTD_getDictID_fromFrame(frame, (size_t)frame_size))
        return "the zstd frame asks for a dictionary";
    size_t end = ZSTD_findFrameCompressedSize(frame, (size_t)frame_size);
    if (ZSTD_isError(end)) return "the zstd frame is damaged or cut short";
    if (end != frame_size) return "there are bytes after the zstd frame";
    return NULL;
}

fastpair_status fp_frame_reader_open(fp_frame_reader *reader, const fastpair_allocator *allocator) {
    if (!reader->context) reader->context = ZSTD_createDCtx_advanced(memory_of(allocator));
    return reader->context ? FASTPAIR_OK : FASTPAIR_ERROR_OUT_OF_MEMORY;
}

fastpair_status fp_frame_read(const fp_frame_reader *reader, const uint8_t *frame,
                              uint64_t frame_size, void *out, uint64_t size, const char **fault) {
    *fault = fp_frame_fault(frame, frame_size, size);
    if (*fault) return FASTPAIR_ERROR_CORRUPT;
    size_t result =
        ZSTD_decompressDCtx(reader->context, out, (size_t)size, frame, (size_t)frame_size);
    if (result == size) return FASTPAIR_OK; /* an error is a number above any size */
    *fault = "the zstd frame is damaged";
    return FASTPAIR_ERROR_CORRUPT;
}

void fp_frame_reader_close(fp_frame_reader *reader) {
    ZSTD_freeDCtx(reader->context);
    reader->context = NULL;
}

#else

int fp_frames_available(void) { return 0; }

fastpair_status fp_frames_missing(uint64_t position, fastpair_error *error) {
    return fp_fail(error, FASTPAIR_ERROR_UNSUPPORTED, position,
                   "cold files need zstd, and this library was built without it; build it where "
                   "libzstd and its header are installed (on Debian: libzstd-dev)");
}

uint64_t fp_frame_bound(uint64_t size) { return size; }

fp_frame_style fp_frame_style_of(uint32_t level) {
    (void)level;
    return (fp_frame_style){0};
}

fastpair_status fp_frame_writer_open(fp_frame_writer *writer, const fastpair_allocator *allocator) {
    (void)writer, (void)allocator;
    return FASTPAIR_ERROR_UNSUPPORTED;
}

fastpair_status fp_frame_write(const fp_frame_writer *writer, fp_frame_style style,
                               const void *data, uint64_t size, uint8_t *out, uint64_t *written) {
    (void)writer, (void)style, (void)data, (void)size, (void)out;
    *written = 0;
    return FASTPAIR_ERROR_UNSUPPORTED;
}

void fp_frame_writer_close(fp_frame_writer *writer) { (void)writer; }

uint64_t fp_frame_repetitions(const uint8_t *frame, uint64_t size) {
    (void)frame, (void)size;
    return 0;
}

const char *fp_frame_fault(const uint8_t *frame, uint64_t frame_size, uint64_t size) {
    (void)frame, (void)frame_size, (void)size;
    return NULL;
}

fastpair_status fp_frame_reader_open(fp_frame_reader *reader, const fastpair_allocator *allocator) {
    (void)reader, (void)allocator;
    return FASTPAIR_ERROR_UNSUPPORTED;
}

fastpair_status fp_frame_read(const fp_frame_reader *reader, const uint8_t *frame,
                              uint64_t frame_size, void *out, uint64_t size, const char **fault) {
    (void)reader, (void)frame, (void)frame_size, (void)out, (void)size;
    *fault = "cold blocks need zstd, and this library was built without it";
    return FASTPAIR_ERROR_UNSUPPORTED;
}

void fp_frame_reader_close(fp_frame_reader *reader) { (void)reader; }

#endif

fastpair_status fp_frame_read_once(const uint8_t *frame, uint64_t frame_size, void *out,
                                   uint64_t size, const fastpair_allocator *allocator,
                                   const char **fault) {
    fp_frame_reader reader = {0};
    *fault = NULL;
    fastpair_status status = fp_frame_reader_open(&reader, allocator);
    if (!status) status = fp_frame_read(&reader, frame, frame_size, out, size, fault);
    fp_frame_reader_close(&reader);
    return status;
}
