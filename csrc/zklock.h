/* SPDX-License-Identifier: MIT */
/* zklock's engine: distributed locks over ZooKeeper for a host that polls.
 *
 * A program that may wait needs zkl_open, zkl_join, zkl_wait, zkl_release, zkl_drop and zkl_free
 * (examples/c/blocking.c). One with a loop takes zkl_fd and zkl_peek in place of zkl_wait. The
 * sections: time, results, clients, locks, events, queries, nodes, node watches, once, counts,
 * paths.
 *
 * The protocol runs in threads of the client's own and never waits for the host. The host asks
 * (join, release, query), returns at once, and takes the answers from zkl_peek, in its own time and
 * on its own thread: the engine never calls a function of the host. zkl_fd is readable while
 * zkl_peek has an event.
 *
 * Threads: the host may call every function from any thread of the process that opened the client,
 * unless the function's comment says otherwise. The exceptions are an object that another thread
 * drops or frees, and the texts that a function returned from it.
 *
 * In a forked child every function that has a client, or an object of one, only returns ZKL_FORKED,
 * NULL, false or 0: the session is the parent's. But zkl_ended returns true, and the functions
 * zkl_node_request_... of an answered node request return what they did before. A child of _Fork or
 * of a bare clone counts from Linux 4.14 on. A child of vfork may call nothing.
 *
 * The life of a client: zkl_close may come at any moment. After it, a function that asks for
 * something returns ZKL_CLOSED, or NULL, or an object whose ANSWER is ZKL_CLOSED; nothing is held;
 * and events still come, which the host takes with zkl_peek. After zkl_free no function may be
 * called with the client, also not by another thread. The host may still call those that take one
 * of its objects (a contender, a query, a node request, a node watch, a once), on any thread, and
 * must drop each of them: the client's memory is free after the last drop and the end of the
 * session.
 *
 * Units: moments are zkl_nanos of zkl_now, durations are zkl_nanos or, as a double, seconds.
 *
 * Deadlines: ZKL_NEVER waits for ever. A moment that has passed, also 0 or one below 0, ends the
 * wait before a server can answer; what needs no answer may still succeed. `once` is a single try:
 * it ends with the servers' first answer, and its deadline does not count.
 * NaN, and a number of seconds below 0, make a deadline that has passed, or the shortest duration
 * (zkl_clock_after, zkl_clock_duration). Elsewhere a comment says what they do.
 *
 * Errors: where the memory can run out, a function returns ZKL_NO_MEMORY or NULL. The engine checks
 * no pointer: NULL is allowed only where a comment says so. It checks numbers: for one that is out
 * of range, a function of a text returns "unknown", and one that returns or answers a zkl_status
 * ZKL_BAD_ARGUMENT. A buffer for a text has at least 1 byte; a longer text is truncated, unless a
 * comment says otherwise.
 *
 * Structs grow: those with a `size` begin with it, and later versions may add fields at the end.
 * The host sets one to its DEFAULTS, then the fields that it needs; a designated initializer with
 * `.size = sizeof (zkl_terms)` leaves the others 0. The library accepts the struct of an earlier
 * version, in which later fields have their defaults, and fills it as far as it goes. That of a
 * later version is ZKL_BAD_ARGUMENT if a field that the library lacks is not 0; in one that it
 * fills they become 0. A `size` of 0 is ZKL_BAD_ARGUMENT, or false. The elements of an array are
 * the `size` of its first apart.
 *
 * An object that a function creates for the host belongs to the host until the host calls the drop
 * function of its type. After that no event of the object comes. Every drop and free accepts NULL.
 * The engine copies each text and struct that it is given before the function returns.
 *
 * zklock_host.h, beside this header, has what only bindings and adapters for loops need. Nothing in
 * it is promised.
 *
 * The exit of the process: the first zkl_open registers a handler with atexit. It closes all
 * clients that are open and waits until their sessions have ended, together for a second at most:
 * so `exit` may wait a second, and other clients get the locks at once. `_exit`, and a signal that
 * ends the process, leave the locks until the session times out. */
#ifndef ZKLOCK_H
#define ZKLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions that libzklock.so exports. */
#ifndef ZKL_API
#define ZKL_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version, also of the Lua library. The major one is the number behind libzklock.so: a program
 * that was compiled with another one must be compiled anew. tools/version.lua writes it. */
#define ZKL_VERSION "1.0.0"

/* The ZKL_VERSION of the library that is loaded; static. */
ZKL_API const char *zkl_version(void);

/* ---- time ---- */

typedef int64_t zkl_nanos; /* nanoseconds since boot; differences are durations */

#define ZKL_NEVER INT64_MAX
#define ZKL_SECOND INT64_C(1000000000)

/* The present moment of CLOCK_BOOTTIME, which nobody can set back, and which runs on while the
 * machine is suspended. */
ZKL_API zkl_nanos zkl_now(void);
/* The moment so many seconds after `now`. ZKL_NEVER for infinity, and for more than the type can
 * hold. `now` for 0, for a negative number and for NaN: a deadline that has passed. */
ZKL_API zkl_nanos zkl_clock_after(zkl_nanos now, double seconds);
/* A duration of so many seconds; rounded up, and at least 1, because 0 means "no bound" in
 * zkl_terms. So 1 for 0, for a negative number and for NaN. ZKL_NEVER if the type cannot hold
 * it. */
ZKL_API zkl_nanos zkl_clock_duration(double seconds);
/* A duration in seconds; that of ZKL_NEVER is some 9.2e9. */
ZKL_API double zkl_clock_seconds(zkl_nanos duration);

/* ---- results ---- */

/* A zkl_code, or below zero an answer of the servers, by ZooKeeper's code. */
typedef int zkl_status;

