/* SPDX-License-Identifier: MIT */
/* A lock's directory in which strangers make what they like: the fake servers of
 * spec/unit/fake/fake_port.h with two clients, and what happens is the input's: calls, nodes of any
 * name, deletions, cuts, ends of sessions. Always: at most one believes to hold whose node is
 * there. When all strangers have gone everybody is answered, and nothing is left. */
#include "input.h"

#include "fake_world.h"

#include <stdio.h>
#include <string.h>

enum { STEPS_MOST = 120, CALLERS_MOST = 24, NODES_MOST = 40 };
#define STRANGER 0xbad /* a session */

static fake_caller *callers[CALLERS_MOST];
static size_t caller_count;

static fake_client *any_client(input *in) {
    return input_any(in, 2) ? two : one;
}

static fake_caller *any_caller(input *in) {
    return caller_count ? callers[input_any(in, (unsigned)caller_count)] : NULL;
}

/* It is not answered any more. */
static void cancel(fake_caller *caller) {
    fake_cancel(caller);
    for (size_t i = 0; i < caller_count; i++)
        if (callers[i] == caller)
            callers[i--] = callers[--caller_count];
}

/* The path of one of the nodes; false: there is none. */
static bool any_node(input *in, char *path, size_t size) {
    const size_t count = fake_children(zk, LINE);
    if (count == 0)
        return false;
    const char *name = fake_child(zk, LINE, input_any(in, (unsigned)count), FAKE_LATEST);
    snprintf(path, size, "%s/%s", LINE, name);
    return true;
}

/* Any name at all, or that of a node which is there with another end. */
static void make_node(input *in) {
    char path[256], name[100];
    const bool twin = input_any(in, 2) && any_node(in, path, sizeof path);
    input_line(in, name, sizeof name);
    if (fake_children(zk, LINE) >= NODES_MOST || strchr(name, '/'))
        return;
    if (twin) {
        char *number = path + strlen(path);
        while (number > path && strchr("0123456789", number[-1]))
            number--;
        snprintf(number, (size_t)(path + sizeof path - number), "%s", name);
    } else {
        snprintf(path, sizeof path, "%s/%s", LINE, name);
    }
    if (path[strlen(LINE) + 1])
        fake_make(zk, path, "me", input_any(in, 2) ? FAKE_EPHEMERAL : FAKE_PERSISTENT, STRANGER,
                  NULL);
}

static void join(input *in) {
    fake_client *client = any_client(in);
    if (caller_count == CALLERS_MOST)
        return;
    fake_caller *caller = NULL;
    switch (input_any(in, 4)) {
    case 0:
        caller = fake_join(client, LINE, 1 + input_any(in, 60));
        break;
    case 1:
        caller = fake_join(client, LINE, 1e12);
        break;
    case 2:
        caller = fake_try(client, LINE);
        break;
    default:
        caller = fake_join_for(client, LINE, 1 + input_any(in, 20));
        break;
    }
    callers[caller_count++] = caller;
}

/* With a new session, if the servers have ended the old one. */
static void link_up(fake_client *client) {
    if (!client->alive)
        fake_expire(client);
    fake_connect(client);
}

static void link_goes(input *in) {
    fake_client *client = any_client(in);
    switch (input_any(in, 3)) {
    case 0:
        if (client->state == ZKL_STATE_CONNECTED)
            fake_cut(client);
        break;
    case 1:
        if (client->state != ZKL_STATE_CONNECTED)
            link_up(client);
        break;
    default:
        if (client->alive && client->state == ZKL_STATE_CONNECTED) {
            fake_cut(client);
            fake_bury(client);
        }
        break;
    }
}

static void step(input *in) {
    char path[256];
    fake_caller *caller = any_caller(in);
    switch (input_any(in, 12)) {
    case 0:
    case 1:
        join(in);
        break;
    case 2:
        if (caller && fake_held(caller))
            fake_release(caller);
        break;
    case 3:
        if (caller && fake_waits(caller))
            cancel(caller);
        break;
    case 4:
    case 5:
        make_node(in);
        break;
    case 6:
        if (any_node(in, path, sizeof path))
            fake_remove(zk, path);
        break;
    case 7:
        if (any_node(in, path, sizeof path))
            fake_write(zk, path, input_any(in, 2) ? ZKL_REVOKE : "");
        break;
    case 8:
        link_goes(in);
        break;
    case 9:
        fake_wait(zk, 0.1 * input_any(in, 50));
        break;
    case 10:
        fake_answer(any_client(in));
        break;
    default:
        fake_settle_all(zk);
        break;
    }
}

/* A caller that believes to hold, and whose node nobody has deleted, is alone. */
static void check_alone(void) {
    const fake_caller *alone = NULL;
    for (size_t i = 0; i < caller_count; i++) {
        const fake_caller *caller = callers[i];
        if (!fake_held(caller) || caller->client->context.valid_until <= fake_now)
            continue;
        const char *node = fake_node_of(caller);
        if (!node || !fake_find(zk, node, FAKE_LATEST))
            continue;
        CHECK(!alone);
        alone = caller;
    }
}

/* The path of a node that no client of ours has made; false: there is none. */
static bool strangers_node(char *path, size_t size) {
    const size_t count = fake_children(zk, LINE);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, size, "%s/%s", LINE, fake_child(zk, LINE, i, FAKE_LATEST));
        const int64_t owner = fake_find(zk, path, FAKE_LATEST)->owner;
        if (owner == 0 || owner == STRANGER)
            return true;
    }
    return false;
}

static void strangers_go(void) {
    char path[256];
    while (strangers_node(path, sizeof path))
        fake_remove(zk, path);
}

static void come_to_rest(void) {
    strangers_go();
    for (fake_client *c = zk->clients; c; c = c->next)
        if (c->state != ZKL_STATE_CONNECTED)
            link_up(c);
    for (unsigned i = 0; i < 2 * CALLERS_MOST; i++) {
        fake_settle_all(zk);
        check_alone();
        for (size_t j = 0; j < caller_count; j++)
            if (fake_held(callers[j]))
                fake_release(callers[j]);
        fake_beat(one, 1);
        fake_beat(two, 1);
    }
    fake_still(one);
    fake_still(two);
    fake_settle_all(zk);
    for (size_t i = 0; i < caller_count; i++)
        CHECK_INT(callers[i]->answers, 1);
    CHECK_CLEAN();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = {bytes, size};
    caller_count = 0;
    fake_world_begin();
    for (unsigned i = 0; i < STEPS_MOST && in.left > 0; i++) {
        step(&in);
        check_alone();
    }
    come_to_rest();
    fake_world_end();
    return 0;
}
