/* SPDX-License-Identifier: MIT */
/* nodes: the host's side of node requests and node watches. */
#include "client/client_state.h"

#include "base/sized.h"
#include "client/access.h"
#include "nodes/node_request.h"
#include "nodes/node_watch.h"
#include "zklock_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sequential node at "/" gets its number as its whole name below the chroot, not at the end of
 * the chroot's name. */
static char *path_of(const zkl_client *client, const zkl_op *op) {
    const bool numbered = op->kind == ZKL_OP_CREATE && op->sequential;
    return numbered ? zkl_client_full_path(client, op->path)
                    : zkl_client_node_path(client, op->path);
}

/* Each missing parent is a request with a path of its own: for a path without a bound they could
 * take more memory than the client and the servers have. */
static bool is_sensible_create(const zkl_op *op, bool several) {
    if (op->container && (op->ephemeral || op->sequential))
        return false;
    if (several && (op->container || op->parents))
        return false;
    if (op->parents && zkl_path_problem(op->path, "", ZKL_PATH_WRITE))
        return false;
    return !op->own_acl || (size_t)op->acl <= ZKL_ACL_READ;
}

/* libzookeeper frees the path of a malformed operation of a transaction, which is ours. */
static bool is_sensible(const zkl_op *op, bool several) {
    const bool writes =
        op->kind == ZKL_OP_CREATE || op->kind == ZKL_OP_SET || op->kind == ZKL_OP_DELETE;
    const bool reads = op->kind <= ZKL_OP_CHILDREN || op->kind == ZKL_OP_ACL;
    if (op->kind == ZKL_OP_CREATE && !is_sensible_create(op, several))
        return false;
    return (writes || (several ? op->kind == ZKL_OP_CHECK : reads)) &&
           zkl_path_is_valid(op->path) && !(writes && zkl_path_is_reserved(op->path));
}

/* Copies what the host has filled; its path gets the chroot. false: it is malformed, and has no
 * path. */
static bool take_op(const zkl_client *client, zkl_op *op, const zkl_op *given, bool several) {
    *op = (zkl_op)ZKL_OP_DEFAULTS;
    const bool sensible = zkl_sized_take(op, given) && op->path && is_sensible(op, several);
    op->path = sensible ? path_of(client, op) : NULL;
    return sensible;
}

/* The wish has the host's operations, with paths without the chroot. */
static zkl_node_request *run(zkl_client *client, zkl_wish wish, uint64_t tag, zkl_nanos deadline) {
    const zkl_op *given = wish.ops;
    const size_t count = wish.count;
    zkl_op *ops = calloc(count ? count : 1, sizeof *ops);
    bool complete = ops != NULL;
    for (size_t i = 0; complete && i < count && !wish.malformed; i++) {
        const char *at = (const char *)given + i * given->size;
        wish.malformed = !take_op(client, &ops[i], (const zkl_op *)at, wish.several);
        complete = wish.malformed || ops[i].path;
    }
    wish.ops = ops;
    if (wish.guard && zkl_client_of(wish.guard->context) != client)
        wish.malformed = true;
    wish.count = wish.malformed ? 0 : count;
    zkl_client_enter(client);
    zkl_node_request *request = complete ? zkl_node_request_new(&client->nodes, &wish, tag) : NULL;
    if (request)
        zkl_client_ask(client, zkl_ask_of_request(request), deadline);
    zkl_client_leave(client);
    for (size_t i = 0; ops && i < count; i++)
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
    if (request)
        zkl_client_drop(zkl_ask_of_request(request));
}

/* ---- node watches ---- */

zkl_status zkl_look_at(zkl_client *client, const char *path, bool children, uint64_t tag,
                       zkl_node_watch **node_watch) {
    if (zkl_client_forked(client))
        return ZKL_FORKED;
    if (!zkl_path_is_valid(path))
        return ZKL_BAD_ARGUMENT;
    char *full = zkl_client_node_path(client, path);
    if (!full)
        return ZKL_NO_MEMORY;
    zkl_client_enter(client);
    const zkl_status status =
        client->closing ? ZKL_CLOSED
                        : zkl_node_watch_open(&client->nodes, full, children, tag, node_watch);
    if (status == ZKL_OK)
        zkl_client_use(client);
    zkl_client_leave(client);
    free(full);
    return status;
}

bool zkl_node_watch_take(zkl_node_watch *node_watch, zkl_status *status, zkl_content **content) {
    zkl_client *client = zkl_client_of(zkl_node_watch_context(node_watch));
    if (!zkl_client_begin(client))
        return false;
    const bool given = zkl_node_watch_hand_out(node_watch, status, content);
    zkl_client_unlock(client);
    return given;
}

void zkl_node_watch_drop(zkl_node_watch *node_watch) {
    zkl_client *client = node_watch ? zkl_client_of(zkl_node_watch_context(node_watch)) : NULL;
    if (!client || !zkl_client_begin(client))
        return;
    zkl_node_watch_quit(node_watch);
    zkl_client_leave(client);
    zkl_client_unuse(client);
}

/* ---- the nodes of a contender ---- */

static bool spell(const zkl_client *client, const zkl_contender *part, char *path, size_t size) {
    const int length =
        part ? snprintf(path, size, "%s/%s", part->line->path + client->context.chroot, part->name)
             : -1;
    return length >= 0 && (size_t)length < size;
}

bool zkl_node_at(zkl_contender *contender, size_t index, char *path, size_t size) {
    zkl_client *client = zkl_client_of(contender->context);
    if (!zkl_client_begin(client))
        return false;
    const zkl_contender *part =
        contender->phase == ZKL_HELD ? contender->call->part(contender, index) : NULL;
    const bool fits = spell(client, part, path, size);
    if (fits && contender->call->seal)
        contender->call->seal(contender);
    zkl_client_unlock(client);
    return fits;
}
