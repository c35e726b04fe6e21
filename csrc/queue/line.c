#include "queue/line.h"

#include "queue/send.h"
#include "queue/crowd.h"
#include "queue/leave.h"
#include "queue/lost.h"
#include "queue/evaluate.h"
#include "queue/vetting.h"
#include "port/wire.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define PATIENCE_MOST (30 * ZKL_SECOND)
/* Parents that vanish as often as they are made: somebody else deletes them on purpose. */
#define ROUNDS_MOST 50

static void contender_answered(zkl_receiver *, const zkl_return *, const zkl_reply *);
static void line_answered(zkl_receiver *, const zkl_return *, const zkl_reply *);

/* The end of every step: looks again at those whose blocker went, and sends the one list for all who want it. */
static void settle(zkl_line *line) {
    while (line->review || line->crowded) {
        const bool crowded = line->crowded;
        line->review = line->crowded = false;
        if (crowded)
            zkl_crowd_thin(line);
        zkl_contender *next;
        for (zkl_contender *c = line->first; c; c = next) {
            next = c->next;
            if (!c->review)
                continue;
            c->review = false;
            zkl_evaluate_look(c, false);
        }
    }
    if (line->list_wanted && !line->list_sent && line->context->port && line->first)
        zkl_send_list(line);
    if (!line->first)
        zkl_line_idle(line); /* what stood against its end may have come to its own */
}

void zkl_line_settle(zkl_line *line) {
    settle(line);
}

/* ---- answers ---- */

static void note_list(zkl_line *line, const zkl_reply *reply) {
    line->listed = zkl_context_now(line->context);
    line->listed_bytes = 0;
    for (size_t i = 0; i < reply->count; i++)
        line->listed_bytes += zkl_wire_text(strlen(reply->names[i]));
}

static void list_answered(zkl_line *line, const zkl_reply *reply, bool watch) {
    line->list_sent = false;
    if (watch && reply->rc != ZOK)
        zkl_send_set_directory_watch(line, false);
    if (reply->rc == ZOK) {
        line->pause = 0;
        note_list(line, reply);
        zkl_vetting_listed(line, reply->stat);
        zkl_evaluate_read(line, reply->names, reply->count);
    } else if (reply->rc == ZNONODE) {
        zkl_vetting_listed(line, NULL);
        zkl_evaluate_read(line, NULL, 0); /* no directory: nobody in it */
    } else if (zkl_status_passes(reply->rc)) {
        zkl_send_again_later(line);
    } else {
        zkl_leave_fail_waiting(line, zkl_status_of(reply->rc));
        zkl_send_again_later(line); /* whoever is lost is looked for as long as the session lives */
    }
}

/* Its going would never be told to us, so nobody can wait for it. Whoever stands before it need not. */
static void blocker_refused(zkl_line *line, int32_t sequence, zkl_status status) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->phase == ZKL_WAITING && c->blocked && c->blocker == sequence)
            zkl_leave_fail(c, status);
    }
}

/* The child about whose watch that request was the latest; NULL: it is gone. */
static zkl_child *child_of_request(zkl_line *line, int32_t request, zkl_watch watch) {
    for (size_t i = 0; i < line->snapshot.count; i++)
        if (line->snapshot.children[i].request == request)
            return line->snapshot.children[i].watch == watch ? &line->snapshot.children[i] : NULL;
    return NULL;
}

static void blocker_watched(zkl_line *line, int32_t request, const zkl_reply *reply) {
    zkl_child *child = child_of_request(line, request, ZKL_WATCH_ASKED);
    if (child)
        zkl_send_set_child_watch(line, child, reply->rc == ZOK ? ZKL_WATCH_ARMED : ZKL_WATCH_NONE);
    if (reply->rc == ZNONODE && child)
        zkl_evaluate_missing(line, child->name); /* a list had shown it, so this is its deletion */
    else if (zkl_status_passes(reply->rc))
        zkl_send_again_later(line);
    else if (reply->rc != ZOK && child)
        blocker_refused(line, child->sequence, zkl_status_of(reply->rc));
}

/* A watch was to be taken back. Cut off, it is armed as before, and zkl_line_quit asks again; refused, it stays with the
 * library. */
