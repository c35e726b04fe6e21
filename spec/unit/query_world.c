/* SPDX-License-Identifier: MIT */
#include "query_world.h"

zkl_query *query;
bool query_of_leases;
int64_t query_token;

void query_stop(void) {
    if (query)
        zkl_ask_free(&query->ask);
    query = NULL;
}

void query_end(void) {
    query_of_leases = false;
    query_stop();
    fake_world_end();
}

void query_make(zkl_query_kind asked) {
    query = zkl_query_new(&one->queries, asked, 0);
    CHECK(query != NULL);
    query->listing.scope = asked == ZKL_QUERY_REVOKE ? ZKL_LISTING_NAMES : ZKL_LISTING_NODES;
    if (asked == ZKL_QUERY_PARTICIPANTS || asked == ZKL_QUERY_REVOKE)
        CHECK(zkl_listing_init(&query->listing, &one->context, LINE, query_of_leases));
    if (asked == ZKL_QUERY_CHECK)
        CHECK(zkl_audit_init(&query->audit, &one->lines.common, LINE, query_token, false));
}

void query_start(double seconds) {
    zkl_ask_start(&query->ask, zkl_clock_after(fake_now, seconds));
    fake_leave(one);
}

void query_ask(zkl_query_kind asked, double seconds) {
    query_make(asked);
    query_start(seconds);
}

void query_ask_about(const fake_caller *c, zkl_query_kind asked, double seconds) {
    query_make(asked);
    query->ask.held = c->contender;
    query_start(seconds);
}

void query_ask_once(zkl_query_kind asked) {
    query_make(asked);
    query->ask.once = query->listing.once = true;
    query->audit.line.once = query->audit.leases.once = true;
    query_start(1e12);
}

void query_check_answered(zkl_status status) {
    CHECK(query->ask.stage == ZKL_ASK_DONE);
    CHECK_INT(query->ask.answer.kind, ZKL_EVENT_ANSWER);
    CHECK_TEXT(zkl_status_text(query->ask.answer.status), zkl_status_text(status));
}

void query_fill(size_t count, const char *form) {
    for (size_t i = 0; i < count; i++)
        fake_stranger(zk, LINE, form);
}
