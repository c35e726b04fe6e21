/* SPDX-License-Identifier: MIT */
/* event: takes a client's events and log lines, oldest first. */
#include "binding.h"

static const char *const kinds[] = {
    [ZKL_EVENT_GRANTED] = "granted", [ZKL_EVENT_FAILED] = "failed", [ZKL_EVENT_LOST] = "lost",
    [ZKL_EVENT_REVOKED] = "revoked", [ZKL_EVENT_ANSWER] = "answer", [ZKL_EVENT_ENDED] = "ended",
    [ZKL_EVENT_CHANGED] = "changed", [ZKL_EVENT_STATE] = "state",   [ZKL_EVENT_LOG] = "log",
};

static int push_event(lua_State *L, const zkl_event *event) {
    const bool state = event->kind == ZKL_EVENT_STATE;
    zkl_push_text(L, kinds[event->kind]);
    if (state)
        zkl_push_text(L, zkl_state_text(event->state));
    else
        lua_pushnumber(L, (lua_Number)event->tag);
    if (state || event->status == ZKL_OK)
        lua_pushnil(L);
    else
        zkl_push_text(L, zkl_status_text(event->status));
    zkl_push_token(L, event->token);
    lua_pushnumber(L, (lua_Number)event->serial);
    return 5;
}

/* The client. The event with the serial in argument 2, if there is one, was handled. */
static zkl_client *go_on(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    if (!lua_isnoneornil(L, 2))
        zkl_forget(client, (uint64_t)luaL_checknumber(L, 2));
    return client;
}

int zkl_lua_peek(lua_State *L) {
    zkl_event event;
    return zkl_peek(go_on(L), &event) ? push_event(L, &event) : 0;
}

/* True if a finalizer runs; only one can run at a time. Also true if the script has stopped the
 * collector; always false where Lua cannot tell (5.1). */
static bool is_finalizing(lua_State *L) {
#ifdef LUA_GCISRUNNING
    return lua_gc(L, LUA_GCISRUNNING, 0) != 1;
#else
    (void)L;
    return false;
#endif
}

int zkl_lua_look(lua_State *L) {
    zkl_client *client = go_on(L);
    zkl_event event;
    return !is_finalizing(L) && zkl_look(client, &event) ? push_event(L, &event) : 0;
}

int zkl_lua_muted(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    zkl_mute(client);
    const int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
    zkl_unmute(client);
    return status ? lua_error(L) : lua_gettop(L) - 1;
}

int zkl_lua_take_log(lua_State *L) {
    const char *level;
    char text[1024];
    bool own;
    if (!zkl_log_take(zkl_check_client(L, 1), &level, &own, text, sizeof text))
        return 0;
    lua_pushstring(L, level);
    lua_pushstring(L, text);
    lua_pushboolean(L, own);
    return 3;
}

void zkl_keep_event_texts(lua_State *L) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        zkl_keep_text(L, kinds[i]);
}
