/* zklock's engine: distributed locks over ZooKeeper for a host that polls.
 *
 * The protocol runs in threads of the client's own and never waits for the host. The host asks
 * (join, release, query), returns at once, and takes the answers from zkl_peek, in its own time and
 * on its own thread: the engine never calls a function of the host. zkl_fd is readable while
 * zkl_peek has an event.
 *
 * The host may call every function from any thread of the process that opened the client, and no
 * function blocks on the network. In a forked child every function only returns ZKL_FORKED, false
 * or 0: the session is the parent's. Moments are zkl_nanos of zkl_now; ZKL_NEVER means no
 * deadline. */
#ifndef ZKLOCK_H
#define ZKLOCK_H

#include "base/clock.h"
#include "base/event.h"
#include "base/status.h"
#include "recipe/path.h"
#include "recipe/znode.h"

/* The Lua files have the same version: `require "zklock"` and `make lint` compare them. */
#define ZKL_VERSION "0.1.0"

typedef struct zkl_client zkl_client;
typedef struct zkl_contender zkl_contender;
typedef struct zkl_query zkl_query;

typedef enum zkl_state {
    ZKL_STATE_CONNECTING,
    ZKL_STATE_CONNECTED,
    ZKL_STATE_SUSPENDED,
    ZKL_STATE_EXPIRED,
    ZKL_STATE_AUTH_FAILED,
    ZKL_STATE_CLOSED,
    ZKL_STATE_FORKED
} zkl_state;

/* The words of docs/api.md: "connecting", ... */
const char *zkl_state_text(zkl_state state);

/* The ACL of the nodes that the client creates. */
typedef enum zkl_acl { ZKL_ACL_OPEN, ZKL_ACL_CREATOR, ZKL_ACL_READ } zkl_acl;

typedef struct zkl_auth {
    const char *scheme, *credential;
} zkl_auth;

/* The engine copies everything in it. */
typedef struct zkl_config {
    const char *hosts;      /* ZooKeeper's connect string, with or without chroot */
    double session_timeout; /* seconds asked of the servers, above 0 and up to 3600 */
    const zkl_auth *auths;
    size_t auth_count;
    zkl_acl acl;
    const char *identifier; /* data of the lock nodes */
    const char *tls;        /* "ca,cert,key,password", none empty, or NULL; needs zkl_has_tls() */
    bool log;               /* keep libzookeeper's log lines and zklock's for zkl_log_take */
    bool notes;             /* keep zklock's */
} zkl_config;

zkl_nanos zkl_now(void);
bool zkl_has_tls(void);
/* Loads the files just as libzookeeper does for every connection. Returns NULL if it can. Otherwise
 * it returns "ca", "cert" or "key", and `why` says what is wrong with that file; the password is
 * never in it. It reads files, so it may block. */
const char *zkl_tls_problem(const char *ca, const char *cert, const char *key, const char *password,
                            char *why, size_t size);

/* Is the connect string well formed? If not, `why` says what is wrong with it. */
bool zkl_hosts_valid(const char *hosts, char *why, size_t size);

/* Starts connecting. ZKL_OK: *client belongs to the host until zkl_free. ZKL_BAD_ARGUMENT: the
 * connect string or the timeout is wrong. ZKL_NO_MEMORY: memory ran out; or descriptors or threads
 * did, and errno is EMFILE, ENFILE or EAGAIN. */
zkl_status zkl_open(const zkl_config *config, zkl_client **client);

/* Answers every waiter with ZKL_CLOSED, gives holds back, and ends the session in the background.
 * When that is done, zkl_ended becomes true and the descriptor readable. Twice is fine. */
void zkl_close(zkl_client *client);
bool zkl_ended(zkl_client *client);
/* The host gives up the client; closes it first if the host has not. Contenders, queries, notifiers
 * and visits stay valid. */
void zkl_free(zkl_client *client);

/* From now on the client keeps no shared node that no caller uses: the host is about to leave. */
void zkl_hurry(zkl_client *client);

/* Does not take the client's mutex. */
zkl_state zkl_client_state(zkl_client *client);
#define ZKL_TROUBLE_TEXT 160 /* bytes */
/* Why no server is in reach, as far as the client knows: "connection refused: 127.0.0.1:2181". Or
 * why a caller has given up although a server is in reach: "answers take 2.0 s; a session of 6 s
 * allows 0.75 s". false: the client does not know. */
