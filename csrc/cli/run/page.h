/* SPDX-License-Identifier: MIT */
/* page: memory that the three processes of a run share. The session writes until when the lock is
 * certainly held; the watcher and the front act on it when the session is stopped or dead. */
#ifndef ZKL_CLI_RUN_PAGE_H
#define ZKL_CLI_RUN_PAGE_H

#include "zklock.h"

#include <stdatomic.h>
#include <sys/types.h>

/* How far the run is. It only grows. */
enum page_phase {
    PAGE_QUEUED,  /* the command has not been started */
    PAGE_STARTED, /* the session has told the watcher to start it */
    PAGE_RUNNING, /* it was forked */
    PAGE_REAPED,  /* the command has ended; descendants may live */
    PAGE_EMPTY,   /* no descendant lives, or --close has let them go */
};

/* Why zklock ends the command. */
enum page_reason {
    PAGE_NO_REASON,
    PAGE_LOST,    /* validity is at its end, or the lock is gone */
    PAGE_REVOKED, /* with --revocable */
    PAGE_FRONT,   /* the front process was killed */
    PAGE_SESSION, /* the session process was killed */
    PAGE_WATCHER  /* the watcher process was killed or stopped */
};

/* How the run ends. The session writes it before it exits, or the front in its place. */
enum page_outcome { PAGE_NO_OUTCOME, PAGE_EXIT, PAGE_SIGNAL };
#define PAGE_TEXT 1024

struct page {
    _Atomic zkl_nanos until;   /* the lock is certainly held until then; 0: it is not held */
    _Atomic zkl_nanos emptied; /* when the phase became EMPTY */
    _Atomic zkl_nanos grace;   /* TERM when so much validity is left */
    _Atomic zkl_nanos lead;    /* KILL when so much validity is left */
    _Atomic zkl_nanos killing; /* when a process last killed descendants, until none is left */
    atomic_int phase, reason;
    atomic_bool ended;   /* zklock has sent TERM or KILL for the reason */
    atomic_bool marking; /* with `--mark before`: the mark was asked for */
    atomic_bool left;    /* the session process is dead: nobody renews `until` */
    atomic_int said;     /* of a descendant that cannot be killed: an index (reaper.c) */
    atomic_int command;  /* process id of the command */
    atomic_int status;   /* of waitpid */
    atomic_int failed;   /* errno of the fork that failed */
    /* written before the watcher is told to start, or before the session exits */
    zkl_nanos granted;
    int64_t token;
    atomic_int outcome;
    int value;            /* exit code or signal */
    const char *label;    /* for the report: a literal */
    char text[PAGE_TEXT]; /* the reason that the front prints; empty: none */
    size_t size;          /* of all of it */
    size_t room;
    char nodes[]; /* one a line */
};

/* NULL: errno says why. `room`: bytes for the nodes. */
struct page *cli_page_new(size_t room);
void cli_page_free(struct page *page);

/* The phase becomes this one, unless it is later already. */
void cli_page_advance(struct page *page, enum page_phase phase);
/* Keeps the first reason. */
void cli_page_blame(struct page *page, enum page_reason reason);
/* The same, and from now on zklock has ended the command: before the first TERM or KILL. */
void cli_page_condemn(struct page *page, enum page_reason reason);
/* A child of this process was reaped. Keeps its status, if it is the command. */
void cli_page_reaped(struct page *page, pid_t child, int status);
/* How the run ends: an exit code, a word for the report, and the reason that is printed; NULL:
 * none. */
void cli_page_end(struct page *page, int code, const char *label, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, by a signal. */
void cli_page_end_signal(struct page *page, int signal, const char *label);
/* The command and its descendants have ended: as the command has, unless it was cut short. `shown`:
 * the path, for a message. */
void cli_page_end_command(struct page *page, const char *shown);
/* Has the run lost the lock, or has it been asked for it, before the phase was EMPTY? */
bool cli_page_is_cut_short(const struct page *page);
/* Has the command ended with 0, and was it not cut short? */
bool cli_page_has_succeeded(const struct page *page);

/* Is there a command, or may there be, whose descendants must die before the lock is given up? */
bool cli_page_occupied(const struct page *page);
/* Until when the other processes leave the killing to the one that has begun it: they go on with it
 * if that one is stopped. 0: none has begun. */
zkl_nanos cli_page_killed_until(const struct page *page);
/* When the process that comes `nth` (the watcher, the session, the front: 0, 1, 2) kills all
 * descendants because validity ends. */
zkl_nanos cli_page_kill_at(const struct page *page, int nth);

/* ---- reaper.c: a process that inherits the orphans among its descendants, finds them in /proc,
 * and can kill them all. Only for a process whose SIGCHLD is blocked ---- */

/* Makes this process a subreaper. NULL, or why it cannot be one: the kernel cannot, or /proc does
 * not list children. */
const char *cli_reaper_become(void);

/* Does this process have a child, dead or alive? */
bool cli_reaper_has_children(void);

/* Reaps each child that has ended; the page keeps the command's status. false: there was none. */
bool cli_reaper_reap(struct page *page);

/* Sends a signal to every descendant. */
void cli_reaper_signal(int signal);

/* Kills until no descendant is left, and reaps them. A descendant that this process may not signal,
 * or that does not die, is reported on stderr, with what that means for the lock: once for the
 * whole run, and again when that changes. Then the function waits for its end. */
void cli_reaper_kill_all(struct page *page);

/* Ends everything below this process, whichever of the three it is. The order: the page says why,
 * and that zklock ends the command, so whoever finds a process killed knows it; then everything is
 * killed, and reaped; then the phase is EMPTY, so whoever sees that knows that no descendant
 * lives. A process that outlives the session process has said so in the page before. */
void cli_reaper_end(struct page *page, enum page_reason reason);

#endif
