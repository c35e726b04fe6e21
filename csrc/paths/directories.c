/* SPDX-License-Identifier: MIT */
#include "paths/directories.h"

#include "base/path_table.h"

#include <stdlib.h>
#include <string.h>

/* Of those whose hashes begin alike only so many are remembered, the latest first. */
enum { SETS = 1024, WAYS = 4, NOTES = SETS * WAYS };

struct zkl_directory {
    char *path; /* NULL: this note is free */
    bool no_mark, no_node;
    int64_t session;  /* in which what follows was learned */
    zkl_edition safe; /* its ACL was found safe */
    zkl_edition seen; /* as a list has shown it */
    /* when the latest list was asked for that has shown it without data; 0: there is none */
    zkl_nanos empty;
    zkl_nanos written; /* when the host has written to it, or perhaps has; 0: it has not */
    bool no_count;     /* a write to `seen` was refused */
    bool shared;       /* others have nodes there, or had when we looked last */
};

static zkl_directory *set_of(const zkl_directories *directories, const char *path) {
    return directories->notes + zkl_path_hash(path, strlen(path)) % SETS * WAYS;
}

/* NULL: it is not in this set. */
static zkl_directory *find_in(zkl_directory *set, const char *path) {
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].path && strcmp(set[i].path, path) == 0)
            return &set[i];
    return NULL;
}

static bool is_latest(const zkl_directories *directories, const char *path) {
    const zkl_directory *latest = directories->latest;
    return latest && latest->path && strcmp(latest->path, path) == 0;
}

/* NULL: it is not among them. */
static zkl_directory *find(const zkl_directories *directories, const char *path) {
    if (is_latest(directories, path))
        return directories->latest;
    return directories->notes ? find_in(set_of(directories, path), path) : NULL;
}

/* Its note, which is the first of its set then. NULL: no memory. */
static zkl_directory *bring_up(zkl_directories *directories, const char *path) {
    if (is_latest(directories, path))
        return directories->latest;
    if (!directories->notes)
        directories->notes = calloc(NOTES, sizeof *directories->notes);
    if (!directories->notes)
        return NULL;
    zkl_directory *set = set_of(directories, path), *known = find_in(set, path);
    zkl_directory note = known ? *known
                               : (zkl_directory){.path = strdup(path),
                                                 .no_node = true,
                                                 .written = directories->written};
    if (!note.path)
        return NULL;
    if (!known) {
        known = &set[WAYS - 1];
        free(known->path);
    }
    memmove(set + 1, set, (size_t)(known - set) * sizeof *set);
    *set = note;
    directories->latest = set;
    return set;
}

void zkl_directories_found(zkl_directories *directories, const char *path) {
    zkl_directory *note = bring_up(directories, path);
    if (note)
        note->no_node = false;
}

void zkl_directories_gone(zkl_directories *directories, const char *path) {
    zkl_directory *known = find(directories, path);
    if (!known)
        return;
    free(known->path);
    *known = (zkl_directory){.path = NULL};
}

void zkl_directories_refuse_node(zkl_directories *directories, const char *path) {
    zkl_directory *known = find(directories, path);
    if (known)
        known->no_node = true;
}

bool zkl_directories_known(const zkl_directories *directories, const char *path) {
    const zkl_directory *known = find(directories, path);
    return known && !known->no_node;
}

void zkl_directories_refuse_mark(zkl_directories *directories, const char *path) {
    zkl_directory *known = find(directories, path);
    if (known)
        known->no_mark = true;
}

bool zkl_directories_allow_mark(const zkl_directories *directories, const char *path) {
    const zkl_directory *known = find(directories, path);
    return known && !known->no_mark;
}

void zkl_directories_clear(zkl_directories *directories) {
    for (size_t i = 0; directories->notes && i < NOTES; i++)
        free(directories->notes[i].path);
    free(directories->notes);
    directories->notes = directories->latest = NULL;
}

/* ---- what counts in one session ---- */

static bool is_same(zkl_edition a, zkl_edition b) {
    return a.czxid == b.czxid && a.aversion == b.aversion;
}

/* Knowledge from a former session counts no more. */
static void enter(zkl_directory *note, int64_t session) {
    if (note->session == session)
        return;
    note->session = session;
    note->safe = note->seen = (zkl_edition){0};
    note->empty = 0;
    note->no_count = false;
}

void zkl_directories_found_safe(zkl_directories *directories, const char *path, int64_t session,
                                zkl_edition edition) {
    zkl_directory *note = bring_up(directories, path);
    if (!note)
        return;
    enter(note, session);
    note->safe = edition;
}

zkl_edition zkl_directories_safe(const zkl_directories *directories, const char *path,
                                 int64_t session) {
    const zkl_directory *known = find(directories, path);
    return known && known->session == session ? known->safe : (zkl_edition){0};
}

/* A list that was asked for before the host's write may have been read after that write, or before
 * it. */
void zkl_directories_listed(zkl_directories *directories, const char *path, int64_t session,
                            const zkl_stat *stat, zkl_nanos asked) {
    zkl_directory *known = find(directories, path);
    const zkl_edition seen = {stat->czxid, stat->aversion};
    if (!known)
        return; /* we make no nodes there */
    enter(known, session);
    known->no_count &= is_same(known->seen, seen);
    known->seen = seen;
    known->empty = stat->length == 0 && asked > known->written ? asked : 0;
    known->shared = stat->children > 1;
}

void zkl_directories_counted(zkl_directories *directories, const char *path, const zkl_stat *stat) {
    zkl_directory *known = find(directories, path);
    if (known && stat->czxid != known->seen.czxid)
        known->empty = 0; /* its maker may want data there */
}

void zkl_directories_refuse_count(zkl_directories *directories, const char *path) {
    zkl_directory *known = find(directories, path);
    if (known)
        known->no_count = true;
}

void zkl_directories_written(zkl_directories *directories, const char *path, zkl_nanos now) {
    zkl_directory *known = find(directories, path);
    directories->written = now;
    if (!known)
        return;
    known->written = now;
    known->empty = 0;
}

bool zkl_directories_counts(const zkl_directories *directories, const char *path, int64_t session,
                            zkl_nanos now) {
    const zkl_directory *known = find(directories, path);
    return known && known->session == session && known->empty && !known->no_node &&
           !known->no_count && !known->shared && now - known->empty < ZKL_DIRECTORIES_LOOK_LASTS;
}
