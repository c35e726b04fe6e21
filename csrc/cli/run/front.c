/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include "cli/held.h"
#include "cli/text.h"
#include "cli/run/channel.h"
#include "cli/run/page.h"
#include "zklock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNAL_CODES 128                  /* what a shell adds to the number of a signal */
#define SIGNAL_PATIENCE (10 * ZKL_SECOND) /* for a session that is stopped */

#define JUST_STARTED (ZKL_SECOND / 5)

enum { SESSION = LOOP_OTHERS, DESCRIPTORS };

struct front {
    struct run *run;
    struct page *page;
    struct pollfd polled[DESCRIPTORS];
    pid_t session; /* 0: it has ended */
    bool stopped;  /* the session is */
    bool killed;   /* the session was */
    int signal;    /* the latest that was passed on while the command was not started */
    zkl_nanos signalled;
    struct progress progress;
};

/* ---- signals ---- */

/* Has the terminal sent it to the command, too? Not if that has left the group, as timeout(1) does,
 * or has ended. A command that has only just been started may not have been there yet: it rather
 * gets the signal twice. */
static bool has_the_command(const struct front *front, const struct signalfd_siginfo *info) {
    const struct page *page = front->page;
    /* when the terminal hangs up, the kernel signals only the leader of its session */
    if (info->ssi_signo == SIGHUP && getsid(0) == getpid())
        return false;
    return front->run->terminal.there && info->ssi_code == SI_KERNEL &&
           atomic_load(&page->phase) >= PAGE_RUNNING && zkl_now() - page->granted > JUST_STARTED &&
           getpgid(atomic_load(&page->command)) == front->run->group;
}

static void pass_on(struct front *front, const struct signalfd_siginfo *info) {
    const int signal = (int)info->ssi_signo;
    const int phase = atomic_load(&front->page->phase);
    const bool queued = phase == PAGE_QUEUED, commands = !queued && phase < PAGE_EMPTY;
    const bool ending = signal != SIGUSR1 && signal != SIGUSR2;
    if (has_the_command(front, info) || (!commands && !ending))
        return;
    if (queued && !front->signal) { /* it ends the wait */
        front->signal = signal;
        front->signalled = zkl_now();
    }
    cli_channel_send(front->run->session, CHANNEL_SIGNAL, signal, NULL);
}

