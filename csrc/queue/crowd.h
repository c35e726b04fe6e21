/* crowd: how many of this client's own callers wait for somebody in a line, and who of them are too many. */
#ifndef ZKL_CROWD_H
#define ZKL_CROWD_H

#include "queue/line.h"

/* All locked. Must a newcomer with these terms not wait here? Nobody is asked of whom it is not known here that he would
 * have to: the servers may let him in. */
bool zkl_crowd_refuses(const zkl_line *line, const zkl_terms *terms);

/* Somebody heard from the servers that he waits: the last to come go with ZKL_BUSY, if that makes too many. */
void zkl_crowd_thin(zkl_line *line);

#endif
