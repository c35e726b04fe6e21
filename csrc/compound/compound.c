#include "compound/compound.h"

#include "base/timer.h"
#include "line/answer.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "line/evaluate.h"
#include "line/line.h"
#include "line/line_state.h"
#include "line/send.h"
#include "port/receiver.h"
#include "port/wire.h"
#include "recipe/znode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* Before the whole enters its lines again, once it has done so at once too often. */
#define AGAIN_PAUSE (ZKL_SECOND / 10)

typedef struct compound_lock compound_lock;

struct compound_lock {
    zkl_contender head; /* the host's; it is in no line */
    zkl_compound compound;
    zkl_receiver receiver; /* gets the transaction's answer */
    zkl_lines *lines;
    char **paths; /* of a multilock: of its parts; of a semaphore: of the gate, and of the leases */
    size_t path_count;
    size_t leases; /* 0: it is a multilock */

    zkl_contender *gate;   /* of a semaphore that waits */
    zkl_contender **parts; /* NULL: that part is not in its line yet */
    size_t count;

    bool dirty; /* in common->dirty_compounds */
    zkl_list_item item;
    bool wanted;      /* the parts' nodes have to be created */
    unsigned entries; /* how often the whole has entered its lines again */
    zkl_timer again;  /* it is in no line, but in common->pausing, before this fires */
    zkl_list_item pause;
    bool unmarked; /* the transaction makes no mark: in the first directory we may not delete */
};

static compound_lock *lock_of(zkl_contender *head) {
    return ZKL_CONTAINER_OF(head, compound_lock, head);
}

static compound_lock *lock_around(zkl_compound *compound) {
    return ZKL_CONTAINER_OF(compound, compound_lock, compound);
}

/* Something has happened to a part: the end of the step sees what follows for the whole. */
static void stir(compound_lock *lock) {
    if (lock->dirty)
        return;
    lock->dirty = true;
    zkl_list_append(&lock->head.common->dirty_compounds, &lock->item);
}

static void part_changed(zkl_compound *compound) {
    stir(lock_around(compound));
}

/* The gate is held only while its semaphore waits for leases: whoever wants it back has nothing to
 * ask of the host. */
static void part_revoked(zkl_compound *compound, zkl_contender *part) {
    compound_lock *lock = lock_around(compound);
    if (part != lock->gate)
        zkl_contender_revoked(&lock->head);
}

static void nodes_wanted(zkl_compound *compound) {
    compound_lock *lock = lock_around(compound);
    lock->wanted = true;
    stir(lock);
}

/* ---- parts ---- */

static void nobody_hears(zkl_compound *compound) {
    (void)compound;
}

static void nobody_is_asked(zkl_compound *compound, zkl_contender *part) {
    (void)compound;
    (void)part;
}

/* Lets go of a part, which goes on alone until its node is gone: nobody is told of it any more. The
 * caller settles its line. */
static void let_go(zkl_contender **part) {
    static zkl_compound nobody = {nobody_hears, nobody_is_asked, NULL};
    zkl_contender *c = *part;
    *part = NULL;
    if (!c)
        return;
    if (c->compound->wanted && c->node == ZKL_NODE_ASKED)
        zkl_line_create_unknown(c); /* the transaction's answer will not find it */
    c->compound = &nobody;
    zkl_line_drop_part(c);
}

static void settle_at(compound_lock *lock, const char *path) {
    zkl_line *line = zkl_lines_find(lock->lines, path);
    if (line)
        zkl_line_settle(line);
}

static void end_pause(compound_lock *lock) {
    if (lock->again.at)
        zkl_list_remove(&lock->head.common->pausing, &lock->pause);
    zkl_timer_clear(&lock->head.context->timers, &lock->again);
}

/* All leave before a line is settled: no part is granted because another part has left. */
static void all_have_left(compound_lock *lock) {
    for (size_t i = 0; i < lock->path_count; i++)
        settle_at(lock, lock->paths[i]);
    zkl_receiver_leave(&lock->head.context->receivers, &lock->receiver);
    end_pause(lock);
}

