/* zklock's engine: distributed locks over ZooKeeper for a host that polls.
 *
 * The protocol runs in threads of the client's own and never waits for the host. The host asks
 * (join, release, query), returns at once, and hears what became of it from zkl_peek, in its own
 * time and on its own thread: no function of the host is ever called. zkl_fd is readable while
 * zkl_peek has something.
 *
 * Every function may be called from any thread of the process that opened the client, none of them
 * blocks on the network. In a forked child all of them do nothing but say so (ZKL_FORKED, false,
 * 0): the session is the parent's. Moments are zkl_nanos of zkl_now; a deadline of ZKL_NEVER is
 * none. */
#ifndef ZKLOCK_H
#define ZKLOCK_H

#include "base/clock.h"
#include "base/event.h"
#include "base/status.h"
#include "recipe/path.h"
#include "recipe/znode.h"

/* That of the Lua files, too: `require "zklock"` compares them, and so does `make lint`. */
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

/* "connecting", ...: the words of the contract. */
const char *zkl_state_text(zkl_state state);

/* The ACL of the nodes that we create. */
typedef enum zkl_acl { ZKL_ACL_OPEN, ZKL_ACL_CREATOR, ZKL_ACL_READ } zkl_acl;

typedef struct zkl_auth {
    const char *scheme, *credential;
} zkl_auth;

/* Everything is copied. */
typedef struct zkl_config {
    const char *hosts;      /* ZooKeeper's connect string, with or without chroot */
    double session_timeout; /* seconds asked of the servers, above 0 and up to 3600 */
    const zkl_auth *auths;
    size_t auth_count;
    zkl_acl acl;
    const char *identifier; /* data of the lock nodes */
    const char *tls;        /* "ca,cert,key,password", none empty, or NULL; needs zkl_has_tls() */
    bool log;               /* keep libzookeeper's log lines and our own for zkl_log_take */
    bool notes;             /* keep our own */
} zkl_config;

zkl_nanos zkl_now(void);
bool zkl_has_tls(void);
/* Loads the files just as libzookeeper does for every connection. NULL: it can. Otherwise "ca",
 * "cert" or "key", and `why` says what is wrong with that file; the password is never in it. Reads
 * files: it may block. */
const char *zkl_tls_problem(const char *ca, const char *cert, const char *key, const char *password,
                            char *why, size_t size);

/* Is the connect string well formed? Otherwise `why` says what is wrong with it. */
bool zkl_hosts_valid(const char *hosts, char *why, size_t size);

/* Starts connecting. ZKL_OK, and *client belongs to the host until zkl_free; ZKL_BAD_ARGUMENT: the
 * connect string, or the timeout; ZKL_NO_MEMORY: memory, threads or descriptors ran out. */
/* ZKL_NO_MEMORY also for want of descriptors or threads: errno is EMFILE, ENFILE or EAGAIN then. */
zkl_status zkl_open(const zkl_config *config, zkl_client **client);

/* Answers everything that waits with ZKL_CLOSED, gives holds back, and ends the session behind the
 * scenes; zkl_ended becomes true, and the descriptor readable, when that is done. Twice is fine. */
void zkl_close(zkl_client *client);
bool zkl_ended(zkl_client *client);
/* The host lets go of the client (and closes it, if it has not). Contenders, queries,
 * notifiers and visits stay valid. */
void zkl_free(zkl_client *client);

/* From now on no place is kept that nobody uses: the client is not to be here for long. */
void zkl_hurry(zkl_client *client);

/* Takes no lock. */
zkl_state zkl_client_state(zkl_client *client);
#define ZKL_TROUBLE_TEXT 160 /* bytes */
/* Why there is no server in reach, as far as is known: "connection refused: 127.0.0.1:2181"; or why
 * a caller has given up although there is one: "answers take 2.0 s; a session of 6 s allows
 * 0.75 s". false: nothing is known. */
bool zkl_client_trouble(zkl_client *client, char *text, size_t size);
/* Seconds: what the servers granted, before that what was asked. */
double zkl_session_timeout(zkl_client *client);
/* 0 while there is none. */
int64_t zkl_session_id(zkl_client *client);

typedef struct zkl_stats {
    uint64_t acquired, released, timeouts, lost, revoked, abandoned, sessions, requests_sent;
    uint64_t waiting, held;
    /* nodes for whose sake the servers are asked now and then, for want of room for a watch */
    uint64_t unwatched;
    uint64_t handed; /* of those acquired: granted on a place that this client had already */
    double latency;  /* seconds that an answer of the leader or a quorum takes, smoothed */
} zkl_stats;
void zkl_client_stats(zkl_client *client, zkl_stats *stats);

