#include "line/doubt.h"

zkl_status zkl_doubt_about(const zkl_contender *c) {
    const zkl_nanos now = zkl_context_now(c->context);
    if (c->hold_until <= now)
        return ZKL_LOST;
    return c->context->valid_until > now ? ZKL_OK : ZKL_UNKNOWN;
}

/* One that is in a line is its own witness. The others are in common->doubtful. */
void zkl_doubt_begin(zkl_contender *c, zkl_contender *witness) {
    if (!c->hosted)
        return;
    witness->witness = true;
    if (!c->doubtful && c != witness)
        zkl_list_append(&c->common->doubtful, &c->member);
    c->doubtful = true;
}

void zkl_doubt_drop(zkl_contender *c) {
    if (c->doubtful && !c->line)
        zkl_list_remove(&c->common->doubtful, &c->member);
    c->doubtful = false;
}

void zkl_doubt_drop_all(zkl_line_common *common) {
    ZKL_EACH (zkl_contender, c, &common->doubtful, member) {
        zkl_doubt_drop(c);
    }
}

static void conclude(zkl_contender *c, bool lost) {
    zkl_doubt_drop(c);
    if (lost)
        zkl_contender_had_lost(c);
    else
        zkl_contender_rested(c);
}

void zkl_doubt_end(zkl_contender *witness, bool lost) {
    if (!witness->witness)
        return;
    witness->witness = false;
    if (witness->doubtful) {
        conclude(witness, lost);
        return;
    }
    ZKL_EACH (zkl_contender, c, &witness->common->doubtful, member) {
        const zkl_testimony testimony = c->call->heard(c, witness);
        if (testimony == ZKL_TESTIMONY_LAST || (testimony == ZKL_TESTIMONY_ONE && lost))
            conclude(c, lost);
    }
}

void zkl_doubt_expire(zkl_line_common *common) {
    ZKL_EACH (zkl_contender, c, &common->doubtful, member) {
        conclude(c, true);
    }
}
