/* SPDX-License-Identifier: MIT */
/* fake_port: a client as the engine builds it, but on a fake connection to fake servers, under a
 * clock that only the test moves. Requests wait in order until the test has them carried out; what
 * the servers say waits in order until the test has it delivered. Between the two the link may be
 * cut. Some rules of the protocol are checked as it goes. */
#ifndef FAKE_PORT_H
#define FAKE_PORT_H

#include "compound/compound.h"
#include "fake_quorum.h"
#include "fake_servers.h"
#include "nodes/node_request.h"
#include "nodes/node_watch.h"
#include "once/once.h"
#include "query/query.h"
#include "shared/node_state.h"
#include "zookeeper/heart.h"

/* The host's part: a contender, and what it was told of it. */
typedef struct fake_caller {
    struct fake_caller *next;
    struct fake_client *client;
    zkl_contender *contender;
    uint64_t tag;
    zkl_nanos deadline; /* of its wait */
    unsigned answers, losses, revocations, rests;
    uint64_t answered_at, lost_at; /* the how-manieth event of the client that was */
    bool granted;
    zkl_status status; /* of the answer */
    int64_t token;
    unsigned note; /* the test's own */
    bool shares;   /* a shared node */
    bool doubts;   /* it was released, and one more event is to come */
} fake_caller;

#define FAKE_NODE_REQUESTS 128

typedef struct fake_client {
    zkl_port port;
    fake_servers *servers;
    struct fake_client *next;
    zkl_context context;
    zkl_lines lines;
    zkl_queries queries;
    _Atomic zkl_state state;
    zkl_nodes nodes;
    zkl_onces onces;
    zkl_status answers[FAKE_NODE_REQUESTS]; /* of node requests, by tag */
    /* changes: of views, by tag */
    unsigned answered[FAKE_NODE_REQUESTS], changes[FAKE_NODE_REQUESTS];
    fake_caller *callers;
    uint64_t tags, events;

    bool alive;   /* the servers have its session */
    int64_t view; /* what its server has seen; FAKE_LATEST: everything */
    int64_t seen; /* the latest zxid it was told */
    zkl_nanos timeout;
    fake_tenure tenure;
    struct fake_item *sent, *inbound, *late;
    struct fake_watch *watches;   /* at the servers */
    struct fake_watch *listeners; /* in the library: told again after a reconnect */
    unsigned counts[FAKE_OPS];    /* requests taken */
    int deaf;   /* what the port says to each request, which it does not take; ZOK: it takes them */
    bool busy;  /* the host does not poll */
    bool beats; /* has heartbeats; else only what the test asks for proves anything */

    zkl_heart heart;
    zkl_nanos settled, started; /* see zkl_link_root */
    bool carried;               /* by a link that has not proven itself yet */
} fake_client;

extern zkl_nanos fake_now; /* the clock of all clients */

/* Not connected yet. */
fake_client *fake_client_new(fake_servers *servers);
/* Whatever it was doing. */
void fake_client_free(fake_client *client);

/* ---- the host's side; each ends as the engine's calls do ---- */

/* NULL: no memory; see scarce.h. */
fake_caller *fake_join(fake_client *client, const char *path, double seconds);
fake_caller *fake_try(fake_client *client, const char *path); /* once */
fake_caller *fake_try_kind(fake_client *client, const char *path, zkl_kind kind);
fake_caller *fake_join_for(fake_client *client, const char *path, double max_hold); /* seconds */
fake_caller *fake_read(fake_client *client, const char *path);
fake_caller *fake_read_under(fake_caller *write, const char *path);
fake_caller *fake_try_read_under(fake_caller *write, const char *path); /* once */
fake_caller *fake_write_lock(fake_client *client, const char *path);
/* Unless `max_waiting` of this client wait there. */
fake_caller *fake_join_among(fake_client *client, const char *path, zkl_kind kind,
                             size_t max_waiting);
fake_caller *fake_join_among_under(fake_caller *write, const char *path, size_t max_waiting);
fake_caller *fake_join_all(fake_client *client, const char *const *paths, size_t count,
                           double seconds);
fake_caller *fake_join_all_for(fake_client *client, const char *const *paths, size_t count,
                               double max_hold);
/* Leases of the semaphore at `path`, which has `permits`. */
fake_caller *fake_lease(fake_client *client, const char *path, size_t count, uint32_t permits);
fake_caller *fake_lease_within(fake_client *client, const char *path, size_t count,
                               uint32_t permits, double seconds);
