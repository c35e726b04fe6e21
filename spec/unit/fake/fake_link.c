/* SPDX-License-Identifier: MIT */
/* The link between a fake client and its servers: how it comes, goes and is replaced. */
#include "check.h"
#include "fake_delivery.h"
#include "fake_watch.h"

#include <zookeeper/zookeeper.h>

static void doom(fake_client *client, fake_item **queue) {
    for (fake_item *item; (item = fake_item_take(queue));) {
        if (item->watch_event) {
            fake_item_free(item);
            continue;
        }
        item->rc = ZCONNECTIONLOSS;
        fake_item_append(&client->late, item);
    }
}

void fake_take(fake_client *client) {
    fake_quorum_took(client);
}

void fake_fail(fake_client *client) {
    CHECK(!client->heart.linked);
    doom(client, &client->sent);
    fake_deliver_late(client);
}

void fake_connect(fake_client *client) {
    zkl_context *context = &client->context;
    const bool fresh = !client->alive;
    CHECK(!client->heart.linked);
    CHECK(client->alive || context->session == 0); /* else it is told of the end: fake_expire */
    if (client->view < client->seen)
        client->view = client->seen; /* servers that are behind us refuse us */
    if (fresh) {
        context->session = ++client->servers->sessions;
        context->counters.sessions++;
        client->alive = true;
    } else {
        fake_restore_watches(client);
    }
    if (fresh || !client->tenure.taken)
        fake_quorum_took(client); /* otherwise they did when fake_take was called */
    client->tenure.taken = false;
    client->carried = client->carried && !fresh;
    const zkl_grant grant = {client->settled > client->started ? client->settled : client->started,
                             client->timeout, client->timeout, fresh};
    zkl_heart_linked(&client->heart, &grant, client->carried);
    if (!client->beats) /* the one heartbeat that it has */
        zkl_heart_answered(&client->heart, ZKL_PROOF_QUORUM, fake_now);
    if (!client->carried || !client->beats)
        fake_resume(client);
    fake_leave(client);
    if (!fresh && 28 + fake_watched_bytes(client) > client->servers->packet_most)
        fake_cut(client);
}

void fake_cut_quietly(fake_client *client) {
    CHECK(client->heart.linked);
    client->context.port = &zkl_port_refusing;
    client->state = ZKL_STATE_SUSPENDED;
    zkl_heart_unlinked(&client->heart);
    fake_quorum_left(client);
    fake_watches_free(&client->watches);
    doom(client, &client->inbound);
    doom(client, &client->sent);
    zkl_lines_each(&client->lines, zkl_line_suspend);
    zkl_queries_suspend(&client->queries);
    fake_leave(client);
}

void fake_deliver_late(fake_client *client) {
    for (fake_item *item; (item = fake_item_take(&client->late));) {
        item->watch = false;
        fake_hand_over(client, item);
        fake_item_free(item);
        fake_leave(client);
    }
}

void fake_cut(fake_client *client) {
    fake_cut_quietly(client);
    fake_deliver_late(client);
}

/* Another link: what was on its way on the former one is not heard of. */
static void start_link(fake_client *client) {
    zkl_heart_stopped(&client->heart);
    zkl_heart_started(&client->heart, &client->port);
    client->settled = 0;
    client->started = fake_now;
}

void fake_relink(fake_client *client) {
    CHECK(!client->heart.linked && client->context.session != 0);
    fake_watches_free(&client->listeners);
    fake_items_free(&client->late);
    client->seen = 0;
    client->carried = true;
    fake_items_free(&client->sent);
    start_link(client);
    zkl_lines_each(&client->lines, zkl_line_relink);
    zkl_queries_suspend(&client->queries);
    zkl_node_requests_unlink(&client->nodes);
    zkl_node_watches_unlink(&client->nodes);
    zkl_lines_unlink(&client->lines);
    fake_leave(client);
}

void fake_bury(fake_client *client) {
    client->alive = false;
    fake_watches_free(&client->watches);
    fake_end_session(client->servers, client->context.session);
}

void fake_expire(fake_client *client) {
    zkl_context *context = &client->context;
    if (client->alive)
        fake_bury(client);
    /* The link that this was on does not count any more: its last words are not heard. */
    fake_items_free(&client->sent);
    fake_items_free(&client->inbound);
    fake_items_free(&client->late);
    fake_watches_free(&client->listeners);
    context->port = &zkl_port_refusing;
    context->session = 0;
    client->seen = 0;
    client->state = ZKL_STATE_EXPIRED;
    start_link(client);
    zkl_lines_each(&client->lines, zkl_line_expire);
    zkl_queries_suspend(&client->queries);
    zkl_node_requests_unlink(&client->nodes);
    zkl_node_watches_unlink(&client->nodes);
    zkl_node_budget_expire(&client->lines.common.node_budget);
    zkl_lines_unlink(&client->lines);
    fake_leave(client);
}

void fake_lag(fake_client *client, int64_t zxid) {
    client->view = zxid < client->seen ? client->seen : zxid;
}

void fake_catch_up(fake_client *client) {
    if (client->tenure.deposed)
        return; /* nobody tells its server anything */
    client->view = FAKE_LATEST;
    fake_fire(client);
}
