/* SPDX-License-Identifier: MIT */
/* session_link: the links that carry a session on. It opens the next link when the former one is
 * dead, and moves the session to a new link when the former one finds no server. session->owner
 * receives the links' events. All functions here run under the client's mutex; jobs on the worker's
 * thread open and close links. */
#ifndef ZKL_SESSION_LINK_H
#define ZKL_SESSION_LINK_H

#include "zookeeper/session_state.h"

/* Sets the jobs and the timer `reopen`. The caller sets session->owner, and the timer `look`, which
 * calls zkl_session_link_look. */
void zkl_session_link_init(zkl_session *session);

/* The one setter of context->port, which sends in LINKED and refuses in all other stages. When that
 * changes, the client is told. */
void zkl_session_link_stage(zkl_session *session, zkl_stage stage);

/* The link has lost its server; a new stage has to follow. Sets the timer `look`. */
void zkl_session_link_down(zkl_session *session);
/* The link and its session are over. The worker closes the link, and opens the next one after the
 * pause; 0: at once. */
void zkl_session_link_dead(zkl_session *session, zkl_nanos pause);

/* The library uses a session timeout that the client does not believe: the timer `look` soon checks
 * whether the server still answers. */
void zkl_session_link_listen(zkl_session *session);
/* The timer `look` has fired. Without a server the worker looks up names again, and may open
 * another link. true: the server does not answer, and no link can carry the session on, because
 * closing this link may end it. The caller treats the session as expired. */
bool zkl_session_link_look(zkl_session *session);

#endif
