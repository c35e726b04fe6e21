/* SPDX-License-Identifier: MIT */
/* line_state: the data of the queue at one path, and the functions on it that every room of the
 * queue needs. The rooms above (send, departure, evaluate, ...) act on it; line.h is the interface
 * for others. */
#ifndef ZKL_LINE_STATE_H
#define ZKL_LINE_STATE_H

#include "base/list.h"
#include "line/contender.h"
#include "line/followers.h"
#include "line/parents.h"
#include "paths/watch_budget.h"
#include "recipe/snapshot.h"

/* A listener of a line that is not a member: a shared node (node.h), which is in a folder above.
 * Its functions only note the event; the end of the step acts on it. */
typedef struct zkl_listener zkl_listener;
struct zkl_listener {
    zkl_list_item item; /* line->listeners */
    bool attends;       /* needs to hear when nodes come or go: the line watches the directory */
    void (*dirty)(zkl_listener *listener); /* something may have changed */
    void (*failed)(zkl_listener *listener, zkl_status status, bool give_back);
    void (*hurried)(zkl_listener *listener); /* end nodes that no caller uses */
    /* The servers throttled a request that its node `c` needs, or that the line needs if that is
     * NULL: its callers that try once fail with `status`. */
    void (*throttled)(zkl_listener *listener, const zkl_contender *c, zkl_status status);
};

/* How far the snapshot of a line can be trusted. */
typedef struct zkl_freshness {
    /* nothing is granted by the snapshot: the link was down since it was taken, or there was no
     * memory for a newer one */
    bool stale;
    /* a writer has gone that may have taken read before: a waiting writer needs a list first */
    bool may_lack_read;
    /* the snapshot shows nodes that are gone: a contender that would still wait by it needs a list
     * first */
    bool lagging;
    /* the link was down, and no synced list has come since: the client may know of events that a
     * list does not show yet */
    bool unsynced;
    /* the snapshot shows every node in the directory: the list was read under the watch on the
     * directory, and the watch has reported nothing since */
    bool current;
} zkl_freshness;

struct zkl_line {
    zkl_receiver receiver; /* gets the answers that are not about one contender's own node */
    zkl_context *context;
    zkl_line_common *common;
    char *path;
    zkl_list members; /* contenders, in order of arrival */
    zkl_list listeners;
    zkl_tally tally; /* of the members */
    zkl_parents parents;
    /* how often the parents were created since a create last found them */
    unsigned vain_rounds;
    bool parents_due; /* the next resume creates the parents before anything else */
    /* how many lists in a row have shown a child that was gone when its watch was set */
    unsigned vain_lists;
    /* how many lists were answered that show everything known before; by this count a room notices
     * a new list */
    uint32_t lists;

    /* the children as last listed, without those known to be gone */
    zkl_snapshot snapshot;
    zkl_freshness freshness;
    zkl_followers followers; /* which member waits for which child */

    bool list_wanted; /* the end of the step asks for a list */
    bool list_sent;   /* a list is on its way */
    bool list_synced; /* the latest list was sent behind a committed write */
    bool searching;   /* the node of a contender is UNKNOWN, or was */
    bool acl_asked;   /* the request for the directory's ACL is on its way */
    /* a new waiter was found: the end of the step refuses those that are too many */
    bool too_many;
    bool idle;    /* in common->idle */
    bool is_sent; /* in common->sent */
    /* for leases and listeners, NONE, ARMED or LEAVING: reports when a child comes or goes */
    zkl_watch directory_watch : 8;
    /* numbers the requests about watches on children */
    int32_t requests;
    zkl_nanos asked;  /* when the latest list was sent */
    zkl_nanos listed; /* when the latest list was answered */
    /* if the snapshot is not current: all nodes that came until then are known, from the latest
     * list or the watch */
    zkl_nanos known;

    zkl_edition directory; /* as last listed */
    /* the edition whose ACL was found safe; czxid 0: none */
    zkl_edition acl_checked;

