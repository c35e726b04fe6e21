/* SPDX-License-Identifier: MIT */
#include "cli/run/session.h"

#include "cli/connection.h"
#include "cli/run/state.h"
#include "cli/run/page.h"
#include "cli/text.h"
#include "zklock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void end_failed(struct session *session, zkl_status status) {
    cli_page_end(session->page, cli_exit_code(status), status == ZKL_LOST ? "lost" : "error",
                 "%s: the mark of %s", zkl_status_text(status), session->run->shown);
}

static void end_not_due(struct session *session, double left) {
    if (isinf(left))
        cli_session_say(session, "not due: it has run once");
    else
        cli_session_say(session, "not due: %g s are left", left);
    cli_page_end(session->page, EX_OK, "skipped", NULL);
}

/* With `--mark before`, a machine that lacks the command must not count as one that has run it. */
static bool check_command(struct session *session) {
    const struct run_options *options = &session->run->options;
    const int why = options->mark == RUN_MARK_BEFORE ? cli_command_check(session->run) : 0;
    if (why)
        cli_page_end(session->page, cli_command_code(why), "failed", "%s: %s",
                     CLI_SHOWN(options->command[0]), strerror(why));
    return why == 0;
}

/* Takes the mark back, for nothing has run, and nothing will. */
static void withdraw(struct session *session) {
    char mark[ZKL_NODE_PATH];
    const zkl_nanos end = zkl_now() + CLI_SIGNALLED_MOST;
    const zkl_op op = {.size = sizeof(zkl_op), .kind = ZKL_OP_DELETE, .path = mark, .version = -1};
    snprintf(mark, sizeof mark, "%s/" ZKL_ONCE_NODE, session->run->options.paths[0]);
    zkl_node_request *request = zkl_node_do_all(session->connection.client, &op, 1,
                                                session->contender, CLI_QUESTION, end, false);
    cli_session_answer(session, request, CLI_SIGNALLED_MOST);
    zkl_node_request_drop(request);
}

/* The wait was stopped. A mark without a run would keep all machines from running. */
static void end_stopped(struct session *session, bool writes, bool due) {
    if (writes && session->answered && due)
        withdraw(session); /* asks anew */
    if (writes && !session->answered)
        session->cut_off = zkl_now(); /* the release does not wait once more for these servers */
    if (writes && (!session->answered || session->answer != ZKL_OK))
        cli_warn("nothing has run, and %s may have a mark all the same", session->run->shown);
    cli_session_end_stopped(session);
}

bool cli_every_begin(struct session *session) {
    const struct run_options *options = &session->run->options;
    if (options->every < 0)
        return true;
    if (!check_command(session))
        return false;
    const bool writes = options->mark == RUN_MARK_BEFORE;
    atomic_store(&session->page->marking, writes);
    zkl_once *once = zkl_once_ask(session->contender, options->every, writes, CLI_QUESTION,
                                  cli_connection_deadline(&session->connection));
    const zkl_status status = cli_session_answer(session, once, writes ? CLI_SIGNALLED_MOST : 0);
    const double left = once && session->answered ? zkl_once_left(once) : 0;
    const bool due = status == ZKL_OK && left <= 0, stopped = cli_session_stopped(session);
    zkl_once_drop(once);
    if (stopped)
        end_stopped(session, writes, due);
    else if (status != ZKL_OK)
        end_failed(session, status);
    else if (!due)
        end_not_due(session, left);
    return due && !stopped;
}

bool cli_every_finish(struct session *session) {
    if (session->run->options.mark != RUN_MARK_AFTER || !cli_page_has_succeeded(session->page))
        return true;
    zkl_once *once = zkl_once_mark(session->contender, CLI_QUESTION,
                                   cli_connection_deadline(&session->connection));
    const zkl_status status = cli_session_answer(session, once, CLI_SIGNALLED_MOST);
    const bool stopped = once && !session->answered;
    zkl_once_drop(once);
    if (stopped)
        cli_session_end_stopped(session);
    else if (status != ZKL_OK)
        end_failed(session, status);
    return !stopped && status == ZKL_OK;
}
