/* SPDX-License-Identifier: MIT */
#include "quorum_model.h"

#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define RUN (8 * MODEL_TIMEOUT)
#define FAULTS 3
#define PING_LATE 9 /* grains: T/4 and less than T/24 */
#define QUEUE 256
#define ANSWERS 1024

typedef enum kind { REQUEST, ANSWER, PING, PONG, TAKEN, CLOSE } kind;

typedef struct message {
    kind kind;
    bool write, own, told; /* told: a PONG that speaks of our session */
    int rc;
    unsigned connection;
    zkl_nanos handed, arrives;
} message;

typedef struct queue {
    const char *name;
    message items[QUEUE];
    size_t count;
    zkl_nanos slow_until; /* nothing arrives before */
} queue;

typedef enum fault {
    STOP_CLIENT,
    STOP_FOLLOWER,
    STOP_LEADER,
    SLOW_UP,     /* client to its server */
    SLOW_DOWN,   /* ... and back */
    SLOW_TO_L,   /* follower to leader */
    SLOW_FROM_L, /* ... and back */
    KILL_FOLLOWER,
    KILL_IT_SOON, /* as soon as it has answered, and knows what the leader does not */
    CUT,
    DEPOSE,
    ALL_FAULTS
} fault;

typedef struct model {
    zkl_port port; /* first: the heart's */
    zkl_context context;
    zkl_heart heart;
    uint64_t random;
    zkl_nanos now;
    model_ensemble ensemble;

    queue up, down, to_leader, from_leader;
    zkl_nanos client_stopped, follower_stopped, leader_stopped; /* until then */
    unsigned pace;       /* grains between two requests of its own, in the middle */
    bool at_leader;      /* the client is the leader's own */
    bool dead;           /* its server does not serve it any more */
    zkl_nanos notices;   /* ... which it notices then */
    bool doomed;         /* it will be */
    unsigned connection; /* counts them */
    zkl_nanos tries_at;  /* without one: when the next is tried */
    zkl_nanos settled, root;

    bool touched;                               /* the follower's table */
    zkl_nanos leader_touched, next_ping, hurry; /* hurry: a ping arrives by then */
    bool deposed;                               /* the client's leader */
    zkl_nanos other_touched;                    /* ... by one who has counted since then */
    zkl_nanos ended;                            /* 0: the session lives */

    model_answer answers[ANSWERS];
    size_t answer_count;
    model_rule *rules;
    size_t rule_count;
    model_outcome outcome;
    bool trace, leader_was_stopped;
} model;

static model *running; /* for the clock */

static void say(const model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const model *m, const char *format, ...) {
    if (!m->trace)
        return;
    va_list args;
    va_start(args, format);
    printf("%6.3f T  ", (double)m->now / (double)MODEL_TIMEOUT);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static unsigned any(model *m, unsigned below) {
    m->random = m->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(m->random >> 33) % below;
}

static zkl_nanos grains(model *m, unsigned below) {
    return (zkl_nanos)any(m, below) * MODEL_GRAIN;
}

/* ---- links ---- */

static message *put(model *m, queue *q, kind what) {
    if (q->count == QUEUE)
        abort();
    message *item = &q->items[q->count++];
    *item = (message){.kind = what, .arrives = m->now + grains(m, 2)};
    if (item->arrives < q->slow_until)
        item->arrives = q->slow_until;
    return item;
}

static bool take(model *m, queue *q, message *item) {
    if (!q->count || q->items[0].arrives > m->now)
        return false;
    *item = q->items[0];
    memmove(q->items, q->items + 1, --q->count * sizeof *q->items);
    return true;
}

/* ---- what the client believes ---- */

static void judge(model *m) {
    if (!m->ended)
        return;
    if (m->context.valid_until > m->now && !m->outcome.violated) {
        m->outcome.violated = true;
        say(m, "THE HEART still believes for %.3f T",
            (double)(m->context.valid_until - m->now) / (double)MODEL_TIMEOUT);
    }
    for (size_t i = 0; i < m->rule_count; i++)
        if (m->rules[i].believed > m->now)
            m->rules[i].violations |= 1u << 31; /* once a schedule; counted at its end */
}

static void tell_rules(model *m, bool connected) {
    const model_news news = {m->answers, m->answer_count, m->now,
                             m->root,    m->connection,   connected};
    for (size_t i = 0; i < m->rule_count; i++) {
        const zkl_nanos until = m->rules[i].until(&news);
        if (m->rules[i].believed < until)
            m->rules[i].believed = until;
    }
}

/* ---- the client ---- */

static zkl_nanos read_clock(void) {
    return running->now;
}

static const zkl_clock model_clock = {read_clock};

static int hand_over(model *m, bool write, zkl_return back) {
    message *item = put(m, &m->up, REQUEST);
    item->write = write;
    item->own = back.receiver == 0;
    item->handed = m->now;
    item->connection = m->connection;
    if (any(m, 40) == 0)
        item->arrives += grains(m, 100); /* the library sends it late */
    for (size_t i = 1; i < m->up.count; i++)
        if (m->up.items[i].arrives < m->up.items[i - 1].arrives)
            m->up.items[i].arrives = m->up.items[i - 1].arrives;
    return ZOK;
}

static int model_perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back) {
    CHECK(op->kind == ZKL_OP_DELETE && !watch);
    return hand_over((model *)port, true, back);
}

