/* doubt: the answer of a release, and the news that follows it. A holder that gives back with
 * validity 0 may have lost its hold before: its release answers ZKL_UNKNOWN. Its nodes are the
 * witnesses. Their end ends the doubt: the host hears LOST, or FAILED with ZKL_OK when the servers
 * have confirmed the release. Under the client's mutex. */
#ifndef ZKL_DOUBT_H
#define ZKL_DOUBT_H

#include "line/contender.h"

/* The answer that the release of a holder would get now. ZKL_OK: nobody else can have held
 * meanwhile; ZKL_UNKNOWN: somebody may have; ZKL_LOST: its max_hold is over, and the caller ends
 * the hold. */
zkl_status zkl_doubt_about(const zkl_contender *c);

/* `c` was released, its release answers ZKL_UNKNOWN, and it held with that node; a compound says so
 * for each of its nodes. Does nothing for a contender that the host has dropped. */
void zkl_doubt_begin(zkl_contender *c, zkl_contender *witness);
/* The end of a node. `lost`: the node, or its session, went before the client gave it back. Does
 * nothing for a node that is no witness. */
void zkl_doubt_end(zkl_contender *witness, bool lost);
/* The session has ended: each contender in doubt that is in no line, and whose nodes were of that
 * session, has lost. */
void zkl_doubt_expire(zkl_line_common *common);

/* The host is told nothing more of it: it lets go of it, or the client closes. */
void zkl_doubt_drop(zkl_contender *c);
/* The same for all that are in no line. */
void zkl_doubt_drop_all(zkl_line_common *common);

#endif
