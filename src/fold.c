/* fold.c - folded tokens. In: the tokens of a dictionary, or untrusted bytes that stand for them. Out:
 * a string of bits, docs/format.md, section 2.3, or the tokens.
 *
 * The trick: a trained token is most often two shorter ones that were joined, and these have smaller
 * codes. So a token is written as whole tokens before it, as bytes from anywhere before it, and as
 * single bytes; its length is known and says where it ends. A writer finds the fewest bits for each
 * token, as they do not depend on how other tokens are written. Refuses bits that name what has not come
 * yet or that pass a token's end, and whatever is left over. */
#include "fold.h"

#include "format.h"

/* What a token consists of: what its bits are, and how many come before the numbers. */
#define WHOLE_FLAG  0u /* 0: an earlier token */
#define BYTE_FLAGS  1u /* 1 0: a byte */
#define PIECE_FLAGS 3u /* 1 1: bytes from anywhere before this token */

/* Earlier places that are compared with a place, at most. More save less than 1 % of a dictionary. */
#define MOST_TRIES 16u
/* Shorter pieces take no fewer bits than their bytes. */
#define LEAST_PIECE 3u

#define NOWHERE UINT32_MAX

/* The least w with n <= 2^w. */
static uint32_t width_of(uint32_t n) { return n > 1 ? 32u - (uint32_t)__builtin_clz(n - 1) : 0; }

/* ---------------------------------------------------------------- writing */

/* The best first step from a place in a token to its end. */
typedef struct step {
    uint32_t bits; /* of this step and all after it */
    uint32_t flags;
    uint32_t length;
    uint32_t number; /* of the whole token, or where the piece is */
} step;

typedef struct folder {
    const fp_dict *dict;
    uint32_t *starts; /* of each token, in dict->bytes */
    uint8_t *lengths; /* of each token */
    /* By two bytes: bit l - 1 is set if an earlier token of l bytes begins so. */
    uint64_t *lengths_by_pair;
    uint32_t *places;   /* by hash: the token that came first, or NOWHERE */
    uint32_t *newest;   /* by hash of three bytes: where they occurred last, or NOWHERE */
    uint32_t *previous; /* of each place: the one before with the same hash */
    uint32_t place_bits;
    uint32_t tokens; /* before this one */
    uint32_t begin;  /* of this one */
} folder;

#define NEWEST_BITS 15u

uint64_t fp_fold_bound(const fp_dict *dict) { return (dict->bytes_size * 10 + 7) / 8; }

static void close_folder(folder *f, const fastpair_allocator *allocator) {
    fp_release(allocator, f->starts);
    fp_release(allocator, f->lengths);
    fp_release(allocator, f->lengths_by_pair);
    fp_release(allocator, f->places);
    fp_release(allocator, f->newest);
    fp_release(allocator, f->previous);
}

static int open_folder(folder *f, const fastpair_allocator *allocator) {
    const fp_dict *dict = f->dict;
    f->place_bits = width_of(dict->tokens) + 1;
    f->starts = fp_allocate(allocator, dict->tokens, sizeof *f->starts);
    f->lengths = fp_allocate(allocator, dict->tokens, sizeof *f->lengths);
    f->lengths_by_pair = fp_allocate_zero(allocator, 1u << 16, sizeof *f->lengths_by_pair);
    f->places = fp_allocate(allocator, 1ull << f->place_bits, sizeof *f->places);
    f->newest = fp_allocate(allocator, 1u << NEWEST_BITS, sizeof *f->newest);
    f->previous = fp_allocate(allocator, dict->bytes_size, sizeof *f->previous);
    if (!f->starts || !f->lengths || !f->lengths_by_pair || !f->places || !f->newest ||
        !f->previous)
        return 0;
    memset(f->places, 0xff, sizeof *f->places << f->place_bits);
    memset(f->newest, 0xff, sizeof *f->newest << NEWEST_BITS);
    return 1;
}

static uint32_t hash_more(uint32_t hash, uint8_t byte) { return (hash + byte + 1) * 0x9E3779B1u; }

/* Where a token with this hash is listed, or could be. */
static uint32_t *find_place(const folder *f, uint32_t hash, const uint8_t *token, uint32_t length) {
    uint32_t mask = (1u << f->place_bits) - 1, at = hash >> (32 - f->place_bits);
    for (;; at = (at + 1) & mask) {
        uint32_t number = f->places[at];
        if (number == NOWHERE || (f->lengths[number] == length &&
                                  !memcmp(f->dict->bytes + f->starts[number], token, length)))
            return &f->places[at];
    }
}

static uint32_t *newest_place(const folder *f, const uint8_t *bytes) {
    uint32_t three = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
    return &f->newest[three * 0x9E3779B1u >> (32 - NEWEST_BITS)];
}