/* docs/troubleshooting.md explains each. Later versions may add some at the end. */
typedef enum zkl_code {
    ZKL_OK,
    ZKL_TIMEOUT,       /* the deadline has passed; of a single try: another caller holds it */
    ZKL_DISCONNECTED,  /* the deadline has passed without a session; of a try: there is none */
    ZKL_CANCELLED,     /* by the host */
    ZKL_CLOSED,        /* the client is closed, or was closed meanwhile */
    ZKL_NOT_OWNER,     /* the contender does not hold, and has lost no hold */
    ZKL_LOST,          /* the session ended, the node was deleted, or max_hold has elapsed */
    ZKL_DEADLOCK,      /* owners would wait for each other (zkl_terms.owner); or one for itself */
    ZKL_WRONG_KIND,    /* a lock of another kind uses the path */
    ZKL_ACCESS_DENIED, /* an ACL forbids it, or makes the lock unsafe */
    ZKL_AUTH_FAILED,   /* the servers refused the credentials: the client is of no use */
    ZKL_FORKED,        /* the client belongs to the parent process */
    ZKL_NO_MEMORY,     /* or no descriptor, or no thread */
    ZKL_BAD_ARGUMENT,  /* the function's comment says which arguments it refuses */
    ZKL_TOO_BIG,     /* one request cannot hold it; or (zkl_shortage_text) zkl_config.node_bytes */
    ZKL_TOO_MANY,    /* the lock's directory has more than 20,000 children */
    ZKL_BUSY,        /* max_waiting callers of this client already wait here */
    ZKL_NO_NODE,     /* there is no such node */
    ZKL_NODE_EXISTS, /* there is such a node already */
    ZKL_BAD_VERSION, /* the node has another version */
    ZKL_NOT_EMPTY,   /* the node has children */
    ZKL_UNKNOWN,     /* nobody knows whether the servers did it */
    ZKL_TOO_MANY_WATCHES, /* the node watches already take 500,000 bytes */
    ZKL_STATUS_END        /* none: how many there are; grows with later versions */
} zkl_code;

/* No status outside of these has a text of its own. */
#define ZKL_STATUS_FIRST (-200)
#define ZKL_STATUS_LAST (ZKL_STATUS_END - 1)

/* The text of a status (docs/api.md): "timeout", "zookeeper: MARSHALLINGERROR"; static, never
 * NULL. "zookeeper: UNKNOWN" for any other number. */
ZKL_API const char *zkl_status_text(zkl_status status);

/* ---- clients ---- */

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

/* "connecting", "connected", ...; static, never NULL. "unknown" for any other number. */
ZKL_API const char *zkl_state_text(zkl_state state);

/* The ACL of the nodes that the client creates. */
typedef enum zkl_acl { ZKL_ACL_OPEN, ZKL_ACL_CREATOR, ZKL_ACL_READ } zkl_acl;

typedef struct zkl_auth {
    const char *scheme, *credential;
} zkl_auth;

/* The engine copies everything in it. */
typedef struct zkl_config {
    size_t size;
    const char *hosts;      /* ZooKeeper's connect string, with or without chroot */
    double session_timeout; /* seconds asked of the servers, above 0 and up to 3600 */
    const zkl_auth *auths;  /* of addauth; NULL if auth_count is 0 */
    size_t auth_count;
    zkl_acl acl;
    const char *identifier; /* data of the lock nodes, up to ZKL_IDENTIFIER_MOST; NULL: none */
    const char *tls;        /* "ca,cert,key,password", none empty, or NULL; needs zkl_has_tls() */
    bool notes;             /* keep zklock's log lines for zkl_log_take */
    bool log;               /* ... and libzookeeper's */
    bool trace;             /* ... and one for each change of a state */
    /* so many bytes of paths its ephemeral nodes may have, from 1,000 to 100,000,000; 0: 900,000.
     * Servers that start again read twice as much with the jute.maxbuffer that they have by
     * default; with a larger one this may be larger */
    size_t node_bytes;
} zkl_config;
#define ZKL_IDENTIFIER_MOST 1024 /* bytes */
/* A session of 10 seconds, nodes that everybody may use; `hosts` is missing. */
#define ZKL_CONFIG_DEFAULTS                                                                        \
    { sizeof(zkl_config), NULL, 10, NULL, 0, ZKL_ACL_OPEN, NULL, NULL, false, false, false, 0 }

/* Was libzookeeper built with TLS? */
ZKL_API bool zkl_has_tls(void);
/* Loads the files just as libzookeeper does for every connection. Returns NULL if it can. Otherwise
 * it returns "ca", "cert" or "key", and `why` says what is wrong with that file; the password is
 * never in it. It reads files, so it may block. */
ZKL_API const char *zkl_tls_problem(const char *ca, const char *cert, const char *key,
                                    const char *password, char *why, size_t size);

/* Is the connect string well formed? If not, `why` says what is wrong with it. */
ZKL_API bool zkl_hosts_valid(const char *hosts, char *why, size_t size);

/* Starts connecting; does not wait. ZKL_OK: *client belongs to the host until zkl_free.
 * ZKL_BAD_ARGUMENT: the connect string, the timeout (also NaN), the ACL or `node_bytes` is wrong,
 * `identifier` is too long, or there is `tls` without zkl_has_tls().
 * ZKL_NO_MEMORY also stands for descriptors and threads: then errno is EMFILE, ENFILE or EAGAIN. */
ZKL_API zkl_status zkl_open(const zkl_config *config, zkl_client **client);

/* Answers every waiter with ZKL_CLOSED, gives holds back, and ends the session in the background.
 * When that is done, zkl_ended becomes true and the descriptor readable. Twice is fine. Does not
 * wait; ending the session takes some seconds at most if no server answers. */
ZKL_API void zkl_close(zkl_client *client);
/* Has everything ended that zkl_close has begun? Does not take the client's mutex. */
ZKL_API bool zkl_ended(zkl_client *client);
/* The host gives up the client; closes it first if the host has not. Does not wait: the session
 * ends in the background, unless the process exits before. Call it once; afterwards only the drops,
 * and the other functions of objects that the host still has, are allowed. In a forked child it
 * does nothing. */
