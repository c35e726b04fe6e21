/* SPDX-License-Identifier: MIT */
/* queries: the host's side of a query. */
#include "client/client_state.h"

#include "client/access.h"
#include "line/line.h"
#include "line/lines.h"
#include "query/listing.h"
#include "query/query.h"
#include "zklock.h"

#include <stdlib.h>

static zkl_query *ask(zkl_client *client, zkl_query_kind asked, uint64_t tag, zkl_nanos deadline,
                      void (*fill)(zkl_query *query, void *with), void *with) {
    zkl_query *query = zkl_query_new(&client->queries, asked, tag);
    if (!query)
        return NULL;
    query->client = client;
    zkl_client_use(client);
    zkl_client_enter(client);
    if (fill)
        fill(query, with);
    zkl_query_start(query, deadline);
    if (client->closing)
        zkl_queries_dismiss(&client->queries, ZKL_CLOSED);
    zkl_client_leave(client);
    return query;
}

zkl_query *zkl_query_session(zkl_client *client, uint64_t tag, zkl_nanos deadline) {
    return zkl_client_forked(client) ? NULL
                                     : ask(client, ZKL_QUERY_SESSION, tag, deadline, NULL, NULL);
}

/* Sends refused deletes once more, so that the answer is up to date. Ends shared nodes that no
 * caller uses, because other clients should get the locks by the time of the answer. */
static void fill_flush(zkl_query *query, void *with) {
    zkl_lines_each(with, zkl_line_insist);
    query->departures = query->all->common->departures;
}

zkl_query *zkl_query_flush(zkl_client *client, uint64_t tag, zkl_nanos deadline) {
    return zkl_client_forked(client)
               ? NULL
               : ask(client, ZKL_QUERY_FLUSH, tag, deadline, fill_flush, &client->lines);
}

static void fill_validity(zkl_query *query, void *with) {
    query->held = with;
}

zkl_query *zkl_query_validity(zkl_contender *contender, uint64_t tag, zkl_nanos deadline) {
    zkl_client *client = zkl_client_of(contender->context);
    return zkl_client_forked(client)
               ? NULL
               : ask(client, ZKL_QUERY_VALIDITY, tag, deadline, fill_validity, contender);
}

typedef struct directory {
    const char *path;
    bool leases;
    bool once;
    bool malformed;
} directory;

static void fill_participants(zkl_query *query, void *with) {
    const directory *at = with;
    query->listing.once = at->once;
    query->listing.names = query->kind == ZKL_QUERY_REVOKE;
    if (at->malformed) {
        query->listing.done = true;
        query->listing.status = ZKL_BAD_ARGUMENT;
    } else if (!zkl_listing_init(&query->listing, query->all->context, at->path, at->leases)) {
        query->listing.done = true;
        query->listing.status = ZKL_NO_MEMORY;
    }
}

static zkl_query *ask_at(zkl_client *client, zkl_query_kind asked, const char *path, directory at,
                         uint64_t tag, zkl_nanos deadline) {
    if (zkl_client_forked(client))
        return NULL;
    char *full = zkl_client_full_path(client, path);
    if (!full)
        return NULL;
    at.path = full;
    at.malformed = asked == ZKL_QUERY_REVOKE ? !zkl_path_is_lock(path) : !zkl_path_is_valid(path);
    zkl_query *query =
        ask(client, asked, tag, at.once ? ZKL_NEVER : deadline, fill_participants, &at);
    free(full);
    return query;
}

zkl_query *zkl_query_participants(zkl_client *client, const char *path, bool leases, uint64_t tag,
                                  zkl_nanos deadline, bool once) {
    return ask_at(client, ZKL_QUERY_PARTICIPANTS, path, (directory){.leases = leases, .once = once},
                  tag, deadline);
}

zkl_query *zkl_query_revoke(zkl_client *client, const char *path, bool leases, uint64_t tag,
                            zkl_nanos deadline, bool once) {
    return ask_at(client, ZKL_QUERY_REVOKE, path, (directory){.leases = leases, .once = once}, tag,
                  deadline);
}

size_t zkl_revoked(zkl_query *query) {
    zkl_client *client = query->client;
    if (!zkl_client_begin(client))
        return 0;
    const size_t asked = query->revocation.asked;
    zkl_client_unlock(client);
    return asked;
}

bool zkl_participant_at(zkl_query *query, size_t index, zkl_participant *participant) {
    zkl_client *client = query->client;
    if (!zkl_client_begin(client))
        return false;
    const bool found = zkl_listing_at(&query->listing, index, participant);
    zkl_client_unlock(client);
    return found;
}

void zkl_query_drop(zkl_query *query) {
    zkl_client *client = query ? query->client : NULL;
    if (!client || !zkl_client_begin(client))
        return;
    zkl_query_free(query);
    zkl_client_leave(client);
    zkl_client_unuse(client);
}
