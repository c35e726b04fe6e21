/* SPDX-License-Identifier: MIT */
#include "line/followers.h"

#include "base/transitions.h"

/* If several children have one sequence, the first of them has the followers of all: a waiter waits
 * for a sequence. When one of these children goes, all of its waiters are evaluated. */
static zkl_child *keeper(const zkl_followers *followers, int32_t sequence) {
    const zkl_snapshot *snapshot = followers->snapshot;
    return &snapshot->children[zkl_snapshot_from(snapshot, sequence)];
}

/* The list that it is in, if it follows a child. */
static zkl_list *list_of(zkl_followers *followers, const zkl_contender *c) {
    if (c->queue.follows == ZKL_FOLLOWS_BLOCKER)
        return &keeper(followers, c->queue.blocker)->followers;
    return c->queue.follows == ZKL_FOLLOWS_LEASES ? &followers->full : &followers->marked;
}

/* For the trace. */
typedef struct following {
    const zkl_followers *followers;
    const zkl_contender *c;
} following;

/* The node is the one that the waiter follows, or has followed, and not its own. */
static void describe(const void *object, zkl_transition move, zkl_subject *subject) {
    const following *it = object;
    const bool behind = move.from == ZKL_FOLLOWS_BLOCKER || move.to == ZKL_FOLLOWS_BLOCKER;
    zkl_contender_describe(it->c, move, subject);
    subject->node = behind ? keeper(it->followers, it->c->queue.blocker)->name : NULL;
}

static zkl_transitions transitions = {
    .of = "follows",
    .names = {"NOBODY", "BLOCKER", "LEASES", "MARKED"},
    .legal =
        {
            [ZKL_FOLLOWS_NOBODY] = ZKL_TO(ZKL_FOLLOWS_BLOCKER) | ZKL_TO(ZKL_FOLLOWS_LEASES) |
                                   ZKL_TO(ZKL_FOLLOWS_MARKED),
            [ZKL_FOLLOWS_BLOCKER] = ZKL_TO(ZKL_FOLLOWS_NOBODY),
            [ZKL_FOLLOWS_LEASES] = ZKL_TO(ZKL_FOLLOWS_NOBODY),
            [ZKL_FOLLOWS_MARKED] = ZKL_TO(ZKL_FOLLOWS_NOBODY),
        },
    .describe = describe,
};

static void set_follows(const zkl_followers *followers, zkl_contender *c, zkl_follows follows) {
    zkl_transitions_make(&transitions, (zkl_transition){c->queue.follows, follows},
                         c->context->trace, &(following){followers, c});
    c->queue.follows = follows;
}

static void enter(zkl_followers *followers, zkl_contender *c, zkl_follows follows) {
    set_follows(followers, c, follows);
    zkl_list_append(list_of(followers, c), &c->queue.follower);
}

static void quit(zkl_followers *followers, zkl_contender *c) {
    if (c->queue.follows != ZKL_FOLLOWS_NOBODY)
        zkl_list_remove(list_of(followers, c), &c->queue.follower);
    set_follows(followers, c, ZKL_FOLLOWS_NOBODY);
}

void zkl_followers_wait(zkl_followers *followers, zkl_contender *c, const zkl_child *blocker) {
    c->queue.blocker = blocker->sequence;
    enter(followers, c, ZKL_FOLLOWS_BLOCKER);
}

void zkl_followers_wait_next(zkl_followers *followers, zkl_contender *c, const zkl_child *second) {
    zkl_followers_forget_next(followers, c);
    c->queue.has_second = true;
    c->queue.second = second->sequence;
    zkl_list_append(&keeper(followers, c->queue.second)->next_followers, &c->queue.next_follower);
}

void zkl_followers_wait_any(zkl_followers *followers, zkl_contender *c) {
    enter(followers, c, ZKL_FOLLOWS_LEASES);
}

void zkl_followers_forget_next(zkl_followers *followers, zkl_contender *c) {
    if (c->queue.has_second)
        zkl_list_remove(&keeper(followers, c->queue.second)->next_followers,
                        &c->queue.next_follower);
    c->queue.has_second = false;
}

void zkl_followers_leave(zkl_followers *followers, zkl_contender *c) {
    quit(followers, c);
    zkl_followers_forget_next(followers, c);
}

static void mark_all(zkl_followers *followers, zkl_list *list) {
    zkl_contender *c;
    while ((c = ZKL_FIRST(list, zkl_contender, queue.follower))) {
        quit(followers, c);
        enter(followers, c, ZKL_FOLLOWS_MARKED);
        zkl_contender_set_position(c, ZKL_POSITION_UNKNOWN);
    }
}

void zkl_followers_mark(zkl_followers *followers, const zkl_child *child) {
    mark_all(followers, &keeper(followers, child->sequence)->followers);
    if (child->kind == ZKL_KIND_LEASE)
        mark_all(followers, &followers->full);
}

zkl_contender *zkl_followers_take_marked(zkl_followers *followers) {
    zkl_contender *c = ZKL_FIRST(&followers->marked, zkl_contender, queue.follower);
    if (c)
        quit(followers, c);
    return c;
}

zkl_list zkl_followers_take_next(zkl_followers *followers, const zkl_child *child) {
    zkl_list *list = &keeper(followers, child->sequence)->next_followers;
    const zkl_list taken = *list;
    *list = (zkl_list){0};
    return taken;
}

static void clear_next(zkl_child *child) {
    zkl_contender *c;
    while ((c = ZKL_FIRST(&child->next_followers, zkl_contender, queue.next_follower))) {
        zkl_list_remove(&child->next_followers, &c->queue.next_follower);
        c->queue.has_second = false;
    }
}

static void clear_list(zkl_followers *followers, zkl_list *list) {
    zkl_contender *c;
    while ((c = ZKL_FIRST(list, zkl_contender, queue.follower)))
        quit(followers, c);
}

void zkl_followers_clear(zkl_followers *followers) {
    const zkl_snapshot *snapshot = followers->snapshot;
    for (size_t i = 0; i < snapshot->count; i++) {
        zkl_child *child = &snapshot->children[i];
        clear_list(followers, &child->followers);
        clear_next(child);
    }
    clear_list(followers, &followers->full);
    clear_list(followers, &followers->marked);
}
