/* status: what became of a request, as one number with one stable text. */
#ifndef ZKL_STATUS_H
#define ZKL_STATUS_H

#include <stdbool.h>

/* Zero and above are ours; a negative number is the servers' own answer, by ZooKeeper's code. */
typedef enum zkl_code {
    ZKL_OK = 0,
    ZKL_TIMEOUT,
    ZKL_DISCONNECTED,
    ZKL_CANCELLED,
    ZKL_CLOSED,
    ZKL_NOT_OWNER,
    ZKL_LOST,
    ZKL_DEADLOCK,
    ZKL_WRONG_KIND,
    ZKL_ACCESS_DENIED,
    ZKL_AUTH_FAILED,
    ZKL_FORKED,
    ZKL_NO_MEMORY,
    ZKL_BAD_ARGUMENT,
    ZKL_TOO_BIG,
    ZKL_TOO_MANY,
    ZKL_BUSY
} zkl_code;

typedef int zkl_status;

/* No status beyond these has a text of its own. */
#define ZKL_STATUS_FIRST (-200)
#define ZKL_STATUS_LAST ZKL_BUSY

/* The text of the contract (docs/api.md); static, never NULL. */
const char *zkl_status_text(zkl_status status);

/* Two answers that libzookeeper's header has no names for. The first: the session had just ended. */
enum { ZKL_SERVER_UNKNOWN_SESSION = -12, ZKL_SERVER_QUOTA_EXCEEDED = -125 };

/* Turns an answer of the servers (ZOK, ZNONODE, ...) into a status. */
zkl_status zkl_status_of(int rc);

/* Was the request cut off, so that nobody knows whether the servers carried it out? */
bool zkl_status_unknown(int rc);

/* Did the servers refuse for now, without carrying it out? */
bool zkl_status_throttled(int rc);

/* Either of the two: what only reads may simply be asked again. */
bool zkl_status_passes(int rc);

#endif
