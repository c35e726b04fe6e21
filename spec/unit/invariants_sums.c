/* SPDX-License-Identifier: MIT */
/* The sums over all lines of a client; invariants_line.c looks at one line. */
#include "invariants.h"

#include "client/client_state.h"
#include "invariants_line.h"
#include "line/line_state.h"
#include "nodes/node_request_state.h"
#include "port/wire.h"
#include "recipe/snapshot.h"

#include <string.h>

typedef struct sums {
    size_t lines, watched, nodes, owed, departing, reads, lists, due, behind, creates, deletes;
    uint64_t waiting, held;
} sums;

static void add_contender(sums *sum, const zkl_contender *c) {
    sum->departing += c->end.departure != 0;
    sum->reads += c->post.round == &c->common->reads;
    sum->lists += c->post.round == &c->common->lists;
    sum->due += c->node == ZKL_NODE_CREATE_DUE || c->node == ZKL_NODE_DELETE_DUE;
    sum->behind += c->node == ZKL_NODE_CREATE_BEHIND;
    sum->creates += c->node == ZKL_NODE_CREATE_SENT || c->node == ZKL_NODE_CREATE_BATCHED;
    sum->deletes += c->node == ZKL_NODE_DELETE_SENT || c->node == ZKL_NODE_DELETE_BATCHED;
    sum->waiting += !c->is_part && c->phase == ZKL_WAITING;
    sum->held += !c->is_part && c->phase == ZKL_HELD;
    *(c->share.owed ? &sum->owed : &sum->nodes) += c->share.bytes;
    if (c->watch != ZKL_WATCH_NONE)
        sum->watched += zkl_wire_text(zkl_line_length(c->line, c->name));
}

static void add_line(sums *sum, const zkl_line *line) {
    sum->lines++;
    sum->watched += zkl_line_watched_bytes(line);
    if (line->directory_watch != ZKL_WATCH_NONE)
        sum->watched += zkl_wire_text(strlen(line->path));
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        add_contender(sum, c);
    }
}

static void check_departing(const zkl_line_common *common, size_t count) {
    const subject of = {NULL, NULL};
    uint64_t before = 0;
    size_t listed = 0, refusals = 0;
    ZKL_EACH (const zkl_contender, c, &common->departing, end.leaving) {
        must(of, c->end.departure > before && c->end.departure <= common->departures,
             "those who depart are in order");
        before = c->end.departure;
        listed++;
        refusals += c->end.refused != ZKL_OK;
    }
    must(of, refusals == common->refusals, "refused deletes are counted");
    must(of, listed == count, "the list of those who depart has all of them");
}

static void check_outbox(const zkl_outbox *outbox, const sums *sum) {
    const subject of = {NULL, NULL};
    must(of,
         invariants_count(&outbox->due) == sum->due &&
             invariants_count(&outbox->behind) == sum->behind,
         "what is due is in the outbox");
    must(of, outbox->creates == sum->creates && outbox->deletes == sum->deletes,
         "creates and deletes on their way are counted");
    must(of, !outbox->due.first || outbox->timer.at, "what is due goes out when the timer fires");
}

static uint64_t check_age(const zkl_list *list, zkl_phase phase) {
    zkl_nanos before = 0;
    uint64_t count = 0;
    ZKL_EACH (const zkl_contender, c, list, age) {
        must((subject){NULL, c}, !c->is_part && c->phase == phase && c->since >= before,
             "who waits or holds is listed by age");
        before = c->since;
        count++;
    }
    return count;
}

static void check_ages(const zkl_context *context) {
    const subject of = {NULL, NULL};
    const zkl_stats *counters = &context->counters;
    must(of, check_age(&context->waiters, ZKL_WAITING) == counters->waiting,
         "all waiters have an age");
    must(of, check_age(&context->holds, ZKL_HELD) == counters->held, "all holds have an age");
}

static uint64_t count_of(const zkl_histogram *histogram) {
    uint64_t count = 0;
    for (size_t i = 0; i < ZKL_BUCKETS; i++)
        count += histogram->buckets[i];
    return count;
}

