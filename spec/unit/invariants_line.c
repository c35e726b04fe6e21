/* SPDX-License-Identifier: MIT */
#include "invariants_line.h"

#include "line/line_state.h"
#include "recipe/snapshot.h"
#include "shared/node_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must(subject of, bool good, const char *row) {
    if (good)
        return;
    fprintf(stderr, "zklock: invariant violated: %s", row);
    if (of.line)
        fprintf(stderr, "; line %s", of.line->path);
    if (of.c)
        fprintf(stderr, "; contender %s: phase %d, node %d, watch %d, position %d, search %d",
                of.c->name ? of.c->name : "without a name", (int)of.c->phase, (int)of.c->node,
                (int)of.c->watch, (int)of.c->queue.position, (int)of.c->recovery.search);
    fprintf(stderr, "\n");
    abort();
}

size_t invariants_count(const zkl_list *list) {
    size_t count = 0;
    for (const zkl_list_item *item = list->first; item; item = item->next)
        count++;
    return count;
}

/* ---- a contender ---- */

static void check_phase(subject of, const zkl_contender *c) {
    switch (c->phase) {
    case ZKL_WAITING:
        must(of, c->node <= ZKL_NODE_THERE || (c->node == ZKL_NODE_DELETE_SENT && c->under.token),
             "a waiter's node is only deleted to queue a read anew that was taken under a write");
        break;
    case ZKL_HELD:
        must(of, c->node == ZKL_NODE_THERE && c->token, "a holder has a node and its token");
        break;
    case ZKL_OVER:
        must(of, !zkl_node_is_none(c->node), "one that is over and has no node is in no line");
        break;
    }
    must(of, (c->phase == ZKL_OVER) == (c->end.departure != 0),
         "departing are those that are over, and no others");
    must(of, c->end.refused == ZKL_OK || (c->phase == ZKL_OVER && c->node == ZKL_NODE_THERE),
         "a delete was refused only of one that is over and whose node is there");
    must(of,
         c->phase == ZKL_WAITING ? !c->patience || (c->queue.position != ZKL_POSITION_BEHIND &&
                                                    c->queue.position != ZKL_POSITION_FULL)
                                 : !c->erase_pause || c->phase == ZKL_OVER,
         "patience is for one that may be first, and a pause for one that is over");
    must(of, c->phase != ZKL_WAITING || !c->terms.once || c->context->port,
         "a single try does not wait for a link");
    must(of, (c->hold_until != 0) == (c->phase == ZKL_HELD),
         "the host reads of those that are held, and of no others, until when they are");
    must(of, !c->under.token || c->terms.kind == ZKL_KIND_READ,
         "only a read is taken under a write");
    must(of,
         !c->end.doubtful || (c->phase == ZKL_OVER && c->outcome == ZKL_OK && c->end.witness &&
                              c->listener == &zkl_listener_host),
         "a member in doubt was released, and is its own witness");
    must(of, !c->end.witness || (c->phase != ZKL_WAITING && c->name),
         "a witness has a node with which somebody held");
}

static void check_node(subject of, const zkl_contender *c) {
    const bool known = c->node >= ZKL_NODE_THERE;
    must(of, known == (c->name != NULL), "a node has a name when it is there or being deleted");
    must(of, known || !c->token, "a token is that of a known node");
    must(of, known || (c->watch == ZKL_WATCH_NONE && !c->reading),
         "only a known node is watched or read");
    must(of, c->watch != ZKL_WATCH_LEAVING, "the watch on its own node is never taken back");
    must(of, known || (c->queue.position == ZKL_POSITION_UNKNOWN && !c->queue.has_second),
         "only a known node has a position");
    must(of, c->node != ZKL_NODE_UNKNOWN || c->line->searching, "a line knows that it searches");
    must(of, c->node == ZKL_NODE_UNKNOWN || c->recovery.search == ZKL_SEARCH_NONE,
         "only a lost node is searched for");
    must(of, c->share.bytes == zkl_line_node_length(c->line, c->terms.kind),
         "each member has a share of the node budget");
    must(of, !c->share.owed || zkl_node_is_none(c->node), "nothing is sent without a share");
    must(of, zkl_node_is_none(c->node) || c->receiver.id,
         "answers about a node find its contender");
}

