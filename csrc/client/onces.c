/* SPDX-License-Identifier: MIT */
/* onces: the host's side of the mark of a mutex. */
#include "client/client_state.h"

#include "client/access.h"
#include "once/once.h"
#include "zklock.h"

static zkl_once *begin(zkl_once_terms terms) {
    zkl_client *client = zkl_client_of(terms.held->context);
    if (zkl_client_forked(client))
        return NULL;
    zkl_client_enter(client);
    zkl_once *once = zkl_once_new(&client->onces, &terms);
    if (once) {
        zkl_once_set_client(once, client);
        zkl_client_use(client);
        zkl_once_start(once);
        if (client->closing)
            zkl_onces_dismiss(&client->onces, ZKL_CLOSED);
    }
    zkl_client_leave(client);
    return once;
}

zkl_once *zkl_once_ask(zkl_contender *held, double seconds, bool mark, uint64_t tag,
                       zkl_nanos deadline) {
    return begin((zkl_once_terms){.task = mark ? ZKL_ONCE_ASK_AND_MARK : ZKL_ONCE_ASK,
                                  .held = held,
                                  .seconds = seconds,
                                  .tag = tag,
                                  .deadline = deadline});
}

zkl_once *zkl_once_mark(zkl_contender *held, uint64_t tag, zkl_nanos deadline) {
    return begin(
        (zkl_once_terms){.task = ZKL_ONCE_MARK, .held = held, .tag = tag, .deadline = deadline});
}

double zkl_once_left(zkl_once *once) {
    zkl_client *client = zkl_once_client(once);
    if (zkl_client_forked(client))
        return 0;
    zkl_client_enter(client);
    const double left = zkl_once_seconds_left(once);
    zkl_client_unlock(client);
    return left;
}

void zkl_once_drop(zkl_once *once) {
    zkl_client *client = once ? zkl_once_client(once) : NULL;
    if (!client || zkl_client_forked(client))
        return;
    zkl_client_enter(client);
    zkl_once_free(once);
    zkl_client_leave(client);
    zkl_client_unuse(client);
}
