/* znode: the names of lock nodes: made, read and put in order. Pure. */
#ifndef ZKL_ZNODE_H
#define ZKL_ZNODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum zkl_kind {
    ZKL_KIND_NONE, /* not a name of any lock we know */
    ZKL_KIND_LOCK, /* ours, Curator's, Go's: ...lock-0000000001; kazoo's: ...__lock__0000000001 */
    ZKL_KIND_READ,
    ZKL_KIND_WRITE,
    ZKL_KIND_LEASE
} zkl_kind;

#define ZKL_KINDS (ZKL_KIND_LEASE + 1) /* the size of a table by kind */

/* Which node is whose: 60 bits for the client, 60 for the node; they travel as a version 4 UUID in
 * the name. */
typedef struct zkl_guid {
    uint64_t client, number;
} zkl_guid;

#define ZKL_GUID_MASK ((UINT64_C(1) << 60) - 1)
/* The data that asks the owner of a node to give back what it holds. */
#define ZKL_REVOKE "__REVOKE__"

#define ZKL_ZNODE_SIZE 64 /* enough for every name that we make, with sequence and NUL */

/* Writes "_c_<uuid>-lock-" (or the marker of the kind), to which the servers append the
 * sequence. */
void zkl_znode_make(char name[ZKL_ZNODE_SIZE], zkl_guid guid, zkl_kind kind);

/* Writes "_c_<uuid>-mark": a name that no lock's node has. */
void zkl_znode_make_mark(char name[ZKL_ZNODE_SIZE], zkl_guid guid);

/* Appends a sequence as the servers would: for the one node that bears another one's. */
void zkl_znode_append(char name[ZKL_ZNODE_SIZE], int32_t sequence);

/* Reads kind and sequence off a name of any client we share paths with. ZKL_KIND_NONE: not a lock's
 * node. */
zkl_kind zkl_znode_parse(const char *name, int32_t *sequence);

/* Reads the GUID off a name that zkl_znode_make could have made. */
bool zkl_znode_guid(const char *name, zkl_guid *guid);

#endif
