/* contender: the userdata around a zkl_contender; collected, it gives back what it holds or waits
 * for. */
#include "binding.h"

/* The userdata; as others see it, its first part. */
typedef struct entry {
    zkl_contender *contender; /* NULL: it has not joined yet, or was dropped */
    const char *mark;         /* nobody else's userdata has the address of this file's */
    const lua_State *main;    /* of one whose owner is the main program, once he has come by */
    int64_t token;            /* as its owner was handed it */
    unsigned count;           /* of one that is held: how often its owner has it */
    bool pinned; /* somebody else refers to this hold: it does not become another one */
} entry;

static const char mark = 'c';

void **zkl_new_contender(lua_State *L) {
    entry *e = lua_newuserdata(L, sizeof *e);
    *e = (entry){NULL, &mark, NULL, 0, 1, false};
    luaL_getmetatable(L, ZKL_CONTENDER);
    lua_setmetatable(L, -2);
    return (void **)&e->contender;
}

/* NULL: it is none. */
static entry *entry_at(lua_State *L, int arg) {
    entry *e = lua_touserdata(L, arg);
    return e && lua_rawlen(L, arg) == sizeof *e && e->mark == &mark ? e : NULL;
}

static entry *check_entry_at(lua_State *L, int arg) {
    entry *e = entry_at(L, arg);
    return e ? e : luaL_checkudata(L, arg, ZKL_CONTENDER);
}

static entry *check_entry(lua_State *L) {
    return check_entry_at(L, 1);
}

zkl_contender *zkl_check_contender(lua_State *L, int arg) {
    const entry *e = check_entry_at(L, arg);
    luaL_argcheck(L, e->contender, arg, "the contender was dropped");
    return e->contender;
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

/* contender:give_up() -> true, or nil, err: as release, but nobody of this client takes it over */
static int contender_give_up(lua_State *L) {
    const zkl_status status = zkl_give_up(check(L));
    if (status != ZKL_OK)
        return zkl_push_error(L, status);
    lua_pushboolean(L, 1);
    return 1;
}

/* contender:would_release() -> true, or nil, err: what release would answer now */
static int contender_would_release(lua_State *L) {
    const zkl_status status = zkl_would_release(check(L));
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
        zkl_give_up(contender);
    }
    return contender_drop(L);
}

static int contender_cancel(lua_State *L) {
    zkl_cancel(check(L));
    return 0;
}

/* A dropped contender is not held. */
static int contender_held(lua_State *L) {
    const entry *e = check_entry(L);
    lua_pushboolean(L, e->contender && zkl_held(e->contender));
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

/* contender:turn() -> which grant on its shared node it is; 0: it shares none; nil when it does not
 * hold */
static int contender_turn(lua_State *L) {
    uint64_t turn;
    if (zkl_turn(check(L), &turn))
        lua_pushinteger(L, (lua_Integer)turn);
    else
        lua_pushnil(L);
    return 1;
}

static int contender_validity(lua_State *L) {
    const entry *e = check_entry(L);
    lua_pushnumber(L, e->contender ? zkl_validity(e->contender) : 0);
    return 1;
}

/* contender:given_back() -> was it held, given back, and not taken again the short way? */
static int contender_given_back(lua_State *L) {
    const entry *e = check_entry(L);
    lua_pushboolean(L, e->contender && zkl_given_back(e->contender));
    return 1;
}

/* contender:pin(): what it holds is not given back the short way */
static int contender_pin(lua_State *L) {
    check_entry(L)->pinned = true;
    return 0;
}

/* contender:count() -> how often its owner has it, once it is held */
static int contender_count(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)check_entry(L)->count);
    return 1;
}

/* contender:add(difference): its owner has it so much more often */
static int contender_add(lua_State *L) {
    entry *e = check_entry(L);
    e->count += (unsigned)luaL_checkinteger(L, 2);
    return 0;
}

/* contender:hand(token): its owner is handed it */
static int contender_hand(lua_State *L) {
    check_entry(L)->token = zkl_check_token(L, 2);
    return 0;
}

/* contender:ask_validity(tag, moment) -> query, answered when validity is above 0 */
static int contender_ask_validity(lua_State *L) {
    zkl_contender *contender = check(L);
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_push_query(L, box, zkl_query_validity(contender, tag, deadline));
}

