/* SPDX-License-Identifier: MIT */
/* handover: the last call of a function that gives its caller something: a hold, a lease. Until
 * that function has returned, no debug hook runs: if one raised in between, the caller would never
 * hear of what it got.
 *
 * Another hook puts the script's hook back: at each event it checks whether the function has
 * returned. */
#include "binding.h"

/* The script's hook, while it waits. */
struct waiting {
    lua_State *thread; /* the thread in which it waits */
    /* while at least so many functions are on the stack, the caller does not run yet */
    int depth;
    lua_Hook hook;
    int mask, count;
};

static const char waiting_key = 'w';

/* In LuaJIT a tail call replaces the frame of its caller, and all coroutines have one hook. Lua
 * keeps the frame when a C function is called, up to 5.3 for one more instruction. */
#define OURS (ZKL_IS_LUAJIT ? 0 : 1)
#define ONE_HOOK ZKL_IS_LUAJIT

enum whose { OF_THREAD, LATEST };

static void push_key(lua_State *L, enum whose whose) {
    if (ONE_HOOK || whose == LATEST)
        lua_pushlightuserdata(L, (void *)&waiting_key);
    else
        lua_pushthread(L);
}

/* Pushes the table of the waiting hooks: one for each thread, and the latest of all. */
static void push_all(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&waiting_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

/* NULL: there is none yet. It lives as long as its thread. */
static struct waiting *find(lua_State *L, enum whose whose) {
    push_all(L);
    push_key(L, whose);
    lua_rawget(L, -2);
    struct waiting *waiting = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return waiting;
}

/* A thread that a C function has created from another one inherits the hook of that one: also our
 * hook, if no event came in between. */
static const struct waiting *find_own_or_inherited(lua_State *L) {
    const struct waiting *own = find(L, OF_THREAD);
    return own ? own : find(L, LATEST);
}

static struct waiting *find_or_make(lua_State *L, enum whose whose) {
    struct waiting *waiting = find(L, whose);
    if (waiting)
        return waiting;
    push_all(L);
    push_key(L, whose);
    waiting = lua_newuserdata(L, sizeof *waiting);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    return waiting;
}

static int depth_of(lua_State *L) {
    lua_Debug frame;
    int depth = 0, step = 1;
    for (; lua_getstack(L, depth + step - 1, &frame); step *= 2)
        depth += step;
    for (; step > 0; step /= 2)
        if (lua_getstack(L, depth + step - 1, &frame))
            depth += step;
    return depth;
}

static bool is_call(int event) {
#ifdef LUA_HOOKTAILCALL
    if (event == LUA_HOOKTAILCALL)
        return true;
#endif
    return event == LUA_HOOKCALL;
}

/* For functions that our function has replaced by tail calls: they return with it. */
static bool is_tail_return(int event) {
#ifdef LUA_HOOKTAILRET
    return event == LUA_HOOKTAILRET;
#else
    (void)event;
    return false;
#endif
}

static bool has_returned(lua_State *L, const struct waiting *waiting, int event) {
    lua_Debug frame;
    if (waiting->thread != L || is_call(event))
        return true;
    return !is_tail_return(event) && !lua_getstack(L, waiting->depth - 1, &frame);
}

static bool concerns(const struct waiting *waiting, int event) {
    if (is_call(event))
        return waiting->mask & LUA_MASKCALL;
    if (event == LUA_HOOKCOUNT)
        return (waiting->mask & LUA_MASKCOUNT) && waiting->count == 1;
    return waiting->mask & LUA_MASKRET;
}

static void put_back(lua_State *L, lua_Debug *frame) {
    const struct waiting *waiting = find_own_or_inherited(L);
    const int event = frame->event;
    if (!has_returned(L, waiting, event))
        return;
    lua_sethook(L, waiting->hook, waiting->mask, waiting->count);
    if (concerns(waiting, event))
        waiting->hook(L, frame);
}

/* Takes away the hook that the thread has, or would have by now. */
static struct waiting take(lua_State *L) {
    if (lua_gethook(L) == put_back) {
        const struct waiting *waiting = find_own_or_inherited(L);
        lua_sethook(L, waiting->hook, waiting->mask, waiting->count);
    }
    const struct waiting taken = {L, 0, lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L)};
    if (taken.hook)
        lua_sethook(L, NULL, 0, 0);
    return taken;
}

/* Makes the hook wait until the caller's function has returned. */
static void let_wait(lua_State *L, const struct waiting *hook, struct waiting *own) {
    struct waiting waiting = *hook;
    waiting.depth = depth_of(L) - OURS;
    if (own)
        *own = waiting;
    *find(L, LATEST) = waiting;
    lua_sethook(L, put_back, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* hand_over without a hook. If a signal sets one meanwhile, there is room for it without an
 * allocation. */
static int hand_over_unhooked(lua_State *L) {
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    const struct waiting meanwhile = take(L);
    if (meanwhile.hook)
        let_wait(L, &meanwhile, find(L, OF_THREAD));
    return lua_gettop(L);
}

/* core.hand_over(fn, ...) -> the results of fn, which cannot be suspended. The caller returns them:
 * `return hand_over(...)`. A hook that is set meanwhile (by a signal) waits as well. */
static int hand_over(lua_State *L) {
    luaL_checkany(L, 1);
    if (!lua_gethook(L))
        return hand_over_unhooked(L);
    struct waiting *own = find_or_make(L, OF_THREAD);
    const struct waiting before = take(L);
    const int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    const struct waiting meanwhile = take(L);
    const struct waiting *hook = meanwhile.hook ? &meanwhile : &before;
    if (status) {
        lua_sethook(L, hook->hook, hook->mask, hook->count);
        return lua_error(L);
    }
    if (!hook->hook)
        return lua_gettop(L);
    let_wait(L, hook, own);
    return lua_gettop(L);
}

void zkl_open_handover(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&waiting_key);
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    find_or_make(L, LATEST);
    lua_pushcfunction(L, hand_over);
    lua_setfield(L, -2, "hand_over");
}
