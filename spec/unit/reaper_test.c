/* SPDX-License-Identifier: MIT */
/* How `zklock run` kills what its command has forked: whole process groups, so that nothing that
 * forks again and again slips out between two walks, and no group that others may be in. */
#include "check.h"

#include "cli/run/page.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct page *page;
static pid_t killed[64]; /* as kill(2) was told */
static size_t count;
static size_t reaped; /* before the phase was EMPTY */
static bool told; /* before the first kill the page said why, and that zklock ends the command */

/* These two in place of the C library's. The group of the test itself is spared, whatever the code
 * does. */
int kill(pid_t pid, int signal) {
    if (signal == SIGKILL && count == 0)
        told = atomic_load(&page->ended) && atomic_load(&page->reason) == PAGE_WATCHER &&
               atomic_load(&page->phase) < PAGE_EMPTY;
    if (signal == SIGKILL && count < sizeof killed / sizeof *killed)
        killed[count++] = pid;
    return pid == -getpgrp() ? 0 : (int)syscall(SYS_kill, pid, signal);
}

pid_t waitpid(pid_t pid, int *status, int options) {
    const pid_t found = (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
    if (found > 0)
        reaped += atomic_load(&page->phase) < PAGE_EMPTY;
    return found;
}

static bool was_killed(pid_t pid) {
    for (size_t i = 0; i < count; i++)
        if (killed[i] == pid)
            return true;
    return false;
}

static void begin(void) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    count = reaped = 0;
    told = false;
    page = cli_page_new(1);
    CHECK(page && !cli_reaper_become());
}

/* A check that fails leaves some. An orphan is a child of this process before its parent is reaped,
 * so the next turn finds it. */
static void end_children(void) {
    char path[64];
    pid_t pid;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    do {
        FILE *list = fopen(path, "r");
        while (list && fscanf(list, "%d", &pid) == 1)
            syscall(SYS_kill, pid, SIGKILL);
        if (!list)
            break;
        fclose(list);
    } while (waitpid(-1, NULL, 0) > 0);
}

static void end(void) {
    end_children();
    cli_page_free(page);
}

static _Noreturn void wait_for_the_end(void) {
    for (;;)
        pause();
}

/* A process that lives until it is killed. `group`: that it joins; 0: its own. */
static pid_t start(pid_t group) {
    const pid_t pid = fork();
    if (pid == 0)
        wait_for_the_end();
    CHECK(pid > 0 && setpgid(pid, group) == 0);
    return pid;
}

static pid_t start_daemon(void) {
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        setsid();
        close(ready[0]);
        close(ready[1]);
        wait_for_the_end();
    }
    close(ready[1]);
    CHECK(pid > 0 && read(ready[0], &byte, 1) == 0);
    close(ready[0]);
    return pid;
}

static void kills_the_group_of_the_command(void) {
    const pid_t command = start(0), other = start(command);
    atomic_store(&page->command, command);
    cli_reaper_kill_all(page);
    CHECK(was_killed(-command));
    CHECK(!cli_reaper_has_children() && !was_killed(-other));
}

static void kills_the_group_of_the_command_when_that_has_ended(void) {
    const pid_t command = start(0), other = start(command);
    atomic_store(&page->command, command);
    syscall(SYS_kill, command, SIGKILL);
    CHECK_INT(waitpid(command, NULL, 0), command);
    cli_reaper_kill_all(page);
    CHECK(was_killed(-command));
    CHECK(!was_killed(-other));
}

/* In a group of its own, below another child. */
static pid_t start_below(void) {
    int ends[2];
    pid_t found = 0;
    CHECK(pipe(ends) == 0);
    const pid_t watcher = fork();
    if (watcher == 0) {
        const pid_t below = start(0);
        if (write(ends[1], &below, sizeof below) < 0)
            _exit(1);
        wait_for_the_end();
    }
    CHECK(watcher > 0 && read(ends[0], &found, sizeof found) == (ssize_t)sizeof found);
    close(ends[0]);
    close(ends[1]);
    return found;
}

