/* SPDX-License-Identifier: MIT */
#include "cli/files/while_held.h"

#include "cli/files/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define TEXT_SIZE sizeof "-9223372036854775808\n"

/* Read and close at once; O_NONBLOCK: the path may be that of a FIFO. */
static int open_file(const char *file) {
    return open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Has a run written it? */
static bool has_token(int fd) {
    char text[TEXT_SIZE + 1];
    const ssize_t length = read(fd, text, sizeof text - 1);
    if (length < 2)
        return false;
    text[length] = '\0';
    return strspn(text, "0123456789") == (size_t)length - 1 && text[length - 1] == '\n';
}

bool cli_while_held_clear(const char *file) {
    const int fd = open_file(file);
    if (fd < 0)
        return errno == ENOENT;
    const bool ours = has_token(fd);
    if (ours && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlink(file);
    close(fd);
    return ours;
}

int cli_while_held_write(const char *file, int64_t token) {
    char text[TEXT_SIZE], temporary[NEW_FILE_SIZE];
    snprintf(text, sizeof text, "%" PRId64 "\n", token);
    const int fd = cli_new_file_open(file, temporary);
    if (fd < 0)
        return -1;
    const size_t length = strlen(text);
    const bool written = flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                         write(fd, text, length) == (ssize_t)length && rename(temporary, file) == 0;
    if (written)
        return fd;
    const int why = errno;
    unlink(temporary);
    close(fd);
    errno = why;
    return -1;
}

void cli_while_held_remove(const char *file, int64_t token) {
    char expected[TEXT_SIZE], text[TEXT_SIZE + 1] = "";
    snprintf(expected, sizeof expected, "%" PRId64 "\n", token);
    const int fd = open_file(file);
    if (fd < 0)
        return;
    if (read(fd, text, sizeof text - 1) > 0 && strcmp(text, expected) == 0)
        unlink(file);
    close(fd);
}
