/* SPDX-License-Identifier: MIT */
#include "fake_world.h"

fake_servers *zk;
fake_client *one, *two;

void fake_world_begin(void) {
    fake_now = 1000 * ZKL_SECOND;
    zk = fake_servers_new();
    fake_directory(zk, LINE);
    fake_share_as(1, 1);
    fake_at_once = false;
    one = fake_client_new(zk);
    two = fake_client_new(zk);
    fake_connect(one);
    fake_connect(two);
}

void fake_world_end(void) {
    while (zk->clients)
        fake_client_free(zk->clients);
    fake_servers_free(zk);
}

fake_caller *fake_granted(fake_caller *caller) {
    fake_settle_all(zk);
    CHECK(fake_held(caller));
    return caller;
}

fake_caller *fake_holder(fake_client *client) {
    return fake_granted(fake_join(client, LINE, 1e12));
}

fake_caller *fake_waiter(fake_client *client) {
    fake_caller *caller = fake_join(client, LINE, 1e12);
    fake_settle_all(zk);
    CHECK(fake_waits(caller) && fake_node_of(caller));
    return caller;
}

void fake_check_failed(const char *file, int line, const fake_caller *caller, zkl_status status) {
    check_int(file, line, "answers", caller->answers, 1);
    check_int(file, line, "granted", caller->granted, 0);
    check_text(file, line, "status", zkl_status_text(caller->status), zkl_status_text(status));
}

void fake_check_own_token(const char *file, int line, const fake_caller *caller) {
    check_int(file, line, "held", fake_held(caller), 1);
    const fake_node *node = fake_find(zk, fake_node_of(caller), FAKE_LATEST);
    check_int(file, line, "token", caller->token, node ? node->czxid : 0);
}

void fake_check_clean(const char *file, int line) {
    check_int(file, line, "nodes left", (int64_t)fake_children(zk, LINE), 0);
    for (fake_client *c = zk->clients; c; c = c->next) {
        check_int(file, line, "lines left", (int64_t)zkl_lines_count(&c->lines), 0);
        check_int(file, line, "requests left", c->sent || c->inbound, 0);
        check_int(file, line, "contenders that must go", c->lines.common.departing.first != NULL,
                  0);
        check_int(file, line, "compounds to be looked at",
                  c->lines.common.dirty_compounds.first != NULL, 0);
        check_int(file, line, "batches left", c->lines.common.outbox.batches.first != NULL, 0);
        check_int(file, line, "waiting", (int64_t)c->context.counters.waiting, 0);
        check_int(file, line, "held", (int64_t)c->context.counters.held, 0);
        check_int(file, line, "next timer", zkl_timers_next(&c->context.timers), ZKL_NEVER);
    }
}
