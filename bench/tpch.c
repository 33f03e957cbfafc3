/*
 * Generators for TPC-H string columns; see tpch.h. The words, their weights and the sentence forms
 * are those of the specification, and the output was compared with that of the official generator.
 */
#include "tpch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---- */

/* SplitMix64: a counter and a mixing function. Any state is a good one, so seeding is trivial. */
static uint64_t mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static uint64_t next64(uint64_t *rng) {
    *rng += UINT64_C(0x9E3779B97F4A7C15);
    return mix64(*rng);
}

/*
 * Maps 32 random bits to 0 .. n - 1. The bias is at most n / 2^32, far below what any of the small
 * ranges here could show.
 */
static uint32_t scale32(uint32_t bits, uint32_t n) {
    return (uint32_t)(((uint64_t)bits * n) >> 32);
}

static uint32_t below(uint64_t *rng, uint32_t n) {
    return scale32((uint32_t)(next64(rng) >> 32), n);
}

/* ---- the grammar of the pseudo text (clause 4.2.2.14) ---- */

/*
 * The words with their weights: "WEIGHT word,word,...|WEIGHT word,...". An entry may be several
 * words that stay together. The misspelt preposition is what the official generator writes.
 */
static const char nouns[] =
    "40 packages,requests,accounts,deposits|20 foxes,ideas,theodolites,pinto beans,instructions|"
    "10 dependencies,excuses,platelets,asymptotes|5 courts,dolphins|1 multipliers,sauternes,"
    "warthogs,frets,dinos,attainments,somas,Tiresias,patterns,forges,braids,frays,warhorses,"
    "dugouts,notornis,epitaphs,pearls,tithes,waters,orbits,gifts,sheaves,depths,sentiments,decoys,"
    "realms,pains,grouches,escapades,hockey players";

static const char verbs[] =
    "20 sleep,wake,are,cajole,haggle|10 nag,use,boost|5 affix,detect,integrate|1 maintain,nod,was,"
    "lose,sublate,solve,thrash,promise,engage,hinder,print,x-ray,breach,eat,grow,impress,mold,"
    "poach,serve,run,dazzle,snooze,doze,unwind,kindle,play,hang,believe,doubt";

static const char adjectives[] =
    "50 regular|40 final,ironic|30 even|20 special,pending,unusual,express,bold|10 silent|"
    "1 furious,sly,careful,blithe,quick,fluffy,slow,quiet,ruthless,thin,close,dogged,daring,brave,"
    "stealthy,permanent,enticing,idle,busy";

static const char adverbs[] =
    "50 furiously,slyly,carefully|40 blithely|30 quickly|20 fluffily|1 sometimes,always,never,"
    "slowly,quietly,ruthlessly,thinly,closely,doggedly,daringly,bravely,stealthily,permanently,"
    "enticingly,idly,busily,regularly,finally,ironically,evenly,boldly,silently";

static const char prepositions[] =
    "50 about,above,according to,across,after|40 against,along|30 alongside of,among|20 around|"
    "10 at|1 atop,before,behind,beneath,beside,besides,between,beyond,by,despite,during,except,"
    "for,from,in place of,inside,instead of,into,near,of,on,outside,over,past,since,through,"
    "throughout,to,toward,under,until,up,upon,whithout,with,within";

static const char auxiliaries[] =
    "1 do,may,might,shall,will,would,can,could,should,ought to,must,will have to,shall have to,"
    "could have to,should have to,must have to,need to,try to";

static const char terminators[] = "50 .|1 ;,:,?,!,--";

enum { MAX_WORDS = 48, MAX_WEIGHT = 464 };

/*
 * A word list made ready for drawing: each word is listed in `draw` as often as its weight says, so
 * one random index is a weighted choice. Texts fill 16 bytes to be copied without regard to their
 * size; the longest entry and the space after it just fit.
 */
