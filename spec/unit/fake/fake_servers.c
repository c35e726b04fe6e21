/* SPDX-License-Identifier: MIT */
#include "fake_servers.h"

#include "check.h"
#include "must.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

static uint32_t hash_of(const char *path, size_t length) {
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * 16777619U;
    return hash;
}

fake_servers *fake_servers_new(void) {
    fake_servers *servers = calloc(1, sizeof *servers);
    must(servers != NULL);
    servers->zxid = 100;
    servers->wall = 1000;
    servers->sessions = 0x1000;
    servers->packet_most = 1048575; /* jute.maxbuffer */
    servers->bucket_count = 1024;
    servers->buckets = calloc(servers->bucket_count, sizeof *servers->buckets);
    must(servers->buckets != NULL);
    return servers;
}

static void free_node(fake_node *node) {
    for (fake_edition *e = node->older, *older; e; e = older) {
        older = e->older;
        free(e->data);
        free(e);
    }
    for (fake_rules *r = node->former, *older; r; r = older) {
        older = r->older;
        free(r);
    }
    free(node->path);
    free(node->data);
    free(node);
}

void fake_servers_free(fake_servers *servers) {
    for (size_t i = 0; i < servers->count; i++)
        free_node(servers->nodes[i]);
    free(servers->nodes);
    free(servers->buckets);
    free(servers);
}

/* ---- looking ---- */

static bool visible(const fake_node *node, int64_t view) {
    return node->czxid <= view && (node->dzxid == 0 || node->dzxid > view);
}

static fake_node *find(const fake_servers *servers, const char *path, size_t length, int64_t view) {
    const uint32_t hash = hash_of(path, length);
    for (fake_node *node = servers->buckets[hash & (servers->bucket_count - 1)]; node;
         node = node->same)
        if (node->hash == hash && visible(node, view) && strncmp(node->path, path, length) == 0 &&
            node->path[length] == '\0')
            return node;
    return NULL;
}

fake_node *fake_find(const fake_servers *servers, const char *path, int64_t view) {
    return find(servers, path, strlen(path), view);
}

const char *fake_name(const fake_node *node) {
    return strrchr(node->path, '/') + 1;
}

fake_node *fake_child_before(const fake_node *directory, const fake_node *child, int64_t view) {
    fake_node *node = child ? child->after : directory->children;
    while (node && !visible(node, view))
        node = node->after;
    return node;
}

const char *fake_child(const fake_servers *servers, const char *path, size_t index, int64_t view) {
    /* From the youngest: the engine may not rely on the order of a list. */
    const fake_node *directory = fake_find(servers, path, view), *child = NULL;
    do {
        child = directory ? fake_child_before(directory, child, view) : NULL;
    } while (child && index--);
    return child ? fake_name(child) : NULL;
}

size_t fake_children(const fake_servers *servers, const char *path) {
    const fake_node *directory = fake_find(servers, path, FAKE_LATEST);
    return directory ? (size_t)directory->child_count : 0;
}

static int64_t seen(int64_t zxid, int64_t view) {
    return zxid <= view ? zxid : 0;
}

int64_t fake_pzxid(const fake_node *directory, int64_t view) {
    int64_t latest =
        directory->forgotten > directory->czxid ? directory->forgotten : directory->czxid;
    if (directory->pzxid <= view)
        return directory->pzxid > latest ? directory->pzxid : latest;
    for (const fake_node *child = directory->children; child; child = child->after) {
        const int64_t made = seen(child->czxid, view), gone = seen(child->dzxid, view);
        if (latest < made)
            latest = made;
        if (latest < gone)
            latest = gone;
    }
    return latest;
}

fake_edition fake_edition_at(const fake_node *node, int64_t view) {
    if (node->mzxid <= view || !node->older)
        return (fake_edition){NULL, node->data, node->mzxid, node->mtime, node->version};
    const fake_edition *e = node->older;
    while (e->mzxid > view && e->older)
        e = e->older;
    return *e;
}

