/* max_waiting: how many of this client's own callers wait in a line, and who of them are too many
 * (terms.max_waiting). */
#ifndef ZKL_MAX_WAITING_H
#define ZKL_MAX_WAITING_H

#include "queue/line_state.h"

/* Must a newcomer with these terms be refused, because it would wait and enough of ours wait
 * already? Only if it is known here that it would have to wait: otherwise the servers are asked,
 * who may let it in. */
bool zkl_max_waiting_refuses(const zkl_line *line, const zkl_terms *terms);

/* Somebody has heard from the servers that it waits: if too many do, the last to come fail with
 * ZKL_BUSY. */
void zkl_max_waiting_thin(zkl_line *line);

#endif
