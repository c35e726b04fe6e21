/* SPDX-License-Identifier: MIT */
/* tree: what the servers do to their nodes: one request at a time, on the latest state for a
 * write, on a server's view for a read. The nodes are those of the unit tests' fake servers. */
#ifndef TREE_H
#define TREE_H

#include "wire.h"

extern fake_servers *sim_tree;

/* Servers since 3.8.4 and 3.9.2 answer an exists of a node only to those that may read it. */
extern bool sim_exists_needs_read;

/* A change that was done; they are kept in order, for those who watch. */
typedef struct sim_change {
    int64_t zxid;
    int type; /* EVENT_CREATED, EVENT_DELETED, EVENT_CHANGED */
    fake_node *node;
} sim_change;

/* The changes above `zxid`; *count of them. */
const sim_change *sim_changes(int64_t zxid, size_t *count);
/* Nobody asks for those up to `zxid` any more. */
void sim_changes_forget(int64_t zxid);

/* Carries a write out, with the next zxid; part.rc and what else was asked is in the request then.
 * */
void sim_write(sim_request *request);
/* Carries a read out as a server does that has seen no more than `view`. */
void sim_read(sim_request *request, int64_t view);
/* May those with these credentials (0: none) read it? NULL: everybody may. */
bool sim_may_read(const fake_node *node, uint64_t identity, int64_t view);
/* Like a client's whose name is not told. ZOK, ... */
int sim_do(sim_op op, const char *path, const char *data, fake_mode mode, sim_session *session);

/* Told of each node that is deleted, when it is: by whom, or by the end of its session (`by` NULL:
 * its own or nobody's). */
extern void (*sim_deleted)(const fake_node *node, const sim_request *by);

/* Told of each write that was done, when it is. */
extern void (*sim_written)(const sim_request *request);

void sim_tree_begin(void);
void sim_tree_end(void);

#endif