/* contender:nodes() -> list of full paths without the chroot; empty when it does not hold */
static int contender_nodes(lua_State *L) {
    zkl_contender *contender = check(L);
    char path[ZKL_NODE_PATH];
    lua_newtable(L);
    for (int i = 0; zkl_node_at(contender, (size_t)i, path, sizeof path); i++) {
        lua_pushstring(L, path);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* ---- calls that are made often: they take no lock and allocate nothing ---- */

/* Is it run now by the owner of `e`? Argument `arg` is a reference to him: a table with him in it,
 * or with a table that stands for the main program; true: he was found already. */
static bool is_here(lua_State *L, entry *e, int arg) {
    if (e->main == L)
        return true;
    if (!lua_istable(L, arg))
        return lua_toboolean(L, arg);
    lua_rawgeti(L, arg, 1);
    const lua_State *thread = lua_tothread(L, -1);
    if (thread)
        return thread == L;
    if (!lua_istable(L, -1) || !lua_pushthread(L))
        return false;
    e->main = L; /* which lives as long as anything of that state does */
    return true;
}

/* Argument 1, if his owner is here. NULL: the caller takes the long way; also while a hook is set,
 * which might raise before he has done what he is about to do. */
static entry *entry_here(lua_State *L, int owner) {
    entry *e = entry_at(L, 1);
    return e && e->contender && is_here(L, e, owner) && !lua_gethook(L) ? e : NULL;
}

/* Nothing that a wait may last is refused here. */
static bool is_timeout(lua_State *L, int arg) {
    const int type = lua_type(L, arg);
    return type <= LUA_TNIL || (type == LUA_TNUMBER && lua_tonumber(L, arg) >= 0);
}

static bool is_same_handle(lua_State *L, int a, int b) {
    return lua_istable(L, a) && lua_rawequal(L, a, b);
}

/* core.again(contender, timeout, owner, listener, handle) -> token: its owner is here, holds it
 * with validity left, and has it once more from now on; or, if he took it through this handle, he
 * has taken it again after core.once_less; nothing: there is more to it, or the timeout is none */
static int entry_again(lua_State *L) {
    entry *e = is_timeout(L, 2) ? entry_here(L, 3) : NULL;
    if (!e)
        return 0;
    if (zkl_validity(e->contender) > 0)
        e->count++;
    else if (e->count != 1 || !is_same_handle(L, 4, 5) || !zkl_take_again(e->contender))
        return 0;
    zkl_push_token(L, e->token);
    return 1;
}

/* core.once_less(contender, owner, rests) -> true: its owner is here, holds it with validity left,
 * and has had it more than once; or, if `rests` says that it may, it is given back and rests;
 * nothing: there is more to it */
static int entry_once_less(lua_State *L) {
    entry *e = entry_here(L, 2);
    if (!e)
        return 0;
    if (e->count > 1 && zkl_validity(e->contender) > 0)
        e->count--;
    else if (e->count != 1 || e->pinned || !lua_toboolean(L, 3) || !zkl_rest(e->contender))
        return 0;
    lua_pushboolean(L, 1);
    return 1;
}

/* core.standing(contender, owner) -> token, seconds of validity, if its owner is here and holds it;
 * nothing: there is more to it */
static int entry_standing(lua_State *L) {
    const entry *e = entry_here(L, 2);
    if (!e || !zkl_held(e->contender))
        return 0;
    zkl_push_token(L, e->token);
    lua_pushnumber(L, zkl_validity(e->contender));
    return 2;
}

void zkl_open_often(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"again", entry_again},
        {"once_less", entry_once_less},
        {"standing", entry_standing},
        {NULL, NULL},
    };
    for (const luaL_Reg *f = functions; f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
}

void zkl_open_contender(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", contender_drop},
        {"drop", contender_drop},
        {"quit", contender_quit},
        {"release", contender_release},
        {"give_up", contender_give_up},
        {"would_release", contender_would_release},
        {"cancel", contender_cancel},
        {"held", contender_held},
        {"token", contender_token},
        {"turn", contender_turn},
        {"validity", contender_validity},
        {"given_back", contender_given_back},
        {"pin", contender_pin},
        {"count", contender_count},
        {"add", contender_add},
        {"hand", contender_hand},
        {"ask_validity", contender_ask_validity},
        {"nodes", contender_nodes},
        {NULL, NULL},
    };
    zkl_metatable(L, ZKL_CONTENDER, methods);
}
