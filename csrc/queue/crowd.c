#include "queue/crowd.h"

#include "queue/leave.h"
#include "recipe/verdict.h"

/* Which kinds of nodes of ours are held, or came before, as far as one has looked. */
typedef struct ahead {
    bool kinds[ZKL_KIND_LEASE + 1];
} ahead;

static bool blocks(const ahead *before, zkl_kind kind) {
    for (zkl_kind k = ZKL_KIND_LOCK; k <= ZKL_KIND_LEASE; k++)
        if (before->kinds[k] && zkl_verdict_blocks(&(zkl_child){.kind = k}, kind))
            return true;
    return false;
}

static ahead held(const zkl_line *line) {
    ahead before = {{false}};
    for (const zkl_contender *c = line->first; c; c = c->next)
        if (c->phase == ZKL_HELD)
            before.kinds[c->terms.kind] = true;
    return before;
}

/* In order of arrival: who waits for one of ours, or has heard that he waits. `before` is all of ours in the end; `last`
 * is the last of them that may be refused. */
static size_t count(const zkl_line *line, ahead *before, zkl_contender **last) {
    size_t waiting = 0;
    *before = held(line);
    *last = NULL;
    for (zkl_contender *c = line->first; c; c = c->next) {
        if (c->phase != ZKL_WAITING)
            continue;
        if (!c->compound && !c->borrowed && (c->queued || blocks(before, c->terms.kind))) {
            waiting++;
            if (c->terms.crowd && !c->settled)
                *last = c;
        }
        before->kinds[c->terms.kind] = true;
    }
    return waiting;
}

bool zkl_crowd_refuses(const zkl_line *line, const zkl_terms *terms) {
    ahead before;
    zkl_contender *last;
    if (!terms->crowd || terms->under)
        return false;
    const size_t waiting = count(line, &before, &last);
    return blocks(&before, terms->kind) && waiting >= terms->crowd - 1;
}

void zkl_crowd_thin(zkl_line *line) {
    ahead before;
    zkl_contender *last;
    for (;;) {
        const size_t waiting = count(line, &before, &last);
        if (!last || waiting <= last->terms.crowd - 1)
            return;
        zkl_leave_fail(last, ZKL_BUSY);
    }
}
