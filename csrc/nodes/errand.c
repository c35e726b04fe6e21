#include "nodes/errand.h"

#include "base/backoff.h"
#include "base/event.h"
#include "base/status.h"
#include "base/timer.h"
#include "nodes/barrier.h"
#include "nodes/content.h"
#include "port/receiver.h"
#include "port/wire.h"
#include "queue/answer.h"
#include "queue/line_state.h"
#include "queue/parents.h"
#include "zklock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* Pauses after servers have refused for now. */
#define PAUSE_FIRST (ZKL_SECOND / 20)
#define PAUSE_MOST (2 * ZKL_SECOND)
/* How often what was made above may vanish as soon as it is made. */
#define ROUNDS_MOST 50
/* What the servers append to a sequential node's path. */
#define SEQUENCE_SIZE sizeof "-2147483648"

/* What an answer is about. */
enum { DEED, PRELUDE };

/* An errand that waits is handed over at the end of a step, by zkl_errands_step: when the link
 * comes, or the timer `retry` fires. One that was handed over goes on when its answer comes, if
 * only to say that it was cut off; without a handle, with zkl_errands_unlink. Either ends at its
 * deadline. */
typedef enum stage { WAITING, HANDED, DONE } stage;

struct zkl_errand {
    zkl_client *client; /* for the host's side */
    zkl_nodes *nodes;
    zkl_list_item item; /* nodes->waiting, nodes->handed */
    zkl_receiver receiver;
    stage stage;
    zkl_op *ops;
    zkl_content *contents; /* of each */
    size_t count;          /* 0: a sync */
    bool several, once, too_big;
    bool guarded;
    zkl_contender *guard; /* NULL: it is gone */
    /* the numbers of the contenders whose nodes were checked first */
    uint64_t *checked;
    size_t checks;
    zkl_parents parents;
    char *above; /* what `parents` makes; NULL: it was not needed yet */
    unsigned rounds;
    bool found;
    size_t failed;
    zkl_timer timer;
    zkl_event answer;
};

static bool is_read(const zkl_errand *e) {
    if (e->several)
        return false;
    return e->count == 0 || e->ops[0].kind == ZKL_OP_GET || e->ops[0].kind == ZKL_OP_EXISTS ||
           e->ops[0].kind == ZKL_OP_CHILDREN;
}

/* ---- stages ---- */

static void set_stage(zkl_errand *e, stage to) {
    zkl_nodes *nodes = e->nodes;
    if (e->stage != DONE)
        zkl_list_remove(e->stage == WAITING ? &nodes->waiting : &nodes->handed, &e->item);
    if (to != HANDED)
        zkl_receiver_leave(&nodes->context->receivers, &e->receiver);
    e->stage = to;
    if (to != DONE)
        zkl_list_append(to == WAITING ? &nodes->waiting : &nodes->handed, &e->item);
}

/* What became of a write that nobody knows of can be read: but not from a server that has not seen
 * it yet, and the session may have moved to one. So a barrier comes before the next read. */
static void finish(zkl_errand *e, zkl_status status) {
    if (status == ZKL_UNKNOWN)
        zkl_barrier_forget(&e->nodes->barrier);
    set_stage(e, DONE);
    zkl_timer_clear(&e->nodes->context->timers, &e->timer);
    zkl_events_post(&e->nodes->context->events, &e->answer, status, 0);
}

/* Nobody knows what became of it, or `status` says why it was not done. */
static void give_up(zkl_errand *e, zkl_status status) {
    finish(e, e->stage == HANDED && !is_read(e) ? ZKL_UNKNOWN : status);
}