ZKL_API void zkl_free(zkl_client *client);

/* The present state; ZKL_STATE_FORKED in a forked child. Does not take the client's mutex. */
ZKL_API zkl_state zkl_client_state(zkl_client *client);
#define ZKL_TROUBLE_TEXT 160 /* bytes */
/* Why no server is in reach, as far as the client knows: "connection refused: 127.0.0.1:2181". Or
 * why a caller has given up although a server is in reach: "answers take 2.0 s; a session of 6 s
 * allows 0.75 s". false: the client does not know. */
ZKL_API bool zkl_client_trouble(zkl_client *client, char *text, size_t size);
/* Seconds that the servers granted; before that, those that the host asked for. */
ZKL_API double zkl_session_timeout(zkl_client *client);
/* The number of the session; 0 while there is none. */
ZKL_API int64_t zkl_session_id(zkl_client *client);

/* ---- locks ---- */

typedef enum zkl_kind {
    ZKL_KIND_NONE, /* not a name of a known lock */
    ZKL_KIND_LOCK, /* ours, Curator's, Go's: ...lock-0000000001; kazoo's: ...__lock__0000000001 */
    ZKL_KIND_READ,
    ZKL_KIND_WRITE,
    ZKL_KIND_LEASE
} zkl_kind;

#define ZKL_KINDS (ZKL_KIND_LEASE + 1) /* the size of a table by kind */

/* How this client's callers share one node in a line, on which they take turns. The sharing of the
 * latest join counts, also while the node is held: a longer stint lets the waiters behind the node
 * wait for longer. */
typedef struct zkl_sharing {
    size_t size;
    /* how long waiters behind the node wait at most, besides the last hold; 0 to 3,600 seconds.
     * Behind readers 0.1 seconds at least */
    zkl_nanos stint;
    zkl_nanos linger; /* how long the client keeps the node when no caller wants it; from 0 */
} zkl_sharing;
#define ZKL_SHARING_DEFAULTS                                                                       \
    { sizeof(zkl_sharing), ZKL_SECOND, ZKL_SECOND }

/* A caller's request to a line. */
typedef struct zkl_terms {
    size_t size;
    zkl_kind kind;      /* LOCK, READ, WRITE or LEASE */
    uint32_t permits;   /* LEASE: how many there may be */
    zkl_nanos deadline; /* of the wait */
    bool once;          /* a single try: the answer comes as soon as the servers have answered */
    /* the host's number for the owner, up to ZKL_OWNER_MOST; 0: unknown. An owner keeps its
     * holds while it waits. So a join fails at once with ZKL_DEADLOCK if its wait would close a
     * circle of this client's owners, and no wait in the circle has a deadline; leases, a hold with
     * `max_hold`, and one taken over without traffic, are in no circle. The names of its nodes show
     * the number, so that `zklock who --deadlocks` can tell which nodes of a session belong
     * together. A shared node has none */
    uint32_t owner;
    zkl_nanos max_hold; /* how long it may hold before it loses the hold; 0: no bound */
    /* READ: a hold of write by the same owner, in the same line of the same client, or NULL. It has
     * joined with a sharing if these terms have one, otherwise without. Not checked */
    zkl_contender *under;
    zkl_nanos slow; /* a wait that takes longer is a line of the log; 0: never */
    /* it waits for its turn to work for as long as it lives: zkl_counts has it in `standing_by`
     * instead of `waiting`, and neither its wait nor its hold is one of the oldest */
    bool job;
    /* of zkl_name: which counts it belongs to; 0, or any other number: those without a name */
    unsigned name;
    /* 1 and the number of callers of this client that may wait here; 0: no bound */
    uint32_t max_waiting;
    const zkl_sharing
        *sharing; /* zkl_join; NULL: each has a node of its own, in order of arrival */
    /* NULL, or receives the token if the caller holds when zkl_join returns, which needs `sharing`:
     * then no event GRANTED comes */
    int64_t *at_once;
} zkl_terms;
/* A mutex that is waited for without a bound. */
#define ZKL_TERMS_DEFAULTS                                                                         \
    {                                                                                              \
        sizeof(zkl_terms), ZKL_KIND_LOCK, 0, ZKL_NEVER, false, 0, 0, NULL, 0, false, 0, 0, NULL,   \
            NULL                                                                                   \
    }

#define ZKL_OWNER_MOST 1048575

/* Joins the line at `path`, which is absolute, without the chroot, and not "/". One event of `tag`
 * answers: GRANTED or FAILED, at the latest at the deadline. Without ZKL_OK there is no contender
 * and no event: ZKL_CLOSED, ZKL_AUTH_FAILED, ZKL_FORKED, ZKL_NO_MEMORY; ZKL_DEADLOCK
 * (terms->owner); ZKL_BAD_ARGUMENT: the path is not that of a lock (zkl_path_is_lock), or the
 * terms have another kind, no permits for a LEASE, a negative `max_hold` or `slow`, an owner above
 * ZKL_OWNER_MOST, or a sharing for a LEASE or out of its bounds. */
ZKL_API zkl_status zkl_join(zkl_client *client, const char *path, uint64_t tag,
                            const zkl_terms *terms, zkl_contender **contender);
/* Joins several lines at once: it will hold all of them or none. There is at least one path, no
 * path is given twice or lies below another, terms->kind is LOCK, and there is no sharing:
 * otherwise ZKL_BAD_ARGUMENT, as of zkl_join. FAILED with ZKL_TOO_BIG: one request cannot hold so
 * many paths, or zkl_config.node_bytes forbids them. */
ZKL_API zkl_status zkl_join_all(zkl_client *client, const char *const *paths, size_t count,
                                uint64_t tag, const zkl_terms *terms, zkl_contender **contender);
/* `count` leases together, from 1 to terms->permits, of the semaphore at `path`; terms->kind is
 * LEASE. Otherwise ZKL_BAD_ARGUMENT, as of zkl_join. */
