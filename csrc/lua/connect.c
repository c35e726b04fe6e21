/* SPDX-License-Identifier: MIT */
/* connect: turns a script's table into a zkl_config, and opens a client with it. */
#include "binding.h"

#include <errno.h>
#include <string.h>

enum { TLS_PARTS = 4 }; /* ca, cert, key, password */

static const char *field(lua_State *L, const char *name) {
    lua_getfield(L, 1, name);
    const char *text = lua_tostring(L, -1); /* kept alive by the table */
    lua_pop(L, 1);
    return text;
}

static double number_field(lua_State *L, const char *name) {
    lua_getfield(L, 1, name);
    const double number = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return number;
}

/* The list in field "auth": scheme, credential, scheme, credential, ... */
static zkl_auth *auths_of(lua_State *L, size_t *count) {
    lua_getfield(L, 1, "auth");
    const int list = lua_gettop(L);
    *count = lua_rawlen(L, list) / 2;
    zkl_auth *auths = lua_newuserdata(L, (*count + 1) * sizeof *auths); /* stays on the stack */
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, list, 2 * (int)i + 1);
        lua_rawgeti(L, list, 2 * (int)i + 2);
        auths[i] = (zkl_auth){lua_tostring(L, -2), lua_tostring(L, -1)};
        lua_pop(L, 2);
    }
    return auths;
}

/* The list in field "tls", joined with commas as libzookeeper wants it; NULL: there is none. The
 * caller wipes it. */
static char *tls_of(lua_State *L, size_t *size) {
    lua_getfield(L, 1, "tls");
    const int list = lua_gettop(L);
    *size = 0;
    if (!lua_istable(L, list))
        return NULL;
    for (int i = 1; i <= TLS_PARTS; i++) {
        size_t length;
        lua_rawgeti(L, list, i);
        luaL_checklstring(L, -1, &length);
        *size += length + 1; /* a comma, or the end */
        lua_pop(L, 1);
    }
    char *text = lua_newuserdata(L, *size), *end = text; /* stays on the stack */
    for (int i = 1; i <= TLS_PARTS; i++) {
        size_t length;
        lua_rawgeti(L, list, i);
        const char *part = lua_tolstring(L, -1, &length);
        memcpy(end, part, length);
        end += length;
        *end++ = i < TLS_PARTS ? ',' : '\0';
        lua_pop(L, 1);
    }
    return text;
}

static const char *lacking(int why) {
    if (why == EMFILE || why == ENFILE)
        return "no descriptors left";
    return why == EAGAIN ? "no threads left" : NULL;
}

/* core.connect{ hosts=, session_timeout=, auth=, acl=, identifier=, tls=, log=, notes=, trace=,
 * node_bytes= } -> client, or nil and the resource that ran out; lua/zklock has built and checked
 * the table. */
int zkl_lua_connect(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    zkl_config config = {
        .size = sizeof config,
        .hosts = field(L, "hosts"),
        .session_timeout = number_field(L, "session_timeout"),
        .acl = (zkl_acl)number_field(L, "acl"),
        .node_bytes = (size_t)number_field(L, "node_bytes"),
        .identifier = field(L, "identifier"),
    };
    lua_getfield(L, 1, "log");
    config.log = lua_toboolean(L, -1);
    lua_getfield(L, 1, "notes");
    config.notes = lua_toboolean(L, -1);
    lua_getfield(L, 1, "trace");
    config.trace = lua_toboolean(L, -1);
    config.auths = auths_of(L, &config.auth_count);
    zkl_client *client = NULL;
    void **box = zkl_new_box(L, ZKL_CLIENT);
    const int caller = lua_gettop(L);
    size_t size;
    char *tls = tls_of(L, &size);
    config.tls = tls;
    const zkl_status status = zkl_open(&config, &client);
    const char *lack = status == ZKL_NO_MEMORY ? lacking(errno) : NULL;
    if (tls)
        explicit_bzero(tls, size);
    if (lack) {
        lua_pushnil(L);
        lua_pushstring(L, lack);
        return 2;
    }
    if (status != ZKL_OK)
        return luaL_error(L, "cannot open a client: %s", zkl_status_text(status));
    *box = client;
    lua_settop(L, caller);
    return 1;
}
