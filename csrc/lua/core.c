/* SPDX-License-Identifier: MIT */
/* core: the module zklock.core, for lua/zklock only. */
#include "base/text.h"
#include "binding.h"

#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* core.now() -> seconds since boot, suspended time included */
static int core_now(lua_State *L) {
    lua_pushnumber(L, (lua_Number)zkl_now() / 1e9);
    return 1;
}

/* core.has_tls() -> true if libzookeeper was built with TLS */
static int core_has_tls(lua_State *L) {
    lua_pushboolean(L, zkl_has_tls());
    return 1;
}

/* core.check_tls(ca, cert, key, password) -> nil, or the name of the bad file, and the reason */
static int core_check_tls(lua_State *L) {
    char why[1024];
    const char *which =
        zkl_tls_problem(luaL_checkstring(L, 1), luaL_checkstring(L, 2), luaL_checkstring(L, 3),
                        luaL_checkstring(L, 4), why, sizeof why);
    if (!which)
        return 0;
    lua_pushstring(L, which);
    lua_pushstring(L, why);
    return 2;
}

/* core.identity() -> "HOST:PID" */
static int core_identity(lua_State *L) {
    char host[256] = "localhost", text[300];
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "%s:%ld", host, (long)getpid());
    lua_pushstring(L, text);
    return 1;
}

/* core.check_hosts(text) -> nil, or the fault of the connect string */
static int core_check_hosts(lua_State *L) {
    char why[256];
    if (zkl_hosts_valid(luaL_checkstring(L, 1), why, sizeof why))
        return 0;
    lua_pushstring(L, why);
    return 1;
}

/* core.is_utf8(text) -> true if all of it is UTF-8 */
static int core_is_utf8(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_pushboolean(L, zkl_text_is_utf8(text, length));
    return 1;
}

/* core.show(text, most, lines) -> the text as it is shown, and "..." for what is behind `most`
 * bytes of it; lines: newlines and tabs stay */
static int core_show(lua_State *L) {
    size_t left;
    const char *text = luaL_checklstring(L, 1, &left);
    const lua_Number most = luaL_checknumber(L, 2);
    const zkl_text_kept keep = {.lines = lua_toboolean(L, 3), .utf8 = true};
    luaL_Buffer shown;
    luaL_buffinit(L, &shown);
    size_t used = 0;
    for (size_t taken; left > 0; text += taken, left -= taken) {
        char piece[ZKL_TEXT_PIECE];
        const size_t size = zkl_text_piece(piece, text, left, keep, &taken);
        used += size;
        if ((lua_Number)used > most) {
            luaL_addstring(&shown, "...");
            break;
        }
        luaL_addlstring(&shown, piece, size);
    }
    luaL_pushresult(&shown);
    return 1;
}

/* core.is_node(name) -> true if a client would take it for a node in the line of the lock above */
static int core_is_node(lua_State *L) {
    int32_t sequence;
    lua_pushboolean(L, zkl_znode_parse(luaL_checkstring(L, 1), &sequence) != ZKL_KIND_NONE);
    return 1;
}

/* core.is_spelled(path) -> true if the servers accept all of its characters */
static int core_is_spelled(lua_State *L) {
    lua_pushboolean(L, zkl_path_is_spelled(luaL_checkstring(L, 1)));
    return 1;
}

/* core.is_reserved(path) -> true if the path is the servers' own */
static int core_is_reserved(lua_State *L) {
    lua_pushboolean(L, zkl_path_is_reserved(luaL_checkstring(L, 1)));
    return 1;
}

/* core.host_data(coroutine) -> the address that its host has attached to it, or nil: OpenResty's
 * LuaJIT attaches a request, and uses coroutines again for other requests. */
static int core_host_data(lua_State *L) {
    lua_State *thread = lua_tothread(L, 1);
    void *(*get)(lua_State *);
    void *const found = dlsym(RTLD_DEFAULT, "lua_getexdata");
    luaL_argcheck(L, thread, 1, "coroutine expected");
    if (!found)
        return 0;
    memcpy(&get, &found, sizeof get); /* C has no cast from data to function */
    lua_pushnumber(L, (lua_Number)(uintptr_t)get(thread));
    return 1;
}

static atomic_int states;

static int state_gc(lua_State *L) {
    (void)L;
    atomic_fetch_sub(&states, 1);
    return 0;
}

/* Counts this Lua state until it is closed. */
static void count_state(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", state_gc}, {NULL, NULL}};
    lua_pushlightuserdata(L, &states);
    lua_rawget(L, LUA_REGISTRYINDEX);
    const int counted = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (counted)
        return;
    zkl_metatable(L, "zklock.state", methods);
    lua_pushlightuserdata(L, &states);
    lua_newuserdata(L, 1);
    luaL_getmetatable(L, "zklock.state");
    lua_setmetatable(L, -2);
    atomic_fetch_add(&states, 1);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

/* core.states() -> how many Lua states of this process have loaded this module */
static int core_states(lua_State *L) {
    lua_pushinteger(L, atomic_load(&states));
    return 1;
}

/* Our threads run this code, so lua_close must not unload it. */
static void pin(void) {
    Dl_info info;
    if (dladdr((void *)&pin, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NODELETE);
}

ZKL_API int luaopen_zklock_core(lua_State *L);

int luaopen_zklock_core(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"now", core_now},
        {"has_tls", core_has_tls},
        {"check_tls", core_check_tls},
        {"identity", core_identity},
        {"check_hosts", core_check_hosts},
        {"states", core_states},
        {"connect", zkl_lua_connect},
        {"is_utf8", core_is_utf8},
        {"show", core_show},
        {"is_node", core_is_node},
        {"is_spelled", core_is_spelled},
        {"is_reserved", core_is_reserved},
        {"visit_calls", zkl_lua_visit_calls},
        {"relay_calls", zkl_lua_relay_calls},
        {"spare_handlers", zkl_lua_spare_handlers},
        {"interrupt_on", zkl_lua_interrupt_on},
        {"host_data", core_host_data},
        {"bell", zkl_lua_bell},
        {NULL, NULL},
    };
    pin();
    count_state(L);
    zkl_keep_texts(L);
    zkl_open_client(L);
    zkl_open_contender(L);
    zkl_open_query(L);
    zkl_open_node_request(L);
    zkl_open_node_watch(L);
    zkl_open_notifier(L);
    zkl_open_visit(L);
    lua_newtable(L);
    zkl_set_functions(L, functions);
    lua_pushliteral(L, ZKL_VERSION);
    lua_setfield(L, -2, "version");
    zkl_open_thread(L);
    zkl_open_section(L);
    zkl_open_fifo(L);
    zkl_open_heap(L);
    zkl_open_often(L);
    return 1;
}
