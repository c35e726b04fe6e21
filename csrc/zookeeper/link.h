/* SPDX-License-Identifier: MIT */
/* link: the port over one handle of libzookeeper_mt, from its opening to its closing. A session has
 * one link at a time. */
#ifndef ZKL_LINK_H
#define ZKL_LINK_H

#include "port/context.h"
#include "recipe/validity.h"
#include "zklock.h"
#include "zookeeper/link_owner.h"

/* A session's identity to the servers. */
typedef struct zkl_identity {
    int64_t id;
    char password[16];
} zkl_identity;

/* The session timeout to ask the servers for: not shorter than the library can work with. */
zkl_nanos zkl_link_asked(const zkl_config *config);

/* Creates the object only; the library is not called yet. The port uses the context under the
 * client's mutex, and counts the requests there. NULL: no memory. */
zkl_link *zkl_link_new(const zkl_link_owner *owner, zkl_context *context);
/* Starts the handle and its threads, with numeric addresses. `config` must outlive the link.
 * `carried`: the session to carry on, or NULL. false: errno says why; free it with
 * zkl_link_close. */
bool zkl_link_start(zkl_link *link, const char *addresses, const zkl_config *config,
                    const zkl_identity *carried);

zkl_port *zkl_link_port(zkl_link *link);
/* After ZKL_LINK_CONNECTED: the session. */
zkl_identity zkl_link_identity(zkl_link *link);
zkl_nanos zkl_link_timeout(zkl_link *link);
/* After the same event: a moment, as late as is known, before which the servers cannot have
 * accepted this connection. */
zkl_nanos zkl_link_root(zkl_link *link);

/* True if it has a server, perhaps one that has not accepted the credentials yet. */
bool zkl_link_connected(zkl_link *link);
/* Takes the session from a link that has no server, so that another link can carry it on. From then
 * on this link gets other sessions, and closing it does not end the one that was taken. false: it
 * has just found a server, and closing it ends the session. Takes a moment; not under the client's
 * mutex. */
bool zkl_link_part(zkl_link *link, zkl_identity *identity);

/* Waits until no request is on its way, or until `deadline`. Not under the client's mutex. */
void zkl_link_drain(zkl_link *link, zkl_nanos deadline);
/* Ends the session if a server is in reach, joins the library's threads, and frees the link. May
 * take seconds. After it returns, the link calls nothing, and answers that had not come are lost.
 * Not under the client's mutex. */
void zkl_link_close(zkl_link *link);

#endif
