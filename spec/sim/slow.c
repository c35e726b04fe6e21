#include "slow.h"

#include "nodes.h"
#include "queue/place_state.h"

#include "client/client_state.h"

#include <string.h>

/* Session timeouts. The client gives a place up after one of connected time that ended with
 * answers; it hears of that time with answers alone, and its delete has to arrive. */
#define TIMEOUTS_MOST 3

/* A node of the host keeps others out, and nobody holds with it. */
typedef struct front {
    int64_t czxid; /* 0: there is no such node */
    zkl_nanos since;
} front;

static struct {
    front fronts[SIM_DIRECTORIES];
    zkl_nanos looked;
    uint64_t given_up;
} slow;

/* ---- the node that keeps others out ---- */

/* A place (fair = false) has its node, and its callers still wait for trust. */
static bool is_place_in_vain(const sim_host *host, const zkl_contender *node) {
    for (const sim_caller *c = host->callers; c; c = c->next) {
        if (!c->is_shared || c->answers || c->contender->phase != ZKL_WAITING)
            continue;
        const zkl_place *place = zkl_guest_of(c->contender)->place;
        if (place && place->node == node)
            return !zkl_place_holder(place);
    }
    return false;
}

static bool is_in_vain(const sim_host *host, const char *path, const fake_node *node) {
    const zkl_contender *c =
        sim_node_host(node) == host ? sim_node_contender(host, path, node) : NULL;
    return c && (c->phase == ZKL_WAITING || is_place_in_vain(host, c));
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
    if (i == SIM_DIRECTORIES - 1)
        return lease_in_vain(host, path, directory);
    const fake_node *first = first_in(directory);
    return first && is_in_vain(host, path, first) ? first : NULL;
}

/* ---- for how long ---- */

/* Only time counts in which it is connected, gets answers and believes nothing of its session. */
static bool is_unsure(const sim_host *host) {
    const zkl_context *context = &host->client->context;
    return context->port && sim_now - slow.looked < context->patience &&
           context->trusted_until <= sim_clock(&host->machine);
}

static void look_at_front(const sim_host *host, int i, bool unsure) {
    front *f = &slow.fronts[i];
    const fake_node *node = node_in_vain(host, i);
    if (!node || node->czxid != f->czxid || !unsure)
        f->since = sim_now;
    f->czxid = node ? node->czxid : 0;
    if (sim_now - f->since > TIMEOUTS_MOST * host->client->context.patience)
        sim_fail("%s of host %d keeps others out for %.3f s, and its answers never come in time",
                 node->path, host->machine.id, zkl_clock_seconds(sim_now - f->since));
}

void sim_slow_throttled(const sim_host *host) {
    if (host->machine.distance)
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

/* Has it waited for long enough? With fair = false the place has, before the caller came. */
static bool is_patient(const sim_caller *c) {
    return c->is_shared ||
           sim_clock(&c->host->machine) - c->joined >= c->contender->context->patience;
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
    SIM_CHECK(any);
}

static void look_at_given_up(sim_host *host) {
    const uint64_t given_up = host->client->context.given_up;
    if (given_up > slow.given_up) {
        SAY("host %d gives a place up", host->machine.id);
        look_at_reason(host);
        look_at_callers(host);
    }
    slow.given_up = given_up; /* a new client's begins anew */
}

void sim_slow_judge(sim_host *host) {
    if (!host->machine.distance)
        return;
    look_at_given_up(host);
    const bool unsure = is_unsure(host);
    for (int i = 0; i < SIM_DIRECTORIES; i++)
        look_at_front(host, i, unsure);
    slow.looked = sim_now;
}

void sim_slow_begin(void) {
    memset(&slow, 0, sizeof slow);
}
