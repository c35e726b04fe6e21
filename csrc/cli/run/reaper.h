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

/* Reaps each child that has ended, and calls `ended` for it. false: there was none. */
bool cli_reaper_reap(void (*ended)(pid_t child, int status, void *ctx), void *ctx);

/* Sends a signal to every descendant. */
void cli_reaper_signal(int signal);

/* Kills the descendants that it finds, in one round. Returns one that this process may not signal,
 * or 0. */
pid_t cli_reaper_kill(const struct page *page);

/* Kills until no descendant is left, and reaps them. A descendant that this process may not signal,
 * or that does not die, is reported on stderr, with what that means for the lock: once for the
 * whole run, and again when that changes. Then the function waits for its end. `ended` may be
 * NULL. */
void cli_reaper_kill_all(struct page *page, void (*ended)(pid_t child, int status, void *ctx),
                         void *ctx);

#endif
