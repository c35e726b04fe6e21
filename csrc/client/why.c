/* SPDX-License-Identifier: MIT */
/* why: who is in front of a waiter, as numbers and as a line of text, from what the client knows
 * already. */
#include "client/client_state.h"

#include "base/sized.h"
#include "base/text.h"
#include "line/contender.h"
#include "line/front.h"
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
        add(s, ", which waits, too");
    else if (c->is_part)
        add(s, " that holds");
    else
        add(s, ", which has held for %.1f s", zkl_clock_seconds(now - c->since));
    if (c->phase == ZKL_HELD)
        add(s, " (valid for %.1f s more)", zkl_clock_seconds(valid > 0 ? valid : 0));
}

/* A node of another client. The data of the first node may be known. */
static void add_other(sentence *s, const zkl_view *view) {
    const bool is_first = view->next == view->holder;
    const bool known = view->identifier && view->identifier[0];
    add(s, ", behind ");
    add_shown(s, is_first && known ? view->identifier : view->next->name);
    if (!is_first && known) {
        add(s, "; ");
        add_shown(s, view->identifier);
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
static void add_position(sentence *s, const zkl_client *client, const zkl_view *view) {
    add_place(s, view->ahead.count + 1, view->ahead.of);
    if (!view->next)
        add_doubt(s, client);
    else if (view->next->mine)
        add_own(s, view->next->mine);
    else
        add_other(s, view);
}

static void add_wait(sentence *s, const zkl_client *client, const zkl_contender *c) {
    const zkl_view view = zkl_view_of(c);
    const zkl_contender *node = view.waits.node;
    if (!node)
        add(s, "in no line now: it is about to queue anew");
    else if (node->phase != ZKL_WAITING)
        add(s, "another caller of this client has its turn");
    else if (node->terms.kind != c->terms.kind)
        add(s, "behind others that take leases");
    else if (node->node == ZKL_NODE_UNKNOWN)
        add(s, "the answer to its create was lost: a list is to show whether its node is there");
    else if (!view.listed)
        add(s, "its node is not in line yet");
    else if (node->terms.kind == ZKL_KIND_LEASE)
        add(s, "waits for a lease: %zu are taken or asked for, of %u permits", view.ahead.of,
            (unsigned)node->terms.permits);
    else
        add_position(s, client, &view);
    add(s, "; it has waited for %.1f s", zkl_clock_seconds(zkl_context_now(c->context) - c->since));
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

bool zkl_front_of(zkl_contender *contender, zkl_front *given) {
    zkl_client *client = zkl_client_of(contender->context);
    if (!zkl_sized_is_one(given) || !zkl_client_begin(client))
        return false;
    const zkl_view view = zkl_view_of(contender);
    const zkl_child *next = view.next;
    zkl_front front = {.size = sizeof front,
                       .ahead = view.ahead.count,
                       .of = view.ahead.of,
                       .path = view.waits.index,
                       .own = next && next->mine,
                       .read = view.identifier != NULL};
    snprintf(front.next, sizeof front.next, "%s", next ? next->name : "");
    snprintf(front.holder, sizeof front.holder, "%s", front.read ? view.identifier : "");
    zkl_client_unlock(client);
    zkl_sized_give(given, &front);
    return view.listed;
}