static void let_all_go(compound_lock *lock) {
    let_go(&lock->gate);
    for (size_t i = 0; i < lock->count; i++)
        let_go(&lock->parts[i]);
    all_have_left(lock);
}

/* The same of one that was held. The end of its nodes shows whether it had lost: `heard` takes them
 * out. */
static void let_go_in_doubt(compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        zkl_doubt_begin(&lock->head, part);
        let_go(&lock->parts[i]);
        lock->parts[i] = part;
    }
    all_have_left(lock);
}

static zkl_testimony heard(zkl_contender *head, const zkl_contender *witness) {
    compound_lock *lock = lock_of(head);
    size_t left = 0;
    bool found = false;
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->parts[i] == witness) {
            lock->parts[i] = NULL;
            found = true;
        }
        left += lock->parts[i] != NULL;
    }
    if (!found)
        return ZKL_TESTIMONY_NONE;
    return left ? ZKL_TESTIMONY_ONE : ZKL_TESTIMONY_LAST;
}

static zkl_contender *join_part(compound_lock *lock, const char *path, zkl_kind kind) {
    const zkl_terms terms = {
        .kind = kind,
        .permits = lock->head.terms.permits,
        .deadline = ZKL_NEVER, /* the head has the deadline */
        .once = lock->head.terms.once,
    };
    zkl_line *line = zkl_lines_at(lock->lines, path);
    return line ? zkl_line_join_part(line, &terms, &lock->compound) : NULL;
}

/* false: no memory */
static bool join_parts(compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        const char *path = lock->leases ? lock->paths[1] : lock->paths[i];
        lock->parts[i] = join_part(lock, path, lock->leases ? ZKL_KIND_LEASE : ZKL_KIND_LOCK);
        if (!lock->parts[i])
            return false;
    }
    return true;
}

static bool enter(compound_lock *lock) {
    if (!lock->leases)
        return join_parts(lock);
    lock->gate = join_part(lock, lock->paths[0], ZKL_KIND_LOCK);
    return lock->gate != NULL;
}

/* ---- the moves of the head ---- */

static void fail(compound_lock *lock, zkl_status status) {
    let_all_go(lock);
    zkl_contender_failed(&lock->head, status);
}

static void lose(compound_lock *lock) {
    let_all_go(lock);
    zkl_contender_lost(&lock->head);
}

static void give_back(compound_lock *lock) {
    zkl_contender_released(&lock->head);
    let_all_go(lock);
}

static void enter_or_fail(compound_lock *lock) {
    if (!enter(lock))
        fail(lock, ZKL_NO_MEMORY);
}

static void pause_over(zkl_timer *timer) {
    compound_lock *lock = ZKL_CONTAINER_OF(timer, compound_lock, again);
    zkl_list_remove(&lock->head.common->pausing, &lock->pause);
    enter_or_fail(lock);
}

static void begin_pause(compound_lock *lock) {
    zkl_context *context = lock->head.context;
    zkl_list_append(&lock->head.common->pausing, &lock->pause);
    zkl_timer_set(&context->timers, &lock->again, zkl_context_now(context) + AGAIN_PAUSE);
}

/* At once, unless it has lost its nodes too often. */
static void enter_again(compound_lock *lock) {
    let_all_go(lock);
    lock->wanted = false;
    if (lock->entries++ < ZKL_AT_ONCE)
        enter_or_fail(lock);
    else
        begin_pause(lock);
}

static void set_timer(compound_lock *lock, zkl_nanos at) {
    zkl_timer_set(&lock->head.context->timers, &lock->head.timer, at);
}