static void see_signals(struct front *front) {
    struct signalfd_siginfo info;
    while (read(front->polled[LOOP_SIGNALS].fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGCONT)
            front->progress.shown = false; /* the shell has written on the terminal */
        else if (sigismember(&front->run->signals.heard, (int)info.ssi_signo))
            pass_on(front, &info);
}

/* ---- the session ---- */

/* As process 1 of a container, the front has children that it has not started. */
static void see_children(struct front *front) {
    const int how = WNOHANG | WUNTRACED | WCONTINUED;
    int status;
    for (pid_t child; (child = waitpid(-1, &status, how)) > 0;) {
        const bool lives = WIFSTOPPED(status) || WIFCONTINUED(status);
        if (!lives)
            cli_page_reaped(front->page, child, status);
        if (child != front->session)
            continue;
        front->stopped = WIFSTOPPED(status);
        front->killed = WIFSIGNALED(status);
        front->session = lives ? child : 0;
    }
}

static void see_message(void *ctx, const struct channel_message *message) {
    struct front *front = ctx;
    if (message->kind == CHANNEL_PRINT) {
        if (cli_complaint_is_taken(0)) /* otherwise the line is left out: the run goes on */
            cli_complain("%s", message->text);
    } else if (message->kind == CHANNEL_LINE) {
        cli_progress_set(&front->progress, message->text);
    } else if (message->kind == CHANNEL_READY) {
        cli_progress_set(&front->progress, "");
        cli_channel_send(front->run->session, CHANNEL_GO, message->value, NULL);
    }
}

static void see_messages(struct front *front) {
    if (!cli_channel_hear(front->run->session, see_message, front))
        front->polled[SESSION].fd = -1; /* its process is about to end */
}

/* Everything below the front dies, the session included. */
static void kill_everything(struct front *front, enum page_reason reason) {
    atomic_store(&front->page->left, true);
    cli_reaper_end(front->page, reason);
    front->session = 0;
}

/* When a session that is stopped has had its chance. */
static zkl_nanos give_up_at(const struct front *front) {
    if (!front->stopped)
        return ZKL_NEVER;
    const int phase = atomic_load(&front->page->phase);
    if (phase == PAGE_EMPTY)
        return atomic_load(&front->page->until);
    return phase == PAGE_QUEUED && front->signal ? front->signalled + SIGNAL_PATIENCE : ZKL_NEVER;
}

/* When the session and the watcher should both have killed the command. */
static zkl_nanos stand_in_at(const struct front *front) {
    const struct page *page = front->page;
    if (!cli_page_occupied(page) || front->run->options.on_loss != RUN_LOSS_KILL)
        return ZKL_NEVER;
    const zkl_nanos loss = cli_page_kill_at(page, 2), killed = cli_page_killed_until(page);
    return loss > killed ? loss : killed;
}

static zkl_nanos earlier(zkl_nanos one, zkl_nanos other) {
    return one < other ? one : other;
}

/* Does what is due. Returns when the next is. */
static zkl_nanos keep_time(struct front *front) {
    const zkl_nanos now = zkl_now();
    if (stand_in_at(front) <= now)
        kill_everything(front, PAGE_LOST);
    else if (give_up_at(front) <= now)
        kill(front->session, SIGKILL);
    const zkl_nanos duty = earlier(stand_in_at(front), give_up_at(front));
    return earlier(duty, cli_progress_due(&front->progress));
}

static void turn(struct front *front) {
    const zkl_nanos next = keep_time(front);
    if (front->session)
        cli_loop_wait(front->polled, DESCRIPTORS, next);
    if (front->polled[LOOP_ALARM].revents)
        cli_progress_update(&front->progress);
    see_signals(front);
    see_messages(front);
    see_children(front);
}

/* ---- the end ---- */

/* Is the mark written? */
static void end_unknown(struct front *front) {
    cli_page_end(front->page, EX_PROTOCOL, "error", "unknown: the mark of %s", front->run->shown);
}

/* The session has died without an outcome. */
static void end_without_session(struct front *front) {
    struct page *page = front->page;
    if (cli_page_occupied(page))
        kill_everything(front, PAGE_SESSION);
    if (atomic_load(&page->phase) == PAGE_QUEUED) {
        cli_reaper_kill_all(page); /* the watcher, which has nothing to do */
        if (front->signal)
            cli_page_end_signal(page, front->signal, "signal");
        else if (atomic_load(&page->marking))
            end_unknown(front);
        else
            cli_page_end(page, EX_SOFTWARE, "error", "the session process of zklock was killed");
        return;
    }
    cli_page_end_command(page, front->run->shown);
    if (front->run->options.mark == RUN_MARK_AFTER && cli_page_has_succeeded(page))
        end_unknown(front);
}

/* The last thing that a run does: it exits with the code, or dies of the signal. */
static int finish(const struct front *front) {
    const struct page *page = front->page;
    const bool signal = atomic_load(&page->outcome) == PAGE_SIGNAL;
    if (page->text[0])
        cli_complain("%s", page->text);
    cli_report(front->run, page->label, signal ? SIGNAL_CODES + page->value : page->value);
    cli_held_remove(front->run->directory);
    if (signal)
        cli_signals_die(page->value);
    return page->value;
}

/* ---- its life ---- */

/* In the new process. The other end of its lifeline is the front's. */
static _Noreturn void become_session(struct front *front, const int ends[2], const int life[2]) {
    close(ends[0]);
    close(life[1]);
    front->run->front = ends[1];
    front->run->lifeline = life[0];
    exit(cli_session_live(front->run));
}

static bool start_session(struct front *front) {
    int ends[2], life[2];
    if (!cli_channel_pair(ends) || pipe2(life, O_CLOEXEC) != 0)
        return false;
    front->session = fork();
    if (front->session < 0)
        return false;
    if (front->session == 0)
        become_session(front, ends, life);
    close(ends[1]);
    close(life[0]); /* its other end stays open for as long as this process lives */
    front->run->session = ends[0];
    return true;
}

static bool prepare(struct front *front) {
    sigset_t heard = front->run->signals.heard;
    sigaddset(&heard, SIGCONT);
    return start_session(front) && cli_loop_open(front->polled, &heard, &front->run->session, 1);
}

static void live(struct front *front) {
    while (front->session)
        turn(front);
    see_messages(front); /* the last ones */
    cli_progress_clear(&front->progress);
    if (atomic_load(&front->page->ended))
        cli_terminal_restore(&front->run->terminal);
    if (atomic_load(&front->page->outcome) == PAGE_NO_OUTCOME)
        end_without_session(front);
    const bool over = atomic_load(&front->page->phase) == PAGE_EMPTY;
    if (front->killed && over && !cli_page_is_cut_short(front->page))
        cli_warn("the session process of zklock was killed: others wait until its session has "
                 "expired");
}

int cli_front_live(struct run *run) {
    struct front front = {.run = run, .page = run->page};
    const char *why = cli_reaper_become();
    if (why)
        cli_page_end(run->page, EX_SOFTWARE, "error", "cannot run a command: %s", why);
    else if (!prepare(&front))
        cli_page_end(run->page, EX_SOFTWARE, "error", "cannot start its processes: %s",
                     strerror(errno));
    else
        live(&front);
    return finish(&front);
}
