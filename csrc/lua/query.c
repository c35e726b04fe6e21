/* SPDX-License-Identifier: MIT */
/* query: the userdata around a zkl_query, and around a zkl_once. */
#include "binding.h"

int zkl_lua_ask_session(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_fill_box(L, box, zkl_query_session(client, tag, deadline));
}

int zkl_lua_ask_flush(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_fill_box(L, box, zkl_query_flush(client, tag, deadline));
}

typedef zkl_query *ask_holders(zkl_client *client, const char *path, bool leases, uint64_t tag,
                               zkl_nanos deadline, bool once);

static int ask_at(lua_State *L, ask_holders *ask) {
    zkl_client *client = zkl_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    const uint64_t tag = zkl_check_tag(L, 4);
    const zkl_nanos deadline = zkl_check_moment(L, 5);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_fill_box(L, box,
                        ask(client, path, lua_toboolean(L, 3), tag, deadline, lua_toboolean(L, 6)));
}

int zkl_lua_ask_participants(lua_State *L) {
    return ask_at(L, zkl_query_participants);
}

int zkl_lua_ask_revoke(lua_State *L) {
    return ask_at(L, zkl_query_revoke);
}

int zkl_lua_ask_check(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    const int64_t token = zkl_check_token(L, 3);
    const uint64_t tag = zkl_check_tag(L, 4);
    const zkl_nanos deadline = zkl_check_moment(L, 5);
    const bool once = lua_toboolean(L, 6);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_fill_box(L, box, zkl_query_check(client, path, token, tag, deadline, once));
}

static int query_drop(lua_State *L) {
    zkl_query_drop(zkl_empty_box(L, ZKL_QUERY));
    return 0;
}

static void push_participant(lua_State *L, const zkl_participant *p) {
    static const char *const kinds[] = {
        [ZKL_KIND_NONE] = NULL,     [ZKL_KIND_LOCK] = "lock",   [ZKL_KIND_READ] = "read",
        [ZKL_KIND_WRITE] = "write", [ZKL_KIND_LEASE] = "lease",
    };
    _Static_assert(sizeof kinds / sizeof *kinds == ZKL_KINDS, "each kind has a name");
    lua_newtable(L);
    lua_pushstring(L, p->node);
    lua_setfield(L, -2, "node");
    lua_pushstring(L, kinds[p->kind]);
    lua_setfield(L, -2, "kind");
    lua_pushinteger(L, p->sequence);
    lua_setfield(L, -2, "sequence");
    zkl_push_session(L, p->session);
    lua_setfield(L, -2, "session");
    lua_pushlstring(L, p->identifier, p->identifier_length);
    lua_setfield(L, -2, "identifier");
    lua_pushnumber(L, p->created);
    lua_setfield(L, -2, "created");
    lua_pushboolean(L, p->holder);
    lua_setfield(L, -2, "holder");
    lua_pushboolean(L, p->mine);
    lua_setfield(L, -2, "mine");
}

/* query:participants() -> list in queue order */
static int query_participants(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_QUERY);
    luaL_argcheck(L, *box, 1, "the query was dropped");
    zkl_participant participant = ZKL_PARTICIPANT_DEFAULTS;
    lua_newtable(L);
    for (int i = 0; zkl_participant_at(*box, (size_t)i, &participant); i++) {
        push_participant(L, &participant);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* query:revoked() -> how many holders were asked to release */
static int query_revoked(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_QUERY);
    luaL_argcheck(L, *box, 1, "the query was dropped");
    lua_pushinteger(L, (lua_Integer)zkl_revoked(*box));
    return 1;
}

/* ---- the mark of a mutex ---- */

int zkl_lua_ask_once(lua_State *L) {
    const double seconds = luaL_checknumber(L, 3);
    const bool mark = lua_toboolean(L, 4);
    const uint64_t tag = zkl_check_tag(L, 5);
    const zkl_nanos deadline = zkl_check_moment(L, 6);
    void **box = zkl_new_box(L, ZKL_ONCE);
    zkl_contender *held = zkl_check_contender(L, 2);
    if (!held)
        return zkl_push_error(L, ZKL_LOST);
    return zkl_fill_box(L, box, zkl_once_ask(held, seconds, mark, tag, deadline));
}

int zkl_lua_mark_once(lua_State *L) {
    const uint64_t tag = zkl_check_tag(L, 3);
    const zkl_nanos deadline = zkl_check_moment(L, 4);
    void **box = zkl_new_box(L, ZKL_ONCE);
    zkl_contender *held = zkl_check_contender(L, 2);
    if (!held)
        return zkl_push_error(L, ZKL_LOST);
    return zkl_fill_box(L, box, zkl_once_mark(held, tag, deadline));
}

static int once_drop(lua_State *L) {
    zkl_once_drop(zkl_empty_box(L, ZKL_ONCE));
    return 0;
}

/* once:left() -> seconds that are left; 0: it is due */
static int once_left(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_ONCE);
    luaL_argcheck(L, *box, 1, "the once was dropped");
    lua_pushnumber(L, zkl_once_left(*box));
    return 1;
}

void zkl_open_query(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", query_drop},       {"drop", query_drop}, {"participants", query_participants},
        {"revoked", query_revoked}, {NULL, NULL},
    };
    static const luaL_Reg once_methods[] = {
        {"__gc", once_drop}, {"drop", once_drop}, {"left", once_left}, {NULL, NULL}};
    zkl_metatable(L, ZKL_QUERY, methods);
    zkl_metatable(L, ZKL_ONCE, once_methods);
}