/* The longest piece before this token that equals the bytes at `at`, of which `most` are left. */
static uint32_t find_piece(const folder *f, uint32_t at, uint32_t most, uint32_t *where) {
    const uint8_t *bytes = f->dict->bytes;
    uint32_t best = LEAST_PIECE - 1;
    if (most < LEAST_PIECE) return 0;
    uint32_t from = *newest_place(f, bytes + at);
    for (uint32_t tries = MOST_TRIES; from != NOWHERE && tries; tries--, from = f->previous[from]) {
        uint32_t room = f->begin - from < most ? f->begin - from : most, length = 0;
        if (room <= best || bytes[from + best] != bytes[at + best]) continue;
        while (length < room && bytes[from + length] == bytes[at + length]) length++;
        if (length > best) {
            best = length;
            *where = from;
            if (best == most) break;
        }
    }
    return best >= LEAST_PIECE ? best : 0;
}

static void consider(step *steps, uint32_t at, step next) {
    next.bits += steps[at + next.length].bits;
    if (next.bits < steps[at].bits) steps[at] = next;
}

/* Finds the fewest bits from each place in a token on; steps[length] is its end. */
static void plan_token(const folder *f, uint32_t length, step *steps) {
    const uint8_t *bytes = f->dict->bytes;
    uint32_t whole_bits = 1 + width_of(f->tokens), piece_bits = 2 + width_of(f->begin);
    steps[length] = (step){0};
    for (uint32_t at = length; at-- > 0;) {
        uint32_t left = length - at, where = 0;
        const uint8_t *rest = bytes + f->begin + at;
        steps[at] = (step){steps[at + 1].bits + (left > 1 ? 10 : 8), BYTE_FLAGS, 1, *rest};
        if (left < 2) continue;
        uint32_t hash = hash_more(0, rest[0]);
        uint64_t lengths = f->lengths_by_pair[fp_load16(rest)] & (UINT64_MAX >> (64 - left));
        for (uint32_t l = 2; l <= left && lengths >> (l - 1); l++) {
            hash = hash_more(hash, rest[l - 1]);
            if (!(lengths >> (l - 1) & 1)) continue;
            uint32_t number = *find_place(f, hash, rest, l);
            if (number != NOWHERE) consider(steps, at, (step){whole_bits, WHOLE_FLAG, l, number});
        }
        if (steps[at].length == left) continue; /* a piece takes more bits than a whole token */
        uint32_t longest = find_piece(f, f->begin + at, left, &where);
        for (uint32_t l = LEAST_PIECE; l <= longest; l++)
            consider(steps, at, (step){piece_bits + width_of(left - 1), PIECE_FLAGS, l, where});
    }
}

/* Lists this token, so that later ones find it. */
static void list_token(folder *f, uint32_t length) {
    const uint8_t *bytes = f->dict->bytes, *token = bytes + f->begin;
    uint32_t hash = 0, end = f->begin + length;
    f->starts[f->tokens] = f->begin;
    f->lengths[f->tokens] = (uint8_t)length;
    for (uint32_t i = 0; i < length; i++) hash = hash_more(hash, token[i]);
    uint32_t *place = find_place(f, hash, token, length);
    if (*place == NOWHERE) *place = f->tokens;
    if (length > 1) f->lengths_by_pair[fp_load16(token)] |= 1ull << (length - 1);
    /* With the last places of the token before, whose three bytes end here. */
    for (uint32_t at = f->begin > 1 ? f->begin - 2 : 0; at + 2 < end; at++) {
        uint32_t *newest = newest_place(f, bytes + at);
        f->previous[at] = *newest;
        *newest = at;
    }
    f->tokens++;
    f->begin = end;
}

/* Bits go to bytes from the lowest on, as codes do. */
typedef struct bit_writer {
    uint8_t *next;
    uint64_t held;
    uint32_t count;
} bit_writer;

static void put_bits(bit_writer *to, uint32_t value, uint32_t count) {
    to->held |= (uint64_t)value << to->count;
    to->count += count;
    for (; to->count >= 8; to->count -= 8, to->held >>= 8) *to->next++ = (uint8_t)to->held;
}

static void put_token(bit_writer *to, const folder *f, uint32_t length, const step *steps) {
    for (uint32_t at = 0; at < length; at += steps[at].length) {
        const step *next = &steps[at];
        uint32_t left = length - at;
        if (left > 1) put_bits(to, next->flags, next->flags == WHOLE_FLAG ? 1 : 2);
        if (next->flags == WHOLE_FLAG) {
            put_bits(to, next->number, width_of(f->tokens));
        } else if (next->flags == BYTE_FLAGS) {
            put_bits(to, next->number, 8);
        } else {
            put_bits(to, next->number, width_of(f->begin));
            put_bits(to, next->length - 2, width_of(left - 1));
        }
    }
}

