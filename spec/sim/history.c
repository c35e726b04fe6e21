/* SPDX-License-Identifier: MIT */
#include "history.h"

#include "clerk.h"
#include "ensemble.h"
#include "host.h"
#include "journal.h"
#include "judge.h"
#include "lines.h"
#include "losses.h"
#include "marks.h"
#include "tree.h"
#include "line/line.h"
#include "line/lines.h"
#include "recipe/znode.h"

#include "client/client_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MOST = 8 };

/* The faults that a history may have: a seed has some of them. */
enum {
    CUTS = 1,
    SLOWNESS = 2,
    PARTITIONS = 4,
    CRASHES = 8,
    STOPS = 16,  /* of hosts */
    STALLS = 32, /* of servers */
    OPERATORS = 64,
    STRANGERS = 128,
    THROTTLING = 256,
    CLOSING = 512,
    NAMES = 1024,
    REFUSALS = 2048,
    ALL_FAULTS = 4095
};

static struct {
    const sim_plan *plan;
    unsigned faults, one_in; /* a fault among so many deeds */
    unsigned deeds, done;
    zkl_nanos pause; /* between deeds, at most */
    zkl_nanos timeout;
    sim_event next;
    sim_host hosts[HOSTS_MOST];
    int host_count;
    sim_session *strangers[4];
    sim_event moving;     /* when somebody finds its servers elsewhere only */
    zkl_nanos awake_from; /* by then everybody goes on who was stopped when all was mended */
    bool is_over;
} history;

static sim_host *any_host(void) {
    return &history.hosts[sim_any((unsigned)history.host_count)];
}

static int any_server(void) {
    return sim_once_in(2) && sim_leader() >= 0 ? sim_leader() : (int)sim_any(SERVERS);
}

/* Mostly short, sometimes longer than a session. */
static zkl_nanos any_while(void) {
    return sim_now + sim_some(sim_once_in(3) ? 3 * history.timeout : history.timeout / 2);
}

/* ---- networks ---- */

static void some_cut(void) {
    const sim_host *host = sim_once_in(2) ? any_host() : NULL;
    const int at = sim_once_in(2) ? -1 : any_server();
    SAY("network: cuts host %d off server %d", host ? host->machine.id : 0, at + 1);
    sim_sockets_cut(at, host, sim_once_in(2) ? 1 : 2);
}

static void some_slowness(void) {
    const sim_host *host = any_host();
    const bool to_server = sim_once_in(2);
    const zkl_nanos until = any_while();
    SAY("network: host %d is slow %s for %.3f s", host->machine.id,
        to_server ? "to its server" : "from its server", zkl_clock_seconds(until - sim_now));
    sim_sockets_slow(-1, host, until, to_server);
    if (sim_once_in(3))
        sim_sockets_slow(-1, host, until, !to_server);
}

static void some_partition(void) {
    if (sim_once_in(2))
        sim_server_isolate(any_server(), any_while());
    else if (sim_once_in(3))
        sim_server_lag_behind((int)sim_any(SERVERS), any_while());
    else
        sim_server_lag((int)sim_any(SERVERS), any_while(), sim_once_in(4));
}

/* ---- machines ---- */

static void some_crash(void) {
    const int server = any_server();
    if (sim_once_in(2))
        sim_server_restart((int)sim_any(SERVERS));
    else
        sim_server_crash(server, server != sim_leader() || sim_once_in(2));
}

static void some_stop(void) {
    sim_host *host = any_host();
    if (host->machine.stopped_until > sim_now)
        return;
    host->machine.stopped_until = any_while();
    SAY("host %d is stopped for %.3f s", host->machine.id,
        zkl_clock_seconds(host->machine.stopped_until - sim_now));
}

static void some_closing(void) {
    sim_host *host = any_host();
    if (host->client)
        sim_host_close(host);
    else
        sim_host_open(host);
}

/* Rather one that has something to lose. */
static sim_host *any_holder(void) {
    sim_host *host = NULL;
    for (int tries = 0; tries < HOSTS_MOST; tries++) {
        host = any_host();
        if (host->client && host->client->context.counters.held)
            break;
    }
    return host;
}

