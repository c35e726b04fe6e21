#include "line/watch_budget.h"

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

static size_t share(const zkl_watch_budget *budget, zkl_claim claim) {
    switch (claim) {
    case ZKL_CLAIM_SECOND:
        return budget->most / 4;
    case ZKL_CLAIM_OWN:
        return budget->most / 2;
    case ZKL_CLAIM_OTHERS:
        return budget->most - budget->most / 16;
    case ZKL_CLAIM_TURN:
        break;
    }
    return budget->most;
}

bool zkl_watch_budget_room(const zkl_watch_budget *budget, size_t length, zkl_claim claim) {
    return budget->bytes + zkl_wire_text(length) <= share(budget, claim);
}

size_t zkl_watch_budget_size(size_t length) {
    return zkl_wire_text(length);
}

void zkl_watch_budget_add(zkl_watch_budget *budget, size_t length) {
    budget->bytes += zkl_wire_text(length);
}

void zkl_watch_budget_remove(zkl_watch_budget *budget, size_t length) {
    budget->bytes -= zkl_wire_text(length);
}

/* ---- those that no line knows any more ---- */

/* FNV-1a */
static zkl_left **bucket(const zkl_watch_budget *budget, const char *path) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return &budget->buckets[(hash ^ hash >> 32) % BUCKETS];
}

/* Where the entry stands, or the end of its bucket. */
static zkl_left **find(const zkl_watch_budget *budget, const char *path, bool list) {
    zkl_left **p = bucket(budget, path);
    while (*p && ((*p)->list != list || strcmp((*p)->path, path) != 0))
        p = &(*p)->next;
    return p;
}

static void free_left(zkl_left *left) {
    free(left->path);
    free(left);
}

/* Takes the path. false: no memory. */
static bool remember(zkl_watch_budget *budget, char *path, bool list) {
    zkl_left *left = malloc(sizeof *left);
    if (!left)
        return false;
    zkl_left **b = bucket(budget, path);
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

void zkl_watch_budget_leave(zkl_watch_budget *budget, const char *directory, const char *name,
                            bool list) {
    const size_t length = strlen(directory) + (name ? 1 + strlen(name) : 0);
    char *path = path_of(directory, name);
    if (!budget->buckets)
        budget->buckets = calloc(BUCKETS, sizeof(zkl_left *));
    const bool findable = path && budget->buckets;
    if (findable && *find(budget, path, list)) {
        free(path); /* the library has one watch, however often a line leaves it */
        return;
    }
    if (!findable || !remember(budget, path, list))
        free(path);
    budget->left += zkl_wire_text(length);
    zkl_watch_budget_add(budget, length);
}

void zkl_watch_budget_told(zkl_watch_budget *budget, const char *path, bool list) {
    if (!budget->buckets)
        return;
    zkl_left **p = find(budget, path, list), *left = *p;
    if (!left)
        return;
    *p = left->next;
    free_left(left);
    budget->left -= zkl_wire_text(strlen(path));
    zkl_watch_budget_remove(budget, strlen(path));
}

void zkl_watch_budget_lost(zkl_watch_budget *budget) {
    for (size_t i = 0; budget->buckets && i < BUCKETS; i++)
        for (zkl_left *left = budget->buckets[i], *next; left; left = next) {
            next = left->next;
            free_left(left);
        }
    free(budget->buckets);
    budget->buckets = NULL;
    budget->bytes -= budget->left;
    budget->left = 0;
}
