/* compress_gpu.c - FILE to FILE.fpc through the GPU.
 *
 * In: one text. Out: one compressed column, the same as the CPU makes with the same dictionary, which
 * is that of -D, or the one that the CPU's writer would begin with. Pieces of some units go round four slots:
 * one is filled with rows, one encoded, one copied back, one written. Refuses --cold and levels
 * that search for the best parse, which CPUs alone can do. */
#include "compress_gpu.h"

#include "background.h"
#include "gpu_encode.h"
#include "split.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of a piece, unless --sample makes units small; at least what a writer waits for and a unit
 * more. */
#define PIECE_BYTES (48ull << 20)
/* Rows of a piece. Offsets take 8 bytes each. */
#define PIECE_ROWS (8ull << 20)

/* With `auto`, smaller files are for the CPU: a GPU takes two seconds to start, and then a third of the
 * time of 16 threads (docs/lab/gpu-encode-pack.md). */
#define LARGE_FILE (2ll << 30)

int cli_compress_wants_gpu(const cli_options *options, const cli_input *input, bool *wants) {
    const bool can = !options->cold && options->level <= FASTPAIR_LEVEL_GREEDY &&
                     options->codec != FASTPAIR_CODEC_STORED;
    *wants = options->backend == CLI_BACKEND_GPU ||
             (options->backend == CLI_BACKEND_AUTO && can && input->is_regular &&
              input->info.st_size >= LARGE_FILE);
    if (!*wants || can) return CLI_OK;
    return cli_fail(input->name,
                    "--backend=gpu compresses with levels 1 to %u, not with --cold, and not with "
                    "--codec=stored; use --backend=cpu or auto",
                    FASTPAIR_LEVEL_GREEDY);
}

/* A column on its way. */
typedef struct gpu_compression {
    const cli_options *options;
    cli_text *text;
    fastpair_rows rows; /* of the text, not in a slot yet; none: there are no more */
    bool splits;        /* several threads cut the text, and rows above are of no use */
    cli_split split;
    cli_output *output;
    cli_progress *progress;
    cli_gpu_encode encode;
    cli_background background;
    fastpair_dictionary *trained; /* NULL: -D gave one */
    uint64_t piece_bytes;
    int waiting[2]; /* slots: to be written next, and whose record is awaited; -1: none */
    fastpair_error error;
    bool failed_here; /* `error` says why, and nothing was printed */
} gpu_compression;

/* Says that the library or the driver failed; the caller prints it, or falls back. */
static int fail(gpu_compression *of) {
    of->failed_here = true;
    return CLI_FAILED;
}

/* ---------------------------------------------------------------- out */

static int write_bytes(gpu_compression *of, const uint8_t *bytes, uint64_t size) {
    while (size) {
        uint8_t *block = cli_background_block(&of->background);
        size_t some = size < CLI_BLOCK_BYTES ? (size_t)size : (size_t)CLI_BLOCK_BYTES;
        if (block) memcpy(block, bytes, some);
        int number = cli_background_submit(&of->background, block ? some : 0);
        if (number) return cli_output_fail(of->output, number);
        bytes += some;
        size -= some;
    }
    return CLI_OK;
}

/* Takes all pieces under way one step on, the oldest first. `next` was just started; -1: none. */
static int advance(gpu_compression *of, int next) {
    cli_gpu_encode *encode = &of->encode;
    int done = of->waiting[0], fetched = of->waiting[1];
    if (fetched >= 0 && cli_gpu_encode_fetch(encode, fetched, &of->error)) return fail(of);
    of->waiting[0] = fetched;
    of->waiting[1] = next;
    if (done < 0) return CLI_OK;
    if (cli_gpu_encode_finish(encode, done, &of->error)) return fail(of);
    const cli_encode_slot *slot = &encode->slots[done];
    return write_bytes(of, slot->image.memory, slot->piece.image_bytes);
}

/* ---------------------------------------------------------------- in */

