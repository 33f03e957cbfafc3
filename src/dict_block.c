/* dict_block.c - dictionary blocks. In: a numbered dictionary, or untrusted bytes. Out: the block
 * of docs/format.md, section 2, or the dictionary. Refuses every block that breaks a rule of that
 * section, so that decoders may rely on all rules. */
#include "dict.h"
#include "format.h"
#include "frame.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t section_size(const fp_dict *dict) {
    return (uint64_t)dict->run_count * FP_RUN_ENTRY + dict->bytes_size;
}

uint64_t fp_dict_block_size(const fp_dict *dict, uint32_t alignment) {
    return fp_align(fp_align(FP_DICT_HEADER, alignment) + section_size(dict), alignment);
}

void fp_dict_write(const fp_dict *dict, uint32_t alignment, uint8_t *block) {
    uint64_t block_size = fp_dict_block_size(dict, alignment);
    uint64_t offset = fp_align(FP_DICT_HEADER, alignment), size = section_size(dict);
    memset(block, 0, (size_t)block_size);
    uint8_t *section = block + offset;
    for (uint32_t r = 0; r < dict->run_count; r++) {
        uint8_t *entry = section + r * FP_RUN_ENTRY;
        fp_store32(entry, dict->runs[r].first_code);
        fp_store16(entry + 4, (uint16_t)(dict->runs[r].count - 1));
        entry[6] = (uint8_t)dict->runs[r].length;
    }
    memcpy(section + (uint64_t)dict->run_count * FP_RUN_ENTRY, dict->bytes,
           (size_t)dict->bytes_size);

    fp_store32(block, FP_KIND_DICTIONARY);
    fp_store32(block + 4, FP_DICT_HEADER);
    fp_store64(block + 8, block_size);
    block[16] = (uint8_t)dict->codec;
    block[17] = (uint8_t)dict->code_bits;
    block[18] = (uint8_t)dict->max_token;
    block[19] = (uint8_t)dict->order;
    block[20] = (uint8_t)dict->class_shift;
    fp_store32(block + 24, dict->code_slots);
    fp_store32(block + 28, dict->tokens);
    fp_store32(block + 32, dict->hot_slots);
    fp_store32(block + 36, dict->run_count);
    fp_store64(block + 40, dict->seed);
    fp_store64(block + 48, offset);
    fp_store64(block + 56, size);
    fp_store64(block + 64, fp_checksum(section, size));
    fp_store64(block + 88, fp_checksum(block, 88));
}

/* A dictionary is read once, when its file is opened, so its letters are squeezed, too. */
static const fp_frame_style cold_style = {12, 0, 0};

fastpair_status fp_dict_make_cold(uint8_t *block, uint32_t alignment, uint64_t *size,
                                  const fastpair_allocator *allocator, fastpair_error *error) {
    uint64_t offset = fp_load64(block + 48), warm = fp_load64(block + 56), frame = 0;
    *size = fp_load64(block + 8);
    fp_frame_writer frames = {0};
    uint8_t *made = fp_allocate(allocator, fp_frame_bound(warm), 1);
    fastpair_status status =
        made ? fp_frame_writer_open(&frames, allocator) : FASTPAIR_ERROR_OUT_OF_MEMORY;
    if (!status) status = fp_frame_write(&frames, cold_style, block + offset, warm, made, &frame);
    if (status) fp_note_memory(error, warm);
    if (!status && fp_align(offset + frame, alignment) < *size) {
        *size = fp_align(offset + frame, alignment);
        memset(block + offset, 0, (size_t)(*size - offset));
        memcpy(block + offset, made, (size_t)frame);
        fp_store64(block + 8, *size);
        block[21] = 1;
        fp_store64(block + 56, frame);
        fp_store64(block + 64, fp_checksum(made, frame));
        fp_store64(block + 72, warm);
        fp_store64(block + 88, fp_checksum(block, 88));
    }
    fp_frame_writer_close(&frames);
    fp_release(allocator, made);
    return status;
}