typedef struct wordlist {
    char text[MAX_WORDS][16];
    uint8_t size[MAX_WORDS];  /* lengths of the texts */
    uint8_t draw[MAX_WEIGHT]; /* word indexes */
    uint32_t total;           /* sum of the weights: the part of `draw` in use */
} wordlist;

static void wordlist_cut(wordlist *list, const char *words) {
    unsigned count = 0, weight = 0;
    memset(list, 0, sizeof *list);
    while (*words) {
        if (*words >= '0' && *words <= '9') {
            for (weight = 0; *words != ' '; words++)
                weight = weight * 10 + (unsigned)(*words - '0');
            words++;
        }
        size_t size = strcspn(words, ",|");
        assert(count < MAX_WORDS && size < sizeof list->text[0]);
        assert(list->total + weight <= MAX_WEIGHT);
        memcpy(list->text[count], words, size);
        list->size[count] = (uint8_t)size;
        memset(list->draw + list->total, (int)count, weight);
        list->total += weight;
        count++;
        words += size + (words[size] != '\0');
    }
}

/* ---- pseudo text cut into rows ---- */

/*
 * The specification has comments cut at random places from one text of 300 MB. Building that takes
 * too long for a small column, and a smaller text would show up as repeated phrases in a large one.
 * So here the text has no end: it is made a block at a time, each block is cut into rows from
 * beginning to end, and the rows are dealt out in random order, so that neighbours do not continue
 * each other. What is lost is only that two rows of the specification overlap now and then.
 */
enum {
    BLOCK_SIZE = 1 << 16,
    SENTENCE_ROOM = 256, /* the longest sentence has 185 bytes, a 16-byte copy may go beyond */
    MIN_COMMENT = 10,    /* shortest row of any comment column */
    MAX_CUTS = (BLOCK_SIZE + SENTENCE_ROOM) / MIN_COMMENT + 1
};

/* Where a row lies in the block. */
typedef struct cut {
    uint32_t offset;
    uint32_t size;
} cut;

struct fp_tpch_text {
    uint32_t min_size, max_size; /* row lengths of the column */
    size_t used;                 /* bytes of the block that are text */
    size_t taken;                /* bytes of the block that are cut into rows */
    size_t cuts_left;            /* rows still to be dealt out: cuts[0 .. cuts_left - 1] */
    wordlist nouns, verbs, adjectives, adverbs, prepositions, auxiliaries, terminators;
    cut cuts[MAX_CUTS];
    char block[BLOCK_SIZE + SENTENCE_ROOM];
};

/* Appends a drawn word and a space; returns the new end. May overwrite 16 bytes after `out`. */
static inline char *put_word(char *out, const wordlist *list, uint32_t bits) {
    unsigned i = list->draw[scale32(bits, list->total)];
    memcpy(out, list->text[i], sizeof list->text[i]);
    out += list->size[i];
    *out = ' ';
    return out + 1;
}

/* The same, drawing the bits. */
static inline char *put_drawn(char *out, const wordlist *list, uint64_t *rng) {
    return put_word(out, list, (uint32_t)(next64(rng) >> 32));
}

/* Noun phrase, by weight: 10 noun; 20 adj noun; 10 adj, adj noun; 50 adverb adj noun. */
static char *put_noun_phrase(char *out, const struct fp_tpch_text *text, uint64_t *rng) {
    uint64_t bits = next64(rng);
    uint32_t form = scale32((uint32_t)bits, 90);
    if (form < 50) {
        out = put_drawn(out, &text->adverbs, rng);
    } else if (form < 60) {
        out = put_drawn(out, &text->adjectives, rng);
        out[-1] = ',';
        *out++ = ' ';
    }
    if (form < 80) out = put_drawn(out, &text->adjectives, rng);
    return put_word(out, &text->nouns, (uint32_t)(bits >> 32));
}

