/* contender: one caller in a line, from the moment it joins until its node is known to be gone.
 * Its phase is what the host sees of it, and only contender.c changes the phase; its node is what
 * the servers have of it. docs/internals/invariants.md has a table of the legal states, which
 * zkl_invariants_check compares; contender.c has a table of the legal changes. */
#ifndef ZKL_CONTENDER_H
#define ZKL_CONTENDER_H

#include "base/status.h"
#include "line/line_common.h"
#include "recipe/verdict.h"

typedef struct zkl_contender zkl_contender;
typedef struct zkl_line zkl_line;

typedef enum zkl_phase {
    ZKL_WAITING,
    ZKL_HELD,
    ZKL_OVER /* failed, released or lost: all that is left to do is to see the node gone */
} zkl_phase;

typedef enum zkl_node {
    /* the servers have none; for a waiter one is created as soon as there is a link */
    ZKL_NODE_NONE,
    ZKL_NODE_ASKED,   /* a create is on its way: its answer goes on */
    ZKL_NODE_UNKNOWN, /* the answer to the create was lost: the next synced list tells */
    ZKL_NODE_THERE,   /* known by name */
    ZKL_NODE_ERASING  /* a delete is on its way: its answer goes on */
} zkl_node;

/* Where a waiter stands, as far as the snapshot of its line tells. */
typedef enum zkl_position {
    ZKL_POSITION_UNKNOWN, /* not looked at yet, or whoever it waited for has gone since */
    ZKL_POSITION_FIRST,   /* nobody is before it */
    ZKL_POSITION_BEHIND,  /* it waits until the child with the sequence `blocker` is gone */
    ZKL_POSITION_FULL     /* a lease: it waits until there are fewer */
} zkl_position;

/* Whose going has it looked at again (followers.h). */
typedef enum zkl_follows {
    ZKL_FOLLOWS_NOBODY,
    ZKL_FOLLOWS_BLOCKER, /* that of the child with the sequence `blocker` */
    ZKL_FOLLOWS_LEASES,  /* that of any lease */
    ZKL_FOLLOWS_MARKED   /* somebody has gone: it is looked at at the end of the step */
} zkl_follows;

/* How far the search for a node has come whose create's answer was lost (recover.h). */
typedef enum zkl_search {
    ZKL_SEARCH_NONE,  /* not begun */
    ZKL_SEARCH_ASKED, /* the servers were asked who made the child with the sequence `candidate` */
    ZKL_SEARCH_RESTART, /* likewise, but a newer list has come: it is searched from its beginning */
    ZKL_SEARCH_NEXT     /* children up to `candidate` are known not to be ours */
} zkl_search;

/* The meaning that the end of a witness has for a contender in doubt (doubt.h). */
typedef enum zkl_testimony {
    ZKL_TESTIMONY_NONE, /* it did not hold with that node */
    ZKL_TESTIMONY_ONE,  /* it did, and with others of which nothing is known yet */
    ZKL_TESTIMONY_LAST  /* it did, and that was the last one */
} zkl_testimony;

/* The host's calls on a contender: one in a line, or one that stands for several (compound.c). */
typedef struct zkl_contender_table {
    zkl_status (*release)(zkl_contender *c);
    zkl_status (*give_up)(zkl_contender *c); /* the same, and nobody takes over what it held */
    void (*cancel)(zkl_contender *c, zkl_status status);
    void (*drop)(zkl_contender *c);
    void (*free)(zkl_contender *c);
    /* While it holds: the index-th of those that have the nodes it holds with; NULL: no more. For
     * those who tell somebody of the nodes. */
    zkl_contender *(*part)(zkl_contender *c, size_t index);
    /* Of one in no line that is in doubt. It does not look at the node again. */
    zkl_testimony (*heard)(zkl_contender *c, const zkl_contender *witness);
} zkl_contender_table;

/* How many of a line's contenders wait and hold, by kind. */
typedef struct zkl_tally {
    uint32_t waiting[ZKL_KINDS], held[ZKL_KINDS];
    /* how many of those who wait are let in only among so many (terms.max_waiting) */
    uint32_t bounded;
} zkl_tally;

/* What a contender may be a part of (compound.c): it is told what becomes of its parts, where
 * otherwise the host is. */
typedef struct zkl_compound zkl_compound;
struct zkl_compound {
    void (*changed)(zkl_compound *compound);
    void (*revoked)(zkl_compound *compound, zkl_contender *part);
    /* The part needs a new node, which the compound creates together with others. NULL: the line
     * creates it. */
    void (*wanted)(zkl_compound *compound);
};

/* The caller's terms, as far as they matter later (zkl_terms in zklock.h). */
typedef struct zkl_demand {
    zkl_kind kind : 8;
    bool once;
    uint32_t permits, max_waiting;
    zkl_nanos max_hold;
} zkl_demand;

struct zkl_contender {
    /* gets the answers about its node; its number is the node's half of the GUID, and changes with
     * every create */
    zkl_receiver receiver;
    const zkl_contender_table *call;
    zkl_compound *compound; /* NULL: it is part of none, and the host is told of it */
    zkl_context *context;
    zkl_line_common *common;
    zkl_line *line;        /* NULL once retired */
    zkl_tally *tally;      /* its line's; NULL: it never was in one */
    zkl_list_item member;  /* line->members in order of arrival; once retired: common->retired */
    zkl_list_item leaving; /* common->departing */
    /* its number in the order of departure; 0: it is not in common->departing */
    uint64_t departure;

