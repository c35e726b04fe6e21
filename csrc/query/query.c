/* SPDX-License-Identifier: MIT */
#include "query/query.h"

#include "base/event.h"
#include "base/timer.h"
#include "line/outbox.h"
#include "query/listing.h"

#include <stdlib.h>

static void resolve(zkl_query *query, zkl_status status) {
    if (!query->pending)
        return;
    query->pending = false;
    zkl_list_remove(&query->all->pending, &query->item);
    zkl_timer_clear(&query->all->context->timers, &query->timer);
    zkl_listing_stop(&query->listing);
    zkl_revocation_stop(&query->revocation, query->all->context);
    zkl_events_post(&query->all->context->events, &query->answer, status, 0);
}

static void check_session(zkl_query *query) {
    if (*query->all->state == ZKL_STATE_CONNECTED)
        resolve(query, ZKL_OK);
    else if (*query->all->state == ZKL_STATE_AUTH_FAILED)
        resolve(query, ZKL_AUTH_FAILED);
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
static void check_flush(zkl_query *query) {
    const zkl_line_common *common = query->all->common;
    const zkl_contender *first = ZKL_FIRST(&common->departing, zkl_contender, end.leaving);
    const bool gone = !first || first->end.departure > query->departures;
    const zkl_status refused = common->refusals ? refusal(query) : ZKL_OK;
    if (gone || refused != ZKL_OK)
        resolve(query, refused);
}

static void check_validity(zkl_query *query) {
    if (!query->held || query->held->phase != ZKL_HELD)
        resolve(query, ZKL_LOST);
    else if (zkl_contender_valid_until(query->held) > zkl_context_now(query->all->context))
        /* otherwise the next heartbeat does: the heart beats while it is held */
        resolve(query, ZKL_OK);
}

static void list(zkl_query *query) {
    zkl_listing_step(&query->listing);
    if (query->listing.done) /* a REVOKE only if it has failed: check_revoke comes first */
        resolve(query, query->listing.status);
}

static void check_participants(zkl_query *query) {
    if (*query->all->state == ZKL_STATE_AUTH_FAILED)
        resolve(query, ZKL_AUTH_FAILED);
    else if (query->listing.once && !zkl_context_is_linked(query->all->context))
        resolve(query, ZKL_DISCONNECTED);
    else
        list(query);
}

static void check_revoke(zkl_query *query) {
    if (!query->listing.done || query->listing.status != ZKL_OK) {
        check_participants(query);
        return;
    }
    zkl_revocation_step(&query->revocation, &query->listing);
    if (query->revocation.done)
        resolve(query, query->revocation.status);
    else if (query->listing.once && !zkl_context_is_linked(query->all->context))
        resolve(query, ZKL_DISCONNECTED);
}

static void check(zkl_query *query) {
    static void (*const checks[])(zkl_query *) = {
        [ZKL_QUERY_SESSION] = check_session,   [ZKL_QUERY_FLUSH] = check_flush,
        [ZKL_QUERY_VALIDITY] = check_validity, [ZKL_QUERY_PARTICIPANTS] = check_participants,
        [ZKL_QUERY_REVOKE] = check_revoke,
    };
    checks[query->kind](query);
}

static void deadline_passed(zkl_timer *timer) {
    zkl_query *query = ZKL_CONTAINER_OF(timer, zkl_query, timer);
    resolve(query, zkl_context_is_linked(query->all->context) ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
}

zkl_query *zkl_query_new(zkl_queries *all, zkl_query_kind asked, uint64_t tag) {
    zkl_query *query = calloc(1, sizeof *query);
    if (!query)
        return NULL;
    query->all = all;
    query->kind = asked;
    query->timer.fire = deadline_passed;
    query->answer.kind = ZKL_EVENT_ANSWER;
    query->answer.tag = tag;
    return query;
}

void zkl_query_start(zkl_query *query, zkl_nanos deadline) {
    zkl_queries *all = query->all;
    query->pending = true;
    zkl_outbox_hurry(&all->common->outbox);
    zkl_list_append(&all->pending, &query->item);
    zkl_timer_set(&all->context->timers, &query->timer, deadline);
}

void zkl_query_free(zkl_query *query) {
    resolve(query, ZKL_CANCELLED);
    zkl_events_drop(&query->all->context->events, &query->answer);
    zkl_listing_free(&query->listing);
    free(query);
}

void zkl_queries_check(zkl_queries *all) {
    ZKL_EACH (zkl_query, query, &all->pending, item) {
        check(query);
    }
}

void zkl_queries_suspend(zkl_queries *all) {
    ZKL_EACH (zkl_query, query, &all->pending, item) {
        zkl_listing_stop(&query->listing); /* the next link sends it again */
        zkl_revocation_stop(&query->revocation, all->context);
    }
}

void zkl_queries_dismiss(zkl_queries *all, zkl_status status) {
    ZKL_EACH (zkl_query, query, &all->pending, item) {
        resolve(query, status);
    }
}

void zkl_queries_forget(zkl_queries *all, const zkl_contender *held) {
    ZKL_EACH (zkl_query, query, &all->pending, item) {
        if (query->held == held)
            query->held = NULL;
    }
}
