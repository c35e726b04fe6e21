#include "queue/compound.h"

#include "queue/sending.h"
#include "port/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

typedef struct zkl_group zkl_group;

struct zkl_group {
    zkl_contender head; /* first: the host's pointer */
    zkl_whole whole;
    zkl_subject subject; /* gets the transaction's answer */
    zkl_lines *lines;
    char **paths; /* of a multilock; of a semaphore: the gate's, the leases' */
    size_t path_count;
    size_t leases; /* 0: it is a multilock */

    zkl_contender *gate;   /* of a semaphore that waits */
    zkl_contender **parts; /* NULL entries: not in the line yet */
    size_t count;

    bool restless; /* in floor->restless */
    zkl_group *next_restless;
    bool wanted; /* the nodes have to be made */
    bool
        unmarked; /* we may not delete in the first directory: the czxid has to be read off the nodes */
};

static zkl_group *group_of(zkl_contender *head) {
    return (zkl_group *)head;
}

static void stir(zkl_group *group) {
    zkl_floor *floor = group->head.floor;
    if (group->restless)
        return;
    group->restless = true;
    group->next_restless = floor->restless;
    floor->restless = group;
}

static void part_changed(zkl_whole *whole) {
    stir((zkl_group *)((char *)whole - offsetof(zkl_group, whole)));
}

/* Who asks for the gate back asks one who waits. */
static void part_revoked(zkl_whole *whole, zkl_contender *part) {
    zkl_group *group = (zkl_group *)((char *)whole - offsetof(zkl_group, whole));
    if (part != group->gate)
        zkl_contender_revoked(&group->head);
}

static void nodes_wanted(zkl_whole *whole) {
    zkl_group *group = (zkl_group *)((char *)whole - offsetof(zkl_group, whole));
    group->wanted = true;
    stir(group);
}

/* ---- parts ---- */

static void nobody_hears(zkl_whole *whole) {
    (void)whole;
}

static void nobody_is_asked(zkl_whole *whole, zkl_contender *part) {
    (void)whole;
    (void)part;
}

/* Lets go of a part, which goes on alone until its node is gone. */
static void let_go(zkl_contender **part) {
    static zkl_whole nobody = {nobody_hears, nobody_is_asked, NULL};
    zkl_contender *c = *part;
    *part = NULL;
    if (!c)
        return;
    if (c->whole->wanted && c->node == ZKL_NODE_ASKED)
        zkl_ask_lost(c); /* the transaction's answer will not find it */
    c->whole = &nobody;
    zkl_line_drop(c);
}

static void let_all_go(zkl_group *group) {
    let_go(&group->gate);
    for (size_t i = 0; i < group->count; i++)
        let_go(&group->parts[i]);
    group->wanted = false;
    zkl_subject_leave(&group->head.floor->subjects, &group->subject);
}

static zkl_contender *join_part(zkl_group *group, const char *path, zkl_kind kind) {
    const zkl_terms terms = {
        .kind = kind,
        .permits = group->head.terms.permits,
        .deadline = ZKL_NEVER, /* the head's counts */
        .once = group->head.terms.once,
    };
    zkl_line *line = zkl_lines_at(group->lines, path);
    return line ? zkl_line_join_part(line, &terms, &group->whole) : NULL;
}

/* false: no memory */
static bool join_parts(zkl_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        const char *path = group->leases ? group->paths[1] : group->paths[i];
        group->parts[i] = join_part(group, path, group->leases ? ZKL_KIND_LEASE : ZKL_KIND_LOCK);
        if (!group->parts[i])
            return false;
    }
    return true;
}

static bool enter(zkl_group *group) {
    if (!group->leases)
        return join_parts(group);
    group->gate = join_part(group, group->paths[0], ZKL_KIND_LOCK);
    return group->gate != NULL;
}

/* ---- the moves of the head ---- */

static void fail(zkl_group *group, zkl_status status) {
    let_all_go(group);
    zkl_contender_failed(&group->head, status);
}

static void lose(zkl_group *group) {
    let_all_go(group);
    zkl_contender_lost(&group->head);
}

static void enter_again(zkl_group *group) {
    let_all_go(group);
    if (!enter(group))
        fail(group, ZKL_NO_MEMORY);
}

static void set_timer(zkl_group *group, zkl_nanos at) {
    zkl_timer_set(&group->head.floor->timers, &group->head.timer, at);
}

/* Parts that were granted one after another: the trust of the first may have run out. */
static bool grant(zkl_group *group) {
    zkl_contender *head = &group->head;
    zkl_floor *floor = head->floor;
    if (floor->trusted_until <= zkl_floor_now(floor))
        return false; /* the heart beats as long as we wait */
    head->token = group->parts[0]->token;
    zkl_contender_granted(head);
    set_timer(group, head->hold_until);
    let_go(&group->gate);
    return true;
}

/* ---- the transaction ---- */

