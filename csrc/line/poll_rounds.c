/* SPDX-License-Identifier: MIT */
#include "line/poll_rounds.h"

#include "base/round.h"
#include "line/evaluate.h"
#include "line/line_state.h"
#include "line/send.h"

/* The period of each round; with many contenders, as often as a thousand a second allow. Waiters
 * need the shorter one. */
#define READ_PERIOD (10 * ZKL_SECOND)
#define LIST_PERIOD ZKL_SECOND
/* The pause for each byte that is read: it keeps all rounds below a megabyte a second. */
#define BYTE (ZKL_SECOND / 1000000)

static zkl_contender *contender_of(zkl_post *post) {
    return ZKL_CONTAINER_OF(post, zkl_contender, post);
}

static zkl_nanos read_own(zkl_post *post) {
    zkl_contender *c = contender_of(post);
    if (!zkl_context_is_linked(c->context))
        /* zkl_line_resume, or the list that it wants, adds it to the round again */
        return ZKL_NEVER;
    if (c->node != ZKL_NODE_THERE)
        return 0;
    const zkl_nanos cost = (zkl_nanos)zkl_line_length(c->line, c->name) * BYTE;
    zkl_send_watch_own(c); /* there may be room by now */
    if (c->watch == ZKL_WATCH_NONE)
        zkl_send_read_own(c);
    zkl_line_settle(c->line);
    return cost;
}

/* One list serves all waiters in the line. */
static zkl_nanos list_line(zkl_post *post) {
    zkl_contender *c = contender_of(post);
    zkl_line *line = c->line;
    if (!zkl_context_is_linked(c->context))
        return ZKL_NEVER; /* as above */
    if (line->list_sent || line->listed + LIST_PERIOD > zkl_context_now(c->context))
        return 0;
    line->list_wanted = true;
    zkl_line_settle(line);
    return (zkl_nanos)line->snapshot.listed * BYTE;
}

void zkl_poll_rounds_init(zkl_line_common *common) {
    zkl_context *context = common->context;
    zkl_round_init(&common->reads, &context->timers, context->clock, READ_PERIOD, read_own);
    zkl_round_init(&common->lists, &context->timers, context->clock, LIST_PERIOD, list_line);
}
