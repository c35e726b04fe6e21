/* SPDX-License-Identifier: MIT */
/* The watches that a handle knows of. */
#include "handle.h"

#include <stdlib.h>
#include <string.h>

void sim_listeners_free(sim_listener *l) {
    while (l) {
        sim_listener *next = l->next;
        free(l->path);
        free(l);
        l = next;
    }
}

size_t sim_listener_bytes(const sim_listener *l) {
    return 4 + strlen(l->path);
}

static bool hears(const sim_listener *l, int type) {
    switch (type) {
    case EVENT_DELETED:
        return l->kind == WATCH_DATA || l->kind == WATCH_CHILDREN;
    case EVENT_CHILDREN:
        return l->kind == WATCH_CHILDREN;
    default:
        return l->kind == WATCH_DATA || l->kind == WATCH_EXISTS;
    }
}

static bool is_among(const sim_listener *list, const sim_listener *l) {
    for (; list; list = list->next)
        if (list->fn == l->fn && list->ctx == l->ctx)
            return true;
    return false;
}

sim_listener *sim_listeners_take(zhandle_t *zh, const char *path, int type) {
    sim_listener *taken = NULL, *doubled = NULL;
    for (sim_listener **p = &zh->listeners; *p;) {
        sim_listener *l = *p;
        if (!hears(l, type) || strcmp(l->path, path) != 0) {
            p = &l->next;
            continue;
        }
        *p = l->next;
        zh->watched -= sim_listener_bytes(l);
        sim_listener **to = is_among(taken, l) ? &doubled : &taken;
        l->next = *to;
        *to = l;
    }
    sim_listeners_free(doubled);
    return taken;
}

void sim_listen(zhandle_t *zh, const sim_request *r) {
    const int kind = r->op == OP_LIST                              ? WATCH_CHILDREN
                     : r->op == OP_EXISTS && r->part.rc == ZNONODE ? WATCH_EXISTS
                                                                   : WATCH_DATA;
    for (const sim_listener *l = zh->listeners; l; l = l->next)
        if (l->kind == kind && l->fn == r->watcher && l->ctx == r->watcher_ctx &&
            strcmp(l->path, r->part.path) == 0)
            return;
    sim_listener *l = sim_new(sizeof *l);
    *l = (sim_listener){zh->listeners, sim_copy(r->part.path), kind, r->watcher, r->watcher_ctx};
    zh->listeners = l;
    zh->watched += sim_listener_bytes(l);
}

void sim_stop_listening(zhandle_t *zh, const char *path, int kind) {
    for (sim_listener **p = &zh->listeners; *p;) {
        sim_listener *l = *p;
        const bool is_it = strcmp(l->path, path) == 0 &&
                           (l->kind == kind || (kind == WATCH_DATA && l->kind == WATCH_EXISTS));
        if (!is_it) {
            p = &l->next;
            continue;
        }
        *p = l->next;
        zh->watched -= sim_listener_bytes(l);
        l->next = NULL;
        sim_listeners_free(l);
    }
}
