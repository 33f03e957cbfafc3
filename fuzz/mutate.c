/* mutate.c - a libFuzzer mutator that knows what a column file is made of.
 *
 * In: a file. Out: one that differs in a part or two (bytes of a section, a field of a header, a
 * block more or less, sections exchanged, counts and sections enlarged together), laid out and with
 * all checksums right. So changes reach the code after the checks of layout and checksums. Files
 * it cannot take apart are changed as bytes and resealed. Without libFuzzer, where replay.c runs
 * it, bytes are changed by simple means of its own. What a frame holds is changed, too, and put into a
 * new frame: bytes of a frame that are changed rarely give another that can be read. */
#include "forge.h"
#include "frames.h"
#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
                                 size_t second_size, uint8_t *out, size_t most, unsigned seed);

static uint32_t draw(uint64_t *random, uint32_t bound) {
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*random >> 33) % bound);
}

static size_t change_bytes(uint64_t *random, uint8_t *data, size_t size, size_t most) {
    if (LLVMFuzzerMutate) return LLVMFuzzerMutate(data, size, most);
    if (!size) return size;
    switch (draw(random, 3)) {
    case 0: data[draw(random, (uint32_t)size)] ^= (uint8_t)(1u << draw(random, 8)); return size;
    case 1: data[draw(random, (uint32_t)size)] = (uint8_t)draw(random, 256); return size;
    default: return most < size + 8 ? size : size - draw(random, (uint32_t)size);
    }
}

/* A number that fields like to have, or one close to what is there. */
static uint64_t draw_number(uint64_t *random, uint64_t old) {
    static const uint64_t numbers[] = {
        0,   1,    2,    15,    16,    17,         32,         64,         255,        256,
        257, 1024, 4096, 65535, 65536, 1ull << 28, UINT32_MAX, 1ull << 32, 1ull << 61, UINT64_MAX};
    switch (draw(random, 4)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old ^ 1ull << draw(random, 16);
    default: return numbers[draw(random, sizeof numbers / sizeof *numbers)];
    }
}

static void resize(forge_bytes *section, uint64_t size) {
    if (size > section->size) forge_append(section, NULL, size - section->size);
    section->size = size;
}

static void change_section(uint64_t *random, forge_part *block) {
    forge_bytes *section = &block->sections[draw(random, block->section_count)];
    uint64_t most =
        section->size + (draw(random, 8) ? 0 : 64); /* mostly of the size the header wants */
    uint8_t *room = calloc(1, most + 1);
    if (!room) abort();
    memcpy(room, section->data, section->size);
    uint64_t size = change_bytes(random, room, section->size, most), kept = section->size;
    resize(section, size > kept ? size : kept);
    memcpy(section->data, room, size);
    if (draw(random, 8) == 0) section->size = size;
    free(room);
}

/* Changes what the frame of a cold block holds. Returns 0 if there is none. */
static int change_frame(uint64_t *random, forge_part *block) {
    const uint8_t *h = block->header;
    uint64_t size = !block->is_chunk ? (h[21] == 1 ? forge_get(h + 72, 8) : 0)
                    : h[16] == 3     ? 2 * (forge_get(h + 24, 8) + forge_get(h + 40, 8))
                    : h[16] == 2     ? forge_get(h + 48, 8)
                                     : 0;
    forge_bytes *section = &block->sections[0];
    if (!size || size > 1u << 20) return 0;
    uint8_t *held = calloc(1, size + 64);
    if (!held) abort();
    int is_frame = !frame_unpack(section->data, section->size, held, size);
    if (is_frame) {
        /* Words and run entries are numbers: mostly one of them is changed, else any bytes. */
        uint64_t at = draw(random, (uint32_t)(size / 2 + 1)) * 2, changed = size;
        if (draw(random, 4) && at + 2 <= size)
            forge_put(held + at, draw_number(random, forge_get(held + at, 2)), 2);
        else
            changed = change_bytes(random, held, size, size + 64);
        if (draw(random, 8)) changed = size;
        free(section->data);
        *section = draw(random, 2) ? frame_raw(held, changed) : frame_pack(held, changed);
    }
    free(held);
    return is_frame;
}

static void change_header(uint64_t *random, uint8_t *header, uint32_t size) {
    uint32_t width = 1u << draw(random, 4), at = draw(random, size / width) * width;
    forge_put(header + at, draw_number(random, forge_get(header + at, (int)width)), (int)width);
}

