/* standing: who stands where in a line: the list of its children is read, and what follows from it is done: holds are
 * granted, blockers watched, lost nodes found again or missed. */
#ifndef ZKL_EVALUATE_H
#define ZKL_EVALUATE_H

#include "queue/line.h"

/* Takes a new list of the children. */
void zkl_evaluate_read(zkl_line *line, const char *const *names, size_t count);
/* Its node, whose create's answer was lost, was found in the list as last read. */
void zkl_evaluate_found(zkl_contender *c);
/* The child is gone, or its delete is on the wire: whoever waited for it is looked at again. */
void zkl_evaluate_gone(zkl_line *line, const char *name);
/* ... and that was not told, but found when it was asked for: others may have gone as well. */
void zkl_evaluate_missing(zkl_line *line, const char *name);
/* Looks where it stands in the list as last read; `seen`: this is that moment. */
void zkl_evaluate_look(zkl_contender *c, bool seen);
/* Grants the first in line, if that is still true as we speak: `seen`, its node stood in the list just read; otherwise
 * the watch on its own node must be armed, so that its deletion would have been told before its blocker's. And never
 * with a validity of nothing: a process that slept reads old news. */
void zkl_evaluate_grant(zkl_contender *c, bool seen);
/* A holder's timer: for the end of its max_hold, and `watch`: for arming the watch on its own node. */
void zkl_evaluate_set_timer(zkl_contender *c, bool watch);

#endif
