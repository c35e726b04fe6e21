/* port: the asynchronous ZooKeeper operations that the engine needs, as a table of functions, so
 * that a test can put a fake in the place of libzookeeper_mt. */
#ifndef ZKL_PORT_H
#define ZKL_PORT_H

#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zkl_port zkl_port;

typedef enum zkl_mode {
    ZKL_EPHEMERAL,
    ZKL_EPHEMERAL_SEQUENCE,
    ZKL_CONTAINER,
    ZKL_PERSISTENT
} zkl_mode;

/* Which node at a path it is, and which of its ACLs it has. */
typedef struct zkl_edition {
    int64_t czxid;
    int32_t aversion;
} zkl_edition;

/* The result of one of several ops (port's transact). */
typedef struct zkl_op_result {
    int rc; /* ZOK; of the one that failed why; of those behind it ZRUNTIMEINCONSISTENCY */
    const char *path; /* create */
    zkl_stat stat;    /* set */
} zkl_op_result;

/* One answer. Everything it points to is gone when the receiver returns. */
typedef struct zkl_reply {
    int rc;           /* ZOK, ZNONODE, ZCONNECTIONLOSS, ... */
    const char *path; /* create: the node's full path */
    /* create, get, get_acl, perform (but delete); of the directory: list, unless our ACL is OPEN */
    const zkl_stat *stat;
    const char *data;              /* get */
    size_t length;                 /* get: bytes of data */
    const char *const *names;      /* list, create_all */
    const zkl_op_result *outcomes; /* transact: also if it failed */
    size_t count;
    bool exposed; /* get_acl: anybody may create, delete or administer there */
} zkl_reply;

/* The receiver of the answer: a number that is looked up when the answer comes, so that it may be
 * gone by then. */
typedef struct zkl_return {
    uint64_t receiver;
    int what; /* the receiver's own marks for the request */
    int32_t detail;
} zkl_return;

/* Nodes to be made together or not at all. */
typedef struct zkl_batch {
    const char *const *paths; /* each gets a sequence */
    size_t count;
    const char *data;
    /* a node that is made, written to and deleted in between, so that its mzxid tells when; NULL:
     * none */
    const char *mark;
} zkl_batch;

/* Every function returns ZOK, after which the answer comes once, from another thread; or an error,
 * after which none comes. None of them blocks or calls back. Paths are full, with the chroot. */
typedef struct zkl_port_table {
    int (*create)(zkl_port *, const char *path, const char *data, zkl_mode, zkl_acl, zkl_return);
    /* The answer has the full paths as names and, if there was a mark, stat->czxid, which is that
     * of all nodes. */
    int (*create_all)(zkl_port *, const zkl_batch *, zkl_acl, zkl_return);
    int (*list)(zkl_port *, const char *path, bool watch, zkl_return);
    int (*get)(zkl_port *, const char *path, bool watch, zkl_return);
    int (*set)(zkl_port *, const char *path, const char *data,
               zkl_return); /* whatever its version */
    int (*erase)(zkl_port *, const char *path, zkl_return);
    int (*sync)(zkl_port *, const char *path, zkl_return);
    /* Takes all watches on it back: those that list set, or those that get set. */
    int (*unwatch)(zkl_port *, const char *path, bool list, zkl_return);
    int (*get_acl)(zkl_port *, const char *path, zkl_return);
    /* A host's operation on a node; the op's path is full. `watch`: of one that reads. */
    int (*perform)(zkl_port *, const zkl_op *op, bool watch, zkl_return);
    /* All of them (create, set, delete, check) or none. */
    int (*transact)(zkl_port *, const zkl_op *ops, size_t count, zkl_return);
} zkl_port_table;

struct zkl_port {
    const zkl_port_table *call;
};

/* The event of a watch. CHILDREN: of the directory at the path. */
typedef enum zkl_change { ZKL_CHANGE_DELETED, ZKL_CHANGE_OTHER, ZKL_CHANGE_CHILDREN } zkl_change;

#endif
