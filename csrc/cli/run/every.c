/* SPDX-License-Identifier: MIT */
#include "cli/run/every.h"

#include "cli/exit_code.h"
#include "cli/run/command.h"
#include "cli/run/page.h"
#include "cli/text.h"
#include "zklock.h"

#include <math.h>

#include <string.h>

static zkl_nanos deadline_of(const struct session *session) {
    return zkl_clock_after(zkl_now(), session->run->options.connect);
}

static bool is_waiting(struct session *session, const zkl_once *once) {
    if (!once)
        session->mark_status = ZKL_NO_MEMORY;
    return once && !session->marked;
}

static void end_failed(struct session *session, zkl_status status) {
    char path[CLI_TEXT_SHOWN];
    cli_text_show(path, sizeof path, session->run->options.paths[0]);
    cli_session_end(session, cli_exit_code(status), status == ZKL_LOST ? "lost" : "error",
                    "%s: the mark of %s", zkl_status_text(status), path);
}

static void end_not_due(struct session *session, double left) {
    if (isinf(left))
        cli_session_say(session, "not due: it has run once");
    else
        cli_session_say(session, "not due: %g s are left", left);
    cli_session_end(session, EX_OK, "skipped", NULL);
}

/* With `--mark before`, a machine that lacks the command must not count as one that has run it. */
static bool can_start(struct session *session) {
    const struct run_options *options = &session->run->options;
    const int why = options->mark == RUN_MARK_BEFORE ? cli_command_check(session->run) : 0;
    char name[CLI_TEXT_SHOWN];
    cli_text_show(name, sizeof name, options->command[0]);
    if (why)
        cli_session_end(session, cli_command_code(why), "failed", "%s: %s", name, strerror(why));
    return why == 0;
}

bool cli_every_is_due(struct session *session) {
    const struct run_options *options = &session->run->options;
    if (options->every < 0)
        return true;
    if (!can_start(session))
        return false;
    zkl_once *once =
        zkl_once_ask(session->contender, options->every, options->mark == RUN_MARK_BEFORE,
                     SESSION_TAG_MARK, deadline_of(session));
    while (is_waiting(session, once) && !cli_session_stopped(session))
        cli_session_turn(session, ZKL_NEVER);
    const zkl_status status = session->mark_status;
    const double left = once ? zkl_once_left(once) : 0;
    zkl_once_drop(once);
    if (cli_session_stopped(session))
        cli_session_end_stopped(session);
    else if (status != ZKL_OK)
        end_failed(session, status);
    else if (left > 0)
        end_not_due(session, left);
    return !cli_session_stopped(session) && status == ZKL_OK && left <= 0;
}

void cli_every_finish(struct session *session) {
    const struct page *page = session->page;
    if (session->run->options.mark != RUN_MARK_AFTER || atomic_load(&page->outcome) != PAGE_EXIT ||
        page->value != EX_OK)
        return;
    session->marked = false;
    zkl_once *once = zkl_once_mark(session->contender, SESSION_TAG_MARK, deadline_of(session));
    while (is_waiting(session, once) && !session->signal) /* the watcher has ended */
        cli_session_turn(session, ZKL_NEVER);
    zkl_once_drop(once);
    if (session->signal && !session->marked)
        cli_session_end_stopped(session);
    else if (session->mark_status != ZKL_OK)
        end_failed(session, session->mark_status);
}