/* Verb phrase, by weight: 30 verb; 1 auxiliary verb; 40 verb adverb; 1 auxiliary verb adverb. */
static char *put_verb_phrase(char *out, const struct fp_tpch_text *text, uint64_t *rng) {
    uint64_t bits = next64(rng);
    uint32_t form = scale32((uint32_t)bits, 72);
    if (form >= 70) out = put_drawn(out, &text->auxiliaries, rng);
    out = put_word(out, &text->verbs, (uint32_t)(bits >> 32));
    if (form < 40 || form == 71) out = put_drawn(out, &text->adverbs, rng);
    return out;
}

/* Prepositional phrase: preposition "the" noun-phrase. */
static char *put_prep_phrase(char *out, const struct fp_tpch_text *text, uint64_t *rng) {
    out = put_drawn(out, &text->prepositions, rng);
    memcpy(out, "the ", 4);
    return put_noun_phrase(out + 4, text, rng);
}

/*
 * Sentence of noun (N), verb (V) and prepositional (P) phrases, by weight: 3 N V; 3 N V P; 3 N V N;
 * 1 N P V N; 1 N P V P. The terminator takes the place of the space after the last word.
 */
static char *put_sentence(char *out, const struct fp_tpch_text *text, uint64_t *rng) {
    uint64_t bits = next64(rng);
    uint32_t form = scale32((uint32_t)bits, 11);
    out = put_noun_phrase(out, text, rng);
    if (form >= 9) out = put_prep_phrase(out, text, rng);
    out = put_verb_phrase(out, text, rng);
    if (form < 3 || form == 9)
        out = put_noun_phrase(out, text, rng);
    else if (form < 6 || form == 10)
        out = put_prep_phrase(out, text, rng);
    return put_word(out - 1, &text->terminators, (uint32_t)(bits >> 32));
}

/* Fills the block with text, going on after the rest of the last block, and cuts it into rows. */
static void refill(struct fp_tpch_text *text, uint64_t *rng) {
    /* The rest is shorter than the longest row: cutting stops there to keep lengths unbiased. */
    size_t rest = text->used - text->taken;
    memmove(text->block, text->block + text->taken, rest);
    char *out = text->block + rest;
    while (out < text->block + BLOCK_SIZE) out = put_sentence(out, text, rng);
    text->used = (size_t)(out - text->block);
    text->taken = 0;

    size_t n = 0;
    while (text->used - text->taken >= text->max_size) {
        uint32_t size = text->min_size + below(rng, text->max_size - text->min_size + 1);
        text->cuts[n++] = (cut){(uint32_t)text->taken, size};
        text->taken += size;
    }
    text->cuts_left = n;
}

static size_t next_comment(fp_tpch_gen *gen, char *row) {
    struct fp_tpch_text *text = gen->text;
    if (text->cuts_left == 0) refill(text, &gen->rng);
    /* Deal out a random row, and close the gap with the last one. */
    cut *drawn = &text->cuts[below(&gen->rng, (uint32_t)text->cuts_left)];
    size_t size = drawn->size;
    memcpy(row, text->block + drawn->offset, size);
    *drawn = text->cuts[--text->cuts_left];
    return size;
}

static struct fp_tpch_text *text_open(uint32_t min_size, uint32_t max_size) {
    struct fp_tpch_text *text = malloc(sizeof *text);
    if (!text) return NULL;
    text->min_size = min_size;
    text->max_size = max_size;
    text->used = text->taken = text->cuts_left = 0;
    wordlist_cut(&text->nouns, nouns);
    wordlist_cut(&text->verbs, verbs);
    wordlist_cut(&text->adjectives, adjectives);
    wordlist_cut(&text->adverbs, adverbs);
    wordlist_cut(&text->prepositions, prepositions);
    wordlist_cut(&text->auxiliaries, auxiliaries);
    wordlist_cut(&text->terminators, terminators);
    return text;
}

/* ---- the other columns ---- */

