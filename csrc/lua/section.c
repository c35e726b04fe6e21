/* SPDX-License-Identifier: MIT */
/* section: calls without a debug hook inside. A hook may raise at each instruction (Ctrl-C's hook
 * does, and hooks that bound a script's time do). Code that must run whole or not at all runs
 * here. */
#include "binding.h"

/* The hook waits, and its count begins again. A hook that is set meanwhile (by a signal) stays.
 * cold: a debugger or a signal is rare, and the usual way needs few registers. */
__attribute__((cold)) static void call_unhooked(lua_State *L, int args, int results) {
    const lua_Hook hook = lua_gethook(L);
    const int mask = lua_gethookmask(L), count = lua_gethookcount(L);
    lua_sethook(L, NULL, 0, 0);
    const int status = lua_pcall(L, args, results, 0);
    if (!lua_gethook(L))
        lua_sethook(L, hook, mask, count);
    if (status)
        lua_error(L);
}

/* As lua_call. */
static void call_quietly(lua_State *L, int args, int results) {
    if (lua_gethook(L))
        call_unhooked(L, args, results);
    else
        lua_call(L, args, results);
}

/* core.quietly(fn, ...) -> the results of fn, which cannot be suspended */
static int section_quietly(lua_State *L) {
    luaL_checkany(L, 1);
    call_quietly(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* As lua_resume, from 5.1 on; drops the results, except for an error. */
static int resume(lua_State *thread, lua_State *from, int args) {
#if LUA_VERSION_NUM >= 504
    int results = 0;
    const int status = lua_resume(thread, from, args, &results);
    if (status == 0 || status == LUA_YIELD)
        lua_pop(thread, results);
#else
#if LUA_VERSION_NUM >= 502
    const int status = lua_resume(thread, from, args);
#else
    const int status = lua_resume(thread, args);
    (void)from;
#endif
    if (status == 0 || status == LUA_YIELD)
        lua_settop(thread, 0);
#endif
    return status;
}

/* core.resume(coroutine, step, a, b, ...) -> true, or false and the error: calls step(a, b) quietly
 * and resumes the suspended coroutine with the other arguments. No hook runs in between, not even a
 * call hook. */
static int section_resume(lua_State *L) {
    lua_State *thread = lua_tothread(L, 1);
    luaL_argcheck(L, thread, 1, "coroutine expected");
    for (int arg = 2; arg <= 4; arg++)
        lua_pushvalue(L, arg);
    const int args = lua_gettop(L) - 7;
    if (!lua_checkstack(thread, args))
        return luaL_error(L, "too many arguments");
    call_quietly(L, 2, 0);
    lua_xmove(L, thread, args);
    const int status = resume(thread, L, args);
    lua_pushboolean(L, status == 0 || status == LUA_YIELD);
    if (status == 0 || status == LUA_YIELD)
        return 1;
    lua_xmove(thread, L, 1);
    return 2;
}

void zkl_open_section(lua_State *L) {
    lua_pushcfunction(L, section_quietly);
    lua_setfield(L, -2, "quietly");
    lua_pushcfunction(L, section_resume);
    lua_setfield(L, -2, "resume");
}