ZKL_API zkl_status zkl_join_leases(zkl_client *client, const char *path, size_t count, uint64_t tag,
                                   const zkl_terms *terms, zkl_contender **contender);
/* The hold ends so long from now, whatever its max_hold was; 0: it has no bound. Later holds of the
 * same contender have the max_hold of its terms. ZKL_LOST: it was lost before, or had come to its
 * end; ZKL_NOT_OWNER, ZKL_CLOSED, ZKL_FORKED; ZKL_BAD_ARGUMENT: a negative time. */
ZKL_API zkl_status zkl_extend(zkl_contender *contender, zkl_nanos max_hold);
/* Gives a hold back; the release is on its way when this returns. ZKL_OK: validity was above 0.
 * ZKL_UNKNOWN: it was 0, and somebody else may have held it. After either, one more event with the
 * contender's tag reports what the servers say: LOST if the only delete that was sent found no node
 * (or, after ZKL_UNKNOWN, if the session had ended), otherwise FAILED with ZKL_OK. The event comes
 * before the answer of a zkl_query_flush that was asked after the release, so a host that waits for
 * that answer, and then takes its events, knows. On a shared node that stays, it comes once the
 * node is known to be there. None comes after zkl_drop or zkl_close. Any other status gives nothing
 * back: ZKL_LOST, also when max_hold has elapsed; ZKL_NOT_OWNER, ZKL_CLOSED. */
ZKL_API zkl_status zkl_release(zkl_contender *contender);
/* The same, for a holder whose work may still be under way: no caller of this client takes its node
 * over, and the next holder has a larger token. */
ZKL_API zkl_status zkl_give_up(zkl_contender *contender);
/* Ends the wait with an event FAILED, ZKL_CANCELLED, unless there was an answer before. Does
 * nothing to a hold. */
ZKL_API void zkl_cancel(zkl_contender *contender);
/* Ends the wait or the hold, which counts as abandoned, and the contender: call nothing else with
 * it afterwards. An open question about it, or an open write that it guards and that the client has
 * not handed over, answers ZKL_LOST. */
ZKL_API void zkl_drop(zkl_contender *contender);
#define ZKL_SHORTAGE_TEXT 200 /* bytes */
/* After FAILED with ZKL_TOO_BIG: how many bytes the paths of the client's ephemeral nodes had, how
 * many more were asked for, the bound, and the remedy. false: it has failed for another reason. */
ZKL_API bool zkl_shortage_text(zkl_contender *contender, char *text, size_t size);
/* Seconds since it began to wait, or since it was granted; 0 if neither. */
ZKL_API double zkl_since(zkl_contender *contender);
/* Was another holder or waiter in front of it, here or elsewhere, as far as the client has seen? */
ZKL_API bool zkl_waited(zkl_contender *contender);
/* Does it hold? This function, zkl_token and zkl_validity do not take the client's mutex. */
ZKL_API bool zkl_held(zkl_contender *contender);
/* The node's czxid while the contender holds, else 0. */
ZKL_API int64_t zkl_token(zkl_contender *contender);
/* The number of the grant on its shared node, from 1; 0 without one. false: it does not hold. */
ZKL_API bool zkl_turn(zkl_contender *contender, uint64_t *turn);
/* Seconds for which the servers cannot have given the lock away; 0 when it does not hold. */
ZKL_API double zkl_validity(zkl_contender *contender);

/* Hands out the full path of the index-th node of the hold, without the chroot. false: there are no
 * more, or it does not hold; or the path does not fit. ZKL_NODE_PATH bytes are always enough. A
 * shared node then ends with this hold, because the caller may guard late writes by it. */
ZKL_API bool zkl_node_at(zkl_contender *contender, size_t index, char *path, size_t size);
#define ZKL_NODE_PATH 4608
/* The nodes in front of a waiter, in the line in which it waits now, as the client has last listed
 * them. A semaphore's callers take their leases one after the other: first they wait in the line of
 * those, then for leases. */
typedef struct zkl_front {
    size_t size;
    size_t ahead;   /* nodes that keep it waiting; of leases: how many have to go */
    size_t of;      /* nodes that wait or hold there, its own among them */
    size_t path;    /* of a multilock: the index of the path in whose line it waits; else 0 */
    bool own;       /* the nearest node in front is one of this client */
    char next[256]; /* the name of that one, truncated; "" if there is none, and for leases */
    bool read;      /* a warning of a slow wait, or zkl_query_front, has read the holder's data: */
    char holder[160]; /* truncated; "" if they were not read */
} zkl_front;
#define ZKL_FRONT_DEFAULTS                                                                         \
    { sizeof(zkl_front), 0, 0, 0, false, "", false, "" }
/* Sends nothing. false: it does not wait, or no list has shown its node; then only `path` says
 * something. Of a multilock that has failed it says where the wait ended; true: the servers have
 * shown that the lock there was not free. */
ZKL_API bool zkl_front_of(zkl_contender *contender, zkl_front *front);

#define ZKL_WHY_TEXT 600 /* bytes */
/* Why does it wait? A line for people, from what the client knows already; it sends nothing: "third
 * of 7, behind db7:4242; it has waited for 2.0 s". Its words may change. Text of others is spelled:
 * `\x1b`. false: it does not wait. */
ZKL_API bool zkl_why(zkl_contender *contender, char *text, size_t size);

/* ---- events ---- */

typedef enum zkl_event_kind {
    ZKL_EVENT_GRANTED, /* contender `tag` holds; `token` */
    /* contender `tag` no longer waits; `status`. ZKL_OK: its release is confirmed */
    ZKL_EVENT_FAILED,
    ZKL_EVENT_LOST,    /* contender `tag` held and no longer does; `status`, `token` */
    ZKL_EVENT_REVOKED, /* somebody asks contender `tag` to release; `token` */
    ZKL_EVENT_ANSWER,  /* query `tag` is answered; `status` */
    ZKL_EVENT_CHANGED, /* node watch `tag` has a new state */
    ZKL_EVENT_ENDED,   /* visit `tag` has ended (zklock_host.h) */
    ZKL_EVENT_STATE,   /* the session's state changed; `state` */
    ZKL_EVENT_LOG      /* lines wait in zkl_log_take */
} zkl_event_kind;

