/* SPDX-License-Identifier: MIT */
#include "cli/run/page.h"

#include "cli/text.h"
#include "zklock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Levels of descendants that one walk goes down: each has two files open. When those above have
 * died, the next walk comes to those below. */
#define DEEPEST 100
#define PATIENCE (2 * ZKL_SECOND) /* before a descendant counts as one that cannot be killed */
#define PAUSE_LEAST (ZKL_SECOND / 2000)
#define PAUSE_MOST (ZKL_SECOND / 20)

/* An action on a descendant. */
typedef void visit(pid_t pid, void *ctx);

/* Opens the list of the children of one thread of a process. */
static FILE *open_children(pid_t pid, const char *thread) {
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, thread);
    return fopen(path, "re");
}

static void each_of_thread(FILE *list, visit *call, void *ctx) {
    int child;
    while (fscanf(list, "%d", &child) == 1)
        call(child, ctx);
}

/* Calls it for each child of a process, which may vanish at any moment. */
static void each_child(pid_t pid, visit *call, void *ctx) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        return;
    for (const struct dirent *entry; (entry = readdir(threads));) {
        FILE *list = entry->d_name[0] == '.' ? NULL : open_children(pid, entry->d_name);
        if (!list)
            continue;
        each_of_thread(list, call, ctx);
        fclose(list);
    }
    closedir(threads);
}

/* The /proc of another PID namespace has other numbers for our processes. */
static bool is_ours(void) {
    char self[16] = "";
    return readlink("/proc/self", self, sizeof self - 1) > 0 && atoi(self) == (int)getpid();
}

const char *cli_reaper_become(void) {
    char thread[16];
    snprintf(thread, sizeof thread, "%d", (int)getpid());
    FILE *list = is_ours() ? open_children(getpid(), thread) : NULL;
    if (!list)
        return "/proc is not mounted, or that of another PID namespace, or does not list the "
               "children of a process";
    fclose(list);
    return prctl(PR_SET_CHILD_SUBREAPER, 1) ? "the kernel has no PR_SET_CHILD_SUBREAPER" : NULL;
}

bool cli_reaper_has_children(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool cli_reaper_reap(struct page *page) {
    int status;
    bool any = false;
    for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0; any = true)
        cli_page_reaped(page, child, status);
    return any;
}

/* One walk over the descendants. */
struct walk {
    int signal, depth;
    pid_t refused; /* one that we may not signal */
};

static void visit_descendant(pid_t pid, void *ctx) {
    struct walk *walk = ctx;
    if (walk->depth < DEEPEST) {
        walk->depth++;
        each_child(pid, visit_descendant, walk);
        walk->depth--;
    }
    if (kill(pid, walk->signal) != 0 && errno == EPERM)
        walk->refused = pid;
}

void cli_reaper_signal(int signal) {
    struct walk walk = {.signal = signal};
    each_child(getpid(), visit_descendant, &walk);
}

static void first_child(pid_t pid, void *ctx) {
    pid_t *first = ctx;
    if (!*first)
        *first = pid;
}

/* Waits a moment for the end of a child. */
static void pause_for(zkl_nanos pause) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    const struct timespec most = {.tv_nsec = (long)pause};
    sigtimedwait(&child, NULL, &most);
}

/* Once for each of the three. */
static void say(struct page *page, pid_t refused) {
    enum { KEPT = 1, EXPIRING, GONE };
    static const char *const means[] = {
        [KEPT] = "zklock keeps the lock until it ends",
        [EXPIRING] = "others can have the lock when the session of zklock has expired",
        [GONE] = "the lock is lost, and others can have it",
    };
    const bool gone = atomic_load(&page->until) <= zkl_now();
    const int fate = gone ? GONE : atomic_load(&page->left) ? EXPIRING : KEPT;
    int said = atomic_load(&page->said);
    if (said >= fate || !atomic_compare_exchange_strong(&page->said, &said, fate))
        return;
    pid_t pid = refused;
    if (!pid)
        each_child(getpid(), first_child, &pid);
    cli_complain("process %d %s: %s", (int)pid,
                 refused ? "cannot be killed by this user" : "does not die", means[fate]);
}

/* ---- to kill ---- */

struct groups {
    pid_t session, command; /* our own session, and the command's group */
    pid_t latest;           /* that was killed */
};

/* Kills a child, with its process group if all of that is ours. The kernel delivers a signal to a
 * group between two forks: processes that fork and exit again and again are faster than a walk, but
 * they do not slip out of their group. A foreign process may be in a group of our session, but in
 * no session that a descendant has begun. Only for a child: nobody else reaps it, so its number is
 * its own. */
static void kill_child(pid_t child, void *ctx) {
    struct groups *groups = ctx;
    const pid_t group = getpgid(child);
    const bool ours = group == groups->command || getsid(child) != groups->session;
    if (group <= 1 || !ours)
        kill(child, SIGKILL);
    else if (group != groups->latest)
        kill(-group, SIGKILL);
    groups->latest = group;
}

/* The command's group, unless that is the script's on a terminal. The command is not reaped, or was
 * a moment ago, so its number is no other's. */
static void kill_command_group(const struct page *page) {
    const pid_t command = atomic_load(&page->command);
    if (atomic_load(&page->phase) == PAGE_RUNNING && command > 1 && getpgid(command) == command)
        kill(-command, SIGKILL);
}

/* One round. Returns a descendant that this process may not signal, or 0. */
static pid_t kill_round(const struct page *page) {
    struct groups groups = {.session = getsid(0), .command = atomic_load(&page->command)};
    struct walk walk = {.signal = SIGKILL};
    kill_command_group(page); /* first: it may be a grandchild */
    each_child(getpid(), kill_child, &groups);
    each_child(getpid(), visit_descendant, &walk);
    return walk.refused;
}

void cli_reaper_kill_all(struct page *page) {
    zkl_nanos latest = zkl_now(), pause = PAUSE_LEAST;
    for (;;) {
        atomic_store(&page->killing, zkl_now());
        const pid_t refused = kill_round(page);
        const bool progress = cli_reaper_reap(page);
        if (!cli_reaper_has_children())
            return;
        if (progress)
            latest = zkl_now(); /* the children of those that have ended are next */
        else if (zkl_now() - latest > PATIENCE)
            say(page, refused);
        pause = progress ? PAUSE_LEAST : pause < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
        pause_for(pause);
    }
}

void cli_reaper_end(struct page *page, enum page_reason reason) {
    cli_page_condemn(page, reason);
    cli_reaper_kill_all(page);
    cli_page_advance(page, PAGE_EMPTY);
}