/* How the callers of a shared node share it from now on: stint and linger in seconds. */
void fake_share_as(double stint, double linger);
extern zkl_sharing fake_sharing;
/* An immediate grant is known when the call that joins returns, and no event tells of it. */
extern bool fake_at_once;
/* On the client's shared node; 0 seconds: once. */
fake_caller *fake_share(fake_client *client, const char *path, double seconds);
fake_caller *fake_share_kind(fake_client *client, const char *path, zkl_kind kind, double seconds);
/* READ, under a write that shares a node. */
fake_caller *fake_share_under(fake_caller *write, const char *path);
fake_caller *fake_try_under(fake_caller *write, const char *path);                   /* once */
fake_caller *fake_share_for(fake_client *client, const char *path, double max_hold); /* seconds */
fake_caller *fake_share_among(fake_client *client, const char *path, size_t max_waiting);
fake_caller *fake_share_among_under(fake_caller *write, const char *path, size_t max_waiting);
fake_caller *fake_share_read_for(fake_client *client, const char *path, double max_hold);
fake_caller *fake_share_read_among(fake_client *client, const char *path, size_t max_waiting);
zkl_status fake_release(fake_caller *caller);
zkl_status fake_give_up(fake_caller *caller);
/* A release with validity 0. */
void fake_release_in_doubt(fake_caller *caller);
/* The short way. */
bool fake_rest(fake_caller *caller);
bool fake_take_again(fake_caller *caller);
void fake_cancel(fake_caller *caller);
void fake_drop(fake_caller *caller); /* it is gone then */
bool fake_held(const fake_caller *caller);
bool fake_waits(const fake_caller *caller); /* not answered yet */
/* Asks for a flush; the query is the caller's until zkl_ask_free. */
zkl_query *fake_flush(fake_client *client);
/* Takes all events: each shared node hears what it was told. Called by the functions above and
 * below. */
void fake_hear(fake_client *client);

/* ---- the schedule ---- */

/* Carries out the next request; its reply, and the watches it fires, are on their way back. false:
 * there is none. */
bool fake_carry(fake_client *client);
/* Delivers what has been on its way back for longest. false: nothing. */
bool fake_deliver(fake_client *client);
/* Carries out the next request and delivers all that is on its way back. */
bool fake_answer(fake_client *client);
/* Until nothing is on its way. */
void fake_settle(fake_client *client);
void fake_settle_all(fake_servers *servers);
/* Moves the clock; timers fire at their moments, and nothing is answered meanwhile. */
void fake_wait(fake_servers *servers, double seconds);

/* ---- the link ---- */

/* A new session, or the old one if the servers still have it and the client does not know better.
 * After fake_relink requests are made only when a heartbeat has been answered. The library sends
 * all watches in one packet; if that is too big for the servers the link is down again, however
 * often it is tried. */
void fake_connect(fake_client *client);
/* The same in two halves: the servers take the connection, the client hears of it later with
 * fake_connect. */
void fake_take(fake_client *client);
/* A try to connect fails. */
void fake_fail(fake_client *client);
/* The link goes. Everything on its way, either way, is lost: the client hears ZCONNECTIONLOSS
 * for each. */
void fake_cut(fake_client *client);
/* The same, but it hears so only when fake_deliver_late is called. */
void fake_cut_quietly(fake_client *client);
void fake_deliver_late(fake_client *client);
/* Another link takes over the session, which forgets how far the servers were. The link is down. */
void fake_relink(fake_client *client);
/* The servers end the session; the client does not know. */
void fake_bury(fake_client *client);
/* The client hears that its session has ended. */
void fake_expire(fake_client *client);
/* Its server lags: it shows nothing younger than `zxid` until a sync or a write of ours, or
 * fake_catch_up. */
void fake_lag(fake_client *client, int64_t zxid);
void fake_catch_up(fake_client *client);

/* Time passes, with heartbeats from now on, and everything is answered. */
void fake_beat(fake_client *client, double seconds);
/* No heartbeats from now on. */
void fake_still(fake_client *client);

/* ---- between the files of the fake ---- */

/* Tells the client of what has come true for its watches. */
void fake_fire(fake_client *client);
/* The end of every step, as the engine does it; then hears. */
void fake_leave(fake_client *client);
void fake_port_init(fake_client *client);
void fake_port_done(fake_client *client);

/* ---- looking ---- */

/* The contender in the line for it: its own, or the shared node's; NULL: none. */
const zkl_contender *fake_member(const fake_caller *caller);
/* The path of the node that it has at the servers; NULL: none. */
const char *fake_node_of(const fake_caller *caller);
/* How many requests the client has sent, since the latest fake_forget_counts. */
unsigned fake_asked(const fake_client *client);
void fake_forget_counts(fake_client *client);
/* Requests of the kind that wait to be carried out; path NULL: whatever the path. */
unsigned fake_pending(const fake_client *client, fake_op op, const char *path);
/* Nodes that the library would ask to watch again after a reconnect. */
size_t fake_watched(const fake_client *client);
/* Bytes of these in the packet. */
size_t fake_watched_bytes(const fake_client *client);
/* The kinds of all waiting requests, in order: "CLGDSUWAET". */
const char *fake_batch(const fake_client *client);
/* The kinds of the operations of the first transaction that waits: "GEACSDK". */
const char *fake_ops(const fake_client *client);

#endif
