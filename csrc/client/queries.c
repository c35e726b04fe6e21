/* SPDX-License-Identifier: MIT */
/* queries: the host's side of queries, and of the mark of a mutex. */
#include "client/client_state.h"

#include "base/sized.h"
#include "client/access.h"
#include "line/line.h"
#include "line/lines.h"
#include "once/once.h"
#include "port/wire.h"
#include "query/audit.h"
#include "query/listing.h"
#include "query/query.h"
#include "zklock_host.h"

#include <stdlib.h>
#include <string.h>

static zkl_query *make(zkl_client *client, zkl_query_kind asked, uint64_t tag) {
    return zkl_client_forked(client) ? NULL : zkl_query_new(&client->queries, asked, tag);
}

static zkl_query *start(zkl_query *query, zkl_nanos deadline) {
    if (!query)
        return NULL;
    zkl_client *client = zkl_client_of(query->ask.all->context);
    zkl_client_enter(client);
    zkl_client_ask(client, &query->ask, deadline);
    zkl_client_leave(client);
    return query;
}

zkl_query *zkl_query_session(zkl_client *client, uint64_t tag, zkl_nanos deadline) {
    return start(make(client, ZKL_QUERY_SESSION, tag), deadline);
}

/* Sends refused deletes once more, so that the answer is up to date. Ends shared nodes that no
 * caller uses, because other clients should get the locks by the time of the answer. */
zkl_query *zkl_query_flush(zkl_client *client, uint64_t tag, zkl_nanos deadline) {
    zkl_query *query = make(client, ZKL_QUERY_FLUSH, tag);
    if (!query)
        return NULL;
    zkl_client_enter(client);
    zkl_lines_each(&client->lines, zkl_line_insist);
    query->departures = client->lines.common.departures;
    zkl_client_ask(client, &query->ask, deadline);
    zkl_client_leave(client);
    return query;
}

static zkl_query *ask_about(zkl_contender *contender, zkl_query_kind asked, uint64_t tag,
                            zkl_nanos deadline) {
    zkl_query *query = make(zkl_client_of(contender->context), asked, tag);
    if (query)
        query->ask.held = contender;
    return start(query, deadline);
}

zkl_query *zkl_query_validity(zkl_contender *contender, uint64_t tag, zkl_nanos deadline) {
    return ask_about(contender, ZKL_QUERY_VALIDITY, tag, deadline);
}

zkl_query *zkl_query_front(zkl_contender *contender, uint64_t tag, zkl_nanos deadline) {
    return ask_about(contender, ZKL_QUERY_FRONT, tag, deadline);
}

/* The leases of a semaphore are below its path, which may be as long as that of any lock. */
static bool is_sound(zkl_query_kind asked, const char *path, bool leases) {
    if (asked != ZKL_QUERY_REVOKE)
        return zkl_path_is_valid(path);
    return leases ? zkl_path_is_valid(path) && !zkl_path_is_reserved(path) : zkl_path_is_lock(path);
}

static zkl_query *ask_at(zkl_client *client, zkl_query_kind asked, const char *path, bool leases,
                         uint64_t tag, zkl_nanos deadline, bool once) {
    const bool revokes = asked == ZKL_QUERY_REVOKE;
    char *full = zkl_client_full_path(client, path);
    zkl_query *query = full ? make(client, asked, tag) : NULL;
    if (query) {
        zkl_listing *listing = &query->listing;
        query->ask.once = listing->once = once;
        listing->scope = revokes ? ZKL_LISTING_NAMES : ZKL_LISTING_NODES;
        if (!is_sound(asked, path, leases))
            listing->status = ZKL_BAD_ARGUMENT;
        else if (strlen(full) > ZKL_WIRE_MOST)
            listing->status = ZKL_TOO_BIG;
        else if (!zkl_listing_init(listing, &client->context, full, leases))
            listing->status = ZKL_NO_MEMORY;
        listing->done = listing->status != ZKL_OK;
    }
    free(full);
    return start(query, deadline);
}

zkl_query *zkl_query_participants(zkl_client *client, const char *path, bool leases, uint64_t tag,
                                  zkl_nanos deadline, bool once) {
    return ask_at(client, ZKL_QUERY_PARTICIPANTS, path, leases, tag, deadline, once);
}

zkl_query *zkl_query_revoke(zkl_client *client, const char *path, bool leases, uint64_t tag,
                            zkl_nanos deadline, bool once) {
    return ask_at(client, ZKL_QUERY_REVOKE, path, leases, tag, deadline, once);
}

zkl_query *zkl_query_check(zkl_client *client, const char *path, int64_t token, uint64_t tag,
                           zkl_nanos deadline, bool once) {
    const bool sound = zkl_path_is_lock(path) && token >= 0;
    char *full = zkl_client_full_path(client, path);
    zkl_query *query = full ? make(client, ZKL_QUERY_CHECK, tag) : NULL;
    if (query) {
        zkl_audit *audit = &query->audit;
        query->ask.once = once;
        if (!sound)
            audit->status = ZKL_BAD_ARGUMENT;
        else if (!zkl_audit_init(audit, &client->lines.common, full, token, once))
            audit->status = ZKL_NO_MEMORY;
        audit->done = audit->status != ZKL_OK;
    }
    free(full);
    return start(query, deadline);
}

size_t zkl_revoked(zkl_query *query) {
    zkl_client *client = zkl_client_of(query->ask.all->context);
    if (!zkl_client_begin(client))
        return 0;
    const size_t asked = query->revocation.asked;
    zkl_client_unlock(client);
    return asked;
}

bool zkl_participant_at(zkl_query *query, size_t index, zkl_participant *given) {
    zkl_client *client = zkl_client_of(query->ask.all->context);
    zkl_participant participant = ZKL_PARTICIPANT_DEFAULTS;
    if (!zkl_sized_is_one(given) || !zkl_client_begin(client))
        return false;
    const bool found = zkl_listing_at(&query->listing, index, &participant);
    zkl_client_unlock(client);
    if (found)
        zkl_sized_give(given, &participant);
    return found;
}

void zkl_query_drop(zkl_query *query) {
    if (query)
        zkl_client_drop(&query->ask);
}

/* ---- the mark of a mutex ---- */

static zkl_once *begin(zkl_once_terms terms) {
    zkl_client *client = zkl_client_of(terms.held->context);
    if (zkl_client_forked(client))
        return NULL;
    zkl_client_enter(client);
    zkl_once *once = zkl_once_new(&client->onces, &terms);
    if (once)
        zkl_client_ask(client, zkl_ask_of_once(once), ZKL_NEVER);
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
    zkl_client *client = zkl_client_of(zkl_ask_of_once(once)->all->context);
    if (!zkl_client_begin(client))
        return 0;
    const double left = zkl_once_seconds_left(once);
    zkl_client_unlock(client);
    return left;
}

void zkl_once_drop(zkl_once *once) {
    if (once)
        zkl_client_drop(zkl_ask_of_once(once));
}
