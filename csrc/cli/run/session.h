/* SPDX-License-Identifier: MIT */
/* session: the process that has the engine. It connects, queues, tells the watcher to start the
 * command, keeps the page up to date, and releases. One loop, cli_session_turn, sees everything
 * that happens. The rooms `queue` and `hold` say what it waits for. */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include "cli/connection.h"
#include "cli/run/state.h"

#include <poll.h>

enum {
    SESSION_ENGINE,
    SESSION_FRONT,
    SESSION_WATCHER,
    SESSION_CHILDREN,
    SESSION_ALARM,
    SESSION_HELD, /* commands ask there for how long the lock is held */
    SESSION_FDS
};

/* The tags of the engine's events. Those from SESSION_TAG_OTHERS on belong to other rooms. */
enum {
    SESSION_TAG_CONNECT = 1,
    SESSION_TAG_LOCK,
    SESSION_TAG_FLUSH,
    SESSION_TAG_LIST,
    SESSION_TAG_MARK,
    SESSION_TAG_FIRST,
    SESSION_TAG_OTHERS = 100
};

#define WAITING_TEXT 512

/* What is known of the line while it waits (waiting.h). */
struct waiting {
    zkl_node_request *request; /* the latest, or NULL */
    uint64_t asked;            /* its tag */
    bool answered;
    zkl_nanos next;
    size_t place, total; /* 0: not known */
    char said[WAITING_TEXT];
};

struct session {
    struct run *run;
    struct page *page;
    cli_connection connection;
    zkl_contender *contender;
    zkl_nanos grace, queued; /* when the wait began */
    int watcher_end;         /* channel */
    pid_t watcher;           /* 0: it has ended */
    struct pollfd polled[SESSION_FDS];
    /* what the turns have seen */
    int signal;      /* that ends a wait, for the lock or for the mark; 0: none */
    bool front_gone; /* the front has ended */
    int grants;      /* so many were seen */
    int go;          /* the grant for which the front lets the command start */
    bool granted, failed, lost, revoked;
    zkl_status status; /* of FAILED */
    bool connected, flushed, marked;
    zkl_status connect_status, flush_status, mark_status;
    zkl_nanos cut_off; /* since when there is no server; 0: there is one */
    struct waiting waiting;
};

/* Waits until something happens, or until the moment, and sees to it. */
void cli_session_turn(struct session *session, zkl_nanos until);
/* Is the wait to end, because of a signal, or because another process of the run is gone? */
bool cli_session_stopped(const struct session *session);

/* How the run ends: an exit code, a word for the report, and the reason that is printed; NULL:
 * none. */
void cli_session_end(struct session *session, int code, const char *label, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));
/* The outcome of a wait that was stopped. */
void cli_session_end_stopped(struct session *session);
/* A line of --verbose. */
void cli_session_say(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
