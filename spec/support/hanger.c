/* SPDX-License-Identifier: MIT */
/* A library for LD_PRELOAD: while the file HANGER_MARK exists, nobody can delete the file
 * HANGER_FILE: the call does not return, as on a file system whose server is cut off. KILL ends
 * it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int unlinks(const char *path);

int unlink(const char *path) {
    const char *file = getenv("HANGER_FILE"), *mark = getenv("HANGER_MARK");
    while (file && mark && strcmp(path, file) == 0 && access(mark, F_OK) == 0)
        sleep(1);
    void *found = dlsym(RTLD_NEXT, "unlink");
    unlinks *next;
    memcpy(&next, &found, sizeof next);
    return next(path);
}
