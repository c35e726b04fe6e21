/* nodes: the host's side of node requests. */
#include "client/client_state.h"

#include "client/access.h"
#include "line/line_state.h"
#include "nodes/node_request.h"
#include "zklock.h"

#include <stdio.h>
#include <stdlib.h>

/* A number behind "/" is the name of a node below the chroot, not the end of the chroot's own. */
static char *path_of(const zkl_client *client, const zkl_op *op) {
    const bool numbered = op->kind == ZKL_OP_CREATE && op->sequential;
    return numbered ? zkl_client_full_path(client, op->path)
                    : zkl_client_node_path(client, op->path);
}

/* Takes a wish with paths without the chroot. */
static zkl_node_request *run(zkl_client *client, zkl_wish wish, uint64_t tag, zkl_nanos deadline) {
    zkl_op *ops = calloc(wish.count ? wish.count : 1, sizeof *ops);
    bool complete = ops != NULL;
    for (size_t i = 0; complete && i < wish.count; i++) {
        ops[i] = wish.ops[i];
        ops[i].path = path_of(client, &wish.ops[i]);
        complete = ops[i].path != NULL;
    }
    wish.ops = ops;
    zkl_client_enter(client);
    zkl_node_request *request = complete ? zkl_node_request_new(&client->nodes, &wish, tag) : NULL;
    if (request) {
        zkl_node_request_set_client(request, client);
        zkl_client_use(client);
        zkl_node_request_start(request, deadline);
        if (client->closing)
            zkl_node_requests_dismiss(&client->nodes, ZKL_CLOSED);
    }
    zkl_client_leave(client);
    for (size_t i = 0; ops && i < wish.count; i++)
        free((char *)ops[i].path);
    free(ops);
    return request;
}

zkl_node_request *zkl_node_do(zkl_client *client, const zkl_op *op, uint64_t tag,
                              zkl_nanos deadline, bool once) {
    if (zkl_client_forked(client))
        return NULL;
    return run(client, (zkl_wish){.ops = op, .count = 1, .once = once}, tag, deadline);
}

zkl_node_request *zkl_node_do_all(zkl_client *client, const zkl_op *ops, size_t count,
                                  zkl_contender *guard, uint64_t tag, zkl_nanos deadline,
                                  bool once) {
    if (zkl_client_forked(client))
        return NULL;
    return run(
        client,
        (zkl_wish){.ops = ops, .count = count, .several = true, .once = once, .guard = guard}, tag,
        deadline);
}

zkl_node_request *zkl_node_sync(zkl_client *client, uint64_t tag, zkl_nanos deadline, bool once) {
    if (zkl_client_forked(client))
        return NULL;
    return run(client, (zkl_wish){.once = once}, tag, deadline);
}

void zkl_node_request_drop(zkl_node_request *request) {
    zkl_client *client = request ? zkl_node_request_client(request) : NULL;
    if (!client || zkl_client_forked(client))
        return;
    zkl_client_enter(client);
    zkl_node_request_free(request);
    zkl_client_leave(client);
    zkl_client_unuse(client);
}

bool zkl_node_at(zkl_contender *contender, size_t index, char *path, size_t size) {
    zkl_client *client = zkl_client_of(contender->context);
    if (zkl_client_forked(client))
        return false;
    zkl_client_enter(client);
    const zkl_contender *part =
        contender->phase == ZKL_HELD ? contender->call->part(contender, index) : NULL;
    const int length =
        part ? snprintf(path, size, "%s/%s", part->line->path + client->context.chroot, part->name)
             : -1;
    zkl_client_unlock(client);
    return length >= 0 && (size_t)length < size;
}
