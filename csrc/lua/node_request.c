/* SPDX-License-Identifier: MIT */
/* node_request: the userdata around a zkl_node_request; converts a script's ops. */
#include "binding.h"

#include <stdio.h>

/* ---- ops ---- */

/* An op from lua/zklock, which has checked it: a list of these fields. */
enum { KIND = 1, PATH, DATA, VERSION, FLAGS, ACL };

/* The letters that FLAGS may contain. */
static void read_flags(zkl_op *op, const char *flags) {
    for (; flags && *flags; flags++) {
        op->ephemeral = op->ephemeral || *flags == 'e';
        op->sequential = op->sequential || *flags == 's';
        op->container = op->container || *flags == 'c';
        op->parents = op->parents || *flags == 'p';
    }
}

/* The op in the table at `index`, which keeps its strings alive. */
static zkl_op read_op(lua_State *L, int index) {
    luaL_checktype(L, index, LUA_TTABLE);
    zkl_op op = ZKL_OP_DEFAULTS;
    for (int i = KIND; i <= ACL; i++)
        lua_rawgeti(L, index, i);
    op.kind = (zkl_op_kind)lua_tointeger(L, -6);
    op.path = luaL_checkstring(L, -5);
    op.data = lua_tolstring(L, -4, &op.length);
    if (!lua_isnil(L, -3))
        op.version = (int32_t)lua_tonumber(L, -3);
    read_flags(&op, lua_tostring(L, -2));
    op.own_acl = !lua_isnil(L, -1);
    op.acl = op.own_acl ? (zkl_acl)lua_tointeger(L, -1) : ZKL_ACL_OPEN;
    lua_pop(L, ACL);
    if (!op.data) {
        op.data = "";
        op.length = 0;
    }
    return op;
}

int zkl_lua_do(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const zkl_op op = read_op(L, 2);
    const uint64_t tag = zkl_check_tag(L, 3);
    const zkl_nanos deadline = zkl_check_moment(L, 4);
    void **box = zkl_new_box(L, ZKL_NODE_REQUEST);
    return zkl_fill_box(L, box, zkl_node_do(client, &op, tag, deadline, lua_toboolean(L, 5)));
}

int zkl_lua_do_all(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    const uint64_t tag = zkl_check_tag(L, 3);
    const zkl_nanos deadline = zkl_check_moment(L, 4);
    const size_t count = lua_rawlen(L, 2);
    zkl_op *ops = lua_newuserdata(L, (count + 1) * sizeof *ops); /* stays on the stack */
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, (int)i + 1); /* kept alive by the list */
        ops[i] = read_op(L, lua_gettop(L));
        lua_pop(L, 1);
    }
    void **box = zkl_new_box(L, ZKL_NODE_REQUEST);
    zkl_contender *guard = NULL;
    if (!lua_isnoneornil(L, 6) && !(guard = zkl_check_contender(L, 6)))
        return zkl_push_error(L, ZKL_NOT_OWNER);
    return zkl_fill_box(
        L, box, zkl_node_do_all(client, ops, count, guard, tag, deadline, lua_toboolean(L, 5)));
}

int zkl_lua_sync(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_NODE_REQUEST);
    return zkl_fill_box(L, box, zkl_node_sync(client, tag, deadline, lua_toboolean(L, 4)));
}

/* ---- results ---- */

static zkl_node_request *check(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_NODE_REQUEST);
    luaL_argcheck(L, *box, 1, "the node request was dropped");
    return *box;
}

static int node_request_drop(lua_State *L) {
    zkl_node_request_drop(zkl_empty_box(L, ZKL_NODE_REQUEST));
    return 0;
}

static const zkl_content *content(lua_State *L) {
    const zkl_content *found =
        zkl_node_request_content(check(L), (size_t)luaL_optinteger(L, 2, 1) - 1);
    luaL_argcheck(L, found, 2, "no such operation");
    return found;
}

static void set_integer(lua_State *L, const char *name, int64_t value) {
    zkl_push_token(L, value);
    lua_setfield(L, -2, name);
}

static void set_seconds(lua_State *L, const char *name, int64_t milliseconds) {
    lua_pushnumber(L, (lua_Number)milliseconds / 1000);
    lua_setfield(L, -2, name);
}

void zkl_push_stat(lua_State *L, const zkl_stat *stat) {
    lua_createtable(L, 0, 9);
    set_integer(L, "version", stat->version);
    set_integer(L, "czxid", stat->czxid);
    set_integer(L, "mzxid", stat->mzxid);
    set_integer(L, "pzxid", stat->pzxid);
    set_integer(L, "children", stat->children);
    set_integer(L, "length", stat->length);
    set_seconds(L, "created", stat->ctime);
    set_seconds(L, "modified", stat->mtime);
    if (stat->session) {
        zkl_push_session(L, stat->session);
        lua_setfield(L, -2, "owner");
    }
}

void zkl_push_names(lua_State *L, const zkl_content *of) {
    lua_createtable(L, (int)of->count, 0);
    for (size_t i = 0; i < of->count; i++) {
        lua_pushstring(L, of->names[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

/* request:data([index]) -> of a get the data; of a create the path */
static int node_request_data(lua_State *L) {
    const zkl_content *of = content(L);
    lua_pushlstring(L, of->data ? of->data : "", of->length);
    return 1;
}

/* request:stat([index]) */
static int node_request_stat(lua_State *L) {
    zkl_push_stat(L, &content(L)->stat);
    return 1;
}

/* request:names() -> sorted list */
static int node_request_names(lua_State *L) {
    zkl_push_names(L, content(L));
    return 1;
}

/* request:found() -> of exists: whether the node exists */
static int node_request_found(lua_State *L) {
    lua_pushboolean(L, zkl_node_request_found(check(L)));
    return 1;
}

/* request:failed() -> the index of the op that failed, or nil */
static int node_request_failed(lua_State *L) {
    const size_t failed = zkl_node_request_failed(check(L));
    if (!failed)
        return 0;
    lua_pushinteger(L, (lua_Integer)failed);
    return 1;
}

/* request:shortage() -> after "too big": why there was no room for its nodes, or nil */
static int node_request_shortage(lua_State *L) {
    char text[ZKL_SHORTAGE_TEXT];
    if (!zkl_node_request_shortage(check(L), text, sizeof text))
        return 0;
    lua_pushstring(L, text);
    return 1;
}

void zkl_open_node_request(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", node_request_drop},
        {"drop", node_request_drop},
        {"data", node_request_data},
        {"stat", node_request_stat},
        {"names", node_request_names},
        {"found", node_request_found},
        {"failed", node_request_failed},
        {"shortage", node_request_shortage},
        {NULL, NULL},
    };
    zkl_metatable(L, ZKL_NODE_REQUEST, methods);
}