/* The last of its parts was granted in this step: so validity is above 0. */
static void grant(compound_lock *lock) {
    zkl_contender *head = &lock->head;
    head->token = lock->parts[0]->token;
    zkl_contender_granted(head);
    set_timer(lock, head->hold_until);
    if (!lock->leases)
        return;
    let_go(&lock->gate);
    settle_at(lock, lock->paths[0]);
}

/* ---- the transaction ---- */

/* Is it unknown of a part whether its parents are there? Then the transaction may have failed
 * because of those, and says nothing of the others'. */
static bool is_unheard(const compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++)
        if (lock->parts[i]->line->parents.unheard)
            return true;
    return false;
}

static void answered(zkl_receiver *receiver, const zkl_return *back, const zkl_reply *reply) {
    (void)back;
    compound_lock *lock = ZKL_CONTAINER_OF(receiver, compound_lock, receiver);
    zkl_reply own = *reply;
    if (reply->rc == ZNOAUTH && !lock->unmarked) {
        lock->unmarked = true; /* perhaps only that was denied */
        own.rc = ZTHROTTLEDOP; /* so that the parts ask again */
    }
    const bool unheard = reply->rc == ZNONODE && is_unheard(lock);
    for (size_t i = 0; i < lock->count; i++) {
        if (unheard)
            own.rc = lock->parts[i]->line->parents.unheard ? ZNONODE : ZTHROTTLEDOP;
        own.path = reply->rc == ZOK ? reply->names[i] : NULL;
        zkl_line_created(lock->parts[i], &own);
    }
}

/* The answer to a transaction does not tell the czxid of a node that it creates, but the mzxid of
 * one that it writes to, which is the same number. So a node is created for that, written to, and
 * deleted before the transaction ends. */
static char *mark_path(const compound_lock *lock) {
    char name[ZKL_ZNODE_SIZE], *path = NULL;
    zkl_znode_make_mark(name, (zkl_guid){lock->head.context->guid, lock->receiver.id});
    return asprintf(&path, "%s/%s", lock->paths[0], name) < 0 ? NULL : path;
}

static int send_batch(compound_lock *lock, char **paths) {
    zkl_context *context = lock->head.context;
    for (size_t i = 0; i < lock->count; i++) {
        paths[i] = zkl_send_new_path(lock->parts[i]);
        if (!paths[i])
            return ZMARSHALLINGERROR;
    }
    zkl_receiver_enter(&context->receivers, &lock->receiver);
    char *mark = lock->unmarked ? NULL : mark_path(lock);
    if (!mark && !lock->unmarked)
        return ZMARSHALLINGERROR;
    const zkl_batch batch = {
        .paths = (const char *const *)paths,
        .count = lock->count,
        .data = context->identifier,
        .mark = mark,
    };
    const int rc = context->port->call->create_all(context->port, &batch, context->acl,
                                                   (zkl_return){lock->receiver.id, 0, 0});
    free(mark);
    return rc;
}

static void make_nodes(compound_lock *lock) {
    char **paths = calloc(lock->count ? lock->count : 1, sizeof *paths);
    const int rc = paths ? send_batch(lock, paths) : ZMARSHALLINGERROR;
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        if (rc == ZOK)
            zkl_contender_set_node(part, ZKL_NODE_ASKED);
        else
            zkl_line_retry_later(part->line);
    }
    for (size_t i = 0; i < lock->count; i++) /* the lists come after the nodes */
        zkl_line_settle(lock->parts[i]->line);
    for (size_t i = 0; paths && i < lock->count; i++)
        free(paths[i]);
    free(paths);
}

/* Are the parents of a part to be created first, after a pause? */
static bool is_held_up(const compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++)
        if (lock->parts[i]->line->parents_due)
            return true;
    return false;
}

/* All nodes are created together: before that all must be gone, and what became of each create must
 * be known. */
