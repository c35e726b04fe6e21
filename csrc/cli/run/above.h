/* SPDX-License-Identifier: MIT */
/* above: the nodes of the runs above this one. A command of theirs that queues for the same lock
 * would wait for itself. */
#ifndef RUN_ABOVE_H
#define RUN_ABOVE_H

#include "cli/run/session.h"

/* The nodes of all runs above, one a line, from the environment. NULL: there is none. The caller
 * frees it. */
char *cli_above_nodes(void);

/* Is one of these nodes in the line of a path of this run? If so, the session ends with that
 * reason. Names of nodes are unique, whatever the servers are called and whatever the chroot is.
 * A semaphore may have several leases below one another. */
bool cli_above_waits(struct session *session);

#endif
