/* binding: what the files of the Lua module share. A method checks its arguments, calls the engine,
 * pushes results. */
#ifndef ZKL_BINDING_H
#define ZKL_BINDING_H

#include "zklock.h"

#include <lauxlib.h>
#include <lua.h>
#include <signal.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

#if LUA_VERSION_NUM == 501
/* One module serves LuaJIT and plain Lua 5.1, whichever headers it was built with: these functions
 * are LuaJIT's, and NULL in plain 5.1. */
#pragma weak lua_isyieldable
#pragma weak luaJIT_setmode
LUA_API int lua_isyieldable(lua_State *L);
LUA_API int luaJIT_setmode(lua_State *L, int index, int mode);
#define ZKL_IS_LUAJIT (luaJIT_setmode != NULL)
#else
#define ZKL_IS_LUAJIT false
#endif

/* Makes the metatable `name` with the methods as its __index; leaves nothing on the stack. Works
 * from Lua 5.1 on. */
void zkl_metatable(lua_State *L, const char *name, const luaL_Reg *methods);

/* An integer where Lua has 64 of its bits, else a number, exact up to 2^53. */
void zkl_push_token(lua_State *L, int64_t token);
int64_t zkl_check_token(lua_State *L, int arg);

/* Pushes a text that was kept when the module was opened: cannot fail. The text is known by its
 * address. */
void zkl_push_text(lua_State *L, const char *text);
void zkl_keep_text(lua_State *L, const char *text);
/* Keeps those of all kinds of events. */
void zkl_keep_event_texts(lua_State *L);
/* Keeps those of all statuses. */
void zkl_keep_texts(lua_State *L);

/* Pushes nil and the text of the status: 2 results. Raises when memory ran out, and then only. */
int zkl_push_error(lua_State *L, zkl_status status);

/* The moment in argument `arg`: seconds as core.now() counts them; math.huge is never. */
zkl_nanos zkl_check_moment(lua_State *L, int arg);
uint64_t zkl_check_tag(lua_State *L, int arg);

/* A userdata of that metatable that holds one pointer, NULL so far: it is complete before it
 * acquires anything. */
void **zkl_new_box(lua_State *L, const char *name);

/* What argument `arg` holds: a box made with the same `name`, which is one text, not two that are
 * alike; or it raises. luaL_checkudata, which looks up two tables, is asked only to raise. */
void **zkl_check_box(lua_State *L, int arg, const char *name);

#define ZKL_CLIENT zkl_client_box
extern const char zkl_client_box[];
#define ZKL_CONTENDER "zklock.contender"
#define ZKL_QUERY "zklock.query"
#define ZKL_NOTIFIER "zklock.notifier"
#define ZKL_VISIT zkl_visit_box
extern const char zkl_visit_box[];
#define ZKL_NODE_REQUEST "zklock.request"
#define ZKL_NODE_WATCH "zklock.node_watch"

/* Pushes a contender that has not joined yet. */
void **zkl_new_contender(lua_State *L);
/* The client in argument `arg`. */
zkl_client *zkl_check_client(lua_State *L, int arg);
/* The contender in argument `arg`. */
zkl_contender *zkl_check_contender(lua_State *L, int arg);

void zkl_open_client(lua_State *L);
void zkl_open_contender(lua_State *L);
void zkl_open_query(lua_State *L);
void zkl_open_node_request(lua_State *L);
void zkl_open_node_watch(lua_State *L);
void zkl_open_notifier(lua_State *L);
void zkl_open_visit(lua_State *L);
/* These put their functions into the table on top of the stack. */
void zkl_open_thread(lua_State *L);
void zkl_open_section(lua_State *L);
void zkl_open_handover(lua_State *L);
void zkl_open_often(lua_State *L);

/* Methods of a client, each in the room of what it is about. */
/* client:wait(moment, others): until it or one of the clients in the table `others`, which may be
 * nil, has something to take, or the moment, or a signal: the caller looks which. A signal must get
 * back to Lua, where its hook runs, also one that came just before the wait. */
