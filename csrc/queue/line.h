/* line: the queue at one path as seen from this process: its contenders, what is known of the others, hand-over.
 * The recipe is ZooKeeper's lock recipe as Apache Curator lays it out on the wire (docs/protocol.md).
 * Nothing here blocks or locks: every function is called under the client's mutex. A line knows no session; it is told
 * of the connection's turns by zkl_line_suspend, _resume and _expire. */
#ifndef ZKL_LINE_H
#define ZKL_LINE_H

#include "queue/contender.h"
#include "queue/parents.h"
#include "recipe/snapshot.h"

/* Private to the rooms of the line: line, exit, standing, ask and lines. */
struct zkl_line {
    zkl_receiver receiver; /* gets the answers that concern more than one contender */
    zkl_context *context;
    char *path;
    zkl_contender *first, *last; /* members, in order of arrival */
    zkl_parents parents;
    unsigned vain_rounds; /* of parents, since a create last found them */

    zkl_snapshot snapshot; /* the children as last listed */
    bool
        stale; /* there was a cut since, or no memory for a newer list: good for its watches only */
    bool list_wanted; /* somebody's place is not in the snapshot: settle asks */
    bool list_sent;   /* a list is on its way */
    bool list_synced; /* ... and a committed write went before it */
    zkl_nanos listed; /* when a list was last answered */
    size_t listed_bytes;
    bool lagging;    /* the snapshot shows some who are gone: who still waits by it wants a list */
    bool doubtful;   /* a writer left it that may have taken read before: a waiting writer lists */
    bool watched;    /* the directory, for leases: the servers tell when its children change */
    bool unwatching; /* ... which is being taken back: until that is answered the library has it */
    bool crowded; /* somebody was seen behind somebody: settle looks for those who are too many */
    bool review;  /* some member has to be looked at again: settle does */
    bool vetting; /* the directory's ACL is on its way */
    zkl_edition directory; /* as last listed, unless our ACL is OPEN */
    zkl_edition vetted; /* the one whose ACL lets no stranger meddle; czxid 0: not known of any */
    int32_t requests;   /* requests about watches on its children so far: their numbers */
    zkl_timer retry;    /* what could not be sent, or was refused for now, is sent again */
    zkl_nanos pause;    /* before the next retry */

    zkl_line *chain; /* lines.c */
    zkl_line *
        next_idle; /* context->idle: nobody was in it at some moment; freed at the end of the step if still so */
    bool idle;
};

/* `path` is full, with the chroot. NULL: no memory. */
zkl_line *zkl_line_new(zkl_context *context, const char *path);
void zkl_line_free(zkl_line *line);
/* The contender that is the receiver of this number; NULL: none is. */
zkl_contender *zkl_line_member(const zkl_line *line, uint64_t number);
/* Bytes of the full path of a node in it. */
size_t zkl_line_length(const zkl_line *line, const char *name);
/* Takes back its watches on nodes that stay. true: nobody is in it, nothing is left to be taken back: free it. Otherwise
 * what stands against that brings it among the idle again. */
bool zkl_line_quit(zkl_line *line);
/* Puts it among those that lines.c looks at to free. */
void zkl_line_idle(zkl_line *line);

/* Joins the line. The host is answered by one event, GRANTED or FAILED, and has the contender until zkl_line_drop.
 * NULL: no memory. */
zkl_contender *zkl_line_join(zkl_line *line, uint64_t tag, const zkl_terms *terms);
/* The same for a part of a whole, which hears instead of the host. */
zkl_contender *zkl_line_join_part(zkl_line *line, const zkl_terms *terms, zkl_compound *compound);
/* The answer to a create that the whole has asked for; the reply may also be that nothing was sent. */
void zkl_line_created(zkl_contender *c, const zkl_reply *reply);
/* The end of a step that was taken from outside: asks what has come to be wanted. */
void zkl_line_settle(zkl_line *line);

/* Gives a held place back: ZKL_OK, ZKL_LOST, or ZKL_NOT_OWNER when it is not held, or not any more. */
zkl_status zkl_line_release(zkl_contender *c);
/* Ends a waiting place, the host hears FAILED with `status`; does nothing to others. */
void zkl_line_cancel(zkl_contender *c, zkl_status status);
/* The host forgets it: what it held is given back, what it waited for is ended. */
void zkl_line_drop(zkl_contender *c);

/* The link is gone, the session perhaps not. */
void zkl_line_suspend(zkl_line *line);
/* The link is there, in the same session or a new one; context->port and context->session are set. */
void zkl_line_resume(zkl_line *line);
/* Another link takes over the same session: what was on its way is lost, and the watches with it. */
void zkl_line_relink(zkl_line *line);
/* The session has ended: holders have lost, waiters queue anew in the next. */
void zkl_line_expire(zkl_line *line);
/* trusted_until has moved on. */
void zkl_line_refreshed(zkl_line *line);
/* Deletes that were refused are tried at once, without the pause. */
void zkl_line_insist(zkl_line *line);
/* No more waiting: waiters are answered with `status`; `give_back`: holds are released too. */
void zkl_line_dismiss(zkl_line *line, zkl_status status, bool give_back);
/* Does somebody in it wait until there are few enough? */
bool zkl_line_counts(const zkl_line *line);
/* The watch on the directory has told. */
void zkl_line_children_changed(zkl_line *line);
/* A watch has told of the node `name`. */
void zkl_line_watch(zkl_line *line, const char *name, zkl_change change);

#endif
