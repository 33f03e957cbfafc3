/* fastpair_arrow.h - columns from and to Apache Arrow, through its C Data, C Stream and C Device
 * interfaces. These are plain structs with release functions: no Arrow library is needed, and any
 * Arrow implementation takes them. The conventions of every function are in fastpair.h. This header
 * is included for itself; fastpair.h does not include it.
 *
 * Ownership. Whoever holds an exported struct calls its `release` once, from any thread; moving the
 * struct, or a child out of it, is allowed, as Arrow says. Exported arrays own their buffers and need
 * neither the column nor the stream. Exported streams keep the column open, so that the caller may
 * close it at once. Strings and pointers inside exported structs live as long as the struct. After a
 * failure the `release` of every output is NULL.
 *
 * Buffers of exported arrays begin at multiples of 64 bytes and are padded with zeros to a multiple
 * of 64. Nothing is copied after decoding: the buffers are what the decoder wrote to. All buffers of
 * an array are one allocation. The bytes of views may be cut into several buffers of one block of
 * memory, which overlap by less than 64 bytes.
 *
 * Text. A column that its file calls text is exported as Arrow's utf8, any other as binary. Files can
 * lie, and many consumers trust a utf8 array blindly. So every row that is exported as utf8 has been
 * checked, null rows included. A row that is not UTF-8 is CORRUPT, or INVALID_ARGUMENT where the
 * caller asked for text and the file does not promise it; the error's position is the row's number in
 * the column. Where no token of a dictionary has a byte above 127 the check costs nothing. Elsewhere
 * codes are checked as they are decoded, or bytes, where pieces of characters are frequent among the
 * tokens, or no token has more than 8 bytes.
 *
 * Metadata. The column's pairs are the metadata of its field. Pairs whose key begins with
 * "ARROW:extension:" are left out: a file that nobody trusts must not choose which code a consumer
 * runs for a type. */
#ifndef FASTPAIR_ARROW_H
#define FASTPAIR_ARROW_H

#include "fastpair.h"
#include "fastpair_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- Arrow's structs */

/* As Arrow's specification lays them out. The guards are Arrow's, so that this header can stand
 * beside another one that has them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;
#define ARROW_DEVICE_CPU  1
#define ARROW_DEVICE_CUDA 2

struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    ArrowDeviceType device_type;
    void *sync_event;
    int64_t reserved[3];
};
#endif

/* ---------------------------------------------------------------- out */

typedef enum fastpair_arrow_layout {
    /* 32-bit offsets (utf8, binary) if no array of the export needs more, else 64-bit ones
     * (large_utf8, large_binary); one answer for a whole stream. */
    FASTPAIR_ARROW_OFFSETS = 0,
    /* LIMIT where an array would pass INT32_MAX bytes. */
    FASTPAIR_ARROW_OFFSETS32 = 1,
    FASTPAIR_ARROW_OFFSETS64 = 2,
    /* utf8_view and binary_view: 16 bytes per row over the decoded bytes, which are in as many
     * buffers of at most 1 GiB as it takes. LIMIT where a row would pass INT32_MAX bytes, with its
     * number in the array. */
    FASTPAIR_ARROW_VIEWS = 3
} fastpair_arrow_layout;

typedef enum fastpair_arrow_type {
    /* utf8 if the file says text, else binary. */
    FASTPAIR_ARROW_AS_RECORDED = 0,
    /* utf8, and rows that are not UTF-8 are refused whatever the file says. */
    FASTPAIR_ARROW_TEXT = 1,
    /* binary: nothing is checked. */
    FASTPAIR_ARROW_BYTES = 2
} fastpair_arrow_type;

