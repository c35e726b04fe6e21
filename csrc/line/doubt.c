/* SPDX-License-Identifier: MIT */
#include "line/doubt.h"

zkl_status zkl_doubt_about(const zkl_contender *c) {
    const zkl_nanos now = zkl_context_now(c->context);
    if (c->hold_until <= now)
        return ZKL_LOST;
    return c->context->valid_until > now ? ZKL_OK : ZKL_UNKNOWN;
}

/* A contender in a line is its own witness. The others are in common->doubtful. */
void zkl_doubt_begin(zkl_contender *c, zkl_contender *witness, zkl_status answer) {
    if (c->listener == &zkl_listener_nobody)
        return;
    witness->end.witness = true;
    if (!c->end.doubtful && c != witness)
        zkl_list_append(&c->common->doubtful, &c->member);
    c->end.doubtful = true;
    c->end.unsure = answer == ZKL_UNKNOWN;
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

/* Validity above 0 at the release is proof that the session ended later. */
static bool has_lost(const zkl_contender *c, zkl_loss loss) {
    return loss != ZKL_LOSS_NONE && (c->end.unsure || loss != ZKL_LOSS_EXPIRED);
}

static void conclude(zkl_contender *c, zkl_loss loss) {
    zkl_doubt_drop(c);
    if (has_lost(c, loss))
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
        if (testimony == ZKL_TESTIMONY_NONE)
            continue;
        if (testimony != ZKL_TESTIMONY_ONE || has_lost(c, loss))
            conclude(c, loss);
        if (testimony != ZKL_TESTIMONY_ONLY)
            return;
    }
}
