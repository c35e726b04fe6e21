/* SPDX-License-Identifier: MIT */
/* acl_cache: the directories whose ACL the client has read in this session and found safe: no
 * stranger may create, delete or administer there. The table has a fixed size: of two paths with
 * the same slot it keeps the newer one, and the client reads the other ACL again when it needs
 * it. */
#ifndef ZKL_ACL_CACHE_H
#define ZKL_ACL_CACHE_H

#include "port/port.h"

typedef struct zkl_acl_cache_entry {
    char *path;
    int64_t session;
    zkl_edition edition;
} zkl_acl_cache_entry;

typedef struct zkl_acl_cache {
    zkl_acl_cache_entry *entries; /* NULL: empty */
} zkl_acl_cache;

/* Without memory it adds nothing, and the client reads the ACL again. */
void zkl_acl_cache_add(zkl_acl_cache *cache, const char *path, int64_t session,
                       zkl_edition edition);
/* The entry of this path in this session; czxid 0: there is none. */
zkl_edition zkl_acl_cache_find(const zkl_acl_cache *cache, const char *path, int64_t session);
void zkl_acl_cache_clear(zkl_acl_cache *cache);

#endif
