/* bell: the userdata around a zkl_bell; collected, it hangs up. */
#include "binding.h"

#include <errno.h>
#include <string.h>

static zkl_bell *check(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_BELL);
    luaL_argcheck(L, *box, 1, "it has hung up");
    return *box;
}

static int bell_drop(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_BELL);
    zkl_bell *bell = *box;
    *box = NULL;
    if (bell)
        zkl_bell_drop(bell);
    return 0;
}

static int bell_path(lua_State *L) {
    lua_pushstring(L, zkl_bell_path(check(L)));
    return 1;
}

/* bell:answer() -> true, or nil, why not */
static int bell_answer(lua_State *L) {
    if (!zkl_bell_answer(check(L))) {
        lua_pushnil(L);
        lua_pushstring(L, strerror(errno));
        return 2;
    }
    lua_pushboolean(L, 1);
    return 1;
}

void zkl_open_bell(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", bell_drop},     {"drop", bell_drop}, {"path", bell_path},
        {"answer", bell_answer}, {NULL, NULL},
    };
    zkl_metatable(L, ZKL_BELL, methods);
}