static zkl_watch unwatched(zkl_line *line, size_t path, const zkl_reply *reply) {
    line->list_wanted |= line->first != NULL; /* who has come meanwhile wants it back */
    if (zkl_status_passes(reply->rc)) {
        if (line->context->port)
            zkl_send_again_later(line); /* otherwise resume comes by */
        return ZKL_WATCH_ARMED;
    }
    if (reply->rc != ZOK && reply->rc != ZNOWATCHER)
        zkl_watches_leave(&line->context->watches, path);
    return ZKL_WATCH_NONE;
}

static void child_unwatched(zkl_line *line, int32_t request, const zkl_reply *reply) {
    zkl_child *child = child_of_request(line, request, ZKL_WATCH_LEAVING);
    if (child)
        zkl_send_set_child_watch(line, child,
                                 unwatched(line, zkl_line_length(line, child->name), reply));
}

static void directory_unwatched(zkl_line *line, const zkl_reply *reply) {
    if (line->unwatching) /* it may have told meanwhile */
        zkl_send_set_directory_watch(line,
                                     unwatched(line, strlen(line->path), reply) == ZKL_WATCH_ARMED);
}

static void line_answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_line *line = (zkl_line *)receiver;
    switch (asked->what) {
    case ZKL_REQUEST_LIST:
        list_answered(line, reply, asked->detail != 0);
        break;
    case ZKL_REQUEST_ACL:
        zkl_vetting_answered(line, reply);
        break;
    case ZKL_REQUEST_BARRIER:
        if (reply->rc != ZNONODE)
            line->list_synced = false;
        break;
    case ZKL_REQUEST_WATCH_BLOCKER:
        blocker_watched(line, asked->detail, reply);
        break;
    case ZKL_REQUEST_UNWATCH:
        child_unwatched(line, asked->detail, reply);
        break;
    case ZKL_REQUEST_UNWATCH_DIRECTORY:
        directory_unwatched(line, reply);
        break;
    default: /* ZKL_REQUEST_ERASE_STRAY: if it failed, the next list shows it again */
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
            zkl_leave_fail(c, status);
    }
}

static void no_parents(zkl_contender *c) {
    zkl_parents *parents = &c->line->parents;
    c->node = ZKL_NODE_NONE;
    if (c->phase == ZKL_OVER) {
        zkl_leave_retire(c);
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
            zkl_send_again_later(c->line);
    }
    zkl_send_create(c);
}

static void created(zkl_contender *c, const zkl_reply *reply) {
    if (c->node != ZKL_NODE_ASKED)
        return;
    if (reply->rc == ZOK) {
        c->name = strdup(strrchr(reply->path, '/') + 1);
        if (!c->name) {
            zkl_send_lost(c); /* the list finds it by its GUID */
            return;
        }
        c->node = ZKL_NODE_THERE;
        c->token = c->borrowed ? c->borrowed : reply->stat->czxid;
        c->line->vain_rounds = 0;
        if (c->phase == ZKL_OVER)
            zkl_send_erase(c);
    } else if (reply->rc == ZNONODE) {
        no_parents(c);
    } else if (zkl_status_unknown(reply->rc)) {
        zkl_send_lost(c); /* looked for when there is a link */
    } else {
        c->node = ZKL_NODE_NONE;
        if (c->phase == ZKL_OVER)
            zkl_leave_retire(c);
        else if (zkl_status_throttled(reply->rc))
            zkl_send_again_later(c->line);
        else
            zkl_leave_fail(c, zkl_status_of(reply->rc));
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
            zkl_leave_retire(c);
        else
            zkl_leave_missing(c);
    } else if (c->phase == ZKL_WAITING) {
        if (c->context->port)
            zkl_send_again_later(c->line); /* the list that it asks for tells what to do */
    } else if (zkl_status_unknown(reply->rc)) {
        if (c->context->port)
            zkl_send_again_later(c->line); /* otherwise resume runs it */
    } else { /* refused: again, for as long as the session lives, unless somebody else does it */
        if (!zkl_status_throttled(reply->rc))
            c->refused = zkl_status_of(reply->rc);
        zkl_send_own(c);
        c->patience = c->patience ? 2 * c->patience : ZKL_SECOND / 2;
        if (c->patience > PATIENCE_MOST)
            c->patience = PATIENCE_MOST;
        zkl_timer_set(&c->context->timers, &c->timer, zkl_context_now(c->context) + c->patience);
    }
}

