/* test_group_kernels.c - every assembled kernel by name, through the library's own calls: dictionaries of all widths and odd kinds,
 * sidecars that lie, codes without a token. Prints its seed; FASTPAIR_TEST_SEED repeats a run. */
#include "fake_device.h"
#include "group_columns.h"
#include "sidecar.h"

/* Every assembled kernel, by name, also where sidecars do not suit it. */
static void test_every_kernel(void) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        if (!fp_kernel_is_assembled(kernel)) continue;
        for (uint32_t turn = 0; turn < 3; turn++) {
            start();
            int hot = kernel->home == FP_GPU_HOT || turn == 1;
            uint32_t longest = turn == 2 ? 8 : kernel->max_token,
                     batch = turn ? 32 * (1 + draw(32)) : 32;
            add_classes(&columns, kernel->code_bits, longest, hot, 100 + turn, 4, 1500, batch, 1);
            add_classes(&columns, kernel->code_bits, longest, hot, 200 + turn, 2, 1500, batch, 0);
            CHECK(check_batch(&columns, kernel->name, (int)draw(2)) > 0);
            CHECK(fake.launches[i] > 0);
        }
    }
}

/* The most bytes in so many codes of a column's only chunk, from a multiple of them on, by its sidecar. */
static uint64_t largest_batch(const fastpair_column *column, uint32_t codes) {
    const fp_chunk *chunk = &column->chunks[0];
    const uint8_t *sidecar =
        fp_chunk_section(chunk, column->image + chunk->position, FP_SECTION_SIDECAR);
    uint64_t batches = fp_sidecar_batches(chunk->codes, chunk->batch_codes),
             each = codes / chunk->batch_codes;
    uint64_t begin = 0, most = 0;
    for (uint64_t k = each; begin < chunk->decoded_bytes; k += each) {
        uint64_t end = chunk->decoded_bytes;
        if (k < batches) end = fp_sidecar_position(sidecar, batches, chunk->group_batches, k);
        if (end - begin > most) most = end - begin;
        begin = end;
    }
    return most;
}

/* What the choice counts on is what the image has, and buffers hold the largest batch. */
static void test_image_bytes(void) {
    for (uint32_t bits = 9; bits <= 16; bits++)
        for (uint32_t turn = 0; turn < 8; turn++) {
            start();
            add_classes(&columns, bits, turn & 1 ? 8 : 16, turn >> 1 & 1, draw(1000), 1, 3000,
                        turn & 4 ? 32 : 128, 0);
            for (uint32_t i = 0; i < FP_KERNELS; i++) {
                fastpair_gpu_batch_options options = {.struct_size = sizeof options,
                                                      .kernel = fp_kernel_table()[i].name};
                fastpair_gpu_batch *batch = NULL;
                if (fastpair_gpu_batch_create(&fake.gpu, columns.column, 1, &options, &batch, NULL))
                    continue;
                const fp_batch_group *group = &batch->groups[0];
                CHECK_EQ(group->image.bytes, group->plan.image_bytes);
                CHECK(group->image.split <= group->image.near &&
                      group->image.near <= group->image.slots);
                if (group->image.bytes && !batch->regenerates)
                    CHECK_EQ(group->plan.staging,
                             FP_GPU_STAGING(largest_batch(
                                 columns.column[0], 32 * fp_kernel_table()[i].codes_per_lane)));
                fastpair_gpu_batch_free(batch);
            }
        }
}

/* A plane of a dictionary on the device: bytes first .. first + width of each token, and zeros up to the end of the last class, or, in a
 * dictionary with a hot part, for all codes there may be. */
