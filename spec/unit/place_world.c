#include "place_world.h"

#include "check.h"

#include <string.h>

unsigned place_asked(const fake_client *client) {
    unsigned n = 0;
    for (size_t op = 0; op < FAKE_OPS; op++)
        n += client->counts[op];
    return n;
}

void place_forget_counts(fake_client *client) {
    memset(client->counts, 0, sizeof client->counts);
}

fake_caller *place_join(fake_client *client) {
    return fake_share(client, LINE, 1e12);
}

fake_caller *place_settled(fake_client *client) {
    fake_caller *caller = place_join(client);
    fake_settle_all(zk);
    return caller;
}

fake_caller *place_holder(fake_client *client) {
    fake_caller *caller = place_settled(client);
    CHECK(fake_held(caller));
    return caller;
}

void place_release(fake_caller *caller) {
    CHECK_INT(fake_release(caller), ZKL_OK);
}

fake_caller *place_handed(fake_client *client) {
    const unsigned before = place_asked(client);
    fake_caller *caller = place_join(client);
    CHECK(fake_held(caller));
    CHECK_INT(place_asked(client), before);
    return caller;
}

uint64_t place_turn(const fake_caller *caller) {
    return caller->contender->turn;
}

size_t place_nodes(void) {
    return fake_children(zk, LINE);
}

fake_caller *place_reads(fake_client *client) {
    return fake_share_kind(client, LINE, ZKL_KIND_READ, 1e12);
}

fake_caller *place_writes(fake_client *client) {
    return fake_share_kind(client, LINE, ZKL_KIND_WRITE, 1e12);
}

fake_caller *place_try(fake_client *client, zkl_kind kind) {
    return fake_share_kind(client, LINE, kind, 0);
}

fake_caller *place_answered(fake_caller *caller) {
    fake_settle_all(zk);
    return caller;
}

fake_caller *place_reader(fake_client *client) {
    fake_caller *caller = place_answered(place_reads(client));
    CHECK(fake_held(caller));
    return caller;
}

fake_caller *place_writer(fake_client *client) {
    fake_caller *caller = place_answered(place_writes(client));
    CHECK(fake_held(caller));
    return caller;
}
