/* blocker: whom a waiter waits for, and what follows when that one is gone. Nothing is decided
 * here: the waiter is marked, and the end of the step looks at it again (settle.h). */
#ifndef ZKL_BLOCKER_H
#define ZKL_BLOCKER_H

#include "queue/line_state.h"

/* The child is gone, or its delete is on the wire: whoever waited for it is marked. NULL: it had no
 * name yet. */
void zkl_blocker_gone(zkl_line *line, const char *name);
/* The same, but no watch has told of it: a get has found it gone, so others may have gone unheard
 * as well. */
void zkl_blocker_missing(zkl_line *line, const char *name);
/* Watches the one that a waiter will wait for once its blocker has gone, if there is one and there
 * is room. That one goes when the blocker's turn comes, and while the blocker holds there is time
 * for a list: so when the blocker goes, it is known to be the last one before the waiter. */
void zkl_blocker_watch_second(zkl_contender *c, const zkl_verdict *verdict);

#endif
