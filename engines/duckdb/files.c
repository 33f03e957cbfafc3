/* files.c - paths in, names of files out: patterns are expanded and folders listed. Names are sorted
 * by bytes, whatever the locale, so that a table has the same rows in the same order everywhere. */
#include "engine.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void fpd_names_close(fpd_names *names) {
    for (size_t i = 0; i < names->count; i++) free(names->name[i]);
    free(names->name);
    *names = (fpd_names){0};
}

int fpd_names_add(fpd_names *names, const char *folder, const char *name, fpd_fault *fault) {
    if (names->count == names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 16;
        char **larger = realloc(names->name, capacity * sizeof *larger);
        if (!larger) return fpd_fail_memory(fault);
        names->name = larger;
        names->capacity = capacity;
    }
    size_t before = folder ? strlen(folder) : 0, size = strlen(name) + 1;
    bool slash = before > 0 && folder[before - 1] != '/';
    char *copy = malloc(before + slash + size);
    if (!copy) return fpd_fail_memory(fault);
    if (before) memcpy(copy, folder, before);
    if (slash) copy[before] = '/';
    memcpy(copy + before + slash, name, size);
    names->name[names->count++] = copy;
    return 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_from(fpd_names *names, size_t first) {
    if (names->count - first > 1)
        qsort(names->name + first, names->count - first, sizeof *names->name, compare_names);
}

static bool is_hidden(const char *name) { return name[0] == '.' || name[0] == '_'; }

int fpd_is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int expand_pattern(fpd_names *names, const char *path, fpd_fault *fault) {
    glob_t found;
    int status = glob(path, GLOB_NOSORT, NULL, &found), result = 0;
    if (status == GLOB_NOMATCH) return fpd_fail(fault, path, "no file matches this pattern");
    if (status != 0)
        return fpd_fail(fault, path, "this pattern cannot be expanded; check the permissions");
    size_t first = names->count;
    for (size_t i = 0; i < found.gl_pathc && result == 0; i++) {
        const char *slash = strrchr(found.gl_pathv[i], '/');
        if (!is_hidden(slash ? slash + 1 : found.gl_pathv[i]))
            result = fpd_names_add(names, NULL, found.gl_pathv[i], fault);
    }
    globfree(&found);
    sort_from(names, first);
    if (result == 0 && names->count == first)
        return fpd_fail(fault, path, "only hidden files match this pattern");
    return result;
}

int fpd_names_expand(fpd_names *names, const char *path, bool may_list, fpd_fault *fault) {
    if (strstr(path, "://")) {
        return fpd_fail(fault, path,
                        "the extension reads local files alone; copy the file, or open it in "
                        "Python and query the column");
    }
    if (path[0] == '~') {
        /* DuckDB is asked about each path, and must not see a tilde otherwise than we do. */
        const char *home = path[1] == '/' ? getenv("HOME") : NULL;
        fpd_names whole = {0};
        int status = fpd_names_add(&whole, home ? home : ".", path + (home ? 2 : 0), fault);
        if (status == 0 && whole.count)
            status = fpd_names_expand(names, whole.name[0], may_list, fault);
        fpd_names_close(&whole);
        return status;
    }
    struct stat about;
    /* A file that is there is meant, also if its name has an asterisk in it. */
    bool pattern = may_list && strpbrk(path, "*?[") && stat(path, &about) != 0;
    return pattern ? expand_pattern(names, path, fault) : fpd_names_add(names, NULL, path, fault);
}

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), size = strlen(end);
    return length > size && memcmp(name + length - size, end, size) == 0;
}

int fpd_names_list(const char *folder, fpd_names *files, fpd_names *folders, fpd_fault *fault) {
    DIR *open = opendir(folder);
    if (!open) return fpd_fail(fault, folder, "%s; check the permissions", strerror(errno));
    size_t first_file = files->count, first_folder = folders->count;
    int result = 0;
    while (result == 0) {
        errno = 0;
        const struct dirent *entry = readdir(open);
        if (!entry) {
            if (errno) result = fpd_fail(fault, folder, "%s", strerror(errno));
            break;
        }
        if (is_hidden(entry->d_name)) continue;
        fpd_names *to = ends_with(entry->d_name, ".fpc") ? files : folders;
        result = fpd_names_add(to, folder, entry->d_name, fault);
        if (result == 0 && to == folders && !fpd_is_folder(to->name[to->count - 1]))
            free(to->name[--to->count]);
    }
    closedir(open);
    sort_from(files, first_file);
    sort_from(folders, first_folder);
    return result;
}
