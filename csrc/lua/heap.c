/* SPDX-License-Identifier: MIT */
/* heap: when to wake each waiter, soonest first: a binary heap. A waiter is a table with the fields
 * _heap and _rank (false) and _moment, which belong to the heap, so removing one allocates nothing.
 * As with a queue (fifo.c), each method is a single step of Lua. */
#include "binding.h"

#define HEAP "zklock.heap"

enum { SELF = 1, WAITER, MOMENT };

/* Of one heap: the positions of its table and of its list on the stack, and how many it has. */
typedef struct heap {
    lua_State *L;
    int self, list, count;
} heap;

static int integer(lua_State *L, int table, const char *field) {
    lua_getfield(L, table, field);
    const int value = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return value;
}

static heap heap_at(lua_State *L, int self) {
    lua_getfield(L, self, "list");
    return (heap){L, self, lua_gettop(L), integer(L, self, "count")};
}

static void set_count(heap *h, int count) {
    h->count = count;
    lua_pushinteger(h->L, count);
    lua_setfield(h->L, h->self, "count");
}

static lua_Number moment_of(lua_State *L, int waiter) {
    lua_getfield(L, waiter, "_moment");
    const lua_Number moment = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return moment;
}

static lua_Number moment_at(const heap *h, int place) {
    lua_rawgeti(h->L, h->list, place);
    const lua_Number moment = moment_of(h->L, lua_gettop(h->L));
    lua_pop(h->L, 1);
    return moment;
}

static void put(const heap *h, int place, int waiter) {
    lua_pushvalue(h->L, waiter);
    lua_rawseti(h->L, h->list, place);
    lua_pushinteger(h->L, place);
    lua_setfield(h->L, waiter, "_rank");
}

static void move(const heap *h, int from, int to) {
    lua_rawgeti(h->L, h->list, from);
    put(h, to, lua_gettop(h->L));
    lua_pop(h->L, 1);
}

/* Puts the waiter there, or nearer to the front: behind the first one that is due no later. */
static void rise(const heap *h, int place, int waiter) {
    const lua_Number moment = moment_of(h->L, waiter);
    for (; place > 1 && moment_at(h, place / 2) > moment; place /= 2)
        move(h, place / 2, place);
    put(h, place, waiter);
}

/* Puts the waiter there, or nearer to the end: in front of those that are due no sooner. */
static void sink(const heap *h, int place, int waiter) {
    const lua_Number moment = moment_of(h->L, waiter);
    for (int below = 2 * place; below <= h->count; below = 2 * place) {
        if (below < h->count && moment_at(h, below + 1) < moment_at(h, below))
            below++;
        if (moment_at(h, below) >= moment)
            break;
        move(h, below, place);
        place = below;
    }
    put(h, place, waiter);
}

/* Removes the waiter at this position of the stack from its heap, if it is in one. */
static void leave(lua_State *L, int waiter) {
    lua_getfield(L, waiter, "_heap");
    if (!lua_toboolean(L, -1))
        return;
    heap h = heap_at(L, lua_gettop(L));
    const int place = integer(L, waiter, "_rank");
    lua_rawgeti(L, h.list, h.count);
    const int last = lua_gettop(L);
    lua_pushnil(L);
    lua_rawseti(L, h.list, h.count);
    zkl_set_false(L, waiter, "_heap");
    zkl_set_false(L, waiter, "_rank");
    set_count(&h, h.count - 1);
    if (place > h.count)
        return;
    if (place > 1 && moment_at(&h, place / 2) > moment_of(L, last))
        rise(&h, place, last);
    else
        sink(&h, place, last);
}

/* core.call_off(waiter): removes it from its heap, if it is in one */
static int call_off(lua_State *L) {
    lua_settop(L, 1);
    luaL_checktype(L, 1, LUA_TTABLE);
    leave(L, 1);
    return 0;
}

/* heap:add(waiter, moment): adds it, and removes it from another heap before */
static int heap_add(lua_State *L) {
    luaL_checknumber(L, MOMENT);
    leave(L, WAITER);
    heap h = heap_at(L, SELF);
    lua_pushvalue(L, WAITER);
    lua_rawseti(L, h.list, h.count + 1); /* if this raises, it is in no heap */
    set_count(&h, h.count + 1);
    lua_pushvalue(L, SELF);
    lua_setfield(L, WAITER, "_heap");
    lua_pushvalue(L, MOMENT);
    lua_setfield(L, WAITER, "_moment");
    rise(&h, h.count, WAITER);
    return 0;
}

/* heap:next() -> the soonest moment, or nil */
static int heap_next(lua_State *L) {
    const heap h = heap_at(L, SELF);
    if (h.count == 0)
        return 0;
    lua_pushnumber(L, moment_at(&h, 1));
    return 1;
}

/* heap:take(now) -> the first waiter, if it is due: it is removed; or nil */
static int heap_take(lua_State *L) {
    const lua_Number now = luaL_checknumber(L, 2);
    const heap h = heap_at(L, SELF);
    if (h.count == 0 || moment_at(&h, 1) > now)
        return 0;
    lua_rawgeti(L, h.list, 1);
    const int first = lua_gettop(L);
    leave(L, first);
    lua_settop(L, first);
    return 1;
}

/* core.heap() -> an empty heap; heap.count */
static int new_heap(lua_State *L) {
    lua_createtable(L, 0, 2);
    lua_newtable(L);
    lua_setfield(L, -2, "list");
    lua_pushinteger(L, 0);
    lua_setfield(L, -2, "count");
    luaL_getmetatable(L, HEAP);
    lua_setmetatable(L, -2);
    return 1;
}

void zkl_open_heap(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"add", heap_add}, {"next", heap_next}, {"take", heap_take}, {NULL, NULL}};
    zkl_metatable(L, HEAP, methods);
    lua_pushcfunction(L, new_heap);
    lua_setfield(L, -2, "heap");
    lua_pushcfunction(L, call_off);
    lua_setfield(L, -2, "call_off");
}