/* As Apache Curator's Revoker writes it. */
static bool is_revocation(const zkl_reply *reply) {
    return reply->length == strlen(ZKL_REVOKE) &&
           memcmp(reply->data, ZKL_REVOKE, reply->length) == 0;
}

static void own_read(zkl_contender *c, const zkl_reply *reply) {
    if (c->node != ZKL_NODE_THERE)
        return;
    if (c->phase == ZKL_OVER) {
        if (reply->rc == ZNONODE)
            zkl_leave_retire(c);
    } else if (reply->rc == ZOK && reply->stat->session == c->context->session) {
        c->token = c->borrowed ? c->borrowed : reply->stat->czxid;
        if (is_revocation(reply))
            zkl_contender_revoked(c);
        zkl_evaluate_grant(c, false);
    } else if (reply->rc == ZOK) {
        if (c->watch != ZKL_WATCH_NONE)
            zkl_watches_leave(&c->context->watches, zkl_line_length(c->line, c->name));
        zkl_send_erase_stray(c->line, c->name); /* made by a session that is dying: not ours */
        zkl_leave_missing(c);
    } else if (reply->rc == ZNONODE) {
        zkl_leave_missing(c);
    } else if (zkl_status_passes(reply->rc)) {
        zkl_send_again_later(c->line);
    } else if (c->phase == ZKL_WAITING) {
        zkl_leave_fail(c, zkl_status_of(reply->rc));
    }
}

static void candidate_answered(zkl_contender *c, int32_t sequence, const zkl_reply *reply) {
    if (!zkl_lost_answered(c, sequence, reply))
        return;
    if (is_revocation(reply))
        zkl_contender_revoked(c);
    if (c->phase == ZKL_OVER)
        zkl_send_erase(c);
    else
        zkl_evaluate_found(c);
}

static void contender_answered(zkl_receiver *receiver, const zkl_return *asked,
                               const zkl_reply *reply) {
    zkl_contender *c = (zkl_contender *)receiver;
    zkl_line *line = c->line;
    switch (asked->what) {
    case ZKL_REQUEST_CREATE:
        created(c, reply);
        break;
    case ZKL_REQUEST_ERASE:
        erased(c, reply);
        break;
    case ZKL_REQUEST_CANDIDATE:
        candidate_answered(c, asked->detail, reply);
        break;
    case ZKL_REQUEST_WATCH_OWN:
        zkl_send_set_watch(c, reply->rc == ZOK ? ZKL_WATCH_ARMED : ZKL_WATCH_NONE);
        own_read(c, reply);
        break;
    default: /* ZKL_REQUEST_READ_OWN */
        c->reading = false;
        own_read(c, reply);
        break;
    }
    settle(line);
}

/* Of our own node: deleted by us, by an operator, or written to. */
static void own_changed(zkl_contender *c, zkl_change change) {
    if (c->watch == ZKL_WATCH_NONE) /* set when we did not know that the node is ours */
        zkl_watches_told(&c->context->watches, zkl_line_length(c->line, c->name));
    zkl_send_set_watch(c, ZKL_WATCH_NONE);
    if (c->node != ZKL_NODE_THERE)
        return; /* our own delete: its answer is coming */
    if (change == ZKL_CHANGE_DELETED)
        zkl_leave_missing(c);
    else
        zkl_send_own(c); /* a watch fires once */
}

static void blocker_changed(zkl_line *line, zkl_child *child, zkl_change change) {
    const bool armed = child->watch == ZKL_WATCH_ARMED;
    zkl_send_set_child_watch(line, child, ZKL_WATCH_NONE);
    if (change ==
        ZKL_CHANGE_OTHER) /* a watch tells once; without a new one whoever waits is looked after */
        line->list_wanted |= !zkl_send_blocker(line, child);
    else if (armed)
        zkl_evaluate_gone(line, child->name);
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
    zkl_send_set_directory_watch(line, false); /* it told once */
    line->list_wanted |= zkl_line_counts(line);
    settle(line);
}

/* Ours by that name; NULL: nobody. */
static zkl_contender *called(const zkl_line *line, const char *name) {
    zkl_guid guid;
    if (!zkl_znode_guid(name, &guid) || guid.client != line->context->guid)
        return NULL;
    zkl_contender *c = zkl_line_member(line, guid.number);
    return c && c->line == line && c->name && strcmp(c->name, name) == 0 ? c : NULL;
}

