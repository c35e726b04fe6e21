/* SPDX-License-Identifier: MIT */
/* host: a process with a client in it, and a script that does what scripts do: it joins lines,
 * polls late or not at all, gives back, drops, closes in the middle and opens another. */
#ifndef HOST_H
#define HOST_H

#include "machine.h"

#include "zklock_host.h"

typedef struct sim_host sim_host;
typedef struct sim_session sim_session;
typedef struct sim_node_request sim_node_request;
typedef struct sim_look sim_look;
typedef struct sim_ask sim_ask;

/* The places that are locked; a place may be several directories. */
typedef enum sim_place {
    PLACE_A,
    PLACE_B,
    PLACE_SHARED, /* readers and writers */
    PLACE_POOL,   /* a semaphore */
    PLACES,
    PLACES_MOST = PLACES + 40 /* behind them come the lines of a history that has many (lines) */
} sim_place;

#define PERMITS 3
#define CALLERS_MOST 6
/* How many places there are, with the lines. */
int sim_places(void);
/* Absolute, for all hosts: in a client's chroot or not. */
const char *sim_place_path(sim_place place);
#define SIM_ROOT "/locks"
/* Bytes of watches on nodes that are no locks, where the servers take little. */
#define SIM_NOTES_WATCHED 60

typedef struct sim_loss sim_loss; /* losses */

typedef struct sim_caller {
    struct sim_caller *next;
    sim_host *host;
    zkl_contender *contender;
    uint64_t tag;
    zkl_kind kind;
    uint64_t places; /* bits: of a multilock several */
    unsigned leases; /* of a semaphore */
    bool is_whole;   /* a multilock */
    bool is_under;   /* a read under a write */
    bool is_shared;  /* on a node that others of this client use in turn */
    bool tries_once; /* its timeout is 0 */
    unsigned answers, losses;
    bool is_granted, is_released;
    bool is_doubtful; /* it was released, and one more event is to come */
    bool was_held;    /* at its release, as far as the judge can see */
    bool is_patient;  /* the script waits for that event */
    /* losses: a node that an operator has deleted before the release, the session then, and what
     * became of it is known */
    const sim_loss *robbed;
    int64_t session;
    bool is_concluded;
    bool is_given_up; /* its place was given up: it hears ZKL_DISCONNECTED (slow) */
    bool is_judged;   /* the hold has been looked at (judge) */
    zkl_status status;
    int64_t token;
    zkl_nanos called;   /* when it joined, by the world's clock */
    uint64_t write;     /* is_under: the tag of that write */
    zkl_nanos joined;   /* by the host's clock */
    zkl_nanos deadline; /* by the host's clock; ZKL_NEVER: none, or a single try */
    sim_event turn;     /* when the script goes on with it */
    zkl_nanos first_at; /* since when nobody has been in front of it (lines); 0: somebody is */
} sim_caller;

typedef struct sim_question {
    struct sim_question *next;
    zkl_query *query;
    uint64_t tag;
    bool is_answered;
    zkl_status status;
    bool is_of_past; /* no node had that token when it was asked: yes would be wrong */
    /* the session of a hold that was over when it was asked, 0: there is none; yes would be wrong
     * as long as the client has it. The servers may keep it longer, and the node with it */
    int64_t ended_in;
} sim_question;

struct sim_host {
    sim_machine machine; /* first */
    zkl_client *client;  /* NULL: closed, and let go of */
    unsigned opened;     /* how many clients it has had */
    const char *hosts;
    const char *chroot;
    bool is_secured;
    double session_timeout;
    size_t watches_most; /* 0: as many as usual */
    size_t nodes_most;   /* bytes of ephemeral nodes; 0: as many as usual */
    /* its client has not removed watches for a while at least: the servers are Keeper's, or they
     * have twice ended its session just when it removed one */
    bool leaves_watches;
    bool is_forged;        /* strangers have made nodes with its names */
    unsigned callers_most; /* CALLERS_MOST, or more */
    sim_caller *callers;
    sim_question *questions;
    uint64_t tags;
    /* the clerk's */
    bool has_notes; /* it reads, writes and watches nodes besides locks */
    bool is_cut;    /* its link may break just when it writes */
    sim_event cut;
    bool is_robbed; /* operators take away what it holds just when it writes */
    sim_node_request *requests;
    sim_look *looks;
    int64_t floor;  /* what it has been shown was so then, or is younger */
    unsigned made;  /* the write that made a node which it has not asked to have deleted yet */
    bool has_marks; /* it asks for marks of mutexes, and writes them (marks) */
    sim_ask *asks;
    sim_event poll;
    zkl_nanos lateness;        /* of its polls, at most */
    bool is_resting;           /* no faults any more: gives back soon */
    uint64_t looked_at;        /* the judge's: how many holds it had seen */
    uint64_t lost;             /* ... and how many losses */
    uint64_t given_up;         /* ... and how many places it had given up */
    zkl_nanos throttled_since; /* ... and how often it was refused for now since then */
    unsigned throttled;
    sim_session *session; /* ... and the session that it looked at last */
    zkl_nanos trusted;
};

/* With these anything that a host asks for may end: with its time, its session, or its servers'
 * refusal. */
bool sim_host_may_hear(zkl_status status);

void sim_host_begin(sim_host *host, int id);
void sim_host_open(sim_host *host);
/* The script goes; its client ends on its own. */
void sim_host_close(sim_host *host);
/* Whatever of it is due after its code has run. */
void sim_host_ran(sim_host *host);

/* ---- deeds; each does nothing if it cannot be done now ---- */

void sim_host_join(sim_host *host);
void sim_host_join_line(sim_host *host, sim_place place);
void sim_host_touch(sim_host *host); /* cancels, gives back, drops: one of its callers */
void sim_host_release_some(sim_host *host);
void sim_host_ask(sim_host *host);
/* A fault: a caller waits past its deadline, although nothing keeps the host from telling it. */
void sim_host_check_deadlines(const sim_host *host);
zkl_query *sim_host_flush(sim_host *host);
/* Answered with ZKL_OK? */
bool sim_host_flushed(sim_host *host);
void sim_host_rest(sim_host *host);
bool sim_host_is_idle(const sim_host *host); /* nobody of it waits or holds */

#endif
