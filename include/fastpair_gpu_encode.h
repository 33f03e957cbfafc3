/* fastpair_gpu_encode.h - compressing rows in device memory on an NVIDIA GPU.
 *
 * The conventions of fastpair_gpu.h hold: addresses, streams, contexts, statuses. Rows lie in
 * device memory as Arrow and cuDF have them. The compressed column is byte for byte what
 * fastpair_compress makes of the same rows with the same options. Its flow:
 *   fastpair_gpu_encoder_open     host only: a dictionary becomes tables for the device
 *   fastpair_gpu_encoder_upload   copy them to device memory of the caller's, asynchronously
 *   fastpair_gpu_encoder_sizes    host only: memory that some rows need
 *   fastpair_gpu_encoder_encode   launch: no allocation, no synchronisation, no read-back. Then the
 *                                 blocks of the file lie in device memory, and a *record*, some KB
 *                                 that say where they are
 *   the caller                    copies the record to the host, and waits for it
 *   fastpair_gpu_encoded_add      host only: checks the record; exact sizes are known from here on
 * Then either or both:
 *   fastpair_gpu_encoded_open_column   host only: a column whose sections stay in device memory,
 *                                 for fastpair_gpu_job_open
 *   the caller                    copies the blocks to the host
 *   fastpair_gpu_encoded_complete host only: headers, checksums and the dictionary, in place
 *   fastpair_gpu_encoded_finish   host only: the footer, which ends the file
 *
 * A column may be encoded in pieces, so that copies of one piece overlap kernels of another, and a
 * column need not fit device memory.
 *
 * Dictionaries are trained on the CPU: with fastpair_dictionary_train, or, where rows lie in device
 * memory alone, with a sampler, which copies some of them back (below). A dictionary serves any
 * number of columns, and each may be trained on another one. */
#ifndef FASTPAIR_GPU_ENCODE_H
#define FASTPAIR_GPU_ENCODE_H

#include "fastpair_gpu_search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- encoders */

/* A dictionary and options, prepared for encoding. Threads may share it once it is uploaded.
 * Columns may be encoded at once on different streams, each in scratch of its own. */
typedef struct fastpair_gpu_encoder fastpair_gpu_encoder;

/* Makes tables of options->dictionary, which must be given and must stay open until the encoder is
 * closed. All options mean what they mean for fastpair_compress; `threads` are those that compute
 * checksums, and there is no progress. Metadata and expert options are copied. No device is
 * touched. *encoder is closed with fastpair_gpu_encoder_close.
 * INVALID_ARGUMENT: a NULL, no dictionary, an option outside its range. UNSUPPORTED: `cold`, or a
 * level above FASTPAIR_LEVEL_GREEDY, which CPUs alone can do. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_encoder_open(fastpair_gpu *gpu,
                                                       const fastpair_compress_options *options,
                                                       fastpair_gpu_encoder **encoder,
                                                       fastpair_error *error);

/* Frees host memory. Uploads must have finished, and everything that was opened with the encoder
 * must be closed; encodes may still be under way. NULL is allowed. */
FASTPAIR_API void fastpair_gpu_encoder_close(fastpair_gpu_encoder *encoder);

typedef struct fastpair_gpu_encoder_info {
    /* Set it to sizeof(fastpair_gpu_encoder_info) before the call. */
    size_t struct_size;
    /* Device memory for the tables: some MB at most. */
    uint64_t device_bytes;
    /* Bytes of the dictionary's block in the file. A file has it if that saves more than it takes.
     */
    uint64_t dictionary_bytes;
} fastpair_gpu_encoder_info;

/* Describes an encoder. INVALID_ARGUMENT: a NULL, or struct_size is not set. */
FASTPAIR_API fastpair_status fastpair_gpu_encoder_get_info(const fastpair_gpu_encoder *encoder,
                                                           fastpair_gpu_encoder_info *info,
                                                           fastpair_error *error);

