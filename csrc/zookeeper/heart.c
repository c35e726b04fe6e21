/* SPDX-License-Identifier: MIT */
#include "zookeeper/heart.h"

#include "base/counts.h"
#include "base/entropy.h"
#include "base/status.h"
#include "base/timer.h"
#include "port/barrier.h"
#include "port/receiver.h"

#include <inttypes.h>
#include <stdio.h>
#include <zookeeper/zookeeper.h>

/* If a node has no parent, ZooKeeper reports that it does not exist before it checks any ACL. */
static bool make_path(zkl_heart *heart) {
    uint64_t id[2];
    if (!zkl_entropy(id, sizeof id))
        return false;
    snprintf(heart->nothing, sizeof heart->nothing, "/zklock-%016" PRIx64 "%016" PRIx64 "/none",
             id[0], id[1]);
    heart->context->nothing = heart->nothing;
    return true;
}

static void publish(zkl_heart *heart, zkl_nanos now) {
    zkl_context *context = heart->context;
    const bool past = context->valid_until <= now;
    context->valid_until = heart->validity.until;
    if (past && context->valid_until > now)
        heart->refreshed(heart);
}

/* ---- the time between heartbeats ---- */

/* The least time between two heartbeats, however short the session timeout is. */
#define LEAST (ZKL_SECOND / 50)
/* The time between heartbeats before there is a first session. */
#define TRY_PAUSE ZKL_SECOND

static bool is_wanted(const zkl_heart *heart) {
    const zkl_stats *count = &heart->context->counters;
    return count->waiting + count->held + heart->context->idle_shared_nodes > 0;
}

/* The client sends nothing else on the link before that has answered a write. */
static bool is_proving(const zkl_heart *heart) {
    return heart->linked && !zkl_context_is_linked(heart->context);
}

/* Without callers a third of the timeout: enough for the next acquire to find the start of a chain
 * (validity.h). With callers a sixth, which leaves half of the timeout as validity. A twelfth while
 * a caller needs validity and there is none. */
static zkl_nanos interval(const zkl_heart *heart, zkl_nanos now) {
    const zkl_nanos timeout = heart->validity.timeout;
    if (is_proving(heart))
        return timeout / 12;
    if (!is_wanted(heart))
        return timeout / 3;
    return heart->validity.until > now ? timeout / 6 : timeout / 12;
}

/* The pause between heartbeats on a link without a server. A heartbeat for each try of the library
 * would be too much: a request ends the library's pause between two tries, and servers that are
 * just starting do not answer a connection at that moment (tried: for two thirds of the
 * timeout). */
static zkl_nanos try_pause(const zkl_heart *heart) {
    return heart->validity.timeout ? heart->validity.timeout / 6 : TRY_PAUSE;
}

static zkl_nanos due(const zkl_heart *heart, zkl_nanos now) {
    const zkl_nanos latest = zkl_validity_latest(&heart->validity);
    const zkl_nanos sent = latest > heart->beaten ? latest : heart->beaten;
    if (!sent || heart->owes_write)
        return now;
    /* a chain is made of what is handed over long enough after an answer */
    const zkl_nanos last = is_wanted(heart) || sent > heart->heard ? sent : heart->heard;
    const zkl_nanos pause = heart->linked ? interval(heart, now) : try_pause(heart);
    return last + (pause > LEAST ? pause : LEAST);
}

/* ---- beats ---- */

static void beat(zkl_heart *heart, zkl_nanos now) {
    const zkl_return back = {heart->receiver.id, 0, 0};
    const bool write =
        heart->linked && (is_proving(heart) || heart->owes_write ||
                          (is_wanted(heart) && zkl_validity_wants_write(&heart->validity)));
    heart->owes_write = heart->owes_write && !write;
    heart->sent = heart->beaten = now; /* also if it cannot be sent: the next one comes in time */
    heart->beating = (write ? zkl_barrier_write(heart->context, heart->port, back)
                            : heart->port->call->sync(heart->port, "/", back)) == ZOK;
}

void zkl_heart_advance(zkl_heart *heart) {
    if (!heart->port || heart->beating)
        /* the answer, perhaps only that the request was cut off, ends with a step that calls this
         * again */
        return;
    const zkl_nanos now = zkl_context_now(heart->context);
    zkl_nanos next = due(heart, now);
    if (next <= now) {
        beat(heart, now);
        next = due(heart, now);
    }
    if (heart->beating)
        return;
    if (!heart->timer.at || heart->timer.at > next)
        zkl_timer_set(&heart->context->timers, &heart->timer, next);
}

static void beat_answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_heart *heart = ZKL_CONTAINER_OF(receiver, zkl_heart, receiver);
    (void)asked;
    heart->beating = false; /* zkl_heart_answered has already counted the answer */
    if (!zkl_status_unknown(reply->rc))
        zkl_histogram_add(&heart->context->counters.heartbeat,
                          zkl_context_now(heart->context) - heart->sent);
}

