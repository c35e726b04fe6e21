/* SPDX-License-Identifier: MIT */
#include "line/lines.h"

#include "base/list.h"
#include "base/path_table.h"
#include "base/table.h"
#include "line/batch.h"
#include "paths/directories.h"
#include "line/events.h"
#include "line/outbox.h"
#include "line/poll_rounds.h"
#include "paths/node_budget.h"
#include "paths/watch_budget.h"

#include <string.h>

static zkl_line *line_at(const zkl_table_item *item) {
    return item ? ZKL_CONTAINER_OF(item, zkl_line, item) : NULL;
}

static const char *path_of(const zkl_table_item *item) {
    return line_at(item)->path;
}

bool zkl_lines_init(zkl_lines *lines, zkl_context *context, size_t node_bytes) {
    *lines = (zkl_lines){.common = {.context = context}};
    zkl_watch_budget_init(&lines->common.watch_budget, ZKL_WATCH_BUDGET_MOST);
    zkl_node_budget_init(&lines->common.node_budget, node_bytes);
    zkl_poll_rounds_init(&lines->common);
    zkl_path_table_init(&lines->by_path, path_of);
    return zkl_table_reserve(&lines->by_path.table);
}

void zkl_lines_destroy(zkl_lines *lines) {
    zkl_watch_budget_lost(&lines->common.watch_budget);
    zkl_node_budget_clear(&lines->common.node_budget);
    zkl_directories_clear(&lines->common.directories);
    zkl_batches_forget(&lines->common);
    zkl_table_clear(&lines->by_path.table);
}

zkl_line *zkl_lines_find_or_make(zkl_lines *lines, const char *path) {
    zkl_line *line = zkl_lines_find(lines, path);
    if (line)
        return line;
    line = zkl_line_new(&lines->common, path);
    if (line)
        zkl_table_add(&lines->by_path.table, &line->item);
    return line;
}

zkl_line *zkl_lines_find(const zkl_lines *lines, const char *path) {
    return line_at(zkl_path_table_find(&lines->by_path, path, strlen(path)));
}

zkl_line *zkl_lines_around(const zkl_lines *lines, const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *name = slash + 1;
    return line_at(zkl_path_table_find(&lines->by_path, path, (size_t)(slash - path)));
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
    /* The end of a directory also uses up the watch on its children. */
    zkl_line *directory = change == ZKL_CHANGE_OTHER ? NULL : zkl_lines_find(lines, path);
    if (around)
        zkl_line_watch(around, name, change);
    if (directory)
        zkl_line_children_changed(directory);
}

void zkl_lines_unlink(zkl_lines *lines) {
    zkl_batches_forget(&lines->common);
    zkl_watch_budget_lost(&lines->common.watch_budget);
}

size_t zkl_lines_count(const zkl_lines *lines) {
    return lines->by_path.table.count;
}

zkl_line *zkl_lines_next(const zkl_lines *lines, zkl_table_walk *walk) {
    return line_at(zkl_table_walk_on(&lines->by_path.table, walk));
}

void zkl_lines_each(zkl_lines *lines, void (*call)(zkl_line *line)) {
    zkl_table_walk walk = {0};
    zkl_line *line;
    while ((line = zkl_lines_next(lines, &walk)))
        call(line);
}

/* A line that cannot be freed yet enters common.idle again later. */
void zkl_lines_tidy(zkl_lines *lines) {
    zkl_list idle = lines->common.idle;
    lines->common.idle = (zkl_list){0};
    ZKL_EACH (zkl_line, line, &idle, quiet) {
        line->idle = false;
        if (!zkl_line_quit(line))
            continue;
        zkl_table_remove(&lines->by_path.table, &line->item);
        zkl_line_free(line);
    }
}
