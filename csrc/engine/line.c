#include "line.h"

#include "ask.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* A hold shorter than this never pays for a watch on its own node. */
#define WATCH_AFTER (ZKL_SECOND / 20)
/* All watches go out in one packet on reconnect, and servers refuse one of more than 1 MB. Who comes beyond that has its
 * watch armed when its turn comes, for a round trip. */
#define OWN_WATCHES_MOST 2000
#define PATIENCE_MOST (30 * ZKL_SECOND)
/* Parents that vanish as often as they are made: somebody else deletes them on purpose. */
#define ROUNDS_MOST 50

static void contender_answered(zkl_subject *, const zkl_return *, const zkl_reply *);
static void line_answered(zkl_subject *, const zkl_return *, const zkl_reply *);

/* ---- members ---- */

/* Blockers vanish and never appear, with one exception: a writer that takes read leaves a node as old as its own. Could
 * this child have, without our having seen it? */
static bool may_have_read(zkl_line *line, const zkl_child *child) {
    if (child->kind != ZKL_KIND_WRITE)
        return false;
    if (!child->mine)
        return true;
    for (const zkl_contender *c = line->first; c; c = c->next)
        if (c->borrowed && c->sequence == child->sequence &&
            (!c->name || zkl_snapshot_find(&line->snapshot, c->name) == ZKL_NOT_FOUND))
            return true;
    return false;
}

/* The child is gone, or its delete is on the wire: whoever waited for it is looked at again. */
static void child_gone(zkl_line *line, const char *name) {
    const size_t index = name ? zkl_snapshot_find(&line->snapshot, name) : ZKL_NOT_FOUND;
    if (index == ZKL_NOT_FOUND)
        return;
    const int32_t sequence = line->snapshot.children[index].sequence;
    const bool lease = line->snapshot.children[index].kind == ZKL_KIND_LEASE;
    line->doubtful |= may_have_read(line, &line->snapshot.children[index]);
    zkl_snapshot_remove(&line->snapshot, index);
    for (zkl_contender *c = line->first; c; c = c->next) {
        const bool waited = lease || (c->blocked && c->blocker == sequence);
        if (c->phase != ZKL_WAITING || !waited)
            continue;
        c->blocked = false;
        c->review = line->review = true;
    }
}

/* Its node is gone for good. */
static void retire(zkl_contender *c) {
    zkl_line *line = c->line;
    child_gone(line, c->name);
    if (line->first == line->last)
        zkl_line_idle(line);
    *(c->prev ? &c->prev->next : &line->first) = c->next;
    *(c->next ? &c->next->prev : &line->last) = c->prev;
    c->node = ZKL_NODE_NONE;
    zkl_ask_set_watch(c, ZKL_WATCH_NONE);
    zkl_contender_retire(c);
}

/* Our requests are carried out in order: what we do from here on comes after the delete. */
static void send_erase(zkl_contender *c) {
    zkl_ask_erase(c);
    if (c->node == ZKL_NODE_ERASING)
        child_gone(c->line, c->name);
}

/* One that is over sees to it that its node goes. */
static void depart(zkl_contender *c) {
    if (c->node == ZKL_NODE_NONE) {
        retire(c);
        return;
    }
    zkl_contender_depart(c);
    if (c->node == ZKL_NODE_THERE)
        send_erase(c);
    /* asked, lost, erasing: its create's answer, the synced list, or its delete's answer runs it again */
}

static void fail(zkl_contender *c, zkl_status status) {
    zkl_contender_failed(c, status);
    depart(c);
}

static void fail_waiting(zkl_line *line, zkl_status status) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->phase == ZKL_WAITING)
            fail(c, status);
    }
}

/* Its node is not at the servers any more, and not by our doing. */
static void missing(zkl_contender *c) {
    c->node = ZKL_NODE_NONE;
    if (c->phase == ZKL_WAITING) {
        child_gone(c->line, c->name);
        zkl_ask_create(c);
        return;
    }
    if (c->phase == ZKL_HELD)
        zkl_contender_lost(c);
    retire(c);
}

/* ---- who holds ---- */

