/* acl_cache: the directories whose ACL was read in this session, and lets no stranger create,
 * delete or administer. It is a table of bounded size: of two paths with the same slot the newer
 * one is kept, and the ACL of the other one is read again when it is needed. */
#ifndef ZKL_ACL_CACHE_H
#define ZKL_ACL_CACHE_H

#include "port/port.h"

typedef struct zkl_acl_cache_entry {
    char *path;
    int64_t session;
    zkl_edition edition;
} zkl_acl_cache_entry;

typedef struct zkl_acl_cache {
    zkl_acl_cache_entry *entries; /* NULL: none yet */
} zkl_acl_cache;

/* Without memory nothing is added, and the ACL is read again. */
void zkl_acl_cache_add(zkl_acl_cache *cache, const char *path, int64_t session,
                       zkl_edition edition);
/* The entry of this path in this session; czxid 0: none. */
zkl_edition zkl_acl_cache_find(const zkl_acl_cache *cache, const char *path, int64_t session);
void zkl_acl_cache_clear(zkl_acl_cache *cache);

#endif
