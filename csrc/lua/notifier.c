/* SPDX-License-Identifier: MIT */
/* notifier: the userdata around a zkl_notifier. When the collector takes it, it closes the
 * connection. */
#include "binding.h"

#include <errno.h>
#include <string.h>

static zkl_notifier *check(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_NOTIFIER);
    luaL_argcheck(L, *box, 1, "the notifier is closed");
    return *box;
}

/* client: NULL for a bell */
static int push_notifier(lua_State *L, zkl_client *client) {
    void **box = zkl_new_box(L, ZKL_NOTIFIER);
    *box = zkl_notifier_open(client);
    if (*box)
        return 1;
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

int zkl_lua_notifier(lua_State *L) {
    return push_notifier(L, zkl_check_client(L, 1));
}

/* core.bell() -> a notifier that only rings; or nil and the reason */
int zkl_lua_bell(lua_State *L) {
    return push_notifier(L, NULL);
}

static int notifier_drop(lua_State *L) {
    zkl_notifier *notifier = zkl_empty_box(L, ZKL_NOTIFIER);
    if (notifier)
        zkl_notifier_drop(notifier);
    return 0;
}

static int notifier_path(lua_State *L) {
    lua_pushstring(L, zkl_notifier_path(check(L)));
    return 1;
}

/* notifier:answer() -> true, or nil and the reason */
static int notifier_answer(lua_State *L) {
    if (!zkl_notifier_answer(check(L))) {
        lua_pushnil(L);
        lua_pushstring(L, strerror(errno));
        return 2;
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* notifier:ring(): does nothing if it was dropped, perhaps by another coroutine just before */
static int notifier_ring(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_NOTIFIER);
    if (*box)
        zkl_notifier_ring(*box);
    return 0;
}

void zkl_open_notifier(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", notifier_drop},     {"drop", notifier_drop}, {"path", notifier_path},
        {"answer", notifier_answer}, {"ring", notifier_ring}, {NULL, NULL},
    };
    zkl_metatable(L, ZKL_NOTIFIER, methods);
}
