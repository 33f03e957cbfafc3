/* decompress_gpu.c - FILE.fpc back to FILE through the GPU.
 *
 * In: one compressed file. Out: the text it was made from. The file is read into pinned memory, then parts of some chunks go round two
 * streams: upload, decode, copy back, while the part before is being written. Row offsets come from the CPU, which has little else
 * to do. Refuses files that do not fit in memory; the CPU backend streams those.
 */
#include "decompress_gpu.h"

#include "column.h"
#include "gpu_column.h"

#include <errno.h>
#include <stdlib.h>

/* Decoded bytes of one part; the least that keeps copies long. */
#define PART_BYTES (64ull << 20)

/* Chunks of one part and where they lie in the column. */
typedef struct part {
    uint64_t first_chunk, chunks;
    uint64_t first_row, rows;
    uint64_t first_byte, bytes;
} part;

typedef struct gpu_copy {
    const cli_options *options;
    const char *name;
    cli_gpu_column device;
    const fastpair_column *column;
    void *pinned[CLI_GPU_STREAMS]; /* decoded bytes of a part */
    uint64_t pinned_bytes;
    uint64_t *offsets; /* row offsets of a part */
    uint64_t most_rows;
} gpu_copy;

/* The part that begins at a chunk. */
static part part_at(const fastpair_column *column, uint64_t first_chunk) {
    uint64_t end = first_chunk;
    while (end < column->totals.chunks &&
           (end == first_chunk ||
            column->first_byte[end + 1] - column->first_byte[first_chunk] <= PART_BYTES))
        end++;
    return (part){first_chunk,
                  end - first_chunk,
                  column->first_row[first_chunk],
                  column->first_row[end] - column->first_row[first_chunk],
                  column->first_byte[first_chunk],
                  column->first_byte[end] - column->first_byte[first_chunk]};
}

static fastpair_status start_part(gpu_copy *copy, const part *p, int stream,
                                  fastpair_error *error) {
    fastpair_status status =
        cli_gpu_column_upload(&copy->device, p->first_chunk, p->chunks, stream, error);
    if (!status)
        status = cli_gpu_column_decode(&copy->device, p->first_chunk, p->chunks, stream, error);
    if (!status)
        status = cli_gpu_column_fetch(&copy->device, p->first_byte, p->bytes, copy->pinned[stream],
                                      stream, error);
    return status;
}

/* Row starts of a part, from the row lengths alone. */
static fastpair_status part_offsets(gpu_copy *copy, const part *p, fastpair_error *error) {
    uint64_t row = 0;
    for (uint64_t i = 0; i < p->chunks; i++) {
        fp_chunk_view view = fp_column_chunk(copy->column, p->first_chunk + i);
        uint64_t base = copy->column->first_byte[p->first_chunk + i] - p->first_byte;
        for (uint64_t block = 0; block * FP_LENGTH_BLOCK < view.chunk->rows; block++) {
            uint64_t starts[FP_LENGTH_BLOCK + 1];
            uint32_t rows;
            fastpair_status status = fp_chunk_row_starts(&view, block, starts, &rows, error);
            if (status) return status;
            for (uint32_t r = 0; r < rows; r++) copy->offsets[row++] = base + starts[r];
        }
    }
    copy->offsets[row] = p->bytes;
    return FASTPAIR_OK;
}

/* Waits for a part and writes those of its rows that are asked for. */
static int finish_part(gpu_copy *copy, const part *p, int stream, cli_emitter *emitter) {
    fastpair_error error;
    fastpair_status status = part_offsets(copy, p, &error);
    if (!status) status = cli_gpu_column_finish(&copy->device, stream, &error);
    if (status) return cli_fail_status(copy->name, &error);
    uint64_t first =
        copy->options->first_row > p->first_row ? copy->options->first_row - p->first_row : 0;
    uint64_t end =
        copy->options->end_row > p->first_row ? copy->options->end_row - p->first_row : 0;
    if (end > p->rows) end = p->rows;
    fastpair_rows rows = {.rows = p->rows, .bytes = copy->pinned[stream], .offsets = copy->offsets};
    return first < end ? cli_emit_rows(emitter, &rows, first, end) : CLI_OK;
}

static int copy_parts(gpu_copy *copy, cli_emitter *emitter, cli_progress *progress) {
    fastpair_error error;
    part waiting = {0};
    int stream = 0;
    uint64_t chunks = copy->column->totals.chunks;
    for (uint64_t next = 0; next < chunks; stream ^= 1) {
        part p = part_at(copy->column, next);
        if (start_part(copy, &p, stream, &error)) return cli_fail_status(copy->name, &error);
        /* The tables go up with the first part; the other stream must not run ahead of them. */
        if (next == 0 && cli_gpu_column_finish(&copy->device, stream, &error))
            return cli_fail_status(copy->name, &error);
        if (waiting.chunks && finish_part(copy, &waiting, stream ^ 1, emitter)) return CLI_FAILED;
        cli_progress_step(progress, copy->column->chunks[next].position);
        waiting = p;
        next += p.chunks;
    }
    return waiting.chunks ? finish_part(copy, &waiting, stream ^ 1, emitter) : CLI_OK;
}

