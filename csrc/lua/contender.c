/* contender: the userdata around a zkl_contender; collected, it gives back what it holds or waits
 * for. */
#include "binding.h"

zkl_contender *zkl_check_contender(lua_State *L, int arg) {
    void **box = luaL_checkudata(L, arg, ZKL_CONTENDER);
    luaL_argcheck(L, *box, arg, "the place was dropped");
    return *box;
}

static zkl_contender *check(lua_State *L) {
    return zkl_check_contender(L, 1);
}

static int contender_drop(lua_State *L) {
    void **box = luaL_checkudata(L, 1, ZKL_CONTENDER);
    zkl_contender *contender = *box;
    *box = NULL;
    if (contender)
        zkl_drop(contender);
    return 0;
}

/* contender:release() -> true, or nil, err */
static int contender_release(lua_State *L) {
    const zkl_status status = zkl_release(check(L));
    if (status != ZKL_OK)
        return zkl_push_error(L, status);
    lua_pushboolean(L, 1);
    return 1;
}

/* contender:quit(): ends the wait or the hold, whatever it is, and lets go: nobody has abandoned
 * it */
static int contender_quit(lua_State *L) {
    zkl_contender *contender = *(void **)luaL_checkudata(L, 1, ZKL_CONTENDER);
    if (contender) {
        zkl_cancel(contender);
        zkl_release(contender);
    }
    return contender_drop(L);
}

static int contender_cancel(lua_State *L) {
    zkl_cancel(check(L));
    return 0;
}

static int contender_held(lua_State *L) {
    lua_pushboolean(L, zkl_held(check(L)));
    return 1;
}

/* contender:token() -> integer, nil when it does not hold */
static int contender_token(lua_State *L) {
    const int64_t token = zkl_token(check(L));
    if (token)
        zkl_push_token(L, token);
    else
        lua_pushnil(L);
    return 1;
}

static int contender_validity(lua_State *L) {
    lua_pushnumber(L, zkl_validity(check(L)));
    return 1;
}

/* contender:ask_validity(tag, moment) -> query, answered when validity is above 0 */
static int contender_ask_validity(lua_State *L) {
    zkl_contender *contender = check(L);
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_push_query(L, box, zkl_query_validity(contender, tag, deadline));
}

void zkl_open_contender(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", contender_drop},
        {"drop", contender_drop},
        {"quit", contender_quit},
        {"release", contender_release},
        {"cancel", contender_cancel},
        {"held", contender_held},
        {"token", contender_token},
        {"validity", contender_validity},
        {"ask_validity", contender_ask_validity},
        {NULL, NULL},
    };
    zkl_metatable(L, ZKL_CONTENDER, methods);
}