    /* when it fires, the line sends again whatever could not be sent or was refused for now */
    zkl_timer retry;
    zkl_nanos pause; /* the latest pause before that */

    struct zkl_first_node *first; /* NULL: nobody wanted to know who holds (front.h) */

    zkl_table_item item; /* lines->by_path */
    zkl_list_item quiet; /* common->idle */
    zkl_list_item sent;  /* common->sent */
};

/* The contender whose node has this number, perhaps in another line; NULL: none of ours has. */
zkl_contender *zkl_line_member(const zkl_context *context, uint64_t number);
/* Bytes of the full path of a child. */
size_t zkl_line_length(const zkl_line *line, const char *name);
/* Bytes of the full path of a node of ours. */
size_t zkl_line_node_length(const zkl_line *line, zkl_kind kind);
/* The kinds with which contenders hold. `except`: one that holds and does not count, or NULL. */
zkl_kinds zkl_line_kinds_held(const zkl_line *line, const zkl_contender *except);
/* True if a contender waits for fewer leases. */
bool zkl_line_awaits_leases(const zkl_line *line);
/* True if a list is on its way, or goes out as soon as what is due before it has gone. */
bool zkl_line_is_listed(const zkl_line *line);
/* Describes a line for the trace (transitions.h). */
void zkl_line_describe(const void *object, zkl_transition move, zkl_subject *subject);
/* The end of the step frees the line, if it has no contender then. */
void zkl_line_idle(zkl_line *line);
/* The answer to the contender's create was lost: the next synced list shows whether the node
 * exists. */
void zkl_line_create_unknown(zkl_contender *c);
/* A node of ours was created, so the directory exists, and nothing is wrong with its parents. */
void zkl_line_directory_found(zkl_line *line);
/* How many bytes stand behind a contender in that line: for the full path of its node. */
size_t zkl_line_node_room(const zkl_line *line);
/* The full path of its node: of the one that it has, or asks for. Valid until its next create. */
const char *zkl_line_node_path(const zkl_contender *c);
/* Its create asks for a node of that name: returns the full path. */
const char *zkl_line_ask_node(zkl_contender *c, const char *name);
/* The servers have made its node: they have appended to that name. */
void zkl_line_name_node(zkl_contender *c, const char *name);
/* The contender has no node any more. This forgets everything about the former one. */
void zkl_line_forget_node(zkl_contender *c);
/* The snapshot is no longer current. */
void zkl_line_outdated(zkl_line *line);
/* Ends shared nodes that no caller uses: another caller of this client is about to join with a node
 * of its own, or other clients should get the lock soon. */
void zkl_line_make_way(zkl_line *line);
/* Marks the line's listeners for the end of the step. */
void zkl_line_mark_dirty(const zkl_line *line);
/* Wants a list, because the snapshot shows nodes that are gone: at once, but not again and
 * again. */
void zkl_line_list_anew(zkl_line *line);
/* Checks everything again after a pause, which grows until a list succeeds. */
void zkl_line_retry_later(zkl_line *line);
/* The same, at that moment, unless a retry is due already. */
void zkl_line_retry_at(zkl_line *line, zkl_nanos at);
/* The same, after that answer: if busy servers have refused a request, the lines of the client
 * share one pause. */
void zkl_line_retry_after(zkl_line *line, int rc);

/* The three setters of a watch in the line. common->watch_budget counts each watch from the request
 * that sets it until the library no longer has it. */
void zkl_line_set_own_watch(zkl_contender *c, zkl_watch watch);
void zkl_line_set_child_watch(zkl_line *line, zkl_child *child, zkl_watch watch);
void zkl_line_set_directory_watch(zkl_line *line, zkl_watch watch);
/* The line is about to forget the child, perhaps before its node is gone. The library keeps a watch
 * on the node, so it counts until the servers report. */
void zkl_line_abandon_child_watch(zkl_line *line, zkl_child *child);
/* Bytes that the watches on the line's children take. */
size_t zkl_line_watched_bytes(const zkl_line *line);

#endif
