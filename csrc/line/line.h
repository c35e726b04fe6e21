/* SPDX-License-Identifier: MIT */
/* line: the queue at one path, as the client and the compounds use it. Callers join and leave, and
 * the client reports the events of the link and the session to it. The recipe is ZooKeeper's lock
 * recipe in Apache Curator's layout (docs/internals/protocol.md). Every function runs under the
 * client's mutex; none blocks or locks. */
#ifndef ZKL_LINE_H
#define ZKL_LINE_H

#include "line/line_state.h"

/* `path` is full, with the chroot. NULL: no memory. */
zkl_line *zkl_line_new(zkl_line_common *common, const char *path);
void zkl_line_free(zkl_line *line);
/* For a line without contenders: removes its watches on nodes that stay. true: the line may be
 * freed. Otherwise the answer to the removal makes the line idle again, or a contender is in it. */
bool zkl_line_quit(zkl_line *line);

/* Joins the line. One event, GRANTED or FAILED, answers the host, which has the contender until
 * zkl_line_drop. NULL: no memory. */
zkl_contender *zkl_line_join(zkl_line *line, uint64_t tag, const zkl_terms *terms);
/* The same for a part: the listener hears of it, not the host. */
zkl_contender *zkl_line_join_part(zkl_line *line, const zkl_terms *terms,
                                  zkl_contender_listener *listener);

/* Releases: ZKL_OK, ZKL_LOST, or ZKL_NOT_OWNER if the contender does not hold. */
zkl_status zkl_line_release(zkl_contender *c);
/* Ends a wait: the host hears FAILED with `status`. Does nothing to a contender that does not
 * wait. */
void zkl_line_cancel(zkl_contender *c, zkl_status status);
/* Nobody hears of it any more: this ends its hold or its wait. */
void zkl_line_drop(zkl_contender *c);
/* The same without settling the line: the caller settles it once it has dropped all parts in the
 * line. */
void zkl_line_drop_part(zkl_contender *c);

/* The link is down; the session may be alive. */
void zkl_line_suspend(zkl_line *line);
/* The link is up, in the same session or a new one; the context's port and session are set. */
void zkl_line_resume(zkl_line *line);
/* Another link carries the session on: all requests that were on their way, and all watches, are
 * lost. */
void zkl_line_relink(zkl_line *line);
/* The session has ended: holders have lost, and waiters queue again in the next session. */
void zkl_line_expire(zkl_line *line);
/* context->valid_until had passed and has moved on: waiters that lack only validity are granted. */
void zkl_line_refreshed(zkl_line *line);
/* context->unsure has grown: waiters that lack only validity, and have waited long enough for it,
 * leave. */
void zkl_line_unsure(zkl_line *line);
/* Sends deletes that the servers have refused at once, without the pause, and ends shared nodes
 * that no caller uses. */
void zkl_line_insist(zkl_line *line);
/* Waiters fail with `status`. `give_back`: holders are released as well. */
void zkl_line_fail(zkl_line *line, zkl_status status, bool give_back);

#endif
