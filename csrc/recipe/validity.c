/* SPDX-License-Identifier: MIT */
#include "recipe/validity.h"

#include "base/status.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* The client's clock and a server's may each be wrong by one per cent. */
static zkl_nanos believable(zkl_nanos timeout) {
    return timeout / 100 * 98;
}

/* A leader pings every half tick, and T is at least two ticks. So a quarter of T, plus the time
 * that its loop adds. */
static zkl_nanos ping_period(zkl_nanos timeout) {
    return timeout / 10 * 3;
}

/* So long after the answer to j, the follower's answer to the ping before it is on its way. */
static zkl_nanos pong_delay(zkl_nanos timeout) {
    return timeout / 12;
}

/* The servers refuse because of the data, which says nothing about the session; or the link went
 * down. */
static bool is_ordinary(int rc) {
    switch (rc) {
    case ZNONODE:
    case ZNOAUTH:
    case ZBADVERSION:
    case ZNOCHILDRENFOREPHEMERALS:
    case ZNODEEXISTS:
    case ZNOTEMPTY:
    case ZINVALIDACL:
    case ZBADARGUMENTS: /* an attempt to delete the root */
    case ZUNIMPLEMENTED:
    case ZKL_SERVER_QUOTA_EXCEEDED:
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZCLOSING:
        return true;
    default:
        return false;
    }
}

zkl_proof zkl_proof_of(zkl_reach reach, int rc) {
    if (reach == ZKL_REACH_SERVER)
        return ZKL_PROOF_NONE;
    if (rc == ZOK)
        return reach == ZKL_REACH_LEADER ? ZKL_PROOF_LEADER : ZKL_PROOF_QUORUM;
    if (rc == ZNONODE && reach == ZKL_REACH_ERASE)
        return ZKL_PROOF_QUORUM; /* proposed and committed, as a transaction that fails */
    return is_ordinary(rc) ? ZKL_PROOF_NONE : ZKL_PROOF_BROKEN;
}

void zkl_validity_doubt(zkl_validity_proof *validity) {
    validity->until = 0;
    validity->count = 0;
}

void zkl_validity_connected(zkl_validity_proof *validity, const zkl_grant *grant) {
    if (grant->fresh)
        memset(validity, 0, sizeof *validity);
    if (grant->fresh || grant->granted < validity->granted)
        validity->granted = grant->granted;
    if (grant->fresh || grant->believed < validity->timeout) {
        validity->timeout = grant->believed;
        /* Since the session moved, the servers count the shorter timeout, whatever they promised
         * before. */
        if (validity->until > grant->root + believable(validity->timeout))
            validity->until = grant->root + believable(validity->timeout);
    }
    validity->root = grant->root;
    validity->written = 0;
    validity->count = 0;
}

static void believe(zkl_validity_proof *validity, zkl_nanos since) {
    if (validity->until < since + believable(validity->timeout))
        validity->until = since + believable(validity->timeout);
}

/* Finds the chain that ends with a request that was handed over at `handed`, and begins as late as
 * possible. */
static void conclude(zkl_validity_proof *validity, zkl_nanos handed) {
    const struct zkl_proven *kept = validity->kept;
    const zkl_nanos before_pong = handed - pong_delay(validity->granted);
    size_t j = validity->count;
    while (j > 0 && kept[j - 1].answered > before_pong)
        j--;
    if (j-- == 0)
        return;
    const zkl_nanos before_ping = kept[j].handed - ping_period(validity->granted);
    for (size_t i = j; i-- > 0;) {
        if (kept[i].answered <= before_ping && kept[i].founded &&
            validity->written >= kept[i].handed) {
            believe(validity, kept[i].handed);
            return;
        }
    }
}

zkl_nanos zkl_validity_slowest(const zkl_validity_proof *validity) {
    const zkl_nanos gaps = ping_period(validity->granted) + pong_delay(validity->granted);
    return (believable(validity->timeout) - gaps) / 3;
}

static void keep(zkl_validity_proof *validity, zkl_nanos handed, zkl_nanos answered) {
    const zkl_nanos latest = zkl_validity_latest(validity);
    if (validity->count && handed < latest + ZKL_VALIDITY_GRAIN(validity->timeout))
        return;
    if (validity->count == ZKL_VALIDITY_KEPT)
        memmove(validity->kept, validity->kept + 1, --validity->count * sizeof *validity->kept);
    validity->kept[validity->count++] = (struct zkl_proven){
        .handed = handed,
        .answered = answered,
        .founded = (latest && handed < latest + validity->timeout / 2) ||
                   (validity->root && handed < validity->root + validity->timeout / 2),
    };
}

void zkl_validity_answered(zkl_validity_proof *validity, zkl_proof proof, zkl_nanos handed,
                           zkl_nanos answered) {
    if (proof == ZKL_PROOF_NONE)
        return;
    if (proof == ZKL_PROOF_BROKEN) {
        validity->count = 0;
        return;
    }
    if (proof == ZKL_PROOF_QUORUM) {
        validity->written = handed;
        believe(validity, validity->root); /* only the first time it says something new */
    }
    conclude(validity, handed);
    keep(validity, handed, answered);
}

zkl_nanos zkl_validity_latest(const zkl_validity_proof *validity) {
    return validity->count ? validity->kept[validity->count - 1].handed : 0;
}

bool zkl_validity_wants_write(const zkl_validity_proof *validity) {
    return validity->written < zkl_validity_latest(validity) || !validity->count;
}
