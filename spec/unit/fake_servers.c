#include "fake_servers.h"

#include "check.h"
#include "fake_port.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

static void must(bool good) {
    if (!good)
        abort(); /* no memory for a test */
}

static char *copy(const char *text) {
    char *c = strdup(text);
    must(c != NULL);
    return c;
}

fake_servers *fake_servers_new(void) {
    fake_servers *servers = calloc(1, sizeof *servers);
    must(servers != NULL);
    servers->zxid = 100;
    servers->sessions = 0x1000;
    servers->packet_most = 1048575; /* jute.maxbuffer */
    return servers;
}

static void free_node(fake_node *node) {
    free(node->path);
    free(node->data);
    free(node);
}

void fake_servers_free(fake_servers *servers) {
    for (size_t i = 0; i < servers->count; i++)
        free_node(servers->nodes[i]);
    free(servers->nodes);
    free(servers);
}

static bool visible(const fake_node *node, int64_t view) {
    return node->czxid <= view && (node->dzxid == 0 || node->dzxid > view);
}

fake_node *fake_find(const fake_servers *servers, const char *path, int64_t view) {
    for (size_t i = servers->count; i-- > 0;)
        if (visible(servers->nodes[i], view) && strcmp(servers->nodes[i]->path, path) == 0)
            return servers->nodes[i];
    return NULL;
}

/* The name of the node below `path`, or NULL. */
static const char *name_below(const fake_node *node, const char *path) {
    const size_t length = strlen(path);
    if (strncmp(node->path, path, length) != 0 || node->path[length] != '/')
        return NULL;
    const char *name = node->path + length + 1;
    return strchr(name, '/') ? NULL : name;
}

const char *fake_child(const fake_servers *servers, const char *path, size_t index, int64_t view) {
    /* From the youngest: the engine may not rely on the order of a list. */
    for (size_t i = servers->count; i-- > 0;) {
        const char *name =
            visible(servers->nodes[i], view) ? name_below(servers->nodes[i], path) : NULL;
        if (name && index-- == 0)
            return name;
    }
    return NULL;
}

size_t fake_children(const fake_servers *servers, const char *path) {
    size_t n = 0;
    for (size_t i = 0; i < servers->count; i++)
        n += servers->nodes[i]->dzxid == 0 && name_below(servers->nodes[i], path) != NULL;
    return n;
}

static void fire_all(fake_servers *servers) {
    for (fake_client *c = servers->clients; c; c = c->next)
        fake_fire(c);
}

static bool is_ephemeral(zkl_mode mode) {
    return mode == ZKL_EPHEMERAL || mode == ZKL_EPHEMERAL_SEQUENCE;
}

int fake_make(fake_servers *servers, const char *path, const char *data, zkl_mode mode,
              int64_t owner, fake_node **made) {
    char full[2048], parent[2048];
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    fake_node *above = parent[0] ? fake_find(servers, parent, FAKE_LATEST) : NULL;
    if (parent[0] && !above)
        return ZNONODE;
    if (above && is_ephemeral(above->mode))
        return ZNOCHILDRENFOREPHEMERALS;
    if (mode == ZKL_CONTAINER && servers->old)
        return ZUNIMPLEMENTED;
    if (mode == ZKL_EPHEMERAL_SEQUENCE)
        snprintf(full, sizeof full, "%s%010" PRId32, path, above ? above->next : 0);
    else
        snprintf(full, sizeof full, "%s", path);
    if (fake_find(servers, full, FAKE_LATEST))
        return ZNODEEXISTS;
    if (above)
        above->next = (int32_t)((uint32_t)above->next + 1);
    if (servers->count == servers->room) {
        servers->room = servers->room ? 2 * servers->room : 64;
        servers->nodes = realloc(servers->nodes, servers->room * sizeof(fake_node *));
        must(servers->nodes != NULL);
    }
    fake_node *node = calloc(1, sizeof *node);
    must(node != NULL);
    *node = (fake_node){.path = copy(full), .data = copy(data), .mode = mode};
    node->czxid = node->mzxid = ++servers->zxid;
    node->owner = is_ephemeral(mode) ? owner : 0;
    servers->nodes[servers->count++] = node;
    if (above)
        above->pzxid = node->czxid;
    fire_all(servers);
    if (made)
        *made = node;
    return ZOK;
}

