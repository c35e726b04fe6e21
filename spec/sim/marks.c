/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include "clerk.h"
#include "ensemble.h"
#include "nodes.h"

#include "line/contender.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASKS_MOST = 4, MARKED = PLACE_SHARED, TEXT_SIZE = 24 };

typedef enum task { ASK, ASK_AND_MARK, MARK } task;

/* An ask that a script waits for. */
struct sim_ask {
    sim_ask *next;
    zkl_once *once;
    uint64_t tag, caller; /* of the caller */
    sim_place place;
    int64_t token;
    task task;
    double seconds;
    int64_t zxid; /* of the servers when it was asked */
    int64_t at;   /* likewise, in milliseconds by a clock that is right */
};

/* The mark of a place as the servers have had it, from `zxid` on. */
typedef struct state {
    int64_t zxid;
    bool is_there, is_client; /* is_client: a client has made it so, else an operator */
    char text[TEXT_SIZE];     /* its first bytes */
    int64_t mtime, at;        /* by the servers' clock, and by one that is right */
} state;

/* How often the holds with a token have written the mark, and how often they may have: each ask
 * does it once at most. */
typedef struct tally {
    sim_place place;
    int64_t token;
    unsigned written, confirmed; /* confirmed: told to be written */
    unsigned open;               /* not answered yet, or answered with "unknown" */
    bool is_loose;               /* a mark in the future was written anew */
} tally;

/* An ask that was told to have written the mark, and the state that it has written. */
typedef struct claim {
    sim_place place;
    int64_t token, zxid; /* as in the ask */
    double seconds;      /* so old the mark before it was, at least; 0: any age is right */
    size_t end, state;   /* end: the state is an earlier one */
} claim;

static struct {
    int64_t spread; /* milliseconds */
    state *states[MARKED];
    size_t state_count[MARKED];
    tally *tallies;
    size_t tally_count;
    claim *claims;
    size_t claim_count;
    void (*written)(const sim_request *request); /* is told of writes, too */
} marks;

static int64_t right_clock(void) {
    return sim_now / SIM_MS;
}

static const char *path_of(sim_place place) {
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", sim_place_path(place), ZKL_ONCE_NODE);
    return path;
}

static const char *text_of(const sim_host *host, const sim_ask *a) {
    static const char *const words[] = {"ask", "ask that marks", "mark"};
    static char text[96];
    snprintf(text, sizeof text, "host %d's %s %" PRIu64 " with token %" PRIx64, host->machine.id,
             words[a->task], a->tag, a->token);
    return text;
}

static bool is_token(const char *text) {
    return text[0] >= '1' && text[0] <= '9' && strspn(text, "0123456789") == strlen(text);
}

/* An operator has asked the mark for the lock: it stays a mark. */
static bool is_revoked(const char *text) {
    return strcmp(text, ZKL_REVOKE) == 0;
}

static bool is_mark(const char *text) {
    return is_token(text) || is_revoked(text);
}

/* ---- how often a hold writes ---- */

static tally *tally_of(sim_place place, int64_t token) {
    for (size_t i = 0; i < marks.tally_count; i++)
        if (marks.tallies[i].place == place && marks.tallies[i].token == token)
            return &marks.tallies[i];
    return NULL;
}

static tally *new_tally(sim_place place, int64_t token) {
    marks.tallies = realloc(marks.tallies, (marks.tally_count + 1) * sizeof *marks.tallies);
    SIM_CHECK(marks.tallies != NULL);
    tally *t = &marks.tallies[marks.tally_count++];
    *t = (tally){.place = place, .token = token};
    return t;
}

static void check_tally(const tally *t) {
    if (t->confirmed > t->written)
        sim_fail("the mark of %s is written %u times with %" PRIx64 ", and told to be %u times",
                 sim_place_path(t->place), t->written, t->token, t->confirmed);
    if (!t->is_loose && t->written > t->confirmed + t->open)
        sim_fail("the mark of %s is written %u times with %" PRIx64
                 ", told to be %u times, and perhaps %u times more",
                 sim_place_path(t->place), t->written, t->token, t->confirmed, t->open);
}

/* ---- what the servers have ---- */

static const state *latest(sim_place place) {
    return &marks.states[place][marks.state_count[place] - 1];
}

static void add_state(sim_place place, state s) {
    size_t *n = &marks.state_count[place];
    marks.states[place] = realloc(marks.states[place], (*n + 1) * sizeof s);
    SIM_CHECK(marks.states[place] != NULL);
    marks.states[place][(*n)++] = s;
}

/* Only the clocks of several servers make it lie in the future. */
static bool is_anew(const state *s, const state *before) {
    return marks.spread > 0 && before->is_there && strcmp(s->text, before->text) == 0;
}

