/* SPDX-License-Identifier: MIT */
/* reaper: a process that inherits the orphans among its descendants, finds them in /proc, and can
 * kill them all. Only for a process whose SIGCHLD is blocked. */
#ifndef RUN_REAPER_H
#define RUN_REAPER_H

#include "cli/run/page.h"

#include <stdbool.h>
#include <sys/types.h>

/* Makes this process a subreaper. false: the kernel cannot, or /proc does not list children; `why`
 * says which. */
bool cli_reaper_become(const char **why);

/* Does this process have a child, dead or alive? */
bool cli_reaper_has_children(void);

/* Called for each child that is reaped. */
typedef void reaper_ended(pid_t child, int status, void *ctx);

/* Reaps each child that has ended. false: there was none. */
bool cli_reaper_reap(reaper_ended *ended, void *ctx);

/* Sends a signal to every descendant. */
void cli_reaper_signal(int signal);

/* Kills until no descendant is left, and reaps them. A descendant that this process may not signal,
 * or that does not die, is reported on stderr, with what that means for the lock: once for the
 * whole run, and again when that changes. Then the function waits for its end. `ended` may be
 * NULL. */
void cli_reaper_kill_all(struct page *page, reaper_ended *ended, void *ctx);

/* How a process of the run ends everything below it. */
struct reaper_end {
    enum page_reason reason;
    reaper_ended *ended;
    void (*struck)(void *ctx); /* after the first round of kills: it may block. NULL: nothing */
    void *ctx;
};

/* Ends everything below this process, whichever of the three it is. The order: the page says why,
 * and that zklock ends the command, so whoever finds a process killed knows it; then everything is
 * killed, and reaped; then the phase is EMPTY, so whoever sees that knows that no descendant
 * lives. A process that outlives the session process has said so in the page before. */
void cli_reaper_end(struct page *page, const struct reaper_end *end);

#endif
