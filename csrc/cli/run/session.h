/* SPDX-License-Identifier: MIT */
/* session: the process that has the engine. It connects, queues, tells the watcher to start the
 * command, keeps the page up to date, and releases. One loop, cli_session_turn, sees everything
 * that happens; queue.c has the wait for the lock. */
#ifndef ZKL_CLI_RUN_SESSION_H
#define ZKL_CLI_RUN_SESSION_H

#include "cli/connection.h"
#include "cli/run/state.h"

#include <poll.h>

enum {
    SESSION_ENGINE = LOOP_OTHERS,
    SESSION_FRONT,
    SESSION_WATCHER,
    SESSION_HELD, /* commands ask there for how long the lock is held */
    SESSION_FDS
};

#define SESSION_CONTENDER 2 /* its tag */
#define WAITING_TEXT 512

/* The questions and the lines of a run that waits (queue.c). */
struct waiting {
    zkl_query *query; /* the latest, or NULL */
    zkl_nanos next;
    char said[WAITING_TEXT];
};

struct session {
    struct run *run;
    struct page *page;
    cli_connection connection;
    bool answered; /* the latest question is; there is one at a time */
    zkl_status answer;
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
    zkl_nanos cut_off; /* since when there is no server; 0: there is one */
    struct waiting waiting;
};

/* Waits until something happens, or until the moment, and sees to it. */
void cli_session_turn(struct session *session, zkl_nanos until);
/* Turns until the question with the tag CLI_QUESTION is answered, if it is `there`: else
 * ZKL_NO_MEMORY. A run that is stopped waits so much longer. ZKL_TIMEOUT: there is no answer. */
zkl_status cli_session_answer(struct session *session, bool there, zkl_nanos longer);
/* `longer` for what the servers are to know, although a signal has come. */
#define CLI_SIGNALLED_MOST (ZKL_SECOND / 2)
/* Is the wait to end, because of a signal, or because another process of the run is gone? When the
 * command has ended, the others are no longer needed. */
bool cli_session_stopped(const struct session *session);

/* The outcome of a wait that was stopped. */
void cli_session_end_stopped(struct session *session);
/* A line of --verbose. */
void cli_session_say(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- queue.c: the way to the lock ---- */

/* true: the lock is held. false: the outcome is set. */
bool cli_queue_wait(struct session *session);
/* The outcome of a wait that ran out while no server answered, as it turned out. */
void cli_queue_end_unanswered(struct session *session);

/* ---- every.c: --every ---- */

/* The lock is held. true: the command is due, or there is no --every; with `--mark before` the
 * command can be executed, and the mark is written. false: the outcome is set. */
bool cli_every_begin(struct session *session);

/* The command has ended. With `--mark after` writes the mark if it has ended with 0. false: that
 * has failed, and the outcome is set. */
bool cli_every_finish(struct session *session);

#endif
