/* SPDX-License-Identifier: MIT */
/* join: a new contender gets its terms and a position in line. */
#include "binding.h"

/* The parameters of the three joins, by position. KIND, AT_ONCE, UNDER, JOB: client:join; COUNT:
 * client:join_leases. */
enum {
    CLIENT = 1,
    CONTENDER,
    PATH,
    TAG,
    MOMENT,
    ONCE,
    SETTINGS,
    NAME,
    OWNER,
    KIND,
    AT_ONCE,
    UNDER,
    JOB,
    COUNT = KIND
};

/* A contender that has not joined yet. */
static zkl_contender **check_place(lua_State *L) {
    zkl_contender **place = zkl_contender_place(L, CONTENDER);
    luaL_argcheck(L, !*place, CONTENDER, "the contender has already joined");
    return place;
}

/* Pushes the result of a join, which is stored already: true, or nil, err. */
static int joined(lua_State *L, zkl_contender **place, zkl_status status,
                  zkl_contender *contender) {
    *place = contender;
    if (status != ZKL_OK)
        return zkl_push_error(L, status);
    lua_pushboolean(L, 1);
    return 1;
}

/* ---- settings ---- */

/* false: the settings have no such field, or there are none. */
static bool get_number(lua_State *L, const char *name, lua_Number *number) {
    if (!lua_istable(L, SETTINGS))
        return false;
    lua_getfield(L, SETTINGS, name);
    const bool given = !lua_isnil(L, -1);
    if (given && !lua_isnumber(L, -1))
        luaL_error(L, "bad field '%s' of settings: number expected, got %s", name,
                   luaL_typename(L, -1));
    if (given)
        *number = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return given;
}

static lua_Number check_number(lua_State *L, const char *name) {
    lua_Number number = 0;
    if (!get_number(L, name, &number))
        luaL_error(L, "bad field '%s' of settings: number expected, got nil", name);
    return number;
}

/* 0: there is none. A short one must not be rounded to 0. */
static zkl_nanos check_duration(lua_State *L, const char *name) {
    lua_Number seconds;
    if (!get_number(L, name, &seconds))
        return 0;
    if (!(seconds > 0))
        luaL_error(L, "bad field '%s' of settings: seconds > 0 expected, got %f", name, seconds);
    return zkl_clock_duration(seconds);
}

static unsigned check_name(lua_State *L) {
    const lua_Integer number = luaL_checkinteger(L, NAME);
    luaL_argcheck(L, number >= 0 && number < ZKL_COUNTS_MOST, NAME, "no number of a name");
    return (unsigned)number;
}

static uint32_t check_owner(lua_State *L) {
    const lua_Integer number = luaL_checkinteger(L, OWNER);
    luaL_argcheck(L, number >= 0 && number <= ZKL_OWNER_MOST, OWNER, "no number of an owner");
    return (uint32_t)number;
}

static zkl_terms check_terms(lua_State *L, zkl_kind kind) {
    if (!lua_isboolean(L, SETTINGS) || lua_toboolean(L, SETTINGS))
        luaL_checktype(L, SETTINGS, LUA_TTABLE);
    return (zkl_terms){
        .size = sizeof(zkl_terms),
        .kind = kind,
        .deadline = zkl_check_moment(L, MOMENT),
        .once = lua_toboolean(L, ONCE),
        .max_hold = check_duration(L, "max_hold"),
        .slow = check_duration(L, "slow"),
        .name = check_name(L),
        .owner = check_owner(L),
    };
}

static uint32_t check_max_waiting(lua_State *L) {
    lua_Number waiting;
    return get_number(L, "max_waiting", &waiting) ? (uint32_t)waiting + 1 : 0;
}

/* NULL: each caller has its own node. */
static const zkl_sharing *check_sharing(lua_State *L, zkl_sharing *sharing) {
    lua_Number stint;
    if (!get_number(L, "stint", &stint))
        return NULL;
    *sharing = (zkl_sharing){
        .size = sizeof *sharing,
        .stint = zkl_clock_after(0, stint),
        .linger = zkl_clock_after(0, check_number(L, "linger")),
    };
    return sharing;
}

/* ---- the methods ---- */

int zkl_lua_join(lua_State *L) {
    static const char *const names[] = {"lock", "read", "write", NULL};
    static const zkl_kind node_kinds[] = {ZKL_KIND_LOCK, ZKL_KIND_READ, ZKL_KIND_WRITE};
    zkl_client *client = zkl_check_client(L, CLIENT);
    zkl_contender **place = check_place(L);
    const char *path = luaL_checkstring(L, PATH);
    const uint64_t tag = zkl_check_tag(L, TAG);
    zkl_terms terms = check_terms(L, node_kinds[luaL_checkoption(L, KIND, NULL, names)]);
    terms.max_waiting = check_max_waiting(L);
    terms.job = lua_toboolean(L, JOB);
    zkl_sharing sharing;
    terms.sharing = check_sharing(L, &sharing);
    terms.under = lua_isnoneornil(L, UNDER) ? NULL : zkl_check_contender(L, UNDER);
    int64_t token = 0;
    if (lua_toboolean(L, AT_ONCE))
        terms.at_once = &token;
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join(client, path, tag, &terms, &contender);
    if (!token)
        return joined(L, place, status, contender);
    joined(L, place, status, contender);
    zkl_push_token(L, token);
    return 2;
}

int zkl_lua_join_all(lua_State *L) {
    zkl_client *client = zkl_check_client(L, CLIENT);
    zkl_contender **place = check_place(L);
    luaL_checktype(L, PATH, LUA_TTABLE);
    const uint64_t tag = zkl_check_tag(L, TAG);
    const zkl_terms terms = check_terms(L, ZKL_KIND_LOCK);
    const int count = (int)lua_rawlen(L, PATH);
    const char **paths = lua_newuserdata(L, (size_t)(count + 1) * sizeof *paths);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, PATH, i + 1);
        paths[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_all(client, paths, (size_t)count, tag, &terms, &contender);
    return joined(L, place, status, contender);
}

int zkl_lua_join_leases(lua_State *L) {
    zkl_client *client = zkl_check_client(L, CLIENT);
    zkl_contender **place = check_place(L);
    const char *path = luaL_checkstring(L, PATH);
    const uint64_t tag = zkl_check_tag(L, TAG);
    zkl_terms terms = check_terms(L, ZKL_KIND_LEASE);
    terms.permits = (uint32_t)check_number(L, "permits");
    const size_t count = (size_t)luaL_checknumber(L, COUNT);
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_leases(client, path, count, tag, &terms, &contender);
    return joined(L, place, status, contender);
}
