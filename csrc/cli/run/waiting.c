/* SPDX-License-Identifier: MIT */
#include "cli/run/session.h"

#include "cli/connection.h"
#include "cli/run/channel.h"
#include "cli/run/progress.h"
#include "cli/text.h"
#include "zklock.h"

#include <inttypes.h>
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

/* Leases have no order. Before it asks for them, one that waits has its place among the others that
 * do; the holder that is known then has no lease yet. */
static void say_front(struct session *session) {
    const struct run_options *options = &session->run->options;
    const bool semaphore = options->kind == ZKL_KIND_LEASE;
    char text[WAITING_TEXT], place[64] = "", holder[CLI_TEXT_SHOWN + 16] = "";
    zkl_front front = ZKL_FRONT_DEFAULTS;
    const bool waits = zkl_front_of(session->contender, &front) && front.ahead;
    if (waits && semaphore && !front.next[0])
        snprintf(place, sizeof place, ": all %" PRId64 " permits are taken", options->permits);
    else if (waits)
        snprintf(place, sizeof place, ": %zu%s of %zu", front.ahead + 1, ordinal(front.ahead + 1),
                 front.of);
    if (waits && !semaphore && front.read)
        snprintf(holder, sizeof holder, ", held by %s",
                 front.holder[0] ? CLI_SHOWN(front.holder) : "an unnamed one");
    snprintf(text, sizeof text, "waiting for %s%s%s", CLI_SHOWN(options->paths[front.path]), place,
             holder);
    say(session, text);
}

/* ---- to ask ---- */

static zkl_nanos jitter(void) {
    uint32_t chance = 0;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return 0;
    return (zkl_nanos)(chance % 1024) * (2 * JITTER / 1024) - JITTER;
}

static void ask(struct session *session) {
    zkl_query_drop(session->waiting.query);
    const uint64_t tag = cli_session_ask(session);
    session->waiting.query = zkl_query_front(session->contender, tag, zkl_now() + PAUSE);
}

zkl_nanos cli_waiting_turn(struct session *session) {
    struct waiting *waiting = &session->waiting;
    const zkl_nanos now = zkl_now();
    if (!session->run->options.verbose && !cli_progress_possible())
        return ZKL_NEVER;
    if (waiting->query && session->answered) {
        session->answered = false;
        say_front(session);
    }
    if (!waiting->next)
        waiting->next = now + FIRST_PAUSE;
    if (now >= waiting->next) {
        waiting->next = now + PAUSE + jitter();
        if (session->cut_off)
            say_no_server(session);
        else
            ask(session);
    }
    return waiting->next;
}

void cli_waiting_end(struct session *session) {
    zkl_query_drop(session->waiting.query);
    session->waiting.query = NULL;
}
