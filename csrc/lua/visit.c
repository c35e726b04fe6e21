/* visit: the userdata around a zkl_visit, and what a C library needs to tell its end. */
#include "binding.h"

#include <string.h>

static zkl_visit *check(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_VISIT);
    luaL_argcheck(L, *box, 1, "the visit was dropped");
    return *box;
}

static int visit_drop(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_VISIT);
    zkl_visit *visit = *box;
    *box = NULL;
    if (visit)
        zkl_visit_drop(visit);
    return 0;
}

static int visit_ended(lua_State *L) {
    lua_pushboolean(L, zkl_visit_ended(check(L)));
    return 1;
}

/* visit:lend() -> handler, data: two pointers; whoever gets them calls handler(data) once, at the visit's end */
static int visit_lend(lua_State *L) {
    zkl_visit *visit = check(L);
    void (*handler)(void *) = zkl_visit_end;
    void *pointer;
    memcpy(&pointer, &handler, sizeof pointer); /* C knows no cast from function to data */
    lua_pushlightuserdata(L, pointer);
    lua_pushlightuserdata(L, visit);
    zkl_visit_lend(visit);
    return 2;
}

void zkl_open_visit(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", visit_drop}, {"drop", visit_drop}, {"ended", visit_ended},
        {"lend", visit_lend}, {NULL, NULL},
    };
    zkl_metatable(L, ZKL_VISIT, methods);
}