static void want_nodes(compound_lock *lock) {
    size_t none = 0, there = 0;
    for (size_t i = 0; i < lock->count; i++) {
        none += lock->parts[i]->node == ZKL_NODE_NONE;
        there += lock->parts[i]->node == ZKL_NODE_THERE;
    }
    if (none + there < lock->count)
        return; /* an answer is on its way, and calls stir */
    if (is_held_up(lock))
        return; /* the line's retry is to come, and calls stir */
    lock->wanted = false;
    if (there)
        enter_again(lock);
    else if (lock->head.context->port)
        make_nodes(lock); /* without a link: zkl_line_resume wants them again */
}

/* ---- steps ---- */

/* Of two parts that are over the one that says more: a failure says more than a loss, after which
 * the whole enters again. */
static const zkl_contender *worse(const zkl_contender *a, const zkl_contender *b) {
    if (!b || b->phase != ZKL_OVER)
        return a;
    return !a || a->outcome == ZKL_LOST ? b : a;
}

static const zkl_contender *ended_part(const compound_lock *lock) {
    const zkl_contender *ended = worse(NULL, lock->gate);
    for (size_t i = 0; i < lock->count; i++)
        ended = worse(ended, lock->parts[i]);
    return ended;
}

static bool all_held(const compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++)
        if (!lock->parts[i] || lock->parts[i]->phase != ZKL_HELD)
            return false;
    return true;
}

static void step_held(compound_lock *lock) {
    const zkl_contender *ended = ended_part(lock);
    if (ended && ended->outcome == ZKL_OK)
        give_back(lock); /* the client is closing */
    else if (ended)
        lose(lock);
}

/* Is it the turn of a semaphore to create its leases? A multilock has had its parts from the
 * beginning. */
static bool is_let_in(const compound_lock *lock) {
    return !lock->parts[0] && lock->gate && lock->gate->phase == ZKL_HELD;
}

/* false: there is more to do, in the next step. */
static bool step_waiting(compound_lock *lock) {
    const zkl_contender *ended = ended_part(lock);
    if (ended && ended->outcome == ZKL_LOST)
        enter_again(lock);
    else if (ended)
        fail(lock, ended->outcome == ZKL_OK ? ZKL_CLOSED : ended->outcome);
    else if (all_held(lock))
        grant(lock);
    else if (is_let_in(lock) && !join_parts(lock))
        fail(lock, ZKL_NO_MEMORY);
    else if (lock->wanted)
        want_nodes(lock);
    return !lock->wanted;
}

void zkl_compounds_step(zkl_line_common *common) {
    zkl_list later = {0};
    compound_lock *lock;
    while ((lock = ZKL_FIRST(&common->dirty_compounds, compound_lock, item))) {
        zkl_list_remove(&common->dirty_compounds, &lock->item);
        lock->dirty = false;
        if (lock->head.phase == ZKL_HELD) {
            step_held(lock);
        } else if (lock->head.phase == ZKL_WAITING && !step_waiting(lock) && !lock->dirty) {
            lock->dirty = true;
            zkl_list_append(&later, &lock->item);
        }
    }
    common->dirty_compounds = later;
}

void zkl_compounds_dismiss(zkl_line_common *common, zkl_status status) {
    ZKL_EACH (compound_lock, lock, &common->pausing, pause) {
        fail(lock, status);
    }
}

/* ---- the host's side ---- */

