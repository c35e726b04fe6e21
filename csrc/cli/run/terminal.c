/* SPDX-License-Identifier: MIT */
#include "cli/run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int open_terminal(void) {
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

void cli_terminal_read(struct terminal *terminal) {
    const int fd = open_terminal();
    terminal->there = fd >= 0;
    if (fd < 0)
        return;
    terminal->foreground = tcgetpgrp(fd) == getpgrp() && tcgetattr(fd, &terminal->settings) == 0;
    close(fd);
}

/* A process in the background would be stopped. */
static void block_stop(void) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* Another job that the user has brought to the foreground meanwhile keeps it. */
static bool is_free(pid_t group) {
    return group == getpgrp() || (killpg(group, 0) != 0 && errno == ESRCH);
}

void cli_terminal_restore(const struct terminal *terminal) {
    const int fd = terminal->foreground ? open_terminal() : -1;
    if (fd < 0)
        return;
    block_stop();
    if (is_free(tcgetpgrp(fd)) && tcsetpgrp(fd, getpgrp()) == 0)
        tcsetattr(fd, TCSADRAIN, &terminal->settings);
    close(fd);
}
