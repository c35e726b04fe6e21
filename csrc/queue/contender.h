/* contender: one caller's place in a line, from the moment it joins until its node is known to be gone. What the host
 * sees of it is its phase; what the servers have of it is its node. The phase is moved here, the node by line.c. */
#ifndef ZKL_CONTENDER_H
#define ZKL_CONTENDER_H

#include "port/context.h"
#include "base/status.h"
#include "recipe/verdict.h"

typedef struct zkl_contender zkl_contender;
typedef struct zkl_line zkl_line;

typedef enum zkl_phase {
    ZKL_WAITING,
    ZKL_HELD,
    ZKL_OVER /* failed, released or lost: what is left is to see the node gone */
} zkl_phase;

typedef enum zkl_node {
    ZKL_NODE_NONE,   /* not at the servers; for a waiter the line makes it when there is a link */
    ZKL_NODE_ASKED,  /* a create is on its way: its answer moves on */
    ZKL_NODE_LOST,   /* the answer to the create was lost: the next synced list tells */
    ZKL_NODE_THERE,  /* known by name */
    ZKL_NODE_ERASING /* a delete is on its way: its answer moves on */
} zkl_node;

/* What the host does to a contender: one in a line, or one that stands for several (group.c). */
typedef struct zkl_contender_table {
    zkl_status (*release)(zkl_contender *c);
    void (*cancel)(zkl_contender *c, zkl_status status);
    void (*drop)(zkl_contender *c);
    void (*free)(zkl_contender *c);
} zkl_contender_table;

/* What a contender is a part of: it hears of it in the place of the host. */
typedef struct zkl_compound zkl_compound;
struct zkl_compound {
    void (*changed)(zkl_compound *compound);
    void (*revoked)(zkl_compound *compound, zkl_contender *part);
    /* Its node has to be made; NULL: the line makes it. */
    void (*wanted)(zkl_compound *compound);
};

struct zkl_contender {
    zkl_receiver
        receiver; /* its number is the node's half of the GUID; a new one for every create */
    const zkl_contender_table *call;
    zkl_compound *compound; /* NULL: none, it is the host's */
    zkl_context *context;
    zkl_line *line;             /* NULL once retired */
    zkl_contender *prev, *next; /* the line's members, in order of arrival */

    zkl_contender *ahead, *behind; /* nodes that must go, client-wide, in order of departure */
    uint64_t departure;            /* the place in that order; 0: not in it */

    zkl_phase phase;
    zkl_node node;
    zkl_status outcome; /* of one that is over: ZKL_OK when it was released */
    char *name;         /* of the node below the line's path, once known */
    int64_t token;      /* the node's czxid; 0 while not known */
    int64_t
        borrowed; /* a read taken under a write: the write's token, which is the read's as well; else 0 */
    int32_t sequence;    /* ... and the write's sequence, which the read's node bears */
    zkl_watch watch;     /* on its own node */
    bool reading;        /* its own node is being read, without a watch */
    zkl_post post;       /* in a round of those who are not watched: see patrol.h */
    bool first;          /* as far as the snapshot tells, nobody is before it */
    bool review;         /* its blocker went: the line looks at it again */
    bool queued;         /* it was seen behind somebody, with the node that it has */
    bool settled;        /* it has waited already: it is never too many (crowd.h) */
    bool seen;           /* found in the list that is being read; lost: `candidate` is set */
    bool asking, looked; /* lost: whose `candidate` is; those up to `candidate` are not ours */
    int32_t candidate;   /* lost: sequence of a child that may be its node */
    bool blocked;        /* `blocker` is set */
    int32_t blocker;     /* sequence of the child it waits for */
    bool shielded;       /* `second` is set */
    int32_t second;   /* sequence of the nearest before the blocker, which it would wait for next */
    unsigned parents; /* the line's round of parents that its create was sent after */

    zkl_terms terms;
    zkl_nanos hold_until; /* held: ZKL_NEVER, or the moment at which max_hold is over */
    zkl_timer
        timer; /* waiting: the deadline; held: the watch, max_hold; over: tries the delete again */
    zkl_nanos patience; /* over: the pause before that */
    zkl_status
        refused; /* over: what the latest delete was answered, if that was a refusal; else ZKL_OK */

    bool hosted;  /* the host still has it */
    bool revoked; /* somebody has asked for it back */
    zkl_event answer, loss, revocation;
};

/* Waiting, without a node; `tag` is the host's number for it, unless it is part of a whole. */
void zkl_contender_init(zkl_contender *c, zkl_context *context, uint64_t tag,
                        const zkl_terms *terms, zkl_compound *compound);

/* The legal moves of the phase; each tells the host what it must hear. */
void zkl_contender_granted(zkl_contender *c);                   /* WAITING -> HELD */
void zkl_contender_failed(zkl_contender *c, zkl_status status); /* WAITING -> OVER */
void zkl_contender_lost(zkl_contender *c);                      /* HELD -> OVER */
void zkl_contender_released(zkl_contender *c);                  /* HELD -> OVER */

/* Somebody asks for it back: the host hears so once, when it holds. */
void zkl_contender_revoked(zkl_contender *c);

/* Enters the order of departure: `flush` waits for it. */
void zkl_contender_depart(zkl_contender *c);
/* Its node is gone and it is no member any more: it is freed as soon as the host has let go. */
void zkl_contender_retire(zkl_contender *c);
/* The host lets go: it hears nothing more. What is held or waited for is the line's to end first. */
void zkl_contender_unhost(zkl_contender *c);

/* The moment until which the servers cannot have given the lock away; 0 when it is not held. */
zkl_nanos zkl_contender_trusted_until(const zkl_contender *c);

/* Frees those that are both retired and let go. */
void zkl_contenders_sweep(zkl_context *context);

#endif
