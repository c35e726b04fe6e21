/* SPDX-License-Identifier: MIT */
/* fake_watch: the watches of a fake client, at its servers and in its library, and their news. */
#ifndef FAKE_WATCH_H
#define FAKE_WATCH_H

#include "fake_item.h"

typedef struct fake_watch {
    struct fake_watch *next;
    char *path;
    bool list; /* set by a list */
    /* of the node, or the pzxid of the directory, as far as the view had seen when it was set */
    int64_t mzxid;
} fake_watch;

void fake_watches_free(fake_watch **watches);
/* Where it is, or where it would be added. */
fake_watch **fake_watch_at(fake_watch **watches, const char *path, bool list);
void fake_watch_set(fake_watch **watches, const char *path, bool list, int64_t mzxid);
void fake_watch_remove(fake_watch **w);

/* The last change of what is watched, whether the client's server has seen it or not. */
int64_t fake_changed_at(const fake_node *node, bool list);
/* An answer from before that change does not tell of it: a watch that is set with the answer
 * will. */
int64_t fake_seen_of(const fake_client *client, int64_t changed);
/* The watches are set again before anything else; a change in the meantime is told at
 * once. */
void fake_restore_watches(fake_client *client);
/* Tells the client of what has come to it. */
void fake_hand_watch(fake_client *client, const fake_item *item);

#endif
