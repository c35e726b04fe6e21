/* link_state: what a link is made of. Only for the link and its operations. */
#ifndef ZKL_LINK_STATE_H
#define ZKL_LINK_STATE_H

#include "base/clock.h"
#include "base/list.h"
#include "port/port.h"
#include "zookeeper/link_owner.h"
#include "zookeeper/watchdog.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

struct zkl_link {
    zkl_port port;
    zkl_link_owner owner;
    const zkl_clock *clock;
    uint64_t *sent_count;
    const zkl_config *config;
    zkl_watchdog *watchdog; /* with TLS; never changes once started */
    /* credentials that the library has and repeats on every reconnect; completion thread */
    size_t auths_added;
    /* when the newest request that has come back was handed over; completion thread */
    zkl_nanos settled;
    zhandle_t *handle; /* set once, under the mutex, by whoever hears of it first */

    pthread_mutex_t mutex; /* a leaf; for what follows */
    pthread_cond_t idle;
    zkl_list requests; /* on their way (operations.c) */
    size_t auths_open; /* credentials that this connection waits for an answer to */
    bool connected;
    zkl_nanos root; /* the servers took the connection after that */
};

#endif