static void set_hold_timer(zkl_contender *c, bool watch) {
    const zkl_nanos soon = watch ? zkl_floor_now(c->floor) + WATCH_AFTER : ZKL_NEVER;
    zkl_timer_set(&c->floor->timers, &c->timer, soon < c->hold_until ? soon : c->hold_until);
}

/* The node goes at the moment at which the holder stopped believing in it, whatever the host is doing. */
static void end_hold(zkl_contender *c) {
    zkl_contender_lost(c);
    depart(c);
}

/* Grants the first in line, if that is still true as we speak: `seen`, its node stood in the list just read; otherwise
 * the watch on its own node must be armed, so that its deletion would have been told before its blocker's. And never
 * with a validity of nothing: a process that slept reads old news. */
static void try_grant(zkl_contender *c, bool seen) {
    if (c->phase != ZKL_WAITING || !c->first || c->node != ZKL_NODE_THERE)
        return;
    if (!c->token || (!seen && c->watch != ZKL_WATCH_ARMED)) {
        zkl_ask_own(c); /* its answer comes back here */
        return;
    }
    const zkl_nanos now = zkl_floor_now(c->floor);
    if (c->floor->trusted_until <= now) {
        c->floor->refresh(c->floor); /* zkl_line_refreshed comes back here */
        return;
    }
    zkl_contender_granted(c);
    set_hold_timer(c, c->watch == ZKL_WATCH_NONE);
}

static void watch_blocker(zkl_contender *c, zkl_child *blocker) {
    c->blocker = blocker->sequence;
    zkl_ask_blocker(c->line, blocker);
}

static void evaluate(zkl_contender *c, bool seen) {
    zkl_line *line = c->line;
    if (c->phase != ZKL_WAITING || !c->name || line->stale)
        return;
    const size_t own = zkl_snapshot_find(&line->snapshot, c->name);
    if (own == ZKL_NOT_FOUND)
        return; /* a list that has it is wanted or on its way */
    if (!seen && line->doubtful && c->terms.kind == ZKL_KIND_WRITE) {
        line->list_wanted = true;
        return;
    }
    const zkl_verdict v =
        zkl_verdict_of(line->snapshot.children, line->snapshot.count, own, c->terms.permits);
    c->first = v.outcome == ZKL_VERDICT_GRANTED;
    c->blocked = v.outcome == ZKL_VERDICT_WAIT;
    if (v.outcome == ZKL_VERDICT_TIED) {
        fail(c, ZDATAINCONSISTENCY);
    } else if (c->first) {
        try_grant(c, seen);
    } else if (c->terms.once) {
        fail(c, ZKL_TIMEOUT);
    } else {
        if (c->blocked)
            watch_blocker(c, &line->snapshot.children[v.blocker]);
        if (c->floor->own_watches < OWN_WATCHES_MOST)
            zkl_ask_own(c);
    }
}

/* The end of every step: looks again at those whose blocker went, and sends the one list for all who want it. */
static void settle(zkl_line *line) {
    while (line->review) {
        line->review = false;
        zkl_contender *next;
        for (zkl_contender *c = line->first; c; c = next) {
            next = c->next;
            if (!c->review)
                continue;
            c->review = false;
            evaluate(c, false);
        }
    }
    if (line->list_wanted && !line->listing && line->floor->port && line->first)
        zkl_ask_list(line);
}

void zkl_line_settle(zkl_line *line) {
    settle(line);
}

/* ---- reading a list ---- */

static zkl_contender *owner_of(zkl_line *line, const char *name) {
    zkl_guid guid;
    if (!zkl_znode_guid(name, &guid) || guid.client != line->floor->guid)
        return NULL;
    zkl_subject *subject = zkl_subject_find(&line->floor->subjects, guid.number);
    if (subject && subject->answer == contender_answered)
        return (zkl_contender *)subject;
    if (line->floor->port)
        zkl_ask_erase_stray(line, name);
    return NULL;
}

