/* SPDX-License-Identifier: MIT */
/* The parts of a fake client that a test may look at. */
#include "fake_item.h"

#include <stdio.h>
#include <string.h>

const zkl_contender *fake_member(const fake_caller *caller) {
    if (!caller->shares)
        return caller->contender;
    const zkl_sharer *sharer = (const zkl_sharer *)caller->contender;
    return sharer->shared ? sharer->shared->contender : NULL;
}

const char *fake_node_of(const fake_caller *caller) {
    const zkl_contender *c = fake_member(caller);
    if (!c || !c->line || !c->name)
        return NULL;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", c->line->path, c->name);
    const fake_node *node = fake_find(caller->client->servers, path, FAKE_LATEST);
    return node ? node->path : NULL;
}

unsigned fake_asked(const fake_client *client) {
    unsigned n = 0;
    for (size_t op = 0; op < FAKE_OPS; op++)
        n += client->counts[op];
    return n;
}

void fake_forget_counts(fake_client *client) {
    memset(client->counts, 0, sizeof client->counts);
}

unsigned fake_pending(const fake_client *client, fake_op op, const char *path) {
    unsigned n = 0;
    for (const fake_item *item = client->sent; item; item = item->next)
        n += item->op == op && (!path || strcmp(item->path, path) == 0);
    return n;
}

const char *fake_batch(const fake_client *client) {
    static char text[256];
    size_t n = 0;
    for (const fake_item *item = client->sent; item && n + 1 < sizeof text; item = item->next)
        text[n++] = "CLGDSUWAET"[item->op];
    text[n] = '\0';
    return text;
}

const char *fake_ops(const fake_client *client) {
    static char text[256];
    const fake_item *item = client->sent;
    size_t n = 0;
    while (item && item->op != FAKE_TRANSACT)
        item = item->next;
    for (; item && n < item->op_count && n + 1 < sizeof text; n++)
        text[n] = "GEACSDK"[item->ops[n].kind];
    text[n] = '\0';
    return text;
}
