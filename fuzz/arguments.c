/* SPDX-License-Identifier: MIT */
/* The binding, and what is above it in Lua: bytes become calls with drawn arguments, in one Lua
 * state for all inputs (fuzz/arguments.lua). */
#include "input.h"

#include "check.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

int luaopen_zklock_core(lua_State *L);

static lua_State *start(void) {
    lua_State *L = luaL_newstate();
    CHECK(L);
    luaL_openlibs(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_zklock_core);
    lua_setfield(L, -2, "zklock.core");
    lua_pop(L, 1);
    if (luaL_dostring(L, "package.path = 'lua/?.lua;lua/?/init.lua'") ||
        luaL_dofile(L, "fuzz/arguments.lua"))
        check_fail(__FILE__, __LINE__, "%s", lua_tostring(L, -1));
    return L;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static lua_State *L;
    if (!L)
        L = start();
    lua_pushvalue(L, -1);
    lua_pushlstring(L, (const char *)bytes, size);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK)
        check_fail(__FILE__, __LINE__, "%s", lua_tostring(L, -1));
    return 0;
}