    zkl_phase phase : 8;
    zkl_node node : 8;
    zkl_watch watch : 8; /* on its own node */
    bool reading;        /* its own node is being read, without a watch */
    zkl_status outcome;  /* of one that is over: ZKL_OK when it was released */
    char *name;          /* of the node below the line's path, once known */
    int64_t token;       /* the node's czxid; 0 while not known */
    /* A read taken under a write of the same owner has the write's token and sequence for its own;
     * else 0. */
    int64_t borrowed;
    uint64_t lender; /* the number of that write */
    int32_t sequence;
    bool lent;     /* of a write: such a read was taken under it */
    bool hosted;   /* the host still has it */
    bool mute;     /* the host is in the call that joins, and sees what becomes of it */
    bool revoked;  /* somebody has asked for it back */
    uint64_t turn; /* on a shared node: which grant it is; else 0 */
    zkl_post post; /* in a round of those who are not watched (polled.h) */

    zkl_position position : 8;
    zkl_follows follows : 8;
    bool queued; /* it was seen behind somebody, with the node that it has */
    /* it has waited before, with an earlier node: it is never one too many (evaluate.h) */
    bool settled;
    int32_t blocker; /* BEHIND: the sequence of the child it waits for */
    /* BEHIND: `second` is the sequence of the nearest one before the blocker, its next blocker */
    int32_t second;
    bool has_second;
    uint8_t anew; /* how often its node was gone while it waited, as far as that matters */
    bool seen; /* its node is in the list that is being read; of a lost one: `candidate` is in it */
    zkl_search search : 8;
    zkl_list_item follower;      /* in the list that `follows` says */
    zkl_list_item next_follower; /* has_second: in that of its second */
    int32_t candidate;
    unsigned parents; /* the line's round of creating parents that its create was sent after */

    zkl_demand terms;
    /* Held: when max_hold is over, ZKL_NEVER: it has none. 0 when it is not held. The host reads it
     * without the mutex. */
    _Atomic zkl_nanos hold_until;
    /* Waiting: the deadline. Held: when to arm the watch on its own node, or the end of max_hold.
     * Over: when to try the delete again. */
    zkl_timer timer;
    /* Over: the pause before the next delete. Waiting, and nobody is known to be before it: how
     * unsure the client was of its session when it began to wait for that alone
     * (zkl_context_gives_up); else 0. */
    zkl_nanos patience;
    zkl_status refused; /* over: how the servers refused the latest delete; ZKL_OK: they have not */
    uint8_t erases;     /* how many deletes of its node may have been done; 2: or more */
    bool doubtful;      /* over: its release answered ZKL_UNKNOWN, and one more event is to come */
    bool witness;       /* what becomes of its node ends a doubt: its own, or that of others */
    zkl_event answer;
    zkl_event news; /* somebody asks for it back; and after that, or instead of it, it is lost */
};

/* A waiter without a node. `tag` is the host's number for it, unless it is part of a compound. */
void zkl_contender_init(zkl_contender *c, zkl_line_common *common, uint64_t tag,
                        const zkl_terms *terms, zkl_compound *compound);

/* The legal changes of the phase. Each tells the host, or the compound, what it must hear. */
void zkl_contender_granted(zkl_contender *c);                   /* WAITING -> HELD */
void zkl_contender_failed(zkl_contender *c, zkl_status status); /* WAITING -> OVER */
void zkl_contender_lost(zkl_contender *c);                      /* HELD -> OVER */
void zkl_contender_released(zkl_contender *c);                  /* HELD -> OVER */

/* A released contender is held again, or cannot be any more: OVER -> HELD without a word; or the
 * host hears FAILED with ZKL_OK. */
void zkl_contender_held_again(zkl_contender *c);
void zkl_contender_rested(zkl_contender *c);
/* It had lost before it was released: only now the host hears so. */
void zkl_contender_had_lost(zkl_contender *c);

/* The only setter of the knowledge about its node and its place. */
void zkl_contender_set_node(zkl_contender *c, zkl_node node);
void zkl_contender_set_position(zkl_contender *c, zkl_position position);
void zkl_contender_set_search(zkl_contender *c, zkl_search search);

/* Somebody asks for it back: once it holds, the host hears so, one time only. */
void zkl_contender_revoked(zkl_contender *c);

/* Its node must go: from now on queries for a flush wait for that. */
void zkl_contender_depart(zkl_contender *c);
/* The servers have refused to delete its node; ZKL_OK: they are asked again. */
void zkl_contender_refused(zkl_contender *c, zkl_status status);
/* Its node is gone and its line has removed it: it is freed as soon as the host has let go of it,
 * too. */
void zkl_contender_retire(zkl_contender *c);
/* The host lets go of it and hears nothing more. A hold or a wait is the caller's to end. */
void zkl_contender_unhost(zkl_contender *c);

/* Any thread, with or without the mutex: the moment until which the servers cannot have given the
 * lock away; 0 when it is not held. */
zkl_nanos zkl_contender_valid_until(const zkl_contender *c);

/* Frees those that are retired and that the host has let go of: the end of every step. */
void zkl_contenders_sweep(zkl_line_common *common);

#endif
