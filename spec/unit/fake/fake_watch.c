/* SPDX-License-Identifier: MIT */
#include "fake_watch.h"

#include "must.h"

void fake_watches_free(fake_watch **watches) {
    for (fake_watch *w = *watches, *next; w; w = next) {
        next = w->next;
        free(w->path);
        free(w);
    }
    *watches = NULL;
}

fake_watch **fake_watch_at(fake_watch **watches, const char *path, bool list) {
    while (*watches && (strcmp((*watches)->path, path) != 0 || (*watches)->list != list))
        watches = &(*watches)->next;
    return watches;
}

void fake_watch_set(fake_watch **watches, const char *path, bool list, int64_t mzxid) {
    fake_watch **w = fake_watch_at(watches, path, list);
    if (!*w) {
        *w = calloc(1, sizeof **w);
        must(*w != NULL);
        (*w)->path = copy(path);
        (*w)->list = list;
    }
    (*w)->mzxid = mzxid;
}

void fake_watch_remove(fake_watch **w) {
    fake_watch *gone = *w;
    if (!gone)
        return;
    *w = gone->next;
    free(gone->path);
    free(gone);
}

/* A watch event says nothing of how far the server is: another one may be behind it. */
static fake_item *told(fake_client *client, const char *path, zkl_change change) {
    fake_item *item = fake_item_new(&client->inbound, path);
    item->watch_event = true;
    item->change = change;
    return item;
}

static zkl_change change_of(const fake_node *node, const fake_watch *w) {
    if (!node)
        return ZKL_CHANGE_DELETED;
    return w->list ? ZKL_CHANGE_CHILDREN : ZKL_CHANGE_OTHER;
}

int64_t fake_changed_at(const fake_node *node, bool list) {
    return !node ? 0 : list ? node->pzxid : node->mzxid;
}

int64_t fake_seen_of(const fake_client *client, int64_t changed) {
    return changed < client->view ? changed : client->view;
}

void fake_fire(fake_client *client) {
    for (fake_watch **w = &client->watches; *w;) {
        const fake_node *node = fake_find(client->servers, (*w)->path, client->view);
        const int64_t changed = fake_changed_at(node, (*w)->list);
        if (node && (changed == (*w)->mzxid || changed > client->view)) {
            w = &(*w)->next;
            continue;
        }
        told(client, (*w)->path, change_of(node, *w))->watch_list = (*w)->list;
        fake_watch_remove(w);
    }
}

void fake_restore_watches(fake_client *client) {
    for (fake_watch *l = client->listeners; l; l = l->next) {
        const fake_node *node = fake_find(client->servers, l->path, client->view);
        const int64_t changed = fake_changed_at(node, l->list);
        if (!node || (changed > client->seen && changed <= client->view))
            told(client, l->path, change_of(node, l))->watch_list = l->list;
        else
            fake_watch_set(&client->watches, l->path, l->list, fake_seen_of(client, changed));
    }
}

void fake_hand_watch(fake_client *client, const fake_item *item) {
    fake_watch **listener = fake_watch_at(&client->listeners, item->path, item->watch_list);
    if (!*listener)
        /* the reply that would have told of the watch was lost: the library does not know it */
        return;
    fake_watch_remove(listener);
    const bool seen = zkl_node_watches_told(&client->nodes, item->path, item->change);
    zkl_lines_watch(&client->lines, item->path, item->change, seen);
}

size_t fake_watched_bytes(const fake_client *client) {
    size_t bytes = 0;
    for (const fake_watch *w = client->listeners; w; w = w->next)
        bytes += 4 + strlen(w->path);
    return bytes;
}

size_t fake_watched(const fake_client *client) {
    size_t n = 0;
    for (const fake_watch *w = client->listeners; w; w = w->next)
        n++;
    return n;
}