static void kills_the_group_of_the_command_below_another_child(void) {
    const pid_t command = start_below();
    atomic_store(&page->command, command);
    cli_page_advance(page, PAGE_RUNNING);
    cli_reaper_kill_all(page);
    CHECK_INT(killed[0], -command);
}

/* Its process id may be another's by then. */
static void spares_the_group_of_a_command_that_was_reaped(void) {
    const pid_t command = start_below();
    atomic_store(&page->command, command);
    cli_page_advance(page, PAGE_RUNNING);
    cli_page_reaped(page, getpid(), 1);
    CHECK_INT(atomic_load(&page->phase), PAGE_RUNNING); /* that was no command */
    cli_page_reaped(page, command, SIGTERM);
    CHECK_INT(atomic_load(&page->phase), PAGE_REAPED);
    CHECK_INT(atomic_load(&page->status), SIGTERM);
    cli_reaper_kill_all(page);
    CHECK(count > 0 && killed[0] != -command);
}

static void kills_the_group_of_a_daemon(void) {
    const pid_t daemon = start_daemon();
    cli_reaper_kill_all(page);
    CHECK(was_killed(-daemon));
}

/* As on a terminal, where the command is in the group of the script that has started zklock. */
static void kills_a_process_in_a_foreign_group_alone(void) {
    const pid_t group = getpgrp(), one = start(group), other = start(0);
    cli_reaper_kill_all(page);
    CHECK(was_killed(one) && was_killed(other));
    CHECK(!was_killed(-group) && !was_killed(-other));
    CHECK(!cli_reaper_has_children());
}

/* ---- the end of everything ---- */

static void says_why_before_it_kills(void) {
    start(0);
    cli_reaper_end(page, PAGE_WATCHER);
    CHECK(count > 0 && told);
}

static void keeps_the_first_reason(void) {
    cli_page_blame(page, PAGE_REVOKED);
    cli_reaper_end(page, PAGE_WATCHER);
    CHECK_INT(atomic_load(&page->reason), PAGE_REVOKED);
}

/* Whoever sees that the run is over finds no descendant. */
/* Whoever sees that the run is over finds no descendant. */
static void is_over_when_nobody_is_left(void) {
    start(0);
    start_daemon();
    cli_reaper_end(page, PAGE_LOST);
    CHECK(!cli_reaper_has_children() && reaped == 2);
    CHECK_INT(atomic_load(&page->phase), PAGE_EMPTY);
    CHECK(atomic_load(&page->emptied) > 0);
}

/* Once the command has been reaped, an orphan that it left may get its number. */
static void keeps_the_status_when_the_number_is_used_again(void) {
    atomic_store(&page->command, 7);
    cli_page_reaped(page, 8, 1);
    CHECK(atomic_load(&page->phase) < PAGE_REAPED);
    cli_page_reaped(page, 7, 2);
    cli_page_reaped(page, 7, 0);
    CHECK_INT(atomic_load(&page->status), 2);
}

static const check_case cases[] = {
    {"kills the group of the command at once", kills_the_group_of_the_command},
    {"kills the group of the command when that has ended",
     kills_the_group_of_the_command_when_that_has_ended},
    {"kills the group of the command first, also below another child",
     kills_the_group_of_the_command_below_another_child},
    {"kills the group of a daemon that has a session of its own", kills_the_group_of_a_daemon},
    {"kills a process in a foreign group of its session alone",
     kills_a_process_in_a_foreign_group_alone},
    {"spares the group of a command that was reaped",
     spares_the_group_of_a_command_that_was_reaped},
    {"says why before it kills", says_why_before_it_kills},
    {"keeps the first reason", keeps_the_first_reason},
    {"keeps the command's status when its number is used again",
     keeps_the_status_when_the_number_is_used_again},
    {"is over when nobody is left", is_over_when_nobody_is_left},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
