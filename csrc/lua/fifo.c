/* SPDX-License-Identifier: MIT */
/* fifo: a queue, first in, first out. The links are in the entries, so a method allocates nothing.
 * Each method is a single step of Lua: no debug hook, finalizer or other coroutine comes between
 * its reads and its writes. */
#include "binding.h"

#define FIFO "zklock.fifo"

enum { SELF = 1, ENTRY, FIRST };

static void set(lua_State *L, int table, const char *field, int value) {
    lua_pushvalue(L, value);
    lua_setfield(L, table, field);
}

/* Pushes the first entry, or false. */
static void push_first(lua_State *L) {
    lua_getfield(L, SELF, "tail");
    if (!lua_toboolean(L, -1))
        return;
    lua_pop(L, 1);
    lua_getfield(L, SELF, "head");
}

static bool is_queued(lua_State *L) {
    lua_getfield(L, ENTRY, "_next");
    lua_getfield(L, SELF, "tail");
    const bool queued = lua_toboolean(L, -2) || lua_rawequal(L, ENTRY, -1);
    lua_pop(L, 2);
    return queued;
}

static bool has_begun(lua_State *L) {
    lua_getfield(L, ENTRY, "begun");
    return lua_toboolean(L, -1);
}

static int count_of(lua_State *L) {
    lua_getfield(L, ENTRY, "count");
    return (int)lua_tointeger(L, -1);
}

/* fifo:append(entry): adds it at the end, unless it is in the queue. An entry is a table with the
 * fields _next (false) and _number, which belong to the queue; _number counts all entries ever
 * added. */
static int fifo_append(lua_State *L) {
    enum { TAIL = ENTRY + 1 };
    lua_settop(L, ENTRY);
    if (is_queued(L))
        return 0;
    lua_getfield(L, SELF, "tail");
    lua_getfield(L, SELF, "count");
    lua_pushinteger(L, lua_tointeger(L, -1) + 1);
    set(L, ENTRY, "_number", -1);
    lua_setfield(L, SELF, "count");
    if (lua_toboolean(L, TAIL))
        set(L, TAIL, "_next", ENTRY);
    else
        set(L, SELF, "head", ENTRY);
    set(L, SELF, "tail", ENTRY);
    return 0;
}

/* fifo:first() -> the first entry, or false */
static int fifo_first(lua_State *L) {
    push_first(L);
    return 1;
}

/* fifo:remove(entry) -> true; false: it is not the first one */
static int fifo_remove(lua_State *L) {
    lua_settop(L, ENTRY);
    push_first(L);
    const bool is_first = lua_rawequal(L, ENTRY, FIRST);
    if (is_first) {
        lua_getfield(L, ENTRY, "_next");
        lua_setfield(L, SELF, "head");
        lua_getfield(L, SELF, "tail");
        if (lua_rawequal(L, ENTRY, -1))
            zkl_set_false(L, SELF, "tail");
        zkl_set_false(L, ENTRY, "_next");
    }
    lua_pushboolean(L, is_first);
    return 1;
}

/* fifo:put_back(entry): makes an entry that was removed the first one, unless it is in the queue */
static int fifo_put_back(lua_State *L) {
    lua_settop(L, ENTRY);
    if (is_queued(L))
        return 0;
    push_first(L);
    set(L, ENTRY, "_next", FIRST);
    set(L, SELF, "head", ENTRY);
    if (!lua_toboolean(L, FIRST))
        set(L, SELF, "tail", ENTRY);
    return 0;
}

/* ---- of calls: lua/zklock/run/callbacks.lua ---- */

/* fifo:again(call, fn, argument): queues a call that has begun, with another argument */
static int fifo_again(lua_State *L) {
    enum { FN = ENTRY + 1, ARGUMENT };
    lua_settop(L, ARGUMENT);
    if (!has_begun(L))
        return 0;
    lua_pushvalue(L, ARGUMENT);
    lua_rawseti(L, ENTRY, 1);
    set(L, ENTRY, "fn", FN);
    zkl_set_false(L, ENTRY, "begun");
    return fifo_append(L);
}

/* Replaces all arguments of the call with false. */
static void forget(lua_State *L, int count) {
    for (int i = 1; i <= count; i++) {
        lua_pushboolean(L, 0);
        lua_rawseti(L, ENTRY, i);
    }
}

/* fifo:begin(call) -> its arguments, which the call forgets: it has begun. The caller's next
 * instruction passes its function to xpcall. No hook comes before that function, neither one of
 * instructions nor one of calls. */
static int fifo_begin(lua_State *L) {
    enum { UNTIL_BEGUN = 2 };
    lua_settop(L, ENTRY);
    const int count = count_of(L);
    luaL_checkstack(L, count + LUA_MINSTACK, "too many arguments");
    lua_pushboolean(L, 1);
    lua_setfield(L, ENTRY, "begun");
    for (int i = 1; i <= count; i++)
        lua_rawgeti(L, ENTRY, i);
    forget(L, count);
    zkl_delay_hook(L, UNTIL_BEGUN);
    return count;
}

/* fifo:forget(call): a call that has begun, and is not queued again, lets go of its arguments */
static int fifo_forget(lua_State *L) {
    lua_settop(L, ENTRY);
    if (has_begun(L))
        forget(L, count_of(L));
    return 0;
}

/* core.fifo() -> an empty queue; fifo.count: how many entries were ever added; fifo.tail: false if
 * it is empty */
static int new_fifo(lua_State *L) {
    lua_createtable(L, 0, 3);
    zkl_set_false(L, -2, "head");
    zkl_set_false(L, -2, "tail");
    lua_pushinteger(L, 0);
    lua_setfield(L, -2, "count");
    luaL_getmetatable(L, FIFO);
    lua_setmetatable(L, -2);
    return 1;
}

void zkl_open_fifo(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"append", fifo_append}, {"first", fifo_first}, {"remove", fifo_remove},
        {"again", fifo_again},   {"begin", fifo_begin}, {"put_back", fifo_put_back},
        {"forget", fifo_forget}, {NULL, NULL},
    };
    zkl_metatable(L, FIFO, methods);
    lua_pushcfunction(L, new_fifo);
    lua_setfield(L, -2, "fifo");
}