/* Copies the tables to device memory: device_bytes of it. Asynchronous on `stream` as far as a
 * driver is with pageable memory. It may be called again, for another place.
 * BUFFER_TOO_SMALL. INVALID_ARGUMENT: a NULL, a misaligned address. UNSUPPORTED or OUT_OF_MEMORY:
 * the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_encoder_upload(fastpair_gpu_encoder *encoder,
                                                         const fastpair_gpu_block *memory,
                                                         void *stream, fastpair_error *error);

/* ---------------------------------------------------------------- encoding */

/* Rows in device memory: a whole column, or a piece of one. Every address is the caller's device
 * memory, which is only read. */
typedef struct fastpair_gpu_encode_input {
    /* sizeof(fastpair_gpu_encode_input) */
    size_t struct_size;
    uint64_t rows;
    /* Row i is bytes[offsets[i] .. offsets[i + 1]), at any address. `bytes` may be 0 if bytes_size
     * is. */
    uint64_t bytes, bytes_size;
    /* rows + 1 unsigned numbers that never decrease, each offset_bits wide (32 or 64) and aligned
     * to that; the first need not be 0. May be 0 if `rows` is. */
    uint64_t offsets;
    uint32_t offset_bits;
    /* 0: all rows are valid. Else an Arrow bitmap at any address: least significant bit first, 1
     * means valid. Bytes of null rows are ignored. */
    uint64_t validity;
    /* The bit of `validity` that belongs to row 0. */
    uint64_t validity_bit_offset;
    /* 0: the column begins, or ends, with these rows. 1: a piece comes before, or after, this one.
     * Pieces end where fastpair_gpu_encoder_cut says. */
    int has_before, has_after;
} fastpair_gpu_encode_input;

/* Memory that rows need. The first three are for rows whose valid ones have bytes_size bytes
 * together; fewer rows or bytes never need more. */
typedef struct fastpair_gpu_encode_sizes {
    /* Set it to sizeof(fastpair_gpu_encode_sizes) before the call. */
    size_t struct_size;
    /* Device memory while rows are encoded: some 2.3 bytes per byte of rows; with validity one byte
     * more, and 8 per row. */
    uint64_t scratch_bytes;
    /* Device memory in which the blocks surely fit. Columns that compress take less. */
    uint64_t output_bytes;
    /* Device memory of the record, and what the caller copies to the host: some 450 bytes per
     * chunk, and up to 9 KB. */
    uint64_t record_bytes;
    /* The first bytes of scratch, which pieces hand on to each other. A column goes on in other
     * scratch, for example larger one, if these bytes are copied there between pieces. */
    uint64_t state_bytes;
} fastpair_gpu_encode_sizes;

/* Computes what rows need. Of `input` only struct_size, rows, bytes_size and whether there is
 * validity count.
 * INVALID_ARGUMENT: a NULL, struct_size is not set. LIMIT: more than 2^38 rows or bytes. */
FASTPAIR_API fastpair_status fastpair_gpu_encoder_sizes(const fastpair_gpu_encoder *encoder,
                                                        const fastpair_gpu_encode_input *input,
                                                        fastpair_gpu_encode_sizes *sizes,
                                                        fastpair_error *error);

/* Bits of the status, the first 32-bit word of a record.
 * BAD_OFFSETS: offsets decrease, or point past bytes_size, or a row has 4 GiB or more.
 * TOO_SMALL: the output's memory does not suffice.
 * BAD_PIECE: a piece follows one that failed, or there are more chunks or segments than can be. */
#define FASTPAIR_GPU_ENCODE_BAD_OFFSETS 1u
#define FASTPAIR_GPU_ENCODE_TOO_SMALL   2u
#define FASTPAIR_GPU_ENCODE_BAD_PIECE   4u

