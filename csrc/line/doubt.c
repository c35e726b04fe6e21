/* SPDX-License-Identifier: MIT */
#include "line/doubt.h"

zkl_status zkl_doubt_about(const zkl_contender *c) {
    const zkl_nanos now = zkl_context_now(c->context);
    if (c->hold_until <= now)
        return ZKL_LOST;
    return c->context->valid_until > now ? ZKL_OK : ZKL_UNKNOWN;
}

/* A contender in a line is its own witness. The others are in common->doubtful. */
void zkl_doubt_begin(zkl_contender *c, zkl_contender *witness) {
    if (!c->hosted)
        return;
    witness->end.witness = true;
    if (!c->end.doubtful && c != witness)
        zkl_list_append(&c->common->doubtful, &c->member);
    c->end.doubtful = true;
}

void zkl_doubt_drop(zkl_contender *c) {
    if (c->end.doubtful && !c->line)
        zkl_list_remove(&c->common->doubtful, &c->member);
    c->end.doubtful = false;
}

void zkl_doubt_drop_all(zkl_line_common *common) {
    ZKL_EACH (zkl_contender, c, &common->doubtful, member) {
        zkl_doubt_drop(c);
    }
}

static void conclude(zkl_contender *c, zkl_loss loss) {
    zkl_doubt_drop(c);
    if (loss != ZKL_LOSS_NONE)
        zkl_contender_had_lost(c, loss);
    else
        zkl_contender_rested(c);
}

void zkl_doubt_end(zkl_contender *witness, zkl_loss loss) {
    if (!witness->end.witness)
        return;
    witness->end.witness = false;
    if (witness->end.doubtful) {
        conclude(witness, loss);
        return;
    }
    ZKL_EACH (zkl_contender, c, &witness->common->doubtful, member) {
        const zkl_testimony testimony = c->call->heard(c, witness);
        if (testimony == ZKL_TESTIMONY_LAST ||
            (testimony == ZKL_TESTIMONY_ONE && loss != ZKL_LOSS_NONE))
            conclude(c, loss);
    }
}

void zkl_doubt_expire(zkl_line_common *common) {
    ZKL_EACH (zkl_contender, c, &common->doubtful, member) {
        conclude(c, ZKL_LOSS_EXPIRED);
    }
}
