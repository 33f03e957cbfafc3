/* fastpair.h - compress columns of strings so that CPUs and GPUs decode them at memory speed.
 *
 * This header includes the whole CPU interface:
 *   fastpair_types.h     statuses, errors, memory, rows, codecs
 *   fastpair_compress.h  columns in: compress, stream, train dictionaries
 *   fastpair_column.h    a column, opened: inspect, validate
 *   fastpair_source.h    a column in a file that is read in ranges, from another machine for example
 *   fastpair_decode.h    columns out: decode, make cold or warm, stream
 *   fastpair_search.h    which rows pass a test; decode those
 * Two headers are apart: fastpair_gpu.h decodes on GPUs, and no CUDA header is needed for it;
 * fastpair_arrow.h takes columns from and to Apache Arrow, and no Arrow library is needed for it.
 *
 * What a column is. Rows of bytes: any bytes, any lengths below 4 GiB, empty rows and nulls
 * included. A compressed column is one `.fpc` image (docs/format.md): chunks of rows, each of which
 * can be decoded on its own, and the dictionaries that the chunks use.
 *
 * Conventions. They hold for every function unless its comment says otherwise.
 *   - Success is FASTPAIR_OK (0). On any other status the outputs hold nothing that the caller must
 *     free.
 *   - `error` may be NULL. It is written only on failure, and then says what went wrong and where.
 *   - Any call may return INVALID_ARGUMENT for a NULL, a range or a field that its comment rules
 *     out. Any call that allocates may return OUT_OF_MEMORY. Comments name the other statuses.
 *   - Structs that may grow start with `struct_size`: set it to sizeof of the struct and leave what
 *     you do not need zero, which is the default. A struct_size below that of the struct's first
 *     version is INVALID_ARGUMENT, 0 included; so is a larger struct with a non-zero field that
 *     this library does not know. A NULL options pointer means all defaults.
 *   - What is opened must be closed by the matching _close function, which allows NULL.
 *   - Nothing is global. Nothing is printed. Nothing exits. Different objects may be used by
 *     different threads at once; each type says whether threads may share one object.
 *   - Sizes, counts and positions have 64 bits. `rows first .. first + count` excludes the last
 *     number.
 *
 * Not promised. Equal rows, options and library version give equal compressed bytes, whatever the
 * number of threads; another library version may compress differently. Every version decodes what
 * earlier versions wrote.
 */
#ifndef FASTPAIR_H
#define FASTPAIR_H

/* The version has its one home here; the build reads it from these three lines. */
#define FASTPAIR_VERSION_MAJOR 0
#define FASTPAIR_VERSION_MINOR 1
#define FASTPAIR_VERSION_PATCH 0

/* The same as one number that can be compared, for example 100 for 0.1.0. */
#define FASTPAIR_VERSION_NUMBER                                                                    \
    (FASTPAIR_VERSION_MAJOR * 10000 + FASTPAIR_VERSION_MINOR * 100 + FASTPAIR_VERSION_PATCH)

#include "fastpair_column.h"
#include "fastpair_compress.h"
#include "fastpair_decode.h"
#include "fastpair_search.h"
#include "fastpair_source.h"
#include "fastpair_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* FASTPAIR_VERSION_NUMBER of the library in use, which may be newer than this header. */
FASTPAIR_API uint32_t fastpair_version_number(void);

/* The version of the library in use as static text, for example "0.1.0". */
FASTPAIR_API const char *fastpair_version(void);

#ifdef __cplusplus
}
#endif
#endif