/* Where a piece of a column goes. */
typedef struct fastpair_gpu_encode_output {
    /* sizeof(fastpair_gpu_encode_output) */
    size_t struct_size;
    /* For blocks as they stand in the file: the first byte is the file's first byte, or the first
     * one after the piece before. What headers and the dictionary will take is left zero. If this
     * is smaller than output_bytes the blocks may not fit, which the record says. */
    fastpair_gpu_block image;
    /* At least record_bytes. */
    fastpair_gpu_block record;
} fastpair_gpu_encode_output;

/* Compresses rows, which must be in device memory when the work that was queued on `stream` before
 * has finished. Launches on `stream` and returns; the structs may go then. Pieces of a column need
 * the same scratch (or see state_bytes), as large as the largest piece needs, and go one after the
 * other, on one stream or on streams that the caller has ordered. Every piece needs an output of
 * its own until it was copied or used. What rows contain never makes the call fail: what is wrong
 * with them stands in the record, and nothing is ever written outside the memory that was given.
 * BUFFER_TOO_SMALL: scratch, or the record's memory. LIMIT: as above. INVALID_ARGUMENT: a NULL, a
 * misaligned address, an encoder that was not uploaded. UNSUPPORTED or OUT_OF_MEMORY: the driver's
 * failure. */
FASTPAIR_API fastpair_status fastpair_gpu_encoder_encode(const fastpair_gpu_encoder *encoder,
                                                         const fastpair_gpu_encode_input *input,
                                                         const fastpair_gpu_block *scratch,
                                                         const fastpair_gpu_encode_output *output,
                                                         void *stream, fastpair_error *error);

/* How many rows the next piece of a column may have, so that the file is the same as in one piece.
 * `rows`, in host memory, begin where the piece before ended, and are as many as a piece shall have
 * at most; has_before and has_after are those of fastpair_gpu_encode_input, for all of these rows.
 * Returns the rows of all whole units among them; all rows if no others follow; 0 if not even one
 * unit is whole, so that more rows are needed, if there are no rows, or if an argument is invalid.
 * A unit has about 8 MiB, or one chunk if that is more, or 2^21 rows; less if the options ask for
 * small samples. A first piece has at least what a writer waits for: 32 MiB, unless the options say
 * otherwise, or 2^22 rows. Takes time per row where there is validity, else per chunk. Offsets need
 * not have been checked. */
FASTPAIR_API uint64_t fastpair_gpu_encoder_cut(const fastpair_gpu_encoder *encoder,
                                               const fastpair_rows *rows, int has_before,
                                               int has_after);

/* ---------------------------------------------------------------- what was encoded */

/* What the host knows of a column that was encoded, piece by piece. One thread at a time may use
 * it. */
typedef struct fastpair_gpu_encoded fastpair_gpu_encoded;

/* Begins a column, empty. The encoder must outlive *encoded, which is closed with
 * fastpair_gpu_encoded_close. INVALID_ARGUMENT: a NULL. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_encoded_open(const fastpair_gpu_encoder *encoder,
                                                       fastpair_gpu_encoded **encoded,
                                                       fastpair_error *error);

/* Frees host memory. Columns that were opened of it stay open. NULL is allowed. */
FASTPAIR_API void fastpair_gpu_encoded_close(fastpair_gpu_encoded *encoded);

typedef struct fastpair_gpu_encoded_piece {
    /* Set it to sizeof(fastpair_gpu_encoded_piece) before the call. */
    size_t struct_size;
    /* Which bytes of the file lie in the output of this piece, from its first byte on. */
    uint64_t image_offset, image_bytes;
    uint64_t rows, nulls;
    /* Of valid rows. */
    uint64_t decoded_bytes;
    uint64_t chunks;
    /* Of these; the others are stored. */
    uint64_t coded_chunks;
} fastpair_gpu_encoded_piece;