/* What no client can see any more is forgotten. */
static void forget_old(fake_servers *servers) {
    int64_t oldest = servers->zxid;
    for (const fake_client *c = servers->clients; c; c = c->next)
        if (c->view < oldest)
            oldest = c->view;
    size_t kept = 0;
    for (size_t i = 0; i < servers->count; i++) {
        fake_node *node = servers->nodes[i];
        if (node->dzxid && node->dzxid <= oldest && servers->zxid - node->dzxid > 500)
            free_node(node);
        else
            servers->nodes[kept++] = node;
    }
    servers->count = kept;
}

static void gone(fake_servers *servers, fake_node *node) {
    char parent[2048];
    snprintf(parent, sizeof parent, "%s", node->path);
    *strrchr(parent, '/') = '\0';
    fake_node *above = parent[0] ? fake_find(servers, parent, FAKE_LATEST) : NULL;
    node->dzxid = ++servers->zxid;
    if (above)
        above->pzxid = node->dzxid;
}

int fake_remove(fake_servers *servers, const char *path) {
    fake_node *node = fake_find(servers, path, FAKE_LATEST);
    if (!node)
        return ZNONODE;
    if (fake_children(servers, path))
        return ZNOTEMPTY;
    gone(servers, node);
    fire_all(servers);
    if (servers->zxid % 256 == 0)
        forget_old(servers);
    return ZOK;
}

void fake_write(fake_servers *servers, const char *path, const char *data) {
    fake_node *node = fake_find(servers, path, FAKE_LATEST);
    CHECK(node != NULL);
    free(node->data);
    node->data = copy(data);
    node->mzxid = ++servers->zxid;
    node->version++;
    fire_all(servers);
}

void fake_end_session(fake_servers *servers, int64_t session) {
    for (size_t i = 0; i < servers->count; i++)
        if (servers->nodes[i]->owner == session && servers->nodes[i]->dzxid == 0)
            gone(servers, servers->nodes[i]);
    fire_all(servers);
}

void fake_directory(fake_servers *servers, const char *path) {
    char level[256];
    for (size_t end = 1; end <= strlen(path); end++) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        snprintf(level, sizeof level, "%.*s", (int)end, path);
        const int rc = fake_make(servers, level, "", ZKL_PERSISTENT, 0, NULL);
        CHECK(rc == ZOK || rc == ZNODEEXISTS);
    }
}

const char *fake_stranger(fake_servers *servers, const char *directory, const char *form) {
    static unsigned ids;
    char name[128], path[256];
    const char *f = form ? form : "_c_%s-1111-4222-b333-444444444444-lock-";
    const char *hole = strstr(f, "%s");
    fake_node *node = NULL;
    snprintf(name, sizeof name, "%.*s%08x%s", hole ? (int)(hole - f) : 0, f, ++ids,
             hole ? hole + 2 : f);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    CHECK_INT(fake_make(servers, path, "stranger", ZKL_EPHEMERAL_SEQUENCE, 0xdead, &node), ZOK);
    return node->path;
}

void fake_refuse(fake_servers *servers, fake_op op, const char *path, int rc, unsigned times) {
    for (size_t i = 0; i < sizeof servers->refusals / sizeof *servers->refusals; i++) {
        fake_refusal *r = &servers->refusals[i];
        if (r->standing)
            continue;
        *r = (fake_refusal){.standing = true, .op = op, .rc = rc, .times = times};
        snprintf(r->path, sizeof r->path, "%s", path);
        return;
    }
    check_fail(__FILE__, __LINE__, "too many refusals stand");
}

void fake_allow(fake_servers *servers) {
    memset(servers->refusals, 0, sizeof servers->refusals);
}

int fake_refused(fake_servers *servers, fake_op op, const char *path) {
    for (size_t i = 0; i < sizeof servers->refusals / sizeof *servers->refusals; i++) {
        fake_refusal *r = &servers->refusals[i];
        const size_t length = strlen(r->path);
        if (!r->standing || r->op != op || strncmp(path, r->path, length) != 0 ||
            (path[length] != '\0' && path[length] != '/'))
            continue;
        if (r->times && --r->times == 0)
            r->standing = false;
        return r->rc;
    }
    return ZOK;
}
