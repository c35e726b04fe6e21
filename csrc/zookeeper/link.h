/* link: the port over one handle of libzookeeper_mt. It lives from open to close; a session has one
 * at a time. */
#ifndef ZKL_LINK_H
#define ZKL_LINK_H

#include "port/port.h"
#include "recipe/validity.h"
#include "zklock.h"
#include "zookeeper/link_owner.h"

/* The identity of a session, to the servers. */
typedef struct zkl_identity {
    int64_t id;
    char password[16];
} zkl_identity;

/* The session timeout that the servers are asked for: nothing shorter than the library can work
 * with. */
zkl_nanos zkl_link_asked(const zkl_config *config);

/* Only makes the object: nothing is called yet. `requests` counts what is sent, under the client's
 * mutex. NULL: no memory. */
zkl_link *zkl_link_new(const zkl_link_owner *owner, const zkl_clock *clock, uint64_t *requests);
/* Starts the handle and its threads for numeric addresses; `config` must outlive the link. With
 * `carried` (or NULL) that session is carried on. false: errno says why; free it with
 * zkl_link_close. */
bool zkl_link_start(zkl_link *link, const char *addresses, const zkl_config *config,
                    const zkl_identity *carried);

zkl_port *zkl_link_port(zkl_link *link);
/* After ZKL_LINK_CONNECTED: what the servers gave. */
int64_t zkl_link_session(zkl_link *link);
zkl_identity zkl_link_identity(zkl_link *link);
zkl_nanos zkl_link_timeout(zkl_link *link);
/* ... and a moment, as late as is known, before which the servers cannot have taken this
 * connection. */
zkl_nanos zkl_link_root(zkl_link *link);

/* Has it a server? Perhaps one that has not taken the credentials yet. */
bool zkl_link_connected(zkl_link *link);
/* Takes the session off a link that has no server, so that another one can carry it on: what this
 * one finds from now on is a session of its own, and closing it does not end the other. false: it
 * has found a server at this very moment, and closing it ends the session. Takes a moment; not
 * under the client's mutex. */
bool zkl_link_part(zkl_link *link, zkl_identity *identity);

/* Waits until no request is on its way, or until `deadline`. Not under the client's mutex. */
void zkl_link_drain(zkl_link *link, zkl_nanos deadline);
/* Ends the session if the servers are in reach, joins the library's threads, frees the link. Can
 * take seconds; nothing is called any more when it returns, and answers that had not come are
 * forgotten. Not under the client's mutex. */
void zkl_link_close(zkl_link *link);

#endif
