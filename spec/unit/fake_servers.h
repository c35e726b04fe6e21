/* fake_servers: a tree of nodes as ZooKeeper keeps it, and who watches what. Several fake clients
 * may share one. What was deleted stays known, so that a client of a server that lags can be shown
 * an older view. */
#ifndef FAKE_SERVERS_H
#define FAKE_SERVERS_H

#include "port/port.h"

#define FAKE_LATEST INT64_MAX

typedef enum fake_op {
    FAKE_CREATE,
    FAKE_LIST,
    FAKE_GET,
    FAKE_ERASE,
    FAKE_SYNC,
    FAKE_UNWATCH,
    FAKE_BATCH,
    FAKE_SET,
    FAKE_ACL,
    FAKE_PERFORM,
    FAKE_TRANSACT,
    FAKE_OPS
} fake_op;

typedef struct fake_node {
    char *path, *data;
    int64_t czxid, mzxid, dzxid; /* dzxid: when it was deleted; 0: it is there */
    int64_t pzxid;               /* of the last change to its children */
    int64_t owner;               /* the session of an ephemeral node */
    zkl_mode mode;
    bool closed; /* its ACL lets only its maker do anything */
    int32_t aversion;
    int32_t version; /* of its data */
    int32_t next;    /* sequence of the next child */
} fake_node;

/* While it stands, requests of its kind at its path, or at any node below, are answered with rc. */
typedef struct fake_refusal {
    bool standing;
    fake_op op;
    char path[256];
    int rc;
    unsigned times; /* how often; 0: always */
} fake_refusal;

typedef struct fake_servers {
    fake_node **nodes;
    size_t count, room;
    int64_t zxid, sessions;
    fake_refusal refusals[8];
    bool old;           /* before 3.5: knows no containers */
    bool keeps_time;    /* ends sessions as a leader does: fake_quorum.h */
    size_t packet_most; /* bytes; whoever sends more is hung up on */
    struct fake_client *clients;
} fake_servers;

fake_servers *fake_servers_new(void);
void fake_servers_free(fake_servers *servers);

/* As seen at `view`; NULL: it is not there. */
fake_node *fake_find(const fake_servers *servers, const char *path, int64_t view);
/* ZOK and the node, or ZNONODE (no parent), ZNODEEXISTS, ... For a sequential mode the number is
 * appended. */
int fake_make(fake_servers *servers, const char *path, const char *data, zkl_mode mode,
              int64_t owner, fake_node **made);
/* ZOK, ZNONODE, ZNOTEMPTY. Fires watches. */
int fake_remove(fake_servers *servers, const char *path);
/* Fires watches. */
void fake_write(fake_servers *servers, const char *path, const char *data);
/* Deletes what the session has. */
void fake_end_session(fake_servers *servers, int64_t session);

/* The index-th name below `path` as seen at `view`, in no useful order; NULL: no more. */
const char *fake_child(const fake_servers *servers, const char *path, size_t index, int64_t view);
size_t fake_children(const fake_servers *servers, const char *path);

/* Persistent directories, all levels. */
void fake_directory(fake_servers *servers, const char *path);
/* A node of somebody else in a lock's directory, by the client we mimic: "%s" of `form` is filled
 * with a fresh id, the servers append the sequence. NULL form: Curator's. Returns its path, which
 * lives as long as the servers. */
const char *fake_stranger(fake_servers *servers, const char *directory, const char *form);

void fake_refuse(fake_servers *servers, fake_op op, const char *path, int rc, unsigned times);
void fake_allow(fake_servers *servers);
/* The rc that stands against the request, or ZOK. */
int fake_refused(fake_servers *servers, fake_op op, const char *path);

#endif
