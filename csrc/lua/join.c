/* join: a contender that is new gets its terms and a place in line. */
#include "binding.h"

int zkl_lua_contender(lua_State *L) {
    zkl_check_client(L, 1);
    zkl_new_contender(L);
    return 1;
}

/* Argument 2: such a contender. */
static void **check_box(lua_State *L) {
    void **box = luaL_checkudata(L, 2, ZKL_CONTENDER);
    luaL_argcheck(L, !*box, 2, "the contender has already joined");
    return box;
}

/* Pushes the result of a join, which is kept already: true, or nil, err. */
static int joined(lua_State *L, void **box, zkl_status status, zkl_contender *contender) {
    *box = contender;
    if (status != ZKL_OK)
        return zkl_push_error(L, status);
    lua_pushboolean(L, 1);
    return 1;
}

/* Seconds above 0, or nil: 0. However short: rounded to 0 it would be for ever. */
static zkl_nanos check_max_hold(lua_State *L, int arg) {
    if (lua_isnoneornil(L, arg))
        return 0;
    const lua_Number seconds = luaL_checknumber(L, arg);
    luaL_argcheck(L, seconds > 0, arg, "seconds > 0 expected");
    return zkl_clock_duration(seconds);
}

/* The arguments from `first` on: moment, once, max_hold; max_hold in seconds, or nil. */
static zkl_terms check_terms(lua_State *L, int first, zkl_kind kind) {
    return (zkl_terms){
        .kind = kind,
        .deadline = zkl_check_moment(L, first),
        .once = lua_toboolean(L, first + 1),
        .max_hold = check_max_hold(L, first + 2),
    };
}

/* The arguments from `first` on: handoffs, or nil; stint and linger, in seconds of at least 0. */
static const zkl_sharing *check_sharing(lua_State *L, int first, zkl_sharing *sharing) {
    if (lua_isnoneornil(L, first))
        return NULL;
    *sharing = (zkl_sharing){
        .handoffs = (uint64_t)luaL_checknumber(L, first),
        .stint = zkl_clock_after(0, luaL_checknumber(L, first + 1)),
        .linger = zkl_clock_after(0, luaL_checknumber(L, first + 2)),
    };
    return sharing;
}

int zkl_lua_join(lua_State *L) {
    static const char *const names[] = {"lock", "read", "write", NULL};
    static const zkl_kind node_kinds[] = {ZKL_KIND_LOCK, ZKL_KIND_READ, ZKL_KIND_WRITE};
    zkl_client *client = zkl_check_client(L, 1);
    void **box = check_box(L);
    const char *path = luaL_checkstring(L, 3);
    const zkl_kind kind = node_kinds[luaL_checkoption(L, 4, NULL, names)];
    const uint64_t tag = zkl_check_tag(L, 5);
    zkl_terms terms = check_terms(L, 6, kind);
    terms.under = lua_isnoneornil(L, 9) ? NULL : zkl_check_contender(L, 9);
    terms.max_waiting = lua_isnoneornil(L, 10) ? 0 : (uint32_t)luaL_checknumber(L, 10) + 1;
    zkl_sharing sharing;
    terms.sharing = check_sharing(L, 11, &sharing);
    int64_t token = 0;
    if (lua_toboolean(L, 14))
        terms.at_once = &token;
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join(client, path, tag, &terms, &contender);
    if (!token)
        return joined(L, box, status, contender);
    joined(L, box, status, contender);
    zkl_push_token(L, token);
    return 2;
}

int zkl_lua_join_all(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    void **box = check_box(L);
    luaL_checktype(L, 3, LUA_TTABLE);
    const uint64_t tag = zkl_check_tag(L, 4);
    const zkl_terms terms = check_terms(L, 5, ZKL_KIND_LOCK);
    int count = 0;
    for (;; count++) {
        lua_rawgeti(L, 3, count + 1);
        const bool more = lua_type(L, -1) == LUA_TSTRING;
        lua_pop(L, 1);
        if (!more)
            break;
    }
    const char **paths = lua_newuserdata(L, (size_t)(count + 1) * sizeof *paths);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 3, i + 1);
        paths[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_all(client, paths, (size_t)count, tag, &terms, &contender);
    return joined(L, box, status, contender);
}

int zkl_lua_join_leases(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    void **box = check_box(L);
    const char *path = luaL_checkstring(L, 3);
    const size_t count = (size_t)luaL_checknumber(L, 4);
    const uint64_t tag = zkl_check_tag(L, 6);
    zkl_terms terms = check_terms(L, 7, ZKL_KIND_LEASE);
    terms.permits = (uint32_t)luaL_checknumber(L, 5);
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_leases(client, path, count, tag, &terms, &contender);
    return joined(L, box, status, contender);
}
