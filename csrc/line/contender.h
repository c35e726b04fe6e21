/* SPDX-License-Identifier: MIT */
/* contender: one caller in a line, from its join until its node is known to be gone. The host sees
 * its phase, which only contender.c changes; the servers have its node.
 * docs/internals/invariants.md has a table of the legal states, which zkl_invariants_check checks;
 * contender.c has a table of the legal changes. */
#ifndef ZKL_CONTENDER_H
#define ZKL_CONTENDER_H

#include "base/status.h"
#include "line/line_common.h"
#include "paths/node_budget.h"
#include "recipe/verdict.h"

typedef struct zkl_contender zkl_contender;
typedef struct zkl_line zkl_line;
/* For a wait that may become slow (slow.h). */
typedef struct zkl_slow zkl_slow;
struct zkl_slow {
    void (*wait_over)(zkl_contender *c); /* the caller no longer waits */
};

typedef enum zkl_phase {
    ZKL_WAITING,
    ZKL_HELD,
    ZKL_OVER /* failed, released or lost: only its node still has to go */
} zkl_phase;

/* The position of a waiter, according to the snapshot of its line. */
typedef enum zkl_position {
    ZKL_POSITION_UNKNOWN, /* not evaluated yet, or its blocker has gone since */
    ZKL_POSITION_FIRST,   /* no node is before it */
    ZKL_POSITION_BEHIND,  /* it waits until the child with the sequence `blocker` is gone */
    ZKL_POSITION_FULL     /* a lease: it waits until there are fewer */
} zkl_position;

/* The event after which a waiter is evaluated again (followers.h). */
typedef enum zkl_follows {
    ZKL_FOLLOWS_NOBODY,
    ZKL_FOLLOWS_BLOCKER, /* the end of the child with the sequence `blocker` */
    ZKL_FOLLOWS_LEASES,  /* the end of any lease */
    ZKL_FOLLOWS_MARKED   /* it has happened: the end of the step evaluates it */
} zkl_follows;

/* The state of the search for a node whose create's answer was lost (recover.h). */
typedef enum zkl_search {
    ZKL_SEARCH_NONE, /* not begun */
    /* a request asks which session created the child with the sequence `candidate` */
    ZKL_SEARCH_ASKED,
    ZKL_SEARCH_RESTART /* the same, but a newer list has come: the search begins again */
} zkl_search;

/* The meaning of a witness's end for a contender in doubt (doubt.h). */
typedef enum zkl_testimony {
    ZKL_TESTIMONY_NONE, /* it did not hold with that node */
    ZKL_TESTIMONY_ONE,  /* it did, and the end of other nodes is still open */
    ZKL_TESTIMONY_LAST, /* it did, and that was the last one */
    ZKL_TESTIMONY_ONLY  /* it did, with no other node, and so did others perhaps */
} zkl_testimony;

/* Where a contender waits. */
typedef struct zkl_waits {
    const zkl_contender *node; /* the one in a line with whose node it waits; NULL: none now */
    zkl_line *line;            /* whose holder it waits for; NULL: none now */
    size_t index;              /* of the path of a multilock */
    bool failed; /* the wait of a multilock has failed there, as the servers have shown */
} zkl_waits;

/* The host's calls on a contender: one in a line, or the head of a compound (compound.c). */
typedef struct zkl_contender_table {
    zkl_status (*release)(zkl_contender *c);
    /* the same, but no other caller takes the node over */
    zkl_status (*give_up)(zkl_contender *c);
    void (*cancel)(zkl_contender *c, zkl_status status);
    /* While it is held: the timer that zkl_contender_set_hold_timer sets has fired. */
    void (*hold_timer)(zkl_contender *c);
    void (*drop)(zkl_contender *c);
    void (*free)(zkl_contender *c);
    /* The index-th contender that has a node of the hold or wait; NULL: no more. */
    const zkl_contender *(*part)(const zkl_contender *c, size_t index);
    /* A caller that guards writes by the node of this hold may write after it: the node ends with
     * the hold. NULL: it does anyway. */
    void (*seal)(zkl_contender *c);
    /* While it waits, or once its wait has failed. */
    zkl_waits (*waits)(const zkl_contender *c);
    /* For a contender in doubt that is in no line. It does not check the node again. */
    zkl_testimony (*heard)(zkl_contender *c, const zkl_contender *witness);
    /* For the trace: the path of its line, with the chroot; of a compound, the first one. */
    const char *(*path)(const zkl_contender *c);
} zkl_contender_table;

