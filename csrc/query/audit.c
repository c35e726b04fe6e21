/* SPDX-License-Identifier: MIT */
#include "query/audit.h"

#include "base/status.h"
#include "line/contender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

static void finish(zkl_audit *audit, zkl_status status) {
    audit->done = true;
    audit->status = status;
}

/* This client has given the hold back. Its node may still be there: the delete goes out again after
 * a cut, or after the servers have refused it. */
static bool is_given_back(const zkl_audit *audit, const zkl_listing *where) {
    ZKL_EACH (const zkl_contender, c, &audit->common->departing, end.leaving) {
        if (c->name && strcmp(c->name, where->found) == 0) /* a name has a GUID */
            return true;
    }
    return false;
}

/* A hold that is given back stays so. Its delete may be carried out, and the contender forgotten,
 * while the other list is still to come. */
static void forget_given_back(const zkl_audit *audit, zkl_listing *listing) {
    if (listing->done && listing->found && is_given_back(audit, listing))
        listing->found = NULL;
}

static bool shows_hold(const zkl_listing *listing) {
    return listing->done && listing->found;
}

/* The servers have not carried out the write of the barrier, so the lists may be old. */
static void not_behind(zkl_audit *audit) {
    const int rc = zkl_barrier_refused(&audit->barrier);
    if (rc != ZOK && (audit->line.once || !zkl_status_passes(rc))) {
        finish(audit, zkl_status_of_try(rc));
        return;
    }
    zkl_barrier_forget(&audit->barrier);
    zkl_listing_later(&audit->line);
    zkl_listing_later(&audit->leases);
}

static void judge(zkl_audit *audit) {
    zkl_listing *line = &audit->line, *leases = &audit->leases;
    forget_given_back(audit, line);
    forget_given_back(audit, leases);
    if (line->done && line->status != ZKL_OK)
        finish(audit, line->status);
    else if (leases->done && leases->status != ZKL_OK)
        finish(audit, leases->status);
    else if ((line->done || leases->done) && !zkl_barrier_passed(&audit->barrier))
        not_behind(audit);
    else if (shows_hold(line) || shows_hold(leases))
        finish(audit, ZKL_OK);
    else if (line->done && leases->done)
        finish(audit, ZKL_NOT_OWNER);
}

/* The request could not be sent. */
static void not_sent(zkl_audit *audit, int rc) {
    if (rc == ZMARSHALLINGERROR)
        finish(audit, ZKL_NO_MEMORY);
    else if (zkl_status_unknown(rc))
        zkl_listing_later(&audit->line);
    else
        finish(audit, zkl_status_of(rc));
}

static void go_on(zkl_audit *audit) {
    const bool begun = audit->line.asked || audit->leases.asked;
    if (!zkl_context_is_linked(audit->common->context) || audit->line.retry.timer.at)
        return;
    const int rc = begun ? ZOK : zkl_barrier_raise(&audit->barrier);
    if (rc != ZOK) {
        not_sent(audit, rc);
        return;
    }
    zkl_listing_step(&audit->line);
    zkl_listing_step(&audit->leases);
}

void zkl_audit_step(zkl_audit *audit) {
    if (!audit->done)
        go_on(audit);
    if (!audit->done)
        judge(audit);
}

static bool init_listing(zkl_audit *audit, zkl_listing *listing, const char *path, int64_t token,
                         bool once) {
    listing->scope = ZKL_LISTING_HOLDERS;
    listing->token = token;
    listing->once = once;
    return zkl_listing_init(listing, audit->common->context, path, listing == &audit->leases);
}

bool zkl_audit_init(zkl_audit *audit, const zkl_line_common *common, const char *path,
                    int64_t token, bool once) {
    char *leases = NULL;
    audit->common = common;
    zkl_barrier_init(&audit->barrier, common->context);
    if (asprintf(&leases, "%s/leases", path) < 0)
        return false;
    const bool complete = init_listing(audit, &audit->line, path, token, once) &&
                          init_listing(audit, &audit->leases, leases, token, once);
    free(leases);
    return complete;
}

void zkl_audit_stop(zkl_audit *audit) {
    if (!audit->common)
        return;
    zkl_barrier_forget(&audit->barrier);
    if (audit->line.context)
        zkl_listing_again(&audit->line);
    if (audit->leases.context)
        zkl_listing_again(&audit->leases);
}

void zkl_audit_free(zkl_audit *audit) {
    if (!audit->common)
        return;
    zkl_barrier_forget(&audit->barrier);
    zkl_listing_free(&audit->line);
    zkl_listing_free(&audit->leases);
}
