/* SPDX-License-Identifier: MIT */
/* doubt: the answer of a release, and the event that follows it. A holder that releases with
 * validity 0 may have lost its hold before, so its release answers ZKL_UNKNOWN. Even with validity
 * somebody may have deleted its node, and the client has not heard of that yet: the release answers
 * ZKL_OK. In both cases its nodes are the witnesses: the end of a node ends the doubt. The host
 * hears LOST, or FAILED with ZKL_OK once the servers have confirmed the release. Under the client's
 * mutex. */
#ifndef ZKL_DOUBT_H
#define ZKL_DOUBT_H

#include "line/contender.h"

/* The answer that a release would get now. ZKL_OK: no other client can have held meanwhile.
 * ZKL_UNKNOWN: one may have. ZKL_LOST: max_hold has passed, and the caller ends the hold. */
zkl_status zkl_doubt_about(const zkl_contender *c);

/* The contender was released, its release answers so (ZKL_OK or ZKL_UNKNOWN), and it held with that
 * node. A compound calls this for each of its nodes. Does nothing if nobody
 * hears of the contender. */
void zkl_doubt_begin(zkl_contender *c, zkl_contender *witness, zkl_status answer);
/* A node has ended. DELETED: not by our doing. EXPIRED: with its session, so a release that was
 * answered ZKL_OK came before. NONE: by our delete, or nobody knows. Does nothing if the node is no
 * witness. */
void zkl_doubt_end(zkl_contender *witness, zkl_loss loss);

/* The host will get no event: it has dropped the contender, or the client closes. */
void zkl_doubt_drop(zkl_contender *c);
/* The same for all contenders in doubt that are in no line. */
void zkl_doubt_drop_all(zkl_line_common *common);

#endif