/* The session has a lock's node there: with that token, unless it writes anew what is there. */
static bool is_guarded(sim_place place, const sim_session *session, int64_t token) {
    const fake_node *directory = fake_find(sim_tree, sim_place_path(place), FAKE_LATEST);
    for (fake_node *n = NULL; (n = fake_child_before(directory, n, FAKE_LATEST));)
        if (session && n->owner == sim_session_id(session) && (!token || n->czxid == token))
            return true;
    return false;
}

static void check_written(sim_place place, const state *s, const sim_session *session) {
    const state *before = latest(place);
    const int64_t token = strtoll(s->text, NULL, 10);
    const bool anew = is_anew(s, before);
    if (!s->is_there)
        sim_fail("a client deletes the mark of %s", sim_place_path(place));
    if (!is_mark(s->text) || (before->is_there && !is_mark(before->text)))
        sim_fail("a client writes '%s' over '%s', the mark of %s", s->text,
                 before->is_there ? before->text : "", sim_place_path(place));
    if (!is_guarded(place, session, anew ? 0 : token))
        sim_fail("the mark of %s is written with %" PRIx64 ", which nobody holds",
                 sim_place_path(place), token);
    if (anew && is_revoked(s->text))
        return;
    tally *t = tally_of(place, token);
    SIM_CHECK(t != NULL);
    t->written++;
    t->is_loose |= anew;
    check_tally(t);
}

/* An operator has changed a mark: a hold that does not know whether it has written it finds that it
 * has not. If the mark is gone, so does a hold whose mark others have written over since: there may
 * have been no mark before it, either. */
static void forgive(sim_place place, const state *last, bool is_gone) {
    const int64_t token = last->is_there ? strtoll(last->text, NULL, 10) : 0;
    for (size_t i = 0; i < marks.tally_count; i++) {
        tally *t = &marks.tallies[i];
        if (t->place == place && (t->token == token || (is_gone && t->open)))
            t->is_loose = true;
    }
}

static void look(sim_place place, const sim_request *r) {
    const fake_node *node = fake_find(sim_tree, path_of(place), FAKE_LATEST);
    const state *last = latest(place);
    if (node ? node->mzxid != sim_tree->zxid : !last->is_there)
        return;
    state now = {.zxid = sim_tree->zxid,
                 .is_there = node != NULL,
                 .is_client = r->from != NULL,
                 .mtime = node ? node->mtime : 0,
                 .at = right_clock()};
    snprintf(now.text, sizeof now.text, "%s", node ? node->data : "");
    SAY("servers: the mark of %s is '%s' since %" PRId64, sim_place_path(place), now.text,
        now.mtime);
    if (now.is_client)
        check_written(place, &now, r->session);
    else
        forgive(place, last, !node);
    add_state(place, now);
}

static void written(const sim_request *r) {
    if (marks.written)
        marks.written(r);
    for (int place = 0; place < MARKED; place++)
        look((sim_place)place, r);
}

/* ---- what may be told ---- */

/* May an answer rest on this state? A client's write that was done before the question is shown;
 * an operator's perhaps not, if it came after the node with which the mutex is held. */
static bool may_be_shown(const sim_ask *a, size_t i) {
    const size_t n = marks.state_count[a->place];
    if (i + 1 == n)
        return true;
    const state *next = &marks.states[a->place][i + 1];
    return next->zxid > (next->is_client ? a->zxid : a->token);
}

static bool any_shown(const sim_ask *a, bool (*fits)(const sim_ask *a, const state *s, double left),
                      double left) {
    for (size_t i = 0; i < marks.state_count[a->place]; i++)
        if (may_be_shown(a, i) && fits(a, &marks.states[a->place][i], left))
            return true;
    return false;
}

/* So many seconds were left at some moment since it was asked. */
static bool is_left(const sim_ask *a, const state *s, double left) {
    if (!s->is_there || !is_mark(s->text))
        return false;
    if (isinf(a->seconds))
        return isinf(left);
    const double now = (double)s->mtime / 1000 + a->seconds - left,
                 slack = (double)marks.spread / 1000 + 0.002;
    if (marks.spread > 0 && left == a->seconds)
        return true; /* from now on */
    return left <= a->seconds && now >= (double)a->at / 1000 - slack &&
           now <= (double)right_clock() / 1000 + slack;
}

static bool is_due(const sim_ask *a, const state *s, double left) {
    (void)left;
    return !s->is_there || (is_mark(s->text) &&
                            (double)(right_clock() + marks.spread - s->mtime) >= a->seconds * 1000);
}

static bool is_wrong_kind(const sim_ask *a, const state *s, double left) {
    (void)a;
    (void)left;
    return s->is_there && !is_mark(s->text);
}

