/* SPDX-License-Identifier: MIT */
/* For hosts of event loops only: a binding for a language, or an adapter for a loop like
 * nginx's, that runs many callers over one client. A program that takes locks for itself needs
 * zklock.h alone.
 *
 * Nothing here is promised: any version may change it, so a host is compiled anew for each. The
 * symbols have the whole version, and the loader of glibc refuses a host that was linked with
 * another one. The rules of zklock.h for all functions and objects hold for these, too. */
#ifndef ZKLOCK_HOST_H
#define ZKLOCK_HOST_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the loop ---- */

/* zkl_peek, but a readable descriptor stays readable: the turn of the loop that it calls for is
 * still to come. Also false if the oldest event belongs to that turn. */
ZKL_API bool zkl_look(zkl_client *client, zkl_event *event);
/* From now on events do not make the descriptor readable, until zkl_unmute was called as often: the
 * host takes them itself, by zkl_look and zkl_forget. */
ZKL_API void zkl_mute(zkl_client *client);
/* Ends one zkl_mute. The last such call makes the descriptor readable if an event is left. */
ZKL_API void zkl_unmute(zkl_client *client);
/* Makes the descriptor readable: the host has work of its own. */
ZKL_API void zkl_wake(zkl_client *client);
/* Makes it readable at that moment, unless the client is closed by then. There is one such moment:
 * a later one than that of an earlier call changes nothing until that has come. */
ZKL_API void zkl_wake_at(zkl_client *client, zkl_nanos moment);
/* The host does not look at the descriptor any more: closes it, and zkl_fd returns -1. Call it only
 * on the thread that calls zkl_fd. zkl_peek works all the same. */
ZKL_API void zkl_hang_up(zkl_client *client);
/* From now on the client keeps no shared node that no caller uses: the host is about to leave. */
ZKL_API void zkl_hurry(zkl_client *client);

/* ---- counts of what the engine does not see ---- */

/* An acquire through a lock with the name of that number has ended before its caller could join. It
 * took `wait`; a negative one counts as 0. A number that no zkl_name has returned counts as 0, too.
 * A call of zkl_join counts by itself, also one that fails, except with ZKL_BAD_ARGUMENT and
 * ZKL_FORKED. */
ZKL_API void zkl_count(zkl_client *client, unsigned name, zkl_status status, zkl_nanos wait);
/* Work under a lock with the name of that number has begun, was skipped, or has failed. The client
 * does not see the host's work, so the host counts it. Does nothing with any other `run`. */
ZKL_API void zkl_count_run(zkl_client *client, unsigned name, zkl_run run);

/* ---- holds that come and go on a shared node ---- */

/* The answer that zkl_release would give at this moment. Gives nothing back. */
ZKL_API zkl_status zkl_would_release(zkl_contender *contender);
/* A short way for a caller that takes a shared node again and again: releases as zkl_release does,
 * but zkl_take_again can acquire with the same contender. false: that is not possible now, or
 * validity is 0; nothing is released. FAILED with ZKL_OK tells the host that it cannot take a
 * resting contender again. */
ZKL_API bool zkl_rest(zkl_contender *contender);
/* Acquires again what zkl_rest has released, at once. The token stays, and the turn grows. false:
 * that is not possible at once; nothing is acquired. */
ZKL_API bool zkl_take_again(zkl_contender *contender);
/* Was it held, then given back (in either way), and not taken again? */
ZKL_API bool zkl_given_back(zkl_contender *contender);

/* ---- parts of paths, and of the names of nodes ---- */

/* True if the servers accept all characters, as zkl_path_is_valid says. They would answer "bad
 * arguments" for any other path or chroot, without naming it. */
ZKL_API bool zkl_path_is_spelled(const char *path);
/* True if the path is "/zookeeper" or below it: those nodes are the servers' own. */
ZKL_API bool zkl_path_is_reserved(const char *path);

/* Identifies the owner of a node: 60 bits for the client, 60 for the node, of which the upper 20
 * are zkl_terms.owner. The name contains them as a version 4 UUID. */
