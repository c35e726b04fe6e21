/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include "ensemble.h"

#include <stdlib.h>
#include <string.h>

fake_servers *sim_tree;
bool sim_exists_needs_read;
void (*sim_deleted)(const fake_node *node, const sim_request *by);
void (*sim_written)(const sim_request *request);

static sim_change *changes;
static size_t change_count, change_room;

/* ---- changes ---- */

/* Its session has one more, or one less. */
static void count_node(const fake_node *node, bool more) {
    sim_session *s = node->owner ? sim_session_find(node->owner) : NULL;
    int32_t number = 0;
    zkl_znode_parse(fake_name(node), &number);
    const bool is_long = number <= -1000000000; /* the budget counts ten digits, not eleven */
    const ssize_t bytes = (ssize_t)strlen(node->path) - is_long;
    if (s)
        sim_session_count_node(s, more ? bytes : -bytes);
}

static void note(int type, fake_node *node) {
    if (type == EVENT_CREATED || type == EVENT_DELETED)
        count_node(node, type == EVENT_CREATED);
    if (change_count == change_room) {
        change_room = change_room ? 2 * change_room : 256;
        changes = realloc(changes, change_room * sizeof *changes);
        SIM_CHECK(changes != NULL);
    }
    changes[change_count++] = (sim_change){sim_tree->zxid, type, node};
}

const sim_change *sim_changes(int64_t zxid, size_t *count) {
    size_t i = change_count;
    while (i > 0 && changes[i - 1].zxid > zxid)
        i--;
    *count = change_count - i;
    return changes + i;
}

void sim_changes_forget(int64_t zxid) {
    size_t i = 0;
    while (i < change_count && changes[i].zxid <= zxid)
        i++;
    memmove(changes, changes + i, (change_count - i) * sizeof *changes);
    change_count -= i;
}

/* ---- who may ---- */

static fake_rules rules_at(const fake_node *node, int64_t view) {
    fake_rules rules = {.kept = node->kept, .keeper = node->keeper, .aversion = node->aversion};
    for (const fake_rules *f = node->former; f && f->until > view; f = f->older)
        rules = *f;
    return rules;
}

static bool may_in(const fake_node *node, const sim_request *r, int permission, int64_t view) {
    if (!node || !r->from)
        return true; /* operators may do everything */
    const fake_rules rules = rules_at(node, view);
    return !(rules.kept & permission) || rules.keeper == r->identity;
}

static bool may(const fake_node *node, const sim_request *r, int permission) {
    return may_in(node, r, permission, FAKE_LATEST);
}

bool sim_may_read(const fake_node *node, uint64_t identity, int64_t view) {
    if (!node)
        return true;
    const fake_rules rules = rules_at(node, view);
    return !(rules.kept & ZOO_PERM_READ) || rules.keeper == identity;
}

static fake_op refused_as(sim_op op) {
    switch (op) {
    case OP_CREATE:
        return FAKE_CREATE;
    case OP_DELETE:
        return FAKE_ERASE;
    case OP_SET:
        return FAKE_SET;
    case OP_MULTI:
        return FAKE_TRANSACT;
    case OP_LIST:
        return FAKE_LIST;
    case OP_GET:
        return FAKE_GET;
    case OP_GET_ACL:
        return FAKE_ACL;
    default:
        return FAKE_OPS;
    }
}

/* ---- stats ---- */

/* How many children have ever been made, as far as the view goes. */
static uint32_t made_in(const fake_node *node, int64_t view) {
    uint32_t made = (uint32_t)node->next;
    for (const fake_node *c = node->pzxid > view ? node->children : NULL; c; c = c->after)
        made -= c->czxid > view;
    return made;
}

static struct Stat stat_of(const fake_node *node, int64_t view) {
    const fake_edition data = fake_edition_at(node, view);
    int32_t children = 0;
    if (node->child_count || node->pzxid > view)
        for (fake_node *c = NULL; (c = fake_child_before(node, c, view));)
            children++;
    return (struct Stat){
        .czxid = node->czxid,
        .mzxid = data.mzxid,
        .ctime = 1000,
        .mtime = data.mtime,
        .version = data.version,
        /* counted from what was made, told as what was made and deleted */
        .cversion = (int32_t)(2 * made_in(node, view) - (uint32_t)children),
        .aversion = rules_at(node, view).aversion,
        .ephemeralOwner = node->owner,
        .dataLength = (int32_t)strlen(data.data),
        .numChildren = children,
        .pzxid = fake_pzxid(node, view),
    };
}

/* ---- writes ---- */

