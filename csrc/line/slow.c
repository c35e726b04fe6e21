/* SPDX-License-Identifier: MIT */
#include "line/slow.h"

#include "base/timer.h"
#include "line/front.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* A wait that may become slow. */
typedef struct slow_wait {
    zkl_slow slow;
    zkl_timer timer;
    zkl_holder_look look;
} slow_wait;

/* The length of the path that the caller has given. The lines of a semaphore are directories below
 * it. */
static int path_length(const zkl_contender *c, const char *path) {
    const char *end = c->terms.kind == ZKL_KIND_LEASE ? strrchr(path, '/') : NULL;
    return (int)(end ? (size_t)(end - path) : strlen(path));
}

/* `line`: in which it waits; NULL: in none now. */
static void warn(zkl_holder_look *look, zkl_line *line, const char *why) {
    const zkl_contender *c = look->c;
    char holder[512];
    const double seconds = zkl_clock_seconds(zkl_context_now(c->context) - c->since);
    const char *path = (line ? line->path : c->call->path(c)) + c->context->chroot;
    if (!why)
        zkl_owner_text(line, holder, sizeof holder);
    c->context->warn_slow(c->context, path, path_length(c, path), seconds, why ? why : holder);
}

static void slow_now(zkl_timer *timer) {
    zkl_holder_look_begin(&ZKL_CONTAINER_OF(timer, slow_wait, timer)->look, false);
}

static void wait_over(zkl_contender *c) {
    slow_wait *slow = ZKL_CONTAINER_OF(c->slow, slow_wait, slow);
    zkl_holder_look_end(&slow->look);
    zkl_timer_clear(&c->context->timers, &slow->timer);
    free(slow);
}

void zkl_slow_begin(zkl_contender *c, zkl_nanos after) {
    if (c->phase != ZKL_WAITING || !c->context->warn_slow)
        return;
    slow_wait *slow = calloc(1, sizeof *slow);
    if (!slow)
        return;
    slow->slow.wait_over = wait_over;
    slow->look.c = c;
    slow->look.known = warn;
    slow->timer.fire = slow_now;
    c->slow = &slow->slow;
    const zkl_nanos most = ZKL_NEVER - c->since;
    zkl_timer_set(&c->context->timers, &slow->timer, after < most ? c->since + after : ZKL_NEVER);
}
