/* SPDX-License-Identifier: MIT */
/* visit: the userdata around a zkl_visit, and the parts that a C library needs to report its
 * end. */
#include "binding.h"

#include <string.h>

static zkl_visit *check(lua_State *L) {
    void **box = zkl_check_box(L, 1, ZKL_VISIT);
    luaL_argcheck(L, *box, 1, "the visit was dropped");
    return *box;
}

int zkl_lua_visit(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const uint64_t tag = zkl_check_tag(L, 2);
    void **box = zkl_new_box(L, ZKL_VISIT);
    *box = zkl_visit_new(client, tag);
    return *box ? 1 : zkl_push_error(L, ZKL_NO_MEMORY);
}

static int visit_drop(lua_State *L) {
    zkl_visit *visit = zkl_empty_box(L, ZKL_VISIT);
    if (visit)
        zkl_visit_drop(visit);
    return 0;
}

static int visit_ended(lua_State *L) {
    lua_pushboolean(L, zkl_visit_ended(check(L)));
    return 1;
}

/* visit:lend() -> handler, data: two pointers; their user calls handler(data) once, at the visit's
 * end */
static int visit_lend(lua_State *L) {
    zkl_visit *visit = check(L);
    void (*handler)(void *) = zkl_visit_end;
    void *pointer;
    memcpy(&pointer, &handler, sizeof pointer); /* C has no cast from function to data */
    lua_pushlightuserdata(L, pointer);
    lua_pushlightuserdata(L, visit);
    zkl_visit_lend(visit);
    return 2;
}

/* visit:renew() -> true: it now stands for another visit, which has not ended, and is lent as
 * before; false: it cannot be reused */
static int visit_renew(lua_State *L) {
    zkl_visit *visit = check(L);
    const bool renewed = zkl_visit_renew(visit);
    if (renewed)
        zkl_visit_lend(visit);
    lua_pushboolean(L, renewed);
    return 1;
}

/* A pointer that came as a number: LuaJIT passes none of its own pointers to C functions. */
static void *check_address(lua_State *L, int arg) {
    const uintptr_t address = (uintptr_t)luaL_checknumber(L, arg);
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

/* visit:hook(address): the address of a slot for a handler. */
static int visit_hook(lua_State *L) {
    zkl_visit *visit = check(L);
    zkl_visit_hook(visit, check_address(L, 2));
    return 0;
}

/* nginx's header filters: a chain of functions of a request; a variable contains the first one. */
typedef intptr_t header_filter(void *request);
static header_filter *next_filter; /* NULL: ours is not in the chain yet */
static size_t slot_at;             /* offset in a request of the slot for its handler */

static intptr_t spare_handler(void *request) {
    zkl_visit *visit = zkl_visit_unhook((zkl_visit_handler **)((char *)request + slot_at));
    const intptr_t result = next_filter(request);
    if (visit)
        zkl_visit_rehook(visit);
    return result;
}

int zkl_lua_spare_handlers(lua_State *L) {
    header_filter **first = check_address(L, 1);
    if (next_filter)
        return 0;
    slot_at = (size_t)luaL_checknumber(L, 2);
    next_filter = *first;
    *first = spare_handler;
    return 0;
}

void zkl_open_visit(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", visit_drop},   {"drop", visit_drop}, {"ended", visit_ended}, {"lend", visit_lend},
        {"renew", visit_renew}, {"hook", visit_hook}, {NULL, NULL},
    };
    zkl_metatable(L, ZKL_VISIT, methods);
}