typedef struct zkl_event {
    uint64_t serial; /* for zkl_forget */
    uint64_t tag;    /* the host's own number for its subject */
    int64_t token;   /* the fencing token; 0 where the kind has none */
    zkl_status status;
    zkl_event_kind kind;
    zkl_state state; /* STATE: the session's */
} zkl_event;

/* The descriptor to poll for reading, until zkl_free. The host does not read from it: zkl_peek
 * does. In a forked child it is the parent's. */
ZKL_API int zkl_fd(zkl_client *client);
/* Copies the oldest event, which stays the oldest until zkl_forget: a host that is interrupted
 * while it handles the event finds it again. false: there is none. */
ZKL_API bool zkl_peek(zkl_client *client, zkl_event *event);
/* The host has handled the event. Does nothing if the engine has posted it again since, or if the
 * event went with its subject. */
ZKL_API void zkl_forget(zkl_client *client, uint64_t serial);
/* For a program without a loop: waits until the subject with that tag has an event, and takes it.
 * Events of other subjects keep their order. ZKL_OK; ZKL_TIMEOUT at the deadline; ZKL_CLOSED once
 * the client has ended; ZKL_FORKED; ZKL_BAD_ARGUMENT: `event` is NULL. One thread at a time reads
 * events, by zkl_wait or zkl_peek. */
ZKL_API zkl_status zkl_wait(zkl_client *client, uint64_t tag, zkl_nanos deadline, zkl_event *event);
/* Takes the oldest log line. `level` of zklock's own lines is "error" (refused credentials, the end
 * of a session that held something), "warn" (the rest), or "debug", which is a line of the trace;
 * `own`: the line is zklock's, not libzookeeper's. A condition of ours that repeats is one line a
 * minute at most, with the number of times. Losses are events. Paths in a line may have any bytes,
 * so escape it before you show it. Of a host that takes no lines the client keeps the latest 64,
 * and 1024 of the trace. false: there is none. */
ZKL_API bool zkl_log_take(zkl_client *client, const char **level, bool *own, char *line,
                          size_t size);

/* ---- queries: questions answered by one ANSWER event of `tag` ---- */

/* Is there a session? ZKL_OK, ZKL_AUTH_FAILED, ZKL_CLOSED, ZKL_DISCONNECTED at the deadline. Like
 * the other questions it returns NULL if there is no memory for it, and in a forked child. */
ZKL_API zkl_query *zkl_query_session(zkl_client *client, uint64_t tag, zkl_nanos deadline);
/* Has every release made so far been confirmed? ZKL_OK, ZKL_TIMEOUT, ZKL_DISCONNECTED, ZKL_CLOSED,
 * or why the servers refuse to delete a node: ZKL_ACCESS_DENIED. */
ZKL_API zkl_query *zkl_query_flush(zkl_client *client, uint64_t tag, zkl_nanos deadline);
/* Does the contender hold, with validity above 0? ZKL_OK, ZKL_LOST, which also says that it never
 * held; ZKL_CLOSED; at the deadline ZKL_TIMEOUT or ZKL_DISCONNECTED. */
ZKL_API zkl_query *zkl_query_validity(zkl_contender *contender, uint64_t tag, zkl_nanos deadline);
/* Reads what zkl_front_of then says of a waiter: the line, if the latest list is older than a
 * second, and the holder's data, once for each holder however many callers of this client ask.
 * ZKL_OK: so far as possible, or it no longer waits; ZKL_CLOSED; at the deadline ZKL_TIMEOUT or
 * ZKL_DISCONNECTED. */
ZKL_API zkl_query *zkl_query_front(zkl_contender *contender, uint64_t tag, zkl_nanos deadline);
/* Lists the participants of the line, or of the leases' directory. ZKL_OK: zkl_participant_at
 * returns them; there are none if there is no such node. ZKL_BAD_ARGUMENT: the path is not valid.
 * Also ZKL_ACCESS_DENIED, ZKL_TOO_MANY, ZKL_TOO_BIG, ZKL_AUTH_FAILED, ZKL_CLOSED, ZKL_NO_MEMORY; at
 * the deadline ZKL_TIMEOUT or ZKL_DISCONNECTED. `once`: a single try, which answers
 * ZKL_DISCONNECTED if there is no connection. */
ZKL_API zkl_query *zkl_query_participants(zkl_client *client, const char *path, bool leases,
                                          uint64_t tag, zkl_nanos deadline, bool once);

/* Asks the holders to give it back. ZKL_OK: zkl_revoked returns how many there were.
 * ZKL_BAD_ARGUMENT: the path is not that of a lock (zkl_path_is_lock); of leases: it is not valid,
 * or the servers' own. The other answers are those of zkl_query_participants. */
ZKL_API zkl_query *zkl_query_revoke(zkl_client *client, const char *path, bool leases, uint64_t tag,
                                    zkl_nanos deadline, bool once);
/* Does a node with this fencing token hold at `path`, at a moment not before the call? For mutexes,
 * both sides of a read-write lock, and semaphores. ZKL_OK: yes. ZKL_NOT_OWNER: no, which is also
 * the answer if there is no such path, and to a hold that this client has given back, until it has
 * another session. ZKL_BAD_ARGUMENT: the path is not that of a lock (zkl_path_is_lock), or the
 * token is below 0. The other answers are those of zkl_query_participants. */
ZKL_API zkl_query *zkl_query_check(zkl_client *client, const char *path, int64_t token,
                                   uint64_t tag, zkl_nanos deadline, bool once);

/* How many holders zkl_query_revoke has asked. Call it only after the ANSWER. */
ZKL_API size_t zkl_revoked(zkl_query *query);

