/* SPDX-License-Identifier: MIT */
#include "watchers.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const char *path, size_t length) {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * 16777619U;
    return hash;
}

static sim_watcher **bucket_of(sim_watchers *all, uint32_t hash) {
    return &all->buckets[(hash ^ hash >> 16) % (sizeof all->buckets / sizeof *all->buckets)];
}

static bool is_at(const sim_watcher *w, uint32_t hash, const char *path, size_t length) {
    return w->hash == hash && strncmp(w->path, path, length) == 0 && w->path[length] == '\0';
}

static void leave(sim_watcher **list, const sim_watcher *w, bool of_bucket) {
    while (*list != w)
        list = of_bucket ? &(*list)->next : &(*list)->after;
    *list = of_bucket ? w->next : w->after;
}

static void discard(sim_watchers *all, sim_watcher **of, sim_watcher *w) {
    leave(bucket_of(all, w->hash), w, true);
    leave(of, w, false);
    free(w->path);
    free(w);
    all->count--;
}

static sim_watcher *find(sim_watchers *all, const sim_socket *socket, uint32_t hash,
                         const char *path) {
    const size_t length = strlen(path);
    for (sim_watcher *w = *bucket_of(all, hash); w; w = w->next)
        if (w->socket == socket && is_at(w, hash, path, length))
            return w;
    return NULL;
}

void sim_watch(sim_watchers *all, sim_watcher **of, sim_socket *socket, const char *path,
               int kind) {
    const uint32_t hash = hash_of(path, strlen(path));
    sim_watcher *w = find(all, socket, hash, path);
    if (!w) {
        w = sim_new(sizeof *w);
        w->socket = socket;
        w->path = sim_copy(path);
        w->hash = hash;
        w->next = *bucket_of(all, hash);
        *bucket_of(all, hash) = w;
        w->after = *of;
        *of = w;
        all->count++;
    }
    w->kinds |= kind;
}

bool sim_unwatch(sim_watchers *all, sim_watcher **of, const char *path, int kind) {
    const uint32_t hash = hash_of(path, strlen(path));
    for (sim_watcher *w = *of; w; w = w->after) {
        if (!(w->kinds & kind) || !is_at(w, hash, path, strlen(path)))
            continue;
        w->kinds &= ~kind;
        if (!w->kinds)
            discard(all, of, w);
        return true;
    }
    return false;
}

void sim_unwatch_all(sim_watchers *all, sim_watcher **of) {
    while (*of)
        discard(all, of, *of);
}

void sim_trigger(sim_watchers *all, const char *path, size_t length, int kinds,
                 sim_watcher **(*list_of)(sim_socket *), void (*tell)(sim_socket *, void *),
                 void *ctx) {
    const uint32_t hash = hash_of(path, length);
    for (sim_watcher *w = *bucket_of(all, hash), *next; w; w = next) {
        next = w->next;
        if (!(w->kinds & kinds) || !is_at(w, hash, path, length))
            continue;
        sim_socket *socket = w->socket;
        w->kinds &= ~kinds;
        if (!w->kinds)
            discard(all, list_of(socket), w);
        tell(socket, ctx);
    }
}