static void check_dispatch(subject of, const zkl_contender *c) {
    const bool behind = c->node == ZKL_NODE_CREATE_BEHIND;
    must(of,
         zkl_context_is_linked(c->context) ||
             !(behind || c->node == ZKL_NODE_CREATE_DUE || c->node == ZKL_NODE_DELETE_DUE),
         "a create or delete is due only with a link");
    must(of, !behind || c->line->tally.dispatch.creates_batched,
         "a create waits for one that is on its way");
}

static void check_position(subject of, const zkl_contender *c) {
    const bool leases = c->terms.kind == ZKL_KIND_LEASE;
    must(of, c->queue.follows != ZKL_FOLLOWS_MARKED, "nobody is left to be looked at again");
    must(of, c->queue.position != ZKL_POSITION_FIRST || !c->queue.queued,
         "who is first is not queued");
    must(of, c->queue.position != ZKL_POSITION_FULL || leases, "only leases can be too many");
    must(of, c->queue.position != ZKL_POSITION_BEHIND || !leases, "leases have no order");
    must(of, !c->post.round || (c->name && c->phase != ZKL_OVER),
         "who is in a round has a node, and is not over");
    must(of, c->post.round != &c->common->reads || c->watch != ZKL_WATCH_ASKED,
         "whose own node is about to be watched need not be read in turn");
    must(of, c->post.round != &c->common->lists || c->phase == ZKL_WAITING,
         "only for waiters the line is listed in turn");
}

/* ---- waiters and their blockers ---- */

static bool is_in(const zkl_list *list, const zkl_list_item *wanted) {
    for (const zkl_list_item *item = list->first; item; item = item->next)
        if (item == wanted)
            return true;
    return false;
}

/* The first child with a sequence has the followers of all with that sequence. */
static void check_follower(subject of, const zkl_line *line, const zkl_contender *c) {
    const zkl_snapshot *snapshot = &line->snapshot;
    const size_t blocker = zkl_snapshot_from(snapshot, c->queue.blocker),
                 second = zkl_snapshot_from(snapshot, c->queue.second);
    if (c->queue.follows == ZKL_FOLLOWS_BLOCKER)
        must(of,
             blocker < snapshot->count &&
                 is_in(&snapshot->children[blocker].followers, &c->queue.follower),
             "who waits for a child is among its followers");
    if (c->queue.has_second)
        must(of,
             second < snapshot->count &&
                 is_in(&snapshot->children[second].next_followers, &c->queue.next_follower),
             "who has a second is among those who follow it next");
    must(of,
         !c->queue.has_second || c->phase != ZKL_WAITING ||
             c->queue.position != ZKL_POSITION_BEHIND ||
             (!line->freshness.stale && zkl_snapshot_find(snapshot, c->name) != ZKL_NOT_FOUND),
         "who has a second, and stands behind somebody, stands in the snapshot");
    must(of,
         c->queue.follows != ZKL_FOLLOWS_LEASES || is_in(&line->followers.full, &c->queue.follower),
         "who waits for any lease is among those who do");
    if (c->phase == ZKL_WAITING && c->node == ZKL_NODE_THERE && !line->freshness.stale) {
        must(of,
             c->queue.position != ZKL_POSITION_BEHIND || c->queue.follows == ZKL_FOLLOWS_BLOCKER,
             "who stands behind somebody follows him");
        must(of, c->queue.position != ZKL_POSITION_FULL || c->queue.follows == ZKL_FOLLOWS_LEASES,
             "who waits for fewer leases follows them");
    }
}

