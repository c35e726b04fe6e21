/* SPDX-License-Identifier: MIT */
/* handle: what a handle of the fake libzookeeper is, and what its rooms ask of each other. */
#ifndef HANDLE_H
#define HANDLE_H

#include "ensemble.h"
#include "library.h"
#include "machine.h"

#include <zookeeper/zookeeper.h>

/* A result or an event that the completion thread has to call back with, in order. */
typedef struct sim_delivery {
    struct sim_delivery *next;
    sim_request *request; /* or: */
    int type, state;
    char *path;
    struct sim_listener *listeners; /* taken out for this event */
} sim_delivery;

/* A watcher as the library keeps it. */
typedef struct sim_listener {
    struct sim_listener *next;
    char *path;
    int kind;
    watcher_fn fn;
    void *ctx;
} sim_listener;

struct _zhandle {
    struct _zhandle *next; /* of all */
    sim_machine *machine;
    watcher_fn fn;
    void *ctx;
    log_callback_fn log;
    clientid_t id;
    int recv_timeout, state;
    int servers[32], server_count, turn;
    sim_socket *socket;
    bool is_asking; /* the socket is not confirmed yet */
    bool is_closing;
    int64_t seen;
    zkl_nanos last_heard, last_sent, waits_until;
    zkl_nanos proven; /* the leader answered through its server */
    sim_event io, completion;
    sim_request *waiting, *last_waiting; /* to be sent when there is a server; kept */
    sim_request *asked, *last_asked;     /* sent; kept */
    sim_delivery *first, *last;
    sim_listener *listeners;
    size_t watched; /* bytes that these take when it comes back to a server */
    uint64_t identity;
    bool has_auth;
    unsigned tries;
};

extern zhandle_t *sim_handle_first;

static inline bool sim_is_unrecoverable(int state) {
    return state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
}

/* ---- completions ---- */

/* The last of what it has to call back. */
sim_delivery *sim_deliver(zhandle_t *zh);
void sim_deliver_state(zhandle_t *zh, int state);
/* Takes the request from whoever kept it. */
void sim_deliver_answer(zhandle_t *zh, sim_request *r, int rc);
void sim_run_completion(sim_event *event);
/* Of what was on its way some comes back, as closing, and some is never heard of. */
void sim_deliver_closing(zhandle_t *zh);

/* ---- listeners ---- */

void sim_listeners_free(sim_listener *l);
/* In the packet that tells a server of all of them: the library has a list of paths for each
 * kind. */
size_t sim_listener_bytes(const sim_listener *l);
/* Those that hear such an event there: the caller's. One that is told twice of one event hears
 * it once. */
sim_listener *sim_listeners_take(zhandle_t *zh, const char *path, int type);
/* As the answer to the request says. */
void sim_listen(zhandle_t *zh, const sim_request *r);
void sim_stop_listening(zhandle_t *zh, const char *path, int kind);

/* ---- io ---- */

/* Whatever was asked is answered so. */
void sim_fail_all(zhandle_t *zh, int rc);
/* To the server that it has. */
void sim_send_now(zhandle_t *zh, sim_request *r);
/* Now, or when there is a server. Takes the request. ZOK, ZINVALIDSTATE. */
int sim_submit(zhandle_t *zh, sim_request *r);
/* Hangs up on the server, if there is one. */
void sim_let_go(zhandle_t *zh, bool whole);
/* As the library does it: the state is told first, then whatever was on its way comes back. */
void sim_lose(zhandle_t *zh, int rc);
void sim_run_io(sim_event *event);

/* ---- answers ---- */

int sim_tell_void(sim_request *r);
int sim_tell_stat(sim_request *r);
int sim_tell_data(sim_request *r);
int sim_tell_strings(sim_request *r);
int sim_tell_strings_stat(sim_request *r);
int sim_tell_string(sim_request *r);
int sim_tell_string_stat(sim_request *r);
int sim_tell_acl(sim_request *r);
int sim_tell_multi(sim_request *r);

#endif
