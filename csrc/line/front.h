/* SPDX-License-Identifier: MIT */
/* front: where a waiter stands, and who holds while it waits, by the snapshot of its line. The data
 * of the first node in a line is read at most once, however many callers ask; that of a node of
 * this client is not read. Under the client's mutex. */
#ifndef ZKL_LINE_FRONT_H
#define ZKL_LINE_FRONT_H

#include "line/line_state.h"

/* Of a waiter of any kind. */
typedef struct zkl_view {
    zkl_waits waits;
    bool listed;             /* a list has shown its node, or where a multilock has failed */
    zkl_ahead ahead;         /* if it waits, and a list has shown its node */
    const zkl_child *next;   /* the nearest in front; NULL: none */
    const zkl_child *holder; /* with it somebody holds what it waits for; NULL: not known */
    const char *identifier;  /* the holder's data, truncated; NULL: they were not read */
} zkl_view;
zkl_view zkl_view_of(const zkl_contender *c);

/* A question of a waiter about the holder. */
typedef struct zkl_holder_look zkl_holder_look;
struct zkl_holder_look {
    zkl_contender *c;
    /* It ends. `why` says in words what is known without the holder's data; NULL:
     * zkl_owner_text. */
    void (*known)(zkl_holder_look *look, zkl_line *line, const char *why);
    zkl_list *in; /* of a line's first node; NULL: in none */
    zkl_list_item item;
};

/* `anew`: it needs a fresh list, whatever the snapshot shows. Without a link it ends at once, and
 * once more when the line was read. */
void zkl_holder_look_begin(zkl_holder_look *look, bool anew);
void zkl_holder_look_end(zkl_holder_look *look);
/* The holder by the first node of the line. */
void zkl_owner_text(const zkl_line *line, char *text, size_t size);

/* ---- for the line ---- */

/* A list of the line was read; or could not be. */
void zkl_front_listed(zkl_line *line, bool ok);
/* The line has lost its link's handle: no answer comes. */
void zkl_front_unlink(zkl_line *line);
/* The line is about to be freed. */
void zkl_front_forget(zkl_line *line);

#endif