/* ---- events ---- */

int zkl_fd(zkl_client *client);
/* The host looks at the descriptor no more: it is closed, zkl_fd is -1. Only on the thread that
 * calls zkl_fd. Events can be peeked all the same. */
void zkl_hang_up(zkl_client *client);
/* Copies the oldest event, which stays the oldest until it is forgotten: a host that is interrupted
 * while it deals with it finds it again. false: there is none. */
bool zkl_peek(zkl_client *client, zkl_event *event);
/* The same, but the descriptor stays readable, if it is: a turn that it calls for is still to come.
 * false also if the oldest is to be told in that turn, and not before. */
bool zkl_look(zkl_client *client, zkl_event *event);
/* The host has dealt with it. Does nothing if it was posted again since, or went with what it spoke
 * of. */
void zkl_forget(zkl_client *client, uint64_t serial);
/* Makes the descriptor readable: the host has work of its own left. */
void zkl_wake(zkl_client *client);
/* Makes it readable at that moment, unless the client is closed by then. There is one such moment:
 * the latest call says which; ZKL_NEVER: none. */
void zkl_wake_at(zkl_client *client, zkl_nanos moment);
/* Takes the oldest log line; `level` is "error" or "warn"; `own`: it is not libzookeeper's. false:
 * there is none. */
bool zkl_log_take(zkl_client *client, const char **level, bool *own, char *line, size_t size);

/* ---- a notifier: for a host like nginx, whose loop connects to sockets by name and watches no
 * descriptor that it has not made ---- */

typedef struct zkl_notifier zkl_notifier;

/* Makes a Unix socket in a directory that only this user may enter. The host connects to
 * zkl_notifier_path, once, then calls zkl_notifier_answer; from then on it reads a byte each time
 * zkl_fd becomes readable. A client has one notifier at a time. NULL: errno says why. One thread at
 * a time for each notifier. */
zkl_notifier *zkl_notifier_open(zkl_client *client);
const char *zkl_notifier_path(const zkl_notifier *notifier);
/* Takes the connection that this process has made, and removes socket and directory. false: errno
 * says why. */
bool zkl_notifier_answer(zkl_notifier *notifier);
/* Hangs up: the host reads the end. */
void zkl_notifier_drop(zkl_notifier *notifier);

/* ---- visits: something of the host's (a request) whose end is told by a C function, without the
 * host's script ---- */

typedef struct zkl_visit zkl_visit;

/* The host's until zkl_visit_drop. NULL: no memory, or forked. */
zkl_visit *zkl_visit_new(zkl_client *client, uint64_t tag);
/* One more user of it: who will call zkl_visit_end, once. */
void zkl_visit_lend(zkl_visit *visit);
/* `visit` has ended: one event ENDED of its tag. Has the type that C libraries want of a cleanup
 * handler. */
void zkl_visit_end(void *visit);
bool zkl_visit_ended(const zkl_visit *visit);
/* It stands for another one from now on, that has not ended. false: it cannot, for somebody has
 * still to tell its end, or the host to hear of it. */
bool zkl_visit_renew(zkl_visit *visit);

/* What a C library calls at the end of something, and where it keeps it (nginx: of a
 * subrequest). */
typedef struct zkl_visit_handler {
    intptr_t (*call)(void *of, void *data, intptr_t result);
    void *data;
} zkl_visit_handler;
/* A lent visit also ends when the handler in the slot is called, which may be often and until
 * zkl_visit_end is; the one that was there is called, too. At most once for a visit, on the thread
 * of whoever calls. */
void zkl_visit_hook(zkl_visit *visit, zkl_visit_handler **slot);
/* For a while the slot has the handler that was there before all of ours. NULL: it has none of
 * ours. */
zkl_visit *zkl_visit_unhook(zkl_visit_handler **slot);
void zkl_visit_rehook(zkl_visit *visit);
/* The host hears of its end no more, or soon no more. */
void zkl_visit_drop(zkl_visit *visit);

/* ---- locks ---- */

/* How this client's callers share a place in a line: one node, on which they take turns. */
typedef struct zkl_sharing {
    /* how many grants in a row those have to wait for who stand behind it, at most; from 1 */
    uint64_t handoffs;
    zkl_nanos
        stint; /* ... and for how long, besides the last hold; ZKL_NEVER: as long as it takes */
    zkl_nanos linger; /* how long it is kept when nobody here wants it */
} zkl_sharing;

