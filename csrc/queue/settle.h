/* settle: the end of a step in a line: what the step has marked is done once for all who are
 * concerned. */
#ifndef ZKL_SETTLE_H
#define ZKL_SETTLE_H

#include "queue/line_state.h"

/* Looks again at those whose blocker went, refuses those who are too many, and sends one list for
 * all who want it. */
void zkl_line_settle(zkl_line *line);

#endif