static void move(sim_event *event) {
    (void)event;
    if (history.is_over)
        return;
    sim_host *host = any_holder();
    host->machine.era++;
    host->machine.cut_off_until = sim_now + history.timeout / 4;
    SAY("network: host %d finds nobody for %.3f s, and its servers elsewhere then",
        host->machine.id, zkl_clock_seconds(history.timeout / 4));
    sim_sockets_cut(-1, host, 1);
}

/* The handle by which somebody carries his session on may meet a server that does not show what the
 * former one did. */
static void lag_before_move(void) {
    if (sim_once_in(2))
        sim_server_lag((int)sim_any(SERVERS), any_while(), false);
    for (int i = 0; i < SERVERS; i++)
        if (sim_any(3))
            sim_server_lag_behind(i, sim_now + 2 * history.timeout);
    if (!history.moving.place)
        sim_after(&history.moving, sim_some(history.timeout));
}

/* A client that finds no server by the addresses that it has looks names up again, and carries its
 * session on. */
static void some_names(void) {
    sim_host *host = any_host();
    if (sim_once_in(2)) {
        lag_before_move();
        return;
    }
    host->machine.no_names = sim_once_in(2);
    host->machine.era += sim_once_in(2);
    host->machine.cut_off_until = any_while();
    if (sim_once_in(3))
        host->machine.names_from = sim_now + sim_some(2 * history.timeout);
    SAY("network: host %d finds nobody for %.3f s, names %s", host->machine.id,
        zkl_clock_seconds(host->machine.cut_off_until - sim_now),
        host->machine.no_names ? "included" : "are new");
    sim_sockets_cut(-1, host, 1);
}

/* ---- people ---- */

static const char *any_directory(void) {
    static char path[64];
    if (sim_line_count && sim_any(4))
        return sim_line_path(sim_lines_any());
    const sim_place place = sim_any(PLACES);
    snprintf(path, sizeof path, "%s%s", sim_place_path(place),
             place != PLACE_POOL ? ""
             : sim_once_in(2)    ? "/locks"
                                 : "/leases");
    return path;
}

static fake_node *any_child(const char *path) {
    const fake_node *directory = fake_find(sim_tree, path, FAKE_LATEST);
    if (!directory || !directory->child_count)
        return NULL;
    fake_node *child = NULL;
    for (unsigned n = 1 + sim_any((unsigned)directory->child_count); n > 0; n--)
        child = fake_child_before(directory, child, FAKE_LATEST);
    return child;
}

static void some_operator(void) {
    const char *path = any_directory();
    const fake_node *child = any_child(path);
    sim_session *session;
    switch (sim_any(5)) {
    case 0:
        session = sim_session_any();
        if (session)
            sim_session_expire(session);
        break;
    case 1:
        sim_do(OP_REAP, path, NULL, FAKE_PERSISTENT, NULL);
        break;
    case 2:
        if (child)
            sim_do(OP_SET, child->path, ZKL_REVOKE, FAKE_PERSISTENT, NULL);
        break;
    default:
        if (child)
            sim_do(OP_DELETE, child->path, NULL, FAKE_PERSISTENT, NULL);
    }
}

static void stranger_goes(unsigned i) {
    sim_request *r = sim_request_new(OP_CLOSE_SESSION, NULL);
    r->session = history.strangers[i];
    sim_ensemble_write(r);
    sim_request_drop(r);
    history.strangers[i] = NULL;
}

static size_t leases_there(void) {
    char path[64];
    snprintf(path, sizeof path, "%s/leases", sim_place_path(PLACE_POOL));
    return fake_children(sim_tree, path);
}

/* As Curator, kazoo or Go would name it; or with a number that nobody has given it. */
static void stranger_comes(unsigned i) {
    static const char *const locks[] = {"-1111-4222-b333-444444444444-lock-",
                                        "0123456789abcdef01234567__lock__"},
                             *const shared[] = {"-1111-4222-b333-444444444444-__READ__",
                                                "-1111-4222-b333-444444444444-__WRIT__"};
    char path[160], name[96];
    const sim_place place = sim_any(PLACES);
    const char *const *forms = place == PLACE_SHARED ? shared : locks;
    const bool is_lease = place == PLACE_POOL && sim_once_in(2);
    if (is_lease && leases_there() >= PERMITS)
        return; /* it would wait at the gate, as everybody does */
    snprintf(name, sizeof name, "_c_%08x%s", sim_any(~0U),
             is_lease ? "-lease-" : forms[sim_any(2)]);
    snprintf(path, sizeof path, "%s%s/%s", sim_place_path(place),
             is_lease              ? "/leases"
             : place == PLACE_POOL ? "/locks"
                                   : "",
             name);
    const bool is_stray = !is_lease && place != PLACE_SHARED && sim_once_in(6);
    if (is_stray) {
        const int32_t number = sim_once_in(2) ? (int32_t)sim_bits() : (int32_t)sim_any(40);
        snprintf(path + strlen(path), 16, "%010d", number);
    }
    history.strangers[i] = sim_session_stranger();
    sim_do(OP_CREATE, path, "stranger", is_stray ? FAKE_EPHEMERAL : FAKE_EPHEMERAL_SEQUENCE,
           history.strangers[i]);
}

