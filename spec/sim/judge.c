/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include "ensemble.h"
#include "journal.h"
#include "ledger.h"
#include "library.h"
#include "lines.h"
#include "losses.h"
#include "nodes.h"
#include "recipe/verdict.h"
#include "shared/node_state.h"
#include "slow.h"

#include "client/client_state.h"

#include <string.h>

enum { ROBBED = 512 };

static struct {
    sim_host *hosts;
    int count;
    int64_t robbed[ROBBED]; /* czxids of nodes that somebody else has deleted */
    size_t robbed_count;
    int64_t exclusive[PLACES_MOST], any[PLACES_MOST]; /* the largest tokens so far */
} judge;

/* ---- who is sure to hold ---- */

static bool is_forced(const sim_host *host) {
    const int64_t id = host->client->context.session;
    const sim_session *session = id ? sim_session_find(id) : NULL;
    return session && sim_session_is_forced(session);
}

/* Not covered: those whose session an operator ends. */
static bool is_sure(const sim_caller *c) {
    return c->host->client && !is_forced(c->host) && c->contender->phase == ZKL_HELD &&
           zkl_contender_valid_until(c->contender) > sim_clock(&c->host->machine);
}

static bool was_robbed(int64_t czxid) {
    for (size_t i = 0; i < ROBBED; i++)
        if (judge.robbed[i] == czxid)
            return true;
    return false;
}

static const char *text_of(const sim_caller *c) {
    static char text[2][96];
    static int turn;
    char *t = text[turn ^= 1];
    snprintf(t, sizeof *text, "host %d's caller %llu with token %llx", c->host->machine.id,
             (unsigned long long)c->tag, (unsigned long long)c->contender->token);
    return t;
}

/* ---- nodes ---- */

/* The contender whose node it holds with: its own, or that of its shared node, which has a
 * borrowed one after a write has gone on as a read. */
static const zkl_contender *behind(const sim_caller *c) {
    const zkl_shared_node *shared = c->is_shared ? zkl_sharer_of(c->contender)->shared : NULL;
    return shared && shared->contender ? shared->contender : c->contender;
}

/* Its node at that path, by who made it when; NULL: it is not there. */
static const fake_node *node_of(const sim_caller *c, const char *path) {
    const fake_node *directory = fake_find(sim_tree, path, FAKE_LATEST);
    const zkl_contender *own = behind(c);
    for (fake_node *n = NULL; directory && (n = fake_child_before(directory, n, FAKE_LATEST));)
        if (own->name && !c->is_whole
                ? strcmp(own->name, fake_name(n)) == 0
                : n->czxid == own->token && n->owner == c->host->client->context.session)
            return n;
    return NULL;
}

/* With a number that the servers would not have given: it may come before one that holds, too late
 * to stop it. A reader's that stands under a write has the write's. */
static bool came_too_late(const fake_node *other, const zkl_child *child, const fake_node *own) {
    return other->czxid > own->czxid && (child->sequence < 0 || other->mode == FAKE_EPHEMERAL);
}

/* On its way out: its delete goes before whatever the next one of the same client asks. */
static bool is_leaving(const sim_host *host, const char *path, const fake_node *node) {
    const zkl_contender *c = sim_node_contender(host, path, node);
    return c && (c->phase == ZKL_OVER || c->node > ZKL_NODE_THERE ||
                 (node->mode == FAKE_EPHEMERAL && c->phase != ZKL_HELD));
}

static void check_first(const sim_caller *c, const char *path, const fake_node *own) {
    const fake_node *directory = fake_find(sim_tree, path, FAKE_LATEST);
    const zkl_child mine = sim_node_child(own);
    for (fake_node *n = NULL; (n = fake_child_before(directory, n, FAKE_LATEST));) {
        const zkl_child other = sim_node_child(n);
        if (!other.kind || other.sequence >= mine.sequence ||
            !zkl_verdict_blocks(&other, mine.kind) || came_too_late(n, &other, own))
            continue;
        const sim_host *host = sim_node_host(n);
        if (host == c->host && is_leaving(host, path, n))
            continue;
        sim_fail("%s holds with %s, and %s is before it", text_of(c), own->path, fake_name(n));
    }
}

/* ---- exclusion, as the hosts see it ---- */

static bool may_share(const sim_caller *a, const sim_caller *b) {
    if (a->kind == ZKL_KIND_READ && b->kind == ZKL_KIND_READ)
        return true;
    return a->host == b->host && (a->is_under || b->is_under) &&
           a->contender->token == b->contender->token;
}

static bool has_node(const sim_caller *c, uint64_t places) {
    for (int p = 0; p < sim_places(); p++)
        if (places >> p & 1 && node_of(c, sim_place_path((sim_place)p)))
            return true;
    return false;
}