/* Found by its GUID after its create's answer was lost. The watch on it brings czxid and ephemeralOwner. */
static bool adopt(zkl_contender *c, const char *name) {
    c->name = strdup(name);
    if (!c->name)
        return false; /* stays LOST: the next list */
    c->node = ZKL_NODE_THERE;
    if (c->phase == ZKL_OVER)
        zkl_ask_erase(c);
    return true;
}

static void mark_own(zkl_line *line) {
    for (zkl_contender *c = line->first; c; c = c->next)
        c->seen = false;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        zkl_child *child = &line->snapshot.children[i];
        zkl_contender *c = owner_of(line, child->name);
        if (!c || c->line != line)
            continue;
        if (c->node == ZKL_NODE_LOST && !adopt(c, child->name))
            zkl_ask_again_later(line);
        child->mine = c;
        c->seen = true;
    }
}

static void refuse_mixed(zkl_line *line) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->phase == ZKL_WAITING &&
            zkl_verdict_mixed(line->snapshot.children, line->snapshot.count, c->terms.kind))
            fail(c, ZKL_WRONG_KIND);
    }
}

/* A read under a write is as old as the write: it holds if the two stood in one list. If the write was gone by then, a
 * later writer may hold, and the read has to wait its turn with a sequence of its own. */
static bool stood_together(zkl_line *line, const zkl_contender *read) {
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        zkl_guid guid;
        if (child->kind == ZKL_KIND_WRITE && child->sequence == read->sequence)
            return zkl_znode_guid(child->name, &guid) && guid.client == line->floor->guid;
    }
    return false;
}

static void read_list(zkl_line *line, const char *const *names, size_t count) {
    if (!zkl_snapshot_take(&line->snapshot, names, count)) {
        line->stale = line->list_wanted = true;
        zkl_ask_again_later(line);
        return;
    }
    line->stale = line->doubtful = false;
    mark_own(line);
    refuse_mixed(line);
    /* First who has lost: the host hears of it before the next one holds. */
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        const bool known =
            c->node == ZKL_NODE_THERE || (c->node == ZKL_NODE_LOST && line->list_synced);
        if (known && !c->seen)
            missing(c);
        else if (c->node == ZKL_NODE_LOST)
            zkl_ask_again_later(line); /* the sync was refused */
    }
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->node != ZKL_NODE_THERE)
            continue;
        if (c->borrowed && c->phase == ZKL_WAITING && !stood_together(line, c))
            send_erase(c); /* erased() queues it anew */
        else
            evaluate(c, true);
    }
}

/* ---- answers ---- */

static void list_answered(zkl_line *line, const zkl_reply *reply, bool watch) {
    line->listing = false;
    if (watch && reply->rc != ZOK)
        line->watched = false;
    if (reply->rc == ZOK) {
        line->pause = 0;
        read_list(line, reply->names, reply->count);
    } else if (reply->rc == ZNONODE) {
        read_list(line, NULL, 0); /* no directory: nobody in it */
    } else if (zkl_status_passes(reply->rc)) {
        zkl_ask_again_later(line);
    } else {
        fail_waiting(line, zkl_status_of(reply->rc));
        zkl_ask_again_later(line); /* whoever is lost is looked for as long as the session lives */
    }
}

static void blocker_watched(zkl_line *line, int32_t sequence, const zkl_reply *reply) {
    for (size_t i = 0; i < line->snapshot.count; i++) {
        zkl_child *child = &line->snapshot.children[i];
        if (child->sequence != sequence || child->watch != ZKL_WATCH_ASKED)
            continue;
        child->watch = reply->rc == ZOK ? ZKL_WATCH_ARMED : ZKL_WATCH_NONE;
        break;
    }
    if (reply->rc == ZNONODE)
        line->list_wanted = true;
    else if (zkl_status_passes(reply->rc))
        zkl_ask_again_later(line);
    else if (reply->rc != ZOK)
        fail_waiting(line, zkl_status_of(reply->rc)); /* not readable: nobody would wake us */
}