static void check_followers(subject of, const zkl_line *line) {
    size_t listed = invariants_count(&line->followers.full), following = 0, listed_next = 0,
           next = 0;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        listed += invariants_count(&line->snapshot.children[i].followers);
        listed_next += invariants_count(&line->snapshot.children[i].next_followers);
    }
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        following += c->queue.follows != ZKL_FOLLOWS_NOBODY;
        next += c->queue.has_second;
    }
    must(of, listed == following && listed_next == next, "only members follow anybody");
}

/* ---- counts ---- */

static void count_dispatch(zkl_dispatch_tally *tally, zkl_node node) {
    tally->creates_due += node == ZKL_NODE_CREATE_DUE;
    tally->deletes_due += node == ZKL_NODE_DELETE_DUE;
    tally->creates_behind += node == ZKL_NODE_CREATE_BEHIND;
    tally->creates_batched += node == ZKL_NODE_CREATE_BATCHED;
}

static void check_tally(subject of, const zkl_line *line) {
    zkl_tally tally = {.bounded = 0};
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        tally.waiting[c->terms.kind] += c->phase == ZKL_WAITING;
        tally.held[c->terms.kind] += c->phase == ZKL_HELD;
        tally.bounded += c->phase == ZKL_WAITING && c->terms.max_waiting;
        count_dispatch(&tally.dispatch, c->node);
    }
    must(of, memcmp(&tally, &line->tally, sizeof tally) == 0,
         "a line knows how many of its members wait and hold");
}

/* ---- every waiter has a wake-up ---- */

static bool is_list_coming(const zkl_line *line) {
    return zkl_line_is_listed(line) || line->retry.at;
}

static const zkl_child *child_of_sequence(const zkl_line *line, int32_t sequence) {
    const zkl_snapshot *snapshot = &line->snapshot;
    const size_t index = zkl_snapshot_from(snapshot, sequence);
    const zkl_child *child = snapshot->children ? snapshot->children + index : NULL;
    return index < snapshot->count && child && child->sequence == sequence ? child : NULL;
}

/* More than one child may have that sequence. */
static bool is_blocker_told(const zkl_line *line, int32_t sequence) {
    const zkl_child *child = child_of_sequence(line, sequence);
    const zkl_child *end = line->snapshot.children + line->snapshot.count;
    for (; child && child < end && child->sequence == sequence; child++)
        if (child->mine || child->watch == ZKL_WATCH_ASKED || child->watch == ZKL_WATCH_ARMED)
            return true;
    return false;
}

static void check_waiting_there(subject of, const zkl_line *line, const zkl_contender *c) {
    const bool listed = is_list_coming(line) || c->post.round == &c->common->lists;
    switch (c->queue.position) {
    case ZKL_POSITION_UNKNOWN:
        must(of, is_list_coming(line), "who does not know its position gets a list");
        break;
    case ZKL_POSITION_FIRST:
        must(of,
             is_list_coming(line) || line->acl_asked || c->watch == ZKL_WATCH_ASKED || c->reading ||
                 c->context->valid_until <= zkl_context_now(c->context),
             "who is first waits for the ACL, for its own node, or for validity");
        break;
    case ZKL_POSITION_BEHIND:
        must(of, line->freshness.stale || child_of_sequence(line, c->queue.blocker),
             "nobody waits for one who is known to be gone");
        must(of, listed || is_blocker_told(line, c->queue.blocker),
             "who waits for a blocker is told when it goes");
        break;
    case ZKL_POSITION_FULL:
        must(of, listed || line->directory_watch == ZKL_WATCH_ARMED,
             "who waits for fewer leases is told when one goes");
        break;
    }
}

