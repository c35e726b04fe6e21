/* vetted: the directories whose ACL was read in this session, and lets no stranger create, delete
 * or administer. It is a table of bounded size: of two paths with the same slot the newer one is
 * kept, and the ACL of the other one is read again when it is needed. */
#ifndef ZKL_VETTED_H
#define ZKL_VETTED_H

#include "port/port.h"

typedef struct zkl_vetted_entry {
    char *path;
    int64_t session;
    zkl_edition edition;
} zkl_vetted_entry;

typedef struct zkl_vetted {
    zkl_vetted_entry *entries; /* NULL: none yet */
} zkl_vetted;

/* Without memory nothing is added, and the ACL is read again. */
void zkl_vetted_add(zkl_vetted *vetted, const char *path, int64_t session, zkl_edition edition);
/* What was added for this path in this session; czxid 0: nothing. */
zkl_edition zkl_vetted_find(const zkl_vetted *vetted, const char *path, int64_t session);
void zkl_vetted_clear(zkl_vetted *vetted);

#endif