/* Adds the next piece: `record` has the `size` bytes that the caller copied from its output, all of
 * record_bytes or at least as many as its chunks take. `piece` may be NULL. After a failure the
 * column is as it was before, and can only be closed if the piece is to be encoded again.
 * INVALID_ARGUMENT: a NULL, offsets that were wrong (BAD_OFFSETS), a piece that is not the next
 * one, rows that are not UTF-8 where the metadata says text (the position is the first row of their
 * chunk), a column that is finished. BUFFER_TOO_SMALL: the output was too small (TOO_SMALL).
 * CORRUPT: the record contradicts itself. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_encoded_add(fastpair_gpu_encoded *encoded,
                                                      const void *record, uint64_t size,
                                                      fastpair_gpu_encoded_piece *piece,
                                                      fastpair_error *error);

/* fastpair_writer_set_framing for this column: any time before its first piece is completed; only
 * final_separator may change after that, until the column is finished. */
FASTPAIR_API fastpair_status fastpair_gpu_encoded_set_framing(fastpair_gpu_encoded *encoded,
                                                              uint8_t separator,
                                                              int final_separator,
                                                              fastpair_error *error);

/* Makes file bytes of a piece that was added, in place: `bytes` has the image_bytes bytes from its
 * output, copied to the host. Writes the file's header, the dictionary and headers of chunks, with
 * checksums. Pieces may be completed in any order, or never.
 * INVALID_ARGUMENT: a NULL, or no piece has this image_offset. BUFFER_TOO_SMALL: `size` is below
 * image_bytes. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_encoded_complete(fastpair_gpu_encoded *encoded,
                                                           uint64_t image_offset, uint8_t *bytes,
                                                           uint64_t size, fastpair_error *error);

/* Ends the column: *footer gets the bytes that follow the last piece's in the file, *footer_bytes
 * how many. They are the library's, until *encoded is closed. A second call returns the same.
 * INVALID_ARGUMENT: a NULL, or a column without a piece (a column without rows has one).
 * OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_encoded_finish(fastpair_gpu_encoded *encoded,
                                                         const uint8_t **footer,
                                                         uint64_t *footer_bytes,
                                                         fastpair_error *error);

/* Opens a column of what was added, without its sections: they stay in device memory. Finishes the
 * column. It serves as input of fastpair_gpu_job_open with options.device_images, where its image
 * is the address of the output; for a column in pieces, of all outputs back to back, as in the
 * file. Searches and selections on the GPU take it, too. Totals, headers and bounds can be asked
 * for; a call that needs rows on the CPU fails with IO, and says where they are. `options` NULL:
 * all defaults. Checksums of sections are not there. *column is closed with fastpair_column_close,
 * and may outlive *encoded. Statuses: those of fastpair_gpu_encoded_finish and
 * fastpair_column_open. */
FASTPAIR_API fastpair_status fastpair_gpu_encoded_open_column(fastpair_gpu_encoded *encoded,
                                                              const fastpair_open_options *options,
                                                              fastpair_column **column,
                                                              fastpair_error *error);

/* ---------------------------------------------------------------- dictionaries of rows on a device */

/* A *sampler* trains a dictionary for rows in device memory: the same one, byte for byte, that
 * fastpair_dictionary_train makes of these rows with the same options. A kernel draws the sample that
 * training looks at, which is 4 to 24 MiB unless the options say otherwise; the sample comes to the
 * host, and training is done there. With a codec that is given this takes one round, with an automatic
 * choice two, as wide codes are trained on more:
 *   fastpair_gpu_sampler_open
 *   again and again until there is a dictionary:
 *     fastpair_gpu_sampler_sizes    host only: memory that the next sample needs
 *     fastpair_gpu_sampler_take     launch, and a copy to the host; no allocation, no synchronisation
 *     the caller                    waits for the stream
 *     fastpair_gpu_sampler_train    host only: as long as training takes
 *   fastpair_gpu_sampler_close
 * One thread at a time may use a sampler. */
typedef struct fastpair_gpu_sampler fastpair_gpu_sampler;