/* Its texts belong to the query. */
typedef struct zkl_participant {
    size_t size;
    const char *node; /* name below the path */
    zkl_kind kind;
    int32_t sequence;
    int64_t session;
    int64_t token;          /* zkl_token of its owner, while it holds */
    const char *identifier; /* the node's data */
    size_t identifier_length;
    double created; /* seconds since 1970 by the servers' clock */
    bool holder, mine;
} zkl_participant;
#define ZKL_PARTICIPANT_DEFAULTS                                                                   \
    { sizeof(zkl_participant), NULL, ZKL_KIND_NONE, 0, 0, 0, NULL, 0, 0, false, false }

/* The index-th participant, in the order of the line. Call it only after the ANSWER. false: there
 * are no more. */
ZKL_API bool zkl_participant_at(zkl_query *query, size_t index, zkl_participant *participant);
/* Ends the query, with its texts. */
ZKL_API void zkl_query_drop(zkl_query *query);

/* ---- nodes ---- */

typedef enum zkl_op_kind {
    ZKL_OP_GET,
    ZKL_OP_EXISTS,
    ZKL_OP_CHILDREN,
    ZKL_OP_CREATE,
    ZKL_OP_SET,
    ZKL_OP_DELETE,
    ZKL_OP_CHECK, /* only among several */
    /* reads the ACL: the data has a line `SCHEME:ID:PERMISSIONS` for each entry, the permissions
     * being letters of "rwcda" */
    ZKL_OP_ACL
} zkl_op_kind;

/* An operation on one node. */
typedef struct zkl_op {
    size_t size;
    zkl_op_kind kind;
    const char *path;
    const char *data; /* CREATE, SET */
    size_t length;    /* bytes of it */
    int32_t version;  /* SET, DELETE, CHECK; -1: any */
    /* CREATE: `container` neither with `ephemeral` nor with `sequential`; `container` and `parents`
     * not among several; `parents` makes missing parents, each by a request, of a path that is no
     * longer than a lock's may be */
    bool ephemeral, sequential, container, parents;
    bool own_acl; /* CREATE: `acl` counts, otherwise the client's */
    zkl_acl acl;
} zkl_op;
/* Reads `path`; as a write, of any version. */
#define ZKL_OP_DEFAULTS                                                                            \
    {                                                                                              \
        sizeof(zkl_op), ZKL_OP_GET, NULL, NULL, 0, -1, false, false, false, false, false,          \
            ZKL_ACL_OPEN                                                                           \
    }

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

/* The content of a node that was read or made. It owns its texts. */
typedef struct zkl_content {
    size_t size; /* of the library's: fields behind it are not there */
    zkl_stat stat;
    char *data; /* with a NUL behind it, which `length` does not count */
    size_t length;
    char **names; /* sorted as bytes */
    size_t count;
    bool exposed; /* ACL: anybody may create, delete or administer there */
} zkl_content;
/* Frees what zkl_node_watch_take gave the host. */
ZKL_API void zkl_content_free(zkl_content *content);

typedef struct zkl_node_request zkl_node_request;

/* Reads or writes a node; its path is absolute, without the chroot. One ANSWER event of `tag`:
 * ZKL_OK, ZKL_NO_NODE, ZKL_NODE_EXISTS, ZKL_BAD_VERSION, ZKL_NOT_EMPTY, ZKL_TOO_BIG,
 * ZKL_BAD_ARGUMENT, ...
 *
 * The client hands the operation to the link when there is one. ZKL_TIMEOUT, ZKL_DISCONNECTED,
 * ZKL_CLOSED, ZKL_AUTH_FAILED of a write: it never did. ZKL_UNKNOWN: it did, and no answer came. It
 * hands a read over again and again, until the deadline. `once`: one try, without a deadline.
 *
 * ZKL_BAD_ARGUMENT without having asked a server: the kind is not a zkl_op_kind, or not for this
 * function; the path is not valid (zkl_path_is_valid), or it is the servers' own (zkl_path_is_lock)
 * and the operation a CREATE, SET or DELETE; or the flags or the ACL of a CREATE are not as zkl_op
 * says. */
ZKL_API zkl_node_request *zkl_node_do(zkl_client *client, const zkl_op *op, uint64_t tag,
                                      zkl_nanos deadline, bool once);
/* Does all operations, which are CREATE, SET, DELETE or CHECK, or none. `guard`: NULL, or a
 * contender of this client. If it does not hold any more when the servers do them: ZKL_LOST. */
ZKL_API zkl_node_request *zkl_node_do_all(zkl_client *client, const zkl_op *ops, size_t count,
                                          zkl_contender *guard, uint64_t tag, zkl_nanos deadline,
                                          bool once);
/* Reads after its ANSWER, if that is ZKL_OK, show all that anybody had written before. ZKL_TIMEOUT,
 * ZKL_DISCONNECTED, ZKL_CLOSED, ZKL_AUTH_FAILED: they may not. */
ZKL_API zkl_node_request *zkl_node_sync(zkl_client *client, uint64_t tag, zkl_nanos deadline,
                                        bool once);

/* Call it only after the ANSWER. Among several operations a set has its stat, and a create its path
 * as data. NULL: it has none. The content belongs to the node request. */
ZKL_API const zkl_content *zkl_node_request_content(const zkl_node_request *request, size_t index);
/* EXISTS: is the node there? */
ZKL_API bool zkl_node_request_found(const zkl_node_request *request);
/* The number of the operation that failed, from 1; 0: none in particular. Call it only after the
 * ANSWER, like zkl_node_request_found. */
ZKL_API size_t zkl_node_request_failed(const zkl_node_request *request);
/* The same as zkl_shortage_text, after the ANSWER ZKL_TOO_BIG. */
ZKL_API bool zkl_node_request_shortage(const zkl_node_request *request, char *text, size_t size);
/* The client does not hand over an operation that it still keeps. A write that it has handed over
 * may or may not be done: a read that the host asks for from now on shows which. */
