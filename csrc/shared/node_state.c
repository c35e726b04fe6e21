/* SPDX-License-Identifier: MIT */
#include "shared/node_state.h"

#include "base/transitions.h"
#include "line/contender.h"

zkl_sharer *zkl_sharer_of(zkl_contender *c) {
    return ZKL_CONTAINER_OF(c, zkl_sharer, contender);
}

zkl_nanos zkl_shared_node_now(const zkl_shared_node *shared) {
    return zkl_context_now(shared->context);
}

void zkl_shared_node_mark_dirty(zkl_shared_node *shared) {
    if (shared->dirty)
        return;
    shared->dirty = true;
    zkl_list_append(&shared->line->common->dirty_nodes, &shared->item);
}

zkl_contender *zkl_shared_node_waiter(const zkl_shared_node *shared) {
    return ZKL_FIRST(&shared->waiting, zkl_contender, member);
}

zkl_contender *zkl_shared_node_holder(const zkl_shared_node *shared) {
    return ZKL_FIRST(&shared->holders, zkl_contender, member);
}

bool zkl_shared_node_sealed(const zkl_shared_node *shared) {
    return shared->sealed || (shared->contender && shared->contender->revoked);
}

static zkl_transitions remote_waiters_transitions = {
    .of = "remote waiters",
    .names = {"UNKNOWN", "NONE", "SOME"},
    .legal =
        {
            [ZKL_REMOTE_WAITERS_UNKNOWN] =
                ZKL_TO(ZKL_REMOTE_WAITERS_NONE) | ZKL_TO(ZKL_REMOTE_WAITERS_SOME),
            [ZKL_REMOTE_WAITERS_NONE] =
                ZKL_TO(ZKL_REMOTE_WAITERS_UNKNOWN) | ZKL_TO(ZKL_REMOTE_WAITERS_SOME),
            [ZKL_REMOTE_WAITERS_SOME] =
                ZKL_TO(ZKL_REMOTE_WAITERS_UNKNOWN) | ZKL_TO(ZKL_REMOTE_WAITERS_NONE),
        },
    .describe = zkl_line_describe,
};

void zkl_shared_node_set_remote_waiters(zkl_shared_node *shared,
                                        zkl_remote_waiters remote_waiters) {
    zkl_transitions_make(&remote_waiters_transitions,
                         (zkl_transition){shared->remote_waiters, remote_waiters},
                         shared->context->trace, shared->line);
    shared->remote_waiters = remote_waiters;
}

zkl_shared_node *zkl_shared_node_find(const zkl_line *line, zkl_kind kind) {
    zkl_shared_node *found = NULL;
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        zkl_shared_node *shared = ZKL_CONTAINER_OF(listener, zkl_shared_node, listener);
        if (shared->kind != kind || shared->under)
            continue;
        if (!zkl_shared_node_sealed(shared))
            return shared;
        found = found ? found : shared;
    }
    return found;
}