static void deadline_passed(zkl_timer *timer) {
    zkl_errand *e = ZKL_CONTAINER_OF(timer, zkl_errand, timer);
    give_up(e, e->nodes->context->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
}

static void wait_a_moment(zkl_nodes *nodes) {
    const zkl_nanos pause = zkl_backoff(&nodes->pause, PAUSE_FIRST, PAUSE_MOST);
    zkl_timer_set(&nodes->context->timers, &nodes->retry, zkl_context_now(nodes->context) + pause);
}

/* Every step ends with zkl_errands_step, this one too. */
static void retry(zkl_timer *timer) {
    (void)timer;
}

/* ---- what the servers say ---- */

static zkl_status status_of(int rc) {
    switch (rc) {
    case ZNONODE:
        return ZKL_NO_NODE;
    case ZNODEEXISTS:
        return ZKL_NODE_EXISTS;
    case ZBADVERSION:
        return ZKL_BAD_VERSION;
    case ZNOTEMPTY:
        return ZKL_NOT_EMPTY;
    default:
        return zkl_status_of(rc);
    }
}

static void read_answered(zkl_errand *e, const zkl_reply *reply) {
    e->found = reply->rc == ZOK;
    if (reply->rc == ZNONODE && e->ops[0].kind == ZKL_OP_EXISTS)
        finish(e, ZKL_OK);
    else if (reply->rc != ZOK)
        finish(e, status_of(reply->rc));
    else
        finish(e, zkl_content_copy(&e->contents[0], reply) ? ZKL_OK : ZKL_NO_MEMORY);
}

/* There is room for it since before the write: what was done must be told. */
static void keep_path(zkl_errand *e, size_t index, const char *path) {
    zkl_content *content = &e->contents[index];
    path += e->nodes->context->chroot;
    if (!*path)
        path = "/"; /* the chroot itself */
    content->length = strlen(path);
    memcpy(content->data, path, content->length + 1);
}

/* What stands above the node that is to be made, of that many bytes. */
static size_t length_above(const zkl_op *op) {
    return (size_t)(strrchr(op->path, '/') - op->path);
}

/* A chroot that does not exist is made, and what stands above it. */
static bool may_make_parents(const zkl_errand *e) {
    const size_t above = length_above(&e->ops[0]);
    return e->ops[0].kind == ZKL_OP_CREATE && above > 0 &&
           (e->ops[0].parents || above <= e->nodes->context->chroot);
}

/* ZOK: they are on their way, and the create is to be sent behind them. */
static int make_parents(zkl_errand *e) {
    if (e->above && (e->parents.refused != ZOK || ++e->rounds > ROUNDS_MOST))
        return e->parents.refused != ZOK ? e->parents.refused : ZNONODE;
    if (!e->nodes->context->port)
        return ZOK; /* the create is tried again when there is a link */
    if (!e->above) {
        e->above = strndup(e->ops[0].path, length_above(&e->ops[0]));
        if (!e->above)
            return ZMARSHALLINGERROR;
        zkl_parents_init(&e->parents, e->nodes->context, e->above);
        if (e->ops[0].parents)
            e->parents.acl = e->ops[0].acl;
    }
    return zkl_parents_make(&e->parents);
}

static void no_parents(zkl_errand *e) {
    const int rc = make_parents(e);
    if (rc == ZMARSHALLINGERROR)
        finish(e, ZKL_NO_MEMORY);
    else if (rc == ZOK || zkl_status_unknown(rc))
        set_stage(e, WAITING);
    else
        finish(e, status_of(rc));
}

static void write_answered(zkl_errand *e, const zkl_reply *reply) {
    if (reply->rc == ZNONODE && may_make_parents(e)) {
        no_parents(e);
        return;
    }
    if (reply->rc == ZOK && reply->path)
        keep_path(e, 0, reply->path);
    if (reply->rc == ZOK && reply->stat)
        e->contents[0].stat = *reply->stat;
    finish(e, status_of(reply->rc));
}

/* The servers do not have a node any more that we hold with. */
static void guard_missing(zkl_errand *e, size_t index) {
    zkl_receiver *receiver = zkl_receiver_find(&e->nodes->context->receivers, e->checked[index]);
    if (receiver && receiver->names_node)
        zkl_line_own_missing(ZKL_CONTAINER_OF(receiver, zkl_contender, receiver));
    finish(e, ZKL_LOST);
}

/* Those before the one that failed say ZOK, those behind it that it was not tried. */
static size_t first_failed(const zkl_reply *reply) {
    size_t i = 0;
    while (i < reply->count && reply->outcomes[i].rc == ZOK)
        i++;
    return i;
}

static void several_failed(zkl_errand *e, const zkl_reply *reply) {
    const size_t index = first_failed(reply);
    const int rc = index < reply->count ? reply->outcomes[index].rc : reply->rc;
    if (index < e->checks && rc == ZNONODE) {
        guard_missing(e, index);
        return;
    }
    if (index >= e->checks && index < reply->count)
        e->failed = index - e->checks + 1;
    finish(e, status_of(rc));
}

static void several_answered(zkl_errand *e, const zkl_reply *reply) {
    if (reply->rc != ZOK) {
        several_failed(e, reply);
        return;
    }
    for (size_t i = 0; i < e->count; i++) {
        const zkl_op_result *outcome = &reply->outcomes[e->checks + i];
        e->contents[i].stat = outcome->stat;
        if (e->ops[i].kind == ZKL_OP_CREATE)
            keep_path(e, i, outcome->path);
    }
    finish(e, ZKL_OK);
}

/* A read that was not answered, or not by servers that were known to be current. */
static void read_again(zkl_errand *e, bool cut) {
    if (e->once && cut) {
        finish(e, ZKL_DISCONNECTED);
        return;
    }
    set_stage(e, WAITING);
    if (!cut)
        wait_a_moment(e->nodes);
}

static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_errand *e = ZKL_CONTAINER_OF(receiver, zkl_errand, receiver);
    const bool cut = zkl_status_unknown(reply->rc) || reply->rc == ZAUTHFAILED;
    if (asked->what == PRELUDE)
        return;
    if (cut && !is_read(e))
        finish(e, ZKL_UNKNOWN);
    else if (cut || (zkl_status_throttled(reply->rc) && is_read(e)))
        read_again(e, cut);
    else if (e->several)
        several_answered(e, reply);
    else if (e->count == 0)
        finish(e, reply->rc == ZNONODE ? ZKL_OK : status_of(reply->rc));
    else if (!is_read(e))
        write_answered(e, reply);
    else if (zkl_barrier_passed(&e->nodes->barrier))
        read_answered(e, reply);
    else
        read_again(e, false);
    if (!zkl_status_passes(reply->rc))
        e->nodes->pause = 0;
}

