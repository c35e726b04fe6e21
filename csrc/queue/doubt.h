/* doubt: what a release says, and what is heard of it later. A holder that gives back with validity
 * 0 may have lost its hold before: its release answers ZKL_UNKNOWN. What becomes of its nodes, the
 * witnesses, ends the doubt: the host hears LOST, or FAILED with ZKL_OK when the servers have
 * confirmed the release. Under the client's mutex. */
#ifndef ZKL_DOUBT_H
#define ZKL_DOUBT_H

#include "queue/contender.h"

/* Of one that holds: what a release says now. ZKL_OK: nobody else can have held meanwhile;
 * ZKL_UNKNOWN: somebody may have; ZKL_LOST: its max_hold is over, and the caller ends the hold. */
zkl_status zkl_doubt_about(const zkl_contender *c);

/* `c` was released, its release answers ZKL_UNKNOWN, and it held with that node; a compound says so
 * for each of its nodes. Of one that the host has let go of nobody asks. */
void zkl_doubt_begin(zkl_contender *c, zkl_contender *witness);
/* What has become of a node: `lost`: it went before we gave it back, or its session did. Does
 * nothing for a node that is no witness. */
void zkl_doubt_end(zkl_contender *witness, bool lost);
/* The session has ended: all those have lost that are in no line, and whose nodes were of that
 * session. */
void zkl_doubt_expire(zkl_queue *queue);

/* The host is told nothing more of it: it lets go of it, or the client closes. */
void zkl_doubt_drop(zkl_contender *c);
/* The same for all that are in no line. */
void zkl_doubt_drop_all(zkl_queue *queue);

#endif
