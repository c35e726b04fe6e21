/* lines: the lines of one client, found by path, and what they share. Under the client's mutex. */
#ifndef ZKL_LINES_H
#define ZKL_LINES_H

#include "line/line.h"

typedef struct zkl_lines {
    zkl_line_common common;
    zkl_line **buckets;
    size_t size, count; /* size is a power of two */
} zkl_lines;

/* The context has its clock. false: no memory */
bool zkl_lines_init(zkl_lines *lines, zkl_context *context);
void zkl_lines_destroy(zkl_lines *lines);

/* The line at `path`, which is made if there is none; NULL: no memory. */
zkl_line *zkl_lines_at(zkl_lines *lines, const char *path);
/* NULL: none of ours is there. */
zkl_line *zkl_lines_find(const zkl_lines *lines, const char *path);
/* The line whose directory holds the node at `path`, and the node's name in it; NULL: none of ours
 * is there. */
zkl_line *zkl_lines_around(const zkl_lines *lines, const char *path, const char **name);
/* A watch has told of the path: a directory, or a node in one. `viewed`: the host looks at the
 * path, so that the watch may be the host's alone. */
void zkl_lines_watch(zkl_lines *lines, const char *path, zkl_change change, bool node_watched);
/* The library's handle is gone, and with it the watches that no line knows. Each line hears of it
 * itself. */
void zkl_lines_unlink(zkl_lines *lines);
/* Does a line have a watch on the path, or need the one that it asks for: `list`: on its children?
 */
bool zkl_lines_watching(const zkl_lines *lines, const char *path, bool list);
void zkl_lines_each(zkl_lines *lines, void (*call)(zkl_line *line));
/* Frees the lines that nobody is in: the end of every step. */
void zkl_lines_tidy(zkl_lines *lines);

#endif
