/* oracle_chunk.c - a chunk block (docs/format.md, section 3): codes, positions, lengths and nulls are checked
 * against each other, and the chunk's rows come out. */
#include "oracle_private.h"

#include "frames.h"

/* The counts of a header: codes whose token has so many bytes at most, and more than the count
 * before has. */
static const uint32_t most_bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 40, 48, 56, 64};

/* What the codes of a chunk add up to. */
typedef struct tally {
    uint64_t batch; /* B */
    uint64_t codes, done;
    uint64_t begin[3]; /* where the present batch begins, and the present two and four */
    uint64_t largest[3];
    uint64_t by_length[16];
} tally;

/* Decodes one code: its token goes to `bytes`, and `boundary` is marked where it begins. */
static int add_code(reading *r, uint64_t at, uint64_t code, tally *sum, uint8_t *bytes,
                    uint8_t *boundary) {
    const uint8_t *h = r->data + at;
    dictionary *dict = &r->dictionaries[little(h + 20, 4)];
    uint64_t where = at + little(h + 208, 8);
    RULE(code < dict->slots, where, "code not below N");
    if (!dict->covered[code]) r->out->empty_slots_used = 1;
    if (dict->covered[code]) dict->used[code] = 1;
    uint32_t length = dict->length[code], band = 0;
    RULE(sum->done + length <= little(h + 48, 8), where, "more bytes than the header says");
    for (int i = 0; i < 3; i++)
        if (sum->codes % (sum->batch << i) == 0) sum->begin[i] = sum->done;
    memcpy(bytes + sum->done, dict->token[code], length);
    boundary[sum->done] = 1;
    sum->done += length;
    sum->codes++;
    while (length > most_bytes[band]) band++;
    sum->by_length[band]++;
    for (int i = 0; i < 3; i++)
        if (sum->done - sum->begin[i] > sum->largest[i])
            sum->largest[i] = sum->done - sum->begin[i];
    return 1;
}

/* The header against what its codes add up to. */
static int check_tally(reading *r, uint64_t at, const tally *sum) {
    const uint8_t *h = r->data + at;
    RULE(sum->done == little(h + 48, 8), at + 48, "decoded bytes");
    for (int i = 0; i < 3; i++)
        RULE(sum->largest[i] == little(h + 64 + 4 * i, 4), at + 64 + 4 * (uint64_t)i,
             "largest batch, pair or four");
    RULE(sum->largest[0] <= 16384, at + 64, "a batch of more than 16384 bytes");
    for (int i = 0; i < 16; i++)
        RULE(sum->by_length[i] == little(h + 80 + 8 * i, 8), at + 80 + 8 * i, "codes by length");
    r->out->codes += sum->codes;
    r->out->coded_bytes += sum->done;
    for (int i = 0; i < 16; i++) r->out->codes_by_length[i] += sum->by_length[i];
    if (sum->largest[0] > r->out->largest_batch) r->out->largest_batch = (uint32_t)sum->largest[0];
    return 1;
}

/* Codes and sidecar. Fills the chunk's bytes and marks in `boundary` where codes begin. */
static int coded_bytes(reading *r, uint64_t at, const uint8_t *codes, const uint8_t *sidecar,
                       uint8_t *bytes, uint8_t *boundary) {
    const uint8_t *h = r->data + at;
    uint32_t bits = r->dictionaries[little(h + 20, 4)].bits;
    uint64_t count = little(h + 40, 8), batch = little(h + 56, 4), group = little(h + 60, 4);
    uint64_t batches = divide_up(count, batch), groups = divide_up(batches, group);
    tally sum = {.batch = batch};
    for (uint64_t i = 0; i < count; i++) {
        if (i % batch == 0) {
            uint64_t k = i / batch;
            uint64_t claim =
                little(sidecar + k / group * 4, 4) + little(sidecar + groups * 4 + k * 2, 2);
            RULE(claim == sum.done, (uint64_t)(sidecar - r->data) + groups * 4 + k * 2,
                 "sidecar position");
        }
        if (!add_code(r, at, bits_at(codes, i * bits, bits), &sum, bytes, boundary)) return 0;
    }
    if (!check_tally(r, at, &sum)) return 0;
    for (uint64_t bit = count * bits; bit % 128; bit++)
        if (bits_at(codes, bit, 1)) r->out->padding_not_zero = 1;
    return 1;
}