static void answered(zkl_subject *subject, const zkl_return *asked, const zkl_reply *reply) {
    (void)asked;
    zkl_group *group = (zkl_group *)((char *)subject - offsetof(zkl_group, subject));
    zkl_reply own = *reply;
    if (reply->rc == ZNOAUTH && !group->unmarked) {
        group->unmarked = true; /* perhaps only that was denied */
        own.rc = ZTHROTTLEDOP;  /* so that the parts ask again */
    }
    for (size_t i = 0; i < group->count; i++) {
        own.path = reply->rc == ZOK ? reply->names[i] : NULL;
        if (group->parts[i])
            zkl_line_created(group->parts[i], &own);
    }
}

/* The answer to a transaction tells no node's czxid, but the mzxid of one that is written to. The data of those that are
 * there is not ours, so one is made for that. It is gone with the transaction's end. */
static char *mark_path(const zkl_group *group) {
    char name[ZKL_ZNODE_SIZE], *path = NULL;
    zkl_znode_make_mark(name, (zkl_guid){group->head.floor->guid, group->subject.id});
    return asprintf(&path, "%s/%s", group->paths[0], name) < 0 ? NULL : path;
}

static int send_batch(zkl_group *group, char **paths) {
    zkl_floor *floor = group->head.floor;
    for (size_t i = 0; i < group->count; i++) {
        paths[i] = zkl_ask_new_path(group->parts[i]);
        if (!paths[i])
            return ZMARSHALLINGERROR;
    }
    zkl_subject_enter(&floor->subjects, &group->subject);
    char *mark = group->unmarked ? NULL : mark_path(group);
    if (!mark && !group->unmarked)
        return ZMARSHALLINGERROR;
    const zkl_batch batch = {
        .paths = (const char *const *)paths,
        .count = group->count,
        .data = floor->identifier,
        .mark = mark,
    };
    const int rc = floor->port->call->create_all(floor->port, &batch, floor->acl,
                                                 (zkl_return){group->subject.id, 0, 0});
    free(mark);
    return rc;
}

static void make_nodes(zkl_group *group) {
    char **paths = calloc(group->count ? group->count : 1, sizeof *paths);
    const int rc = paths ? send_batch(group, paths) : ZMARSHALLINGERROR;
    for (size_t i = 0; i < group->count; i++) {
        zkl_contender *part = group->parts[i];
        if (rc == ZOK)
            part->node = ZKL_NODE_ASKED;
        else
            zkl_ask_again_later(part->line);
    }
    for (size_t i = 0; i < group->count; i++) /* the lists come after the nodes */
        zkl_line_settle(group->parts[i]->line);
    for (size_t i = 0; paths && i < group->count; i++)
        free(paths[i]);
    free(paths);
}

/* All nodes are made together, so all must be gone before, and what became of them must be known. */
static void want_nodes(zkl_group *group) {
    size_t none = 0, there = 0;
    for (size_t i = 0; i < group->count; i++) {
        none += group->parts[i]->node == ZKL_NODE_NONE;
        there += group->parts[i]->node == ZKL_NODE_THERE;
    }
    if (none + there < group->count)
        return; /* an answer is on its way, and stirs us */
    group->wanted = false;
    if (there)
        enter_again(group);
    else if (group->head.floor->port)
        make_nodes(group); /* otherwise the next link wants them */
}

/* ---- steps ---- */

/* A failure says more than a loss, and a loss more than that it was given back, as it is when the client closes. */
static const zkl_contender *worse(const zkl_contender *a, const zkl_contender *b) {
    if (!b || b->phase != ZKL_OVER)
        return a;
    if (!a || a->outcome == ZKL_OK)
        return b;
    return a->outcome == ZKL_LOST && b->outcome != ZKL_OK ? b : a;
}

static const zkl_contender *ended_part(const zkl_group *group) {
    const zkl_contender *ended = worse(NULL, group->gate);
    for (size_t i = 0; i < group->count; i++)
        ended = worse(ended, group->parts[i]);
    return ended;
}

static bool all_held(const zkl_group *group) {
    for (size_t i = 0; i < group->count; i++)
        if (!group->parts[i] || group->parts[i]->phase != ZKL_HELD)
            return false;
    return true;
}

static void step_held(zkl_group *group) {
    const zkl_contender *ended = ended_part(group);
    if (ended && ended->outcome == ZKL_OK)
        group->head.call->release(&group->head); /* the client is closing */
    else if (ended)
        lose(group);
}

/* false: it has to be looked at again in the next step. */
static bool step_waiting(zkl_group *group) {
    const zkl_contender *ended = ended_part(group);
    if (ended && ended->outcome == ZKL_LOST)
        enter_again(group);
    else if (ended)
        fail(group, ended->outcome == ZKL_OK ? ZKL_CLOSED : ended->outcome);
    else if (all_held(group))
        return grant(group);
    else if (group->gate && group->gate->phase == ZKL_HELD && !group->parts[0] &&
             !join_parts(group))
        fail(group, ZKL_NO_MEMORY);
    else if (group->wanted)
        want_nodes(group);
    return !group->wanted;
}

