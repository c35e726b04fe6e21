/* SPDX-License-Identifier: MIT */
#include "slow.h"

#include "library.h"
#include "nodes.h"
#include "shared/node_state.h"

#include "client/client_state.h"

#include <string.h>

/* The answered time for which a node may keep others out. A round trip L of the slow link takes
 * 0.45 T at most, heartbeats follow each other without a pause, and the client looks at its waiters
 * with an answer, each T/24:
 *   1.5 L         the client learns that its node is first: an event, then a list
 *   L + T/24      the next answer, with which it gives up: three answers were too slow by then
 *   L/2           the delete arrives
 * That is 3 L + T/24, or 1.4 T. A client that has just started makes a node after L/2 at the
 * earliest, has three answers after 3 L, and gives up with the third: the same without T/24. */
#define KEPT_MOST(timeout) ((timeout) / 2 * 3)

/* A gap between two answers counts as half of T at most. With a longer one the servers are silent:
 * then the client learns nothing, and no limit of its own applies. */
#define GAP_MOST(timeout) ((timeout) / 2)

/* The client repeats a request that a server has throttled after a pause of at most so long
 * (RETRY_MOST in line_state.c, PATIENCE_BUSY in answer.c). */
#define PAUSE_MOST (5 * ZKL_SECOND)

/* A node of the host keeps others out, and nobody holds with it. */
typedef struct front {
    int64_t czxid; /* 0: there is no such node */
    zkl_nanos since;
    zkl_nanos kept; /* answered time since then */
} front;

static struct {
    front fronts[SIM_DIRECTORIES_MOST];
    zkl_nanos proven;       /* the latest answer of a leader that was counted */
    zkl_nanos pauses_until; /* a server has throttled a request, and the client may pause */
} slow;

static zkl_nanos timeout_of(const sim_host *host) {
    return host->client->session.heart.validity.timeout;
}

/* ---- the node that keeps others out ---- */

/* A shared node (fair = false) has its node, and its callers still wait for trust. */
static bool is_shared_node_in_vain(const sim_host *host, const zkl_contender *node) {
    for (const sim_caller *c = host->callers; c; c = c->next) {
        if (!c->is_shared || c->answers || c->contender->phase != ZKL_WAITING)
            continue;
        const zkl_shared_node *shared = zkl_sharer_of(c->contender)->shared;
        if (shared && shared->contender == node)
            return !zkl_shared_node_holder(shared);
    }
    return false;
}

static bool is_in_vain(const sim_host *host, const char *path, const fake_node *node) {
    const zkl_contender *c =
        sim_node_host(node) == host ? sim_node_contender(host, path, node) : NULL;
    return c && (c->phase == ZKL_WAITING || is_shared_node_in_vain(host, c));
}

static const fake_node *first_in(const fake_node *directory) {
    const fake_node *first = NULL;
    int32_t least = 0;
    for (fake_node *n = NULL; (n = fake_child_before(directory, n, FAKE_LATEST));) {
        const zkl_child child = sim_node_child(n);
        if (!child.kind || (first && child.sequence >= least))
            continue;
        first = n;
        least = child.sequence;
    }
    return first;
}

/* Leases have no order: each of them could be held while there is room. */
static const fake_node *lease_in_vain(const sim_host *host, const char *path,
                                      const fake_node *directory) {
    const fake_node *oldest = NULL;
    if (directory->child_count > PERMITS)
        return NULL;
    for (fake_node *n = NULL; (n = fake_child_before(directory, n, FAKE_LATEST));)
        if (is_in_vain(host, path, n))
            oldest = n;
    return oldest;
}

static const fake_node *node_in_vain(const sim_host *host, int i) {
    const char *path = sim_node_directory(i);
    const fake_node *directory = fake_find(sim_tree, path, FAKE_LATEST);
    if (!directory)
        return NULL;
    if (i == SIM_LEASES)
        return lease_in_vain(host, path, directory);
    const fake_node *first = first_in(directory);
    return first && is_in_vain(host, path, first) ? first : NULL;
}

