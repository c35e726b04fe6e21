/* SPDX-License-Identifier: MIT */
/* client: the userdata around a zkl_client. */
#include "binding.h"

static zkl_client *check(lua_State *L) {
    return zkl_check_client(L, 1);
}

static int client_gc(lua_State *L) {
    zkl_free(zkl_empty_box(L, ZKL_CLIENT));
    return 0;
}

static int client_close(lua_State *L) {
    zkl_close(check(L));
    return 0;
}

static int client_ended(lua_State *L) {
    lua_pushboolean(L, zkl_ended(check(L)));
    return 1;
}

static int client_state(lua_State *L) {
    zkl_push_text(L, zkl_state_text(zkl_client_state(check(L))));
    return 1;
}

/* client:unusable() -> "closed", "forked", or nil: every call asks, so it pushes a text only
 * then */
static int client_unusable(lua_State *L) {
    const zkl_state state = zkl_client_state(check(L));
    if (state == ZKL_STATE_CLOSED || state == ZKL_STATE_FORKED)
        zkl_push_text(L, zkl_state_text(state));
    else
        lua_pushnil(L);
    return 1;
}

/* client:trouble() -> why no server is in reach, or nil */
static int client_trouble(lua_State *L) {
    char text[ZKL_TROUBLE_TEXT];
    if (!zkl_client_trouble(check(L), text, sizeof text))
        return 0;
    lua_pushstring(L, text);
    return 1;
}

static int client_session_timeout(lua_State *L) {
    lua_pushnumber(L, zkl_session_timeout(check(L)));
    return 1;
}

/* client:session_id() -> the id; nil if there is no session */
static int client_session_id(lua_State *L) {
    const int64_t session = zkl_session_id(check(L));
    if (session)
        zkl_push_session(L, session);
    else
        lua_pushnil(L);
    return 1;
}

static int client_fd(lua_State *L) {
    lua_pushinteger(L, zkl_fd(check(L)));
    return 1;
}

static int client_hang_up(lua_State *L) {
    zkl_hang_up(check(L));
    return 0;
}

/* client:hurry(): from now on the client keeps no shared node that no caller uses */
static int client_hurry(lua_State *L) {
    zkl_hurry(check(L));
    return 0;
}

static int client_wake(lua_State *L) {
    zkl_wake(check(L));
    return 0;
}

/* client:wake_at(moment): makes the descriptor readable at that moment */
static int client_wake_at(lua_State *L) {
    zkl_wake_at(check(L), zkl_check_moment(L, 2));
    return 0;
}

void zkl_open_client(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", client_gc},
        {"close", client_close},
        {"ended", client_ended},
        {"state", client_state},
        {"unusable", client_unusable},
        {"session_timeout", client_session_timeout},
        {"trouble", client_trouble},
        {"session_id", client_session_id},
        {"stats", zkl_lua_stats},
        {"name", zkl_lua_name},
        {"count", zkl_lua_count},
        {"count_run", zkl_lua_count_run},
        {"measure", zkl_lua_measure},
        {"fd", client_fd},
        {"hang_up", client_hang_up},
        {"hurry", client_hurry},
        {"wake", client_wake},
        {"wake_at", client_wake_at},
        {"wait", zkl_lua_wait},
        {"await", zkl_lua_await},
        {"peek", zkl_lua_peek},
        {"look", zkl_lua_look},
        {"muted", zkl_lua_muted},
        {"take_log", zkl_lua_take_log},
        {"contender", zkl_lua_contender},
        {"release", zkl_lua_release},
        {"join", zkl_lua_join},
        {"join_all", zkl_lua_join_all},
        {"join_leases", zkl_lua_join_leases},
        {"notifier", zkl_lua_notifier},
        {"visit", zkl_lua_visit},
        {"ask_session", zkl_lua_ask_session},
        {"ask_flush", zkl_lua_ask_flush},
        {"ask_participants", zkl_lua_ask_participants},
        {"ask_revoke", zkl_lua_ask_revoke},
        {"ask_check", zkl_lua_ask_check},
        {"perform", zkl_lua_do},
        {"perform_all", zkl_lua_do_all},
        {"ask_sync", zkl_lua_sync},
        {"look_at", zkl_lua_look_at},
        {"ask_once", zkl_lua_ask_once},
        {"mark_once", zkl_lua_mark_once},
        {NULL, NULL},
    };
    zkl_keep_event_texts(L);
    for (int state = ZKL_STATE_CONNECTING; state <= ZKL_STATE_FORKED; state++)
        zkl_keep_text(L, zkl_state_text((zkl_state)state));
    zkl_metatable(L, ZKL_CLIENT, methods);
}
