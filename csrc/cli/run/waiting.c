/* SPDX-License-Identifier: MIT */
#include "cli/run/session.h"

#include "cli/connection.h"
#include "cli/run/channel.h"
#include "cli/run/progress.h"
#include "cli/text.h"
#include "zklock.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_PAUSE (ZKL_SECOND / 2) /* a short wait says nothing */
#define PAUSE (5 * ZKL_SECOND)
#define JITTER ZKL_SECOND

/* ---- to say ---- */

static void say(struct session *session, const char *text) {
    struct waiting *waiting = &session->waiting;
    if (strcmp(text, waiting->said) == 0)
        return;
    snprintf(waiting->said, sizeof waiting->said, "%s", text);
    if (session->run->options.verbose)
        cli_session_say(session, "%s", text);
    else
        cli_channel_send(session->run->front, CHANNEL_LINE, 0, text);
}

static const char *ordinal(size_t number) {
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    const size_t last = number % 10;
    return number / 10 % 10 == 1 || last > 3 ? ends[0] : ends[last];
}

static void say_no_server(struct session *session) {
    char trouble[ZKL_TROUBLE_TEXT], text[WAITING_TEXT];
    const bool known = zkl_client_trouble(session->connection.client, trouble, sizeof trouble);
    snprintf(text, sizeof text, "waiting for %s: no server%s%s", session->run->shown,
             known ? ": " : "", known ? trouble : "");
    say(session, text);
}

/* One more lease may be there: that of the next in line. */
static bool is_full(const struct session *session) {
    return session->waiting.total >= (size_t)session->run->options.permits;
}

static void say_place(struct session *session, const char *holder) {
    const struct waiting *waiting = &session->waiting;
    char text[WAITING_TEXT];
    int used = snprintf(text, sizeof text, "waiting for %s", session->run->shown);
    if (session->run->options.kind == ZKL_KIND_LEASE && is_full(session))
        snprintf(text + used, sizeof text - (size_t)used, ": all %" PRId64 " permits are taken",
                 session->run->options.permits);
    else if (waiting->place && holder)
        snprintf(text + used, sizeof text - (size_t)used, ": %zu%s of %zu, held by %s",
                 waiting->place, ordinal(waiting->place), waiting->total, holder);
    say(session, text);
}

/* ---- to ask ---- */

static zkl_nanos jitter(void) {
    uint32_t chance = 0;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return 0;
    return (zkl_nanos)(chance % 1024) * (2 * JITTER / 1024) - JITTER;
}

static void ask(struct session *session, zkl_op_kind kind, const char *path) {
    struct waiting *waiting = &session->waiting;
    const zkl_op op = {.kind = kind, .path = path};
    zkl_node_request_drop(waiting->request);
    const uint64_t tag = cli_connection_ask(&session->connection);
    waiting->kind = kind;
    waiting->request = zkl_node_do(session->connection.client, &op, tag, zkl_now() + PAUSE, true);
}

static void ask_for_list(struct session *session) {
    char path[ZKL_NODE_PATH];
    const bool leases = session->run->options.kind == ZKL_KIND_LEASE;
    snprintf(path, sizeof path, "%s%s", session->run->options.paths[0], leases ? "/leases" : "");
    ask(session, ZKL_OP_CHILDREN, path);
}

/* The sequence of the node with which this session waits; INT_MAX: it is not known. */
static int32_t own_sequence(const struct session *session) {
    char node[ZKL_NODE_PATH];
    int32_t sequence = INT_MAX;
    if (zkl_waiting_node(session->contender, node, sizeof node))
        zkl_znode_parse(strrchr(node, '/') + 1, &sequence);
    return sequence;
}

/* Counts the nodes of the line, and returns the name of the first; NULL: there is none. Leases are
 * counted for a semaphore, and keep nobody else waiting. */
static const char *count(struct session *session, const zkl_content *list) {
    struct waiting *waiting = &session->waiting;
    const bool semaphore = session->run->options.kind == ZKL_KIND_LEASE;
    const int32_t own = own_sequence(session);
    const char *first = NULL;
    int32_t least = INT_MAX;
    waiting->place = waiting->total = 0;
    for (size_t i = 0; list && i < list->count; i++) {
        int32_t sequence;
        const zkl_kind kind = zkl_znode_parse(list->names[i], &sequence);
        if (kind == ZKL_KIND_NONE || (kind == ZKL_KIND_LEASE) != semaphore)
            continue;
        waiting->total++;
        waiting->place += own != INT_MAX && sequence <= own;
        if (sequence < least) {
            least = sequence;
            first = list->names[i];
        }
    }
    return first;
}

static void see_list(struct session *session) {
    char node[ZKL_NODE_PATH];
    const char *first = count(session, zkl_node_request_content(session->waiting.request, 0));
    const bool semaphore = session->run->options.kind == ZKL_KIND_LEASE;
    if (!first || semaphore || session->waiting.place < 2) {
        say_place(session, NULL);
        return;
    }
    snprintf(node, sizeof node, "%s/%s", session->run->options.paths[0], first);
    ask(session, ZKL_OP_GET, node);
}

static void see_first(struct session *session) {
    const zkl_content *content = zkl_node_request_content(session->waiting.request, 0);
    char *holder = content ? cli_text_shown(content->data, content->length) : NULL;
    if (holder && strlen(holder) > CLI_TEXT_SHOWN)
        snprintf(holder + CLI_TEXT_SHOWN - 4, 4, "...");
    if (holder)
        say_place(session, holder[0] ? holder : "an unnamed one");
    free(holder);
}

static void see_answer(struct session *session) {
    session->connection.answered = false;
    if (session->waiting.kind == ZKL_OP_CHILDREN)
        see_list(session);
    else
        see_first(session);
}

zkl_nanos cli_waiting_turn(struct session *session) {
    struct waiting *waiting = &session->waiting;
    const zkl_nanos now = zkl_now();
    if (!session->run->options.verbose && !cli_progress_possible())
        return ZKL_NEVER;
    if (waiting->request && session->connection.answered)
        see_answer(session);
    if (!waiting->next)
        waiting->next = now + FIRST_PAUSE;
    if (now >= waiting->next) {
        waiting->next = now + PAUSE + jitter();
        if (session->cut_off)
            say_no_server(session);
        else
            ask_for_list(session);
    }
    return waiting->next;
}

void cli_waiting_end(struct session *session) {
    zkl_node_request_drop(session->waiting.request);
    session->waiting.request = NULL;
}
