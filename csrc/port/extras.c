/* SPDX-License-Identifier: MIT */
#include "port/extras.h"

#include "base/status.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* A server that does not know an operation may hang up at it. So do other servers, by chance, but
 * not again and again. */
enum { CUTS_MOST = 2 };

bool zkl_extras_known(const zkl_extras *extras, zkl_extra extra) {
    return !extras->keeper && !extras->refused[extra] && extras->cuts[extra] < CUTS_MOST;
}

bool zkl_extras_compared(const zkl_extras *extras) {
    return zkl_extras_known(extras, ZKL_EXTRA_CREATE2) &&
           zkl_extras_known(extras, ZKL_EXTRA_CONTAINER);
}

void zkl_extras_refused(zkl_extras *extras, zkl_extra extra) {
    extras->refused[extra] = true;
}

void zkl_extras_answered(zkl_extras *extras, const zkl_reply *reply) {
    if (reply->extra == ZKL_EXTRA_NONE)
        return;
    if (reply->rc == ZUNIMPLEMENTED)
        zkl_extras_refused(extras, reply->extra);
    if (!zkl_status_unknown(reply->rc))
        extras->cuts[reply->extra] = 0;
    else if (reply->oldest)
        extras->cuts[reply->extra]++;
}

/* ZooKeeper carries a session on, and Keeper never does: then the cuts were chance. */
void zkl_extras_connected(zkl_extras *extras, bool keeper, bool carried) {
    extras->keeper = keeper;
    if (carried)
        memset(extras->cuts, 0, sizeof extras->cuts);
}