/* Has it written that state, after one that was old enough by the clock that the servers had? */
static bool is_claimable(const claim *c, size_t i) {
    const state *s = &marks.states[c->place][i], *before = s - 1;
    const double slack = 2 * (double)marks.spread;
    return s->zxid > c->zxid && s->is_client && strtoll(s->text, NULL, 10) == c->token &&
           (!before->is_there || (double)(s->mtime - before->mtime) >= c->seconds * 1000 - slack);
}

static claim *claim_of(const claim *than, size_t i) {
    for (size_t k = 0; k < marks.claim_count; k++)
        if (&marks.claims[k] != than && marks.claims[k].place == than->place &&
            marks.claims[k].state == i)
            return &marks.claims[k];
    return NULL;
}

/* No two have written the same state. Another claim may go to another state for it; `tried` has
 * those that were tried. */
static bool settle_claim(claim *c, bool *tried) {
    for (size_t i = 1; i < c->end; i++) {
        if (tried[i] || !is_claimable(c, i))
            continue;
        tried[i] = true;
        claim *other = claim_of(c, i);
        if (other && !settle_claim(other, tried))
            continue;
        c->state = i;
        return true;
    }
    return false;
}

static bool has_written(const sim_ask *a) {
    const size_t states = marks.state_count[a->place], n = marks.claim_count;
    marks.claims = realloc(marks.claims, (n + 1) * sizeof *marks.claims);
    bool *tried = calloc(states, sizeof *tried);
    SIM_CHECK(marks.claims != NULL && tried != NULL);
    marks.claims[marks.claim_count++] = (claim){.place = a->place,
                                                .token = a->token,
                                                .zxid = a->zxid,
                                                .seconds = a->task == MARK ? 0 : a->seconds,
                                                .end = states};
    const bool found = settle_claim(&marks.claims[n], tried);
    free(tried);
    return found;
}

static void check_good(const sim_host *host, const sim_ask *a, double left) {
    if (left > 0 && !any_shown(a, is_left, left))
        sim_fail("%s: %g of %g s are left, and they are not", text_of(host, a), left, a->seconds);
    if (left == 0 && a->task == ASK && !any_shown(a, is_due, 0))
        sim_fail("%s: it is due, and %g s have not passed", text_of(host, a), a->seconds);
    if (left == 0 && a->task != ASK && !has_written(a))
        sim_fail("%s: another call wrote the mark, or another run began less than %g s before",
                 text_of(host, a), a->seconds);
}

/* Is its node there, and does its client know of no loss? */
static bool still_holds(const sim_ask *a, const sim_caller *c) {
    const fake_node *directory = fake_find(sim_tree, sim_place_path(a->place), FAKE_LATEST);
    if (!c || c->is_shared || c->contender->phase != ZKL_HELD)
        return false;
    for (fake_node *n = NULL; directory && (n = fake_child_before(directory, n, FAKE_LATEST));)
        if (n->czxid == a->token)
            return true;
    return false;
}

static void check_status(const sim_host *host, const sim_ask *a, zkl_status status) {
    if (sim_host_may_hear(status))
        return;
    switch ((int)status) {
    case ZKL_OK:
    case ZKL_LOST:
        return;
    case ZKL_UNKNOWN: /* nothing is written without a mark, but one that lies in the future */
        if (a->task != ASK || marks.spread > 0)
            return;
        break;
    case ZKL_WRONG_KIND:
        if (any_shown(a, is_wrong_kind, 0))
            return;
        break;
    default:
        break;
    }
    sim_fail("%s failed with '%s'", text_of(host, a), zkl_status_text(status));
}

/* "lost" says of an ask that marks only that what is due must not be done. */
static bool may_have_written(const sim_ask *a, zkl_status status) {
    return a->task != ASK &&
           (status == ZKL_UNKNOWN || (status == ZKL_LOST && a->task == ASK_AND_MARK));
}

static void check_answer(const sim_host *host, const sim_ask *a, const sim_caller *c,
                         zkl_status status) {
    const double left = zkl_once_left(a->once);
    check_status(host, a, status);
    if (status == ZKL_LOST && still_holds(a, c))
        sim_fail("%s: it is lost, and it is held", text_of(host, a));
    tally *t = tally_of(a->place, a->token);
    if (status == ZKL_OK)
        check_good(host, a, left);
    if (status == ZKL_OK && left == 0 && a->task != MARK && c && c->losses)
        sim_fail("%s: it is due, and the lock was lost before", text_of(host, a));
    if (a->task != ASK && !may_have_written(a, status))
        t->open--;
    if (a->task != ASK && status == ZKL_OK && left == 0)
        t->confirmed++;
    check_tally(t);
}