/* Row lengths and validity: appends the chunk's rows to the column. `base` is where the chunk's
 * bytes begin. (Seven parameters: the chunk's sections, as the decoder has them at hand.) */
static int row_lengths(reading *r, uint64_t at, const uint8_t *lengths, uint64_t size,
                       const uint8_t *validity, uint64_t base, const uint8_t *boundary) {
    const uint8_t *h = r->data + at;
    uint64_t rows = little(h + 24, 8), nulls = little(h + 32, 8), decoded = little(h + 48, 8);
    uint64_t blocks = divide_up(rows, 256), position = (uint64_t)(lengths - r->data), start = 0,
             packed = 0, nulls_seen = 0;
    oracle_column *out = r->out;
    RULE(size >= blocks * 16, at + 256, "length directory");
    out->offsets = more_room(out->offsets, out->rows + 1, out->rows + rows + 1, 8);
    out->valid = more_room(out->valid, out->rows, out->rows + rows, 1);
    for (uint64_t block_number = 0; block_number < blocks; block_number++) {
        const uint8_t *entry = lengths + 16 * block_number;
        uint64_t where = position + 16 * block_number, minimum = little(entry + 8, 4);
        uint64_t in_block = rows - block_number * 256 < 256 ? rows - block_number * 256 : 256;
        uint32_t width = entry[12];
        RULE(all_zero(entry + 13, 3), where + 13, "zero field of a length block");
        RULE(width <= 32, where + 12, "length width");
        RULE(little(entry, 4) == start, where, "start of a length block");
        RULE(little(entry + 4, 4) == packed, where + 4, "place of packed lengths");
        uint64_t taken = divide_up(in_block * width, 32) * 4;
        RULE(packed + taken <= size - blocks * 16, where + 4, "packed lengths beyond the section");
        const uint8_t *numbers = lengths + blocks * 16 + packed;
        for (uint64_t i = 0; i < in_block; i++) {
            uint64_t row = block_number * 256 + i,
                     length = minimum + bits_at(numbers, i * width, width);
            int valid = validity ? validity[row / 8] >> (row % 8) & 1 : 1;
            RULE(valid || length == 0, where, "null row with bytes");
            RULE(length <= decoded - start, where, "row lengths exceed the decoded bytes");
            if (boundary && start < decoded && !boundary[start]) out->rows_cut_tokens = 1;
            out->offsets[out->rows] = base + start;
            out->valid[out->rows] = (uint8_t)valid;
            out->rows++;
            start += length;
            nulls_seen += !valid;
        }
        for (uint64_t bit = in_block * width; bit % 32; bit++)
            if (bits_at(numbers, bit, 1)) out->padding_not_zero = 1;
        packed += taken;
    }
    RULE(packed == size - blocks * 16, at + 256, "bytes past the packed lengths");
    RULE(start == decoded, position, "row lengths do not add up");
    RULE(nulls_seen == nulls, at + 32, "null count");
    if (validity)
        for (uint64_t row = rows; row % 8; row++)
            RULE(!(validity[row / 8] >> (row % 8) & 1), at + 280, "spare validity bit");
    out->offsets[out->rows] = base + decoded;
    out->nulls += nulls;
    return 1;
}