/*
 * The numbers come from Lehmer's generator x = 16807 x mod (2^31 - 1), one step a row, as in the
 * official data: with that many clerks a number narrows down the next one, and strong compressors
 * do notice. The column repeats itself after 2^31 - 2 rows, which is 34 GB.
 */
enum { LEHMER_MODULUS = 0x7FFFFFFF };

static size_t next_clerk(fp_tpch_gen *gen, char *row) {
    gen->rng = gen->rng * 16807 % LEHMER_MODULUS;
    uint64_t clerk = 1 + gen->rng * FP_TPCH_CLERKS / LEHMER_MODULUS;
    memcpy(row, "Clerk#000000000", 15);
    for (char *digit = row + 14; clerk > 0; clerk /= 10) *digit-- = (char)('0' + clerk % 10);
    return 15;
}

/* A v-string: length and characters are uniform; 64 characters make it six random bits for each. */
static size_t next_address(fp_tpch_gen *gen, char *row) {
    static const char charset[] =
        "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    size_t size = 10 + below(&gen->rng, 31);
    for (size_t i = 0; i < size; i += 10) {
        /* Always ten characters: the caller has room, and a fixed count is faster. */
        uint64_t bits = next64(&gen->rng);
        for (size_t j = 0; j < 10; j++, bits >>= 6) row[i + j] = charset[bits & 63];
    }
    return size;
}

static size_t next_shipinstruct(fp_tpch_gen *gen, char *row) {
    static const char instructions[4][18] = {"DELIVER IN PERSON", "COLLECT COD", "NONE",
                                             "TAKE BACK RETURN"};
    const char *drawn = instructions[below(&gen->rng, 4)];
    size_t size = strlen(drawn);
    memcpy(row, drawn, size);
    return size;
}

/* ---- interface ---- */

static const char *const column_names[FP_TPCH_COLUMN_COUNT] = {"l_comment", "ps_comment", "o_clerk",
                                                               "c_address", "l_shipinstruct"};

int fp_tpch_open(fp_tpch_gen *gen, uint64_t seed, fp_tpch_column column) {
    /* Mixed twice, so that near seeds, and the columns of one seed, start far apart. */
    gen->rng = mix64(mix64(seed + UINT64_C(0x9E3779B97F4A7C15)) + (uint64_t)column);
    gen->text = NULL;
    gen->column = column;
    switch (column) {
    case FP_TPCH_L_COMMENT: gen->text = text_open(MIN_COMMENT, 43); return gen->text ? 0 : -1;
    case FP_TPCH_PS_COMMENT: gen->text = text_open(49, 198); return gen->text ? 0 : -1;
    case FP_TPCH_O_CLERK: gen->rng = 1 + gen->rng % (LEHMER_MODULUS - 1); return 0;
    case FP_TPCH_C_ADDRESS:
    case FP_TPCH_L_SHIPINSTRUCT: return 0;
    }
    return -1;
}

size_t fp_tpch_next(fp_tpch_gen *gen, char *row) {
    switch (gen->column) {
    case FP_TPCH_L_COMMENT:
    case FP_TPCH_PS_COMMENT: return next_comment(gen, row);
    case FP_TPCH_O_CLERK: return next_clerk(gen, row);
    case FP_TPCH_C_ADDRESS: return next_address(gen, row);
    case FP_TPCH_L_SHIPINSTRUCT: return next_shipinstruct(gen, row);
    }
    return 0;
}

void fp_tpch_close(fp_tpch_gen *gen) {
    free(gen->text);
    gen->text = NULL;
}

const char *fp_tpch_column_name(fp_tpch_column column) {
    return (unsigned)column < FP_TPCH_COLUMN_COUNT ? column_names[column] : NULL;
}

int fp_tpch_column_parse(const char *name, fp_tpch_column *column) {
    for (int i = 0; i < FP_TPCH_COLUMN_COUNT; i++) {
        if (strcmp(name, column_names[i]) == 0) {
            *column = (fp_tpch_column)i;
            return 0;
        }
    }
    return -1;
}