/* So many codes of one length more or fewer, with all counts and section sizes as they must then
 * be: what the codes themselves say is the lie. */
static void change_codes(uint64_t *random, const forge_parts *p, forge_part *chunk) {
    uint8_t *h = chunk->header;
    uint64_t number = forge_get(h + 20, 4), bits = 0, batch = forge_get(h + 56, 4),
             group = forge_get(h + 60, 4);
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->blocks[i].is_chunk && number-- == 0) bits = p->blocks[i].header[17];
    if (!bits || !batch || !group) return;
    uint32_t length = 1 + draw(random, 16);
    uint64_t more = draw(random, 2) ? draw(random, 600) : 0 - (uint64_t)draw(random, 600);
    uint64_t of_length = forge_get(h + 80 + 8 * (length - 1), 8) + more,
             codes = forge_get(h + 40, 8) + more;
    if (of_length > 1u << 20 || codes > 1u << 20 || codes == 0) return;
    forge_put(h + 80 + 8 * (length - 1), of_length, 8);
    forge_put(h + 40, codes, 8);
    forge_put(h + 48, forge_get(h + 48, 8) + more * length, 8);
    uint64_t batches = (codes + batch - 1) / batch, groups = (batches + group - 1) / group;
    if (batches > 1u << 16 || bits > 16) return;
    resize(&chunk->sections[FORGE_CODES], (codes * bits + 127) / 128 * 16);
    resize(&chunk->sections[FORGE_SIDECAR], 4 * groups + 2 * batches);
}

/* The same for rows. */
static void change_rows(uint64_t *random, forge_part *chunk) {
    uint8_t *h = chunk->header;
    uint64_t rows = forge_get(h + 24, 8) + (draw(random, 2) ? 1 : 0 - 1ull) * draw(random, 300);
    if (rows == 0 || rows > 1u << 16) return;
    forge_put(h + 24, rows, 8);
    if (chunk->sections[FORGE_VALIDITY].size)
        resize(&chunk->sections[FORGE_VALIDITY], (rows + 7) / 8);
    if (draw(random, 2)) { /* all lengths packed with one width */
        uint32_t width = draw(random, 33);
        uint64_t blocks = (rows + 255) / 256, at = 0;
        forge_bytes *lengths = &chunk->sections[FORGE_LENGTHS];
        uint64_t last = (rows - 1) % 256 + 1;
        resize(lengths, 16 * blocks + (blocks - 1) * 32 * width + (last * width + 31) / 32 * 4);
        for (uint64_t i = 0; i < blocks; i++, at += 32 * width) {
            forge_put(lengths->data + 16 * i + 4, at, 4);
            forge_put(lengths->data + 16 * i + 12, width, 4);
        }
    }
}

static void exchange(uint64_t *random, forge_parts *p) {
    forge_part *first = &p->blocks[draw(random, p->count)],
               *second = &p->blocks[draw(random, p->count)];
    if (draw(random, 3) == 0) {
        forge_part kept = *first;
        *first = *second, *second = kept;
        return;
    }
    forge_bytes *a = &first->sections[draw(random, first->section_count)];
    forge_bytes *b = &second->sections[draw(random, second->section_count)], kept = *a;
    *a = *b, *b = kept;
}

static void copy_block(forge_parts *p, const forge_part *from, uint32_t place) {
    if (p->count == FORGE_MOST_BLOCKS) return;
    memmove(&p->blocks[place + 1], &p->blocks[place], (p->count - place) * sizeof(forge_part));
    p->count++;
    p->blocks[place] = *from;
    for (uint32_t i = 0; i < FORGE_SECTIONS; i++) {
        p->blocks[place].sections[i] = (forge_bytes){0};
        forge_append(&p->blocks[place].sections[i],
                     from->sections[i].data ? from->sections[i].data : (uint8_t *)"",
                     from->sections[i].size);
    }
}

static void remove_block(forge_parts *p, uint32_t place) {
    for (uint32_t i = 0; i < FORGE_SECTIONS; i++) free(p->blocks[place].sections[i].data);
    memmove(&p->blocks[place], &p->blocks[place + 1], (--p->count - place) * sizeof(forge_part));
}

