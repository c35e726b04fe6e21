/* SPDX-License-Identifier: MIT */
/* link_owner: the events that a link reports to the session that owns it. */
#ifndef ZKL_LINK_OWNER_H
#define ZKL_LINK_OWNER_H

#include "base/clock.h"
#include "port/port.h"
#include "recipe/validity.h"

typedef struct zkl_link zkl_link;

typedef enum zkl_link_event {
    ZKL_LINK_CONNECTED,
    ZKL_LINK_SUSPENDED,
    ZKL_LINK_EXPIRED,
    ZKL_LINK_AUTH_FAILED,
    /* a server granted a session timeout that the library cannot work with: this link will reach no
     * server any more */
    ZKL_LINK_SPOILED
} zkl_link_event;

/* Receives a link's events. The library's threads call these functions without any lock of ours. */
typedef struct zkl_link_owner {
    void *ctx;
    /* An answer to a request that was handed over at `handed`, and the evidence that it gives about
     * the session. */
    void (*answered)(void *ctx, zkl_link *link, const zkl_return *back, const zkl_reply *reply,
                     zkl_nanos handed, zkl_proof proof);
    void (*watched)(void *ctx, zkl_link *link, const char *path, zkl_change change);
    void (*happened)(void *ctx, zkl_link *link, zkl_link_event turn);
} zkl_link_owner;

#endif
