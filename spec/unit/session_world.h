/* SPDX-License-Identifier: MIT */
/* session_world: a session whose links are fakes that do what the case says; what would run on the
 * worker's thread runs when the case says so. */
#ifndef SESSION_WORLD_H
#define SESSION_WORLD_H

#include "check.h"
#include "port/receiver.h"
#include "zookeeper/session.h"

#include <zookeeper/zookeeper.h>

struct zkl_link {
    zkl_port port;
    zkl_link_owner owner;
    char addresses[128];
    int64_t carried; /* the session that it was started with; 0: none */
    int64_t session;
    bool has_server, is_parted, is_drained, is_closed;
};

enum { WORLD_LINKS_MOST = 16 };
#define SESSION_TIMEOUT 10

typedef struct session_world {
    zkl_context context;
    zkl_session session;
    zkl_log said;
    zkl_nanos now, granted;
    char beats[32];      /* what was sent: "S" a sync, "D" a write */
    zkl_return to_write; /* who gets the answer to the latest of them */
    char news[64];       /* a letter for each: world_news */
    struct zkl_link links[WORLD_LINKS_MOST];
    int made;       /* of the links */
    int in_start;   /* the event that comes before zkl_link_start has returned; -1: none */
    bool is_keeper; /* the servers are ClickHouse Keeper's */
    bool starts, parts, expires_in_drain, expires_in_part, ends_in_start, has_memory;
    zkl_job *jobs[4];
    int job_count;
    bool at_work, is_locked;
    const char *addresses; /* of the host "zk": "10.0.0.7 10.0.0.8"; "": it has none */
    int lookups;           /* of any host */
} session_world;

extern session_world world;
extern const zkl_clock world_clock;

/* Before and after each case. The second looks, too, whether everything is closed. */
void world_begin(void);
void world_end(void);
/* Another session, with that configuration. */
void world_start_anew(const zkl_config *config);

/* The client's mutex. Whoever takes it twice, or does what takes time with it, fails. */
void world_enter(void);
void world_leave(void);
/* The worker does what it was sent. */
void world_work(void);
void world_pass(double seconds);
/* Seconds until something happens by itself; -1: nothing does. */
double world_pause(void);
/* The news since the last time. R: resumed, S: suspended, L: relinked, X: expired, D: refused,
 * F: refreshed; of a watch its path. */
const char *world_news(void);

/* The latest. */
zkl_link *world_link(void);
void world_happens(zkl_link *link, zkl_link_event event);
/* The latest link is connected, and has that session. */
void world_connect(int64_t id);
/* The latest request is answered, by the latest link or by that one. */
void world_answer(zkl_proof proof);
void world_answer_by(zkl_link *link, int rc, zkl_proof proof);

/* A first session, on the first link. */
void world_come_up(void);
/* Nobody is in reach, for so long that another link is to carry the session on. */
void world_move_on(void);

#endif
