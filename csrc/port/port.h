/* SPDX-License-Identifier: MIT */
/* port: the asynchronous ZooKeeper operations that the engine needs, as a table of functions, so
 * that a test can put a fake in the place of libzookeeper_mt. */
#ifndef ZKL_PORT_H
#define ZKL_PORT_H

#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zkl_port zkl_port;

/* Identifies a node at a path, and the version of its ACL. */
typedef struct zkl_edition {
    int64_t czxid;
    int32_t aversion;
} zkl_edition;

/* The result of one op of a transaction (`transact`). */
typedef struct zkl_op_result {
    int rc; /* ZOK; of the op that failed its error; of the ops behind it ZRUNTIMEINCONSISTENCY */
    const char *path; /* create */
    zkl_stat stat;    /* set */
} zkl_op_result;

/* The operations that not every server knows (extras.h). */
typedef enum zkl_extra {
    ZKL_EXTRA_NONE,
    ZKL_EXTRA_CREATE2, /* a create that is answered with a Stat */
    ZKL_EXTRA_CONTAINER,
    ZKL_EXTRA_UNWATCH,
    ZKL_EXTRA_COUNT
} zkl_extra;

/* One answer. Its pointers are valid until the receiver returns. */
typedef struct zkl_reply {
    int rc;           /* ZOK, ZNONODE, ZCONNECTIONLOSS, ... */
    const char *path; /* create: the node's full path */
    /* perform, except of a delete; of a list the directory's */
    const zkl_stat *stat;
    const char *data;              /* a read; of an ACL the lines */
    size_t length;                 /* bytes of it */
    const char *const *names;      /* the children */
    const zkl_op_result *outcomes; /* transact: also if it has failed */
    size_t count;
    bool exposed; /* a read of an ACL: anybody may create, delete or administer there */
    /* ZCONNECTIONLOSS: the server had answered everything before this request, and no connection of
     * the link has broken before */
    bool oldest;
    zkl_extra extra; /* the operation that was asked for */
} zkl_reply;

/* The receiver of the answer, as a number: when the answer comes, the number is looked up, and the
 * receiver may be gone. */
typedef struct zkl_return {
    uint64_t receiver;
    int what; /* the receiver's own mark for the request */
    int32_t detail;
} zkl_return;

/* Every function returns ZOK, after which another thread delivers exactly one answer; or an error,
 * after which none comes. None of them blocks or calls back. Paths are full, with the chroot. */
typedef struct zkl_port_table {
    /* Performs one op. `watch`: a read sets a watch, and a create reads the node if its answer has
     * no Stat; without, the Stat is all zeros then. ZUNIMPLEMENTED: the servers do not know it. */
    int (*perform)(zkl_port *, const zkl_op *op, bool watch, zkl_return);
    /* Performs all ops (create, set, delete, check) or none. */
    int (*transact)(zkl_port *, const zkl_op *ops, size_t count, zkl_return);
    int (*sync)(zkl_port *, const char *path, zkl_return);
    /* Removes all our watches on the path: those on its children, or those on its data. */
    int (*unwatch)(zkl_port *, const char *path, bool list, zkl_return);
} zkl_port_table;

struct zkl_port {
    const zkl_port_table *call;
};

/* The port while there is no connection: it sends nothing, and returns ZINVALIDSTATE. */
extern zkl_port zkl_port_refusing;

/* The event of a watch. CHILDREN: the children of the path have changed. */
typedef enum zkl_change { ZKL_CHANGE_DELETED, ZKL_CHANGE_OTHER, ZKL_CHANGE_CHILDREN } zkl_change;

#endif