/* ---- for how long ---- */

/* The host is connected, and believes nothing of its session. */
static bool is_unsure(const sim_host *host) {
    const zkl_context *context = &host->client->context;
    return zkl_context_is_linked(context) && context->valid_until <= sim_clock(&host->machine);
}

/* The time that has ended with an answer since the last look. */
static zkl_nanos answered_time(const sim_host *host) {
    const zkl_nanos proven = sim_proven_at(&host->machine), gap = proven - slow.proven,
                    most = GAP_MOST(timeout_of(host));
    slow.proven = proven;
    return gap < most ? gap : most;
}

static void begin_front(front *f, const fake_node *node) {
    f->czxid = node ? node->czxid : 0;
    f->since = sim_now > slow.pauses_until ? sim_now : slow.pauses_until;
    f->kept = 0;
}

static void look_at_front(const sim_host *host, int i, bool unsure, zkl_nanos answered) {
    front *f = &slow.fronts[i];
    const fake_node *node = node_in_vain(host, i);
    if (!node || node->czxid != f->czxid || !unsure)
        begin_front(f, node);
    else if (sim_now > f->since)
        f->kept += answered < sim_now - f->since ? answered : sim_now - f->since;
    if (f->kept > KEPT_MOST(timeout_of(host)))
        sim_fail("%s of host %d keeps others out for %.3f s, and its answers never come in time",
                 node->path, host->machine.id, zkl_clock_seconds(f->kept));
}

void sim_slow_throttled(const sim_host *host) {
    if (!host->machine.distance)
        return;
    slow.pauses_until = sim_now + host->machine.distance + PAUSE_MOST;
    memset(slow.fronts, 0, sizeof slow.fronts);
}

/* ---- what it is told ---- */

/* A place was given up, for a reason that people are told. */
static void look_at_reason(sim_host *host) {
    const zkl_client *client = host->client;
    char why[ZKL_TROUBLE_TEXT] = "";
    SIM_CHECK(client->session.heart.latency > 2 * host->machine.distance / 100 * 99);
    SIM_CHECK(zkl_client_trouble(host->client, why, sizeof why));
    if (strncmp(why, "answers take ", strlen("answers take ")) != 0)
        sim_fail("host %d gives a place up and says '%s'", host->machine.id, why);
}

/* Has it waited for long enough? With fair = false the place has, before the caller came. Behind
 * the slow link nobody has to wait, nor while servers answer so slowly that no chain can come to be
 * (heart.c): servers that lag make three answers in a row as slow as that. */
static bool is_patient(const sim_caller *c) {
    return c->is_shared || c->host->machine.distance ||
           c->host->client->session.heart.latency > timeout_of(c->host) / 8 ||
           sim_clock(&c->host->machine) - c->joined >= timeout_of(c->host);
}

/* Some caller has lost its place, and will hear so. */
static void look_at_callers(sim_host *host) {
    bool any = false;
    for (sim_caller *c = host->callers; c; c = c->next) {
        const zkl_contender *own = c->contender;
        if (own->phase != ZKL_OVER || own->outcome != ZKL_DISCONNECTED || c->answers)
            continue;
        c->is_given_up = true;
        any |= is_patient(c);
    }
    if (!any)
        sim_fail("host %d gives a place up too soon", host->machine.id);
}

static void look_at_given_up(sim_host *host) {
    const uint64_t given_up = host->client->context.given_up;
    if (given_up > host->given_up) {
        SAY("host %d gives a place up", host->machine.id);
        if (host->machine.distance)
            look_at_reason(host);
        look_at_callers(host);
    }
    host->given_up = given_up; /* a new client's begins anew */
}

void sim_slow_judge(sim_host *host) {
    look_at_given_up(host);
    if (!host->machine.distance)
        return;
    const bool unsure = is_unsure(host);
    const zkl_nanos answered = answered_time(host);
    for (int i = 0; sim_node_directory(i); i++)
        look_at_front(host, i, unsure, answered);
}

void sim_slow_begin(void) {
    memset(&slow, 0, sizeof slow);
}
