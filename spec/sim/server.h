/* SPDX-License-Identifier: MIT */
/* server: what the three servers are, and what their rooms ask of each other: sessions, notices,
 * sockets, serving, leading, peers, election. The world asks of them what is in ensemble.h. */
#ifndef SERVER_H
#define SERVER_H

#include "ensemble.h"
#include "watchers.h"

struct sim_session {
    sim_session *next; /* of all that there ever were */
    int64_t id;
    zkl_nanos timeout, touched; /* as the leader counts */
    zkl_nanos forced_at;        /* when an operator had it ended; 0: nobody did */
    bool open, closing, is_stranger;
    int64_t closed; /* zxid; 0: not */
    int home;       /* the server that has it, as the leader knows */
    void *owner;
    size_t node_bytes;   /* of the paths of its nodes */
    unsigned touched_at; /* bits: servers that have heard of it since they last told the leader */
};

struct sim_socket {
    sim_socket *next;   /* of all */
    sim_socket *beside; /* open ones of its server */
    int server;
    void *client, *owner; /* client NULL: it has hung up */
    sim_hear *hear;
    zkl_nanos (*busy_until)(void *client);
    bool is_open;  /* at the server */
    bool is_stale; /* its session has ended, and the server does not hang up */
    sim_queue up, down;
    sim_session *session;
    uint64_t identity;
    sim_request *pending, *last_pending; /* kept */
    sim_watcher *watchers;
};

typedef enum sim_role { DOWN, LOOKING, FOLLOWING, LEADING } sim_role;

typedef struct sim_server {
    int id;
    sim_role role;
    int leader; /* of a follower */
    int64_t view;
    zkl_nanos stopped_until, isolated_until, heard, rests_until;
    sim_event pace;
    unsigned stuck;     /* proposals and syncs of one who was deposed: nobody answers them */
    sim_queue up, down; /* to and from the leader */
    sim_queue backlog;  /* committed, and not carried out here yet */
    sim_socket *sockets;
    sim_watchers watchers;
} sim_server;

typedef struct sim_proposal {
    struct sim_proposal *next;
    sim_request *request; /* kept */
    zkl_nanos at;
    int origin; /* the server whose client asks; -1: nobody's */
} sim_proposal;

typedef struct sim_servers {
    sim_server servers[SERVERS];
    int leader;
    unsigned epoch;
    zkl_nanos tick, patience;
    sim_proposal *first, *last;
    sim_event commit, ticks, elections;
    sim_session *sessions;
    sim_socket *sockets;
    int64_t ids;
    unsigned throttle, refusing, forgetting;
    bool directories_throttled;
    zkl_nanos clocks[SERVERS]; /* how much each is ahead */
    zkl_nanos ahead;           /* ... the one of the latest leader */
} sim_servers;

extern sim_servers sim_ensemble;

static inline bool sim_leads(const sim_server *at) {
    return at->role == LEADING && sim_ensemble.leader == at->id;
}

static inline bool sim_is_cut_off(const sim_server *at) {
    return at->isolated_until > sim_now;
}

static inline bool sim_is_stopped(const sim_server *at) {
    return at->stopped_until > sim_now;
}

/* ---- sessions ---- */

sim_session *sim_session_new(void);
/* Somebody has heard of it, and the leader knows. */
void sim_session_touch(sim_session *s);
/* Ends those that nobody has heard of for too long, tick by tick. */
void sim_sessions_end(sim_event *event);

/* ---- notices ---- */

/* The server sees everything up to there. */
void sim_server_apply(sim_server *at, int64_t zxid);
/* A path watched before a link broke is watched again; what has changed meanwhile is told at
 * once. */
void sim_watch_again(sim_server *at, sim_socket *socket, int64_t seen, const sim_part *p);

/* ---- sockets ---- */

void sim_socket_close(sim_socket *socket);
void sim_sockets_close(sim_server *at);
/* Its session has come back on another connection. */
void sim_sockets_close_former(sim_server *at, const sim_session *session);
/* Those whose session has ended are hung up on by whoever has them. */
void sim_drop_ended(sim_server *at);

/* ---- serving ---- */

void sim_answer_connect(sim_socket *socket, bool good);
/* The session is made: that is the first thing that its socket waits for. */
void sim_finish_opening(sim_request *r);
/* It was carried out: whoever asked hears so, when what he asked before is answered. */
void sim_finish(sim_request *r);
void sim_serve_connect(sim_server *at, sim_socket *socket, const sim_message *m);
void sim_serve_request(sim_server *at, sim_socket *socket, sim_request *r);

/* ---- leading ---- */

/* Can it commit now? */
bool sim_has_quorum(const sim_server *leader);
/* `origin`: the server whose client asks; -1: nobody's. */
void sim_propose(sim_server *leader, sim_request *r, int origin);
void sim_commit(sim_server *leader, sim_request *r, int origin);
void sim_commit_next(sim_event *event);
/* The first that is not committed, the caller's from now on. */
sim_proposal *sim_take_proposal(void);
/* A client's request that only a leader carries out. */
void sim_lead_request(sim_server *leader, sim_request *r, int origin);
/* false: it is over, and whoever asks hears so. A leader that was deposed does not know better. */
bool sim_revalidate(const sim_server *leader, sim_session *s, int at);

/* ---- peers ---- */

/* It hears its leader, and its leader hears it. */
void sim_peers_begin(sim_server *at);
/* Its connections to its followers end. A follower that hears of that closes its clients'
 * connections and looks for a leader. */
void sim_peers_part(const sim_server *leader);
/* Messages on their way between them are lost, and nothing is slow any more. */
void sim_peers_forget(sim_server *at);

/* ---- election ---- */

void sim_leave_quorum(sim_server *at);
/* It leads, or follows, no more: its clients' connections end, and it looks for a leader. */
void sim_step_down(sim_server *at);
void sim_elect(const int *voters, int count);
/* Events, again and again. */
void sim_look_for_leader(sim_event *event);
void sim_keep_pace(sim_event *event);

#endif