/* The weight of an answer is its duration in quarters of the timeout, and at least an eighth. So a
 * few slow answers count even after many fast ones. */
static void measure(zkl_heart *heart, zkl_nanos took) {
    const zkl_nanos whole = heart->validity.timeout / 4, least = whole / 8;
    const zkl_nanos weight = took < least ? least : took > whole ? whole : took;
    if (!heart->latency || !whole)
        heart->latency = took;
    else
        heart->latency +=
            (zkl_nanos)((double)(took - heart->latency) * (double)weight / (double)whole);
}

/* So many answers make a chain. */
#define CHAIN 3

/* One pause of a server makes all the answers slow that it holds back: together they are one. A
 * request that was handed over before the link found its server counts from then on. It may have
 * taken longer, so its answer can be slow for certain, but never quick. */
static void count_slow(zkl_heart *heart, zkl_nanos handed, zkl_nanos now) {
    const zkl_nanos sent = handed > heart->met ? handed : heart->met;
    if (now - sent <= zkl_validity_slowest(&heart->validity)) {
        if (handed >= heart->met)
            heart->slow = 0;
    } else if (!heart->slow || sent >= heart->slowed) {
        heart->slowed = now;
        if (++heart->slow >= CHAIN)
            heart->due = 0; /* waiters leave with this answer, not with the next one */
    }
    /* while no chain can come to be, nobody waits for one */
    heart->context->patience = heart->slow < CHAIN ? heart->validity.timeout : 0;
}

/* The grain for reporting `unsure`: not every answer needs a check of all waiters. */
#define DUE_GRAIN(timeout) ((timeout) / 24)

/* Only time that ends with an answer counts: a silent server is not a slow one. */
static void count_unsure(zkl_heart *heart, zkl_nanos now) {
    zkl_context *context = heart->context;
    const zkl_nanos until = context->valid_until;
    const zkl_nanos since = heart->heard > until ? heart->heard : until;
    heart->heard = now;
    if (now <= since || !is_wanted(heart))
        return;
    context->unsure += now - since;
    if (context->unsure < heart->due)
        return;
    heart->due = context->unsure + DUE_GRAIN(heart->validity.timeout);
    heart->unsure(heart);
}

void zkl_heart_answered(zkl_heart *heart, zkl_proof proof, zkl_nanos handed) {
    if (!heart->linked)
        return;
    const zkl_nanos now = zkl_context_now(heart->context);
    zkl_validity_answered(&heart->validity, proof, handed, now);
    if (proof == ZKL_PROOF_QUORUM || proof == ZKL_PROOF_LEADER) {
        if (handed >= heart->met)
            measure(heart, now - handed);
        count_slow(heart, handed, now);
        heart->vain = heart->bearable = 0;
    }
    publish(heart, now);
    if (proof != ZKL_PROOF_NONE)
        count_unsure(heart, now);
}

/* ---- the link ---- */

/* A server that restarts, or a network failure, ends fewer connections in a row. */
#define VAIN_LEAST 4

bool zkl_heart_init(zkl_heart *heart) {
    heart->context->unsure = 1;
    heart->receiver.answer = beat_answered;
    zkl_receiver_enter(&heart->context->receivers, &heart->receiver);
    return make_path(heart);
}

void zkl_heart_started(zkl_heart *heart, zkl_port *port) {
    heart->port = port;
}

void zkl_heart_linked(zkl_heart *heart, const zkl_grant *grant, bool proving) {
    zkl_validity_connected(&heart->validity, grant);
    heart->linked = true;
    /* however slow the former link was, the first write here may show enough */
    heart->context->patience = heart->validity.timeout;
    const zkl_nanos now = zkl_context_now(heart->context);
    heart->met = heart->heard = now;
    heart->vain++; /* until the first answer */
    heart->owes_write = proving || is_wanted(heart);
    heart->beaten = 0; /* the first heartbeat comes at once */
    publish(heart, now);
}

void zkl_heart_unlinked(zkl_heart *heart) {
    heart->linked = heart->owes_write = false;
    zkl_timer_clear(&heart->context->timers, &heart->timer);
}

bool zkl_heart_in_vain(const zkl_heart *heart) {
    return heart->vain >= VAIN_LEAST && heart->vain >= heart->bearable;
}

void zkl_heart_stopped(zkl_heart *heart) {
    zkl_heart_unlinked(heart);
    heart->bearable = 4 * heart->vain;
    heart->port = NULL;
    heart->beating = false; /* the heart will not get its answer */
    zkl_receiver_enter(&heart->context->receivers, &heart->receiver);
    zkl_validity_doubt(&heart->validity);
    publish(heart, zkl_context_now(heart->context));
}
