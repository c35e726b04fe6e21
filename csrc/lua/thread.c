/* SPDX-License-Identifier: MIT */
/* thread: examines coroutines from outside. coroutine.status() says "dead" for every thread with an
 * empty stack, also for a host's thread that will run functions again. Only a coroutine that resume
 * runs ends with its function. */
#include "binding.h"

/* lua_isyieldable exists from 5.3 on, and in LuaJIT 2.1. */
#if LUA_VERSION_NUM >= 503
#define HAS_YIELDABLE true
#elif LUA_VERSION_NUM == 502
#define HAS_YIELDABLE false
#define lua_isyieldable(thread) ((void)(thread), false)
#else
#define HAS_YIELDABLE (lua_isyieldable != NULL)
#endif

static lua_State *check(lua_State *L) {
    lua_State *thread = lua_tothread(L, 1);
    luaL_argcheck(L, thread, 1, "coroutine expected");
    return thread;
}

static bool is_main(lua_State *thread) {
    if (!lua_checkstack(thread, 1))
        return false;
    const bool yes = lua_pushthread(thread);
    lua_pop(thread, 1);
    return yes;
}

#ifndef LUA_RIDX_MAINTHREAD
#define KEEPS_MAIN 1
static const char main_key = 'm';
#else
#define KEEPS_MAIN 0
#endif

