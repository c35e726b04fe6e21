/* SPDX-License-Identifier: MIT */
#include "fake_quorum.h"

#include "fake_port.h"

/* As servers may be set up at the worst: a session of two ticks. */
static zkl_nanos tick_of(const fake_client *client) {
    return client->timeout / 2;
}

void fake_quorum_took(fake_client *client) {
    client->tenure.touched = client->tenure.deposed = false;
    client->tenure.taken = true;
    client->tenure.ends = fake_now + client->timeout;
}

void fake_quorum_heard(fake_client *client) {
    fake_tenure *t = &client->tenure;
    if (t->at_follower)
        t->touched = true;
    else if (!t->deposed)
        t->ends = fake_now + client->timeout;
}

void fake_quorum_left(fake_client *client) {
    client->tenure.touched = false;
    if (client->tenure.deposed)
        client->view = FAKE_LATEST; /* the next server is one of the others */
    client->tenure.deposed = false;
}

void fake_quorum_depose(fake_client *client) {
    client->tenure.deposed = true;
    client->tenure.ends = fake_now + client->timeout;
    client->tenure.touched = false;
    if (client->view > client->servers->zxid)
        client->view = client->servers->zxid;
}

static void ping(fake_client *client) {
    fake_tenure *t = &client->tenure;
    if (t->touched && !t->deposed)
        t->ends = fake_now + client->timeout;
    t->touched = false;
}

static void end_session(fake_client *client) {
    const bool deposed = client->tenure.deposed;
    fake_bury(client);
    if (client->heart.linked && !deposed)
        fake_cut(client); /* its server hangs up */
}

static zkl_nanos next_ping(const fake_client *client) {
    const zkl_nanos period = tick_of(client) / 2;
    return (fake_now / period + 1) * period;
}

void fake_quorum_pass(fake_servers *servers, zkl_nanos until) {
    while (servers->keeps_time && servers->clients) {
        const zkl_nanos at = next_ping(servers->clients); /* all have one timeout */
        if (at > until)
            break;
        fake_now = at;
        for (fake_client *c = servers->clients; c; c = c->next) {
            if (!c->alive)
                continue;
            ping(c);
            if (at % tick_of(c) == 0 && c->tenure.ends <= at)
                end_session(c);
        }
    }
    fake_now = until;
}
