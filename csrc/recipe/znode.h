/* SPDX-License-Identifier: MIT */
/* znode: the names of lock nodes: creates them. zklock.h and zklock_host.h declare the functions
 * that parse them. Pure. */
#ifndef ZKL_ZNODE_H
#define ZKL_ZNODE_H

#include "zklock_host.h"

#define ZKL_GUID_MASK ((UINT64_C(1) << 60) - 1)
/* Of the number of a lock's node; its owner is above them. */
#define ZKL_GUID_RANDOM ((UINT64_C(1) << ZKL_OWNER_SHIFT) - 1)
#define ZKL_ZNODE_SIZE 64 /* enough for every name that we create, with sequence and NUL */

/* Writes "_c_<uuid>-lock-" (or the marker of the kind), to which the servers append the
 * sequence. */
void zkl_znode_make(char name[ZKL_ZNODE_SIZE], zkl_guid guid, zkl_kind kind);

/* Writes the start of the names of all nodes of a client, and returns its length. */
size_t zkl_znode_make_prefix(char prefix[ZKL_ZNODE_SIZE], uint64_t client);
/* Reads the node's half of the GUID, which stands behind that start. */
bool zkl_znode_number(const char *behind, uint64_t *number);

/* zkl_znode_parse of a name of `length` bytes, which needs no NUL. */
zkl_kind zkl_znode_kind(const char *name, size_t length, int32_t *sequence);

/* The bytes of such a name, with a sequence of ten digits. */
size_t zkl_znode_length(zkl_kind kind);

/* Writes "_c_<uuid>-mark": a name that no lock's node has. */
void zkl_znode_make_mark(char name[ZKL_ZNODE_SIZE], zkl_guid guid);

/* Appends a sequence as the servers would: for the one node that has another node's sequence. */
void zkl_znode_append(char name[ZKL_ZNODE_SIZE], int32_t sequence);

/* The path of a node in a directory, for free(). NULL: no memory. */
char *zkl_znode_path(const char *directory, const char *name);

#endif
