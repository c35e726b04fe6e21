/* send: the requests of a line, for itself and for its contenders. What cannot be sent (there is no
 * link, or memory is short) leaves things as they were: zkl_line_resume, or the line's retry timer,
 * comes to it again. */
#ifndef ZKL_SEND_H
#define ZKL_SEND_H

#include "line/line_state.h"
#include "line/request.h"

/* ---- about a contender's own node ---- */

/* Creates the node, under a new GUID, and wants a list after it. What was known of a former node is
 * forgotten. */
void zkl_send_create(zkl_contender *c);
/* For who creates the node in the line's place: its full path, without the sequence, under a new
 * GUID. Wants a list after it. The caller frees the path; NULL: no memory. */
char *zkl_send_new_path(zkl_contender *c);
/* Deletes the node. */
void zkl_send_erase(zkl_contender *c);
/* Arms the watch on the node, which is THERE, unless it is armed or asked for. Where there is no
 * room for a watch, a holder is looked after in turn, and whoever only needs it to be granted gets
 * a list instead. */
void zkl_send_watch_own(zkl_contender *c);
/* The same for those of ours who come next after `first` and found no room so far: when it is their
 * turn, that costs no round trip. */
void zkl_send_watch_next(const zkl_line *line, const zkl_contender *first);
/* Reads the node, which is THERE, without a watch, over the link that there is. */
void zkl_send_read_own(zkl_contender *c);
/* Asks for the child with the sequence c->candidate, which may be its own. false: nothing was
 * sent. */
bool zkl_send_candidate(zkl_contender *c, const char *name);

/* ---- about the line ---- */

/* Lists the children; if the answer to somebody's create was lost, behind a write. */
void zkl_send_list(zkl_line *line);
/* Arms a watch on somebody else's node, unless it is armed or asked for. false: it is not, and
 * nobody will tell. */
bool zkl_send_watch_blocker(zkl_line *line, zkl_child *child);
/* The same for the one before the blocker: only if there is much room. */
void zkl_send_watch_second(zkl_line *line, zkl_child *child);
/* Takes back a watch on a node that stays. Until that could be sent, it stands as armed. */
void zkl_send_unwatch(zkl_line *line, zkl_child *child);
void zkl_send_unwatch_directory(zkl_line *line);
/* Deletes a node that bears a GUID of ours and that no contender has. */
void zkl_send_erase_stray(zkl_line *line, const char *name);

#endif
