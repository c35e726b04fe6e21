/* SPDX-License-Identifier: MIT */
/* fake_servers: a tree of nodes as ZooKeeper keeps it, and who watches what. Several fake clients
 * may share one. A deleted node stays known, so that a client of a server that lags can be shown
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
    FAKE_SET,
    FAKE_ACL,
    FAKE_EXISTS,
    FAKE_TRANSACT,
    FAKE_OPS
} fake_op;

typedef enum fake_mode {
    FAKE_EPHEMERAL,
    FAKE_EPHEMERAL_SEQUENCE,
    FAKE_CONTAINER,
    FAKE_PERSISTENT
} fake_mode;

typedef struct fake_node fake_node;

/* A node's data before it was written to. */
typedef struct fake_edition {
    struct fake_edition *older;
    char *data;
    int64_t mzxid, mtime;
    int32_t version;
} fake_edition;

/* The rights on a node before its ACL was changed. */
typedef struct fake_rules {
    struct fake_rules *older;
    int64_t until; /* a view that goes so far has the ones after it */
    int kept;
    uint64_t keeper;
    int32_t aversion;
} fake_rules;

struct fake_node {
    char *path, *data;
    int64_t czxid, mzxid, dzxid; /* dzxid: when it was deleted; 0: it is there */
    int64_t pzxid;               /* of the last change to its children */
    int64_t mtime;               /* of the last write, by the clock of the servers */
    int64_t forgotten;           /* ... to those that are forgotten */
    int64_t owner;               /* the session of an ephemeral node */
    fake_mode mode;
    bool closed;        /* its ACL lets only its maker do anything */
    int kept;           /* for those who look closer (spec/sim): permissions that only ... */
    uint64_t keeper;    /* ... he has with whose credentials it was made; 0: nobody */
    fake_rules *former; /* likewise */
    int32_t version, aversion;
    int32_t next; /* sequence of the next child: how many have been made */
    int32_t child_count;
    fake_edition *older;

    uint32_t hash;             /* of the path */
    fake_node *same;           /* with this hash, older ones behind younger ones */
    fake_node *parent;         /* NULL: there is none */
    fake_node *children;       /* also those that are gone and not forgotten; the youngest first */
    fake_node *after, *before; /* of the parent's children */
};

/* While it stands, requests of its kind at its path, or at any node below, are answered with rc. */
typedef struct fake_refusal {
    bool standing;
    fake_op op;
    char path[256];
    int rc;
    unsigned times; /* how often; 0: always */
} fake_refusal;

typedef struct fake_servers fake_servers;

struct fake_servers {
    fake_node **nodes; /* in order of their making */
    size_t count, room;
    fake_node **buckets;
    size_t bucket_count; /* a power of two */
    int64_t zxid, sessions;
    int64_t wall; /* their clock: milliseconds since 1970; only a test moves it */
    bool within;  /* a transaction: what is done bears the present zxid */
    /* Whoever looks at the tree is told of each change; NULL: nobody is. */
    void (*changed)(fake_servers *servers);
    /* The oldest view that somebody can still be shown; NULL: the present one. */
    int64_t (*oldest)(const fake_servers *servers);
    fake_refusal refusals[8];
    bool old;           /* before 3.5: knows no containers */
    bool keeps_time;    /* ends sessions as a leader does: fake_quorum.h */
    size_t packet_most; /* bytes; whoever sends more is hung up on */
    struct fake_client *clients;
};

fake_servers *fake_servers_new(void);
void fake_servers_free(fake_servers *servers);

/* As seen at `view`; NULL: it is not there. */
fake_node *fake_find(const fake_servers *servers, const char *path, int64_t view);
/* The one above, as it is now; NULL at the top. false: there ought to be one, and is none. */
bool fake_parent(const fake_servers *servers, const char *path, fake_node **above);
/* The child that was made before `child` was (NULL: the youngest), as seen at `view`; NULL: no
 * more. */
fake_node *fake_child_before(const fake_node *directory, const fake_node *child, int64_t view);
/* The last slash of a node's path is before its name. */
const char *fake_name(const fake_node *node);
/* The zxid of the last change to the children that the view shows. */
int64_t fake_pzxid(const fake_node *directory, int64_t view);
/* The data as seen at `view`, and what belongs to it. */
fake_edition fake_edition_at(const fake_node *node, int64_t view);

/* ZOK and the node, or ZNONODE (no parent), ZNODEEXISTS, ... For a sequential mode the number is
 * appended. */
int fake_make(fake_servers *servers, const char *path, const char *data, fake_mode mode,
              int64_t owner, fake_node **made);
/* ZOK, ZNONODE, ZNOTEMPTY. Fires watches. */
int fake_remove(fake_servers *servers, const char *path);
/* ZOK, ZNONODE, ZNOTEMPTY, and the node that is gone. */
int fake_remove_node(fake_servers *servers, const char *path, fake_node **gone);
/* Undo what was just done to that node in this transaction, the last thing first. `pzxid`: that of
 * its parent before. */
void fake_unmake(fake_servers *servers, fake_node *node, int64_t pzxid);
void fake_bring_back(fake_node *node, int64_t pzxid);
void fake_unwrite(fake_node *node);
/* Forgets what nobody can be shown any more. */
void fake_forget(fake_servers *servers);
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
