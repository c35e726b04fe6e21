/* recover: a create whose answer was lost, and which of the nodes that a list shows it has made, if
 * any. Whoever has seen our node can make others whose names begin alike, so the servers are asked
 * which session has made a node. */
#ifndef ZKL_RECOVER_H
#define ZKL_RECOVER_H

#include "line/line_state.h"

/* A child in the list bears the GUID of the contender's lost create: it becomes the candidate,
 * unless there is one. */
void zkl_recover_seen(zkl_contender *c, const zkl_child *child);
/* A list was read. Asks the servers about the candidate; or, if a synced list has none, creates a
 * new node. */
void zkl_recover_look(zkl_contender *c);
/* The answer about the candidate with that sequence. true: it is ours, and the contender has its
 * node. */
bool zkl_recover_answered(zkl_contender *c, int32_t sequence, const zkl_reply *reply);
/* No answer comes to what was asked. */
void zkl_recover_forget(zkl_contender *c);

#endif
