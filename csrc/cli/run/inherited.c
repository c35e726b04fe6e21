/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* ---- signals ---- */

/* Those that the front passes on, or that end its wait. */
static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* glibc keeps two real-time signals for itself: sigaction fails for them, and they stay as they
 * are. */
static void act(int signal, void (*action)(int)) {
    const struct sigaction how = {.sa_handler = action};
    sigaction(signal, &how, NULL);
}

static bool is_ignored(int signal) {
    struct sigaction how;
    return sigaction(signal, NULL, &how) == 0 && how.sa_handler == SIG_IGN;
}

void cli_signals_take(struct signals *signals) {
    sigprocmask(SIG_SETMASK, NULL, &signals->mask);
    sigemptyset(&signals->ignored);
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        if (is_ignored(signal))
            sigaddset(&signals->ignored, signal);
    sigemptyset(&signals->heard);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (!sigismember(&signals->mask, passed[i]) && !sigismember(&signals->ignored, passed[i]))
            sigaddset(&signals->heard, passed[i]);
    sigset_t blocked = signals->heard;
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGCONT);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    act(SIGCHLD, SIG_DFL);
    /* A limit on the size of files is an error of write(2): zklock goes on without the report. */
    act(SIGXFSZ, SIG_IGN);
}

void cli_signals_ignore(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        if (signal != SIGCHLD)
            act(signal, SIG_IGN);
}

void cli_signals_give_back(const struct signals *signals) {
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        act(signal, sigismember(&signals->ignored, signal) ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

void cli_signals_forget(int fd) {
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) > 0)
        continue;
}

void cli_signals_die(int signal) {
    if (getpid() != 1) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, signal);
        setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = 0});
        prctl(PR_SET_DUMPABLE, 0);
        act(signal, SIG_DFL);
        raise(signal);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    }
    exit(128 + signal);
}

/* ---- the terminal ---- */

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