/* Parts of the footer: other bytes, another kind, one more or one less; or another minor version. */
static void change_footer(uint64_t *random, forge_parts *p) {
    if (draw(random, 6) == 0) forge_put(p->head + 10, draw(random, 3), 2);
    if (draw(random, 6) == 0) p->extra = draw(random, 3);
    if (!p->footer_count || (draw(random, 4) == 0 && p->footer_count < FORGE_MOST_PARTS)) {
        forge_footer_part *part = &p->footer_parts[p->footer_count++];
        *part = (forge_footer_part){.kind = 1 + draw(random, 5), .flags = draw(random, 5) == 0};
        forge_append(&part->bytes, "\10\0\0\0\0\0\0\0abcdefgh", 8 + draw(random, 9));
        return;
    }
    uint32_t which = draw(random, p->footer_count);
    forge_footer_part *part = &p->footer_parts[which];
    switch (draw(random, 6)) {
    case 0: part->kind = (uint32_t)draw_number(random, part->kind); break;
    case 1: part->flags = (uint32_t)draw_number(random, part->flags); break;
    case 2:
        free(part->bytes.data);
        memmove(part, part + 1, (--p->footer_count - which) * sizeof *part);
        break;
    case 3: resize(&part->bytes, part->bytes.size + draw(random, 40)); break;
    default:
        if (part->bytes.size)
            change_bytes(random, part->bytes.data, part->bytes.size, part->bytes.size);
        break;
    }
}

static void change_part(uint64_t *random, forge_parts *p) {
    uint32_t what = p->count ? draw(random, 18) : 15, which = p->count ? draw(random, p->count) : 0;
    forge_part *block = &p->blocks[which];
    switch (what) {
    case 0:
    case 1: change_header(random, block->header + 16, block->header_size - 24); break;
    case 2:
    case 3:
        if (block->is_chunk) change_codes(random, p, block);
        break;
    case 4:
    case 5:
        if (block->is_chunk) change_rows(random, block);
        break;
    case 6: exchange(random, p); break;
    case 7: {
        forge_part kept = *block; /* the block itself may move */
        copy_block(p, &kept, draw(random, p->count + 1));
        break;
    }
    case 8: remove_block(p, which); break;
    case 9: change_header(random, p->head + 8, 48); break;
    case 15: change_header(random, p->footer + 64, 40); break;
    case 16:
    case 17: change_footer(random, p); break;
    default:
        if (draw(random, 4) == 0 || !change_frame(random, block)) change_section(random, block);
        break;
    }
}

static size_t join_into(const forge_parts *p, uint8_t *out, size_t most) {
    forge_bytes file = forge_join(p);
    size_t size = file.size <= most ? file.size : 0;
    memcpy(out, file.data, size);
    free(file.data);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    uint64_t random = seed;
    static forge_parts p;
    size_t joined = 0;
    if (draw(&random, 32) && forge_parts_open(&p, data, size)) {
        for (uint32_t changes = 1 + draw(&random, 3); changes; changes--) change_part(&random, &p);
        joined = join_into(&p, data, most);
        forge_parts_close(&p);
    }
    if (!joined) {
        joined = change_bytes(&random, data, size, most);
        forge_reseal(data, joined);
    } else if (draw(&random, 8) == 0 && joined >= 64 + 112 + 32) {
        /* Something that joining would put right: the frame, a field of layout. */
        change_header(
            &random,
            data + (draw(&random, 2) ? joined - 256 * (joined > 320) - 64 * (joined <= 320) : 0),
            64);
        forge_reseal(data, joined);
    }
    return joined;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
                                 size_t second_size, uint8_t *out, size_t most, unsigned seed) {
    uint64_t random = seed;
    static forge_parts a, b;
    size_t joined = 0;
    if (!forge_parts_open(&a, first, first_size)) return 0;
    if (forge_parts_open(&b, second, second_size)) {
        if (a.count && b.count) {
            const forge_part *from = &b.blocks[draw(&random, b.count)];
            forge_part *to = &a.blocks[draw(&random, a.count)];
            uint32_t section = draw(&random, FORGE_SECTIONS);
            if (draw(&random, 3) == 0) {
                copy_block(&a, from, draw(&random, a.count + 1));
            } else if (section < from->section_count && section < to->section_count) {
                to->sections[section].size = 0;
                forge_append(&to->sections[section], from->sections[section].data,
                             from->sections[section].size);
            } else
                memcpy(to->header + 16, from->header + 16, 72);
            joined = join_into(&a, out, most);
        }
        forge_parts_close(&b);
    }
    forge_parts_close(&a);
    return joined;
}