/* ---- changes ---- */

static void tell(fake_servers *servers) {
    if (servers->changed)
        servers->changed(servers);
}

static int64_t next_zxid(fake_servers *servers) {
    return servers->within ? servers->zxid : ++servers->zxid;
}

static bool is_ephemeral(fake_mode mode) {
    return mode == FAKE_EPHEMERAL || mode == FAKE_EPHEMERAL_SEQUENCE;
}

bool fake_parent(const fake_servers *servers, const char *path, fake_node **above) {
    const size_t length = (size_t)(strrchr(path, '/') - path);
    *above = length ? find(servers, path, length, FAKE_LATEST) : NULL;
    return *above || !length;
}

static void enter_bucket(fake_servers *servers, fake_node *node) {
    fake_node **bucket = &servers->buckets[node->hash & (servers->bucket_count - 1)];
    node->same = *bucket;
    *bucket = node;
}

static void leave_bucket(fake_servers *servers, const fake_node *node) {
    fake_node **p = &servers->buckets[node->hash & (servers->bucket_count - 1)];
    while (*p != node)
        p = &(*p)->same;
    *p = node->same;
}

static void enter_parent(fake_node *node, fake_node *above) {
    node->parent = above;
    if (!above)
        return;
    node->after = above->children;
    if (node->after)
        node->after->before = node;
    above->children = node;
}

static void leave_parent(fake_node *node) {
    if (!node->parent)
        return;
    if (node->parent->forgotten < node->dzxid)
        node->parent->forgotten = node->dzxid;
    if (node->after)
        node->after->before = node->before;
    *(node->before ? &node->before->after : &node->parent->children) = node->after;
}

/* In order of age: younger ones are found first in a bucket. */
static void grow(fake_servers *servers) {
    if (servers->count < servers->room)
        return;
    servers->room = servers->room ? 2 * servers->room : 64;
    servers->nodes = realloc(servers->nodes, servers->room * sizeof(fake_node *));
    must(servers->nodes != NULL);
    if (servers->room <= servers->bucket_count)
        return;
    servers->bucket_count = servers->room;
    free(servers->buckets);
    servers->buckets = calloc(servers->bucket_count, sizeof *servers->buckets);
    must(servers->buckets != NULL);
    for (size_t i = 0; i < servers->count; i++)
        enter_bucket(servers, servers->nodes[i]);
}

int fake_make(fake_servers *servers, const char *path, const char *data, fake_mode mode,
              int64_t owner, fake_node **made) {
    char full[8192];
    fake_node *above;
    if (!fake_parent(servers, path, &above))
        return ZNONODE;
    if (above && is_ephemeral(above->mode))
        return ZNOCHILDRENFOREPHEMERALS;
    if (mode == FAKE_CONTAINER && servers->old)
        return ZUNIMPLEMENTED;
    if (mode == FAKE_EPHEMERAL_SEQUENCE)
        snprintf(full, sizeof full, "%s%010" PRId32, path, above ? above->next : 0);
    else
        snprintf(full, sizeof full, "%s", path);
    if (fake_find(servers, full, FAKE_LATEST))
        return ZNODEEXISTS;
    grow(servers);
    fake_node *node = calloc(1, sizeof *node);
    must(node != NULL);
    *node = (fake_node){.path = copy(full), .data = copy(data), .mode = mode};
    node->hash = hash_of(full, strlen(full));
    node->czxid = node->mzxid = node->pzxid = next_zxid(servers);
    node->owner = is_ephemeral(mode) ? owner : 0;
    node->mtime = servers->wall;
    servers->nodes[servers->count++] = node;
    enter_bucket(servers, node);
    enter_parent(node, above);
    if (above) {
        above->next = (int32_t)((uint32_t)above->next + 1);
        above->child_count++;
        above->pzxid = node->czxid;
    }
    tell(servers);
    if (made)
        *made = node;
    return ZOK;
}

