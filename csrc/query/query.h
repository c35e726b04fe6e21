/* SPDX-License-Identifier: MIT */
/* query: a question of the host that one event answers before a deadline. Under the client's
 * mutex. */
#ifndef ZKL_QUERY_H
#define ZKL_QUERY_H

#include "ask/ask.h"
#include "line/contender.h"
#include "line/front.h"
#include "query/audit.h"
#include "query/revocation.h"

typedef struct zkl_queries {
    zkl_asks asks;
    zkl_line_common *common;
} zkl_queries;

typedef enum zkl_query_kind {
    ZKL_QUERY_SESSION,
    ZKL_QUERY_FLUSH,
    ZKL_QUERY_VALIDITY,
    ZKL_QUERY_FRONT,
    ZKL_QUERY_PARTICIPANTS,
    ZKL_QUERY_REVOKE,
    ZKL_QUERY_CHECK
} zkl_query_kind;

struct zkl_query {
    zkl_ask ask; /* VALIDITY, FRONT: with `held` */
    zkl_queries *all;
    zkl_holder_look look;      /* FRONT */
    uint64_t departures;       /* FLUSH: how many contenders had departed when the host asked */
    zkl_listing listing;       /* PARTICIPANTS, REVOKE */
    zkl_revocation revocation; /* REVOKE */
    zkl_audit audit;           /* CHECK */
};

/* NULL: no memory. The caller fills in the fields of the kind before the query starts. */
zkl_query *zkl_query_new(zkl_queries *all, zkl_query_kind asked, uint64_t tag);
/* The link is gone. */
void zkl_queries_suspend(zkl_queries *all);

#endif
