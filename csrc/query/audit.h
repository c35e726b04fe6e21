/* SPDX-License-Identifier: MIT */
/* audit: does a node with this fencing token hold at a path? It lists the line and the leases of a
 * semaphore there, behind a barrier of its own, so that the answer is not older than the question.
 * Under the client's mutex. */
#ifndef ZKL_AUDIT_H
#define ZKL_AUDIT_H

#include "line/line_common.h"
#include "port/barrier.h"
#include "query/listing.h"

typedef struct zkl_audit {
    const zkl_line_common *common;
    zkl_barrier barrier;
    zkl_listing line, leases;
    bool done;
    zkl_status status; /* valid when done: ZKL_OK: one holds; ZKL_NOT_OWNER: none does */
} zkl_audit;

/* false: no memory */
bool zkl_audit_init(zkl_audit *audit, const zkl_line_common *common, const char *path,
                    int64_t token, bool once);
/* Sends requests, if there is a link and no pause runs, and looks at what the answers say. */
void zkl_audit_step(zkl_audit *audit);
/* Drops all requests that are on their way: the next step begins again. */
void zkl_audit_stop(zkl_audit *audit);
void zkl_audit_free(zkl_audit *audit);

#endif
