/* vetted: the directories whose ACL was read in this session, and lets no stranger create, delete or administer. It is
 * bounded: of two that fall together the newer one is kept, and the other one is asked for again. */
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

/* Without memory it is forgotten, and asked for again. */
void zkl_vetted_add(zkl_vetted *vetted, const char *path, int64_t session, zkl_edition edition);
/* What was added for this path in this session; czxid 0: nothing. */
zkl_edition zkl_vetted_find(const zkl_vetted *vetted, const char *path, int64_t session);
void zkl_vetted_clear(zkl_vetted *vetted);

#endif