/* ---- on their way ---- */

static size_t count_parts(zkl_contender *guard) {
    size_t count = 0;
    while (guard && guard->call->part(guard, count) != NULL)
        count++;
    return count;
}

static char *path_of_part(const zkl_contender *part) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", part->line->path, part->name) < 0 ? NULL : path;
}

/* Puts the checks of what it holds with before what is to be done. false: no memory. */
static bool add_checks(zkl_errand *e, zkl_op *ops, size_t checks) {
    free(e->checked);
    e->checks = 0;
    e->checked = calloc(checks ? checks : 1, sizeof *e->checked);
    if (!e->checked)
        return false;
    for (; e->checks < checks; e->checks++) {
        const zkl_contender *part = e->guard->call->part(e->guard, e->checks);
        ops[e->checks] = (zkl_op){.kind = ZKL_OP_CHECK, .path = path_of_part(part), .version = -1};
        if (!ops[e->checks].path)
            return false;
        e->checked[e->checks] = part->receiver.id;
    }
    return true;
}

static int transact(zkl_errand *e, zkl_return back) {
    zkl_port *port = e->nodes->context->port;
    const size_t checks = count_parts(e->guard);
    zkl_op *ops = calloc(checks + e->count, sizeof *ops);
    int rc = ZMARSHALLINGERROR;
    if (ops && add_checks(e, ops, checks)) {
        memcpy(ops + checks, e->ops, e->count * sizeof *ops);
        rc = port->call->transact(port, ops, checks + e->count, back);
    }
    for (size_t i = 0; ops && i < checks; i++)
        free((char *)ops[i].path);
    free(ops);
    return rc;
}

static int send_out(zkl_errand *e) {
    zkl_context *context = e->nodes->context;
    zkl_port *port = context->port;
    zkl_receiver_enter(&context->receivers, &e->receiver);
    const zkl_return back = {e->receiver.id, DEED, 0};
    if (e->several)
        return transact(e, back);
    if (e->count == 0)
        return zkl_barrier_send(context, back, PRELUDE);
    const int rc = is_read(e) ? zkl_barrier_raise(&e->nodes->barrier) : ZOK;
    return rc == ZOK ? port->call->perform(port, &e->ops[0], false, back) : rc;
}

/* false: nothing can be handed over now. */
static bool hand_over(zkl_errand *e) {
    const int rc = send_out(e);
    if (rc == ZOK)
        set_stage(e, HANDED);
    else if (rc == ZMARSHALLINGERROR)
        finish(e, ZKL_NO_MEMORY);
    else if (!zkl_status_unknown(rc))
        finish(e, status_of(rc));
    return rc == ZOK || e->stage == DONE;
}

/* true: it has ended without being handed over. */
static bool is_settled(zkl_errand *e) {
    const zkl_nodes *nodes = e->nodes;
    if (e->too_big)
        finish(e, ZKL_TOO_BIG);
    else if (e->guarded && (!e->guard || e->guard->phase != ZKL_HELD))
        finish(e, ZKL_LOST);
    else if (*nodes->state == ZKL_STATE_AUTH_FAILED)
        finish(e, ZKL_AUTH_FAILED);
    else if (e->once && !nodes->context->port)
        finish(e, ZKL_DISCONNECTED);
    return e->stage == DONE;
}

void zkl_errands_step(zkl_nodes *nodes) {
    bool open = nodes->context->port && !nodes->retry.at;
    ZKL_EACH (zkl_errand, e, &nodes->waiting, item) {
        if (!is_settled(e) && open)
            open = hand_over(e);
    }
}

void zkl_errands_unlink(zkl_nodes *nodes) {
    zkl_barrier_forget(&nodes->barrier);
    ZKL_EACH (zkl_errand, e, &nodes->handed, item) {
        if (is_read(e))
            read_again(e, true);
        else
            finish(e, ZKL_UNKNOWN);
    }
}

