/* SPDX-License-Identifier: MIT */
/* node_state: the data of a shared node (node.h), and the functions on it that every room of it
 * needs. Only these rooms change it; spec/unit/invariants_line.c reads it. */
#ifndef ZKL_SHARED_NODE_STATE_H
#define ZKL_SHARED_NODE_STATE_H

#include "line/line_state.h"

/* The client's knowledge of the waiters behind a shared node. */
typedef enum zkl_remote_waiters {
    ZKL_REMOTE_WAITERS_UNKNOWN, /* there may be one: a list shows it, if the client can get one */
    /* a watch reports newcomers, or the client polls */
    ZKL_REMOTE_WAITERS_NONE,
    /* there was one: enough to end the shared node in time; the client asks no more */
    ZKL_REMOTE_WAITERS_SOME
} zkl_remote_waiters;

typedef struct zkl_shared_node zkl_shared_node;
struct zkl_shared_node {
    zkl_contender_listener node_listener; /* hears of the node */
    zkl_listener listener;                /* hears of the line */
    zkl_context *context;
    zkl_line *line;
    zkl_kind kind;       /* LOCK, READ or WRITE */
    zkl_sharing sharing; /* of the caller that came last */
    bool dirty;          /* in common->dirty_nodes */
    zkl_list_item item;

    zkl_contender *contender; /* in the line; NULL only within a step */
    /* callers that hold it: of READ any number, otherwise at most one */
    zkl_list holders;
    zkl_list waiting; /* callers, in order of arrival */
    size_t waiters;   /* how many there are in `waiting` */
    size_t impatient; /* how many of them try only once (terms.once) */
    /* sharers of the callers with a bound on waiters (terms.max_waiting) */
    zkl_list bounded;
    zkl_list resting; /* callers that have released it, and may take it again at once */

    bool sealed;    /* it goes once its holder has ended */
    bool entered;   /* the node has held before: its queue is behind it */
    bool watch_own; /* it has asked for the watch on its own node, which the line renews */
    bool idle;      /* no caller wants it: it goes when the timer fires */
    zkl_nanos idle_since;
    uint64_t turn; /* how many grants there were on this node */
    /* READ: the shared node of the write under which its node was taken, while the write is held:
     * no other caller gets in. WRITE: the reverse. */
    zkl_shared_node *under, *lent;
    uint64_t before; /* READ: how many grants came before this one on the node of that write */
    uint32_t lists;  /* READ: the latest list (line->lists) that it has seen */
    zkl_remote_waiters remote_waiters;
    zkl_nanos since; /* until when nobody was behind it: a stint counts from then */
    /* no caller holds it, and one waits for validity alone: as in a contender that is first */
    zkl_nanos patience;
    zkl_timer timer;
};

/* A caller on a shared node. */
typedef struct zkl_sharer {
    zkl_contender contender;
    uint64_t turn;                /* which grant it is; 0: it has had none */
    zkl_shared_node *shared;      /* NULL: it has ended, and does not rest on one */
    const char *path;             /* of its line; only for a sharer that waits, holds or rests */
    const zkl_contender *witness; /* in doubt: the node with which it held */
    zkl_list_item bounded;        /* shared->bounded */
    /* the host has it back, and may take it again (zkl_sharer_rest) */
    bool rested;
} zkl_sharer;

/* The contender must be a sharer. */
zkl_sharer *zkl_sharer_of(zkl_contender *c);
zkl_nanos zkl_shared_node_now(const zkl_shared_node *shared);
/* Marks it for the end of the step. */
void zkl_shared_node_mark_dirty(zkl_shared_node *shared);
/* The first waiter; NULL: none. */
zkl_contender *zkl_shared_node_waiter(const zkl_shared_node *shared);
zkl_contender *zkl_shared_node_holder(const zkl_shared_node *shared);
/* The only setter of `remote_waiters`. */
void zkl_shared_node_set_remote_waiters(zkl_shared_node *shared, zkl_remote_waiters remote_waiters);
bool zkl_shared_node_sealed(const zkl_shared_node *shared);
/* The shared node of that kind that any caller here may join: preferably one that is not sealed.
 * NULL: there is none. */
zkl_shared_node *zkl_shared_node_find(const zkl_line *line, zkl_kind kind);

#endif
