/* SPDX-License-Identifier: MIT */
#include "query/revocation.h"

#include "base/status.h"
#include "base/timer.h"
#include "port/receiver.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The query ends in the same step, and stops the revocation. */
static void finish(zkl_revocation *revocation, zkl_status status) {
    revocation->done = true;
    revocation->status = status;
}

static int ask(zkl_revocation *revocation, const char *node) {
    const zkl_listing *listing = revocation->listing;
    zkl_port *port = listing->context->port;
    char *path = zkl_znode_path(listing->path, node);
    if (!path)
        return ZMARSHALLINGERROR;
    const zkl_return back = {revocation->receiver.id, 0, 0};
    const zkl_op op = {.kind = ZKL_OP_SET,
                       .path = path,
                       .data = ZKL_REVOKE,
                       .length = strlen(ZKL_REVOKE),
                       .version = -1};
    const int rc = port->call->perform(port, &op, false, back);
    free(path);
    return rc;
}

/* Asks all of them again, which does no harm. */
static void ask_later(zkl_revocation *revocation) {
    zkl_context *context = revocation->listing->context;
    zkl_revocation_stop(revocation, context);
    zkl_context_retry_later(context, &revocation->retry);
}

/* All holders have left since they were listed: the next list shows the new ones. The pause stays
 * short where holders come and go quickly. */
static void list_again(zkl_revocation *revocation) {
    zkl_listing *listing = revocation->listing;
    revocation->sent = false;
    listing->retry.pause = 0;
    if (revocation->vain)
        zkl_listing_later(listing);
    else
        zkl_listing_again(listing);
    revocation->vain = true;
}

/* All holders have got a write. */
static void sum_up(zkl_revocation *revocation) {
    if (revocation->asked || !revocation->gone)
        finish(revocation, ZKL_OK);
    else
        list_again(revocation);
}

/* Sends as many requests as may be on their way. */
static void go_on(zkl_revocation *revocation) {
    zkl_participant participant;
    int rc = ZOK;
    while (rc == ZOK && revocation->open < ZKL_LISTING_WINDOW &&
           zkl_listing_at(revocation->listing, revocation->next, &participant)) {
        revocation->next++;
        if (!participant.holder)
            continue;
        rc = ask(revocation, participant.node);
        revocation->open += rc == ZOK;
    }
    if (rc == ZMARSHALLINGERROR)
        finish(revocation, ZKL_NO_MEMORY);
    else if (zkl_status_unknown(rc))
        ask_later(revocation);
    else if (rc != ZOK)
        finish(revocation, zkl_status_of(rc));
    else if (!revocation->open)
        sum_up(revocation);
}

static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    (void)asked;
    zkl_revocation *revocation = ZKL_CONTAINER_OF(receiver, zkl_revocation, receiver);
    if (zkl_status_passes(reply->rc)) {
        if (revocation->listing->once)
            finish(revocation, zkl_status_of_try(reply->rc));
        else
            ask_later(revocation);
        return;
    }
    revocation->open--;
    revocation->asked += reply->rc == ZOK;
    revocation->gone |= reply->rc == ZNONODE; /* it has left since it was listed */
    if (reply->rc != ZOK && reply->rc != ZNONODE)
        finish(revocation, zkl_status_of(reply->rc));
    else
        go_on(revocation);
}

void zkl_revocation_step(zkl_revocation *revocation, zkl_listing *listing) {
    if (revocation->sent || !zkl_context_is_linked(listing->context) || revocation->retry.timer.at)
        return;
    revocation->listing = listing;
    revocation->receiver.answer = answered;
    zkl_receiver_enter(&listing->context->receivers, &revocation->receiver);
    revocation->next = revocation->open = 0;
    revocation->gone = false;
    revocation->sent = true;
    go_on(revocation);
}

void zkl_revocation_stop(zkl_revocation *revocation, zkl_context *context) {
    zkl_receiver_leave(&context->receivers, &revocation->receiver);
    zkl_timer_clear(&context->timers, &revocation->retry.timer);
    revocation->sent = false;
}
