/* SPDX-License-Identifier: MIT */
#include "losses.h"

#include "library.h"
#include "shared/node_state.h"
#include "tree.h"

#include "client/client_state.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };

/* A node that a client has asked to have deleted, or that an operator has deleted. */
struct sim_loss {
    sim_loss *next;
    char *path;
    unsigned deletes; /* how many may have been carried out, as far as the client knows */
    bool is_unknown;  /* one was cut off */
    bool is_refused;  /* one was refused for another reason: nothing is concluded */
    bool is_robbed;
};

static struct {
    sim_loss *buckets[BUCKETS];
    void (*submitted)(const sim_request *request);
} losses;

static sim_loss *loss_of(const char *path) {
    unsigned hash = 5381;
    for (const char *p = path; *p; p++)
        hash = hash * 33 + (unsigned char)*p;
    sim_loss **bucket = &losses.buckets[hash % BUCKETS], *l = *bucket;
    while (l && strcmp(l->path, path) != 0)
        l = l->next;
    if (l)
        return l;
    l = sim_new(sizeof *l);
    *l = (sim_loss){.next = *bucket, .path = sim_copy(path)};
    return *bucket = l;
}

/* ---- deletes ---- */

static void sent(const sim_part *p) {
    if (p->op == OP_DELETE && p->path)
        loss_of(p->path)->deletes++;
}

static void submitted(const sim_request *r) {
    losses.submitted(r);
    sent(&r->part);
    for (size_t i = 0; i < r->part_count; i++)
        sent(&r->parts[i]);
}

static bool is_cut_off(int rc) {
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZCLOSING;
}

static void answered(const sim_part *p, int rc) {
    sim_loss *l = p->op == OP_DELETE && p->path ? loss_of(p->path) : NULL;
    if (!l || rc == ZOK)
        return;
    if (is_cut_off(rc))
        l->is_unknown = true;
    else if (rc == ZTHROTTLEDOP)
        l->deletes--;
    else if (rc != ZNONODE)
        l->is_refused = true;
}

/* A transaction that has failed did nothing; the operation at which it failed is answered. */
static void told(const sim_request *r) {
    answered(&r->part, r->rc);
    for (size_t i = 0; r->op == OP_MULTI && r->rc != ZOK && i < r->part_count; i++) {
        const sim_part *p = &r->parts[i];
        if (is_cut_off(r->rc))
            answered(p, r->rc);
        else if (r->rc == r->part.rc && p->rc != ZOK && p->rc != ZRUNTIMEINCONSISTENCY)
            answered(p, p->rc);
        else if (p->op == OP_DELETE && p->path)
            loss_of(p->path)->deletes--;
    }
}

/* ---- releases ---- */

void sim_losses_robbed(const char *path) {
    loss_of(path)->is_robbed = true;
}

/* To ask a caller on a shared node for its part would end that node. */
static const zkl_contender *part_of(const sim_caller *c, size_t i) {
    const zkl_shared_node *shared = c->is_shared ? zkl_sharer_of(c->contender)->shared : NULL;
    if (!c->is_shared)
        return c->contender->call->part(c->contender, i);
    return shared && i == 0 ? shared->contender : NULL;
}

/* An operator does so just now, to some; the watch tells later. */
static void rob(const sim_caller *c, const char *path) {
    if (!c->host->is_robbed || c->tag % 3)
        return;
    SAY("operator: deletes %s", path);
    sim_do(OP_DELETE, path, NULL, FAKE_PERSISTENT, NULL);
}

void sim_losses_release(sim_caller *c) {
    const zkl_contender *part;
    c->session = c->host->client->context.session;
    for (size_t i = 0; (part = part_of(c, i)); i++) {
        char path[160];
        if (!part->line || !part->name)
            continue;
        snprintf(path, sizeof path, "%s/%s", part->line->path, part->name);
        rob(c, path);
        sim_loss *l = loss_of(path);
        if (l->is_robbed && !fake_find(sim_tree, path, FAKE_LATEST))
            c->robbed = l;
    }
}

/* A shared node may stay after the release: then no delete shows the loss. Otherwise the delete
 * goes in the same step. */
static void check(const sim_caller *c) {
    const sim_loss *l = c->robbed;
    if (!l || l->is_refused || c->host->client->context.session != c->session)
        return;
    const bool is_only = l->deletes == 1 && !l->is_unknown;
    if (is_only || (l->deletes == 0 && !c->is_shared))
        sim_fail("host %d's caller %llu held with %s, which an operator has deleted, and hears of "
                 "no loss",
                 c->host->machine.id, (unsigned long long)c->tag, l->path);
}

void sim_losses_judge(const sim_host *host) {
    for (sim_caller *c = host->callers; c; c = c->next) {
        if (!c->is_released || !c->is_doubtful || c->is_concluded || c->contender->end.doubtful)
            continue;
        c->is_concluded = true;
        if (c->contender->outcome == ZKL_OK)
            check(c);
    }
}

/* ---- life ---- */

void sim_losses_begin(void) {
    memset(&losses, 0, sizeof losses);
    losses.submitted = sim_submitted;
    sim_submitted = submitted;
    sim_told = told;
}

void sim_losses_end(void) {
    sim_submitted = losses.submitted;
    sim_told = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (sim_loss *l; (l = losses.buckets[i]);) {
            losses.buckets[i] = l->next;
            free(l->path);
            free(l);
        }
}
