/* node_state: what a shared node is made of (node.h), and the few things that every
 * room of it does. Only they change it; invariants.c looks at it. */
#ifndef ZKL_SHARED_NODE_STATE_H
#define ZKL_SHARED_NODE_STATE_H

#include "line/line_state.h"

/* The knowledge about the waiters behind a shared node. */
typedef enum zkl_remote_waiters {
    ZKL_REMOTE_WAITERS_UNKNOWN, /* somebody may be there: a list tells, if there is one */
    /* the servers will tell when somebody comes, or are asked now and then */
    ZKL_REMOTE_WAITERS_NONE,
    /* somebody was there: enough to end the shared node in its time; none asks again */
    ZKL_REMOTE_WAITERS_SOME
} zkl_remote_waiters;

typedef struct zkl_shared_node zkl_shared_node;
struct zkl_shared_node {
    zkl_compound compound; /* hears of the node */
    zkl_listener listener; /* hears of the line */
    zkl_context *context;
    zkl_line *line;
    zkl_kind kind;       /* LOCK, READ or WRITE */
    zkl_sharing sharing; /* of the latest caller */
    bool dirty;          /* in common->dirty_nodes */
    zkl_list_item item;

    zkl_contender *contender; /* in the line; NULL only inside a step */
    zkl_list holders;         /* callers that hold it: of READ any number, else one at most */
    zkl_list waiting;         /* callers, in order of arrival */
    size_t waiters;           /* how many those are */
    size_t impatient;         /* of those: how many try only once (terms.once) */
    /* sharers of those that are let in only among so many (terms.max_waiting) */
    zkl_list bounded;
    zkl_list resting; /* those who have given it back, and may take it again at once */

    bool sealed;    /* it goes when its holder has ended */
    bool entered;   /* the node was seen to be held: its queue is behind it */
    bool watch_own; /* it has asked for the watch on its own node, which the line renews */
    bool idle;      /* nobody here wants it: it goes when the timer fires */
    zkl_nanos idle_since;
    uint64_t turn; /* grants on this node */
    /* READ: the shared node of the write under which its node was taken, while that is held: nobody
     * else gets in. WRITE: the other way round. */
    zkl_shared_node *under, *lent;
    uint64_t before; /* READ: on the node of that write, grants before that one */
    uint32_t lists;  /* READ: the latest list (line->lists) that it has looked at */
    zkl_remote_waiters remote_waiters;
    uint64_t counted; /* grants since ZKL_REMOTE_WAITERS_NONE was left */
    zkl_nanos since;  /* until when nobody was there: a stint is counted from then */
    /* nobody holds it, and somebody waits for validity alone: as in a contender that is first */
    zkl_nanos patience;
    zkl_timer timer;
};

/* A caller on a shared node. */
typedef struct zkl_sharer {
    zkl_contender contender;
    zkl_shared_node *shared;      /* NULL: it is over, and does not rest on one */
    const zkl_contender *witness; /* in doubt: the node with which it held */
    zkl_list_item bounded;        /* shared->bounded */
    /* the host has it back, and may take it again (zkl_sharer_rest) */
    bool rested;
} zkl_sharer;

/* Of a contender that is known to be one. */
zkl_sharer *zkl_sharer_of(zkl_contender *c);
zkl_nanos zkl_shared_node_now(const zkl_shared_node *shared);
/* The end of the step goes on with it. */
void zkl_shared_node_mark_dirty(zkl_shared_node *shared);
/* NULL: nobody does. */
zkl_contender *zkl_shared_node_waiter(const zkl_shared_node *shared);
zkl_contender *zkl_shared_node_holder(const zkl_shared_node *shared);
/* The only setter of the knowledge about the waiters behind it. */
void zkl_shared_node_set_remote_waiters(zkl_shared_node *shared, zkl_remote_waiters remote_waiters);
bool zkl_shared_node_sealed(const zkl_shared_node *shared);
/* The one of that kind in which everybody here may take part: one that is not sealed, if there is
 * such a one. NULL: there is none. */
zkl_shared_node *zkl_shared_node_find(const zkl_line *line, zkl_kind kind);

#endif
