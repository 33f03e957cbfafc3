/* dict_block.c - dictionary blocks. In: a numbered dictionary, or untrusted bytes. Out: the block
 * of docs/format.md, section 2, or the dictionary. Refuses every block that breaks a rule of that
 * section, so that decoders may rely on all rules. */
#include "dict.h"
#include "fold.h"
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

/* Puts another form of the token section into a block, if the block is smaller then. */
static void offer_section(fp_buffer *block, uint32_t alignment, uint8_t form, const fp_buffer *made,
                          uint64_t plain) {
    uint8_t *bytes = block->data;
    uint64_t offset = fp_load64(bytes + 48), size = fp_align(offset + made->size, alignment);
    if (size >= block->size) return;
    memset(bytes + offset, 0, (size_t)(size - offset));
    memcpy(bytes + offset, made->data, (size_t)made->size);
    block->size = size;
    fp_store64(bytes + 8, size);
    bytes[21] = form;
    fp_store64(bytes + 56, made->size);
    fp_store64(bytes + 64, fp_checksum(made->data, made->size));
    fp_store64(bytes + 72, plain);
    fp_store64(bytes + 88, fp_checksum(bytes, 88));
}

fastpair_status fp_dict_build(const fp_dict *dict, uint32_t alignment,
                              const fastpair_allocator *allocator, fp_buffer *block,
                              fastpair_error *error) {
    uint64_t plain = section_size(dict), runs = (uint64_t)dict->run_count * FP_RUN_ENTRY, folded;
    uint64_t size = fp_dict_block_size(dict, alignment);
    fp_buffer made = {.data = fp_allocate(allocator, runs + fp_fold_bound(dict), 1)};
    *block = (fp_buffer){fp_allocate(allocator, size, 1), size, size};
    fastpair_status status = block->data && made.data ? FASTPAIR_OK : FASTPAIR_ERROR_OUT_OF_MEMORY;
    if (!status) {
        fp_dict_write(dict, alignment, block->data);
        memcpy(made.data, block->data + fp_load64(block->data + 48), (size_t)runs);
        status = fp_fold_write(dict, allocator, made.data + runs, &folded);
    }
    if (!status) {
        made.size = runs + folded;
        offer_section(block, alignment, FP_FORM_FOLDED, &made, plain);
    } else {
        fp_note_memory(error, size);
        fp_buffer_close(block, allocator);
    }
    fp_buffer_close(&made, allocator);
    return status;
}

/* A dictionary is read once, when its file is opened, so its letters are squeezed, too. */
static const fp_frame_style cold_style = {12, 0, 0};

fastpair_status fp_dict_make_cold(const fp_dict *dict, uint32_t alignment,
                                  const fastpair_allocator *allocator, fp_buffer *block,
                                  fastpair_error *error) {
    uint64_t plain = section_size(dict), size = fp_dict_block_size(dict, alignment);
    fp_frame_writer frames = {0};
    fp_buffer made = {.data = fp_allocate(allocator, fp_frame_bound(plain), 1)};
    uint8_t *warm = fp_allocate(allocator, size, 1);
    fastpair_status status =
        warm && made.data ? fp_frame_writer_open(&frames, allocator) : FASTPAIR_ERROR_OUT_OF_MEMORY;
    if (!status) {
        fp_dict_write(dict, alignment, warm);
        status = fp_frame_write(&frames, cold_style, warm + fp_load64(warm + 48), plain, made.data,
                                &made.size);
    }
    if (status)
        fp_note_memory(error, plain);
    else
        offer_section(block, alignment, FP_FORM_COLD, &made, plain);
    fp_frame_writer_close(&frames);
    fp_buffer_close(&made, allocator);
    fp_release(allocator, warm);
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
    FAULT(21, block[21] > FP_FORM_FOLDED, "a dictionary is neither plain nor cold nor folded");
    FAULT(21, block[21] == FP_FORM_COLD && !(from->features & FP_FEATURE_COLD),
          "a cold dictionary in a file whose header says that there are none");
    FAULT(72, block[21] == FP_FORM_PLAIN && fp_load64(block + 72),
          "a plain dictionary has the size of a plain one");
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

/* The runs of a dictionary whose header's fields are set. Returns what is wrong and sets *where, the
 * offset in the section; or NULL. */
static const char *read_runs(const uint8_t *section, fp_dict *dict, uint64_t *where) {
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
    return NULL;
}

/* Reads the section of a block whose header passed its checks, whatever its form. */
static fastpair_status read_tokens(const fp_dict_block *from, const fastpair_allocator *allocator,
                                   fp_dict *dict, fastpair_error *error) {
    const uint8_t *block = from->bytes, *section = block + fp_load64(block + 48);
    uint64_t where = 0, size = fp_load64(block + 56), plain = fp_load64(block + 72);
    uint64_t runs = (uint64_t)dict->run_count * FP_RUN_ENTRY;
    uint8_t *unpacked = NULL;
    const char *fault = NULL;
    fastpair_status status = FASTPAIR_OK;
    if (block[21] == FP_FORM_COLD) {
        if (!(unpacked = fp_allocate(allocator, plain, 1))) return fp_fail_memory(error, plain);
        status = fp_frame_read_once(section, size, unpacked, plain, allocator, &fault);
        section = unpacked;
    }
    if (!status) fault = read_runs(section, dict, &where);
    if (!status && !fault && block[21] == FP_FORM_FOLDED) {
        where = runs;
        status = fp_fold_read(section + runs, size - runs, allocator, dict, &fault);
    } else if (!status && !fault) {
        memcpy(dict->bytes, section + runs, (size_t)dict->bytes_size);
    }
    fp_release(allocator, unpacked);
    if (status == FASTPAIR_ERROR_OUT_OF_MEMORY) return fp_fail_memory(error, plain);
    if (status == FASTPAIR_ERROR_UNSUPPORTED) return fp_frames_missing(from->position, error);
    if (!fault) return FASTPAIR_OK;
    return fp_fail(error, FASTPAIR_ERROR_CORRUPT,
                   from->position + fp_load64(block + 48) + (unpacked ? 0 : where),
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
    uint64_t section = block[21] == FP_FORM_PLAIN ? held : fp_load64(block + 72);
    uint64_t least = block[21] == FP_FORM_FOLDED ? runs * FP_RUN_ENTRY : 0; /* of what is held */
    /* There are at most 65,536 runs of 8 bytes and tokens of 64, so nothing below overflows. */
    if (fp_load64(block + 48) != offset || held > FP_LARGEST_TOKENS || !held || held < least ||
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
