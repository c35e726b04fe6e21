/* status: what became of a request, as one number with one stable text. */
#ifndef ZKL_STATUS_H
#define ZKL_STATUS_H

#include <stdbool.h>

/* Our own, each with its text: a new one is a new row at the end, and a row in docs/api.md. They
 * count from zero; a negative number is the servers' own answer, by ZooKeeper's code. */
#define ZKL_STATUSES(ROW)                                                                          \
    ROW(ZKL_OK, "ok")                                                                              \
    ROW(ZKL_TIMEOUT, "timeout")                                                                    \
    ROW(ZKL_DISCONNECTED, "disconnected")                                                          \
    ROW(ZKL_CANCELLED, "cancelled")                                                                \
    ROW(ZKL_CLOSED, "closed")                                                                      \
    ROW(ZKL_NOT_OWNER, "not owner")                                                                \
    ROW(ZKL_LOST, "lost")                                                                          \
    ROW(ZKL_DEADLOCK, "deadlock")                                                                  \
    ROW(ZKL_WRONG_KIND, "wrong kind")                                                              \
    ROW(ZKL_ACCESS_DENIED, "access denied")                                                        \
    ROW(ZKL_AUTH_FAILED, "auth failed")                                                            \
    ROW(ZKL_FORKED, "forked")                                                                      \
    ROW(ZKL_NO_MEMORY, "not enough memory")                                                        \
    ROW(ZKL_BAD_ARGUMENT, "bad argument")                                                          \
    ROW(ZKL_TOO_BIG, "too big")                                                                    \
    ROW(ZKL_TOO_MANY, "too many")                                                                  \
    ROW(ZKL_BUSY, "busy")                                                                          \
    ROW(ZKL_NO_NODE, "no node")                                                                    \
    ROW(ZKL_NODE_EXISTS, "node exists")                                                            \
    ROW(ZKL_BAD_VERSION, "bad version")                                                            \
    ROW(ZKL_NOT_EMPTY, "not empty")                                                                \
    ROW(ZKL_UNKNOWN, "unknown")                                                                    \
    ROW(ZKL_TOO_MANY_WATCHES, "too many watches")

typedef enum zkl_code {
#define ZKL_STATUS_NAME(name, text) name,
    ZKL_STATUSES(ZKL_STATUS_NAME)
#undef ZKL_STATUS_NAME
        ZKL_STATUS_END
} zkl_code;

typedef int zkl_status;

/* No status beyond these has a text of its own. */
#define ZKL_STATUS_FIRST (-200)
#define ZKL_STATUS_LAST (ZKL_STATUS_END - 1)

/* The text of the contract (docs/api.md); static, never NULL. */
const char *zkl_status_text(zkl_status status);

/* Two answers that libzookeeper's header has no names for. The first: the session had just
 * ended. */
enum { ZKL_SERVER_UNKNOWN_SESSION = -12, ZKL_SERVER_QUOTA_EXCEEDED = -125 };

/* Turns an answer of the servers (ZOK, ZNONODE, ...) into a status. */
zkl_status zkl_status_of(int rc);

/* Was the request cut off, so that nobody knows whether the servers carried it out? */
bool zkl_status_unknown(int rc);

/* Did the servers refuse for now, without carrying it out? */
bool zkl_status_throttled(int rc);

/* Either of the two: what only reads may simply be asked again. */
bool zkl_status_passes(int rc);

/* The status of a call that tries once (timeout 0) and gets such an answer: ZTHROTTLEDOP, or
 * ZKL_DISCONNECTED for a request that was cut off. */
zkl_status zkl_status_of_try(int rc);

#endif