/* The name that a node of ours will have, or has: names are no secret. The first one is taken whose
 * create is not answered. */
static bool some_name(char path[160]) {
    sim_host *host = any_host();
    zkl_table_walk walk = {0};
    const zkl_line *line;
    while (host->client && (line = zkl_lines_next(&host->client->lines, &walk)))
        ZKL_EACH (const zkl_contender, c, &line->members, member) {
            char name[ZKL_ZNODE_SIZE];
            if (!zkl_node_is_asked(c->node) && c->node != ZKL_NODE_UNKNOWN)
                continue;
            zkl_znode_make(name, (zkl_guid){line->context->guid, c->receiver.id}, c->terms.kind);
            zkl_znode_append(name, (int32_t)sim_any(8));
            snprintf(path, 160, "%s/%s", line->path, name);
            host->is_forged = true;
            return true;
        }
    return false;
}

static void forger_comes(unsigned i) {
    char path[160];
    if (!some_name(path))
        return;
    history.strangers[i] = sim_session_stranger();
    SAY("stranger: makes %s", path);
    sim_do(OP_CREATE, path, "stranger", FAKE_EPHEMERAL, history.strangers[i]);
}

static void some_stranger(void) {
    const unsigned i = sim_any(4);
    if (history.strangers[i])
        stranger_goes(i);
    else if (sim_once_in(2))
        forger_comes(i);
    else
        stranger_comes(i);
}

/* The maker of a node may read it: one that it may not read is somebody else's (line/recover). */
static void some_refusal(void) {
    fake_allow(sim_tree);
    sim_refuse_credentials(sim_once_in(2) ? 0 : 1 + sim_any(4));
    if (sim_once_in(2))
        return;
    /* a sync and the end of a watch do not come by the tree: then nothing is refused */
    static const fake_op ops[] = {FAKE_CREATE, FAKE_LIST,    FAKE_GET,      FAKE_ERASE,
                                  FAKE_SYNC,   FAKE_UNWATCH, FAKE_TRANSACT, FAKE_SET,
                                  FAKE_ACL,    FAKE_SYNC,    FAKE_SYNC};
    const fake_op op = ops[sim_any(sizeof ops / sizeof *ops)];
    const int rc = sim_once_in(2) || op == FAKE_GET ? ZTHROTTLEDOP : ZNOAUTH;
    fake_refuse(sim_tree, op, any_directory(), rc, 1 + sim_any(3));
}

/* Of all requests, or of some; or nobody may make a directory. */
static void some_throttling(void) {
    const bool ends = sim_once_in(2);
    sim_throttle(ends ? 0 : 2 + sim_any(10));
    sim_throttle_directories(!ends && sim_once_in(3));
    if (!ends && sim_once_in(4))
        sim_throttle(1);
}

/* ---- deeds ---- */

static void fault(unsigned kind) {
    sim_counted.faults++;
    switch (kind) {
    case CUTS:
        some_cut();
        break;
    case SLOWNESS:
        some_slowness();
        break;
    case PARTITIONS:
        some_partition();
        break;
    case CRASHES:
        some_crash();
        break;
    case STOPS:
        some_stop();
        break;
    case STALLS:
        sim_server_stop(any_server(), any_while());
        break;
    case OPERATORS:
        some_operator();
        break;
    case STRANGERS:
        some_stranger();
        break;
    case THROTTLING:
        some_throttling();
        break;
    case CLOSING:
        some_closing();
        break;
    case NAMES:
        some_names();
        break;
    default:
        some_refusal();
    }
}

