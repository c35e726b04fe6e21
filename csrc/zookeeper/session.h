/* SPDX-License-Identifier: MIT */
/* session: the life of a client's session: connect, suspend, expire, renew, end. */
#ifndef ZKL_SESSION_H
#define ZKL_SESSION_H

#include "zookeeper/session_state.h"

/* Copies the config. ZKL_OK, ZKL_BAD_ARGUMENT (the connect string) or ZKL_NO_MEMORY. The caller has
 * set context, worker, log, enter, leave, tell, answered, watched and ctx, and calls
 * zkl_session_destroy in any case. */
zkl_status zkl_session_init(zkl_session *session, const zkl_config *config);
void zkl_session_destroy(zkl_session *session);

/* locked: starts connecting */
void zkl_session_start(zkl_session *session);
/* locked: the end of every step. If waiters have given up in this step (context->given_up), the
 * host can ask why, and the log gets one warning. */
void zkl_session_step(zkl_session *session);
/* locked: no new link from now on; the host hears CLOSED */
void zkl_session_ending(zkl_session *session);
/* worker thread, not locked: drains the link until the deadline, and closes it, which may block for
 * seconds. */
void zkl_session_end(zkl_session *session, zkl_nanos deadline);

#endif