bool zkl_client_trouble(zkl_client *client, char *text, size_t size);
/* Seconds that the servers granted; before that, those that the host asked for. */
double zkl_session_timeout(zkl_client *client);
/* 0 while there is no session. */
int64_t zkl_session_id(zkl_client *client);

typedef struct zkl_stats {
    uint64_t acquired, released, timeouts, lost, revoked, abandoned, sessions, requests_sent;
    uint64_t waiting, held;
    /* nodes that the client polls, because there is no room for a watch on them */
    uint64_t unwatched;
    uint64_t handed; /* of those acquired: granted on a shared node that was there */
    double latency;  /* seconds that an answer of the leader or a quorum takes, smoothed */
} zkl_stats;
void zkl_client_stats(zkl_client *client, zkl_stats *stats);

/* ---- events ---- */

int zkl_fd(zkl_client *client);
/* The host does not look at the descriptor any more: closes it, and zkl_fd returns -1. Call it only
 * on the thread that calls zkl_fd. zkl_peek works all the same. */
void zkl_hang_up(zkl_client *client);
/* Copies the oldest event, which stays the oldest until zkl_forget: a host that is interrupted
 * while it handles the event finds it again. false: there is none. */
bool zkl_peek(zkl_client *client, zkl_event *event);
/* The same, but a readable descriptor stays readable: the turn of the loop that it calls for is
 * still to come. Also false if the oldest event belongs to that turn. */
bool zkl_look(zkl_client *client, zkl_event *event);
/* The host has handled the event. Does nothing if the engine has posted it again since, or if the
 * event went with its subject. */
void zkl_forget(zkl_client *client, uint64_t serial);
/* Makes the descriptor readable: the host has work of its own. */
void zkl_wake(zkl_client *client);
/* Makes it readable at that moment, unless the client is closed by then. There is one such moment,
 * that of the latest call; ZKL_NEVER: none. */
void zkl_wake_at(zkl_client *client, zkl_nanos moment);
/* Takes the oldest log line. `level` is "error" or "warn"; `own`: the line is zklock's, not
 * libzookeeper's. false: there is none. */
bool zkl_log_take(zkl_client *client, const char **level, bool *own, char *line, size_t size);

/* ---- a notifier: for a host like nginx, whose loop connects to sockets by name and watches only
 * descriptors that it has made ---- */

typedef struct zkl_notifier zkl_notifier;

/* Makes a Unix socket in a directory that only this user may enter. The host connects to
 * zkl_notifier_path once, then calls zkl_notifier_answer. From then on it reads a byte each time
 * zkl_fd becomes readable. A client has one notifier at a time, and one thread at a time uses it.
 * NULL: errno says why. */
zkl_notifier *zkl_notifier_open(zkl_client *client);
const char *zkl_notifier_path(const zkl_notifier *notifier);
/* Accepts the connection that this process has made, and removes socket and directory. false: errno
 * says why. */
bool zkl_notifier_answer(zkl_notifier *notifier);
/* Closes the connection: the host reads its end. */
void zkl_notifier_drop(zkl_notifier *notifier);

/* ---- visits: something of the host's (a request) whose end a C function reports, without the
 * host's script ---- */

typedef struct zkl_visit zkl_visit;

/* Belongs to the host until zkl_visit_drop. NULL: no memory, or forked. */
zkl_visit *zkl_visit_new(zkl_client *client, uint64_t tag);
/* Adds a user of the visit, which will call zkl_visit_end once. */
void zkl_visit_lend(zkl_visit *visit);
/* `visit` has ended: posts one event ENDED of its tag. Has the type that C libraries expect of a
 * cleanup handler. */
void zkl_visit_end(void *visit);
bool zkl_visit_ended(const zkl_visit *visit);
/* From now on the visit stands for another one, which has not ended. false: it cannot, because a
 * user has not reported its end yet, or the host has not taken the event yet. */
bool zkl_visit_renew(zkl_visit *visit);

