/* SPDX-License-Identifier: MIT */
/* node_watch: the userdata around a zkl_node_watch. */
#include "binding.h"

/* A state that was taken stays here until it is delivered: pushing it may raise, and so may code
 * that runs before the delivery. */
typedef struct seen {
    zkl_node_watch *node_watch; /* NULL: dropped */
    zkl_content *content;
    zkl_status status;
    bool news;
} seen;

int zkl_lua_look_at(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const char *path = luaL_checkstring(L, 2);
    const bool children = lua_toboolean(L, 3);
    const uint64_t tag = zkl_check_tag(L, 4);
    seen *s = lua_newuserdata(L, sizeof *s);
    *s = (seen){.node_watch = NULL};
    luaL_getmetatable(L, ZKL_NODE_WATCH);
    lua_setmetatable(L, -2);
    const zkl_status status = zkl_look_at(client, path, children, tag, &s->node_watch);
    return status == ZKL_OK ? 1 : zkl_push_error(L, status);
}

static seen *check(lua_State *L) {
    return luaL_checkudata(L, 1, ZKL_NODE_WATCH);
}

static void forget(seen *s) {
    zkl_content_free(s->content);
    s->content = NULL;
    s->news = false;
}

/* watch:drop(): ends the watch */
static int node_watch_drop(lua_State *L) {
    seen *s = check(L);
    zkl_node_watch *node_watch = s->node_watch;
    s->node_watch = NULL;
    forget(s);
    zkl_node_watch_drop(node_watch);
    return 0;
}

static void take(seen *s) {
    zkl_content *content;
    zkl_status status;
    if (!s->node_watch || !zkl_node_watch_take(s->node_watch, &status, &content))
        return;
    forget(s);
    *s = (seen){s->node_watch, content, status, true};
}

/* watch:take() -> true, data or names, stat; or true, nil, err; or nothing if there is no news.
 * Returns the same again, or newer news, until watch:told() */
static int node_watch_take(lua_State *L) {
    seen *s = check(L);
    take(s);
    if (!s->news)
        return 0;
    lua_pushboolean(L, 1);
    if (!s->content) {
        lua_pushnil(L);
        zkl_push_text(L, zkl_status_text(s->status));
    } else {
        if (s->content->names)
            zkl_push_names(L, s->content);
        else
            lua_pushlstring(L, s->content->data, s->content->length);
        zkl_push_stat(L, &s->content->stat);
    }
    return 3;
}

/* watch:told(): the state that was taken is delivered */
static int node_watch_told(lua_State *L) {
    forget(check(L));
    return 0;
}

void zkl_open_node_watch(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", node_watch_drop},
                                       {"drop", node_watch_drop},
                                       {"take", node_watch_take},
                                       {"told", node_watch_told},
                                       {NULL, NULL}};
    zkl_metatable(L, ZKL_NODE_WATCH, methods);
}