static fastpair_status make_room(gpu_copy *copy, fastpair_error *error) {
    for (uint64_t next = 0; next < copy->column->totals.chunks;) {
        part p = part_at(copy->column, next);
        if (p.bytes > copy->pinned_bytes) copy->pinned_bytes = p.bytes;
        if (p.rows > copy->most_rows) copy->most_rows = p.rows;
        next += p.chunks;
    }
    copy->offsets = malloc((copy->most_rows + 1) * sizeof *copy->offsets);
    if (!copy->offsets) return fp_fail_memory(error, copy->most_rows * sizeof *copy->offsets);
    const fp_driver *driver = &copy->device.gpu->driver;
    fp_cu_result result = 0;
    for (int i = 0; i < CLI_GPU_STREAMS && !result; i++)
        result = driver->allocate_pinned(&copy->pinned[i], (size_t)copy->pinned_bytes + 1);
    return result ? fp_driver_fail(driver, result, "allocating pinned memory", error) : FASTPAIR_OK;
}

static int decompress_image(const cli_options *options, fastpair_gpu *gpu, const uint8_t *image,
                            uint64_t size, const char *name, cli_output *output,
                            cli_progress *progress) {
    fastpair_error error;
    fastpair_column *column = NULL;
    gpu_copy copy = {.options = options, .name = name};
    cli_emitter emitter = {0};
    fastpair_status status = fastpair_column_open(image, size, NULL, &column, &error);
    uint64_t rows = status ? 0 : column->totals.rows;
    if (!status && options->first_row > rows) {
        fastpair_column_close(column);
        return cli_fail(name, "has only %llu rows, so --rows cannot begin at %llu",
                        (unsigned long long)rows, (unsigned long long)options->first_row);
    }
    copy.column = column;
    /* The GPU finds what would do harm, not every change; a file that was damaged must not be written as if it were good. */
    if (!status)
        status = cli_verify_rows(column, options->first_row,
                                 options->end_row < rows ? options->end_row : rows, &error);
    if (!status) status = cli_gpu_column_open(gpu, column, NULL, 0, &copy.device, &error);
    if (!status) status = make_room(&copy, &error);
    int result = status ? cli_fail_status(name, &error) : CLI_OK;
    if (result == CLI_OK)
        result = cli_emitter_open(&emitter, output,
                                  column->file.has_framing ? column->file.separator : (uint8_t)'\n',
                                  cli_threads(options, 0));
    if (result == CLI_OK) result = copy_parts(&copy, &emitter, progress);
    if (result == CLI_OK)
        result =
            cli_emit_end(&emitter, !column->file.has_framing || column->totals.final_separator ||
                                       options->end_row < rows);
    cli_emitter_close(&emitter);
    for (int i = 0; i < CLI_GPU_STREAMS; i++)
        if (copy.pinned[i]) gpu->driver.release_pinned(copy.pinned[i]);
    free(copy.offsets);
    cli_gpu_column_close(&copy.device);
    fastpair_column_close(column);
    return result;
}

/* Reads a file of known size straight into pinned memory; *size becomes what was really there. */
static int read_pinned(cli_input *input, uint8_t *pinned, uint64_t *size) {
    uint64_t used = 0;
    long got = 1;
    while (got > 0 && used < *size) {
        got = cli_input_read(input, pinned + used, *size - used);
        if (got < 0) return cli_fail_errno(input->name, input->error);
        used += (uint64_t)got;
    }
    *size = used;
    return CLI_OK;
}

int cli_decompress_gpu(const cli_options *options, fastpair_gpu *gpu, cli_input *input,
                       cli_output *output, cli_progress *progress) {
    fastpair_error error;
    uint8_t *data = NULL;
    void *pinned = NULL;
    uint64_t size = (uint64_t)input->info.st_size;
    int result = input->is_regular ? CLI_OK : cli_input_load(input, UINT64_MAX, &data, &size);
    if (result != CLI_OK) return result;
    if (fp_gpu_push(gpu, &error)) {
        free(data);
        return cli_fail_status(input->name, &error);
    }
    fp_cu_result failure = gpu->driver.allocate_pinned(&pinned, (size_t)size + 1);
    if (failure) {
        fp_driver_fail(&gpu->driver, failure, "allocating pinned memory for the file", &error);
        result = cli_fail_status(input->name, &error);
    } else if (data) {
        memcpy(pinned, data, (size_t)size);
    } else {
        result = read_pinned(input, pinned, &size);
    }
    free(data);
    if (result == CLI_OK)
        result = decompress_image(options, gpu, pinned, size, input->name, output, progress);
    if (pinned) gpu->driver.release_pinned(pinned);
    fp_gpu_pop(gpu);
    return result;
}
