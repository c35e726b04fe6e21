/* SPDX-License-Identifier: MIT */
#include "cli/files/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PERMISSIONS 0666

int cli_new_file_open(const char *file, char temporary[NEW_FILE_SIZE]) {
    if (snprintf(temporary, NEW_FILE_SIZE, "%s.XXXXXX", file) >= NEW_FILE_SIZE) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -1;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, PERMISSIONS & ~mask); /* if not, it has fewer */
    return fd;
}