static int model_sync(zkl_port *port, const char *path, zkl_return back) {
    (void)path;
    return hand_over((model *)port, false, back);
}

static const zkl_port_table table = {.perform = model_perform, .sync = model_sync};

static void refreshed(zkl_heart *heart) {
    (void)heart;
}

static void answered(model *m, const message *item) {
    const zkl_proof proof =
        zkl_proof_of(item->write ? ZKL_REACH_ERASE : ZKL_REACH_LEADER, item->rc);
    if (m->settled < item->handed)
        m->settled = item->handed;
    say(m, "the client reads the answer %d to a %s of %.3f T", item->rc,
        item->write ? "write" : "sync", (double)item->handed / (double)MODEL_TIMEOUT);
    zkl_heart_answered(&m->heart, proof, item->handed);
    if (!item->own) {
        const zkl_reply reply = {.rc = item->rc};
        m->heart.receiver.answer(&m->heart.receiver, &(zkl_return){0}, &reply);
    }
    if (m->heart.linked && m->answer_count < ANSWERS) {
        m->answers[m->answer_count++] = (model_answer){item->handed, m->now, proof, m->connection};
        tell_rules(m, false);
    }
}

/* Requests that were on their way come back as cut off. */
static void lose_link(model *m) {
    message item;
    zkl_heart_unlinked(&m->heart);
    m->down.count = 0;
    m->notices = ZKL_NEVER;
    m->tries_at = m->now + grains(m, 20);
    while (m->up.count) {
        m->up.items[0].arrives = m->now;
        if (take(m, &m->up, &item)) {
            item.rc = ZCONNECTIONLOSS;
            answered(m, &item);
        }
    }
}

static void be_linked(model *m, bool fresh) {
    m->root = m->root > m->settled ? m->root : m->settled;
    say(m, "the client hears that it is connected; it was so after %.3f T",
        (double)m->root / (double)MODEL_TIMEOUT);
    const zkl_grant grant = {m->root, MODEL_TIMEOUT, m->ensemble.believed, fresh};
    zkl_heart_linked(&m->heart, &grant, false);
    tell_rules(m, true);
}

static void run_client(model *m) {
    message item;
    if (m->client_stopped > m->now)
        return;
    if (m->notices <= m->now)
        lose_link(m);
    while (take(m, &m->down, &item)) {
        if (item.kind == TAKEN)
            be_linked(m, false);
        else
            answered(m, &item);
    }
    if (any(m, 100) == 0) /* somebody comes, or goes */
        m->context.counters.waiting = !m->context.counters.waiting;
    if (any(m, m->pace) == 0 && m->heart.linked)
        hand_over(m, any(m, 4) != 0, (zkl_return){0});
    zkl_timers_run(&m->context.timers, m->now);
    zkl_heart_advance(&m->heart);
}

/* ---- the servers ---- */

static void touch_leader(model *m) {
    if (!m->deposed && !m->ended)
        m->leader_touched = m->now;
}

static void answer_from_leader(model *m, const message *request) {
    message *item = put(m, m->at_leader ? &m->down : &m->from_leader, ANSWER);
    const zkl_nanos arrives = item->arrives;
    *item = *request;
    item->kind = ANSWER;
    item->arrives = arrives;
    item->rc = !request->write ? ZOK : m->ended ? ZSESSIONEXPIRED : ZNONODE;
}

/* A leader that was deposed answers syncs, and commits nothing. */
static void handle_at_leader(model *m, const message *item) {
    if (item->kind == PONG && item->told)
        touch_leader(m);
    else if (item->kind == REQUEST && !(item->write && m->deposed))
        answer_from_leader(m, item);
}

static void ping(model *m) {
    while (m->next_ping <= m->now)
        m->next_ping += m->ensemble.tick / 2 + grains(m, PING_LATE);
    put(m, &m->from_leader, PING);
    if (m->hurry) { /* assumed of a leader that goes on after a stop: its ping arrives soon */
        for (size_t i = 0; i < m->from_leader.count; i++)
            if (m->from_leader.items[i].arrives > m->hurry)
                m->from_leader.items[i].arrives = m->hurry;
        m->hurry = 0;
    }
}

