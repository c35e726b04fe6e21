/* SPDX-License-Identifier: MIT */
/* query: a question of the host that one event answers before a deadline. Under the client's
 * mutex. */
#ifndef ZKL_QUERY_H
#define ZKL_QUERY_H

#include "line/contender.h"
#include "query/revocation.h"

typedef struct zkl_queries {
    zkl_context *context;
    zkl_line_common *common;
    const _Atomic zkl_state *state; /* the session's */
    zkl_list pending;               /* the queries without an answer */
} zkl_queries;

typedef enum zkl_query_kind {
    ZKL_QUERY_SESSION,
    ZKL_QUERY_FLUSH,
    ZKL_QUERY_VALIDITY,
    ZKL_QUERY_PARTICIPANTS,
    ZKL_QUERY_REVOKE
} zkl_query_kind;

struct zkl_query {
    zkl_client *client; /* for the host's side */
    zkl_queries *all;
    zkl_list_item item; /* all->pending */
    zkl_query_kind kind;
    bool pending;
    zkl_timer timer;
    zkl_notice answer;
    uint64_t departures;       /* FLUSH: how many contenders had departed when the host asked */
    zkl_contender *held;       /* VALIDITY */
    zkl_listing listing;       /* PARTICIPANTS, REVOKE */
    zkl_revocation revocation; /* REVOKE */
};

/* NULL: no memory. The caller fills in the fields of the kind, then calls zkl_query_start. */
zkl_query *zkl_query_new(zkl_queries *all, zkl_query_kind asked, uint64_t tag);
void zkl_query_start(zkl_query *query, zkl_nanos deadline);
void zkl_query_free(zkl_query *query);

/* Answers the queries that can be answered; the end of every step. */
void zkl_queries_check(zkl_queries *all);
/* The link is gone. */
void zkl_queries_suspend(zkl_queries *all);
/* Answers all with `status`. */
void zkl_queries_dismiss(zkl_queries *all, zkl_status status);
/* The contender is about to be freed. */
void zkl_queries_forget(zkl_queries *all, const zkl_contender *held);

#endif