static void check_alone(const sim_caller *c) {
    for (int i = 0; i < judge.count; i++)
        for (const sim_caller *o = judge.hosts[i].callers; o; o = o->next) {
            if (!(o->places & c->places) || !is_sure(o))
                continue;
            if (o != c && !may_share(c, o) && has_node(o, o->places & c->places))
                sim_fail("%s holds, and so does %s", text_of(c), text_of(o));
        }
}

/* They come only when there is room. A forger comes at any time: its node, which has a name as long
 * as ours, is not inside. */
static unsigned strangers_inside(const char *path) {
    const fake_node *directory = fake_find(sim_tree, path, FAKE_LATEST);
    unsigned n = 0;
    for (fake_node *c = NULL; directory && (c = fake_child_before(directory, c, FAKE_LATEST));)
        n += c->owner && !sim_node_host(c) &&
             strlen(fake_name(c)) != zkl_znode_length(ZKL_KIND_LEASE);
    return n;
}

static void check_leases(const sim_caller *c) {
    char path[64];
    snprintf(path, sizeof path, "%s/leases", sim_place_path(PLACE_POOL));
    unsigned inside = strangers_inside(path);
    for (int i = 0; i < judge.count; i++) {
        const sim_host *host = &judge.hosts[i];
        const zkl_line *line = host->client ? zkl_lines_find(&host->client->lines, path) : NULL;
        if (!line || host->client->context.valid_until <= sim_clock(&host->machine))
            continue;
        ZKL_EACH (const zkl_contender, part, &line->members, member) {
            char node[160];
            if (part->phase != ZKL_HELD || !part->name)
                continue;
            snprintf(node, sizeof node, "%s/%s", path, part->name);
            inside += fake_find(sim_tree, node, FAKE_LATEST) != NULL;
        }
    }
    if (inside > PERMITS)
        sim_fail("%s is inside, and with it %u leases of %d", text_of(c), inside, PERMITS);
}

static void check_token(const sim_caller *c, int place) {
    const int64_t token = c->contender->token;
    if (c->is_under || c->kind == ZKL_KIND_LEASE)
        return;
    int64_t *above = c->kind == ZKL_KIND_READ ? &judge.exclusive[place] : &judge.any[place];
    if (token < *above || (token == *above && !c->is_shared))
        sim_fail("%s holds after one with %llx", text_of(c), (unsigned long long)*above);
    if (judge.any[place] < token)
        judge.any[place] = token;
    if (c->kind != ZKL_KIND_READ)
        judge.exclusive[place] = token;
}

static void check_hold(sim_caller *c) {
    c->is_judged = true;
    if (!is_sure(c))
        return;
    if (c->kind == ZKL_KIND_LEASE) {
        check_leases(c);
        return;
    }
    bool is_robbed = false;
    for (int p = 0; p < sim_places(); p++) {
        if (!(c->places >> p & 1))
            continue;
        const char *path = sim_place_path((sim_place)p);
        const fake_node *node = node_of(c, path);
        const bool robbed = !node && (was_robbed(c->contender->token) || behind(c)->under.token);
        if (!node && !robbed)
            sim_fail("%s holds without a node at %s", text_of(c), path);
        is_robbed |= robbed;
        if (node)
            check_first(c, path, node);
        if (node)
            check_token(c, p);
    }
    if (!is_robbed)
        check_alone(c);
    sim_lines_granted(c);
}

/* Of one that the host believes in. */
static bool has_leases(const sim_caller *c) {
    const zkl_contender *part;
    for (size_t i = 0; (part = c->contender->call->part(c->contender, i)); i++) {
        char node[160];
        snprintf(node, sizeof node, "%s/%s", part->line->path, part->name);
        if (!fake_find(sim_tree, node, FAKE_LATEST) && !was_robbed(part->token))
            return false;
    }
    return true;
}

bool sim_judge_is_held(const sim_caller *c) {
    if (c->contender->phase != ZKL_HELD || is_forced(c->host) || was_robbed(c->contender->token) ||
        behind(c)->under.token)
        return true;
    if (c->kind == ZKL_KIND_LEASE)
        return has_leases(c);
    for (int p = 0; p < sim_places(); p++)
        if (c->places >> p & 1 && !node_of(c, sim_place_path((sim_place)p)))
            return false;
    return true;
}

/* ---- what became of nodes ---- */

/* In which directory a place has nodes: a semaphore has two. */
static uint64_t place_bit(int directory) {
    return UINT64_C(1) << (directory < SIM_LEASES    ? directory
                           : directory == SIM_LEASES ? PLACE_POOL
                                                     : directory - 1);
}

