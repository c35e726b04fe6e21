/* SPDX-License-Identifier: MIT */
#include "zookeeper/outgoing_request.h"

#include <stdlib.h>
#include <string.h>

/* With malloc: calloc takes nothing from the allocator's cache of the thread. */
zkl_outgoing_request *zkl_outgoing_request_new(zkl_link *link, zkl_return back, zkl_reach reach,
                                               size_t room) {
    zkl_outgoing_request *r = malloc(sizeof *r + room);
    if (!r)
        return NULL;
    *r = (zkl_outgoing_request){
        .link = link,
        .back = back,
        .handed = link->clock->now(),
        .reach = reach,
    };
    memset(r->room, 0, room);
    pthread_mutex_lock(&link->mutex);
    zkl_list_append(&link->requests, &r->item);
    pthread_mutex_unlock(&link->mutex);
    return r;
}

static void free_memory(zkl_outgoing_request *r) {
    free(r->made);
    free(r);
}

static void outgoing_free(zkl_outgoing_request *r) {
    zkl_link *link = r->link;
    pthread_mutex_lock(&link->mutex);
    zkl_list_remove(&link->requests, &r->item);
    if (!link->requests.first)
        pthread_cond_broadcast(&link->idle);
    pthread_mutex_unlock(&link->mutex);
    free_memory(r);
}

int zkl_outgoing_request_sent(zkl_outgoing_request *r, int rc) {
    if (rc != ZOK)
        outgoing_free(r);
    else
        r->link->context->counters.requests_sent++;
    return rc;
}

/* On a handle that is shutting down, zoo_amulti frees the path of each operation except the last
 * one, and those paths are ours. The library's own thread shuts a handle down, but not all at once:
 * it loses its server first, and has to find another one. */
int zkl_outgoing_request_transact(zkl_outgoing_request *r, int count, const zoo_op_t *ops,
                                  zoo_op_result_t *results, void_completion_t done) {
    zhandle_t *handle = r->link->handle;
    for (int i = 0; i < count; i++)
        results[i].err = ZKL_UNTOLD;
    const bool has_server = zoo_state(handle) == ZOO_CONNECTED_STATE;
    return zkl_outgoing_request_sent(
        r, has_server ? zoo_amulti(handle, count, ops, results, done, r) : ZINVALIDSTATE);
}

/* Frees the request only after the owner has handled the answer, so a drained link starts nothing
 * new. */
void zkl_outgoing_request_answer(zkl_outgoing_request *r, const zkl_reply *reply) {
    zkl_link *link = r->link;
    if (link->settled < r->handed)
        link->settled = r->handed;
    zkl_reply complete = *reply;
    complete.oldest = reply->rc == ZCONNECTIONLOSS && !link->broken;
    link->broken |= complete.oldest;
    complete.extra = r->extra;
    link->owner.answered(link->owner.ctx, link, &r->back, &complete, r->handed,
                         zkl_proof_of(r->reach, reply->rc));
    outgoing_free(r);
}

void zkl_outgoing_request_forget(zkl_link *link) {
    ZKL_EACH (zkl_outgoing_request, r, &link->requests, item) {
        free_memory(r);
    }
}

bool zkl_outgoing_request_are_done(const zoo_op_result_t *results, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (results[i].err != ZOK)
            return false;
    return true;
}

/* Checks for the servers' exact format: ten digits, or a minus and nine at least. */
static bool is_sequence(const char *text) {
    const bool negative = text[0] == '-';
    const char *digits = text + negative;
    int64_t value = 0;
    for (; *digits >= '0' && *digits <= '9' && value <= INT32_MAX; digits++)
        value = value * 10 + (*digits - '0');
    const ptrdiff_t length = digits - text;
    if (*digits || length < 10)
        return false;
    if (negative)
        return value > 0 && -value >= INT32_MIN &&
               (length == 10 || (length == 11 && value >= 1000000000));
    return length == 10 && value <= INT32_MAX;
}

bool zkl_outgoing_request_is_made(const char *made, const char *asked, bool sequence) {
    const size_t length = strlen(asked);
    if (!made || strncmp(made, asked, length) != 0)
        return false;
    return sequence ? is_sequence(made + length) : made[length] == '\0';
}

static bool is_name(const char *name) {
    return name && name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           !strchr(name, '/');
}

bool zkl_outgoing_request_are_names(const struct String_vector *names) {
    if (!names || names->count < 0 || (names->count > 0 && !names->data))
        return false;
    for (int32_t i = 0; i < names->count; i++)
        if (!is_name(names->data[i]))
            return false;
    return true;
}

zkl_stat zkl_outgoing_request_stat(const struct Stat *stat) {
    return (zkl_stat){
        .czxid = stat->czxid,
        .session = stat->ephemeralOwner,
        .ctime = stat->ctime,
        .aversion = stat->aversion,
        .mzxid = stat->mzxid,
        .pzxid = stat->pzxid,
        .mtime = stat->mtime,
        .version = stat->version,
        .children = stat->numChildren,
        .length = stat->dataLength,
    };
}

void zkl_outgoing_request_watched(zhandle_t *handle, int type, int state, const char *path,
                                  void *ctx) {
    (void)handle;
    (void)state;
    zkl_link *link = ctx;
    if (type == ZOO_SESSION_EVENT)
        return; /* every node watch hears session events, too */
    zkl_change change = ZKL_CHANGE_OTHER;
    if (type == ZOO_DELETED_EVENT)
        change = ZKL_CHANGE_DELETED;
    else if (type == ZOO_CHILD_EVENT)
        change = ZKL_CHANGE_CHILDREN;
    link->owner.watched(link->owner.ctx, link, path, change);
}
