/* ask: the requests that a line makes, for itself and for its contenders. What cannot be sent (no link, no memory) leaves
 * things as they were, and zkl_line_resume, or the line's retry timer, comes by again. */
#ifndef ZKL_SEND_H
#define ZKL_SEND_H

#include "queue/line.h"

/* zkl_return.what of the answers. Those about one contender's own node come to the contender, the others to the line. */
typedef enum zkl_request {
    ZKL_REQUEST_CREATE,
    ZKL_REQUEST_ERASE,
    ZKL_REQUEST_WATCH_OWN,
    ZKL_REQUEST_CANDIDATE, /* detail: the candidate's sequence */
    ZKL_REQUEST_LIST,
    ZKL_REQUEST_ACL,
    ZKL_REQUEST_BARRIER,
    ZKL_REQUEST_WATCH_BLOCKER, /* detail: child->request; sequences of strangers may be equal */
    ZKL_REQUEST_UNWATCH,       /* detail: child->request */
    ZKL_REQUEST_UNWATCH_DIRECTORY,
    ZKL_REQUEST_ERASE_STRAY,
    ZKL_REQUEST_READ_OWN
} zkl_request;

/* Makes the node, under a new GUID; whatever was known of a former one is forgotten. Wants a list after it. */
void zkl_send_create(zkl_contender *c);
/* A full path for a new node of its own, without the sequence, under a new GUID; wants a list after it. The caller's to
 * free; NULL: no memory. */
char *zkl_send_new_path(zkl_contender *c);
/* Nobody can tell any more what became of its create: a synced list will. */
void zkl_send_lost(zkl_contender *c);
/* Deletes the node. */
void zkl_send_erase(zkl_contender *c);
/* Arms the watch on its own node, unless it is armed or asked for. Where there is no room for one, a holder is looked
 * after in turn, and whoever has only to hear that it is its turn gets a list. */
void zkl_send_own(zkl_contender *c);
/* Asks for the node of that name, which may be its own. false: not sent. */
bool zkl_send_candidate(zkl_contender *c, const char *name);
/* Reads its own node, without a watch. */
void zkl_send_read(zkl_contender *c);
/* What is known of a watch; each is counted for as long as the library has it. */
void zkl_send_set_watch(zkl_contender *c, zkl_watch watch);
void zkl_send_set_child_watch(zkl_line *line, zkl_child *child, zkl_watch watch);
/* Forgets a child whose delete may be on its way only: a watch on it, set before we knew that it is ours, counts on. */
void zkl_send_leave_child(zkl_line *line, zkl_child *child);
void zkl_send_set_directory_watch(zkl_line *line, bool watched);
/* Bytes that the watches on the line's children take. */
size_t zkl_send_watched(const zkl_line *line);

/* Lists the children; after a lost create, with a write before it. */
void zkl_send_list(zkl_line *line);
/* Arms a watch on somebody else's node, unless it is armed or asked for. false: it is not, nobody will tell. */
bool zkl_send_blocker(zkl_line *line, zkl_child *child);
/* ... on one that stands before the blocker: only if there is much room. */
bool zkl_send_second(zkl_line *line, zkl_child *child);
/* Takes the watch on a node that stays back; it stands as armed until that could be sent. */
void zkl_send_unwatch(zkl_line *line, zkl_child *child);
/* Takes the watch on the directory back. */
void zkl_send_unwatch_directory(zkl_line *line);
/* Deletes a node that bears our GUID and that no contender has. */
void zkl_send_erase_stray(zkl_line *line, const char *name);

/* The line looks at everything again, after a pause that grows until a list succeeds. */
void zkl_send_again_later(zkl_line *line);

#endif
