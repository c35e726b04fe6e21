/* SPDX-License-Identifier: MIT */
/* once: the userdata around a zkl_once. */
#include "binding.h"

/* Pushes the once: 1 result; or raises. */
static int push(lua_State *L, void **box, zkl_once *once) {
    if (!once)
        return zkl_push_error(L, ZKL_NO_MEMORY);
    *box = once;
    return 1;
}

int zkl_lua_ask_once(lua_State *L) {
    zkl_contender *contender = zkl_check_contender(L, 2);
    const double seconds = luaL_checknumber(L, 3);
    const bool mark = lua_toboolean(L, 4);
    const uint64_t tag = zkl_check_tag(L, 5);
    const zkl_nanos deadline = zkl_check_moment(L, 6);
    void **box = zkl_new_box(L, ZKL_ONCE);
    return push(L, box, zkl_once_ask(contender, seconds, mark, tag, deadline));
}

int zkl_lua_mark_once(lua_State *L) {
    zkl_contender *contender = zkl_check_contender(L, 2);
    const uint64_t tag = zkl_check_tag(L, 3);
    const zkl_nanos deadline = zkl_check_moment(L, 4);
    void **box = zkl_new_box(L, ZKL_ONCE);
    return push(L, box, zkl_once_mark(contender, tag, deadline));
}

static int once_drop(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_ONCE);
    zkl_once *once = *box;
    *box = NULL;
    zkl_once_drop(once);
    return 0;
}

/* once:left() -> seconds that are left; 0: it is due */
static int once_left(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_ONCE);
    luaL_argcheck(L, *box, 1, "the once was dropped");
    lua_pushnumber(L, zkl_once_left(*box));
    return 1;
}

void zkl_open_once(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", once_drop},
        {"drop", once_drop},
        {"left", once_left},
        {NULL, NULL},
    };
    zkl_metatable(L, ZKL_ONCE, methods);
}