static void deed(void) {
    const unsigned kind = 1U << sim_any(12);
    if (sim_once_in(history.one_in) && (history.faults & kind)) {
        fault(kind);
        return;
    }
    sim_host *host = any_host();
    const unsigned what = sim_any(12);
    if (sim_line_count && what < 9)
        sim_lines_deed(host);
    else if (what < 8)
        sim_host_join(host);
    else if (what < 10)
        sim_host_touch(host);
    else if (what < 11)
        sim_host_ask(host);
    else
        host->lateness = sim_once_in(4) ? sim_some(4 * ZKL_SECOND) : SIM_MS;
}

static void next_deed(sim_event *event) {
    const unsigned i = history.done++;
    const uint64_t chance = sim_chance();
    sim_seed((history.plan->seed << 16) + i);
    const zkl_nanos pause = sim_some(history.pause);
    if (!history.plan->dropped[i])
        deed();
    if (!history.plan->dropped[i] && history.hosts[0].has_notes && sim_any(2))
        sim_clerk_deed(any_host());
    if (history.hosts[0].has_marks)
        sim_marks_deed();
    sim_host_check_deadlines(any_host());
    for (int h = 0; h < history.host_count && sim_line_count; h++)
        sim_lines_check(&history.hosts[h]);
    sim_seed(chance);
    if (history.done < history.deeds)
        sim_after(event, pause);
    else
        history.is_over = true;
}

/* ---- the end ---- */

/* Before each watch is read again by itself; but a host that was stopped while its session ended
 * hears of that only when two thirds of a session timeout have passed. */
#define SOON (15 * ZKL_SECOND)

static void mend(void) {
    SAY("everything is mended");
    sim_ensemble_heal();
    sim_lines_mend();
    for (int i = 0; i < history.host_count; i++) {
        sim_host *host = &history.hosts[i];
        host->machine.no_names = false;
        host->machine.names_from = 0;
        host->machine.cut_off_until = 0;
        if (host->machine.stopped_until > history.awake_from)
            history.awake_from = host->machine.stopped_until;
    }
    for (unsigned i = 0; i < 4; i++)
        if (history.strangers[i])
            stranger_goes(i);
}

static bool all_idle(void) {
    for (int i = 0; i < history.host_count; i++)
        if (!sim_host_is_idle(&history.hosts[i]))
            return false;
    return true;
}

static void show_those_left(void) {
    for (int i = 0; i < history.host_count; i++)
        for (const sim_caller *c = history.hosts[i].callers; c; c = c->next)
            sim_tell("host %d's caller %llu: phase %d, node %d %s, position %d, answers %u", i + 1,
                     (unsigned long long)c->tag, c->contender->phase, c->contender->node,
                     c->contender->name ? c->contender->name : "", c->contender->queue.position,
                     c->answers);
}

static void await(bool (*done)(void), zkl_nanos most, const char *what) {
    const zkl_nanos until = sim_now + most;
    while (!done()) {
        if (sim_step(until) || sim_now < until || done())
            continue;
        show_those_left();
        sim_fail("%s", what);
    }
}

static bool all_flushed(void) {
    for (int i = 0; i < history.host_count; i++)
        if (!sim_host_flushed(&history.hosts[i]))
            return false;
    return true;
}

static bool all_forgotten(void) {
    for (int i = 0; i < history.host_count; i++) {
        const zkl_client *client = history.hosts[i].client;
        if (client && zkl_lines_count(&client->lines))
            return false;
    }
    return true;
}

static bool all_clerks(bool (*is_done)(const sim_host *host)) {
    for (int i = 0; i < history.host_count; i++)
        if (history.hosts[i].client && !is_done(&history.hosts[i]))
            return false;
    return true;
}

static bool all_answered(void) {
    return all_clerks(sim_clerk_is_idle);
}

static bool all_marks_answered(void) {
    return all_clerks(sim_marks_are_answered);
}

static bool all_awake(void) {
    return sim_now > history.awake_from + SIM_MS;
}

static bool all_current(void) {
    return all_clerks(sim_clerk_is_current);
}

static bool all_stopped(void) {
    return all_clerks(sim_clerk_has_stopped);
}

/* Once more, when nothing is wrong any more: whoever watches is told, and not only because each is
 * read again now and then. */