/* What a caller asks of a line. */
typedef struct zkl_terms {
    zkl_kind kind;        /* LOCK, READ, WRITE or LEASE */
    uint32_t permits;     /* LEASE: how many there may be */
    zkl_nanos deadline;   /* of the wait */
    bool once;            /* a single try: answered as soon as the servers have answered it */
    zkl_nanos max_hold;   /* how long it may hold before it has lost; 0: as long as it likes */
    zkl_contender *under; /* READ: a hold of write by the same owner, in the same line; or NULL */
    /* how many of this client may wait for somebody here, and 1; 0: as many as like */
    uint32_t crowd;
    const zkl_sharing
        *sharing; /* zkl_join; NULL: each has a node of its own, in order of arrival */
    /* NULL, or gets the token if it holds when zkl_join returns, which only those with `sharing`
     * do: then no event GRANTED comes */
    int64_t *at_once;
} zkl_terms;

/* Joins the line at `path` (checked by the caller: absolute, without chroot). One event of `tag`
 * answers: GRANTED or FAILED, at the latest at the deadline. ZKL_OK, and *contender is the host's
 * until zkl_drop; ZKL_CLOSED, ZKL_AUTH_FAILED, ZKL_FORKED, ZKL_NO_MEMORY. */
zkl_status zkl_join(zkl_client *client, const char *path, uint64_t tag, const zkl_terms *terms,
                    zkl_contender **contender);
/* Joins several lines at once, all or none of which it will hold; the paths differ, and terms->kind
 * is LOCK. What one request cannot ask for FAILED with ZKL_TOO_BIG. */
zkl_status zkl_join_all(zkl_client *client, const char *const *paths, size_t count, uint64_t tag,
                        const zkl_terms *terms, zkl_contender **contender);
/* `count` leases together of the semaphore at `path`, which has terms->permits; terms->kind is
 * LEASE. */
zkl_status zkl_join_leases(zkl_client *client, const char *path, size_t count, uint64_t tag,
                           const zkl_terms *terms, zkl_contender **contender);
/* Gives a held place back, on its way when this returns. ZKL_OK: nobody else can have held it
 * meanwhile. ZKL_UNKNOWN: validity was 0, and somebody may have. One more event tells what became
 * of it: LOST, if the session had ended or the node was gone, and FAILED with ZKL_OK otherwise;
 * none after zkl_close. Any other status gives nothing back: ZKL_LOST, also when max_hold is over;
 * ZKL_NOT_OWNER, ZKL_CLOSED, ZKL_FORKED. */
zkl_status zkl_release(zkl_contender *contender);
/* The same, where something of the holder's may still be under way: nobody of this client takes its
 * place over, and the next one has a larger token. */
zkl_status zkl_give_up(zkl_contender *contender);
/* The answer of zkl_release at this moment. Gives nothing back. */
zkl_status zkl_would_release(zkl_contender *contender);
/* A short way, for a caller who takes a place again and again: zkl_rest releases, as zkl_release
 * does, and zkl_take_again acquires with the same contender; its token stays, its turn grows. Both
 * do nothing and say false where that is not possible at once, or validity is 0. Of what rests and
 * cannot be taken again the host hears FAILED with ZKL_OK. */
bool zkl_rest(zkl_contender *contender);
bool zkl_take_again(zkl_contender *contender);
/* Was it held, and given back, whichever way, and not taken again? */
bool zkl_given_back(zkl_contender *contender);
/* Ends the wait: the host hears FAILED with ZKL_CANCELLED, unless it was answered before. */
void zkl_cancel(zkl_contender *contender);
/* Lets go of it: ends the wait or the hold (counted as abandoned), no event comes any more. */
void zkl_drop(zkl_contender *contender);
/* This one and zkl_validity take no lock. */
bool zkl_held(zkl_contender *contender);
/* The node's czxid while it is held, else 0. */
int64_t zkl_token(zkl_contender *contender);
/* Which grant on its place it is, from 1; 0 when it shares none. false: it is not held. */
bool zkl_turn(zkl_contender *contender, uint64_t *turn);
/* Seconds for which the servers cannot have given the lock away; 0 when it is not held. */
double zkl_validity(zkl_contender *contender);

/* The full path of the index-th node that it holds with, without the chroot. false: there are no
 * more, or it does not hold; or it does not fit, which ZKL_NODE_PATH always does. */
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
/* Who is in the line, or has a lease in the directory? ZKL_OK, and zkl_participant_at tells. */
zkl_query *zkl_query_participants(zkl_client *client, const char *path, bool leases, uint64_t tag,
                                  zkl_nanos deadline, bool once);

/* Asks those who hold there to give it back. ZKL_OK, and zkl_revoked tells how many there were. */
zkl_query *zkl_query_revoke(zkl_client *client, const char *path, bool leases, uint64_t tag,
                            zkl_nanos deadline, bool once);
size_t zkl_revoked(zkl_query *query);

