#include "line/acl_cache.h"

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

void zkl_acl_cache_add(zkl_acl_cache *cache, const char *path, int64_t session,
                       zkl_edition edition) {
    if (!cache->entries)
        cache->entries = calloc(ENTRIES, sizeof *cache->entries);
    char *copy = cache->entries ? strdup(path) : NULL;
    if (!copy)
        return;
    zkl_acl_cache_entry *entry = &cache->entries[slot_of(path)];
    free(entry->path);
    *entry = (zkl_acl_cache_entry){copy, session, edition};
}

zkl_edition zkl_acl_cache_find(const zkl_acl_cache *cache, const char *path, int64_t session) {
    const zkl_acl_cache_entry *entry = cache->entries ? &cache->entries[slot_of(path)] : NULL;
    if (!entry || !entry->path || entry->session != session || strcmp(entry->path, path) != 0)
        return (zkl_edition){0};
    return entry->edition;
}

void zkl_acl_cache_clear(zkl_acl_cache *cache) {
    for (size_t i = 0; cache->entries && i < ENTRIES; i++)
        free(cache->entries[i].path);
    free(cache->entries);
    cache->entries = NULL;
}
