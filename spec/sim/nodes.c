/* SPDX-License-Identifier: MIT */
#include "nodes.h"

#include "ensemble.h"

#include "client/client_state.h"

#include <stdio.h>
#include <string.h>

zkl_child sim_node_child(const fake_node *node) {
    zkl_child child = {.name = (char *)fake_name(node)};
    child.kind = zkl_znode_parse(child.name, &child.sequence);
    return child;
}

sim_host *sim_node_host(const fake_node *node) {
    const sim_session *session = node->owner ? sim_session_find(node->owner) : NULL;
    return session ? sim_session_owner(session) : NULL;
}

const zkl_contender *sim_node_contender(const sim_host *host, const char *path,
                                        const fake_node *node) {
    const zkl_line *line = host->client ? zkl_lines_find(&host->client->lines, path) : NULL;
    if (!line)
        return NULL;
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        if (c->name && strcmp(c->name, fake_name(node)) == 0)
            return c;
    }
    return NULL;
}

const fake_node *sim_node_with(sim_place place, int64_t token) {
    const char *path = sim_node_directory((int)place + (place >= PLACE_POOL));
    const fake_node *above = fake_find(sim_tree, path, FAKE_LATEST), *n = NULL;
    while (above && (n = fake_child_before(above, n, FAKE_LATEST)) && n->czxid != token)
        continue;
    return n;
}

const char *sim_node_directory(int i) {
    static char path[64];
    if (i > SIM_LEASES)
        return i <= sim_places() ? sim_place_path((sim_place)(i - 1)) : NULL;
    const bool is_pool = i >= PLACE_POOL;
    snprintf(path, sizeof path, "%s%s", sim_place_path(is_pool ? PLACE_POOL : (sim_place)i),
             !is_pool          ? ""
             : i == PLACE_POOL ? "/locks"
                               : "/leases");
    return path;
}
