/* line_state: what is known of the queue at one path, and the few things that every room of the
 * queue does with it. The rooms above (send, leave, evaluate, ...) act on it; line.h is what others
 * see. */
#ifndef ZKL_LINE_STATE_H
#define ZKL_LINE_STATE_H

#include "base/list.h"
#include "line/contender.h"
#include "line/followers.h"
#include "line/parents.h"
#include "line/watch_budget.h"
#include "recipe/snapshot.h"

/* The listener of a line that is no member of it: a shared node (node.h), which
 * is above it. There it is only noted; the end of the step does what follows. */
typedef struct zkl_listener zkl_listener;
struct zkl_listener {
    zkl_list_item item; /* line->listeners */
    bool attends;       /* wants to know who comes and goes: the directory is watched */
    void (*dirty)(zkl_listener *listener); /* something may have changed */
    void (*dismissed)(zkl_listener *listener, zkl_status status, bool give_back);
    void (*hurried)(zkl_listener *listener); /* what nobody uses is to go */
};

/* How far the snapshot of a line can be believed. */
typedef struct zkl_freshness {
    /* nobody is granted by the snapshot: the link was cut since, or memory was short for a newer
     * one */
    bool stale;
    /* a writer has gone that may have taken read before: a waiting writer wants a list first */
    bool doubtful;
    /* the snapshot shows some who are gone: who would still wait by it wants a list first */
    bool lagging;
    /* the link was cut, and since then no synced list has come: what was told before that may be
     * newer than what a list shows */
    bool unsynced;
    /* the snapshot shows all who are in the directory: it was listed under the watch on that, which
     * has told of nothing since */
    bool current;
} zkl_freshness;

struct zkl_line {
    zkl_receiver receiver; /* gets the answers that concern more than one contender */
    zkl_context *context;
    zkl_line_common *common;
    char *path;
    zkl_list members; /* contenders, in order of arrival */
    zkl_list listeners;
    zkl_tally tally; /* of them */
    zkl_parents parents;
    /* how often the parents were created since they were last found by a create */
    unsigned vain_rounds;
    bool parents_due; /* the next resume creates the parents before anything else */
    /* how often in a row a list has shown a child that was gone when its watch was to be set */
    unsigned vain_lists;
    /* how many lists were answered that show no less than was told before; whoever has looked at
     * one sees by it that there is another one */
    uint32_t lists;

    /* the children as last listed, without those that are known to be gone */
    zkl_snapshot snapshot;
    zkl_freshness freshness;
    zkl_followers followers; /* which member waits for which of them */

    bool list_wanted; /* the end of the step asks for a list */
    bool list_sent;   /* a list is on its way */
    bool list_synced; /* the latest list was sent behind a committed write */
    bool searching;   /* somebody's node is UNKNOWN, or was */
    bool acl_asked;   /* the directory's ACL is on its way */
    /* the end of the step refuses those who are too many: somebody new was seen behind somebody */
    bool too_many;
    bool idle; /* in common->idle */
    /* for leases and listeners, NONE, ARMED or LEAVING: the servers tell when a child comes or
     * goes */
    zkl_watch directory_watch : 8;
    uint32_t listed_bytes;
    /* how many requests about watches on children were sent: each has its number */
    int32_t requests;
    zkl_nanos asked;  /* when the latest list was sent */
    zkl_nanos listed; /* when a list was last answered */
    /* all who were there until then are known, if the snapshot is not current: the latest of those
     * lists was sent, or the watch has told */
    zkl_nanos known;

    zkl_edition directory; /* as last listed, unless our ACL is OPEN */
    /* the edition whose ACL lets no stranger meddle; czxid 0: none is known */
    zkl_edition acl_checked;

    /* what could not be sent, or was refused for now, is sent again when it fires */
    zkl_timer retry;
    zkl_nanos pause; /* the latest pause before that */

    zkl_line *chain;     /* lines: the next in the same bucket */
    zkl_list_item quiet; /* common->idle */
};

/* The contender whose node bears this number; NULL: none of ours does. It may be in another
 * line. */
zkl_contender *zkl_line_member(const zkl_line *line, uint64_t number);
/* Bytes of the full path of a child. */
size_t zkl_line_length(const zkl_line *line, const char *name);
/* Does somebody in it wait until there are few enough leases? */
bool zkl_line_counts(const zkl_line *line);
/* The end of the step frees it, if nobody is in it then. */
void zkl_line_idle(zkl_line *line);
/* The answer to its create was lost: the next synced list tells what became of it. */
void zkl_line_create_unknown(zkl_contender *c);
/* A node of ours was made: the directory is there, and nothing is known against those above. */
void zkl_line_directory_found(zkl_line *line);
/* It has no node any more, and what was known of one is forgotten. */
void zkl_line_forget_node(zkl_contender *c);
/* The snapshot is current no more. */
void zkl_line_outdated(zkl_line *line);
/* Its listeners look at it at the end of the step. */
void zkl_line_mark_dirty(const zkl_line *line);
/* A list is wanted since the snapshot shows some who are gone: at once, but not again and again. */
void zkl_line_list_anew(zkl_line *line);
/* Everything is looked at again after a pause, which grows until a list succeeds. */
void zkl_line_retry_later(zkl_line *line);

/* The three places where the line knows of a watch. Each watch is counted in common->watch_budget
 * from the request that sets it until the library has it no more. */
void zkl_line_set_own_watch(zkl_contender *c, zkl_watch watch);
void zkl_line_set_child_watch(zkl_line *line, zkl_child *child, zkl_watch watch);
void zkl_line_set_directory_watch(zkl_line *line, zkl_watch watch);
/* The child is about to be forgotten, perhaps before its node is gone: a watch on it stays with the
 * library, and is counted until the servers tell. */
void zkl_line_abandon_child_watch(zkl_line *line, zkl_child *child);
/* Bytes that the watches on the line's children take. */
size_t zkl_line_watched_bytes(const zkl_line *line);

#endif