static void check_plane(uint64_t plane, int is_read, const fp_dict *dict, uint32_t first,
                        uint32_t width) {
    static uint8_t rows[1 << 16][16];
    CHECK_EQ(plane != 0, is_read);
    if (!plane) return;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)plane;
    CHECK(bytes >= fake.memory && (plane - (uintptr_t)fake.memory) % FP_DEVICE_ALIGNMENT == 0);
    uint64_t end = dict->hot_slots ? 1ull << dict->code_bits : fp_align(dict->code_slots, 64),
             wrong = 0;
    CHECK(bytes + end * width <= fake.memory + fake.memory_bytes);
    fp_dict_expand(dict, rows, NULL);
    for (uint64_t i = 0; i < end; i++)
        for (uint32_t j = 0; j < width; j++)
            wrong += bytes[width * i + j] != (i < dict->code_slots ? rows[i][first + j] : 0);
    CHECK_EQ(wrong, 0);
}

/* What each kernel reads of a dictionary is on the device, and nothing else. */
static void test_planes(void) {
    for (uint32_t i = 0; i < FP_KERNELS; i++) {
        const fp_kernel *kernel = &fp_kernel_table()[i];
        int staged = !fp_kernel_is_assembled(kernel), splits = kernel->low_bytes == 8;
        int gathers = staged || kernel->home == FP_GPU_HOT || kernel->home == FP_GPU_FAR;
        for (uint32_t turn = 0; turn < 4; turn++) {
            uint32_t longest = turn & 1 ? 8 : kernel->max_token,
                     bits = staged ? 9 + draw(5) : kernel->code_bits;
            start();
            add_classes(&columns, bits, longest, kernel->home == FP_GPU_HOT, draw(1000), 1, 800, 32,
                        0);
            fastpair_gpu_batch *batch = make_batch(&columns, kernel->name, turn >> 1);
            fake_allocate(batch);
            CHECK_EQ(fastpair_gpu_batch_upload(batch, (uint64_t)(uintptr_t)fake.memory,
                                               fake.memory_bytes, 0, 1, NULL, NULL),
                     FASTPAIR_OK);
            const fp_dict *dict = &columns.column[0]->dictionaries[0].dict;
            fp_gpu_dict entry;
            fp_gpu_group group;
            memcpy(&entry, fake.memory + batch->dict_table, sizeof entry);
            memcpy(&group, fake.memory + batch->group_table, sizeof group);
            check_plane(entry.low8, gathers && splits, dict, 0, 8);
            check_plane(entry.high8, staged && splits && kernel->max_token == 16, dict, 8, 8);
            check_plane(entry.rows16, gathers && !splits, dict, 0, 16);
            if (!staged) CHECK_EQ(group.cold, splits ? entry.low8 : entry.rows16);
            CHECK_EQ(entry.nibbles != 0, staged || batch->regenerates);
            const uint8_t *nibbles = (const uint8_t *)(uintptr_t)entry.nibbles;
            for (uint32_t code = 0; nibbles && code < dict->code_slots; code++) {
                uint32_t length = columns.column[0]->dictionaries[0].length_of_code[code];
                if (length && (nibbles[code / 2] >> code % 2 * 4 & 15u) != length - 1)
                    CHECK(!"the lengths are the dictionary's");
            }
            fake_release();
            fastpair_gpu_batch_free(batch);
        }
    }
}

