/* SPDX-License-Identifier: MIT */
/* visit: the userdata around a zkl_visit, and the functions that nginx and LuaJIT call on it. */
#include "binding.h"

#include <string.h>

int zkl_lua_visit(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const uint64_t tag = zkl_check_tag(L, 2);
    void **box = zkl_new_box(L, ZKL_VISIT);
    return zkl_fill_box(L, box, zkl_visit_new(client, tag));
}

static int visit_drop(lua_State *L) {
    zkl_visit *visit = zkl_empty_box(L, ZKL_VISIT);
    if (visit)
        zkl_visit_drop(visit);
    return 0;
}

/* ---- for LuaJIT's FFI, which passes the userdata as a pointer to its box ---- */

/* A finalizer may ask when Lua closes, after the box was emptied. */
static int ended(void *const *box) {
    return !*box || zkl_visit_ended(*box);
}

static void announce(void *const *box, bool announced) {
    if (*box)
        zkl_visit_announce(*box, announced);
}

/* The beginning of nginx's ngx_http_cleanup_t. */
typedef struct cleanup {
    void (*handler)(void *data);
    void *data;
} cleanup;

/* nginx will report the visit's end, once. */
static void lend(void *const *box, cleanup *at) {
    if (!*box)
        return;
    zkl_visit_lend(*box);
    *at = (cleanup){zkl_visit_end, *box};
}

/* The same for another visit, which has not ended; 0: it cannot be reused. */
static int renew(void *const *box, cleanup *at) {
    const bool renewed = *box && zkl_visit_renew(*box);
    if (renewed)
        lend(box, at);
    return renewed;
}

static void hook(void *const *box, zkl_visit_handler **slot) {
    if (*box)
        zkl_visit_hook(*box, slot);
}

int zkl_lua_visit_calls(lua_State *L) {
    static const zkl_call calls[] = {
        {"ended", (void (*)(void))ended}, {"announce", (void (*)(void))announce},
        {"lend", (void (*)(void))lend},   {"renew", (void (*)(void))renew},
        {"hook", (void (*)(void))hook},   {NULL, NULL},
    };
    zkl_push_calls(L, calls);
    return 1;
}

/* A pointer that came as a number: LuaJIT passes none of its own pointers to C functions. */
static void *check_address(lua_State *L, int arg) {
    const uintptr_t address = (uintptr_t)luaL_checknumber(L, arg);
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
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
        {"__gc", visit_drop},
        {NULL, NULL},
    };
    zkl_metatable(L, ZKL_VISIT, methods);
}