/* Only with a link. Without one zkl_line_resume continues. */
static void check_is_run_again(subject of, const zkl_line *line, const zkl_contender *c) {
    if (!zkl_context_is_linked(c->context) || c->phase != ZKL_WAITING)
        return;
    switch (c->node) {
    case ZKL_NODE_NONE: /* a compound's parts wait for each other */
        must(of, c->is_part || line->retry.at, "who has no node gets one");
        break;
    case ZKL_NODE_UNKNOWN:
        must(of, is_list_coming(line) || c->recovery.search != ZKL_SEARCH_NONE,
             "a lost node is looked for");
        break;
    case ZKL_NODE_THERE:
        check_waiting_there(of, line, c);
        break;
    case ZKL_NODE_CREATE_DUE: /* the outbox sends it */
    case ZKL_NODE_CREATE_BEHIND:
    case ZKL_NODE_DELETE_DUE:
    case ZKL_NODE_CREATE_SENT: /* the answer comes */
    case ZKL_NODE_CREATE_BATCHED:
    case ZKL_NODE_CREATE_TRANSACTED:
    case ZKL_NODE_DELETE_SENT:
    case ZKL_NODE_DELETE_BATCHED:
        break;
    }
}

/* ---- a shared node ---- */

static bool is_idle(const zkl_shared_node *shared) {
    return shared->contender->phase == ZKL_HELD && !shared->holders.first && !shared->waiting.first;
}

/* It holds, with no caller, while callers wait. */
static bool is_handed_on_soon(const zkl_shared_node *shared) {
    const zkl_context *context = shared->context;
    return !zkl_context_is_linked(context) || zkl_line_is_listed(shared->line) ||
           shared->contender->watch == ZKL_WATCH_ASKED ||
           context->valid_until <= zkl_context_now(context);
}

static void check_sharers(subject of, const zkl_shared_node *shared) {
    must(of, shared->kind == ZKL_KIND_READ || shared->holders.first == shared->holders.last,
         "only readers hold a shared node together");
    ZKL_EACH (const zkl_contender, c, &shared->holders, member) {
        const zkl_sharer *sharer = ZKL_CONTAINER_OF(c, const zkl_sharer, contender);
        must(of,
             c->phase == ZKL_HELD && sharer->turn &&
                 sharer->turn <= shared->before + shared->turn &&
                 c->token == shared->contender->token && !c->line && sharer->shared == shared,
             "who holds a shared node has a turn on it");
    }
    ZKL_EACH (const zkl_contender, c, &shared->resting, member) {
        const zkl_sharer *sharer = ZKL_CONTAINER_OF(c, const zkl_sharer, contender);
        must(of, c->phase == ZKL_OVER && sharer->shared == shared && sharer->rested,
             "who rests on a shared node has given it back");
    }
    size_t waiters = 0, impatient = 0, bounded = 0;
    ZKL_EACH (const zkl_contender, c, &shared->waiting, member) {
        waiters++;
        impatient += c->terms.once;
        bounded += c->terms.max_waiting != 0;
        const zkl_sharer *sharer = ZKL_CONTAINER_OF(c, const zkl_sharer, contender);
        must(of, c->phase == ZKL_WAITING && !c->line && !sharer->turn && sharer->shared == shared,
             "who waits for a shared node has no turn yet");
    }
    must(of,
         waiters == shared->waiters && impatient == shared->impatient &&
             bounded == invariants_count(&shared->bounded),
         "those who wait for a shared node are counted");
    must(of, !shared->impatient || shared->context->port, "a single try does not wait for a link");
}

