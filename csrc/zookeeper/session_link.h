/* session_link: which link carries a session on. It opens the next link when the former one is
 * dead, and moves the session to a new link when the former one finds no server. The session
 * hears what a link says: session->owner. All functions here run under the client's mutex;
 * opening and closing a link are jobs on the worker's thread. */
#ifndef ZKL_SESSION_LINK_H
#define ZKL_SESSION_LINK_H

#include "zookeeper/session_state.h"

/* Sets the jobs and the timer `reopen`. The caller sets session->owner, and the timer `look`, which
 * calls zkl_session_link_look. */
void zkl_session_link_init(zkl_session *session);

void zkl_session_link_stage(zkl_session *session, zkl_stage stage);

/* The link has no server any more: no requests are made until zkl_session_link_stage sets LINKED.
 * The timer `look` is set. */
void zkl_session_link_down(zkl_session *session);
/* The link and its session are over. The worker closes the link, and opens the next one after the
 * pause; 0: at once. */
void zkl_session_link_dead(zkl_session *session, zkl_nanos pause);

/* The library goes by a session timeout that the client does not believe: the timer `look` checks
 * soon whether the server still answers. */
void zkl_session_link_listen(zkl_session *session);
/* The timer `look` has fired: without a server the worker looks names up again, and may open
 * another link. true: the server answers nothing, and the session cannot be carried on, because
 * closing the link may end it. The caller treats it as expired. */
bool zkl_session_link_look(zkl_session *session);

#endif