void zkl_line_watch(zkl_line *line, const char *name, zkl_change change) {
    zkl_contender *c = called(line, name);
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    if (c)
        own_changed(c, change);
    else if (index != ZKL_NOT_FOUND)
        blocker_changed(line, &line->snapshot.children[index], change);
    else
        zkl_watches_told(&line->context->watches, zkl_line_length(line, name));
    settle(line);
}

/* ---- timers ---- */

/* The node goes at the moment at which the holder stopped believing in it, whatever the host is doing. */
static void end_hold(zkl_contender *c) {
    zkl_contender_lost(c);
    zkl_leave_depart(c);
}

static void hold_timer(zkl_contender *c) {
    if (c->hold_until <= zkl_context_now(c->context)) {
        end_hold(c);
        return;
    }
    zkl_send_own(c);
    zkl_evaluate_set_timer(c, false);
}

static void contender_timer(zkl_timer *timer) {
    zkl_contender *c = (zkl_contender *)((char *)timer - offsetof(zkl_contender, timer));
    zkl_line *line = c->line;
    if (c->phase == ZKL_WAITING)
        zkl_leave_fail(c, c->context->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
    else if (c->phase == ZKL_HELD)
        hold_timer(c);
    else if (c->node == ZKL_NODE_THERE)
        zkl_send_erase(c);
    settle(line);
}

static void retry_timer(zkl_timer *timer) {
    zkl_line_resume((zkl_line *)((char *)timer - offsetof(zkl_line, retry)));
}

/* ---- the host's side ---- */

zkl_contender *zkl_line_member(const zkl_line *line, uint64_t number) {
    zkl_receiver *receiver = zkl_receiver_find(&line->context->receivers, number);
    return receiver && receiver->answer == contender_answered ? (zkl_contender *)receiver : NULL;
}

zkl_line *zkl_line_new(zkl_context *context, const char *path) {
    zkl_line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->path = strdup(path);
    if (!line->path) {
        free(line);
        return NULL;
    }
    line->context = context;
    line->receiver.answer = line_answered;
    line->retry.fire = retry_timer;
    zkl_receiver_enter(&context->receivers, &line->receiver);
    zkl_parents_init(&line->parents, context, line->path);
    zkl_line_idle(line); /* until somebody joins */
    return line;
}

void zkl_line_idle(zkl_line *line) {
    if (line->idle)
        return;
    line->idle = true;
    line->next_idle = line->context->idle;
    line->context->idle = line;
}

bool zkl_line_quit(zkl_line *line) {
    if (line->first)
        return false;
    const bool may_ask = line->context->port && !line->retry.pending;
    bool rid = true;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        zkl_child *child = &line->snapshot.children[i];
        if (child->watch == ZKL_WATCH_ARMED && may_ask)
            zkl_send_unwatch(line, child);
        rid = rid && child->watch == ZKL_WATCH_NONE;
    }
    if (line->watched && !line->unwatching && !line->list_sent && may_ask)
        zkl_send_unwatch_directory(line); /* not before the library has it */
    return rid && !line->watched;
}

size_t zkl_line_length(const zkl_line *line, const char *name) {
    return strlen(line->path) + 1 + strlen(name);
}