/* Section 3.1: the words of a coded and cold chunk. Appends its rows to the column. */
static int cold_words(reading *r, uint64_t at, const uint8_t *words, uint8_t *bytes,
                      uint64_t base) {
    const uint8_t *h = r->data + at;
    oracle_column *out = r->out;
    uint64_t slots = r->dictionaries[little(h + 20, 4)].slots, where = at + little(h + 208, 8);
    uint64_t rows = little(h + 24, 8), count = little(h + 40, 8), row = 0, begin = 0, nulls = 0;
    tally sum = {.batch = little(h + 56, 4)};
    uint8_t *boundary = room(NULL, little(h + 48, 8) + 1, 1); /* rows are not cut by lengths */
    out->offsets = more_room(out->offsets, out->rows + 1, out->rows + rows + 1, 8);
    out->valid = more_room(out->valid, out->rows, out->rows + rows, 1);
    out->offsets[out->rows] = base;
    const char *fault = NULL;
    for (uint64_t i = 0; i < count + rows && !fault; i++) {
        uint64_t word = little(words + 2 * i, 2);
        if (word < slots) {
            if (sum.codes == count)
                fault = "more codes than the header says";
            else if (!r->dictionaries[little(h + 20, 4)].covered[word])
                fault = "word without a token";
            else if (!add_code(r, at, word, &sum, bytes, boundary))
                break;
            continue;
        }
        int valid = word == slots;
        if (word > slots + 1) fault = "word above N + 1";
        if (row == rows) fault = "more rows than the header says";
        if (!valid && sum.codes != begin) fault = "null row with codes";
        if (fault) break;
        out->valid[out->rows + row] = (uint8_t)valid;
        out->offsets[out->rows + row + 1] = base + sum.done;
        nulls += !valid;
        begin = sum.codes;
        row++;
    }
    free(boundary);
    RULE(!fault, where, fault);
    if (r->out->why[0]) return 0; /* add_code said why */
    RULE(row == rows && sum.codes == begin, where, "rows, or codes after the last of them");
    RULE(nulls == little(h + 32, 8), at + 32, "null count");
    out->rows += rows;
    out->nulls += nulls;
    return check_tally(r, at, &sum);
}

/* What a coded and cold chunk obeys besides. */
static int cold_header(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at;
    const dictionary *dict = &r->dictionaries[little(h + 20, 4)];
    uint64_t batch = little(h + 56, 4), group = 1;
    RULE(dict->slots <= 65534, at + 20, "N of a cold chunk's dictionary");
    RULE(little(h + 40, 8) + little(h + 24, 8) <= 1u << 25, at + 40, "words of a cold chunk");
    RULE(batch * dict->longest <= 16384, at + 56, "B of a cold chunk");
    while (2 * group * batch <= 4096 && 2 * group * batch * dict->longest <= 65536) group *= 2;
    RULE(little(h + 60, 4) == group, at + 60, "G of a cold chunk");
    return 1;
}

