/* outgoing_request: one that is on its way, from when it is handed to libzookeeper until its answer
 * has been acted on; and whether an answer can be right. */
#ifndef ZKL_OUTGOING_REQUEST_H
#define ZKL_OUTGOING_REQUEST_H

#include "recipe/validity.h"
#include "zookeeper/link_state.h"

/* The library brings it back once, unless the handle is closed before. */
typedef struct zkl_outgoing_request {
    zkl_list_item item; /* link->requests */
    zkl_link *link;
    zkl_return back;
    zkl_nanos handed;
    zkl_reach reach;
    void *load; /* what the answer is written to, if that takes more; `unload` frees it */
    void (*unload)(void *load);
    bool sequence; /* of a create: the servers append a number */
    char path[];   /* of a create */
} zkl_outgoing_request;

/* NULL: no memory. */
zkl_outgoing_request *zkl_outgoing_request_new(zkl_link *link, zkl_return back, zkl_reach reach);
/* The path is copied. */
zkl_outgoing_request *zkl_outgoing_request_about(zkl_link *link, zkl_return back, zkl_reach reach,
                                                 const char *path);
/* The library took the request, or not: then nobody brings it back, and it is gone. Returns rc. */
int zkl_outgoing_request_sent(zkl_outgoing_request *r, int rc);
/* Hands several operations to the library, to be done together or not at all. Returns as above.
 * ZINVALIDSTATE: there is no server just now, of which an event is on its way. */
int zkl_outgoing_request_transact(zkl_outgoing_request *r, int count, const zoo_op_t *ops,
                                  zoo_op_result_t *results, void_completion_t done);
/* completion thread. Tells the owner of the link, and is gone. */
void zkl_outgoing_request_answer(zkl_outgoing_request *r, const zkl_reply *reply);
/* The handle is closed: frees what the library has not brought back. */
void zkl_outgoing_request_forget(zkl_link *link);

/* What the other side has sent may be anything: a server, or whoever sits on the connection, is not
 * trusted to keep to the protocol. An answer that cannot be right says nothing of what became of
 * the request. */
#define ZKL_CORRUPT ZMARSHALLINGERROR

/* Each result of a transaction has this value until the answer tells of that operation. A server's
 * answer may leave some out, and 0 would mean that they are done. */
#define ZKL_UNTOLD INT32_MIN

/* Does the answer say of each operation that it is done? */
bool zkl_outgoing_request_are_done(const zoo_op_result_t *results, size_t count);
/* Is it the path of what was asked for? */
bool zkl_outgoing_request_is_made(const char *made, const char *asked, bool sequence);
/* Are these names of children? */
bool zkl_outgoing_request_are_names(const struct String_vector *names);
zkl_stat zkl_outgoing_request_stat(const struct Stat *stat);

/* completion thread. A watch tells; one function, and the link as one context, for all nodes, so
 * that asking twice costs the library nothing. */
void zkl_outgoing_request_watched(zhandle_t *handle, int type, int state, const char *path,
                                  void *ctx);

#endif
