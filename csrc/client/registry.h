/* registry: the open clients of this process, so that a program that just ends gives its locks
 * back. */
#ifndef ZKL_REGISTRY_H
#define ZKL_REGISTRY_H

#include "base/list.h"

typedef struct zkl_registered {
    zkl_list_item item;
    void (*close)(
        struct zkl_registered *entry); /* any thread; takes no lock that one who leaves holds */
} zkl_registered;

/* From now on the end of the process closes the client and waits, for all of them together a second
 * at most. */
void zkl_registry_enter(zkl_registered *entry);
/* Its session has ended. */
void zkl_registry_leave(zkl_registered *entry);

#endif
