/* SPDX-License-Identifier: MIT */
/* scarce: the Lua module with which the specs of this folder let memory run out: that of the engine
 * in this very file, and that of Lua states. */
#include "scarce.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

/* A state's allocator, and how many of its wishes to fail. */
typedef struct purse {
    lua_Alloc allocate;
    void *ctx;
    unsigned asked, first, last;
} purse;

/* Lua counts on getting less or nothing. */
static void *grudge(void *ctx, void *block, size_t old, size_t wanted) {
    purse *p = ctx;
    if (wanted > 0 && (!block || wanted > old)) {
        p->asked++;
        if (p->first && p->asked >= p->first && p->asked < p->last)
            return NULL;
    }
    return p->allocate(p->ctx, block, old, wanted);
}

static purse *purse_of(lua_State *L) {
    void *p = NULL;
    return lua_getallocf(L, &p) == grudge ? p : NULL;
}

static void give_purse(lua_State *L, purse *p) {
    *p = (purse){0};
    p->allocate = lua_getallocf(L, &p->ctx);
    lua_setallocf(L, grudge, p);
}

/* A number of times in a row: 1 for once, math.huge for ever. From 5.2 on Lua collects garbage when
 * it is refused, and asks again: once is twice then. */
static unsigned check_times(lua_State *L, int arg) {
#ifdef LUA_RIDX_MAINTHREAD
    const unsigned attempts = 2;
#else
    const unsigned attempts = 1;
#endif
    const lua_Number times = luaL_checknumber(L, arg);
    return times > 1e6 ? 1u << 30 : attempts * (unsigned)times;
}

/* scarce.try(nth, times, fn, ...) -> asked, ok, results of fn or what it raised: calls fn; its nth
 * allocation in this Lua state fails, and so many in a row. `asked`: how many there were. */
static int scarce_try(lua_State *L) {
    purse *p = purse_of(L);
    const unsigned nth = (unsigned)luaL_checkinteger(L, 1), times = check_times(L, 2);
    luaL_checkstack(L, 20, NULL);
    p->asked = 0;
    p->last = nth + times;
    p->first = nth;
    const int status = lua_pcall(L, lua_gettop(L) - 3, LUA_MULTRET, 0);
    p->first = 0;
    lua_pushinteger(L, (lua_Integer)p->asked);
    lua_replace(L, 1);
    lua_pushboolean(L, status == 0);
    lua_replace(L, 2);
    return lua_gettop(L);
}

/* scarce.live(code, nth, times, ...) -> asked, ok, what the code returned or raised, as text: a Lua
 * state for this code, from its birth to its end. The code calls its third argument when
 * allocations begin to count. */
static int begin(lua_State *L) {
    purse *p = purse_of(L);
    p->asked = 0;
    p->first = (unsigned)lua_tointeger(L, lua_upvalueindex(1));
    return 0;
}

static int scarce_live(lua_State *L) {
    size_t length;
    const char *code = luaL_checklstring(L, 1, &length);
    const lua_Integer nth = luaL_checkinteger(L, 2);
    const unsigned times = check_times(L, 3);
    purse p;
    lua_State *M = luaL_newstate();
    if (!M)
        return luaL_error(L, "no memory for a Lua state");
    give_purse(M, &p);
    p.last = (unsigned)nth + times;
    luaL_openlibs(M);
    int status = luaL_loadbuffer(M, code, length, "=life");
    if (status == 0) {
        for (int arg = 4; arg <= 5; arg++)
            lua_pushstring(M, lua_tostring(L, arg));
        lua_pushinteger(M, nth);
        lua_pushcclosure(M, begin, 1);
        status = lua_pcall(M, 3, 1, 0);
    }
    p.first = 0;
    lua_pushinteger(L, (lua_Integer)p.asked);
    lua_pushboolean(L, status == 0);
    lua_pushstring(L, lua_tostring(M, -1));
    lua_close(M);
    return 3;
}

/* scarce.engine(nth, times): the nth allocation of the engine from now on fails, and so many in a
 * row; 0: none. */
static int scarce_engine(lua_State *L) {
    scarce_plan((unsigned)luaL_checkinteger(L, 1), (unsigned)luaL_optinteger(L, 2, 1));
    return 0;
}

/* scarce.engine_asked() -> how many there were since */
static int scarce_engine_asked(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)scarce_asked());
    return 1;
}

#pragma GCC visibility push(default)
int luaopen_scarce(lua_State *L);
#pragma GCC visibility pop

int luaopen_scarce(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"try", scarce_try},
        {"live", scarce_live},
        {"engine", scarce_engine},
        {"engine_asked", scarce_engine_asked},
        {NULL, NULL},
    };
    if (!purse_of(L)) {
        static purse own; /* for one state, to its end: others live in scarce.live */
        give_purse(L, &own);
    }
    lua_newtable(L);
    for (const luaL_Reg *f = functions; f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    return 1;
}