static void change_notes(void) {
    sim_do(OP_CREATE, SIM_ROOT, "", FAKE_PERSISTENT, NULL);
    for (int note = 0; note < NOTES; note++) {
        const char *path = sim_note_path((sim_note)note);
        if (sim_do(OP_CREATE, path, "", FAKE_PERSISTENT, NULL) == ZNODEEXISTS)
            sim_do(OP_SET, path, "", FAKE_PERSISTENT, NULL);
    }
}

static void see_to_notes(void) {
    await(all_answered, 120 * ZKL_SECOND, "a node request is never answered");
    await(all_current, 120 * ZKL_SECOND, "a watch never shows the latest state");
    change_notes();
    await(all_current, SOON, "a watch does not tell of a change");
    for (int i = 0; i < history.host_count; i++)
        if (history.hosts[i].client)
            sim_clerk_stop(&history.hosts[i]);
    await(all_stopped, 60 * ZKL_SECOND, "a watch is left that nobody wants");
}

/* Everybody who waits is served, and gives back; then the servers have nothing of anybody. */
static void see_to_the_end(void) {
    await(all_awake, 120 * ZKL_SECOND, "time does not pass");
    for (int i = 0; i < history.host_count; i++)
        sim_host_rest(&history.hosts[i]);
    await(all_idle, 300 * ZKL_SECOND, "somebody waits for ever, or is told nothing");
    for (int i = 0; i < history.host_count; i++)
        if (history.hosts[i].client)
            sim_host_flush(&history.hosts[i]);
    await(all_flushed, 60 * ZKL_SECOND, "a flush is never answered");
    await(all_forgotten, 60 * ZKL_SECOND, "a line is left at which nobody is");
    await(sim_judge_none_left, SOON, "a node is left of which nobody knows");
    if (history.hosts[0].has_notes)
        see_to_notes();
    await(all_marks_answered, 120 * ZKL_SECOND, "an ask for a mark is never answered");
    for (int i = 0; i < history.host_count; i++)
        sim_host_close(&history.hosts[i]);
    sim_run(sim_now + 20 * ZKL_SECOND + 3 * history.timeout);
    sim_judge_end();
    if (history.hosts[0].has_marks)
        sim_marks_end();
    sim_losses_end();
    sim_ledger_end();
}

/* ---- a history ---- */

static void ran(sim_machine *machine) {
    sim_host *host = (sim_host *)machine;
    sim_host_ran(host);
    sim_judge(host);
}

unsigned sim_history_deeds(uint64_t seed) {
    sim_seed(seed);
    if (seed & SIM_MANY_LINES)
        return 40 + sim_any(160);
    return 100 + sim_any(sim_once_in(8) ? 3000 : 500);
}

static void set_up_host(int i) {
    sim_host *host = &history.hosts[i];
    sim_host_begin(host, i + 1);
    host->session_timeout = zkl_clock_seconds(history.timeout);
    host->machine.drift = (int)sim_any(10001) - 5000;
    if (sim_once_in(4))
        host->chroot = SIM_ROOT;
}

/* An answer takes 0.22 to 0.45 of the session timeout: the connection stays, and no validity comes
 * once the first one is over. That holds until the end. */
static void set_up_distance(void) {
    sim_host *host = any_host();
    host->machine.distance = history.timeout / 200 * (22 + sim_any(24));
    SAY("network: what host %d says and hears takes %.3f s", host->machine.id,
        zkl_clock_seconds(host->machine.distance));
}

/* So that what many callers ask for travels together. In one of four nothing goes wrong, and no
 * waiter is polled. */
static void set_up_lines(const sim_plan *plan, bool is_narrow) {
    const bool many = plan->seed & SIM_MANY_LINES;
    const sim_lines_plan lines = {
        .count = many ? 2 + (int)sim_any(PLACES_MOST - PLACES - 1) : 0,
        .is_calm = many && !history.faults && !is_narrow,
        .has_cuts = history.faults & CUTS,
        .has_operators = history.faults & OPERATORS,
    };
    sim_lines_begin(&lines);
    for (int i = 0; i < history.host_count && many; i++)
        history.hosts[i].callers_most = 2 * (unsigned)lines.count + 6;
}

/* The histories whose requests are counted (costs) have all the nodes that they ask for. */
#define FEW_NODES_FROM 1000