/* Parents are forgotten only after all their children. */
static bool is_forgotten(const fake_servers *servers, const fake_node *node, int64_t oldest) {
    return node->dzxid && node->dzxid <= oldest && servers->zxid - node->dzxid > 500 &&
           !node->children;
}

void fake_forget(fake_servers *servers) {
    const int64_t oldest = servers->oldest ? servers->oldest(servers) : servers->zxid;
    size_t kept = servers->count;
    for (size_t i = servers->count; i-- > 0;) {
        fake_node *node = servers->nodes[i];
        if (is_forgotten(servers, node, oldest)) {
            leave_parent(node);
            leave_bucket(servers, node);
            free_node(node);
        } else {
            servers->nodes[--kept] = node;
        }
    }
    memmove(servers->nodes, servers->nodes + kept, (servers->count - kept) * sizeof(fake_node *));
    servers->count -= kept;
}

static void gone(fake_servers *servers, fake_node *node) {
    node->dzxid = next_zxid(servers);
    if (!node->parent)
        return;
    node->parent->pzxid = node->dzxid;
    node->parent->child_count--;
}

int fake_remove_node(fake_servers *servers, const char *path, fake_node **removed) {
    fake_node *node = fake_find(servers, path, FAKE_LATEST);
    if (!node)
        return ZNONODE;
    if (node->child_count)
        return ZNOTEMPTY;
    gone(servers, node);
    *removed = node;
    return ZOK;
}

int fake_remove(fake_servers *servers, const char *path) {
    fake_node *node;
    const int rc = fake_remove_node(servers, path, &node);
    if (rc != ZOK)
        return rc;
    tell(servers);
    if (servers->zxid % 256 == 0)
        fake_forget(servers);
    return ZOK;
}

void fake_write(fake_servers *servers, const char *path, const char *data) {
    fake_node *node = fake_find(servers, path, FAKE_LATEST);
    CHECK(node != NULL);
    fake_edition *former = malloc(sizeof *former);
    must(former != NULL);
    *former = (fake_edition){node->older, node->data, node->mzxid, node->mtime, node->version};
    node->older = former;
    node->data = copy(data);
    node->mzxid = next_zxid(servers);
    node->mtime = servers->wall;
    node->version++;
    tell(servers);
}

void fake_unwrite(fake_node *node) {
    fake_edition *former = node->older;
    free(node->data);
    node->data = former->data;
    node->mzxid = former->mzxid;
    node->mtime = former->mtime;
    node->version = former->version;
    node->older = former->older;
    free(former);
}

void fake_unmake(fake_servers *servers, fake_node *node, int64_t pzxid) {
    CHECK(servers->nodes[servers->count - 1] == node);
    servers->count--;
    if (node->parent) {
        node->parent->next = (int32_t)((uint32_t)node->parent->next - 1);
        node->parent->child_count--;
        node->parent->pzxid = pzxid;
    }
    leave_parent(node);
    leave_bucket(servers, node);
    free_node(node);
}

void fake_bring_back(fake_node *node, int64_t pzxid) {
    node->dzxid = 0;
    if (!node->parent)
        return;
    node->parent->child_count++;
    node->parent->pzxid = pzxid;
}

void fake_end_session(fake_servers *servers, int64_t session) {
    for (size_t i = 0; i < servers->count; i++)
        if (servers->nodes[i]->owner == session && servers->nodes[i]->dzxid == 0)
            gone(servers, servers->nodes[i]);
    tell(servers);
}

void fake_directory(fake_servers *servers, const char *path) {
    char level[256];
    for (size_t end = 1; end <= strlen(path); end++) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        snprintf(level, sizeof level, "%.*s", (int)end, path);
        const int rc = fake_make(servers, level, "", FAKE_PERSISTENT, 0, NULL);
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
    CHECK_INT(fake_make(servers, path, "stranger", FAKE_EPHEMERAL_SEQUENCE, 0xdead, &node), ZOK);
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
