/* SPDX-License-Identifier: MIT */
#include "once/once.h"

#include "base/event.h"
#include "base/status.h"
#include "base/timer.h"
#include "line/line_state.h"
#include "nodes/node_request.h"
#include "recipe/znode.h"
#include "zklock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often somebody who does not hold may change the mark between our read and our write. */
#define ROUNDS_MOST 50
#define TOKEN_SIZE sizeof "-9223372036854775808"

/* The node requests of a round of reads; the write of the mark is the only one of its round. */
enum { TIME, MARK, LOCKS, LEASES, REQUESTS };
enum { WRITE = 0 };
/* Of TIME: creates, writes to and deletes a scratch node. */
enum { TIME_CREATE, TIME_SET, TIME_DELETE, TIME_OPS };

/* READING and WRITING go on when all node requests are answered (zkl_onces_step), PAUSED when the
 * timer fires. */
typedef enum stage { READING, WRITING, PAUSED } stage;

typedef struct request {
    zkl_once *once;
    zkl_node_request *node_request; /* NULL: there is none */
    zkl_status status;              /* the answer */
} request;

struct zkl_once {
    zkl_ask ask; /* always DUE until it is answered */
    zkl_onces *all;
    zkl_once_task task;
    bool malformed; /* the answer is ZKL_BAD_ARGUMENT */
    char token[TOKEN_SIZE];
    char *paths[REQUESTS]; /* full; TIME's is that of the scratch node */
    double seconds, left;
    zkl_nanos deadline;
    stage stage;
    request requests[REQUESTS];
    size_t open;      /* of them not answered */
    bool is_outdated; /* another one of the hold has written, perhaps after the mark was read */
    unsigned rounds;
    zkl_retry retry;
    char *text;     /* what the latest write of the mark says */
    int64_t before; /* mzxid of the mark before that write; 0: there was no mark */
    bool doubt;     /* nobody knows what became of that write */
    bool covered;   /* ... nor of an earlier one: somebody else has changed the mark since */
};

static void clear_requests(zkl_once *o) {
    for (size_t i = 0; i < REQUESTS; i++) {
        if (o->requests[i].node_request)
            zkl_ask_free(zkl_ask_of_request(o->requests[i].node_request));
        o->requests[i] = (request){.once = o, .status = ZKL_OK};
    }
    o->open = 0;
}

/* One that is due must not be done by a caller that has lost the lock meanwhile. */
static bool is_late(const zkl_once *o) {
    return o->task != ZKL_ONCE_MARK && o->left == 0 &&
           (!o->ask.held || o->ask.held->phase != ZKL_HELD);
}

static bool is_of_same_hold(const zkl_once *a, const zkl_once *b) {
    return a != b && a->ask.held && a->ask.held == b->ask.held;
}

/* It is known now what became of its write. A round of reads may have begun before, and ends later
 * if one read was throttled or cut off. With the mark that it shows, the other one would take this
 * write for its own: so it reads all again. */
static void outdate_others(const zkl_once *o) {
    ZKL_EACH (zkl_once, other, &o->all->asks.due, ask.item) {
        if (is_of_same_hold(o, other))
            other->is_outdated = true;
    }
}

static zkl_once *once_of(zkl_ask *ask) {
    return ZKL_CONTAINER_OF(ask, zkl_once, ask);
}

static zkl_status end(zkl_ask *ask, zkl_status status) {
    zkl_once *o = once_of(ask);
    o->doubt |= o->stage == WRITING && o->requests[WRITE].status == ZKL_UNKNOWN;
    if (o->doubt)
        outdate_others(o);
    if (status != ZKL_OK && (o->doubt || o->covered))
        status = ZKL_UNKNOWN;
    else if (status == ZKL_OK && is_late(o))
        status = ZKL_LOST;
    clear_requests(o);
    zkl_timer_clear(&ask->all->context->timers, &o->retry.timer);
    return status;
}

/* ---- node requests ---- */

static void answered(void *of, zkl_status status) {
    request *r = of;
    r->status = status;
    if (--r->once->open == 0)
        r->once->all->ready++;
}