/* A handler that a C library calls at the end of something (nginx: of a subrequest). */
typedef struct zkl_visit_handler {
    intptr_t (*call)(void *of, void *data, intptr_t result);
    void *data;
} zkl_visit_handler;
/* A lent visit also ends when the library calls the handler in the slot. The library may do so
 * several times, until zkl_visit_end. The new handler calls the former one, too. Call this at most
 * once for a visit. The handlers run on the thread of their caller. */
void zkl_visit_hook(zkl_visit *visit, zkl_visit_handler **slot);
/* Puts the handler that was there before all of zklock's back into the slot, until
 * zkl_visit_rehook. NULL: the slot has none of zklock's. */
zkl_visit *zkl_visit_unhook(zkl_visit_handler **slot);
void zkl_visit_rehook(zkl_visit *visit);
/* The host gives up the visit. At most one event of it, which is on its way, still comes. */
void zkl_visit_drop(zkl_visit *visit);

/* ---- locks ---- */

/* How this client's callers share one node in a line, on which they take turns. */
typedef struct zkl_sharing {
    /* how many grants in a row waiters behind the node wait for at most; from 1 */
    uint64_t handoffs;
    zkl_nanos stint;  /* ... and for how long, besides the last hold; ZKL_NEVER: no bound */
    zkl_nanos linger; /* how long the client keeps the node when no caller wants it */
} zkl_sharing;

/* A caller's request to a line. */
typedef struct zkl_terms {
    zkl_kind kind;        /* LOCK, READ, WRITE or LEASE */
    uint32_t permits;     /* LEASE: how many there may be */
    zkl_nanos deadline;   /* of the wait */
    bool once;            /* a single try: the answer comes as soon as the servers have answered */
    zkl_nanos max_hold;   /* how long it may hold before it loses the hold; 0: no bound */
    zkl_contender *under; /* READ: a hold of write by the same owner, in the same line; or NULL */
    /* 1 and the number of callers of this client that may wait here; 0: no bound */
    uint32_t max_waiting;
    const zkl_sharing
        *sharing; /* zkl_join; NULL: each has a node of its own, in order of arrival */
    /* NULL, or receives the token if the caller holds when zkl_join returns, which needs `sharing`:
     * then no event GRANTED comes */
    int64_t *at_once;
} zkl_terms;

/* Joins the line at `path` (the host has checked it: absolute, without chroot). One event of `tag`
 * answers: GRANTED or FAILED, at the latest at the deadline. ZKL_OK: *contender belongs to the host
 * until zkl_drop. Otherwise ZKL_CLOSED, ZKL_AUTH_FAILED, ZKL_FORKED or ZKL_NO_MEMORY. */
zkl_status zkl_join(zkl_client *client, const char *path, uint64_t tag, const zkl_terms *terms,
                    zkl_contender **contender);
/* Joins several lines at once: it will hold all of them or none. The paths differ, and terms->kind
 * is LOCK. FAILED with ZKL_TOO_BIG: one request cannot hold so many paths. */
zkl_status zkl_join_all(zkl_client *client, const char *const *paths, size_t count, uint64_t tag,
                        const zkl_terms *terms, zkl_contender **contender);
/* `count` leases together of the semaphore at `path`, which has terms->permits; terms->kind is
 * LEASE. */
zkl_status zkl_join_leases(zkl_client *client, const char *path, size_t count, uint64_t tag,
                           const zkl_terms *terms, zkl_contender **contender);
/* Gives a hold back; the release is on its way when this returns. ZKL_OK: nobody else can have held
 * it meanwhile. ZKL_UNKNOWN: validity was 0, and somebody may have. One more event then reports the
 * result: LOST if the session had ended or the node was gone, otherwise FAILED with ZKL_OK; after
 * zkl_close there is none. Any other status gives nothing back: ZKL_LOST, also when max_hold has
 * elapsed; ZKL_NOT_OWNER, ZKL_CLOSED, ZKL_FORKED. */
zkl_status zkl_release(zkl_contender *contender);
/* The same, for a holder whose work may still be under way: no caller of this client takes its node
 * over, and the next holder has a larger token. */