static void line_answered(zkl_subject *subject, const zkl_return *asked, const zkl_reply *reply) {
    zkl_line *line = (zkl_line *)subject;
    switch (asked->what) {
    case ZKL_ASK_LIST:
        list_answered(line, reply, asked->detail != 0);
        break;
    case ZKL_ASK_SYNC:
        if (reply->rc != ZOK)
            line->list_synced = false;
        break;
    case ZKL_ASK_WATCH_BLOCKER:
        blocker_watched(line, asked->detail, reply);
        break;
    default: /* ZKL_ASK_ERASE_STRAY: if it failed, the next list shows it again. ZKL_ASK_UNWATCH: nobody is there to hear it */
        break;
    }
    settle(line);
}

/* All who asked after this round of parents hear the same: each for itself would ask for one more round. */
static void refuse_round(zkl_line *line, zkl_status status) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->phase == ZKL_WAITING && c->node != ZKL_NODE_THERE &&
            c->parents == line->parents.round)
            fail(c, status);
    }
}

static void no_parents(zkl_contender *c) {
    zkl_parents *parents = &c->line->parents;
    c->node = ZKL_NODE_NONE;
    if (c->phase == ZKL_OVER) {
        retire(c);
        return;
    }
    if (c->parents == parents->round) {
        const int refused = parents->round ? parents->refused : ZOK;
        if (refused != ZOK || ++c->line->vain_rounds > ROUNDS_MOST) {
            parents->refused = ZOK; /* the next to come tries again */
            c->line->vain_rounds = 0;
            refuse_round(c->line, zkl_status_of(refused != ZOK ? refused : ZNONODE)); /* c, too */
            return;
        }
        if (zkl_parents_make(parents) != ZOK)
            zkl_ask_again_later(c->line);
    }
    zkl_ask_create(c);
}

static void created(zkl_contender *c, const zkl_reply *reply) {
    if (c->node != ZKL_NODE_ASKED)
        return;
    if (reply->rc == ZOK) {
        c->name = strdup(strrchr(reply->path, '/') + 1);
        if (!c->name) {
            zkl_ask_lost(c); /* the list finds it by its GUID */
            return;
        }
        c->node = ZKL_NODE_THERE;
        c->token = c->borrowed ? c->borrowed : reply->stat->czxid;
        c->line->vain_rounds = 0;
        if (c->phase == ZKL_OVER)
            zkl_ask_erase(c);
    } else if (reply->rc == ZNONODE) {
        no_parents(c);
    } else if (zkl_status_unknown(reply->rc)) {
        zkl_ask_lost(c); /* looked for when there is a link */
    } else {
        c->node = ZKL_NODE_NONE;
        if (c->phase == ZKL_OVER)
            retire(c);
        else if (zkl_status_throttled(reply->rc))
            zkl_ask_again_later(c->line);
        else
            fail(c, zkl_status_of(reply->rc));
    }
}

void zkl_line_created(zkl_contender *c, const zkl_reply *reply) {
    zkl_line *line = c->line;
    created(c, reply);
    settle(line);
}

static void erased(zkl_contender *c, const zkl_reply *reply) {
    if (c->node != ZKL_NODE_ERASING)
        return;
    c->node = ZKL_NODE_THERE;
    if (reply->rc == ZOK || reply->rc == ZNONODE) {
        if (c->phase == ZKL_OVER)
            retire(c);
        else
            missing(c);
    } else if (c->phase == ZKL_WAITING) {
        if (c->floor->port)
            zkl_ask_again_later(c->line); /* the list that it asks for tells what to do */
    } else if (zkl_status_unknown(reply->rc)) {
        if (c->floor->port)
            zkl_ask_again_later(c->line); /* otherwise resume runs it */
    } else { /* refused: again, for as long as the session lives, unless somebody else does it */
        if (!zkl_status_throttled(reply->rc))
            c->refused = zkl_status_of(reply->rc);
        zkl_ask_own(c);
        c->patience = c->patience ? 2 * c->patience : ZKL_SECOND / 2;
        if (c->patience > PATIENCE_MOST)
            c->patience = PATIENCE_MOST;
        zkl_timer_set(&c->floor->timers, &c->timer, zkl_floor_now(c->floor) + c->patience);
    }
}

/* As Apache Curator's Revoker writes it. */
static bool is_revocation(const zkl_reply *reply) {
    return reply->length == strlen(ZKL_REVOKE) &&
           memcmp(reply->data, ZKL_REVOKE, reply->length) == 0;
}