ZKL_API void zkl_node_request_drop(zkl_node_request *request);

/* ---- node watches ---- */

typedef struct zkl_node_watch zkl_node_watch;

/* Watches a node: its data, or its children. An event CHANGED of `tag` says that there is a state
 * to take: soon, and after each change. Without ZKL_OK there is no node watch:
 * ZKL_TOO_MANY_WATCHES, ZKL_CLOSED, ZKL_FORKED, ZKL_NO_MEMORY, ZKL_BAD_ARGUMENT. */
ZKL_API zkl_status zkl_look_at(zkl_client *client, const char *path, bool children, uint64_t tag,
                               zkl_node_watch **node_watch);
/* Takes the latest state, once. ZKL_OK: *content belongs to the host until zkl_content_free.
 * ZKL_NO_NODE, ZKL_ACCESS_DENIED: it is NULL. false: nothing is new. */
ZKL_API bool zkl_node_watch_take(zkl_node_watch *node_watch, zkl_status *status,
                                 zkl_content **content);
/* Ends the watch. */
ZKL_API void zkl_node_watch_drop(zkl_node_watch *node_watch);

/* ---- once: not again within some seconds, whichever client did it ---- */

typedef struct zkl_once zkl_once;

/* Has anybody left a mark at the mutex less than `seconds` (above 0, or INFINITY: ever) ago, by the
 * servers' clock? `held` holds the mutex: terms->kind was LOCK, and it has one path. One ANSWER
 * event of `tag`.
 *
 * ZKL_BAD_ARGUMENT: `held` is not of a mutex, but of a read, a write, leases or several paths; or
 * `seconds` is 0, negative or NaN. A finite number may be as large as a double can be.
 *
 * ZKL_OK: zkl_once_left returns how many seconds are left. 0: it is due, and with `mark` the mark
 * is written. A mark that lies in the future counts from now on. ZKL_WRONG_KIND: the path is that
 * of a semaphore, or the mark's data is no token. ZKL_LOST: `held` does not hold any more.
 * ZKL_UNKNOWN: nobody knows whether the mark is written. Also ZKL_ACCESS_DENIED, ZKL_TIMEOUT,
 * ZKL_DISCONNECTED, ... */
ZKL_API zkl_once *zkl_once_ask(zkl_contender *held, double seconds, bool mark, uint64_t tag,
                               zkl_nanos deadline);
/* Writes the mark, whenever the latest one was written. The answers are those of zkl_once_ask;
 * zkl_once_left is 0. */
ZKL_API zkl_once *zkl_once_mark(zkl_contender *held, uint64_t tag, zkl_nanos deadline);
/* Seconds until it is due again; 0: it is due. INFINITY: never. Call it only after the ANSWER. */
ZKL_API double zkl_once_left(zkl_once *once);
/* The host does not wait for the answer any more; a mark may still be written. */
ZKL_API void zkl_once_drop(zkl_once *once);

/* ---- counts: what a client has done, also for each name of locks ---- */

#define ZKL_BUCKETS 16

/* How often something took how long. A duration is in the first bucket whose bound (zkl_bound) it
 * does not exceed. */
typedef struct zkl_histogram {
    uint64_t buckets[ZKL_BUCKETS]; /* each without those before it */
    double sum;                    /* seconds */
} zkl_histogram;

/* The upper bound of a bucket, in seconds; that of the last is INFINITY, as for any larger
 * number. */
ZKL_API double zkl_bound(size_t bucket);

/* The outcome of the work that a job or a once of the host protects. */
typedef enum zkl_run {
    ZKL_RUN_RAN,     /* it was begun */
    ZKL_RUN_SKIPPED, /* a mark was found */
    ZKL_RUN_FAILED,  /* one that was begun has failed; it counts as begun, too */
    ZKL_RUN_END      /* none: how many there are */
} zkl_run;

/* "ran", "skipped" or "failed"; static, never NULL. "unknown" for any other number, such as
 * ZKL_RUN_END. */
ZKL_API const char *zkl_run_text(zkl_run run);

#define ZKL_RUNS 8 /* the size of an array by run; those from ZKL_RUN_END on are 0 */

