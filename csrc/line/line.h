/* line: the queue at one path, as the client and the compound locks use it: callers join and leave,
 * and the line is told what becomes of the link and the session. The recipe is ZooKeeper's lock
 * recipe as Apache Curator lays it out on the wire (docs/protocol.md). Nothing here blocks or
 * locks: every function is called under the client's mutex. */
#ifndef ZKL_LINE_H
#define ZKL_LINE_H

#include "line/line_state.h"

/* `path` is full, with the chroot. NULL: no memory. */
zkl_line *zkl_line_new(zkl_line_common *common, const char *path);
void zkl_line_free(zkl_line *line);
/* Of a line that nobody is in: takes back its watches on nodes that stay. true: it may be freed.
 * Otherwise something is left to be taken back, whose answer makes the line idle again, or somebody
 * is in it. */
bool zkl_line_quit(zkl_line *line);

/* Joins the line. The host is answered by one event, GRANTED or FAILED, and has the contender until
 * zkl_line_drop. NULL: no memory. */
zkl_contender *zkl_line_join(zkl_line *line, uint64_t tag, const zkl_terms *terms);
/* The same for a part of a compound, which is told instead of the host. */
zkl_contender *zkl_line_join_part(zkl_line *line, const zkl_terms *terms, zkl_compound *compound);

/* Gives back what is held: ZKL_OK, ZKL_LOST, or ZKL_NOT_OWNER when it is not held, or not any
 * more. */
zkl_status zkl_line_release(zkl_contender *c);
/* Ends a wait: the host hears FAILED with `status`. Does nothing to others. */
void zkl_line_cancel(zkl_contender *c, zkl_status status);
/* The host lets go of it: what it held is given back, what it waited for is ended. */
void zkl_line_drop(zkl_contender *c);
/* The same for a part of a compound, but the line is not settled: the caller does that when it has
 * dropped all parts in the line. */
void zkl_line_drop_part(zkl_contender *c);

/* The link is gone, the session perhaps not. */
void zkl_line_suspend(zkl_line *line);
/* The link is there, in the same session or a new one; the context's port and session are set. */
void zkl_line_resume(zkl_line *line);
/* Another link takes over the same session: what was on its way is lost, and the watches with
 * it. */
void zkl_line_relink(zkl_line *line);
/* The session has ended: holders have lost, waiters queue anew in the next one. */
void zkl_line_expire(zkl_line *line);
/* context->valid_until had passed, and has moved on: those who wait only for that are granted. */
void zkl_line_refreshed(zkl_line *line);
/* context->unsure has grown: those who have waited long enough only for validity leave. */
void zkl_line_unsure(zkl_line *line);
/* Deletes that the servers have refused are sent at once, without the pause, and what nobody uses
 * is given back. */
void zkl_line_insist(zkl_line *line);
/* Nobody waits any more: waiters fail with `status`; `give_back`: what is held is released as
 * well. */
void zkl_line_dismiss(zkl_line *line, zkl_status status, bool give_back);

#endif