static void check_shared_node(const zkl_line *line, const zkl_shared_node *shared) {
    const zkl_contender *node = shared->contender;
    must((subject){line, NULL}, node && shared->line == line && !shared->dirty,
         "a shared node has a node, and was looked at");
    const subject of = {line, node};
    const bool held = node->phase == ZKL_HELD;
    must(of,
         node->line == line && node->listener == &shared->node_listener &&
             (held || node->phase == ZKL_WAITING),
         "a shared node's node is in its line");
    must(of, held == shared->entered, "a shared node is entered when its node is held");
    must(of, held || (!shared->holders.first && !shared->turn),
         "nobody holds a shared node that queues");
    must(of, held || shared->waiting.first, "a shared node that nobody waits for does not queue");
    must(of, held || !shared->timer.at, "a shared node that queues has no time to keep");
    must(of, shared->idle == is_idle(shared), "a shared node is idle when nobody here wants it");
    must(of,
         !shared->idle ||
             (!shared->sealed && !node->revoked && zkl_context_is_linked(shared->context)),
         "an idle shared node is open");
    must(of,
         !shared->idle || shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE ||
             (shared->remote_waiters == ZKL_REMOTE_WAITERS_UNKNOWN && zkl_line_is_listed(line)),
         "an idle shared node goes when somebody stands behind it");
    must(of,
         shared->remote_waiters != ZKL_REMOTE_WAITERS_NONE || line->freshness.current ||
             (shared->kind == ZKL_KIND_READ && !shared->idle),
         "that nobody is behind a shared node is known by the watch on the directory");
    must(of, !held || shared->holders.first || !shared->waiting.first || is_handed_on_soon(shared),
         "who waits for a shared node that nobody holds gets it");
    must(of,
         !shared->under || (shared->kind == ZKL_KIND_READ && shared->under->lent == shared &&
                            shared->under->holders.first && shared->under->sealed),
         "a shared node under a write has it lent");
    must(of, !shared->lent || shared->lent->under == shared,
         "a shared node that is lent is under a write");
    check_sharers(of, shared);
}

/* ---- a line ---- */

/* Each child that is marked as ours belongs to a member with that name. */
static void check_snapshot(subject of, const zkl_line *line) {
    const zkl_snapshot *snapshot = &line->snapshot;
    size_t marked = 0, members = 0;
    for (size_t i = 0; i < snapshot->count; i++)
        marked += snapshot->children[i].mine != NULL;
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        const size_t index = c->name ? zkl_snapshot_find(snapshot, c->name) : ZKL_NOT_FOUND;
        members += index != ZKL_NOT_FOUND && snapshot->children[index].mine == c;
    }
    must(of, marked == members, "a child that is marked as ours is a member's node");
    for (size_t i = 1; i < snapshot->count; i++)
        must(of, snapshot->children[i - 1].sequence <= snapshot->children[i].sequence,
             "the snapshot is in order");
}

static bool has_watches(const zkl_line *line) {
    return line->directory_watch != ZKL_WATCH_NONE || zkl_line_watched_bytes(line) > 0;
}

void invariants_check_line(const zkl_line *line) {
    const subject of = {line, NULL};
    const zkl_context *context = line->context;
    must(of, !line->followers.marked.first && !line->too_many,
         "what the step has marked is done at its end");
    must(of, line->directory_watch != ZKL_WATCH_ASKED,
         "the watch on the directory stands as armed when it is sent");
    must(of, !line->idle, "an idle line is freed, or something stands against it");
    must(of, line->members.first || has_watches(line),
         "a line that nobody is in stays only for its watches");
    must(of,
         !line->list_wanted || !zkl_context_is_linked(context) || !line->members.first ||
             is_list_coming(line),
         "a list that is wanted is sent");
    must(of, context->acl != ZKL_ACL_OPEN || (!line->acl_asked && !line->acl_checked.czxid),
         "with OPEN nodes no ACL is read");
    must(of,
         !line->freshness.current ||
             (line->directory_watch == ZKL_WATCH_ARMED && !line->freshness.stale),
         "a current snapshot is watched");
    check_snapshot(of, line);
    ZKL_EACH (const zkl_listener, listener, &line->listeners, item) {
        check_shared_node(line, ZKL_CONTAINER_OF(listener, zkl_shared_node, listener));
    }
    check_followers(of, line);
    check_tally(of, line);
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        const subject member = {line, c};
        must(member, c->line == line && c->common == line->common, "a member knows its line");
        check_phase(member, c);
        check_node(member, c);
        check_dispatch(member, c);
        check_position(member, c);
        check_follower(member, line, c);
        check_is_run_again(member, line, c);
    }
}