void zkl_groups_step(zkl_floor *floor) {
    zkl_group *later = NULL;
    while (floor->restless) {
        zkl_group *group = floor->restless;
        floor->restless = group->next_restless;
        group->restless = false;
        if (group->head.phase == ZKL_HELD) {
            step_held(group);
        } else if (group->head.phase == ZKL_WAITING && !step_waiting(group) && !group->restless) {
            group->restless = true;
            group->next_restless = later;
            later = group;
        }
    }
    floor->restless = later;
}

/* ---- the host's side ---- */

static zkl_status release(zkl_contender *head) {
    zkl_group *group = group_of(head);
    if (head->phase == ZKL_OVER && head->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (head->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    zkl_contender_released(head);
    let_all_go(group);
    return ZKL_OK;
}

static void cancel(zkl_contender *head, zkl_status status) {
    if (head->phase == ZKL_WAITING)
        fail(group_of(head), status);
}

static void drop(zkl_contender *head) {
    const zkl_phase phase = head->phase;
    if (phase != ZKL_OVER)
        head->floor->counters.abandoned++;
    head->hosted = false;
    cancel(head, ZKL_CANCELLED);
    release(head);
    zkl_contender_unhost(head);
}

static void free_group(zkl_contender *head) {
    zkl_group *group = group_of(head);
    for (zkl_group **g = &head->floor->restless; *g; g = &(*g)->next_restless) {
        if (*g != group)
            continue;
        *g = group->next_restless;
        break;
    }
    for (size_t i = 0; group->paths && i < group->path_count; i++)
        free(group->paths[i]);
    free(group->paths);
    free(group->parts);
    free(group);
}

static void head_timer(zkl_timer *timer) {
    zkl_contender *head = (zkl_contender *)((char *)timer - offsetof(zkl_contender, timer));
    if (head->phase == ZKL_WAITING)
        fail(group_of(head), head->floor->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
    else if (head->phase == ZKL_HELD)
        lose(group_of(head));
}

static zkl_group *group_new(zkl_lines *lines, const char *const *paths, size_t path_count,
                            size_t parts) {
    zkl_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    group->head.floor = lines->floor;
    group->lines = lines;
    group->path_count = path_count;
    group->count = parts;
    group->subject.answer = answered;
    group->paths = calloc(path_count, sizeof *group->paths);
    group->parts = calloc(parts, sizeof *group->parts);
    bool whole = group->paths && group->parts;
    for (size_t i = 0; whole && i < path_count; i++)
        whole = (group->paths[i] = strdup(paths[i])) != NULL;
    if (!whole) {
        free_group(&group->head);
        return NULL;
    }
    return group;
}

/* Its nodes are made by one request, which the servers must be able to take. */
static bool fits(const zkl_group *group) {
    const zkl_floor *floor = group->head.floor;
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){floor->guid, 0}, ZKL_KIND_LOCK);
    const size_t data = strlen(floor->identifier), below = 1 + strlen(name);
    size_t bytes = zkl_wire_batch(strlen(group->paths[0]) + below, floor->acl);
    for (size_t i = 0; i < group->count; i++)
        bytes += zkl_wire_create(strlen(group->paths[i]) + below, data, floor->acl);
    return bytes <= ZKL_WIRE_MOST;
}

static zkl_contender *start(zkl_group *group, uint64_t tag, const zkl_terms *terms) {
    static const zkl_contender_table table = {release, cancel, drop, free_group};
    zkl_contender *head = &group->head;
    zkl_contender_init(head, head->floor, tag, terms, NULL);
    head->call = &table;
    head->timer.fire = head_timer;
    set_timer(group, terms->once ? ZKL_NEVER : terms->deadline);
    if (!group->leases && !fits(group))
        fail(group, ZKL_TOO_BIG);
    else if (!enter(group))
        fail(group, ZKL_NO_MEMORY);
    return head;
}

zkl_contender *zkl_group_join_all(zkl_lines *lines, const char *const *paths, size_t count,
                                  uint64_t tag, const zkl_terms *terms) {
    zkl_group *group = group_new(lines, paths, count, count);
    if (!group)
        return NULL;
    group->whole = (zkl_whole){part_changed, part_revoked, nodes_wanted};
    return start(group, tag, terms);
}

zkl_contender *zkl_group_join_leases(zkl_lines *lines, const char *gate, const char *leases,
                                     size_t count, uint64_t tag, const zkl_terms *terms) {
    zkl_group *group = group_new(lines, (const char *const[]){gate, leases}, 2, count);
    if (!group)
        return NULL;
    group->leases = count;
    group->whole = (zkl_whole){part_changed, part_revoked, NULL};
    return start(group, tag, terms);
}
