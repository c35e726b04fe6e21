/* SPDX-License-Identifier: MIT */
/* outgoing_request: a request from its hand-over to libzookeeper until its answer has been handled;
 * and checks whether an answer can be right. */
#ifndef ZKL_OUTGOING_REQUEST_H
#define ZKL_OUTGOING_REQUEST_H

#include "recipe/validity.h"
#include "zookeeper/link_state.h"

#include <stddef.h>

/* The library returns it once, unless the handle is closed before. */
typedef struct zkl_outgoing_request {
    zkl_list_item item; /* link->requests */
    zkl_link *link;
    zkl_return back;
    zkl_nanos handed;
    zkl_reach reach;
    zkl_extra extra;
    char *made;    /* of a create whose answer has no Stat: the created path, while it is read */
    bool sequence; /* of a create: the servers append a number */
    /* what its answer needs: of a create the path, of a transaction the buffers */
    _Alignas(max_align_t) char room[];
} zkl_outgoing_request;

/* With so many bytes of room, which are 0. NULL: no memory. */
zkl_outgoing_request *zkl_outgoing_request_new(zkl_link *link, zkl_return back, zkl_reach reach,
                                               size_t room);
/* The result of handing it over. If the library did not take the request, it will not return it,
 * and this frees it. Returns rc. */
int zkl_outgoing_request_sent(zkl_outgoing_request *r, int rc);
/* Hands several operations to the library, to be performed all or none. Returns as above.
 * ZINVALIDSTATE: there is no server just now, and an event about that is on its way. */
int zkl_outgoing_request_transact(zkl_outgoing_request *r, int count, const zoo_op_t *ops,
                                  zoo_op_result_t *results, void_completion_t done);
/* completion thread. Reports to the link's owner, and frees the request. */
void zkl_outgoing_request_answer(zkl_outgoing_request *r, const zkl_reply *reply);
/* The handle is closed: frees the requests that the library has not returned. */
void zkl_outgoing_request_forget(zkl_link *link);

/* A server, or somebody on the connection, may send anything. If an answer cannot be right, nothing
 * is known about the result of its request. */
#define ZKL_CORRUPT ZMARSHALLINGERROR

/* Each result of a transaction has this value until the answer sets it. A server's answer may leave
 * some out, and 0 would mean success. */
#define ZKL_UNTOLD INT32_MIN

/* True if the answer reports success for each operation. */
bool zkl_outgoing_request_are_done(const zoo_op_result_t *results, size_t count);
/* True if the created path belongs to the requested one. */
bool zkl_outgoing_request_is_made(const char *made, const char *asked, bool sequence);
/* True if these can be names of children. */
bool zkl_outgoing_request_are_names(const struct String_vector *names);
zkl_stat zkl_outgoing_request_stat(const struct Stat *stat);

/* completion thread. A watch has fired. All nodes have the same function and the link as context,
 * so that a second watch on a node costs the library nothing. */
void zkl_outgoing_request_watched(zhandle_t *handle, int type, int state, const char *path,
                                  void *ctx);

#endif
