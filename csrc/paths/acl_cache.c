/* SPDX-License-Identifier: MIT */
#include "paths/acl_cache.h"

#include "base/path_table.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 1024

static size_t slot_of(const char *path) {
    return zkl_path_hash(path, strlen(path)) % ENTRIES;
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