/* How many contenders of a line wait and hold, by kind. */
typedef struct zkl_tally {
    uint32_t waiting[ZKL_KINDS], held[ZKL_KINDS];
    /* how many of the waiters have a bound on waiters (terms.max_waiting) */
    uint32_t bounded;
    zkl_dispatch_tally dispatch;
} zkl_tally;

/* Hears of a contender: the host, or the compound or shared node that it is a part of. */
typedef struct zkl_contender_listener {
    void (*changed)(zkl_contender *c); /* its phase */
    void (*revoked)(zkl_contender *c); /* somebody asks for its release */
    /* It needs a new node, which the listener creates together with others. NULL: the line creates
     * it. */
    void (*wanted)(zkl_contender *c);
} zkl_contender_listener;

/* The host, which gets events. */
extern zkl_contender_listener zkl_listener_host;
/* The host in the call that joins, which returns the grant. */
extern zkl_contender_listener zkl_listener_host_in_call;
/* Nobody: the contender was dropped, and is freed once its node is gone. */
extern zkl_contender_listener zkl_listener_nobody;

/* The caller's terms that matter after the join (zkl_terms in zklock.h). */
typedef struct zkl_demand {
    zkl_kind kind : 8;
    bool once, job;
    uint8_t name; /* the number of the counts that it belongs to */
    uint32_t permits, max_waiting;
    zkl_nanos max_hold;
} zkl_demand;

/* A read that the owner of a write takes under it has the write's token and sequence as its own.
 * Every other contender has zeros, except for `lent`. */
typedef struct zkl_under {
    int64_t token;   /* of the read: the write's, else 0 */
    uint64_t lender; /* of the read: the number of that write */
    int32_t sequence;
    bool lent; /* of a write: a read was taken under it */
} zkl_under;

/* A waiter's position in its line, and the child whose end concerns it. */
typedef struct zkl_queueing {
    zkl_position position : 8;
    zkl_follows follows : 8;
    bool queued; /* a snapshot has shown its current node behind another one */
    /* it has waited before, with an earlier node: it is never refused as one too many
     * (evaluate.h) */
    bool settled;
    int32_t blocker; /* BEHIND: the sequence of the child it waits for */
    /* BEHIND: the sequence of the nearest child before the blocker, its next blocker */
    int32_t second;
    bool has_second;
    uint8_t anew; /* how often its node has gone while it waited, as far as that matters */
    zkl_list_item follower;      /* in the list that `follows` names */
    zkl_list_item next_follower; /* has_second: in the list of its second */
} zkl_queueing;

/* The search for a node whose create's answer was lost. */
typedef struct zkl_recovery {
    zkl_search search : 8;
    int32_t candidate;
} zkl_recovery;

/* The end of a contender that is over, until its node is gone. */
typedef struct zkl_ending {
    zkl_list_item leaving; /* common->departing */
    /* its number in the order of departure; 0: it is not in common->departing */
    uint64_t departure;
    /* why the servers have refused the latest delete; ZKL_OK: they have not */
    zkl_status refused;
    uint8_t erases;    /* how many deletes may have been carried out; 2: or more */
    bool doubtful : 1; /* it was released, and one more event is to come (doubt.h) */
    bool unsure : 1;   /* doubtful: its release answered ZKL_UNKNOWN */
    bool witness;      /* the end of its node ends a doubt: its own, or that of others */
    zkl_loss loss : 8; /* of one that is lost: why */
} zkl_ending;

struct zkl_contender {
    /* gets the answers about its node; its number is the node's half of the GUID, and each create
     * changes it */
    zkl_receiver receiver;
    const zkl_contender_table *call;
    zkl_contender_listener *listener; /* never NULL */
    zkl_context *context;
    zkl_line_common *common;
    zkl_line *line;       /* NULL once retired */
    zkl_tally *tally;     /* its line's; NULL: it was never in one */
    zkl_list_item member; /* line->members in order of arrival; once retired: common->retired */

    zkl_phase phase : 8;
    zkl_node node : 8;     /* outbox.h has its states */
    zkl_watch watch : 8;   /* on its own node */
    bool reading;          /* its own node is being read, without a watch */
    zkl_status outcome;    /* of a contender that is over: ZKL_OK if it was released */
    const char *name;      /* of the node below the line's path, once known */
    zkl_node_share share;  /* of its node, from the join until the node is gone */
    zkl_shortage shortage; /* why there was none for it (ZKL_TOO_BIG) */
    /* the node's czxid; 0 while not known. The host reads it without the mutex. */
    _Atomic int64_t token;
    zkl_under under;
    zkl_queueing queue;
    zkl_recovery recovery;
    zkl_ending end;
    zkl_dispatch dispatch; /* of its create or delete */