/* The first of `rows`, which are taken from them: enough for so many bytes, or all. */
static fastpair_rows take_rows(fastpair_rows *rows, uint64_t bytes) {
    const uint64_t *offsets = rows->offsets;
    fastpair_rows taken = *rows;
    uint64_t low = 1, high = rows->rows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (offsets[middle] - offsets[0] < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    taken.rows = low;
    rows->offsets = offsets + low;
    rows->rows -= low;
    return taken;
}

/* Whether rows follow those in slots. */
static int has_more(const gpu_compression *of) {
    return of->splits ? !of->split.at_end : of->rows.rows != 0;
}

/* Rows of a window, straight to a slot. */
static int split_into(gpu_compression *of, int number) {
    cli_encode_slot *slot = &of->encode.slots[number];
    cli_split *split = &of->split;
    if (cli_split_read(split, of->piece_bytes - slot->size, PIECE_ROWS - slot->rows) != CLI_OK)
        return CLI_FAILED;
    if (cli_gpu_encode_reserve(&of->encode, number, split->size, split->rows, &of->error))
        return fail(of);
    cli_split_copy(split, (uint8_t *)slot->bytes.memory + slot->size,
                   (uint64_t *)slot->offsets.memory + slot->rows, slot->size);
    slot->size += split->size;
    slot->rows += split->rows;
    return CLI_OK;
}

/* Fills a slot until it has enough rows for a piece or the text ends. */
static int fill(gpu_compression *of, int number) {
    const cli_encode_slot *slot = &of->encode.slots[number];
    fastpair_rows *rows = &of->rows;
    while (has_more(of) && slot->size < of->piece_bytes && slot->rows < PIECE_ROWS) {
        if (of->splits) {
            if (split_into(of, number) != CLI_OK) return CLI_FAILED;
            continue;
        }
        fastpair_rows some = take_rows(rows, of->piece_bytes - slot->size);
        if (cli_gpu_encode_append(&of->encode, number, &some, &of->error)) return fail(of);
        if (!rows->rows && cli_text_next(of->text, rows) != CLI_OK) return CLI_FAILED;
    }
    return CLI_OK;
}

/* Trains the dictionary that the CPU's writer begins with, on rows of a slot, which grow until they
 * suffice. */
static int train(gpu_compression *of, int slot) {
    fastpair_compress_options settings = cli_compress_options(of->options);
    const uint64_t usual = of->piece_bytes;
    int result = CLI_OK;
    while (result == CLI_OK && !of->trained) {
        fastpair_rows first = cli_gpu_encode_rows(&of->encode.slots[slot]);
        if (fastpair_dictionary_train_first(&first, has_more(of), &settings, &of->trained,
                                            &of->error))
            return fail(of);
        if (of->trained) break;
        of->piece_bytes *= 2;
        result = fill(of, slot);
    }
    of->piece_bytes = usual;
    return result;
}

/* The dictionary of -D, or one that is trained on the first rows, which are in a slot. */
static int prepare(gpu_compression *of, fastpair_gpu *gpu, int slot,
                   const fastpair_dictionary *dictionary) {
    fastpair_compress_options settings = cli_compress_options(of->options);
    fastpair_error *error = &of->error;
    int result = dictionary ? CLI_OK : train(of, slot);
    if (result != CLI_OK) return result;
    settings.codec = FASTPAIR_CODEC_AUTO; /* the dictionary has its own */
    settings.code_bits = settings.max_token = 0;
    settings.dictionary = dictionary ? dictionary : of->trained;
    if (cli_gpu_encode_prepare(&of->encode, gpu, &settings, error) ||
        fastpair_gpu_encoded_set_framing(of->encode.encoded, of->text->separator, 1, error))
        return fail(of);
    return CLI_OK;
}

/* Rows of the slot that can go as a piece, if it has been filled. Windows grow until a unit is in.
 */
static int next_piece(gpu_compression *of, int number, uint64_t *piece) {
    cli_gpu_encode *encode = &of->encode;
    const uint64_t usual = of->piece_bytes;
    int result = CLI_OK;
    for (*piece = 0; result == CLI_OK && !*piece;) {
        fastpair_rows all = cli_gpu_encode_rows(&encode->slots[number]);
        int has_after = has_more(of);
        *piece = fastpair_gpu_encoder_cut(encode->encoder, &all, encode->has_before, has_after);
        if (!has_after) break;
        if (!*piece) {
            of->piece_bytes *= 2;
            result = fill(of, number);
        }
    }
    of->piece_bytes = usual;
    return result;
}

/* Moves rows that are not in the piece to the next slot. */
static int move_rest(gpu_compression *of, int from, int to, uint64_t piece) {
    fastpair_rows rest = cli_gpu_encode_rows(&of->encode.slots[from]);
    rest.rows -= piece;
    if (!rest.rows) return CLI_OK;
    rest.offsets = (const uint64_t *)rest.offsets + piece;
    return cli_gpu_encode_append(&of->encode, to, &rest, &of->error) ? fail(of) : CLI_OK;
}

static int encode_text(gpu_compression *of, fastpair_gpu *gpu,
                       const fastpair_dictionary *dictionary) {
    cli_gpu_encode *encode = &of->encode;
    int slot = 0, result = fill(of, slot), is_last = 0;
    if (result == CLI_OK) result = prepare(of, gpu, slot, dictionary);
    while (result == CLI_OK && !is_last) {
        int next = (slot + 1) % CLI_ENCODE_SLOTS;
        uint64_t piece;
        if ((result = next_piece(of, slot, &piece)) != CLI_OK) break;
        is_last = !has_more(of) && piece == encode->slots[slot].rows;
        result = move_rest(of, slot, next, piece);
        if (result == CLI_OK && cli_gpu_encode_start(encode, slot, piece, !is_last, &of->error))
            result = fail(of);
        if (result == CLI_OK) result = fill(of, next);
        if (result == CLI_OK) result = advance(of, slot);
        cli_progress_step(of->progress, of->text->input->done);
        slot = next;
    }
    for (int i = 0; i < 2 && result == CLI_OK; i++) result = advance(of, -1);
    return result;
}

static int write_footer(gpu_compression *of) {
    fastpair_gpu_encoded *encoded = of->encode.encoded;
    const uint8_t *footer;
    uint64_t size;
    bool ended = of->splits ? of->split.final_separator : of->text->final_separator;
    if (fastpair_gpu_encoded_set_framing(encoded, of->text->separator, ended, &of->error) ||
        fastpair_gpu_encoded_finish(encoded, &footer, &size, &of->error))
        return fail(of);
    return write_bytes(of, footer, size);
}

/* ---------------------------------------------------------------- the line */

/* Prints why the library failed, or says that the CPU goes on. */
static int explain(gpu_compression *of, bool *falls_back) {
    const cli_options *options = of->options;
    const char *name = of->text->input->name;
    if (of->error.status == FASTPAIR_ERROR_INVALID_ARGUMENT &&
        of->error.position != FASTPAIR_NO_POSITION)
        return cli_fail(name,
                        "a row from %" PRIu64 " on is not UTF-8 (rows count from 0); leave "
                        "--type=text out, or use --type=bytes",
                        of->error.position);
    bool is_out = !of->output->is_file && of->output->written; /* and cannot be taken back */
    if (options->backend == CLI_BACKEND_GPU || of->text->input->is_stdin || is_out)
        return cli_fail_status(name, &of->error);
    cli_note(options, "%s: %s; the CPU compresses it", name, of->error.message);
    *falls_back = true;
    return CLI_FAILED;
}

int cli_compress_gpu(const cli_gpu_job *job, fastpair_rows rows, bool *falls_back) {
    gpu_compression of = {.options = job->options,
                          .text = job->text,
                          .rows = rows,
                          .output = job->output,
                          .progress = job->progress,
                          .piece_bytes = PIECE_BYTES,
                          .waiting = {-1, -1}};
    uint64_t sample = job->options->expert.sample_bytes;
    if (sample && 4 * sample < PIECE_BYTES) of.piece_bytes = 4 * sample;
    *falls_back = false;
    const cli_input *input = job->text->input;
    const uint32_t threads = cli_threads(job->options, 0);
    of.splits = threads > 1 && input->is_regular && !input->is_stdin;
    cli_split_open(&of.split, job->text->input, job->text->separator, threads);
    int result = cli_background_open(&of.background, job->output, threads);
    if (result != CLI_OK) return result;
    if (cli_gpu_encode_open(&of.encode, &of.error)) result = fail(&of);
    if (result == CLI_OK) result = encode_text(&of, job->gpu, job->dictionary);
    if (result == CLI_OK) result = write_footer(&of);
    int number = cli_background_close(&of.background);
    if (result == CLI_OK && number) result = cli_output_fail(job->output, number);
    cli_gpu_encode_close(&of.encode);
    cli_split_close(&of.split);
    fastpair_dictionary_close(of.trained);
    return of.failed_here ? explain(&of, falls_back) : result;
}