static void own_watched(zkl_contender *c, const zkl_reply *reply) {
    zkl_ask_set_watch(c, ZKL_WATCH_NONE);
    if (c->node != ZKL_NODE_THERE)
        return;
    if (c->phase == ZKL_OVER) {
        if (reply->rc == ZOK)
            zkl_ask_set_watch(c, ZKL_WATCH_ARMED);
        else if (reply->rc == ZNONODE)
            retire(c);
    } else if (reply->rc == ZOK && reply->stat->session == c->floor->session) {
        zkl_ask_set_watch(c, ZKL_WATCH_ARMED);
        c->token = c->borrowed ? c->borrowed : reply->stat->czxid;
        if (is_revocation(reply))
            zkl_contender_revoked(c);
        try_grant(c, false);
    } else if (reply->rc == ZOK) {
        zkl_ask_erase_stray(c->line, c->name); /* made by a session that is dying: not ours */
        missing(c);
    } else if (reply->rc == ZNONODE) {
        missing(c);
    } else if (zkl_status_passes(reply->rc)) {
        zkl_ask_again_later(c->line);
    } else if (c->phase == ZKL_WAITING) {
        fail(c, zkl_status_of(reply->rc));
    }
}

static void contender_answered(zkl_subject *subject, const zkl_return *asked,
                               const zkl_reply *reply) {
    zkl_contender *c = (zkl_contender *)subject;
    zkl_line *line = c->line;
    if (asked->what == ZKL_ASK_CREATE)
        created(c, reply);
    else if (asked->what == ZKL_ASK_ERASE)
        erased(c, reply);
    else
        own_watched(c, reply);
    settle(line);
}

/* Of our own node: deleted by us, by an operator, or written to. */
static void own_changed(zkl_contender *c, zkl_change change) {
    zkl_ask_set_watch(c, ZKL_WATCH_NONE);
    if (c->node != ZKL_NODE_THERE)
        return; /* our own delete: its answer is coming */
    if (change == ZKL_CHANGE_DELETED)
        missing(c);
    else
        zkl_ask_own(c); /* a watch fires once */
}

static void blocker_changed(zkl_line *line, zkl_child *child, zkl_change change) {
    const bool armed = child->watch == ZKL_WATCH_ARMED;
    child->watch = ZKL_WATCH_NONE;
    if (change == ZKL_CHANGE_OTHER)
        zkl_ask_blocker(line, child);
    else if (armed)
        child_gone(line, child->name);
    else
        line->list_wanted = true;
}

bool zkl_line_counts(const zkl_line *line) {
    for (const zkl_contender *c = line->first; c; c = c->next)
        if (c->phase == ZKL_WAITING && c->terms.kind == ZKL_KIND_LEASE)
            return true;
    return false;
}

void zkl_line_children_changed(zkl_line *line) {
    line->watched = false; /* it told once */
    line->list_wanted |= zkl_line_counts(line);
    settle(line);
}

void zkl_line_watch(zkl_line *line, const char *name, zkl_change change) {
    zkl_contender *c = line->first;
    while (c && (!c->name || strcmp(c->name, name) != 0))
        c = c->next;
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    if (c)
        own_changed(c, change);
    else if (index != ZKL_NOT_FOUND) /* otherwise of somebody we do not wait for any more */
        blocker_changed(line, &line->snapshot.children[index], change);
    settle(line);
}

/* ---- timers ---- */

static void hold_timer(zkl_contender *c) {
    if (c->hold_until <= zkl_floor_now(c->floor)) {
        end_hold(c);
        return;
    }
    zkl_ask_own(c);
    set_hold_timer(c, false);
}