/* Servers look at the ACL first, then whether there is a parent, then whether one may. */
static int create(const sim_request *r, sim_part *p) {
    fake_node *above, *node = NULL;
    const bool has_place = fake_parent(sim_tree, p->path, &above);
    if (p->kept && !r->identity)
        return ZINVALIDACL;
    if (!has_place)
        return ZNONODE;
    if (!may(above, r, ZOO_PERM_CREATE))
        return ZNOAUTH;
    /* the fake appends a number to ephemeral ones only */
    const fake_mode mode = p->sequence ? FAKE_EPHEMERAL_SEQUENCE : p->mode;
    const int rc = fake_make(sim_tree, p->path, p->data ? p->data : "", mode,
                             r->session ? sim_session_id(r->session) : 0, &node);
    if (rc != ZOK)
        return rc;
    if (p->sequence && p->mode == FAKE_PERSISTENT) {
        node->mode = FAKE_PERSISTENT;
        node->owner = 0;
    }
    node->kept = p->kept;
    node->keeper = p->kept ? r->identity : 0;
    p->made = sim_copy(node->path);
    p->stat = stat_of(node, FAKE_LATEST);
    note(EVENT_CREATED, node);
    return ZOK;
}

static int erase(const sim_request *r, sim_part *p) {
    const fake_node *node = fake_find(sim_tree, p->path, FAKE_LATEST);
    fake_node *above, *gone;
    if (!fake_parent(sim_tree, p->path, &above))
        return ZNONODE;
    if (!may(above, r, ZOO_PERM_DELETE))
        return ZNOAUTH;
    if (!node)
        return ZNONODE;
    if (p->version != -1 && p->version != node->version)
        return ZBADVERSION;
    const int rc = fake_remove_node(sim_tree, p->path, &gone);
    if (rc != ZOK)
        return rc;
    note(EVENT_DELETED, gone);
    if (sim_deleted)
        sim_deleted(gone, r);
    return ZOK;
}

static int set(const sim_request *r, sim_part *p) {
    fake_node *node = fake_find(sim_tree, p->path, FAKE_LATEST);
    if (!node)
        return ZNONODE;
    if (!may(node, r, ZOO_PERM_WRITE))
        return ZNOAUTH;
    if (p->version != -1 && p->version != node->version)
        return ZBADVERSION;
    fake_write(sim_tree, p->path, p->data ? p->data : "");
    p->stat = stat_of(node, FAKE_LATEST);
    note(EVENT_CHANGED, node);
    return ZOK;
}

static int check(const sim_request *r, const sim_part *p) {
    const fake_node *node = fake_find(sim_tree, p->path, FAKE_LATEST);
    if (!node)
        return ZNONODE;
    if (!may(node, r, ZOO_PERM_READ))
        return ZNOAUTH;
    return p->version != -1 && p->version != node->version ? ZBADVERSION : ZOK;
}

static int set_acl(const sim_request *r, const sim_part *p) {
    fake_node *node = fake_find(sim_tree, p->path, FAKE_LATEST);
    if (p->kept && r->from && !r->identity)
        return ZINVALIDACL;
    if (!node)
        return ZNONODE;
    if (!may(node, r, ZOO_PERM_ADMIN))
        return ZNOAUTH;
    if (p->version != -1 && p->version != node->aversion)
        return ZBADVERSION;
    fake_rules *former = sim_new(sizeof *former);
    *former = (fake_rules){node->former, sim_tree->zxid, node->kept, node->keeper, node->aversion};
    node->former = former;
    node->kept = p->kept;
    node->keeper = p->kept ? r->identity : 0;
    node->aversion++;
    return ZOK;
}

static int carry_out(const sim_request *r, sim_part *p) {
    switch (p->op) {
    case OP_CREATE:
        return create(r, p);
    case OP_DELETE:
        return erase(r, p);
    case OP_SET:
        return set(r, p);
    case OP_CHECK:
        return check(r, p);
    default:
        sim_fail("%s in a transaction", sim_op_name(p->op));
    }
}

/* ---- transactions ---- */

/* The parent's pzxid, which an operation changes besides. */
static int64_t pzxid_above(const sim_part *p) {
    fake_node *above = NULL;
    if (p->op == OP_CREATE || p->op == OP_DELETE)
        fake_parent(sim_tree, p->path, &above);
    return above ? above->pzxid : 0;
}

static void undo(size_t first_change, const int64_t *pzxids) {
    while (change_count > first_change) {
        const sim_change *c = &changes[--change_count];
        const int64_t pzxid = pzxids[change_count - first_change];
        if (c->type == EVENT_CREATED || c->type == EVENT_DELETED)
            count_node(c->node, c->type == EVENT_DELETED);
        if (c->type == EVENT_CREATED)
            fake_unmake(sim_tree, c->node, pzxid);
        else if (c->type == EVENT_DELETED)
            fake_bring_back(c->node, pzxid);
        else
            fake_unwrite(c->node);
    }
}

/* 64 creates, and a write behind each of them. */
enum { PARTS_MOST = 2 * 64 };

/* All or nothing: the answer to the one that fails is its own, to those behind it that it was not
 * tried. */
static int multi(sim_request *r) {
    int64_t pzxids[PARTS_MOST];
    const size_t first_change = change_count;
    SIM_CHECK(r->part_count <= PARTS_MOST);
    for (size_t i = 0; i < r->part_count; i++) {
        sim_part *p = &r->parts[i];
        const size_t done = change_count - first_change;
        pzxids[done] = pzxid_above(p);
        p->rc = carry_out(r, p);
        if (p->rc == ZOK)
            continue;
        undo(first_change, pzxids);
        for (size_t j = 0; j < i; j++)
            r->parts[j].rc = ZOK;
        for (size_t j = i + 1; j < r->part_count; j++)
            r->parts[j].rc = ZRUNTIMEINCONSISTENCY;
        return p->rc;
    }
    return ZOK;
}