/* ---- scripts ---- */

static sim_caller *caller_of(const sim_host *host, uint64_t tag) {
    sim_caller *c = host->callers;
    while (c && c->tag != tag)
        c = c->next;
    return c;
}

static unsigned count_asks(const sim_host *host) {
    unsigned n = 0;
    for (const sim_ask *a = host->asks; a; a = a->next)
        n++;
    return n;
}

static void drop(sim_host *host, sim_ask *a) {
    sim_ask **p = &host->asks;
    while (*p != a)
        p = &(*p)->next;
    *p = a->next;
    zkl_once_drop(a->once);
    free(a);
}

static double some_seconds(void) {
    static const double all[] = {0.125, 0.25, 0.5, 1, 2, 5, 20};
    return sim_once_in(10) ? INFINITY : all[sim_any(sizeof all / sizeof *all)];
}

static zkl_nanos some_deadline(const sim_host *host) {
    if (sim_once_in(3))
        return ZKL_NEVER;
    return sim_clock(&host->machine) + sim_some(sim_once_in(2) ? ZKL_SECOND / 4 : 20 * ZKL_SECOND);
}

static void ask(sim_caller *c, sim_place place) {
    sim_host *host = c->host;
    sim_ask *a = sim_new(sizeof *a);
    *a = (sim_ask){.next = host->asks,
                   .tag = ++host->tags,
                   .caller = c->tag,
                   .place = place,
                   .token = c->token,
                   .task = (task)sim_any(3),
                   .seconds = some_seconds(),
                   .zxid = sim_tree->zxid,
                   .at = right_clock()};
    tally *t = tally_of(place, c->token);
    if (!t)
        t = new_tally(place, c->token);
    t->open += a->task != ASK;
    SAY("%s: %g s", text_of(host, a), a->seconds);
    const zkl_nanos deadline = some_deadline(host);
    a->once = a->task == MARK ? zkl_once_mark(c->contender, a->tag, deadline)
                              : zkl_once_ask(c->contender, a->seconds, a->task == ASK_AND_MARK,
                                             a->tag, deadline);
    SIM_CHECK(a->once != NULL);
    host->asks = a;
}

void sim_marks_held(sim_caller *c) {
    sim_host *host = c->host;
    if (host->asks && sim_once_in(8)) {
        SAY("host %d interrupts its %s", host->machine.id, text_of(host, host->asks));
        drop(host, host->asks);
    }
    if (c->kind != ZKL_KIND_LOCK || c->is_whole || count_asks(host) >= ASKS_MOST)
        return;
    for (int place = 0; place < MARKED; place++)
        if (c->places == UINT64_C(1) << place)
            ask(c, (sim_place)place);
    sim_clerk_trouble(c);
}

bool sim_marks_hear(sim_host *host, const zkl_event *event) {
    sim_ask *a = host->asks;
    while (a && a->tag != event->tag)
        a = a->next;
    if (!a || event->kind != ZKL_EVENT_ANSWER)
        return false;
    SAY("host %d hears: %s: %s, %g s left", host->machine.id, text_of(host, a),
        event->status == ZKL_OK ? "good" : zkl_status_text(event->status), zkl_once_left(a->once));
    sim_caller *c = caller_of(host, a->caller);
    check_answer(host, a, c, event->status);
    drop(host, a);
    return true;
}

void sim_marks_close(sim_host *host) {
    while (host->asks)
        drop(host, host->asks);
}

bool sim_marks_are_answered(const sim_host *host) {
    return !host->asks;
}

/* ---- life ---- */

void sim_marks_begin(zkl_nanos spread) {
    memset(&marks, 0, sizeof marks);
    marks.spread = spread / SIM_MS;
    sim_ensemble_set_clocks(spread);
    marks.written = sim_written;
    sim_written = written;
    for (int place = 0; place < MARKED; place++)
        add_state((sim_place)place, (state){.is_client = true});
}

void sim_marks_deed(void) {
    if (marks.spread > 0 && sim_once_in(40))
        sim_ensemble_set_clocks(marks.spread * SIM_MS);
}

void sim_marks_end(void) {
    for (int place = 0; place < MARKED; place++) {
        const fake_node *directory =
            fake_find(sim_tree, sim_place_path((sim_place)place), FAKE_LATEST);
        for (fake_node *n = NULL; directory && (n = fake_child_before(directory, n, FAKE_LATEST));)
            if (strcmp(fake_name(n), ZKL_ONCE_NODE) != 0)
                sim_fail("%s is left behind", n->path);
        free(marks.states[place]);
    }
    free(marks.tallies);
    free(marks.claims);
}
