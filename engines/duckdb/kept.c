/* kept.c - files that stay open from one query to the next. Checking a file's chunks and making the
 * tables of its dictionaries takes a fifth of the time of a search, and need not be done again for a
 * file that has not changed. In: a path. Out: a column, perhaps one that another query has opened. A
 * file is the same if its inode, size and time are; at most MOST_KEPT are kept, the last ones used. */
#include "engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_KEPT = 64 };

typedef struct kept_file {
    char *path;
    struct stat about;
    fastpair_column *column;
} kept_file;

struct fpd_kept {
    pthread_mutex_t lock;
    /* The one used last comes last. */
    kept_file file[MOST_KEPT];
    size_t files;
};

fpd_kept *fpd_kept_open(void) {
    fpd_kept *kept = calloc(1, sizeof *kept);
    if (kept && pthread_mutex_init(&kept->lock, NULL) != 0) {
        free(kept);
        kept = NULL;
    }
    return kept;
}

static void forget(kept_file *file) {
    fastpair_column_close(file->column);
    free(file->path);
}

void fpd_kept_close(void *memory) {
    fpd_kept *kept = memory;
    if (!kept) return;
    for (size_t i = 0; i < kept->files; i++) forget(&kept->file[i]);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Takes the file with this path out; one without a path if there is none. */
static kept_file take_out(fpd_kept *kept, const char *path) {
    for (size_t i = 0; i < kept->files; i++) {
        if (strcmp(kept->file[i].path, path) != 0) continue;
        kept_file found = kept->file[i];
        kept->files--;
        memmove(&kept->file[i], &kept->file[i + 1], (kept->files - i) * sizeof found);
        return found;
    }
    return (kept_file){0};
}

/* Puts a file last; another one may have to go. */
static void put_last(fpd_kept *kept, kept_file file) {
    kept_file same = take_out(kept, file.path);
    if (same.path) forget(&same);
    if (kept->files == MOST_KEPT) {
        kept_file oldest = take_out(kept, kept->file[0].path);
        forget(&oldest);
    }
    kept->file[kept->files++] = file;
}

fastpair_status fpd_kept_column(fpd_kept *kept, const char *path,
                                const fastpair_open_options *options, fastpair_column **column,
                                fastpair_error *error) {
    struct stat before, after;
    if (!kept || stat(path, &before) != 0)
        return fastpair_column_open_file(path, options, column, error);
    pthread_mutex_lock(&kept->lock);
    kept_file found = take_out(kept, path);
    bool good = found.path && is_same(&found.about, &before);
    if (good) {
        *column = fastpair_column_retain(found.column);
        kept->file[kept->files++] = found;
    }
    pthread_mutex_unlock(&kept->lock);
    if (good) return FASTPAIR_OK;
    if (found.path) forget(&found);
    fastpair_status status = fastpair_column_open_file(path, options, column, error);
    if (status != FASTPAIR_OK || stat(path, &after) != 0 || !is_same(&before, &after))
        return status;
    kept_file file = {.path = strdup(path), .about = after, .column = *column};
    if (!file.path) return status; /* it is open, and only not kept */
    fastpair_column_retain(*column);
    pthread_mutex_lock(&kept->lock);
    put_last(kept, file);
    pthread_mutex_unlock(&kept->lock);
    return status;
}
