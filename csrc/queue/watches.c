#include "queue/watches.h"

#include "port/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256

struct zkl_left {
    zkl_left *next; /* in the same bucket */
    char *path;
    bool list;
};

static size_t share(const zkl_watches *watches, zkl_claim claim) {
    switch (claim) {
    case ZKL_CLAIM_SECOND:
        return watches->most / 4;
    case ZKL_CLAIM_OWN:
        return watches->most / 2;
    case ZKL_CLAIM_OTHERS:
        return watches->most - watches->most / 16;
    case ZKL_CLAIM_TURN:
        break;
    }
    return watches->most;
}

bool zkl_watches_room(const zkl_watches *watches, size_t length, zkl_claim claim) {
    return watches->bytes + zkl_wire_text(length) <= share(watches, claim);
}

size_t zkl_watches_size(size_t length) {
    return zkl_wire_text(length);
}

void zkl_watches_add(zkl_watches *watches, size_t length) {
    watches->bytes += zkl_wire_text(length);
}

void zkl_watches_remove(zkl_watches *watches, size_t length) {
    watches->bytes -= zkl_wire_text(length);
}

/* ---- those that no line knows any more ---- */

/* FNV-1a */
static zkl_left **bucket(const zkl_watches *watches, const char *path) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return &watches->buckets[(hash ^ hash >> 32) % BUCKETS];
}

/* Where the entry stands, or the end of its bucket. */
static zkl_left **find(const zkl_watches *watches, const char *path, bool list) {
    zkl_left **p = bucket(watches, path);
    while (*p && ((*p)->list != list || strcmp((*p)->path, path) != 0))
        p = &(*p)->next;
    return p;
}

static void free_left(zkl_left *left) {
    free(left->path);
    free(left);
}

/* Takes the path. false: no memory. */
static bool remember(zkl_watches *watches, char *path, bool list) {
    zkl_left *left = malloc(sizeof *left);
    if (!left)
        return false;
    zkl_left **b = bucket(watches, path);
    *left = (zkl_left){.next = *b, .path = path, .list = list};
    *b = left;
    return true;
}

static char *path_of(const char *directory, const char *name) {
    char *path = NULL;
    if (!name)
        return strdup(directory);
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

void zkl_watches_leave(zkl_watches *watches, const char *directory, const char *name, bool list) {
    const size_t length = strlen(directory) + (name ? 1 + strlen(name) : 0);
    char *path = path_of(directory, name);
    if (!watches->buckets)
        watches->buckets = calloc(BUCKETS, sizeof(zkl_left *));
    const bool findable = path && watches->buckets;
    if (findable && *find(watches, path, list)) {
        free(path); /* the library has one watch, however often a line leaves it */
        return;
    }
    if (!findable || !remember(watches, path, list))
        free(path);
    watches->left += zkl_wire_text(length);
    zkl_watches_add(watches, length);
}

void zkl_watches_told(zkl_watches *watches, const char *path, bool list) {
    if (!watches->buckets)
        return;
    zkl_left **p = find(watches, path, list), *left = *p;
    if (!left)
        return;
    *p = left->next;
    free_left(left);
    watches->left -= zkl_wire_text(strlen(path));
    zkl_watches_remove(watches, strlen(path));
}

void zkl_watches_lost(zkl_watches *watches) {
    for (size_t i = 0; watches->buckets && i < BUCKETS; i++)
        for (zkl_left *left = watches->buckets[i], *next; left; left = next) {
            next = left->next;
            free_left(left);
        }
    free(watches->buckets);
    watches->buckets = NULL;
    watches->bytes -= watches->left;
    watches->left = 0;
}
