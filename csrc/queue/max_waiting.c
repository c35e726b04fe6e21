#include "queue/max_waiting.h"

#include "queue/leave.h"
#include "recipe/verdict.h"

/* Which kinds of ours hold, or came before the one that is being looked at. */
typedef struct before {
    bool kinds[ZKL_KINDS];
} before;

static bool blocks(const before *ours, zkl_kind kind) {
    for (zkl_kind k = ZKL_KIND_LOCK; k < ZKL_KINDS; k++)
        if (ours->kinds[k] && zkl_verdict_blocks(&(zkl_child){.kind = k}, kind))
            return true;
    return false;
}

static before holders(const zkl_line *line) {
    before ours = {{false}};
    for (zkl_kind k = ZKL_KIND_LOCK; k < ZKL_KINDS; k++)
        ours.kinds[k] = line->tally.held[k] > 0;
    return ours;
}

/* How many of ours wait: those who have heard so, and those who came behind one of ours that blocks
 * them. In the end `ours` has the kinds of all, and `last` is the last to come of those who may be
 * refused. */
static size_t count(const zkl_line *line, before *ours, zkl_contender **last) {
    size_t waiting = 0;
    *ours = holders(line);
    *last = NULL;
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase != ZKL_WAITING)
            continue;
        if (!c->compound && !c->borrowed && (c->queued || blocks(ours, c->terms.kind))) {
            waiting++;
            if (c->terms.max_waiting && !c->settled)
                *last = c;
        }
        ours->kinds[c->terms.kind] = true;
    }
    return waiting;
}

bool zkl_max_waiting_refuses(const zkl_line *line, const zkl_terms *terms) {
    before ours;
    zkl_contender *last;
    if (!terms->max_waiting || terms->under)
        return false;
    const size_t waiting = count(line, &ours, &last);
    return blocks(&ours, terms->kind) && waiting >= terms->max_waiting - 1;
}

void zkl_max_waiting_thin(zkl_line *line) {
    before ours;
    zkl_contender *last;
    line->too_many = false;
    while (line->tally.bounded) {
        const size_t waiting = count(line, &ours, &last);
        if (!last || waiting <= last->terms.max_waiting - 1)
            return;
        zkl_leave_fail(last, ZKL_BUSY);
    }
}
