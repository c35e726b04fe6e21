/* SPDX-License-Identifier: MIT */
/* lines: the lines of one client, by path, and the data that they share. Under the client's
 * mutex. */
#ifndef ZKL_LINES_H
#define ZKL_LINES_H

#include "base/path_table.h"
#include "line/line.h"

typedef struct zkl_lines {
    zkl_line_common common;
    zkl_path_table by_path;
} zkl_lines;

/* The context already has its clock. `node_bytes`: the bound of the node budget; 0: the default.
 * false: no memory. */
bool zkl_lines_init(zkl_lines *lines, zkl_context *context, size_t node_bytes);
void zkl_lines_destroy(zkl_lines *lines);

/* The line at `path`, which is created if it does not exist; NULL: no memory. */
zkl_line *zkl_lines_find_or_make(zkl_lines *lines, const char *path);
/* NULL: this client has no line there. */
zkl_line *zkl_lines_find(const zkl_lines *lines, const char *path);
/* The line whose directory contains the node at `path`, and the node's name in it; NULL: this
 * client has no line there. */
zkl_line *zkl_lines_around(const zkl_lines *lines, const char *path, const char **name);
/* A watch has reported a change of the path: a directory, or a node in one. `viewed`: the host
 * watches the path, so the watch may belong to the host only. */
void zkl_lines_watch(zkl_lines *lines, const char *path, zkl_change change, bool node_watched);
/* The library's handle is gone, and with it the watches that no line knows. Each line learns of
 * that separately. */
void zkl_lines_unlink(zkl_lines *lines);
/* True if a line has a watch on the path, or needs the one that it has asked for. `list`: a watch
 * on the children. */
bool zkl_lines_watching(const zkl_lines *lines, const char *path, bool list);
size_t zkl_lines_count(const zkl_lines *lines);
/* The next line of a walk over all; NULL: that was the last one (base/table.h). */
zkl_line *zkl_lines_next(const zkl_lines *lines, zkl_table_walk *walk);
void zkl_lines_each(zkl_lines *lines, void (*call)(zkl_line *line));
/* Frees the lines without contenders: the end of every step. */
void zkl_lines_tidy(zkl_lines *lines);

#endif