typedef struct zkl_participant {
    const char *node; /* name below the path; the query's */
    zkl_kind kind;
    int32_t sequence;
    int64_t session;
    const char *identifier; /* the node's data; the query's */
    size_t identifier_length;
    double created; /* seconds since 1970 by the servers' clock */
    bool holder, mine;
} zkl_participant;

/* Only after the ANSWER; in queue order. false: no more. */
bool zkl_participant_at(zkl_query *query, size_t index, zkl_participant *participant);
/* The host lets go of the query; no event comes any more. NULL is fine. */
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

/* What is done to one node. */
typedef struct zkl_op {
    zkl_op_kind kind;
    const char *path;
    const char *data; /* CREATE, SET */
    size_t length;    /* bytes of it */
    int32_t version;  /* SET, DELETE, CHECK: -1: any */
    /* CREATE: `container` and `parents` not among several; `parents` makes what is missing above */
    bool ephemeral, sequential, container, parents;
    bool own_acl; /* CREATE: `acl` counts, otherwise the client's */
    zkl_acl acl;
} zkl_op;

/* What we know of a node. */
typedef struct zkl_stat {
    int64_t czxid;
    int64_t session; /* ephemeralOwner; 0: it is none */
    int64_t ctime;   /* milliseconds since 1970, by the servers' clock */
    int32_t aversion;
    int64_t mzxid, pzxid;
    int64_t mtime;
    int32_t version, children, length;
} zkl_stat;

/* What was read, or made; its texts are in its own memory. */
typedef struct zkl_content {
    zkl_stat stat;
    char *data; /* with a NUL behind it that is none of it */
    size_t length;
    char **names; /* sorted as bytes */
    size_t count;
} zkl_content;
void zkl_content_free(zkl_content *content);

typedef struct zkl_errand zkl_errand;

/* Reads or writes a node (checked by the caller: absolute, without chroot). One ANSWER event of
 * `tag`: ZKL_OK, ZKL_NO_NODE, ZKL_NODE_EXISTS, ZKL_BAD_VERSION, ZKL_NOT_EMPTY, ZKL_TOO_BIG, ...
 *
 * It is handed to the link when there is one. ZKL_TIMEOUT, ZKL_DISCONNECTED, ZKL_CLOSED,
 * ZKL_AUTH_FAILED of a write: it never was. ZKL_UNKNOWN: it was, and no answer came. Reads are
 * handed over again and again, until the deadline. `once`: one try. NULL: no memory, or forked. */
zkl_errand *zkl_node_do(zkl_client *client, const zkl_op *op, uint64_t tag, zkl_nanos deadline,
                        bool once);
/* Does all of several or none, and not if `guard` (or NULL) holds no more when the servers do it:
 * ZKL_LOST. */
zkl_errand *zkl_node_do_all(zkl_client *client, const zkl_op *ops, size_t count,
                            zkl_contender *guard, uint64_t tag, zkl_nanos deadline, bool once);
/* What is read after it shows all that anybody had written before. */
zkl_errand *zkl_node_sync(zkl_client *client, uint64_t tag, zkl_nanos deadline, bool once);

/* Only after the ANSWER. Of one of several: of a set its Stat, of a create its path as data. NULL:
 * it has none. The errand's. */
const zkl_content *zkl_errand_content(const zkl_errand *errand, size_t index);
/* Of EXISTS: is it there? */
bool zkl_errand_found(const zkl_errand *errand);
/* Which of several has failed, counted from 1; 0: none in particular. */
size_t zkl_errand_failed(const zkl_errand *errand);
/* The host lets go of it; no event comes any more, and what was not handed over never is. A write
 * that was handed over may or may not be done: a read that is asked from now on shows which. NULL
 * is fine. */
void zkl_errand_drop(zkl_errand *errand);

typedef struct zkl_view zkl_view;

/* Looks at a node: at its data, or at its children. An event CHANGED of `tag` says that there is
 * something to take: soon, and after each change. ZKL_OK, and *view is the host's until
 * zkl_view_drop; ZKL_TOO_MANY_WATCHES, ZKL_CLOSED, ZKL_FORKED, ZKL_NO_MEMORY. */
zkl_status zkl_look_at(zkl_client *client, const char *path, bool children, uint64_t tag,
                       zkl_view **view);
/* The latest state, once: ZKL_OK, and the content is the host's until zkl_content_free;
 * ZKL_NO_NODE, ZKL_ACCESS_DENIED, and it is NULL. false: nothing new. */
bool zkl_view_take(zkl_view *view, zkl_status *status, zkl_content **content);
/* The host looks no more; no event comes any more. NULL is fine. */
void zkl_view_drop(zkl_view *view);

#endif
