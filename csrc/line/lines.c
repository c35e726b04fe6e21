#include "line/lines.h"

#include "line/acl_cache.h"
#include "line/answer.h"
#include "line/poll_rounds.h"
#include "line/watch_budget.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static zkl_line **bucket(const zkl_lines *lines, const char *path, size_t length) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * UINT64_C(1099511628211);
    return &lines->buckets[(hash ^ hash >> 32) & (lines->size - 1)];
}

static zkl_line *find(const zkl_lines *lines, const char *path, size_t length) {
    zkl_line *line = *bucket(lines, path, length);
    while (line && (strncmp(line->path, path, length) != 0 || line->path[length] != '\0'))
        line = line->chain;
    return line;
}

static void insert(zkl_lines *lines, zkl_line *line) {
    zkl_line **b = bucket(lines, line->path, strlen(line->path));
    line->chain = *b;
    *b = line;
}

bool zkl_lines_init(zkl_lines *lines, zkl_context *context) {
    *lines = (zkl_lines){.common = {.context = context}, .size = 64};
    lines->common.watch_budget.most = ZKL_WATCH_BUDGET_MOST;
    zkl_poll_rounds_init(&lines->common);
    lines->buckets = calloc(lines->size, sizeof(zkl_line *));
    return lines->buckets != NULL;
}

void zkl_lines_destroy(zkl_lines *lines) {
    zkl_acl_cache_clear(&lines->common.acl_cache);
    zkl_watch_budget_lost(&lines->common.watch_budget);
    free(lines->buckets);
}

/* Without memory the chains just get longer. */
static void grow(zkl_lines *lines) {
    zkl_lines bigger = *lines;
    bigger.size *= 2;
    bigger.buckets = calloc(bigger.size, sizeof(zkl_line *));
    if (!bigger.buckets)
        return;
    for (size_t i = 0; i < lines->size; i++) {
        zkl_line *next;
        for (zkl_line *line = lines->buckets[i]; line; line = next) {
            next = line->chain;
            insert(&bigger, line);
        }
    }
    free(lines->buckets);
    *lines = bigger;
}

zkl_line *zkl_lines_at(zkl_lines *lines, const char *path) {
    zkl_line *line = find(lines, path, strlen(path));
    if (line)
        return line;
    line = zkl_line_new(&lines->common, path);
    if (!line)
        return NULL;
    if (lines->count++ >= lines->size)
        grow(lines);
    insert(lines, line);
    return line;
}

zkl_line *zkl_lines_find(const zkl_lines *lines, const char *path) {
    return find(lines, path, strlen(path));
}

zkl_line *zkl_lines_around(const zkl_lines *lines, const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *name = slash + 1;
    return find(lines, path, (size_t)(slash - path));
}

bool zkl_lines_watching(const zkl_lines *lines, const char *path, bool list) {
    const char *name;
    const zkl_line *line =
        list ? zkl_lines_find(lines, path) : zkl_lines_around(lines, path, &name);
    if (!line)
        return false;
    return list ? line->directory_watch != ZKL_WATCH_NONE : zkl_line_watching(line, name);
}

void zkl_lines_watch(zkl_lines *lines, const char *path, zkl_change change, bool node_watched) {
    if (change != ZKL_CHANGE_CHILDREN)
        zkl_watch_budget_told(&lines->common.watch_budget, path, false);
    if (change != ZKL_CHANGE_OTHER)
        zkl_watch_budget_told(&lines->common.watch_budget, path, true);
    if (node_watched && !zkl_lines_watching(lines, path, false) &&
        !zkl_lines_watching(lines, path, true))
        return;
    const char *name;
    zkl_line *around = change == ZKL_CHANGE_CHILDREN ? NULL : zkl_lines_around(lines, path, &name);
    /* A directory that is deleted takes the watch on its children along. */
    zkl_line *directory = change == ZKL_CHANGE_OTHER ? NULL : zkl_lines_find(lines, path);
    if (around)
        zkl_line_watch(around, name, change);
    if (directory)
        zkl_line_children_changed(directory);
}

void zkl_lines_unlink(zkl_lines *lines) {
    zkl_watch_budget_lost(&lines->common.watch_budget);
}

void zkl_lines_each(zkl_lines *lines, void (*call)(zkl_line *line)) {
    for (size_t i = 0; i < lines->size; i++) {
        zkl_line *next;
        for (zkl_line *line = lines->buckets[i]; line; line = next) {
            next = line->chain;
            call(line);
        }
    }
}

static void remove_line(zkl_lines *lines, zkl_line *line) {
    zkl_line **p = bucket(lines, line->path, strlen(line->path));
    while (*p != line)
        p = &(*p)->chain;
    *p = line->chain;
    lines->count--;
}

/* A line that cannot go yet is put into common.idle again by what stands against it. */
void zkl_lines_tidy(zkl_lines *lines) {
    zkl_list idle = lines->common.idle;
    lines->common.idle = (zkl_list){0};
    ZKL_EACH (zkl_line, line, &idle, quiet) {
        line->idle = false;
        if (!zkl_line_quit(line))
            continue;
        remove_line(lines, line);
        zkl_line_free(line);
    }
}