zkl_status zkl_give_up(zkl_contender *contender);
/* The answer that zkl_release would give at this moment. Gives nothing back. */
zkl_status zkl_would_release(zkl_contender *contender);
/* A short way for a caller that takes a shared node again and again: zkl_rest releases as
 * zkl_release does, and zkl_take_again acquires with the same contender. The token stays, and the
 * turn grows. Both do nothing and return false if that is not possible at once, or if validity is
 * 0. FAILED with ZKL_OK tells the host that it cannot take a resting contender again. */
bool zkl_rest(zkl_contender *contender);
bool zkl_take_again(zkl_contender *contender);
/* Was it held, then given back (in either way), and not taken again? */
bool zkl_given_back(zkl_contender *contender);
/* Ends the wait with an event FAILED, ZKL_CANCELLED, unless there was an answer before. */
void zkl_cancel(zkl_contender *contender);
/* The host gives up the contender: ends the wait or the hold (counted as abandoned). No event comes
 * after it. */
void zkl_drop(zkl_contender *contender);
/* Neither this function nor zkl_validity takes the client's mutex. */
bool zkl_held(zkl_contender *contender);
/* The node's czxid while the contender holds, else 0. */
int64_t zkl_token(zkl_contender *contender);
/* The number of the grant on its shared node, from 1; 0 without one. false: it does not hold. */
bool zkl_turn(zkl_contender *contender, uint64_t *turn);
/* Seconds for which the servers cannot have given the lock away; 0 when it does not hold. */
double zkl_validity(zkl_contender *contender);

/* The full path of the index-th node of the hold, without the chroot. false: there are no more, or
 * it does not hold; or the path does not fit. ZKL_NODE_PATH bytes are always enough. */
bool zkl_node_at(zkl_contender *contender, size_t index, char *path, size_t size);
#define ZKL_NODE_PATH 4608

/* ---- queries: questions answered by one ANSWER event of `tag` ---- */

/* Is there a session? ZKL_OK, ZKL_AUTH_FAILED, ZKL_CLOSED, ZKL_DISCONNECTED at the deadline. */
zkl_query *zkl_query_session(zkl_client *client, uint64_t tag, zkl_nanos deadline);
/* Has every release made so far been confirmed? ZKL_OK, ZKL_TIMEOUT, ZKL_DISCONNECTED,
 * ZKL_CLOSED. */
zkl_query *zkl_query_flush(zkl_client *client, uint64_t tag, zkl_nanos deadline);
/* Does the contender hold, with validity above 0? ZKL_OK, ZKL_LOST, or an error at the deadline. */
zkl_query *zkl_query_validity(zkl_contender *contender, uint64_t tag, zkl_nanos deadline);
/* Lists the participants of the line, or of the leases' directory. ZKL_OK: zkl_participant_at
 * returns them. */
zkl_query *zkl_query_participants(zkl_client *client, const char *path, bool leases, uint64_t tag,
                                  zkl_nanos deadline, bool once);

/* Asks the holders to give it back. ZKL_OK: zkl_revoked returns how many there were. */
zkl_query *zkl_query_revoke(zkl_client *client, const char *path, bool leases, uint64_t tag,
                            zkl_nanos deadline, bool once);
size_t zkl_revoked(zkl_query *query);

typedef struct zkl_participant {
    const char *node; /* name below the path; belongs to the query */
    zkl_kind kind;
    int32_t sequence;
    int64_t session;
    const char *identifier; /* the node's data; belongs to the query */
    size_t identifier_length;
    double created; /* seconds since 1970 by the servers' clock */
    bool holder, mine;
} zkl_participant;

/* Call it only after the ANSWER; in the order of the line. false: there are no more. */
bool zkl_participant_at(zkl_query *query, size_t index, zkl_participant *participant);
/* The host gives up the query; no event comes after it. NULL is fine. */
void zkl_query_drop(zkl_query *query);

/* ---- nodes ---- */

typedef enum zkl_op_kind {
    ZKL_OP_GET,
    ZKL_OP_EXISTS,
    ZKL_OP_CHILDREN,
    ZKL_OP_CREATE,
    ZKL_OP_SET,
    ZKL_OP_DELETE,
    ZKL_OP_CHECK /* only among several */
} zkl_op_kind;