static void start(zkl_once *o, size_t index, const zkl_wish *wish) {
    request *r = &o->requests[index];
    if (wish->several && !wish->guard) {
        r->status = ZKL_LOST; /* the contender is gone */
        return;
    }
    r->node_request = zkl_node_request_new(o->all->nodes, wish, 0);
    if (!r->node_request) {
        r->status = ZKL_NO_MEMORY;
        return;
    }
    zkl_ask *ask = zkl_ask_of_request(r->node_request);
    ask->told = answered;
    ask->of = r;
    zkl_ask_start(ask, o->deadline);
    o->open++;
}

static void read_at(zkl_once *o, size_t index, zkl_op_kind kind) {
    const zkl_op op = {.kind = kind, .path = o->paths[index], .version = -1};
    start(o, index, &(zkl_wish){.ops = &op, .count = 1});
}

/* The servers' time is in the answer to a write only. A write to the lock's own node would undo a
 * revocation. */
static void ask_time(zkl_once *o) {
    const char *path = o->paths[TIME];
    const zkl_op ops[TIME_OPS] = {
        [TIME_CREATE] = {.kind = ZKL_OP_CREATE, .path = path, .data = ""},
        [TIME_SET] = {.kind = ZKL_OP_SET, .path = path, .data = "", .version = -1},
        [TIME_DELETE] = {.kind = ZKL_OP_DELETE, .path = path, .version = -1},
    };
    start(o, TIME,
          &(zkl_wish){.ops = ops, .count = TIME_OPS, .several = true, .guard = o->ask.held});
}

/* Nothing that this round has sent is left to be answered, for instance for want of memory: then
 * the next step goes on. */
static void sent(zkl_once *o, stage to) {
    o->stage = to;
    if (o->open == 0)
        o->all->ready++;
}

static void read_all(zkl_once *o) {
    clear_requests(o);
    o->is_outdated = false;
    if (o->task != ZKL_ONCE_MARK)
        ask_time(o);
    read_at(o, MARK, ZKL_OP_GET);
    read_at(o, LOCKS, ZKL_OP_EXISTS);
    read_at(o, LEASES, ZKL_OP_EXISTS);
    sent(o, READING);
}

static void retry(zkl_timer *timer) {
    read_all(ZKL_CONTAINER_OF(timer, zkl_once, retry.timer));
}

static void wait_a_moment(zkl_once *o) {
    o->stage = PAUSED;
    zkl_context_retry_later(o->all->nodes->context, &o->retry);
}

/* ---- the mark ---- */

static const zkl_content *content_of(const zkl_once *o, size_t index, size_t op) {
    return zkl_node_request_content(o->requests[index].node_request, op);
}

/* As it was read; NULL: there is none. */
static const zkl_content *mark_of(const zkl_once *o) {
    return o->requests[MARK].status == ZKL_OK ? content_of(o, MARK, 0) : NULL;
}

/* Curator's Revoker writes this to any node whose path it gets: the mark stays one. */
static bool is_revoked(const zkl_content *mark) {
    return mark->length == strlen(ZKL_REVOKE) && strcmp(mark->data, ZKL_REVOKE) == 0;
}

