/* SPDX-License-Identifier: MIT */
/* link_state: the data of a link. Only for the link and its operations. */
#ifndef ZKL_LINK_STATE_H
#define ZKL_LINK_STATE_H

#include "base/clock.h"
#include "base/list.h"
#include "port/context.h"
#include "zookeeper/link_owner.h"
#include "zookeeper/watchdog.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

struct zkl_link {
    zkl_port port;
    zkl_link_owner owner;
    const zkl_clock *clock;
    zkl_context *context; /* under the client's mutex */
    const zkl_config *config;
    zkl_watchdog *watchdog; /* with TLS; never changes once started */
    /* how many credentials the library has, which it repeats on every reconnect; completion
     * thread */
    size_t auths_added;
    /* when the newest answered request was handed over; completion thread */
    zkl_nanos settled;
    /* The library has returned a request that a broken connection left behind; it returns them in
     * the order in which they were handed over. Later connections of the link carry the session on,
     * so the first break was chance (extras.h), and theirs may be. Completion thread. */
    bool broken;
    zhandle_t *handle; /* set once, under the mutex, by the first thread that learns it */

    pthread_mutex_t mutex; /* a leaf; for the fields below */
    pthread_cond_t idle;
    zkl_list requests; /* on their way (operations.c) */
    size_t auths_open; /* how many credentials no server has answered yet */
    bool connected;
    zkl_nanos root; /* the servers accepted the connection after this moment */
};

#endif
