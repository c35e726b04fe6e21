#include "queue/vetted.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 1024

/* FNV-1a */
static size_t slot_of(const char *path) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return (hash ^ hash >> 32) % ENTRIES;
}

void zkl_vetted_add(zkl_vetted *vetted, const char *path, int64_t session, zkl_edition edition) {
    if (!vetted->entries)
        vetted->entries = calloc(ENTRIES, sizeof *vetted->entries);
    char *copy = vetted->entries ? strdup(path) : NULL;
    if (!copy)
        return;
    zkl_vetted_entry *entry = &vetted->entries[slot_of(path)];
    free(entry->path);
    *entry = (zkl_vetted_entry){copy, session, edition};
}

zkl_edition zkl_vetted_find(const zkl_vetted *vetted, const char *path, int64_t session) {
    const zkl_vetted_entry *entry = vetted->entries ? &vetted->entries[slot_of(path)] : NULL;
    if (!entry || !entry->path || entry->session != session || strcmp(entry->path, path) != 0)
        return (zkl_edition){0};
    return entry->edition;
}

void zkl_vetted_clear(zkl_vetted *vetted) {
    for (size_t i = 0; vetted->entries && i < ENTRIES; i++)
        free(vetted->entries[i].path);
    free(vetted->entries);
    vetted->entries = NULL;
}