static zkl_status release(zkl_contender *head) {
    compound_lock *lock = lock_of(head);
    if (head->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (head->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    const zkl_status status = zkl_doubt_about(head);
    if (status == ZKL_LOST) {
        lose(lock);
    } else if (status == ZKL_UNKNOWN && head->hosted) {
        zkl_contender_released(head);
        let_go_in_doubt(lock);
    } else {
        give_back(lock);
    }
    return status;
}

static void cancel(zkl_contender *head, zkl_status status) {
    if (head->phase == ZKL_WAITING)
        fail(lock_of(head), status);
}

static void drop(zkl_contender *head) {
    const zkl_phase phase = head->phase;
    if (phase != ZKL_OVER)
        head->context->counters.abandoned++;
    zkl_doubt_drop(head);
    zkl_contender_unhost(head); /* frees it at the end of the step */
    cancel(head, ZKL_CANCELLED);
    release(head);
}

static zkl_contender *part(zkl_contender *head, size_t index) {
    const compound_lock *lock = lock_of(head);
    return index < lock->count ? lock->parts[index] : NULL;
}

static void free_lock(zkl_contender *head) {
    compound_lock *lock = lock_of(head);
    for (size_t i = 0; lock->paths && i < lock->path_count; i++)
        free(lock->paths[i]);
    free(lock->paths);
    free(lock->parts);
    free(lock);
}

static void head_timer(zkl_timer *timer) {
    zkl_contender *head = ZKL_CONTAINER_OF(timer, zkl_contender, timer);
    if (head->phase == ZKL_WAITING)
        fail(lock_of(head), head->context->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
    else
        lose(lock_of(head));
}

static compound_lock *lock_new(zkl_lines *lines, const char *const *paths, size_t path_count,
                               size_t parts) {
    compound_lock *lock = calloc(1, sizeof *lock);
    if (!lock)
        return NULL;
    lock->head.common = &lines->common;
    lock->lines = lines;
    lock->path_count = path_count;
    lock->count = parts;
    lock->receiver.answer = answered;
    lock->again.fire = pause_over;
    lock->paths = calloc(path_count, sizeof *lock->paths);
    lock->parts = calloc(parts, sizeof *lock->parts);
    bool complete = lock->paths && lock->parts;
    for (size_t i = 0; complete && i < path_count; i++)
        complete = (lock->paths[i] = strdup(paths[i])) != NULL;
    if (!complete) {
        free_lock(&lock->head);
        return NULL;
    }
    return lock;
}

/* Are all its nodes created by one request that the servers take? */
static bool fits(const compound_lock *lock) {
    const zkl_context *context = lock->head.context;
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){context->guid, 0}, ZKL_KIND_LOCK);
    const size_t data = strlen(context->identifier), below = 1 + strlen(name);
    size_t bytes = zkl_wire_batch(strlen(lock->paths[0]) + below, context->acl);
    for (size_t i = 0; i < lock->count; i++)
        bytes += zkl_wire_create(strlen(lock->paths[i]) + below, data, context->acl);
    return bytes <= ZKL_WIRE_MOST;
}

static zkl_contender *start(compound_lock *lock, uint64_t tag, const zkl_terms *terms) {
    static const zkl_contender_table table = {release,   release, cancel, drop,
                                              free_lock, part,    heard};
    zkl_contender *head = &lock->head;
    zkl_contender_init(head, head->common, tag, terms, NULL);
    head->call = &table;
    head->timer.fire = head_timer;
    set_timer(lock, terms->once ? ZKL_NEVER : terms->deadline);
    if (!lock->leases && !fits(lock))
        fail(lock, ZKL_TOO_BIG);
    else if (!enter(lock))
        fail(lock, ZKL_NO_MEMORY);
    return head;
}

zkl_contender *zkl_compound_join_all(zkl_lines *lines, const char *const *paths, size_t count,
                                     uint64_t tag, const zkl_terms *terms) {
    compound_lock *lock = lock_new(lines, paths, count, count);
    if (!lock)
        return NULL;
    lock->compound = (zkl_compound){part_changed, part_revoked, nodes_wanted};
    return start(lock, tag, terms);
}

zkl_contender *zkl_compound_join_leases(zkl_lines *lines, const char *gate, const char *leases,
                                        size_t count, uint64_t tag, const zkl_terms *terms) {
    compound_lock *lock = lock_new(lines, (const char *const[]){gate, leases}, 2, count);
    if (!lock)
        return NULL;
    lock->leases = count;
    lock->compound = (zkl_compound){part_changed, part_revoked, NULL};
    return start(lock, tag, terms);
}