fastpair_status fp_fold_write(const fp_dict *dict, const fastpair_allocator *allocator,
                              uint8_t *folded, uint64_t *size) {
    folder f = {.dict = dict};
    step steps[FP_MAX_TOKEN + 1];
    bit_writer to = {folded, 0, 0};
    int is_open = open_folder(&f, allocator);
    for (uint32_t r = 0; r < dict->run_count && is_open; r++)
        for (uint32_t i = 0; i < dict->runs[r].count; i++) {
            uint32_t length = dict->runs[r].length;
            plan_token(&f, length, steps);
            put_token(&to, &f, length, steps);
            list_token(&f, length);
        }
    put_bits(&to, 0, (8 - to.count) % 8);
    *size = (uint64_t)(to.next - folded);
    close_folder(&f, allocator);
    return is_open ? FASTPAIR_OK : FASTPAIR_ERROR_OUT_OF_MEMORY;
}

/* ---------------------------------------------------------------- reading */

typedef struct bit_reader {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t at; /* bits taken; past the end there are zero bits */
} bit_reader;

/* The next bits, 57 or more. */
static inline uint64_t peek_bits(const bit_reader *from) {
    uint64_t byte = from->at / 8, bits = 0;
    if (byte + 8 <= from->size)
        bits = fp_load64(from->bytes + byte);
    else if (byte < from->size)
        memcpy(&bits, from->bytes + byte, (size_t)(from->size - byte));
    return bits >> from->at % 8;
}

static inline uint32_t low_bits(uint64_t bits, uint32_t count) {
    return (uint32_t)(bits & ((1ull << count) - 1));
}

/* Where tokens begin: one more than there are. */
typedef struct unfolder {
    bit_reader from;
    uint8_t *bytes;
    uint64_t room; /* the last place in `bytes` with 16 bytes after it; 0 if there is none */
    uint32_t *starts;
    uint32_t tokens;
} unfolder;

/* Copies bytes from before a token. Most pieces are short: 16 bytes at once are faster than as many as
 * there are, and what is too much is written over by later tokens. `room` is the last place with 16. */
static inline void copy_piece(uint8_t *bytes, uint32_t at, uint32_t from, uint32_t count,
                              uint64_t room) {
    uint64_t two[2];
    if (count > sizeof two || at > room) {
        memcpy(bytes + at, bytes + from, count);
        return;
    }
    memcpy(two, bytes + from, sizeof two);
    memcpy(bytes + at, two, sizeof two);
}

/* Reads one token. Returns what is wrong with it, NULL if nothing. */
static const char *read_token(unfolder *u, uint32_t length) {
    const uint32_t begin = u->starts[u->tokens], end = begin + length;
    const uint32_t whole_bits = width_of(u->tokens), piece_bits = width_of(begin);
    uint32_t at = begin;
    while (end - at > 1) {
        uint64_t bits = peek_bits(&u->from);
        uint32_t left = end - at, from, count;
        if (!(bits & 1)) {
            uint32_t number = low_bits(bits >> 1, whole_bits);
            u->from.at += 1 + whole_bits;
            if (number >= u->tokens) return "a folded token names one that comes later";
            from = u->starts[number];
            count = u->starts[number + 1] - from;
        } else if (!(bits & 2)) {
            u->bytes[at++] = (uint8_t)(bits >> 2);
            u->from.at += 10;
            continue;
        } else {
            uint32_t count_bits = width_of(left - 1);
            from = low_bits(bits >> 2, piece_bits);
            count = low_bits(bits >> (2 + piece_bits), count_bits) + 2;
            u->from.at += 2 + piece_bits + count_bits;
            if (from + count > begin) return "a folded token takes bytes that come later";
        }
        if (count > left) return "a folded token is longer than its run says";
        copy_piece(u->bytes, at, from, count, u->room);
        at += count;
    }
    if (at < end) {
        u->bytes[at] = (uint8_t)peek_bits(&u->from);
        u->from.at += 8;
    }
    if (u->from.at > 8 * u->from.size) return "folded tokens end too early";
    u->starts[++u->tokens] = end;
    return NULL;
}

fastpair_status fp_fold_read(const uint8_t *folded, uint64_t size,
                             const fastpair_allocator *allocator, const fp_dict *dict,
                             const char **fault) {
    uint64_t all = dict->bytes_size;
    unfolder u = {{folded, size, 0}, dict->bytes, all < 16 ? 0 : all - 16, NULL, 0};
    u.starts = fp_allocate(allocator, dict->tokens + 1ull, sizeof *u.starts);
    if (!u.starts) return FASTPAIR_ERROR_OUT_OF_MEMORY;
    u.starts[0] = 0;
    *fault = NULL;
    for (uint32_t r = 0; r < dict->run_count && !*fault; r++)
        for (uint32_t i = 0; i < dict->runs[r].count && !*fault; i++)
            *fault = read_token(&u, dict->runs[r].length);
    if (!*fault && ((u.from.at + 7) / 8 != size || peek_bits(&u.from)))
        *fault = "bits follow the folded tokens";
    fp_release(allocator, u.starts);
    return *fault ? FASTPAIR_ERROR_CORRUPT : FASTPAIR_OK;
}