/* ---- sessions ---- */

/* In the order of their names, as far as anybody can tell. */
static void end_session(const sim_request *r) {
    const int64_t id = sim_session_id(r->session);
    for (size_t i = 0; i < sim_tree->count; i++) {
        fake_node *node = sim_tree->nodes[i], *gone;
        if (node->owner != id || node->dzxid)
            continue;
        fake_remove_node(sim_tree, node->path, &gone);
        note(EVENT_DELETED, gone);
        if (sim_deleted)
            sim_deleted(gone, r);
    }
    sim_session_closed(r->session);
}

static int reap(const sim_part *p) {
    const fake_node *node = fake_find(sim_tree, p->path, FAKE_LATEST);
    fake_node *gone;
    if (!node || node->mode != FAKE_CONTAINER || node->child_count || !node->next)
        return ZNONODE;
    fake_remove_node(sim_tree, p->path, &gone);
    note(EVENT_DELETED, gone);
    return ZOK;
}

static int write_out(sim_request *r) {
    if (r->session && r->op != OP_OPEN_SESSION && !sim_session_is_open(r->session))
        return ZSESSIONEXPIRED;
    if (r->is_moved)
        return ZSESSIONMOVED;
    const int refused =
        r->from && r->part.path ? fake_refused(sim_tree, refused_as(r->op), r->part.path) : ZOK;
    if (refused != ZOK)
        return refused;
    switch (r->op) {
    case OP_MULTI:
        return multi(r);
    case OP_OPEN_SESSION:
        sim_session_opened(r->session);
        return ZOK;
    case OP_CLOSE_SESSION:
        end_session(r);
        return ZOK;
    case OP_REAP:
        return reap(&r->part);
    case OP_SET_ACL:
        return set_acl(r, &r->part);
    default:
        return carry_out(r, &r->part);
    }
}

void sim_write(sim_request *r) {
    sim_tree->zxid++;
    sim_tree->wall = sim_wall();
    sim_tree->within = true;
    r->part.rc = write_out(r);
    sim_tree->within = false;
    if (r->part.rc == ZOK && sim_written)
        sim_written(r);
}

int sim_do(sim_op op, const char *path, const char *data, fake_mode mode, sim_session *session) {
    sim_request *r = sim_request_new(op, path);
    r->part.data = data ? sim_copy(data) : NULL;
    r->part.mode = mode;
    r->part.sequence = mode == FAKE_EPHEMERAL_SEQUENCE;
    r->session = session;
    sim_ensemble_write(r);
    const int rc = r->part.rc;
    sim_request_drop(r);
    return rc;
}

/* ---- reads ---- */

/* One piece of memory: the pointers, and what they point to. */
static void list(sim_request *r, const fake_node *node, int64_t view) {
    size_t bytes = 0, n = 0;
    for (fake_node *c = NULL; (c = fake_child_before(node, c, view)); n++)
        bytes += sizeof(char *) + strlen(fake_name(c)) + 1;
    char **names = sim_new(bytes ? bytes : 1), *text = (char *)(names + n);
    r->name_count = n;
    r->names = names;
    for (fake_node *c = NULL; (c = fake_child_before(node, c, view));) {
        *names++ = text;
        text = stpcpy(text, fake_name(c)) + 1;
    }
}

static int read_out(sim_request *r, int64_t view) {
    const char *path = r->part.path;
    if (r->op == OP_GET_ACL && strcmp(path, "/") == 0)
        return ZOK; /* it is everybody's */
    const fake_node *node = fake_find(sim_tree, path, view);
    if (!node)
        return ZNONODE;
    const bool needs_read = r->op != OP_EXISTS || sim_exists_needs_read;
    if (needs_read && !may_in(node, r, ZOO_PERM_READ, view))
        return ZNOAUTH;
    r->part.stat = stat_of(node, view);
    switch (r->op) {
    case OP_GET:
        r->data = sim_copy(fake_edition_at(node, view).data);
        return ZOK;
    case OP_LIST:
        list(r, node, view);
        return ZOK;
    case OP_GET_ACL:
        r->kept = rules_at(node, view).kept;
        return ZOK;
    default:
        return ZOK;
    }
}

void sim_read(sim_request *r, int64_t view) {
    r->part.rc = r->from ? fake_refused(sim_tree, refused_as(r->op), r->part.path) : ZOK;
    if (r->part.rc == ZOK)
        r->part.rc = read_out(r, view);
}

/* ---- life ---- */

void sim_tree_begin(void) {
    sim_tree = fake_servers_new();
    sim_tree->oldest = sim_oldest_node_watch;
    change_count = 0;
}

void sim_tree_end(void) {
    fake_servers_free(sim_tree);
    free(changes);
    changes = NULL;
    change_room = 0;
}