/* NULL: unknown. */
static lua_State *main_of(lua_State *L) {
#if KEEPS_MAIN
    lua_pushlightuserdata(L, (void *)&main_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
#else
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
#endif
    lua_State *main = lua_tothread(L, -1);
    lua_pop(L, 1);
    return main;
}

/* Lua itself allows no more nested calls of C functions (LUAI_MAXCCALLS). The first arguments of a
 * host's own functions may form a circle. */
enum { NESTED_MOST = 200 };

/* The thread that `from` has resumed, by coroutine.resume or by a function of coroutine.wrap: the
 * former has it as its first argument, the latter as an upvalue. */
static lua_State *resumed_by(lua_State *from) {
    lua_Debug frame;
    lua_State *next = NULL;
    if (!lua_getstack(from, 0, &frame) || !lua_checkstack(from, 2))
        return NULL;
    lua_getinfo(from, "f", &frame);
    if (lua_iscfunction(from, -1)) {
        if (lua_getlocal(from, &frame, 1)) {
            next = lua_tothread(from, -1);
            lua_pop(from, 1);
        }
        if (!next && lua_getupvalue(from, -1, 1)) {
            next = lua_tothread(from, -1);
            lua_pop(from, 1);
        }
    }
    lua_pop(from, 1);
    return next;
}

/* True if `thread`, which runs or has resumed another one, is run by resume. */
static bool runs_as_coroutine(lua_State *L, lua_State *thread) {
    if (HAS_YIELDABLE)
        return lua_isyieldable(thread);
    lua_State *from = main_of(L);
    for (int depth = 0; from && from != thread && from != L; depth++)
        from = depth < NESTED_MOST ? resumed_by(from) : NULL;
    return from == thread && !is_main(thread);
}

bool zkl_is_run_by_resume(lua_State *thread) {
    return runs_as_coroutine(thread, thread);
}

/* core.is_main(thread) -> true if it is the main program's */
static int thread_is_main(lua_State *L) {
    lua_pushboolean(L, is_main(check(L)));
    return 1;
}

/* core.is_coroutine(thread) -> true if resume is known to run it. False may be wrong: inside a
 * function that cannot be suspended, nobody knows. */
static int thread_is_coroutine(lua_State *L) {
    lua_State *thread = check(L);
    lua_Debug frame;
    const bool has_begun = lua_getstack(thread, 0, &frame) || lua_status(thread);
    lua_pushboolean(L, lua_status(thread) == LUA_YIELD || (!has_begun && lua_gettop(thread) > 0) ||
                           (has_begun && runs_as_coroutine(L, thread)));
    return 1;
}

/* core.fate(thread) -> "failed"; "suspended"; "idle": its stack is empty; "busy": none of these */
static int thread_fate(lua_State *L) {
    lua_State *thread = check(L);
    lua_Debug frame;
    const int status = lua_status(thread);
    if (status == LUA_YIELD)
        lua_pushliteral(L, "suspended");
    else if (status)
        lua_pushliteral(L, "failed");
    else if (lua_getstack(thread, 0, &frame) || lua_gettop(thread) > 0)
        lua_pushliteral(L, "busy");
    else
        lua_pushliteral(L, "idle");
    return 1;
}

/* Pops an owner. True if nothing is new about it. Tables as in core.first_to_look_at. */
static bool goes_on(lua_State *L) {
    enum { COROUTINES = 2, STAND_INS = 3 };
    lua_State *thread = lua_tothread(L, -1);
    lua_Debug frame;
    bool good = !lua_isnil(L, -1);
    if (thread && lua_status(thread) == 0) {
        good = lua_getstack(thread, 0, &frame) || lua_gettop(thread) > 0;
    } else if (thread) {
        lua_rawget(L, COROUTINES);
        good = lua_status(thread) == LUA_YIELD && lua_toboolean(L, -1);
    } else if (good) {
        lua_rawget(L, STAND_INS);
        good = lua_isnil(L, -1);
    }
    lua_pop(L, 1);
    return good;
}

static bool is_empty(lua_State *L, int table, int at) {
    lua_rawgeti(L, table, at);
    lua_pushnil(L);
    const bool empty = !lua_next(L, -2);
    lua_pop(L, empty ? 1 : 3);
    return empty;
}

/* core.first_to_look_at(owners, coroutines, stand_ins, from, steps, shares) -> the number of the
 * first owner, from `from` down, about which there may be more to note than that it is alive and,
 * if there are `shares`, has a non-empty one; or nothing. `coroutines` are known to be run by
 * resume; `stand_ins` are owners that stand for a coroutine. */
static int thread_first_to_look_at(lua_State *L) {
    enum { OWNERS = 1, TABLES = 3, FROM, STEPS, SHARES };
    for (int table = OWNERS; table <= TABLES; table++)
        luaL_checktype(L, table, LUA_TTABLE);
    const int from = (int)luaL_checkinteger(L, FROM);
    const int end = from - (int)luaL_checkinteger(L, STEPS);
    lua_settop(L, SHARES);
    const bool has_shares = lua_istable(L, SHARES);
    for (int number = from; number > end; number--) {
        lua_rawgeti(L, OWNERS, number);
        if (!goes_on(L) || (has_shares && is_empty(L, SHARES, number))) {
            lua_pushinteger(L, number);
            return 1;
        }
    }
    return 0;
}

/* The frame of the first function that runs in it, or ran when it died; -1: there is none. */
static int bottom_level(lua_State *thread) {
    lua_Debug frame;
    int level = 0, step = 1;
    if (!lua_getstack(thread, 0, &frame))
        return -1;
    for (; lua_getstack(thread, level + step, &frame); step *= 2)
        level += step;
    for (; step > 0; step /= 2)
        if (lua_getstack(thread, level + step, &frame))
            level += step;
    return level;
}

/* True if the function at this level of the thread is the one at index `arg`. A finished tail call
 * does not count. */
static bool is_at(lua_State *L, lua_State *thread, int level, int arg) {
    lua_Debug frame;
    if (level < 0 || !lua_getstack(thread, level, &frame))
        return false;
    lua_getinfo(thread, "f", &frame);
    if (thread != L)
        lua_xmove(thread, L, 1);
    const bool same = lua_rawequal(L, -1, arg);
    lua_pop(L, 1);
    return same;
}

/* core.has_begun(coroutine, body, fn) -> true if `fn` has been called. The coroutine was created
 * with `body`, whose last step calls `fn`. Without memory the thread may have died before it had
 * even a frame for `body`. The frame of a Lua function replaces that of `body`, that of a C
 * function does not. */
static int thread_has_begun(lua_State *L) {
    lua_State *thread = check(L);
    lua_settop(L, 3);
    const int bottom = bottom_level(thread);
    if (bottom < 0)
        lua_pushboolean(L, false);
    else if (!lua_checkstack(thread, 1)) /* there is room as long as only `body` has run */
        lua_pushboolean(L, true);
    else
        lua_pushboolean(L, !is_at(L, thread, bottom, 2) || is_at(L, thread, bottom - 1, 3));
    return 1;
}

void zkl_open_thread(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"is_main", thread_is_main},
        {"is_coroutine", thread_is_coroutine},
        {"fate", thread_fate},
        {"has_begun", thread_has_begun},
        {"first_to_look_at", thread_first_to_look_at},
        {NULL, NULL},
    };
    zkl_set_functions(L, functions);
#if KEEPS_MAIN
    lua_pushlightuserdata(L, (void *)&main_key);
    if (lua_pushthread(L))
        lua_rawset(L, LUA_REGISTRYINDEX);
    else
        lua_pop(L, 2);
#endif
}