/* What is wrong with the header's fields, NULL if nothing; *where is the offset in the block. */
static const char *header_fault(const fp_dict_block *from, uint64_t *where) {
    const uint8_t *block = from->bytes;
    static const uint8_t zero[8];
#define FAULT(offset, condition, text)                                                             \
    if (condition) {                                                                               \
        *where = (offset);                                                                         \
        return (text);                                                                             \
    }
    FAULT(0, fp_load32(block) != FP_KIND_DICTIONARY, "this is no dictionary block");
    FAULT(4, fp_load32(block + 4) != FP_DICT_HEADER, "the dictionary header has a wrong size");
    FAULT(88, fp_load64(block + 88) != fp_checksum(block, 88),
          "the dictionary header's checksum is wrong");
    uint32_t bits = block[17], shift = block[20], slots = fp_load32(block + 24);
    uint32_t tokens = fp_load32(block + 28), hot = fp_load32(block + 32),
             runs = fp_load32(block + 36);
    FAULT(16, block[16] != FASTPAIR_CODEC_ONPAIR && block[16] != FASTPAIR_CODEC_FSST12,
          "unknown codec");
    FAULT(17, bits < 1 || bits > 16, "the code width is not in 1..16");
    FAULT(18, block[18] != 8 && block[18] != 16 && block[18] != 32 && block[18] != 64,
          "the longest token is not 8, 16, 32 or 64");
    FAULT(19, block[19] > 1, "unknown code order");
    FAULT(20, block[19] == 0 ? shift != 0 : shift > 15, "the class shift is out of range");
    FAULT(21, block[21] > 1, "a dictionary is neither cold nor warm");
    FAULT(21, block[21] && !(from->features & FP_FEATURE_COLD),
          "a cold dictionary in a file whose header says that there are none");
    FAULT(72, !block[21] && fp_load64(block + 72), "a warm dictionary has the size of a warm one");
    FAULT(22,
          !from->minor && (memcmp(block + 22, zero, 2) != 0 || memcmp(block + 80, zero, 8) != 0),
          "a dictionary field that must be zero is not");
    FAULT(24, slots < 1 || slots > 1u << bits,
          "the number of code slots does not fit the code width");
    FAULT(17, bits > 1 && slots <= 1u << (bits - 1),
          "the code width is larger than the slots need");
    FAULT(28, tokens < 1 || tokens > slots, "more tokens than code slots, or none");
    FAULT(32, hot >= slots || (hot && block[19] == 0) || (hot & ((1u << shift) - 1)),
          "the hot part is out of range");
    FAULT(36, runs < 1 || runs > tokens, "the number of runs is out of range");
    return NULL;
#undef FAULT
}

/* What is wrong with a run, given the run before it (NULL for the first). */
static const char *run_fault(const fp_dict *dict, const fp_run *run, const fp_run *before) {
    uint32_t class_codes = 1u << dict->class_shift;
    if (run->length < 1 || run->length > dict->max_token) return "a token length is out of range";
    if (run->first_code >= dict->code_slots || run->count > dict->code_slots - run->first_code)
        return "a run of tokens goes past the code slots";
    if (!before) {
        if (run->first_code != 0) return "the first run does not begin at code 0";
    } else if (run->first_code < before->first_code + before->count) {
        return "runs of tokens overlap or are out of order";
    }
    if (!dict->order) return NULL;
    if (run->first_code & (class_codes - 1))
        return "a run does not begin where a length class does";
    if (run->first_code < dict->hot_slots && run->count > dict->hot_slots - run->first_code)
        return "a run crosses the end of the hot part";
    int new_part =
        before && before->first_code < dict->hot_slots && run->first_code >= dict->hot_slots;
    if (new_part && run->first_code != dict->hot_slots)
        return "the cold part does not begin where it should";
    if (before && !new_part && run->length <= before->length) return "length classes do not ascend";
    return NULL;
}

/* Reads run `r` and returns what is wrong with it, NULL if nothing. */
static const char *read_run(fp_dict *dict, uint64_t r, const uint8_t *entry) {
    fp_run *run = &dict->runs[r];
    *run = (fp_run){fp_load32(entry), fp_load16(entry + 4) + 1u, entry[6]};
    if (entry[7]) return "a run field that must be zero is not";
    return run_fault(dict, run, r ? run - 1 : NULL);
}

/* The runs and tokens of a dictionary whose header's fields are set, from a warm section. Returns what
 * is wrong and sets *where, the offset in the section; or NULL. */