int oracle_chunk_block(reading *r, uint64_t at) {
    const uint8_t *h = r->data + at, *bytes[4];
    oracle_column *out = r->out;
    if (!oracle_block_header(r, at, 320)) return 0;
    int coded = h[16] & 1, cold = h[16] >> 1, has_validity = h[17] == 1;
    RULE(h[16] <= 3 && cold <= r->may_be_cold, at + 16, "encoding");
    RULE(h[17] <= 1, at + 17, "validity flag");
    RULE(r->out->minor || (all_zero(h + 18, 2) && all_zero(h + 76, 4) && all_zero(h + 304, 8)),
         at + 18, "zero field");
    uint64_t dict_number = little(h + 20, 4), rows = little(h + 24, 8), nulls = little(h + 32, 8);
    uint64_t count = little(h + 40, 8), decoded = little(h + 48, 8), batch = little(h + 56, 4),
             group = little(h + 60, 4);
    RULE(coded ? dict_number < out->dictionaries : dict_number == 0xffffffffu, at + 20,
         "dictionary number");
    RULE(rows >= 1 && rows <= 1u << 28, at + 24, "rows");
    RULE(nulls <= rows && (nulls > 0) == has_validity, at + 32, "nulls");
    RULE(decoded < 1ull << 32, at + 48, "decoded bytes");
    uint64_t sizes[4], end = 320, sum = 0, least = 0, most = 0;
    for (int i = 0; i < 16; i++) {
        uint64_t of_length = little(h + 80 + 8 * i, 8);
        RULE(of_length <= count, at + 80 + 8 * i, "codes by length");
        sum += of_length; /* at most 16 times count, which the section's size bounds below */
        least += of_length * (i ? most_bytes[i - 1] + 1ull : 1);
        most += of_length * most_bytes[i];
    }
    if (coded) {
        RULE(count >= 1 && count < 1ull << 32, at + 40, "codes");
        RULE(batch >= 32 && batch <= 1024 && batch % 32 == 0, at + 56, "batch");
        RULE(group >= 1 && (group & (group - 1)) == 0 && batch * group <= 4096, at + 60,
             "batches per group");
        RULE(sum == count && least <= decoded && decoded <= most, at + 80,
             "codes by length do not add up");
        if (cold && !cold_header(r, at)) return 0;
    } else {
        RULE(count == 0 && sum == 0 && batch == 0 && group == 0 && all_zero(h + 64, 12), at + 40,
             "stored chunk with codes");
        RULE(!cold || (decoded && decoded <= 1u << 26), at + 48, "bytes of a cold chunk");
    }
    for (int i = 0; i < 4; i++)
        if (!oracle_section(r, at, at + 208 + 24 * (uint64_t)i, &end, &bytes[i], &sizes[i]))
            return 0;
    if (!oracle_block_end(r, at, end)) return 0;
    uint64_t batches = coded ? divide_up(count, batch) : 0;
    RULE(cold || sizes[0] == (coded ? divide_up(count * r->dictionaries[dict_number].bits, 128) * 16
                                    : decoded),
         at + 208, "size of the codes");
    RULE(sizes[1] == (coded && !cold ? divide_up(batches, group) * 4 + batches * 2 : 0), at + 232,
         "size of the sidecar");
    RULE(!(coded && cold) || sizes[2] == 0, at + 256, "row lengths of a cold chunk");
    RULE(sizes[3] == (has_validity && !(coded && cold) ? divide_up(rows, 8) : 0), at + 280,
         "size of the validity");

    uint64_t base = out->decoded_bytes, unpacked = coded ? 2 * (count + rows) : decoded;
    out->bytes = more_room(out->bytes, base, base + decoded, 1);
    uint8_t *frame = cold ? room(NULL, unpacked, 1) : NULL;
    const char *fault = cold ? frame_unpack(bytes[0], sizes[0], frame, unpacked) : NULL;
    uint8_t *boundary = coded && !cold ? calloc(decoded + 1, 1) : NULL;
    if (!coded && !fault) memcpy(out->bytes + base, cold ? frame : bytes[0], decoded);
    int good = !fault || refuse(r, at + 208, fault);
    if (good && coded && cold)
        good = cold_words(r, at, frame, out->bytes + base, base);
    else if (good)
        good =
            (!coded || coded_bytes(r, at, bytes[0], bytes[1], out->bytes + base, boundary)) &&
            row_lengths(r, at, bytes[2], sizes[2], has_validity ? bytes[3] : NULL, base, boundary);
    free(boundary), free(frame);
    if (!good) return 0;
    out->decoded_bytes += decoded;
    r->chunks = more_room(r->chunks, out->chunks, out->chunks + 1, sizeof *r->chunks);
    r->chunks[out->chunks++] = (block){at, little(h + 8, 8), rows, decoded, dict_number};
    out->stored_chunks += !coded;
    out->cold_chunks += (uint64_t)cold;
    if (out->chunks == 1) out->first_batch_codes = (uint32_t)batch;
    out->code_bytes += sizes[0], out->sidecar_bytes += sizes[1];
    out->length_bytes += sizes[2], out->validity_bytes += sizes[3];
    return 1;
}