/* A lock's node that a host's session has and its lines do not, at those places, with that token;
 * 0: any. NULL: there is none. */
static const fake_node *forgotten_node(const sim_host *host, uint64_t places, int64_t token) {
    const int64_t session = host->client->context.session;
    const char *path;
    for (int i = 0; session && (path = sim_node_directory(i)); i++) {
        if (!(places & place_bit(i)))
            continue;
        const fake_node *above = fake_find(sim_tree, path, FAKE_LATEST);
        for (fake_node *n = NULL; above && (n = fake_child_before(above, n, FAKE_LATEST));)
            if (n->owner == session && (!token || n->czxid == token) &&
                !sim_node_contender(host, path, n))
                return n;
    }
    return NULL;
}

/* A caller that is told of its loss has no node any more, or it is about to delete it:
 * nobody else ever does. Of several nodes one that is gone is enough. */
static void check_losses(const sim_host *host) {
    for (const sim_caller *c = host->callers; c; c = c->next) {
        const zkl_contender *own = c->contender;
        if (own->phase != ZKL_OVER || own->outcome != ZKL_LOST || !own->token || c->is_under ||
            c->is_whole || c->kind == ZKL_KIND_LEASE)
            continue;
        const fake_node *node = forgotten_node(host, c->places, own->token);
        if (node)
            sim_fail("%s has lost it, and %s is there", text_of(c), node->path);
    }
}

bool sim_judge_none_left(void) {
    for (int i = 0; i < judge.count; i++) {
        const sim_host *host = &judge.hosts[i];
        if (host->client && forgotten_node(host, UINT64_MAX, 0))
            return false;
    }
    return true;
}

/* ---- trust ---- */

static void check_validity(sim_host *host) {
    const zkl_context *context = &host->client->context;
    if (context->valid_until <= sim_clock(&host->machine))
        return;
    if (!host->session || sim_session_id(host->session) != context->session)
        host->session = context->session ? sim_session_find(context->session) : NULL;
    if (host->session && sim_session_is_forced(host->session))
        return;
    if (!host->session || !sim_session_is_open(host->session))
        sim_fail("host %d is sure of session %llx for another %.3f s, and it has ended",
                 host->machine.id, (unsigned long long)context->session,
                 zkl_clock_seconds(context->valid_until - sim_clock(&host->machine)));
}

static void on_end(const sim_session *session) {
    sim_host *host = sim_session_owner(session);
    if (host && sim_session_is_forced(session))
        sim_journal_ended(host, sim_session_forced_at(session));
    if (host && host->client && host->client->context.session == sim_session_id(session) &&
        !host->client->closing)
        check_validity(host);
}

/* A read that was taken under a write has the write's token, not its node's. */
static void tell_taken(const sim_host *host, const fake_node *node) {
    sim_journal_taken(host, node->czxid);
    for (int p = 0; p < sim_places(); p++) {
        const zkl_contender *c = sim_node_contender(host, sim_place_path((sim_place)p), node);
        if (c && c->under.token)
            sim_journal_taken(host, c->under.token);
    }
}

static void on_deleted(const fake_node *node, const sim_request *by) {
    if (!node->owner || by->op == OP_CLOSE_SESSION)
        return;
    sim_host *host = sim_node_host(node);
    if (!by->from) {
        judge.robbed[judge.robbed_count++ % ROBBED] = node->czxid;
        sim_losses_robbed(node->path);
        if (host)
            tell_taken(host, node);
        return;
    }
    if (!host || !host->client || host->client->context.session != node->owner)
        return;
    for (int p = 0; p < sim_places(); p++) {
        const zkl_contender *c = sim_node_contender(host, sim_place_path((sim_place)p), node);
        if (c && c->phase == ZKL_HELD && c->token == node->czxid)
            sim_fail("%s is deleted, and host %d holds with it", node->path, host->machine.id);
    }
}

/* ---- who goes on ---- */

/* Whatever a session waits for may never come: then a timer, or the worker, goes on. */
static bool goes_on(const zkl_client *client) {
    const zkl_session *session = &client->session;
    const zkl_heart *heart = &session->heart;
    const bool tended = heart->beating || heart->timer.at;
    switch (session->stage) {
    case ZKL_STAGE_OPENING:
        return sim_is_at_work(&client->worker) && !session->link;
    case ZKL_STAGE_RESTING:
        return session->reopen.at && !session->link;
    case ZKL_STAGE_SEEKING:
        return (session->look.at || sim_is_at_work(&client->worker)) && session->link;
    case ZKL_STAGE_PROVING:
        return tended && heart->linked;
    case ZKL_STAGE_LINKED:
        return tended && client->context.port == zkl_link_port(session->link);
    case ZKL_STAGE_ENDED:
        return false; /* the client is closing then */
    }
    return false;
}

