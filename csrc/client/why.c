/* SPDX-License-Identifier: MIT */
/* why: one line of text about a wait, from what the client knows already. */
#include "client/client_state.h"

#include "base/text.h"
#include "line/contender.h"
#include "line/line_state.h"
#include "line/slow.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"
#include "zklock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Only appended to; what does not fit is left out. */
typedef struct sentence {
    char *text;
    size_t size;
} sentence;

static void add(sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(sentence *s, const char *format, ...) {
    const size_t length = strlen(s->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->text + length, s->size - length, format, arguments);
    va_end(arguments);
}

/* Others may have written it. */
static void add_shown(sentence *s, const char *bytes) {
    char piece[ZKL_TEXT_PIECE];
    size_t taken;
    for (size_t left = strlen(bytes); left > 0; left -= taken, bytes += taken) {
        const size_t length =
            zkl_text_piece(piece, bytes, left, (zkl_text_kept){.utf8 = true}, &taken);
        add(s, "%.*s", (int)length, piece);
    }
}

static void add_place(sentence *s, size_t place, size_t count) {
    static const char *const words[] = {"first", "second",  "third",  "fourth", "fifth",
                                        "sixth", "seventh", "eighth", "ninth",  "tenth"};
    if (place <= sizeof words / sizeof *words)
        add(s, "%s of %zu", words[place - 1], count);
    else
        add(s, "number %zu of %zu", place, count);
}

/* A node of this client in front. */
static void add_own(sentence *s, const zkl_contender *c) {
    const zkl_nanos now = zkl_context_now(c->context);
    const zkl_nanos valid = zkl_contender_valid_until(c) - now;
    add(s, ", behind a caller of this client");
    if (c->phase != ZKL_HELD)
        add(s, " that waits, too");
    else if (c->is_part)
        add(s, " that holds");
    else
        add(s, ", which has held for %.1f s", zkl_clock_seconds(now - c->since));
    if (c->phase == ZKL_HELD)
        add(s, " (valid for %.1f s more)", zkl_clock_seconds(valid > 0 ? valid : 0));
}

/* A node of another client. The data of the first node may be known. */
static void add_other(sentence *s, const zkl_contender *c, const zkl_child *next) {
    const zkl_snapshot *snapshot = &c->line->snapshot;
    const size_t first = zkl_verdict_holder(snapshot->children, snapshot->count, c->terms.kind);
    const char *holder = zkl_slow_owner(c);
    const bool is_first = next == &snapshot->children[first];
    add(s, ", behind ");
    add_shown(s, is_first && holder[0] ? holder : next->name);
    if (!is_first && holder[0]) {
        add(s, "; ");
        add_shown(s, holder);
        add(s, " is first");
    }
}

/* Nobody is in front: what is lacking is validity. */
static void add_doubt(sentence *s, const zkl_client *client) {
    const double latency = zkl_clock_seconds(client->session.heart.latency);
    if (client->context.valid_until <= zkl_context_now(&client->context))
        add(s, ", but the session is not certain: the answers take %.1f s", latency);
    else
        add(s, ", and waits for an answer of the servers");
}

/* A contender with a node that a list has shown. */
static void add_position(sentence *s, const zkl_client *client, const zkl_contender *c,
                         size_t own) {
    const zkl_snapshot *snapshot = &c->line->snapshot;
    const zkl_ahead ahead = zkl_verdict_ahead(snapshot->children, own);
    add_place(s, ahead.count + 1, snapshot->count);
    if (ahead.nearest == ZKL_NOBODY)
        add_doubt(s, client);
    else if (snapshot->children[ahead.nearest].mine)
        add_own(s, snapshot->children[ahead.nearest].mine);
    else
        add_other(s, c, &snapshot->children[ahead.nearest]);
}

/* A contender that is in a line itself. */
static void add_wait_in_line(sentence *s, const zkl_client *client, const zkl_contender *c) {
    const zkl_snapshot *snapshot = &c->line->snapshot;
    const size_t own =
        c->node == ZKL_NODE_THERE ? zkl_snapshot_find(snapshot, c->name) : ZKL_NOT_FOUND;
    if (c->node == ZKL_NODE_UNKNOWN)
        add(s, "the answer to its create was lost: a list is to show whether its node is there");
    else if (own == ZKL_NOT_FOUND)
        add(s, "its node is not in line yet");
    else if (c->terms.kind == ZKL_KIND_LEASE)
        add(s, "waits for a lease: %zu are taken or asked for, of %u permits", snapshot->count,
            (unsigned)c->terms.permits);
    else
        add_position(s, client, c, own);
}

/* The first one of its parts that waits; NULL: none. Of a contender in a line: itself. */
static const zkl_contender *waiting_part(const zkl_contender *c) {
    const zkl_contender *part;
    for (size_t i = 0; (part = c->call->part(c, i)); i++)
        if (part->phase == ZKL_WAITING)
            return part;
    return NULL;
}

static void add_wait(sentence *s, const zkl_client *client, const zkl_contender *c) {
    const zkl_contender *part = waiting_part(c);
    const double seconds = zkl_clock_seconds(zkl_context_now(c->context) - c->since);
    if (part && part->line)
        add_wait_in_line(s, client, part);
    else if (c->call->part(c, 0))
        add(s, "another caller of this client has its turn");
    else if (c->terms.kind == ZKL_KIND_LEASE)
        add(s, "behind others that take leases");
    else
        add(s, "in no line now: it is about to queue anew");
    add(s, "; it has waited for %.1f s", seconds);
}

/* No server is in reach. */
static void add_absence(sentence *s, const zkl_client *client, const char *trouble) {
    const zkl_nanos now = zkl_context_now(&client->context);
    const zkl_session *session = &client->session;
    add(s, "%s", zkl_state_text(session->state));
    if (session->away)
        add(s, " for %.1f s", zkl_clock_seconds(now - session->away));
    if (trouble[0])
        add(s, ": %s", trouble);
}

bool zkl_why(zkl_contender *contender, char *text, size_t size) {
    zkl_client *client = zkl_client_of(contender->context);
    char trouble[ZKL_TROUBLE_TEXT] = "";
    if (zkl_client_state(client) != ZKL_STATE_CONNECTED)
        zkl_client_trouble(client, trouble, sizeof trouble);
    if (!zkl_client_begin(client))
        return false;
    const bool waits = contender->phase == ZKL_WAITING;
    text[0] = '\0';
    if (waits && client->session.state != ZKL_STATE_CONNECTED)
        add_absence(&(sentence){text, size}, client, trouble);
    else if (waits)
        add_wait(&(sentence){text, size}, client, contender);
    zkl_client_unlock(client);
    return waits;
}