typedef struct zkl_stats {
    size_t size;
    uint64_t acquired, released, timeouts, lost, revoked, abandoned, sessions, requests_sent;
    uint64_t waiting, held; /* now */
    /* nodes that the client polls, because there is no room for a watch on them */
    uint64_t unwatched;
    uint64_t handed;  /* of those acquired: granted on a shared node that was there */
    uint64_t guarded; /* guarded writes (zkl_node_do_all with a contender) that were carried out */
    uint64_t watches; /* of the host's (zkl_look_at): how many there are */
    /* that the paths of ephemeral nodes have, with the chroot: of nodes that exist, are asked for,
     * are in doubt, or wait to be deleted (zkl_config.node_bytes) */
    uint64_t node_bytes;
    uint64_t runs[ZKL_RUNS]; /* counted by the host: zklock_host.h */
    double latency;          /* seconds that an answer of the leader or a quorum takes, smoothed */
    /* from the join of each caller to its grant or its failure; and from each grant to the end of
     * the hold */
    zkl_histogram wait, hold;
    zkl_histogram heartbeat; /* from each heartbeat to its answer */
} zkl_stats;
/* clang-format off */
#define ZKL_STATS_DEFAULTS \
    {sizeof(zkl_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, \
     {{0}, 0}, {{0}, 0}, {{0}, 0}}
/* clang-format on */

/* All counts since zkl_open. ZKL_OK, ZKL_BAD_ARGUMENT; ZKL_FORKED: all are 0. */
ZKL_API zkl_status zkl_client_stats(zkl_client *client, zkl_stats *stats);

/* How an acquire ends. */
typedef enum zkl_result {
    ZKL_RESULT_ACQUIRED,
    ZKL_RESULT_TIMEOUT,
    ZKL_RESULT_CANCELLED,
    ZKL_RESULT_DISCONNECTED,
    ZKL_RESULT_BUSY,
    ZKL_RESULT_DEADLOCK,
    ZKL_RESULT_CLOSED,
    ZKL_RESULT_ERROR,
    ZKL_RESULT_END /* none: how many there are */
} zkl_result;

/* "acquired", "timeout", ...; static, never NULL. "unknown" for any other number, such as
 * ZKL_RESULT_END. */
ZKL_API const char *zkl_result_text(zkl_result result);

/* Why a hold was lost. */
typedef enum zkl_loss {
    ZKL_LOSS_NONE,
    ZKL_LOSS_EXPIRED,  /* the session */
    ZKL_LOSS_DELETED,  /* the node */
    ZKL_LOSS_MAX_HOLD, /* the hold took too long */
    ZKL_LOSS_END       /* none: how many there are */
} zkl_loss;

/* "none", "expired", ...; static, never NULL. "unknown" for any other number, such as
 * ZKL_LOSS_END. */
ZKL_API const char *zkl_loss_text(zkl_loss loss);

/* The sizes of arrays by result and by reason; the counts from ..._END on are 0. */
#define ZKL_RESULTS 16
#define ZKL_LOSSES 8

/* The counts of the locks with one name. */
typedef struct zkl_counts {
    size_t size;
    const char *name; /* lives as long as the client; "": locks without a name */
    uint64_t serial;  /* above that of every name that came earlier, in any client; "": 0 */
    uint64_t ended[ZKL_RESULTS]; /* acquires, by result */
    uint64_t lost[ZKL_LOSSES];   /* holds, by reason */
    uint64_t waiting, held;      /* at present */
    uint64_t standing_by;        /* at present: waits with terms->job, which `waiting` lacks */
    /* seconds, of those without terms->job; 0: nobody waits, nothing is held */
    double oldest_wait, oldest_hold;
    uint64_t runs[ZKL_RUNS];
    double last_run; /* seconds since 1970 by this machine's clock; 0: nothing has run */
    zkl_histogram wait, hold;
} zkl_counts;
/* clang-format off */
#define ZKL_COUNTS_DEFAULTS \
    {sizeof(zkl_counts), NULL, 0, {0}, {0}, 0, 0, 0, 0, 0, {0}, 0, {{0}, 0}, {{0}, 0}}
/* clang-format on */

/* A client counts so many names separately. The locks with further names share the counts of the
 * last name, which is "other". */
#define ZKL_NAMES_MOST 100
/* Of all counts: "", the names, "other". */
#define ZKL_COUNTS_MOST (ZKL_NAMES_MOST + 2)

/* The number of a name, for zkl_terms; that of "" is 0. ZKL_NO_MEMORY, ZKL_FORKED. */
ZKL_API zkl_status zkl_name(zkl_client *client, const char *name, unsigned *number);

typedef struct zkl_measures {
    size_t size;
    double oldest_wait, oldest_hold; /* the largest of all counts */
    double validity;                 /* the least of all holds, in seconds */
    size_t count;                    /* of names that have counts */
} zkl_measures;
#define ZKL_MEASURES_DEFAULTS                                                                      \
    { sizeof(zkl_measures), 0, 0, 0, 0 }
/* One moment's measures and stats, and the counts of the names, as many as there is room for, at
 * most ZKL_COUNTS_MOST. The names are valid until zkl_free. ZKL_OK, ZKL_BAD_ARGUMENT; ZKL_FORKED:
 * all are 0. */
ZKL_API zkl_status zkl_client_measure(zkl_client *client, zkl_measures *measures, zkl_stats *stats,
                                      zkl_counts *counts, size_t room);

/* ---- paths, and the names of nodes ---- */

/* The data that asks a node's owner to release. */
#define ZKL_REVOKE "__REVOKE__"

/* A child of a mutex's node: the time of its latest change is when a caller last completed the work
 * that the mutex protects, and its data is that caller's token. Go's library can parse the name,
 * and sorts the node behind all others. */
#define ZKL_ONCE_NODE "once-2147483647"

/* Parses kind and sequence of a name that any compatible client has created. ZKL_KIND_NONE: not a
 * lock's node, and *sequence is unchanged. */
ZKL_API zkl_kind zkl_znode_parse(const char *name, int32_t *sequence);
/* True if the path is absolute, the servers accept all its characters, and no component is empty,
 * "." or ".."; "/" is such a path. The servers read UTF-8 and accept no control characters, no
 * private use, and nothing beyond U+FFEF, so no emoji. The functions that take a node's path answer
 * ZKL_BAD_ARGUMENT for any other one. */
ZKL_API bool zkl_path_is_valid(const char *path);
/* True if a lock may have the path: it is valid, and not "/"; it is not "/zookeeper" or below it,
 * because those nodes are the servers' own; it has at most 4096 bytes and 128 components, each of
 * at most 255 bytes, and none of them is a name that zkl_znode_parse takes for a lock's node. The
 * functions that take a lock's path answer ZKL_BAD_ARGUMENT for any other one. The chroot of the
 * connect string does not count. */
ZKL_API bool zkl_path_is_lock(const char *path);

/* The use of a path. READ of a node: "/" and the servers' own nodes, too. CREATE: no node that
 * would be one of a lock's. */
typedef enum zkl_path_use {
    ZKL_PATH_LOCK,
    ZKL_PATH_READ,
    ZKL_PATH_WRITE,
    ZKL_PATH_CREATE,
    ZKL_PATH_DELETE
} zkl_path_use;

/* Why a host should refuse a path that a user has written: a text that is never freed, or NULL. The
 * bounds of a lock's path hold for every use, and for the path as the servers see it, with the
 * chroot ("": none) before it. */
ZKL_API const char *zkl_path_problem(const char *path, const char *chroot, zkl_path_use use);

#ifdef __cplusplus
}
#endif

#endif
