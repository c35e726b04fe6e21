/* SPDX-License-Identifier: MIT */
/* section: calls without a debug hook inside. A hook may raise at each instruction (Ctrl-C's hook
 * does, and hooks that bound a script's time do). Code that must run whole or not at all runs here.
 * A signal can set a hook in the middle of it: that of interrupt_on waits for the end, that of
 * lua(1), for Ctrl-C, does not. */
#include "binding.h"

#include <string.h>

typedef struct script_hook {
    lua_Hook call;
    int mask, count;
} script_hook;

static script_hook hook_of(lua_State *L) {
    return (script_hook){lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L)};
}

static void set_hook(lua_State *L, script_hook hook) {
    lua_sethook(L, hook.call, hook.mask, hook.count);
}

/* The hook waits, and its count begins again. A hook that is set meanwhile (by a signal) stays.
 * cold: a debugger or a signal is rare, and the usual way needs few registers. */
__attribute__((cold)) static void call_unhooked(lua_State *L, int args, int results) {
    const script_hook before = hook_of(L);
    lua_sethook(L, NULL, 0, 0);
    const int status = lua_pcall(L, args, results, 0);
    if (!lua_gethook(L))
        set_hook(L, before);
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

/* core.replace(table, key, old, new) -> true: table[key] was old, and now it is new; false: it was
 * not, and nothing has changed */
static int section_replace(lua_State *L) {
    enum { TABLE = 1, KEY, OLD, NEW };
    luaL_checktype(L, TABLE, LUA_TTABLE);
    lua_settop(L, NEW);
    lua_pushvalue(L, KEY);
    lua_gettable(L, TABLE);
    const bool was_old = lua_rawequal(L, -1, OLD);
    lua_settop(L, NEW);
    lua_remove(L, OLD);
    if (was_old)
        lua_rawset(L, TABLE);
    lua_pushboolean(L, was_old);
    return 1;
}

/* ---- the script's hook waits for an instruction ---- */

static const char waiting_key = 'w';

/* The script's hook, while it waits. One for all threads: the next instruction puts it back, so two
 * wait only if a host leaves a thread at that moment for another one, or if a coroutine ends with
 * the function. */
static script_hook *waiting_hook(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&waiting_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    script_hook *hook = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return hook;
}

/* A thread that its host makes at that moment inherits this, and gets the hook as well. */
static void put_back(lua_State *L, lua_Debug *frame) {
    (void)frame;
    set_hook(L, *waiting_hook(L));
}

void zkl_delay_hook(lua_State *L, int instructions) {
    if (lua_gethook(L) && lua_gethook(L) != put_back) {
        *waiting_hook(L) = hook_of(L);
        lua_sethook(L, put_back, LUA_MASKCOUNT, instructions);
    }
}

/* The instructions until the caller's caller goes on. Up to 5.3 a tail call of a C function is
 * followed by a return of its own. */
#if LUA_VERSION_NUM >= 504
#define UNTIL_RETURNED 1
#else
#define UNTIL_RETURNED (ZKL_IS_LUAJIT ? 1 : 2)
#endif

/* core.hand_over(fn, ...) -> as core.quietly; and the script's hook waits until the caller has
 * returned: if it raised before that, nobody would know of what fn has given. The caller is a Lua
 * function whose last step this is: `return hand_over(...)`. */
static int section_hand_over(lua_State *L) {
    section_quietly(L);
    zkl_delay_hook(L, UNTIL_RETURNED);
    return lua_gettop(L);
}

/* ---- a coroutine ---- */

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

/* core.resume(coroutine, step, failed, a, b, ...) -> true; or false, the error, and the result of
 * failed(a, b, coroutine) if there is such a function: calls step(a, b) quietly and, if that is
 * true, resumes the suspended coroutine with the other arguments. No hook runs before it, not even
 * a call hook; nor, after an error, before `failed`, which also runs quietly. */
static int section_resume(lua_State *L) {
    enum { THREAD = 1, STEP, FAILED, A, B };
    lua_State *thread = lua_tothread(L, THREAD);
    luaL_argcheck(L, thread, THREAD, "coroutine expected");
    lua_pushvalue(L, STEP);
    lua_pushvalue(L, A);
    lua_pushvalue(L, B);
    const int args = lua_gettop(L) - 3 - B;
    if (!lua_checkstack(thread, args))
        return luaL_error(L, "too many arguments");
    call_quietly(L, 2, 1);
    const bool goes_on = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (goes_on)
        lua_xmove(L, thread, args);
    const int status = goes_on ? resume(thread, L, args) : 0;
    const bool is_well = status == 0 || status == LUA_YIELD;
    lua_settop(L, B);
    lua_pushboolean(L, is_well);
    if (is_well)
        return 1;
    lua_xmove(thread, L, 1);
    if (!lua_toboolean(L, FAILED))
        return 2;
    lua_pushvalue(L, FAILED);
    lua_pushvalue(L, A);
    lua_pushvalue(L, B);
    lua_pushvalue(L, THREAD);
    call_quietly(L, 3, 1);
    return 3;
}

/* A section nests a few calls; finalizers may run in it. */
#define LEVELS_MOST 64

bool zkl_is_in_section(lua_State *L) {
    lua_Debug frame;
    bool found = false;
    for (int level = 0; !found && level < LEVELS_MOST && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "f", &frame);
        const lua_CFunction call = lua_tocfunction(L, -1);
        found = call == section_quietly || call == section_hand_over || call == section_resume;
        lua_pop(L, 1);
    }
    return found;
}

void zkl_open_section(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&waiting_key);
    memset(lua_newuserdata(L, sizeof(script_hook)), 0, sizeof(script_hook));
    lua_rawset(L, LUA_REGISTRYINDEX);
    lua_pushcfunction(L, section_quietly);
    lua_setfield(L, -2, "quietly");
    lua_pushcfunction(L, section_replace);
    lua_setfield(L, -2, "replace");
    lua_pushcfunction(L, section_hand_over);
    lua_setfield(L, -2, "hand_over");
    lua_pushcfunction(L, section_resume);
    lua_setfield(L, -2, "resume");
}
