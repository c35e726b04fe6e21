/* client: the userdata around a zkl_client. */
#include "binding.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { TLS_PARTS = 4 }; /* ca, cert, key, password */

static zkl_client *check(lua_State *L) {
    return zkl_check_client(L, 1);
}

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

/* The list at field "auth": scheme, credential, scheme, credential, ... */
static zkl_auth *auths_of(lua_State *L, size_t *count) {
    lua_getfield(L, 1, "auth");
    *count = 0;
    const int list = lua_gettop(L);
    for (;; ++*count) {
        lua_rawgeti(L, list, 2 * (int)*count + 1);
        const int more = !lua_isnil(L, -1);
        lua_pop(L, 1);
        if (!more)
            break;
    }
    zkl_auth *auths = lua_newuserdata(L, (*count + 1) * sizeof *auths); /* stays on the stack */
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, list, 2 * (int)i + 1);
        lua_rawgeti(L, list, 2 * (int)i + 2);
        auths[i] = (zkl_auth){lua_tostring(L, -2), lua_tostring(L, -1)};
        lua_pop(L, 2);
    }
    return auths;
}

/* What the list at field "tls" holds, with commas in between, as libzookeeper wants it; NULL: there
 * is none. The caller wipes it. */
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

/* core.connect{ hosts=, session_timeout=, auth=, acl=, identifier=, tls=, log= } -> client, or nil
 * and what the process has none left of; the table is lua/zklock's, checked there. */
