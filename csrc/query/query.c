/* SPDX-License-Identifier: MIT */
#include "query/query.h"

#include "line/outbox.h"
#include "query/listing.h"

#include <stdlib.h>

static zkl_query *query_of(zkl_ask *ask) {
    return ZKL_CONTAINER_OF(ask, zkl_query, ask);
}

static void check_session(zkl_ask *ask) {
    if (!zkl_ask_end_unreached(ask) && *ask->all->state == ZKL_STATE_CONNECTED)
        zkl_ask_answer(ask, ZKL_OK);
}

/* Some contenders had departed when the host asked. They come first in the list. ZKL_OK: the
 * servers have refused to delete none of them so far. */
static zkl_status refusal(const zkl_query *query) {
    ZKL_EACH (const zkl_contender, c, &query->all->common->departing, end.leaving) {
        if (c->end.departure > query->departures)
            break;
        if (c->end.refused != ZKL_OK)
            return c->end.refused;
    }
    return ZKL_OK;
}

/* The answer comes when all of them are gone, or as soon as the servers have refused to delete the
 * node of one. */
static void check_flush(zkl_ask *ask) {
    const zkl_query *query = query_of(ask);
    const zkl_line_common *common = query->all->common;
    const zkl_contender *first = ZKL_FIRST(&common->departing, zkl_contender, end.leaving);
    const bool gone = !first || first->end.departure > query->departures;
    const zkl_status refused = common->refusals ? refusal(query) : ZKL_OK;
    if (gone || refused != ZKL_OK)
        zkl_ask_answer(ask, refused);
}

static void check_validity(zkl_ask *ask) {
    if (!ask->held || ask->held->phase != ZKL_HELD)
        zkl_ask_answer(ask, ZKL_LOST);
    else if (zkl_contender_valid_until(ask->held) > zkl_context_now(ask->all->context))
        /* otherwise the next heartbeat does: the heart beats while it is held */
        zkl_ask_answer(ask, ZKL_OK);
}

/* No list may come any more. */
static void check_front(zkl_ask *ask) {
    if (!ask->held || ask->held->phase != ZKL_WAITING)
        zkl_ask_answer(ask, ZKL_OK);
}

static void front_known(zkl_holder_look *look, zkl_line *line, const char *why) {
    (void)line, (void)why;
    zkl_ask_answer(&ZKL_CONTAINER_OF(look, zkl_query, look)->ask, ZKL_OK);
}

static void begin_front(zkl_ask *ask) {
    zkl_holder_look *look = &query_of(ask)->look;
    look->c = ask->held;
    look->known = front_known;
    if (ask->held->phase == ZKL_WAITING)
        zkl_holder_look_begin(look, true);
}

static void check_participants(zkl_ask *ask) {
    zkl_listing *listing = &query_of(ask)->listing;
    if (zkl_ask_end_unreached(ask))
        return;
    zkl_listing_step(listing);
    if (listing->done) /* a REVOKE only if it has failed: check_revoke comes first */
        zkl_ask_answer(ask, listing->status);
}

static void check_revoke(zkl_ask *ask) {
    zkl_query *query = query_of(ask);
    if (!query->listing.done || query->listing.status != ZKL_OK) {
        check_participants(ask);
        return;
    }
    zkl_revocation_step(&query->revocation, &query->listing);
    if (query->revocation.done)
        zkl_ask_answer(ask, query->revocation.status);
    else
        zkl_ask_end_unreached(ask);
}

static void check_audit(zkl_ask *ask) {
    zkl_audit *audit = &query_of(ask)->audit;
    if (!audit->done && zkl_ask_end_unreached(ask))
        return;
    zkl_audit_step(audit);
    if (audit->done)
        zkl_ask_answer(ask, audit->status);
}

static void begin(zkl_ask *ask) {
    zkl_outbox_hurry(&query_of(ask)->all->common->outbox);
}

static void stop(zkl_ask *ask) {
    zkl_listing_stop(&query_of(ask)->listing);
    zkl_revocation_stop(&query_of(ask)->revocation, ask->all->context);
    zkl_audit_stop(&query_of(ask)->audit);
}

static zkl_status end(zkl_ask *ask, zkl_status status) {
    stop(ask);
    zkl_holder_look_end(&query_of(ask)->look);
    return status;
}

static void free_query(zkl_ask *ask) {
    zkl_holder_look_end(&query_of(ask)->look);
    zkl_revocation_stop(&query_of(ask)->revocation, ask->all->context);
    zkl_listing_free(&query_of(ask)->listing);
    zkl_audit_free(&query_of(ask)->audit);
    free(query_of(ask));
}

zkl_query *zkl_query_new(zkl_queries *all, zkl_query_kind asked, uint64_t tag) {
    static const zkl_ask_call calls[] = {
        [ZKL_QUERY_SESSION] = {begin, check_session, NULL, end, free_query},
        [ZKL_QUERY_FLUSH] = {begin, check_flush, NULL, end, free_query},
        [ZKL_QUERY_VALIDITY] = {begin, check_validity, NULL, end, free_query},
        [ZKL_QUERY_FRONT] = {begin_front, check_front, NULL, end, free_query},
        [ZKL_QUERY_PARTICIPANTS] = {begin, check_participants, NULL, end, free_query},
        [ZKL_QUERY_REVOKE] = {begin, check_revoke, NULL, end, free_query},
        [ZKL_QUERY_CHECK] = {begin, check_audit, NULL, end, free_query},
    };
    zkl_query *query = calloc(1, sizeof *query);
    if (!query)
        return NULL;
    query->all = all;
    zkl_ask_init(&query->ask, &all->asks, &calls[asked], tag);
    return query;
}

void zkl_queries_suspend(zkl_queries *all) {
    ZKL_EACH (zkl_ask, ask, &all->asks.due, item) {
        stop(ask); /* the next link sends it again */
    }
}
