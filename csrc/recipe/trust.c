#include "recipe/trust.h"

#include "base/status.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* Two clocks may differ by a hundredth each, of what is counted. */
static zkl_nanos believable(zkl_nanos timeout) {
    return timeout / 100 * 98;
}

/* A leader pings every half tick, and T is two ticks at least: a quarter of T, and what its loop
 * adds. */
static zkl_nanos ping_period(zkl_nanos timeout) {
    return timeout / 10 * 3;
}

/* So long after the answer to j the follower's answer to the ping before it is on its way. */
static zkl_nanos pong_delay(zkl_nanos timeout) {
    return timeout / 12;
}

/* The servers refuse for reasons of the data, which says nothing of the session; or the link
 * went. */
static bool is_ordinary(int rc) {
    switch (rc) {
    case ZNONODE:
    case ZNOAUTH:
    case ZBADVERSION:
    case ZNOCHILDRENFOREPHEMERALS:
    case ZNODEEXISTS:
    case ZNOTEMPTY:
    case ZINVALIDACL:
    case ZBADARGUMENTS: /* somebody wants the root deleted */
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
        return ZKL_PROOF_QUORUM; /* proposed and committed as a transaction that fails */
    return is_ordinary(rc) ? ZKL_PROOF_NONE : ZKL_PROOF_BROKEN;
}

void zkl_trust_doubt(zkl_trust *trust) {
    trust->until = 0;
    trust->count = 0;
}

void zkl_trust_connected(zkl_trust *trust, const zkl_grant *grant) {
    if (grant->fresh)
        memset(trust, 0, sizeof *trust);
    if (grant->fresh || grant->granted < trust->granted)
        trust->granted = grant->granted;
    if (grant->fresh || grant->believed < trust->timeout) {
        trust->timeout = grant->believed;
        /* The servers count the shorter one since the session moved, whatever was promised
         * before. */
        if (trust->until > grant->root + believable(trust->timeout))
            trust->until = grant->root + believable(trust->timeout);
    }
    trust->root = grant->root;
    trust->written = 0;
    trust->count = 0;
}

static void believe(zkl_trust *trust, zkl_nanos since) {
    if (trust->until < since + believable(trust->timeout))
        trust->until = since + believable(trust->timeout);
}

/* The chain that ends with a request that was handed over at `handed`, and begins as late as can
 * be. */
static void conclude(zkl_trust *trust, zkl_nanos handed) {
    size_t j = trust->count;
    while (j > 0 && trust->kept[j - 1].answered + pong_delay(trust->granted) > handed)
        j--;
    if (j-- == 0)
        return;
    for (size_t i = j; i-- > 0;) {
        const struct zkl_proven *first = &trust->kept[i];
        if (first->founded && trust->written >= first->handed &&
            first->answered + ping_period(trust->granted) <= trust->kept[j].handed) {
            believe(trust, first->handed);
            return;
        }
    }
}

static void keep(zkl_trust *trust, zkl_nanos handed, zkl_nanos answered) {
    const zkl_nanos latest = zkl_trust_latest(trust);
    if (trust->count && handed < latest + ZKL_TRUST_GRAIN(trust->timeout))
        return;
    if (trust->count == ZKL_TRUST_KEPT)
        memmove(trust->kept, trust->kept + 1, --trust->count * sizeof *trust->kept);
    trust->kept[trust->count++] = (struct zkl_proven){
        .handed = handed,
        .answered = answered,
        .founded = (latest && handed < latest + trust->timeout / 2) ||
                   (trust->root && handed < trust->root + trust->timeout / 2),
    };
}

void zkl_trust_answered(zkl_trust *trust, zkl_proof proof, zkl_nanos handed, zkl_nanos answered) {
    if (proof == ZKL_PROOF_NONE)
        return;
    if (proof == ZKL_PROOF_BROKEN) {
        trust->count = 0;
        return;
    }
    if (proof == ZKL_PROOF_QUORUM) {
        trust->written = handed;
        believe(trust, trust->root); /* says something new only the first time */
    }
    conclude(trust, handed);
    keep(trust, handed, answered);
}

zkl_nanos zkl_trust_latest(const zkl_trust *trust) {
    return trust->count ? trust->kept[trust->count - 1].handed : 0;
}

bool zkl_trust_wants_write(const zkl_trust *trust) {
    return trust->written < zkl_trust_latest(trust) || !trust->count;
}