/* The first tick after the timeout. A leader that was stopped ends it before it does anything
 * else. */
static bool is_over(const model *m, zkl_nanos touched) {
    const zkl_nanos tick = m->ensemble.tick;
    return m->now >= ((touched + MODEL_TIMEOUT) / tick + 1) * tick;
}

static void run_leader(model *m) {
    message item;
    const zkl_nanos touched = m->deposed ? m->other_touched : m->leader_touched;
    if (!m->ended && (m->deposed || m->leader_stopped <= m->now) && is_over(m, touched)) {
        m->ended = m->now;
        if (!m->deposed && !m->at_leader)
            put(m, &m->from_leader,
                CLOSE); /* is committed, and comes before what is answered later */
        say(m, "THE SESSION ENDS; last heard of at %.3f T",
            (double)touched / (double)MODEL_TIMEOUT);
    }
    if (m->leader_stopped > m->now)
        return;
    if (m->at_leader && m->ended && !m->deposed)
        return; /* it has hung up */
    if (m->at_leader) {
        while (take(m, &m->up, &item)) {
            touch_leader(m);
            handle_at_leader(m, &item);
        }
        return;
    }
    if (m->next_ping <= m->now)
        ping(m);
    while (take(m, &m->to_leader, &item))
        handle_at_leader(m, &item);
}

/* Is the leader still to hear that the client was heard of? */
static bool knows_more(const model *m) {
    bool more = m->touched;
    for (size_t i = 0; i < m->to_leader.count; i++)
        more = more || m->to_leader.items[i].told;
    return more;
}

/* Messages that the follower had not sent are lost with it, or not. */
static void kill_follower(model *m) {
    if (m->at_leader || m->dead)
        return;
    m->dead = true;
    if (m->doomed || any(m, 3))
        m->to_leader.count = 0;
    m->from_leader.count = 0;
    m->doomed = false;
    m->notices = m->now + grains(m, 128);
}

static void run_follower(model *m) {
    message item;
    bool has_answered = false;
    if (m->follower_stopped > m->now || m->at_leader || m->dead)
        return;
    while (take(m, &m->from_leader, &item)) {
        if (item.kind == CLOSE) {
            m->dead = true;
            m->notices = m->now + grains(m, 4);
            return;
        }
        if (item.kind == PING) {
            put(m, &m->to_leader, PONG)->told = m->touched;
            m->touched = false;
        } else {
            message *answer = put(m, &m->down, ANSWER);
            has_answered = true;
            const zkl_nanos arrives = answer->arrives;
            *answer = item;
            answer->arrives = arrives;
        }
    }
    while (take(m, &m->up, &item)) {
        message *request = put(m, &m->to_leader, REQUEST);
        const zkl_nanos arrives = request->arrives;
        m->touched = true;
        *request = item;
        request->arrives = arrives;
    }
    if (m->doomed && has_answered && any(m, 3) == 0 && knows_more(m))
        kill_follower(m);
}

/* Some server that follows the present leader takes the session; the client hears of it sooner or
 * later. */
static void reconnect(model *m) {
    if (m->heart.linked || m->tries_at > m->now || m->ended || m->client_stopped > m->now)
        return;
    if (any(m, 3)) {
        lose_link(m); /* this try fails: what was handed over meanwhile comes back */
        return;
    }
    m->tries_at = ZKL_NEVER;
    m->connection++;
    m->dead = false;
    m->at_leader = any(m, 3) == 0;
    m->next_ping = m->now + grains(m, (unsigned)(m->ensemble.tick / 2 / MODEL_GRAIN));
    m->hurry = 0;
    m->touched = false;
    if (m->deposed && any(m, 3) == 0) { /* one that still follows the old leader */
        m->notices = m->now + grains(m, 800);
    } else {
        m->deposed = false;
        m->leader_touched = m->now;
    }
    m->to_leader.count = m->from_leader.count = 0;
    m->to_leader.slow_until = m->from_leader.slow_until = m->follower_stopped = 0;
    m->leader_stopped = 0;
    put(m, &m->down, TAKEN)->arrives = m->now + grains(m, any(m, 3) ? 3 : 200);
}

/* ---- faults ---- */

static void slow(model *m, queue *q, zkl_nanos until) {
    q->slow_until = until;
    const size_t from = q->count ? any(m, (unsigned)q->count + 1) : 0;
    for (size_t i = from; i < q->count; i++)
        if (q->items[i].arrives < until)
            q->items[i].arrives = until;
}

static void depose(model *m) {
    if (m->deposed)
        return;
    m->deposed = true;
    m->notices = m->now + grains(m, 800);
    m->other_touched = m->now;
}