/* An operation on one node. */
typedef struct zkl_op {
    zkl_op_kind kind;
    const char *path;
    const char *data; /* CREATE, SET */
    size_t length;    /* bytes of it */
    int32_t version;  /* SET, DELETE, CHECK; -1: any */
    /* CREATE: `container` and `parents` not among several; `parents` makes missing parents */
    bool ephemeral, sequential, container, parents;
    bool own_acl; /* CREATE: `acl` counts, otherwise the client's */
    zkl_acl acl;
} zkl_op;

/* A node's stat. */
typedef struct zkl_stat {
    int64_t czxid;
    int64_t session; /* ephemeralOwner; 0: it is none */
    int64_t ctime;   /* milliseconds since 1970, by the servers' clock */
    int32_t aversion;
    int64_t mzxid, pzxid;
    int64_t mtime;
    int32_t version, children, length;
} zkl_stat;

/* The content of a node that was read or made; it owns its texts. */
typedef struct zkl_content {
    zkl_stat stat;
    char *data; /* with a NUL behind it, which `length` does not count */
    size_t length;
    char **names; /* sorted as bytes */
    size_t count;
} zkl_content;
void zkl_content_free(zkl_content *content);

typedef struct zkl_node_request zkl_node_request;

/* Reads or writes a node (the host has checked it: absolute, without chroot). One ANSWER event of
 * `tag`: ZKL_OK, ZKL_NO_NODE, ZKL_NODE_EXISTS, ZKL_BAD_VERSION, ZKL_NOT_EMPTY, ZKL_TOO_BIG, ...
 *
 * The client hands the operation to the link when there is one. ZKL_TIMEOUT, ZKL_DISCONNECTED,
 * ZKL_CLOSED, ZKL_AUTH_FAILED of a write: it never did. ZKL_UNKNOWN: it did, and no answer came. It
 * hands a read over again and again, until the deadline. `once`: one try. NULL: no memory, or
 * forked. */
zkl_node_request *zkl_node_do(zkl_client *client, const zkl_op *op, uint64_t tag,
                              zkl_nanos deadline, bool once);
/* Does all operations or none. `guard`: NULL, or a contender. If it does not hold any more when the
 * servers do them: ZKL_LOST. */
zkl_node_request *zkl_node_do_all(zkl_client *client, const zkl_op *ops, size_t count,
                                  zkl_contender *guard, uint64_t tag, zkl_nanos deadline,
                                  bool once);
/* Reads after it show all that anybody had written before. */
zkl_node_request *zkl_node_sync(zkl_client *client, uint64_t tag, zkl_nanos deadline, bool once);

/* Call it only after the ANSWER. Among several operations a set has its stat, and a create its path
 * as data. NULL: it has none. The content belongs to the node request. */
const zkl_content *zkl_node_request_content(const zkl_node_request *request, size_t index);
/* EXISTS: is the node there? */
bool zkl_node_request_found(const zkl_node_request *request);
/* The number of the operation that failed, from 1; 0: none in particular. */
size_t zkl_node_request_failed(const zkl_node_request *request);
/* The host gives up the node request. No event comes after it, and the client does not hand over an
 * operation that it still keeps. A write that it has handed over may or may not be done: a read
 * that the host asks for from now on shows which. NULL is fine. */
void zkl_node_request_drop(zkl_node_request *request);

typedef struct zkl_node_watch zkl_node_watch;

/* Watches a node: its data, or its children. An event CHANGED of `tag` says that there is a state
 * to take: soon, and after each change. ZKL_OK: *node watch belongs to the host until
 * zkl_node_watch_drop. Otherwise ZKL_TOO_MANY_WATCHES, ZKL_CLOSED, ZKL_FORKED or ZKL_NO_MEMORY. */
zkl_status zkl_look_at(zkl_client *client, const char *path, bool children, uint64_t tag,
                       zkl_node_watch **node_watch);
/* Takes the latest state, once. ZKL_OK: *content belongs to the host until zkl_content_free.
 * ZKL_NO_NODE, ZKL_ACCESS_DENIED: it is NULL. false: nothing is new. */
bool zkl_node_watch_take(zkl_node_watch *node_watch, zkl_status *status, zkl_content **content);
/* The host gives up the node watch; no event comes after it. NULL is fine. */
void zkl_node_watch_drop(zkl_node_watch *node_watch);

#endif