static void contender_timer(zkl_timer *timer) {
    zkl_contender *c = (zkl_contender *)((char *)timer - offsetof(zkl_contender, timer));
    zkl_line *line = c->line;
    if (c->phase == ZKL_WAITING)
        fail(c, c->floor->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
    else if (c->phase == ZKL_HELD)
        hold_timer(c);
    else if (c->node == ZKL_NODE_THERE)
        zkl_ask_erase(c);
    settle(line);
}

static void retry_timer(zkl_timer *timer) {
    zkl_line_resume((zkl_line *)((char *)timer - offsetof(zkl_line, retry)));
}

/* ---- the host's side ---- */

zkl_line *zkl_line_new(zkl_floor *floor, const char *path) {
    zkl_line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->path = strdup(path);
    if (!line->path) {
        free(line);
        return NULL;
    }
    line->floor = floor;
    line->subject.answer = line_answered;
    line->retry.fire = retry_timer;
    zkl_subject_enter(&floor->subjects, &line->subject);
    zkl_parents_init(&line->parents, floor, line->path);
    zkl_line_idle(line); /* until somebody joins */
    return line;
}

void zkl_line_idle(zkl_line *line) {
    if (line->idle)
        return;
    line->idle = true;
    line->next_idle = line->floor->idle;
    line->floor->idle = line;
}

bool zkl_line_quit(zkl_line *line) {
    if (line->first)
        return false;
    const zkl_snapshot *snapshot = &line->snapshot;
    for (size_t i = 0; i < snapshot->count; i++)
        if (snapshot->children[i].watch == ZKL_WATCH_ASKED)
            return false; /* its answer comes back to tidy */
    bool all = true;
    for (size_t i = 0; line->floor->port && i < snapshot->count; i++) {
        zkl_child *child = &snapshot->children[i];
        if (child->watch == ZKL_WATCH_ARMED)
            zkl_ask_unwatch(line, child);
        all = all && child->watch == ZKL_WATCH_NONE; /* else the retry timer does */
    }
    if (line->watched && line->floor->port)
        zkl_ask_unwatch_directory(line);
    return all && !(line->watched && line->floor->port);
}

void zkl_line_free(zkl_line *line) {
    zkl_timer_clear(&line->floor->timers, &line->retry);
    zkl_subject_leave(&line->floor->subjects, &line->subject);
    zkl_parents_done(&line->parents);
    zkl_snapshot_clear(&line->snapshot);
    free(line->path);
    free(line);
}

/* Somebody of ours holds what is asked for: a single try needs no answer of the servers. */
static bool held_here(const zkl_line *line, const zkl_terms *terms) {
    for (const zkl_contender *c = line->first; c; c = c->next)
        if (c->phase == ZKL_HELD && c != terms->under &&
            zkl_verdict_blocks(&(zkl_child){.kind = c->terms.kind}, terms->kind))
            return true;
    return false;
}

/* What a read under a write takes over from it. */
static void borrow(zkl_contender *read, const zkl_contender *write) {
    if (write && write->phase == ZKL_HELD && zkl_znode_parse(write->name, &read->sequence))
        read->borrowed = write->token;
}

static void free_contender(zkl_contender *c) {
    free(c->name);
    free(c);
}

static zkl_contender *join(zkl_line *line, uint64_t tag, const zkl_terms *terms, zkl_whole *whole) {
    static const zkl_contender_table table = {zkl_line_release, zkl_line_cancel, zkl_line_drop,
                                              free_contender};
    const bool once = terms->once, vain = once && held_here(line, terms);
    zkl_contender *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    zkl_contender_init(c, line->floor, tag, terms, whole);
    c->call = &table;
    c->line = line;
    c->subject.answer = contender_answered;
    c->timer.fire = contender_timer;
    borrow(c, terms->under);
    c->terms.under = NULL; /* it may be gone before us */
    c->prev = line->last;
    *(c->prev ? &c->prev->next : &line->first) = c;
    line->last = c;
    if (vain) {
        fail(c, ZKL_TIMEOUT);
    } else if (once && !line->floor->port) {
        fail(c, ZKL_DISCONNECTED);
    } else {
        zkl_timer_set(&line->floor->timers, &c->timer, once ? ZKL_NEVER : terms->deadline);
        zkl_ask_create(c);
        settle(line);
    }
    return c;
}

zkl_contender *zkl_line_join(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    return join(line, tag, terms, NULL);
}

zkl_contender *zkl_line_join_part(zkl_line *line, const zkl_terms *terms, zkl_whole *whole) {
    return join(line, 0, terms, whole);
}

zkl_status zkl_line_release(zkl_contender *c) {
    if (c->phase == ZKL_OVER && c->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (c->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    zkl_line *line = c->line;
    zkl_contender_released(c);
    depart(c);
    settle(line);
    return ZKL_OK;
}

void zkl_line_cancel(zkl_contender *c, zkl_status status) {
    if (c->phase != ZKL_WAITING)
        return;
    zkl_line *line = c->line;
    fail(c, status);
    settle(line);
}

void zkl_line_drop(zkl_contender *c) {
    const zkl_phase phase = c->phase;
    if (phase != ZKL_OVER && !c->whole)
        c->floor->counters.abandoned++;
    zkl_contender_unhost(c);
    if (phase == ZKL_WAITING)
        zkl_line_cancel(c, ZKL_CANCELLED);
    else if (phase == ZKL_HELD)
        zkl_line_release(c);
}

/* ---- the connection's turns ---- */

void zkl_line_suspend(zkl_line *line) {
    line->stale =
        true; /* kept only for its watches, which the library sets again when it reconnects */
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        c->first = c->blocked = c->review = false;
        if (c->phase == ZKL_WAITING && c->terms.once)
            fail(c, ZKL_DISCONNECTED);
    }
    line->review = false;
}

/* What is on its way is left alone: its answer comes, if only to say that it was cut off. */
void zkl_line_resume(zkl_line *line) {
    if (!line->floor->port)
        return;
    zkl_timer_clear(&line->floor->timers, &line->retry); /* everything is looked at now */
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->node == ZKL_NODE_NONE && c->phase == ZKL_WAITING) {
            zkl_ask_create(c);
        } else if (c->node == ZKL_NODE_THERE && c->phase == ZKL_OVER) {
            zkl_ask_erase(c);
        } else if (c->node == ZKL_NODE_THERE && c->phase == ZKL_HELD) {
            zkl_ask_own(c);
        } else if (c->node == ZKL_NODE_THERE || c->node == ZKL_NODE_LOST) {
            line->list_wanted = true;
        }
    }
    settle(line);
}