void zkl_line_free(zkl_line *line) {
    zkl_timer_clear(&line->context->timers, &line->retry);
    zkl_receiver_leave(&line->context->receivers, &line->receiver);
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

static zkl_contender *join(zkl_line *line, uint64_t tag, const zkl_terms *terms,
                           zkl_compound *compound) {
    static const zkl_contender_table table = {zkl_line_release, zkl_line_cancel, zkl_line_drop,
                                              free_contender};
    const bool once = terms->once, vain = once && held_here(line, terms);
    const bool busy = zkl_crowd_refuses(line, terms);
    zkl_contender *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    zkl_contender_init(c, line->context, tag, terms, compound);
    c->call = &table;
    c->line = line;
    c->receiver.answer = contender_answered;
    c->timer.fire = contender_timer;
    borrow(c, terms->under);
    c->terms.under = NULL; /* it may be gone before us */
    c->prev = line->last;
    *(c->prev ? &c->prev->next : &line->first) = c;
    line->last = c;
    if (busy) {
        zkl_leave_fail(c, ZKL_BUSY);
    } else if (vain) {
        zkl_leave_fail(c, ZKL_TIMEOUT);
    } else if (once && !line->context->port) {
        zkl_leave_fail(c, ZKL_DISCONNECTED);
    } else {
        zkl_timer_set(&line->context->timers, &c->timer, once ? ZKL_NEVER : terms->deadline);
        zkl_send_create(c);
        settle(line);
    }
    return c;
}

zkl_contender *zkl_line_join(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    return join(line, tag, terms, NULL);
}

zkl_contender *zkl_line_join_part(zkl_line *line, const zkl_terms *terms, zkl_compound *compound) {
    return join(line, 0, terms, compound);
}

zkl_status zkl_line_release(zkl_contender *c) {
    if (c->phase == ZKL_OVER && c->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (c->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    zkl_line *line = c->line;
    zkl_contender_released(c);
    zkl_leave_depart(c);
    settle(line);
    return ZKL_OK;
}

void zkl_line_cancel(zkl_contender *c, zkl_status status) {
    if (c->phase != ZKL_WAITING)
        return;
    zkl_line *line = c->line;
    zkl_leave_fail(c, status);
    settle(line);
}

void zkl_line_drop(zkl_contender *c) {
    const zkl_phase phase = c->phase;
    if (phase != ZKL_OVER && !c->compound)
        c->context->counters.abandoned++;
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
        c->first = c->blocked = c->shielded = c->review = false;
        if (c->phase == ZKL_WAITING && c->terms.once)
            zkl_leave_fail(c, ZKL_DISCONNECTED);
    }
    line->review = false;
}

/* What is on its way is left alone: its answer comes, if only to say that it was cut off. */
void zkl_line_resume(zkl_line *line) {
    if (!line->context->port)
        return;
    zkl_timer_clear(&line->context->timers, &line->retry); /* everything is looked at now */
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->node == ZKL_NODE_NONE && c->phase == ZKL_WAITING) {
            zkl_send_create(c);
        } else if (c->node == ZKL_NODE_THERE && c->phase == ZKL_OVER) {
            zkl_send_erase(c);
        } else if (c->node == ZKL_NODE_THERE && c->phase == ZKL_HELD) {
            zkl_send_own(c);
        } else if (c->node == ZKL_NODE_THERE || c->node == ZKL_NODE_LOST) {
            line->list_wanted = true;
        }
    }
    settle(line);
}

/* The handle is gone, and with it its watches and what was on its way. */
static void lose_handle(zkl_line *line) {
    zkl_line_suspend(line);
    zkl_watches_lost(&line->context->watches);
    line->context->watches.bytes -= zkl_send_watched(line);
    zkl_snapshot_clear(&line->snapshot);
    zkl_vetting_forget(line, false);
    line->list_sent = false;
    zkl_send_set_directory_watch(line, false);
    zkl_receiver_enter(&line->context->receivers, &line->receiver);
    for (zkl_contender *c = line->first; c; c = c->next) {
        zkl_send_set_watch(c, ZKL_WATCH_NONE);
        zkl_lost_forget(c);
        zkl_round_leave(&c->post);
        c->reading = false;
    }
    if (!line->first)
        zkl_line_idle(line);
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
    zkl_vetting_forget(line, true);
    line->list_wanted = false;
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        zkl_receiver_leave(&line->context->receivers, &c->receiver);
        c->node = ZKL_NODE_NONE;
        c->settled |= c->queued;
        c->queued = false;
        if (c->phase == ZKL_HELD)
            zkl_contender_lost(c);
        if (c->phase == ZKL_OVER)
            zkl_leave_retire(c);
    }
}

void zkl_line_refreshed(zkl_line *line) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        zkl_evaluate_grant(c, false);
    }
    settle(line);
}

void zkl_line_insist(zkl_line *line) {
    for (zkl_contender *c = line->first; c; c = c->next)
        if (c->node == ZKL_NODE_THERE && c->refused != ZKL_OK)
            zkl_send_erase(c);
}

void zkl_line_dismiss(zkl_line *line, zkl_status status, bool give_back) {
    zkl_snapshot_remove_mine(&line->snapshot); /* nobody is left who would look at who goes */
    zkl_leave_fail_waiting(line, status);
    zkl_contender *next;
    for (zkl_contender *c = line->first; c && give_back; c = next) {
        next = c->next;
        if (c->phase != ZKL_HELD)
            continue;
        zkl_contender_released(c);
        zkl_leave_depart(c);
    }
}