static void set_up(const sim_plan *plan) {
    memset(&history, 0, sizeof history);
    history.plan = plan;
    history.deeds = sim_history_deeds(plan->seed);
    sim_begin(plan->seed * UINT64_C(0x9e3779b97f4a7c15) + 1);
    history.timeout = (2 + (zkl_nanos)sim_any(9)) * ZKL_SECOND;
    sim_ensemble_begin(history.timeout / (2 + sim_any(5)));
    sim_exists_needs_read = plan->seed % 2 == 0;
    sim_is_keeper = plan->seed & SIM_KEEPER;
    history.faults = plan->seed & SIM_MANY_LINES && plan->seed % 4 == 0 ? 0
                     : sim_once_in(10)                                  ? 0
                     : sim_once_in(3)                                   ? ALL_FAULTS
                                      : (unsigned)sim_bits() & ALL_FAULTS;
    history.one_in = 1 + sim_any(6);
    history.pause = (sim_once_in(4) ? 10 : 200) * SIM_MS;
    history.host_count = 2 + (int)sim_any(plan->seed & SIM_MANY_LINES ? 2 : HOSTS_MOST - 1);
    const bool is_secured = sim_once_in(5), is_narrow = sim_once_in(5);
    const bool has_notes = plan->seed % 3 != 0; /* the others have locks alone */
    const size_t watches_most = 200 + 100 * sim_any(6);
    const size_t nodes_most = plan->seed % 9 == 0 && plan->seed > FEW_NODES_FROM
                                  ? 400 + 200 * (size_t)(plan->seed / 9 % 8)
                                  : 0;
    if (history.faults & OPERATORS)
        sim_forget_to_hang_up(2 + sim_any(10));
    if (is_narrow)
        sim_packet_most = 28 + watches_most + (has_notes ? SIM_NOTES_WATCHED : 0);
    if (is_narrow && plan->seed % 4 == 1)
        sim_packet_most = 28 + watches_most / 4; /* less than clients think that servers take */
    for (int i = 0; i < history.host_count; i++) {
        set_up_host(i);
        history.hosts[i].is_secured = is_secured;
        history.hosts[i].has_notes = has_notes;
        history.hosts[i].has_marks = plan->seed & SIM_MARKS;
        history.hosts[i].is_cut = history.faults & CUTS;
        history.hosts[i].is_robbed = history.faults & OPERATORS;
        history.hosts[i].watches_most = is_narrow ? watches_most : 0;
        history.hosts[i].nodes_most = nodes_most;
    }
    if (plan->seed % 13 == 6 && !(plan->seed & SIM_MANY_LINES))
        set_up_distance();
    set_up_lines(plan, is_narrow);
    SAY("seed %llu: %d hosts, sessions of %.0f s, %u deeds, faults %x",
        (unsigned long long)plan->seed, history.host_count, zkl_clock_seconds(history.timeout),
        history.deeds, history.faults);
}

/* Numbers that are almost used up, in some. */
static void age_directories(void) {
    if (!sim_once_in(6))
        return;
    sim_do(OP_CREATE, SIM_ROOT, "", FAKE_PERSISTENT, NULL);
    sim_do(OP_CREATE, sim_place_path(PLACE_B), "", FAKE_PERSISTENT, NULL);
    fake_find(sim_tree, sim_place_path(PLACE_B), FAKE_LATEST)->next =
        INT32_MAX - (int32_t)sim_any(60);
}

void sim_history_run(const sim_plan *plan) {
    set_up(plan);
    sim_ledger_begin();
    sim_judge_begin(history.hosts, history.host_count);
    sim_journal_begin(plan->seed);
    if (plan->seed & SIM_MARKS)
        sim_marks_begin(sim_once_in(3) ? 10 * ZKL_SECOND : 0);
    sim_ran = ran;
    if (!history.hosts[0].is_secured)
        age_directories();
    if (sim_line_count && !history.hosts[0].is_secured && sim_once_in(2))
        sim_lines_make();
    for (int i = 0; i < history.host_count; i++)
        sim_host_open(&history.hosts[i]);
    history.next.run = next_deed;
    history.moving.run = move;
    sim_after(&history.next, sim_some(ZKL_SECOND));
    while (!history.is_over)
        sim_step(ZKL_NEVER);
    mend();
    see_to_the_end();
    sim_journal_end();
    sim_ensemble_end();
    sim_end();
}
