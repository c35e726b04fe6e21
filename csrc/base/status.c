#include "base/status.h"

#include <zookeeper/zookeeper.h>

static const char *const ours[] = {
#define ZKL_STATUS_TEXT(name, text) [name] = (text),
    ZKL_STATUSES(ZKL_STATUS_TEXT)
#undef ZKL_STATUS_TEXT
};

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
    {ZEPHEMERALONLOCALSESSION, "zookeeper: EPHEMERALONLOCALSESSION"},
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
    case ZKL_SERVER_UNKNOWN_SESSION: /* the event of its end is on its way */
    case ZSESSIONMOVED:
    case ZCLOSING:
    case ZINVALIDSTATE:
    case ZMARSHALLINGERROR:     /* the answer could not be read */
    case ZRUNTIMEINCONSISTENCY: /* it was not the answer to this request: the library hangs up */
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