/* Every end is counted once. For locks with names the specs check that. */
static void check_counts(const zkl_context *context) {
    const subject of = {NULL, NULL};
    const zkl_stats *all = &context->counters;
    const zkl_counts *counts = &context->counts.unnamed;
    uint64_t ended = 0, lost = 0;
    for (int i = 0; i < ZKL_RESULT_END; i++)
        ended += counts->ended[i];
    for (int i = ZKL_LOSS_NONE + 1; i < ZKL_LOSS_END; i++)
        lost += counts->lost[i];
    if (context->counts.named[0])
        return;
    must(of, counts->waiting + counts->standing_by == all->waiting && counts->held == all->held,
         "who waits or holds has a name");
    must(of, counts->ended[ZKL_RESULT_ACQUIRED] == all->acquired && lost == all->lost,
         "grants and losses are counted once");
    must(of,
         count_of(&counts->wait) == ended && count_of(&counts->hold) == all->acquired - all->held,
         "waits and holds are counted when they end");
}

static void check_sums(const zkl_lines *lines, const sums *sum) {
    const subject of = {NULL, NULL};
    const zkl_line_common *common = &lines->common;
    const zkl_stats *counters = &common->context->counters;
    must(of, sum->lines == zkl_lines_count(lines), "lines are counted");
    must(of, sum->watched + common->watch_budget.left == common->watch_budget.bytes,
         "each watch is counted once");
    must(of, sum->reads == common->reads.count && sum->lists == common->lists.count,
         "those who are not watched are counted");
    /* The heads of compounds count, but are in no line. */
    must(of, sum->waiting <= counters->waiting && sum->held <= counters->held,
         "those who wait and hold are counted");
    check_ages(common->context);
    check_counts(common->context);
    ZKL_EACH (const zkl_contender, c, &common->doubtful, member) {
        must((subject){NULL, c},
             c->end.doubtful && c->listener == &zkl_listener_host && !c->line &&
                 c->phase == ZKL_OVER && c->outcome == ZKL_OK,
             "who is in doubt and in no line was released");
    }
    must(of, !common->retired.first && !common->idle.first && !common->dirty_nodes.first,
         "who is retired or idle has gone");
    must(of, !common->sent.first, "each line of which something was sent is settled");
    check_outbox(&common->outbox, sum);
    check_departing(common, sum->departing);
}

/* A share that is never returned, or returned twice, would be found here. The shares of leases that
 * are not in their line yet belong to heads, which wait. */
static void check_node_budget(const zkl_line_common *common, const zkl_nodes *nodes, sums sum) {
    const subject of = {NULL, NULL};
    const zkl_node_budget *budget = &common->node_budget;
    ZKL_EACH (const zkl_contender, c, &common->context->waiters, age) {
        if (!c->line)
            *(c->share.owed ? &sum.owed : &sum.nodes) += c->share.bytes;
    }
    ZKL_EACH (const zkl_node_request, waiting, &nodes->asks.due, ask.item)
        sum.nodes += waiting->share.bytes;
    ZKL_EACH (const zkl_node_request, handed, &nodes->asks.open, ask.item)
        sum.nodes += handed->share.bytes;
    must(of, sum.nodes + budget->made == budget->bytes && sum.owed == budget->owed,
         "each share of the node budget is counted once");
    must(of, budget->bytes <= budget->most, "all ephemeral nodes fit into the budget");
}

/* With thousands of callers not every step is checked, so that the checks cost less than the
 * steps. */
#define STEPS_FOR 256

void zkl_invariants_check(const zkl_lines *lines, const zkl_nodes *nodes) {
    static _Thread_local size_t steps, cost;
    if (++steps < cost / STEPS_FOR)
        return;
    sums sum = {0};
    steps = cost = 0;
    zkl_table_walk walk = {0};
    const zkl_line *line;
    while ((line = zkl_lines_next(lines, &walk))) {
        invariants_check_line(line);
        add_line(&sum, line);
        cost += 1 + line->snapshot.count;
    }
    cost += sum.waiting + sum.held + sum.departing;
    check_sums(lines, &sum);
    check_node_budget(&lines->common, nodes, sum);
}