int zkl_lua_wait(lua_State *L);
/* client:peek() -> kind, tag, err, token, serial of the oldest event, which stays; for "state" the
 * state instead of the tag; nothing when there is none */
int zkl_lua_peek(lua_State *L);
/* client:look() -> as client:peek(), but the descriptor stays as it is; nothing also inside of a
 * finalizer, which may have come between any two steps of ours */
int zkl_lua_look(lua_State *L);
/* client:forget(serial): the event was dealt with */
int zkl_lua_forget(lua_State *L);
/* client:take_log() -> level, text; nothing when there is none */
int zkl_lua_take_log(lua_State *L);
/* client:contender() -> a contender that has not joined yet */
int zkl_lua_contender(lua_State *L);
/* client:join(contender, path, kind, tag, moment, once, max_hold, under, max_waiting, handoffs,
 * stint, linger, at_once) -> true, or nil, err; or, if `at_once`, true and the token of what is
 * held already, of which no event comes; kind "lock", "read" or "write"; under, for "read": the
 * contender of a write that the owner holds, or nil; max_waiting: or nil; handoffs: or nil, and it
 * has a node of its own */
int zkl_lua_join(lua_State *L);
/* client:join_all(contender, paths, tag, moment, once, max_hold) -> true, or nil, err; the strings
 * stay in the table */
int zkl_lua_join_all(lua_State *L);
/* client:join_leases(contender, path, count, permits, tag, moment, once, max_hold) -> true, or nil,
 * err */
int zkl_lua_join_leases(lua_State *L);
/* client:ask_session(tag, moment) -> query, answered when there is a session */
int zkl_lua_ask_session(lua_State *L);
/* client:ask_flush(tag, moment) -> query, answered when every release so far is confirmed */
int zkl_lua_ask_flush(lua_State *L);
/* client:ask_participants(path, leases, tag, moment, once) -> query; when it is answered,
 * query:participants() */
int zkl_lua_ask_participants(lua_State *L);
/* client:ask_revoke(path, leases, tag, moment, once) -> query; when it is answered,
 * query:revoked() */
int zkl_lua_ask_revoke(lua_State *L);
/* client:notifier() -> notifier, or nil, why not */
int zkl_lua_notifier(lua_State *L);
/* client:visit(tag) -> visit */
int zkl_lua_visit(lua_State *L);
/* client:perform(op, tag, moment, once) -> node request; an op is a list: kind (a number), path,
 * data, version, flags ("escp" of ephemeral, sequential, container, parents), acl (a number); the
 * last four may be nil */
int zkl_lua_do(lua_State *L);
/* client:perform_all(ops, tag, moment, once, contender) -> node request; contender: what must be
 * held, or nil */
int zkl_lua_do_all(lua_State *L);
/* client:ask_sync(tag, moment, once) -> node request */
int zkl_lua_sync(lua_State *L);
/* client:look_at(path, children, tag) -> node watch, or nil, err */
int zkl_lua_look_at(lua_State *L);
void zkl_push_stat(lua_State *L, const zkl_stat *stat);
/* A list of them. */
void zkl_push_names(lua_State *L, const zkl_content *of);
/* As ZooKeeper's own tools print it. */
void zkl_push_session(lua_State *L, int64_t session);

int zkl_lua_connect(lua_State *L);
/* core.spare_handlers(address, offset): in nginx, where `address` is of the variable that has the
 * first header filter, and `offset` of a request's slot for a handler: while a header is sent, a
 * slot with visit:hook has the former one. */
int zkl_lua_spare_handlers(lua_State *L);
/* core.interrupt_on(name) -> true; nothing: this is not the main program */
int zkl_lua_interrupt_on(lua_State *L);

/* The caller, which has blocked all signals, waits. Those that the state has asked for leave the
 * set of blocked ones, also if the host has blocked them in this thread. One that came to another
 * thread while none was in this one sets the hook. Does not raise. */
void zkl_interrupt_listen(lua_State *L, sigset_t *blocked);

/* Pushes the query, or raises: 1 result. */
int zkl_push_query(lua_State *L, void **box, zkl_query *query);

#endif
