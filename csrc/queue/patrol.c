#include "queue/patrol.h"

#include "queue/send.h"

#include <string.h>

/* So often, or as often as a thousand a second allow. A waiter is the more impatient. */
#define READ_PERIOD (10 * ZKL_SECOND)
#define LIST_PERIOD ZKL_SECOND
/* What is read is paid for with a pause: a megabyte in a second. */
#define BYTE (ZKL_SECOND / 1000000)

static zkl_contender *contender_of(zkl_post *post) {
    return (zkl_contender *)((char *)post - offsetof(zkl_contender, post));
}

static zkl_nanos read_own(zkl_post *post) {
    zkl_contender *c = contender_of(post);
    if (!c->context->port)
        return ZKL_NEVER; /* zkl_line_resume, or the list that it asks for, adds it again */
    if (c->node != ZKL_NODE_THERE)
        return 0;
    const zkl_nanos cost = (zkl_nanos)zkl_line_length(c->line, c->name) * BYTE;
    zkl_send_own(c); /* there may be room by now */
    if (c->watch == ZKL_WATCH_NONE)
        zkl_send_read(c);
    zkl_line_settle(c->line);
    return cost;
}

/* One list is for all who wait in the line. */
static zkl_nanos list_line(zkl_post *post) {
    zkl_contender *c = contender_of(post);
    zkl_line *line = c->line;
    if (!c->context->port)
        return ZKL_NEVER; /* as above */
    if (line->list_sent || line->listed + LIST_PERIOD > zkl_context_now(c->context))
        return 0;
    line->list_wanted = true;
    zkl_line_settle(line);
    return (zkl_nanos)line->listed_bytes * BYTE;
}

void zkl_patrol_init(zkl_context *context) {
    zkl_round_init(&context->reads, &context->timers, context->clock, READ_PERIOD, read_own);
    zkl_round_init(&context->lists, &context->timers, context->clock, LIST_PERIOD, list_line);
}

void zkl_patrol_read(zkl_contender *c) {
    if (c->post.round != &c->context->lists)
        zkl_round_add(&c->context->reads, &c->post);
}

void zkl_patrol_read_no_more(zkl_contender *c) {
    if (c->post.round == &c->context->reads)
        zkl_round_leave(&c->post);
}

void zkl_patrol_list(zkl_contender *c) {
    zkl_round_add(&c->context->lists, &c->post);
}

void zkl_patrol_list_no_more(zkl_contender *c) {
    if (c->post.round == &c->context->lists)
        zkl_round_leave(&c->post);
}

size_t zkl_patrol_count(const zkl_context *context) {
    return context->reads.count + context->lists.count;
}