typedef struct zkl_guid {
    uint64_t client, number;
} zkl_guid;
/* In zkl_guid.number the owner is above so many bits. */
#define ZKL_OWNER_SHIFT 40

/* Parses the GUID of a name that zklock could have created. false: it is none. */
ZKL_API bool zkl_znode_guid(const char *name, zkl_guid *guid);

/* ---- a notifier: for a host like nginx, whose loop connects to sockets by name and watches only
 * descriptors that it has made ---- */

typedef struct zkl_notifier zkl_notifier;

/* Makes a Unix socket in a directory that only this user may enter. If no directory can be made,
 * the socket has an abstract name; the path then begins with '@', which stands for the NUL byte,
 * and more NUL bytes fill the address. The host connects to zkl_notifier_path once, then calls
 * zkl_notifier_answer. From then on it reads a byte each time zkl_fd becomes readable. A client has
 * one notifier at a time, and one thread at a time uses it. `client` may be NULL: then the host
 * reads a byte for each zkl_notifier_ring, and for nothing else.
 * NULL: errno says why. */
ZKL_API zkl_notifier *zkl_notifier_open(zkl_client *client);
/* The socket's path; it belongs to the notifier. */
ZKL_API const char *zkl_notifier_path(const zkl_notifier *notifier);
/* Accepts the connection that this process has made, and removes socket and directory. false: errno
 * says why. */
ZKL_API bool zkl_notifier_answer(zkl_notifier *notifier);
/* The host reads a byte, unless it has many left to read. Not before zkl_notifier_answer. */
ZKL_API void zkl_notifier_ring(zkl_notifier *notifier);
/* Closes the connection: the host reads its end. */
ZKL_API void zkl_notifier_drop(zkl_notifier *notifier);

/* ---- visits: something of the host's (a request) whose end a C function reports, without the
 * host's script ---- */

typedef struct zkl_visit zkl_visit;

/* A visit without users. NULL: no memory, or a forked child. */
ZKL_API zkl_visit *zkl_visit_new(zkl_client *client, uint64_t tag);
/* Adds a user of the visit, which will call zkl_visit_end once. */
ZKL_API void zkl_visit_lend(zkl_visit *visit);
/* Whether the end of the visit posts an event; it does unless the host has said otherwise. Without
 * one the host learns of the end from zkl_visit_ended. */
ZKL_API void zkl_visit_announce(zkl_visit *visit, bool announced);
/* `visit` has ended: posts one event ENDED of its tag, if it is announced. Has the type that C
 * libraries expect of a cleanup handler. */
ZKL_API void zkl_visit_end(void *visit);
/* Has a user reported the end, since zkl_visit_new or zkl_visit_renew? */
ZKL_API bool zkl_visit_ended(const zkl_visit *visit);
/* From now on the visit stands for another one, which has not ended. false: it cannot, because a
 * user has not reported its end yet, or the host has not taken the event yet. */
ZKL_API bool zkl_visit_renew(zkl_visit *visit);

/* A handler that a C library calls at the end of something (nginx: of a subrequest). */
typedef struct zkl_visit_handler {
    intptr_t (*call)(void *of, void *data, intptr_t result);
    void *data;
} zkl_visit_handler;
/* A lent visit also ends when the library calls the handler in the slot. The library may do so
 * several times, until zkl_visit_end. The new handler calls the former one, too. Call this at most
 * once for a visit. The handlers run on the thread of their caller. */
ZKL_API void zkl_visit_hook(zkl_visit *visit, zkl_visit_handler **slot);
/* Puts the handler that was there before all of zklock's back into the slot, until
 * zkl_visit_rehook, to which the host gives the result. NULL: the slot has none of zklock's. */
ZKL_API zkl_visit *zkl_visit_unhook(zkl_visit_handler **slot);
/* Undoes a zkl_visit_unhook that did not return NULL. */
ZKL_API void zkl_visit_rehook(zkl_visit *visit);
/* Unlike after the other drops, one event of it may still come, which is on its way. */
ZKL_API void zkl_visit_drop(zkl_visit *visit);

#ifdef __cplusplus
}
#endif

#endif