static void strike(model *m, fault f) {
    static const char *const names[] = {"the client stops",           "the follower stops",
                                        "the leader stops",           "client to server is slow",
                                        "server to client is slow",   "follower to leader is slow",
                                        "leader to follower is slow", "the follower dies",
                                        "the follower dies soon",     "the link is cut",
                                        "the leader is deposed"};
    static const unsigned lengths[] = {20, 100, 400};
    const zkl_nanos until = m->now + grains(m, lengths[any(m, 3)]);
    if (f == STOP_LEADER && m->leader_was_stopped)
        return;
    say(m, "%s, until %.3f T", names[f], (double)until / (double)MODEL_TIMEOUT);
    switch (f) {
    case STOP_CLIENT:
        m->client_stopped = until;
        break;
    case STOP_FOLLOWER:
        m->follower_stopped = until;
        break;
    case STOP_LEADER:
        m->leader_was_stopped = true;
        m->leader_stopped = until;
        if (m->next_ping < until)
            m->next_ping = until + grains(m, 8);
        m->hurry = until + MODEL_TIMEOUT / 13;
        break;
    case SLOW_UP:
        slow(m, &m->up, until);
        break;
    case SLOW_DOWN:
        slow(m, &m->down, until);
        break;
    case SLOW_TO_L:
        slow(m, &m->to_leader, until);
        break;
    case SLOW_FROM_L:
        if (!m->hurry)
            slow(m, &m->from_leader, until);
        break;
    case KILL_FOLLOWER:
        kill_follower(m);
        break;
    case KILL_IT_SOON:
        m->doomed = true;
        break;
    case CUT:
        lose_link(m);
        break;
    case DEPOSE:
        depose(m);
        break;
    default:
        break;
    }
}

/* ---- a schedule ---- */

static void begin(model *m, unsigned schedule) {
    m->port.call = &table;
    m->random = schedule * UINT64_C(0x9e3779b97f4a7c15) + 1;
    any(m, 2);
    m->now = 10 * MODEL_TIMEOUT + grains(m, 96);
    m->context.clock = &model_clock;
    if (!zkl_receivers_init(&m->context.receivers))
        abort();
    m->heart = (zkl_heart){.context = &m->context, .refreshed = refreshed, .unsure = refreshed};
    if (!zkl_heart_init(&m->heart))
        abort();
    zkl_heart_started(&m->heart, &m->port);
    m->pace = 3u << any(m, 8);
    m->at_leader = any(m, 4) == 0;
    m->leader_touched = m->root = m->now;
    m->next_ping = m->now + grains(m, (unsigned)(m->ensemble.tick / 2 / MODEL_GRAIN));
    m->tries_at = m->notices = ZKL_NEVER;
    m->connection = 1;
    m->context.counters.waiting = any(m, 3) != 0;
    be_linked(m, true);
}

model_outcome model_run(unsigned schedule, model_ensemble ensemble, model_rule *rules, size_t count,
                        bool trace) {
    static model m;
    memset(&m, 0, sizeof m);
    m.ensemble = ensemble;
    m.trace = trace;
    m.rules = rules;
    m.rule_count = count;
    for (size_t i = 0; i < count; i++)
        rules[i].believed = 0;
    running = &m;
    begin(&m, schedule);
    const zkl_nanos began = m.now;
    zkl_nanos strikes[FAULTS];
    fault faults[FAULTS];
    for (unsigned i = 0; i < FAULTS; i++) {
        strikes[i] = began + grains(&m, RUN / 2 / MODEL_GRAIN);
        faults[i] = i == 1 && any(&m, 2) ? KILL_IT_SOON : (fault)any(&m, ALL_FAULTS);
        if (i && any(&m, 2)) /* often right after another */
            strikes[i] = strikes[i - 1] + grains(&m, 100);
    }
    while (m.now < began + RUN && (!m.ended || m.now < m.ended + MODEL_TIMEOUT)) {
        m.now += MODEL_GRAIN;
        judge(&m);
        for (unsigned i = 0; i < FAULTS; i++)
            if (strikes[i] == m.now)
                strike(&m, faults[i]);
        for (unsigned i = 0, first = any(&m, 3); i < 3; i++) {
            const unsigned turn = (first + i) % 3;
            if (turn == 0)
                run_client(&m);
            else if (turn == 1)
                run_follower(&m);
            else
                run_leader(&m);
        }
        reconnect(&m);
        judge(&m);
        if (m.context.valid_until > m.now && !m.ended)
            m.outcome.sure += MODEL_GRAIN;
    }
    m.outcome.lasted = (m.ended ? m.ended : m.now) - began;
    for (size_t i = 0; i < count; i++) {
        if (!(rules[i].violations & 1u << 31))
            continue;
        rules[i].violations &= ~(1u << 31);
        if (!rules[i].violations++)
            rules[i].first = schedule;
    }
    zkl_receivers_destroy(&m.context.receivers);
    return m.outcome;
}
