#include "zookeeper/heart.h"

#include "base/entropy.h"
#include "base/timer.h"
#include "port/receiver.h"

#include <inttypes.h>
#include <stdio.h>
#include <zookeeper/zookeeper.h>

/* Without a parent ZooKeeper finds that it is not there before it looks at any ACL. */
static bool make_path(zkl_heart *heart) {
    uint64_t id[2];
    if (!zkl_entropy(id, sizeof id))
        return false;
    snprintf(heart->nothing, sizeof heart->nothing, "/zklock-%016" PRIx64 "%016" PRIx64 "/none",
             id[0], id[1]);
    heart->context->nothing = heart->nothing;
    return true;
}

static void publish(zkl_heart *heart) {
    zkl_context *context = heart->context;
    const zkl_nanos now = zkl_context_now(context);
    const bool past = context->valid_until <= now;
    context->valid_until = heart->validity.until;
    if (past && context->valid_until > now)
        heart->refreshed(heart);
}

/* ---- when ---- */

/* No two heartbeats are closer, however short the timeout that the servers have granted. */
#define LEAST (ZKL_SECOND / 50)
/* Between heartbeats before there is a first session. */
#define TRY_PAUSE ZKL_SECOND

static bool is_wanted(const zkl_heart *heart) {
    const zkl_stats *count = &heart->context->counters;
    return count->waiting + count->held + heart->context->idle_shared_nodes > 0;
}

/* With nobody there a heartbeat each third of the timeout: that is enough for the next acquire to
 * find a chain (validity.h) begun. With somebody there one each sixth, which keeps half of the
 * timeout left; and one each twelfth while somebody needs validity and there is none. */
static zkl_nanos interval(const zkl_heart *heart, zkl_nanos now) {
    const zkl_nanos timeout = heart->validity.timeout;
    if (heart->proving)
        return timeout / 12;
    if (!is_wanted(heart))
        return timeout / 3;
    return heart->validity.until > now ? timeout / 6 : timeout / 12;
}

/* The pause between heartbeats on a link without a server. Not one for each try of the library: a
 * request wakes it out of its pause between two tries, and servers that are just starting do not
 * answer who comes then (tried: for two thirds of the timeout). */
static zkl_nanos try_pause(const zkl_heart *heart) {
    return heart->validity.timeout ? heart->validity.timeout / 6 : TRY_PAUSE;
}

static zkl_nanos due(const zkl_heart *heart, zkl_nanos now) {
    const zkl_nanos latest = zkl_validity_latest(&heart->validity);
    const zkl_nanos last = latest > heart->beaten ? latest : heart->beaten;
    if (!last || heart->owes_write)
        return now;
    const zkl_nanos pause = heart->linked ? interval(heart, now) : try_pause(heart);
    return last + (pause > LEAST ? pause : LEAST);
}

/* ---- beats ---- */

static void beat(zkl_heart *heart, zkl_nanos now) {
    const zkl_return back = {heart->receiver.id, 0, 0};
    const zkl_port_table *call = heart->port->call;
    const bool write =
        heart->linked && (heart->proving || heart->owes_write ||
                          (is_wanted(heart) && zkl_validity_wants_write(&heart->validity)));
    heart->owes_write = heart->owes_write && !write;
    heart->beaten = now; /* also if it cannot be sent: the next one comes in its time */
    heart->beating = (write ? call->erase(heart->port, heart->nothing, back)
                            : call->sync(heart->port, "/", back)) == ZOK;
}

void zkl_heart_advance(zkl_heart *heart) {
    if (!heart->port || heart->beating)
        /* the step that its answer ends with (or that it was cut off) calls this again */
        return;
    const zkl_nanos now = zkl_context_now(heart->context);
    if (due(heart, now) <= now)
        beat(heart, now);
    if (heart->beating)
        return;
    const zkl_nanos next = due(heart, now);
    if (!heart->timer.at || heart->timer.at > next)
        zkl_timer_set(&heart->context->timers, &heart->timer, next);
}

/* Every step ends with zkl_heart_advance, this one too. */
static void on_time(zkl_timer *timer) {
    (void)timer;
}

static void beat_answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    (void)asked;
    (void)reply; /* zkl_heart_answered has counted what it proves */
    ZKL_CONTAINER_OF(receiver, zkl_heart, receiver)->beating = false;
}

/* An answer weighs as much of a quarter of the timeout as it took, and an eighth at least. So a few
 * slow ones count, however many fast ones there were before. */
static void measure(zkl_heart *heart, zkl_nanos took) {
    const zkl_nanos whole = heart->validity.timeout / 4, least = whole / 8;
    const zkl_nanos weight = took < least ? least : took > whole ? whole : took;
    if (!heart->latency || !whole)
        heart->latency = took;
    else
        heart->latency +=
            (zkl_nanos)((double)(took - heart->latency) * (double)weight / (double)whole);
}

/* Not for each answer of many is everybody looked at who might give up. */
#define TOLD_GRAIN(timeout) ((timeout) / 24)

/* Time counts that ends with an answer: a server that is silent is not slow. */
static void count_unsure(zkl_heart *heart, zkl_nanos now) {
    zkl_context *context = heart->context;
    const zkl_nanos until = context->valid_until;
    const zkl_nanos since = heart->heard > until ? heart->heard : until;
    heart->heard = now;
    if (now <= since || !is_wanted(heart))
        return;
    context->unsure += now - since;
    if (context->unsure < heart->told + TOLD_GRAIN(heart->validity.timeout))
        return;
    heart->told = context->unsure;
    heart->unsure(heart);
}

void zkl_heart_answered(zkl_heart *heart, zkl_proof proof, zkl_nanos handed) {
    if (!heart->linked)
        return;
    const zkl_nanos now = zkl_context_now(heart->context);
    zkl_validity_answered(&heart->validity, proof, handed, now);
    if ((proof == ZKL_PROOF_LEADER || proof == ZKL_PROOF_QUORUM) && handed >= heart->met)
        measure(heart, now - handed);
    if (proof == ZKL_PROOF_QUORUM)
        heart->proving = false;
    if (proof == ZKL_PROOF_QUORUM || proof == ZKL_PROOF_LEADER)
        heart->vain = heart->bearable = 0;
    publish(heart);
    if (proof != ZKL_PROOF_NONE)
        count_unsure(heart, now);
}

/* ---- the link comes and goes ---- */

/* A server that restarts, or a network that breaks, ends fewer connections in a row than that. */
#define VAIN_LEAST 4

bool zkl_heart_init(zkl_heart *heart) {
    heart->context->unsure = 1;
    heart->receiver.answer = beat_answered;
    heart->timer.fire = on_time;
    zkl_receiver_enter(&heart->context->receivers, &heart->receiver);
    return make_path(heart);
}

void zkl_heart_started(zkl_heart *heart, zkl_port *port) {
    heart->port = port;
}

void zkl_heart_linked(zkl_heart *heart, const zkl_grant *grant, bool proving) {
    zkl_validity_connected(&heart->validity, grant);
    heart->linked = true;
    heart->context->patience = heart->validity.timeout;
    heart->met = heart->heard = zkl_context_now(heart->context);
    heart->vain++; /* until something is answered */
    heart->proving = proving;
    heart->owes_write = proving || is_wanted(heart);
    heart->beaten = 0; /* the first comes at once */
    publish(heart);
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
    heart->beating = false; /* its answer will not be heard */
    zkl_receiver_enter(&heart->context->receivers, &heart->receiver);
    zkl_validity_doubt(&heart->validity);
    publish(heart);
}