void zkl_errands_dismiss(zkl_nodes *nodes, zkl_status status) {
    ZKL_EACH (zkl_errand, e, &nodes->waiting, item) {
        give_up(e, status);
    }
    ZKL_EACH (zkl_errand, e, &nodes->handed, item) {
        give_up(e, status);
    }
}

void zkl_errands_forget(zkl_nodes *nodes, const zkl_contender *guard) {
    const zkl_list *lists[] = {&nodes->waiting, &nodes->handed};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        ZKL_EACH (zkl_errand, e, lists[i], item) {
            if (e->guard == guard)
                e->guard = NULL;
        }
    }
}

/* ---- life ---- */

void zkl_errands_init(zkl_nodes *nodes, zkl_context *context, const _Atomic zkl_state *state) {
    *nodes = (zkl_nodes){.context = context, .state = state, .retry.fire = retry};
    zkl_barrier_init(&nodes->barrier, context);
}

static bool copy_op(zkl_errand *e, size_t i, const zkl_op *op) {
    zkl_op *own = &e->ops[i];
    *own = *op;
    own->path = strdup(op->path);
    own->data = NULL;
    if (!op->own_acl)
        own->acl = e->nodes->context->acl;
    if (!own->path)
        return false;
    if (op->kind == ZKL_OP_CREATE) {
        e->contents[i].data = malloc(strlen(op->path) + SEQUENCE_SIZE);
        if (!e->contents[i].data)
            return false;
    }
    if (op->kind != ZKL_OP_CREATE && op->kind != ZKL_OP_SET)
        return true;
    char *data = malloc(op->length + 1);
    own->data = data;
    if (!data)
        return false;
    memcpy(data, op->data, op->length);
    data[op->length] = '\0';
    return true;
}

/* All that goes out in one request. */
static bool is_too_big(const zkl_errand *e) {
    size_t bytes = zkl_wire_request(e->several);
    for (size_t i = 0; i < e->count && bytes <= ZKL_WIRE_MOST; i++)
        bytes += zkl_wire_op(&e->ops[i], e->several);
    const bool held = e->guard && e->guard->phase == ZKL_HELD;
    const size_t checks = held ? count_parts(e->guard) : 0;
    for (size_t i = 0; i < checks && bytes <= ZKL_WIRE_MOST; i++) {
        const zkl_contender *part = e->guard->call->part(e->guard, i);
        bytes += zkl_wire_check(zkl_line_length(part->line, part->name));
    }
    return bytes > ZKL_WIRE_MOST;
}

zkl_errand *zkl_errand_new(zkl_nodes *nodes, const zkl_wish *wish, uint64_t tag) {
    zkl_errand *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->nodes = nodes;
    e->stage = DONE; /* until it starts */
    e->several = wish->several;
    e->once = wish->once;
    e->guard = wish->guard;
    e->guarded = wish->guard != NULL;
    e->receiver.answer = answered;
    e->timer.fire = deadline_passed;
    e->answer.kind = ZKL_EVENT_ANSWER;
    e->answer.tag = tag;
    e->ops = calloc(wish->count ? wish->count : 1, sizeof *e->ops);
    e->contents = calloc(wish->count ? wish->count : 1, sizeof *e->contents);
    bool complete = e->ops && e->contents;
    for (; complete && e->count < wish->count; e->count++)
        if (!copy_op(e, e->count, &wish->ops[e->count])) {
            e->count++;
            complete = false;
            break;
        }
    if (complete)
        return e;
    zkl_errand_free(e);
    return NULL;
}

void zkl_errand_start(zkl_errand *e, zkl_nanos deadline) {
    e->too_big = is_too_big(e);
    set_stage(e, WAITING);
    zkl_timer_set(&e->nodes->context->timers, &e->timer, e->once ? ZKL_NEVER : deadline);
}

void zkl_errand_free(zkl_errand *e) {
    zkl_context *context = e->nodes->context;
    set_stage(e, DONE);
    zkl_timer_clear(&context->timers, &e->timer);
    zkl_events_drop(&context->events, &e->answer);
    if (e->above)
        zkl_parents_done(&e->parents);
    free(e->above);
    for (size_t i = 0; i < e->count; i++) {
        free((char *)e->ops[i].path);
        free((char *)e->ops[i].data);
        zkl_content_clear(&e->contents[i]);
    }
    free(e->checked);
    free(e->ops);
    free(e->contents);
    free(e);
}

/* ---- for the host's side ---- */

void zkl_errand_set_client(zkl_errand *e, zkl_client *client) {
    e->client = client;
}

zkl_client *zkl_errand_client(const zkl_errand *e) {
    return e->client;
}

const zkl_content *zkl_errand_content(const zkl_errand *e, size_t index) {
    return index < e->count ? &e->contents[index] : NULL;
}

bool zkl_errand_found(const zkl_errand *e) {
    return e->found;
}

size_t zkl_errand_failed(const zkl_errand *e) {
    return e->failed;
}