    unsigned parents; /* before its create the line had sent so many rounds of parents */
    bool seen;    /* the current list contains its node; if that is unknown: contains `candidate` */
    bool is_part; /* of a compound or a shared node: it counts nothing for the host */
    bool revoked; /* somebody has asked for its release */
    bool waited;  /* another holder or waiter was in front of it */

    zkl_demand terms;
    /* HELD: when max_hold ends; ZKL_NEVER: never. 0 if it is not held. The host reads it without
     * the mutex. */
    _Atomic zkl_nanos hold_until;
    union {                    /* a change of the phase clears it */
        zkl_timer deadline;    /* WAITING */
        zkl_timer hold_timer;  /* HELD: when to set the watch on its own node, or max_hold ends */
        zkl_timer erase_timer; /* OVER: when to try the delete again */
    };
    union { /* 0 when the phase changes */
        /* WAITING, if no node is known to be before it: context->unsure when it began to lack only
         * validity (zkl_context_lose_patience) */
        zkl_nanos patience;
        zkl_nanos erase_pause; /* OVER: the latest pause before a delete */
    };
    zkl_post post; /* in a round of polled contenders (polled.h) */
    /* Unless it is a part: since when it waits or holds, and its item in context->waiters or
     * context->holds. */
    zkl_nanos since;
    zkl_list_item age;
    zkl_slow *slow; /* NULL: it does not matter how long it waits (slow.h) */
    zkl_notice answer;
    zkl_notice news; /* a revocation; after that, or instead of it, a loss */
};

/* Initializes a waiter without a node. `tag` is the host's number for it, unless it is a part. */
void zkl_contender_init(zkl_contender *c, zkl_line_common *common, uint64_t tag,
                        const zkl_terms *terms, zkl_contender_listener *listener);

/* It waits until the deadline of these terms; a single try has none. */
void zkl_contender_set_deadline(zkl_contender *c, const zkl_terms *terms);
/* It is held, and c->call->hold_timer has something to do at that moment. */
void zkl_contender_set_hold_timer(zkl_contender *c, zkl_nanos at);

/* The legal changes of the phase. Each reports to the listener. */
void zkl_contender_granted(zkl_contender *c);                   /* WAITING -> HELD */
void zkl_contender_failed(zkl_contender *c, zkl_status status); /* WAITING -> OVER */
void zkl_contender_lost(zkl_contender *c, zkl_loss loss);       /* HELD -> OVER */
void zkl_contender_released(zkl_contender *c);                  /* HELD -> OVER */

/* HELD: it ends so long from now; 0: it has no bound. */
void zkl_contender_extend(zkl_contender *c, zkl_nanos max_hold);
/* A released contender is held again: OVER -> HELD, without an event. Or it can no longer be: the
 * host hears FAILED with ZKL_OK. */
void zkl_contender_held_again(zkl_contender *c);
void zkl_contender_rested(zkl_contender *c);
/* It had lost before it was released, and the host hears of that only now. */
void zkl_contender_had_lost(zkl_contender *c, zkl_loss loss);

/* The setters of its node and its position. */
void zkl_contender_set_node(zkl_contender *c, zkl_node node);
/* If its create or delete was due, it no longer is. */
void zkl_contender_not_due(zkl_contender *c);
void zkl_contender_set_position(zkl_contender *c, zkl_position position);
void zkl_contender_set_search(zkl_contender *c, zkl_search search);

/* Describes a contender for the trace (transitions.h). */
void zkl_contender_describe(const void *object, zkl_transition move, zkl_subject *subject);

/* Somebody asks for its release: once it holds, the host hears of that, one time only. */
void zkl_contender_revoked(zkl_contender *c);

/* Its node must go: from now on a flush waits for that. */
void zkl_contender_depart(zkl_contender *c);
/* The servers have refused to delete its node; ZKL_OK: the client asks again. */
void zkl_contender_refused(zkl_contender *c, zkl_status status);
/* Its node is gone and its line has removed it: it is freed as soon as the host has dropped it. */
void zkl_contender_retire(zkl_contender *c);
/* From now on nobody hears of it. The caller ends its hold or its wait. */
void zkl_contender_drop(zkl_contender *c);

/* Any thread, with or without the mutex: until then the servers cannot have granted the lock to
 * another client; 0 if it is not held. */
zkl_nanos zkl_contender_valid_until(const zkl_contender *c);

/* Frees retired contenders that the host has dropped: the end of every step. */
void zkl_contenders_sweep(zkl_line_common *common);

#endif