typedef struct fastpair_arrow_options {
    /* sizeof(fastpair_arrow_options). */
    size_t struct_size;
    fastpair_arrow_layout layout;
    fastpair_arrow_type type;
    /* Streams: rows per array, the last may have fewer; 0: an array per chunk. */
    uint64_t batch_rows;
    /* The field's name. NULL: what the file says, else an empty one. Copied. */
    const char *name;
    /* 1: arrays and schemas are structs of one field, which is how Arrow writes a table of one
     * column; some engines take nothing else. */
    int as_struct;
    /* Of everything that is exported, as fastpair_allocator says; it must outlive the exported
     * structs, which release with it from whatever thread. Memory need be aligned to 16 bytes only.
     * All zero: malloc and free. */
    fastpair_allocator allocator;
} fastpair_arrow_options;

/* The type that a stream of the whole column has with these options, with the column's pairs as the
 * field's metadata. Statuses: CORRUPT, LIMIT. */
FASTPAIR_API fastpair_status fastpair_column_export_schema(const fastpair_column *column,
                                                           const fastpair_arrow_options *options,
                                                           struct ArrowSchema *schema,
                                                           fastpair_error *error);

/* Decodes rows first .. first + count into one array; there may be none. *schema, which may be NULL,
 * gets its type: with FASTPAIR_ARROW_OFFSETS this array's, which may differ from the stream's. As
 * many threads work as the column has. null_count is exact, and the bitmap is NULL if it is 0. Statuses: those of fastpair_column_decode, and LIMIT as the
 * layout says. (Seven parameters: Arrow's schema and array are a pair.) */
FASTPAIR_API fastpair_status fastpair_column_export_array(const fastpair_column *column,
                                                          uint64_t first, uint64_t count,
                                                          const fastpair_arrow_options *options,
                                                          struct ArrowSchema *schema,
                                                          struct ArrowArray *array,
                                                          fastpair_error *error);

/* The same for listed rows, in the order listed, repeats allowed. */
FASTPAIR_API fastpair_status fastpair_column_export_listed(const fastpair_column *column,
                                                           const uint64_t *rows, uint64_t count,
                                                           const fastpair_arrow_options *options,
                                                           struct ArrowSchema *schema,
                                                           struct ArrowArray *array,
                                                           fastpair_error *error);

/* Rows first .. first + count as a stream of arrays, each decoded when it is asked for. The stream
 * keeps the column open. One thread at a time may use a stream; any number of streams of one column
 * may be used at once. A failure comes back from get_next as an errno value (EILSEQ: corrupt or not
 * UTF-8; ENOMEM; EFBIG: LIMIT; else EIO), with the message from get_last_error, and from every
 * later get_next. The stream gives no array without rows. */
FASTPAIR_API fastpair_status fastpair_column_export_stream(fastpair_column *column, uint64_t first,
                                                           uint64_t count,
                                                           const fastpair_arrow_options *options,
                                                           struct ArrowArrayStream *stream,
                                                           fastpair_error *error);

/* ---------------------------------------------------------------- out, on a GPU */

/* Device memory that a decode was given, and what a consumer must know of it. */
typedef struct fastpair_gpu_array {
    /* sizeof(fastpair_gpu_array). */
    size_t struct_size;
    /* What fastpair_gpu_job_decode got for the column, with offsets, and with validity if the column
     * has nulls. Read by the call. The memory it names goes to whoever holds the array. */
    const fastpair_gpu_output *output;
    /* A CUevent (cudaEvent_t) that was recorded on the decode's stream after it: consumers wait for
     * it. NULL: the decode is known to be over. It must live until `release` is called. */
    void *event;
    /* 1: the caller has waited for the decode and read its status word as 0. */
    int status_was_zero;
    /* Called once when the array is released, from the thread that does so; NULL: nothing is. It may
     * free the memory and the event. */
    void (*release)(void *context);
    void *context;
    /* For the field's name and pairs; NULL: there are none. Not looked at after the call. */
    const fastpair_column *column;
    /* 0: `output` holds the whole column. 1: it holds rows that fastpair_gpu_select_decode selected,
     * with the addresses that its fastpair_gpu_selected had: so many rows, and bytes of all of them. */
    int is_selection;
    uint64_t selected_rows, selected_bytes;
} fastpair_gpu_array;

