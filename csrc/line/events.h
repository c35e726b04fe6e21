/* SPDX-License-Identifier: MIT */
/* events: unrequested events of a line and its contenders: a watch fires, time passes, a write
 * finds that a node is gone. Each function is a step: it ends with zkl_line_settle. */
#ifndef ZKL_EVENTS_H
#define ZKL_EVENTS_H

#include "line/line_state.h"

/* The watch on the child `name` has fired. */
void zkl_line_watch(zkl_line *line, const char *name, zkl_change change);
/* True if there is a watch on the child `name`, or a request for one. */
bool zkl_line_watching(const zkl_line *line, const char *name);
/* The watch on the directory has fired. */
void zkl_line_children_changed(zkl_line *line);

/* A write has found that the node of a holder does not exist. */
void zkl_line_own_missing(zkl_contender *c);

/* The `hold_timer` of a contender in a line. */
void zkl_line_hold_timer(zkl_contender *c);

#endif