int zkl_lua_connect(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    zkl_config config = {
        .hosts = field(L, "hosts"),
        .session_timeout = number_field(L, "session_timeout"),
        .acl = (zkl_acl)number_field(L, "acl"),
        .identifier = field(L, "identifier"),
    };
    lua_getfield(L, 1, "log");
    config.log = lua_toboolean(L, -1);
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

static int client_gc(lua_State *L) {
    void **box = zkl_check_box(L, 1, ZKL_CLIENT);
    zkl_client *client = *box;
    *box = NULL;
    if (client)
        zkl_free(client);
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

/* client:unusable() -> "closed", "forked", or nil: every call asks, so that it pushes no text
 * otherwise */
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

/* nil while there is no session */
static int client_session_id(lua_State *L) {
    const int64_t session = zkl_session_id(check(L));
    if (session)
        zkl_push_session(L, session);
    else
        lua_pushnil(L);
    return 1;
}

static int client_stats(lua_State *L) {
    zkl_stats s;
    zkl_client_stats(check(L), &s);
    const struct {
        const char *name;
        uint64_t count;
    } fields[] = {
        {"acquired", s.acquired},   {"released", s.released},
        {"timeouts", s.timeouts},   {"lost", s.lost},
        {"revoked", s.revoked},     {"abandoned", s.abandoned},
        {"sessions", s.sessions},   {"requests_sent", s.requests_sent},
        {"waiting", s.waiting},     {"held", s.held},
        {"unwatched", s.unwatched}, {"handed", s.handed},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lua_pushinteger(L, (lua_Integer)fields[i].count);
        lua_setfield(L, -2, fields[i].name);
    }
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

/* client:hurry(): from now on nothing is kept that nobody uses */
static int client_hurry(lua_State *L) {
    zkl_hurry(check(L));
    return 0;
}

static int client_wake(lua_State *L) {
    zkl_wake(check(L));
    return 0;
}

/* The main coroutine, if that is another one; NULL also where it cannot be told (plain 5.1), or
 * where all have the same hook (LuaJIT). */
static lua_State *other_main(lua_State *L) {
    lua_State *main = NULL;
#ifdef LUA_RIDX_MAINTHREAD
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    main = lua_tothread(L, -1);
    lua_pop(L, 1);
#endif
    return main != L ? main : NULL;
}

/* The interpreter's Ctrl-C sets a hook on the main coroutine only, for the very next instruction:
 * another one that waits hears it too, once. (`fresh`: a signal has just come.) The main one hears
 * it when it goes on, which may be late: who has caught it meanwhile may wait again. */
static bool take_hook(lua_State *L, lua_State *main, bool fresh) {
    static _Atomic(lua_State *) heard; /* the main coroutine with the hook that was heard already */
    const lua_Hook hook = main ? lua_gethook(main) : NULL;
    const bool next = hook && lua_gethookmask(main) & LUA_MASKCOUNT && lua_gethookcount(main) == 1;
    if (!next && heard == main)
        heard = NULL;
    if (!next || (!fresh && heard == main))
        return false;
    heard = main;
    lua_sethook(L, hook, lua_gethookmask(main), 1);
    return true;
}

/* client:wait(moment): until there is something to take, or the moment, or a signal: the caller
 * looks which. A signal must get back to Lua, where its hook runs, also one that came just before
 * the wait. */
static int client_wait(lua_State *L) {
    struct pollfd fd = {.fd = zkl_fd(check(L)), .events = POLLIN};
    const zkl_nanos until = zkl_check_moment(L, 2);
    lua_State *main = other_main(L);
    const lua_Hook before = lua_gethook(L);
    sigset_t all, usual;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &usual);
    int rc = 0;
    if (lua_gethook(L) == before && !take_hook(L, main, false)) {
        struct timespec left, *timeout = NULL;
        if (until != ZKL_NEVER) {
            const zkl_nanos now = zkl_now(), nanos = until > now ? until - now : 0;
            left = (struct timespec){nanos / ZKL_SECOND, nanos % ZKL_SECOND};
            timeout = &left;
        }
        rc = ppoll(&fd, 1, timeout, &usual) < 0 ? errno : 0;
    }
    pthread_sigmask(SIG_SETMASK, &usual, NULL);
    if (rc == EINTR)
        take_hook(L, main, true);
    else if (rc)
        return luaL_error(L, "cannot wait for the client's descriptor: error %d", rc);
    return 0;
}

static const char *const kinds[] = {
    [ZKL_EVENT_GRANTED] = "granted", [ZKL_EVENT_FAILED] = "failed", [ZKL_EVENT_LOST] = "lost",
    [ZKL_EVENT_REVOKED] = "revoked", [ZKL_EVENT_ANSWER] = "answer", [ZKL_EVENT_ENDED] = "ended",
    [ZKL_EVENT_CHANGED] = "changed", [ZKL_EVENT_STATE] = "state",   [ZKL_EVENT_LOG] = "log",
};

static int push_event(lua_State *L, const zkl_event *event) {
    const bool state = event->kind == ZKL_EVENT_STATE;
    zkl_push_text(L, kinds[event->kind]);
    if (state)
        zkl_push_text(L, zkl_state_text((zkl_state)event->status));
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

/* client:peek() -> kind, tag, err, token, serial of the oldest event, which stays; for "state" the
 * state instead of the tag; nothing when there is none */
static int client_peek(lua_State *L) {
    zkl_event event;
    return zkl_peek(check(L), &event) ? push_event(L, &event) : 0;
}

/* client:look() -> as client:peek(), but the descriptor stays as it is */
static int client_look(lua_State *L) {
    zkl_event event;
    return zkl_look(check(L), &event) ? push_event(L, &event) : 0;
}

/* client:forget(serial): the event was dealt with */
static int client_forget(lua_State *L) {
    zkl_forget(check(L), (uint64_t)luaL_checknumber(L, 2));
    return 0;
}

/* client:take_log() -> level, text; nothing when there is none */
static int client_take_log(lua_State *L) {
    const char *level;
    char text[1024];
    if (!zkl_log_take(check(L), &level, text, sizeof text))
        return 0;
    lua_pushstring(L, level);
    lua_pushstring(L, text);
    return 2;
}

/* client:contender() -> a contender that has not joined yet */
static int client_contender(lua_State *L) {
    check(L);
    zkl_new_contender(L);
    return 1;
}

/* Argument 2: such a contender. */
static void **check_box(lua_State *L) {
    void **box = luaL_checkudata(L, 2, ZKL_CONTENDER);
    luaL_argcheck(L, !*box, 2, "it has joined already");
    return box;
}

/* Pushes the result of a join, which is kept already: true, or nil, err. */
static int joined(lua_State *L, void **box, zkl_status status, zkl_contender *contender) {
    *box = contender;
    if (status != ZKL_OK)
        return zkl_push_error(L, status);
    lua_pushboolean(L, 1);
    return 1;
}

/* Seconds above 0, or nil: 0. However short: rounded to 0 it would be for ever. */
static zkl_nanos check_max_hold(lua_State *L, int arg) {
    if (lua_isnoneornil(L, arg))
        return 0;
    const lua_Number seconds = luaL_checknumber(L, arg);
    luaL_argcheck(L, seconds > 0, arg, "a hold has a length above 0");
    return zkl_clock_duration(seconds);
}

/* The arguments from `first` on: moment, once, max_hold; max_hold in seconds, or nil. */
static zkl_terms check_terms(lua_State *L, int first, zkl_kind kind) {
    return (zkl_terms){
        .kind = kind,
        .deadline = zkl_check_moment(L, first),
        .once = lua_toboolean(L, first + 1),
        .max_hold = check_max_hold(L, first + 2),
    };
}

/* The arguments from `first` on: handoffs, or nil; stint and linger, in seconds of at least 0. */
static const zkl_sharing *check_sharing(lua_State *L, int first, zkl_sharing *sharing) {
    if (lua_isnoneornil(L, first))
        return NULL;
    *sharing = (zkl_sharing){
        .handoffs = (uint64_t)luaL_checknumber(L, first),
        .stint = zkl_clock_after(0, luaL_checknumber(L, first + 1)),
        .linger = zkl_clock_after(0, luaL_checknumber(L, first + 2)),
    };
    return sharing;
}

/* client:join(contender, path, kind, tag, moment, once, max_hold, under, max_waiting, handoffs,
 * stint, linger, at_once) -> true, or nil, err; or, if `at_once`, true and the token of what is
 * held already, of which no event comes; kind "lock", "read" or "write"; under, for "read": the
 * contender of a write that the owner holds, or nil; max_waiting: or nil; handoffs: or nil, and it
 * has a node of its own */
static int client_join(lua_State *L) {
    static const char *const names[] = {"lock", "read", "write", NULL};
    static const zkl_kind node_kinds[] = {ZKL_KIND_LOCK, ZKL_KIND_READ, ZKL_KIND_WRITE};
    zkl_client *client = check(L);
    void **box = check_box(L);
    const char *path = luaL_checkstring(L, 3);
    const zkl_kind kind = node_kinds[luaL_checkoption(L, 4, NULL, names)];
    const uint64_t tag = zkl_check_tag(L, 5);
    zkl_terms terms = check_terms(L, 6, kind);
    terms.under = lua_isnoneornil(L, 9) ? NULL : zkl_check_contender(L, 9);
    terms.crowd = lua_isnoneornil(L, 10) ? 0 : (size_t)luaL_checknumber(L, 10) + 1;
    zkl_sharing sharing;
    terms.sharing = check_sharing(L, 11, &sharing);
    int64_t token = 0;
    if (lua_toboolean(L, 14))
        terms.at_once = &token;
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join(client, path, tag, &terms, &contender);
    if (!token)
        return joined(L, box, status, contender);
    joined(L, box, status, contender);
    zkl_push_token(L, token);
    return 2;
}

/* client:join_all(contender, paths, tag, moment, once, max_hold) -> true, or nil, err; the strings
 * stay in the table */
static int client_join_all(lua_State *L) {
    zkl_client *client = check(L);
    void **box = check_box(L);
    luaL_checktype(L, 3, LUA_TTABLE);
    const uint64_t tag = zkl_check_tag(L, 4);
    const zkl_terms terms = check_terms(L, 5, ZKL_KIND_LOCK);
    int count = 0;
    for (;; count++) {
        lua_rawgeti(L, 3, count + 1);
        const bool more = lua_type(L, -1) == LUA_TSTRING;
        lua_pop(L, 1);
        if (!more)
            break;
    }
    const char **paths = lua_newuserdata(L, (size_t)(count + 1) * sizeof *paths);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 3, i + 1);
        paths[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_all(client, paths, (size_t)count, tag, &terms, &contender);
    return joined(L, box, status, contender);
}

/* client:join_leases(contender, path, count, permits, tag, moment, once, max_hold) -> true, or nil,
 * err */
static int client_join_leases(lua_State *L) {
    zkl_client *client = check(L);
    void **box = check_box(L);
    const char *path = luaL_checkstring(L, 3);
    const size_t count = (size_t)luaL_checknumber(L, 4);
    const uint64_t tag = zkl_check_tag(L, 6);
    zkl_terms terms = check_terms(L, 7, ZKL_KIND_LEASE);
    terms.permits = (size_t)luaL_checknumber(L, 5);
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_leases(client, path, count, tag, &terms, &contender);
    return joined(L, box, status, contender);
}

/* client:ask_session(tag, moment) -> query, answered when there is a session */
static int client_ask_session(lua_State *L) {
    zkl_client *client = check(L);
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_push_query(L, box, zkl_query_session(client, tag, deadline));
}

/* client:ask_flush(tag, moment) -> query, answered when every release so far is confirmed */
static int client_ask_flush(lua_State *L) {
    zkl_client *client = check(L);
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_push_query(L, box, zkl_query_flush(client, tag, deadline));
}

typedef zkl_query *ask_holders(zkl_client *client, const char *path, bool leases, uint64_t tag,
                               zkl_nanos deadline, bool once);

static int ask_at(lua_State *L, ask_holders *ask) {
    zkl_client *client = check(L);
    const char *path = luaL_checkstring(L, 2);
    const uint64_t tag = zkl_check_tag(L, 4);
    const zkl_nanos deadline = zkl_check_moment(L, 5);
    void **box = zkl_new_box(L, ZKL_QUERY);
    return zkl_push_query(
        L, box, ask(client, path, lua_toboolean(L, 3), tag, deadline, lua_toboolean(L, 6)));
}

/* client:ask_participants(path, leases, tag, moment, once) -> query; when it is answered,
 * query:participants() */
static int client_ask_participants(lua_State *L) {
    return ask_at(L, zkl_query_participants);
}

/* client:ask_revoke(path, leases, tag, moment, once) -> query; when it is answered,
 * query:revoked() */
static int client_ask_revoke(lua_State *L) {
    return ask_at(L, zkl_query_revoke);
}

/* client:notifier() -> notifier, or nil, why not */
static int client_notifier(lua_State *L) {
    zkl_client *client = check(L);
    void **box = zkl_new_box(L, ZKL_NOTIFIER);
    *box = zkl_notifier_open(client);
    if (*box)
        return 1;
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

/* client:visit(tag) -> visit */
static int client_visit(lua_State *L) {
    zkl_client *client = check(L);
    const uint64_t tag = zkl_check_tag(L, 2);
    void **box = zkl_new_box(L, ZKL_VISIT);
    *box = zkl_visit_new(client, tag);
    return *box ? 1 : zkl_push_error(L, ZKL_NO_MEMORY);
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
        {"stats", client_stats},
        {"fd", client_fd},
        {"hang_up", client_hang_up},
        {"hurry", client_hurry},
        {"wake", client_wake},
        {"wait", client_wait},
        {"peek", client_peek},
        {"look", client_look},
        {"forget", client_forget},
        {"take_log", client_take_log},
        {"contender", client_contender},
        {"join", client_join},
        {"join_all", client_join_all},
        {"join_leases", client_join_leases},
        {"notifier", client_notifier},
        {"visit", client_visit},
        {"ask_session", client_ask_session},
        {"ask_flush", client_ask_flush},
        {"ask_participants", client_ask_participants},
        {"ask_revoke", client_ask_revoke},
        {"perform", zkl_lua_do},
        {"perform_all", zkl_lua_do_all},
        {"ask_sync", zkl_lua_sync},
        {"look_at", zkl_lua_look_at},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        zkl_keep_text(L, kinds[i]);
    for (int state = ZKL_STATE_CONNECTING; state <= ZKL_STATE_FORKED; state++)
        zkl_keep_text(L, zkl_state_text((zkl_state)state));
    zkl_metatable(L, ZKL_CLIENT, methods);
}