static const char *read_section(const uint8_t *section, fp_dict *dict, uint64_t *where) {
    uint64_t runs = dict->run_count, tokens = 0, bytes = 0;
    for (uint64_t r = 0; r < runs; r++) {
        *where = r * FP_RUN_ENTRY;
        const char *fault = read_run(dict, r, section + r * FP_RUN_ENTRY);
        if (fault) return fault;
        tokens += dict->runs[r].count;
        bytes += (uint64_t)dict->runs[r].count * dict->runs[r].length;
    }
    if (tokens != dict->tokens)
        return "the runs hold another number of tokens than the header says";
    if (bytes != dict->bytes_size) return "the token bytes do not add up";
    if (dict->hot_slots && dict->runs[runs - 1].first_code < dict->hot_slots)
        return "there is a hot part but no cold one";
    memcpy(dict->bytes, section + runs * FP_RUN_ENTRY, (size_t)dict->bytes_size);
    return NULL;
}

/* Reads the section of a block whose header passed its checks, out of its frame if it is cold. */
static fastpair_status read_tokens(const fp_dict_block *from, const fastpair_allocator *allocator,
                                   fp_dict *dict, fastpair_error *error) {
    const uint8_t *block = from->bytes, *section = block + fp_load64(block + 48);
    uint64_t where = 0, warm = fp_load64(block + 72);
    uint8_t *unpacked = NULL;
    const char *fault = NULL;
    fastpair_status status = FASTPAIR_OK;
    if (block[21]) {
        if (!(unpacked = fp_allocate(allocator, warm, 1))) return fp_fail_memory(error, warm);
        status =
            fp_frame_read_once(section, fp_load64(block + 56), unpacked, warm, allocator, &fault);
        section = unpacked;
    }
    if (!status) fault = read_section(section, dict, &where);
    fp_release(allocator, unpacked);
    if (status == FASTPAIR_ERROR_OUT_OF_MEMORY) return fp_fail_memory(error, warm);
    if (status == FASTPAIR_ERROR_UNSUPPORTED) return fp_frames_missing(from->position, error);
    if (!fault) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT,
                   from->position + fp_load64(block + 48) + (block[21] ? 0 : where),
                   "dictionary at offset %" PRIu64 ": %s", from->position, fault);
}

fastpair_status fp_dict_read(const fp_dict_block *from, const fastpair_allocator *allocator,
                             fp_dict *dict, fastpair_error *error) {
    *dict = (fp_dict){0};
    const uint8_t *block = from->bytes;
    uint64_t size = from->size, position = from->position;
    uint64_t where = 0, offset = fp_align(FP_DICT_HEADER, from->alignment);
    if (size < FP_DICT_HEADER)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position,
                       "dictionary at offset %" PRIu64 ": only %" PRIu64 " of its bytes are there",
                       position, size);
    const char *fault = header_fault(from, &where);
    if (fault)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position + where,
                       "dictionary at offset %" PRIu64 ": %s", position, fault);
    uint64_t held = fp_load64(block + 56), runs = fp_load32(block + 36);
    uint64_t section = block[21] ? fp_load64(block + 72) : held;
    /* There are at most 65,536 runs of 8 bytes and tokens of 64, so nothing below overflows. */
    if (fp_load64(block + 48) != offset || held > FP_LARGEST_TOKENS || !held ||
        section > FP_LARGEST_TOKENS || section < runs * FP_RUN_ENTRY ||
        fp_load64(block + 8) != fp_align(offset + held, from->alignment) ||
        fp_load64(block + 8) > size)
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position + 48,
                       "dictionary at offset %" PRIu64 ": its token section does not lie inside it",
                       position);
    if (fp_load64(block + 64) != fp_checksum(block + offset, held))
        return fp_fail(error, FASTPAIR_ERROR_CORRUPT, position + offset,
                       "dictionary at offset %" PRIu64
                       ": the tokens' checksum is wrong; the file is damaged",
                       position);
    dict->codec = (fastpair_codec)block[16];
    dict->code_bits = block[17];
    dict->max_token = block[18];
    dict->order = block[19];
    dict->class_shift = block[20];
    dict->code_slots = fp_load32(block + 24);
    dict->tokens = fp_load32(block + 28);
    dict->hot_slots = fp_load32(block + 32);
    dict->run_count = (uint32_t)runs;
    dict->seed = fp_load64(block + 40);
    dict->bytes_size = section - runs * FP_RUN_ENTRY;
    dict->runs = fp_allocate(allocator, runs, sizeof *dict->runs);
    dict->bytes = fp_allocate(allocator, dict->bytes_size, 1);
    fastpair_status status = dict->runs && dict->bytes ? read_tokens(from, allocator, dict, error)
                                                       : fp_fail_memory(error, section);
    if (status) fp_dict_close(dict, allocator);
    return status;
}
