/* SPDX-License-Identifier: MIT */
/* wire: what goes between the library and the servers: requests, and the queues in which they and
 * what is said to them are on their way. */
#ifndef WIRE_H
#define WIRE_H

#include "fake_servers.h"
#include "sim.h"

#include <zookeeper/zookeeper.h>

typedef enum sim_op {
    OP_CREATE,
    OP_DELETE,
    OP_SET,
    OP_CHECK, /* in a transaction only */
    OP_SET_ACL,
    OP_MULTI,
    OP_OPEN_SESSION,
    OP_CLOSE_SESSION,
    OP_REAP, /* deletes a container that is empty */
    OP_LAST_WRITE = OP_REAP,
    OP_SYNC,
    OP_GET,
    OP_EXISTS,
    OP_LIST,
    OP_GET_ACL,
    OP_UNWATCH,
    OP_AUTH,
    OP_SET_WATCHES,
    OP_PING
} sim_op;

/* The kinds of watches; a client that asks whether a node is there watches its data. */
enum { WATCH_DATA = 1, WATCH_CHILDREN = 2, WATCH_EXISTS = 4 };

/* libzookeeper's events, as constants. */
enum { EVENT_CREATED = 1, EVENT_DELETED = 2, EVENT_CHANGED = 3, EVENT_CHILDREN = 4 };

typedef struct sim_session sim_session;
typedef struct sim_socket sim_socket;
typedef struct sim_request sim_request;

/* An operation of a transaction; or a path that is watched, of OP_SET_WATCHES. */
typedef struct sim_part {
    sim_op op;
    char *path, *data;
    int32_t version;
    fake_mode mode;
    bool sequence; /* of a node that is not ephemeral, too */
    int kept;      /* the permissions that its ACL leaves to those with the asker's credentials */
    int watch;
    /* what became of it */
    int rc;
    char *made;
    struct Stat stat;
} sim_part;

struct sim_request {
    unsigned refs;
    sim_op op;
    sim_part part; /* the one that it is about, and its answer */
    int watch;     /* what it sets, or takes back */
    sim_part *parts;
    size_t part_count;
    int64_t zxid; /* OP_SET_WATCHES: what the client has seen; answered: what its server had */
    uint64_t identity;
    sim_session *session; /* NULL: nobody's */
    sim_socket *from;     /* likewise */
    sim_request *behind;  /* at its server */
    bool done, is_moved, has_reached;

    char *data; /* the answer's, beside part.rc, part.stat, part.made */
    char **names;
    size_t name_count;
    int kept; /* likewise */

    /* the library's */
    sim_request *next;
    int rc; /* as told */
    int (*tell)(sim_request *request);
    void (*completion)(void);
    const void *ctx;
    watcher_fn watcher;
    void *watcher_ctx;
    zoo_op_result_t *results;
};

sim_request *sim_request_new(sim_op op, const char *path);
void sim_request_keep(sim_request *request);
void sim_request_drop(sim_request *request);
const char *sim_op_name(sim_op op);

/* ---- queues ---- */

typedef enum sim_message_kind {
    /* client to server */
    SAY_CONNECT,
    SAY_REQUEST,
    /* server to client */
    SAY_CONNECTED,
    SAY_REPLY,
    SAY_EVENT,
    /* either */
    SAY_END, /* it has hung up */
    /* follower to leader */
    SAY_FORWARD,
    SAY_PONG,
    SAY_REVALIDATE,
    /* leader to follower */
    SAY_PING,
    SAY_COMMIT,
    SAY_SYNCED,
    SAY_REVALIDATED
} sim_message_kind;

typedef struct sim_message {
    struct sim_message *next;
    sim_message_kind kind;
    zkl_nanos at;
    sim_request *request; /* kept */
    sim_socket *socket;
    sim_session *session;
    int64_t zxid;
    zkl_nanos timeout;
    int type; /* of an event */
    bool good;
    char *path;
    sim_session **heard; /* of a PONG */
    size_t heard_count;
} sim_message;

/* In order, and as late as the network wants. */
typedef struct sim_queue {
    sim_event event;
    sim_message *first, *last;
    zkl_nanos latency;    /* at most */
    zkl_nanos distance;   /* and that besides */
    zkl_nanos slow_until; /* nothing arrives before */
    /* false: not now: the queue is run again by sim_queue_run, or at the moment in *again */
    void (*take)(void *of, sim_message *message);
    zkl_nanos (*busy_until)(void *of);
    void *of;
} sim_queue;

void sim_queue_init(sim_queue *queue, void *of, void (*take)(void *of, sim_message *message),
                    zkl_nanos (*busy_until)(void *of));
sim_message *sim_put(sim_queue *queue, sim_message_kind kind);
/* All but the first `kept` are lost. */
void sim_queue_lose(sim_queue *queue, size_t kept);
size_t sim_queue_count(const sim_queue *queue);
void sim_queue_slow(sim_queue *queue, zkl_nanos until);
void sim_queue_hurry(sim_queue *queue);
/* Frees what messages are kept in. */
void sim_wire_end(void);

#endif
