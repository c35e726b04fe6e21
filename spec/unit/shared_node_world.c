/* SPDX-License-Identifier: MIT */
#include "shared_node_world.h"

#include "check.h"
#include "shared/sharer.h"

fake_caller *shared_join(fake_client *client) {
    return fake_share(client, LINE, 1e12);
}

fake_caller *shared_settled(fake_client *client) {
    fake_caller *caller = shared_join(client);
    fake_settle_all(zk);
    return caller;
}

fake_caller *shared_holder(fake_client *client) {
    fake_caller *caller = shared_settled(client);
    CHECK(fake_held(caller));
    return caller;
}

void shared_release(fake_caller *caller) {
    CHECK_INT(fake_release(caller), ZKL_OK);
}

fake_caller *shared_handed(fake_client *client) {
    const unsigned before = fake_asked(client);
    fake_caller *caller = shared_join(client);
    CHECK(fake_held(caller));
    CHECK_INT(fake_asked(client), before);
    return caller;
}

uint64_t shared_turn(const fake_caller *caller) {
    return zkl_sharer_turn(caller->contender);
}

size_t shared_nodes(void) {
    return fake_children(zk, LINE);
}

fake_caller *shared_reads(fake_client *client) {
    return fake_share_kind(client, LINE, ZKL_KIND_READ, 1e12);
}

fake_caller *shared_writes(fake_client *client) {
    return fake_share_kind(client, LINE, ZKL_KIND_WRITE, 1e12);
}

fake_caller *shared_try(fake_client *client, zkl_kind kind) {
    return fake_share_kind(client, LINE, kind, 0);
}

fake_caller *shared_answered(fake_caller *caller) {
    fake_settle_all(zk);
    return caller;
}

fake_caller *shared_reader(fake_client *client) {
    fake_caller *caller = shared_answered(shared_reads(client));
    CHECK(fake_held(caller));
    return caller;
}

fake_caller *shared_writer(fake_client *client) {
    fake_caller *caller = shared_answered(shared_writes(client));
    CHECK(fake_held(caller));
    return caller;
}