/* Wraps column number `column` of a job, all chunks of which were decoded into from->output, or rows
 * of it that were selected, as an array in device memory. *schema, which may be NULL, gets its type.
 * No device memory is read, copied or taken. The job may be closed afterwards. After a failure the
 * memory is still the caller's, and `release` is not called.
 *
 * Which rows are trusted. A kernel that meets bad data leaves memory as it was, offsets included, and
 * says so in the status word. So INVALID_ARGUMENT unless status_was_zero is 1, or
 * fastpair_column_validate succeeded with the column before the job was opened: the library remembers
 * that. Columns of which a device image was given (fastpair_gpu_job_options.device_images) do not
 * count as validated. A selection always needs status_was_zero, as its memory may have been too small.
 *
 * Text. Nobody checks UTF-8 on the device. The array is utf8 if the file says text, or the caller asks
 * for FASTPAIR_ARROW_TEXT, and one of these holds: the file says text and the column was validated as
 * above; or no token of its dictionaries has a byte above 127 and none of its chunks is stored. If
 * neither holds it is binary, and FASTPAIR_ARROW_TEXT is INVALID_ARGUMENT.
 *
 * The width of offsets is that of the output; a layout that asks for another one, or for views, is
 * INVALID_ARGUMENT. The array's null_count is -1, which means that consumers count, if there are nulls
 * and the column was not validated, or its rows were selected. options->batch_rows is ignored.
 * Statuses: CORRUPT, BUFFER_TOO_SMALL, LIMIT. (Seven parameters: Arrow's schema and array are a
 * pair.) */
FASTPAIR_API fastpair_status fastpair_gpu_export_array(const fastpair_gpu_job *job, uint64_t column,
                                                       const fastpair_gpu_array *from,
                                                       const fastpair_arrow_options *options,
                                                       struct ArrowSchema *schema,
                                                       struct ArrowDeviceArray *array,
                                                       fastpair_error *error);

/* ---------------------------------------------------------------- in */

/* Appends the rows of one array to a writer; both structs are borrowed. Taken are utf8, large_utf8,
 * binary, large_binary, utf8_view, binary_view, arrays of any of these encoded by a dictionary with
 * any integer indices, and the null type; with any offset, any null bitmap; as such or as the child
 * `field` of a struct (NULL: its only child). A row of a struct that is null is a null row. Rows may
 * be copied once, in pieces of some MiB. Lies are refused where they can be seen: offsets that
 * decrease or are negative, indices outside a dictionary, views outside their buffers. Where no size
 * is given, as for the last buffer of utf8, the producer is trusted, as Arrow's interface demands.
 * Statuses: those of fastpair_writer_append; INVALID_ARGUMENT also for other types, with Arrow's
 * name of the type, and for a field that is not there. */
FASTPAIR_API fastpair_status fastpair_writer_append_arrow(fastpair_writer *writer,
                                                          const struct ArrowSchema *schema,
                                                          const struct ArrowArray *array,
                                                          const char *field, fastpair_error *error);

/* Compresses all arrays of a stream into one column. The stream is consumed and released, also after
 * a failure. Without options->metadata, name and type come from the stream's schema: its field's name;
 * text for the utf8 types, whose rows must then be UTF-8, and bytes for the others. With metadata they
 * are what it says. Statuses: those of fastpair_writer_append_arrow; IO also for a
 * failure of the stream, with its message. */
FASTPAIR_API fastpair_status fastpair_compress_arrow(struct ArrowArrayStream *stream,
                                                     const char *field,
                                                     const fastpair_compress_options *options,
                                                     const fastpair_sink *sink,
                                                     fastpair_error *error);

#ifdef __cplusplus
}
#endif
#endif