/* Positions made on the device do without the sidecar, whatever it says; otherwise the status word tells. */
static void test_lying_sidecar(void) {
    for (uint32_t turn = 0; turn < 8; turn++) {
        do {
            start();
            add_classes(&columns, turn < 4 ? 12 : 16, 16, 0, 9, 1, 4000, 256, 0);
        } while (columns.column[0]->totals.codes < 2000);
        uint64_t size = columns.column[0]->totals.decoded_bytes;
        uint8_t *bytes = malloc(size);
        fastpair_destination host = {.bytes = bytes, .bytes_capacity = size};
        CHECK_EQ(fastpair_column_decode(columns.column[0], 0, columns.column[0]->totals.rows, &host,
                                        1, NULL),
                 FASTPAIR_OK);
        const fp_chunk *chunk = &columns.column[0]->chunks[0];
        uint8_t *sidecar =
            columns.file[0].data + chunk->position + chunk->sections[FP_SECTION_SIDECAR].offset;
        uint64_t sidecar_bytes = chunk->sections[FP_SECTION_SIDECAR].size;
        uint64_t batches = fp_sidecar_batches(chunk->codes, 256),
                 groups = (sidecar_bytes - 2 * batches) / 4;
        /* All batches at the beginning, all at the end, some of them anywhere, or all of one size. */
        if (turn % 4 < 2) memset(sidecar, turn % 4 ? 0xff : 0, sidecar_bytes);
        for (uint64_t i = 0; i < sidecar_bytes && turn % 4 == 2; i++)
            if (draw(4) == 0) sidecar[i] = (uint8_t)draw(256);
        for (uint64_t i = 0; i < batches && turn % 4 == 3; i++) {
            uint64_t group = i / chunk->group_batches * chunk->group_batches;
            forge_put(sidecar + group / chunk->group_batches * 4, size * group / batches, 4);
            forge_put(sidecar + 4 * groups + 2 * i, size * i / batches - size * group / batches, 2);
        }
        for (int regenerate = 0; regenerate < 2; regenerate++) {
            fastpair_gpu_batch *batch = make_batch(&columns, NULL, regenerate);
            CHECK(fp_kernel_is_assembled(fp_group_kernel(&batch->groups[0])) || !regenerate);
            fastpair_gpu_destination to = fake_allocate(batch);
            decode(batch, &to, UINT64_MAX);
            CHECK_EQ(fake.status, regenerate ? 0 : FASTPAIR_GPU_BAD_SIDECAR);
            CHECK(!regenerate || !memcmp(fake.output, bytes, size));
            fake_release();
            fastpair_gpu_batch_free(batch);
        }
        free(bytes);
    }
}

/* Codes behind the last token, of its class: assembled kernels take them for zeros. The class's end is the end. */
static void test_codes_without_token(void) {
    static const char *const names[] = {"assembled K8 b15 L16 FAR S8 T768",
                                        "assembled K8 b15 L16 HOT S8 T1024"};
    for (uint32_t turn = 0; turn < 8; turn++) {
        static forge_classes c;
        uint64_t seed = turn;
        uint32_t codes[64], rows[1] = {0}, behind = turn % 4 == 3;
        start();
        forge_dictionary dictionary = forge_class_dictionary(&c, 15, 16, 1, seed);
        while (c.slots % 64 == 0 || c.slots % 64 > 40) {
            free(dictionary.section.data);
            dictionary = forge_class_dictionary(&c, 15, 16, 1, seed += 10);
        }
        for (uint32_t i = 0; i < 64; i++) {
            codes[i] = (c.slots | 63) - i % 8 + (behind && i == 63 ? 8 : 0);
            c.length_of[codes[i]] = 16;
            rows[0] += 16;
        }
        forge_chunk chunk = forge_coded_chunk(&(forge_codes){codes, 64, 15, c.length_of, 256},
                                              &(forge_rows){rows, NULL, 1});
        add_image(&columns, forge_column(&dictionary, &chunk));
        fastpair_gpu_batch *batch = make_batch(&columns, names[turn / 4], 0);
        fastpair_gpu_destination to = fake_allocate(batch);
        decode(batch, &to, UINT64_MAX);
        CHECK_EQ(fake.status, behind ? FASTPAIR_GPU_BAD_CODE : 0);
        for (uint32_t i = 0; i < 1024; i++)
            if (fake.output[i] != (behind ? 0xee : 0)) {
                CHECK(!"a token that is not there is zeros, and a bad batch stays as it was");
                break;
            }
        fake_release();
        fastpair_gpu_batch_free(batch);
    }
}

int main(void) {
    start_random(1203);
    test_every_kernel();
    test_image_bytes();
    test_planes();
    test_lying_sidecar();
    test_codes_without_token();
    CHECK_EQ(memory.live, 0);
    free_columns(&columns);
    return check_done();
}
