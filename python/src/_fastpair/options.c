/* options.c - keyword arguments of write_rows and write_arrow become a compressor's options. Names
 * were turned into the library's numbers by the package. */
#include "binding.h"

#include <stdlib.h>

/* Pairs from a list of (bytes, bytes), whose memory is borrowed: the list outlives the call. */
static int read_pairs(Options *options, PyObject *list) {
    Py_ssize_t count = PyList_Size(list);
    if (count <= 0) return (int)count;
    options->pairs = calloc((size_t)count, sizeof *options->pairs);
    if (!options->pairs) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        fastpair_pair *pair = &options->pairs[i];
        char *value;
        Py_ssize_t size;
        PyObject *item = PyList_GetItem(list, i);
        /* "y" refuses keys with a NUL. */
        if (!item || !PyArg_ParseTuple(item, "yy#", &pair->key, &value, &size)) return -1;
        pair->value = value;
        pair->value_size = (uint64_t)size;
    }
    options->metadata.pairs = options->pairs;
    options->metadata.pair_count = (uint64_t)count;
    return 0;
}

int fpy_options_open(Options *options, PyObject *keywords) {
    static char *names[] = {"codec", "code_bits",   "max_token", "goal", "level",
                            "cold",  "chunk_bytes", "threads",   "type", "name",
                            "pairs", "progress",    NULL};
    *options = (Options){.compress = {.struct_size = sizeof options->compress},
                         .metadata = {.struct_size = sizeof options->metadata}};
    fastpair_compress_options *compress = &options->compress;
    int codec, goal;
    unsigned long long chunk_bytes;
    PyObject *pairs;
    PyObject *nothing = PyTuple_New(0);
    if (!nothing) return -1;
    int good = PyArg_ParseTupleAndKeywords(
        nothing, keywords, "$iIIiIpKIizO!O:write", names, &codec, &compress->code_bits,
        &compress->max_token, &goal, &compress->level, &compress->cold, &chunk_bytes,
        &compress->threads, &options->type, &options->metadata.name, &PyList_Type, &pairs,
        &options->progress);
    Py_DECREF(nothing);
    if (!good) return -1;
    compress->codec = (fastpair_codec)codec;
    compress->goal = (fastpair_goal)goal;
    compress->chunk_bytes = chunk_bytes;
    compress->metadata = &options->metadata;
    if (options->type >= 0) options->metadata.type = (fastpair_type)options->type;
    return read_pairs(options, pairs);
}

void fpy_options_close(Options *options) { free(options->pairs); }
