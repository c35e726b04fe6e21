/* SPDX-License-Identifier: MIT */
/* recover: finds the node of a create whose answer was lost, if there is one. Anybody who has seen
 * a node of ours can create others with a similar name, so the client asks the servers which
 * session has created a node. */
#ifndef ZKL_RECOVER_H
#define ZKL_RECOVER_H

#include "line/line_state.h"

/* A child in the list has the GUID of the contender's lost create: it becomes the candidate, unless
 * there is one. */
void zkl_recover_seen(zkl_contender *c, const zkl_child *child);
/* A list was read. Asks the servers about the candidate. If a synced list has none, creates a new
 * node. */
void zkl_recover_look(zkl_contender *c);
/* The answer about the candidate with that sequence. true: the node is ours, and the contender has
 * it. */
bool zkl_recover_answered(zkl_contender *c, int32_t sequence, const zkl_reply *reply);
/* The answer will not come. */
void zkl_recover_forget(zkl_contender *c);

#endif