/* Is it a number that a czxid can be, as we would write it? */
static bool is_token(const zkl_content *mark) {
    char *end, text[TOKEN_SIZE];
    const int64_t token = strtoll(mark->data, &end, 10);
    if (token <= 0 || *end != '\0' || mark->length >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%" PRId64, token);
    return mark->length == strlen(text) && memcmp(mark->data, text, mark->length) == 0;
}

/* Has the write of which nobody knew been done? */
static bool is_written(const zkl_once *o) {
    const zkl_content *mark = mark_of(o);
    return mark && mark->stat.mzxid > o->before && strcmp(mark->data, o->text) == 0;
}

/* Is the mark another one than before that write? */
static bool is_changed(const zkl_once *o) {
    const zkl_content *mark = mark_of(o);
    return (mark ? mark->stat.mzxid : 0) != o->before;
}

/* Does another one of the same hold write, or not know whether it has written? Both would write the
 * same text, so neither could tell afterwards whose it is. */
static bool is_contested(const zkl_once *o) {
    ZKL_EACH (zkl_once, other, &o->all->asks.due, ask.item) {
        if (is_of_same_hold(o, other) && (other->stage == WRITING || other->doubt))
            return true;
    }
    return false;
}

static void write_mark(zkl_once *o, const char *text) {
    const zkl_content *mark = mark_of(o);
    if (is_contested(o)) {
        wait_a_moment(o);
        return;
    }
    const zkl_op op = {
        .kind = mark ? ZKL_OP_SET : ZKL_OP_CREATE,
        .path = o->paths[MARK],
        .data = text,
        .length = strlen(text),
        .version = mark ? mark->stat.version : -1,
    };
    char *copy = strdup(text);
    if (!copy) {
        zkl_ask_answer(&o->ask, ZKL_NO_MEMORY);
        return;
    }
    free(o->text);
    o->text = copy;
    o->before = mark ? mark->stat.mzxid : 0;
    zkl_op own = op;
    own.data = copy;
    clear_requests(o);
    start(o, WRITE, &(zkl_wish){.ops = &own, .count = 1, .several = true, .guard = o->ask.held});
    sent(o, WRITING);
}

/* ---- decisions ---- */

/* The first answer that is of no use, in the order in which they count. */
static zkl_status trouble_of_reads(const zkl_once *o) {
    const zkl_status mark = o->requests[MARK].status;
    if (mark != ZKL_OK && mark != ZKL_NO_NODE)
        return mark;
    for (size_t i = LOCKS; i <= LEASES; i++)
        if (o->requests[i].status != ZKL_OK)
            return o->requests[i].status;
    return ZKL_OK;
}

static bool is_semaphore(const zkl_once *o) {
    return zkl_node_request_found(o->requests[LOCKS].node_request) ||
           zkl_node_request_found(o->requests[LEASES].node_request);
}

/* The write of the mark, or a step before it, has failed. A temporary failure is tried again. */
static void failed(zkl_once *o, zkl_status status) {
    if (zkl_status_throttled(status))
        wait_a_moment(o);
    else
        zkl_ask_answer(&o->ask, status);
}

/* The leader's clock may go back, or another server with another clock leads: a mark may lie in the
 * future. It would count for too long, so it is written anew, and counts from now on. */
static void compare(zkl_once *o) {
    const zkl_content *mark = mark_of(o);
    const zkl_stat *time = &content_of(o, TIME, TIME_SET)->stat;
    const bool is_younger = mark && mark->stat.mzxid > time->mzxid; /* another of this hold wrote */
    const int64_t now = is_younger ? mark->stat.mtime : time->mtime;
    o->left = 0;
    if (mark && mark->stat.mtime > now) {
        o->left = o->seconds;
        write_mark(o, mark->data);
        return;
    }
    const double passed = mark ? (double)(now - mark->stat.mtime) / 1000 : 0;
    if (mark && passed < o->seconds)
        o->left = o->seconds - passed;
    if (o->left > 0 || o->task == ZKL_ONCE_ASK)
        zkl_ask_answer(&o->ask, ZKL_OK);
    else
        write_mark(o, o->token);
}

static void all_read(zkl_once *o) {
    const zkl_status trouble = trouble_of_reads(o);
    const zkl_content *mark = mark_of(o);
    if (trouble != ZKL_OK) {
        failed(o, trouble);
        return;
    }
    if (o->is_outdated) {
        read_all(o);
        return;
    }
    if (o->doubt && is_written(o)) {
        zkl_ask_answer(&o->ask, ZKL_OK);
        return;
    }
    if (o->doubt)
        outdate_others(o);
    o->covered |= o->doubt && is_changed(o);
    o->doubt = false;
    if (is_semaphore(o) || (mark && !is_token(mark) && !is_revoked(mark)))
        zkl_ask_answer(&o->ask, ZKL_WRONG_KIND);
    else if (o->task == ZKL_ONCE_MARK)
        write_mark(o, o->token);
    else if (o->requests[TIME].status == ZKL_UNKNOWN)
        read_all(o); /* it changes nothing, so it is simply sent again */
    else if (o->requests[TIME].status != ZKL_OK)
        failed(o, o->requests[TIME].status);
    else
        compare(o);
}

static void written(zkl_once *o) {
    const zkl_status status = o->requests[WRITE].status;
    const bool changed =
        status == ZKL_BAD_VERSION || status == ZKL_NODE_EXISTS || status == ZKL_NO_NODE;
    outdate_others(o);
    o->doubt = status == ZKL_UNKNOWN;
    if (o->doubt || (changed && ++o->rounds < ROUNDS_MOST))
        read_all(o);
    else if (status == ZKL_OK)
        zkl_ask_answer(&o->ask, ZKL_OK);
    else
        failed(o, status);
}

static void step(zkl_ask *ask) {
    zkl_once *o = once_of(ask);
    if (o->open == 0 && o->stage == READING)
        all_read(o);
    else if (o->open == 0 && o->stage == WRITING)
        written(o);
}

bool zkl_onces_step(zkl_onces *all) {
    if (all->ready == 0)
        return false;
    all->ready = 0;
    zkl_asks_step(&all->asks);
    return true;
}

/* ---- life ---- */

static bool make_paths(zkl_once *o) {
    char scratch[ZKL_ZNODE_SIZE];
    const zkl_context *context = o->all->nodes->context;
    const zkl_contender *part = o->ask.held->call->part(o->ask.held, 0);
    zkl_znode_make_mark(scratch, (zkl_guid){context->guid, part->receiver.id});
    const char *names[REQUESTS] = {scratch, ZKL_ONCE_NODE, "locks", "leases"};
    for (size_t i = 0; i < REQUESTS; i++) {
        o->paths[i] = zkl_znode_path(part->line->path, names[i]);
        if (!o->paths[i])
            return false;
    }
    return true;
}

/* A multilock has a second node: its mark would be that of its first path alone. */
static bool is_of_mutex(const zkl_contender *held) {
    return held->terms.kind == ZKL_KIND_LOCK &&
           (held->phase != ZKL_HELD || !held->call->part(held, 1));
}

static void begin(zkl_ask *ask) {
    if (once_of(ask)->malformed)
        zkl_ask_answer(ask, ZKL_BAD_ARGUMENT);
    else if (ask->held)
        read_all(once_of(ask));
    else
        zkl_ask_answer(ask, ZKL_LOST);
}

static void free_once(zkl_ask *ask) {
    zkl_once *o = once_of(ask);
    zkl_timer_clear(&ask->all->context->timers, &o->retry.timer);
    clear_requests(o);
    for (size_t i = 0; i < REQUESTS; i++)
        free(o->paths[i]);
    free(o->text);
    free(o);
}

void zkl_onces_init(zkl_onces *all, zkl_nodes *nodes) {
    *all = (zkl_onces){.nodes = nodes, .asks = {nodes->context, nodes->asks.state}};
}

zkl_once *zkl_once_new(zkl_onces *all, const zkl_once_terms *terms) {
    static const zkl_ask_call call = {begin, step, NULL, end, free_once};
    zkl_once *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    zkl_ask_init(&o->ask, &all->asks, &call, terms->tag);
    o->all = all;
    o->task = terms->task;
    o->malformed =
        !is_of_mutex(terms->held) || (terms->task != ZKL_ONCE_MARK && !(terms->seconds > 0));
    o->ask.held = terms->held->phase == ZKL_HELD ? terms->held : NULL;
    o->seconds = terms->seconds;
    o->deadline = terms->deadline;
    o->retry.timer.fire = retry;
    clear_requests(o);
    if (o->ask.held && !make_paths(o)) {
        zkl_ask_free(&o->ask);
        return NULL;
    }
    if (o->ask.held)
        snprintf(o->token, sizeof o->token, "%" PRId64, o->ask.held->token);
    return o;
}

zkl_ask *zkl_ask_of_once(zkl_once *o) {
    return &o->ask;
}

double zkl_once_seconds_left(const zkl_once *o) {
    return o->left;
}
