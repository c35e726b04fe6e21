/* SPDX-License-Identifier: MIT */
/* node_watch_state: the data of a node watch and its stages, for the rooms of node watches only.
 * Under the client's mutex. */
#ifndef ZKL_NODE_WATCH_STATE_H
#define ZKL_NODE_WATCH_STATE_H

#include "base/event.h"
#include "base/round.h"
#include "nodes/content.h"
#include "nodes/nodes.h"
#include "port/receiver.h"

/* What an answer is about. */
enum { ZKL_NODE_WATCH_READ, ZKL_NODE_WATCH_PRESENCE, ZKL_NODE_WATCH_UNWATCH };

/* What continues it. RESTING: the watch, or its turn in the round. DUE: the end of a step with a
 * link (zkl_node_watches_resume and the timer `look` lead to one). ASKED, LEAVING: the answer,
 * perhaps only that it was cut off, or zkl_node_watches_unlink. */
typedef enum zkl_node_watch_stage {
    ZKL_NODE_WATCH_RESTING,
    ZKL_NODE_WATCH_DUE,
    ZKL_NODE_WATCH_ASKED,
    ZKL_NODE_WATCH_LEAVING
} zkl_node_watch_stage;

struct zkl_node_watch {
    zkl_nodes *nodes;
    zkl_receiver receiver;
    zkl_table_item found; /* nodes->node_watches */
    zkl_list_item item;   /* nodes->due */
    zkl_post post;        /* nodes->round */
    char *path;
    bool children;
    zkl_node_watch_stage stage;
    bool on_data, on_children; /* the library has these watches for it */
    bool again;                /* there was a change since it was asked */
    bool missing;              /* the node did not exist: the next read comes behind an exists */
    int presence;              /* the answer to that exists */
    bool over;                 /* the host has quit */
    bool told;                 /* the host has a state, namely: */
    int told_rc;               /* ZOK, ZNONODE, ZNOAUTH */
    int64_t czxid;             /* with ZOK: of which node ... */
    int64_t xid;               /* ... and from which transaction */
    zkl_content *content;      /* the host has not taken it yet; NULL: told_rc says everything */
    bool news;
    zkl_notice changed;
};

/* A node watch of that path, at rest. It takes its share of the budget. NULL: no memory. */
zkl_node_watch *zkl_node_watch_new(zkl_nodes *nodes, const char *path, bool children);
void zkl_node_watch_free(zkl_node_watch *node_watch);

void zkl_node_watches_init_table(zkl_nodes *nodes);
/* The first node watch of the path; the next one of the same path. NULL: none. */
zkl_node_watch *zkl_node_watch_first(const zkl_nodes *nodes, const char *path);
zkl_node_watch *zkl_node_watch_next(const zkl_node_watch *node_watch);
/* Calls the function for each node watch. It may free that one. */
void zkl_node_watches_each(zkl_nodes *nodes, void (*call)(zkl_node_watch *node_watch));

void zkl_node_watch_set_stage(zkl_node_watch *node_watch, zkl_node_watch_stage to);
/* Reads nothing for a moment. */
void zkl_node_watches_pause(zkl_nodes *nodes);
/* Frees the content that the host has not taken. */
void zkl_node_watch_clear(zkl_node_watch *node_watch);

/* How many of the library's watches it may have. A question about the children of a missing node
 * also sets a watch on its data, if the node has been created meanwhile. */
unsigned zkl_node_watch_most(bool children);
/* Whether the library has that watch for it. */
bool *zkl_node_watch_flag(zkl_node_watch *node_watch, bool list);

#endif