/* Prepares training with these options, which mean what they mean for fastpair_dictionary_train; NULL:
 * all defaults. They are copied. No device is touched. *sampler is closed with
 * fastpair_gpu_sampler_close, before the GPU is. INVALID_ARGUMENT: a NULL, an option outside its range,
 * a dictionary that is given, the codec `stored`. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_sampler_open(fastpair_gpu *gpu,
                                                       const fastpair_compress_options *options,
                                                       fastpair_gpu_sampler **sampler,
                                                       fastpair_error *error);

/* Frees host memory. Dictionaries that were trained stay open. NULL is allowed. */
FASTPAIR_API void fastpair_gpu_sampler_close(fastpair_gpu_sampler *sampler);

typedef struct fastpair_gpu_sample_sizes {
    /* Set it to sizeof(fastpair_gpu_sample_sizes) before the call. */
    size_t struct_size;
    /* Device memory while a sample is taken: what sample_bytes says and up to 1.1 MB; with
     * validity 8 bytes per row more. */
    uint64_t scratch_bytes;
    /* Host memory for a sample: its bytes, and 2 more for each if rows are that short. */
    uint64_t sample_bytes;
} fastpair_gpu_sample_sizes;

/* Computes what the next sample of these rows needs. Of `input` only struct_size, rows, bytes_size and
 * whether there is validity count. INVALID_ARGUMENT: a NULL, struct_size is not set. LIMIT: more than
 * 2^38 rows or bytes, or a sample of 4 GiB or more. */
FASTPAIR_API fastpair_status fastpair_gpu_sampler_sizes(const fastpair_gpu_sampler *sampler,
                                                        const fastpair_gpu_encode_input *input,
                                                        fastpair_gpu_sample_sizes *sizes,
                                                        fastpair_error *error);

/* Host memory of the caller's for a sample, at any address. Pinned memory is what makes copies
 * asynchronous. */
typedef struct fastpair_gpu_sample {
    /* sizeof(fastpair_gpu_sample) */
    size_t struct_size;
    void *memory;
    /* At least sample_bytes. */
    uint64_t bytes;
} fastpair_gpu_sample;

/* Draws a sample of a whole column, and copies it to sample->memory. The rows must be in device memory
 * when the work that was queued on `stream` before has finished; has_before and has_after are of no
 * account. Queues on `stream` and returns; the structs may go then, and the memory when the stream has
 * finished. What rows contain never makes the call fail, nor writes outside the memory that was given:
 * what is wrong with them fastpair_gpu_sampler_train says.
 * BUFFER_TOO_SMALL: scratch, or the sample's memory. LIMIT: as above. INVALID_ARGUMENT: a NULL, a
 * misaligned address. UNSUPPORTED or OUT_OF_MEMORY: the driver's failure. */
FASTPAIR_API fastpair_status fastpair_gpu_sampler_take(const fastpair_gpu_sampler *sampler,
                                                       const fastpair_gpu_encode_input *input,
                                                       const fastpair_gpu_block *scratch,
                                                       const fastpair_gpu_sample *sample,
                                                       void *stream, fastpair_error *error);

/* Trains on a sample that has arrived. *dictionary is NULL after success if a codec was chosen, and
 * another sample is wanted: take it, of the same rows. Else it is the dictionary, closed with
 * fastpair_dictionary_close; the sampler may then take samples of other columns, with the codec that was
 * chosen.
 * INVALID_ARGUMENT: a NULL; offsets decrease, or point past bytes_size, or a row has 4 GiB or more; this
 * is not the sample that is wanted. BUFFER_TOO_SMALL: sample->bytes is less than was taken. CORRUPT: the
 * sample contradicts itself. CANCELLED: the progress function said so. OUT_OF_MEMORY. */
FASTPAIR_API fastpair_status fastpair_gpu_sampler_train(fastpair_gpu_sampler *sampler,
                                                        const fastpair_gpu_sample *sample,
                                                        fastpair_dictionary **dictionary,
                                                        fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
