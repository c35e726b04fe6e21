/* SPDX-License-Identifier: MIT */
/* directories: in which lock directories this client has made nodes of late, so that a create there
 * will hardly fail. It is remembered by a hash of the path: with bad luck another directory is
 * taken for one of these, which costs a round trip. */
#ifndef ZKL_DIRECTORIES_H
#define ZKL_DIRECTORIES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct zkl_directories {
    uint64_t *notes; /* NULL: there are none */
} zkl_directories;

/* A node of ours was made there. Without memory it is not remembered. */
void zkl_directories_found(zkl_directories *directories, const char *path);
/* It is not there. */
void zkl_directories_gone(zkl_directories *directories, const char *path);
/* The servers have refused a node there: it is not known until the next one is made. */
void zkl_directories_refuse_node(zkl_directories *directories, const char *path);
bool zkl_directories_known(const zkl_directories *directories, const char *path);
/* The servers let us make nodes there, but not the mark of a transaction, for it has to be deleted
 * again. */
void zkl_directories_refuse_mark(zkl_directories *directories, const char *path);
bool zkl_directories_take_mark(const zkl_directories *directories, const char *path);
void zkl_directories_clear(zkl_directories *directories);

#endif
