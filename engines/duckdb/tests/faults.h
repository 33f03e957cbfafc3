/* faults.h - is put before every file of the extension where its tests let allocations fail. */
#ifndef FASTPAIR_DUCKDB_FAULTS_H
#define FASTPAIR_DUCKDB_FAULTS_H

#include <stdlib.h>
#include <string.h>

void *faulty_malloc(size_t size);
void *faulty_calloc(size_t count, size_t size);
void *faulty_realloc(void *memory, size_t size);
char *faulty_strdup(const char *text);
char *faulty_strndup(const char *text, size_t size);

#undef strdup
#undef strndup
#define malloc  faulty_malloc
#define calloc  faulty_calloc
#define realloc faulty_realloc
#define strdup  faulty_strdup
#define strndup faulty_strndup

#endif
