/* SPDX-License-Identifier: MIT */
/* directories: what this client knows of the lock directories in which it has made nodes of late:
 * that a create there will hardly fail, whether its ACL was found safe (line/acl_check.h), and
 * whether a write to it may stand in the place of a list (line/batch.h). The table has a fixed
 * size: of paths whose hashes begin alike it keeps a few, the latest ones. A path that it has
 * forgotten costs a round trip. */
#ifndef ZKL_DIRECTORIES_H
#define ZKL_DIRECTORIES_H

#include "base/clock.h"
#include "port/port.h"

#include <stdbool.h>
#include <stdint.h>

/* For so long a list counts that has shown a directory to be empty of data. */
#define ZKL_DIRECTORIES_LOOK_LASTS (60 * ZKL_SECOND)

typedef struct zkl_directory zkl_directory;

typedef struct zkl_directories {
    zkl_directory *notes; /* NULL: there are none */
    /* Where the note is that was made or changed last; another path may stand there since. Few
     * directories are asked for again and again. */
    zkl_directory *latest;
    /* when the host has written to any node: perhaps to one that has no note yet */
    zkl_nanos written;
} zkl_directories;

/* A node of ours was made there. Without memory it is not remembered. */
void zkl_directories_found(zkl_directories *directories, const char *path);
/* It is not there: all that is known of it is forgotten. */
void zkl_directories_gone(zkl_directories *directories, const char *path);
/* The servers have refused a node there: it is not known until the next one is made. */
void zkl_directories_refuse_node(zkl_directories *directories, const char *path);
bool zkl_directories_known(const zkl_directories *directories, const char *path);
/* The servers let us make nodes there, but not the mark of a transaction, for it has to be deleted
 * again. */
void zkl_directories_refuse_mark(zkl_directories *directories, const char *path);
bool zkl_directories_allow_mark(const zkl_directories *directories, const char *path);
void zkl_directories_clear(zkl_directories *directories);

/* ---- its ACL ---- */

/* In this session the ACL of this edition was found safe: no stranger may create, delete or
 * administer there. */
void zkl_directories_found_safe(zkl_directories *directories, const char *path, int64_t session,
                                zkl_edition edition);
/* The edition whose ACL was found safe in this session; czxid 0: none is known. */
zkl_edition zkl_directories_safe(const zkl_directories *directories, const char *path,
                                 int64_t session);

/* ---- writes to it ---- */

/* A write to the directory (setData) behind a create, in one transaction, tells how many children
 * there are then. It erases the directory's data, so it is only for one that was seen to have none,
 * in this session and not long ago; and it saves nothing where other children are. */

/* A list that was asked for at `asked` has shown this directory. */
void zkl_directories_listed(zkl_directories *directories, const char *path, int64_t session,
                            const zkl_stat *stat, zkl_nanos asked);
/* The answer to such a write of ours. */
void zkl_directories_counted(zkl_directories *directories, const char *path, const zkl_stat *stat);
/* The servers refuse such a write, until the directory is another one or has another ACL. */
void zkl_directories_refuse_count(zkl_directories *directories, const char *path);
/* The host writes to it: what was listed so far counts no more. */
void zkl_directories_written(zkl_directories *directories, const char *path, zkl_nanos now);
/* True if we may write to it, and our node may be the only child. */
bool zkl_directories_counts(const zkl_directories *directories, const char *path, int64_t session,
                            zkl_nanos now);

#endif