/* The handle is gone, and with it its watches and what was on its way. */
static void lose_handle(zkl_line *line) {
    zkl_line_suspend(line);
    zkl_snapshot_clear(&line->snapshot);
    line->listing = line->watched = false;
    zkl_subject_enter(&line->floor->subjects, &line->subject);
    for (zkl_contender *c = line->first; c; c = c->next)
        zkl_ask_set_watch(c, ZKL_WATCH_NONE);
}

void zkl_line_relink(zkl_line *line) {
    lose_handle(line);
    for (zkl_contender *c = line->first; c; c = c->next) {
        if (c->node == ZKL_NODE_ASKED)
            c->node = ZKL_NODE_LOST;
        else if (c->node == ZKL_NODE_ERASING)
            c->node = ZKL_NODE_THERE;
    }
}

void zkl_line_expire(zkl_line *line) {
    lose_handle(line);
    line->list_wanted = false;
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        zkl_subject_leave(&line->floor->subjects, &c->subject);
        c->node = ZKL_NODE_NONE;
        if (c->phase == ZKL_HELD)
            zkl_contender_lost(c);
        if (c->phase == ZKL_OVER)
            retire(c);
    }
}

void zkl_line_refreshed(zkl_line *line) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        try_grant(c, false);
    }
    settle(line);
}

void zkl_line_insist(zkl_line *line) {
    for (zkl_contender *c = line->first; c; c = c->next)
        if (c->node == ZKL_NODE_THERE && c->refused != ZKL_OK)
            zkl_ask_erase(c);
}

void zkl_line_dismiss(zkl_line *line, zkl_status status, bool give_back) {
    fail_waiting(line, status);
    zkl_contender *next;
    for (zkl_contender *c = line->first; c && give_back; c = next) {
        next = c->next;
        if (c->phase != ZKL_HELD)
            continue;
        zkl_contender_released(c);
        depart(c);
    }
}
