/* SPDX-License-Identifier: MIT */
/* registry: the open clients of this process, so that a program that just exits still releases its
 * locks. */
#ifndef ZKL_REGISTRY_H
#define ZKL_REGISTRY_H

#include "base/list.h"

typedef struct zkl_registered {
    zkl_list_item item;
    void (*close)(
        struct zkl_registered *entry); /* any thread; takes no lock that one who leaves holds */
} zkl_registered;

/* From now on the exit of the process closes the client, and waits for all clients together, at
 * most a second. */
void zkl_registry_enter(zkl_registered *entry);
/* The client's session has ended. */
void zkl_registry_leave(zkl_registered *entry);

#endif
