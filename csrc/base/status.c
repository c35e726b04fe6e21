/* SPDX-License-Identifier: MIT */
#include "base/status.h"

#include <zookeeper/zookeeper.h>

/* Each also has a row in docs/api-clients.md and a section in docs/troubleshooting.md. */
static const char *const ours[] = {
    [ZKL_OK] = "ok",
    [ZKL_TIMEOUT] = "timeout",
    [ZKL_DISCONNECTED] = "disconnected",
    [ZKL_CANCELLED] = "cancelled",
    [ZKL_CLOSED] = "closed",
    [ZKL_NOT_OWNER] = "not owner",
    [ZKL_LOST] = "lost",
    [ZKL_DEADLOCK] = "deadlock",
    [ZKL_WRONG_KIND] = "wrong kind",
    [ZKL_ACCESS_DENIED] = "access denied",
    [ZKL_AUTH_FAILED] = "auth failed",
    [ZKL_FORKED] = "forked",
    [ZKL_NO_MEMORY] = "not enough memory",
    [ZKL_BAD_ARGUMENT] = "bad argument",
    [ZKL_TOO_BIG] = "too big",
    [ZKL_TOO_MANY] = "too many",
    [ZKL_BUSY] = "busy",
    [ZKL_NO_NODE] = "no node",
    [ZKL_NODE_EXISTS] = "node exists",
    [ZKL_BAD_VERSION] = "bad version",
    [ZKL_NOT_EMPTY] = "not empty",
    [ZKL_UNKNOWN] = "unknown",
    [ZKL_TOO_MANY_WATCHES] = "too many watches",
};
_Static_assert(sizeof ours / sizeof *ours == ZKL_STATUS_END, "each code has a text");

static const struct {
    int rc;
    const char *text;
} theirs[] = {
    {ZSYSTEMERROR, "zookeeper: SYSTEMERROR"},
    {ZRUNTIMEINCONSISTENCY, "zookeeper: RUNTIMEINCONSISTENCY"},
    {ZDATAINCONSISTENCY, "zookeeper: DATAINCONSISTENCY"},
    {ZCONNECTIONLOSS, "zookeeper: CONNECTIONLOSS"},
    {ZMARSHALLINGERROR, "zookeeper: MARSHALLINGERROR"},
    {ZUNIMPLEMENTED, "zookeeper: UNIMPLEMENTED"},
    {ZOPERATIONTIMEOUT, "zookeeper: OPERATIONTIMEOUT"},
    {ZBADARGUMENTS, "zookeeper: BADARGUMENTS"},
    {ZINVALIDSTATE, "zookeeper: INVALIDSTATE"},
    {ZNEWCONFIGNOQUORUM, "zookeeper: NEWCONFIGNOQUORUM"},
    {ZRECONFIGINPROGRESS, "zookeeper: RECONFIGINPROGRESS"},
    {ZSSLCONNECTIONERROR, "zookeeper: SSLCONNECTIONERROR"},
    {ZAPIERROR, "zookeeper: APIERROR"},
    {ZNONODE, "zookeeper: NONODE"},
    {ZBADVERSION, "zookeeper: BADVERSION"},
    {ZNOCHILDRENFOREPHEMERALS, "zookeeper: NOCHILDRENFOREPHEMERALS"},
    {ZNODEEXISTS, "zookeeper: NODEEXISTS"},
    {ZNOTEMPTY, "zookeeper: NOTEMPTY"},
    {ZSESSIONEXPIRED, "zookeeper: SESSIONEXPIRED"},
    {ZINVALIDCALLBACK, "zookeeper: INVALIDCALLBACK"},
    {ZINVALIDACL, "zookeeper: INVALIDACL"},
    {ZSESSIONMOVED, "zookeeper: SESSIONMOVED"},
    {ZNOTREADONLY, "zookeeper: NOTREADONLY"},
    {ZEPHEMERALONLOCALSESSION, "zookeeper: EPHEMERALONLOCALSESSION"
                               " (the servers need localSessionsUpgradingEnabled=true)"},
    {ZNOWATCHER, "zookeeper: NOWATCHER"},
    {ZRECONFIGDISABLED, "zookeeper: RECONFIGDISABLED"},
    {ZSESSIONCLOSEDREQUIRESASLAUTH, "zookeeper: SESSIONCLOSEDREQUIRESASLAUTH"},
    {ZTHROTTLEDOP, "zookeeper: THROTTLEDOP"},
    {ZKL_SERVER_UNKNOWN_SESSION, "zookeeper: UNKNOWNSESSION"},
    {ZKL_SERVER_QUOTA_EXCEEDED, "zookeeper: QUOTAEXCEEDED"},
};

const char *zkl_status_text(zkl_status status) {
    if (status >= 0 && (size_t)status < sizeof ours / sizeof *ours)
        return ours[status];
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        if (theirs[i].rc == status)
            return theirs[i].text;
    return "zookeeper: UNKNOWN";
}

zkl_status zkl_status_of(int rc) {
    switch (rc) {
    case ZNOAUTH:
        return ZKL_ACCESS_DENIED;
    case ZAUTHFAILED:
        return ZKL_AUTH_FAILED;
    case ZCLOSING:
        return ZKL_CLOSED;
    default:
        return rc;
    }
}

bool zkl_status_unknown(int rc) {
    switch (rc) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZKL_SERVER_UNKNOWN_SESSION: /* the event of the session's end is on its way */
    case ZSESSIONMOVED:
    case ZCLOSING:
    case ZINVALIDSTATE:
    case ZMARSHALLINGERROR:     /* the library could not read the answer */
    case ZRUNTIMEINCONSISTENCY: /* an answer to another request: the library hangs up */
    case ZDATAINCONSISTENCY:
    case ZSYSTEMERROR:
    case ZSSLCONNECTIONERROR:
        return true;
    default:
        return false;
    }
}

bool zkl_status_throttled(int rc) {
    return rc == ZTHROTTLEDOP;
}

bool zkl_status_passes(int rc) {
    return zkl_status_unknown(rc) || zkl_status_throttled(rc);
}

zkl_status zkl_status_of_try(int rc) {
    return zkl_status_unknown(rc) ? ZKL_DISCONNECTED : zkl_status_of(rc);
}
