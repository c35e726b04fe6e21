/* SPDX-License-Identifier: MIT */
/* value: passes metatables, boxes, texts and numbers between Lua and C. */
#include "binding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void zkl_set_functions(lua_State *L, const luaL_Reg *functions) {
    for (const luaL_Reg *f = functions; f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
}

void zkl_push_calls(lua_State *L, const zkl_call *calls) {
    lua_newtable(L);
    for (const zkl_call *c = calls; c->name; c++) {
        void *pointer;
        memcpy(&pointer, &c->call, sizeof pointer); /* C has no cast from function to data */
        lua_pushlightuserdata(L, pointer);
        lua_setfield(L, -2, c->name);
    }
}

void zkl_metatable(lua_State *L, const char *name, const luaL_Reg *methods) {
    luaL_newmetatable(L, name);
    zkl_set_functions(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pop(L, 1);
}

void zkl_push_token(lua_State *L, int64_t token) {
    if (sizeof(lua_Integer) >= sizeof token)
        lua_pushinteger(L, (lua_Integer)token);
    else
        lua_pushnumber(L, (lua_Number)token);
}

void zkl_set_false(lua_State *L, int table, const char *field) {
    lua_pushboolean(L, 0);
    lua_setfield(L, table, field);
}

int64_t zkl_check_token(lua_State *L, int arg) {
    if (sizeof(lua_Integer) >= sizeof(int64_t))
        return luaL_checkinteger(L, arg);
    return (int64_t)luaL_checknumber(L, arg);
}

static const char texts = 't'; /* its address is the key of the table of texts in the registry */

static void push_texts(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&texts);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

void zkl_push_text(lua_State *L, const char *text) {
    push_texts(L);
    lua_pushlightuserdata(L, (void *)text);
    lua_rawget(L, -2);
    lua_remove(L, -2);
}

void zkl_keep_text(lua_State *L, const char *text) {
    push_texts(L);
    lua_pushlightuserdata(L, (void *)text);
    lua_pushstring(L, text);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

void zkl_keep_texts(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&texts);
    lua_newtable(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
    for (zkl_status status = ZKL_STATUS_FIRST; status <= ZKL_STATUS_LAST; status++)
        zkl_keep_text(L, zkl_status_text(status));
}

int zkl_push_error(lua_State *L, zkl_status status) {
    if (status != ZKL_NO_MEMORY)
        lua_pushnil(L);
    zkl_push_text(L, zkl_status_text(status));
    return status == ZKL_NO_MEMORY ? lua_error(L) : 2;
}

zkl_nanos zkl_check_moment(lua_State *L, int arg) {
    const lua_Number seconds = luaL_checknumber(L, arg);
    luaL_argcheck(L, !isnan(seconds), arg, "the deadline must not be NaN");
    return zkl_clock_after(0, seconds > 0 ? seconds : 0);
}

uint64_t zkl_check_tag(lua_State *L, int arg) {
    return (uint64_t)luaL_checknumber(L, arg);
}

const char zkl_client_box[] = "zklock.client", zkl_visit_box[] = "zklock.visit";

/* The first part of a box, as other files see it. */
typedef struct boxed {
    void *object;
    const char *name;
    const char *mark; /* this file's address: no other userdata has it */
} boxed;

void **zkl_new_box(lua_State *L, const char *name) {
    boxed *made = lua_newuserdata(L, sizeof *made);
    *made = (boxed){NULL, name, &texts};
    luaL_getmetatable(L, name);
    lua_setmetatable(L, -2);
    return &made->object;
}

void **zkl_check_box(lua_State *L, int arg, const char *name) {
    boxed *found = lua_touserdata(L, arg);
    if (found && lua_rawlen(L, arg) == sizeof *found && found->mark == &texts &&
        found->name == name)
        return &found->object;
    return luaL_checkudata(L, arg, name);
}

int zkl_fill_box(lua_State *L, void **box, void *object) {
    *box = object;
    return object ? 1 : zkl_push_error(L, ZKL_NO_MEMORY);
}

void *zkl_empty_box(lua_State *L, const char *name) {
    void **box = zkl_check_box(L, 1, name), *object = *box;
    *box = NULL;
    return object;
}

zkl_client *zkl_check_client(lua_State *L, int arg) {
    void **box = zkl_check_box(L, arg, ZKL_CLIENT);
    luaL_argcheck(L, *box, arg, "the client was collected");
    return *box;
}

void zkl_push_session(lua_State *L, int64_t session) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)session);
    lua_pushstring(L, text);
}