static void check_goes_on(const sim_host *host) {
    const zkl_client *client = host->client;
    if (!goes_on(client))
        sim_fail("host %d's session waits for what may never come: stage %d", host->machine.id,
                 client->session.stage);
    if (client->context.timers.first && !sim_is_to_wake(&client->timer_thread))
        sim_fail("host %d has a timer for which nobody wakes up", host->machine.id);
}

/* Otherwise a packet with all of them may be more than the servers take. Without a server another
 * handle may be about to come. The two are compared one by one: either may count a watch before the
 * library has it, which would hide one that the other forgets. */
static void check_watches(const sim_host *host) {
    const zkl_client *client = host->client;
    if (!zkl_context_is_linked(&client->context) || host->leaves_watches)
        return;
    const void *link = client->session.link;
    const zkl_watch_budget *locks = &client->lines.common.watch_budget;
    const size_t viewed = sim_watched_below(link, sim_note_path(NOTE_ROOT)),
                 watched = sim_watched_bytes(link) - viewed,
                 counted = client->nodes.watch_budget.bytes + locks->left;
    if (viewed > counted)
        sim_fail("host %d has watches of %zu bytes for its views, and counts %zu", host->machine.id,
                 viewed, counted);
    if (watched > locks->bytes)
        sim_fail("host %d has watches of %zu bytes for its locks, and counts %zu", host->machine.id,
                 watched, locks->bytes);
}

/* Whatever the servers have counts, also what the client has only asked for. */
static void check_nodes(const sim_host *host) {
    const zkl_client *client = host->client;
    const int64_t id = client->context.session;
    const sim_session *session = id ? sim_session_find(id) : NULL;
    const zkl_node_budget *budget = &client->lines.common.node_budget;
    if (session && sim_session_is_open(session) && sim_session_bytes(session) > budget->bytes)
        sim_fail("host %d has ephemeral nodes of %zu bytes, and counts %zu", host->machine.id,
                 sim_session_bytes(session), budget->bytes);
}

void sim_judge(sim_host *host) {
    if (!host->client || host->client->closing)
        return;
    host->leaves_watches |= !zkl_context_knows(&host->client->context, ZKL_EXTRA_UNWATCH);
    check_goes_on(host);
    check_watches(host);
    check_nodes(host);
    sim_slow_judge(host);
    sim_losses_judge(host);
    const zkl_stats *count = &host->client->context.counters;
    check_validity(host);
    if (count->lost != host->lost) {
        host->lost = count->lost;
        check_losses(host);
    }
    if (count->acquired == host->looked_at)
        return;
    host->looked_at = count->acquired;
    for (sim_caller *c = host->callers; c; c = c->next)
        if (!c->is_judged && c->contender && c->contender->phase == ZKL_HELD)
            check_hold(c);
}

void sim_judge_end(void) {
    for (size_t i = 0; i < sim_tree->count; i++) {
        const fake_node *node = sim_tree->nodes[i];
        if (node->owner && !node->dzxid)
            sim_fail("%s is left behind", node->path);
    }
    SIM_CHECK(sim_handles() == 0);
    SIM_CHECK(sim_threads() == 0);
    SIM_CHECK(sim_sessions_open() == 0);
    SIM_CHECK(sim_sockets() == 0);
    SIM_CHECK(sim_watches() == 0);
    if (sim_pieces())
        sim_fail("%zu pieces of memory are left", sim_pieces());
}

/* With CALLERS_MOST callers. A client that repeats at once what was refused for now is refused a
 * thousand times a second. */
enum { THROTTLED_MOST = 400 };

static void on_throttled(const sim_session *session) {
    sim_host *host = sim_session_owner(session);
    if (!host)
        return;
    sim_slow_throttled(host);
    if (host->throttled_since + ZKL_SECOND < sim_now) {
        host->throttled_since = sim_now;
        host->throttled = 0;
    }
    const unsigned most = THROTTLED_MOST * host->callers_most / CALLERS_MOST;
    if (++host->throttled > most)
        sim_fail("host %d is refused for now more than %u times in a second", host->machine.id,
                 most);
}

void sim_judge_begin(sim_host *hosts, int count) {
    memset(&judge, 0, sizeof judge);
    judge.hosts = hosts;
    judge.count = count;
    sim_slow_begin();
    sim_losses_begin();
    sim_session_ended = on_end;
    sim_deleted = on_deleted;
    sim_throttled = on_throttled;
}
