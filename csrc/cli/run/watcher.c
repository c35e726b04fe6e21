/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include "cli/held.h"
#include "cli/run/channel.h"
#include "cli/run/page.h"
#include "zklock.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SESSION_PATIENCE 10000 /* milliseconds, for a session that releases */

enum { SESSION = LOOP_OTHERS, LIFELINE, DESCRIPTORS };

struct watcher {
    struct run *run;
    struct page *page;
    struct pollfd polled[DESCRIPTORS];
    zkl_nanos asked; /* when TERM was sent; 0: it was not */
    bool done;
};

static void finish(struct watcher *watcher) {
    cli_page_advance(watcher->page, PAGE_EMPTY);
    cli_channel_send(watcher->run->session, CHANNEL_LOOK, 0, NULL);
    watcher->done = true;
}

/* Reaps, and finds out whether the run is over. */
static void count(struct watcher *watcher) {
    struct page *page = watcher->page;
    if (atomic_load(&page->phase) < PAGE_RUNNING)
        return;
    cli_reaper_reap(page);
    const bool over = !cli_reaper_has_children() ||
                      (watcher->run->options.close && atomic_load(&page->phase) == PAGE_REAPED);
    if (over)
        finish(watcher);
}

static void kill_everything(struct watcher *watcher, enum page_reason reason) {
    cli_reaper_end(watcher->page, reason);
    finish(watcher);
}

/* If the watcher was stopped meanwhile, another may hold the lock by now. */
static void start(struct watcher *watcher) {
    struct page *page = watcher->page;
    if (cli_page_kill_at(page, 0) <= zkl_now()) {
        cli_page_condemn(page, PAGE_LOST);
        finish(watcher);
        return;
    }
    const pid_t command = cli_command_start(watcher->run);
    if (command < 0) {
        atomic_store(&page->failed, errno);
        finish(watcher);
        return;
    }
    atomic_store(&page->command, command);
    cli_page_advance(page, PAGE_RUNNING);
}

/* Asks the command to end. A stopped process sees the signal only when it goes on. */
static void ask(struct watcher *watcher) {
    watcher->asked = zkl_now();
    cli_page_condemn(watcher->page, PAGE_LOST);
    cli_reaper_signal(SIGTERM);
    cli_reaper_signal(SIGCONT);
}

/* When TERM is due. */
static zkl_nanos ask_at(const struct watcher *watcher) {
    if (watcher->asked || watcher->run->options.on_loss == RUN_LOSS_IGNORE)
        return ZKL_NEVER;
    if (atomic_load(&watcher->page->reason) != PAGE_NO_REASON)
        return 0;
    return atomic_load(&watcher->page->until) - atomic_load(&watcher->page->grace);
}

/* When KILL is due. */
static zkl_nanos kill_at(const struct watcher *watcher) {
    if (watcher->run->options.on_loss != RUN_LOSS_KILL)
        return ZKL_NEVER;
    const zkl_nanos loss = cli_page_kill_at(watcher->page, 0);
    if (!watcher->asked || atomic_load(&watcher->page->reason) != PAGE_REVOKED)
        return loss;
    const zkl_nanos patience = watcher->asked + atomic_load(&watcher->page->grace);
    return patience < loss ? patience : loss;
}

/* Does what is due. Returns when the next is. */
static zkl_nanos keep_time(struct watcher *watcher) {
    const int phase = atomic_load(&watcher->page->phase);
    if (phase < PAGE_RUNNING || watcher->done)
        return ZKL_NEVER;
    const zkl_nanos now = zkl_now();
    if (kill_at(watcher) <= now) {
        kill_everything(watcher, PAGE_LOST);
        return ZKL_NEVER;
    }
    if (ask_at(watcher) <= now)
        ask(watcher);
    const zkl_nanos first = ask_at(watcher), second = kill_at(watcher);
    return first < second ? first : second;
}

static void another_died(struct watcher *watcher, enum page_reason who) {
    if (atomic_load(&watcher->page->phase) < PAGE_RUNNING) {
        watcher->done = true; /* nothing was started, and nothing will be */
        return;
    }
    if (who == PAGE_SESSION)
        atomic_store(&watcher->page->left, true);
    kill_everything(watcher, who);
}

static void hear(void *ctx, const struct channel_message *message) {
    struct watcher *watcher = ctx;
    if (watcher->done)
        return;
    if (message->kind == CHANNEL_START)
        start(watcher);
    else if (message->kind == CHANNEL_SIGNAL)
        cli_command_signal(watcher->run, message->value);
}

/* The session removes the files of the run, and ends this process, unless it is dead. Its channel
 * ends then. The front removes them, too, but may be killed before. */
static void clean_up(struct watcher *watcher) {
    struct pollfd session = watcher->polled[SESSION];
    session.events = 0; /* only its end counts */
    if (poll(&session, 1, SESSION_PATIENCE) == 1)
        cli_held_remove(watcher->run->directory);
}

void cli_watcher_live(struct run *run) {
    struct watcher watcher = {.run = run, .page = run->page};
    setpgid(0, 0);
    cli_signals_ignore();
    if (cli_reaper_become() ||
        !cli_loop_open(watcher.polled, NULL, (const int[]){run->session, run->lifeline}, 2))
        return; /* the session sees that it is gone */
    for (zkl_nanos next = ZKL_NEVER; !watcher.done; next = keep_time(&watcher)) {
        cli_loop_wait(watcher.polled, DESCRIPTORS, next);
        if (watcher.polled[LIFELINE].revents)
            another_died(&watcher, PAGE_FRONT);
        if (!watcher.done && !cli_channel_hear(run->session, hear, &watcher) && !watcher.done)
            another_died(&watcher, PAGE_SESSION);
        cli_signals_forget(watcher.polled[LOOP_SIGNALS].fd);
        if (!watcher.done)
            count(&watcher);
    }
    clean_up(&watcher);
}
