/* SPDX-License-Identifier: MIT */
#include "paths/directories.h"

#include "base/path_table.h"

#include <stdlib.h>
#include <string.h>

/* Of those whose hashes begin alike only so many are remembered, the latest first. */
enum { SETS = 1024, WAYS = 4, NOTES = SETS * WAYS };
/* Bits of a note that say something of the directory: it takes no mark; it has refused the latest
 * node. The others are the hash. */
#define NO_MARK UINT64_C(1)
#define NO_NODE UINT64_C(2)
#define FLAGS (NO_MARK | NO_NODE)

/* Never 0, which stands for none. */
static uint64_t hash_of(const char *path) {
    return (zkl_path_hash(path, strlen(path)) & ~FLAGS) | (FLAGS + 1);
}

static uint64_t *set_of(const zkl_directories *directories, uint64_t hash) {
    return directories->notes + (hash >> 3) % SETS * WAYS;
}

/* NULL: it is not among them. */
static uint64_t *find(const zkl_directories *directories, const char *path) {
    const uint64_t hash = hash_of(path);
    uint64_t *set = directories->notes ? set_of(directories, hash) : NULL;
    for (size_t i = 0; set && i < WAYS; i++)
        if ((set[i] & ~FLAGS) == hash)
            return &set[i];
    return NULL;
}

void zkl_directories_found(zkl_directories *directories, const char *path) {
    if (!directories->notes)
        directories->notes = calloc(NOTES, sizeof *directories->notes);
    if (!directories->notes)
        return;
    const uint64_t *known = find(directories, path);
    uint64_t *set = set_of(directories, hash_of(path));
    const size_t before = known ? (size_t)(known - set) : WAYS - 1;
    const uint64_t note = known ? *known & ~NO_NODE : hash_of(path);
    memmove(set + 1, set, before * sizeof *set);
    *set = note;
}

void zkl_directories_gone(zkl_directories *directories, const char *path) {
    uint64_t *known = find(directories, path);
    if (known)
        *known = 0;
}

bool zkl_directories_known(const zkl_directories *directories, const char *path) {
    const uint64_t *known = find(directories, path);
    return known && !(*known & NO_NODE);
}

static void set_flag(zkl_directories *directories, const char *path, uint64_t flag) {
    uint64_t *known = find(directories, path);
    if (known)
        *known |= flag;
}

void zkl_directories_refuse_node(zkl_directories *directories, const char *path) {
    set_flag(directories, path, NO_NODE);
}

void zkl_directories_refuse_mark(zkl_directories *directories, const char *path) {
    set_flag(directories, path, NO_MARK);
}

bool zkl_directories_take_mark(const zkl_directories *directories, const char *path) {
    const uint64_t *known = find(directories, path);
    return known && !(*known & NO_MARK);
}

void zkl_directories_clear(zkl_directories *directories) {
    free(directories->notes);
    directories->notes = NULL;
}
